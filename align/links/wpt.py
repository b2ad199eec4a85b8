"""The format of the shared task of NAACL 2003 (WPT): one link a line, ``0001 3 4 P``.

Number of the pair, source and target index, all counted from 1; then, both optional, S (sure) or P
(possible), and a score. Index 0 is the empty word: such links say that a word has none, and go.
A pair without links has no line, so that nothing tells how many pairs follow the last one with links.

References
----------
.. [1] R. Mihalcea and T. Pedersen, "An evaluation exercise for word alignment", Workshop on Building and
   Using Parallel Texts, 2003.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from align.core.errors import InputError
from align.links.lines import columns, fields
from align.links.link import AlignedPair, Link, Spot, Written, tidy
from align.links.pharaoh import SCORE, advice, finite

# A pair's number this far beyond the number of pairs seen is a slip, not a gap.
GAP = 1_000_000

_NUMBER = re.compile(r"[0-9]{1,9}")
_SCORE = re.compile(SCORE)


def read_wpt(
    lines: Iterable[tuple[int, str]], name: str, on_note: Callable[[str], None]
) -> Iterable[AlignedPair]:
    """Yield pair 1, 2, ... up to the last that has links, indices counted from 1.

    The whole file is read first: its lines may come in any order.
    """
    found: dict[int, list[Link]] = {}
    rows: dict[int, list[tuple[int, str]]] = {}
    empty_word = 0
    for number, line in lines:
        if not fields(line):
            continue
        pair, link = _parse(line, f"{name}:{number}")
        links = found.setdefault(pair, [])
        rows.setdefault(pair, []).append((number, line))
        if 0 in link[:2]:
            empty_word += 1
        else:
            links.append(link)
        if pair > len(found) + GAP:
            raise InputError(f"{name}:{number}: pair {pair} after {len(found)} pairs; mend the number")
    if empty_word:
        on_note(f"{name}: {empty_word} links to the empty word (index 0) left out")
    for pair in range(1, max(found, default=0) + 1):
        own = rows.get(pair, [])
        written = Written(own, wpt_spots)
        yield AlignedPair(tidy(found.get(pair, [])), line=own[0][0] if own else 0, written=written)


def wpt_spots(line: str) -> Iterator[Spot]:
    """Yield the link of a line, with the column of its source index."""
    (_, _), (column, source), (_, target), *_ = columns(line)
    yield column, f"{source} {target}", int(source), int(target)


def write_wpt(pairs: Iterable[AlignedPair]) -> Iterable[str]:
    """Yield one line a link; of a pair without links there is none."""
    for number, pair in enumerate(pairs, 1):
        for link in pair.links:
            score = "" if link.score is None else f" {float(link.score)!r}"
            yield f"{number:04d} {link.source + 1} {link.target + 1} {'S' if link.sure else 'P'}{score}"


def _parse(line: str, where: str) -> tuple[int, Link]:
    """Return the number of the pair and the link, both as they are written."""
    words = fields(line)
    numbers, rest = words[:3], words[3:]
    sure = True
    if rest and rest[0] in {"S", "P"}:
        sure = rest.pop(0) == "S"
    score = finite(rest.pop(), where=where) if len(rest) == 1 and _SCORE.fullmatch(rest[0]) else None
    if rest or len(numbers) < 3 or not all(_NUMBER.fullmatch(word) for word in numbers):
        what = advice(words[0], line, own="wpt")
        raise InputError(f"{where}: {line[:80]!r} is not a wpt link like '0001 3 4 P'; {what}")
    pair, source, target = map(int, numbers)
    if pair == 0:
        raise InputError(f"{where}: pair 0; the wpt format counts pairs from 1: mend the number")
    return pair, Link(source, target, sure, score)
