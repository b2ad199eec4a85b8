"""Translation memories (TMX 1.4b): a streaming reader of the pairs of two languages, and a writer.

The file is read as untrusted XML: no entity is expanded, no document type is loaded, nothing is fetched,
and memory stays bounded whatever the file holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from align.core.errors import InputError
from align.data.row import Row
from align.data.streams import name_of, open_text

# A unit larger than this many bytes of XML is no sentence pair: reading stops.
UNIT_LIMIT = 1 << 24

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"

# What XML 1.0 cannot hold, and what would break a line.
_NOT_XML = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("[\r\n]+")


def read_tmx(path: str | Path | BinaryIO, source_language: str, target_language: str) -> Iterator[Row]:
    """Read the pairs of two languages from a translation memory, one row for each unit (``tu``).

    ``en`` asks for ``en`` and every variant of it (``en-GB``), ``en-GB`` for that variant alone; case does
    not count. Of several texts in one language the first is taken. Inline markup (``ph``, ``bpt``, ...) is
    left out, highlighted text (``hi``) kept; line ends within a text become one space.

    Parameters
    ----------
    path : str or Path or binary stream
        The file, packed or not; ``-`` is the standard input.
    source_language, target_language : str
        Language codes.

    Yields
    ------
    Row
        ``problem`` is ``no_language`` for a unit without text in one of the languages.

    Raises
    ------
    InputError
        If the file is not well-formed (with the line), declares entities, is no TMX, holds a unit over
        `UNIT_LIMIT` bytes, or no unit has both languages.
    """
    wanted = source_language, target_language
    seen: set[str] = set()
    number, usable = -1, 0
    for number, unit in enumerate(_units(path)):
        texts = _texts(unit)
        seen.update(language for language, _ in texts)
        pair = [_choose(texts, language) for language in wanted]
        missing = [language for language, text in zip(wanted, pair, strict=True) if text is None]
        if missing:
            yield Row(number, "", "", "no_language", f"the unit has no {' and no '.join(missing)}")
        else:
            usable += 1
            yield Row(number, pair[0] or "", pair[1] or "")
    if number >= 0 and not usable:
        found = ", ".join(sorted(seen)[:10]) or "none"
        raise InputError(
            f"{name_of(path)}: no unit has both {source_language} and {target_language} "
            f"(languages found: {found}); correct corpus.source and corpus.target"
        )


def write_tmx(
    pairs: Iterable[tuple[str, str]], out: TextIO, *, source_language: str, target_language: str
) -> None:
    """Write pairs as a translation memory, one ``tu`` a line; characters XML cannot hold become spaces."""
    out.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        '<header creationtool="Liaison" creationtoolversion="0.1" datatype="plaintext" segtype="sentence" '
        f'adminlang="en" o-tmf="text" srclang={quoteattr(source_language)}/>\n<body>\n'
    )
    languages = quoteattr(source_language), quoteattr(target_language)
    for pair in pairs:
        sides = (
            f"<tuv xml:lang={language}><seg>{escape(_NOT_XML.sub(' ', text))}</seg></tuv>"
            for language, text in zip(languages, pair, strict=True)
        )
        out.write(f"<tu>{''.join(sides)}</tu>\n")
    out.write("</body>\n</tmx>\n")


def _units(path: str | Path | BinaryIO) -> Iterator[etree._Element]:
    """Yield each ``tu`` element and forget it afterwards."""
    parser = etree.XMLPullParser(
        events=("start", "end"),
        tag=("{*}tmx", "{*}tu"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    with open_text(path) as stream:
        since, is_tmx = 0, False
        while True:
            piece = stream.read1(1 << 16)
            _feed(parser, piece, path)
            since += len(piece)
            for event, found in parser.read_events():
                element = cast(etree._Element, found)
                if event == "start":
                    is_tmx = is_tmx or _is_tmx(element, path)
                elif element.getparent() is not None:
                    yield element
                    _forget(element)
                    since = 0
            if not piece and not is_tmx:
                raise InputError(f"{name_of(path)}: no <tmx> element in it; is this a TMX file?")
            if not piece:
                return
            if since > UNIT_LIMIT:
                raise InputError(
                    f"{name_of(path)}: no end of a unit within {UNIT_LIMIT} bytes; is this a TMX file?"
                )


def _feed(parser: etree.XMLPullParser, piece: bytes, path: str | Path | BinaryIO) -> None:
    """Give the parser its next piece, the empty one at the end; every error of the text is raised."""
    try:
        if piece:
            parser.feed(piece)
        else:
            parser.close()
        errors = parser.feed_error_log.filter_from_errors()
        line, message = (errors[0].line, errors[0].message) if len(errors) else (0, "")
    except etree.XMLSyntaxError as error:
        line, message = error.lineno or 1, str(error.msg)
    if message:
        raise InputError(f"{name_of(path)}:{line}: malformed XML ({message}); correct that place")


def _is_tmx(element: etree._Element, path: str | Path | BinaryIO) -> bool:
    """Tell whether the element is the root of a TMX document; refuse a document that declares entities."""
    # The stubs do not know ``DTD.entities``.
    document: Any = element.getroottree().docinfo.internalDTD
    if document is not None and document.entities():
        raise InputError(f"{name_of(path)}: declares XML entities, which are not expanded here; remove them")
    return etree.QName(element).localname == "tmx"


def _forget(unit: etree._Element) -> None:
    """Free the unit and everything before it."""
    unit.clear()
    parent = unit.getparent()
    while parent is not None and unit.getprevious() is not None:
        del parent[0]


def _texts(unit: etree._Element) -> list[tuple[str, str]]:
    """Return the (language, text) of every variant of a unit, in order."""
    texts = []
    for variant in unit.iterfind("{*}tuv"):
        segment = variant.find("{*}seg")
        # TMX 1.1 said ``lang`` where later versions say ``xml:lang``.
        language = variant.get(_LANGUAGE) or variant.get("lang")
        if segment is not None and language:
            texts.append((language, _LINE_ENDS.sub(" ", _plain(segment))))
    return texts


def _plain(element: etree._Element) -> str:
    """Return the text of an element without the native codes in its inline markup."""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and etree.QName(child).localname in ("hi", "mrk"):
            parts.append(_plain(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _choose(texts: list[tuple[str, str]], wanted: str) -> str | None:
    """Return the first text in the wanted language or a variant of it."""
    wanted = wanted.lower().replace("_", "-")
    for language, text in texts:
        found = language.lower().replace("_", "-")
        if found == wanted or found.startswith(wanted + "-"):
            return text
    return None
