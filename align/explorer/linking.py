"""Links of all pairs, made in the background, a block at a time; a pair that is looked at comes at once."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from align.core.errors import LiaisonError
from align.explorer.store import NewLinks, Store
from align.model.aligner import Aligner
from align.text.processor import Tokens

# Pairs that are linked and kept together: those who correct wait for no more.
_BLOCK = 128

# Seconds until a run is tried again that could not be linked.
_PAUSE = 30.0

_NO_TOKENS = Tokens([], [], [], [])

T = TypeVar("T")

Row = tuple[int, list[str], list[str]]


class Linker:
    """Links what has no links yet, of each run that a model makes; the current run first.

    Parameters
    ----------
    store : Store
    on_fault : callable, optional
        Called with the traceback of a fault.
    """

    def __init__(self, store: Store, *, on_fault: Callable[[str], None] | None = None) -> None:
        self.store = store
        self._troubles: dict[int, str] = {}  # why runs cannot be linked
        self._resting: dict[int, float] = {}  # until when they are left alone
        self._on_fault = on_fault
        self._aligners: dict[int, Aligner] = {}
        self._cursors: dict[int, int] = {}
        self._current = 0
        self._reading = False
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="linking", daemon=True)

    @property
    def trouble(self) -> str:
        """Why a run cannot be linked further at present; empty where all can."""
        return next(iter(self._troubles.copy().values()), "")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End after the block that is at work."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def add(self, run: int, aligner: Aligner) -> None:
        """Link the pairs by one more model."""
        with self._changed:
            self._aligners[run], self._cursors[run] = aligner, 0
            self._changed.notify_all()

    def aligner(self, run: int) -> Aligner | None:
        """Return the model of a run, None where it is a file of links."""
        return self._aligners.get(run)

    def prefer(self, run: int) -> None:
        """Link by this run first."""
        with self._changed:
            self._current = run
            self._changed.notify_all()

    def wake(self, *, reading: bool = False) -> None:
        """Say that there are more pairs; ``reading``: and that more of them come."""
        with self._changed:
            self._reading = reading
            self._changed.notify_all()

    def link_now(self, run: int, pair: int) -> None:
        """Link a pair that has no links of a run yet, by a model with statistics of its own."""
        aligner = self._aligners.get(run)
        if aligner is None or aligner.untrained:
            return
        with self.store.reading() as connection:
            rows = list(_rows(connection, run, pair - 1, 1))
        if rows and rows[0][0] == pair:
            self.store.put_links(run, linked(aligner, rows))

    def wait(self) -> None:
        """Return when all there is is linked, or cannot be at present: for those who have no use for less."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._next() is None)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._ended and (run := self._next()) is None:
                    self._changed.notify_all()
                    self._changed.wait(_PAUSE if self._resting else None)
                if self._ended:
                    return
            assert run is not None
            try:
                self._link_some(run)
                self._troubles.pop(run, None)
                self._resting.pop(run, None)
            except Exception as error:
                # The disk may have room again in a moment; a pair that is looked at is linked all the same.
                fault = f"{type(error).__name__}: {error}"
                if fault not in self._troubles.get(run, "") and self._on_fault is not None:
                    self._on_fault(traceback.format_exc())
                self._troubles[run] = (
                    f"{self._name(run)}: not all pairs could be linked ({fault}); it is tried again every "
                    f"{_PAUSE:.0f} seconds: free space where a disk is full, else start the server again"
                )
                # Last: those who wait go on then.
                self._resting[run] = time.monotonic() + _PAUSE

    def _name(self, run: int) -> str:
        """Return what a run is called, also where the store cannot tell."""
        try:
            with self.store.reading() as connection:
                (name,) = connection.execute("SELECT name FROM run WHERE id = ?", (run,)).fetchone()
        except sqlite3.Error:
            return f"run {run}"
        return str(name)

    def _next(self) -> int | None:
        """Return the run to link by, None where all is linked."""
        with self.store.reading() as connection:
            (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM pair").fetchone()
        for run in sorted(self._aligners, key=lambda run: (run != self._current, run)):
            if self._resting.get(run, 0.0) > time.monotonic():
                continue
            # Weights without statistics take those of the whole text.
            if self._cursors[run] < last and not (self._reading and self._aligners[run].untrained):
                return run
        return None

    def _link_some(self, run: int) -> None:
        aligner, cursor = self._aligners[run], self._cursors[run]
        if aligner.untrained:
            self._cursors[run] = self._link_text(run, aligner, cursor)
            return
        with self.store.reading() as connection:
            rows = list(_rows(connection, run, cursor, _BLOCK))
            (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM pair").fetchone()
        if rows:
            self.store.put_links(run, linked(aligner, rows))
        self._cursors[run] = rows[-1][0] if rows else last

    def _link_text(self, run: int, aligner: Aligner, cursor: int) -> int:
        """Link all pairs from ``cursor`` on with statistics of these very pairs; return the last of them."""

        def rows() -> Iterator[Row]:
            after = cursor
            while True:
                with self.store.reading() as connection:
                    some = list(_rows(connection, -1, after, _BLOCK))
                if not some:
                    return
                yield from some
                after = some[-1][0]

        own = aligner.of_text(_tokens(aligner, row) for row in rows())
        place, last = 0, cursor
        for some in batched(rows(), _BLOCK):
            if self._ended:
                break
            self.store.put_links(run, linked(own, some, place=place))
            place, last = place + len(some), some[-1][0]
        return last


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the rows, so many at a time, the last time fewer."""
    left = iter(rows)
    while some := list(islice(left, size)):
        yield some


def linked(aligner: Aligner, rows: Sequence[Row], *, place: int | None = None) -> list[NewLinks]:
    """Return the links of some pairs of tokens; none of those that cannot be aligned.

    ``place`` is that of the first in the text that the aligner was made of.
    """
    found = aligner.align_tokens([_tokens(aligner, row) for row in rows], place=place)
    scores = found.sentence_scores().tolist()
    made = []
    for number, (pair, source, target) in enumerate(rows):
        here = slice(int(found.offsets[number]), int(found.offsets[number + 1]))
        links = zip(
            *(column[here].tolist() for column in (found.source, found.target, found.confidence)), strict=True
        )
        made.append(NewLinks(pair, source, target, list(links), scores[number]))
    return made


def _tokens(aligner: Aligner, row: Row) -> tuple[Tokens, Tokens]:
    """Return the tokens of a pair; none of one with an empty side, or too long to be aligned."""
    _, source, target = row
    if not (source and target):
        return _NO_TOKENS, _NO_TOKENS
    tokens = aligner.tokens(source, target)
    try:
        aligner.check(tokens)
    except LiaisonError:
        return _NO_TOKENS, _NO_TOKENS
    return tokens


def _rows(connection: sqlite3.Connection, run: int, after: int, count: int) -> Iterator[Row]:
    """Yield the next pairs that a run has not linked."""
    rows = connection.execute(
        "SELECT p.id, p.source, p.target FROM pair p WHERE p.id > ?"
        " AND NOT EXISTS (SELECT 1 FROM links l WHERE l.run = ? AND l.pair = p.id) ORDER BY p.id LIMIT ?",
        (after, run, count),
    )
    for pair, source, target in rows:
        yield pair, json.loads(source), json.loads(target)
