"""Pairs for the desk from files: text of any kind, its gold, files of links of the same pairs, side by side.

Every line of the text becomes a pair with the line's number; one that cannot be used has no words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from align.core.errors import InputError
from align.data.advice import Advice
from align.data.bitext import count_lines, open_bitext, told_of_names
from align.data.row import Row
from align.data.streams import open_text
from align.explorer.store import NewPair
from align.links import AlignedPair, check_bounds, find_format, read
from align.model.aligner import Aligner
from align.model.own_text import UNKNOWN_LANGUAGES

Note = Callable[[str], None]

# Pairs that are read at a time.
BLOCK = 256

ADVICE = Advice(
    languages="use a --model of languages that it has",
    encoding="convert it first: iconv -f latin-1 -t utf-8",
    tsv="give it as --input with --format tsv, or take the tabs out of the sentences",
    joint="give it as --input with --format joint",
    kind="give it with --format {}".format,
    columns="take that row out; {} are its names".format,
)


class LinksFile(NamedTuple):
    """A file of links of the pairs."""

    path: str
    format: str
    base: int | None = None  # what its indices count from, as the user says


@dataclass(frozen=True)
class Text:
    """Where pairs come from."""

    kind: str  # as of align.data.bitext.KINDS
    paths: Sequence[str | BinaryIO]
    name: str  # of the file, for messages
    gold: LinksFile | None = None
    others: Sequence[LinksFile] = field(default=())


class Block(NamedTuple):
    """Some pairs, and the links that each of the other files has of them: [source, target, score] each."""

    pairs: list[NewPair]
    others: list[list[list[list[Any]]]]


def kind_of(path: str) -> str:
    """Return the kind of text that a name tells: ``tmx`` for a translation memory, else ``tsv``."""
    name = Path(path).name
    return "tmx" if name.endswith(".tmx") or ".tmx." in name else "tsv"


def format_of(path: str) -> str:
    """Return the format of links that a name tells: ``jsonl`` for such a file, else ``pharaoh``."""
    name = Path(path).name
    return "jsonl" if name.endswith(".jsonl") or ".jsonl." in name else "pharaoh"


def count_pairs(text: Text) -> int | None:
    """Return how many pairs a text has, None where only reading it tells."""
    path = text.paths[0]
    if text.kind == "tmx" or not isinstance(path, str) or not Path(path).is_file():
        return None
    return count_lines(path)


def read_blocks(text: Text, aligner: Aligner, *, on_note: Note, first: int = 1) -> Iterator[Block]:
    """Yield the pairs of a text with their gold, a block at a time.

    Parameters
    ----------
    text : Text
    aligner : Aligner
        Whose tokens they get.
    on_note : callable
        Called with a line of text for what is odd.
    first : int
        The number of the first pair, >= 1.

    Raises
    ------
    InputError
        If a file cannot be read, is none of its kind, has fewer or more pairs than the text, or its links lie
        outside the tokens.
    """
    if text.kind == "tmx" and aligner.model.languages == UNKNOWN_LANGUAGES:
        raise InputError(f"{text.name}: its languages are not known; give --languages, as en-fr")
    rows = open_bitext(text.kind, text.paths, languages=aligner.model.languages, advice=ADVICE)
    with ExitStack() as stack:
        gold = None if text.gold is None else stack.enter_context(_links(text.gold, on_note))
        others = [stack.enter_context(_links(each, on_note)) for each in text.others]
        tokens = _pairs(rows, text, aligner, on_note)
        number = first
        while some := list(islice(tokens, BLOCK)):
            pairs = []
            for source, target in some:
                pair = NewPair("corpus", number, source, target)
                if gold is not None:
                    links = gold.take(pair, number - first + 1)
                    pair = pair._replace(
                        kind="gold", gold=[[link.source, link.target, int(link.sure)] for link in links]
                    )
                pairs.append(pair)
                number += 1
            yield Block(
                pairs,
                [
                    [
                        [[link.source, link.target, _confidence(link.score)] for link in each.take(pair, at)]
                        for at, pair in enumerate(pairs, number - first + 1 - len(pairs))
                    ]
                    for each in others
                ],
            )
        for each in [*([gold] if gold else []), *others]:
            each.end(number - first)


class _Links:
    """The links of a file, pair by pair."""

    def __init__(self, name: str, pairs: Iterator[AlignedPair], *, every_pair: bool) -> None:
        self._name = name
        self._pairs = pairs
        self._every_pair = every_pair

    def take(self, pair: NewPair, number: int) -> Sequence[Any]:
        """Return the links of the next pair, which is the text's ``number``-th."""
        found = next(self._pairs, None)
        if found is None:
            if self._every_pair:
                raise InputError(
                    f"{self._name}: {number - 1} pairs, but the text has more; give the links of this text"
                )
            return []
        where = f"{self._name}:{found.line}"
        if found.source is not None and found.target is not None:
            own = [list(pair.source), list(pair.target)]
            if [found.source, found.target] != own and found.links:
                raise InputError(
                    f"{where}: its tokens ({' '.join(found.source)[:80]} ...) are not those of pair {number}"
                    f" ({' '.join(pair.source)[:80]} ...); give the tokenized text with --tokenized"
                )
        check_bounds(
            found.links,
            pair.source,
            pair.target,
            where=where,
            reverse="give the links with source and target swapped",
            otherwise="give the tokenized text that the links were made for, with --tokenized",
            written=found.written,
        )
        return found.links

    def end(self, count: int) -> None:
        """Check that nothing is left."""
        if next(self._pairs, None) is not None:
            raise InputError(
                f"{self._name}: more pairs than the text, which has {count}; give the links of this text"
            )


@contextmanager
def _links(file: LinksFile, on_note: Note) -> Iterator[_Links]:
    kind = find_format(file.format)
    with open_text(file.path) as stream:
        pairs = read(
            stream,
            format=file.format,
            name=file.path,
            base=file.base,
            on_note=on_note,
            on_base=lambda base: (
                None if base.base is None else on_note(f"{file.path} counts from {base.base} ({base.reason})")
            ),
        )
        yield _Links(file.path, pairs, every_pair=kind.every_pair)


def _pairs(
    rows: Iterator[Row], text: Text, aligner: Aligner, on_note: Note
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the tokens of each row; of one that cannot be used, or has an empty side, say why."""
    for row in rows:
        where = (
            f"{text.name}: unit {row.number + 1}" if text.kind == "tmx" else f"{text.name}:{row.number + 1}"
        )
        if row.problem is not None:
            on_note(f"{where}: {row.detail or row.problem}; the pair is shown without words")
            yield [], []
            continue
        odd = row.detail or told_of_names(row, text.kind, aligner.model.languages, ADVICE)
        if odd:
            on_note(f"{where}: {odd}")
        source, target = aligner.tokens(row.source, row.target)
        yield list(source.surface), list(target.surface)


def _confidence(score: float | None) -> float | None:
    """Return a score that may be a confidence, None for any other."""
    return score if score is not None and 0 <= score <= 1 else None
