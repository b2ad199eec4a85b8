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
from align.evaluation.kinds import FUNCTION_WORDS, KINDS, Words, kind
from align.evaluation.metrics import COLUMNS, interval, paired_bootstrap, resampled
from align.explorer.summary import ROWS, SAMPLES, between, flat_links, numbered, parted, with_intervals
from align.text.normalise import lookup_key

# Rows that are read at once.
_BLOCK = 400

# Pairs from all over the text that frequent words are counted in, and the least count of such a word.
_SAMPLED = 2000
_LEAST = 5

# So many pairs of a kind of difference can be listed.
_MOST_IDS = 200

# Links that are counted one by one before they are added up.
_MOST_NEW = 1 << 18

# What a link that only one run has is worth.
_VALUES = ("sure", "possible", "wrong", "unknown")
_SURE, _POSSIBLE, _WRONG, _UNKNOWN = range(4)

# By value: right, wrong, unknown.
_ROUGHLY = np.array([0, 0, 1, 2])

_KIND = {name: place for place, name in enumerate(KINDS)}


class _Differing(NamedTuple):
    """Pairs in which two runs differ; arrays have an entry for each link that one run has alone."""

    ids: list[int]  # of the pairs
    tokens: tuple[list[list[str]], list[list[str]]]  # source and target of each
    judged: np.ndarray  # bool, whether there is gold or a correction of each
    links: np.ndarray  # int64 (L, 3): place of the pair among ``ids``, source and target token
    run: np.ndarray  # int64 (L,): 0 or 1, which has it
    value: np.ndarray  # int64 (L,): a place in `_VALUES`
    shared: int  # links that both runs have


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
        ``linked_a``, ``linked_b``: pairs that each has linked, ``of`` all; ``pairs`` that both have, of which
        ``same`` have the same links and ``differ`` do not;
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
    tally = _Tally(languages, _frequent(connection))
    for pairs in _differing(connection, a, b, annotator):
        tally.add(pairs)
        shared += pairs.shared
    rates = _error_rates(connection, a, b, samples=samples, seed=seed)
    tally.add_same(rates["judged"])
    runs = {"run": str(a), "other": str(b), "differ": "1"}
    linked = [
        connection.execute("SELECT COUNT(*) FROM links WHERE run = ?", (run,)).fetchone()[0] for run in (a, b)
    ]
    return {
        "linked_a": linked[0],
        "linked_b": linked[1],
        "of": connection.execute("SELECT COUNT(*) FROM pair").fetchone()[0],
        "pairs": same + differ,
        "same": same,
        "differ": differ,
        "both": shared,
        "only_a": tally.of_run(0),
        "only_b": tally.of_run(1),
        **rates,
        "words": tally.words(rows, runs),
        "kinds": tally.kinds(runs, samples=samples, seed=seed),
        "filters": {"differ": runs},
    }


class _Tally:
    """What differing pairs add up to."""

    def __init__(self, languages: tuple[str, str], frequent: tuple[Sequence[str], Sequence[str]]) -> None:
        self._words = Words(languages[0], frequent[0]), Words(languages[1], frequent[1])
        self._ids: tuple[dict[str, int], dict[str, int]] = ({}, {})
        # by kind, run and value
        self._links = np.zeros((len(KINDS), 2, len(_VALUES)), dtype=np.int64)
        self._errors = Grouped(2 * len(KINDS))
        self._pairs: list[list[int]] = [[] for _ in KINDS]
        # by word pair, run and whether right, in one number: what was counted, and what was not yet
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._new: list[np.ndarray] = []

    def add(self, pairs: _Differing) -> None:
        """Take in pairs."""
        place, run, value = pairs.links[:, 0], pairs.run, pairs.value
        known = np.array(list(self._known(pairs)), dtype=np.int64).reshape(-1, 3)
        of_kind, source, target = known.T
        np.add.at(self._links, (of_kind, run, value), 1)
        self._new.append((source << 34) | (target << 4) | (3 * run + _ROUGHLY[value]))
        if sum(map(len, self._new)) > _MOST_NEW:
            self._settle()
        errors = np.zeros((len(pairs.ids), len(KINDS), 2), dtype=np.int64)
        # a wrong link is its own run's error, a sure one that is missing the other's
        wrong, sure = value == _WRONG, value == _SURE
        np.add.at(errors, (place[wrong], of_kind[wrong], run[wrong]), 1)
        np.add.at(errors, (place[sure], of_kind[sure], 1 - run[sure]), 1)
        self._errors.add(errors[pairs.judged].reshape(-1, 2 * len(KINDS)))
        for number, ids in enumerate(self._pairs):
            if len(ids) < _MOST_IDS:
                found = np.unique(place[of_kind == number])[: _MOST_IDS - len(ids)]
                ids += [pairs.ids[which] for which in found.tolist()]

    def _known(self, pairs: _Differing) -> Iterator[tuple[int, int, int]]:
        """Yield the kind of each link, and a number for each of its words."""
        (of_source, of_target), (ids, other) = self._words, self._ids
        sources, targets = pairs.tokens
        for pair, i, j in pairs.links.tolist():
            source, target = of_source[sources[pair][i]], of_target[targets[pair][j]]
            yield (
                _KIND[kind(source, target, (i, j))],
                ids.setdefault(source.key, len(ids)),
                other.setdefault(target.key, len(other)),
            )

    def add_same(self, judged: int) -> None:
        """Take in the judged pairs in which nothing differs, ``judged`` being all that are judged."""
        self._errors.add(np.zeros((judged - self._errors.pairs, 2 * len(KINDS)), dtype=np.int64))

    def of_run(self, run: int) -> dict[str, int]:
        """Return what the links that one run has alone are worth."""
        counts = self._links[:, run].sum(axis=0).tolist()
        return {"links": sum(counts), **dict(zip(_VALUES, counts, strict=True))}

    def kinds(self, runs: dict[str, str], *, samples: int, seed: int) -> list[dict[str, Any]]:
        """Return what differs by kind, in the order of `KINDS`; kinds without any difference are left out."""
        drawn = resampled(self._errors.rows, samples, seed)
        sums = self._errors.rows.sum(axis=0)
        found = []
        for place, (name, links) in enumerate(zip(KINDS, self._links.tolist(), strict=True)):
            if not any(map(any, links)):
                continue
            row: dict[str, Any] = {"kind": name}
            for run, (own, other) in zip("ab", (links, links[::-1]), strict=True):
                sure, possible, wrong, _unknown = own
                row[f"only_{run}"] = sum(own)
                row[f"right_{run}"] = sure + possible
                row[f"wrong_{run}"] = wrong
                row[f"missed_{run}"] = other[_SURE]
                row[f"errors_{run}"] = wrong + other[_SURE]
            ends = interval(drawn[:, 2 * place] - drawn[:, 2 * place + 1]) if self._errors.pairs else None
            more = int(sums[2 * place] - sums[2 * place + 1])
            row["difference"] = None if ends is None else [more, *ends]
            row["filter"] = {**runs, "ids": ",".join(map(str, self._pairs[place]))}
            found.append(row)
        return found

    def _settle(self) -> None:
        """Count what was not counted yet."""
        keys = np.concatenate([self._keys, *self._new])
        news = sum(map(len, self._new))
        counts = np.concatenate([self._counts, np.ones(news, dtype=np.int64)])
        self._keys, places = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(places, weights=counts, minlength=len(self._keys)).astype(np.int64)
        self._new = []

    def words(self, rows: int | None, runs: dict[str, str]) -> list[dict[str, Any]]:
        """Return the word pairs that the runs disagree on, the most frequent first."""
        self._settle()
        pairs, places = np.unique(self._keys >> 4, return_inverse=True)
        table = np.zeros((len(pairs), 6), dtype=np.int64)
        table[places, self._keys & 15] = self._counts
        sides = pairs >> 30, pairs & ((1 << 30) - 1)
        names = [list(known) for known in self._ids]
        ranks = [_ranks(of_side)[ids] for of_side, ids in zip(names, sides, strict=True)]
        order = np.lexsort((ranks[1], ranks[0], -table.sum(axis=1)))[:rows]
        found = []
        for place in order.tolist():
            source, target = (of_side[ids[place]] for of_side, ids in zip(names, sides, strict=True))
            row = {"source": source, "target": target, **_named(table[place].tolist())}
            found.append(row | {"filter": {**runs, "differ_link": between(source, target)}})
        return found


def _ranks(words: Sequence[str]) -> np.ndarray:
    """Return the place of each word in alphabetical order."""
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return ranks


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


def _counts(connection: sqlite3.Connection, a: int, b: int) -> tuple[int, int, int]:
    """Return how many pairs have the same links, how many others, and how many links the former have."""
    same, differ, links = connection.execute(
        "SELECT COALESCE(SUM(x.cells = y.cells), 0), COALESCE(SUM(x.cells != y.cells), 0),"
        " COALESCE(SUM(CASE WHEN x.cells = y.cells THEN json_array_length(x.links) END), 0)"
        " FROM links x JOIN links y ON y.run = ? AND y.pair = x.pair WHERE x.run = ?",
        (b, a),
    ).fetchone()
    return same, differ, links


def _differing(connection: sqlite3.Connection, a: int, b: int, annotator: str) -> Iterator[_Differing]:
    """Yield the pairs that differ, block by block."""
    found = connection.execute(
        "SELECT pair.id, pair.source, pair.target, x.links, y.links, COALESCE(n.links, g.links)"
        " FROM links x JOIN links y ON y.run = :b AND y.pair = x.pair JOIN pair ON pair.id = x.pair"
        " LEFT JOIN annotation n ON n.annotator = :annotator AND n.pair = x.pair"
        " LEFT JOIN gold g ON g.pair = x.pair WHERE x.run = :a AND x.cells != y.cells ORDER BY x.pair",
        {"a": a, "b": b, "annotator": annotator},
    )
    while rows := found.fetchmany(_BLOCK):
        ids, sources, targets, ours, theirs, gold = zip(*rows, strict=True)
        first, second = (_distinct(numbered(*flat_links(list(enumerate(texts))))) for texts in (ours, theirs))
        alone = first[~_among(first, second)], second[~_among(second, first)]
        links = np.concatenate(alone)
        places, known = flat_links([(place, text) for place, text in enumerate(gold) if text is not None])
        cells = numbered(places, known)
        sure = _among(links, _distinct(cells[known[:, 2] > 0]))
        possible = _among(links, _distinct(cells))
        judged = np.array([text is not None for text in gold])
        cell = parted(links)
        value = np.select([~judged[cell[:, 0]], sure, possible], [_UNKNOWN, _SURE, _POSSIBLE], _WRONG)
        tokens = json.loads(f"[{','.join(sources)}]"), json.loads(f"[{','.join(targets)}]")
        run = np.repeat([0, 1], list(map(len, alone)))
        yield _Differing(list(ids), tokens, judged, cell, run, value, len(first) - len(alone[0]))


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return the values sorted, each once; as a rule they are."""
    return values if np.all(np.diff(values) > 0) else np.unique(values)


def _among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Tell which values are among others, sorted and each there once."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return known[places] == values


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
                count.update(lookup_key(token) for token in tokens if any(map(str.isalpha, token)))
    first, second = (
        [word for word, number in count.most_common(FUNCTION_WORDS) if number >= _LEAST] for count in counts
    )
    return first, second
