"""What is drawn, read back from the axes."""

import math
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from align import plot
from align.core.errors import InputError
from align.solvers import Row
from tests.runs import ROOT

NAN = math.nan
ROWS = [
    Row(0, 4, 0.1, 8.0, 0.0, 8.0, NAN, NAN, NAN),
    Row(1, 8, 0.2, 4.0, 1.0, 3.0, 5.0, 1.5, 3.5),
    Row(2, 12, 0.3, 5.0, 1.0, 4.0, 3.0, 2.0, 1.0),
    Row(3, 16, 0.4, 2.5, 2.0, 0.5, 2.5, 2.25, 0.25),
]


@pytest.fixture
def axes():
    figure = Figure()
    FigureCanvasAgg(figure)
    yield figure.add_subplot()
    figure.canvas.draw()  # whatever was drawn can be shown


def lines(axes):
    """Return the data of each line by its label."""
    return {
        line.get_label(): (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in axes.lines
    }


def points(axes):
    """Return the places of the marks by their label."""
    return {each.get_label(): np.asarray(each.get_offsets()).tolist() for each in axes.collections}


def test_history(axes):
    assert plot.history(axes, ROWS, tolerance=0.1) is axes
    assert lines(axes) == {
        "primal": ([0, 1, 2, 3], [8.0, 4.0, 5.0, 2.5]),
        "primal of the average": ([1, 2, 3], [5.0, 3.0, 2.5]),
        "dual": ([1, 2, 3], [1.0, 1.0, 2.0]),
        "dual of the average": ([1, 2, 3], [1.5, 2.0, 2.25]),
        "gap": ([0, 1, 2, 3], [8.0, 3.0, 4.0, 0.5]),
        "gap of the average": ([1, 2, 3], [3.5, 1.0, 0.25]),
        "tolerance": ([0, 1, 2, 3], pytest.approx([0.8, 0.4, 0.5, 0.25])),
    }
    assert axes.get_yscale() == "log"
    styles = {line.get_label(): line.get_linestyle() for line in axes.lines}
    assert (styles["gap"], styles["gap of the average"], styles["tolerance"]) == ("-", "--", ":")


def test_a_history_of_nothing_has_no_curve(axes):
    plot.history(axes, [Row(0, 0, 0.0, 0.0, 0.0, 0.0, NAN, NAN, NAN)], tolerance=0.1)
    assert axes.lines[:] == []
    assert axes.get_legend() is None


def test_gap(axes):
    assert plot.gap(axes, ROWS, label="bcfw") is axes
    plot.gap(axes, ROWS[:2], by="oracle_calls", label="fw")
    assert lines(axes) == {
        # of the average where its gap is the smaller one, as of what a solver returns
        "bcfw": ([1, 2, 3], pytest.approx([0.75, 1 / 3, 0.1])),
        "fw": ([4, 8], pytest.approx([1.0, 0.75])),
    }
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "oracle calls")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["bcfw", "fw"]


def test_learning_curve(axes):
    assert plot.learning_curve(axes, [0, 10], [0.08, 0.06], label="unsure") is axes
    plot.learning_curve(axes, [0, 10], [[0.08, 0.08], [0.05, 0.08]], label="random")
    assert lines(axes) == {
        "unsure": ([0, 10], [0.08, 0.06]),
        "random": ([0, 10], pytest.approx([0.08, 0.065])),
    }
    (band,) = axes.collections
    low_and_high = {(x, y) for path in band.get_paths() for x, y in path.vertices.round(6).tolist()}
    assert low_and_high == {(0.0, 0.08), (10.0, 0.05), (10.0, 0.08)}
    with pytest.raises(ValueError, match="1 values for 2 sizes; give one each"):
        plot.learning_curve(axes, [0, 10], [0.1])


def test_calibration(axes):
    confidence = np.array([0.9, 0.1, 0.3, 0.7, 0.8, 0.95])
    right = np.array([True, False, False, True, False, True])
    assert plot.calibration(axes, confidence, right, bins=3, label="model") is axes
    plot.calibration(axes, confidence[:2], right[:2], label="few")
    assert lines(axes) == {
        "as right as said": ([0, 1], [0, 1]),
        "model": (pytest.approx([0.2, 0.75, 0.925]), [0.0, 0.5, 1.0]),
        "few": (pytest.approx([0.1, 0.9]), [0.0, 1.0]),
    }
    with pytest.raises(ValueError, match="give one of each a link, and 1 bin or more"):
        plot.calibration(axes, confidence, right[:3])
    with pytest.raises(ValueError, match="0 bins"):
        plot.calibration(axes, confidence, right, bins=0)


def test_alignment(axes):
    words = ["the", "old", "house"], ["la", "vieille", "maison", "."]
    assert plot.alignment(axes, *words, "0-0 1-1 2p2") is axes
    assert points(axes) == {"sure": [[0, 0], [1, 1]], "possible": [[2, 2]]}
    assert [label.get_text() for label in axes.get_xticklabels()] == words[1]
    assert [label.get_text() for label in axes.get_yticklabels()] == words[0]
    assert axes.get_ylim() == (2.5, -0.5)  # the first word on top


def test_alignment_against_gold(axes):
    links = [(0, 0), (1, 2), (2, 2)]
    plot.alignment(axes, ["a", "b", "c"], ["x", "y", "z"], links, gold="0-0 1-1 2p2 2p1")
    assert points(axes) == {
        "right": [[0, 0], [2, 2]], "wrong": [[2, 1]], "missed": [[1, 1]], "possible": [[1, 2]],
    }  # fmt: skip
    shapes = {each.get_label(): each.get_paths()[0].vertices.tobytes() for each in axes.collections}
    filled = {each.get_label(): len(each.get_facecolors()) > 0 for each in axes.collections}
    assert len({(shapes[kind], filled[kind]) for kind in shapes}) == 4
    with pytest.raises(InputError, match="gold: 'x' is not a link like"):
        plot.alignment(axes, ["a"], ["x"], "0-0", gold="x")


def test_a_pair_without_words(axes):
    plot.alignment(axes, [], [], [])
    assert points(axes) == {}


def test_matplotlib_is_loaded_by_whoever_makes_the_axes():
    code = "import sys; from align import plot; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "False\n"
