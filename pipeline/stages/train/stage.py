"""Stage train: learn the weights of the features from the labelled pairs, and write the model folder."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError, WorkError
from align.features import EXTRA_GROUPS, GROUPS, Edges, Resources, extra_names
from align.learning.heldout import Learner
from align.model.folder import Model
from align.model.shipped import DEFAULT
from align.problems.labels import Labels
from align.problems.protocol import Problem
from align.solvers import SOLVERS, Fit, Progress, links_a_word, most_passes
from pipeline.config.configuration import Config
from pipeline.stages.featurize import load_edges
from pipeline.stages.label import stage as label
from pipeline.stages.train.checks import check_options
from pipeline.stages.train.heldout import calibration_of, choose
from pipeline.stages.train.model import (
    NO_WEIGHTS,
    origin_of,
    resources_of,
    take_weights,
    text_of,
    weights_files,
    write_model,
    write_training,
)
from pipeline.stages.train.plots import training_curve
from pipeline.stages.train.sums import sharing
from pipeline.work.stage import StageContext

CHECKPOINT = "checkpoint.npz"
# Labels in which fewer pairs have a link are taken for a mistake, not for data.
_LEAST_USABLE = 0.05
# A gap that has not fallen after so many passes will not.
_PATIENCE = 10
_SECONDS_BETWEEN_LINES = 10.0


def run(
    context: StageContext,
    *,
    labels: str | None = None,
    weights: str = DEFAULT,
    solver: str = "bcfw",
    oracle: str = "assignment",
    cost_fn: float = 3.0,
    cost_fp: float = 1.0,
    lam: float = 0.01,
    passes: int | None = None,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    fertility: int | None = None,
    ball: float | None = None,
    folds: int = 0,
) -> None:
    """Learn the weights of the features.

    Parameters
    ----------
    labels : str, optional
        What to learn from: silver (links found by statistics), gold (the training part of the links made by
        hand), both, or none (no training: the given weights are used as they are). Default: gold where
        gold.train > 0, else none where default weights are shipped, else silver.
    weights : str
        Known weights that training starts from and leaves only as far as the labels ask for it; where the
        labels are none they are used as they are. The name of shipped ones; a folder, relative to the
        configuration, of weights or of a model, whose weights alone are taken; or none.
    solver : str
        The method: bcfw, bcfw-away and bcfw-pairwise (one pair at a time, in different steps; the last two
        get nearest to the minimum), minibatch (as bcfw, several pairs in parallel), fw (all pairs at once; it
        needs many passes); or, with fertility 1 only, extragradient or extragradient-kl (dual extragradient,
        Euclidean projections or such by relative entropy).
    oracle : str
        How the best links under some weights are found: assignment (compiled; with fertility above 1 a flow),
        or programme, the same by linear programming, hundreds of times slower, to compare with. The solvers
        named extragradient project instead and take the first only.
    cost_fn : float
        Cost of a missed sure link, >= 0.
    cost_fp : float
        Cost of a wrong link, >= 0.
    lam : float
        Regularisation, > 0: the weight of |w - w_0|^2 / 2, w_0 the known weights, against the mean loss of a
        pair.
    passes : int
        At most so many passes over the labelled pairs, >= 1. Default: 50, with fw, extragradient and
        extragradient-kl 1,000.
    tolerance : float
        Stop when the duality gap is at most this share of the primal objective, >= 0.
    time_limit : float, optional
        Stop after the pass in which so many seconds are over, > 0. The result then depends on the machine.
    fertility : int, optional
        Links that a word may have, >= 1: each after its first at a cost that is learnt. With 1 the links of a
        pair are a matching. Default: 2, or 1 with extragradient and extragradient-kl. Given weights have
        theirs.
    ball : float, optional
        With extragradient and extragradient-kl: the known weights, or 0, are left by at most this distance,
        > 0, in place of being regularised; lam is then without effect.
    folds : int
        With K >= 2 lam and cost_fn are chosen by K-fold cross-validation over the labelled pairs: of 0.1,
        0.3, 1, 3 and 10 times lam with 1, 1/3 and 3 times cost_fn those with the lowest alignment error rate
        in pairs left out, by their labels; of equal ones those with the largest lam. That is 15 K trainings,
        none with a time limit. 0: lam and cost_fn are taken as given.

    Raises
    ------
    InputError
        If an option is wrong, or too few of the labelled pairs have a link.
    WorkError
        If the duality gap does not fall.
    """
    check_options(
        solver, oracle, cost_fn, cost_fp, lam, passes, tolerance, time_limit, fertility, ball, folds
    )
    if label.wanted_labels(labels, context.option("gold.train")) == "none":
        take_weights(context)
        return
    fertility, passes = links_a_word(solver, fertility), most_passes(solver, passes)
    edges = load_edges(context.inputs["featurize"])
    known = Labels.load(context.inputs["label"])
    usable = _usable_pairs(edges, known, context.inputs["label"])
    names = edges.names + (edges.extra.names if edges.extra is not None and fertility > 1 else ())
    learner = Learner(
        edges,
        known,
        solver=solver,
        lam=lam,
        cost_fn=cost_fn,
        cost_fp=cost_fp,
        passes=passes,
        tolerance=tolerance,
        seed=context.seed,
        max_fertility=fertility,
        origin=origin_of(context, names),
        ball=ball,
        oracle=oracle,
        sharing=sharing(context),
    )
    problem = _problem(context, learner, usable)
    context.say(f"{len(usable)} pairs, {problem.d} features, {int(known.counts().sum())} sure links")
    chosen: dict[str, Any] = {}
    if folds:
        learner, chosen = choose(context, learner, usable, folds)
        problem = _problem(context, learner, usable)
    fit = _solve(
        context,
        problem,
        solver,
        lam=learner.lam,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        origin=learner.origin,
        **({} if ball is None else {"ball": ball}),
    )
    _check_course(fit)
    options = {
        "solver": solver, "cost_fn": learner.cost_fn, "cost_fp": cost_fp, "lam": learner.lam,
        "passes": passes, "tolerance": tolerance, "seed": context.seed, "weights": weights,
    }  # fmt: skip
    if fertility > 1:
        options["fertility"] = fertility
    if ball is not None:
        options["ball"] = ball
    if oracle != "assignment":
        options["oracle"] = oracle
    if folds:
        options["folds"] = folds
    facts = {
        "pairs": len(usable),
        "pairs_without_links": len(known) - len(usable),
        "sure_links": int(known.counts().sum()),
        "status": fit.status,
        "primal": fit.primal,
        "dual": fit.dual,
        "gap": fit.gap,
        "averaged": fit.averaged,
        "passes": fit.passes,
        "oracle_calls": fit.oracle_calls,
    }
    _save_model(context, learner, usable, fit.weights, options, facts)
    write_training(context, {**options, **facts, **chosen, "seconds": fit.seconds}, fit.history)
    training_curve(fit.history, tolerance, context.folder / "curve.png")
    context.say(
        f"{solver} {fit.status} after {fit.passes} passes, {fit.oracle_calls} oracle calls, "
        f"{fit.seconds:.1f} s: {_describe(fit.primal, fit.gap)}"
    )
    (context.folder / CHECKPOINT).unlink(missing_ok=True)


def check(config: Config) -> None:
    """Refuse wrong options before the first stage is run."""
    options = dict(config.values["train"])
    del options["labels"], options["weights"]  # the stage label refuses wrong ones
    check_options(**options)
    local_files(config)


def local_files(config: Config) -> list[Path]:
    """Return the files of the known weights that the stage reads.

    Raises
    ------
    InputError
        If there are no such weights.
    """
    wanted = label.wanted_labels(config.option("train.labels"), config.option("gold.train"))
    if wanted == "none" and config.option("train.weights") == NO_WEIGHTS:
        raise InputError("train.weights: none, and train.labels is none too: nothing tells what a link is")
    return weights_files(config)


def _usable_pairs(edges: Edges, labels: Labels, label_folder: Path) -> np.ndarray:
    """Return the indices of the pairs that have a sure link; the others say nothing of what a link is.

    Raises
    ------
    InputError
        If there are too few of them.
    """
    usable = np.flatnonzero(labels.counts() > 0)
    if len(usable) == 0 or len(usable) < _LEAST_USABLE * len(labels):
        raise InputError(
            f"{label_folder}: {len(usable)} of {len(labels)} labelled pairs have a sure link, "
            f"at least {_LEAST_USABLE:.0%} is needed{_threshold(label_folder)}; "
            "lower the threshold of the labels (--list label), or look whether the two sides are translations"
        )
    return usable


def _threshold(label_folder: Path) -> str:
    """Return the threshold the labels were made with, as far as the stage label has written it down."""
    try:
        summary = json.loads((label_folder / "summary.json").read_text(encoding="utf-8"))
        return f" (threshold {summary['threshold']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _problem(context: StageContext, learner: Learner, pairs: np.ndarray) -> Problem:
    """Return what is solved.

    Raises
    ------
    InputError
        If the results of earlier stages do not fit each other.
    """
    try:
        return learner.problem(pairs)
    except ValueError as error:
        raise InputError(f"{context.inputs['featurize']}: {error}; run label and featurize again") from None


def _solve(context: StageContext, problem: Problem, solver: str, **options: Any) -> Fit:
    """Run the solver, from the checkpoint of a killed run where there is one."""
    path = context.folder / CHECKPOINT
    if SOLVERS[solver].threads:
        options["jobs"] = context.jobs
    state = None
    if path.exists():
        try:
            state = SOLVERS[solver].load(path)
            context.say(f"goes on after pass {state.passes}, where an earlier run stopped")
        except ValueError as error:
            context.say(f"starts anew: {error}")
    bar = context.progress(range(options["passes"]), total=options["passes"], unit="passes")
    save, tell = _checkpoints(path), _teller(context)

    def on_pass(progress: Progress) -> None:
        save(progress)
        tell(progress)
        next(bar, None)

    try:
        return SOLVERS[solver].run(problem, seed=context.seed, resume=state, on_pass=on_pass, **options)
    except ValueError as error:  # the options are checked: it is the features or a foreign checkpoint
        raise WorkError(f"train: {error}; run featurize again with --force") from None


def _checkpoints(path: Path) -> Callable[[Progress], None]:
    """Return a function that saves the state, but never takes more than a tenth of the time."""
    ended = took = 0.0

    def save(progress: Progress) -> None:
        nonlocal ended, took
        began = time.perf_counter()
        if ended and began - ended < 9 * took:
            return
        progress.state.save(path)
        ended = time.perf_counter()
        took = ended - began

    return save


def _teller(context: StageContext) -> Callable[[Progress], None]:
    """Return a function that says where a long run stands."""
    last = time.perf_counter()

    def tell(progress: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            row = progress.row
            context.say(f"pass {row.passes} of {progress.passes}: {_describe(row.primal, row.gap)}")

    return tell


def _describe(primal: float, gap: float) -> str:
    share = f" ({gap / primal:.2%} of it)" if primal > 0 else ""
    return f"primal {primal:.6g}, duality gap {gap:.3g}{share}"


def _check_course(fit: Fit) -> None:
    """Refuse weights that are no better than none.

    Raises
    ------
    WorkError
        If many passes have not brought the gap below that of w = 0.
    """
    gaps = [min(row.gap, row.average_gap) if row.average_gap < row.gap else row.gap for row in fit.history]
    if fit.status != "converged" and fit.passes >= _PATIENCE and not min(gaps[1:]) < gaps[0]:
        raise WorkError(
            f"train: the duality gap did not fall in {fit.passes} passes ({gaps[0]:.4g} at the start, "
            f"{fit.gap:.4g} at the end); raise train.lam or train.passes"
        )


def _save_model(
    context: StageContext,
    learner: Learner,
    usable: np.ndarray,
    weights: np.ndarray,
    options: dict[str, Any],
    facts: dict[str, Any],
) -> None:
    resources = resources_of(context)
    edges, fertility = learner.edges, learner.max_fertility
    extra = () if fertility == 1 or edges.extra is None else edges.extra.names
    model = Model(
        weights=weights,
        names=edges.names + extra,
        groups=_groups(edges.names, resources),
        resources=resources,
        text=text_of(context),
        calibration=calibration_of(context, learner, usable, weights, resources),
        options=options,
        provenance={"corpus": context.option("corpus.name"), **facts},
        fertility=fertility,
        extra_groups=_groups_of_words(extra, resources),
    )
    write_model(context, model)


def _groups(names: tuple[str, ...], resources: Resources) -> tuple[str, ...]:
    """Return the feature groups that the columns belong to."""
    there = set(names)
    return tuple(name for name, group in GROUPS.items() if there.intersection(group.names(resources)))


def _groups_of_words(names: tuple[str, ...], resources: Resources) -> tuple[str, ...]:
    """Return the groups that the features of words belong to."""
    return tuple(name for name in EXTRA_GROUPS if set(names).intersection(extra_names((name,), resources)))
