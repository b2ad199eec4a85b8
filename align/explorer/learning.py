"""Weights learnt further from corrections, in a thread: how far it is, what came of it."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from align.core.errors import LiaisonError
from align.links import Link
from align.model.aligner import Aligner
from align.solvers import Progress

# Seconds that the end waits for a pass.
_PATIENCE = 0.5

Gold = Sequence[tuple[list[str], list[str], list[Link]]]


class _Ended(Exception):
    """The job is given up."""


class Learning:
    """One job at a time.

    Parameters
    ----------
    on_learnt : callable
        Called in the thread with the new model and the number of pairs; returns the number of its run.
    on_fault : callable, optional
        Called with the traceback of a fault.
    """

    def __init__(
        self,
        on_learnt: Callable[[Aligner, int], int],
        *,
        on_fault: Callable[[str], None] | None = None,
    ) -> None:
        self._on_learnt = on_learnt
        self._on_fault = on_fault
        self._lock = threading.Lock()
        self._told: dict[str, Any] = {"state": "idle", "passes": []}
        self._ended = False
        self._thread: threading.Thread | None = None

    @property
    def told(self) -> dict[str, Any]:
        """What there is to say: ``state``, the ``passes`` as [pass, gap, primal], and what came of it."""
        with self._lock:
            return {**self._told, "passes": list(self._told["passes"])}

    def start(self, aligner: Aligner, gold: Gold) -> bool:
        """Learn from links; False where a job is at work."""
        with self._lock:
            if self._told["state"] == "running":
                return False
            self._told = {"state": "running", "passes": [], "pairs": len(gold)}
            self._thread = threading.Thread(
                target=self._run, args=(aligner, gold), name="learning", daemon=True
            )
            self._thread.start()
        return True

    def wait(self) -> None:
        """Return when no job is at work."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Give up at the next pass; nothing comes of it any more."""
        self._ended = True
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _run(self, aligner: Aligner, gold: Gold) -> None:
        try:
            learnt = aligner.learn(gold, on_pass=self._on_pass)
            if self._ended:
                return
            told = learnt.model.provenance
            pairs = int(told["adapted_to_pairs"])
            found = {
                "state": "done",
                "pairs": pairs,
                "before": told["held_out_aer_before"],
                "after": told["held_out_aer_after"],
                "run": self._on_learnt(learnt, pairs),
            }
        except LiaisonError as error:
            found = {"state": "failed", "error": str(error)}
        except Exception as error:
            if self._ended:
                return
            if self._on_fault is not None:
                self._on_fault(traceback.format_exc())
            found = {"state": "failed", "error": f"internal fault: {type(error).__name__}"}
        with self._lock:
            self._told |= found

    def _on_pass(self, progress: Progress) -> None:
        if self._ended:
            raise _Ended
        row = progress.row
        with self._lock:
            self._told["passes"].append([int(row.passes), float(row.gap), float(row.primal)])
