"""Write a dictionary: word pairs with how often they go together and their probabilities.

Columns, with TABs between: source, target, count, p(target|source), p(source|target). From a model (--model)
these are its statistics, over its lookup keys; count is how often the words stand in the same pairs. From
links (--links with --source and --target: tokenized text, one sentence a line; or --columns S,T,L where one
file holds all three) count is how often the words are linked, and p(target|source) its share of the source
word's links; --lowercase puts the forms of a word together. Rows with both probabilities at --min-prob and
more are written, the most frequent source words first, the likeliest translation of each before the others.

--word WORD writes the rows of one word (of the source side, or --side target) in whatever case. With
--links each row is followed by --examples sentence pairs of the text: nothing, the number of the line, source
and target, with TABs between; in brackets the word and all it is linked to there. A model holds no sentences.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from align.cli.arguments import add_link_columns, natural, probability
from align.cli.terminal import only_one_stdin, open_input, open_output, say, side_by_side
from align.core.errors import InputError
from align.links import Link, check_pair, read, read_text
from align.model.folder import Model
from align.model.shipped import find_model, is_turned
from align.model.turning import turned
from align.statistics.translations import Entry, Translations
from align.text.normalise import lookup_key

_SIDES = ("source", "target")

# Sentence pairs after each row of --word, where the user does not say how many.
_EXAMPLES = 2

EXAMPLES = (
    "lexicon -m data/work/sample/latest/train --min-count 2 -o words.tsv",
    "lexicon --links links.txt --source text.en --target text.fr",
    "lexicon --links links.txt --source text.en --target text.fr --word bank --examples 3",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("-m", "--model", metavar="NAME", help="a model's folder, or a known model")
    origin.add_argument("--links", metavar="FILE", help="links in the Pharaoh format")
    parser.add_argument("--source", metavar="FILE", help="with --links: its source tokens")
    parser.add_argument("--target", metavar="FILE", help="with --links: its target tokens")
    add_link_columns(parser, of="the rows of --links")
    parser.add_argument("--lowercase", action="store_true", help="with --links: put Word and word together")
    parser.add_argument("--word", metavar="WORD", help="only the rows of this word")
    parser.add_argument(
        "--side", choices=_SIDES, default="source", help="with --word: the side of the word (source)"
    )
    parser.add_argument(
        "--examples",
        type=natural,
        metavar="N",
        help=f"with --word and --links: sentence pairs after each row ({_EXAMPLES})",
    )
    parser.add_argument(
        "--min-count", type=natural, default=1, metavar="N", help="leave out rarer word pairs (1)"
    )
    parser.add_argument(
        "--min-prob", type=probability, default=0.0, metavar="P", help="of both probabilities (0)"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, the standard output")


def run(args: argparse.Namespace) -> int:
    """Write the dictionary."""
    texts = (args.source, args.target)
    if args.model is not None and (texts != (None, None) or args.lowercase or args.columns):
        raise InputError(
            "--source, --target, --columns and --lowercase belong to --links; leave them out with --model"
        )
    in_rows = args.columns is not None and len(args.columns) > 1
    if args.links is not None and None in texts and not (in_rows and texts == (None, None)):
        raise InputError(
            "--links needs --source and --target, the tokens it was made for; give both, or --columns S,T,L "
            "where one file holds all three"
        )
    _check_word(args)
    only_one_stdin([args.links, *texts])
    quotes = _Quotes(args) if args.word is not None and args.links else None
    entries = _of_model(_model(args.model), args) if args.model else _of_links(args, quotes)
    with open_output(args.output) as out:
        for entry in entries:
            if entry.together >= args.min_count and min(entry.forward, entry.reverse) >= args.min_prob:
                out.write(
                    f"{entry.source}\t{entry.target}\t{entry.together}\t{entry.forward:.6f}\t{entry.reverse:.6f}\n"
                )
                for line, source, target in quotes.of(entry) if quotes else ():
                    out.write(f"\t{line}\t{source}\t{target}\n")
    return 0


def _check_word(args: argparse.Namespace) -> None:
    """Refuse options that say nothing together."""
    if args.word is None:
        if args.examples is not None or args.side != "source":
            raise InputError("--examples and --side belong to --word; give the word, or leave them out")
    elif not args.word or any(map(str.isspace, args.word)):
        raise InputError(f"--word {args.word!r}: no single word; give one, as the text has it")


def _model(name: str) -> Model:
    model = Model.load(find_model(name))
    return turned(model) if is_turned(name) else model


def _of_model(model: Model, args: argparse.Namespace) -> Iterable[Entry]:
    """Return the cells of a model's statistics, a source word at a time, or those of one word."""
    lexicon, resources = model.resources.lexicon, model.resources
    if lexicon is None:
        raise InputError("--model: this model holds no statistics of a bitext; choose one that does")
    entries = Translations(lexicon, resources.source_vocabulary, resources.target_vocabulary)
    if args.word is None:
        return entries
    found = entries.of(args.side, lookup_key(args.word))
    if not found:
        raise InputError(
            f"--word {args.word}: this model has no such {args.side} word; give another form, or --side"
        )
    if args.examples != 0:
        say("a model holds no sentences, so there are no examples: --links, --source and --target have some")
    return found


def _of_links(args: argparse.Namespace, quotes: _Quotes | None) -> Iterator[Entry]:
    """Count the linked words of a text, and yield them, or those of the word that is quoted."""
    counts = _count(args, quotes)
    of_source: Counter[str] = Counter()
    of_target: Counter[str] = Counter()
    for (source, target), count in counts.items():
        of_source[source] += count
        of_target[target] += count
    first, second, of_first = 0, 1, of_source
    if quotes is not None:
        counts = Counter({words: count for words, count in counts.items() if quotes.wants(words)})
        if args.side == "target":
            first, second, of_first = 1, 0, of_target
    ranked = sorted(
        counts.items(),
        key=lambda item: (-of_first[item[0][first]], item[0][first], -item[1], item[0][second]),
    )
    for (source, target), count in ranked:
        yield Entry(source, target, count, count / of_source[source], count / of_target[target])


def _count(args: argparse.Namespace, quotes: _Quotes | None) -> Counter[tuple[str, str]]:
    key = lookup_key if args.lowercase else str
    counts: Counter[tuple[str, str]] = Counter()
    with ExitStack() as stack:
        paths = [path for path in (args.source, args.target, args.links) if path is not None]
        *texts, (stream, name) = [stack.enter_context(open_input(path)) for path in paths]
        files: list[tuple[str, str, Iterable[Any]]] = [
            (name, "lines", read_text(stream, name)) for stream, name in texts
        ]
        files.append((name, "lines", read(stream, name=name, base=0, columns=args.columns)))
        for line, (*sides, pair) in enumerate(side_by_side(files), start=1):
            source, target = sides or (pair.source, pair.target)
            own = pair._replace(source=source, target=target)
            check_pair(own, name=name, reverse="swap --source and --target")
            counts.update((key(source[link.source]), key(target[link.target])) for link in pair.links)
            if quotes is not None:
                quotes.add(line, source, target, pair.links)
    if quotes is not None:
        quotes.tell(name)
    return counts


class _Quotes:
    """The sentence pairs of one word, as many as are to be quoted."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._word, self._place = args.word, _SIDES.index(args.side)
        self._wanted = lookup_key(args.word)
        self._key = lookup_key if args.lowercase else str
        self._most = _EXAMPLES if args.examples is None else args.examples
        self._found: defaultdict[tuple[str, str], dict[tuple[str, str], int]] = defaultdict(dict)
        self._occurrences = self._alone = 0

    def wants(self, words: tuple[str, str]) -> bool:
        """Tell whether a row is one of the word."""
        return lookup_key(words[self._place]) == self._wanted

    def add(self, line: int, source: Sequence[str], target: Sequence[str], links: Sequence[Link]) -> None:
        """Take in a pair of the text."""
        sides = (source, target)
        for place, token in enumerate(sides[self._place]):
            if lookup_key(token) != self._wanted:
                continue
            own = [link for link in links if link[self._place] == place]
            self._occurrences += 1
            self._alone += not own
            for words in {(self._key(source[link[0]]), self._key(target[link[1]])) for link in own}:
                quotes = self._found[words]
                if len(quotes) < self._most:
                    marked = (
                        _marked(source, {link.source for link in own}),
                        _marked(target, {link.target for link in own}),
                    )
                    # the same sentences say nothing more a second time
                    quotes.setdefault(marked, line)

    def of(self, entry: Entry) -> Iterator[tuple[int, str, str]]:
        """Yield line, source and target of the pairs to be quoted with a row."""
        for (source, target), line in self._found[entry.source, entry.target].items():
            yield line, source, target

    def tell(self, name: str) -> None:
        """Say how often the word stands in the text.

        Raises
        ------
        InputError
            If it does not.
        """
        side = _SIDES[self._place]
        if not self._occurrences:
            raise InputError(
                f"{name}: no {side} word of its pairs is {self._word}; give another form, or the other --side"
            )
        alone = f"{self._alone} of them without a link"
        say(f"{self._word}: {self._occurrences} times in the {side} text, {alone}")


def _marked(tokens: Sequence[str], places: set[int]) -> str:
    return " ".join(f"[{token}]" if place in places else token for place, token in enumerate(tokens))
