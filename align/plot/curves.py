"""Curves: how training goes on, and what more labelled pairs are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from align.solvers.fit import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What :func:`history` draws: name, colour, and the columns of the last iterate and of the average.
_CURVES = (
    ("primal", "tab:blue", "primal", "average_primal"),
    ("dual", "tab:orange", "dual", "average_dual"),
    ("gap", "tab:green", "gap", "average_gap"),
)

# With more points than this, curves have no marks.
_MARKED = 60


def history(axes: Axes, rows: Sequence[Row], *, tolerance: float | None = None) -> Axes:
    """Draw primal, dual and gap against passes, on a logarithmic axis.

    Solid: the last iterate; dashed: the average, where there is one; dotted: the gap at which the solver
    stops. What is not above 0, or was not measured, is left out.

    Parameters
    ----------
    axes : Axes
        Of matplotlib.
    rows : sequence of Row
        As ``history`` of a :class:`~align.solvers.fit.Fit`, or ``history_`` of an estimator.
    tolerance : float, optional
        The solver's: the dotted curve is this times the primal.

    Returns
    -------
    Axes
        The one given.
    """
    axes.set(xlabel="passes over the pairs", ylabel="objective", yscale="log")
    passes = np.array([row.passes for row in rows])
    for name, colour, *columns in _CURVES:
        for column, style in zip(columns, ("-", "--"), strict=True):
            values = np.array([getattr(row, column) for row in rows])
            label = name if style == "-" else f"{name} of the average"
            _curve(axes, passes, values, style, color=colour, label=label)
    if tolerance is not None:
        limits = np.array([tolerance * row.primal for row in rows])
        if (limits > 0).any():
            axes.plot(passes[limits > 0], limits[limits > 0], ":", color="gray", label="tolerance")
    return _finished(axes)


def gap(axes: Axes, rows: Sequence[Any], *, by: str = "passes", label: str = "") -> Axes:
    """Draw the least duality gap so far, as a share of the primal, on logarithmic axes.

    Where an average of the iterates was measured too, each point is of the one of the two that has the
    smaller gap, as the result of a solver is. Called once for each solver that is to be compared. The gap of
    some solvers leaps from pass to pass; the least one so far is as good a certificate.

    Parameters
    ----------
    axes : Axes
    rows : sequence of Row
        Or of any records with ``gap``, ``primal`` and the column of ``by``.
    by : str
        Column of the horizontal axis: ``passes``, ``oracle_calls`` or ``seconds``.
    label : str
        For the legend; none with the empty text.
    """
    points = [(getattr(row, by), *_certificate(row)) for row in rows]
    points = [(at, primal, found) for at, primal, found in points if at > 0 and found > 0]
    least = np.minimum.accumulate([found / primal for _, primal, found in points]) if points else np.zeros(0)
    x = np.array([at for at, _, _ in points])
    axes.set(xscale="log", yscale="log", xlabel=by.replace("_", " ").replace("cpu", "CPU"))
    axes.set_ylabel("duality gap / primal, least so far")
    _curve(axes, x, least, "-", label=label)
    return _finished(axes, legend=bool(label))


def _certificate(row: Any) -> tuple[float, float]:
    """Return primal and gap of a row."""
    value = row.certified[1] if isinstance(row, Row) else row
    return value.primal, value.gap


def learning_curve(
    axes: Axes, sizes: Sequence[int], values: Sequence[float] | Sequence[Sequence[float]], *, label: str = ""
) -> Axes:
    """Draw an error rate, or any other figure, against the number of labelled pairs.

    Called once for each curve.

    Parameters
    ----------
    axes : Axes
    sizes : sequence of int
        Labelled pairs, ascending.
    values : sequence of float, or of sequence of float
        A value a size; or the values of several repetitions, of which the mean is drawn, and a band from the
        least to the largest.
    label : str
        For the legend; none with the empty text.

    Raises
    ------
    ValueError
        If there is not a value, or a row of values, for each size.
    """
    rows = [np.atleast_1d(np.asarray(each, dtype=np.float64)) for each in values]
    if len(rows) != len(sizes):
        raise ValueError(f"learning_curve: {len(rows)} values for {len(sizes)} sizes; give one each")
    (line,) = axes.plot(sizes, [float(row.mean()) for row in rows], marker="o", label=label or None)
    if any(len(row) > 1 for row in rows):
        axes.fill_between(
            sizes,
            [float(row.min()) for row in rows],
            [float(row.max()) for row in rows],
            color=line.get_color(),
            alpha=0.2,
            linewidth=0,
        )
    axes.set_xlabel("labelled pairs")
    axes.set_xticks(list(sizes))
    return _finished(axes, legend=bool(label))


def _curve(axes: Axes, x: np.ndarray, y: np.ndarray, style: str, **given: Any) -> None:
    """Draw what a logarithmic axis can show: it has no zero, and what was not measured is NaN."""
    shown = y > 0
    if shown.any():
        axes.plot(x[shown], y[shown], style, marker="." if shown.sum() <= _MARKED else "", **given)


def _finished(axes: Axes, *, legend: bool = True) -> Axes:
    axes.grid(visible=True, which="major", alpha=0.3)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    return axes
