"""Where work runs: in this process, in worker processes, or on a Dask cluster.

The only module that knows of processes and of Dask. Whatever the engine, results come back in the order
of the items and are the same: a function given one item must depend on that item alone.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeVar

from align.errors import InputError, WorkError

Item = TypeVar("Item")
Result = TypeVar("Result")

ENGINES = ("local", "dask")


class Engine(Protocol):
    """Runs a function over items."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order; a bounded number is in flight at any time."""
        ...


class Serial:
    """One item after the other in this process."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order."""
        return map(function, items)


class Processes:
    """Worker processes on this machine; they start at the first item and serve every later call."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order.

        Raises
        ------
        WorkError
            If a worker process dies (killed, or out of memory).
        """
        iterator = iter(items)
        first = list(_take(iterator, 2))
        if len(first) < 2:  # nothing to share out: a worker would only cost its start
            yield from map(function, first)
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._jobs, multiprocessing.get_context("spawn"), initializer=_start_worker
            )
        try:
            yield from _in_order(self._pool.submit, function, _chain(first, iterator), 2 * self._jobs)
        except BrokenProcessPool:
            self.close()
            raise WorkError(
                "a worker process died (killed, or out of memory); run again with fewer --jobs or more memory"
            ) from None

    def close(self) -> None:
        """Stop the workers."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class Dask:
    """Workers of a Dask cluster; a worker that dies costs only the items it had."""

    def __init__(self, client: Any, in_flight: int) -> None:
        self._client = client
        self._in_flight = in_flight

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order."""

        def submit(function: Callable[[Item], Result], item: Item) -> Any:
            return self._client.submit(function, item, pure=False, retries=3)

        return _in_order(submit, function, items, self._in_flight)


@contextmanager
def open_engine(name: str, *, jobs: int, scheduler: str | None = None) -> Iterator[Engine]:
    """Open an engine and close it at the end.

    Parameters
    ----------
    name : str
        ``local`` or ``dask``.
    jobs : int
        Worker processes, >= 1; with 1 everything runs in this process.
    scheduler : str, optional
        Address of a running Dask scheduler (``tcp://host:8786``); without it a local cluster is started.

    Raises
    ------
    InputError
        If the name is unknown, Dask is not installed or the scheduler does not answer.
    """
    if name == "local":
        if scheduler is not None:
            raise InputError("--scheduler: needs --engine dask; add it or leave the address out")
        if jobs == 1:
            yield Serial()
            return
        processes = Processes(jobs)
        try:
            yield processes
        finally:
            processes.close()
    elif name == "dask":
        with _dask_client(jobs, scheduler) as client:
            yield Dask(client, 2 * max(jobs, sum(client.nthreads().values())))
    else:
        raise InputError(f"--engine {name}: no such engine; valid: {', '.join(ENGINES)}")


@contextmanager
def _dask_client(jobs: int, scheduler: str | None) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("--engine dask: Dask is not installed; pip install 'dask[distributed]'") from None
    if scheduler is None:
        # Its workers' slow ends on a busy machine are no news; a worker that fails is an error of the map.
        cluster = LocalCluster(
            n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
        )
        with cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=30)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--scheduler {scheduler}: no answer ({error}); start it or mend the address"
        ) from None
    with client:
        yield client


def _in_order(
    submit: Callable[..., Any], function: Any, items: Iterable[Any], in_flight: int
) -> Iterator[Any]:
    """Yield results in the order of the items, at most ``in_flight`` submitted and not yet yielded."""
    waiting: deque[Any] = deque()
    try:
        for item in items:
            waiting.append(submit(function, item))
            if len(waiting) >= in_flight:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _take(iterator: Iterator[Item], count: int) -> Iterator[Item]:
    for _ in range(count):
        try:
            yield next(iterator)
        except StopIteration:
            return


def _chain(first: Iterable[Item], rest: Iterable[Item]) -> Iterator[Item]:
    yield from first
    yield from rest


def _start_worker() -> None:
    """Keep a worker to one thread, and end it when the process that started it dies, however it dies."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def watch() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
