"""A text larger than any at hand, grown from a real one: for time and memory, not for accuracy.

Pairs of the text are joined two by two, sentence by sentence on both sides, so that hardly any pair comes
twice; and rare words come in several variants (a letter is added), the same on both sides of a pair, so that
words go on to become more as they do in real text (Heaps' law). What this does to the numbers of words and of
words that meet is told; ``--pairs`` below the size of a real text shows how near it comes.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.data.streams import open_text
from benchmarks.command import add_output_arguments, finish
from pipeline.config.places import check_file

# A word that comes at most so often is rare.
RARE = 5

# The number of different words grows with this power of the number of pairs.
HEAPS = 0.6

# Pairs joined have together no more words a side than this, and half as many each.
LONGEST = 40

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    """Write the two files."""
    parser = Parser(prog="python -m benchmarks.grown", description=__doc__)
    parser.add_argument("--bitext", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--pairs", type=int, required=True, metavar="N", help="how many to make")
    add_output_arguments(parser, "grown")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Read the text, and write pair after pair."""
    if args.pairs < 1:
        raise InputError(f"--pairs {args.pairs}: less than 1; give more")
    halves = Halves([_lines(path) for path in args.bitext], args.pairs)
    args.out.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(args.seed)
    names = [args.out / f"grown.{side}" for side in ("source", "target")]
    with open(names[0], "w", encoding="utf-8") as source, open(names[1], "w", encoding="utf-8") as target:
        for start in range(0, args.pairs, 10_000):
            size = (min(10_000, args.pairs - start), 2)
            chosen = generator.integers(len(halves), size=size).tolist()
            variants = generator.integers(halves.variants, size=size).tolist()
            for pair, numbers in zip(chosen, variants, strict=True):
                texts = [halves.text(*each) for each in zip(pair, numbers, strict=True)]
                source.write(f"{texts[0][0]} {texts[1][0]}\n")
                target.write(f"{texts[0][1]} {texts[1][1]}\n")
    print(f"{args.pairs} pairs of {len(halves)} in {halves.variants} variants: {names[0]}, {names[1]}")


class Halves:
    """Pairs of a text that are to be joined, in several variants.

    Parameters
    ----------
    sides : list of list of str
        Lines of both languages, N each.
    pairs : int
        How many pairs are to be made, for the number of variants.

    Raises
    ------
    InputError
        If the text has no pairs that are short enough, or the lines are not as many on both sides.
    """

    def __init__(self, sides: list[list[str]], pairs: int) -> None:
        if len(sides[0]) != len(sides[1]):
            raise InputError(f"--bitext: {len(sides[0])} lines, but {len(sides[1])}; give parallel files")
        counts = [Counter(word for line in lines for word in line.split()) for lines in sides]
        self._rare = [{word for word, count in side.items() if count <= RARE} for side in counts]
        words = [[line.split() for line in lines] for lines in sides]
        self._pairs = [
            pair
            for pair in zip(*words, strict=True)
            if 1 <= min(map(len, pair)) <= max(map(len, pair)) <= LONGEST // 2
        ]
        if not self._pairs:
            raise InputError(f"--bitext: no pair of 1 to {LONGEST // 2} words; give another text")
        # Of s words in all a share r is rare: with v variants they become s (1 - r + r v).
        share = sum(map(len, self._rare)) / sum(map(len, counts))
        growth = (pairs / len(sides[0])) ** HEAPS
        self.variants = min(max(1, round((growth - 1 + share) / share)), 1 + len(_LETTERS))

    def __len__(self) -> int:
        return len(self._pairs)

    def text(self, pair: int, variant: int) -> tuple[str, str]:
        """Return the two sides of a pair, its rare words in the given variant."""
        source, target = (
            " ".join(_changed(word, variant) if word in rare else word for word in words)
            for words, rare in zip(self._pairs[pair], self._rare, strict=True)
        )
        return source, target


def _changed(word: str, variant: int) -> str:
    return word + _LETTERS[variant - 1] if variant and word.isalpha() else word


def _lines(path: Path) -> list[str]:
    with open_text(check_file("--bitext", path)) as stream:
        return stream.read().decode("utf-8", errors="replace").split("\n")[:-1]


if __name__ == "__main__":
    main()
