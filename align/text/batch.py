"""Many lines of text to arrays at once: what :class:`~align.text.processor.TextProcessor` does, but fast.

The tokens of a text, put one after the other, are its characters without the spaces. So the place of every
token follows from the lengths of the tokens alone, and no token needs an object of its own: each distinct
chunk of text is cut once, and the rest is arrays.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from align.core.ragged import rows_at
from align.text.normalise import CleanText, clean, count_changes, lookup_key, replace_in_place
from align.text.processor import TextProcessor, before_numbers

# Distinct chunks, and tokens, that are remembered: about 100 MB.
REMEMBERED = 150_000

_SPACE, _LINE_FEED = 0x20, 0x0A

# The ids of the tokens of a chunk as bytes (int32), and their text.
_Cut = tuple[bytes, str]
_ids, _text = itemgetter(0), itemgetter(1)
_spaces = re.compile("  +")


class Batch(NamedTuple):
    """Tokens of N lines with S surface and T analysis tokens."""

    text: list[str]  # the surface tokens of each line with one space between
    spans: np.ndarray  # uint32 (S, 2): the place of each surface token in its line as given, in characters
    starts: np.ndarray  # int64 (N + 1,): line i has the surface tokens starts[i] to starts[i + 1]
    surface: np.ndarray  # int32 (S,): indices in BatchProcessor.surface
    words: np.ndarray  # int32 (T,): the analysis tokens, indices in BatchProcessor.words
    offsets: np.ndarray  # int64 (N + 1,): line i has the analysis tokens offsets[i] to offsets[i + 1]
    parents: np.ndarray  # int32 (T,): surface token of each analysis token, counted within the line
    changes: Mapping[str, int]  # characters that cleaning replaced or deleted, by kind


class _Remembered(dict[str, _Cut]):
    """The cut of each chunk, made when it is first asked for; twice as fast as ``functools.cache``."""

    def __init__(self, make: Callable[[str], _Cut]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, chunk: str) -> _Cut:
        found = self[chunk] = self._make(chunk)
        return found


class BatchProcessor:
    """A text processor for many lines a call.

    Parameters
    ----------
    processor : TextProcessor
        What to do with each line.

    Attributes
    ----------
    surface : list of str
        Distinct surface tokens met so far; only :meth:`process` may start it afresh.
    lengths : array of int
        The number of characters of each of them.
    words : list of str
        Distinct analysis tokens met so far, likewise.
    """

    def __init__(self, processor: TextProcessor) -> None:
        self._processor = processor
        self._begin()

    def _begin(self) -> None:
        self.surface: list[str] = []
        self.words: list[str] = []
        self._surface_ids: dict[str, int] = {}
        self._key_ids: dict[str, int] = {}
        self._word_ids: dict[str, int] = {}
        self.lengths = array("i")
        # The key of each surface token; the analysis tokens of each key, one key after the other.
        self._keys = array("i")
        self._expansions, self._bounds = array("i"), array("q", [0])
        self._chunks = _Remembered(self._cut_chunk)
        self._numbered: dict[str, _Cut] = {}

    def process(self, lines: Sequence[str]) -> Batch:
        """Tokenize lines; a line feed within one is a space.

        Raises
        ------
        InputError
            If a tokenizer of the user's own gives what is no token of the text.
        """
        if max(len(self.surface), len(self._chunks)) > REMEMBERED:
            self._begin()
        if any("\n" in line for line in lines):
            lines = [line.replace("\n", " ") for line in lines]
        if self._processor.external is None:
            joined, moved, changes = self._clean(lines)
            text, surface = self._cut(joined)
            starts, spans = self._place(joined, surface)
            # No lines at all look like one empty line once they are joined.
            text, starts = text[: len(lines)], starts[: len(lines) + 1]
            for line, cleaned in moved.items():
                here = spans[starts[line] : starts[line + 1]]
                if len(here):
                    here[:] = [cleaned.raw_span(*span) for span in here.tolist()]
        else:
            text, surface, starts, spans = self._one_by_one(lines)
            changes = count_changes("".join(lines))
        keys = np.array(self._keys, dtype=np.int32)[surface]
        words, offsets, parents = self._analyse(self._in_context(keys, starts), starts)
        return Batch(text, spans.astype(np.uint32), starts, surface, words, offsets, parents, changes)

    def _clean(self, lines: Sequence[str]) -> tuple[str, dict[int, CleanText], Mapping[str, int]]:
        """Return the cleaned lines joined, those whose characters moved, and the counts of changes."""
        joined = "\n".join(lines)
        if not self._processor.cleans:
            return joined, {}, {}
        replaced, complete = replace_in_place(joined)
        changes = {} if replaced is joined and complete else count_changes("".join(lines))
        if complete:
            return replaced, {}, changes
        cleaned = [clean(line) for line in lines]
        moved = {number: each for number, each in enumerate(cleaned) if each.origin is not None}
        composed = sum(each.changes.get("composed", 0) for each in moved.values())
        changes |= {"composed": composed} if composed else {}
        return "\n".join([each.text for each in cleaned]), moved, changes

    def _cut(self, joined: str) -> tuple[list[str], np.ndarray]:
        """Return the surface text of each line and the ids of all surface tokens."""
        chunks = joined.replace("\n", " \n ").split(" ")
        found = list(map(self._chunks.__getitem__, chunks))
        for place, cut in before_numbers(chunks, self._numbered):
            found[place] = cut
        surface = np.frombuffer(b"".join(map(_ids, found)), dtype=np.int32)
        spaced = _spaces.sub(" ", " ".join(map(_text, found)))
        return [line.strip(" ") for line in spaced.split("\n")], surface

    def _cut_chunk(self, chunk: str) -> _Cut:
        """Return the usual cut of a chunk, its tokens taken in; one before a number is kept, too."""
        if chunk == "\n":
            return b"", chunk
        usual, numbered = self._processor.cut_chunk(chunk)
        cut = self._intern(usual).tobytes(), " ".join(usual)
        if numbered is not usual:
            self._numbered[chunk] = self._intern(numbered).tobytes(), " ".join(numbered)
        return cut

    def _place(self, joined: str, surface: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where each line's tokens start, and the spans of all tokens within their lines."""
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        feeds = codes == _LINE_FEED
        visible = np.flatnonzero((codes != _SPACE) & ~feeds)
        lengths = np.array(self.lengths, dtype=np.int64)[surface]
        ends = np.cumsum(lengths)
        assert (int(ends[-1]) if len(ends) else 0) == len(visible), "tokens are not the text"
        begins = visible[ends - lengths]
        line_starts = np.concatenate([[0], np.flatnonzero(feeds) + 1])
        starts = np.append(np.searchsorted(begins, line_starts), len(begins))
        spans = np.stack([begins, visible[ends - 1] + 1], axis=1)
        spans -= np.repeat(line_starts, np.diff(starts))[:, None]
        return starts, spans

    def _one_by_one(self, lines: Sequence[str]) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
        """Tokenize each line by itself, as tokenizers from elsewhere need."""
        text: list[str] = []
        surface = array("i")
        spans = array("q")
        starts = np.zeros(len(lines) + 1, dtype=np.int64)
        for number, line in enumerate(lines):
            tokens = self._processor.process(line)
            surface.extend(self._intern(tokens.surface))
            spans.extend(chain.from_iterable(tokens.spans))
            text.append(" ".join(tokens.surface))
            starts[number + 1] = len(surface)
        return text, np.array(surface, dtype=np.int32), starts, np.array(spans, dtype=np.int64).reshape(-1, 2)

    def _in_context(self, keys: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Put marked keys where a rule of keys in a row holds."""
        profile, names = self._processor.profile, list(self._key_ids)
        first = [self._key_ids[key] for key in profile.begins if key in self._key_ids]
        lines = np.searchsorted(starts, np.flatnonzero(np.isin(keys, first)), side="right") - 1
        for line in np.unique(lines).tolist():
            here = keys[starts[line] : starts[line + 1]]
            here[:] = [self._key(key) for key in profile.in_context([names[key] for key in here.tolist()])]
        return keys

    def _analyse(self, keys: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return analysis tokens, where each line's start, and their surface tokens."""
        bounds = np.array(self._bounds, dtype=np.int64)
        before, places = rows_at(bounds, keys)
        words = np.array(self._expansions, dtype=np.int32)[places]
        within = np.arange(len(keys)) - np.repeat(starts[:-1], np.diff(starts))
        return words, before[starts], np.repeat(within, np.diff(before)).astype(np.int32)

    def _intern(self, tokens: Sequence[str]) -> array[int]:
        """Return the ids of surface tokens, new ones taken in."""
        found = array("i")
        for token in tokens:
            number = self._surface_ids.get(token)
            if number is None:
                number = self._surface_ids[token] = len(self.surface)
                self.surface.append(token)
                self.lengths.append(len(token))
                self._keys.append(self._key(lookup_key(token)))
            found.append(number)
        return found

    def _key(self, key: str) -> int:
        """Return the id of a key, a new one analysed."""
        number = self._key_ids.get(key)
        if number is None:
            number = self._key_ids[key] = len(self._bounds) - 1
            for word in self._processor.profile.words(key):
                if word not in self._word_ids:
                    self._word_ids[word] = len(self.words)
                    self.words.append(word)
                self._expansions.append(self._word_ids[word])
            self._bounds.append(len(self._expansions))
        return number
