"""Word vectors of both languages of a bitext, trained on the bitext itself with fastText.

The words of a sentence pair are merged into one line in the order of their relative positions, each marked
with its language, so that a word's neighbours are words of its own sentence and of the translation [1]_.
One skip-gram model of subwords [2]_ of this text then holds both languages, near to one space already.

References
----------
.. [1] Vulić and Moens, "Bilingual distributed word representations from document-aligned comparable data",
   JAIR 55, 2016 (length-ratio shuffle).
.. [2] Bojanowski, Grave, Joulin and Mikolov, "Enriching word vectors with subword information", TACL 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from align.core.errors import InputError
from align.core.files import text_file
from align.data.corpus import Corpus

# A word's language: a private character in front of it, which no text has.
MARKS = ("\ue000", "\ue001")

# Sentence pairs merged at once.
BLOCK = 10_000

# Characters of n-grams (the marks of language and word ends counted), and negative samples a neighbour.
SHORTEST, LONGEST = 4, 5
NEGATIVES = 5


def write_merged(path: Path, corpus: Corpus, words: Sequence[Sequence[str]], *, seed: int) -> int:
    """Write the merged text of a bitext, one sentence pair a line, in random order.

    Parameters
    ----------
    path : Path
        The file to write.
    corpus : Corpus
        N sentence pairs.
    words : sequence of two sequences of str
        The source and the target vocabulary.
    seed : int
        Of the order. fastText's own random numbers cannot be seeded and are the same in every run.

    Returns
    -------
    int
        Tokens written.
    """
    order = np.random.default_rng(seed).permutation(len(corpus))
    marked = [[mark + word for word in side] for mark, side in zip(MARKS, words, strict=True)]
    names = np.array(marked[0] + marked[1], dtype=object)
    with text_file(path) as out:
        for start in range(0, len(order), BLOCK):
            ids, offsets = merge(corpus.take(order[start : start + BLOCK]), len(marked[0]))
            tokens = names[ids].tolist()
            out.writelines(
                " ".join(tokens[first:last]) + "\n"
                for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            )
    return len(corpus.source.ids) + len(corpus.target.ids)


def merge(corpus: Corpus, n_source: int) -> tuple[np.ndarray, np.ndarray]:
    """Merge the two sides of each pair in the order of the words' relative positions.

    Word j of n stands at (j + 1/2) / n; where two stand at one place the source word comes first.

    Parameters
    ----------
    corpus : Corpus
        N sentence pairs.
    n_source : int
        Size of the source vocabulary, added to the ids of target words.

    Returns
    -------
    ids : ndarray of int64, shape (T,)
        Words of both sides.
    offsets : ndarray of int64, shape (N + 1,)
        Pair i is ``ids[offsets[i]:offsets[i + 1]]``.
    """
    pair, place = [], []
    for side in (corpus.source, corpus.target):
        lengths = side.lengths()
        pair.append(np.repeat(np.arange(len(side)), lengths))
        within = np.arange(len(side.ids)) - np.repeat(side.offsets[:-1], lengths)
        place.append((within + 0.5) / np.repeat(lengths, lengths))
    order = np.lexsort((np.concatenate(place), np.concatenate(pair)))
    ids = np.concatenate([corpus.source.ids, np.asarray(corpus.target.ids, dtype=np.int64) + n_source])
    return ids[order], corpus.source.offsets + corpus.target.offsets


def train(
    path: Path,
    words: Sequence[Sequence[str]],
    *,
    dim: int,
    epochs: int,
    window: int,
    rate: float,
    sampling: float,
    min_count: int,
    buckets: int,
    verbose: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Train skip-gram vectors on a merged text, on one thread: the same text gives the same bytes.

    Parameters
    ----------
    path : Path
        What :func:`write_merged` wrote.
    words : sequence of two sequences of str
        The source and the target vocabulary, V_s and V_t words.
    dim : int
        Numbers in a vector, p >= 1.
    epochs : int
        Passes over the text, >= 1.
    window : int
        Words to each side, of both languages, that a word is to foretell, >= 1.
    rate : float
        Learning rate at the start, falling to zero; in (0, 1].
    sampling : float
        Words more frequent than this share of the text are left out at random; in (0, 1].
    min_count : int
        Words rarer than this get the vector of their n-grams, >= 1.
    buckets : int
        Rows of n-grams, >= 1; each takes 4 p bytes.
    verbose : bool
        fastText shows its progress on standard error.

    Returns
    -------
    source, target : ndarray of float32, shapes (V_s, p) and (V_t, p)

    Raises
    ------
    InputError
        If fastText is not installed, or the text has no words.
    """
    try:
        import fasttext
    except ImportError:
        raise InputError(
            "embed: training vectors needs fastText, which is not installed; pip install "
            "fasttext-community, or give [vectors], or set embed.vectors to none"
        ) from None
    if not path.stat().st_size or not any(words):
        raise InputError("embed: no words to train vectors on; give a corpus with text in both languages")
    model = fasttext.train_unsupervised(
        str(path), model="skipgram", dim=dim, epoch=epochs, ws=window, t=sampling, minCount=min_count,
        bucket=buckets, minn=SHORTEST, maxn=LONGEST, neg=NEGATIVES, lr=rate, thread=1,
        label="\ue002", verbose=2 if verbose else 0,
    )  # fmt: skip
    source, target = (
        np.array([model.get_word_vector(mark + word) for word in side], dtype=np.float32).reshape(-1, dim)
        for mark, side in zip(MARKS, words, strict=True)
    )
    return source, target
