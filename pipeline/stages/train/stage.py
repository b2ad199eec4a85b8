"""Stage train: learn the weights of the features from the labelled pairs, and write the model folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from align.core.errors import InputError
from align.features import GROUPS, WORD_GROUPS, word_feature_names
from align.learning.cross_validation import Learner
from align.learning.gold import adapted_lam
from align.model.folder import Model
from align.model.shipped import DEFAULT
from align.problems.labels import Labels
from align.problems.matching import COST_FN, COST_FP
from align.problems.protocol import Problem
from align.solvers import EarlyStop, Fit, links_a_word
from pipeline.config.configuration import Config
from pipeline.config.options import between, one_of, takes_also
from pipeline.stages.featurize import load_edges
from pipeline.stages.label import stage as label
from pipeline.stages.train.heldout import calibration_of, choose, error_on, leave_out
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
from pipeline.stages.train.options import (
    FOLDS,
    check_fertility,
    oracle_of,
    solver_of,
    solver_options,
)
from pipeline.stages.train.plots import training_curve
from pipeline.stages.train.solving import CHECKPOINT, solve
from pipeline.stages.train.sums import sharing
from pipeline.work.stage import StageContext

# Labels in which fewer pairs have a link are taken for a mistake, not for data.
_LEAST_USABLE = 0.05

# Of one link; more of them than a corpus has add up to what is still exact to a millionth.
MOST_COST = 10**9


@takes_also(solver_options())
def run(
    context: StageContext,
    *,
    labels: str | None = None,
    weights: str = DEFAULT,
    solver: str = "bcfw",
    oracle: str = "assignment",
    cost_fn: Annotated[float, between(0, MOST_COST)] = COST_FN,
    cost_fp: Annotated[float, between(0, MOST_COST)] = COST_FP,
    fertility: Annotated[int | None, between(1, 2**31 - 1)] = None,
    folds: Annotated[int, FOLDS] = 0,
    stop_on: Annotated[str, one_of("gap", "aer")] = "gap",
    patience: Annotated[int, between(1, 2**31 - 1)] = 5,
    **options: Any,
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
        The method: one of :data:`align.solvers.SOLVERS`, whose options these are, too.
    oracle : str
        How the best links under some weights are found: assignment (compiled; with fertility above 1 a flow),
        or linear_program, the same by HiGHS, hundreds of times slower, to compare with. The solvers
        named extragradient project instead and have none.
    cost_fn : float
        Cost of a missed sure link, 0 to 1e9.
    cost_fp : float
        Cost of a wrong link, 0 to 1e9.
    fertility : int, optional
        Links that a word may have, >= 1: each after its first at a cost that is learnt. With 1 the links of a
        pair are a matching. Default: 2, or 1 with a solver that projects, to which each further link is dear.
        Given weights have theirs.
    folds : int
        With K >= 2 lam and cost_fn are chosen by K-fold cross-validation over the labelled pairs: of 0.1,
        0.3, 1, 3 and 10 times lam with 1, 1/3 and 3 times cost_fn those with the lowest alignment error rate
        in pairs left out, by their labels; of equal ones those with the largest lam. That is 15 K trainings,
        none with a time limit. 0: lam and cost_fn are taken as given. The fifth that stop_on leaves out is in
        no fold.
    stop_on : str
        gap: the training ends by the duality gap alone. aer: a fifth of the labelled pairs, drawn by the
        seed, is not learnt from. The alignment error rate of their links, by their labels, is measured after
        each pass whose gap is measured; ``patience`` passes without a lower one end the training, and the
        weights are those of the pass with the lowest. For labels that are noisy, or a lam that is too small.
        The rate told is the lowest of several on the same pairs: that of new text will rather be higher.
    patience : int
        Passes without a lower error rate that end the training where stop_on is aer, >= 1.

    Raises
    ------
    InputError
        If an option is wrong, or too few of the labelled pairs have a link.
    WorkError
        If the duality gap does not fall.
    """
    method = solver_of(solver, options, seed=context.seed, jobs=context.jobs)
    oracle = oracle_of(oracle, method)
    check_fertility(method, fertility)
    wanted = label.wanted_labels(labels, context.option("gold.train"))
    if wanted == "none":
        take_weights(context)
        return
    fertility = links_a_word(solver, fertility)
    edges, known = load_edges(context.inputs["featurize"]), Labels.load(context.inputs["label"])
    usable, count = _usable_pairs(known, context.inputs["label"]), len(known)
    names = edges.names + (
        edges.word_features.names if edges.word_features is not None and fertility > 1 else ()
    )
    origin = origin_of(context, names)
    if wanted == "gold" and origin is not None and options.get("lam") is None:  # known weights are adapted
        method = replace(method, lam=adapted_lam(len(usable)))
    learner = Learner(
        edges,
        Labels.load(context.inputs["featurize"]),
        solver=method,
        cost_fn=cost_fn,
        cost_fp=cost_fp,
        max_fertility=fertility,
        origin=origin,
        oracle=oracle,
        sharing=sharing(context),
        copies=None if len(edges) == count else count + np.arange(count),
    )
    problem = _problem(context, learner, usable)
    context.say(f"{len(usable)} pairs, {problem.d} features, {int(known.counts().sum())} sure links")
    facts: dict[str, Any] = {"pairs": len(usable), "pairs_without_links": count - len(usable)}
    chosen: dict[str, Any] = {}
    early_stop = None
    if stop_on == "aer":  # before the folds: pairs that judge have no part in the choice of lam and costs
        usable, judged = leave_out(context, usable)
        early_stop = EarlyStop(error_on(learner, judged), patience)
        facts |= {"pairs": len(usable), "pairs_held_out": len(judged)}
    if folds:
        learner, chosen = choose(context, learner, usable, folds)
    if folds or early_stop is not None:
        problem = _problem(context, learner, usable)
    fit = solve(context, problem, learner.solver, learner.origin, early_stop)
    record = _options(learner, weights, folds, early_stop)
    facts |= _facts(fit, known)
    if fit.errors:  # confidences are of weights that were learnt as long
        chosen["held_out_aer"] = fit.errors
        learner = replace(learner, solver=replace(learner.solver, passes=fit.best_pass))
    _save_model(context, learner, usable, fit.weights, record, facts)
    write_training(context, {**record, **facts, **chosen, "seconds": fit.seconds}, fit.history)
    training_curve(fit.history, learner.solver.tolerance, context.folder / "curve.png")
    (context.folder / CHECKPOINT).unlink(missing_ok=True)


def check(config: Config) -> None:
    """Refuse wrong options before the first stage is run."""
    values = dict(config.values["train"])
    del values["labels"], values["weights"]  # the stage label refuses wrong ones
    for name in ("cost_fn", "cost_fp", "folds", "stop_on", "patience"):  # each stands with its range
        del values[name]
    solver, oracle, fertility = (values.pop(name) for name in ("solver", "oracle", "fertility"))
    method = solver_of(solver, values)
    oracle_of(oracle, method)
    check_fertility(method, fertility)
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
        raise InputError(
            "train.weights: none, and train.labels is none too: nothing tells what a link is; set either"
        )
    return weights_files(config)


def _usable_pairs(labels: Labels, label_folder: Path) -> np.ndarray:
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


def _options(learner: Learner, weights: str, folds: int, early_stop: EarlyStop | None) -> dict[str, Any]:
    """Return how was learnt, for the model and training.json."""
    solver = learner.solver
    return {
        "solver": solver.name,
        "cost_fn": learner.cost_fn,
        "cost_fp": learner.cost_fp,
        **solver.chosen(),
        "seed": solver.seed,
        "weights": weights,
        **({"fertility": learner.max_fertility} if learner.max_fertility > 1 else {}),
        **({"oracle": learner.oracle} if learner.oracle != "assignment" else {}),
        **({"folds": folds} if folds else {}),
        **({"stop_on": "aer", "patience": early_stop.patience} if early_stop is not None else {}),
    }


def _facts(fit: Fit, labels: Labels) -> dict[str, Any]:
    """Return what came of it, for the model and training.json."""
    return {"sure_links": int(labels.counts().sum()), **fit.certificate}


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
    of_words = () if fertility == 1 or edges.word_features is None else edges.word_features.names
    model = Model(
        weights=weights,
        names=edges.names + of_words,
        groups=tuple(
            name for name, group in GROUPS.items() if set(edges.names).intersection(group.names(resources))
        ),
        resources=resources,
        text=text_of(context),
        calibration=calibration_of(context, learner, usable, weights, resources),
        options=options,
        provenance={"corpus": context.option("corpus.name"), **facts},
        fertility=fertility,
        word_groups=tuple(
            name for name in WORD_GROUPS if set(of_words).intersection(word_feature_names((name,), resources))
        ),
    )
    write_model(context, model)
