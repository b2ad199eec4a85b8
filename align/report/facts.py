"""Figures at the top of a page that the report and the explorer share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from align.report.page import Fact


def percent(value: float | None) -> str:
    """Return a share as text, ``n/a`` where undefined."""
    return "n/a" if value is None else f"{100 * value:.1f} %"


def model_facts(training: Mapping[str, Any]) -> list[Fact]:
    """Return how a model was trained, in one figure; none where nothing is known.

    Parameters
    ----------
    training : mapping
        ``solver``, ``status``, ``gap``, ``primal``, ``passes``, as a model's ``training.json`` or its options
        and provenance have them. Nothing is trusted to be there, or of the right type.
    """
    if not training:
        return []
    remarks = []
    if isinstance(training.get("status"), str):
        remarks.append(training["status"])
    gap, primal, passes = (_finite(training.get(key)) for key in ("gap", "primal", "passes"))
    if gap is not None and primal:
        remarks.append(f"duality gap {100 * gap / primal:.2g} % of the primal")
    if passes is not None:
        remarks.append(f"{passes:g} passes")
    solver = training.get("solver")
    return [Fact("Training", solver if isinstance(solver, str) else "none", ", ".join(remarks))]


def _finite(value: Any) -> float | None:
    """Return a number, None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
