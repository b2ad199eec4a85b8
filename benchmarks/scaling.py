"""How time and memory of the pipeline grow with the number of pairs.

Each size is run from nothing, in a process and a folder of its own; the text is fetched before. Every cost is
fitted by a n^b, and by c + a n^b, where that fit is stable, for the exponent without what every run costs.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser
from align.core.errors import WorkError
from benchmarks import texts
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import Table, drawing, facts, facts_text, markdown, write_csv, write_json
from benchmarks.powers import Power, fit, fit_with_constant, last_line
from benchmarks.repeats import Spread, turn
from benchmarks.stages import Runs, figures_of, pairs_of, whole

SIZES = (25_000, 50_000, 100_000, 200_000)
FORECASTS = (2_000_000, 100_000_000)

# The whole run beside the stages.
WHOLE = "all"

# The costs that are fitted: column, what it is called, and one unit of the table.
COSTS = (("cpu_seconds", "CPU s", 1.0), ("seconds", "wall s", 1.0), ("rss", "RSS MiB", float(2**20)))

NOTES = """\
cost = a n^b by least squares on logarithms over all runs, nothing taken off; "b, start taken off" is that of
c + a n^b (relative errors, c >= 0), where at least four sizes were run and leaving one out moves it by no
more than 0.15, "n/a" elsewhere. "all" is the whole run but the download, with the start of the program, seen
from outside; stages are by their manifests, their memory is seen from outside (RSS of all processes together,
with what earlier stages of the same process left in them).
"""

FORECAST_NOTES = """\
FORECAST, not measured: the fits, continued to sizes that were not run. It is the largest of c + a n^b where
that fit is stable, of a n^b, and of the straight line through the two largest sizes (in parentheses: which):
what every run costs, and the fewer chains that the sampler runs on more text, make powers too flat. It knows
nothing of a limit of memory that was not reached, from which on statistics are those of a sample. Beyond ten
times the largest size that was run it tells no more than an order of magnitude.
"""

Row = dict[str, Any]


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.scaling", description=__doc__)
    texts.add_arguments(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N", help="pairs")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="runs of each size (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="of the pipeline (default: 1)")
    texts.add_memory_argument(parser)
    add_output_arguments(parser, "scaling")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Run every size, and fit; the runs are written down after each."""
    sizes = sorted(texts.numbers("--sizes", args.sizes))
    jobs = texts.numbers("--jobs", [args.jobs])[0]
    repeats = texts.numbers("--repeats", [args.repeats])[0]
    texts.check_memory(args)
    args.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    told = facts(args.seed)
    with texts.settings_of(args) as settings:
        runs = Runs(args.out, settings, args.set, args.seed, memory=args.memory)
        runs.warm_up(0, jobs)
        for number in range(repeats):
            for size in map(int, turn([str(size) for size in sizes], number)):
                print(f"run {number + 1}: {size} pairs", flush=True)
                rows += measured(runs, size, jobs, number)
                write_csv(args.out / "runs.csv", rows)
    publish(args.out, told, rows)
    print((args.out / "table.md").read_text(encoding="utf-8"), end="")


def measured(runs: Runs, size: int, jobs: int, number: int) -> list[Row]:
    """Run one size from nothing; return a row for each stage and one for the whole run."""
    name = f"{size}-{number + 1}"
    pipeline, work, watched = runs.fresh(name, size, jobs, ["align"], unmeasured="download")
    pairs = pairs_of(pipeline, size)
    head = {"pairs": pairs, "run": number + 1, "jobs": jobs}
    rows = [
        {
            **head,
            "stage": stage,
            **{key: getattr(found, key) for key in ("cpu_seconds", "seconds", "rss", "pss")},
        }
        | {"manifest": found.told}
        for stage, found in figures_of(pipeline, watched).items()
        if stage != "download"
    ]
    used = whole(watched)
    total = {"cpu_seconds": used.cpu_seconds, "seconds": used.seconds, "rss": used.rss, "pss": used.pss}
    shutil.rmtree(work)
    return [*rows, {**head, "stage": WHOLE, **total}]


def fits_of(rows: Sequence[Row]) -> list[Row]:
    """Return both fits of every cost of every stage; None where there is none."""
    found = []
    for stage in dict.fromkeys(row["stage"] for row in rows):
        own = [row for row in rows if row["stage"] == stage]
        for key, _, _ in COSTS:
            sizes, costs = [row["pairs"] for row in own], [row[key] for row in own]
            plain, marginal = fit(sizes, costs), fit_with_constant(sizes, costs)
            line = last_line(sizes, costs)
            found.append({"stage": stage, "cost": key, "plain": plain, "marginal": marginal, "line": line})
    return found


def publish(folder: Path, told: dict[str, Any], rows: Sequence[Row]) -> None:
    """Write the table, the fits, the figure, and everything as JSON."""
    fits = fits_of(rows)
    write_csv(folder / "fits.csv", [flat(row) for row in fits])
    write_json(folder / "results.json", {**told, "runs": list(rows), "fits": fits})
    parts = [
        "# How cost grows with the number of pairs\n",
        facts_text(told) + "\n",
        "## Runs\n",
        markdown(size_lines(rows)),
        "## Growth\n",
        NOTES,
        markdown(fit_lines(fits)),
        "## Forecast\n",
        FORECAST_NOTES,
        markdown(forecast_lines(fits)),
    ]
    (folder / "table.md").write_text("\n".join(parts), encoding="utf-8", newline="\n")
    try:
        draw(folder / "scaling.png", rows, fits)
    except OSError as error:
        raise WorkError(f"{folder}: the figure cannot be written ({error.strerror})") from None


def flat(row: Row) -> Row:
    """Return a fit as a row of numbers."""
    found = {"stage": row["stage"], "cost": row["cost"]}
    for name in ("plain", "marginal", "line"):
        power = row[name]
        for part in ("factor", "exponent", "constant"):
            found[f"{name}_{part}"] = "" if power is None else getattr(power, part)
    return found


def size_lines(rows: Sequence[Row]) -> Table:
    """Return a line for each stage and size: the medians of its runs."""
    lines = []
    for stage in dict.fromkeys(row["stage"] for row in rows):
        for size in sorted({row["pairs"] for row in rows}):
            own = [row for row in rows if row["stage"] == stage and row["pairs"] == size]
            line = {"stage": stage, "pairs": str(size), "runs": str(len(own))}
            for key, title, unit in COSTS:
                values = [row[key] / unit for row in own if row[key]]
                line[title] = Spread.of(values).text(0 if unit > 1 else 1) if values else ""
            seconds = [row["seconds"] for row in own if row["seconds"]]
            line["pairs/s"] = Spread.of([size / value for value in seconds]).text(0) if seconds else ""
            lines.append(line)
    return lines


def fit_lines(fits: Sequence[Row]) -> Table:
    """Return the exponents of each stage."""
    lines: dict[str, dict[str, str]] = {}
    for row in fits:
        line = lines.setdefault(row["stage"], {"stage": row["stage"]})
        title = next(title for key, title, _ in COSTS if key == row["cost"])
        for name, power in (("b", row["plain"]), ("b, start taken off", row["marginal"])):
            line[f"{title}: {name}"] = "n/a" if power is None else f"{power.exponent:.2f}"
    return list(lines.values())


def forecast_lines(fits: Sequence[Row]) -> Table:
    """Return what the fits say of sizes that were not run."""
    lines: dict[str, dict[str, str]] = {}
    for row in fits:
        line = lines.setdefault(row["stage"], {"stage": row["stage"]})
        title, unit = next((title, unit) for key, title, unit in COSTS if key == row["cost"])
        for size in FORECASTS:
            value = forecast(row, size)
            text = "n/a" if value is None else f"{value[0] / unit:,.0f} ({value[1]})"
            line[f"{size // 1_000_000}M pairs: {title}"] = text
    return list(lines.values())


def forecast(row: Row, size: int) -> tuple[float, str] | None:
    """Return the cost of so many pairs by the fits of a row of :func:`fits_of`, and which fit says so."""
    found = []
    for name, kind in (("marginal", "c + a n^b"), ("plain", "a n^b"), ("line", "line")):
        power: Power | None = row[name]
        if power is not None:
            found.append((power.at(size), kind))
    return max(found, default=None)


def draw(path: Path, rows: Sequence[Row], fits: Sequence[Row]) -> None:
    """Draw CPU seconds and memory against the number of pairs on logarithmic axes, with the fits."""
    from matplotlib import ticker

    figure = drawing(14, 5)
    for axis, (key, title, unit) in zip(figure.subplots(1, 2), (COSTS[0], COSTS[2]), strict=True):
        for stage in dict.fromkeys(row["stage"] for row in rows):
            own = [row for row in rows if row["stage"] == stage and row[key]]
            if not own:
                continue
            places = sorted({row["pairs"] for row in own})
            power = next(each["plain"] for each in fits if each["stage"] == stage and each["cost"] == key)
            label = stage if power is None else f"{stage}, b = {power.exponent:.2f}"
            points = axis.plot(
                [row["pairs"] for row in own], [row[key] / unit for row in own], "o", label=label
            )
            if power is not None:
                values = [power.at(place) / unit for place in places]
                axis.plot(places, values, "-", color=points[0].get_color(), linewidth=1)
        axis.set(xscale="log", yscale="log", xlabel="pairs", ylabel=title)
        axis.grid(True, which="both", alpha=0.3)
        sizes = sorted({row["pairs"] for row in rows})
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30)
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        if axis.lines:
            axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main()
