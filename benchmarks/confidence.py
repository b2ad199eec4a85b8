"""How far the confidence of a link and the score of a sentence pair can be trusted.

Links: of gold pairs that were not trained on, whether links of a confidence are right as often as it says.
Pairs: a tenth of the first 2,000 lines of the Hansards gets the target of another line; how well the scores
tell these, in a corpus that is aligned itself and in pairs that a model of other lines has not seen. Of lines
further on the short ones, each as it is and with the target of another, beside pairs of random letters.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.data.bitext import open_bitext
from align.data.corpus import Corpus
from align.features import PairBlock
from align.links import Link, read_file
from align.model.aligner import Aligner
from align.statistics.posteriors import load_if_there
from benchmarks import hansards, recipe
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import facts, markdown, read_lines, tell, write_lines
from benchmarks.gold import Source, text_file
from benchmarks.hansards import LANGUAGES, TRAIN
from benchmarks.process import call, environment
from benchmarks.reliability import Judged, area, expected_error, judge, judge_unseen, plot
from benchmarks.runs import pipeline_of

SHUFFLED_LINES, SHUFFLED_SHARE = 2000, 0.1

# Words of a side of short pairs, fewest and most, and how many of these pairs are measured.
SHORT, SHORT_PAIRS = ((1, 4), (5, 8)), 3000
NONSENSE = 500

NOTES = """\
A link is right if the gold has it, as sure or possible. ECE: expected calibration error, the mean of
|confidence - share of right links| over 15 bins of equal numbers of links. "rare": a word of the link is not
in the model's vocabulary, or was seen once. "in the text": the text of the test pairs, not their links, is
part of what statistics are made of; "unseen": it is not, and a model aligns it afterwards. AUC: how often a
pair whose target was taken from another line has a lower score than one that was left alone. Below the
5 %: the share of them with a score below that of all but 5 in 100 of those left alone.
"""


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.confidence", description=__doc__)
    hansards.add_arguments(parser)
    parser.add_argument("--size", type=int, default=20000, metavar="N", help="pairs (default: %(default)s)")
    parser.add_argument(
        "--other",
        nargs="*",
        default=[],
        metavar="PREFIX:SOURCE-TARGET",
        help="more gold, whose text is all there is: every other pair trains, the others test",
    )
    add_common_arguments(parser, "confidence", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure links and pairs and write the results."""
    if args.size < 1:
        raise InputError(f"--size {args.size}: give 1 or more")
    others = [recipe.parse(text)[-1] for text in args.other]
    bench = Bench(args)
    links = bench.hansards()
    for other in others:
        links |= bench.other(other)
    table = [row(name, found) for name, found in links.items()]
    plot({name: found.bins() for name, found in links.items()}, args.out / "confidence.png")
    scores = bench.sentence_scores()
    told = facts(args.seed)
    lines = [
        {"": name, **{key: text_of(value) for key, value in each.items()}} for name, each in scores.items()
    ]
    parts = [
        f"# Confidence of links, scores of pairs: Hansards, {args.size} pairs\n",
        *(NOTES, markdown([line(each) for each in table]), markdown(lines)),
    ]
    tell(args.out, "confidence", told, parts, {"size": args.size, "links": table, "pairs": scores})


def row(name: str, found: Judged) -> dict[str, Any]:
    """Return the figures of links, and those of links with and without rare words."""
    parts = {"all": found, "known": found.only(~found.rare), "rare": found.only(found.rare)}
    return {
        "name": name,
        "bins": [each._asdict() for each in found.bins()],
        **{
            part: {
                "links": len(own.right),
                "confidence": float(own.confidence.mean()) if len(own.right) else None,
                "right": float(own.right.mean()) if len(own.right) else None,
                "ece": expected_error(own.bins()),
            }
            for part, own in parts.items()
        },
    }


def line(figures: dict[str, Any]) -> dict[str, str]:
    """Return the line of a table for the figures of links."""
    cells = {"": str(figures["name"])}
    for part in ("all", "known", "rare"):
        own = figures[part]
        cells[f"{part}: links"] = str(own["links"])
        cells[f"{part}: confidence"] = text_of(own["confidence"])
        cells[f"{part}: right"] = text_of(own["right"])
        cells[f"{part}: ECE"] = text_of(own["ece"])
    return cells


def text_of(value: float | None) -> str:
    """Return a figure with four decimals, a count as it is."""
    if value is None:
        return "n/a"
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def shuffled(targets: Sequence[str], share: float, seed: int) -> tuple[list[str], np.ndarray]:
    """Give a share of the lines the target of another of them.

    Parameters
    ----------
    targets : sequence of str
        N lines.
    share : float
        In (0, 1].
    seed : int
        >= 0.

    Returns
    -------
    list of str, ndarray of bool, shape (N,)
        The lines, and which have another's: each of these has another text than before.

    Raises
    ------
    InputError
        If the lines are too much alike.
    """
    generator = np.random.default_rng(seed)
    count = max(2, round(share * len(targets)))
    for _ in range(100):
        chosen = generator.permutation(len(targets))[:count].tolist()
        # One cycle: none stays in place.
        moved = list(targets)
        for place, origin in zip(chosen, chosen[1:] + chosen[:1], strict=True):
            moved[place] = targets[origin]
        if all(moved[place] != targets[place] for place in chosen):
            return moved, np.isin(np.arange(len(targets)), chosen)
    raise InputError("the bitext: too many lines are equal to be shuffled; give another")


class Bench:
    """What the parts of one run have in common."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        args.out.mkdir(parents=True, exist_ok=True)

    def hansards(self) -> dict[str, Judged]:
        """Return the links of the Hansards gold."""
        args, size = self._args, self._args.size
        settings = hansards.settings(args, str(size), size)
        gold = Source(args.gold, *LANGUAGES)
        trained = hansards.merged(settings, {"gold": {"train": TRAIN}, "train": {"labels": "gold"}})
        found = {
            f"Hansards, {TRAIN} gold pairs train, in the text": self._in_text("gold", trained, TRAIN),
            "Hansards, default weights, in the text": self._in_text(
                "default-weights", hansards.merged(settings, {"train": {"labels": "none"}}), 0
            ),
            "Hansards, silver labels, in the text": self._in_text(
                "self-trained", hansards.merged(settings, {"train": {"labels": "silver"}}), 0
            ),
        }
        name = f"{size}-unseen"
        pairs = range(len(read_lines(gold.links)))
        first, second = (
            gold.part(chosen, args.out / "parts" / f"{name}-{part}")
            for part, chosen in (("train", pairs[:TRAIN]), ("test", pairs[TRAIN:]))
        )
        trained = hansards.merged(trained, {"corpus": {"name": name}, "gold": first.section(TRAIN)})
        found[f"Hansards, {TRAIN} gold pairs train, unseen"] = self._unseen("unseen", trained, second)
        return found

    def other(self, gold: Source) -> dict[str, Judged]:
        """Return the links of every other pair of a gold text; it is all the text there is."""
        pairs = range(len(read_lines(gold.links)))
        order, half = [*pairs[::2], *pairs[1::2]], len(pairs[::2])
        whole, first, second = (
            gold.part(chosen, self._args.out / "parts" / f"{gold.name}-{name}")
            for name, chosen in (("all", order), ("train", order[:half]), ("test", order[half:]))
        )
        return {
            f"{gold.prefix.name}, half trains, in the text": self._in_text(
                f"{gold.name}-half", own_text(whole, f"{gold.name}-half", half), half
            ),
            f"{gold.prefix.name}, half trains, unseen": self._unseen(
                f"{gold.name}-unseen", own_text(first, f"{gold.name}-unseen", half), second
            ),
        }

    def sentence_scores(self) -> dict[str, dict[str, Any]]:
        """Return how well scores tell pairs with the target of another line."""
        args = self._args
        prefix = args.hansards / "hansards" if args.hansards.is_dir() else args.hansards
        files = [text_file(prefix, language) for language in LANGUAGES]
        bitext = iter(open_bitext("files", files))
        rows = list(islice(bitext, SHUFFLED_LINES + args.size))
        if len(rows) <= SHUFFLED_LINES or any(each.problem for each in rows):
            raise InputError(f"{prefix}: give more than {SHUFFLED_LINES} lines, all of which can be read")
        sides = [[each.source for each in rows], [each.target for each in rows]]
        short = short_pairs(((row.source, row.target) for row in bitext if not row.problem), sides)
        moved, wrong = shuffled(sides[1][:SHUFFLED_LINES], SHUFFLED_SHARE, args.seed)
        folder = args.out / "pairs"
        folder.mkdir(exist_ok=True)
        texts = {
            "shuffled": (sides[0][:SHUFFLED_LINES], moved),
            "others": (sides[0][SHUFFLED_LINES:], sides[1][SHUFFLED_LINES:]),
        }
        for name, both in texts.items():
            for language, lines in zip(LANGUAGES, both, strict=True):
                write_lines(folder / f"{name}.{language}", lines)
        write_lines(folder / "moved.txt", (str(number + 1) for number in np.flatnonzero(wrong)))
        return {
            "pairs of the corpus itself": self._shuffled_corpus(folder, wrong),
            f"unseen pairs, a model of {len(texts['others'][0])} other lines": self._shuffled_unseen(
                folder, wrong
            ),
            **self._short_unseen(folder, short),
        }

    def _shuffled_corpus(self, folder: Path, wrong: np.ndarray) -> dict[str, Any]:
        pipeline = pipeline_of(self._args, "shuffled", text_alone(folder / "shuffled", "shuffled"))
        pipeline.run("align")
        return detection(pipeline.folder("align") / "scores.txt", wrong)

    def _shuffled_unseen(self, folder: Path, wrong: np.ndarray) -> dict[str, Any]:
        return detection(self._scores(folder, "shuffled"), wrong)

    def _short_unseen(self, folder: Path, pairs: list[list[tuple[str, str]]]) -> dict[str, dict[str, Any]]:
        """Return how well scores tell short pairs with another's target, and pairs of random letters."""
        found = {}
        for (fewest, most), own in zip(SHORT, pairs, strict=True):
            if len(own) < 2:
                continue
            sources, targets = map(list, zip(*own, strict=True))
            moved = list(zip(sources, targets[1:] + targets[:1], strict=True))
            made = nonsense(NONSENSE, most, self._args.seed)
            for kind, others in (("moved", moved), ("random letters", made)):
                name = f"{most}-{kind.partition(' ')[0]}"
                for place, language in enumerate(LANGUAGES):
                    write_lines(folder / f"{name}.{language}", [pair[place] for pair in [*own, *others]])
                wrong = np.arange(len(own) + len(others)) >= len(own)
                title = f"unseen pairs of {fewest} to {most} words, {kind}"
                found[title] = detection(self._scores(folder, name), wrong)
        return found

    def _scores(self, folder: Path, name: str) -> Path:
        """Return the scores that a model of other lines gives the pairs of two files."""
        pipeline = pipeline_of(self._args, "others", text_alone(folder / "others", "others"))
        pipeline.run("train")
        source, target = (folder / f"{name}.{language}" for language in LANGUAGES)
        scores = folder / f"{name}.scores.txt"
        command = [
            *(sys.executable, "-m", "align", "links", "--model", pipeline.folder("train")),
            *("--source", source, "--target", target),
            *("--output", folder / f"{name}.links.txt", "--sentence-scores", scores),
        ]
        call(command, folder / "links.log", environment(threads=self._args.jobs))
        return scores

    def _in_text(self, name: str, settings: dict[str, dict[str, Any]], start: int) -> Judged:
        """Return the links of the gold pairs from ``start`` on, which are part of the model's text."""
        pipeline = pipeline_of(self._args, name, settings)
        pipeline.run("train")
        gold = Corpus.load(pipeline.folder("preprocess") / "gold")
        chosen = np.arange(start, len(gold))
        stored = load_if_there(pipeline.folder("lexicon") / "posteriors" / "gold")
        return judge(
            Aligner.load(pipeline.folder("train")),
            PairBlock(gold.take(chosen), posteriors=None if stored is None else stored.take(chosen)),
            links_of(Path(settings["gold"]["links"]))[start:],
        )

    def _unseen(self, name: str, settings: dict[str, dict[str, Any]], test: Source) -> Judged:
        """Return the links of gold pairs that are no part of the model's text."""
        pipeline = pipeline_of(self._args, name, settings)
        pipeline.run("train")
        sides = [read_lines(Path(path)) for path in test.files()]
        return judge_unseen(
            Aligner.load(pipeline.folder("train")),
            list(zip(*sides, strict=True)),
            links_of(test.links),
        )


def short_pairs(
    rows: Iterable[tuple[str, str]], known: Sequence[Sequence[str]]
) -> list[list[tuple[str, str]]]:
    """Return pairs of each length of :data:`SHORT`; no side stands twice, nor among the known lines."""
    found: list[list[tuple[str, str]]] = [[] for _ in SHORT]
    seen = [set(side) for side in known]
    for row in rows:
        lengths = [len(re.findall(r"\w+|[^\w\s]", side)) for side in row]
        for (fewest, most), own in zip(SHORT, found, strict=True):
            fits = fewest <= min(lengths) and max(lengths) <= most and len(own) < SHORT_PAIRS
            if fits and not any(side in others for side, others in zip(row, seen, strict=True)):
                own.append(row)
                for side, others in zip(row, seen, strict=True):
                    others.add(side)
    return found


def nonsense(count: int, most: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs of up to so many words a side, of random letters."""
    generator = np.random.default_rng(seed)

    def sentence() -> str:
        lengths = generator.integers(3, 9, generator.integers(1, most + 1))
        return " ".join("".join(generator.choice(list("abcdefghijklmnoprstuvwz"), size)) for size in lengths)

    return [(sentence(), sentence()) for _ in range(count)]


def own_text(gold: Source, name: str, train: int) -> dict[str, dict[str, Any]]:
    """Return the configuration of gold whose text is all there is.

    Training starts from nothing: the shipped weights may have been learnt from this gold, from its test
    pairs too.
    """
    return {**gold.own_text(name, train), "train": {"labels": "gold", "weights": "none"}}


def text_alone(prefix: Path, name: str) -> dict[str, dict[str, Any]]:
    """Return the configuration of a part of the Hansards without gold."""
    source, target = LANGUAGES
    files = Source(prefix, *LANGUAGES).files()
    return {
        "corpus": {"name": name, "source": source, "target": target, "files": files},
        "preprocess": {"profile": "expand"},
    }


def links_of(path: Path) -> list[Sequence[Link]]:
    """Return the links of each pair of a file of gold."""
    return [pair.links for pair in read_file(path, base=0)]


def detection(path: Path, wrong: np.ndarray) -> dict[str, Any]:
    """Return how well the scores of a file tell wrong pairs; a pair that was rejected has none."""
    texts = read_lines(path)
    scored = np.array([text != "" for text in texts])
    scores = np.array([float(text or 0) for text in texts])
    lowest = np.argsort(scores[scored], kind="stable")[: int(wrong[scored].sum())]
    return {
        "pairs": int(scored.sum()),
        "moved": int(wrong[scored].sum()),
        "AUC": area(scores[scored], wrong[scored]),
        "moved among as many with the lowest scores": float(wrong[scored][lowest].mean()),
        "moved below the 5 % of the others": float(
            (scores[scored & wrong] < np.quantile(scores[scored & ~wrong], 0.05)).mean()
        ),
        "mean score": float(scores[scored & ~wrong].mean()),
        "mean score of moved": float(scores[scored & wrong].mean()),
    }


if __name__ == "__main__":
    main()
