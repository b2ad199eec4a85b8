"""The parts of a shard of lines: whole pairs, and pieces of those too long to align whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from align.text.batch import Batch
from align.text.parallel import LongSide, Part, split_pair
from align.text.sentences import SentenceSplitter
from pipeline.stages.preprocess.summary import Report


class Parts(NamedTuple):
    """The P parts of a shard, in the order of its lines.

    Attributes
    ----------
    rows : ndarray of int64, shape (P,)
        The line of each part, counted within the shard.
    spans : (ndarray of int64, ndarray of int64), each of shape (P, 2)
        Its analysis tokens on each side, from and to.
    """

    rows: np.ndarray
    spans: tuple[np.ndarray, np.ndarray]

    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of analysis tokens of each part on each side."""
        source, target = self.spans
        return source[:, 1] - source[:, 0], target[:, 1] - target[:, 0]


def make_parts(
    texts: Sequence[Sequence[str]],
    batches: Sequence[Batch],
    splitters: Sequence[SentenceSplitter] | None,
    *,
    limit: int,
    report: Report,
) -> Parts:
    """Take lines whole, or split them where a side is over the limit.

    Parameters
    ----------
    texts : two sequences of str
        The lines of each side.
    batches : two of Batch
        Their tokens.
    splitters : two of SentenceSplitter, or None
        May be None where no line is over the limit.
    limit : int
        Analysis tokens that a part may have.
    report : Report
        Its ``alive`` says which lines to take; lines of which no part is left die here.
    """
    lengths = np.stack([np.diff(batch.offsets) for batch in batches])
    long = report.alive & (lengths > limit).any(axis=0)
    whole = np.flatnonzero(report.alive & ~long)
    rows = [whole]
    spans = [[np.stack([batch.offsets[whole], batch.offsets[whole + 1]], axis=1)] for batch in batches]
    for row in np.flatnonzero(long).tolist():
        assert splitters is not None
        sides = [_side(*each, row) for each in zip(texts, batches, splitters, strict=True)]
        good = _usable(split_pair(sides[0], sides[1], limit=limit), sides, limit, row, report)
        if not good:
            report.alive[row] = False
            continue
        rows.append(np.full(len(good), row))
        for side, batch, found, chosen in zip(sides, batches, zip(*good, strict=True), spans, strict=True):
            before = np.concatenate([[0], np.cumsum(side.weights)])
            chosen.append(batch.offsets[row] + before[np.array(found)])
    order = np.argsort(np.concatenate(rows), kind="stable")
    source, target = (np.concatenate(each)[order].astype(np.int64) for each in spans)
    return Parts(np.concatenate(rows)[order].astype(np.int64), (source, target))


def _side(lines: Sequence[str], batch: Batch, splitter: SentenceSplitter, row: int) -> LongSide:
    """Return one side of a long line, for splitting."""
    spans = batch.spans[batch.starts[row] : batch.starts[row + 1]]
    parents = batch.parents[batch.offsets[row] : batch.offsets[row + 1]]
    ends = [int(np.searchsorted(spans[:, 0], end)) for _, end in splitter.spans(lines[row])]
    sentences = sorted({*ends, len(spans)} - {0})
    weights = np.bincount(parents, minlength=len(spans)).tolist()
    return LongSide(batch.text[row].split(" "), weights, sentences)


def _usable(parts: list[Part], sides: Sequence[LongSide], limit: int, row: int, report: Report) -> list[Part]:
    """Return the parts that can be aligned, the others reported."""
    good = []
    for part in parts:
        sizes = [sum(side.weights[slice(*span)]) for side, span in zip(sides, part, strict=True)]
        where = f"source tokens {_tokens(part.source)}, target tokens {_tokens(part.target)}"
        if max(sizes) > limit:
            detail = (
                f"{where}: {sizes[0]} and {sizes[1]} analysis tokens, over {limit}, and no place to split"
            )
            report.note(row, "too_long", "dropped", detail)
        elif min(sizes) == 0:
            report.note(row, "unmatched_part", "dropped", f"{where}: nothing on the other side")
        else:
            good.append(part)
    return good


def _tokens(span: tuple[int, int]) -> str:
    return f"{span[0]}-{span[1] - 1}" if span[1] > span[0] else "none"
