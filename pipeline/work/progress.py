"""What a run tells its user: lines and progress bars on standard error, results on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from align.core.errors import LiaisonError
from align.core.files import text_file

Item = TypeVar("Item")


class Reporter:
    """Speaks for one corpus of a run.

    Parameters
    ----------
    name : str
        The corpus's name, in front of every line.
    quiet : bool
        Only results, warnings and errors are said.
    log : Path, optional
        A file every line is appended to as well, so that a closed terminal loses nothing.
    """

    def __init__(self, name: str, *, quiet: bool = False, log: Path | None = None) -> None:
        self._name = name
        self._quiet = quiet
        self._log = log
        self._compiles = False
        self._bars = sys.stderr is not None and sys.stderr.isatty() and not quiet

    @property
    def shows_bars(self) -> bool:
        """Whether progress is shown: standard error is a terminal, and the run is not quiet."""
        return self._bars

    def say(self, text: str) -> None:
        """Say one line on standard error (not when quiet) and in the log."""
        self._write(f"[{self._name}] {text}", loud=not self._quiet)

    def warn(self, text: str) -> None:
        """Say one line that is always shown."""
        self._write(f"[{self._name}] warning: {text}", loud=True)

    def keep(self, text: str) -> None:
        """Write one line in the log alone, if that can be written to."""
        with suppress(OSError, LiaisonError):
            self._append(f"[{self._name}] {text}")

    def result(self, text: str) -> None:
        """Print one line of results on standard output."""
        print(text, flush=True)

    @contextmanager
    def watching_kernels(self) -> Iterator[None]:
        """Tell of kernels that are compiled meanwhile: in words, and by a bar how many there are."""
        # Here: numba takes a second to import, and what runs no stage needs none of it.
        from align.core import kernels

        bars: list[Any] = []

        def tell(count: int) -> None:
            if count == 1:
                self.say("compiling what this stage needs, too" if self._compiles else kernels.TOLD)
                self._compiles = True
            if self._bars:
                from tqdm import tqdm

                bars[:] = bars or [tqdm(unit=" kernels", desc=f"[{self._name}] compiling", leave=False)]
                bars[0].update()

        try:
            with kernels.watching(tell):
                yield
        finally:
            for bar in bars:
                bar.close()

    def progress(
        self, items: Iterable[Item], *, total: int | None = None, unit: str = "it", what: str = ""
    ) -> Iterator[Item]:
        """Yield the items behind a progress bar with rate and time left."""
        if not self._bars:
            yield from items
            return
        from tqdm import tqdm

        # delay: a stage of a few seconds shows no bar at all
        yield from tqdm(
            items, total=total, unit=f" {unit}", desc=f"[{self._name}] {what}", delay=2, leave=False
        )

    def _write(self, line: str, *, loud: bool) -> None:
        if loud:
            # The work goes on where nobody reads any more: the terminal was closed, or `| head` has ended.
            with suppress(OSError):
                if self._bars:
                    from tqdm import tqdm

                    tqdm.write(line, file=sys.stderr)
                else:
                    print(line, file=sys.stderr, flush=True)
        self._append(line)

    def _append(self, line: str) -> None:
        if self._log is not None:
            with text_file(self._log, "a", errors="backslashreplace") as log:
                log.write(line + "\n")
