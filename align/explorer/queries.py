"""Which pairs are found, and in which order: the parameters of ``/pairs`` as conditions of SQL."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from align.explorer.requests import RequestError, one_of, span, whole
from align.explorer.store import (
    BINS,
    SIDES,
    UNSPACED,
    changed_since,
    hash_of,
    links_of,
    pair_count,
    state_of,
)
from align.text.normalise import lookup_key

SHOWN = ("all", "test", "train", "gold", "corpus", "own", "annotated", "begun", "done", "todo", "judged")
ERRORS = ("any", "errors", "wrong", "missed", "unlinked")

# Orders by what is known of pairs, each with whether the largest comes first; unknown values come last in
# either, then the number decides. ``trust`` is the score, or else the confidence.
_ORDERS: dict[str, tuple[tuple[str, bool], ...]] = {
    "number": (),
    "backwards": (("id", True),),
    "worst": (("aer", True), ("faults", True), ("trust", False)),
    "best": (("aer", False), ("trust", True)),
    "unsure": (("confidence", False),),
    "confident": (("confidence", True),),
    "longest": (("words", True),),
    "shortest": (("words", False),),
    "rarest": (("rarity", False),),
    "changed": (("changed", True),),
    "random": (("random", False),),
}
ORDERS = tuple(_ORDERS)

# So many tokens of a side are in a row of the list.
_TOKENS = 60

# Rows of facts that are read at a time.
_ROWS = 4096

# Pairs that are looked at one by one where they have changed; more of them, and all are looked at anew.
_MOST_MENDED = 256

# Selections whose pairs are kept, and the pairs of all of them together, eight bytes each; runs whose facts
# are, seven times eight bytes a pair.
_MOST_SELECTIONS, _MOST_KEPT, _MOST_RUNS = 16, 1_000_000, 2

_TERM = re.compile(r'"([^"]*)"?|[^\s"]+')

# The mark of a link between two words in a parameter.
_ARROW = ">"

FILTERS = (
    *("words", "link", "show", "errors", "order", "run", "other", "differ", "unlinked_word", "fault_word"),
    *("confidence", "link_confidence", "score", "wrong_link", "missed_link", "differ_link", "ids"),
)


class Condition(NamedTuple):
    """A condition of SQL on a pair ``p``, its links ``l`` and how it is judged, ``j``; and its values.

    Whether it holds of a pair depends on no other pair.
    """

    text: str
    values: tuple[Any, ...] = ()


class Selection(NamedTuple):
    """What is looked for."""

    run: int
    conditions: tuple[Condition, ...]
    order: str
    other: int | None = None


def selection(given: Mapping[str, str], *, current: int, annotator: str, runs: frozenset[int]) -> Selection:
    """Return what parameters ask for.

    Parameters
    ----------
    given : mapping of str to str
        The parameters; those in `FILTERS` are read.
    current : int
        The run where none is named.
    annotator : str
        Whose corrections count.
    runs : frozenset of int
        The runs there are.

    Raises
    ------
    RequestError
        If a parameter does not fit.
    """
    run = _run(given, "run", runs, current)
    other = _run(given, "other", runs, -1)
    found = [
        *_shown(one_of(given.get("show"), "show", SHOWN, default="all"), annotator),
        *_with_errors(one_of(given.get("errors"), "errors", ERRORS, default="any")),
        *(condition for term in _terms(given.get("words", "")) for condition in [_with_term(*term)]),
    ]
    if "link" in given:
        found.append(_with_link(run, *_words(given["link"], "link")))
    for kind in ("wrong", "missed"):
        if f"{kind}_link" in given:
            found.append(_with_fault(run, kind, *_words(given[f"{kind}_link"], f"{kind}_link")))
    makers = {"unlinked_word": _with_unlinked, "fault_word": _with_fault_word}
    for name, make in makers.items():
        if name in given:
            side, colon, word = given[name].partition(":")
            if side not in SIDES or not colon or not word:
                raise RequestError(400, f"{name} must be source: or target: and a word")
            found.append(make(run, side, lookup_key(word)))
    found += _within(given, run)
    if "ids" in given:
        found.append(_one_of([whole(text, "ids") for text in given["ids"].split(",")]))
    differ = one_of(given.get("differ"), "differ", ("0", "1"), default="0") == "1"
    if other < 0 and (differ or "differ_link" in given):
        raise RequestError(400, "differ and differ_link need another run: give other")
    if "differ_link" in given:
        found.append(_with_one_link(run, other, *_words(given["differ_link"], "differ_link")))
    if differ:
        found.append(
            Condition("l.cells != (SELECT o.cells FROM links o WHERE o.run = ? AND o.pair = p.id)", (other,))
        )
    order = one_of(given.get("order"), "order", ORDERS, default="number")
    return Selection(run, tuple(found), order, None if other < 0 else other)


class Finder:
    """Finds pairs, and keeps what was found: then only pairs that have changed since are looked at again.

    What is kept has the state of the file that it is right for, and is used by readers that see that state or
    a later one. Threads may share it.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Selection, _Found] = OrderedDict()
        self._facts: OrderedDict[int, Facts] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, connection: sqlite3.Connection, wanted: Selection) -> np.ndarray:
        """Return the pairs that are looked for, in order; int64, shape (N,), not to be written to."""
        state = state_of(connection)
        with self._lock:
            kept = self._kept.get(wanted)
            facts = self._facts.setdefault(wanted.run, Facts(wanted.run))
            self._facts.move_to_end(wanted.run)
            if len(self._facts) > _MOST_RUNS:
                self._facts.popitem(last=False)
        changed = None
        if kept is not None:
            changed = changed_since(connection, kept.state, _depends(wanted), most=_MOST_MENDED)
        if kept is None or changed is None:
            pairs = find(connection, wanted, facts)
        elif changed:
            pairs = _mended(connection, wanted, kept.pairs, changed, facts)
        else:
            pairs = kept.pairs
        with self._lock:
            self._keep(wanted, _Found(state, pairs))
        return pairs

    def _keep(self, wanted: Selection, found: _Found) -> None:
        """Keep what was found last, unless another reader saw a later state meanwhile."""
        kept = self._kept.get(wanted)
        if kept is None or kept.state <= found.state:
            self._kept[wanted] = found
        self._kept.move_to_end(wanted)
        count = sum(len(each.pairs) for each in self._kept.values())
        while (count > _MOST_KEPT and len(self._kept) > 1) or len(self._kept) > _MOST_SELECTIONS:
            _, oldest = self._kept.popitem(last=False)
            count -= len(oldest.pairs)


class _Found(NamedTuple):
    """What was found in a state of the file."""

    state: int
    pairs: np.ndarray


def find(connection: sqlite3.Connection, wanted: Selection, facts: Facts | None = None) -> np.ndarray:
    """Return the pairs that are looked for, in order; int64, shape (N,).

    ``facts`` are what is known of pairs, where they are at hand.
    """
    found = _matching(connection, wanted)
    keys = (Facts(wanted.run) if facts is None else facts).keys(connection, wanted.order)
    return _ordered(found, keys)


def _matching(
    connection: sqlite3.Connection, wanted: Selection, among: Sequence[int] | None = None
) -> np.ndarray:
    """Return the pairs that are looked for, of all or among some, sorted by number."""
    conditions = list(wanted.conditions)
    if among is not None:
        conditions.append(_one_of(among))
    text = " AND ".join(condition.text for condition in conditions)
    tables, bound = "pair p", []
    for name, table in (("l", "links"), ("j", "judged")):
        if f"{name}." in text:
            tables += f" LEFT JOIN {table} {name} ON {name}.run = ? AND {name}.pair = p.id"
            bound.append(wanted.run)
    values = [value for condition in conditions for value in condition.values]
    rows = connection.execute(
        f"SELECT p.id FROM {tables} {f'WHERE {text}' if text else ''}", [*bound, *values]
    )
    return np.sort(np.fromiter((row[0] for row in rows), dtype=np.int64))


def _ordered(pairs: np.ndarray, keys: Sequence[np.ndarray]) -> np.ndarray:
    """Return pairs, sorted by number, in the order of keys."""
    return pairs[np.lexsort([key[pairs] for key in reversed(keys)])] if keys and len(pairs) else pairs


def _mended(
    connection: sqlite3.Connection, wanted: Selection, kept: np.ndarray, changed: Sequence[int], facts: Facts
) -> np.ndarray:
    """Return what is found, given what was found before some pairs changed."""
    keys = facts.keys(connection, wanted.order)
    left = kept[~np.isin(kept, changed)]
    there = _ordered(_matching(connection, wanted, changed), keys)

    def of_pair(pair: Any) -> tuple[Any, ...]:
        return (*(key[pair] for key in keys), pair)

    places = [bisect_left(left, of_pair(pair), key=of_pair) for pair in there]
    return np.insert(left, places, there)


class Facts:
    """What the pairs of a run can be ordered by, read when it is first asked for; NaN where it is not known.

    Parameters
    ----------
    run : int
        Whose links, and how these are judged.
    """

    def __init__(self, run: int) -> None:
        self._run = run
        self._kept: dict[tuple[str, ...], _Table] = {}

    def keys(self, connection: sqlite3.Connection, order: str) -> list[np.ndarray]:
        """Return what sorts pairs, the first key first, each of shape (N + 1,), by the number of the pair.

        Values that are not known come last, whether the largest comes first or not.
        """
        found = []
        for name, largest in _ORDERS[order]:
            values = self._of(connection, name)
            unknown = np.isnan(values)
            found += [unknown, np.where(unknown, 0.0, -values if largest else values)]
        return found

    def _of(self, connection: sqlite3.Connection, name: str) -> np.ndarray:
        """Return one fact of all pairs, float64, shape (N + 1,)."""
        if name in ("id", "random"):
            ids = np.arange(pair_count(connection) + 1)
            # 53 bits are kept, which is all that an order needs.
            return (_mixed(ids, 0) if name == "random" else ids).astype(np.float64)
        if name == "trust":
            score = self._of(connection, "score")
            return np.where(np.isnan(score), self._of(connection, "confidence"), score)
        group = next(group for group in _FACTS if name in group)
        return self._table(connection, group)[group.index(name)]

    def _table(self, connection: sqlite3.Connection, group: tuple[str, ...]) -> np.ndarray:
        """Return facts that are read together, float64, shape (facts, N + 1), of what the connection sees."""
        state, count, kept = state_of(connection), pair_count(connection), self._kept.get(group)
        changed = None
        if kept is not None:
            what = [links_of(self._run) if name == "links" else name for name in _FACTS[group].depends]
            changed = changed_since(connection, kept.state, what, most=_MOST_MENDED)
        if kept is None or changed is None:
            values = np.full((len(group), count + 1), np.nan)
            self._read(connection, group, values)
        elif changed or kept.values.shape[1] <= count:
            # A new table: other threads may be at work with the old one.
            values = np.full((len(group), count + 1), np.nan)
            values[:, : kept.values.shape[1]] = kept.values
            values[:, changed] = np.nan
            self._read(connection, group, values, changed)
        else:
            values = kept.values
        # Of two readers the one who sees less may come last: what it keeps has its own state.
        self._kept[group] = _Table(state, values)
        return values

    def _read(
        self,
        connection: sqlite3.Connection,
        group: tuple[str, ...],
        values: np.ndarray,
        among: Sequence[int] | None = None,
    ) -> None:
        """Read facts of all pairs, or of some, into a table."""
        given = _FACTS[group]
        question = given.question
        bound: list[Any] = [self._run] if given.of_run else []
        if among is not None:
            question += f" AND {given.pair} IN (SELECT value FROM json_each(?))"
            bound.append(json.dumps(among))
        rows = connection.execute(question, bound)
        while some := rows.fetchmany(_ROWS):
            found = np.array(some, dtype=np.float64)
            values[:, found[:, 0].astype(np.int64)] = found[:, 1:].T


class _Table(NamedTuple):
    """Facts in a state of the file."""

    state: int
    values: np.ndarray


class _Question(NamedTuple):
    """How facts are read together.

    Indices answer the questions by themselves: links and tokens are not read.
    """

    question: str
    pair: str  # the column of the pair's number
    depends: tuple[str, ...]  # what changes them

    @property
    def of_run(self) -> bool:
        """Whether they are a run's."""
        return "links" in self.depends


_FACTS = {
    ("confidence", "score", "changed"): _Question(
        "SELECT pair, confidence, score, changed FROM links INDEXED BY links_facts WHERE run = ?",
        "pair",
        ("links",),
    ),
    ("aer", "faults"): _Question(
        "SELECT pair, aer, wrong + missed FROM judged WHERE run = ?", "pair", ("links", "annotations")
    ),
    ("words", "rarity"): _Question(
        "SELECT id, words, rarity FROM pair INDEXED BY pair_facts WHERE TRUE", "id", ("pairs",)
    ),
}


def _depends(wanted: Selection) -> list[str]:
    """Return the kinds of changes that may change what is found."""
    text = " ".join(
        [*(each.text for each in wanted.conditions), *(name for name, _ in _ORDERS[wanted.order])]
    )
    # Texts of conditions and names of facts that depend on more than the pairs.
    judged = any(mark in text for mark in ("j.", "annotation", "fault", "aer"))
    linked = judged or any(
        mark in text for mark in ("l.", "word_link", "unlinked", "links", "confidence", "trust", "changed")
    )
    runs = {wanted.run} if wanted.other is None else {wanted.run, wanted.other}
    return ["pairs", *(links_of(run) for run in sorted(runs) if linked), *(["annotations"] if judged else [])]


def whole_pair(
    connection: sqlite3.Connection, pair: int, run: int, other: int | None
) -> dict[str, Any] | None:
    """Return a pair with its gold, its links in a run, in another one and in that it was learnt from."""
    row = connection.execute(
        "SELECT p.kind, p.number, p.part, p.source, p.target, g.links, l.links, l.score, o.links, b.links"
        " FROM pair p LEFT JOIN gold g ON g.pair = p.id"
        " LEFT JOIN links l ON l.run = ? AND l.pair = p.id"
        " LEFT JOIN links o ON o.run = ? AND o.pair = p.id"
        " LEFT JOIN links b ON b.run = (SELECT parent FROM run WHERE id = ?) AND b.pair = p.id"
        " WHERE p.id = ?",
        (run, other, run, pair),
    ).fetchone()
    if row is None:
        return None
    kind, number, part, source, target, gold, links, score, others, before = row
    lists = {"source": source, "target": target, "links": links or "[]"}
    unsure = {"gold": gold, "other": others, "before": before}
    return {
        "kind": kind,
        "number": number,
        "part": part,
        "score": score,
        **{name: json.loads(text) for name, text in lists.items()},
        **{name: None if text is None else json.loads(text) for name, text in unsure.items()},
    }


def page_of(
    connection: sqlite3.Connection, ids: np.ndarray, *, run: int, annotator: str
) -> list[dict[str, Any]]:
    """Return the rows of the list for some pairs, in their order."""
    rows = []
    for pair in ids.tolist():
        (kind, number, part, source, target, words, confidence, score, changed, aer, wrong, missed, judged,
         done) = connection.execute(
            "SELECT p.kind, p.number, p.part, p.source, p.target, p.words, l.confidence, l.score, l.changed,"
            " j.aer, j.wrong, j.missed, j.pair, a.done FROM pair p"
            " LEFT JOIN links l ON l.run = ? AND l.pair = p.id"
            " LEFT JOIN judged j ON j.run = ? AND j.pair = p.id"
            " LEFT JOIN annotation a ON a.annotator = ? AND a.pair = p.id WHERE p.id = ?",
            (run, run, annotator, pair),
        ).fetchone()  # fmt: skip
        row: dict[str, Any] = {"id": pair, "kind": kind, "number": number}
        if part:
            row["part"] = part
        row["source"], row["target"] = (json.loads(text)[:_TOKENS] for text in (source, target))
        row["words"], row["confidence"] = words, confidence
        if score is not None:
            row["score"] = score
        if judged is not None:
            row |= {"aer": aer, "wrong": wrong, "missed": missed}
        row["annotated"] = 0 if done is None else 1 + done
        if changed is not None:
            row["changed"] = changed
        rows.append(row)
    return rows


def _run(given: Mapping[str, str], name: str, runs: frozenset[int], default: int) -> int:
    if name not in given:
        return default
    run = whole(given[name], name)
    if run not in runs:
        raise RequestError(404, f"there is no run {run}")
    return run


def _one_of(pairs: Sequence[int]) -> Condition:
    return Condition("p.id IN (SELECT value FROM json_each(?))", (json.dumps(pairs),))


def _shown(name: str, annotator: str) -> list[Condition]:
    mine = "(SELECT a.pair FROM annotation a WHERE a.annotator = ?)"
    match name:
        case "all":
            return []
        case "test" | "train":
            return [Condition("p.kind = 'gold' AND p.part = ?", (name,))]
        case "annotated":
            return [Condition(f"p.id IN {mine}", (annotator,))]
        case "todo":
            return [Condition(f"p.id NOT IN {mine}", (annotator,))]
        case "begun" | "done":
            return [
                Condition(
                    "p.id IN (SELECT a.pair FROM annotation a WHERE a.annotator = ? AND a.done = ?)",
                    (annotator, int(name == "done")),
                )
            ]
        case "judged":
            return [Condition("j.pair IS NOT NULL")]
    return [Condition("p.kind = ?", (name,))]


def _with_errors(name: str) -> list[Condition]:
    text = {
        "any": "",
        "errors": "j.wrong + j.missed > 0",
        "wrong": "j.wrong > 0",
        "missed": "j.missed > 0",
        "unlinked": "l.cells = ?",
    }[name]
    return [Condition(text, (hash_of([]),) if name == "unlinked" else ())] if text else []


def _terms(text: str) -> list[tuple[str, bool]]:
    """Return words to be found, each with whether it is a whole one: those in double quotes are."""
    found = []
    for match in _TERM.finditer(text):
        quoted = match[1]
        word = match[0] if quoted is None else quoted
        if word:
            found.append((lookup_key(word), quoted is not None))
    return found


def _with_term(word: str, is_whole: bool) -> Condition:
    """Return the condition that a pair has a word, or one with that part."""
    if is_whole:
        return Condition(
            "p.id IN (SELECT o.pair FROM occurrence o WHERE o.word = (SELECT id FROM word WHERE text = ?))",
            (word,),
        )
    text = (
        "p.id IN (SELECT o.pair FROM occurrence o WHERE o.word IN (SELECT id FROM word WHERE INSTR(text, ?)))"
    )
    if not UNSPACED.search(word):
        return Condition(text, (word,))
    joined = "p.id IN (SELECT u.pair FROM unspaced u WHERE INSTR(u.source, ?) OR INSTR(u.target, ?))"
    return Condition(f"({text} OR {joined})", (word, word, word))


def _words(text: str, name: str) -> tuple[str, str]:
    """Return the two words of ``house>maison``; either may be empty: any word.

    With spaces around it, which no word has, the mark may stand in the words too: ``-> > =>``.
    """
    source, arrow, target = text.partition(f" {_ARROW} " if f" {_ARROW} " in text else _ARROW)
    if not arrow or not (source or target):
        raise RequestError(400, f"{name} must be two words with > between, as house>maison")
    return tuple(lookup_key(word) if word else "" for word in (source, target))  # type: ignore[return-value]


def _between(source: str, target: str) -> tuple[str, list[str]]:
    """Return the conditions on the words of a row, and their values."""
    given = [(f"{side}_word = ?", word) for side, word in zip(SIDES, (source, target), strict=True) if word]
    return " AND ".join(text for text, _ in given), [word for _, word in given]


def _with_link(run: int, source: str, target: str) -> Condition:
    text, words = _between(source, target)
    return Condition(f"p.id IN (SELECT w.pair FROM word_link w WHERE w.run = ? AND {text})", (run, *words))


def _with_one_link(run: int, other: int, source: str, target: str) -> Condition:
    """Return the condition that one of two runs links two words where the other does not."""
    text, words = _between(source, target)
    links = f"SELECT pair, source, target FROM word_link WHERE run = ? AND {text}"
    first, second = (run, *words), (other, *words)
    one = f"SELECT pair FROM ({links} EXCEPT {links})"
    return Condition(
        f"p.id IN ({one} UNION {one})",
        (*first, *second, *second, *first),
    )


def _with_fault(run: int, kind: str, source: str, target: str) -> Condition:
    text, words = _between(source, target)
    return Condition(
        f"p.id IN (SELECT f.pair FROM fault f WHERE f.run = ? AND f.kind = ? AND {text})", (run, kind, *words)
    )


def _with_unlinked(run: int, side: str, word: str) -> Condition:
    return Condition(
        "p.id IN (SELECT u.pair FROM unlinked u WHERE u.run = ? AND u.side = ? AND u.word = ?)",
        (run, side, word),
    )


def _with_fault_word(run: int, side: str, word: str) -> Condition:
    return Condition(
        f"p.id IN (SELECT f.pair FROM fault f WHERE f.run = ? AND f.{side}_word = ?)", (run, word)
    )


def _within(given: Mapping[str, str], run: int) -> list[Condition]:
    """Return the conditions on confidence and score."""
    found = []
    for name, column in (("confidence", "l.confidence"), ("score", "l.score")):
        if name in given:
            low, high = span(given[name].replace(":", "-"), name)
            # The last of the intervals of [0, 1] has its upper end.
            found.append(Condition(f"{column} >= ? AND {column} < ?", (low, high if high < 1 else 2)))
    if "link_confidence" in given:
        low, high = span(given["link_confidence"].replace(":", "-"), "link_confidence")
        mask, exact = _mask(low, high)
        text = "(l.bins & ?)"
        values: tuple[Any, ...] = (mask,)
        if not exact:
            text += (
                " AND EXISTS (SELECT 1 FROM links x, json_each(x.links) e WHERE x.run = ? AND x.pair = p.id"
                " AND json_extract(e.value, '$[2]') >= ? AND json_extract(e.value, '$[2]') < ?)"
            )
            values = (mask, run, low, high if high < 1 else 2)
        found.append(Condition(text, values))
    return found


def _mask(low: float, high: float) -> tuple[int, bool]:
    """Return the bins that an interval has a part of, and whether it is made of whole ones."""
    first, last = low * BINS, high * BINS
    exact = abs(first - round(first)) < 1e-9 and abs(last - round(last)) < 1e-9
    bins = range(BINS)
    if exact:
        chosen = [each for each in bins if round(first) <= each < round(last)]
    else:
        chosen = [each for each in bins if each + 1 > first and each <= last]
    return sum(1 << each for each in chosen), exact


def _mixed(ids: np.ndarray, seed: int) -> np.ndarray:
    """Return numbers that look random, one for each id, the same for the same id and seed; uint64.

    The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
    """
    with np.errstate(over="ignore"):
        mixed = (ids.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
