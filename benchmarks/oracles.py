"""What an oracle call costs: assignment and flow against linear programs, and projections against both.

The pairs are the gold pairs that may train, their weights those learnt from them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from align.cli.arguments import Parser
from align.features import Edges
from align.matching import assignment as matching
from align.matching import fertility, linear_program, projections
from align.matching.fertility_projections import project_block
from align.problems.labels import Labels
from align.problems.linear_program import LinearProgramProblem
from align.problems.matching import MatchingProblem
from align.solvers.block import BlockFrankWolfe
from benchmarks import hansards
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import facts, markdown, tell
from benchmarks.hansards import TRAIN
from benchmarks.runs import pipeline_of
from benchmarks.solvers import LAM

# Random problems whose values are compared, and the shape that projections are timed at.
PROBLEMS, SIDE, BLOCK = 2000, 25, 200
# Standard deviations of the random entries that are projected.
SCALES = (1.0, 10.0)

NOTES = """\
CPU microseconds a pair: the median of {rounds} rounds over all pairs, kernels compiled. The max oracle
includes scores, loss and the features of what it found; "assignment" and "projection" are the bare kernels on
blocks of pairs of {side} x {side} words with normally distributed entries.
"""


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.oracles", description=__doc__)
    hansards.add_arguments(parser)
    parser.add_argument(
        "--size", type=int, default=20_000, metavar="N", help="pairs of text (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="default: %(default)s")
    add_common_arguments(parser, "oracles", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure and write the table."""
    args.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for max_fertility in (1, 2):
        rows += oracle_rows(
            *gold_pairs(args, max_fertility), max_fertility, rounds=args.rounds, seed=args.seed
        )
    rows += projection_rows(rounds=args.rounds, seed=args.seed)
    told = facts(args.seed)
    worst = worst_differences(args.seed)
    parts = [
        "# What an oracle call costs\n",
        NOTES.format(rounds=args.rounds, side=SIDE),
        markdown([line(row) for row in rows]),
        f"Largest difference of values in {PROBLEMS} random rectangular problems with ties and "
        f"negative weights: assignment against its linear program {worst[1]:.1e}, "
        f"flow against its own {worst[2]:.1e}.\n",
    ]
    tell(args.out, "oracles", told, parts, {"rows": rows, "differences": worst})


def gold_pairs(args: argparse.Namespace, max_fertility: int) -> tuple[Edges, Labels]:
    """Run the pipeline as far as features of the gold pairs that train; return these and their labels."""
    settings = hansards.merged(hansards.settings(args, str(args.size), args.size), {"gold": {"train": TRAIN}})
    pipeline = pipeline_of(args, str(args.size), settings)
    pipeline.run(
        "featurize", ["train.labels=gold", f"train.fertility={max_fertility}", "featurize.hidden=false"]
    )
    return Edges.load(pipeline.folder("featurize") / "edges"), Labels.load(pipeline.folder("label"))


def oracle_rows(
    edges: Edges, labels: Labels, max_fertility: int, *, rounds: int, seed: int
) -> list[dict[str, Any]]:
    """Return what the compiled oracle costs, the linear program, and a step of bcfw, in microseconds."""
    problem = MatchingProblem(
        edges, labels, pairs=np.flatnonzero(labels.counts() > 0), max_fertility=max_fertility
    )
    reference = LinearProgramProblem(problem)
    w = BlockFrankWolfe(lam=LAM, seed=seed).run(problem).weights
    block, passes = np.arange(problem.n), 20

    solver = BlockFrankWolfe(lam=LAM, passes=passes, cache=0, gap_every=passes + 1, tolerance=0.0, seed=seed)

    compiled = timed(lambda: problem.oracles(w, block), rounds) / problem.n
    slow = timed(lambda: reference.oracles(w, block), 1) / problem.n
    one = timed(lambda: solver.run(problem), rounds) / passes / problem.n
    kind = "assignment" if max_fertility == 1 else f"flow, {max_fertility} links a word"
    return [
        {"what": f"max oracle: {kind}", "pairs": problem.n, "us": compiled, "ratio": 1.0},
        {"what": "the same by HiGHS", "pairs": problem.n, "us": slow, "ratio": slow / compiled},
        {"what": "bcfw: oracle, step, average", "pairs": problem.n, "us": one, "ratio": one / compiled},
    ]


def projection_rows(*, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Return what a projection onto the matching polytope costs beside an assignment, in microseconds."""
    generator = np.random.default_rng(seed)
    shapes = np.full((BLOCK, 2), SIDE, dtype=np.int32)
    offsets = np.arange(BLOCK + 1, dtype=np.int64) * SIDE * SIDE
    by_entropy = partial(projections.onto_matchings, entropic=True)
    rows = []
    for scale in SCALES:
        points = scale * generator.normal(size=offsets[-1])
        tasks: dict[str, Callable[[], object]] = {
            "assignment": lambda: matching.solve(points, shapes, offsets),  # noqa: B023 (called at once)
            "Euclidean projection": lambda: projections.onto_matchings(points, shapes, offsets),  # noqa: B023
            "projection by entropy": lambda: by_entropy(points, shapes, offsets),  # noqa: B023
            "Euclidean projection, two links a word": lambda: _onto_flows(points, shapes, False),  # noqa: B023
            "projection by entropy, two links a word": lambda: _onto_flows(points, shapes, True),  # noqa: B023
            "scipy's linear_sum_assignment": lambda: _by_scipy(points.reshape(BLOCK, SIDE, SIDE)),  # noqa: B023
        }
        took = {what: timed(task, rounds) / BLOCK for what, task in tasks.items()}
        rows += [
            {"what": f"{what}, scale {scale:g}", "pairs": BLOCK, "us": us, "ratio": us / took["assignment"]}
            for what, us in took.items()
        ]
    return rows


def _onto_flows(points: np.ndarray, shapes: np.ndarray, entropic: bool) -> None:
    """Project onto the flows of words with two links each, the second at a cost of 1."""
    words = int(shapes.sum())
    x = np.concatenate([points, np.full(words, -1.0)])
    failed = project_block(x, shapes, 1.0, entropic, np.zeros(words), np.empty(len(x)), np.empty(len(x)))
    assert failed < 0


def _by_scipy(thetas: np.ndarray) -> None:
    for theta in thetas:
        linear_sum_assignment(np.maximum(theta, 0.0), maximize=True)


def timed(task: Callable[[], object], rounds: int) -> float:
    """Return the median CPU microseconds of a task that was run once before."""
    task()
    took = []
    for _ in range(rounds):
        begun = time.process_time()
        task()
        took.append(1e6 * (time.process_time() - begun))
    return float(np.median(took))


def worst_differences(seed: int) -> dict[int, float]:
    """Return the largest difference between the values that the two oracles find, by links a word."""
    generator = np.random.default_rng(seed)
    worst = {1: 0.0, 2: 0.0}
    for _ in range(PROBLEMS):
        n, m = (int(side) for side in generator.integers(1, SIDE + 1, 2))
        theta = generator.normal(size=(n, m))
        if generator.random() < 0.5:
            theta = np.round(2 * theta) / 2  # ties
        free = (np.zeros(n), np.zeros(m))
        costs = generator.random(n), generator.random(m)
        shapes = np.array([[n, m]], dtype=np.int32)
        offsets = np.array([0, n * m])
        links = matching.solve(theta.ravel(), shapes, offsets).reshape(n, m)
        several = fertility.solve(theta.ravel(), shapes, offsets, *costs, max_fertility=2).reshape(n, m)
        for max_fertility, prices, found, reference in (
            (1, free, links, linear_program.solve(theta, *free)),
            (2, costs, several, linear_program.solve(theta, *costs, max_fertility=2)),
        ):
            values = [fertility.total(theta, *prices, own) for own in (found, reference)]
            worst[max_fertility] = max(worst[max_fertility], abs(values[0] - values[1]))
    return worst


def line(row: dict[str, Any]) -> dict[str, str]:
    """Return a row of the table."""
    return {
        "what": row["what"],
        "pairs": str(row["pairs"]),
        "us a pair": f"{row['us']:.1f}",
        "ratio": f"{row['ratio']:.1f}",
    }


if __name__ == "__main__":
    main()
