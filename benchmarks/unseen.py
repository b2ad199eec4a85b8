"""Whether words a model has never seen are linked to their own, wherever they stand.

    python -m benchmarks.unseen --model FOLDER --bitext TEXT.en TEXT.fr --size 20000

Sentences are made of ordinary words of the model and their translations, in one order; between these stand,
at the same places of both sides, 2 to 6 names, numbers, emoji or codes in another order. They go through
Aligner and the command links, and with --bitext as lines of a corpus through the pipeline.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.data.bitext import open_bitext
from align.learning.made_words import ITEMS, OTHER, SAME, Item, Maker
from align.links import read_file
from align.model.aligner import Aligner
from align.text.words import WORD
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import facts, markdown, read_lines, tell, write_lines
from benchmarks.process import call, environment
from benchmarks.runs import Settings, pipeline_of

# The ordinary words around those that are to find each other, fewest and most.
ORDINARY = (3, 10)

# Of a model's vocabulary, and the fewest with which sentences differ.
_MOST_FREQUENT, _LEAST = 1000, 20

NOTES = """\
A word counts as found if it is linked to its own and to nothing else. "same": both sides have the same
characters; "other": a number in another language's format, a name with another letter, a name in Cyrillic
letters. Pairs: all of the words between the ordinary ones are found.
"""


@dataclass(frozen=True)
class Made:
    """A pair that was made: tokens of both sides, and the places in them of the words to be found."""

    kind: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    own: tuple[tuple[int, int], ...]

    @property
    def text(self) -> tuple[str, str]:
        """Return both sides as text."""
        return " ".join(self.source), " ".join(self.target)


def main() -> None:
    """Measure and write the results."""
    parser = Parser(
        prog="python -m benchmarks.unseen",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="the model's folder")
    parser.add_argument("--pairs", type=int, default=1000, metavar="N", help="to make (default: %(default)s)")
    parser.add_argument(
        "--bitext",
        nargs=2,
        type=Path,
        metavar=("SOURCE", "TARGET"),
        help="for the pipeline: text around them",
    )
    parser.add_argument("--size", type=int, default=20000, metavar="N", help="pairs of it (%(default)s)")
    add_common_arguments(parser, "unseen", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure and write the results."""
    for name in ("pairs", "size"):
        if getattr(args, name) < 1:
            raise InputError(f"--{name} {getattr(args, name)}: give 1 or more")
    args.out.mkdir(parents=True, exist_ok=True)
    aligner = Aligner.load(args.model)
    lines, figures = [], []
    for title, kinds in (("same", SAME), ("other", OTHER)):
        made = pairs_of(aligner, kinds, args.pairs, args.seed)
        texts = [pair.text for pair in made]
        ways = {"Aligner": aligner.align_many(texts), "links": links_of_command(args, title, texts)}
        if args.bitext:
            ways["pipeline"] = links_of_pipeline(args, title, texts, aligner.model.languages)
        for way, links in ways.items():
            found = {"": f"{title}, {way}", **shares(made, links)}
            figures.append(found)
            lines.append({key: value if key == "" else f"{value:.4f}" for key, value in found.items()})
    told = facts(args.seed)
    parts = [f"# Unseen words: {args.pairs} pairs of each kind of likeness\n", NOTES, markdown(lines)]
    tell(args.out, "unseen", told, parts, {"pairs": args.pairs, "shares": figures})


def shares(made: Sequence[Made], links: Sequence[Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """Return the share of words that were found, of all and by kind, and of pairs with all of them."""
    right: dict[str, list[bool]] = {"words": [], "pairs": []}
    for pair, found in zip(made, links, strict=True):
        own = [{link for link in found if link[0] == j or link[1] == k} == {(j, k)} for j, k in pair.own]
        right["words"] += own
        right["pairs"].append(all(own))
        right.setdefault(pair.kind, []).extend(own)
    return {name: float(np.mean(values)) for name, values in right.items()}


def pairs_of(aligner: Aligner, kinds: Mapping[str, Maker], count: int, seed: int) -> list[Made]:
    """Make pairs, every kind as often, and the kinds mixed as often as each.

    Raises
    ------
    InputError
        If the model knows too few words.
    """
    generator = np.random.default_rng(seed)
    ordinary = translations(aligner)
    if len(ordinary) < _LEAST:
        raise InputError(f"the model knows only {len(ordinary)} words well; give one of more text")
    names = [*kinds, "mixed"]
    return [_pair(aligner, kinds, names[number % len(names)], ordinary, generator) for number in range(count)]


def translations(aligner: Aligner) -> list[Item]:
    """Return frequent words, each with the word it translates to, both of them one token as they stand."""
    given = aligner.model.resources
    lexicon, links = given.lexicon, given.links
    if lexicon is None:
        return []
    both = (lexicon.forward, lexicon.reverse) if links is None else (links.forward, links.reverse)
    together = np.sqrt(np.asarray(both[0]) * np.asarray(both[1]))
    sources, targets = lexicon.sources(), np.asarray(lexicon.targets)
    best = [np.zeros(len(words)) for words in (given.source_vocabulary, given.target_vocabulary)]
    np.maximum.at(best[0], sources, together)
    np.maximum.at(best[1], targets, together)
    mutual = (together > 0) & (together >= best[0][sources]) & (together >= best[1][targets])
    mutual &= (given.source_words.whole.kinds[sources] == WORD) & (
        given.target_words.whole.kinds[targets] == WORD
    )
    found = []
    for cell in np.flatnonzero(mutual & (sources < _MOST_FREQUENT)).tolist():
        words = given.source_vocabulary.words[sources[cell]], given.target_vocabulary.words[targets[cell]]
        cut = [side.analysis for side in aligner.tokens(*words)]
        if cut == [[words[0]], [words[1]]]:
            found.append(words)
    return found


def _pair(
    aligner: Aligner,
    kinds: Mapping[str, Maker],
    kind: str,
    ordinary: Sequence[Item],
    generator: np.random.Generator,
) -> Made:
    """Make a pair whose tokens are those it is made of."""
    while True:
        count, around = (int(generator.integers(low, high + 1)) for low, high in (ITEMS, ORDINARY))
        chosen = [kind] * count if kind in kinds else generator.choice(list(kinds), count).tolist()
        items = [_unseen(aligner, kinds[name], generator) for name in chosen]
        if any(len({item[side] for item in items}) < count for side in (0, 1)):
            continue
        order = generator.permutation(count)
        if (order == np.arange(count)).all():
            continue
        words = [ordinary[number] for number in generator.integers(0, len(ordinary), around)]
        # The same places of both sides: where a word stands speaks for another than its own.
        places = np.sort(generator.choice(count + around, count, replace=False)).tolist()
        sides: list[list[str]] = []
        for side, put in ((0, np.arange(count)), (1, order)):
            rest, between = iter(words), iter(put.tolist())
            sides.append(
                [
                    items[next(between)][side] if place in places else next(rest)[side]
                    for place in range(count + around)
                ]
            )
        at = np.argsort(order).tolist()
        own = tuple((places[number], places[at[number]]) for number in range(count))
        made = Made(kind, tuple(sides[0]), tuple(sides[1]), own)
        cut = aligner.tokens(*made.text)
        if all(tuple(side.surface) == tokens for side, tokens in zip(cut, sides_of(made), strict=True)):
            return made


def sides_of(made: Made) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens of both sides."""
    return made.source, made.target


def _unseen(aligner: Aligner, make: Maker, generator: np.random.Generator) -> Item:
    """Return two words that the model does not know, each one token."""
    given = aligner.model.resources
    while True:
        item = make(generator)
        cut = aligner.tokens(*item)
        if all(len(side.surface) == len(side.analysis) == 1 for side in cut) and not any(
            side.analysis[0] in vocabulary.index
            for side, vocabulary in zip(cut, (given.source_vocabulary, given.target_vocabulary), strict=True)
        ):
            return item


def links_of_command(
    args: argparse.Namespace, title: str, texts: Sequence[Item]
) -> list[list[tuple[int, int]]]:
    """Return the links that the command ``links`` gives."""
    rows, out = args.out / f"{title}.tsv", args.out / f"{title}.links.txt"
    write_lines(rows, ["\t".join(text) for text in texts])
    command = [
        *(sys.executable, "-m", "align", "links", "--model", args.model),
        *("--input", rows, "--output", out),
    ]
    call(command, args.out / "links.log", environment(threads=args.jobs))
    return _links(out)


def links_of_pipeline(
    args: argparse.Namespace, title: str, texts: Sequence[Item], languages: tuple[str, str]
) -> list[list[tuple[int, int]]]:
    """Return the links that the pipeline gives the pairs as the last lines of a corpus."""
    rows = list(islice(open_bitext("files", list(args.bitext)), args.size))
    if any(row.problem for row in rows):
        raise InputError(f"{args.bitext[0]}: a line cannot be read; give another --bitext")
    files = []
    for side, language in enumerate(languages):
        lines = [(row.source, row.target)[side] for row in rows] + [text[side] for text in texts]
        files.append(str(args.out / f"{title}.{language}"))
        write_lines(Path(files[-1]), lines)
    source, target = languages
    corpus = {"name": f"unseen-{title}", "source": source, "target": target, "files": files}
    settings: Settings = {"corpus": corpus, "preprocess": {"profile": "expand"}, "train": {"labels": "none"}}
    pipeline = pipeline_of(args, title, settings)
    pipeline.run("align")
    out = args.out / f"{title}.pipeline.txt"
    write_lines(out, read_lines(pipeline.folder("align") / "links.txt")[-len(texts) :])
    return _links(out)


def _links(path: Path) -> list[list[tuple[int, int]]]:
    return [[(link.source, link.target) for link in pair.links] for pair in read_file(path, base=0)]


if __name__ == "__main__":
    main()
