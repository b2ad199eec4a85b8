"""The work of :mod:`pipeline.stages.lexicon.sampling` in pieces, and the files they share.

Each piece reads files and writes a folder of its own, which is made aside and renamed when whole
(:mod:`pipeline.work.checkpoint`): any process that sees the files may do it, in any order, and what is there
need not be done again. Below the folder of the work, ``blocks/N`` has the text and the candidates of a block
of pairs, ``priors`` the prior counts, and ``chains/SIDE-CHAIN`` the sums of a chain for each block and
its jumps.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from align.core.arrays import ArrayMapper, load_array, save_array, write_rows
from align.core.ragged import SIDES
from align.data.corpus import Corpus
from align.statistics import candidates
from align.statistics.candidates import Candidates
from align.statistics.jumps import Jumps
from align.statistics.lexicon import Lexicon
from align.statistics.sampler import Block, ChainSettings, Schedule, Sums, run_chain
from align.statistics.sampler_priors import LexicalPrior
from align.statistics.stems import Stems
from pipeline.work.checkpoint import drop_damaged, is_whole, new_checkpoint

DIRECTIONS = ("forward", "reverse")


@dataclass(frozen=True)
class BlockItem:
    """A block of pairs whose candidates are to be found."""

    work: str  # the folder of the work; the lexicon is in the folder above
    number: int  # from 0
    text: str  # the folder of the corpus or of the gold text
    chosen: str  # the file with the rows of that text that are sampled
    first: int  # rows first to last of them are in the block
    last: int

    @property
    def folder(self) -> Path:
        """Where its text and candidates are, if they are found."""
        return Path(self.work) / "blocks" / str(self.number)

    @property
    def rows(self) -> np.ndarray:
        """The rows of the text in the block, ascending."""
        return np.array(load_array(Path(self.chosen), mapped=True)[self.first : self.last])

    @property
    def weights(self) -> np.ndarray:
        """Of how many copies each of them stands, float32."""
        path = Path(self.chosen).with_suffix(".weights.npy")
        return np.array(load_array(path, mapped=True)[self.first : self.last])


@dataclass(frozen=True)
class ChainItem:
    """A chain to be run in one direction; the attributes are those of ``ChainSettings``."""

    work: str
    blocks: int
    side: int
    chain: int
    longest: int
    schedule: Schedule
    seed: int
    prior: bool

    @property
    def folder(self) -> Path:
        """Where its sums are, if it is done."""
        return Path(self.work) / "chains" / f"{self.side}-{self.chain}"


def drop_damaged_pieces(work: Path) -> int:
    """Remove the pieces that an earlier run left and that are not whole; return how many there were."""
    found = drop_damaged([work / "blocks", work / "chains"])
    priors = work / "priors"
    if priors.exists() and not is_whole(priors):
        shutil.rmtree(priors)
        found += 1
    return found


def find_candidates(item: BlockItem) -> int:
    """Find the candidates of a block, write them and its text; return how many there are."""
    if not item.folder.exists():
        corpus = Corpus.load_chosen(Path(item.text), item.rows)
        both = candidates.find(corpus, Lexicon.load(Path(item.work).parent, mapped=True))
        with new_checkpoint(item.folder) as aside:
            corpus.save(aside)
            save_array(aside / "weights.npy", item.weights)
            for name, own in zip(DIRECTIONS, both, strict=True):
                for part, values in zip(Candidates._fields, own, strict=True):
                    save_array(aside / f"{name}.{part}.npy", values)
    return len(load_array(item.folder / "forward.places.npy", mapped=True))


def sample_chain(item: ChainItem, on_sweep: Callable[[], None] | None = None) -> int:
    """Run a chain and write its sums; return its number."""
    if item.folder.exists():
        return item.chain
    work = Path(item.work)
    lexicon = Lexicon.load(work.parent, mapped=True)
    with new_checkpoint(item.folder) as aside:
        text = Blocks(work, item.blocks, item.side)
        sums = BlockSums(aside, text)
        jumps = run_chain(settings_of(item, lexicon), text, sums, chain=item.chain, on_sweep=on_sweep)
        sums.flush()
        save_array(aside / "jumps.npy", jumps)
    return item.chain


def settings_of(item: ChainItem, lexicon: Lexicon) -> ChainSettings:
    """Return what the chains of a direction have in common."""
    prior = load_priors(Path(item.work))[item.side] if item.prior else None
    return ChainSettings.of(lexicon, item.side, item.longest, item.schedule, seed=item.seed, prior=prior)


class Blocks:
    """The blocks of a text on disk, as one direction sees them; the last one asked for is mapped."""

    def __init__(self, work: Path, count: int, side: int) -> None:
        self._work, self._count, self._side = work, count, side
        self._files = ArrayMapper()
        self._last: tuple[int, Block] | None = None

    def __iter__(self) -> Iterator[Block]:
        return map(self.__getitem__, range(self._count))

    def __getitem__(self, number: int) -> Block:
        """Return a block."""
        if self._last is None or self._last[0] != number:
            self._last = None  # before the next one takes its place
            self._last = number, self._read(self._work / "blocks" / str(number))
        return self._last[1]

    def _read(self, folder: Path) -> Block:
        hidden, observed = SIDES[self._side], SIDES[1 - self._side]
        names = [f"{side}.{part}" for side in (hidden, observed) for part in ("ids", "offsets")]
        names += [f"{DIRECTIONS[self._side]}.{part}" for part in Candidates._fields]
        names.append("weights")
        return Block(*(self._files.load(folder / f"{name}.npy") for name in names))


class BlockSums:
    """The sums of a chain for each block, in files; those of one block are in memory."""

    def __init__(self, folder: Path, text: Blocks) -> None:
        self._folder, self._text = folder, text
        self._begun: set[int] = set()
        self._last: tuple[int, Sums] | None = None

    def __getitem__(self, number: int) -> Sums:
        """Return the sums of a block, to be changed in place."""
        if self._last is None or self._last[0] != number:
            self.flush()
            begun = number in self._begun
            self._last = (
                number,
                self.load(self._folder, number) if begun else Sums.zeros(self._text[number]),
            )
        return self._last[1]

    def flush(self) -> None:
        """Write the block in memory."""
        if self._last is not None:
            number, sums = self._last
            for path, values in zip(self.paths(self._folder, number), sums, strict=True):
                if number in self._begun:
                    write_rows(path, 0, values)
                else:
                    save_array(path, values)
            self._begun.add(number)
            self._last = None

    @staticmethod
    def paths(folder: Path, number: int) -> list[Path]:
        """Return the files with the sums that a chain leaves for a block."""
        return [folder / f"{number}.{name}.npy" for name in Sums._fields]

    @classmethod
    def load(cls, folder: Path, number: int) -> Sums:
        """Return the sums that a chain has left for a block."""
        return Sums(*map(load_array, cls.paths(folder, number)))


def save_priors(work: Path, priors: tuple[LexicalPrior, LexicalPrior]) -> None:
    """Write the prior counts of both directions, if they are not there."""
    if (work / "priors").exists():
        return
    with new_checkpoint(work / "priors") as aside:
        for name, own in zip(DIRECTIONS, priors, strict=True):
            arrays = {**vars(own), "jumps": None if own.jumps is None else own.jumps.counts}
            arrays["classes"] = None if own.jumps is None else own.jumps.classes
            del arrays["stems"]
            if own.stems is not None:
                arrays |= {f"stems.{part}": values for part, values in vars(own.stems).items()}
            for part, values in arrays.items():
                if values is not None:
                    save_array(aside / f"{name}.{part}.npy", values)


def load_priors(work: Path) -> tuple[LexicalPrior, LexicalPrior]:
    """Return the prior counts of both directions, those of cells left on disk."""

    def load(name: str) -> LexicalPrior:
        parts = [*(field.name for field in fields(LexicalPrior)), "classes"]
        paths = {part: work / "priors" / f"{name}.{part}.npy" for part in parts}
        found = {part: load_array(path, mapped=True) for part, path in paths.items() if path.exists()}
        counts, classes = found.pop("jumps", None), found.pop("classes", None)
        jumps = None if counts is None or classes is None else Jumps(counts, classes)
        places = {field.name: work / "priors" / f"{name}.stems.{field.name}.npy" for field in fields(Stems)}
        stems = None
        if all(path.exists() for path in places.values()):
            stems = Stems(**{part: load_array(path, mapped=True) for part, path in places.items()})
        return LexicalPrior(**found, jumps=jumps, stems=stems)

    return load(DIRECTIONS[0]), load(DIRECTIONS[1])
