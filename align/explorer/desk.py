"""The desk itself: pairs with their links, an annotator who corrects them, a model that learns of it.

What comes in here was checked by :mod:`align.explorer.routes`; several threads may call at once.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from align.core.errors import InputError, LiaisonError
from align.explorer import queries, reading
from align.explorer.annotations import (
    NOTHING,
    Annotations,
    Key,
    State,
    Subject,
    annotators_of,
    check_name,
    edited,
    journal_size,
    read_annotations,
)
from align.explorer.learning import Learning, keep_model, kept_aligner, kept_models
from align.explorer.lexicon import Table
from align.explorer.linking import Linker
from align.explorer.requests import RequestError
from align.explorer.store import NewLinks, NewPair, Store, pair_count, tokens_of
from align.explorer.summary import gap_curve_of
from align.links import Link
from align.model.aligner import Aligner
from align.report import ShownPair, as_json, reasons_of
from align.report.why import why
from align.statistics.translations import Translations

# Words of a sentence: the matrix of two such can still be looked at.
MOST_TOKENS = 200

# So many reasons of a link are sent, the largest first.
_REASONS = 8

# Pairs whose reasons are worked out at the same time: each takes some megabytes meanwhile.
_SCORED_AT_ONCE = 2

# Models learnt before that are offered, the newest: each takes memory, and links all pairs.
_MOST_KEPT = 5

Note = Callable[[str], None]


class Desk:
    """What one server works on.

    Parameters
    ----------
    aligner : Aligner
        The model served first: run 0.
    name : str
        Its name.
    scratch : Path
        A folder for the store, removed by the caller in the end.
    folder : Path, optional
        Where corrections are kept; None: until the end only.
    annotator : str
        Who corrects first.
    gap_curve : sequence of [pass, gap, primal]
        How the model was trained.
    on_note : callable
        Called with a line of text for what is odd.
    on_fault : callable, optional
        Called with the traceback of a fault in the background.

    Raises
    ------
    InputError
        As of :class:`~align.explorer.annotations.Annotations`.
    """

    def __init__(
        self,
        aligner: Aligner,
        name: str,
        *,
        scratch: Path,
        folder: Path | None = None,
        annotator: str = "annotator",
        gap_curve: Sequence[Sequence[float | None]] = (),
        on_note: Note = lambda note: None,
        on_fault: Note | None = None,
    ) -> None:
        self.folder = folder
        self.languages = aligner.model.languages
        self.current = 0
        self.failure: LiaisonError | None = None  # what ended the reading of the text
        self.trouble = ""  # why the text could not be read to its end, where that is no fault of its own
        self.scratch = scratch
        self.annotations = Annotations(folder, annotator, on_note=on_note)
        self.store = Store(scratch / "desk.sqlite", annotator=annotator)
        self.linker = Linker(self.store, on_fault=on_fault)
        self.learning = Learning(on_fault=on_fault)
        self._on_note, self._on_fault = on_note, on_fault
        self._opened = {annotator: self.annotations}
        self._places: dict[Key, int] = {}  # pairs of which something is or was said
        self._known: dict[int, Subject] = {}  # what they are known by: they may have moved in their file
        self._pending: dict[str, dict[Key, tuple[Subject, State]]] = {}
        self._read_so_far: dict[str, tuple[int, dict[Key, tuple[Subject, State]]]] = {}  # of others' journals
        self._progress: dict[str, int | None] | None = None
        self._editing = threading.RLock()
        self._reader: threading.Thread | None = None
        self._loading = threading.RLock()
        self._scoring = threading.BoundedSemaphore(_SCORED_AT_ONCE)
        self.ended = False
        self._finder = queries.Finder()
        self._roots: dict[int, int] = {}
        self._kept: set[Path] = set()  # models learnt before, or here, that are among the runs
        self._keeping = threading.Lock()  # of that set, and of the folder's models
        self.gap_curves: dict[int, Sequence[Sequence[float | None]]] = {}
        self.add_model(name, aligner, gap_curve=gap_curve)
        for who in sorted({annotator, *annotators_of(folder)}):
            self._await(who)

    def close(self) -> None:
        """End what works behind, and write what has been corrected."""
        if self.ended:
            return
        self.ended = True
        self.learning.close()
        if self._reader is not None:
            self.store.interrupt()
            self._reader.join()
        self.linker.close()
        with self._editing:  # a correction that is being made comes to its end; later ones are refused
            for opened in self._opened.values():
                opened.close()
            self.store.close()

    # Runs

    def add_model(
        self, name: str, aligner: Aligner, *, gap_curve: Sequence[Sequence[float | None]] = ()
    ) -> int:
        """Link all pairs by one more model; return its run. ``gap_curve``: [pass, gap, primal] each."""
        run = self.store.add_run(name, "model")
        self._roots[run] = run
        self.gap_curves[run] = gap_curve
        self.linker.add(run, aligner)
        return run

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs."""
        with self.store.reading() as connection:
            rows = connection.execute("SELECT id, name, kind FROM run ORDER BY id").fetchall()
        return [dict(zip(("id", "name", "kind"), row, strict=True)) for row in rows]

    def make_current(self, run: int) -> None:
        """Show the links of another run."""
        self.current = run
        self.linker.prefer(run)

    def learn(self, *, only_done: bool = False) -> None:
        """Learn from what the annotator has said, beginning with the model that the current run came from.

        ``only_done``: from the pairs that are marked as done.
        """
        parent, annotator = self.current, self.annotations.name
        root = self._roots.get(parent)
        aligner = None if root is None else self.linker.aligner(root)
        if aligner is None or aligner.untrained:
            raise RequestError(409, "links of a file, and weights without a model, cannot learn")
        said = [row for row in self.annotations.all() if row[1].done or not only_done]
        gold = [
            (
                list(subject.source),
                list(subject.target),
                [Link(source, target, bool(sure)) for source, target, sure in state.links or ()],
            )
            for subject, state in said
        ]
        if not any(link.sure for *_, links in gold for link in links):
            what = (
                "no pair that is marked as done has a link" if only_done else "nothing is linked by hand yet"
            )
            raise RequestError(409, f"{what}: correct some pairs first")
        begun = sum(not state.done for _, state in said)
        if not self.learning.start(aligner, gold, partial(self._learnt, parent, annotator), begun=begun):
            raise RequestError(409, "the model is learning already")

    def can_learn(self) -> bool:
        """Tell whether the current run is that of a model that can learn."""
        root = self._roots.get(self.current)
        aligner = None if root is None else self.linker.aligner(root)
        return aligner is not None and not aligner.untrained

    def _learnt(self, parent: int, annotator: str, aligner: Aligner, pairs: int) -> dict[str, Any]:
        """Take in a model that has learnt, and keep it: pairs are linked by it, and it is the current one."""
        root = self._roots[parent]
        told: dict[str, Any] = {"saved": None}
        place = None
        if self.folder is not None:
            old = self.linker.aligner(root)
            origin = None if old is None else old.folder
            history = self.learning.history
            try:
                with self._keeping:
                    place = keep_model(aligner, self.folder, annotator, origin=origin, history=history)
                    self._kept.add(place)
                told["saved"] = str(place)
            except LiaisonError as error:
                told["not_saved"] = str(error)
        names = {row["id"]: row["name"] for row in self.runs()}
        name = f"{names[root]}, learnt from {'1 pair' if pairs == 1 else f'{pairs} pairs'}"
        run = self.store.add_run(name if place is None else f"{name} ({place.name})", "model", parent=parent)
        self._roots[run] = root
        self.gap_curves[run] = self.learning.told["passes"]
        self.linker.add(run, aligner)
        self.make_current(run)
        return {**told, "run": run, "parent": parent}

    def _offer_kept(self, annotator: str) -> None:
        """Let pairs be linked by the models that were learnt from an annotator's corrections before, too.

        Learning from one of them begins with the model served: by the pairs that it has seen nobody can tell
        what it is worth.
        """
        own = self.linker.aligner(0)
        with self._keeping:
            there = [place for place in kept_models(self.folder, annotator) if place not in self._kept]
            if own is None or own.untrained or not there:
                return
            self._kept.update(there)
        named = {each.folder for run in list(self._roots) if (each := self.linker.aligner(run)) is not None}
        for place in there[-_MOST_KEPT:]:
            if place.resolve() in named:
                continue  # as -m or --compare
            try:
                kept = kept_aligner(place, own)
            except LiaisonError as error:
                self._on_note(f"{error}; this model is not offered")
                continue
            run = self.add_model(str(place), kept, gap_curve=self._gap_curve(place))
            self._roots[run] = 0
        if len(there) > _MOST_KEPT:
            self._on_note(
                f"{self.folder}: {len(there)} models of {annotator}; the newest {_MOST_KEPT} are offered, "
                "--compare gives another"
            )

    def _gap_curve(self, place: Path) -> Sequence[Sequence[float | None]]:
        """Return how a model that is kept was trained; nothing where that cannot be read."""
        try:
            return gap_curve_of(place)
        except LiaisonError as error:
            self._on_note(str(error))
            return ()

    # Pairs

    def start(self, *, reading: bool = False) -> None:
        """Begin to link; ``reading``: pairs are still to come."""
        if not reading:
            self.settle()
        self._offer_kept(self.annotations.name)
        self.linker.start()

    def open(self, text: reading.Text, names: Sequence[str] = (), *, on_failure: Callable[[], None]) -> None:
        """Read the first pairs of a text, and the rest behind; ``names`` are those of its files of links.

        Raises
        ------
        InputError
            If what is read now is wrong; of what comes later ``on_failure`` is called.
        """
        runs = [self.store.add_run(name, "links") for name in names]
        blocks = reading.read_blocks(text, self._aligner(), on_note=self._on_note)
        self._progress = {"done": 0, "of": reading.count_pairs(text)}
        self.linker.wake(reading=True)
        first = next(blocks, None)
        if first is not None:
            self._take(first, runs)

        def rest() -> None:
            try:
                self._read(blocks, runs)
            except LiaisonError as error:
                self.failure = error
                on_failure()
            except Exception as error:
                if not self.ended:
                    self.trouble = (
                        f"the text was read up to pair {self.pair_count()} only ({type(error).__name__}: "
                        f"{error}); corrections are kept, start the server again to see the rest"
                    )
                    if self._on_fault is not None:
                        self._on_fault(traceback.format_exc())
            finally:
                self._progress = None

        self._reader = threading.Thread(target=rest, name="reading", daemon=True)
        self._reader.start()

    def upload(self, kind: str, stream: BinaryIO) -> int:
        """Add the pairs of a file; return how many. Of a file that is wrong anywhere none is added."""
        with self.loading():
            with self.store.reading() as connection:
                (last,) = connection.execute(
                    "SELECT COALESCE(MAX(number), 0) FROM pair WHERE kind != 'own'"
                ).fetchone()
            text = reading.Text(kind, [stream], "the file")
            self._progress = {"done": 0, "of": None}
            try:
                for _ in reading.read_blocks(text, self._aligner(), on_note=lambda note: None):
                    if self.ended:
                        return 0
                stream.seek(0)
                blocks = reading.read_blocks(text, self._aligner(), on_note=self._on_note, first=last + 1)
                return self._read(blocks, [])
            finally:
                self._progress = None

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Be the only one who adds a file.

        Raises
        ------
        RequestError
            If pairs are being read.
        """
        if self._progress is not None or not self._loading.acquire(blocking=False):
            raise RequestError(409, "pairs are being read already: wait for their end")
        try:
            yield
        finally:
            self._loading.release()

    def settle(self) -> None:
        """Find the pairs of which something is said where they are now; those that were pasted come back."""
        self.store.count_words()
        with self._editing:
            for name in self._pending:
                self._claim_all(name, moved=True)

    def paste(self, source: Any, target: Any) -> dict[str, Any]:
        """Return one pair with its links and their reasons, and keep it."""
        with self._scoring:
            found = explained(self._aligner(), source, target)
        (pair,) = found["pairs"]
        subject = Subject("own", 1, pair["source"], pair["target"])
        with self._editing:
            number = self._place(subject.key)
            if number is None:
                number = self._own(subject)
            with self.store.reading() as connection:
                (pair["number"],) = connection.execute(
                    "SELECT number FROM pair WHERE id = ?", (number,)
                ).fetchone()
            links = [link[:3] for link in pair["links"]]
            row = NewLinks(number, *_sides(subject), links, pair["score"])
            self.store.put_links(self._linking_run(), [row])
        found["id"] = pair["id"] = number
        return found

    def found(self, wanted: queries.Selection) -> np.ndarray:
        """Return the pairs that are looked for, in order."""
        with self.store.reading() as connection:
            return self._finder.find(connection, wanted)

    def pair(self, pair: int, run: int, other: int | None) -> dict[str, Any]:
        """Return all there is to show of a pair."""
        self._linked(run, pair)
        with self.store.reading() as connection:
            row = queries.whole_pair(connection, pair, run, other)
        if row is None:
            raise RequestError(404, f"there is no pair {pair}")
        aligner = self.linker.aligner(run)
        reasons = {}
        if aligner is not None and not aligner.untrained and row["links"]:
            longest = max(len(row["source"]), len(row["target"]))
            if longest <= MOST_TOKENS:
                with self._scoring:
                    reasons = reasons_of(aligner.explain(row["source"], row["target"]))
        links = [Link(source, target, True, trust) for source, target, trust in row["links"]]
        gold = row["gold"]
        found = as_json(
            [
                ShownPair(
                    *(row["kind"], row["number"], row["source"], row["target"], links),
                    gold=None if gold is None else [Link(j, k, bool(sure)) for j, k, sure in gold],
                    part=row["part"],
                    score=row["score"],
                    reasons=reasons,
                )
            ],
            contributions=_REASONS,
        )
        found["pair"] = found.pop("pairs")[0] | {"id": pair}
        found["annotation"] = self.annotation(pair)
        for name in ("other", "before"):
            if row[name] is not None:
                found[name] = row[name]
        return found

    def why(self, pair: int, run: int, source: int, target: int) -> dict[str, Any]:
        """Return why two words of a pair are linked by a run, or are not.

        Raises
        ------
        InputError
            If there are no such words.
        """
        subject = self._subject(pair)
        aligner = self.linker.aligner(run)
        if aligner is None:
            raise RequestError(409, "links of a file have no reasons: choose the run of a model")
        if max(map(len, _sides(subject))) > MOST_TOKENS:
            raise RequestError(409, f"reasons are told of pairs of at most {MOST_TOKENS} words a side")
        with self._scoring:
            return why(aligner, *_sides(subject), source, target)

    def table(self, run: int) -> Table | None:
        """Return what looks words up in the table of a run's model, None where it has none."""
        aligner = self.linker.aligner(run)
        if aligner is None or aligner.untrained:
            return None
        resources = aligner.model.resources
        if resources.lexicon is None:
            return None
        return Translations(resources.lexicon, resources.source_vocabulary, resources.target_vocabulary).of

    def next_to_do(self, order: str, after: int | None) -> int | None:
        """Return the next pair of the queue that nothing is said of, None where there is none.

        Nor is anything said of another pair of the same words: it would teach nothing more.
        """
        ids = self.found(queries.Selection(self.current, (), order))
        with self.store.reading() as connection:
            said = [
                pair
                for (pair,) in connection.execute(
                    "SELECT id FROM pair WHERE digest IN (SELECT digest FROM annotation JOIN pair"
                    " ON pair.id = annotation.pair WHERE annotator = ?)",
                    (self.store.annotator,),
                )
            ]
        start = 0
        if after is not None:
            (places,) = np.nonzero(ids == after)
            start = int(places[0]) + 1 if len(places) else 0
        turned = np.concatenate([ids[start:], ids[:start]])
        left = turned[~np.isin(turned, said)]
        left = left[left != (-1 if after is None else after)]
        return int(left[0]) if len(left) else None

    # Corrections

    def annotation(self, pair: int) -> dict[str, Any] | None:
        """Return what the annotator has said of a pair, None for nothing."""
        return self._told(self.annotations.state(self._subject(pair).key))

    def edit(
        self,
        pair: int,
        *,
        changes: Sequence[tuple[int, int, str]] = (),
        done: bool | None = None,
        clear: bool = False,
        run: int | None = None,
    ) -> dict[str, Any] | None:
        """Correct a pair; return what is said of it then. It is kept when this returns.

        ``run`` is the one whose links are looked at, which the first correction begins with where there is
        no gold; the current one where not given.

        Raises
        ------
        RequestError
            If there is no such pair, or a change is of none of its cells.
        WorkError
            If it cannot be written. Of it, as of any other fault, nothing is kept then.
        """
        with self._editing:
            subject = self._subject(pair)
            for source, target, _ in changes:
                if source >= len(subject.source) or target >= len(subject.target):
                    raise RequestError(
                        400,
                        f"link {source}-{target} lies outside the pair of {len(subject.source)} and "
                        f"{len(subject.target)} words",
                    )
            state = self.annotations.state(subject.key)
            if clear:
                after = NOTHING
            else:
                links = state.links
                if links is None:
                    links = self._shown(pair, self.current if run is None else run)
                after = State(edited(links, changes), state.done if done is None else done)
            if after != state:
                self.annotations.change(subject, after, lambda key, state: self._put(pair, state))
                self._places[subject.key], self._known[pair] = pair, subject
            return self._told(after)

    def step(self, *, back: bool) -> dict[str, Any]:
        """Undo the annotator's last change, or make the last one again that was undone."""
        with self._editing:
            move = self.annotations.undo if back else self.annotations.redo
            key = move(lambda key, state: self._put(self._place(key), state))
            if key is None:
                raise RequestError(409, f"there is nothing to {'undo' if back else 'redo'}")
            return {"id": self._place(key), "annotation": self._told(self.annotations.state(key))}

    def set_annotator(self, name: str) -> None:
        """Let another annotator correct.

        Raises
        ------
        InputError
            If the name is none, or another server keeps that annotator's corrections.
        """
        check_name(name)
        with self._editing:
            before = self.annotations
            if name == before.name:
                return
            if name not in self._opened:
                self.catch_up(name)
                self._opened[name] = Annotations(self.folder, name, on_note=self._on_note)
                try:
                    self._await(name)
                    self._claim_all(name, moved=self._progress is None)
                except BaseException:
                    self._opened.pop(name).close()
                    raise
            self.store.set_annotator(name)
            self.annotations = self._opened[name]
            if not before.said:  # a slip of the pen, maybe: nothing is to be left of that name
                self._opened.pop(before.name).close()
                self._pending.pop(before.name, None)
        self._offer_kept(name)  # the loading of models keeps nobody from correcting

    def catch_up(self, name: str) -> None:
        """Take in what an annotator has said since at another server that keeps the same folder.

        Raises
        ------
        InputError
            If that journal is damaged before its last line.
        """
        if self.folder is None or name in self._opened:
            return
        with self._editing:
            size = journal_size(self.folder, name)
            read, before = self._read_so_far.get(name, (0, {}))
            if size == read:
                return
            left = self._pending.get(name, {})
            self._await(name)
            now = self._read_so_far[name][1]
            for key in before.keys() - now.keys():
                pair = self._place(key)
                if pair is not None:
                    self.store.set_annotation(name, pair, None)
            # Of the others, those whose pairs may still come.
            self._pending[name] = {
                key: row for key, row in now.items() if before.get(key) != row or key in left
            }
            self._claim_all(name, moved=self._progress is None)

    def annotators(self) -> list[str]:
        """Return the names of all who have corrected something, or do."""
        return sorted({*self._opened, *annotators_of(self.folder)})

    # What is told

    def told(self) -> dict[str, Any]:
        """Return what the page needs to know of the desk."""
        return {
            "pairs": self.pair_count(),
            "annotators": self.annotators(),
            "annotator": self.annotations.name,
            "folder": None if self.folder is None else str(self.folder),
            "runs": self.runs(),
            "current": self.current,
            "can_learn": self.can_learn(),
        }

    def status(self) -> dict[str, Any]:
        """Return what goes on."""
        return {
            "pairs": self.pair_count(),
            "linked": self.linked_count(self.current),
            "reading": None if self._progress is None else dict(self._progress),
            "learning": self.learning.told["state"],
            "current": self.current,
            "undo": self.annotations.undo_count,
            "redo": self.annotations.redo_count,
            "trouble": self.annotations.trouble or self.trouble or self.linker.trouble,
        }

    def pair_count(self) -> int:
        """Return how many pairs there are."""
        with self.store.reading() as connection:
            return pair_count(connection)

    def linked_count(self, run: int) -> int:
        """Return how many pairs a run has linked."""
        with self.store.reading() as connection:
            return int(connection.execute("SELECT linked FROM run WHERE id = ?", (run,)).fetchone()[0])

    def said_count(self) -> dict[str, int]:
        """Return the ``pairs`` of which the annotator has said something, and those only ``begun``."""
        said = self.annotations.all()
        return {"pairs": len(said), "begun": sum(not state.done for _, state in said)}

    def changed_count(self, run: int) -> int:
        """Return how many pairs have other links than in the run it was learnt from."""
        with self.store.reading() as connection:
            return int(
                connection.execute(
                    "SELECT COUNT(*) FROM links WHERE run = ? AND changed > 0", (run,)
                ).fetchone()[0]
            )

    # Inside

    def _linking_run(self) -> int:
        """Return the run of the model that links what is pasted: the current one, else the first."""
        return self.current if self.linker.aligner(self.current) is not None else 0

    def _aligner(self) -> Aligner:
        aligner = self.linker.aligner(self._linking_run())
        assert aligner is not None
        return aligner

    def _read(self, blocks: Iterator[reading.Block], runs: Sequence[int]) -> int:
        """Take in all pairs of a text; return how many."""
        self.linker.wake(reading=True)
        count = 0
        try:
            for block in blocks:
                self._take(block, runs)
                count += len(block.pairs)
                if self.ended:
                    return count
            self.settle()
        finally:
            self.linker.wake()
        return count

    def _take(self, block: reading.Block, runs: Sequence[int]) -> None:
        ids = self.store.add_pairs(block.pairs)
        for run, of_run in zip(runs, block.others, strict=True):
            self.store.put_links(
                run,
                [
                    NewLinks(number, pair.source, pair.target, links)
                    for number, pair, links in zip(ids, block.pairs, of_run, strict=True)
                ],
            )
        with self._editing:
            for number, pair in zip(ids, block.pairs, strict=True) if any(self._pending.values()) else ():
                key = Subject(pair.kind, pair.number, pair.source, pair.target).key
                for name, pending in self._pending.items():
                    if key in pending:
                        self._claim(name, pending[key][0], number, pending[key][1])
        if self._progress is not None:
            self._progress["done"] = (self._progress["done"] or 0) + len(ids)
        self.linker.wake(reading=True)

    def _await(self, name: str) -> None:
        """Take in what an annotator has said before, to be found among the pairs."""
        opened = self._opened.get(name)
        size = 0
        if opened is not None:
            rows = opened.all()
        elif self.folder is not None:
            size = journal_size(self.folder, name)  # first: what comes meanwhile is read the next time
            rows = read_annotations(self.folder, name)
        else:
            rows = []
        self._pending[name] = {subject.key: (subject, state) for subject, state in rows}
        self._read_so_far[name] = size, dict(self._pending[name])

    def _claim_all(self, name: str, *, moved: bool) -> None:
        """Take those pairs that are here for the ones of which an annotator has said something.

        ``moved``: also where they are at another place of their file, which is read to its end.
        """
        for key, (subject, state) in list(self._pending[name].items()):
            pair = self._place(key)
            if pair is None and subject.kind == "own":
                pair = self._own(subject)
            elif pair is None and moved:
                pair = self._moved(key)
            if pair is not None:
                self._claim(name, subject, pair, state)

    def _claim(self, name: str, subject: Subject, pair: int, state: State) -> None:
        """Take a pair for the one of which something was said."""
        self._pending[name].pop(subject.key, None)
        self._places[subject.key], self._known[pair] = pair, subject
        if name in self._opened:  # something else may have been said since the start, or it was undone
            state = self._opened[name].state(subject.key)
        self.store.set_annotation(name, pair, state.links, done=state.done)

    def _place(self, key: Key) -> int | None:
        """Return the pair of a key, None where it is not here."""
        if key in self._places:
            return self._places[key]
        with self.store.reading() as connection:
            row = connection.execute(
                "SELECT id FROM pair WHERE digest = ?"
                " AND CASE WHEN kind = 'own' THEN ? = 0 ELSE number = ? END",
                (*key, key[1]),
            ).fetchone()
        return None if row is None else int(row[0])

    def _moved(self, key: Key) -> int | None:
        """Return a pair of the same tokens that is at another place of its file."""
        with self.store.reading() as connection:
            rows = connection.execute(
                "SELECT id FROM pair WHERE digest = ? ORDER BY id", (key[0],)
            ).fetchall()
        free = (pair for (pair,) in rows if pair not in self._known or self._known[pair].key == key)
        return next(free, None)

    def _own(self, subject: Subject) -> int:
        """Keep a pair that was pasted; return its number here."""
        with self.store.writing() as connection:
            (last,) = connection.execute(
                "SELECT COALESCE(MAX(number), 0) FROM pair WHERE kind = 'own'"
            ).fetchone()
            (number,) = self.store.add_pairs([NewPair("own", last + 1, *_sides(subject))])
        self._places[subject.key] = number
        self.linker.wake(reading=self._progress is not None)
        return number

    def _subject(self, pair: int) -> Subject:
        """Return what a pair is known by."""
        if pair in self._known:
            return self._known[pair]
        with self.store.reading() as connection:
            row = connection.execute("SELECT kind, number FROM pair WHERE id = ?", (pair,)).fetchone()
            tokens = tokens_of(connection, pair)
        if row is None or tokens is None:
            raise RequestError(404, f"there is no pair {pair}")
        kind, number = row
        return Subject(kind, number, *tokens)

    def _shown(self, pair: int, run: int) -> list[list[int]]:
        """Return the links that correcting a pair begins with: its gold, else those of a run."""
        self._linked(run, pair)
        with self.store.reading() as connection:
            row = queries.whole_pair(connection, pair, run, None)
        assert row is not None
        if row["gold"] is not None:
            return [list(link) for link in row["gold"]]
        return [[source, target, 1] for source, target, _ in row["links"]]

    def _linked(self, run: int, pair: int) -> None:
        """See to it that a pair has links of a run."""
        with self.store.reading() as connection:
            there = connection.execute(
                "SELECT 1 FROM links WHERE run = ? AND pair = ?", (run, pair)
            ).fetchone()
        if there is None:
            self.linker.link_now(run, pair)

    def _put(self, pair: int | None, state: State) -> None:
        """Put what the annotator says of a pair into the store, where that pair is here."""
        if pair is not None:
            self.store.set_annotation(self.annotations.name, pair, state.links, done=state.done)

    def _told(self, state: State) -> dict[str, Any] | None:
        if state.links is None:
            return None
        return {
            "links": state.links,
            "done": state.done,
            "undo": self.annotations.undo_count,
            "redo": self.annotations.redo_count,
        }


def explained(aligner: Aligner, source: Any, target: Any) -> dict[str, Any]:
    """Return one pair with its links and their reasons, as the page's scripts read it.

    Raises
    ------
    InputError
        If a sentence has more than `MOST_TOKENS` tokens.
    """
    for side, tokens in zip(("source", "target"), aligner.tokens(source, target), strict=True):
        count = max(len(tokens.surface), len(tokens.analysis))
        if count > MOST_TOKENS:
            raise InputError(f"{side} has {count} words; at most {MOST_TOKENS} can be shown, so split it")
    explanation = aligner.explain(source, target)
    (score,) = aligner.align_tokens([aligner.tokens(source, target)]).sentence_scores().tolist()
    links = [Link(link["source"], link["target"]) for link in explanation["links"]]
    sides = explanation["source"], explanation["target"]
    pair = ShownPair("own", 1, *sides, links, score=score, reasons=reasons_of(explanation))
    return as_json([pair], contributions=_REASONS)


def _sides(subject: Subject) -> tuple[Sequence[str], Sequence[str]]:
    return subject.source, subject.target
