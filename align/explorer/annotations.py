"""What an annotator says of pairs: a journal that loses nothing, and gold files made of it.

In a folder, of an annotator NAME:

- ``NAME.journal.jsonl``: a line a change, on the disk before anybody is told that it is kept;
- ``NAME.jsonl``: the pairs with their links, in the project's own format;
- ``NAME.align``, ``NAME.source``, ``NAME.target``: the same as Pharaoh, with the tokens line by line;
- ``NAME.lock``: held while a server writes there.

The journal is the truth: it is read at the start, a last line that was cut off by a kill is dropped, and the
other files are written anew, each aside and renamed when it is whole. Pairs are known by their tokens and
their number, pairs that were pasted by their tokens: other models, or a file with more lines, change nothing.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from align.core.errors import InputError, WorkError
from align.core.files import WRITE_FAULTS, new_output, text_file
from align.explorer.store import digest_of
from align.links import AlignedPair, Link, write

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,39}")

_JOURNAL, _LOCK = ".journal.jsonl", ".lock"

# Seconds between two writings of the gold files.
_PAUSE = 1.0

# Changes that can be undone.
_MOST_UNDONE = 10_000

_ENTRIES = ("edit", "undo", "redo")

# What other programs may take for the end of a token or a line: spaces, tabs, what Python's splitlines does.
_PARTING = re.compile("[\t-\r\x1c-\x1e \x85\u2028\u2029]")

Key = tuple[int, int]


class State(NamedTuple):
    """What is said of a pair; links None: nothing."""

    links: list[list[int]] | None = None  # [source, target, 1 sure or 0 possible] each, sorted
    done: bool = False


NOTHING = State()


@dataclass(frozen=True)
class Subject:
    """A pair that something is said of."""

    kind: str
    number: int
    source: Sequence[str]
    target: Sequence[str]

    @property
    def key(self) -> Key:
        """What it is known by: its tokens, and its number unless it was pasted."""
        return digest_of(self.source, self.target), 0 if self.kind == "own" else self.number


class Change(NamedTuple):
    """One change, which can be undone."""

    key: Key
    before: State
    after: State


Also = Callable[[Key, State], None]


def _nothing_more(key: Key, state: State) -> None:
    """Do nothing more with a change than to keep it."""


class Annotations:
    """The corrections of one annotator.

    Parameters
    ----------
    folder : Path or None
        Where they are kept, made where missing; None: in memory only.
    name : str
        Of the annotator: letters, digits, ``-`` and ``_``, at most 40.
    on_note : callable
        Called with a line of text for what was dropped, and for gold files that are old in the end.

    Raises
    ------
    InputError
        If the name is none, the folder cannot be used, another server writes there, or the journal is damaged
        before its last line.
    """

    def __init__(
        self, folder: Path | None, name: str, *, on_note: Callable[[str], None] = lambda note: None
    ) -> None:
        check_name(name)
        self.name = name
        self.trouble = ""  # why the gold files could not be written
        self._folder = folder
        self._on_note = on_note
        self._subjects: dict[Key, Subject] = {}
        self._states: dict[Key, State] = {}
        self._undo: list[Change] = []
        self._redo: list[Change] = []
        self._lock = threading.RLock()
        self._ended = False
        self._held: int | None = None
        self._journal: int | None = None
        self._saver: _Saver | None = None
        if folder is None:
            return
        with _usable(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._held = _hold(folder / f"{name}{_LOCK}", name)
        try:
            journal = folder / f"{name}{_JOURNAL}"
            size = self._replay(journal, on_note)
            with _usable(folder):
                self._journal = os.open(journal, os.O_RDWR | os.O_CREAT, 0o666)
                if os.fstat(self._journal).st_size < size:
                    os.lseek(self._journal, 0, os.SEEK_END)
                    os.write(self._journal, b"\n")  # only the end of the last line was missing
                os.ftruncate(self._journal, size)
        except BaseException:
            os.close(self._held)
            raise
        self._saver = _Saver(self._write_gold)
        # Also where all was taken back: a kill may have left files that still have it.
        if self._subjects:
            self._saver.ask()

    @property
    def undo_count(self) -> int:
        """How many changes can be undone."""
        return len(self._undo)

    @property
    def redo_count(self) -> int:
        """How many changes that were undone can be made again."""
        return len(self._redo)

    @property
    def said(self) -> bool:
        """Whether anything is or was said, of any pair."""
        return bool(self._subjects)

    def close(self) -> None:
        """Write the gold files if they are not up to date, and let others write there.

        A change that is being written comes to its end; later ones are refused. Where nothing was ever said
        no file of the name is left.
        """
        with self._lock:
            self._ended = True
        if self._saver is not None:  # without the lock, which the one who saves takes
            if not self._saver.close():
                self._on_note(
                    f"the gold files of {self.name} are not up to date ({self.trouble}); the journal is: "
                    "start the server again when that is mended"
                )
            self._saver = None
        with self._lock:
            if self._folder is not None and self._held is not None and not self._subjects:
                for ending in (_JOURNAL, _LOCK):  # while they are held; the lock last
                    with suppress(OSError):
                        (self._folder / f"{self.name}{ending}").unlink()
            for descriptor in (self._journal, self._held):
                if descriptor is not None:
                    os.close(descriptor)
            self._journal = self._held = None

    def state(self, key: Key) -> State:
        """Return what is said of a pair."""
        return self._states.get(key, NOTHING)

    def subject(self, key: Key) -> Subject:
        """Return a pair of which something is or was said."""
        return self._subjects[key]

    def all(self) -> list[tuple[Subject, State]]:
        """Return all pairs of which something is said: pasted ones last, by their number."""
        with self._lock:
            found = [(self._subjects[key], state) for key, state in self._states.items()]
        return sorted(found, key=lambda row: (row[0].kind == "own", row[0].number))

    def keys(self) -> list[Key]:
        """Return the keys of :meth:`all`, in no order."""
        with self._lock:
            return list(self._states)

    def change(self, subject: Subject, after: State, also: Also = _nothing_more) -> None:
        """Say something else of a pair; it is on the disk when this returns.

        ``also`` is called with the pair and what is said of it then, and here, in :meth:`undo` and in
        :meth:`redo`, where that raises something the change is taken back.

        Raises
        ------
        WorkError
            If it cannot be written; then nothing has changed.
        """
        with self._lock:
            change = Change(subject.key, self.state(subject.key), after)
            self._subjects.setdefault(change.key, subject)
            self._apply("edit", change, also)

    def undo(self, also: Also = _nothing_more) -> Key | None:
        """Take the last change back; return its pair, None where there is none."""
        with self._lock:
            if not self._undo:
                return None
            change = self._undo[-1]
            self._apply("undo", Change(change.key, change.after, change.before), also)
            return change.key

    def redo(self, also: Also = _nothing_more) -> Key | None:
        """Make the change again that was undone last; return its pair, None where there is none."""
        with self._lock:
            if not self._redo:
                return None
            change = self._redo[-1]
            self._apply("redo", change, also)
            return change.key

    def _apply(self, entry: str, change: Change, also: Also) -> None:
        """Write a change down, then make it."""
        size = self._write_entry(entry, change)
        try:
            also(change.key, change.after)
        except BaseException:
            if self._journal is not None:  # nobody was told that it is kept
                os.ftruncate(self._journal, size)
            raise
        self._make(entry, change)
        if self._saver is not None:
            self._saver.ask()

    def _make(self, entry: str, change: Change) -> None:
        if entry == "edit":
            self._undo.append(change)
            self._redo.clear()
            del self._undo[:-_MOST_UNDONE]
        elif entry == "undo":
            if self._undo:
                self._redo.append(self._undo.pop())
        elif self._redo:
            self._undo.append(self._redo.pop())
        if change.after.links is None:
            self._states.pop(change.key, None)
        else:
            self._states[change.key] = change.after

    def _write_entry(self, entry: str, change: Change) -> int:
        """Write a line and flush it to the disk; where that fails the journal is as it was.

        Returns how many bytes the journal had before.
        """
        if self._ended:
            raise WorkError(
                f"{self.name}: the correction is not kept, for the server is ending; start it again, then "
                "make it again"
            )
        if self._journal is None:
            return 0
        subject = self._subjects[change.key]
        record = {
            "entry": entry,
            "pair": {"source": list(subject.source), "target": list(subject.target)},
            "number": subject.number,
            "kind": subject.kind,
            "before": change.before.links,
            "after": change.after.links,
            "was_done": change.before.done,
            "done": change.after.done,
        }
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        start = os.lseek(self._journal, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._journal, line[written:])
            os.fsync(self._journal)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._journal, start)
            why, remedy = WRITE_FAULTS.get(error.errno or 0, (error.strerror, "look after the disk"))
            raise WorkError(
                f"{self._folder}: the correction cannot be kept: {why}; {remedy}, then make it again"
            ) from error
        return start

    def _replay(self, path: Path, on_note: Callable[[str], None]) -> int:
        """Take in a journal; return how many of its bytes are whole lines."""
        size = 0
        for number, line, whole in _lines(path):
            where = f"{path}:{number}"
            try:
                entry, subject, change = _entry(line)
            except (ValueError, TypeError, KeyError, RecursionError):
                if not whole:
                    on_note(f"{where}: the last line was cut off when the server was killed; it is dropped")
                    return size
                raise InputError(
                    f"{where}: no change of links; mend the line, or move the journal away"
                ) from None
            size += len(line) + 1
            self._subjects.setdefault(change.key, subject)
            self._make(entry, change)
        return size

    def _write_gold(self) -> None:
        """Write the files that others read."""
        assert self._folder is not None
        if not self._subjects:
            return
        rows = [(subject, state.links or []) for subject, state in self.all()]
        pairs = [
            AlignedPair(
                [Link(source, target, bool(sure)) for source, target, sure in links],
                list(subject.source),
                list(subject.target),
            )
            for subject, links in rows
        ]
        texts = {
            ".jsonl": write(pairs, format="jsonl"),
            ".align": write(pairs, format="pharaoh"),
            ".source": (_spaced(pair.source) for pair in pairs),
            ".target": (_spaced(pair.target) for pair in pairs),
        }
        try:
            for ending, lines in texts.items():
                with new_output(self._folder / f"{self.name}{ending}") as aside, text_file(aside) as out:
                    out.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            self.trouble = f"{error.filename or self._folder}: {error.strerror}"
            raise
        except Exception as error:
            self.trouble = f"{self._folder}: {type(error).__name__}: {error}"
            raise
        self.trouble = ""


def check_name(name: str) -> None:
    """Refuse a name of an annotator that is none: it becomes one of files.

    Raises
    ------
    InputError
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"annotator {name[:60]!r}: no name; "
            "give at most 40 letters, digits, - and _, not beginning with -"
        )


def annotators_of(folder: Path | None) -> list[str]:
    """Return the annotators whose journal in a folder says something, sorted."""
    if folder is None or not folder.is_dir():
        return []
    names = (path.name.removesuffix(_JOURNAL) for path in folder.glob(f"*{_JOURNAL}"))
    return sorted(name for name in names if NAME.fullmatch(name) and journal_size(folder, name))


def journal_size(folder: Path, name: str) -> int:
    """Return the bytes of an annotator's journal, 0 where there is none."""
    try:
        return (folder / f"{name}{_JOURNAL}").stat().st_size
    except OSError:
        return 0


def read_annotations(folder: Path, name: str) -> list[tuple[Subject, State]]:
    """Return what another annotator has said, as far as it is written, without a lock.

    Raises
    ------
    InputError
        If the journal is damaged before its last line.
    """
    found = Annotations(None, name)
    found._replay(folder / f"{name}{_JOURNAL}", lambda note: None)
    return found.all()


def edited(links: Sequence[Sequence[int]], changes: Sequence[tuple[int, int, str]]) -> list[list[int]]:
    """Return links after changes, each of a cell to ``sure``, ``possible`` or ``none``."""
    cells = {(source, target): sure for source, target, sure in links}
    for source, target, what in changes:
        if what == "none":
            cells.pop((source, target), None)
        else:
            cells[source, target] = int(what == "sure")
    return [[*cell, cells[cell]] for cell in sorted(cells)]


def _spaced(tokens: Sequence[str] | None) -> str:
    """Return tokens with a space between; what is like one inside a token is made one that parts nothing."""
    return " ".join(_PARTING.sub("\u00a0", token) for token in tokens or ())


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield number, bytes without the end, and whether there is an end, of each line of a file."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line.removesuffix(b"\n"), line.endswith(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def _entry(line: bytes) -> tuple[str, Subject, Change]:
    """Return what a line of a journal says; a ValueError, TypeError or KeyError where it says nothing."""
    record: Mapping[str, Any] = json.loads(line.decode("utf-8"))
    sides = [record["pair"]["source"], record["pair"]["target"]]
    kind, number, entry = record["kind"], record["number"], record["entry"]
    right = (
        entry in _ENTRIES
        and kind in ("corpus", "gold", "own")
        and type(number) is int
        and all(isinstance(side, list) and all(isinstance(word, str) for word in side) for side in sides)
    )
    if not right:
        raise ValueError("no entry")
    "".join(sides[0] + sides[1]).encode("utf-8")  # no half of a character
    subject = Subject(kind, number, sides[0], sides[1])
    states = [
        State(_links(record[name], sides), record[done] is True)
        for name, done in (("before", "was_done"), ("after", "done"))
    ]
    return entry, subject, Change(subject.key, *states)


def _links(value: Any, sides: Sequence[Sequence[str]]) -> list[list[int]] | None:
    if value is None:
        return None
    for source, target, sure in value:
        inside = all(
            type(token) is int and 0 <= token < len(side)
            for token, side in zip((source, target), sides, strict=True)
        )
        if not inside or sure not in (0, 1):
            raise ValueError("no link")
    return sorted([source, target, int(sure)] for source, target, sure in value)


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Tell what is wrong with a folder that is to be written to."""
    try:
        yield
    except FileExistsError:
        raise InputError(f"{folder}: a file, not a folder; give another with --save") from None
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written to ({error.strerror}); give another folder with --save"
        ) from None


def _hold(path: Path, name: str) -> int:
    """Lock a file until the descriptor, which is returned, is closed; it ends with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not path.exists() or not os.path.samestat(path.stat(), os.fstat(descriptor)):
            raise OSError(errno.EWOULDBLOCK, "the file was taken away by who held it")
    except ImportError:
        pass  # no such locks on this system
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(descriptor)
            raise InputError(
                f"{path.parent}: another server keeps the corrections of {name} there; end it, or give "
                "another --annotator or --save"
            ) from None
        # Some network disks have none.
    return descriptor


class _Saver:
    """Calls a function in a thread of its own when asked, at most so often; and when it is closed."""

    def __init__(self, save: Callable[[], None]) -> None:
        self._save = save
        self._asked = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gold files", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Ask for a call."""
        self._asked.set()

    def close(self) -> bool:
        """Call what was asked for, and end; tell whether the call was without a fault."""
        self._ended.set()
        self._asked.set()
        self._thread.join()
        return self._try()

    def _run(self) -> None:
        pending = False
        while not self._ended.is_set():
            if not pending:
                self._asked.wait()
            self._asked.clear()
            if self._ended.is_set():
                return
            pending = not self._try()
            self._ended.wait(_PAUSE)

    def _try(self) -> bool:
        try:
            self._save()
        except Exception:
            return False  # told by the one who saves; tried again
        return True
