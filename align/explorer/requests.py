"""What requests may hold: whatever comes is the word of a stranger, and is checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

# Of each sentence in a request, in characters.
MOST_CHARACTERS = 2000

# Of the parameters of an address: their number, and the characters of each.
_MOST_PARAMETERS, _MOST_OF_ONE = 40, 4000

_LARGEST = 1 << 53


class RequestError(Exception):
    """A request that is refused: its HTTP status and the reason, in one line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def parameters(query: str) -> dict[str, str]:
    """Return the parameters of an address, each given at most once, those without a value left out."""
    try:
        pairs = parse_qsl(query, max_num_fields=_MOST_PARAMETERS, encoding="utf-8", errors="strict")
    except ValueError:
        raise RequestError(400, "the parameters cannot be read, or are too many") from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise RequestError(400, f"{name[:40]} is given twice")
        if len(value) > _MOST_OF_ONE:
            raise RequestError(400, f"{name[:40]} has {len(value)} characters; at most {_MOST_OF_ONE} go")
        check_text(value, name[:40])
        found[name] = value
    return found


def json_object(body: bytes) -> dict[str, Any]:
    """Return the object that a body holds."""
    value = _json(body)
    if not isinstance(value, dict):
        raise RequestError(400, "the body must be a JSON object")
    return value


def _json(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is no JSON in UTF-8") from None


def fields(value: Mapping[str, Any], *allowed: str) -> None:
    """Refuse an object with other fields than those allowed."""
    if not set(value) <= set(allowed):
        raise RequestError(400, f"the body may hold {', '.join(allowed) or 'nothing'} only")


def whole(text: str | None, name: str, *, default: int | None = None, most: int = _LARGEST) -> int:
    """Return a parameter that is a whole number from 0 to ``most``."""
    if text is None:
        if default is None:
            raise RequestError(400, f"{name} is missing")
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 17 and int(text) <= most):
        raise RequestError(400, f"{name} must be a whole number from 0 to {most}")
    return int(text)


def number(value: Any, name: str) -> int:
    """Return a value of a JSON body that is a whole number >= 0; true and false are none."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise RequestError(400, f"{name} must be a whole number >= 0")
    return value


def one_of(text: str | None, name: str, allowed: Sequence[str], *, default: str | None = None) -> str:
    """Return a parameter that is one of some words."""
    text = default if text is None else text
    if text is None or text not in allowed:
        raise RequestError(400, f"{name} must be one of {', '.join(allowed)}")
    return text


def span(text: str, name: str) -> tuple[float, float]:
    """Return a parameter ``low-high``, two numbers in [0, 1]."""
    ends = text.split("-")
    try:
        low, high = map(float, ends)
    except ValueError:
        raise RequestError(400, f"{name} must be two numbers from 0 to 1, as 0.5-0.6") from None
    if not 0 <= low <= high <= 1:
        raise RequestError(400, f"{name} must be two numbers from 0 to 1, as 0.5-0.6")
    return low, high


def check_text(text: str, name: str) -> None:
    """Refuse what is no text: half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError(400, f"{name} holds half a surrogate pair, which is no text") from None


def sentences(body: bytes) -> tuple[Any, Any]:
    """Return the two sentences of a posted body: both as text, or both as lists of tokens.

    Raises
    ------
    RequestError
        If the body is not what the page sends.
    """
    value = _json(body)
    if not isinstance(value, dict) or not {"source", "target"} <= set(value) <= {
        "source",
        "target",
        "tokenized",
    }:
        raise RequestError(400, 'the body must be {"source": text, "target": text}')
    tokenized = value.get("tokenized", False)
    if not isinstance(tokenized, bool):
        raise RequestError(400, "tokenized must be true or false")
    source, target = (_sentence(value[side], side) for side in ("source", "target"))
    return (source.split(), target.split()) if tokenized else (source, target)


def _sentence(text: Any, side: str) -> str:
    """Return one sentence on one line."""
    if not isinstance(text, str):
        raise RequestError(400, f"{side} must be text")
    if len(text) > MOST_CHARACTERS:
        raise RequestError(
            413,
            f"{side} has {len(text)} characters; at most {MOST_CHARACTERS} can be aligned here, so split it",
        )
    check_text(text, side)
    return " ".join(text.split())
