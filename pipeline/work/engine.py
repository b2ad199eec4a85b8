"""Where work runs: in this process, in worker processes, or on a Dask cluster.

The only module that knows of processes and of Dask. Whatever the engine, results come back in the order
of the items and are the same: a function given one item must depend on that item alone.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeVar

from align.core.errors import InputError, WorkError
from align.core.signals import unheard_by_children
from pipeline.work.worker import Failed, code_of, run_checked

Item = TypeVar("Item")
Result = TypeVar("Result")

ENGINES = ("local", "dask")

# Seconds that a run waits for a Dask cluster without any worker.
PATIENCE = 60.0
_SECONDS_BETWEEN_COUNTS = 2.0


class Engine(Protocol):
    """Runs a function over items.

    Attributes
    ----------
    remote : bool
        Whether workers may be on other machines: what they are to share has to lie in files.
    """

    remote: bool

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], *, threads: int = 0
    ) -> Iterator[Result]:
        """Yield ``function(item)`` for every item, in order; a bounded number is in flight at any time.

        ``threads`` above 0: so many threads of this process serve better than worker processes, where the
        work stays on this machine; the function releases the interpreter lock most of the time.

        Raises
        ------
        WorkError
            If a worker process dies (killed, or out of memory); on a cluster also if the scheduler is lost,
            there is no worker for :data:`PATIENCE` seconds, or one has other code.
        """
        ...

    def workers(self) -> int:
        """Return how many items can be worked at side by side just now."""
        ...

    def release(self) -> None:
        """Give back what is kept between calls: idle worker processes."""
        return


class Local(Engine):
    """Threads of this process, or worker processes, which start at the first item and serve on."""

    remote = False

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._busy = False

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], *, threads: int = 0) -> Iterator[Any]:
        """Share out the items, unless there is nothing to share: a worker would only cost its start."""
        rest = iter(items)
        first = list(islice(rest, 2))
        items = chain(first, rest)
        side_by_side = threads or self._jobs
        if len(first) < 2 or side_by_side == 1:
            yield from map(function, items)
        elif threads:
            with ThreadPoolExecutor(threads) as executor:
                yield from _in_order(lambda item: executor.submit(function, item), items, lambda: 2 * threads)
        else:
            pool = self._pool = self._pool or ProcessPoolExecutor(
                self._jobs, multiprocessing.get_context("spawn"), initializer=_start_worker
            )

            def submit(item: Any) -> Any:
                with unheard_by_children():
                    return pool.submit(function, item)

            try:
                self._busy = True
                yield from _in_order(submit, items, lambda: 2 * self._jobs)
                self._busy = False
            except BrokenProcessPool:
                self.release()
                raise WorkError(
                    "a worker process died (killed, or out of memory); run again with fewer --jobs or more"
                    " memory"
                ) from None

    def workers(self) -> int:
        """Return how many processes there may be."""
        return self._jobs

    def release(self) -> None:
        """Stop the workers; what they are still at after a stop or an error is wanted by nobody."""
        if self._pool is not None:
            if self._busy:
                for worker in list((self._pool._processes or {}).values()):
                    worker.kill()
                self._busy = False
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class Dask(Engine):
    """Workers of a Dask cluster; a worker that dies costs only the items it had.

    An item is tried again, three times, where its worker was lost or the system refused something (a file,
    memory): another machine may do better. What the function itself refuses is told at once.
    """

    remote = True

    def __init__(self, client: Any, jobs: int) -> None:
        self._client = client
        self._jobs = jobs
        self._threads, self._counted = 0, -math.inf

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], *, threads: int = 0) -> Iterator[Any]:
        """Send the items to the cluster."""
        submit = partial(
            self._client.submit, run_checked, function, code_of(function.__module__), pure=False, retries=3
        )
        with _plain_errors():
            yield from _in_order(submit, items, self._in_flight, self._await)

    def workers(self) -> int:
        """Return how many threads the workers of the cluster have together."""
        return sum(self._client.nthreads().values())

    def _in_flight(self) -> int:
        """Return how many items may be under way: workers that come while a stage is at work get some too."""
        now = time.monotonic()
        if now >= self._counted + _SECONDS_BETWEEN_COUNTS:
            self._counted = now
            self._threads = self.workers()
        return 2 * max(self._jobs, self._threads)

    def _await(self, future: Any) -> Any:
        """Return a result, unless there is no worker left to make it."""
        from distributed import wait as wait_for

        alone_since = None
        while not future.done():
            with suppress(TimeoutError):
                wait_for([future], timeout=1)
                break
            if self._client.status != "running":
                raise WorkError(_NO_SCHEDULER)
            if self._client.nthreads():
                alone_since = None
                continue
            alone_since = time.monotonic() if alone_since is None else alone_since
            if time.monotonic() - alone_since > PATIENCE:
                raise WorkError(
                    f"no worker of the Dask cluster for {PATIENCE:g} seconds; start workers and run the "
                    "command again (without --force and --from it goes on where it stopped)"
                )
        found = future.result()
        if isinstance(found, Failed):
            raise found.error
        return found


_NO_SCHEDULER = (
    "the Dask scheduler does not answer any more; start it and run the command again "
    "(without --force and --from it goes on where it stopped)"
)


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn what Dask raises into one clear line."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        yield
    except KilledWorker:
        raise WorkError(
            "several workers of the Dask cluster died one after the other of the same block (killed, or out "
            "of memory); give workers more memory, or fewer threads"
        ) from None
    except (CancelledError, CommClosedError, ConnectionError):
        raise WorkError(_NO_SCHEDULER) from None
    except (ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "deserialization" not in str(error):
            raise
        raise WorkError(
            "the Dask scheduler or a worker cannot import liaison, or has another version of Python or Dask; "
            "install the same versions everywhere, and restart the cluster"
        ) from None


@contextmanager
def open_engine(name: str, *, jobs: int, scheduler: str | None = None) -> Iterator[Engine]:
    """Open an engine and close it at the end.

    Parameters
    ----------
    name : str
        ``local`` or ``dask``.
    jobs : int
        Worker processes, >= 1; with 1 the work is done in this process.
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
        local = Local(jobs)
        try:
            yield local
        finally:
            local.release()
    elif name == "dask":
        with _dask_client(jobs, scheduler) as client:
            yield Dask(client, jobs)
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
            n_workers=jobs,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.ERROR,
            # Its web server cannot be left out: any free port of this machine alone, not 8787 of all.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
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
    # What becomes of the scheduler is told in one line. Each of Dask's loggers has a level of its own.
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with client:
        yield client


def _in_order(
    submit: Callable[[Any], Any],
    items: Iterable[Any],
    in_flight: Callable[[], int],
    result: Callable[[Any], Any] = lambda future: future.result(),
) -> Iterator[Any]:
    """Yield results in the order of the items, at most ``in_flight()`` submitted and not yet yielded."""
    waiting: deque[Any] = deque()
    try:
        for item in items:
            waiting.append(submit(item))
            while len(waiting) >= in_flight():
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


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
