"""A word and what it is linked to: counts, probabilities, examples; beside them what the model's table says.

Counted are the links of a run, by the words' lookup keys (:func:`align.text.normalise.lookup_key`). With
c(s, t) the number of links between s and t,

    p(t | s) = c(s, t) / sum_t' c(s, t'),     p(s | t) = c(s, t) / sum_s' c(s', t),

the share that a translation has of the word's links, and the word of the translation's. A word that is linked
to several words at once, as *ate* to *avons mangé*, has them as one expression in ``expressions``.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from align.explorer.store import SIDES
from align.explorer.summary import ROWS, between, occurrences
from align.statistics.translations import Entry
from align.text.normalise import lookup_key

EXAMPLES = 3

# Among so many pairs, the first, those nearest to this many words are the examples: to be read at a glance.
_CANDIDATES = 200
_WORDS = 24


# From a side and a word's key to its entries in a model's own table, the likeliest first.
Table = Callable[[str, str], Sequence[Entry]]


def lexicon(
    connection: sqlite3.Connection,
    side: str,
    word: str,
    run: int,
    *,
    table: Table | None = None,
    rows: int | None = ROWS,
    examples: int = EXAMPLES,
) -> dict[str, Any]:
    """Return what a word is linked to in a run.

    Parameters
    ----------
    connection : sqlite3.Connection
        Of a :class:`align.explorer.store.Store`; one state of it throughout.
    side : {"source", "target"}
        Of the word.
    word : str
        In any case; looked up by its key.
    run : int
        The run.
    table : callable, optional
        The model's own table.
    rows : int or None
        So many translations; None: all.
    examples : int
        Pairs to quote for each, >= 0.

    Returns
    -------
    dict
        ``word`` (its key), ``side``, ``count`` (how often it stands in the pairs that the run has linked),
        ``unlinked`` (of these without a link), ``links``. ``translations``: the most frequent first,
        ``word``, ``count``, ``p_forward`` = p(target | source), ``p_reverse`` = p(source | target),
        ``model``: None or the same two of the model's table, ``examples`` (numbers of pairs), ``filter``.
        ``expressions``: what an occurrence is linked to together, ``words``, ``count``, ``share`` (of all
        occurrences), ``examples``. ``quotes``: by the number of each example pair, as text, its ``number``,
        ``source``, ``target``, and ``linked``, the links of the word in it. ``model``: the likeliest
        translations in the model's table that no link of the text has. ``filter``: pairs with the word;
        ``filters``: ``unlinked``.

    Raises
    ------
    ValueError
        If there is no such side.
    """
    if side not in SIDES:
        raise ValueError(f"side {side!r} is none of {', '.join(SIDES)}")
    key = lookup_key(word)
    counts = _counts(connection, side, key, run)
    entries = table(side, key) if table else ()
    known = {each.target if side == "source" else each.source: each for each in entries}
    total = sum(counts.values())
    ranked = sorted(counts, key=lambda other: (-counts[other], other))[:rows]
    translations = [
        _translation(connection, side, key, other, run, counts[other], total, known.get(other), examples)
        for other in ranked
    ]
    expressions = _expressions(connection, side, key, run, rows, examples)
    (alone,) = connection.execute(
        "SELECT COALESCE(SUM(words), 0) FROM unlinked WHERE run = ? AND side = ? AND word = ?",
        (run, side, key),
    ).fetchone()
    count = occurrences(connection, run, side, key)
    for row in expressions:
        row["share"] = row["count"] / count if count else None
    quoted = {pair for row in (*translations, *expressions) for pair in row["examples"]}
    unseen = [(other, each) for other, each in known.items() if other not in counts][:rows]
    return {
        "word": key,
        "side": side,
        "count": count,
        "unlinked": alone,
        "links": total,
        "translations": translations,
        "expressions": expressions,
        "quotes": {str(pair): _quote(connection, side, key, run, pair) for pair in sorted(quoted)},
        "model": [{"word": other, **_probabilities(each)} for other, each in unseen],
        "filter": {"words": f'"{key}"'},
        "filters": {"unlinked": {"unlinked_word": f"{side}:{key}"}},
    }


def _counts(connection: sqlite3.Connection, side: str, word: str, run: int) -> dict[str, int]:
    """Return how often a word is linked to each word of the other side."""
    other = _other(side)
    return dict(
        connection.execute(
            f"SELECT {other}_word, COUNT(*) FROM word_link WHERE run = ? AND {side}_word = ?"
            f" GROUP BY {other}_word",
            (run, word),
        ).fetchall()
    )


def _translation(
    connection: sqlite3.Connection,
    side: str,
    word: str,
    other: str,
    run: int,
    count: int,
    total: int,
    known: Entry | None,
    examples: int,
) -> dict[str, Any]:
    """Return one translation; ``total`` is the number of the word's links."""
    (of_other,) = connection.execute(
        f"SELECT COUNT(*) FROM word_link WHERE run = ? AND {_other(side)}_word = ?", (run, other)
    ).fetchone()
    source, target = (word, other) if side == "source" else (other, word)
    shares = count / total, count / of_other
    forward, reverse = shares if side == "source" else shares[::-1]
    return {
        "word": other,
        "count": count,
        "p_forward": forward,
        "p_reverse": reverse,
        "model": None if known is None else _probabilities(known),
        "examples": _examples(connection, run, source, target, examples),
        "filter": {"link": between(source, target)},
    }


def _examples(connection: sqlite3.Connection, run: int, source: str, target: str, examples: int) -> list[int]:
    """Return pairs with a link between two words, those that are best to read among the first."""
    found = connection.execute(
        "SELECT id FROM (SELECT DISTINCT pair FROM word_link WHERE run = ? AND source_word = ?"
        " AND target_word = ? LIMIT ?) JOIN pair ON pair.id = pair ORDER BY ABS(words - ?), id LIMIT ?",
        (run, source, target, _CANDIDATES, _WORDS, examples),
    )
    return [pair for (pair,) in found]


def _expressions(
    connection: sqlite3.Connection, side: str, word: str, run: int, rows: int | None, examples: int
) -> list[dict[str, Any]]:
    """Return what occurrences of a word are linked to together, the most frequent first."""
    other = _other(side)
    found = connection.execute(
        f"SELECT pair, {side}, {other}_word FROM word_link WHERE run = ? AND {side}_word = ?"
        f" ORDER BY pair, {side}, {other}",
        (run, word),
    )
    counts: defaultdict[str, int] = defaultdict(int)
    pairs: defaultdict[str, list[int]] = defaultdict(list)
    for (pair, _), links in groupby(found, key=lambda row: row[:2]):
        words = " ".join(row[2] for row in links)
        counts[words] += 1
        if len(pairs[words]) < examples and pairs[words][-1:] != [pair]:
            pairs[words].append(pair)
    ranked = sorted(counts, key=lambda words: (-counts[words], words))[:rows]
    return [{"words": words, "count": counts[words], "examples": pairs[words]} for words in ranked]


def _quote(connection: sqlite3.Connection, side: str, word: str, run: int, pair: int) -> dict[str, Any]:
    """Return a pair to be quoted, with the links of the word."""
    number, source, target = connection.execute(
        "SELECT number, source, target FROM pair WHERE id = ?", (pair,)
    ).fetchone()
    linked = connection.execute("SELECT links FROM links WHERE run = ? AND pair = ?", (run, pair)).fetchone()
    tokens = {"source": json.loads(source), "target": json.loads(target)}
    place = SIDES.index(side)
    return {
        "number": number,
        **tokens,
        "linked": [
            link[:2] for link in json.loads(linked[0]) if lookup_key(tokens[side][link[place]]) == word
        ],
    }


def _probabilities(known: Entry) -> dict[str, float]:
    return {"p_forward": known.forward, "p_reverse": known.reverse}


def _other(side: str) -> str:
    return SIDES[1 - SIDES.index(side)]
