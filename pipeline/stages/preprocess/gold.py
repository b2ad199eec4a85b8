"""The gold text in preprocessing: taken as it is, its words counted, its overlap with the corpus known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.errors import InputError
from align.core.files import text_file
from align.core.ragged import SIDES
from align.data.anchors import hash_words
from align.data.bitext import open_bitext
from align.data.corpus import LONGEST, Corpus, Sentences
from align.data.vocabulary import Vocabulary, WordCounter
from align.text.batch import Batch, BatchProcessor
from align.text.processor import TextProcessor
from pipeline.stages.preprocess.checks import GOLD_ADVICE
from pipeline.stages.preprocess.counts import hash_pairs

SAME = "gold_in_corpus.npy"


@dataclass(frozen=True)
class Gold:
    """The gold text of both sides, one row a pair."""

    batches: tuple[Batch, Batch]
    processors: tuple[BatchProcessor, BatchProcessor]

    def __len__(self) -> int:
        return len(self.batches[0].text)

    @classmethod
    def read(cls, paths: Sequence[str], settings: Sequence[Mapping[str, str]]) -> Gold:
        """Read tokenized text: its tokens are what stands between spaces.

        Parameters
        ----------
        paths : two of str
            Source and target.
        settings : two of mapping
            Of the corpus's text processors; their tokenizers are not used.

        Raises
        ------
        InputError
            If a line cannot be read or is too long, the line counts differ or there are none.
        """
        texts: tuple[list[str], list[str]] = ([], [])
        for row in open_bitext("files", [Path(path) for path in paths], advice=GOLD_ADVICE):
            if row.problem:
                where = f"{paths[0]}:{row.number + 1}"
                raise InputError(f"{where}: {row.detail}; mend this pair in both gold files")
            texts[0].append(row.source)
            texts[1].append(row.target)
        if not texts[0]:
            raise InputError(
                f"{paths[0]}: the gold text is empty; give its sentences or leave gold.files out"
            )
        source, target = (
            BatchProcessor(TextProcessor.from_settings({**each, "tokenizer": "spaces"})) for each in settings
        )
        batches = source.process(texts[0]), target.process(texts[1])
        for path, batch in zip(paths, batches, strict=True):
            lengths = np.diff(batch.offsets)
            if lengths.max() > LONGEST:
                where = f"{path}:{int(lengths.argmax()) + 1}"
                raise InputError(
                    f"{where}: {lengths.max()} words, over the {LONGEST} of a sentence; split it"
                )
        return cls(batches, (source, target))

    def count(self, words: Sequence[WordCounter], counted: np.ndarray) -> None:
        """Add the words to those of the corpus, with their counts in the pairs ``counted``, bool (len,)."""
        for batch, processor, known in zip(self.batches, self.processors, words, strict=True):
            size = len(processor.words)
            present = np.flatnonzero(np.bincount(batch.words, minlength=size))
            tokens = batch.words[np.repeat(counted, np.diff(batch.offsets))]
            counts = np.bincount(tokens, minlength=size)
            known.add([processor.words[word] for word in present.tolist()], counts[present])

    def places(self, hashes: np.ndarray) -> np.ndarray:
        """Return where each pair stands in the corpus.

        Parameters
        ----------
        hashes : ndarray of uint64
            Those of the corpus (:func:`~pipeline.stages.preprocess.counts.hash_pairs`).

        Returns
        -------
        ndarray of int64, shape (len,)
            The index of the first equal hash; -1 without one and where a side is empty.
        """
        words = [hash_words(processor.words) for processor in self.processors]
        sizes = [np.diff(batch.offsets) for batch in self.batches]
        own = hash_pairs(words, [batch.words for batch in self.batches], sizes)
        filled = np.minimum(*sizes) > 0
        order = np.argsort(hashes, kind="stable")
        found = np.searchsorted(hashes, own, sorter=order)
        there = filled & (found < len(hashes))
        there[there] = hashes[order[found[there]]] == own[there]
        places = np.full(len(own), -1, dtype=np.int64)
        places[there] = order[found[there]]
        return places

    def write(self, folder: Path, vocabularies: Sequence[Vocabulary], places: np.ndarray) -> None:
        """Write ``gold/``, the gold text, and ``gold_in_corpus.npy`` beside the corpus itself.

        Parameters
        ----------
        folder : Path
            That of the stage.
        vocabularies : two of Vocabulary
        places : ndarray of int64, shape (len,)
            From :meth:`places`, given the hashes of the parts that statistics use. Written are indices of
            parts: which one has the same words as the gold pair, -1 for none.
        """
        used = np.flatnonzero(load_array(folder / "in_statistics.npy"))
        same = np.full(len(places), -1, dtype=np.int64)
        same[places >= 0] = used[places[places >= 0]]
        save_array(folder / SAME, same)
        sides = []
        for side, batch, processor, vocabulary in zip(
            SIDES, self.batches, self.processors, vocabularies, strict=True
        ):
            index = np.fromiter(
                (vocabulary.index.get(word, -1) for word in processor.words), np.int32, len(processor.words)
            )
            sides.append(Sentences(index[batch.words], batch.offsets.astype(np.int64), batch.parents))
            with text_file(folder / f"gold.{side}.txt") as out:
                out.writelines(f"{line}\n" for line in batch.text)
        Corpus(sides[0], sides[1]).save(folder / "gold")
