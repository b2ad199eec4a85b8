"""Two runs side by side: where their links differ, and who is right where that is known.

Only pairs whose sets of links differ are read; of the others, their number is enough. Memory does not grow
with the pairs, only with the different pairs of words that the runs disagree on.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from align.evaluation.grouped import Grouped
from align.evaluation.kinds import FUNCTION_WORDS, KINDS, Sides
from align.evaluation.metrics import COLUMNS, interval, paired_bootstrap, resampled
from align.explorer.summary import ROWS, SAMPLES, with_intervals
from align.text.normalise import lookup_key

# Rows that are read at once.
_BLOCK = 500

# Pairs from all over the text that frequent words are counted in, and the least count of such a word.
_SAMPLED = 2000
_LEAST = 5

# So many pairs of a kind of difference can be listed.
_MOST_IDS = 200

# Links that are counted one by one before they are added up.
_MOST_NEW = 1 << 18

# What a link that only one run has is worth.
_VALUES = ("sure", "possible", "wrong", "unknown")

Cell = tuple[int, int]


class _Differing(NamedTuple):
    """A pair in which two runs differ."""

    id: int
    source: list[str]
    target: list[str]
    only: tuple[set[Cell], set[Cell]]  # links of a without b, of b without a
    gold: dict[Cell, int] | None  # 1 sure, 0 possible; None where the pair is not judged


def compare(
    connection: sqlite3.Connection,
    a: int,
    b: int,
    *,
    languages: tuple[str, str] = ("", ""),
    annotator: str = "",
    rows: int | None = ROWS,
    samples: int = SAMPLES,
    seed: int = 1,
) -> dict[str, Any]:
    """Compare the links of two runs in the pairs that both have linked.

    Parameters
    ----------
    connection : sqlite3.Connection
        Of a :class:`align.explorer.store.Store`; one state of it throughout.
    a, b : int
        The runs.
    languages : (str, str)
        Codes of source and target, by which words that negate are known.
    annotator : str
        Whose corrections go before the gold that pairs came with.
    rows : int or None
        So many of the word pairs; None: all.
    samples, seed : int
        Of the bootstrap.

    Returns
    -------
    dict
        ``pairs`` that both have linked, of which ``same`` have the same links and ``differ`` do not;
        ``judged`` of them have gold or corrections. ``both``: links that both have. ``only_a`` and
        ``only_b``: ``links`` that one has alone, of which ``sure``, ``possible``, ``wrong`` and ``unknown``
        (in pairs that are not judged).
        ``aer``: None where nothing is judged, else ``a`` and ``b``, each ``[value, low, high]``,
        ``difference``, the same of a minus b, pairs drawn together, and its ``p_value``. ``words``: the word
        pairs linked by one run alone, how often by ``a``, by ``b``, and how many of each are right
        (``right_a``, ``right_b``) and wrong. ``kinds``: see :mod:`align.evaluation.kinds`; per kind
        the links ``only_a`` and ``only_b``, how many of them are ``right_a``, ``right_b`` (sure or possible)
        and ``wrong_a``, ``wrong_b``, sure links that only the other one has (``missed_a``, ``missed_b``),
        ``errors_a``, ``errors_b`` (wrong and missed) and ``difference``, the errors of a minus those of b as
        ``[value, low, high]``, 95 % by bootstrap over pairs. ``filter`` as in :mod:`align.explorer.summary`.
    """
    same, differ, shared = _counts(connection, a, b)
    sides = Sides(languages, _frequent(connection))
    tally = _Tally(sides)
    for block, in_both in _differing(connection, a, b, annotator):
        tally.add(block)
        shared += in_both
    rates = _error_rates(connection, a, b, samples=samples, seed=seed)
    tally.add_same(rates["judged"])
    between = {"run": str(a), "other": str(b), "differ": "1"}
    return {
        "pairs": same + differ,
        "same": same,
        "differ": differ,
        "both": shared,
        "only_a": tally.of_run(0),
        "only_b": tally.of_run(1),
        **rates,
        "words": tally.words(rows, between),
        "kinds": tally.kinds(between, samples=samples, seed=seed),
        "filters": {"differ": between},
    }


class _Tally:
    """What differing pairs add up to."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._values = Counter[tuple[int, str]]()
        self._word_pairs = _WordPairs()
        self._kinds = Counter[tuple[str, int, str]]()
        self._pairs: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self._errors = Grouped(2 * len(KINDS))

    def add(self, pairs: Sequence[_Differing]) -> None:
        """Take in pairs."""
        errors = []
        for pair in pairs:
            of_pair = [0] * (2 * len(KINDS))
            for run, cells in enumerate(pair.only):
                for cell in sorted(cells):
                    self._add_link(pair, run, cell, of_pair)
            if pair.gold is not None:
                errors.append(of_pair)
        if errors:
            self._errors.add(np.array(errors, dtype=np.int64))

    def add_same(self, judged: int) -> None:
        """Take in the judged pairs in which nothing differs, ``judged`` being all that are judged."""
        self._errors.add(np.zeros((judged - self._errors.pairs, 2 * len(KINDS)), dtype=np.int64))

    def _add_link(self, pair: _Differing, run: int, cell: Cell, errors: list[int]) -> None:
        words = pair.source[cell[0]], pair.target[cell[1]]
        value = _value(pair.gold, cell)
        kind = self._sides.kind(words, cell)
        self._values[run, value] += 1
        self._kinds[kind, run, value] += 1
        self._word_pairs.add(words, run, value)
        place = 2 * KINDS.index(kind)
        # a wrong link is its own run's error, a sure one that is missing the other's
        if value == "wrong":
            errors[place + run] += 1
        elif value == "sure":
            errors[place + 1 - run] += 1
        ids = self._pairs[kind]
        if len(ids) < _MOST_IDS and ids[-1:] != [pair.id]:
            ids.append(pair.id)

    def of_run(self, run: int) -> dict[str, int]:
        """Return what the links that one run has alone are worth."""
        found = {value: self._values[run, value] for value in _VALUES}
        return {"links": sum(found.values()), **found}

    def words(self, rows: int | None, between: dict[str, str]) -> list[dict[str, Any]]:
        """Return the word pairs that the runs disagree on, the most frequent first."""
        return [
            {**row, "filter": {**between, "differ_link": f"{row['source']}>{row['target']}"}}
            for row in self._word_pairs.ranked(rows)
        ]

    def kinds(self, between: dict[str, str], *, samples: int, seed: int) -> list[dict[str, Any]]:
        """Return what differs by kind, in the order of `KINDS`; kinds without any difference are left out."""
        drawn = resampled(self._errors.rows, samples, seed)
        sums = self._errors.rows.sum(axis=0)
        found = []
        for place, kind in enumerate(KINDS):
            first, second = ({v: self._kinds[kind, run, v] for v in _VALUES} for run in (0, 1))
            if not any((*first.values(), *second.values())):
                continue
            row: dict[str, Any] = {"kind": kind}
            for name, own, other in (("a", first, second), ("b", second, first)):
                row[f"only_{name}"] = sum(own.values())
                row[f"right_{name}"] = own["sure"] + own["possible"]
                row[f"wrong_{name}"] = own["wrong"]
                row[f"missed_{name}"] = other["sure"]
                row[f"errors_{name}"] = own["wrong"] + other["sure"]
            errors = drawn[:, 2 * place] - drawn[:, 2 * place + 1]
            ends = interval(errors) if self._errors.pairs else None
            more = int(sums[2 * place] - sums[2 * place + 1])
            row["difference"] = None if ends is None else [more, *ends]
            row["filter"] = {**between, "ids": ",".join(map(str, self._pairs[kind]))}
            found.append(row)
        return found


class _WordPairs:
    """Counts of word pairs by run and value: two numbers each, not a row of objects."""

    def __init__(self) -> None:
        self._words: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._new: list[int] = []
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, words: tuple[str, str], run: int, value: str) -> None:
        """Count a link."""
        source, target = (
            known.setdefault(lookup_key(word), len(known))
            for word, known in zip(words, self._words, strict=True)
        )
        code = 3 * run + {"wrong": 1, "unknown": 2}.get(value, 0)
        self._new.append((source << 34) | (target << 4) | code)
        if len(self._new) > _MOST_NEW:
            self._settle()

    def _settle(self) -> None:
        keys = np.concatenate([self._keys, np.array(self._new, dtype=np.int64)])
        counts = np.concatenate([self._counts, np.ones(len(self._new), dtype=np.int64)])
        self._keys, places = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(places, weights=counts, minlength=len(self._keys)).astype(np.int64)
        self._new = []

    def ranked(self, rows: int | None) -> list[dict[str, Any]]:
        """Return the word pairs with the most links that one run has alone."""
        self._settle()
        pairs, places = np.unique(self._keys >> 4, return_inverse=True)
        table = np.zeros((len(pairs), 6), dtype=np.int64)
        table[places, self._keys & 15] = self._counts
        order = np.argsort(-table.sum(axis=1), kind="stable")[:rows]
        names = [list(known) for known in self._words]
        return [
            {
                "source": names[0][int(pairs[place]) >> 30],
                "target": names[1][int(pairs[place]) & ((1 << 30) - 1)],
                **_named(table[place].tolist()),
            }
            for place in order.tolist()
        ]


def _named(counts: Sequence[int]) -> dict[str, int]:
    right_a, wrong_a, unknown_a, right_b, wrong_b, unknown_b = counts
    return {
        "a": right_a + wrong_a + unknown_a,
        "b": right_b + wrong_b + unknown_b,
        "right_a": right_a,
        "right_b": right_b,
        "wrong_a": wrong_a,
        "wrong_b": wrong_b,
    }


def _value(gold: dict[Cell, int] | None, cell: Cell) -> str:
    """Return what a link is worth, one of `_VALUES`."""
    if gold is None:
        return "unknown"
    sure = gold.get(cell)
    return "wrong" if sure is None else "sure" if sure else "possible"


def _counts(connection: sqlite3.Connection, a: int, b: int) -> tuple[int, int, int]:
    """Return how many pairs have the same links, how many others, and how many links the former have."""
    same, differ, links = connection.execute(
        "SELECT COALESCE(SUM(x.cells = y.cells), 0), COALESCE(SUM(x.cells != y.cells), 0),"
        " COALESCE(SUM(CASE WHEN x.cells = y.cells THEN json_array_length(x.links) END), 0)"
        " FROM links x JOIN links y ON y.run = ? AND y.pair = x.pair WHERE x.run = ?",
        (b, a),
    ).fetchone()
    return same, differ, links


def _differing(
    connection: sqlite3.Connection, a: int, b: int, annotator: str
) -> Iterator[tuple[list[_Differing], int]]:
    """Yield the pairs that differ block by block, with the number of links that both runs have there."""
    found = connection.execute(
        "SELECT pair.id, pair.source, pair.target, x.links, y.links, COALESCE(n.links, g.links, 'null')"
        " FROM links x JOIN links y ON y.run = :b AND y.pair = x.pair JOIN pair ON pair.id = x.pair"
        " LEFT JOIN annotation n ON n.annotator = :annotator AND n.pair = x.pair"
        " LEFT JOIN gold g ON g.pair = x.pair WHERE x.run = :a AND x.cells != y.cells ORDER BY x.pair",
        {"a": a, "b": b, "annotator": annotator},
    )
    while rows := found.fetchmany(_BLOCK):
        block, shared = [], 0
        for pair, *texts in rows:
            source, target, ours, theirs, gold = json.loads(f"[{','.join(texts)}]")
            first, second = ({(link[0], link[1]) for link in links} for links in (ours, theirs))
            known = None if gold is None else {(s, t): sure for s, t, sure in gold}
            block.append(_Differing(pair, source, target, (first - second, second - first), known))
            shared += len(first & second)
        yield block, shared


def _error_rates(
    connection: sqlite3.Connection, a: int, b: int, *, samples: int, seed: int
) -> dict[str, Any]:
    """Return the judged pairs, and the error rates of both runs on them with their difference."""
    columns = ", ".join(f"{run}.{name}" for run in "xy" for name in COLUMNS)
    found = connection.execute(
        f"SELECT {columns} FROM judged x JOIN judged y ON y.run = ? AND y.pair = x.pair WHERE x.run = ?"
        " ORDER BY x.pair",
        (b, a),
    )
    counts = Grouped(2 * len(COLUMNS))
    while rows := found.fetchmany(_BLOCK):
        counts.add(np.array(rows, dtype=np.int64))
    if not counts.pairs:
        return {"judged": 0, "aer": None}
    first, second = np.hsplit(counts.rows, 2)
    paired = paired_bootstrap(first, second, samples=samples, seed=seed)
    return {
        "judged": counts.pairs,
        "aer": {
            "a": with_intervals(first, samples=samples, seed=seed)["aer"],
            "b": with_intervals(second, samples=samples, seed=seed)["aer"],
            "difference": None if paired.interval is None else [paired.difference, *paired.interval],
            "p_value": paired.p_value,
        },
    }


def _frequent(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """Return the most frequent words of both sides in pairs from all over the text."""
    (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM pair").fetchone()
    counts = Counter[str](), Counter[str]()
    for pair in range(1, last + 1, max(1, last // _SAMPLED)):
        for text in connection.execute("SELECT source, target FROM pair WHERE id = ?", (pair,)):
            for count, tokens in zip(counts, map(json.loads, text), strict=True):
                count.update(lookup_key(token) for token in tokens if token.isalpha())
    first, second = (
        [word for word, number in count.most_common(FUNCTION_WORDS) if number >= _LEAST] for count in counts
    )
    return first, second
