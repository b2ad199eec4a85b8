"""Two annotators of the desk: how far they agree, and where they do not."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import numpy as np

from align.evaluation.agreement import CATEGORIES, FIGURES, Agreement, tables
from align.evaluation.agreement import agreement as measured
from align.evaluation.grouped import Grouped
from align.explorer.summary import ROWS, SAMPLES
from align.links import Link

_BLOCK = 500


def agreement(
    connection: sqlite3.Connection,
    a: str,
    b: str,
    *,
    rows: int | None = ROWS,
    samples: int = SAMPLES,
    seed: int = 1,
) -> dict[str, Any]:
    """Compare two annotators in the pairs that both have marked as done.

    Parameters
    ----------
    connection : sqlite3.Connection
        Of a :class:`align.explorer.store.Store`; one state of it throughout.
    a, b : str
        Their names.
    rows : int or None
        So many of the pairs in which they differ; None: all.
    samples, seed : int
        Of the bootstrap.

    Returns
    -------
    dict
        ``pairs`` both have done; ``begun``: others that both have corrected but not both marked as done;
        ``cells``: pairs of words. Figures, each ``[value, low, high]``, 95 % by bootstrap over pairs, or None
        where undefined: ``kappa`` (link or none), ``kappa_kinds`` (sure, possible or none), ``aer_ab`` (a is
        the gold), ``aer_ba`` (b is), ``f1`` of all links, ``f1_sure`` of the sure ones; see
        :mod:`align.evaluation.agreement`. ``table``: cells by what a (row) and b (column) say, of
        ``categories``. ``differ``: pairs in which they do. ``differing``: these, the pairs with the most
        cells said differently first, ``id``, ``number``, ``kind``, links only one has, ``only_a`` and
        ``only_b``, and ``unlike``, those that one calls sure and the other possible.
    """
    counts = Grouped(9)
    differing: list[dict[str, Any]] = []
    found = connection.execute(
        "SELECT pair.id, pair.number, pair.kind,"
        " json_array_length(pair.source) * json_array_length(pair.target), x.links, y.links"
        " FROM annotation x JOIN annotation y ON y.annotator = ? AND y.pair = x.pair"
        " JOIN pair ON pair.id = x.pair WHERE x.annotator = ? AND x.done AND y.done ORDER BY pair.id",
        (b, a),
    )
    while block := found.fetchmany(_BLOCK):
        first, second = ([_links(row[place]) for row in block] for place in (4, 5))
        of_pairs = tables(first, second, [row[3] for row in block])
        counts.add(of_pairs.reshape(-1, 9))
        for row, table in zip(block, of_pairs, strict=True):
            if np.trace(table) != table.sum():
                differing.append(_difference(row, table))
    differing.sort(key=lambda row: (-(row["only_a"] + row["only_b"] + row["unlike"]), row["id"]))
    result = measured(counts.rows.reshape(-1, 3, 3), samples=samples, seed=seed)
    (begun,) = connection.execute(
        "SELECT COUNT(*) FROM annotation x JOIN annotation y ON y.annotator = ? AND y.pair = x.pair"
        " WHERE x.annotator = ? AND NOT (x.done AND y.done)",
        (b, a),
    ).fetchone()
    return {
        "a": a,
        "b": b,
        "pairs": counts.pairs,
        "begun": begun,
        "cells": result.cells,
        **{name: _with_interval(result, name) for name in FIGURES},
        "categories": list(CATEGORIES),
        "table": counts.rows.sum(axis=0).reshape(3, 3).tolist(),
        "differ": len(differing),
        "differing": differing[:rows],
    }


def _difference(row: tuple[Any, ...], table: np.ndarray) -> dict[str, Any]:
    return {
        "id": row[0],
        "number": row[1],
        "kind": row[2],
        "only_a": int(table[1:, 0].sum()),
        "only_b": int(table[0, 1:].sum()),
        "unlike": int(table[1, 2] + table[2, 1]),
    }


def _with_interval(result: Agreement, name: str) -> list[float] | None:
    value, ends = getattr(result, name), result.intervals.get(name)
    return None if value is None or ends is None else [value, *ends]


def _links(text: str) -> list[Link]:
    return [Link(source, target, bool(sure)) for source, target, sure in json.loads(text)]
