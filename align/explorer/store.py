"""The desk's pairs, links and corrections in one SQLite file: paged from disk, memory that does not grow.

The file is a temporary one and goes at the end; what has to last, the corrections, stands in the journal of
:mod:`align.explorer.annotations`. Words are kept under :func:`~align.text.normalise.lookup_key`. Links are
JSON: ``[[source, target, confidence], ...]`` of a run, ``[[source, target, 1 sure or 0 possible], ...]`` of
annotators. Readers have connections of their own and never wait for a writer; writers come one at a time.

Every change leaves a row for each pair that it touched. The number of the last one is the state of the file,
as a reader sees it: what was calculated of an earlier state is mended for the pairs that changed since.
"""

from __future__ import annotations

import hashlib
import json
import math
import queue
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from align.evaluation.metrics import COLUMNS, figures, statistics
from align.links import Link
from align.text.normalise import lookup_key

SIDES = ("source", "target")

# Scripts written without spaces: there a search may run over the ends of tokens. Blocks of Thai, Lao,
# Myanmar, Khmer, kana and the Han characters.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)

SCHEMA = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,  -- 'model' | 'links'
    parent INTEGER,                                                  -- the run it was learnt from
    linked INTEGER NOT NULL DEFAULT 0                                -- rows of links
);
CREATE TABLE change (
    id INTEGER PRIMARY KEY, what TEXT NOT NULL,                      -- 'pairs', 'annotations' or links_of
    pair INTEGER                                                     -- NULL: any pair
);
CREATE TABLE pair (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL,                      -- 1 to N; 'corpus' | 'gold' | 'own'
    number INTEGER NOT NULL, part TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL, target TEXT NOT NULL,                      -- surface tokens
    words INTEGER NOT NULL,                                          -- of both sides
    digest INTEGER NOT NULL,                                         -- of the tokens of both sides
    rarity REAL                                                      -- mean log count of its words
);
CREATE INDEX pair_facts ON pair (id, kind, part, number, words, rarity);
CREATE INDEX pair_digests ON pair (digest, number);
CREATE TABLE gold (pair INTEGER PRIMARY KEY, links TEXT NOT NULL);
CREATE TABLE annotation (
    annotator TEXT NOT NULL, pair INTEGER NOT NULL, links TEXT NOT NULL, done INTEGER NOT NULL,
    PRIMARY KEY (annotator, pair)
);
CREATE TABLE links (
    run INTEGER NOT NULL, pair INTEGER NOT NULL, links TEXT NOT NULL,
    confidence REAL,                                                 -- mean over the links, NULL without any
    score REAL,                                                      -- of the pair
    cells INTEGER NOT NULL,                                          -- a hash of the set of links
    changed INTEGER,                                                 -- links other than in the parent run
    bins INTEGER NOT NULL,                                           -- see bins_of
    PRIMARY KEY (run, pair)
);
CREATE INDEX links_facts ON links (run, pair, confidence, score, cells, changed, bins);
CREATE TABLE judged (
    run INTEGER NOT NULL, pair INTEGER NOT NULL, wrong INTEGER NOT NULL, missed INTEGER NOT NULL, aer REAL,
    links INTEGER NOT NULL, sure INTEGER NOT NULL, sure_matched INTEGER NOT NULL,
    possible_matched INTEGER NOT NULL, possible INTEGER NOT NULL,
    PRIMARY KEY (run, pair)
) WITHOUT ROWID;
CREATE TABLE fault (
    run INTEGER NOT NULL, kind TEXT NOT NULL,                        -- 'wrong' | 'missed'
    source_word TEXT NOT NULL, target_word TEXT NOT NULL, pair INTEGER NOT NULL,
    source INTEGER NOT NULL, target INTEGER NOT NULL,
    PRIMARY KEY (run, kind, source_word, target_word, pair, source, target)
) WITHOUT ROWID;
CREATE INDEX fault_pairs ON fault (run, pair);
CREATE TABLE word_link (
    run INTEGER NOT NULL, source_word TEXT NOT NULL, target_word TEXT NOT NULL, pair INTEGER NOT NULL,
    source INTEGER NOT NULL, target INTEGER NOT NULL,                -- tokens: a row is one link
    PRIMARY KEY (run, source_word, target_word, pair, source, target)
) WITHOUT ROWID;
CREATE INDEX word_link_targets ON word_link (run, target_word, source_word);
CREATE TABLE unlinked (
    run INTEGER NOT NULL, side TEXT NOT NULL, word TEXT NOT NULL, pair INTEGER NOT NULL,
    words INTEGER NOT NULL,                                          -- how often without a link in the pair
    PRIMARY KEY (run, side, word, pair)
) WITHOUT ROWID;
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE occurrence (
    word INTEGER NOT NULL, side TEXT NOT NULL, pair INTEGER NOT NULL, words INTEGER NOT NULL,
    PRIMARY KEY (word, side, pair)
) WITHOUT ROWID;
CREATE TABLE unspaced (pair INTEGER PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL);
"""

# Kibibytes of pages that a connection keeps.
_READER_CACHE, _WRITER_CACHE = 512, 4096

_READERS = 8

# Changes that are remembered: so many pairs or more are looked at anew all together.
_REMEMBERED = 4096

# Intervals of confidence, of equal width over [0, 1].
BINS = 20

Cells = Sequence[Sequence[Any]]


class NewPair(NamedTuple):
    """A sentence pair to be kept."""

    kind: str  # 'corpus' | 'gold' | 'own'
    number: int  # 1-based line of its file, or in the order of pasting
    source: Sequence[str]  # surface tokens
    target: Sequence[str]
    gold: Cells | None = None  # [source, target, 1 sure or 0 possible] each
    part: str = ""  # "train" or "test"


class NewLinks(NamedTuple):
    """The links of a run in one pair, with its tokens."""

    pair: int
    source: Sequence[str]
    target: Sequence[str]
    links: Cells  # [source, target, confidence in [0, 1] or None] each, sorted
    score: float | None = None


class Store:
    """The file, its connections, and who the current annotator is.

    Parameters
    ----------
    path : Path
        A new file.
    annotator : str
        Whose corrections pairs are judged against; pairs without any against the gold they came with.
    """

    def __init__(self, path: Path, *, annotator: str = "annotator") -> None:
        self.path = path
        self.annotator = annotator
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._places = threading.BoundedSemaphore(_READERS)
        self._lock = threading.RLock()
        self._writer = _connect(path, _WRITER_CACHE)
        self._writer.execute("PRAGMA journal_mode = WAL")
        self._writer.executescript(SCHEMA)

    def close(self) -> None:
        """Close all connections; the file is the caller's to remove."""
        with self._lock:
            self._writer.close()
            while not self._idle.empty():
                self._idle.get_nowait().close()

    def interrupt(self) -> None:
        """Let what is being written fail: nobody waits for it any more."""
        self._writer.interrupt()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one state of the file throughout, whatever is written meanwhile."""
        with self._places:
            try:
                connection = self._idle.get_nowait()
            except queue.Empty:
                connection = _connect(self.path, _READER_CACHE)
                connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")
                self._idle.put(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection that writes; all that is done is kept together, or nothing where it fails."""
        with self._lock:
            if self._writer.in_transaction:
                yield self._writer
                return
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # a full disk has ended it already
                    self._writer.execute("ROLLBACK")
                raise

    def add_run(self, name: str, kind: str, *, parent: int | None = None) -> int:
        """Return the number of a new run, of a model or a file of links; the first is 0."""
        with self.writing() as connection:
            (number,) = connection.execute("SELECT COALESCE(MAX(id) + 1, 0) FROM run").fetchone()
            connection.execute(
                "INSERT INTO run (id, name, kind, parent) VALUES (?, ?, ?, ?)", (number, name, kind, parent)
            )
        return int(number)

    def add_pairs(self, pairs: Sequence[NewPair]) -> list[int]:
        """Keep pairs, with their words; return their numbers in this file, from 1 on."""
        with self.writing() as connection:
            last = pair_count(connection)
            ids = list(range(last + 1, last + 1 + len(pairs)))
            _note(connection, "pairs", ids)
            connection.executemany(
                "INSERT INTO pair (id, kind, number, part, source, target, words, digest)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        *(number, pair.kind, pair.number, pair.part),
                        *(_json(pair.source), _json(pair.target), len(pair.source) + len(pair.target)),
                        digest_of(pair.source, pair.target),
                    )
                    for number, pair in zip(ids, pairs, strict=True)
                ),
            )
            connection.executemany(
                "INSERT INTO gold VALUES (?, ?)",
                (
                    (number, _json(pair.gold))
                    for number, pair in zip(ids, pairs, strict=True)
                    if pair.gold is not None
                ),
            )
            _add_words(connection, ids, pairs)
        return ids

    def count_words(self) -> None:
        """Tell of each pair how rare its words are: the mean logarithm of their counts."""
        with self.writing() as connection:
            _note(connection, "pairs", [None])
            connection.execute(
                "UPDATE pair SET rarity = found.rarity FROM ("
                " SELECT o.pair AS pair, SUM(o.words * c.log) / SUM(o.words) AS rarity FROM occurrence o JOIN"
                " (SELECT word, side, LN(SUM(words)) AS log FROM occurrence GROUP BY word, side) c"
                " ON c.word = o.word AND c.side = o.side GROUP BY o.pair) AS found WHERE found.pair = pair.id"
            )

    def put_links(self, run: int, rows: Sequence[NewLinks]) -> None:
        """Keep the links of a run in some pairs, in place of earlier ones, and judge them."""
        with self.writing() as connection:
            _note(connection, links_of(run), [row.pair for row in rows])
            forgotten = _forget_links(connection, run, [row.pair for row in rows])
            connection.execute(
                "UPDATE run SET linked = linked + ? WHERE id = ?", (len(rows) - forgotten, run)
            )
            (parent,) = connection.execute("SELECT parent FROM run WHERE id = ?", (run,)).fetchone()
            before = {} if parent is None else _links_of(connection, parent, [row.pair for row in rows])
            connection.executemany(
                "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        *(run, row.pair, _json([_rounded(link) for link in row.links])),
                        *(_mean(row.links), _number(row.score), hash_of(row.links)),
                        *(_changed(before.get(row.pair), row.links), bins_of(row.links)),
                    )
                    for row in rows
                ),
            )
            words = [_keys(row) for row in rows]
            connection.executemany(
                "INSERT OR IGNORE INTO word_link VALUES (?, ?, ?, ?, ?, ?)",
                sorted(_word_links(run, rows, words)),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO unlinked VALUES (?, ?, ?, ?, ?)", sorted(_unlinked(run, rows, words))
            )
            self.judge([row.pair for row in rows], runs=[run])

    def set_annotation(self, annotator: str, pair: int, links: Cells | None, *, done: bool = False) -> None:
        """Keep what an annotator says of a pair; None: nothing (any more)."""
        with self.writing() as connection:
            _note(connection, "annotations", [pair])
            if links is None:
                connection.execute(
                    "DELETE FROM annotation WHERE annotator = ? AND pair = ?", (annotator, pair)
                )
            else:
                connection.execute(
                    "INSERT OR REPLACE INTO annotation VALUES (?, ?, ?, ?)",
                    (annotator, pair, _json(links), int(done)),
                )
            if annotator == self.annotator:
                self.judge([pair])

    def set_annotator(self, annotator: str) -> None:
        """Make another annotator the current one; the pairs that either has corrected are judged anew."""
        with self.writing() as connection:
            rows = connection.execute(
                "SELECT DISTINCT pair FROM annotation WHERE annotator IN (?, ?)", (annotator, self.annotator)
            )
            _note(connection, "annotations", [None])
            self.annotator = annotator
            self.judge([pair for (pair,) in rows.fetchall()])

    def judge(self, pairs: Sequence[int], *, runs: Sequence[int] | None = None) -> None:
        """Count what is wrong and missed in pairs, of all runs or some, against what annotators say."""
        with self.writing() as connection:
            if runs is None:
                runs = [number for (number,) in connection.execute("SELECT id FROM run")]
            truths = {pair: truth_of(connection, pair, self.annotator) for pair in pairs}
            for run in runs:
                for pair in pairs:
                    connection.execute("DELETE FROM judged WHERE run = ? AND pair = ?", (run, pair))
                    connection.execute("DELETE FROM fault WHERE run = ? AND pair = ?", (run, pair))
                known = [pair for pair in pairs if truths[pair] is not None]
                _judge(connection, run, _links_of(connection, run, known), truths)


def pair_count(connection: sqlite3.Connection) -> int:
    """Return how many pairs there are, which is the number of the last one: none ever goes."""
    return int(connection.execute("SELECT COALESCE(MAX(id), 0) FROM pair").fetchone()[0])


def links_of(run: int) -> str:
    """Return the kind of change that is one of the links of a run."""
    return f"links {run}"


def state_of(connection: sqlite3.Connection) -> int:
    """Return a number that grows with every change, as of what the connection sees."""
    return int(connection.execute("SELECT COALESCE(MAX(id), 0) FROM change").fetchone()[0])


def changed_since(
    connection: sqlite3.Connection, state: int, what: Iterable[str], *, most: int
) -> list[int] | None:
    """Return the pairs that have changed since a state, sorted; None where these are not known one by one.

    Parameters
    ----------
    connection : sqlite3.Connection
        In a transaction: what is returned leads from ``state`` to what it sees.
    state : int
        As of :func:`state_of`.
    what : iterable of str
        Kinds of changes: ``pairs``, ``annotations``, :func:`links_of` runs.
    most : int
        Where more pairs than these have changed they are not returned either.
    """
    first, last = connection.execute(
        "SELECT COALESCE(MIN(id), 1), COALESCE(MAX(id), 0) FROM change"
    ).fetchone()
    if not first - 1 <= state <= last:
        return None
    rows = connection.execute(
        "SELECT DISTINCT pair FROM change WHERE id > ? AND what IN (SELECT value FROM json_each(?)) LIMIT ?",
        (state, json.dumps(list(what)), most + 1),
    )
    found = [pair for (pair,) in rows]
    return None if len(found) > most or None in found else sorted(found)


def _note(connection: sqlite3.Connection, what: str, pairs: Sequence[int | None]) -> None:
    """Write down of which pairs something is about to change; None stands for any."""
    connection.executemany(
        "INSERT INTO change (what, pair) VALUES (?, ?)",
        ((what, pair) for pair in (pairs if len(pairs) <= _REMEMBERED else [None])),
    )
    connection.execute("DELETE FROM change WHERE id <= (SELECT MAX(id) FROM change) - ?", (_REMEMBERED,))


def truth_of(connection: sqlite3.Connection, pair: int, annotator: str) -> list[list[int]] | None:
    """Return the links that a pair is judged by: the annotator's, else those it came with, else None."""
    row = connection.execute(
        "SELECT links FROM annotation WHERE annotator = ? AND pair = ?"
        " UNION ALL SELECT links FROM gold WHERE pair = ? LIMIT 1",
        (annotator, pair, pair),
    ).fetchone()
    return None if row is None else json.loads(row[0])


def tokens_of(connection: sqlite3.Connection, pair: int) -> tuple[list[str], list[str]] | None:
    """Return the tokens of both sides of a pair, None where there is no such pair."""
    row = connection.execute("SELECT source, target FROM pair WHERE id = ?", (pair,)).fetchone()
    return None if row is None else (json.loads(row[0]), json.loads(row[1]))


def hash_of(links: Cells) -> int:
    """Return a number, int64, that is the same for the same set of links, whatever their confidences."""
    cells = sorted({(each[0], each[1]) for each in links})
    return _number_of(" ".join(f"{source}-{target}" for source, target in cells))


def digest_of(source: Sequence[str], target: Sequence[str]) -> int:
    """Return a number, int64, by which a pair of these tokens is found again."""
    return _number_of(_json([list(source), list(target)]))


def bins_of(links: Cells) -> int:
    """Return in which intervals of confidence there are links: bit k stands for [k, k + 1) / BINS."""
    found = 0
    for link in links:
        if link[2] is not None:
            found |= 1 << min(int(round(link[2], 4) * BINS + 1e-9), BINS - 1)
    return found


def _number_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def _connect(path: Path, cache: int) -> sqlite3.Connection:
    """Return a connection in which transactions are begun and ended by hand."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=60)
    # The file is a temporary one: nothing of it is missed after a fault of the machine.
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"PRAGMA cache_size = -{cache}")
    connection.create_function("LN", 1, math.log, deterministic=True)
    return connection


def _add_words(connection: sqlite3.Connection, ids: Sequence[int], pairs: Sequence[NewPair]) -> None:
    """Keep which words stand in which pairs, and the text of pairs that a search may run through."""
    rows: list[tuple[str, str, int, int]] = []
    joined = []
    for number, pair in zip(ids, pairs, strict=True):
        texts = []
        for side, tokens in zip(SIDES, (pair.source, pair.target), strict=True):
            keys = [lookup_key(token) for token in tokens]
            rows += ((key, side, number, count) for key, count in Counter(keys).items())
            texts.append("".join(keys))
        if any(map(UNSPACED.search, texts)):
            joined.append((number, *texts))
    words = sorted({word for word, *_ in rows})
    connection.executemany("INSERT OR IGNORE INTO word (text) VALUES (?)", ((word,) for word in words))
    known = {}
    for word in words:
        (known[word],) = connection.execute("SELECT id FROM word WHERE text = ?", (word,)).fetchone()
    connection.executemany(
        "INSERT INTO occurrence VALUES (?, ?, ?, ?)",
        # In the order in which they stand there: ten times as fast.
        sorted((known[word], *rest) for word, *rest in rows),
    )
    connection.executemany("INSERT INTO unspaced VALUES (?, ?, ?)", joined)


def _keys(row: NewLinks) -> tuple[list[str], list[str]]:
    return [lookup_key(token) for token in row.source], [lookup_key(token) for token in row.target]


def _word_links(
    run: int, rows: Sequence[NewLinks], words: Sequence[tuple[list[str], list[str]]]
) -> Iterator[tuple[int, str, str, int, int, int]]:
    for row, (source, target) in zip(rows, words, strict=True):
        for link in row.links:
            yield run, source[link[0]], target[link[1]], row.pair, link[0], link[1]


def _unlinked(
    run: int, rows: Sequence[NewLinks], words: Sequence[tuple[list[str], list[str]]]
) -> Iterator[tuple[int, str, str, int, int]]:
    for row, sides in zip(rows, words, strict=True):
        for place, (side, keys) in enumerate(zip(SIDES, sides, strict=True)):
            linked = {link[place] for link in row.links}
            alone = Counter(key for token, key in enumerate(keys) if token not in linked)
            for word, count in alone.items():
                yield run, side, word, row.pair, count


def _forget_links(connection: sqlite3.Connection, run: int, pairs: Sequence[int]) -> int:
    """Take out what a run has of some pairs; return how many of them it had linked."""
    before = _links_of(connection, run, pairs)
    for pair, links in before.items():
        tokens = tokens_of(connection, pair)
        assert tokens is not None
        old = NewLinks(pair, *tokens, links)
        words = [_keys(old)]
        connection.executemany(
            "DELETE FROM word_link WHERE run = ? AND source_word = ? AND target_word = ? AND pair = ?"
            " AND source = ? AND target = ?",
            list(_word_links(run, [old], words)),
        )
        connection.executemany(
            "DELETE FROM unlinked WHERE run = ? AND side = ? AND word = ? AND pair = ?",
            [row[:4] for row in _unlinked(run, [old], words)],
        )
        connection.execute("DELETE FROM links WHERE run = ? AND pair = ?", (run, pair))
    return len(before)


def _links_of(connection: sqlite3.Connection, run: int, pairs: Iterable[int]) -> dict[int, list[list[Any]]]:
    """Return the links that a run has of pairs, those that it has linked."""
    found = {}
    for pair in pairs:
        row = connection.execute("SELECT links FROM links WHERE run = ? AND pair = ?", (run, pair)).fetchone()
        if row is not None:
            found[pair] = json.loads(row[0])
    return found


def _judge(
    connection: sqlite3.Connection,
    run: int,
    links: dict[int, list[list[Any]]],
    truths: dict[int, list[list[int]] | None],
) -> None:
    guessed = [[Link(link[0], link[1]) for link in row] for row in links.values()]
    known = [[Link(s, t, bool(sure)) for s, t, sure in truths[pair] or []] for pair in links]
    counts = statistics(guessed, known)
    rows = zip(links, counts.tolist(), figures(counts)[:, 0].tolist(), strict=True)
    place = {name: COLUMNS.index(name) for name in ("links", "sure", "sure_matched", "possible_matched")}
    connection.executemany(
        f"INSERT INTO judged (run, pair, wrong, missed, aer, {', '.join(COLUMNS)})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                *(run, pair, row[place["links"]] - row[place["possible_matched"]]),
                *(row[place["sure"]] - row[place["sure_matched"]], _number(aer), *row),
            )
            for pair, row, aer in rows
        ),
    )
    faults = []
    for pair, ours, theirs in zip(links, guessed, known, strict=True):
        cells, allowed = {link[:2] for link in ours}, {link[:2] for link in theirs}
        sure = {link[:2] for link in theirs if link.sure}
        faulty = [("wrong", cell) for cell in cells - allowed] + [("missed", cell) for cell in sure - cells]
        if not faulty:
            continue
        tokens = tokens_of(connection, pair)
        assert tokens is not None
        for kind, (source, target) in faulty:
            words = lookup_key(tokens[0][source]), lookup_key(tokens[1][target])
            faults.append((run, kind, *words, pair, source, target))
    connection.executemany("INSERT INTO fault VALUES (?, ?, ?, ?, ?, ?, ?)", sorted(faults))


def _changed(before: Cells | None, links: Cells) -> int | None:
    """Return how many links came or went, None where nothing was there before."""
    if before is None:
        return None
    return len({(each[0], each[1]) for each in before} ^ {(each[0], each[1]) for each in links})


def _rounded(link: Sequence[Any]) -> list[Any]:
    return [int(link[0]), int(link[1]), None if link[2] is None else _number(link[2])]


def _mean(links: Cells) -> float | None:
    known = [link[2] for link in links if link[2] is not None]
    return _number(math.fsum(known) / len(known)) if known else None


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 4) + 0.0


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
