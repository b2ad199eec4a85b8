"""All solvers of the structured SVM on the same problems: how fast the duality gap closes.

Hansards gold: the first 100 annotated pairs, matchings. Silver: pairs of the bitext with sampled labels.
Scene: images with six labels, alone and with weights for all pairs of labels. Where neither is given: the
annotated pairs of the embedded sample that may train.
"""

from __future__ import annotations

import argparse
import math
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from align.cli.arguments import Parser
from align.core.arrays import load_array
from align.core.errors import InputError
from align.features import Edges
from align.plot import gap
from align.problems.labels import Labels
from align.problems.matching import MatchingProblem
from align.problems.multilabel import MultilabelProblem, all_edges
from align.problems.protocol import Problem
from align.solvers import SOLVERS, Fit, Progress, Row, Solver
from align.solvers.state import fingerprint
from benchmarks import hansards
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import drawing, facts, markdown, tell, write_csv
from benchmarks.hansards import TRAIN
from benchmarks.process import ROOT
from benchmarks.runs import Pipeline, pipeline_of
from pipeline.stages.train.plots import training_curve

# Options a solver is also run with: a name for the tables, the solver and its options.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "bcfw, no cache": ("bcfw", {"cache": 0}),
    "extragradient, s of edges kept": ("extragradient", {"memory": "edges"}),
}

# Gaps relative to the primal whose first pass the table tells.
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)

# Regularisation of the alignment problems, and C of the scene, lam = 1 / (C n).
LAM, SCENE_C = 0.01, 0.1
SAMPLE = ROOT / "data" / "sample" / "sample.toml"
SCENE_FILES = ("X_train", "y_train", "X_test", "y_test")

# Drawn alone, of the first of the solvers: primal and dual on 100 pairs, the gap on the scene.
FIGURES = {"hansards-gold": "hansards-gold-curve", "scene-pairwise": "scene-pairwise-curve"}

NOTES = """\
Passes, oracle calls and CPU seconds until the duality gap is at most that share of the primal: of the last
iterate or of the average, whichever has the smaller gap. Calls and seconds include those that measure the gap
after every pass; kernels are compiled before. A dash: not reached within the limits. "test" is the share of
wrong labels.
"""


@dataclass(frozen=True)
class Task:
    """A problem to solve, with the strength of regularisation, under a name for files and tables."""

    name: str
    problem: Problem
    lam: float
    test: Callable[[np.ndarray], float] | None = None  # share of wrong test labels under some weights


class Point(NamedTuple):
    """A line of the files of results: where a solver stood after a pass."""

    passes: int
    oracle_calls: int
    seconds: float
    cpu_seconds: float
    primal: float
    dual: float
    gap: float


class Run(NamedTuple):
    """What one solver did on one problem."""

    solver: str
    fit: Fit
    points: list[Point]


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.solvers", description=__doc__)
    hansards.add_arguments(parser, required=False)
    parser.add_argument("--scene", type=Path, metavar="NPZ", help=f"arrays {', '.join(SCENE_FILES)}")
    parser.add_argument(
        "--size", type=int, default=20_000, metavar="N", help="pairs of text (default: %(default)s)"
    )
    parser.add_argument(
        "--silver", type=int, default=20_000, metavar="N", help="pairs with silver labels; 0: none"
    )
    names = ", ".join([*SOLVERS, *VARIANTS])
    parser.add_argument("--solvers", metavar="LIST", help=f"parted by semicolons; default: {names}")
    parser.add_argument(
        "--passes", type=int, default=1000, metavar="N", help="at most (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=120.0,
        help="of a solver on a problem, at most (default: %(default)s)",
    )
    add_common_arguments(parser, "solvers", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Solve every problem with every solver and write the results."""
    chosen = solvers_of(args.solvers)
    if args.size < 1 or args.silver < 0 or args.passes < 1 or not args.seconds > 0:
        raise InputError("--size, --silver, --passes, --seconds: give numbers above 0; --silver may be 0")
    if (args.hansards is None) != (args.gold is None):
        raise InputError("--hansards, --gold: give both or none")
    tasks = [] if args.scene is None else scene_tasks(args.scene)
    args.out.mkdir(parents=True, exist_ok=True)
    told = facts(args.seed)
    parts, values = ["# How fast the solvers close the duality gap\n", NOTES], []
    if args.hansards is not None:
        tasks += _alignment_tasks(args)
    elif not tasks:
        tasks.append(_sample_task(args))
    for task in tasks:
        runs = [
            solve(task, name, passes=args.passes, seconds=args.seconds, seed=args.seed)
            for name in chosen
            if fits(name, task.problem)
        ]
        if not runs:  # none of those chosen solves it
            continue
        write_points(args.out / f"{task.name}.csv", runs)
        plot(args.out / f"{task.name}.png", task.name, runs)
        parts.append(f"## {task.name}: n = {task.problem.n}, d = {task.problem.d}, lam = {task.lam:.3g}\n")
        parts.append(markdown([line(own, task) for own in runs]))
        values += [_value(own, task) for own in runs]
        if task.name in FIGURES:
            training_curve(runs[0].fit.history, LEVELS[-1], args.out / f"{FIGURES[task.name]}.png")
    tell(args.out, "solvers", told, parts, {"runs": values})


def solvers_of(text: str | None) -> list[str]:
    """Return the names of a list parted by semicolons (a name may have commas); default: all.

    Raises
    ------
    InputError
        If one is not known.
    """
    known = [*SOLVERS, *VARIANTS]
    chosen = known if text is None else [name.strip() for name in text.split(";")]
    for name in chosen:
        if name not in known:
            raise InputError(f"--solvers: {name!r} is no solver; give some of {'; '.join(known)}")
    return chosen


def fits(name: str, problem: Problem) -> bool:
    """Tell whether a solver, or a variant, can solve a problem: some need a polytope to project onto."""
    solver, options = VARIANTS.get(name, (name, {}))
    return not SOLVERS[solver](**options).refusal(problem)


def scene_tasks(path: Path) -> list[Task]:
    """Return the problems of the scene data, without weights of pairs of labels and with all.

    Raises
    ------
    InputError
        If the file is not as told.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            x, y, x_test, y_test = (file[name] for name in SCENE_FILES)
        unary = MultilabelProblem(x, y)
        pairwise = MultilabelProblem(x, y, edges=all_edges(y.shape[1]))
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path}: {error}; give a file with arrays {', '.join(SCENE_FILES)}") from None

    def task(name: str, problem: MultilabelProblem) -> Task:
        def test(weights: np.ndarray) -> float:
            return float((problem.predict(weights, x_test) != y_test).mean())

        return Task(name, problem, 1 / (SCENE_C * problem.n), test)

    return [task("scene-unary", unary), task("scene-pairwise", pairwise)]


def _alignment_tasks(args: argparse.Namespace) -> list[Task]:
    """Return the problem of the gold labels of the Hansards, and that of silver ones."""
    settings = hansards.merged(hansards.settings(args, str(args.size), args.size), {"gold": {"train": TRAIN}})
    pipeline = _pipeline(args, str(args.size), settings)
    tasks = [_task("hansards-gold", pipeline, ["train.labels=gold"])]
    if args.silver:
        silver = ["train.labels=silver", f"label.pairs={args.silver}"]
        tasks.append(_task("hansards-silver", pipeline, silver))
    return tasks


def _sample_task(args: argparse.Namespace) -> Task:
    """Return the problem of the annotated pairs of the embedded sample that may train."""
    settings = tomllib.loads(SAMPLE.read_text(encoding="utf-8"))
    for section in ("corpus", "gold"):
        settings[section]["files"] = [str(SAMPLE.parent / name) for name in settings[section]["files"]]
    settings["gold"]["links"] = str(SAMPLE.parent / settings["gold"]["links"])
    return _task("sample-gold", _pipeline(args, "sample", settings), ["train.labels=gold"])


def _pipeline(args: argparse.Namespace, name: str, settings: dict[str, dict[str, Any]]) -> Pipeline:
    return pipeline_of(
        args, name, hansards.merged(settings, {"train": {"fertility": 1}, "featurize": {"hidden": False}})
    )


def _task(name: str, pipeline: Pipeline, options: Sequence[str]) -> Task:
    """Run the pipeline as far as features; return the problem of its labels."""
    pipeline.run("featurize", options)
    return Task(name, alignment_problem(pipeline.folder("featurize"), pipeline.folder("label")), LAM)


def alignment_problem(featurize: Path, label: Path) -> MatchingProblem:
    """Return the problem of the labelled pairs that have a sure link, as stages of the pipeline left them."""
    edges, labels = Edges.load(featurize / "edges"), Labels.load(label)
    assert len(load_array(label / "pairs.npy")) == len(edges), "the stages are of different runs"
    return MatchingProblem(edges, labels, pairs=np.flatnonzero(labels.counts() > 0))


def solve(
    task: Task,
    name: str,
    *,
    passes: int,
    seconds: float,
    seed: int,
    tolerance: float = LEVELS[-1],
    look: Callable[[Solver[Any], Progress], None] | None = None,
) -> Run:
    """Run a solver, or a variant, once to compile its kernels and once to be measured.

    ``look(solver, progress)`` is called after each pass; its time is not counted.
    """
    whole = solver_of(name, task.lam, seed)
    replace(whole, passes=1).run(task.problem)
    begun = time.process_time()
    fingerprint(task.problem)  # a run with an on_pass makes one first, for checkpoints: no part of solving
    cpu, idle = [0.0], time.process_time() - begun
    begun = time.process_time()

    def on_pass(progress: Progress) -> None:
        nonlocal idle
        now = time.process_time()
        cpu.append(max(now - begun - idle, cpu[-1]))
        if look is not None:
            look(whole, progress)
            idle += time.process_time() - now

    whole = replace(whole, passes=passes, tolerance=tolerance, time_limit=seconds)
    fit = whole.run(task.problem, on_pass=on_pass)
    return Run(name, fit, points_of(fit.history, cpu))


def solver_of(name: str, lam: float, seed: int) -> Solver[Any]:
    """Return a solver, or a variant, with its options."""
    solver, options = VARIANTS.get(name, (name, {}))
    return SOLVERS[solver](lam=lam, seed=seed, **options)


def points_of(history: Sequence[Row], cpu: Sequence[float]) -> list[Point]:
    """Return the rows in which the gap was measured, of the iterate or the average with the smaller gap.

    ``cpu`` has the CPU seconds at the end of every row; those of the first, the start, are 0.
    """
    points = []
    for row, used in zip(history, cpu, strict=False):
        _, best = row.certified
        if not math.isnan(best.gap):
            points.append(Point(row.passes, row.oracle_calls, row.seconds, used, *best))
    return points


def first_at(points: Sequence[Point], level: float) -> Point | None:
    """Return the first point whose gap is at most ``level`` times its primal."""
    return next((point for point in points if point.gap <= level * point.primal), None)


def line(own: Run, task: Task) -> dict[str, str]:
    """Return the row of a table."""
    cells = {"solver": own.solver}
    for level in LEVELS:
        point = first_at(own.points, level)
        cells[f"to {level:.0e}: passes / calls / CPU s"] = (
            "-" if point is None else f"{point.passes} / {point.oracle_calls} / {point.cpu_seconds:.2f}"
        )
    cells["CPU ms a pass"] = f"{1e3 * _seconds_a_pass(own.points):.2f}"
    cells["primal"], cells["gap %"] = f"{own.fit.primal:.6g}", f"{100 * own.fit.gap / own.fit.primal:.3g}"
    if task.test is not None:
        cells["test"] = f"{task.test(own.fit.weights):.4f}"
    return cells


def _seconds_a_pass(points: Sequence[Point]) -> float:
    """Return the CPU seconds from the first point to the last over the passes between, the gap's included."""
    if len(points) < 2:
        return math.nan
    return (points[-1].cpu_seconds - points[0].cpu_seconds) / (points[-1].passes - points[0].passes)


def _value(own: Run, task: Task) -> dict[str, Any]:
    fit = own.fit
    reached: Mapping[str, Any] = {f"{level:.0e}": first_at(own.points, level) for level in LEVELS}
    return {
        "problem": task.name,
        "solver": own.solver,
        "lam": task.lam,
        "status": fit.status,
        "passes": fit.passes,
        "primal": fit.primal,
        "gap": fit.gap,
        "reached": {level: None if point is None else point._asdict() for level, point in reached.items()},
        "test": None if task.test is None else task.test(fit.weights),
    }


def write_points(path: Path, runs: Sequence[Run]) -> None:
    """Write a line a pass of each solver, for spreadsheets."""
    write_csv(path, [{"solver": own.solver, **point._asdict()} for own in runs for point in own.points])


def plot(path: Path, title: str, runs: Sequence[Run]) -> None:
    """Draw the least relative gap so far against passes, calls and CPU seconds into a PNG file."""
    gap_figure(title, runs).savefig(path, metadata={"Software": None})


def gap_figure(title: str, runs: Sequence[Run]) -> Any:
    """Return that figure."""
    figure = drawing(14, 4.5)
    figure.suptitle(title)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, column in zip(panels, ("passes", "oracle_calls", "cpu_seconds"), strict=True):
        for own in runs:
            gap(axes, own.points, by=column, label=own.solver)
        if axes.get_legend() is not None:  # there is one for all panels
            axes.get_legend().remove()
        axes.set_ylabel("")
        axes.tick_params(axis="x", which="both", labelrotation=30)  # a short axis has many labels
    panels[0].set_ylabel("duality gap / primal, least so far")
    handles, names = panels[-1].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, fontsize="small", loc="outside right center")
    return figure


if __name__ == "__main__":
    main()
