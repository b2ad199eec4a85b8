"""Translation memories (TMX 1.4b): a streaming reader of the pairs of two languages, and a writer.

The file is read as untrusted XML: no entity is expanded, no document type is loaded, nothing is fetched,
and memory stays bounded whatever the file holds. A fault of characters (a control character, ``&nbsp;``, a
bare ``&`` or ``<``) costs the unit it is in; one of the structure, whose extent nobody knows, costs the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO, cast
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from align.core.errors import InputError
from align.core.tags import is_variant
from align.data.advice import LIBRARY, Advice
from align.data.row import Row
from align.data.streams import name_of, open_text

# A unit larger than this many bytes of XML is no sentence pair: reading stops.
UNIT_LIMIT = 1 << 24

# More faults in characters than this make no translation memory; the parser keeps each in memory.
FAULT_LIMIT = 10_000

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"

# What XML 1.0 cannot hold, and what would break a line.
_NOT_XML = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("[\r\n]+")
# What a reference to a character that XML forbids leaves in a text.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_UNIT_EDGE = re.compile(rb"(?=<tu[\s/>])|(?<=</tu>)")
_UNIT_START = re.compile(rb"<tu[\s/>]")
_LONGEST_TAG = 64

# Control characters as bytes, but those that switch the character set in some encodings.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x10-\x1a\x1c-\x1f]")

# An ampersand that begins no reference. The parser would wait for the semicolon, into the next unit.
_BARE = re.compile(rb"&(?!#[0-9]+;|#x[0-9A-Fa-f]+;|[A-Za-z_:\x80-\xff][-\w.:\x80-\xff]*;)")
_BARE_FAULT = "'&' that begins no entity; it is written &amp;"

# A less-than sign that begins no tag: "5 < 6", "<3".
_STRAY = re.compile(rb"<(?![A-Za-z_:/!?\x80-\xff])")
_STRAY_FAULT = "'<' that begins no tag; it is written &lt;"

# Where these may stand as they are; and what switches the character set, so that bytes say nothing.
_LITERAL = re.compile(rb"<!\[CDATA\[|<!--|\x1b")

# What the parser cannot pass over: what it is given instead, and what is told but for control characters.
_MENDED = ((_CONTROLS, b" ", ""), (_BARE, b"&amp;", _BARE_FAULT), (_STRAY, b"&lt;", _STRAY_FAULT))

# The parser's errors after which it goes on where it was, but for some characters.
_OF_CHARACTERS = re.compile(
    "ERR_(INVALID_CHAR|INVALID_CHARREF|INVALID_DEC_CHARREF|INVALID_HEX_CHARREF|UNDECLARED_ENTITY"
    "|ENTITYREF_SEMICOL_MISSING|ENTITYREF_NO_NAME)|WAR_UNDECLARED_ENTITY"
)


class _Unit(NamedTuple):
    """A ``tu`` element, and what is wrong with its characters; empty for nothing."""

    element: etree._Element
    fault: str


def read_tmx(
    path: str | Path | BinaryIO, source_language: str, target_language: str, *, advice: Advice = LIBRARY
) -> Iterator[Row]:
    """Read the pairs of two languages from a translation memory, one row for each unit (``tu``).

    ``en`` asks for ``en`` and every variant of it (``en-GB``), ``en-GB`` for that variant alone; case does
    not count, nor whether ``-``, ``_`` or ``@`` stands between. Of several texts in one language the first is
    taken, and the row says so. Inline markup (``ph``, ``bpt``, ...) is left out, highlighted text (``hi``)
    kept; line ends within a text become one space. References to characters that XML forbids are dropped.

    Parameters
    ----------
    path : str or Path or binary stream
        The file, packed or not; ``-`` is the standard input.
    source_language, target_language : str
        Language codes.
    advice : Advice
        What the user can do where no unit has both languages.

    Yields
    ------
    Row
        ``problem`` is ``no_language`` for a unit without text in one of the languages, ``markup`` for one
        with characters that XML cannot hold, or entities that the file does not declare.

    Raises
    ------
    InputError
        If the structure is not well-formed (with the line), the file declares entities, is no TMX, holds a
        unit over `UNIT_LIMIT` bytes or over `FAULT_LIMIT` wrong characters, or no unit has both languages.
    """
    wanted = source_language, target_language
    seen: set[str] = set()
    number, usable, first = -1, 0, ""
    for number, unit in enumerate(_units(path)):
        try:
            row = _row(number, unit, wanted, seen)
        except UnicodeDecodeError:
            # A reference to half a character of UTF-16 (&#xD800;).
            where = f"line {unit.element.sourceline}"
            row = Row(number, "", "", "markup", f"{where}: a reference to what is no character")
        usable += row.problem is None
        first = first or (f"unit {number + 1}: {row.detail}" if row.problem else "")
        yield row
    if number >= 0 and not usable and all(any(is_variant(tag, each) for tag in seen) for each in wanted):
        raise InputError(
            f"{name_of(path)}: none of the {number + 1} units can be used ({first}); mend the file"
        )
    if number >= 0 and not usable:
        found = ", ".join(sorted(seen)[:10]) or "none"
        raise InputError(
            f"{name_of(path)}: no unit has both {source_language} and {target_language} "
            f"(languages found: {found}; {first}); {advice.languages}"
        )


def _row(number: int, unit: _Unit, wanted: tuple[str, str], seen: set[str]) -> Row:
    """Return the pair of a unit, or what is wrong with it; the languages it has are added to ``seen``."""
    texts = [] if unit.fault else _texts(unit.element)
    tags = [language for variant in unit.element.iterfind("{*}tuv") if (language := _language_of(variant))]
    seen.update(tags)
    if unit.fault:
        return Row(number, "", "", "markup", unit.fault)
    pair, missing, notes = [], [], []
    for language in wanted:
        found = [text for tag, text in texts if is_variant(tag, language)]
        pair.append(found[0] if found else "")
        if not found:
            without = any(is_variant(tag, language) for tag in tags)
            missing.append(f"no <seg> in its {language}" if without else f"no {language}")
        elif len(found) > 1:
            notes.append(f"{len(found)} texts in {language}, of which the first is taken")
    if missing:
        return Row(number, "", "", "no_language", f"the unit has {' and '.join(missing)}")
    return Row(number, pair[0], pair[1], detail="; ".join(notes))


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


def _units(path: str | Path | BinaryIO) -> Iterator[_Unit]:
    """Yield each ``tu`` element and forget it afterwards."""
    parser = etree.XMLPullParser(
        events=("start", "end"),
        tag=("{*}tmx", "{*}tu"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
    )
    with open_text(path) as stream:
        since, is_tmx = 0, False
        faults = _Faults(parser, path)
        for piece in _cut_after_units(stream):
            found = faults.feed(piece)
            since += len(piece)
            for event, node in parser.read_events():
                element = cast(etree._Element, node)
                if event == "start":
                    is_tmx = is_tmx or _is_tmx(element, path)
                elif element.getparent() is not None:
                    yield _Unit(element, found or _unknown_entity(element))
                    _forget(element)
                    since, found = 0, ""
            faults.pending = found
            if not piece and not is_tmx:
                raise InputError(f"{name_of(path)}: no <tmx> element in it; is this a TMX file?")
            if since > UNIT_LIMIT:
                raise InputError(
                    f"{name_of(path)}: no end of a unit within {UNIT_LIMIT} bytes; is this a TMX file?"
                )


def _cut_after_units(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a stream, a piece for each unit and for what lies between; at last an empty piece.

    What is found wrong while a piece is parsed then belongs to that unit, or to none.
    """
    rest = b""
    while block := stream.read1(1 << 16):  # type: ignore[attr-defined]
        block = rest + block
        # An end tag that is not all there yet waits for the next block.
        cut = block.rfind(b"<", -_LONGEST_TAG)
        cut = cut if cut >= 0 and block.find(b">", cut) < 0 else len(block)
        block, rest = block[:cut], block[cut:]
        yield from filter(None, _UNIT_EDGE.split(block))
    if rest:
        yield rest
    yield b""


class _Faults:
    """Feeds the parser, and tells the faults of characters from those of the structure."""

    def __init__(self, parser: etree.XMLPullParser, path: str | Path | BinaryIO) -> None:
        self._parser, self._path = parser, path
        self._known = 0  # entries of the parser's log
        self._line = 1  # on which the next piece begins
        self._wide: bool | None = None  # whether a character takes several bytes, zeros among them
        self.pending = ""  # the first fault of the unit that has not ended yet

    def feed(self, piece: bytes) -> str:
        """Give the parser its next piece, the empty one at the end; return the first fault of this unit.

        Raises
        ------
        InputError
            If the structure is wrong, or too many characters are.
        """
        if _UNIT_START.match(piece):
            self.pending = ""  # what was wrong between the units
        piece = self._parsable(piece)
        try:
            if piece:
                self._parser.feed(piece)
            else:
                self._parser.close()
        except etree.XMLSyntaxError as error:
            self._check()
            raise self._refusal(error.lineno or 1, str(error.msg)) from None
        self._check()
        return self.pending

    def _parsable(self, piece: bytes) -> bytes:
        """Return the piece without what the parser cannot pass over (`_MENDED`)."""
        if self._wide is None:
            self._wide = b"\0" in piece[:4] or piece[:2] in (b"\xff\xfe", b"\xfe\xff")
        lines = piece.count(b"\n")
        if not self._wide:
            for fault, mended, told in _MENDED:
                found = fault.search(piece)
                if found is None or (told and _LITERAL.search(piece)):
                    continue
                what = told or _forbidden(found[0][0])
                line = self._line + piece.count(b"\n", 0, found.start())
                self.pending = self.pending or f"line {line}: {what}"
                piece = fault.sub(mended, piece)
        self._line += lines
        return piece

    def _check(self) -> None:
        """Look at the new entries of the log."""
        log = self._parser.feed_error_log
        for entry in log[self._known :] if len(log) > self._known else ():
            told = f"{entry.message}".strip()
            entity = entry.type_name == "ERR_NAME_REQUIRED" and told.startswith("xmlParseEntityRef")
            if not entity and not _OF_CHARACTERS.fullmatch(entry.type_name):
                if entry.level >= etree.ErrorLevels.ERROR:
                    raise self._refusal(entry.line, told)
                continue
            if "xmlParseCharRef: invalid xmlChar" not in told:
                self.pending = self.pending or f"line {entry.line}: {_said(told)}"
        self._known = len(log)
        if self._known > FAULT_LIMIT:
            raise InputError(
                f"{name_of(self._path)}: over {FAULT_LIMIT} wrong characters or entities; is this a TMX file?"
            )

    def _refusal(self, line: int, message: str) -> InputError:
        return InputError(
            f"{name_of(self._path)}:{line}: malformed XML ({message.strip()}); correct that place"
        )


def _unknown_entity(unit: etree._Element) -> str:
    """Tell of an entity in a text; with a document type, which is not read, the parser lets it pass."""
    for segment in unit.iterfind("{*}tuv/{*}seg"):
        for entity in segment.iter(etree.Entity):
            return f"line {segment.sourceline}: Entity '{str(entity.text)[1:-1]}' not defined"
    return ""


def _forbidden(character: int) -> str:
    return f"the character U+{character:04X}, which XML cannot hold"


def _said(message: str) -> str:
    """Return what the parser says of a character in words for those who do not write parsers."""
    character = re.search(r"invalid Char value (\d+)", message)
    if character:
        return _forbidden(int(character[1]))
    if message.startswith(("xmlParseEntityRef", "EntityRef")):
        return _BARE_FAULT
    return message.removeprefix("xmlParseCharRef: ")


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


def _language_of(variant: etree._Element) -> str | None:
    """Return the language of a ``tuv``; TMX 1.1 said ``lang`` where later versions say ``xml:lang``."""
    return variant.get(_LANGUAGE) or variant.get("lang")


def _texts(unit: etree._Element) -> list[tuple[str, str]]:
    """Return the (language, text) of every variant of a unit, in order."""
    texts = []
    for variant in unit.iterfind("{*}tuv"):
        segment, language = variant.find("{*}seg"), _language_of(variant)
        if segment is not None and language:
            texts.append((language, _LINE_ENDS.sub(" ", _FORBIDDEN.sub("", _plain(segment)))))
    return texts


def _plain(element: etree._Element) -> str:
    """Return the text of an element without the native codes in its inline markup."""
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and etree.QName(child).localname in ("hi", "mrk"):
            parts.append(_plain(child))
        parts.append(child.tail or "")
    return "".join(parts)
