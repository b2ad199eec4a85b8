"""TMX translation memories whose units hold their links in ``<prop type="x-word-alignment">0-0 1p2</prop>``.

The links are written as in the Pharaoh format; the first ``tuv`` of a unit is the source, the second the
target, their segments hold the tokens with a space between. Other readers of TMX pass over the property.

References
----------
.. [1] TMX 1.4b Specification, Localization Industry Standards Association, 2005.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from align.core.errors import InputError
from align.links.link import AlignedPair
from align.links.pharaoh import format_pharaoh, parse_pharaoh

PROPERTY = "x-word-alignment"

# Private-use language tags: the links know their sides, not their languages.
LANGUAGES = ("x-source", "x-target")

# What an XML 1.0 document cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACE = re.compile("[ \t\r\n]+")


def write_tmx(pairs: Iterable[AlignedPair], *, languages: tuple[str, str] = LANGUAGES) -> Iterator[str]:
    """Yield the lines of a TMX document, one unit a line.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        With tokens.
    languages : (str, str)
        Language tags of source and target (``en``, ``pt-BR``).

    Raises
    ------
    InputError
        If a pair has no tokens, or a token cannot stand in a segment.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<tmx version="1.4">'
    yield (
        '<header creationtool="liaison" creationtoolversion="1" segtype="sentence" o-tmf="pharaoh"'
        f' adminlang="en" srclang="{languages[0]}" datatype="plaintext"/>'
    )
    yield "<body>"
    for number, pair in enumerate(pairs, 1):
        sides = []
        for language, tokens in zip(languages, (pair.source, pair.target), strict=True):
            if tokens is None:
                raise InputError(f"pair {number}: tmx needs the tokens; give the text of both sides")
            sides.append(f'<tuv xml:lang="{language}"><seg>{_segment(tokens, number)}</seg></tuv>')
        yield f'<tu><prop type="{PROPERTY}">{format_pharaoh(pair.links)}</prop>{"".join(sides)}</tu>'
    yield "</body>"
    yield "</tmx>"


def read_tmx(lines: Iterable[tuple[int, str]], name: str) -> Iterator[AlignedPair]:
    """Yield one pair a unit, indices counted from 0, with its tokens."""
    from lxml import etree

    parser = etree.XMLPullParser(
        events=("end",),
        tag="{*}tu",
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )
    place = name
    try:
        for number, line in lines:
            place = f"{name}:{number}"
            parser.feed(line.encode() + b"\n")
            yield from _units(parser, name)
        parser.close()
    except etree.XMLSyntaxError as error:
        raise InputError(f"{place}: not well-formed XML ({error}); mend the file") from None


def _segment(tokens: list[str], number: int) -> str:
    """Return the tokens as the text of a segment."""
    for token in tokens:
        if not token or _SPACE.search(token) or _FORBIDDEN.search(token):
            raise InputError(f"pair {number}: tmx cannot hold the token {token!r}; mend the text")
    text = " ".join(tokens)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _units(parser: Any, name: str) -> Iterator[AlignedPair]:
    """Yield the units that are complete by now, and take them out of the tree, which would grow for ever."""
    for _, unit in parser.read_events():
        yield _unit(unit, name)
        unit.clear()
        parent = unit.getparent()  # none where the unit is all there is
        while parent is not None and unit.getprevious() is not None:
            del parent[0]


def _unit(unit: Any, name: str) -> AlignedPair:
    """Read one ``tu`` element."""
    where = f"{name}:{unit.sourceline}"
    links = [prop for prop in unit.findall("{*}prop") if prop.get("type") == PROPERTY]
    if len(links) != 1:
        raise InputError(
            f'{where}: a unit with {len(links)} <prop type="{PROPERTY}">; a memory without links cannot be'
            " converted"
        )
    segments = [tuv.find("{*}seg") for tuv in unit.findall("{*}tuv")]
    if len(segments) != 2 or None in segments:
        raise InputError(f"{where}: a unit without two segments; give it a source and a target")
    source, target = (
        [token for token in _SPACE.split(_text(segment, where)) if token] for segment in segments
    )
    text = _SPACE.sub(" ", _text(links[0], where))
    return AlignedPair(parse_pharaoh(text, where=where), source, target, unit.sourceline)


def _text(element: Any, where: str) -> str:
    """Return the text of an element; an entity of the document's own is refused, not expanded."""
    for node in element.iter():
        if not isinstance(node.tag, str) and getattr(node, "name", None):
            raise InputError(
                f"{where}: the entity {node.text} is not expanded; write the characters themselves"
            )
    return "".join(element.itertext())
