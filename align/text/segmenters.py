"""Tokenizers that are not rules of ours: segmenters for scripts without spaces, nltk's, a user's own.

Every one becomes a function from a text to the spans of its tokens, checked here once and for all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from align.core.errors import InputError

Spans = list[tuple[int, int]]
SpanTokenizer = Callable[[str], Spans]

# Packages that cut text without spaces: Chinese, Thai and Japanese.
SEGMENTERS = ("jieba", "pythainlp", "janome")


@lru_cache(maxsize=8)
def segmenter(name: str) -> Callable[[str], list[str]]:
    """Return a function that cuts a run of unspaced script to words, by one of `SEGMENTERS`.

    Raises
    ------
    InputError
        If the package is not installed.
    """
    try:
        if name == "jieba":
            module = importlib.import_module("jieba")
            module.setLogLevel(60)  # it would write to the standard error
            return lambda run: list(module.lcut(run))
        if name == "pythainlp":
            module = importlib.import_module("pythainlp.tokenize")
            return lambda run: list(module.word_tokenize(run))
        module = importlib.import_module("janome.tokenizer")
        tokenizer = module.Tokenizer()
        return lambda run: list(tokenizer.tokenize(run, wakati=True))
    except ImportError:
        raise InputError(
            f"tokenizer {name!r}: the package is not installed; pip install {name}, or give text "
            "with a space between words"
        ) from None


def cut_run(name: str, run: str) -> list[str]:
    """Cut a run of unspaced script by a named segmenter.

    Raises
    ------
    InputError
        If the package is missing or the pieces put together are not the run.
    """
    pieces = [piece for piece in segmenter(name)(run) if piece]
    if "".join(pieces) == run:
        return pieces
    raise InputError(f"tokenizer {name!r}: its words are not the text {run!r}; use another tokenizer")


def external(name: str) -> SpanTokenizer:
    """Return a tokenizer of nltk (``nltk:NAME``) or of the user's own (``module:function``).

    Raises
    ------
    InputError
        If there is no such thing, or it cannot be called with a text alone.
    """
    module_name, _, attribute = name.partition(":")
    found = _nltk(attribute) if module_name == "nltk" else _own(module_name, attribute)

    def tokenize(text: str) -> Spans:
        try:
            tokens = list(found(text))
        except Exception as error:  # whatever code that is not ours may raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"tokenizer {name!r}: it failed on {text[:40]!r} ({reason}); mend it or use another"
            ) from error
        return _spans(name, text, tokens)

    return tokenize


def _nltk(name: str) -> Callable[[str], Sequence[Any]]:
    module = importlib.import_module("nltk.tokenize")
    known = sorted(each for each in dir(module) if each.endswith("Tokenizer"))
    if name not in known:
        raise InputError(f"tokenizer 'nltk:{name}': nltk has no such tokenizer; one of {', '.join(known)}")
    try:
        tokenizer = getattr(module, name)()
        tokenizer.tokenize("A probe.")
    except (TypeError, ValueError, LookupError, OSError, NotImplementedError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            f"tokenizer 'nltk:{name}': it cannot be used without arguments or data ({reason}); choose another"
        ) from None

    def call(text: str) -> Sequence[Any]:
        try:
            return list(tokenizer.span_tokenize(text))
        except NotImplementedError:
            return list(tokenizer.tokenize(text))

    return call


def _own(module_name: str, attribute: str) -> Callable[[str], Sequence[Any]]:
    name = f"{module_name}:{attribute}"
    try:
        function = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:  # an import runs code that is not ours
        reason = " ".join(str(error).split())
        raise InputError(
            f"tokenizer {name!r}: {reason}; give module:function, the module on the import path"
        ) from None
    if not callable(function):
        raise InputError(f"tokenizer {name!r}: it is no function; give one of a text")
    return cast(Callable[[str], Sequence[Any]], function)


def _spans(name: str, text: str, tokens: Iterable[Any]) -> Spans:
    """Check spans, or find the places of strings in the text."""
    spans: Spans = []
    position = 0
    for token in tokens:
        if isinstance(token, str):
            start = text.find(token, position)
            if start < 0 or not token:
                raise InputError(
                    f"tokenizer {name!r}: its token {token!r} is not in the text from character {position} "
                    "on; it must give pieces of the text in order, or their (start, end)"
                )
            stop = start + len(token)
        else:
            start, stop = _bounds(name, token)
            if not position <= start < stop <= len(text):
                raise InputError(
                    f"tokenizer {name!r}: span ({start}, {stop}) after character {position} of {len(text)}; "
                    "spans must be in order, within the text, not empty"
                )
        spans.append((start, stop))
        position = stop
    return spans


def _bounds(name: str, token: Any) -> tuple[int, int]:
    try:
        start, stop = token
        return int(start), int(stop)
    except (TypeError, ValueError):
        raise InputError(
            f"tokenizer {name!r}: it gave {token!r}, which is no text and no (start, end); mend it"
        ) from None
