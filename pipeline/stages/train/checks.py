"""Which options of the stage train are refused."""

from __future__ import annotations

import math

from align.core.errors import InputError
from align.learning.heldout import ORACLES
from align.solvers import SOLVERS


def check_options(
    solver: str,
    oracle: str,
    cost_fn: float,
    cost_fp: float,
    lam: float,
    passes: int | None,
    tolerance: float,
    time_limit: float | None,
    fertility: int | None,
    ball: float | None,
    folds: int,
) -> None:
    """Refuse options of the stage that are out of range, or do not go together.

    Raises
    ------
    InputError
        It names the option and says what fits.
    """
    if solver not in SOLVERS:
        raise InputError(f"train.solver: {solver!r} is no solver; give one of {', '.join(SOLVERS)}")
    if oracle not in ORACLES:
        raise InputError(f"train.oracle: {oracle!r} is no oracle; give one of {', '.join(ORACLES)}")
    if oracle != "assignment" and SOLVERS[solver].projects:
        raise InputError(f"train.oracle: {solver} takes the assignment only; leave it out")
    for name, value, fits, wanted in (
        ("cost_fn", cost_fn, 0 <= cost_fn < math.inf, "a number of 0 or more"),
        ("cost_fp", cost_fp, 0 <= cost_fp < math.inf, "a number of 0 or more"),
        ("lam", lam, 0 < lam < math.inf, "a number above 0"),
        ("passes", passes, passes is None or passes >= 1, "1 or more"),
        ("tolerance", tolerance, 0 <= tolerance < math.inf, "a number of 0 or more"),
        ("time_limit", time_limit, time_limit is None or time_limit > 0, "seconds above 0"),
        ("fertility", fertility, fertility is None or 1 <= fertility < 1 << 31, "1 or more"),
        ("ball", ball, ball is None or 0 < ball < math.inf, "a radius above 0"),
        ("folds", folds, folds == 0 or 2 <= folds < 1 << 31, "0, or 2 or more"),
    ):
        if not fits:
            raise InputError(f"train.{name}: {value} is out of range; give {wanted}")
    most = SOLVERS[solver].max_fertility
    if most is not None and fertility is not None and fertility > most:
        raise InputError(
            f"train.fertility: {solver} learns at most {most} links a word, not {fertility}; "
            f"set train.fertility={most}, or train.solver=bcfw"
        )
    if ball is not None and not SOLVERS[solver].projects:
        takes = ", ".join(name for name in SOLVERS if SOLVERS[name].projects)
        raise InputError(
            f"train.ball: {solver} takes none; leave it out, or set train.solver to one of {takes}"
        )
