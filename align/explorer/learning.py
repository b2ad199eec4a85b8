"""Weights learnt further from corrections, in a thread: how far it is, what came of it, where it is kept."""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from align.core.errors import LiaisonError, WorkError
from align.core.files import WRITE_FAULTS, remove_unfinished
from align.links import Link
from align.model.aligner import Aligner
from align.model.checksums import same_files
from align.model.folder import save_adapted
from align.solvers import Progress, Row
from align.solvers.fit import history_lines

# Seconds that the end waits for a pass.
_PATIENCE = 0.5

Gold = Sequence[tuple[list[str], list[str], list[Link]]]


# What comes between the name of an annotator, which has no dot, and the number of a model.
_MODEL = ".model-"


class _Ended(Exception):
    """The job is given up."""


class Learning:
    """One job at a time.

    Parameters
    ----------
    on_fault : callable, optional
        Called with the traceback of a fault.
    """

    def __init__(self, *, on_fault: Callable[[str], None] | None = None) -> None:
        self._on_fault = on_fault
        self._lock = threading.Lock()
        self._told: dict[str, Any] = {"state": "idle", "passes": []}
        self._history: list[Row] = []
        self._ended = False
        self._thread: threading.Thread | None = None

    @property
    def told(self) -> dict[str, Any]:
        """What there is to say: ``state``, the ``passes`` as [pass, gap, primal], and what came of it."""
        with self._lock:
            return {**self._told, "passes": list(self._told["passes"])}

    @property
    def history(self) -> list[Row]:
        """All that was measured in the last job, a row a pass."""
        with self._lock:
            return list(self._history)

    def start(
        self,
        aligner: Aligner,
        gold: Gold,
        on_learnt: Callable[[Aligner, int], dict[str, Any]],
        *,
        begun: int = 0,
    ) -> bool:
        """Learn from links; False where a job is at work.

        ``begun`` of the pairs are not marked done: that is told, no more.
        ``on_learnt`` is called in the thread with the new model and the number of pairs, and returns what
        more there is to tell of it.
        """
        with self._lock:
            if self._told["state"] == "running":
                return False
            self._told = {"state": "running", "passes": [], "pairs": len(gold), "begun": begun}
            self._history = []
            self._thread = threading.Thread(
                target=self._run, args=(aligner, gold, on_learnt), name="learning", daemon=True
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

    def _run(self, aligner: Aligner, gold: Gold, on_learnt: Callable[[Aligner, int], dict[str, Any]]) -> None:
        try:
            learnt = aligner.learn(gold, on_pass=self._on_pass)
            if self._ended:
                return
            told = learnt.model.provenance
            pairs = int(told["adapted_to_pairs"])
            found = {
                "state": "done",
                "pairs": pairs,
                "held_out": told["held_out_pairs"],
                "known": told["held_out_known"],
                "before": told["held_out_aer_before"],
                "after": told["held_out_aer_after"],
                "difference": told["held_out_aer_difference"],
                "verdict": told["held_out_verdict"],
                **on_learnt(learnt, pairs),
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
            self._history.append(row)


def kept_models(folder: Path | None, annotator: str) -> list[Path]:
    """Return the models that were learnt from an annotator and are kept in a folder, the oldest first."""
    if folder is None or not folder.is_dir():
        return []
    found = [(number, path) for path in folder.iterdir() if (number := _number(path, annotator)) is not None]
    return [path for _, path in sorted(found) if path.is_dir()]


def kept_aligner(place: Path, served: Aligner) -> Aligner:
    """Load a model that was kept, to cut text to tokens as the model served does.

    Where it was learnt from that one, both share its tables: many such models take little memory.

    Raises
    ------
    InputError
        As of :meth:`Aligner.load`.
    """
    model = Aligner.load(place, languages=served.model.languages).model
    if served.folder is not None and same_files(place, served.folder, but=("model.json", "weights.tsv")):
        model = replace(model, resources=served.model.resources)
    return served.with_model(model)


def keep_model(
    learnt: Aligner, folder: Path, annotator: str, *, origin: Path | None, history: Sequence[Row] = ()
) -> Path:
    """Write a learnt model as FOLDER/ANNOTATOR.model-N; N counts up from what is there.

    Parameters
    ----------
    learnt : Aligner
    folder : Path
    annotator : str
    origin : Path, optional
        The folder of the model that it was learnt from.
    history : sequence of Row
        How it was learnt.

    Raises
    ------
    WorkError
        If it cannot be written; nothing of it has that name then.
    """
    try:
        numbers = [_number(path, annotator) or 0 for path in folder.iterdir()]
        place = folder / f"{annotator}{_MODEL}{max(numbers, default=0) + 1}"
        remove_unfinished(folder, f"{annotator}{_MODEL}")
        save_adapted(learnt.model, place, origin=origin, history=history_lines(history))
    except OSError as error:
        why, remedy = WRITE_FAULTS.get(error.errno or 0, (error.strerror, "look after the disk"))
        where = error.filename or folder
        raise WorkError(f"{where}: the model cannot be kept: {why}; {remedy}, then learn again") from error
    return place


def _number(path: Path, annotator: str) -> int | None:
    found = re.fullmatch(rf"{re.escape(annotator)}{re.escape(_MODEL)}([1-9][0-9]{{0,8}})", path.name)
    return None if found is None else int(found[1])
