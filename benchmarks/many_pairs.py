"""Solvers with many labelled pairs: seconds a pass, memory, and the duality gap after some passes.

The pairs are those of any configuration of run_pipeline.py, with sampled labels. Each solver runs in a
process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser
from align.core.errors import InputError, WorkError
from align.solvers import SOLVERS
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import facts, markdown, tell
from benchmarks.process import ROOT, call, environment, measure
from benchmarks.solvers import LAM, alignment_problem, points_of

# A name for the table, the solver and its options.
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "bcfw": ("bcfw", {}),
    "bcfw, no cache": ("bcfw", {"cache": 0}),
    "bcfw, by gaps": ("bcfw", {"block_order": "gaps"}),
    "bcfw-pairwise": ("bcfw-pairwise", {}),
    "minibatch, 1 job": ("minibatch", {"jobs": 1}),
    "minibatch, 2 jobs": ("minibatch", {"jobs": 2}),
    "extragradient": ("extragradient", {"memory": "weights"}),
}

# Passes after which the gap is told; the last one ends a run.
SHOWN = (1, 5, 20)

NOTES = """\
Seconds of a pass are those of {last} passes without measuring the gap, kernels compiled. The gap, relative to
the primal, is of the last iterate or of the average, whichever has the smaller one. Memory is what the
process has beside what it maps from the disk (the features, {features:.1f} GiB): "before" the first pass the
interpreter, compiled code and labels; "in a pass" the most after any pass.
"""


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.many_pairs", description=__doc__)
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration of the corpus")
    parser.add_argument(
        "--pairs", type=int, default=20_000, metavar="N", help="of text and of labels (default: %(default)s)"
    )
    parser.add_argument("--runs", metavar="LIST", help=f"parted by semicolons; default: {'; '.join(RUNS)}")
    parser.add_argument("--fit", nargs=3, metavar=("RUN", "FEATURIZE", "LABEL"), help=argparse.SUPPRESS)
    add_common_arguments(parser, "many_pairs", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Make the features, run every solver in its process, and write the table."""
    if args.fit:
        name, featurize, label = args.fit
        print(json.dumps(fitted(name, Path(featurize), Path(label), seed=args.seed)))
        return
    if args.config is None or args.pairs < 1:
        raise InputError("--config, --pairs: give the configuration of a corpus, and 1 pair or more")
    chosen = list(RUNS) if args.runs is None else [name.strip() for name in args.runs.split(";")]
    if unknown := [name for name in chosen if name not in RUNS]:
        raise InputError(f"--runs: {unknown[0]!r} is none of {'; '.join(RUNS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    own = environment(threads=1)
    folders = featurized(args, own)
    found = {}
    for name in chosen:
        program = [sys.executable, "-m", "benchmarks.many_pairs"]
        command = [*program, "--seed", args.seed, "--fit", name, *folders]
        found[name] = json.loads(call(command, args.out / "fits.log", own))
    told = facts(args.seed)
    any_run = next(iter(found.values()))
    parts = [
        f"# Solvers with many pairs: n = {any_run['n']}, d = {any_run['d']}, lam = {LAM}\n",
        NOTES.format(last=SHOWN[-1], features=any_run["features"] / 2**30),
        markdown([line(name, values) for name, values in found.items()]),
    ]
    tell(args.out, "many_pairs", told, parts, {"runs": found})


def featurized(args: argparse.Namespace, own: dict[str, str]) -> tuple[Path, Path]:
    """Run the pipeline as far as features of silver labels; return the folders of featurize and label.

    Raises
    ------
    InputError
        If the configuration cannot be read.
    WorkError
        If the run fails.
    """
    try:
        name = tomllib.loads(args.config.read_text(encoding="utf-8"))["corpus"]["name"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{args.config}: {error!r}; give a configuration with a corpus.name") from None
    options = (
        f"corpus.limit={args.pairs}",
        f"label.pairs={args.pairs}",
        "train.labels=silver",
        "featurize.hidden=false",
    )
    command = [
        *(sys.executable, ROOT / "run_pipeline.py", "--quiet", "--config", args.config.absolute()),
        *("--workdir", args.workdir, "--jobs", args.jobs, "--seed", args.seed, "--stage", "featurize"),
        *(word for option in (*options, "train.fertility=1") for word in ("--set", option)),
    ]
    measure(command, args.out / "pipeline.log", own)
    latest = args.workdir / str(name) / "latest"
    return (latest / "featurize").resolve(), (latest / "label").resolve()


def fitted(name: str, featurize: Path, label: Path, *, seed: int) -> dict[str, Any]:
    """Return the figures of one run; to be called in a process of its own."""
    problem = alignment_problem(featurize, label)
    solver, options = RUNS[name]
    common: dict[str, Any] = {"lam": LAM, "seed": seed, "tolerance": 0.0, **options}
    last = SHOWN[-1]
    start = SOLVERS[solver](passes=1, **common)
    before = own_memory()
    start.run(problem)  # compiles what is not, and reads the features once
    most = before

    def on_pass(_: object) -> None:
        nonlocal most
        most = max(most, own_memory())

    wall, cpu = time.perf_counter(), time.process_time()
    replace(start, passes=last, gap_every=last + 1).run(problem, on_pass=on_pass)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    fit = replace(start, passes=last).run(problem)
    gaps = {point.passes: point.gap / point.primal for point in points_of(fit.history, [0.0] * (last + 1))}
    return {
        "n": problem.n,
        "d": problem.d,
        "features": problem.data.features.nbytes,
        "seconds": wall / last,
        "cpu_seconds": cpu / last,
        "before": before,
        "memory": most,
        "gaps": {passes: gaps.get(passes) for passes in SHOWN},
        "primal": fit.primal,
        "dual": fit.dual,
    }


def own_memory() -> int:
    """Return the bytes of memory of this process that are no mapped files (Linux).

    Raises
    ------
    WorkError
        If the system does not tell.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").split("\n")
        return 1024 * int(next(line for line in lines if line.startswith("RssAnon:")).split()[1])
    except (OSError, StopIteration):
        raise WorkError("/proc/self/status: no RssAnon; memory is measured on Linux only") from None


def line(name: str, values: dict[str, Any]) -> dict[str, str]:
    """Return a row of the table."""
    gaps = {int(passes): gap for passes, gap in values["gaps"].items()}
    return {
        "solver": name,
        "wall s a pass": f"{values['seconds']:.2f}",
        "CPU s a pass": f"{values['cpu_seconds']:.2f}",
        "MiB before": f"{values['before'] / 2**20:.0f}",
        "MiB in a pass": f"{values['memory'] / 2**20:.0f}",
        **{
            f"gap after {passes}": "-" if gaps[passes] is None else f"{100 * gaps[passes]:.3g} %"
            for passes in SHOWN
        },
        "primal": f"{values['primal']:.6g}",
    }


if __name__ == "__main__":
    main()
