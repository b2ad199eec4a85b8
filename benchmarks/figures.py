"""Scores of files of links, comparisons of two of them, and what has to be told with a figure."""

from __future__ import annotations

import csv
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import align
from align.evaluation.metrics import Difference, paired_bootstrap, statistics
from align.evaluation.metrics import score as plain_score
from align.links import read_file
from benchmarks.process import Usage, call, environment

_PACKAGES = ("numpy", "scipy", "numba", "fasttext-community")
_MEBIBYTE = 2**20

Table = list[dict[str, str]]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{line}\n" for line in lines)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without their ends."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def score(gold: Path, hypothesis: Path, start: int, folder: Path) -> dict[str, Any]:
    """Return what ``python -m align score`` says of the pairs from ``start`` on, counted from 0.

    Parameters
    ----------
    gold, hypothesis : Path
        Links of the same pairs, in the Pharaoh format, counted from 0.
    start : int
        The pairs before it are left out (they may have been trained on).
    folder : Path
        Where the parts that are scored are written.
    """
    parts = []
    for path in (gold, hypothesis):
        parts.append(folder / f"{path.stem}.from-{start}.align")
        write_lines(parts[-1], read_lines(path)[start:])
    command = [
        *(sys.executable, "-m", "align", "score", "--json", "--gold-base", "0", "--hyp-base", "0"),
        *("--gold", parts[0], "--hyp", parts[1]),
    ]
    found: dict[str, Any] = json.loads(call(command, folder / "score.log", environment(threads=1)))
    return found


def compare(gold: Path, first: Path, second: Path, start: int) -> Difference:
    """Compare the AER of two files of links on the pairs from ``start`` on, resampled together."""
    known = _links(gold)[start:]
    return paired_bootstrap(*(statistics(_links(path)[start:], known) for path in (first, second)))


def scored(
    gold: Path, ours: Mapping[str, Path], peers: Mapping[str, Path], start: int, folder: Path
) -> tuple[Table, list[dict[str, Any]]]:
    """Return a line of a table and the figures of each file of links; the best of the peers is compared with.

    Parameters
    ----------
    gold : Path
        The gold links.
    ours, peers : mapping of str to Path
        Files of links by name.
    start, folder
        As of :func:`score`.
    """
    reports = {name: score(gold, path, start, folder) for name, path in {**ours, **peers}.items()}
    winner = list(peers)[best([reports[name] for name in peers])] if peers else ""
    lines, values = [], []
    for name, report in reports.items():
        line, value = {"": name, **figures_of(report)}, {"name": name, **report}
        if name == winner:
            line[""] += " (best of eflomal on these pairs)"
        elif winner and name in ours:
            found = compare(gold, ours[name], peers[winner], start)
            line["AER - best of eflomal (95 %)"] = difference_of(found)
            value["against"] = {"name": winner, **vars(found)}
        lines.append(line)
        values.append(value)
    return lines, values


def aer(gold: Path, links: Path, start: int) -> float | None:
    """Return the AER of a file of links on the pairs from ``start`` on, in [0, 1]; None if undefined."""
    return plain_score(statistics(_links(links)[start:], _links(gold)[start:])).aer


def _links(path: Path) -> list[Any]:
    return [pair.links for pair in read_file(path, base=0)]


def figures_of(report: dict[str, Any]) -> dict[str, str]:
    """Return the columns of a table for a report of :func:`score`: the AER, its interval, P and R."""
    return {
        "pairs": str(report["pairs"]),
        "AER %": percent(report["aer"]),
        "95 %": interval_of(report["intervals"]["aer"]),
        "precision": percent(report["precision"]),
        "recall": percent(report["recall"]),
    }


def usage_of(usage: Usage) -> dict[str, str]:
    """Return the columns of a table for what was used."""
    return {
        "CPU s": f"{usage.cpu_seconds:.1f}",
        "wall s": f"{usage.seconds:.1f}",
        "peak MiB": f"{usage.peak_memory / _MEBIBYTE:.0f}",
    }


def difference_of(difference: Difference) -> str:
    """Return a difference of AER in points with its interval."""
    if difference.difference is None or difference.interval is None:
        return "n/a"
    ends = " to ".join(f"{100 * end:+.2f}" for end in difference.interval)
    return f"{100 * difference.difference:+.2f} ({ends})"


def interval_of(interval: tuple[float, float] | None) -> str:
    """Return the ends of an interval in per cent."""
    return "n/a" if interval is None else " to ".join(map(percent, interval))


def percent(value: float | None) -> str:
    """Return a share in [0, 1] in per cent, two decimals."""
    return "n/a" if value is None else f"{100 * value:.2f}"


def best(reports: Sequence[dict[str, Any]]) -> int:
    """Return which report has the lowest AER; the first of several."""
    return int(np.argmin([np.inf if report["aer"] is None else report["aer"] for report in reports]))


def markdown(rows: Table) -> str:
    """Return rows of cells by column as a Markdown table; a cell that is missing is left empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns), *([row.get(name, "") for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def facts(seed: int, **versions: str) -> dict[str, Any]:
    """Return what has to be told with figures: versions, seed, date, machine, command line."""
    installed = {}
    for package in _PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "versions": {
            "liaison": align.__version__,
            "python": platform.python_version(),
            **installed,
            **versions,
        },
        "seed": seed,
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": platform.platform(),
        # Of the last minute before: other work on the machine makes wall times longer.
        "load": os.getloadavg()[0],
        "command": shlex.join(["python", "-m", _program(), *sys.argv[1:]]),
    }


def cpu_model() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        for line in read_lines(Path("/proc/cpuinfo")):
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def facts_text(facts: dict[str, Any]) -> str:
    """Return the facts as lines of a Markdown list."""
    versions = ", ".join(f"{name} {value}" for name, value in facts["versions"].items())
    return "\n".join(
        [
            f"- `{facts['command']}`",
            f"- {facts['date']}; {facts['cpu']}, {facts['cores']} cores, "
            f"{facts['memory'] / 2**30:.1f} GiB, load before {facts['load']:.1f}; {facts['system']}; "
            f"seed {facts['seed']}",
            f"- {versions}",
        ]
    )


def publish(folder: Path, name: str, text: str, values: dict[str, Any]) -> None:
    """Leave a text as ``name.md`` and the values, also those of records, as ``name.json``."""
    (folder / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")
    write_json(folder / f"{name}.json", values)


def tell(folder: Path, name: str, told: dict[str, Any], parts: Sequence[str], values: dict[str, Any]) -> None:
    """Print a report, whose first part is its title, and leave it with the facts and its values."""
    text = "\n".join([parts[0], facts_text(told) + "\n", *parts[1:]])
    publish(folder, name, text, {**told, **values})
    print(text, end="")


def drawing(width: float, height: float) -> Any:
    """Return an empty figure of matplotlib, in inches, for a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write values, also those of records, as JSON."""
    text = json.dumps(values, indent=1, ensure_ascii=False, default=_plain)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of values by column, all columns that any row has; a value that is missing is empty."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else vars(value)


def _program() -> str:
    name = Path(sys.argv[0]).stem
    return "benchmarks" if name == "__main__" else f"benchmarks.{name}"
