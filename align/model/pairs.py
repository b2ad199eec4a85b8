"""Sentence pairs that no corpus was made of: their text to tokens, their tokens to a block of word ids."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import PairBlock
from align.text.batch import BatchProcessor
from align.text.parallel import LongSide, Part, split_pair
from align.text.processor import TextProcessor, Tokens

Tokenizer = str | Callable[[str], Sequence[Any]] | None

# A pair with more words than this on a side is split to parts of at most _PART words: the features of a pair
# take memory in proportion to the product of its lengths.
LONGEST = 400
_PART = 100
# What no split makes smaller than this is refused: 300 MB of features.
MOST_EDGES = 1_000_000

_SENTENCE_ENDS = frozenset(".!?…。！？")


class SideText:
    """The way of one side's text to tokens.

    Parameters
    ----------
    settings : mapping
        A model's settings of its text processor.
    tokenizer : str, function or None
        Another tokenizer than the model's; see :meth:`align.model.aligner.Aligner.load`.

    Raises
    ------
    InputError
        If the settings are incomplete, ask for code, or there is no such tokenizer.
    """

    def __init__(self, settings: Mapping[str, Any], tokenizer: Tokenizer = None) -> None:
        self._function = None if tokenizer is None or isinstance(tokenizer, str) else tokenizer
        if self._function is not None:
            settings = {**settings, "tokenizer": "spaces"}
        elif isinstance(tokenizer, str):
            settings = {**settings, "tokenizer": tokenizer}
        self._processor = TextProcessor.from_settings(settings, trusted=isinstance(tokenizer, str))

    def batch(self, vocabulary: Vocabulary) -> SideBatch | None:
        """Return what looks up many texts in one go; None where each has to be cut by itself."""
        own = self._function is None and self._processor.external is None and self._processor.cleans
        return SideBatch(self._processor, vocabulary) if own else None

    def tokens(self, text: str | Sequence[str]) -> Tokens:
        """Return the tokens of a text; a sequence of tokens is taken as it is."""
        if not isinstance(text, str):
            words = list(text)
            for word in words:
                if not isinstance(word, str):
                    raise InputError(f"{word!r} is no token; give a text, or a list of texts")
            return self._processor.process_tokens([str(word) for word in words])
        if self._function is None:
            return self._processor.process(text)
        spans = located(text, list(self._function(text)))
        tokens = self._processor.process_tokens([text[start:stop] for start, stop in spans])
        return tokens._replace(spans=spans)


class SideBatch:
    """Many texts of one side to the ids of a vocabulary in one go: a third of the time of one by one.

    It remembers what it has cut, as a text processor does; threads may share it.

    Parameters
    ----------
    processor : TextProcessor
        What to do with each text; it cleans, and its tokenizer is not from elsewhere.
    vocabulary : Vocabulary
    """

    def __init__(self, processor: TextProcessor, vocabulary: Vocabulary) -> None:
        self._processor, self._vocabulary = BatchProcessor(processor), vocabulary
        self._lock = Lock()
        self._words, self._ids = self._processor.words, array("i")

    def look_up(self, texts: Sequence[str]) -> tuple[Sentences, list[str]]:
        """Return the word ids of texts, and the unknown words, as :func:`look_up` does."""
        size = len(self._vocabulary)
        unseen: dict[str, int] = {}
        with self._lock:
            batch = self._processor.process(texts)
            words = self._processor.words
            if words is not self._words:  # it has begun afresh
                self._words, self._ids = words, array("i")
            self._ids.extend(self._vocabulary.index.get(word, -1) for word in words[len(self._ids) :])
            ids = np.array(self._ids, dtype=np.int32)[batch.words]
            for place in np.flatnonzero(ids < 0).tolist():
                ids[place] = size + unseen.setdefault(as_text(words[batch.words[place]]), len(unseen))
        return Sentences(ids, batch.offsets, batch.parents), list(unseen)


def located(text: str, tokens: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the place of each token in its text; (start, end) pairs are checked and returned.

    Raises
    ------
    InputError
        If a token is no piece of the text after the one before.
    """
    found: list[tuple[int, int]] = []
    after = 0
    for token in tokens:
        if isinstance(token, str):
            start = text.find(token, after)
            stop = start + len(token)
        else:
            start, stop = token
        if not after <= start < stop <= len(text):
            raise InputError(
                f"tokenizer: {token!r} is no piece of {text[:80]!r} from character {after} on; "
                "give tokens of the text in order, or their (start, end)"
            )
        found.append((int(start), int(stop)))
        after = stop
    return found


def look_up(
    pairs: Sequence[tuple[Tokens, Tokens]], vocabularies: tuple[Vocabulary, Vocabulary]
) -> tuple[PairBlock, np.ndarray]:
    """Look up the words of tokenized pairs, and split the longest pairs.

    Returns
    -------
    block : PairBlock
        One row a pair, or a part of a split pair.
    lines : ndarray of int64, shape (rows,)
        The pair of each row, non-decreasing.

    Raises
    ------
    InputError
        If a pair is too long and cannot be split.
    """
    parts = [(line, part) for line, pair in enumerate(pairs) for part in split_long(*pair)]
    sides, unknown = [], []
    for place, vocabulary in enumerate(vocabularies):
        unseen: dict[str, int] = {}
        ids, parents = [], []
        for line, part in parts:
            tokens, (start, stop) = pairs[line][place], part[place]
            parents.append(tokens.parents[start:stop])
            ids.append([_id(word, vocabulary, unseen) for word in tokens.analysis[start:stop]])
        sides.append(Sentences.from_lists(ids, parents))
        unknown.append(list(unseen))
    lines = np.array([line for line, _ in parts], dtype=np.int64)
    return PairBlock(Corpus(*sides), unknown[0], unknown[1]), lines


def _id(word: str, vocabulary: Vocabulary, unseen: dict[str, int]) -> int:
    known = vocabulary.index.get(word)
    if known is not None:
        return known
    return len(vocabulary) + unseen.setdefault(as_text(word), len(unseen))


def as_text(word: str) -> str:
    """Return a word of a list of tokens as a word of a vocabulary.

    An empty token, a line feed and half a surrogate pair are no text, but they have a place.
    """
    return word.encode("utf-8", "replace").decode("utf-8").replace("\n", " ") or " "


def split_long(source: Tokens, target: Tokens) -> list[Part]:
    """Return the parts of a pair as runs of analysis tokens; one part, but for very long pairs.

    Raises
    ------
    InputError
        If a part cannot be made short enough.
    """
    sizes = len(source.analysis), len(target.analysis)
    if max(sizes) <= LONGEST:
        return [Part((0, sizes[0]), (0, sizes[1]))]
    parts = split_pair(_side(source), _side(target), limit=_PART)
    for part in parts:
        found = [span[1] - span[0] for span in part]
        if found[0] * found[1] > MOST_EDGES:
            raise InputError(
                f"pair: {found[0]} and {found[1]} words without a place to split; cut it to sentences first"
            )
    return [
        Part(
            (bisect_left(source.parents, part.source[0]), bisect_left(source.parents, part.source[1])),
            (bisect_left(target.parents, part.target[0]), bisect_left(target.parents, part.target[1])),
        )
        for part in parts
    ]


def _side(tokens: Tokens) -> LongSide:
    count = len(tokens.surface)
    weights = np.bincount(np.array(tokens.parents, dtype=np.int64), minlength=count).tolist()
    ends = [place + 1 for place, token in enumerate(tokens.surface) if token in _SENTENCE_ENDS]
    return LongSide(tokens.surface, weights, sorted({*ends, count} - {0}))
