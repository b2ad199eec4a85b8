"""From a text, or the tokens of one, to surface and analysis tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress, count
from typing import Any, NamedTuple, TypeVar

from align.core.errors import InputError
from align.text.normalise import clean, lookup_key, untouched
from align.text.profiles import Profile
from align.text.segmenters import SEGMENTERS, SpanTokenizer, cut_run, external
from align.text.tokenize import Cutter, is_unspaced, rules

Cut = TypeVar("Cut")

# Distinct chunks, and tokens, that are remembered, the latest: 9 of 10 that come are among them, and to
# remember all took 30 MB more after 30,000 pairs, for no time that could be measured.
REMEMBERED = 8000


class Tokens(NamedTuple):
    """The tokens of a sentence.

    Surface tokens are what people see and link, in the cleaned text's letters, without white space where the
    text was tokenized here; analysis tokens are lookup keys, for statistics and vectors.
    """

    surface: list[str]
    spans: list[tuple[int, int]]  # of the surface in the text, in characters; given tokens: joined by a space
    analysis: list[str]
    parents: list[int]  # index of the surface token of each analysis token, non-decreasing


class TextProcessor:
    """The way of one language's text to tokens; cheap to call, it remembers what it has cut.

    Parameters
    ----------
    language : str
        Language code (``fr``); one without rules of its own gets those common to all.
    profile : {"plain", "expand"}
        See :mod:`align.text.profiles`.
    tokenizer : str
        ``rules`` (:mod:`align.text.tokenize`); ``spaces``: text is tokenized already, split on U+0020 alone
        and otherwise left as it is; a segmenter for a script without spaces, with the rules for all else
        (``jieba``, ``pythainlp``, ``janome``); ``nltk:NAME``, for example ``nltk:TreebankWordTokenizer``;
        ``module:function`` of one's own, from a text to its tokens or their (start, end) spans.

    Raises
    ------
    InputError
        If there is no such profile or tokenizer.
    """

    def __init__(self, language: str, *, profile: str = "plain", tokenizer: str = "rules") -> None:
        self.language, self.tokenizer = language, tokenizer
        self.profile = Profile(language, profile)
        self.cutter: Cutter | None = None
        self.external: SpanTokenizer | None = None
        if tokenizer == "rules":
            self.cutter = rules(language)
        elif tokenizer in SEGMENTERS:
            self.cutter = _with_segmenter(language, tokenizer)
        elif tokenizer == "spaces":
            self.cutter = _WHOLE
        elif ":" in tokenizer:
            self.external = external(tokenizer)
        else:
            named = ", ".join(["rules", "spaces", *SEGMENTERS])
            raise InputError(
                f"tokenizer {tokenizer!r}: no such tokenizer; choose {named}, nltk:NAME or module:function"
            )
        remember = lru_cache(REMEMBERED)
        self._cut, self._key = remember(self.cut_chunk), remember(lookup_key)
        self._words = remember(self.profile.words)

    @property
    def cleans(self) -> bool:
        """Whether text is cleaned before it is tokenized (all but ``spaces``)."""
        return self.tokenizer != "spaces"

    def process(self, text: str) -> Tokens:
        """Tokenize one line of text.

        Raises
        ------
        InputError
            If a tokenizer of one's own gives what is no token of the text.
        """
        cleaned = clean(text) if self.cleans else untouched(text)
        if self.external is None:
            surface, spans = self._tokens(cleaned.text)
        else:
            spans = self.external(cleaned.text)
            # Within a file of tokens the space is what parts them.
            surface = ["_".join(cleaned.text[start:stop].split(" ")) for start, stop in spans]
        if cleaned.origin is not None:
            spans = [cleaned.raw_span(*span) for span in spans]
        return Tokens(surface, spans, *self._analyse(surface))

    def process_tokens(self, tokens: Sequence[str]) -> Tokens:
        """Take given tokens as the surface, each of them as it is."""
        surface, spans, start = list(tokens), [], 0
        for token in surface:
            spans.append((start, start + len(token)))
            start += len(token) + 1
        return Tokens(surface, spans, *self._analyse(surface))

    def settings(self) -> dict[str, str]:
        """Return what :meth:`from_settings` needs to make the same processor, as JSON values."""
        return {"language": self.language, "profile": self.profile.name, "tokenizer": self.tokenizer}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], *, trusted: bool = False) -> TextProcessor:
        """Make a processor from what :meth:`settings` returned.

        Parameters
        ----------
        settings : mapping
            With ``language``, ``profile`` and ``tokenizer``.
        trusted : bool
            Whether they come from the user. A model's maker may name code to import as its tokenizer: such
            a name is refused unless trusted.

        Raises
        ------
        InputError
            If a value is missing or wrong, or names code and is not trusted.
        """
        values = [settings.get(name) for name in ("language", "profile", "tokenizer")]
        if not all(isinstance(value, str) for value in values):
            raise InputError(
                f"text settings: {dict(settings)!r} lacks language, profile or tokenizer; make it again"
            )
        language, profile, tokenizer = map(str, values)
        if ":" in tokenizer and not tokenizer.startswith("nltk:") and not trusted:
            raise InputError(
                f"text settings: tokenizer {tokenizer!r} is code that the model asks for; if you trust it, "
                "give the tokenizer yourself"
            )
        return cls(language, profile=profile, tokenizer=tokenizer)

    def cut_chunk(self, chunk: str) -> tuple[list[str], list[str]]:
        """Return the tokens of a chunk of cleaned text, and those where a number follows it.

        A chunk is what stands between two spaces. The second list is the first itself where the rules do
        not look at what follows. Not for tokenizers of nltk or of the user, which need the whole text.
        """
        assert self.cutter is not None
        if not chunk:
            return [], []
        usual = self.cutter.cut(chunk, False)
        return usual, self.cutter.cut(chunk, True) if self.cutter.numbered(chunk) else usual

    def _tokens(self, text: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Cut text whose only white space is U+0020."""
        surface: list[str] = []
        spans: list[tuple[int, int]] = []
        start = 0
        chunks = text.split(" ")
        both = list(map(self._cut, chunks))
        cuts = [usual for usual, _ in both]
        numbered = {chunk: cut for chunk, (usual, cut) in zip(chunks, both, strict=True) if cut is not usual}
        for place, cut in before_numbers(chunks, numbered):
            cuts[place] = cut
        for tokens in cuts:
            for token in tokens:
                stop = start + len(token)
                surface.append(token)
                spans.append((start, stop))
                start = stop
            start += 1
        return surface, spans

    def _analyse(self, surface: list[str]) -> tuple[list[str], list[int]]:
        keys = list(map(self._key, surface))
        if self.profile.name == "plain":
            return keys, list(range(len(keys)))
        analysis: list[str] = []
        parents: list[int] = []
        expand = self._words
        for parent, key in enumerate(self.profile.in_context(keys)):
            for word in expand(key):
                analysis.append(word)
                parents.append(parent)
        return analysis, parents


def before_numbers(chunks: Sequence[str], numbered: Mapping[str, Cut]) -> Iterator[tuple[int, Cut]]:
    """Yield places of chunks that a number follows and ``numbered`` has another cut of, and that cut."""
    for place in compress(count(), map(numbered.__contains__, chunks)):
        if chunks[place + 1 : place + 2] and chunks[place + 1][:1].isdigit():
            yield place, numbered[chunks[place]]


_WHOLE = Cutter(lambda chunk, number_follows: [chunk], lambda chunk: False)


def _with_segmenter(language: str, name: str) -> Cutter:
    """Return the rules with runs of unspaced script cut by a segmenter."""
    cut_run(name, "")  # say at once what is missing
    cutter = rules(language, keep_unspaced=True)

    def cut(chunk: str, number_follows: bool) -> list[str]:
        tokens: list[str] = []
        for token in cutter.cut(chunk, number_follows):
            tokens += cut_run(name, token) if is_unspaced(token) else [token]
        return tokens

    return Cutter(cut, cutter.numbered)
