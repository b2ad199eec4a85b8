"""The options of the section [train] that belong to the solvers: each stands with its solver alone."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from align.core.errors import InputError
from align.learning.cross_validation import ORACLES
from align.learning.gold import ADAPTED, ADAPTED_PAIRS
from align.solvers import SOLVERS, OptionError, Solver
from pipeline.config.options import Option, Range, options_of

FOLDS = Range("0, or 2 or more", lambda value: value == 0 or 2 <= value < 1 << 31)

# The name that an oracle had before.
_OLD_NAMES = {"programme": "linear_program"}


def solver_options() -> dict[str, Option]:
    """Return the choice of a solver and the options of all; None is left to the solver that is chosen."""
    listed = "; ".join(
        f"{name}: {(inspect.getdoc(method) or '').split('.')[0]}" for name, method in SOLVERS.items()
    )
    owners: dict[str, dict[str, Option]] = {}
    for solver, method in SOLVERS.items():
        own = options_of(method)
        for name in method.options():
            owners.setdefault(name, {})[solver] = own[name]
    joined = {name: _joined(own) for name, own in owners.items()}
    lam = joined["lam"]
    joined["lam"] = replace(
        lam,
        optional=True,
        default=None,
        meaning=f"{lam.meaning} Default: {lam.default}; where known weights are adapted to N gold pairs "
        f"alone {ADAPTED_PAIRS:g} / N, {ADAPTED[0]:g} to {ADAPTED[1]:g}.",
    )
    return {"solver": Option("solver", str, False, next(iter(SOLVERS)), f"The method. {listed}."), **joined}


def solver_of(name: str, options: Mapping[str, Any], *, seed: int = 0, jobs: int = 1) -> Solver[Any]:
    """Return a solver with the options that are set, not None; the others are its own defaults.

    Raises
    ------
    InputError
        If there is no such solver, or it has no such option, or a value is out of range.
    """
    if name not in SOLVERS:
        raise InputError(f"train.solver: {name!r} is no solver; give one of {', '.join(SOLVERS)}")
    method = SOLVERS[name]
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in method.options():
            raise InputError(
                f"train.{option}: the solver {name} has no such option; it has {', '.join(method.options())}"
            )
    try:
        return method(**given, seed=seed, jobs=jobs)
    except OptionError as error:
        raise InputError(
            f"train.{error.option}: {error.value!r} is out of range; give {error.wanted}"
        ) from None


def oracle_of(name: str, solver: Solver[Any]) -> str:
    """Return the oracle; an InputError if there is none such, or the solver cannot do with it."""
    name = _OLD_NAMES.get(name, name)
    if name not in ORACLES:
        raise InputError(f"train.oracle: {name!r} is no oracle; give one of {', '.join(ORACLES)}")
    if name != ORACLES[0] and not solver.needs_oracle:
        raise InputError(f"train.oracle: {solver.name} takes the assignment only; leave it out")
    return name


def check_fertility(solver: Solver[Any], fertility: int | None) -> None:
    """Check that a solver learns so many links a word.

    Raises
    ------
    InputError
        If it does not.
    """
    limit = solver.max_fertility
    if limit is not None and fertility is not None and fertility > limit:
        raise InputError(
            f"train.fertility: {solver.name} with these options learns at most {limit} links a word, not "
            f"{fertility}; set train.fertility={limit}, or train.solver=bcfw"
        )


def _joined(owners: dict[str, Option]) -> Option:
    """Return one option that stands for those of the same name of some solvers."""
    first = next(iter(owners.values()))
    if any(own.kind is not first.kind for own in owners.values()):
        raise TypeError(f"{first.name}: the solvers {', '.join(owners)} mean different kinds of values")
    meaning = next(own.meaning for own in owners.values() if own.meaning)
    solvers_of: dict[Any, list[str]] = {}
    for solver, own in owners.items():
        solvers_of.setdefault(own.default, []).append(solver)
    if len(owners) == len(SOLVERS) and len(solvers_of) == 1:
        return replace(first, meaning=meaning)
    if len(solvers_of) > 1:
        each = (f"{default} with {', '.join(solvers)}" for default, solvers in solvers_of.items())
        meaning = f"{meaning} Default: {'; '.join(each)}."
    else:
        told = "" if first.default is None else f"; default {str(first.default).lower()}"
        meaning = f"{meaning} Only with {', '.join(owners)}{told}."
    return replace(first, optional=True, default=None, meaning=meaning)
