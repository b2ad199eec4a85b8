"""eflomal as a program to compare with: run on the very tokens of the pipeline, both directions.

It is a tool in an environment of its own and never imported (its licence is another one); its defaults are
used, one thread and one process a direction.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.links import Link, format_pharaoh, read_file
from align.links.symmetrize import METHODS
from benchmarks.figures import read_lines, write_lines
from benchmarks.process import Usage, call, environment, measure
from pipeline.stages.preprocess.gold import SAME


@dataclass(frozen=True)
class Tool:
    """The program ``eflomal-align``, and its version."""

    program: Path
    version: str


def find(python: Path, log: Path) -> Tool:
    """Return the program that belongs to an interpreter.

    Raises
    ------
    InputError
        If there is none.
    """
    program = python.absolute().parent / "eflomal-align"
    if not program.is_file():
        raise InputError(
            f"--eflomal {python}: no eflomal-align beside it; python -m venv ENV && ENV/bin/pip install "
            "eflomal, then give ENV/bin/python"
        )
    return Tool(program, version_of("eflomal", python.absolute(), log))


def version_of(package: str, python: Path, log: Path) -> str:
    """Return the version of a package in the environment of an interpreter."""
    program = f"from importlib.metadata import version; print(version({package!r}))"
    return call([python, "-c", program], log, environment(threads=1)).strip()


def text_of(preprocess: Path) -> tuple[Corpus, np.ndarray]:
    """Return what statistics are made of, and where in it the gold pairs stand.

    Parameters
    ----------
    preprocess : Path
        The stage's folder; the gold text joined the corpus.

    Returns
    -------
    text : Corpus
        The parts of the corpus that statistics use, then the gold pairs that are not among them.
    rows : ndarray of int64, shape (N,)
        The pair of the text that has the words of each of N gold pairs.
    """
    corpus, gold = (Corpus.load(preprocess / name) for name in ("corpus", "gold"))
    used = np.flatnonzero(load_array(preprocess / "in_statistics.npy"))
    same = load_array(preprocess / SAME)
    new = np.flatnonzero(same < 0)
    rows = np.searchsorted(used, same)
    rows[new] = len(used) + np.arange(len(new))
    return Corpus.join([corpus.take(used), gold.take(new)]), rows


def lines_of(sentences: Sentences, words: Sequence[str]) -> list[str]:
    """Return sentences of ids as text, one space between the words."""
    return [
        " ".join(words[word] for word in sentences.ids[start:stop].tolist())
        for start, stop in zip(sentences.offsets[:-1].tolist(), sentences.offsets[1:].tolist(), strict=True)
    ]


def write_text(corpus: Corpus, preprocess: Path, folder: Path) -> None:
    """Write both sides of a corpus, whose words are those of the stage preprocess, to files of a folder."""
    for side, sentences in zip(SIDES, (corpus.source, corpus.target), strict=True):
        words = Vocabulary.load(preprocess / f"{side}.vocabulary.tsv").words
        write_lines(folder / f"{side}.txt", lines_of(sentences, words))


def to_surface(links: Sequence[Link], source: Sequence[int], target: Sequence[int]) -> list[Link]:
    """Return links between analysis tokens as links between the surface tokens they came from.

    Parameters
    ----------
    links : sequence of Link
        Of one pair.
    source, target : sequence of int
        The surface token of each analysis token.
    """
    cells = {(int(source[link.source]), int(target[link.target])) for link in links}
    return [Link(*cell) for cell in sorted(cells)]


def align(tool: Tool, preprocess: Path, folder: Path) -> Usage:
    """Align the text of the stage preprocess in both directions; leave ``forward.txt``, ``reverse.txt``.

    Parameters
    ----------
    tool : Tool
    preprocess : Path
        The stage's folder.
    folder : Path
        Where to; made if missing.

    Returns
    -------
    Usage
        Of both directions together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    corpus, _ = text_of(preprocess)
    write_text(corpus, preprocess, folder)
    text = ["-s", folder / "source.txt", "-t", folder / "target.txt", "--overwrite"]
    used = Usage()
    for option, name in (("-f", "forward"), ("-r", "reverse")):
        command = [tool.program, *text, option, folder / f"{name}.txt"]
        used += measure(command, folder / f"{name}.log", environment(threads=1))[0]
    return used


def symmetrised(preprocess: Path, folder: Path) -> dict[str, Path]:
    """Put both directions of the gold text together in every way; return the files of links by method.

    The links of the files are those between surface tokens, which the gold links are of.
    """
    gold = Corpus.load(preprocess / "gold")
    _, rows = text_of(preprocess)
    return combined(folder, rows, lambda links: surface_links(links, gold))


def combined(
    folder: Path, rows: np.ndarray, to_gold: Callable[[list[list[Link]]], list[list[Link]]]
) -> dict[str, Path]:
    """Put the rows of ``forward.txt`` and ``reverse.txt`` together in every way; return files by method.

    Parameters
    ----------
    folder : Path
        Where these are, and where to write.
    rows : ndarray of int64, shape (N,)
        The lines of N gold pairs.
    to_gold : function
        From the links of the N pairs to those between the tokens that gold links are of.
    """
    for name in ("forward", "reverse"):
        lines = read_lines(folder / f"{name}.txt")
        write_lines(folder / f"{name}.gold.txt", [lines[row].strip() for row in rows.tolist()])
    files = {}
    for method in METHODS:
        found = folder / f"{method}.analysis.txt"
        command = [
            *(sys.executable, "-m", "align", "combine", "--method", method, "--base", "0"),
            *("--forward", folder / "forward.gold.txt", "--reverse", folder / "reverse.gold.txt"),
            *("--output", found),
        ]
        call(command, folder / "combine.log", environment(threads=1))
        files[method] = folder / f"{method}.txt"
        links = [list(pair.links) for pair in read_file(found, format="pharaoh", base=0)]
        write_lines(files[method], map(format_pharaoh, to_gold(links)))
    return files


def surface_links(links: Sequence[Sequence[Link]], corpus: Corpus) -> list[list[Link]]:
    """Return the links of each pair of a corpus as links between surface tokens."""
    sides = (corpus.source, corpus.target)
    return [
        to_surface(
            pair, *(side.parents[side.offsets[index] : side.offsets[index + 1]].tolist() for side in sides)
        )
        for index, pair in enumerate(links)
    ]
