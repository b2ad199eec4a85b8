"""What a stage is, and what it may use while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any, TypeVar

from align.core.errors import WorkError
from pipeline.config.configuration import Config
from pipeline.work.engine import Engine
from pipeline.work.progress import Reporter

# The note of a stage that says what it was made from, where that is less than was asked for.
INCOMPLETE = "incomplete"

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline."""

    # Also that of its section in the configuration.
    name: str
    # ``run(context, *, option=default, ...)``; its keyword-only arguments are the section's keys.
    run: Callable[..., None]
    # Stages whose results it reads.
    needs: tuple[str, ...] = ()
    # Keys of other sections that it reads (``"corpus.limit"``); ``"gold.*"`` stands for all of a section.
    uses: tuple[str, ...] = ()
    # The user's own files and folders that it reads; their contents are part of its fingerprint.
    files: Callable[[Config], list[Path]] = lambda config: []
    # Whether the seed changes its result.
    seeded: bool = False
    # Whether its result says where the user's files lie, and is to be made again where they have moved.
    placed: bool = False
    # Small files of its result that only tell how it was made: seconds, places. Others do not depend on them.
    records: tuple[str, ...] = ()
    # Large files of the stages it needs that it does not read: patterns of ``stage/path``.
    unread: tuple[str, ...] = ()
    # Whether it can go on with the folder that a killed run left.
    resumable: bool = False
    # What of its result a run names at its end: what it is, and the file ("": the folder itself).
    shows: tuple[str, str] | None = None
    # Text that ``--list STAGE`` adds to the options.
    describe: Callable[[], str] | None = None
    # Refuses options that do not go together, before the first stage is run and not hours later.
    check: Callable[[Config], None] = lambda config: None

    def options(self, config: Config) -> dict[str, Any]:
        """Return its own section's values."""
        return config.values[self.name]

    def used(self, config: Config) -> dict[str, Any]:
        """Return the values of other sections that it reads, by full key, in alphabetical order."""
        found = {}
        for key in self.uses:
            section, _, name = key.partition(".")
            if name == "*":
                found.update({f"{section}.{each}": value for each, value in config.values[section].items()})
            else:
                found[key] = config.option(key)
        return dict(sorted(found.items()))


@dataclass
class StageContext:
    """What a running stage is given.

    The folder to fill is empty at the start, but for a resumable stage, which finds what a killed run left.
    It is published under its final name when ``run`` returns.
    """

    folder: Path
    inputs: Mapping[str, Path]  # the folders of the stages it needs
    seed: int  # >= 0
    jobs: int  # processes or threads it may use, >= 1
    memory: int  # bytes it should stay under
    scratch: Path  # for temporary files, removed afterwards
    workdir: Path  # of all corpora, for what they share (downloads)
    engine: Engine
    reporter: Reporter
    stage: Stage
    config: Config
    notes: dict[str, Any] = field(default_factory=dict)  # JSON values, kept in the manifest
    elsewhere: dict[str, Any] = field(
        default_factory=dict
    )  # stands for files of the result that lie elsewhere
    results: list[str] = field(default_factory=list)  # lines, kept there and printed again when skipped

    def option(self, key: str) -> Any:
        """Return a value of another section; the stage must have declared it in ``uses``.

        Raises
        ------
        KeyError
            If it has not (a fault of the program: the value would be missing from the fingerprint).
        """
        return self.stage.used(self.config)[key]

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        unit: str = "blocks",
        total: int | None = None,
        threads: int = 0,
    ) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order, on the chosen engine, with progress.

        ``threads``: see :meth:`pipeline.work.engine.Engine.map`.
        """
        if total is None and isinstance(items, Sized):
            total = len(items)
        return self.progress(self.engine.map(function, items, threads=threads), total=total, unit=unit)

    def share(
        self,
        function: Callable[..., Result],
        items: Sequence[Item],
        *,
        workers: int,
        unit: str = "blocks",
        steps: int = 1,
    ) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order, on threads of this process, or on a cluster.

        For compiled work, which lets threads run side by side: they share what is loaded.

        Parameters
        ----------
        function : function
            Of module level. With ``steps`` > 1 its second argument, optional, is to be called after each of
            the steps an item has.
        items : sequence
        workers : int
            Threads, >= 1; a cluster has workers of its own.
        unit : str
            What an item is, for the progress bar, which counts steps where they are told.
        steps : int
            Steps an item has.
        """
        if self.engine.remote:
            yield from self.map(function, items, unit=unit)
            return
        stopped, lock = Event(), Lock()
        done = iter(self.progress(range(len(items) * steps), unit="sweeps" if steps > 1 else unit))

        def step() -> None:
            if stopped.is_set():
                raise WorkError(f"{self.stage.name}: stopped")
            with lock:
                next(done, None)

        further = (step,) if steps > 1 else ()
        pool = ThreadPoolExecutor(workers)
        try:
            for result in pool.map(lambda item: function(item, *further), items):
                if steps == 1:
                    step()
                yield result
            next(done, None)
        finally:
            stopped.set()  # what still runs after an error ends with its next step
            pool.shutdown(cancel_futures=True)

    def progress(
        self, items: Iterable[Item], *, total: int | None = None, unit: str = "it"
    ) -> Iterator[Item]:
        """Yield the items behind a progress bar."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        return self.reporter.progress(items, total=total, unit=unit, what=self.stage.name)

    def say(self, text: str) -> None:
        """Say one line on standard error."""
        self.reporter.say(f"{self.stage.name}: {text}")

    def warn(self, text: str) -> None:
        """Say one line on standard error even when quiet, and keep it in the manifest."""
        self.notes.setdefault("warnings", []).append(text)
        self.reporter.warn(f"{self.stage.name}: {text}")

    def result(self, text: str) -> None:
        """Print one line on standard output, now and whenever the stage is skipped as done."""
        self.results.append(text)
        self.reporter.result(text)

    def note(self, key: str, value: Any) -> None:
        """Keep a JSON value in the stage's manifest."""
        self.notes[key] = value
