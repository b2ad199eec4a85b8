"""Drawings for notebooks and papers: each function draws into an axes of matplotlib and returns it.

    import matplotlib.pyplot as plt
    from align import plot
    plot.history(plt.gca(), model.history_)

matplotlib is loaded by whoever makes the axes, not by this package.
"""

from align.plot.alignments import alignment
from align.plot.calibration import calibration
from align.plot.curves import gap, history, learning_curve

__all__ = ["alignment", "calibration", "gap", "history", "learning_curve"]
