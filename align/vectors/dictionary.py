"""Word pairs to learn a map from: a dictionary file, identical strings, or the bitext itself.

The bitext's are the words that are each other's best translation by the Dice coefficient
``2 c(x, y) / (c(x) + c(y))``, where c counts the sentence pairs that hold a word, or both words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.streams import open_text
from align.data.vocabulary import Vocabulary
from align.text.normalise import lookup_key

if TYPE_CHECKING:
    from scipy import sparse

# Word pairs of the bitext: among so many of the most frequent words, with at least this Dice coefficient,
# and in at least this many sentence pairs (two where there are few sentence pairs).
FREQUENT = 20_000
LEAST_DICE = 0.3
LEAST_COUNT = 3
FEW = 2_000

_WORDS_AT_A_TIME = 500


def read_dictionary(path: Path, source: Vocabulary, target: Vocabulary) -> tuple[np.ndarray, dict[str, int]]:
    """Read a bilingual dictionary of two columns, separated by a tab or by white space.

    Parameters
    ----------
    path : Path
        The file, plain or packed; one entry a line, source first. Empty lines are passed over.
    source, target : Vocabulary
        A word is looked up as it is, then by its lookup key.

    Returns
    -------
    pairs : ndarray of int64, shape (d, 2)
        Source and target word of each usable entry, no duplicates, in the order of the file.
    counts : dict of str to int
        ``entries``; of them ``malformed`` (not two columns, or not UTF-8), ``multiword``, ``unknown`` (a word
        is not in the vocabulary), ``duplicate`` and ``used``.

    Raises
    ------
    InputError
        If more than half of the entries are malformed, or there are none.
    """
    counts: Counter[str] = Counter()
    pairs: dict[tuple[int, int], None] = {}
    first_bad = 0
    with open_text(path) as stream:
        for number, line in enumerate(iter(stream.readline, b""), 1):
            if not line.strip():
                continue
            counts["entries"] += 1
            reason, columns = _columns(line)
            if reason == "malformed":
                first_bad = first_bad or number
            if not reason:
                x, y = _find(source, columns[0]), _find(target, columns[1])
                if x is None or y is None:
                    reason = "unknown"
                elif (x, y) in pairs:
                    reason = "duplicate"
                else:
                    pairs[x, y] = None
            counts[reason] += 1
    if not counts["entries"]:
        raise InputError(f"{path}: no entries; give lines of source TAB target")
    if 2 * counts["malformed"] > counts["entries"]:
        raise InputError(
            f"{path}:{first_bad}: the first of {counts['malformed']} lines, of {counts['entries']}, that are "
            "not two columns of UTF-8; give lines of source TAB target"
        )
    kinds = ("entries", "malformed", "multiword", "unknown", "duplicate")
    told = {kind: counts[kind] for kind in kinds} | {"used": len(pairs)}
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2), told


def identical_pairs(source: Vocabulary, target: Vocabulary) -> np.ndarray:
    """Return the words, numerals among them, that are written alike on both sides, int64, shape (d, 2)."""
    pairs = [(rank, target.index[word]) for rank, word in enumerate(source.words) if word in target.index]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def bitext_pairs(corpus: Corpus, sizes: Sequence[int]) -> np.ndarray:
    """Return the words that are each other's best translations in a bitext.

    Parameters
    ----------
    corpus : Corpus
        N sentence pairs.
    sizes : sequence of two int
        Words in the source and the target vocabulary.

    Returns
    -------
    ndarray of int64, shape (d, 2)
        Source and target words, in the order of the source words' ranks.
    """
    source, target = (
        _presence(side, min(size, FREQUENT))
        for side, size in zip((corpus.source, corpus.target), sizes, strict=True)
    )
    least = LEAST_COUNT if len(corpus) > FEW else LEAST_COUNT - 1
    x, y, count = _counts(source, target, least)
    totals = [np.bincount(side.indices, minlength=side.shape[1]) for side in (source, target)]
    dice = 2.0 * count / (totals[0][x] + totals[1][y])
    best_x, best_y = _best(x, y, dice, source.shape[1]), _best(y, x, dice, target.shape[1])
    good = (dice >= LEAST_DICE) & (best_x[x] == y) & (best_y[y] == x)
    order = np.argsort(x[good])
    return np.stack([x[good][order], y[good][order]], axis=1).astype(np.int64)


def _counts(
    source: sparse.csr_array, target: sparse.csr_array, least: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of words that share at least `least` sentences, and how many: x, y, count.

    A few source words at a time: most pairs occur once or twice, and need not be kept.
    """
    by_word = source.T.tocsr()
    found = []
    for start in range(0, by_word.shape[0], _WORDS_AT_A_TIME):
        together = (by_word[start : start + _WORDS_AT_A_TIME] @ target).tocoo()
        often = together.data >= least
        found.append((together.row[often] + start, together.col[often], together.data[often]))
    none = np.zeros(0, dtype=np.int64)
    x, y, count = (
        (np.concatenate([none, *column]) for column in zip(*found, strict=True)) if found else [none] * 3
    )
    return x, y, count.astype(np.float64)


def _columns(line: bytes) -> tuple[str, list[str]]:
    """Say what is wrong with a line, if anything, and split it at its tab, or else at white space."""
    try:
        text = line.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        return "malformed", []
    if "\t" not in text:
        columns = text.split()
        # Without a tab nobody can tell which of three words belong together.
        return {1: "malformed", 2: ""}.get(len(columns), "multiword"), columns
    columns = [column.strip() for column in text.split("\t")]
    if len(columns) != 2 or not all(columns):
        return "malformed", columns
    return "multiword" if any(len(column.split()) > 1 for column in columns) else "", columns


def _find(vocabulary: Vocabulary, word: str) -> int | None:
    found = vocabulary.index.get(word)
    return vocabulary.index.get(lookup_key(word)) if found is None else found


def _presence(sentences: Sentences, size: int) -> sparse.csr_array:
    """Return which of the first `size` words each sentence holds, 0 or 1, shape (N, size)."""
    from scipy import sparse  # takes a third of a second to load

    rows = np.repeat(np.arange(len(sentences)), sentences.lengths())
    ids = np.asarray(sentences.ids)
    kept = ids < size
    cells = np.unique(rows[kept] * np.int64(size) + ids[kept])
    ones = np.ones(len(cells), dtype=np.int32)
    return sparse.csr_array((ones, (cells // size, cells % size)), shape=(len(sentences), size))


def _best(of: np.ndarray, other: np.ndarray, score: np.ndarray, size: int) -> np.ndarray:
    """Return for each word its best other word (ties: the more frequent), -1 where none, shape (size,)."""
    order = np.lexsort((other, -score, of))
    first = np.flatnonzero(np.diff(of[order], prepend=-1))
    best = np.full(size, -1, dtype=np.int64)
    best[of[order][first]] = other[order][first]
    return best
