"""Whether a learnt bonus for consecutive links pays, and what it costs to decode with it.

The structured SVM learns plain matchings, and matchings in which consecutive links earn a bonus
(:mod:`align.matching.quadratic`), from the same features of the same gold pairs: the first ones of the
Hansards by 5-fold cross-validation, other gold in halves. The features of the neighbours may do the work of
the bonus, so both are measured with them and without.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.data.corpus import Corpus
from align.evaluation.metrics import bootstrap, paired_bootstrap, score, statistics
from align.features import Edges, Resources
from align.features.groups import GROUPS, SCALE
from align.features.scoring import score_edges
from align.learning.cross_validation import folds
from align.links import Link, read_file
from align.matching import assignment as matching
from align.matching import quadratic
from align.model.folder import Model
from align.problems.labels import Labels
from align.problems.matching import MatchingProblem
from align.problems.quadratic import QuadraticProblem
from align.solvers import SOLVERS
from benchmarks import hansards, recipe
from benchmarks.command import add_common_arguments, finish
from benchmarks.eflomal import surface_links
from benchmarks.figures import difference_of, facts, interval_of, markdown, percent, tell
from benchmarks.gold import Source, links_file
from benchmarks.hansards import TRAIN
from benchmarks.models import Training
from benchmarks.runs import Pipeline, pipeline_of

FOLDS = 5

# What is left out of the features: groups, or single features.
_SAMPLED = ("sampled_previous", "sampled_next", "sampled_both_neighbours")
SETS: dict[str, tuple[str, ...]] = {
    "all groups": (),
    "without context": ("context",),
    "without context and sampled neighbours": ("context", *_SAMPLED),
    "without posterior": ("posterior",),
    "without context, chain and posterior": ("context", "chain", "posterior"),
}

# The features of the bonus, by the name of the model.
BONUSES: dict[str, tuple[str, ...]] = {
    "linear": (),
    "quadratic": ("always",),
    "quadratic, by frequency": ("always", "both_frequent", "one_frequent", "source_rare", "target_rare"),
}

NOTES = """\
AER in per cent, with 95 % bootstrap intervals; differences are to "linear" with the same features, in points,
resampled together. Each pair is aligned by weights that other pairs gave; no weights to start from. "q": what
two consecutive links earn, mean of the trainings, by feature of the bonus (a wrong link costs 1 in training).
"gap": the largest duality gap relative to the primal objective at the end; for "quadratic" it certifies the
minimum of the relaxed objective, an upper bound of the exact one. "certified": pairs whose links are proven
to be the best. "us": CPU microseconds a pair to decode, scores given.
"""


@dataclass(frozen=True)
class Gold:
    """N labelled pairs, how they are parted, and what they are measured against."""

    name: str
    training: Training
    corpus: Corpus
    known: list[Any]  # the gold links of each pair
    parts: list[np.ndarray]  # int64; each is aligned by what the others teach
    resources: Resources  # what the names of the features depend on

    def names(self, dropped: Sequence[str]) -> set[str]:
        """Return the features that groups, or single features, stand for."""
        found = {name for name in dropped if name not in GROUPS}
        return found.union(*(GROUPS[name].names(self.resources) for name in dropped if name in GROUPS))


class Measured(NamedTuple):
    """What a model did on some gold: counts, (N, 5), learnt q, gaps, and how decoding went."""

    counts: np.ndarray
    q: np.ndarray
    gap: float
    certified: int
    seconds: float
    training_seconds: float


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.quadratic", description=__doc__)
    hansards.add_arguments(parser)
    parser.add_argument(
        "--sizes", default="2000,20000", metavar="LIST", help="pairs of text (default: %(default)s)"
    )
    told = "PREFIX:SOURCE-TARGET, gold in halves; it is all the text there is"
    parser.add_argument("--halves", nargs="*", default=[], metavar="GOLD", help=told)
    add_common_arguments(parser, "quadratic", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure on all gold and write the results."""
    sizes = hansards.sizes_of(args.sizes) if args.sizes else []
    halves = [(text, recipe.parse(text)[-1]) for text in args.halves]
    for text, source in halves:
        if source.bitext is not None:
            raise InputError(f"--halves {text}: names a bitext; give PREFIX:SOURCE-TARGET")
    args.out.mkdir(parents=True, exist_ok=True)
    told = facts(args.seed)
    lines, values = [], []
    for gold in [*(_hansards(args, size) for size in sizes), *(_halves(args, one) for _, one in halves)]:
        for dropped in SETS:
            for line, value in rows(gold, dropped):
                lines.append(line)
                values.append(value)
    parts = ["# What a bonus for consecutive links is worth\n", NOTES, markdown(lines)]
    tell(args.out, "quadratic", told, parts, {"rows": values})


def _hansards(args: argparse.Namespace, size: int) -> Gold:
    settings = hansards.merged(hansards.settings(args, str(size), size), {"gold": {"train": TRAIN}})
    name = f"Hansards {size}, {FOLDS} folds"
    return _load(_trained(args, str(size), settings), name, links_file(args.gold), FOLDS)


def _halves(args: argparse.Namespace, source: Source) -> Gold:
    name = f"{source.prefix.name} {source.source}-{source.target}, halves"
    return _load(_trained(args, source.name, source.own_text(source.name)), name, source.links, 2)


def _trained(args: argparse.Namespace, name: str, settings: dict[str, Any]) -> Pipeline:
    pipeline = pipeline_of(args, name, settings)
    pipeline.run("train", ["train.labels=gold", "featurize.hidden=false"])
    return pipeline


def _load(pipeline: Pipeline, name: str, links: Path, count: int) -> Gold:
    """Read what the stages left of the gold; equal pairs fall into one of the ``count`` parts."""
    preprocess = pipeline.folder("preprocess")
    training = Training.load(pipeline)
    known = read_file(links, base=0)
    return Gold(
        name,
        training,
        Corpus.load(preprocess / "gold").take(training.pairs),
        [known[pair].links for pair in training.pairs],
        folds(training.texts, count, seed=0),
        Model.load(pipeline.folder("train")).resources,
    )


def rows(gold: Gold, dropped: str) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Return the rows of a set of features, for people and as values: the models of :data:`BONUSES`."""
    edges = without(gold.training.edges, gold.names(SETS[dropped]))
    found = []
    base: Measured | None = None
    for model, names in BONUSES.items():
        own = measure(gold, edges, bonus_features(gold.training.edges, names))
        line = {
            "gold": gold.name,
            "features": f"{dropped} ({len(edges.names)})",
            "model": model,
            "AER %": percent(score(own.counts).aer),
            "95 %": interval_of(bootstrap(own.counts).aer),
            "against linear": "",
            "q": " ".join(f"{SCALE * q:.2f}" for q in own.q),
            "gap %": f"{100 * own.gap:.2f}",
            "certified": f"{own.certified} of {len(own.counts)}",
            "us": f"{1e6 * own.seconds:.1f}",
            "training CPU s": f"{own.training_seconds:.1f}",
        }
        value = {"gold": gold.name, "dropped": dropped, "model": model, "score": score(own.counts)}
        value |= {"gap": own.gap, "q": (SCALE * own.q).tolist(), "seconds": own.seconds}
        if base is None:
            base = own
        else:
            against = paired_bootstrap(own.counts, base.counts)
            line["against linear"] = difference_of(against)
            value["against"] = against
        found.append((line, value))
    return found


def without(edges: Edges, names: Container[str]) -> Edges:
    """Return edges without the features of these names."""
    kept = [place for place, name in enumerate(edges.names) if name not in names]
    columns = edges.features if len(kept) == len(edges.names) else edges.features[:, kept]
    return Edges(edges.shapes, edges.offsets, columns, tuple(edges.names[place] for place in kept))


def bonus_features(edges: Edges, names: Sequence[str]) -> np.ndarray:
    """Return phi of the bonuses, float32, shape (E, p), in the scale of the features of edges.

    ``always`` is 1; any other name is that of a feature in [0, 1] of edges, its mean over the two links.
    """
    phi = np.zeros((len(edges.features), len(names)), dtype=np.float32)
    for column, name in enumerate(names):
        if name == "always":
            phi[:, column] = SCALE
            continue
        values = edges.features[:, edges.names.index(name)]
        for pair, (_, m) in enumerate(edges.shapes.tolist()):
            first, last = edges.offsets[pair], edges.offsets[pair + 1]
            following = min(first + m + 1, last)
            phi[first : first + last - following, column] = 0.5 * (
                values[first : first + last - following] + values[following:last]
            )
    return phi


def measure(gold: Gold, edges: Edges, phi: np.ndarray) -> Measured:
    """Learn and align every part of the gold; without features of a bonus, plain matchings."""
    counts = np.zeros((len(edges), 5), dtype=np.int64)
    q, gap, certified, seconds = np.zeros(phi.shape[1]), 0.0, 0, 0.0
    labels = gold.training.labels
    begun = time.process_time()
    fits = [_fit(gold, edges, labels, phi, np.setdiff1d(np.arange(len(edges)), part)) for part in gold.parts]
    training_seconds = time.process_time() - begun
    for part, (weights, relative) in zip(gold.parts, fits, strict=True):
        q += weights[len(edges.names) :] / len(gold.parts)
        gap = max(gap, relative)
        chosen = edges.take(part)
        theta = score_edges(chosen.features, weights[: len(edges.names)])
        if phi.shape[1]:
            rows_of_part = np.concatenate(
                [np.arange(edges.offsets[pair], edges.offsets[pair + 1]) for pair in part]
            )
            bonus = score_edges(phi[rows_of_part], weights[len(edges.names) :])
            found, taken = _timed(quadratic.solve, theta, bonus, chosen.shapes, chosen.offsets)
            links, slack = found.links, found.bounds - found.values
            certified += int((slack <= 1e-9 * (1.0 + found.bounds)).sum())
        else:
            links, taken = _timed(matching.solve, theta, chosen.shapes, chosen.offsets)
            certified += len(part)
        seconds += taken / len(edges)
        own = [gold.known[pair] for pair in part]
        counts[part] = statistics(surface_links(links_of_pairs(links, chosen), gold.corpus.take(part)), own)
    return Measured(counts, q, gap, certified, seconds, training_seconds)


def _fit(
    gold: Gold, edges: Edges, labels: Labels, phi: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the weights that the chosen pairs give, and the gap relative to the objective."""
    options = gold.training.options
    costs = {name: options[name] for name in ("cost_fn", "cost_fp")}
    usable = chosen[labels.counts()[chosen] > 0]
    problem: Any
    if phi.shape[1]:
        problem = QuadraticProblem(edges, labels, phi, pairs=usable, **costs)
    else:
        problem = MatchingProblem(edges, labels, pairs=usable, **costs)
    solver = SOLVERS["bcfw"](**{name: options[name] for name in ("lam", "tolerance", "seed")})
    fit = solver.run(problem)
    return fit.weights, fit.gap / fit.primal


def _timed(function: Callable[..., Any], *arrays: np.ndarray) -> tuple[Any, float]:
    """Return the result, and the CPU seconds of the fastest of five calls after one that may compile."""
    result = function(*arrays)
    taken = []
    for _ in range(5):
        begun = time.process_time()
        function(*arrays)
        taken.append(time.process_time() - begun)
    return result, min(taken)


def links_of_pairs(links: np.ndarray, edges: Edges) -> list[list[Link]]:
    found = []
    for pair, (_, m) in enumerate(edges.shapes.tolist()):
        own = np.flatnonzero(links[edges.offsets[pair] : edges.offsets[pair + 1]]).tolist()
        found.append([Link(*divmod(edge, m)) for edge in own])
    return found


if __name__ == "__main__":
    main()
