"""What is asked of gold and text that are named on the command line by prefixes, and samples' own links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus
from align.links import Link, format_pharaoh
from align.statistics.posteriors import Posteriors, load_if_there
from benchmarks.eflomal import surface_links
from benchmarks.figures import read_lines, write_lines

_ENDINGS = ("", ".xz", ".gz", ".zst")


def text_file(prefix: Path, language: str) -> Path:
    """Return the file of one side, ``PREFIX.LANGUAGE``, packed or not.

    Raises
    ------
    InputError
        If there is none.
    """
    for ending in _ENDINGS:
        path = prefix.with_name(f"{prefix.name}.{language}{ending}")
        if path.is_file():
            return path.absolute()
    raise InputError(f"{prefix}.{language}: no such file, nor packed (.xz, .gz, .zst); correct the prefix")


def links_file(prefix: Path) -> Path:
    """Return the links of a gold text, ``PREFIX.align``.

    Raises
    ------
    InputError
        If there are none.
    """
    path = prefix.with_name(f"{prefix.name}.align")
    if not path.is_file():
        raise InputError(f"{path}: no such file; gold is PREFIX.align beside its text")
    return path.absolute()


@dataclass(frozen=True)
class Source:
    """Gold pairs, files ``PREFIX.SOURCE``, ``PREFIX.TARGET``, ``PREFIX.align``, and the text beside them."""

    prefix: Path
    source: str  # the languages
    target: str
    bitext: Path | None = None  # prefix of a text whose first ``size`` pairs join
    size: int = 0  # pairs of the bitext, or of each part of the gold; 0 all

    @property
    def name(self) -> str:
        """Return what its folders are called."""
        beside = "" if self.bitext is None else f"-{self.bitext.name}"
        return f"{self.prefix.name}.{self.source}-{self.target}{beside}-{self.size or 'all'}"

    @property
    def languages(self) -> tuple[str, str]:
        """Return both languages."""
        return self.source, self.target

    @property
    def links(self) -> Path:
        """Return the file of its links."""
        return links_file(self.prefix)

    def files(self) -> list[str]:
        """Return the files of its text."""
        return [str(text_file(self.prefix, language)) for language in self.languages]

    def described(self) -> dict[str, Any]:
        """Return what the provenance says of it."""
        found = {"gold": self.prefix.name, "languages": f"{self.source}-{self.target}"}
        if self.bitext is not None:
            return {**found, "bitext": self.bitext.name, "bitext_pairs": self.size}
        return {**found, "corpora_of_pairs": self.size or "all"}

    def section(self, train: int | None = None) -> dict[str, Any]:
        """Return the section of a configuration that names the gold; so many pairs train, None: all."""
        train = len(read_lines(self.links)) if train is None else train
        return {"files": self.files(), "links": str(self.links), "base": 0, "train": train}

    def own_text(self, name: str, train: int | None = None) -> dict[str, dict[str, Any]]:
        """Return the configuration of a corpus of nothing but the text of the gold, tokenized as it came."""
        corpus = {"name": name, "source": self.source, "target": self.target}
        return {
            "corpus": {**corpus, "files": self.files(), "tokenized": True},
            "gold": self.section(train),
        }

    def part(self, chosen: Iterable[int], prefix: Path) -> Source:
        """Write some of the pairs, by their numbers, as gold of its own; return that."""
        prefix.parent.mkdir(parents=True, exist_ok=True)
        numbers, paths = list(chosen), [*map(Path, self.files()), self.links]
        for ending, path in zip((*self.languages, "align"), paths, strict=True):
            lines = read_lines(path)
            write_lines(prefix.with_name(f"{prefix.name}.{ending}"), [lines[number] for number in numbers])
        return Source(prefix, *self.languages)


def write_sampled(lexicon: Path, preprocess: Path, path: Path) -> bool:
    """Write the links of the gold pairs by the sampler alone; False where nothing was sampled."""
    posteriors = load_if_there(lexicon / "posteriors" / "gold")
    if posteriors is None:
        return False
    found = sampled_links(posteriors, Corpus.load(preprocess / "gold"))
    write_lines(path, map(format_pharaoh, found))
    return True


def sampled_links(posteriors: Posteriors, corpus: Corpus) -> list[list[Link]]:
    """Return the links between surface tokens that have sqrt(forward * reverse) > 0.5, pair by pair."""
    shapes = corpus.shapes()
    forward, reverse = posteriors.dense(shapes)
    likely = np.flatnonzero(np.sqrt(forward * reverse) > 0.5)
    offsets = edge_offsets(shapes)
    pairs = np.searchsorted(offsets, likely, side="right") - 1
    j, k = np.divmod(likely - offsets[pairs], shapes[pairs, 1])
    links: list[list[Link]] = [[] for _ in range(len(corpus))]
    for pair, source, target in zip(pairs.tolist(), j.tolist(), k.tolist(), strict=True):
        links[pair].append(Link(source, target))
    return surface_links(links, corpus)
