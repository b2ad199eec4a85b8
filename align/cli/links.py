"""Align sentence pairs with a model: line N of the output belongs to line N of the input.

The input is read as a stream: source TAB target a line, or --format joint or tmx, or two files. Links are
pairs of token numbers, counted from 0, source first: 0-0 1-2. With --scores each has its confidence, the
probability that it is right: 0-0:0.9731. With --offsets each side of a link is start:end, characters of the
text as it came, end not included: 0:4-0:3. A row that cannot be read gives an empty line, and its number and
reason on stderr. The score of a sentence pair (--sentence-scores) is in [0, 1]: the share of its words that
have a translation on the other side, each as far as its link is trusted and the two words are known, or seen
by their spelling, to be translations, and the whole other side makes it likely. Very frequent words count
less, a number that stands on one side alone counts as many, and sides of very different lengths lower it.
Where the model does not know most of the words, the command says so. Rows that came are answered as soon as
the input pauses, so that a program can talk to this one over pipes.

Without --model it is the known model of --languages; where there is none the default weights are taken,
with statistics of the input itself: it is then read to its end before the first answer (but with --flush,
where each row stands alone).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TextIO

from align.cli.arguments import add_model, columns, finite
from align.cli.loading import first_use_told, load_aligner
from align.cli.terminal import only_one_stdin, open_as_it_comes, open_output, same_output, say
from align.core.errors import InputError
from align.data.advice import Advice
from align.data.bitext import WITH_COLUMNS, open_bitext, told_of_names
from align.data.row import Row
from align.model.aligner import Aligner
from align.model.alignments import Alignments
from align.model.own_text import UNKNOWN_LANGUAGES
from align.model.shipped import model_of_languages
from align.text.processor import Tokens

_PAIRS_AT_A_TIME = 512

# Whether a model fits a text, so many of its words tell; fewer than the last say nothing.
_WORDS_LOOKED_UP, _FEWEST_WORDS = 10_000, 10

_ADVICE = Advice(
    languages="use a --model of languages that it has",
    encoding="convert it first: iconv -f latin-1 -t utf-8",
    tsv="give it as --input with --format tsv, or take the tabs out of the sentences",
    joint="give it as --input with --format joint",
    kind="give it with --format {}".format,
    columns="--columns {}".format,
)


EXAMPLES = (
    "links --languages en-fr -i pairs.tsv -o links.txt",
    "links -m data/work/sample/latest/train --source text.en --target text.fr --scores",
    "links -m data/work/sample/latest/train --format joint < pairs.txt",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(parser)
    parser.add_argument("-i", "--input", metavar="FILE", help="default: -, the standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, the standard output")
    parser.add_argument("--format", choices=("tsv", "joint", "tmx"), help="of the input (default: tsv)")
    parser.add_argument(
        "--columns",
        type=columns,
        metavar="S,T",
        help="which fields of a row of tsv or joint hold source and target: numbers from 1, or names that "
        "the first row has",
    )
    parser.add_argument("--source", metavar="FILE", help="source sentences, instead of --input")
    parser.add_argument("--target", metavar="FILE", help="target sentences")
    parser.add_argument(
        "--tokenized", action="store_true", help="split on single spaces only; indices are over those tokens"
    )
    parser.add_argument("--scores", action="store_true", help="add the confidence of each link, in [0, 1]")
    parser.add_argument(
        "--sentence-scores", metavar="FILE", help="write the score of each pair, in [0, 1], to FILE"
    )
    parser.add_argument(
        "--unlinked", metavar="FILE", help="write the words of each pair without a link, 3- or -5, to FILE"
    )
    parser.add_argument(
        "--tokens", metavar="FILE", help="write the tokens that links count, source TAB target, to FILE"
    )
    parser.add_argument("--offsets", action="store_true", help="write characters instead of token numbers")
    parser.add_argument(
        "--bias",
        type=finite,
        default=0.0,
        metavar="X",
        help="added to the score of every possible link: above 0 more links, below 0 better ones (0)",
    )
    parser.add_argument("--flush", action="store_true", help="answer each row as it comes; slower")


def run(args: argparse.Namespace) -> int:
    """Align the rows of the input, a block at a time; those that came before it pauses."""
    kind, paths = _inputs(args)
    model = args.model or model_of_languages(args.languages)
    aligner = load_aligner(model, tokenized=args.tokenized, languages=args.languages)
    if kind == "tmx" and aligner.model.languages == UNKNOWN_LANGUAGES:
        raise InputError("--format tmx: its languages are not known; give --languages, as en-fr")
    size = 1 if args.flush else _PAIRS_AT_A_TIME
    whole = aligner.untrained and not args.flush
    with ExitStack() as stack:
        stack.enter_context(first_use_told(model))
        out = stack.enter_context(open_output(args.output))
        beside = [None if path is None else stack.enter_context(open_output(path)) for path in _beside(args)]
        name = "<stdin>" if paths[0] == "-" else paths[0]
        answers = _Answers(aligner, args, kind, name, out, beside)
        on_pause = _nothing if whole else answers.give
        files = [stack.enter_context(open_as_it_comes(path, on_pause)) for path in paths]
        if "-" in paths and sys.stdin is not None and sys.stdin.isatty():
            say(f"waiting for {_EXPECTED[kind]} on the terminal; end with Ctrl-D, or give --input")
        codes = aligner.model.languages
        for row in open_bitext(kind, files, languages=codes, columns=args.columns, advice=_ADVICE):
            answers.rows.append(row)
            if len(answers.rows) == size and not whole:
                answers.give()
        if whole:
            answers.give_text()
        answers.give()
        if not aligner.untrained:
            answers.tell_unknown()
    return 0


def _beside(args: argparse.Namespace) -> tuple[str | None, ...]:
    """Return the files that are written beside the links."""
    return args.sentence_scores, args.unlinked, args.tokens


def _nothing() -> None:
    """Wait for more."""


_EXPECTED = {
    "tsv": "rows of source TAB target",
    "joint": "rows of source ||| target",
    "tmx": "TMX",
    "files": "the sentences of one side",
}


@dataclass
class _Answers:
    """Rows not yet answered, and where their answers go."""

    aligner: Aligner
    args: argparse.Namespace
    kind: str
    name: str  # of the input
    out: TextIO
    beside: Sequence[TextIO | None]  # of the same order as the files of `_beside`
    rows: list[Row] = field(default_factory=list)
    unknown: int = 0  # of the first words of the input
    words: int = 0

    def give(self) -> None:
        """Answer the rows."""
        if not self.rows:
            return
        rows, self.rows = self.rows, []
        self._write([_tokens(self.aligner, row, self.name, self.kind) for row in rows])

    def give_text(self) -> None:
        """Answer all rows, the whole text that the statistics are made of."""
        rows, self.rows = self.rows, []
        texts: list[tuple[str, str] | None] = []

        def pairs() -> Iterator[tuple[Tokens, Tokens]]:
            # The tokens of all rows at once would take ten times the memory of their text.
            for row in rows:
                pair = _tokens(self.aligner, row, self.name, self.kind)
                texts.append(None if pair is None else (row.source, row.target))
                yield pair or _NOTHING

        own = self.aligner.of_text(pairs())
        for start in range(0, len(texts), _PAIRS_AT_A_TIME):
            some = texts[start : start + _PAIRS_AT_A_TIME]
            self._write([text and own.tokens(*text) for text in some], own, start)

    def _write(
        self,
        tokens: Sequence[tuple[Tokens, Tokens] | None],
        aligner: Aligner | None = None,
        place: int | None = None,
    ) -> None:
        aligner = aligner or self.aligner
        if self.words < _WORDS_LOOKED_UP:
            unknown, words = aligner.unknown_words(filter(None, tokens))
            self.unknown, self.words = self.unknown + unknown, self.words + words
        pairs = [pair or _NOTHING for pair in tokens]
        links = aligner.align_tokens(pairs, bias=self.args.bias, place=place)
        lines = (_lines(links, tokens, self.args), _scores(links, tokens), _unlinked(links, tokens))
        for out, written in zip((self.out, *self.beside), (*lines, _texts(tokens)), strict=True):
            if out is not None:
                out.writelines(f"{line}\n" for line in written)
                out.flush()

    def tell_unknown(self) -> None:
        """Warn where the model does not know most of the words."""
        if self.words >= _FEWEST_WORDS and self.unknown > self.words / 2:
            source, target = self.aligner.model.languages
            say(
                f"{self.name}: {self.unknown} of {self.words} words are unknown to the model, which is of "
                f"{source} and {target}; links of such words are little more than guesses"
            )


_NO_TOKENS = Tokens([], [], [], [])
_NOTHING = (_NO_TOKENS, _NO_TOKENS)


def _inputs(args: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the kind of the input and its files."""
    if (args.source is None) != (args.target is None):
        raise InputError("--source and --target go together; give both or neither")
    if args.source is not None:
        if args.input is not None or args.format is not None:
            raise InputError("--source and --target are the input; leave out --input and --format")
        only_one_stdin([args.source, args.target])
        kind, paths = "files", [args.source, args.target]
    else:
        kind, paths = args.format or "tsv", [args.input or "-"]
    if args.columns is not None and kind not in WITH_COLUMNS:
        raise InputError("--columns: for rows of tsv or joint only; leave it out")
    outputs = [path for path in (args.output, *_beside(args)) if path is not None]
    for place, path in enumerate(outputs):
        if any(same_output(path, other) for other in outputs[:place]):
            raise InputError(f"{path}: given for two outputs; give each its own file")
    return kind, paths


def _tokens(aligner: Aligner, row: Row, name: str, kind: str) -> tuple[Tokens, Tokens] | None:
    """Return the tokens of a row; of one that cannot be aligned say why, and return None."""
    where = f"{name}:{row.number + 1}" if kind != "tmx" else f"{name}: unit {row.number + 1}"
    if row.problem is not None:
        say(f"{where}: {row.detail or row.problem}; the line is left empty")
        return None
    odd = row.detail or told_of_names(row, kind, aligner.model.languages, _ADVICE)
    if odd:
        say(f"{where}: {odd}")
    try:
        pair = aligner.tokens(row.source, row.target)
        aligner.check(pair)
    except InputError as error:
        say(f"{where}: {error}; the line is left empty")
        return None
    missing = [side for side, tokens in zip(("source", "target"), pair, strict=True) if not tokens.surface]
    if missing:
        what = "both sides are" if len(missing) == 2 else f"the {missing[0]} side is"
        say(f"{where}: {what} empty; the line is left empty")
        return None
    return pair


def _lines(
    links: Alignments, tokens: Sequence[tuple[Tokens, Tokens] | None], args: argparse.Namespace
) -> Iterator[str]:
    """Yield the line of each pair."""
    for number, pair in enumerate(tokens):
        here = slice(int(links.offsets[number]), int(links.offsets[number + 1]))
        words = []
        cells = (links.source[here].tolist(), links.target[here].tolist(), links.confidence[here].tolist())
        for j, k, confidence in zip(*cells, strict=True):
            word = f"{j}-{k}"
            if args.offsets and pair is not None:
                word = "{}:{}-{}:{}".format(*pair[0].spans[j], *pair[1].spans[k])
            words.append(f"{word}:{confidence:.4f}" if args.scores else word)
        yield " ".join(words)


def _scores(links: Alignments, tokens: Sequence[tuple[Tokens, Tokens] | None]) -> Iterator[str]:
    """Yield the score of each pair."""
    for score, pair in zip(links.sentence_scores().tolist(), tokens, strict=True):
        yield f"{score:.4f}" if pair else ""


def _texts(tokens: Sequence[tuple[Tokens, Tokens] | None]) -> Iterator[str]:
    """Yield the tokens of each pair, with a TAB between the sides where there are none, too."""
    for pair in tokens:
        yield "\t".join(" ".join(side.surface) for side in pair or _NOTHING)


def _unlinked(links: Alignments, tokens: Sequence[tuple[Tokens, Tokens] | None]) -> Iterator[str]:
    """Yield the words of each pair that have no link: ``3-`` of the source, ``-5`` of the target."""
    for number, pair in enumerate(tokens):
        here = slice(int(links.offsets[number]), int(links.offsets[number + 1]))
        source, target = set(links.source[here].tolist()), set(links.target[here].tolist())
        sides = pair or _NOTHING
        words = [f"{place}-" for place in range(len(sides[0].surface)) if place not in source]
        words += [f"-{place}" for place in range(len(sides[1].surface)) if place not in target]
        yield " ".join(words)
