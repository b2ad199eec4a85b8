"""Reader of the ``A3`` files of GIZA++ and MGIZA, three lines a pair.

::

    # Sentence pair (1) source length 2 target length 3 alignment score : 0.01
    la maison bleue
    NULL ({ }) the ({ 1 }) house ({ 2 3 })

The third line gives after each source token, the empty word first, the positions of the target tokens
linked to it, counted from 1. Pairs that the aligner passed over are missing: their numbers tell, and they
become pairs without links, so that line N stays line N.

References
----------
.. [1] F. J. Och and H. Ney, "A systematic comparison of various statistical alignment models",
   Computational Linguistics 29(1), 2003 (GIZA++).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from align.core.errors import InputError
from align.links.lines import columns, fields
from align.links.link import AlignedPair, Link, tidy
from align.links.pharaoh import advice
from align.links.wpt import GAP

# Processes share the pairs out, so that the parts put one after the other are not in order.
_MERGE = "merge_alignment.py of mgiza, merge_alignment.py PART PART ... > WHOLE"

_HEADER = re.compile(r"# Sentence pair \(([0-9]{1,9})\)(?: .*)?")
_POSITION = re.compile(r"[0-9]{1,9}")


def read_giza(
    lines: Iterable[tuple[int, str]], name: str, on_note: Callable[[str], None]
) -> Iterator[AlignedPair]:
    """Yield the pairs in order with their tokens; indices counted from 0."""
    rows = iter(lines)
    expected, missing = 1, 0
    for number, header in rows:
        where = f"{name}:{number}"
        match = _HEADER.fullmatch(header.rstrip(" \t"))
        if match is None:
            what = advice(header.split(" ")[0], header, own="giza").replace("the line", "the file")
            raise InputError(f"{where}: {header[:80]!r} is not '# Sentence pair (1) ...'; {what}")
        pair = int(match[1])
        if pair < expected:
            what = f"merge the parts of the aligner's processes by number: {_MERGE}"
            if pair == 0:
                what = "GIZA counts pairs from 1: mend the number"
            raise InputError(f"{where}: pair {pair} where {expected} or a later one was due; {what}")
        if pair > expected + GAP:
            raise InputError(f"{where}: pair {pair} where {expected} was due; mend the number")
        missing += pair - expected
        for _ in range(expected, pair):
            yield AlignedPair([])
        expected = pair + 1
        body = [line for _, (_, line) in zip(range(2), rows, strict=False)]
        if len(body) < 2:
            raise InputError(f"{where}: the file ends inside pair {pair}; get the whole file")
        yield _parse(*body, where=f"{name}:{number + 2}")._replace(line=number)
    if missing:
        there = expected - 1 - missing
        part = f"; is this one part of several? merge them by number: {_MERGE}"
        on_note(
            f"{name}: {missing} pairs are missing in the numbering; taken as pairs without links"
            f"{part if 3 <= there <= missing + 1 else ''}"
        )


def _parse(target_line: str, source_line: str, *, where: str) -> AlignedPair:
    """Read the second and the third line of a pair."""
    target = fields(target_line)
    source: list[str] = []
    links = []
    words = columns(source_line)
    for position, (_, token) in enumerate(words):
        source.append(token)
        if next(words, (0, ""))[1] != "({":
            raise InputError(f"{where}: no '({{' after {token[:80]!r}; mend the line")
        for column, word in words:
            if word == "})":
                break
            if not _POSITION.fullmatch(word) or not 1 <= int(word) <= len(target):
                raise InputError(
                    f"{where}: {word[:80]!r} is not one of the {len(target)} target positions; mend the line "
                    f"(column {column}, where 1 to {len(target)} can stand)"
                )
            if position > 0:  # position 0 is the empty word
                links.append(Link(position - 1, int(word) - 1))
        else:
            raise InputError(f"{where}: no '}})' after {token[:80]!r}; mend the line")
    if source[:1] != ["NULL"]:
        raise InputError(f"{where}: does not start with 'NULL ({{'; mend the line")
    return AlignedPair(tidy(links), source[1:], target)
