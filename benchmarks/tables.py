"""Rows and tables of the measurements of speed: every figure of every round, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import Table, aer, compare, difference_of, facts_text, figures_of, markdown, score
from benchmarks.process import Usage
from benchmarks.repeats import Spread, ratios
from benchmarks.stages import StageFigures

# The pipeline's own name among those that are compared.
LIAISON = "Liaison"


@dataclass
class Trial:
    """One contender in one round: what it took, its links by method, or why there are none."""

    name: str
    round: int  # from 0
    jobs: int = 1
    usage: Usage | None = None  # from tokens to links; None where it failed
    from_text: Usage | None = None  # the pipeline from the archive or files to links
    stages: dict[str, StageFigures] = field(default_factory=dict)  # those of the pipeline
    links: dict[str, Path] = field(default_factory=dict)  # of the gold pairs, by method of symmetrisation
    problem: str = ""  # why it failed


Row = dict[str, Any]

# The aligner whose figures of the same round others are told as ratios of.
REFERENCE = "eflomal"

_MEBIBYTE = 2**20
_ALIGNER, _TEXT, _STAGE = "tokens to links", "text to links", "stage"

NOTES = """\
Every figure is the median of the rounds, with the smallest and the largest in parentheses where they differ.
CPU seconds are user and system time of all processes; pairs a second are by wall time. Memory, in MiB: "RSS"
is the largest sum over all processes alive together of what is resident in each, seen every 50 ms from
outside (what processes share counts in each of them); "PSS" the same with shared pages shared out, looked at
less often; "manifest" is the sum of the processes' own peaks, which the pipeline writes down. A stage that is
over within 50 ms may not have been seen. Stages are by their manifests, without the start of the program,
which the whole runs have in them. Kernels were compiled before.
"""

PEER_NOTES = """\
"Tokens to links" is one process of the pipeline, from its stage lexicon to its stage align (lexicon, label,
featurize, train, align, and its start): what other aligners do in both directions. "Text to links" has
download, preprocess and embed besides. Other aligners read the same tokens, with their defaults, one thread;
putting their two directions together is not counted. Pairs a second are those of the corpus, without
gold text, which all of them align too. Ratios are to eflomal in the same round.
"""


def rows_of(trials: Sequence[Trial], pairs: int, gold: Path | None, train: int) -> list[Row]:
    """Return every figure of every round.

    Parameters
    ----------
    trials : sequence of Trial
    pairs : int
        Lines of the text.
    gold : Path, optional
        Its links.
    train : int
        So many gold pairs trained, and are not scored.
    """
    rows: list[Row] = []
    for trial in trials:
        head = {"name": trial.name, "jobs": trial.jobs, "round": trial.round + 1}
        row = {**head, "what": _ALIGNER, **_usage(trial.usage, pairs), "problem": trial.problem}
        if gold is not None:
            row |= {f"aer {method}": aer(gold, path, train) for method, path in trial.links.items()}
        rows.append(row)
        if trial.from_text is not None:
            rows.append({**head, "what": _TEXT, **_usage(trial.from_text, pairs)})
        for name, stage in trial.stages.items():
            rows.append({**head, "what": _STAGE, "stage": name, **_stage(stage, pairs)})
    return rows


def _usage(usage: Usage | None, pairs: int) -> Row:
    if usage is None:
        return {}
    return {
        "cpu_seconds": usage.cpu_seconds,
        "seconds": usage.seconds,
        "pairs_a_second": pairs / usage.seconds,
        "rss": usage.rss,
        "pss": usage.pss,
        "largest_process": usage.peak_memory,
    }


def _stage(stage: StageFigures, pairs: int) -> Row:
    return {
        "cpu_seconds": stage.cpu_seconds,
        "seconds": stage.seconds,
        "pairs_a_second": pairs / stage.seconds if stage.seconds else None,
        "rss": stage.rss,
        "pss": stage.pss,
        "manifest": stage.told,
    }


def page(told: dict[str, Any], rows: Sequence[Row], accuracy: Table) -> str:
    """Return the whole report."""
    parts = ["# Speed, memory and accuracy\n", facts_text(told)]
    parts.append(
        f"- {told['pairs']} pairs; other aligners were given {told['tokens']} tokens, lower-cased, of "
        f"{told['pairs of other aligners']} pairs (with the gold text, if any)\n"
    )
    parts.append(NOTES)
    for jobs in sorted({row["jobs"] for row in rows if row["what"] == _STAGE}):
        parts.append(f"## The pipeline, --jobs {jobs}\n\n{markdown(stage_lines(rows, jobs))}")
    parts.append(f"## From tokens to links\n\n{PEER_NOTES}\n{markdown(aligner_lines(rows))}")
    parts += [f"{name}: not measured: {reason}\n" for name, reason in told["absent"].items()]
    if accuracy:
        parts.append(f"## Accuracy\n\n{markdown(accuracy)}")
    return "\n".join(parts)


def stage_lines(rows: Sequence[Row], jobs: int) -> Table:
    """Return the table of the stages of the pipeline with so many jobs, and of the whole run."""
    own = [row for row in rows if row["jobs"] == jobs and row["what"] in (_STAGE, _TEXT)]
    names = dict.fromkeys(row["stage"] for row in own if row["what"] == _STAGE)
    lines = [_line(name, [row for row in own if row.get("stage") == name]) for name in names]
    return [*lines, _line(f"whole run, {_TEXT}", [row for row in own if row["what"] == _TEXT])]


def aligner_lines(rows: Sequence[Row]) -> Table:
    """Return the table of all aligners: cost from tokens to links, and ratios to the reference."""
    by_name = _by_name([row for row in rows if row["what"] in (_ALIGNER, _TEXT)])
    rounds = max((row["round"] for row in rows), default=0)
    reference = by_name.get((REFERENCE, 1, _ALIGNER), [])
    lines = []
    for (name, jobs, what), own in by_name.items():
        line = _line(f"{name}, {what}, --jobs {jobs}" if name == LIAISON else name, own)
        line.pop("manifest")
        problems = [row["problem"] for row in own if row.get("problem")]
        if problems:
            line["problem"] = problems[0]
        for title, key in (("CPU / eflomal", "cpu_seconds"), ("wall / eflomal", "seconds")):
            found = ratios(_by_round(own, key, rounds), _by_round(reference, key, rounds))
            line[title] = Spread.of(found).text(2) if found else "n/a"
        lines.append(line)
    return lines


def accuracy_lines(
    trials: Sequence[Trial], rows: Sequence[Row], gold: Path | None, train: int, folder: Path
) -> Table:
    """Return the AER of every aligner: of grow-diag-final-and, and of what is best on these very pairs.

    Parameters
    ----------
    trials, rows : sequence
        All rounds.
    gold : Path, optional
        Links of the gold; without it the table is empty.
    train : int
        So many gold pairs are not scored.
    folder : Path
        Where parts that are scored are written.
    """
    if gold is None:
        return []
    best: dict[tuple[str, int], str] = {}
    spreads: dict[tuple[str, int], dict[str, Spread]] = {}
    for (name, jobs, _), own in _by_name([row for row in rows if row["what"] == _ALIGNER]).items():
        methods = {
            key for row in own for key, value in row.items() if key.startswith("aer ") and value is not None
        }
        found = {
            key[4:]: Spread.of([100 * row[key] for row in own if row.get(key) is not None]) for key in methods
        }
        if found:
            spreads[name, jobs] = dict(sorted(found.items()))
            best[name, jobs] = min(spreads[name, jobs], key=lambda method: found[method].median)
    first = {(trial.name, trial.jobs): trial for trial in reversed(trials) if trial.links}
    lines = []
    for key, each in spreads.items():
        links = first[key].links[best[key]]
        report = score(gold, links, train, folder)
        standard = each.get("grow-diag-final-and")
        line = {
            "": f"{key[0]}, --jobs {key[1]}" if key[1] > 1 else key[0],
            "AER %, grow-diag-final-and": standard.text(2) if standard else "",
            "best": best[key],
            "AER %, best": each[best[key]].text(2),
            **{name: value for name, value in figures_of(report).items() if name != "AER %"},
        }
        peer = first.get((REFERENCE, 1))
        if peer is not None and key[0] != REFERENCE and (REFERENCE, 1) in best:
            found_difference = compare(gold, links, peer.links[best[REFERENCE, 1]], train)
            line["less eflomal (95 %)"] = difference_of(found_difference)
        lines.append(line)
    return lines


def _line(title: str, rows: Sequence[Row]) -> dict[str, str]:
    """Return a line of a table of rows that differ in the round alone."""
    line = {"": title, "rounds": str(sum("seconds" in row for row in rows))}
    columns: list[tuple[str, str, Callable[[float], float], int]] = [
        ("wall s", "seconds", float, 1),
        ("CPU s", "cpu_seconds", float, 1),
        ("pairs/s", "pairs_a_second", float, 0),
        ("RSS", "rss", _mebibytes, 0),
        ("PSS", "pss", _mebibytes, 0),
        ("manifest", "manifest", _mebibytes, 0),
    ]
    for name, key, change, decimals in columns:
        # 0 bytes: nobody could look.
        values = [change(row[key]) for row in rows if row.get(key)]
        line[name] = Spread.of(values).text(decimals) if values else ""
    return line


def _mebibytes(value: float) -> float:
    return value / _MEBIBYTE


def _by_name(rows: Sequence[Row]) -> dict[tuple[str, int, str], list[Row]]:
    found: dict[tuple[str, int, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["round"]):
        found.setdefault((row["name"], row["jobs"], row["what"]), []).append(row)
    return found


def _by_round(rows: Sequence[Row], key: str, rounds: int) -> list[float | None]:
    values: list[float | None] = [None] * rounds
    for row in rows:
        values[row["round"] - 1] = row.get(key)
    return values
