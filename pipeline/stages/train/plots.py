"""Plots of a run, drawn without a display and with the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from align.solvers import Row

# What is drawn: title, and the columns of the last iterate and of the average.
_CURVES = (
    ("primal", "tab:blue", "primal", "average_primal"),
    ("dual", "tab:orange", "dual", "average_dual"),
    ("gap", "tab:green", "gap", "average_gap"),
)


def training_curve(history: Sequence[Row], tolerance: float, path: Path) -> None:
    """Draw primal, dual and gap against passes, on a logarithmic axis, into a PNG file.

    Solid: the last iterate; dashed: the average; dotted: the gap at which the solver stops,
    ``tolerance`` times the primal.
    """
    # A second of import time that no other stage should pay.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xlabel="passes over the pairs", ylabel="objective", yscale="log")
    passes = np.array([row.passes for row in history])
    for name, colour, *columns in _CURVES:
        for column, style in zip(columns, ("-", "--"), strict=True):
            values = np.array([getattr(row, column) for row in history])
            shown = values > 0  # a logarithmic axis has no zero, and what was not measured is NaN
            if shown.any():
                label = name if style == "-" else f"{name} of the average"
                mark = "." if shown.sum() <= 60 else ""
                axes.plot(passes[shown], values[shown], style, color=colour, marker=mark, label=label)
    limits = np.array([tolerance * row.primal for row in history])
    if (limits > 0).any():
        axes.plot(passes[limits > 0], limits[limits > 0], ":", color="gray", label="tolerance")
    axes.grid(visible=True, which="major", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Software": None})
