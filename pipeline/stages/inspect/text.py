"""The pairs that are shown as they were aligned: by the model's word ids, with what was sampled of them.

Links that were made with what the sampler says of a pair have no reasons in what is known of it without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import load_array
from align.data.corpus import Corpus
from align.features import PairBlock
from align.statistics.posteriors import Posteriors
from pipeline.stages.lexicon.places import POSTERIORS


@dataclass(frozen=True)
class AlignedText:
    """A text that was aligned.

    Attributes
    ----------
    corpus, posteriors : Path
        The folders of its words, and of what was sampled of it, if there is one.
    lines : ndarray of int64
        The line of each of its rows, from 0, ascending: a long pair has several.
    """

    corpus: Path
    posteriors: Path
    lines: np.ndarray

    @classmethod
    def of(cls, inputs: Mapping[str, Path], kind: str) -> AlignedText:
        """Return that of the pairs of a kind, "gold" or "corpus", from the folders of earlier stages."""
        folder = inputs["preprocess"] / kind
        lines = (
            load_array(inputs["preprocess"] / "lines.npy")
            if kind == "corpus"
            else np.arange(Corpus.load_count(folder))
        )
        return cls(folder, inputs["lexicon"] / POSTERIORS / kind, lines)

    def pair(self, number: int) -> PairBlock:
        """Return the pair of a line (from 1)."""
        first, last = np.searchsorted(self.lines, [number - 1, number]).tolist()
        stored = None
        if self.posteriors.is_dir():
            stored = Posteriors.load_block(self.posteriors, first, last)
        return PairBlock(Corpus.load_block(self.corpus, first, last), posteriors=stored)
