"""Other aligners, each a program in an environment of its own, on the tokens that the pipeline found.

None is imported (their licences are others). Each leaves both directions, ``forward.txt`` and
``reverse.txt``, source token first; :mod:`benchmarks.eflomal` puts these together in all ways.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError, WorkError
from align.core.ragged import SIDES
from align.data.corpus import Corpus
from align.links import Link
from benchmarks import eflomal
from benchmarks.eflomal import surface_links, text_of
from benchmarks.figures import read_lines, write_lines
from benchmarks.process import Plan, Usage, call, environment, watch
from benchmarks.runs import POLL
from benchmarks.thot_program import SCHEDULES

TOKENS = ("surface", "analysis")
FAST_ALIGN, EFLOMAL, THOT = "fast_align", "eflomal", "sil-thot"
NAMES = (EFLOMAL, FAST_ALIGN, *(f"{THOT}-{model}" for model in SCHEDULES))

_PROGRAM = Path(__file__).resolve().with_name("thot_program.py")
_JOINED = " ||| "


@dataclass(frozen=True)
class PeerText:
    """The text that aligners are given: ``source.txt`` and ``target.txt`` of a folder, one space a gap.

    ``rows``, int64, says where the gold pairs stand; it is empty without gold.
    """

    folder: Path
    pairs: int
    rows: np.ndarray
    to_gold: Callable[[list[list[Link]]], list[list[Link]]]  # to links between the tokens of the gold


@dataclass(frozen=True)
class Peer:
    """An aligner: its commands for a text and a folder, and the file that each one's output is, if any."""

    name: str
    version: str
    commands: Callable[[PeerText, Path], list[tuple[list[object], Path | None]]]


def write_text(preprocess: Path, folder: Path, tokens: str) -> PeerText:
    """Write the text of the stage preprocess for other aligners, lower-cased.

    Parameters
    ----------
    preprocess, folder : Path
        The stage's folder, and where to write.
    tokens : str
        ``surface``: the tokens people see, every line that was not rejected and then all gold pairs;
        ``analysis``: those the lexicon is learnt from (contractions undone), what statistics are made of.
    """
    folder.mkdir(parents=True, exist_ok=True)
    gold = (preprocess / "gold").is_dir()
    corpus = Corpus.load(preprocess / "gold") if gold else None
    if tokens == "surface":
        kept = np.unique(load_array(preprocess / "lines.npy")).tolist()
        for side in SIDES:
            lines = read_lines(preprocess / f"{side}.txt")
            texts = [lines[line] for line in kept]
            texts += read_lines(preprocess / f"gold.{side}.txt") if gold else []
            write_lines(folder / f"{side}.txt", (text.lower() for text in texts))
        rows = len(kept) + np.arange(0 if corpus is None else len(corpus))
        return PeerText(folder, len(texts), rows, lambda links: links)
    if corpus is None:
        used = np.flatnonzero(load_array(preprocess / "in_statistics.npy"))
        text, rows = Corpus.load(preprocess / "corpus").take(used), np.zeros(0, dtype=np.int64)
    else:
        text, rows = text_of(preprocess)
    eflomal.write_text(text, preprocess, folder)
    return PeerText(
        folder, len(text), rows, lambda links: links if corpus is None else surface_links(links, corpus)
    )


def find(name: str, environments: Path | None, log: Path) -> Peer:
    """Return an aligner by its name in :data:`NAMES`.

    Parameters
    ----------
    name : str
    environments : Path, optional
        A folder of virtual environments, ``eflomal`` and ``sil-thot``; one that is missing is made.
    log : Path
        Where what programs say is appended.

    Raises
    ------
    InputError, WorkError
        If it is not there and cannot be installed.
    """
    if name == FAST_ALIGN:
        program = shutil.which("fast_align")
        if program is None:
            raise InputError("no fast_align on the PATH")
        return Peer(name, "of the PATH", lambda text, folder: _fast_align(program, text, folder))
    package = THOT if name.startswith(THOT) else name
    if environments is None:
        raise InputError("give --peers-venv FOLDER: it is installed there")
    python = _installed(environments.absolute() / package, package, log)
    if name == EFLOMAL:
        tool = eflomal.find(python, log)
        return Peer(name, tool.version, lambda text, folder: _eflomal(tool.program, text, folder))
    version = eflomal.version_of(package, python, log)
    model = name.removeprefix(f"{THOT}-")
    return Peer(name, version, lambda text, folder: _thot(python, model, text, folder))


def run(peer: Peer, text: PeerText, folder: Path, *, limit: float) -> Usage:
    """Align a text in both directions, on one thread; return what it took.

    Raises
    ------
    WorkError
        If the aligner fails, takes more than ``limit`` seconds (0: no limit) or does not link every pair.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    used = Usage()
    for command, output in peer.commands(text, folder):
        plan = Plan(POLL, limit=limit)
        watched, said = watch(command, folder / "log", environment(threads=1), plan)
        if watched.killed:
            raise WorkError(f"stopped after {limit:.0f} s")
        if output is not None:
            output.write_text(said, encoding="utf-8", newline="\n")
        used += watched.usage
    for name in ("forward", "reverse"):
        path = folder / f"{name}.txt"
        lines = len(read_lines(path)) if path.is_file() else 0
        if lines != text.pairs:
            raise WorkError(f"{path}: {lines} lines for {text.pairs} pairs")
    return used


def _eflomal(program: Path, text: PeerText, folder: Path) -> list[tuple[list[object], Path | None]]:
    files = ["-s", text.folder / "source.txt", "-t", text.folder / "target.txt"]
    out = ["-f", folder / "forward.txt", "-r", folder / "reverse.txt"]
    return [([program, *files, *out, "--overwrite"], None)]


def _thot(python: Path, model: str, text: PeerText, folder: Path) -> list[tuple[list[object], Path | None]]:
    texts = [text.folder / f"{side}.txt" for side in SIDES]
    return [([python, _PROGRAM, model, *texts, folder / "forward.txt", folder / "reverse.txt"], None)]


def _fast_align(program: str, text: PeerText, folder: Path) -> list[tuple[list[object], Path | None]]:
    sides = [read_lines(text.folder / f"{side}.txt") for side in SIDES]
    # What parts the sides must not be a token.
    rows = ([" ".join(w if w != "|||" else "|" for w in line.split(" ")) for line in side] for side in sides)
    joined = folder / "joined.txt"
    write_lines(joined, (_JOINED.join(pair) for pair in zip(*rows, strict=True)))
    # The options that its documentation recommends.
    words: list[object] = [program, "-i", joined, "-d", "-o", "-v"]
    return [(words, folder / "forward.txt"), ([*words, "-r"], folder / "reverse.txt")]


def _installed(folder: Path, package: str, log: Path) -> Path:
    """Return the interpreter of an environment, which is made, with a package in it, if it is missing."""
    python = folder / "bin" / "python"
    if not python.is_file():
        try:
            call([sys.executable, "-m", "venv", folder], log, environment(threads=1))
            call([python, "-m", "pip", "install", "--quiet", package], log, environment(threads=1))
        except WorkError as error:
            # Half an environment would be taken for a whole one next time.
            shutil.rmtree(folder, ignore_errors=True)
            raise WorkError(f"{package} cannot be installed: {error}") from None
    return python


def combined(text: PeerText, folder: Path) -> dict[str, Path]:
    """Put both directions of the gold pairs together in every way; return files of links by method."""
    return eflomal.combined(folder, text.rows, text.to_gold)
