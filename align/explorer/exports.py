"""A selection of pairs as a file: Pharaoh, JSON lines, TMX or a table, a line (or unit, or row) a pair."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from align.links import AlignedPair, Link, format_pharaoh, write

# The formats, each with its kind of content and the ending of its files.
FORMATS = {
    "pharaoh": ("text/plain; charset=utf-8", "align"),
    "jsonl": ("application/x-ndjson; charset=utf-8", "jsonl"),
    "tmx": ("application/xml; charset=utf-8", "tmx"),
    "csv": ("text/csv; charset=utf-8", "csv"),
}

# Tables that can be saved: of which analysis, and its rows, each by the names of the columns.
TABLES: dict[str, tuple[str, Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]]]] = {
    "figures": ("summary", lambda found: _figures(found, ("aer", "precision", "recall", "f1"))),
    "calibration": ("summary", lambda found: found["calibration"]),
    "scores": ("summary", lambda found: found["scores"]),
    "confusions": ("summary", lambda found: found["confusions"]),
    "missed": ("summary", lambda found: found["missed"]),
    "summary-words": ("summary", lambda found: found["wrong_words"]),
    "unaligned": (
        "summary",
        lambda found: ({"side": side, **row} for side, rows in found["unaligned"].items() for row in rows),
    ),
    "differences": ("compare", lambda found: found["words"]),
    "kinds": ("compare", lambda found: found["kinds"]),
    "lexicon": ("lexicon", lambda found: map(_translation, found["translations"])),
    "expressions": ("lexicon", lambda found: found["expressions"]),
    "agreement": ("agreement", lambda found: found["differing"]),
    "agreement-figures": (
        "agreement",
        lambda found: _figures(found, ("kappa", "kappa_kinds", "aer_ab", "aer_ba", "f1", "f1_sure")),
    ),
}

LINKS = ("run", "annotation")

# What a spreadsheet takes for a formula: more than a sign, and no number; what is blank before it is skipped.
_FORMULA = re.compile(r"\s*[=+\-@](?![\d.,\s]*%?\Z).")

_HEADER = (
    "number",
    "kind",
    "part",
    "source",
    "target",
    "links",
    "confidence",
    "score",
    "aer",
    "wrong",
    "missed",
)


def lines(
    connection: sqlite3.Connection,
    ids: np.ndarray,
    *,
    format: str,
    run: int,
    annotator: str,
    links: str = "run",
    languages: tuple[str, str] = ("und", "und"),
) -> Iterator[str]:
    """Yield the lines, with their ends, of a file of pairs.

    Parameters
    ----------
    connection : sqlite3.Connection
        One state of the store throughout.
    ids : ndarray of int64, shape (N,)
        The pairs, in order.
    format : str
        A key of `FORMATS`.
    run : int
        Whose links, with their confidences, and whose figures.
    annotator : str
        Whose corrections, with ``links="annotation"``: pairs without any are then left out.
    links : {"run", "annotation"}
    languages : (str, str)
        Tags of source and target, for TMX.
    """
    rows = _rows(connection, ids, run, annotator, links)
    if format == "csv":
        yield from _table(rows)
        return
    pairs = (pair for pair, _ in rows)
    named = languages if format == "tmx" else None
    yield from (f"{line}\n" for line in write(pairs, format=format, languages=named))


def table(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of named values; what is no number or text is left out or spread out.

    An interval ``[value, low, high]`` becomes three columns, a mapping one a value.
    """
    header: list[str] | None = None
    for row in rows:
        flat = dict(_flat(row))
        if header is None:
            header = list(flat)
            yield _row(header)
        yield _row([flat.get(name) for name in header])


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if name in ("filter", "examples"):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}_")
        elif isinstance(value, list | tuple) and len(value) == 3:
            yield from zip((before + name + end for end in ("", "_low", "_high")), value, strict=True)
        elif not isinstance(value, list | tuple):
            yield before + name, value


def _translation(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a translation with the columns of the model's table, empty where that does not have it."""
    known = row["model"] or {"p_forward": None, "p_reverse": None}
    own = {name: value for name, value in row.items() if name != "model"}
    return {**own, **{f"model_{name}": value for name, value in known.items()}}


def _figures(found: Mapping[str, Any], names: Iterable[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        value, low, high = found[name] or (None, None, None)
        yield {"figure": name, "value": value, "low": low, "high": high}


def _row(values: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(map(_harmless, values))
    return out.getvalue()


def _harmless(value: object) -> object:
    """Return a value of a table; text that a spreadsheet would run as a formula gets a ``'`` before it."""
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value


def _rows(
    connection: sqlite3.Connection, ids: np.ndarray, run: int, annotator: str, links: str
) -> Iterator[tuple[AlignedPair, list[object]]]:
    for pair in ids.tolist():
        number, kind, part, source, target, made, confidence, score, aer, wrong, missed, said = (
            connection.execute(
                "SELECT p.number, p.kind, p.part, p.source, p.target, l.links, l.confidence, l.score, j.aer,"
                " j.wrong, j.missed, a.links FROM pair p"
                " LEFT JOIN links l ON l.run = ? AND l.pair = p.id"
                " LEFT JOIN judged j ON j.run = ? AND j.pair = p.id"
                " LEFT JOIN annotation a ON a.annotator = ? AND a.pair = p.id WHERE p.id = ?",
                (run, run, annotator, pair),
            ).fetchone()
        )
        if links == "annotation":
            if said is None:
                continue
            cells = [Link(j, k, bool(sure)) for j, k, sure in json.loads(said)]
        else:
            cells = [Link(j, k, True, trust) for j, k, trust in json.loads(made or "[]")]
        tokens = json.loads(source), json.loads(target)
        yield AlignedPair(cells, *tokens), [number, kind, part, confidence, score, aer, wrong, missed]


def _table(rows: Iterator[tuple[AlignedPair, list[object]]]) -> Iterator[str]:
    """Yield the rows of a table, as RFC 4180 has them but for plain line feeds."""
    yield _row(_HEADER)
    for pair, (number, kind, part, *figures) in rows:
        words = [" ".join(side or ()) for side in (pair.source, pair.target)]
        yield _row([number, kind, part, *words, format_pharaoh(pair.links, scores=False), *figures])
