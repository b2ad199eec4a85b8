"""What the commands share: messages, the standard streams, output files that are whole or not there."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from align.core.errors import InputError, WorkError
from align.core.files import new_output, open_in_place, text_file
from align.data.streams import open_file, open_text


def use_utf8() -> None:
    """Make the standard streams write UTF-8 and plain line feeds, whatever the locale says."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="strict", newline="\n")
    if isinstance(sys.stderr, io.TextIOWrapper):
        # A file name that is not text must not make the message about it fail.
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def give_up_stdout() -> None:
    """Drop what the standard output would still hold where it cannot be written, lest it is tried at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Write one line on stderr; nothing where nobody can read it any more."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(" ".join(text.split("\n")), file=sys.stderr, flush=True)


@contextlib.contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file, packed or not, or the standard input for ``-``; yields the stream and its name."""
    with open_text(path) as stream:
        yield stream, "<stdin>" if path == "-" else path


# Names by which others would take an output for a packed one.
_PACKED = (".bz2", ".gz", ".xz", ".zip", ".zst")

# A writer that is at it writes again within so many seconds.
_PAUSE = 0.005


class _PausingInput(io.RawIOBase):
    """A pipe or a terminal; calls ``on_pause`` before it waits for its writer."""

    def __init__(self, file: BinaryIO | io.FileIO, name: str, on_pause: Callable[[], None]) -> None:
        super().__init__()
        self.name = name
        self._file, self._on_pause = file, on_pause

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not select.select([self._file], [], [], _PAUSE)[0]:
            self._on_pause()
        # As much as there is: a full buffer would have to be waited for.
        return os.readv(self._file.fileno(), [buffer])


@contextlib.contextmanager
def open_as_it_comes(path: str, on_pause: Callable[[], None]) -> Iterator[str | BinaryIO]:
    """Open an input that somebody may still be writing; any other is given back as its path.

    Parameters
    ----------
    path : str
        A file, a pipe, or ``-`` for the standard input.
    on_pause : callable
        Called whenever a pipe or terminal has nothing to read, before it is waited for. Windows cannot tell
        whether a pipe has.
    """
    with contextlib.ExitStack() as stack:
        waits = path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))
        if not waits or sys.platform == "win32":
            yield path
            return
        if path != "-":
            file: BinaryIO | io.FileIO = stack.enter_context(open_file(path))
        else:
            try:
                file = io.FileIO(sys.stdin.fileno(), closefd=False)
            except (AttributeError, OSError, ValueError):  # closed, or a stand-in
                yield path
                return
        raw = _PausingInput(file, "<stdin>" if path == "-" else path, on_pause)
        yield cast(BinaryIO, io.BufferedReader(raw, 1 << 16))


def only_one_stdin(paths: Iterable[str | None]) -> None:
    """Check that at most one of the input files is ``-``.

    Raises
    ------
    InputError
        If two are: both cannot be read from the same stream.
    """
    if sum(path == "-" for path in paths) > 1:
        raise InputError("-: the standard input is given for two files; give a path for one of them")


def side_by_side(
    files: Sequence[tuple[str, str, Iterable[Any]]], *, advice: str = "give the text that was aligned"
) -> Iterator[tuple[Any, ...]]:
    """Yield rows of several files together; of each its name, what a row is (``lines``), and the rows.

    Raises
    ------
    InputError
        At the end, if not all have as many rows.
    """
    counts = [0] * len(files)
    for found in zip_longest(*(rows for _, _, rows in files)):
        counts = [count + (row is not None) for count, row in zip(counts, found, strict=True)]
        if None not in found:
            yield found
    if len(set(counts)) > 1:
        told = [f"{name} {count} {unit}" for (name, unit, _), count in zip(files, counts, strict=True)]
        told[0] = f"{files[0][0]} has {counts[0]} {files[0][1]}"
        raise InputError(f"{', '.join(told)}; {advice}")


def same_output(path: str, other: str) -> bool:
    """Tell whether two outputs would go to one file or stream; ``-`` is the standard output."""
    places = [os.path.realpath("/dev/stdout" if each == "-" else each) for each in (path, other)]
    # Two may well go to one device, as /dev/null.
    return path == other or (places[0] == places[1] and not Path(places[0]).is_char_device())


@contextlib.contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a file for text, or the standard output for ``-``.

    A file is written under another name beside and takes its own when it is whole: after a failure there
    is either the old one or none. What is no regular file, and what stands for a stream that is open
    (``/dev/stdout``), is written to in place.
    """
    if path == "-":
        if sys.stdout is None:
            raise WorkError("<stdout>: closed; name a file for the output")
        yield sys.stdout
        return
    descriptor = open_in_place(path)
    if descriptor is not None:
        if sys.stdout is not None:
            # It may lead to the same place: what was printed before stands before.
            sys.stdout.flush()
        with text_file(descriptor, told=path) as out:
            yield out
        return
    final = Path(os.path.realpath(path))
    if final.suffix.lower() in _PACKED:
        raise InputError(
            f"{path}: what is written is not packed; leave out {final.suffix}, and pack it afterwards"
        )
    if not final.parent.is_dir():
        raise InputError(f"{path}: there is no folder {final.parent}; make it first")
    with new_output(final) as aside, text_file(aside, told=path) as out:
        yield out
