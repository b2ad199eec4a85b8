"""Rates of convergence on small problems whose minimum is known; no data are needed.

Zig-zag: the nearest point of a cube to one inside a face, by Frank-Wolfe steps of several kinds, and the
constants of the cube that bound their rates. Lasso: least
squares over an l1 ball, by away steps whose oracle sees all atoms, or some of them by chance.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.solvers.generic.away_steps import VARIANTS, L1Ball, Listed, frank_wolfe
from align.solvers.generic.curvature import (
    curvature_bound,
    diameter,
    sampled_block_curvatures,
    sampled_curvature,
)
from align.solvers.generic.geometry import linear_rate, pyramidal_width, vertex_facet_distance
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import drawing, facts, markdown, tell, write_csv
from benchmarks.solvers import LEVELS

# The point projected onto the cube [-1, 1]^3: inside its upper face.
TARGET = np.array([0.3, -0.2, 1.0])
CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))

# The lasso: rows, columns, columns that count, radius as a share of |x|_1 of the truth; atoms seen a step.
ROWS, COLUMNS, TRUE, RADIUS = 200, 500, 10, 0.8
SAMPLES = (1000, 100, 20)

# A curve: x, the suboptimality h (or the gap) at each.
Curve = tuple[np.ndarray, np.ndarray]


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.rates", description=__doc__)
    parser.add_argument("--steps", type=int, default=2000, metavar="N", help="at most (default: %(default)s)")
    add_common_arguments(parser, "rates", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Run all, write tables, curves and pictures."""
    if args.steps < 1:
        raise InputError(f"--steps {args.steps}: give 1 or more")
    args.out.mkdir(parents=True, exist_ok=True)
    told = facts(args.seed)
    cube, ball = zig_zag(args.steps), lasso(args.steps, args.seed)
    parts = [
        "# Rates of convergence on small problems\n",
        "## A point inside a face of a cube: steps until h = f - min f is at most that\n",
        markdown([line(name, curve) for name, curve in cube.items()]),
        "## What bounds these rates\n",
        markdown([{"": name, "value": f"{value:.4g}"} for name, value in constants(cube).items()]),
        f"## Lasso, {ROWS} x {COLUMNS}, {2 * COLUMNS} atoms: atoms looked at until the gap, as a share "
        "of the first, is at most that\n",
        markdown([line(name, curve) for name, curve in ball.items()]),
    ]
    for name, curves, axes in (
        ("zig-zag", {**cube, "2 C / (t + 2)": bound(args.steps)}, ("steps t", "h = f - min f")),
        ("lasso", ball, ("atoms looked at", "gap / first gap")),
    ):
        write_curves(args.out / f"{name}.csv", curves, axes)
        draw(args.out / f"{name}.png", name, curves, axes)
    tell(args.out, "rates", told, parts, {})


def zig_zag(steps: int) -> dict[str, Curve]:
    """Return h after each step, by kind of step. The minimum is 0, at the point itself."""
    curves = {}
    for variant in VARIANTS:
        for name, step in ((variant, "line-search"), (f"{variant}, g / C", "curvature")):
            values: list[float] = []
            frank_wolfe(
                lambda x: x - TARGET,
                Listed(CUBE),
                variant=variant,
                step=step,
                curvature=curvature_bound(1.0, diameter(CUBE)) if step == "curvature" else None,
                steps=steps,
                tolerance=1e-12,
                on_step=lambda x, _: values.append(_distance(x)),  # noqa: B023 (at once)
            )
            curves[name] = np.arange(len(values)), np.array(values)
    return curves


def _distance(x: np.ndarray) -> float:
    """Return f: half the squared distance from the point that is projected; L = mu = 1."""
    return 0.5 * float((x - TARGET) @ (x - TARGET))


def constants(curves: Mapping[str, Curve]) -> dict[str, float]:
    """Return what bounds the rates of the curves of :func:`zig_zag`, and the rates that they have."""

    def gradient(x: np.ndarray) -> np.ndarray:
        return x - TARGET

    segments = [np.array([[-1.0], [1.0]])] * len(TARGET)
    width, length = pyramidal_width(CUBE), diameter(CUBE)
    found = {
        "C_f, the largest of 2,000 samples": sampled_curvature(_distance, gradient, CUBE, samples=2000),
        "L diam^2 >= C_f": curvature_bound(1.0, length),
        "product curvature of the three segments, sampled": float(
            sampled_block_curvatures(_distance, gradient, segments, samples=2000).sum()
        ),
        "pyramidal width": width,
        "vertex-facet distance": vertex_facet_distance(CUBE),
        "rho, of a good step": linear_rate(1.0, 1.0, width, length),
    }
    for variant in ("away", "pairwise"):
        for name in (variant, f"{variant}, g / C"):
            _, h = curves[name]
            kept = h[h > 1e-12]
            found[f"{name}: mean fall of h in a step"] = 1.0 - (kept[-1] / kept[0]) ** (1 / (len(kept) - 1))
    return found


def bound(steps: int) -> Curve:
    """Return the bound 2 C_f / (t + 2) of plain steps; C_f is the squared diameter of the cube here."""
    t = np.arange(1, steps + 1)
    return t, 2 * 4.0 * len(TARGET) / (t + 2)


def lasso(steps: int, seed: int) -> dict[str, Curve]:
    """Return the gap over all atoms, each time it was computed, against the atoms that were looked at."""
    generator = np.random.default_rng(seed)
    design = generator.normal(size=(ROWS, COLUMNS)) / np.sqrt(ROWS)
    truth = np.zeros(COLUMNS)
    truth[generator.permutation(COLUMNS)[:TRUE]] = generator.choice([-1.0, 1.0], TRUE)
    y = design @ truth + 0.01 * generator.normal(size=ROWS)
    atoms = L1Ball(COLUMNS, RADIUS * float(np.abs(truth).sum()))
    curves = {}
    for sample in SAMPLES:
        longer = max(1, atoms.count // sample)
        found = frank_wolfe(
            lambda x: design.T @ (design @ x - y),
            atoms,
            sample=sample,
            steps=steps * longer,
            tolerance=1e-10,
            seed=seed,
        )
        # The oracle's looks, and those of the gap, which sees all: of the same look where the oracle does.
        a_gap = 0 if sample >= atoms.count else atoms.count
        looked = np.arange(len(found.gaps)) * (-(-atoms.count // sample) * sample + a_gap)
        name = "all atoms (away steps)" if sample >= atoms.count else f"{sample} atoms by chance"
        curves[name] = looked, np.asarray(found.gaps) / found.gaps[0]
    return curves


def line(name: str, curve: Curve) -> dict[str, str]:
    """Return a row of a table: where a curve first is at or below each level."""
    x, y = curve
    cells = {"": name}
    for level in (*LEVELS, 1e-6, 1e-8):
        below = np.flatnonzero(y <= level)
        cells[f"{level:.0e}"] = f"{x[below[0]]:.0f}" if len(below) else "-"
    return cells


def write_curves(path: Path, curves: Mapping[str, Curve], axes: Sequence[str]) -> None:
    """Write a line a point of each curve, for spreadsheets."""
    write_csv(
        path,
        [
            {"curve": name, axes[0]: a, axes[1]: b}
            for name, (x, y) in curves.items()
            for a, b in zip(x.astype(float).tolist(), y.tolist(), strict=True)
        ],
    )


def draw(path: Path, title: str, curves: Mapping[str, Curve], axes: Sequence[str]) -> None:
    """Draw curves on logarithmic axes into a PNG file."""
    figure = drawing(7, 4.5)
    panel: Any = figure.subplots()
    for name, (x, y) in curves.items():
        shown = (x > 0) & (y > 0)
        panel.plot(x[shown], y[shown], label=name, linestyle="--" if name.startswith("2 C") else "-")
    panel.set(xscale="log", yscale="log", xlabel=axes[0], ylabel=axes[1], title=title)
    panel.grid(visible=True, which="major", alpha=0.3)
    panel.legend(fontsize="small", loc="lower left")
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main()
