"""JSON lines, one object a pair.

::

    {"source": ["la", "maison"], "target": ["the", "house"],
     "links": [{"source": 0, "target": 0, "sure": true, "score": 0.97}]}

on one line. ``source`` and ``target`` may be absent, ``sure`` is true and ``score`` absent by default; a link
may also be a bare ``[0, 0]``. Other keys are passed over.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from align.core.errors import InputError
from align.links.link import AlignedPair, Link, Spot, Written, tidy

_LARGEST = 10**9

# What may be a link: a list or an object without another one in it.
_LINK = re.compile(r"\[[^][{}]*\]|\{[^][{}]*\}")


def read_jsonl(lines: Iterable[tuple[int, str]], name: str) -> Iterable[AlignedPair]:
    """Yield one pair a line, indices counted from 0."""
    for number, line in lines:
        where = f"{name}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: not JSON ({error}); write one object a line") from None
        if not isinstance(record, dict) or not isinstance(record.get("links"), list):
            raise InputError(f'{where}: not an object with a list "links"; write one object a line')
        yield AlignedPair(
            tidy(_link(item, where) for item in record["links"]),
            _tokens(record, "source", where),
            _tokens(record, "target", where),
            number,
            Written(((number, line),), jsonl_spots),
        )


def jsonl_spots(line: str) -> Iterator[Spot]:
    """Yield the links of a line with their columns."""
    for match in _LINK.finditer(line):
        try:
            link = _link(json.loads(match[0]), "")
        except (ValueError, InputError):
            continue
        yield match.start() + 1, match[0], *link[:2]


def write_jsonl(pairs: Iterable[AlignedPair]) -> Iterable[str]:
    """Yield one object a pair; tokens where the pair has them."""
    for pair in pairs:
        record: dict[str, Any] = {}
        if pair.source is not None and pair.target is not None:
            record = {"source": pair.source, "target": pair.target}
        record["links"] = [_record(link) for link in pair.links]
        yield json.dumps(record, ensure_ascii=False)


def _record(link: Link) -> dict[str, Any]:
    record: dict[str, Any] = {"source": link.source, "target": link.target, "sure": link.sure}
    if link.score is not None:
        record["score"] = float(link.score)
    return record


def _link(item: Any, where: str) -> Link:
    """Return the link that a JSON value stands for."""
    if isinstance(item, list) and len(item) == 2:
        item = {"source": item[0], "target": item[1]}
    if not isinstance(item, dict):
        raise InputError(f'{where}: {_shown(item)} is not a link; write {{"source": 0, "target": 0}}')
    source, target = (_index(item.get(side), where) for side in ("source", "target"))
    sure, score = item.get("sure", True), item.get("score")
    if not isinstance(sure, bool):
        raise InputError(f"{where}: sure is {_shown(sure)}; write true or false")
    if score is not None:
        score = _number(score, where)
    return Link(source, target, sure, score)


def _index(value: Any, where: str) -> int:
    """Return a token index; a JSON true is an int to Python."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST:
        raise InputError(f"{where}: {_shown(value)} is not a token index; write 0 or a larger number")
    return value


def _number(score: Any, where: str) -> float:
    """Return a score as a finite float."""
    if isinstance(score, (int, float)) and not isinstance(score, bool):
        try:
            number = float(score)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise InputError(f"{where}: score is {_shown(score)}; write a finite number")


def _tokens(record: dict[str, Any], side: str, where: str) -> list[str] | None:
    """Return the tokens of one side, None where the record has none."""
    tokens = record.get(side)
    if tokens is None:
        return None
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise InputError(f"{where}: {side} is {_shown(tokens)}; write a list of tokens")
    for token in tokens:
        # An escaped half of a surrogate pair is legal JSON, but no text that could be written again.
        if any("\ud800" <= character <= "\udfff" for character in token):
            raise InputError(f"{where}: the token {_shown(token)} holds half a character; mend the token")
    return tokens


def _shown(value: Any) -> str:
    """Return a value as JSON, short enough for a message."""
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
