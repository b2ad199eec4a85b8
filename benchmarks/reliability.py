"""How far confidences and scores can be trusted: bins, expected calibration error, AUC, a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from align.features import PairBlock
from align.learning.calibration import rare_words
from align.links import Link
from align.model.aligner import Aligner
from align.model.pairs import look_up
from benchmarks.figures import drawing

BINS = 15


class Bin(NamedTuple):
    """Links of about the same confidence: how many, their mean confidence, the share that is right."""

    links: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Judged:
    """L links of gold pairs: arrays of shape (L,)."""

    confidence: np.ndarray  # float64, in [0, 1]
    right: np.ndarray  # bool: whether the gold has them, as sure or possible
    rare: np.ndarray  # bool: whether a word is not in the model's vocabulary, or was seen once

    def only(self, chosen: np.ndarray) -> Judged:
        """Return some of the links, by a bool array."""
        return Judged(self.confidence[chosen], self.right[chosen], self.rare[chosen])

    def bins(self, count: int = BINS) -> list[Bin]:
        """Return bins of as equal numbers of links as can be, by confidence; none is empty."""
        order = np.argsort(self.confidence, kind="stable")
        return [
            Bin(len(part), float(self.confidence[part].mean()), float(self.right[part].mean()))
            for part in np.array_split(order, min(count, len(order)) or 1)
            if len(part)
        ]


def expected_error(bins: Sequence[Bin]) -> float | None:
    """Return the expected calibration error: the mean of |confidence - right| over links; None of none."""
    links = sum(each.links for each in bins)
    if not links:
        return None
    return sum(each.links * abs(each.confidence - each.right) for each in bins) / links


def area(scores: np.ndarray, wrong: np.ndarray) -> float | None:
    """Return how often a wrong pair has a lower score than a right one, equal scores counted as half.

    Parameters
    ----------
    scores : ndarray of float64, shape (N,)
        Score of each pair.
    wrong : ndarray of bool, shape (N,)
        Whether it is wrong.

    Returns
    -------
    float or None
        The area under the ROC curve, in [0, 1]; None where all or no pairs are wrong.
    """
    low, high = np.sort(scores[wrong]), scores[~wrong]
    if not len(low) or not len(high):
        return None
    below = np.searchsorted(low, high, side="left") + np.searchsorted(low, high, side="right")
    return float(below.sum() / (2 * len(low) * len(high)))


def judge(aligner: Aligner, block: PairBlock, gold: Sequence[Sequence[Link]]) -> Judged:
    """Align gold pairs and look up each link.

    Parameters
    ----------
    aligner : Aligner
        The model.
    block : PairBlock
        N pairs, with what was sampled of them, if they were in the model's text.
    gold : sequence of list of Link
        Links of the N pairs, between surface tokens.
    """
    found, corpus = aligner.align_block(block), block.corpus
    resources = aligner.model.resources
    flags = rare_words(corpus, (resources.source_vocabulary, resources.target_vocabulary))
    right, rare = [], []
    for pair, links in enumerate(gold):
        known = {(link.source, link.target) for link in links}
        words = []
        for side, is_rare in zip((corpus.source, corpus.target), flags, strict=True):
            here = slice(int(side.offsets[pair]), int(side.offsets[pair + 1]))
            words.append(set(side.parents[here][is_rare[here]].tolist()))
        for link in found.pairs(pair):
            right.append(link in known)
            rare.append(link[0] in words[0] or link[1] in words[1])
    return Judged(found.confidence, np.array(right, dtype=bool), np.array(rare, dtype=bool))


def judge_unseen(
    aligner: Aligner, texts: Sequence[tuple[str, str]], gold: Sequence[Sequence[Link]]
) -> Judged:
    """Align tokenized gold pairs that were not in the model's text, and look up each link."""
    tokens = [aligner.tokens(source.split(" "), target.split(" ")) for source, target in texts]
    resources = aligner.model.resources
    block, _ = look_up(tokens, (resources.source_vocabulary, resources.target_vocabulary))
    assert len(block.corpus) == len(gold), "a gold pair was split"
    return judge(aligner, block, gold)


def plot(curves: Mapping[str, Sequence[Bin]], path: Path) -> None:
    """Draw the share of right links against confidence, a curve a name, into a PNG file.

    Both axes show log-odds, so that high confidences do not fall on one point; a bin in which all links are
    right lies at the edge. Under them: how many links each bin has.
    """
    figure = drawing(7, 7)
    shares, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    ends = (0.1, 0.9995)
    shares.plot(ends, ends, ":", color="gray", label="as right as said")
    for name, bins in curves.items():
        x = np.clip([each.confidence for each in bins], *ends)
        shares.plot(x, np.clip([each.right for each in bins], *ends), marker=".", label=name)
        counts.plot(x, [each.links for each in bins], marker=".", linestyle="none")
    shares.set(xscale="logit", yscale="logit", xlim=ends, ylim=ends, ylabel="share of links that are right")
    counts.set(yscale="log", xlabel="mean confidence of the bin", ylabel="links in the bin")
    ticks = [0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999]
    for axis in (counts.xaxis, shares.yaxis):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    for axes in (shares, counts):
        axes.grid(visible=True, which="major", alpha=0.3)
    shares.legend(fontsize="small")
    figure.savefig(path, metadata={"Software": None})
