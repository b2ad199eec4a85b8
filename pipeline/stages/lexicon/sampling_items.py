"""The work of :mod:`pipeline.stages.lexicon.sampling` in pieces, and the files they share.

Each piece reads files and writes a folder of its own, which is made aside and renamed when whole
(:mod:`pipeline.work.kept`): any process that sees the files may do it, in any order, and what is there need
not be done again. Below the folder of the work, ``blocks/N`` has the text and the candidates of a block of
pairs, ``known`` what is known beforehand, and ``chains/SIDE-CHAIN`` the sums of a chain for each block and
its jumps.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, save_array
from align.data.corpus import Corpus
from align.statistics import candidates
from align.statistics.candidates import Candidates
from align.statistics.lexicon import Lexicon
from align.statistics.sampler import Known, Schedule
from align.statistics.sampler_chain import Block, Task, run_chain
from pipeline.work.kept import drop_damaged, is_whole, written_whole

DIRECTIONS = ("forward", "reverse")
_KNOWN = ("links", "totals", "null_links", "jumps")


@dataclass(frozen=True)
class BlockItem:
    """A block of pairs whose candidates are to be found.

    Attributes
    ----------
    work : str
        The folder of the work; the lexicon is in the folder above.
    number : int
        The block's number, from 0.
    text : str
        The folder of the corpus or of the gold text.
    chosen : str
        The file with the rows of that text that are sampled.
    first, last : int
        Those of them that are in the block.
    """

    work: str
    number: int
    text: str
    chosen: str
    first: int
    last: int

    @property
    def rows(self) -> np.ndarray:
        """The rows of the text in the block, ascending."""
        return np.array(load_array(Path(self.chosen), mapped=True)[self.first : self.last])


@dataclass(frozen=True)
class ChainItem:
    """A chain to be run in one direction; the attributes are those of ``Task``."""

    work: str
    blocks: int
    side: int
    chain: int
    longest: int
    schedule: Schedule
    seed: int
    known: bool

    @property
    def folder(self) -> Path:
        """Where its sums are, if it is done."""
        return Path(self.work) / "chains" / f"{self.side}-{self.chain}"


def drop_pieces(work: Path) -> int:
    """Remove the pieces that an earlier run left and that are not whole; return how many there were."""
    found = drop_damaged([work / "blocks", work / "chains"])
    known = work / "known"
    if known.exists() and not is_whole(known):
        shutil.rmtree(known)
        found += 1
    return found


def find_block(item: BlockItem) -> int:
    """Find the candidates of a block, write them and its text; return how many there are."""
    folder = Path(item.work) / "blocks" / str(item.number)
    if not folder.exists():
        corpus = Corpus.load_chosen(Path(item.text), item.rows)
        both = candidates.find(corpus, Lexicon.load(Path(item.work).parent, mapped=True))
        with written_whole(folder) as aside:
            corpus.save(aside)
            for name, own in zip(DIRECTIONS, both, strict=True):
                for part in ("offsets", "places", "cells"):
                    save_array(aside / f"{name}.{part}.npy", getattr(own, part))
    return len(load_array(folder / "forward.places.npy", mapped=True))


def run_item(item: ChainItem, on_sweep: Callable[[], None] | None = None) -> int:
    """Run a chain and write its sums; return its number."""
    if item.folder.exists():
        return item.chain
    work = Path(item.work)
    lexicon = Lexicon.load(work.parent, mapped=True)
    with written_whole(item.folder) as aside:
        text = Shelf(work, item.blocks, item.side)
        sums = _SumFiles(aside, text)
        jumps = run_chain(task_of(item, lexicon), text, sums, chain=item.chain, on_sweep=on_sweep)
        sums.flush()
        save_array(aside / "jumps.npy", jumps)
    return item.chain


def task_of(item: ChainItem, lexicon: Lexicon) -> Task:
    """Return what the chains of a direction have in common."""
    known = load_known(Path(item.work), item.side) if item.known else None
    return Task.of(lexicon, item.side, item.longest, item.schedule, seed=item.seed, known=known)


class Shelf:
    """The blocks of a text on disk, as one direction sees them; the last one asked for is kept."""

    def __init__(self, work: Path, count: int, side: int) -> None:
        self._work, self._count, self._side = work, count, side
        self._last: tuple[int, Block] | None = None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Block]:
        return map(self.__getitem__, range(self._count))

    def __getitem__(self, number: int) -> Block:
        """Return a block."""
        if self._last is None or self._last[0] != number:
            self._last = None  # before the next one takes its place
            self._last = number, self._read(self._work / "blocks" / str(number))
        return self._last[1]

    def _read(self, folder: Path) -> Block:
        def read(name: str) -> np.ndarray:
            return load_array(folder / f"{name}.npy")

        sides = ("source", "target")
        hidden, observed, own = sides[self._side], sides[1 - self._side], DIRECTIONS[self._side]
        return Block(
            read(f"{hidden}.ids"),
            read(f"{hidden}.offsets"),
            read(f"{observed}.ids"),
            read(f"{observed}.offsets"),
            Candidates(read(f"{own}.offsets"), read(f"{own}.places"), read(f"{own}.cells")),
        )


def load_sums(folder: Path, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of a chain for a block: of its candidates and of NULL."""
    return load_array(folder / f"{number}.candidates.npy"), load_array(folder / f"{number}.null.npy")


class _SumFiles:
    """The sums of a chain, those of one block in memory."""

    def __init__(self, folder: Path, text: Shelf) -> None:
        self._folder, self._text = folder, text
        self._last: tuple[int, tuple[np.ndarray, np.ndarray]] | None = None

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        if self._last is None or self._last[0] != number:
            self.flush()
            begun = (self._folder / f"{number}.null.npy").exists()
            sums = load_sums(self._folder, number) if begun else self._text[number].begin()
            self._last = number, sums
        return self._last[1]

    def flush(self) -> None:
        """Write the block in memory."""
        if self._last is not None:
            number, sums = self._last
            for name, values in zip(("candidates", "null"), sums, strict=True):
                save_array(self._folder / f"{number}.{name}.npy", values)
            self._last = None


def save_known(work: Path, known: tuple[Known, Known]) -> None:
    """Write what is known of both directions."""
    with written_whole(work / "known") as aside:
        for name, own in zip(DIRECTIONS, known, strict=True):
            for part in _KNOWN:
                if (values := getattr(own, part)) is not None:
                    save_array(aside / f"{name}.{part}.npy", values)


def load_known(work: Path, side: int) -> Known:
    """Return what is known of a direction, its links left on disk."""
    paths = {part: work / "known" / f"{DIRECTIONS[side]}.{part}.npy" for part in _KNOWN}
    return Known(**{part: load_array(path, mapped=True) for part, path in paths.items() if path.exists()})
