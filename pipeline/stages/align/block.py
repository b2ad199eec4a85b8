"""What a worker does in the stage ``align``: load the model once, and align a run of lines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, repeat
from pathlib import Path
from threading import Lock

import numpy as np

from align.core import heap
from align.core.arrays import load_rows
from align.core.errors import WorkError
from align.core.ragged import SIDES
from align.data.corpus import Corpus
from align.features import PairBlock
from align.links import Link, format_pharaoh
from align.links.plain import pharaoh_lines
from align.model.aligner import Aligner
from align.model.alignments import Alignments
from align.statistics.posteriors import Posteriors
from pipeline.stages.align.links_table import rows_of
from pipeline.work.manifest import made_of

# Threads that begin together load one model.
_LOADING = Lock()


@dataclass(frozen=True)
class LineBlock:
    """Whole lines with their parts: parts ``start`` to ``stop``, lines ``first`` to ``last`` (0-based).

    ``fingerprint`` is that of the model (:func:`model_fingerprint`): a worker that serves several runs may
    know another model by the same path. ``posteriors`` is their folder, empty where the run has none: a
    worker must not decide that by what it sees.
    """

    preprocess: str
    model: str
    fingerprint: str
    posteriors: str
    start: int
    stop: int
    first: int
    last: int
    bias: float
    confidences: bool


@dataclass(frozen=True)
class AlignedBlock:
    """The result of a block: lines of two files, and rows of the table (``ROW``)."""

    links: bytes
    scores: str
    table: np.ndarray
    pairs: int
    empty: int
    total: float


def align_lines(block: LineBlock) -> AlignedBlock:
    """Align the parts of a run of lines, in any process."""
    with _LOADING:
        aligner = load_aligner(block.model, block.fingerprint)
    preprocess = Path(block.preprocess)
    own = load_rows(preprocess / "lines.npy", block.start, block.stop) - block.first
    count = block.last - block.first
    corpus = Corpus.load_block(preprocess / "corpus", block.start, block.stop)
    stored = Path(block.posteriors) if block.posteriors else None
    posteriors = None if stored is None else Posteriors.load_block(stored, block.start, block.stop)
    pairs = PairBlock(corpus, posteriors=posteriors)
    found = aligner.align_block(pairs, bias=block.bias).merged(own, count)
    _check_links(found, block)
    used = np.zeros(count, dtype=bool)
    used[own] = True
    scores = found.sentence_scores()
    return AlignedBlock(
        link_lines(found, confidences=block.confidences),
        "".join(
            f"{score:.4f}\n" if there else "\n"
            for score, there in zip(scores.tolist(), used.tolist(), strict=True)
        ),
        rows_of(found, block.first),
        int(used.sum()),
        int((used & (np.diff(found.offsets) == 0)).sum()),
        float(scores[used].sum()),
    )


def link_lines(found: Alignments, *, confidences: bool) -> bytes:
    """Return the links of each pair in the Pharaoh format, a line a pair, in ASCII."""
    if not confidences:
        return pharaoh_lines(found.offsets, found.source, found.target)
    source, target = found.source.tolist(), found.target.tolist()
    links = [Link(*each) for each in zip(source, target, repeat(True), found.confidence.tolist())]
    lines = (format_pharaoh(links[start:stop], digits=4) for start, stop in pairwise(found.offsets.tolist()))
    return "".join(f"{line}\n" for line in lines).encode("ascii")


@lru_cache(maxsize=1)
def load_aligner(model: str, fingerprint: str) -> Aligner:
    """Return the aligner of a model folder, kept for the next block; ``fingerprint`` is what it must have."""
    aligner = Aligner.load(model)
    resources = aligner.model.resources
    # Made here, and not by every thread.
    _ = resources.source_words.whole, resources.target_words.whole, resources.stem_links
    heap.trim()  # a third of what that took
    if model_fingerprint(Path(model)) != fingerprint:
        raise WorkError(
            f"{model}: a worker sees another model there than the run does; "
            "give a --workdir on a disk that all workers share"
        )
    return aligner


def model_fingerprint(model: Path) -> str:
    """Return a hash of what of a model is not tables, and of the manifest that says when those were made."""
    found = hashlib.sha256(made_of([model]).encode("ascii"))
    for name in ("model.json", "weights.tsv", "source.vocabulary.tsv", "target.vocabulary.tsv"):
        found.update((model / name).read_bytes())
    return found.hexdigest()[:16]


def _check_links(found: Alignments, block: LineBlock) -> None:
    """Assert that no link leaves its sentence pair: what reads the file may not check."""
    of_links = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    for indices, side in zip((found.source, found.target), SIDES, strict=True):
        spans = Path(block.preprocess) / f"{side}.spans.offsets.npy"
        counts = np.diff(load_rows(spans, block.first, block.last + 1))
        outside = (indices < 0) | (indices >= counts[of_links])
        assert not outside.any(), f"a link outside its pair in line {block.first + of_links[outside][0] + 1}"
