"""Stage ``align``: links of the whole corpus, features made on the fly, in memory that does not grow.

Leaves, line N for input line N:

* ``links.txt``: links between the tokens of ``source.txt`` and ``target.txt`` (Pharaoh, 0-based); an empty
  line where a pair has none or was rejected;
* ``scores.txt``: the score of the pair in [0, 1] (:class:`align.blocklinks.BlockLinks`), empty where it was
  rejected;
* ``links.parquet``: one row a link: line (from 1), source and target token (from 0), score, confidence.

The parts of a pair that was split are put together again. Gold pairs are no lines of the corpus.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, repeat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from align.aligner import Aligner
from align.arrays import load_array
from align.blocklinks import BlockLinks
from align.corpus import Corpus
from align.errors import InputError
from align.links import Link, format_pharaoh
from align.posteriors import Posteriors, load_if_there
from pipeline.config import Config
from pipeline.sampling import POSTERIORS
from pipeline.stage import StageContext

LINKS, SCORES, TABLE = "links.txt", "scores.txt", "links.parquet"
SIDES = ("source", "target")

# Rows of the table that are written together: its bytes must not depend on how the work was shared.
_ROWS_AT_A_TIME = 1 << 19

_SCHEMA = pa.schema(
    [
        pa.field("line", pa.int64(), nullable=False, metadata={"meaning": "input line, from 1"}),
        pa.field("source", pa.int32(), nullable=False, metadata={"meaning": "source token, from 0"}),
        pa.field("target", pa.int32(), nullable=False, metadata={"meaning": "target token, from 0"}),
        pa.field("score", pa.float32(), nullable=False, metadata={"meaning": "the model's score"}),
        pa.field("confidence", pa.float32(), nullable=False, metadata={"meaning": "probability to be right"}),
    ]
)


@dataclass(frozen=True)
class Task:
    """Whole lines with their parts: parts ``start`` to ``stop``, lines ``first`` to ``last`` (0-based)."""

    preprocess: str
    model: str
    lexicon: str
    start: int
    stop: int
    first: int
    last: int
    bias: float
    confidences: bool


@dataclass(frozen=True)
class Aligned:
    """The result of a task: lines of two files, and columns of the table."""

    links: str
    scores: str
    table: tuple[np.ndarray, ...]
    pairs: int
    empty: int
    total: float


def run(context: StageContext, *, block: int = 1000, bias: float = 0.0, confidences: bool = False) -> None:
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

    Raises
    ------
    InputError
        If an option is out of range.
    """
    _check_options(block, bias)
    preprocess, model, lexicon = (context.inputs[name] for name in ("preprocess", "train", "lexicon"))
    tasks = [
        Task(str(preprocess), str(model), str(lexicon), *piece, bias, confidences)
        for piece in _pieces(preprocess, block)
    ]
    pairs = empty = links = 0
    total = 0.0
    table = _Table(context.folder / TABLE)
    with (
        open(context.folder / LINKS, "w", encoding="utf-8", newline="\n") as links_out,
        open(context.folder / SCORES, "w", encoding="utf-8", newline="\n") as scores_out,
        table,
    ):
        for done in context.map(align_lines, tasks):
            links_out.write(done.links)
            scores_out.write(done.scores)
            table.add(done.table)
            pairs, empty, total = pairs + done.pairs, empty + done.empty, total + done.total
            links += len(done.table[0])
    for side in SIDES:
        _share(preprocess / f"{side}.txt", context.folder / f"{side}.txt")
    mean = total / pairs if pairs else None
    facts = {"pairs": pairs, "links": links, "pairs_without_links": empty, "mean_score": mean}
    for key, value in facts.items():
        context.note(key, value)
    shown = "n/a (0 pairs)" if mean is None else f"{mean:.3f}"
    context.say(f"{links} links in {pairs} pairs, {empty} of them without any; mean score {shown}")


def align_lines(task: Task) -> Aligned:
    """Align the parts of a run of lines, in any process."""
    aligner = _aligner(task.model)
    corpus, lines = _corpus(task.preprocess)
    own = lines[task.start : task.stop] - task.first
    count = task.last - task.first
    stored = _posteriors(task.lexicon)
    found = aligner.align_block(
        corpus.block(task.start, task.stop),
        bias=task.bias,
        posteriors=None if stored is None else stored.block(task.start, task.stop),
    ).merged(own, count)
    _check(found, task)
    used = np.zeros(count, dtype=bool)
    used[own] = True
    scores = found.sentence_scores()
    of_links = np.repeat(np.arange(task.first, task.last), np.diff(found.offsets))
    return Aligned(
        "".join(f"{line}\n" for line in link_lines(found, confidences=task.confidences)),
        "".join(
            f"{score:.4f}\n" if there else "\n"
            for score, there in zip(scores.tolist(), used.tolist(), strict=True)
        ),
        (
            of_links + 1,
            found.source,
            found.target,
            found.score.astype(np.float32),
            found.confidence.astype(np.float32),
        ),
        int(used.sum()),
        int((used & (np.diff(found.offsets) == 0)).sum()),
        float(scores[used].sum()),
    )


def link_lines(found: BlockLinks, *, confidences: bool) -> Iterator[str]:
    """Yield the links of each pair in the Pharaoh format."""
    ends = found.offsets.tolist()
    source, target = found.source.tolist(), found.target.tolist()
    if not confidences:
        texts = [f"{j}-{k}" for j, k in zip(source, target, strict=True)]
        for start, stop in pairwise(ends):
            yield " ".join(texts[start:stop])
        return
    links = [Link(*each) for each in zip(source, target, repeat(True), found.confidence.tolist())]
    for start, stop in pairwise(ends):
        yield format_pharaoh(links[start:stop], digits=4)


def _pieces(preprocess: Path, block: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut the corpus where a line ends, about ``block`` parts at a time; all lines are in some piece.

    Yields the first and the last part, the first and the last line of each.
    """
    lines = load_array(preprocess / "lines.npy")
    count = len(load_array(preprocess / "source.spans.offsets.npy")) - 1
    start = first = 0
    while first < count:
        stop = min(start + block, len(lines))
        # A line's parts stay together.
        stop = int(np.searchsorted(lines, lines[stop - 1], side="right")) if stop > start else stop
        last = int(lines[stop]) if stop < len(lines) else count
        yield start, stop, first, last
        start, first = stop, last


@lru_cache(maxsize=1)
def _aligner(model: str) -> Aligner:
    return Aligner.load(model)


@lru_cache(maxsize=1)
def _posteriors(lexicon: str) -> Posteriors | None:
    return load_if_there(Path(lexicon) / POSTERIORS / "corpus")


@lru_cache(maxsize=1)
def _corpus(preprocess: str) -> tuple[Corpus, np.ndarray]:
    folder = Path(preprocess)
    return Corpus.load(folder / "corpus"), load_array(folder / "lines.npy")


@lru_cache(maxsize=1)
def _tokens(preprocess: str) -> tuple[np.ndarray, ...]:
    """Return the number of surface tokens of every line, of each side."""
    return tuple(np.diff(load_array(Path(preprocess) / f"{side}.spans.offsets.npy")) for side in SIDES)


def check(config: Config) -> None:
    """Refuse wrong options before the first stage is run."""
    _check_options(config.option("align.block"), config.option("align.bias"))


def _check_options(block: int, bias: float) -> None:
    if block < 1:
        raise InputError(f"align.block: {block} is less than 1; give for example 1000")
    if not np.isfinite(bias):
        raise InputError(f"align.bias: {bias} is not finite; give a number")


def _check(found: BlockLinks, task: Task) -> None:
    """Assert that no link leaves its sentence pair: what reads the file may not check."""
    of_links = np.repeat(np.arange(task.first, task.last), np.diff(found.offsets))
    for indices, counts in zip((found.source, found.target), _tokens(task.preprocess), strict=True):
        outside = (indices < 0) | (indices >= counts[of_links])
        assert not outside.any(), f"a link outside its pair in line {of_links[outside][0] + 1}"


class _Table:
    """The table of links, written in row groups of one size."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[tuple[np.ndarray, ...]] = []
        self._rows = 0

    def __enter__(self) -> None:
        # Only tokens repeat themselves: a dictionary of all lines or scores would cost time and space.
        self._writer = pq.ParquetWriter(self._path, _SCHEMA, compression="zstd", use_dictionary=list(SIDES))

    def __exit__(self, *error: object) -> None:
        if error[0] is None and self._rows:
            self._write(self._rows)
        self._writer.close()

    def add(self, columns: tuple[np.ndarray, ...]) -> None:
        """Take rows; whole row groups are written."""
        self._waiting.append(columns)
        self._rows += len(columns[0])
        while self._rows >= _ROWS_AT_A_TIME:
            self._write(_ROWS_AT_A_TIME)

    def _write(self, rows: int) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        arrays = [
            pa.array(column[:rows], type=field.type) for column, field in zip(columns, _SCHEMA, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=_SCHEMA), row_group_size=rows)
        self._waiting = [tuple(column[rows:] for column in columns)]
        self._rows -= rows


def _share(old: Path, new: Path) -> None:
    """Give a file a second name, or copy it where the file system cannot do that."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)
