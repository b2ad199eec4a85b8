r"""Readers of sentence pairs: two files, joint (``source ||| target``), TSV and TMX.

Every reader is a generator of :class:`~align.data.row.Row`, one for each line (or TMX unit) of the input and
in its order: a row that cannot be used says why in ``problem`` and keeps its number, so that nothing ever
shifts. Only ``\\n`` ends a line; U+2028, U+0085, form feeds and the like are part of the text. Input is read
as a stream, packed or not (see :mod:`align.data.streams`), in memory that does not grow with it.
"""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.advice import LIBRARY, Advice
from align.data.columns import BARS, Chooser, Columns, are_names, check_columns, fields_of
from align.data.line_counts import LengthTrace
from align.data.row import Row
from align.data.streams import name_of, open_text

# The ways a bitext can be laid out, and how many files each takes.
KINDS = {"files": 2, "joint": 1, "tsv": 1, "tmx": 1}

# Those whose rows may have further fields.
WITH_COLUMNS = ("tsv", "joint")

# A longer line, in bytes, is no sentence: it is passed over without being held.
LINE_LIMIT = 1_000_000

# Bytes at the start of the input that may show it to be UTF-16 without a mark.
_LOOKED_AT = 4096

# So many rows at the start of the input tell whether its format is the right one.
FIRST_ROWS = 100

# A TSV may have some bad rows too.
_ALMOST_ALL = 0.9

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Source = str | Path | BinaryIO


def open_bitext(
    kind: str,
    paths: Sequence[Source],
    *,
    encoding: str = "utf-8",
    languages: tuple[str, str] | None = None,
    limit: int | None = None,
    columns: Columns | None = None,
    advice: Advice = LIBRARY,
) -> Iterator[Row]:
    """Return the rows of a bitext of any kind.

    With ``limit`` the lines of two files are still counted to their ends: one line too many anywhere may mean
    that the pairs are shifted everywhere.

    Parameters
    ----------
    kind : {"files", "joint", "tsv", "tmx"}
        How the pairs are laid out: in two files, line by line; as ``source ||| target`` lines, with exactly
        one ``|||`` between spaces (or the line's edge); as ``source TAB target`` lines of exactly two fields;
        as a translation memory (:func:`align.data.tmx.read_tmx`).
    paths : sequence of str, Path or binary stream
        Two for ``files`` (source first), else one; ``-`` is the standard input.
    encoding : str
        Of the text, any in which a line feed is the single byte 0x0A; TMX says its own.
    languages : (str, str), optional
        Codes of the source and the target language, needed for ``tmx``.
    limit : int, optional
        Give only the first so many rows, >= 1; one of names does not count.
    columns : two of int, or of str, optional
        Which fields hold source and target, from 1, of rows of ``tsv`` or ``joint`` with any number of them.
        By name: the first row has the names; its problem is ``header``.
    advice : Advice
        What messages tell the user to do.

    Raises
    ------
    InputError
        If an argument is wrong or, while reading, most of the first rows are bad, one of two files has both
        sides in its lines (``source TAB target``, or with bars), packed data are damaged, or
        two files have different numbers of lines (said after the last row, with both counts and the place
        from which the lengths of the sentences no longer agree).
    """
    if kind not in KINDS:
        raise InputError(f"bitext: no kind {kind!r}; choose one of {', '.join(KINDS)}")
    if columns is not None:
        if kind not in WITH_COLUMNS:
            raise InputError(f"columns: {kind} has none; leave them out")
        check_columns(columns)
    if len(paths) != KINDS[kind]:
        raise InputError(f"bitext: {len(paths)} file(s) given for {kind}; it takes {KINDS[kind]}")
    if kind == "tmx":
        from align.data.tmx import read_tmx

        if languages is None:
            raise InputError("bitext: no languages given for tmx; name the source and the target language")
        return islice(read_tmx(paths[0], *languages, advice=advice), limit)
    check_encoding(encoding)
    if kind != "files":
        return _read_joined(paths[0], kind, encoding, limit, advice, columns)
    if str(paths[0]) == str(paths[1]):
        raise InputError(f"{paths[0]}: given as source and as target; give two files")
    return _read_files(paths[0], paths[1], encoding, limit, advice)


def count_lines(path: str | Path) -> int:
    """Return the number of lines of a file, packed or not, as :func:`open_bitext` counts them."""
    with open_text(path) as stream:
        return _Lines(stream, name_of(path)).count_all()


def check_encoding(encoding: str) -> None:
    """Refuse what Python does not know, and encodings whose line feed is not the single byte 0x0A.

    Raises
    ------
    InputError
        If text in the encoding cannot be read here.
    """
    try:
        plain = "\n".encode(encoding) == b"\n"
    except (LookupError, ValueError):
        raise InputError(f"corpus.encoding: unknown encoding {encoding!r}; use utf-8, latin-1, ...") from None
    if not plain and codecs.lookup(encoding).name == "utf-8-sig":
        raise InputError(f"corpus.encoding: {encoding!r}; write utf-8, a byte order mark is left out anyway")
    if not plain:
        raise InputError(
            f"corpus.encoding: {encoding!r} cannot be cut into lines; convert the text first: "
            f"iconv -f {encoding} -t utf-8"
        )


class _Lines:
    """The lines of a stream as bytes, without their ends; None for a line over the limit."""

    def __init__(self, stream: io.BufferedReader, where: str) -> None:
        if _is_utf16(stream.peek(_LOOKED_AT)[:_LOOKED_AT]):
            raise InputError(f"{where}: UTF-16 text cannot be cut into lines; convert it to UTF-8 first")
        self._stream = stream
        self._next = 0
        self.start = 0  # offset of the last line given, in unpacked bytes
        self.count = 0  # lines given so far

    def __iter__(self) -> Iterator[bytes | None]:
        readline = self._stream.readline
        while line := readline(LINE_LIMIT + 1):
            self.start = self._next
            self._next += len(line)
            self.count += 1
            if len(line) > LINE_LIMIT and not line.endswith(b"\n"):
                self._pass_over()
                yield None
            elif self.count == 1 and line.startswith(_BYTE_ORDER_MARK):
                self.start += len(_BYTE_ORDER_MARK)
                yield line[len(_BYTE_ORDER_MARK) :].rstrip(b"\r\n")
            else:
                yield line.rstrip(b"\r\n")

    def _pass_over(self) -> None:
        while piece := self._stream.readline(LINE_LIMIT):
            self._next += len(piece)
            if piece.endswith(b"\n"):
                return

    def count_all(self) -> int:
        """Return the number of lines of the whole stream, reading it to its end."""
        last = b"\n"
        while piece := self._stream.read(1 << 16):
            self.count += piece.count(b"\n")
            last = piece
        self.count += not last.endswith(b"\n")
        return self.count


def _is_utf16(start: bytes) -> bool:
    """Tell whether text begins with the mark of UTF-16, or has zeros as every other byte of it would."""
    marked = start[:2] in (b"\xff\xfe", b"\xfe\xff")
    return marked or (len(start) >= 8 and max(start[0::2].count(0), start[1::2].count(0)) > len(start) // 4)


def _read_files(
    source: Source, target: Source, encoding: str, limit: int | None, advice: Advice
) -> Iterator[Row]:
    trace = LengthTrace()
    with open_text(source) as source_stream, open_text(target) as target_stream:
        sides = _Lines(source_stream, name_of(source)), _Lines(target_stream, name_of(target))

        def rows() -> Iterator[tuple[Row, bytes]]:
            # Limit first: zip must not take a line from the source and then find the limit reached.
            for one, other in islice(zip(*sides, strict=False), limit):
                trace.add(len(one or b""), len(other or b""))
                yield _row_of_files((one, other), sides, encoding), one or b""

        checked = _checked(rows(), "files", [name_of(source), name_of(target)], advice)
        # Rows are given as they come, not held back for the check: someone may wait for each answer.
        first = []
        for row in islice(checked, FIRST_ROWS):
            first.append(row)
            yield row
        _check_one_side([row.source for row in first], name_of(source), advice)
        _check_one_side([row.target for row in first], name_of(target), advice)
        yield from checked
        counts = sides[0].count_all(), sides[1].count_all()
    if counts[0] != counts[1]:
        place = trace.suspicion(counts[0] - counts[1])
        if place is not None:
            looking = (
                f"the pairs seem shifted from about line {place} on: look there for a missing or extra line"
            )
        elif limit is not None and limit < min(counts):
            looking = f"the first {limit} pairs seem parallel: look after them for a missing or extra line"
        else:
            looking = "no place stands out: compare the ends of the files"
        raise InputError(
            f"{name_of(source)}: {counts[0]} lines, but {name_of(target)} has {counts[1]}; {looking}"
        )


def _check_one_side(texts: Sequence[str], where: str, advice: Advice) -> None:
    """Refuse a file of sentences whose first lines have both sides of a pair, as those of a TSV have.

    A TAB or bars may stand in any sentence, so that one line alone proves nothing.
    """
    filled = [text for text in texts if text.strip()]
    for mark, name, what, doing in (
        ("\t", "tab", "a TSV", advice.tsv),
        (" ||| ", "' ||| '", "the joint format", advice.joint),
    ):
        fields = [text.split(mark) for text in filled]
        counts = Counter(len(each) - 1 for each in fields if len(each) > 1 and all(map(str.strip, each)))
        count, lines = max(counts.items(), key=lambda item: item[1], default=(0, 0))
        if lines < 2 or lines < _ALMOST_ALL * len(filled):
            continue
        every = "every line" if lines == len(filled) else f"{lines} of the first {len(filled)} lines"
        number = "one" if count == 1 else count
        has = "has" if lines == len(filled) else "have"
        plural = "s" if count > 1 else ""
        raise InputError(f"{where}:1: {every} {has} {number} {name}{plural}: is this {what}? {doing}")


def _row_of_files(
    pair: tuple[bytes | None, bytes | None], sides: tuple[_Lines, _Lines], encoding: str
) -> Row:
    number, (source, target) = sides[0].count - 1, pair
    try:
        if source is not None and target is not None:
            return Row(number, source.decode(encoding), target.decode(encoding))
    except UnicodeDecodeError:
        return _problem_row(number, pair, sides, encoding)
    return _problem_row(number, pair, sides, encoding)


def _problem_row(
    number: int, pair: tuple[bytes | None, bytes | None], sides: tuple[_Lines, _Lines], encoding: str
) -> Row:
    """Return the row of lines of which one cannot be used: the first of them is told."""
    found = (_decode(line, lines, encoding)[1:] for line, lines in zip(pair, sides, strict=True))
    name, problem, detail = next((name, *each) for name, each in zip(SIDES, found, strict=True) if each[0])
    return Row(number, "", "", problem, f"{name}: {detail}")


def _read_joined(
    path: Source, kind: str, encoding: str, limit: int | None, advice: Advice, columns: Columns | None
) -> Iterator[Row]:
    chooser = None if columns is None else Chooser(columns, name_of(path), kind)
    named = chooser is not None and chooser.named
    with open_text(path) as stream:
        lines = _Lines(stream, name_of(path))

        def rows() -> Iterator[tuple[Row, bytes]]:
            for number, line in enumerate(islice(lines, None if limit is None else limit + named)):
                text, problem, detail = _decode(line, lines, encoding)
                if chooser is not None and named and number == 0 and problem is None:
                    chooser.take_names(text)
                    yield Row(number, "", "", "header", "the names of the columns"), line or b""
                    continue
                sides = _sides(text, kind, chooser) if problem is None else detail
                if isinstance(sides, str):
                    yield Row(number, "", "", problem or "bad_row", sides), line or b""
                else:
                    yield Row(number, *sides), line or b""

        yield from _checked(rows(), kind, [name_of(path)], advice)


def _sides(line: str, kind: str, chooser: Chooser | None) -> Sequence[str] | str:
    """Return source and target of a row, or what is wrong with it."""
    if chooser is None:
        return _split_at_bars(line) if kind == "joint" else _split_at_tab(line)
    found = chooser.choose(line)
    return found if isinstance(found, str) else [each.text for each in found]


def _split_at_bars(line: str) -> tuple[str, str] | str:
    """Return the two sides of a joint line, or what is wrong with it."""
    bars = list(BARS.finditer(line))
    if len(bars) == 1:
        return line[: max(0, bars[0].start() - 1)], line[bars[0].end() + 1 :]
    return f"{len(bars)} separators ' ||| ' instead of one"


def _split_at_tab(line: str) -> tuple[str, str] | str:
    source, *others = line.split("\t")
    if len(others) == 1:
        return source, others[0]
    return f"{1 + len(others)} field(s) instead of 2 with a TAB between"


def told_of_names(row: Row, kind: str, languages: Sequence[str], advice: Advice) -> str:
    """Return what to say of a first row that seems to hold the names of columns; of any other nothing."""
    if row.number or kind not in WITH_COLUMNS or not are_names(row.source, row.target, languages):
        return ""
    names = f"{row.source.strip()},{row.target.strip()}"
    return f"it seems to hold the names of columns, and is taken for a pair; {advice.columns(names)}"


def _decode(line: bytes | None, lines: _Lines, encoding: str) -> tuple[str, str | None, str]:
    """Return the text of a line, the problem with it (or None) and the detail of the problem."""
    if line is None:
        return "", "long_line", f"longer than {LINE_LIMIT} bytes"
    try:
        return line.decode(encoding), None, ""
    except UnicodeDecodeError as error:
        byte, where = line[error.start], error.start
        text = f"({lines.start + where} of the text)"
        return "", "encoding", f"byte 0x{byte:02x} at offset {where} of the line {text} is not {encoding}"


def _checked(
    rows: Iterable[tuple[Row, bytes]], kind: str, files: Sequence[str], advice: Advice
) -> Iterator[Row]:
    """Give the rows, but stop with a hint where most of the first ones are bad.

    A row of white space alone is bad where it should have two fields, but says nothing of the format.
    """
    bad, number = 0, 0
    first: tuple[Row, bytes] | None = None
    stream = iter(rows)
    for row, line in islice(stream, FIRST_ROWS):
        number += 1
        if row.problem not in (None, "header") and (row.problem != "bad_row" or line.strip()):
            bad += 1
            first = first or (row, line)
        if first and 2 * bad > FIRST_ROWS:
            break
        yield row
    if first and 2 * bad > min(number, FIRST_ROWS):
        row, line = first
        where = files[-1] if row.detail.startswith(f"{SIDES[1]}: ") else files[0]
        raise InputError(
            f"{where}:{row.number + 1}: {row.detail}, and {bad} of the first {number} rows are bad; "
            f"{_hint(kind, row, line, advice)}"
        )
    for row, _ in stream:
        yield row


def _hint(kind: str, row: Row, line: bytes, advice: Advice) -> str:
    """Say what the input may be instead, from its first bad line."""
    if row.problem == "encoding":
        return advice.encoding
    if line.lstrip().startswith((b"<?xml", b"<tmx", b"<!DOCTYPE tmx")):
        return f"this looks like TMX: {advice.kind('tmx')}"
    if kind != "tsv" and line.count(b"\t") == 1:
        return f"this looks like TSV (source TAB target): {advice.kind('tsv')}"
    if kind != "joint" and line.count(b" ||| ") == 1:
        return f"this looks like the joint format (source ||| target): {advice.kind('joint')}"
    if kind == "joint" and b"|||" in line and line.count(b" ||| ") < 2:
        return "put one space before and one after the bars"
    number = len(fields_of(line.decode(errors="replace"), kind)) if kind in WITH_COLUMNS else 0
    if number > 2:
        return f"its rows have {number} fields: say which two, {advice.columns('1,2')}"
    expected = {"joint": "'source ||| target'", "tsv": "'source TAB target'", "files": "a sentence"}
    return f"each line must be {expected[kind]}; check that the format is the right one"
