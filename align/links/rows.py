"""Links in a column of rows: ``id TAB links``, ``source ||| target ||| links``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from align.core.errors import InputError
from align.data.columns import Chooser, Columns, check_columns
from align.links.link import AlignedPair


def tokens_of(line: str) -> list[str]:
    """Return the tokens of a tokenized sentence: cut at runs of the space character only."""
    return [token for token in line.split(" ") if token]


def watched(
    lines: Iterable[tuple[int, str]], name: str, note: Callable[[str], None]
) -> Iterator[tuple[int, str]]:
    """Yield lines of links, and note where a TAB once and spaces elsewhere show that they are rows.

    ``3-1 TAB 0-0 1-1`` may be the links of pair 3-1, but reads as three links.
    """
    told = False
    for number, line in lines:
        first, tab, rest = line.partition("\t")
        if tab and not told and " " in rest.strip(" ") and "\t" not in rest and " " not in first.strip(" "):
            told = True
            note(
                f"{name}:{number}: {first[:80]!r} before the TAB is read as a link; if it names the row, "
                "choose the column of the links"
            )
        yield number, line


def read_rows(
    lines: Iterable[tuple[int, str]],
    columns: Columns,
    name: str,
    parse: Callable[[int, str], AlignedPair],
) -> Iterator[AlignedPair]:
    """Yield the pair of each row, a first row of names left out.

    Parameters
    ----------
    lines : iterable of (int, str)
        Number from 1 and text.
    columns : Columns
        The one of the links; or those of source, target and links. Fields are parted by TABs or by bars, as
        in the first row that has more than one.
    name : str
        Of the file, for errors.
    parse : callable
        Reads the links of a row, given its number and a line in which they stand where they do in the row.

    Raises
    ------
    InputError
        If the columns are none, or a row does not have them.
    """
    check_columns(columns, counts=(1, 3))
    chooser = Chooser(columns, name)
    for number, line in lines:
        if number == 1 and chooser.named:
            chooser.take_names(line)
            continue
        found = chooser.choose(line)
        if isinstance(found, str):
            raise InputError(f"{name}:{number}: {found}; mend the row, or choose other columns")
        *texts, links = found
        try:
            # Spaces in place of what stands before: columns in messages are those of the row.
            pair = parse(number, " " * links.start + links.text)
        except InputError:
            if number == 1 and not any(map(str.isdigit, links.text)):
                what = "if that is the name of the column, choose it by name"
                raise InputError(f"{name}:1: {links.text[:80]!r} is no line of links; {what}") from None
            raise
        if texts:
            pair = pair._replace(source=tokens_of(texts[0].text), target=tokens_of(texts[1].text))
        yield pair
