"""Whether links are right as often as their confidence says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def calibration(
    axes: Axes, confidence: np.ndarray, right: np.ndarray, *, bins: int = 10, label: str = ""
) -> Axes:
    """Draw the share of right links against their mean confidence, in bins of equal numbers of links.

    Called once for each model; the diagonal, where links are as right as said, is drawn with the first.

    Parameters
    ----------
    axes : Axes
        Of matplotlib.
    confidence : array of float, shape (L,)
        Of each link, in [0, 1], as :meth:`align.Aligner.scores` gives it.
    right : array of bool, shape (L,)
        Whether each link is right.
    bins : int
        At most so many points, >= 1.
    label : str
        For the legend; none with the empty text.

    Returns
    -------
    Axes
        The one given.

    Raises
    ------
    ValueError
        If the two arrays do not fit each other, or there are no bins.
    """
    confidence, right = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=bool)
    if confidence.ndim != 1 or confidence.shape != right.shape or bins < 1:
        raise ValueError(
            f"calibration: confidences {confidence.shape}, right {right.shape}, {bins} bins; "
            "give one of each a link, and 1 bin or more"
        )
    if not axes.lines:
        axes.plot([0, 1], [0, 1], ":", color="gray", label="as right as said")
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    x = [float(confidence[part].mean()) for part in parts]
    axes.plot(x, [float(right[part].mean()) for part in parts], marker="o", label=label or None)
    axes.set(xlabel="mean confidence", ylabel="share of links that are right", xlim=(0, 1), ylim=(0, 1))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    return axes
