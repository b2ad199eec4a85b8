"""The links that nltk reads: ``0-0 2-1``, one line a pair, for ``nltk.translate.Alignment.fromstring``.

Neither possible links nor scores are held. Corpora in the layout of nltk's ``AlignedCorpusReader`` (three
lines a pair: source, target, links) are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from align.core.errors import InputError
from align.links.lines import fields
from align.links.link import AlignedPair, Link, tidy

_LINKS = re.compile(r"[ \t]*(?:[0-9]{1,9}-[0-9]{1,9}(?:[ \t]+|$))*")


def read_nltk(lines: Iterable[tuple[int, str]], name: str) -> Iterator[AlignedPair]:
    """Yield the pairs, indices counted from 0; the first line with anything in it tells the layout."""
    rows = iter(lines)
    head: list[tuple[int, str]] = []
    for row in rows:
        head.append(row)
        if fields(row[1]):
            break
    rows = chain(head, rows)
    if not head or _LINKS.fullmatch(head[-1][1]):
        for number, line in rows:
            yield AlignedPair(_parse(line, f"{name}:{number}"), line=number)
        return
    # In blocks an empty line means nothing, and neither does one of equals signs.
    filled = ((number, line) for number, line in rows if fields(line) and not line.startswith("="))
    for number, source in filled:
        rest = [row for _, row in zip(range(2), filled, strict=False)]
        if len(rest) < 2:
            raise InputError(f"{name}:{number}: the file ends inside a pair; write source, target and links")
        (_, target), (where, links) = rest
        yield AlignedPair(_parse(links, f"{name}:{where}"), fields(source), fields(target), where)


def write_nltk(pairs: Iterable[AlignedPair]) -> Iterator[str]:
    """Yield one line of links a pair."""
    for pair in pairs:
        yield " ".join(f"{link.source}-{link.target}" for link in pair.links)


def _parse(line: str, where: str) -> list[Link]:
    """Return the links of one line."""
    if not _LINKS.fullmatch(line):
        raise InputError(f"{where}: {line[:80]!r} is not a line of links like '0-0 2-1'; mend the line")
    return tidy(Link(int(source), int(target)) for source, target in (w.split("-") for w in fields(line)))
