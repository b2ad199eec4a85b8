"""What a run's links are like as a whole: figures with intervals, calibration, what goes wrong most often.

Everything is counted by the database or in blocks of rows, so that memory does not grow with the pairs. Each
number comes with a filter, the parameters under which ``/pairs`` lists the pairs behind it.
"""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.evaluation.grouped import Grouped
from align.evaluation.metrics import COLUMNS, bootstrap, figures
from align.explorer.store import SIDES, hash_of

Filter = dict[str, str]

# Bars of the calibration plot, of equal width over [0, 1], and of the histogram of scores.
BINS = 10
BARS = 20

# Rows of each list; ``None`` gives all of them.
ROWS = 50

SAMPLES = 1000

# Rows that are read at once.
_BLOCK = 500

# A link of a pair in one number: pair, source and target token; sides have less than a million tokens.
_SIDE = np.int64(1 << 20)


def summary(
    connection: sqlite3.Connection,
    run: int,
    *,
    annotator: str = "",
    gap_curve: Sequence[Sequence[float | None]] = (),
    rows: int | None = ROWS,
    samples: int = SAMPLES,
    seed: int = 1,
) -> dict[str, Any]:
    """Return the summary of a run.

    Parameters
    ----------
    connection : sqlite3.Connection
        Of a :class:`align.explorer.store.Store`; one state of it throughout.
    run : int
        The run.
    annotator : str
        Whose corrections the pairs are judged by; empty: nobody's.
    gap_curve : sequence of [pass, gap, primal]
        How its model was trained; see :func:`gap_curve_of`.
    rows : int or None
        The most frequent so many of each list; None: all.
    samples, seed : int
        Of the bootstrap.

    Returns
    -------
    dict
        Counts: ``pairs`` (all), ``linked`` (those the run has linked), ``unlinked`` (of these, without any
        link), ``judged`` (those with gold or corrections), ``begun`` (of these, corrected but not marked
        done: links that nobody may have looked at count as right), and over the judged ones ``links``,
        ``sure``, ``possible`` (the sure ones among them), ``wrong_links``, ``missed_links``. Figures, each
        ``[value, low, high]`` or None where undefined: ``aer``, ``precision``, ``recall``, ``f1``, intervals
        of 95 % by bootstrap over pairs. ``gap_curve`` as given. ``calibration``: by confidence, its bounds
        ``low`` and ``high``, mean ``confidence``, ``links`` and how many of them are ``right`` (sure or
        possible). ``scores``: a histogram of the pairs' scores. Lists, the most frequent first:
        ``confusions`` (word pairs linked wrongly), ``missed`` (sure ones not linked), ``unaligned`` by side
        (words without a link, of ``occurrences``), ``wrong_words`` (words in wrong or missed links).
        ``filters``: by the name of a count or a figure.
    """
    counts = _judged(connection, run)
    sums = dict(zip(COLUMNS, counts.rows.sum(axis=0).tolist(), strict=True))
    totals = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(cells = ?), 0) FROM links WHERE run = ?", (hash_of([]), run)
    ).fetchone()
    (pairs,) = connection.execute("SELECT COUNT(*) FROM pair").fetchone()
    return {
        "pairs": pairs,
        "linked": totals[0],
        "unlinked": totals[1],
        "judged": counts.pairs,
        "begun": _begun(connection, run, annotator),
        "links": sums["links"],
        "sure": sums["sure"],
        "possible": sums["possible"],
        "wrong_links": sums["links"] - sums["possible_matched"],
        "missed_links": sums["sure"] - sums["sure_matched"],
        **with_intervals(counts.rows, samples=samples, seed=seed),
        "gap_curve": [list(row) for row in gap_curve],
        "calibration": _calibration(connection, run),
        "scores": _histogram(connection, run),
        "confusions": _faults(connection, run, "wrong", rows),
        "missed": _faults(connection, run, "missed", rows),
        "unaligned": {side: _unaligned(connection, run, side, rows) for side in SIDES},
        "wrong_words": _wrong_words(connection, run, rows),
        "filters": {
            "judged": {"show": "judged"},
            "unlinked": {"errors": "unlinked"},
            "aer": {"show": "judged", "errors": "errors", "order": "worst"},
            "precision": {"errors": "wrong", "order": "worst"},
            "recall": {"errors": "missed", "order": "worst"},
            "f1": {"show": "judged", "errors": "errors", "order": "worst"},
            "wrong_links": {"errors": "wrong"},
            "missed_links": {"errors": "missed"},
        },
    }


def with_intervals(rows: np.ndarray, *, samples: int, seed: int) -> dict[str, list[float] | None]:
    """Return the figures of summed counts with their intervals, ``[value, low, high]``, None if undefined."""
    values = figures(rows.sum(axis=0, keepdims=True))[0].tolist()
    ends = bootstrap(rows, samples=samples, seed=seed)
    found: dict[str, list[float] | None] = {}
    for name, value in zip(("aer", "precision", "recall", "f1"), values, strict=True):
        bounds = getattr(ends, name)
        found[name] = None if math.isnan(value) or bounds is None else [value, *bounds]
    return found


def gap_curve_of(folder: Path) -> list[list[float | None]]:
    """Return how a model was trained, ``[pass, gap, primal]`` of each pass, from its ``history.csv``.

    Gap and primal are those of the iterate or of the average of the iterates, whichever has the smaller gap.
    Empty where the model has no such file; a value that was not measured is None.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    path = folder / "history.csv"
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            own, average = ("passes", "gap", "primal"), ("passes", "average_gap", "average_primal")
            averaged = set(average) <= set(rows.fieldnames or ())
            read = [[_numbers(row, names) for names in (own, *[average] * averaged)] for row in rows]
            # of the two that with the smaller gap, as what a solver returns
            found = [min(both, key=lambda each: math.inf if each[1] is None else each[1]) for both in read]
    except (ValueError, KeyError, TypeError, csv.Error):
        raise InputError(f"{path}: no table of passes, gaps and primals; remove it, or train again") from None
    return found


def _numbers(row: dict[str, str], names: tuple[str, ...]) -> list[float | None]:
    """Return numbers of a row, None for those that are not there or not finite."""
    values = [None if row[name] == "" else float(row[name]) for name in names]
    return [value if value is None or math.isfinite(value) else None for value in values]


def _judged(connection: sqlite3.Connection, run: int) -> Grouped:
    """Sum the counts of the judged pairs."""
    counts = Grouped(len(COLUMNS))
    found = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM judged WHERE run = ? ORDER BY pair", (run,))
    while block := found.fetchmany(_BLOCK):
        counts.add(np.array(block, dtype=np.int64))
    return counts


def _begun(connection: sqlite3.Connection, run: int, annotator: str) -> int:
    """Count the judged pairs that an annotator has corrected and not marked done."""
    (count,) = connection.execute(
        "SELECT COUNT(*) FROM judged j JOIN annotation a ON a.pair = j.pair AND a.annotator = ?"
        " WHERE j.run = ? AND NOT a.done",
        (annotator, run),
    ).fetchone()
    return int(count)


def _calibration(connection: sqlite3.Connection, run: int) -> list[dict[str, Any]]:
    """Compare the confidences of links with how many are right."""
    links, right, sums = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64), np.zeros(BINS)
    for cells, confidences, wrong in _confidences(connection, run):
        known = ~np.isnan(confidences)
        bins = np.minimum((confidences[known] * BINS).astype(np.int64), BINS - 1)
        correct = ~np.isin(cells[known], wrong)
        links += np.bincount(bins, minlength=BINS)
        right += np.bincount(bins[correct], minlength=BINS)
        sums += np.bincount(bins, weights=confidences[known], minlength=BINS)
    return [
        {
            **_bounds(place, BINS),
            "confidence": sums[place] / links[place],
            "right": int(right[place]),
            "links": int(links[place]),
            "filter": {"link_confidence": _range(place, BINS), "show": "judged"},
        }
        for place in np.flatnonzero(links).tolist()
    ]


def _confidences(
    connection: sqlite3.Connection, run: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the links of judged pairs in blocks: their numbers, confidences, the numbers of wrong ones."""
    found = connection.execute(
        "SELECT j.pair, l.links FROM judged j JOIN links l ON l.run = j.run AND l.pair = j.pair"
        " WHERE j.run = ? ORDER BY j.pair",
        (run,),
    )
    while block := found.fetchmany(_BLOCK):
        pairs, links = flat_links(block)
        wrong = connection.execute(
            "SELECT pair, source, target FROM fault"
            " WHERE run = ? AND pair BETWEEN ? AND ? AND kind = 'wrong'",
            (run, block[0][0], block[-1][0]),
        ).fetchall()
        cells = np.array(wrong, dtype=np.int64).reshape(-1, 3)
        yield numbered(pairs, links), links[:, 2], numbered(cells[:, 0], cells[:, 1:])


def flat_links(rows: Sequence[tuple[int, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Read the links of pairs.

    Parameters
    ----------
    rows : sequence of (int, str)
        The number of each pair, and its links as JSON: ``[[source, target, value or null], ...]``.

    Returns
    -------
    pairs : ndarray of int64, shape (L,)
        The pair of each link.
    links : ndarray of float64, shape (L, 3)
        Source, target, value (NaN for null).
    """
    counts = [text.count("[") - 1 for _, text in rows]
    pairs = np.repeat(np.array([pair for pair, _ in rows], dtype=np.int64), counts)
    # One flat list of numbers is read in half the time of lists in lists.
    written = ",".join(text for count, (_, text) in zip(counts, rows, strict=True) if count)
    values = json.loads(f"[{written.replace('[', '').replace(']', '')}]")
    return pairs, np.array(values, dtype=np.float64).reshape(-1, 3)


def numbered(pairs: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return one number for each link, int64 (L,), of its pair and of source and target in ``cells``."""
    places = cells[:, :2].astype(np.int64)
    return (pairs * _SIDE + places[:, 0]) * _SIDE + places[:, 1]


def parted(numbers: np.ndarray) -> np.ndarray:
    """Return pair, source and target token of the numbers that :func:`numbered` gives, int64 (L, 3)."""
    return np.stack([numbers // _SIDE // _SIDE, numbers // _SIDE % _SIDE, numbers % _SIDE], axis=1)


def _histogram(connection: sqlite3.Connection, run: int) -> list[dict[str, Any]]:
    """Count the pairs by score, in `BARS` bars of equal width over [0, 1]; none where no pair has one."""
    bars = dict(
        connection.execute(
            "SELECT MIN(MAX(CAST(score * ? AS INTEGER), 0), ?) AS bar, COUNT(*) FROM links"
            " WHERE run = ? AND score IS NOT NULL GROUP BY bar",
            (BARS, BARS - 1, run),
        ).fetchall()
    )
    return [
        {**_bounds(bar, BARS), "pairs": bars.get(bar, 0), "filter": {"score": _range(bar, BARS)}}
        for bar in range(BARS if bars else 0)
    ]


def _bounds(place: int, parts: int) -> dict[str, float]:
    return {"low": place / parts, "high": (place + 1) / parts}


def _range(place: int, parts: int) -> str:
    """Return the bounds of a part of [0, 1] as a filter has them."""
    return f"{place / parts:g}-{(place + 1) / parts:g}"


def _faults(connection: sqlite3.Connection, run: int, kind: str, rows: int | None) -> list[dict[str, Any]]:
    """Return the word pairs with the most faults of a kind."""
    found = connection.execute(
        "SELECT source_word, target_word, COUNT(*) AS faults FROM fault WHERE run = ? AND kind = ?"
        " GROUP BY source_word, target_word ORDER BY faults DESC, source_word, target_word LIMIT ?",
        (run, kind, _limit(rows)),
    )
    return [
        {
            "source": source,
            "target": target,
            kind: count,
            "filter": {f"{kind}_link": between(source, target)},
        }
        for source, target, count in found
    ]


def _unaligned(connection: sqlite3.Connection, run: int, side: str, rows: int | None) -> list[dict[str, Any]]:
    """Return the words of a side that have no link most often."""
    # The words of pairs that are not linked yet are no occurrences.
    found = connection.execute(
        "SELECT word, SUM(words) AS alone FROM unlinked WHERE run = ? AND side = ?"
        " GROUP BY word ORDER BY alone DESC, word LIMIT ?",
        (run, side, _limit(rows)),
    ).fetchall()
    return [
        {
            "word": word,
            "unlinked": alone,
            "occurrences": occurrences(connection, run, side, word),
            "filter": {"unlinked_word": f"{side}:{word}"},
        }
        for word, alone in found
    ]


def between(source: str, target: str) -> str:
    """Return two words as the filters of links have them, ``house>maison``."""
    return f"{source} > {target}" if ">" in source + target else f"{source}>{target}"


def occurrences(connection: sqlite3.Connection, run: int, side: str, word: str) -> int:
    """Return how often a word stands in the pairs that a run has linked."""
    (count,) = connection.execute(
        "SELECT COALESCE(SUM(o.words), 0) FROM word w JOIN occurrence o ON o.word = w.id AND o.side = ?"
        " JOIN links l ON l.run = ? AND l.pair = o.pair WHERE w.text = ?",
        (side, run, word),
    ).fetchone()
    return int(count)


def _wrong_words(connection: sqlite3.Connection, run: int, rows: int | None) -> list[dict[str, Any]]:
    """Return the words of both sides that stand in the most wrong or missed links."""
    parts = " UNION ALL ".join(
        f"SELECT '{side}' AS side, {side}_word AS word, SUM(kind = 'wrong') AS wrong,"
        f" SUM(kind = 'missed') AS missed FROM fault WHERE run = :run GROUP BY {side}_word"
        for side in SIDES
    )
    found = connection.execute(
        f"SELECT * FROM ({parts}) ORDER BY wrong + missed DESC, word, side LIMIT :rows",
        {"run": run, "rows": _limit(rows)},
    )
    return [
        {
            "side": side,
            "word": word,
            "wrong": wrong,
            "missed": missed,
            "filter": {"fault_word": f"{side}:{word}"},
        }
        for side, word, wrong, missed in found
    ]


def _limit(rows: int | None) -> int:
    return -1 if rows is None else rows
