"""The links that nltk reads: ``0-0 2-1``, one line a pair, for ``nltk.translate.Alignment.fromstring``.

Neither possible links nor scores are held. Corpora in the layout of nltk's ``AlignedCorpusReader`` (three
lines a pair: source, target, links) are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from align.core.errors import InputError
from align.links.lines import columns, fields
from align.links.link import AlignedPair, Link, Written, tidy
from align.links.pharaoh import pharaoh_spots

_LINKS = re.compile(r"[ \t]*(?:[0-9]{1,9}-[0-9]{1,9}(?:[ \t]+|$))*")
_ONE = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")

# What is meant as a link: an index, a mark, and whatever follows, or the other way round.
_LIKE = re.compile(r"[0-9]{1,9}[-pP?]\S*|\S*[-pP?][0-9]{1,9}")


def read_nltk(lines: Iterable[tuple[int, str]], name: str) -> Iterator[AlignedPair]:
    """Yield the pairs, indices counted from 0; the first line with anything in it tells the layout."""
    rows = iter(lines)
    head, in_lines = _layout(rows)
    rows = chain(head, rows)
    if in_lines:
        for number, line in rows:
            written = Written(((number, line),), pharaoh_spots)
            yield AlignedPair(_parse(line, f"{name}:{number}"), line=number, written=written)
        return
    # In blocks an empty line means nothing, and neither does one of equals signs.
    filled = ((number, line) for number, line in rows if fields(line) and not line.startswith("="))
    for number, source in filled:
        rest = [row for _, row in zip(range(2), filled, strict=False)]
        if len(rest) < 2:
            raise InputError(f"{name}:{number}: the file ends inside a pair; write source, target and links")
        (_, target), (where, links) = rest
        pair = _parse(links, f"{name}:{where}")
        written = Written(((where, links),), pharaoh_spots)
        yield AlignedPair(pair, fields(source), fields(target), where, written)


def write_nltk(pairs: Iterable[AlignedPair]) -> Iterator[str]:
    """Yield one line of links a pair."""
    for pair in pairs:
        yield " ".join(f"{link.source}-{link.target}" for link in pair.links)


def _layout(rows: Iterator[tuple[int, str]]) -> tuple[list[tuple[int, str]], bool]:
    """Return the rows that had to be looked at, and whether a line is a pair (else three are)."""
    head = _to_filled(rows)
    first = head[-1][1] if head else ""
    if _LINKS.fullmatch(first) or not _is_like_links(first):
        return head, bool(_LINKS.fullmatch(first))
    # With a wrong word in it: or is it a sentence such as 'Apollo-11 landed'? Two further lines tell.
    second, third = _to_filled(rows), _to_filled(rows)
    links = third[-1][1] if third else ""
    in_blocks = fields(links) and _LINKS.fullmatch(links) and not _is_like_links(second[-1][1])
    return head + second + third, not in_blocks


def _to_filled(rows: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """Take rows up to the first that has something in it."""
    taken = []
    for row in rows:
        taken.append(row)
        if fields(row[1]):
            break
    return taken


def _is_like_links(line: str) -> bool:
    """Tell whether at least half of the words of a line look like links, be they wrong."""
    words = fields(line)
    return 2 * sum(_LIKE.fullmatch(word) is not None for word in words) >= len(words)


def _parse(line: str, where: str) -> list[Link]:
    """Return the links of one line."""
    if not _LINKS.fullmatch(line):
        bad = next(
            (f" (column {at}: {word[:80]!r})" for at, word in columns(line) if not _ONE.fullmatch(word)), ""
        )
        raise InputError(f"{where}: {line[:80]!r} is not a line of links like '0-0 2-1'; mend the line{bad}")
    return tidy(Link(int(source), int(target)) for source, target in (w.split("-") for w in fields(line)))
