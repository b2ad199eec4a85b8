"""Plots of a run, drawn without a display and with the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from align.plot import history
from align.solvers import Row


def training_curve(rows: Sequence[Row], tolerance: float, path: Path) -> None:
    """Draw primal, dual and gap against passes into a PNG file (:func:`align.plot.history`)."""
    # A second of import time that no other stage should pay.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    history(figure.add_subplot(), rows, tolerance=tolerance)
    figure.savefig(path, metadata={"Software": None})
