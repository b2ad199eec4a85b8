"""Stage ``align``: links of the whole corpus, features made on the fly, in memory that hardly grows.

Leaves, line N for input line N:

* ``links.txt``: links between the tokens of ``source.txt`` and ``target.txt`` (Pharaoh, 0-based); an empty
  line where a pair has none or was rejected;
* ``scores.txt``: the score of the pair in [0, 1] (:class:`align.model.alignments.Alignments`), empty where it
  was rejected;
* ``links.parquet``: one row a link: line (from 1), source and target token (from 0), the two words, score,
  confidence.

The parts of a pair that was split are put together again. Gold pairs are no lines of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from align.core.arrays import load_array, load_rows
from align.core.files import copy_file
from align.core.ragged import SIDES
from pipeline.config.options import FINITE, at_least
from pipeline.stages.align.block import AlignedBlock, LineBlock, align_lines, model_fingerprint
from pipeline.stages.align.links_table import write_table
from pipeline.stages.lexicon.places import CORPUS, POSTERIORS
from pipeline.work import budget
from pipeline.work.journal import Journal
from pipeline.work.manifest import made_of
from pipeline.work.memory_release import give_back
from pipeline.work.resources import resident_memory, show_size
from pipeline.work.stage import StageContext

LINKS, SCORES, TABLE = "links.txt", "scores.txt", "links.parquet"

# The rows of the table until there is a table.
_ROWS = "links.rows"

# Possible links of a block, above which it has fewer pairs: its memory is about 40 bytes for each.
_EDGES_A_BLOCK = 500_000

# A quarter of the time the interpreter is locked: more threads than these would only wait for each other.
_MOST_THREADS = 4


@dataclass
class _Done:
    """How far the work is, and its figures so far."""

    blocks: int = 0
    lines: int = 0
    pairs: int = 0
    links: int = 0
    empty: int = 0
    total: float = 0.0

    def add(self, block: LineBlock, found: AlignedBlock) -> None:
        self.blocks, self.lines = self.blocks + 1, block.last
        self.pairs, self.links = self.pairs + found.pairs, self.links + len(found.table)
        self.empty, self.total = self.empty + found.empty, self.total + found.total


def run(
    context: StageContext,
    *,
    block: Annotated[int, at_least(1)] = 1000,
    bias: Annotated[float, FINITE] = 0.0,
    confidences: bool = False,
) -> None:
    """Link the words of every pair of the corpus.

    Parameters
    ----------
    block : int
        Pairs that a worker is given at a time, >= 1.
    bias : float
        Added to the score of every possible link: above 0 there are more links and fewer of them are right,
        below 0 fewer and better ones.
    confidences : bool
        Whether links.txt tells the confidence of each link (0-0:0.93).
    """
    preprocess, model, lexicon = (context.inputs[name] for name in ("preprocess", "train", "lexicon"))
    fingerprint = model_fingerprint(model)
    sampled = lexicon / POSTERIORS / CORPUS
    posteriors = str(sampled) if sampled.is_dir() else ""
    blocks = [
        LineBlock(str(preprocess), str(model), fingerprint, posteriors, *piece, bias, confidences)
        for piece in _pieces(preprocess, block)
    ]
    made = made_of([preprocess, model, lexicon])
    with _journal(context.folder, blocks, made) as journal:
        done = _align(context, blocks, journal)
        give_back()  # the table is made without the model
        texts = {side: context.folder / f"{side}.txt" for side in SIDES}
        for side, text in texts.items():
            copy_file(preprocess / f"{side}.txt", text)
        write_table(context.folder / _ROWS, context.folder / TABLE, done.links, texts)
        journal.remove()
    (context.folder / _ROWS).unlink()
    mean = done.total / done.pairs if done.pairs else None
    context.notes |= {
        "pairs": done.pairs,
        "links": done.links,
        "pairs_without_links": done.empty,
        "mean_score": mean,
    }
    shown = "n/a (0 pairs)" if mean is None else f"{mean:.3f}"
    context.say(
        f"{done.links} links in {done.pairs} pairs, {done.empty} of them without any; mean score {shown}"
    )


def _journal(folder: Path, blocks: Sequence[LineBlock], made: str) -> Journal:
    """Return the files of results, as far as a killed run left them whole.

    ``made`` tells apart what was made at different times in the same folders: with more ``--memory``, which
    is in no fingerprint, tables and posteriors are others, though weights may be the same.
    """
    lines, model = (blocks[-1].last, blocks[-1].fingerprint) if blocks else (0, None)
    work = f"align {lines} lines in {len(blocks)} blocks by model {model}, inputs {made}"
    return Journal(folder, (LINKS, SCORES, _ROWS), work)


def _align(context: StageContext, blocks: Sequence[LineBlock], journal: Journal) -> _Done:
    """Do what is left of the blocks and append the results to the files, in order."""
    done = _Done(**(journal.state or {}))
    if journal.damaged:
        context.say("the links of an earlier run cannot be read whole; they are made anew")
    if done.blocks:
        context.say(f"going on after line {done.lines} of {blocks[-1].last}")
    rest = blocks[done.blocks :]
    found = context.map(align_lines, rest, threads=_threads(context, rest))
    for block, each in zip(rest, found, strict=True):
        journal.write(LINKS, each.links)
        journal.write(SCORES, each.scores.encode("ascii"))
        journal.write(_ROWS, each.table.tobytes())
        done.add(block, each)
        journal.keep(asdict(done))
    journal.commit(asdict(done))
    return done


def _pieces(preprocess: Path, block: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut the corpus where a line ends, about ``block`` parts at a time; all lines are in some piece.

    Yields the first and the last part, the first and the last line of each.
    """
    lines = load_array(preprocess / "lines.npy", mapped=True)
    count = len(load_array(preprocess / "source.spans.offsets.npy", mapped=True)) - 1
    start = first = 0
    while first < count:
        stop = min(start + block, len(lines))
        if stop > start:
            stop = start + _within(preprocess / "corpus", start, stop)
            # A line's parts stay together.
            stop = int(np.searchsorted(lines, lines[stop - 1], side="right"))
        last = int(lines[stop]) if stop < len(lines) else count
        yield start, stop, first, last
        start, first = stop, last


def _within(corpus: Path, start: int, stop: int) -> int:
    """Return how many of the parts, at least one, have no more possible links than a block may have."""
    source, target = (np.diff(load_rows(corpus / f"{side}.offsets.npy", start, stop + 1)) for side in SIDES)
    return max(1, int(np.searchsorted(np.cumsum(source * target), _EDGES_A_BLOCK, side="right")))


def _threads(context: StageContext, blocks: Sequence[LineBlock]) -> int:
    """Return how many threads of this process are to do the work; 0: worker processes.

    A process loads libraries, kernels and the model for itself, so that a few threads are better. Results
    do not depend on it.
    """
    if context.jobs == 1 or not blocks or context.engine.remote:
        return 1
    lists = (Path(blocks[0].model) / f"{side}.vocabulary.tsv" for side in SIDES)
    words = budget.ALIGN_WORDS * sum(path.stat().st_size for path in lists)
    process = budget.ALIGN_PROCESS + words + budget.ALIGN_BLOCK
    if context.jobs > _MOST_THREADS and resident_memory() + context.jobs * process <= context.memory:
        return 0
    room = context.memory - max(resident_memory(), budget.ALIGN_PROCESS) - words
    fitting = max(1, min(context.jobs, room // budget.ALIGN_BLOCK))
    if fitting < context.jobs:
        context.say(
            f"{fitting} of {context.jobs} jobs: more do not go into --memory {show_size(context.memory)}"
        )
    return fitting
