"""The experiments, each a section of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from align.matching.decoding import decode, score
from align.problems.approximate import (
    ApproximateProblem,
    Beam,
    FewAugmentations,
    suboptimality_bound,
)
from align.problems.linear_program import LinearProgramProblem
from align.problems.matching import COST_FN, COST_FP, SURE, MatchingProblem
from align.problems.sequences import ChainProblem
from align.problems.triplets import TripletProblem
from align.solvers import SOLVERS
from align.solvers.generic.curvature import dual_curvature_bounds
from benchmarks.figures import Table, drawing, percent
from benchmarks.report import data
from benchmarks.report.measuring import LEVELS, TARGET, Limits, Measured, measured, memory
from benchmarks.report.page import Section
from benchmarks.solvers import LAM, VARIANTS, Task, first_at, fits, gap_figure, scene_tasks, solver_of

ALL = (*SOLVERS, *VARIANTS)
LAMS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Those that lam is varied with.
LAM_SOLVERS = ("bcfw", "bcfw-pairwise", "subgradient", "fw")
DELTAS = (0.0, 0.5, 2.0, 8.0)
_MEBIBYTE = 2**20


@dataclass(frozen=True)
class Setup:
    """What all sections are told."""

    text: data.Text
    sizes: tuple[int, ...]
    names: tuple[str, ...]  # solvers and variants
    limits: Limits
    program: str  # the command line without the choice of a section

    def section(self, key: str, title: str) -> Section:
        """Return an empty section."""
        return Section(key, title, f"{self.program} --only {key}")

    def error(self) -> Callable[[np.ndarray], float]:
        """Return the error rate of weights on the gold pairs that judge."""
        judged = data.judge(self.text.gold)

        def error(weights: np.ndarray) -> float:
            found = judged(weights).aer
            return 1.0 if found is None else found

        return error


def first_experiment(setup: Setup) -> Section:
    """Make the experiment of 2019 again: 100 pairs, concatenated vectors, labels by cosine, the LP oracle."""
    text, pairs = setup.text, setup.text.usable[:100]
    section = setup.section("first", f"{len(pairs)} pairs: the experiment of 2019, and today's")
    corpus, labels = data.cosine_labels(text, pairs)
    flat = data.concatenated(corpus, text.vectors)
    flat_gold = data.concatenated(text.gold.corpus, text.vectors)
    plain = MatchingProblem(flat, labels, cost_fn=1.0, cost_fp=1.0)
    todays = text.edges.take(pairs)
    by_cosine = MatchingProblem(todays, labels, cost_fn=1.0, cost_fp=1.0)
    own = text.gold.edges.take(np.arange(text.gold.train))
    rows: list[tuple[str, Any, Any, Any]] = [
        ("concatenated vectors, cosine labels, linear program", LinearProgramProblem(plain), flat, flat_gold),
        ("the same, assignment", plain, flat, flat_gold),
        ("today's features, cosine labels, assignment", by_cosine, todays, None),
        ("today's features, sampled labels", text.task(100).problem, todays, None),
    ]
    usable = np.flatnonzero(text.gold.labels.counts()[: text.gold.train] > 0)
    if len(usable):
        gold_labels = text.gold.labels.take(np.arange(text.gold.train))
        annotated = MatchingProblem(own, gold_labels, pairs=usable)
        rows.append((f"today's features, {len(usable)} annotated pairs", annotated, own, None))
    table: Table = []
    limits = replace(setup.limits, rounds=1, seconds=3 * setup.limits.seconds)  # linear programs take long
    for name, problem, edges, gold in rows:
        own_measured = measured(Task(name, problem, LAM), "bcfw", limits)
        run = own_measured.run
        judged = data.judge(text.gold, gold)(run.fit.weights)
        linked = decode(score(edges, run.fit.weights)).linked
        aer = 1.0 if judged.aer is None else judged.aer
        reached = first_at(run.points, TARGET)
        table.append(
            {
                "features, labels, oracle": name,
                "primal": f"{run.fit.primal:.4g}",
                "gap %": percent(own_measured.share),
                "passes to 1 %": "-" if reached is None else str(reached.passes),
                "CPU s": "-" if reached is None else f"{reached.cpu_seconds:.2f}",
                "links where learnt": f"{len(linked)}",
                "links where judged": f"{judged.links}",
                "of them possible": f"{judged.possible_matched}",
                "sure there": f"{judged.sure}",
                "AER %": percent(aer),
            }
        )
        section.values[name] = {"aer": aer, "links": judged.links, "sure": judged.sure}
        section.values[name]["right"] = judged.possible_matched
        section.values[name] |= {"seconds": None if reached is None else reached.cpu_seconds}
        section.values[name] |= {"share": own_measured.share}
    old, new, best = (section.values[rows[place][0]] for place in (1, 2, -1))
    section.text(
        f"lam = {LAM}; error rates on {len(text.gold.judged)} annotated pairs that nothing was learnt "
        "from. The labels of 2019 are the nearest word by cosine, made a matching; with them a missed and a "
        f"wrong link cost 1 each, with the others {COST_FN:g} and {COST_FP:g}. Vectors of both languages lie "
        "in one space."
    )
    section.table(table)
    section.text(
        f"With concatenated vectors {old['links']} links are made where {old['sure']} are sure, and "
        f"{old['right']} of them are right, AER {100 * old['aer']:.1f} %. The score of a link is then "
        "w_s'x_j + w_t'y_k, a number of the one word plus a number of the other: every matching of the "
        "same words has the same score, so that nothing can be learnt of who translates whom, only which "
        "words are linked at all. The oracle has no part in that: linear program and assignment have the "
        "same minimum. With features of both words together (cosine, statistics, position, spelling) and "
        f"the same labels the AER is {100 * new['aer']:.1f} %, with {rows[-1][0]} {100 * best['aer']:.1f} %."
    )
    if old["links"] < old["sure"]:
        section.text(
            "Fewer links are made than there are sure ones. The objective of these weights is at most "
            f"{percent(old['share'])} % above its minimum, so that it is the objective, not the solver, that "
            "asks for few."
        )
    return section


def size(setup: Setup, pairs: int) -> Section:
    """Measure all solvers on so many pairs."""
    task, error = setup.text.task(pairs), setup.error()
    n = task.problem.n
    section = setup.section(f"pairs-{pairs}", f"{n:,} pairs: every solver")
    found = [measured(task, name, setup.limits, error) for name in setup.names]
    used = {name: memory(task, name, seed=setup.limits.seed) for name in setup.names}
    section.text(
        f"n = {n:,} pairs with sampled links, d = {task.problem.d} features, lam = {task.lam}; at most "
        f"{setup.limits.passes} passes and {setup.limits.seconds:g} seconds a run. Cells: passes / oracle "
        "calls (of the extragradient solvers those of the certificate alone; a pass of theirs projects "
        "every pair twice) / CPU seconds, until the gap of the iterate or of the average is at most that "
        "share of the primal. extragradient and extragradient-kl are the memory-efficient form; with s of "
        "edges kept it is the plain one."
    )
    section.table([_line(own, used[own.name]) for own in found])
    section.figure(
        gap_figure(f"{n:,} pairs", [own.run for own in found]), "Duality gap relative to the primal."
    )
    section.figure(_bounds_figure(found), "Primal and dual against passes: the minimum lies between them.")
    section.figure(
        _error_figure(found), f"AER on {len(setup.text.gold.judged)} annotated pairs against passes."
    )
    section.values = {
        own.name: {
            "passes": None if own.reached is None else own.reached.passes,
            "seconds": None if own.seconds is None else own.seconds.median,
            "memory": max(used[own.name]),
            "share": own.share,
            "aer": own.errors[-1][1] if own.errors else None,
            "status": own.run.fit.status,
        }
        for own in found
    }
    section.table(
        [_to_target(own, used[own.name]) for own in found],
        f"To a gap of {TARGET:.0%} with {n:,} pairs: seconds, memory, or why not.",
    )
    return section


def _line(own: Measured, used: tuple[int, int] | None) -> dict[str, str]:
    cells = {"solver": own.name}
    for level in LEVELS:
        point = first_at(own.run.points, level)
        cells[f"to {100 * level:g} %"] = (
            "-" if point is None else f"{point.passes} / {point.oracle_calls:,} / {point.cpu_seconds:.2f}"
        )
    cells["CPU s to 1 %, median (range)"] = "-" if own.seconds is None else own.seconds.text(2)
    cells["primal"], cells["gap %"] = f"{own.run.fit.primal:.5g}", f"{100 * own.share:.3g}"
    cells["AER %"] = percent(own.errors[-1][1]) if own.errors else ""
    cells["peak MiB"], cells["state MiB"] = _mebibytes(used)
    return cells


def _mebibytes(used: tuple[int, int] | None) -> tuple[str, str]:
    if used is None:
        return "", ""
    return f"{used[0] / _MEBIBYTE:.1f}", f"{used[1] / _MEBIBYTE:.2f}"


def _to_target(own: Measured, used: tuple[int, int]) -> dict[str, str]:
    cells = {"solver": own.name, "CPU s": "-", "passes": "-", "peak MiB": _mebibytes(used)[0]}
    if own.seconds is not None:
        cells["CPU s"], cells["passes"] = own.seconds.text(2), str(own.reached.passes)
    cells["why not"] = "" if own.seconds is not None else reason(own)
    return cells


def reason(own: Measured) -> str:
    """Return why a run did not reach the gap, with its figures."""
    fit, points = own.run.fit, own.run.points
    last = points[-1]
    a_pass = last.cpu_seconds / max(last.passes, 1)
    ended = (
        f"ended by the {fit.status} after {fit.passes} passes of {a_pass:.2g} CPU s, gap {own.share:.3g} "
        "of the primal"
    )
    solver = VARIANTS.get(own.name, (own.name, {}))[0]
    if solver == "fw":
        n = own.task.problem.n
        return f"{ended}: one step a pass, and C_f is up to n = {n:,} times the curvature of bcfw"
    if solver.startswith("extragradient"):
        return (
            f"{ended}: two projections a pair and pass, and the step is 1/Lip, which falls as pairs are "
            "added, while the weights have as far to go"
        )
    if solver == "subgradient":
        return f"{ended}: steps 1/(lam t) forget the first, long ones as 1/t only"
    return ended


def _bounds_figure(found: Sequence[Measured]) -> Any:
    figure = drawing(11, 4)
    axes = figure.add_subplot(xscale="log", yscale="log", xlabel="passes", ylabel="objective")
    for place, own in enumerate(found):
        points = [point for point in own.run.points if point.passes > 0]
        x, colour = [point.passes for point in points], f"C{place}"
        axes.plot(x, np.minimum.accumulate([point.primal for point in points]), color=colour, label=own.name)
        dual = np.maximum.accumulate([point.dual for point in points])
        axes.plot(x, np.where(dual > 0, dual, np.nan), "--", color=colour)
    best = min(own.run.fit.primal for own in found)
    axes.set_ylim(0.3 * best, 30 * best)
    return _finished(figure, axes)


def _error_figure(found: Sequence[Measured]) -> Any:
    figure = drawing(11, 4)
    axes = figure.add_subplot(xscale="log", xlabel="passes", ylabel="AER %")
    for own in found:
        if own.errors:
            x, y = zip(*own.errors, strict=True)
            axes.plot(x, [100 * value for value in y], marker="." if len(x) < 60 else "", label=own.name)
    return _finished(figure, axes)


def _finished(figure: Any, axes: Any) -> Any:
    axes.grid(visible=True, which="major", alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), fontsize="small", loc="outside right center")
    return figure


def strengths(setup: Setup) -> Section:
    """Vary lam."""
    pairs = sorted(setup.sizes)[len(setup.sizes) // 2]
    section, error = setup.section("lam", f"lam from {LAMS[0]:g} to {LAMS[-1]:g}"), setup.error()
    names = [name for name in LAM_SOLVERS if name in setup.names]
    rows: Table = []
    for lam in LAMS:
        task = setup.text.task(pairs, lam)
        cells = {"lam": f"{lam:g}"}
        for name in names:
            own = measured(
                task, name, replace(setup.limits, rounds=1, seconds=setup.limits.seconds / 3), error
            )
            point = own.reached
            cells[f"{name}: passes to 1 % / CPU s"] = (
                f"- ({100 * own.share:.2g} %)"
                if point is None
                else f"{point.passes} / {point.cpu_seconds:.2f}"
            )
            if name == names[0]:
                norm = float(np.linalg.norm(own.run.fit.weights))
                aer = own.errors[-1][1]
                cells |= {
                    "primal": f"{own.run.fit.primal:.4g}",
                    "length of w": f"{norm:.3g}",
                    "AER %": percent(aer),
                }
                section.values[f"{lam:g}"] = {"aer": aer, "share": own.share, "reached": point is not None}
        rows.append(cells)
    section.text(
        f"{setup.text.task(pairs).problem.n:,} pairs with sampled links; primal, length of w and AER "
        f"are those of {names[0]}. A dash: not reached, with the gap at the end. The bound "
        "4 R^2/(lam n) of the curvature grows as lam falls."
    )
    section.table(rows)
    return section


def scene(setup: Setup, path: Any) -> Section:
    """Measure the second experiment: images with six labels."""
    section = setup.section("scene", "The scene: six labels an image")
    limits = replace(setup.limits, rounds=1, seconds=setup.limits.seconds / 3)
    for task in scene_tasks(path):
        names = [name for name in setup.names if fits(name, task.problem)]
        found = [measured(task, name, limits, task.test) for name in names]
        title = "one weight vector a label" if "unary" in task.name else "and weights for all pairs of labels"
        rows = [{**_line(own, None), "test loss": f"{own.errors[-1][1]:.4f}"} for own in found]
        for row in rows:
            for name in ("AER %", "peak MiB", "state MiB"):
                row.pop(name)
        section.table(rows, f"{title}: n = {task.problem.n:,}, d = {task.problem.d:,}, lam = {task.lam:.3g}")
        section.figure(gap_figure(title, [own.run for own in found]), "Duality gap relative to the primal.")
        section.values[task.name] = {own.name: own.errors[-1][1] for own in found}
    return section


def triplets(setup: Setup, problems: dict[str, tuple[np.ndarray, np.ndarray]]) -> Section:
    """Learn which face is the odd one of three."""
    section, rows = setup.section("triplets", "Triplets: the odd one of three"), []
    for name, (embeddings, odd) in problems.items():
        half = len(odd) // 2
        problem = TripletProblem(embeddings[:half], odd[:half])

        def test(
            weights: np.ndarray, problem: Any = problem, e: Any = embeddings[half:], y: Any = odd[half:]
        ) -> float:
            return float((problem.predict(weights, e) != y).mean())

        equal = test(np.ones(problem.d))
        own = _other_problem(setup, Task(name, problem, LAM, test), {"data": name})
        rows += own
        section.values[name] = {"learnt": 1 - float(own[0]["test loss"]), "equal": 1 - equal}
        section.text(
            f"{name}: {half:,} triplets to learn from and {len(odd) - half:,} to test, {problem.d} "
            f"dimensions. Guessing is wrong in 66.7 %, all dimensions alike in {equal:.1%}."
        )
    section.table(rows)
    section.text(
        "The images of 2019 are not to be had; made faces stand for them (eight kinds, judges look at "
        "four of sixteen dimensions and guess in one of ten cases, so that 6.7 % is the least there can "
        "be). --triplets CSV NPY adds a table of one's own."
    )
    return section


def sequences(setup: Setup) -> Section:
    """Learn labels of chains."""
    task = data.chain_task(200, setup.limits.seed)
    section = setup.section("sequences", "Sequences: letters of words")
    section.text(
        f"{task.problem.n} made words to learn from, as many to test; d = {task.problem.d}, oracle "
        f"Viterbi, lam = {LAM}."
    )
    rows = _other_problem(setup, task, {})
    section.table(rows)
    section.values = {row["solver"]: float(row["test loss"]) for row in rows}
    return section


def _other_problem(setup: Setup, task: Task, first: dict[str, str]) -> Table:
    rows = []
    for name in setup.names:
        if solver_of(name, task.lam, 0).refusal(task.problem):
            continue
        own = measured(
            task, name, replace(setup.limits, rounds=1, seconds=setup.limits.seconds / 4), task.test
        )
        cells = _line(own, None)
        for column in ("AER %", "peak MiB", "state MiB", "CPU s to 1 %, median (range)"):
            cells.pop(column)
        rows.append({**first, **cells, "test loss": f"{own.errors[-1][1]:.4f}"})
    return rows


def approximate(setup: Setup) -> Section:
    """Solve with oracles that miss the maximum."""
    section = setup.section("approximate", "Oracles that miss the maximum")
    task, passes = setup.text.task(100), 20
    problem, error = task.problem, setup.error()
    assert isinstance(problem, MatchingProblem)
    best = SOLVERS["bcfw-pairwise"](lam=LAM, tolerance=1e-6, passes=200).run(problem)
    _, curvature = dual_curvature_bounds(_radius(problem), LAM, problem.n)
    rows: Table = []

    def add(
        name: str, rough: ApproximateProblem, lower: float, bound: Callable[[], float], judged: bool
    ) -> None:
        solver = solver_of("bcfw, no cache", LAM, setup.limits.seed)
        fit = replace(solver, passes=passes, tolerance=0.0).run(rough)
        missed = lower - max(row.dual for row in fit.history)
        rows.append(
            {
                "oracle": name,
                "stated error: worst": f"{rough.worst:.3g}",
                "mean": f"{rough.total / max(rough.steps, 1):.3g}",
                "exact calls %": percent(rough.exactly / max(rough.steps, 1)),
                "max D - D": f"{missed:.3g}",
                "bound": f"{bound():.3g}",
                "gap % (exact)": percent(fit.gap / fit.primal),
                "AER %": percent(error(fit.weights)) if judged else "",
            }
        )
        section.values[name] = {"missed": missed, "bound": bound(), "gap": fit.gap / fit.primal}

    for count in (1000, 20, 10, 5):
        rough = ApproximateProblem(problem, FewAugmentations(problem, count), delta=1e6)
        words = "matchings: exact" if count == 1000 else f"matchings: {count} augmentations"
        error_bound = lambda rough=rough: suboptimality_bound(  # noqa: E731
            curvature, passes, error=rough.worst, start=best.dual
        )
        add(words, rough, best.dual, error_bound, True)
    for delta in DELTAS[1:]:
        scaled = delta / 1000.0  # the bound of C is far above C
        rough = ApproximateProblem(problem, FewAugmentations(problem, 10), delta=scaled, curvature=curvature)
        schedule = lambda scaled=scaled: suboptimality_bound(  # noqa: E731
            curvature, passes, delta=scaled, start=best.dual
        )
        add(
            f"matchings: 10 augmentations, delta = {scaled:g} of 4 R^2/(lam n)",
            rough,
            best.dual,
            schedule,
            True,
        )
    chain = data.chain_task(100, setup.limits.seed).problem
    assert isinstance(chain, ChainProblem)
    chain_best = SOLVERS["bcfw-pairwise"](lam=LAM, tolerance=1e-6, passes=200).run(chain)
    _, chain_curvature = dual_curvature_bounds(_chain_radius(chain), LAM, chain.n)
    for width in (8, 4, 2, 1):
        rough = ApproximateProblem(chain, Beam(chain, width), delta=1e6)
        beam_bound = lambda rough=rough: suboptimality_bound(  # noqa: E731
            chain_curvature, passes, error=rough.worst, start=chain_best.dual
        )
        add(
            "chains: exact" if width == 8 else f"chains: beam of {width}",
            rough,
            chain_best.dual,
            beam_bound,
            False,
        )
    section.text(
        f"{passes} passes of bcfw without cache; of the 100 pairs and of 100 made chains. The oracle "
        "states a bound of what it misses; max D - D is what that cost in truth, beside the bound of "
        "theory, 2 (C (1 + delta) + h_0)/(t + 2), plus the error where it does not shrink, with 4 "
        "R^2/(lam n) for C, which is far above C; it is proved for pairs drawn with replacement, here a pass "
        "takes each once. The gap is measured by the exact oracle."
    )
    section.table(rows)
    return section


def _radius(problem: MatchingProblem) -> float:
    """Return a bound of all |psi_i(y)|: the lengths of gold links' features and of the longest matching."""
    longest = 0.0
    for i, (n, m) in enumerate(problem.data.shapes.tolist()):
        rows = slice(problem.data.starts[i], problem.data.starts[i] + n * m)
        lengths = np.linalg.norm(problem.data.features[rows].astype(np.float64), axis=1)
        gold = lengths[problem.data.kinds[rows] == SURE].sum()
        side = lengths.reshape(n, m).max(axis=1 if n <= m else 0)
        longest = max(longest, gold + side.sum())
    return float(longest)


def _chain_radius(chain: Any) -> float:
    """Return a bound of all |psi_i(y)|: twice the lengths of the places' features and of the neighbours."""
    x, offsets = chain.data.x, chain.data.offsets
    lengths = np.add.reduceat(np.linalg.norm(x, axis=1), offsets[:-1])
    return float((2 * (lengths + np.diff(offsets) - 1)).max())
