"""Counting and Model 1 of the stage ``lexicon`` on a cluster: pieces of work, and the files they share.

A map-reduce of the walks of :mod:`align.statistics.cooccurrence` and :mod:`align.statistics.model1`. The
pieces are runs of source words and runs of sentences; each reads files, and writes a folder of its own, which
is made aside and renamed when whole, so that a piece that is done again does no harm. Between two walks all
pieces have to be there. What they leave is put together by the command, piece after piece in one order: the
same bytes as those of threads, whatever the runs are.

Files of one attempt, in a folder of its own:

- ``index/``: inverted index and bags; ``words.npy`` and ``sentences.npy``: where the runs begin
- ``sizes/RUN/``: how many cells each source word has
- ``cells/RUN/``: the cells, their Dice coefficients, and what is known beforehand
- ``ROUND/all/``: what the command adds up; ``ROUND/words/RUN/``, ``ROUND/sentences/RUN/``: the walks
- ``kept/RUN/``: the finished tables of a run of source words
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from align.core.arrays import ArrayAppender, load_array, save_array
from align.core.ragged import offsets_of
from align.data.corpus import Corpus
from align.statistics import cooccurrence, lexicon, lexicon_kernels, model1
from align.statistics.cooccurrence import Bags, Cooccurrence, Postings, cut
from align.statistics.lexicon import Lexicon
from align.statistics.model1_runs import (
    Cells,
    Counts,
    Round,
    add_denominators,
    begin_denominators,
    expect_run,
)
from pipeline.work.kept import written_whole
from pipeline.work.stage import StageContext

# Steps of finding cells (a source word beside a target word) in a run of source words: less than a second.
_RUN_STEPS = 20_000_000

# Runs of sentences at most: each of them reads the cells of all source words.
_SENTENCE_RUNS = 32


# What a run of words has of its own in the finished tables.
_KEPT = ("offsets", "targets", "dice", "forward", "reverse")


@dataclass(frozen=True)
class RangeItem:
    """A piece of work.

    Attributes
    ----------
    work : str
        The folder of the attempt.
    run : int
        The number of the run of source words, or of sentences.
    n_target : int
        Size of the target vocabulary.
    round : int
        The round of EM, from 1, where it is one of a round.
    smoothing : tuple of float
        As of :class:`~align.statistics.model1_runs.Round`.
    known : bool
        Whether there is a prior.
    weight : float
        What an occurrence in its text counts.
    min_probability : float
        As of :func:`align.statistics.lexicon.prune`.
    """

    work: str
    run: int
    n_target: int
    round: int = 0
    smoothing: tuple[float, float] = (0.0, 0.0)
    known: bool = False
    weight: float = 1.0
    min_probability: float = 0.0

    @property
    def folder(self) -> Path:
        """The folder of the attempt."""
        return Path(self.work)

    def span(self, what: str) -> tuple[int, int]:
        """Return where the run begins and ends; ``what`` is ``words`` or ``sentences``."""
        edges = load_array(self.folder / f"{what}.npy")
        return int(edges[self.run]), int(edges[self.run + 1])


def count_words(item: RangeItem) -> None:
    """Count the cells of the words of a run."""
    source, target = _load_index(item.folder)
    sizes = cooccurrence.count_run(source.part(*item.span("words")), target, item.n_target)
    _save(item.folder / "sizes" / str(item.run), sizes=sizes)


def fill_words(item: RangeItem) -> None:
    """Write the cells of the words of a run, and the tables that EM begins with."""
    first, last = item.span("words")
    folder = item.folder
    source, target = _load_index(folder)
    rows = offsets_of(load_array(folder / "sizes" / str(item.run) / "sizes.npy"))
    targets, joint = np.empty(rows[-1], dtype=np.int32), np.empty(rows[-1], dtype=np.float32)
    cooccurrence.fill_run(source.part(first, last), target, item.n_target, rows, (targets, joint))
    counts = load_array(folder / "counts" / "source.npy"), load_array(folder / "counts" / "target.npy")
    prior = Lexicon.load(folder / "prior", mapped=True).words(first, last) if item.known else None
    rows, targets, dice, known = lexicon.begin(
        rows, targets, joint, counts[0][first:last], counts[1], prior, item.weight
    )
    cells = Cells.begin(rows, targets, len(counts[0]), len(counts[1]), known)
    further = {} if known is None else {"known_forward": known.forward, "known_reverse": known.reverse}
    _save(folder / "cells" / str(item.run), rows=rows, targets=targets, dice=dice, **further)
    _save(folder / "0" / "words" / str(item.run), forward=cells.forward, reverse=cells.reverse)


def divide_sentences(item: RangeItem) -> None:
    """Write den of the entries of a run of sentences."""
    first, last = item.span("sentences")
    source, target = _load_index(item.folder)
    own = target.part(first, last)
    den = np.empty(len(own.words), dtype=np.float32)
    begin_denominators(own, load_array(item.folder / str(item.round) / "all" / "null_forward.npy"), den)
    row = np.zeros(item.n_target, dtype=np.float32)
    edges = load_array(item.folder / "words.npy").tolist()
    for run in range(len(edges) - 1):
        cells = _load_cells(replace(item, run=run, known=False), item.round - 1, mapped=True)
        add_denominators(source.part(edges[run], edges[run + 1]), own, first, cells, den, row)
    _save(item.folder / str(item.round) / "sentences" / str(item.run), den=den)


def expect_words(item: RangeItem) -> None:
    """Write the next tables of the words of a run."""
    first, last = item.span("words")
    source, target = _load_index(item.folder)
    cells = _load_cells(item, item.round - 1)
    whole = item.folder / str(item.round) / "all"
    ratio, scale, null_reverse = (
        load_array(whole / f"{name}.npy", mapped=True) for name in ("ratio", "scale", "null_reverse")
    )
    null_counts, likelihood = expect_run(
        source.part(first, last), target, cells, Round(ratio, scale, null_reverse, item.smoothing), first
    )
    _save(
        item.folder / str(item.round) / "words" / str(item.run),
        forward=cells.forward,
        reverse=cells.reverse,
        null_counts=null_counts,
        likelihood=likelihood,
    )


def keep_words(item: RangeItem) -> None:
    """Write the finished tables of the words of a run, without the cells that are dropped."""
    first, last = item.span("words")
    folder = item.folder
    cells = _load_cells(replace(item, known=False), item.round)
    lexicon_kernels.scale_columns(cells.targets, cells.reverse, load_array(folder / "kept.all" / "scale.npy"))
    null = [load_array(folder / "kept.all" / f"null_{name}.npy") for name in ("forward", "reverse")]
    counts = load_array(folder / "counts" / "source.npy"), load_array(folder / "counts" / "target.npy")
    kept = lexicon.prune(
        Lexicon(
            *(cells.rows, cells.targets, load_array(folder / "cells" / str(item.run) / "dice.npy")),
            *(cells.forward, cells.reverse, null[0], null[1][first:last], counts[0][first:last], counts[1]),
        ),
        item.min_probability,
    )
    _save(folder / "kept" / str(item.run), **{name: getattr(kept, name) for name in _KEPT})


def _load_index(work: Path) -> tuple[Postings, Bags]:
    """Return index and bags, which stay on the disk."""

    def read(name: str) -> np.ndarray:
        return load_array(work / "index" / f"{name}.npy", mapped=True)

    return (
        Postings(read("source.offsets"), read("source.sentences"), read("source.repeats")),
        Bags(read("target.words"), read("target.repeats"), read("target.offsets")),
    )


def _load_cells(item: RangeItem, number: int, *, mapped: bool = False) -> Cells:
    """Return the cells of a run of source words as a round left them, to be changed if not ``mapped``."""
    own, tables = (item.folder / name / str(item.run) for name in ("cells", f"{number}/words"))
    known = (
        Counts(*(load_array(own / f"known_{name}.npy", mapped=mapped) for name in ("forward", "reverse")))
        if item.known
        else None
    )
    rows, targets = (load_array(own / f"{name}.npy", mapped=mapped) for name in ("rows", "targets"))
    forward, reverse = (load_array(tables / f"{name}.npy", mapped=mapped) for name in ("forward", "reverse"))
    return Cells(rows, targets, forward, reverse, known)


def _save(folder: Path, **arrays: np.ndarray) -> None:
    """Write arrays into a folder that is there whole or not at all."""
    with written_whole(folder, kept=False) as aside:
        for name, values in arrays.items():
            save_array(aside / f"{name}.npy", values)


def _remove(folder: Path) -> None:
    """Remove a folder; what a network disk keeps because it is still open goes with the whole work."""
    shutil.rmtree(folder, ignore_errors=True)


class RemoteTables:
    """Does what ``index`` and ``estimate`` do, on a cluster.

    Parameters
    ----------
    context : StageContext
        That of the stage ``lexicon``.
    folder : Path
        Where the files are to be, on the shared disk; what is there is removed.
    """

    def __init__(self, context: StageContext, folder: Path) -> None:
        self._context, self._folder = context, folder
        self._work = folder

    def index(
        self,
        parts: Sequence[Corpus],
        n_source: int,
        n_target: int,
        *,
        used: np.ndarray | None = None,
        jobs: int = 1,
    ) -> Cooccurrence:
        """Index a bitext and count the cells of its table; text and index stay on the disk."""
        # Another name for each attempt: what a lost worker may still write can get into no other one.
        _remove(self._folder)
        self._work = self._folder / uuid.uuid4().hex
        self._work.mkdir(parents=True)
        text = cooccurrence.read(parts, n_source, n_target, used=used)
        work = text.work()
        ranges = cut(work, 1 + int(work[-1]) // _RUN_STEPS) or ((0, 0),)  # without words: an empty run
        self._save_index(text, ranges)
        counts = text.source_counts, text.target_counts
        del text
        self._map(count_words, self._items(n_target, len(ranges)))
        sizes = [load_array(self._work / "sizes" / str(run) / "sizes.npy") for run in range(len(ranges))]
        mapped = cooccurrence.Text(*_load_index(self._work), *counts)
        return mapped.counted(np.concatenate(sizes), ranges, jobs)

    def estimate(
        self,
        together: Cooccurrence,
        n_source: int,
        n_target: int,
        *,
        iterations: int,
        smoothing: float,
        min_probability: float,
        prior: Lexicon | None = None,
        prior_weight: float,
        on_iteration: Callable[[int, float, float], None] | None = None,
    ) -> Lexicon:
        """Estimate Dice and Model 1 over the index that :meth:`index` returned last."""
        counts = lexicon.counts_with(together, prior, prior_weight)
        _save(self._work / "counts", source=counts[0], target=counts[1])
        if prior is not None:
            with written_whole(self._work / "prior", kept=False) as aside:
                prior.save(aside)
        items = self._items(
            n_target, len(together.ranges), known=prior is not None, weight=float(prior_weight)
        )
        self._map(fill_words, items)
        walks = _Files(self._work, items, self._map)
        words = model1.learn(
            walks,
            n_source,
            n_target,
            choices=model1.log_choices(together),
            iterations=iterations,
            smoothing=smoothing,
            on_iteration=on_iteration,
        )
        _save(self._work / "kept.all", **vars(words))
        self._map(
            keep_words, [replace(item, round=iterations, min_probability=min_probability) for item in items]
        )
        runs = [
            Lexicon(
                **{
                    name: load_array(self._work / "kept" / str(run) / f"{name}.npy", mapped=True)
                    for name in _KEPT
                },
                null_forward=words.null_forward,
                null_reverse=words.null_reverse[first:last],
                source_counts=counts[0][first:last],
                target_counts=counts[1],
            )
            for run, (first, last) in enumerate(together.ranges)
        ]
        return Lexicon.join(runs)

    def clear(self) -> None:
        """Remove all files; the index that was returned is of no use any more."""
        _remove(self._folder)

    def _save_index(self, text: cooccurrence.Text, ranges: tuple[tuple[int, int], ...]) -> None:
        _save(
            self._work / "index",
            **{f"source.{name}": values for name, values in vars(text.source).items()},
            **{f"target.{name}": values for name, values in vars(text.target).items()},
        )
        sentences = cut(text.target.offsets, min(len(ranges), _SENTENCE_RUNS))
        for name, runs in (("words", ranges), ("sentences", sentences)):
            edges = np.array([0, *(last for _, last in runs)], dtype=np.int64)
            save_array(self._work / f"{name}.npy", edges)

    def _items(
        self, n_target: int, count: int, *, known: bool = False, weight: float = 1.0
    ) -> list[RangeItem]:
        item = RangeItem(str(self._work), 0, n_target, known=known, weight=weight)
        return [replace(item, run=run) for run in range(count)]

    def _map(self, function: Callable[[RangeItem], None], items: Sequence[RangeItem]) -> None:
        """Have all items done."""
        for _ in self._context.engine.map(function, items):
            pass


class _Files:
    """The walks of Model 1 as files and items (:class:`align.statistics.model1.Walks`)."""

    def __init__(
        self,
        work: Path,
        items: list[RangeItem],
        done: Callable[[Callable[[RangeItem], None], Sequence[RangeItem]], None],
    ) -> None:
        self._work, self._items, self._map = work, items, done
        self._round = 0  # that of the tables there are

    def divide(self, null: np.ndarray, count: Callable[[np.ndarray, np.ndarray, np.ndarray], None]) -> None:
        here = self._work / str(self._round + 1)
        (here / "all").mkdir(parents=True)
        save_array(here / "all" / "null_forward.npy", null)
        edges = load_array(self._work / "sentences.npy").tolist()
        runs = range(len(edges) - 1)
        item = replace(self._items[0], round=self._round + 1)
        self._map(divide_sentences, [replace(item, run=run) for run in runs])
        _, target = _load_index(self._work)
        with ArrayAppender(here / "all" / "ratio.npy", np.float32) as out:
            for run in runs:
                own = target.part(edges[run], edges[run + 1])
                den = load_array(here / "sentences" / str(run) / "den.npy")
                count(own.words, own.repeats, den)
                out.append(den)

    def expect(
        self, scale: np.ndarray, null_reverse: np.ndarray, smoothing: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        here = self._work / str(self._round + 1)
        save_array(here / "all" / "scale.npy", scale)
        save_array(here / "all" / "null_reverse.npy", null_reverse)
        self._map(
            expect_words,
            [replace(item, round=self._round + 1, smoothing=smoothing) for item in self._items],
        )
        _remove(self._work / str(self._round))
        self._round += 1
        null_counts, likelihood = (
            np.concatenate(list(self._pieces(f"{self._round}/words", name)))
            for name in ("null_counts", "likelihood")
        )
        return null_counts, likelihood

    def columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return zip(
            self._pieces("cells", "targets"), self._pieces(f"{self._round}/words", "reverse"), strict=True
        )

    def known_columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]] | None:
        if not any(item.known for item in self._items):
            return None
        return zip(self._pieces("cells", "targets"), self._pieces("cells", "known_reverse"), strict=True)

    def _pieces(self, folder: str, name: str) -> Iterator[np.ndarray]:
        for item in self._items:
            yield load_array(self._work / folder / str(item.run) / f"{name}.npy", mapped=True)
