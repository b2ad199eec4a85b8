"""How weights that serve any language pair are learnt: from gold of several pairs and sizes of text.

How far statistics can be trusted depends on how much text they are made of. So every gold text is learnt
from several times: whole, and cut into small parts that are corpora of their own; or with more and less of
a bitext of its languages beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from align.model.weights import Weights
from benchmarks.figures import read_lines, write_lines
from benchmarks.gold import links_file, text_file
from benchmarks.models import Training
from benchmarks.runs import Kernels, Pipeline

# Pairs of the parts a gold text is cut into; 0 is the whole.
PARTS = (100, 300, 0)

# A missed link costs little more than a wrong one: annotators differ in how much they link, and precision is
# what they agree on.
OPTIONS: dict[str, Any] = {
    "train.cost_fn": 1.5,
    "train.cost_fp": 1.0,
    "train.lam": 0.003,
    "train.fertility": 2,
    "train.weights": "none",
}


@dataclass(frozen=True)
class Source:
    """Gold pairs to learn from, and the text that their statistics are made of.

    Attributes
    ----------
    prefix : Path
        Of the gold: ``PREFIX.<source>``, ``PREFIX.<target>``, ``PREFIX.align``.
    source, target : str
        The languages.
    bitext : Path, optional
        Prefix of a bitext whose first ``size`` pairs join; without it the gold text is all there is.
    size : int
        Pairs of the bitext, or of each part of the gold; 0 all.
    """

    prefix: Path
    source: str
    target: str
    bitext: Path | None = None
    size: int = 0

    @property
    def name(self) -> str:
        """Return what its folders are called."""
        beside = "" if self.bitext is None else f"-{self.bitext.name}"
        return f"{self.prefix.name}.{self.source}-{self.target}{beside}-{self.size or 'all'}"

    def described(self) -> dict[str, Any]:
        """Return what the provenance says of it."""
        found = {"gold": self.prefix.name, "languages": f"{self.source}-{self.target}"}
        if self.bitext is not None:
            return {**found, "bitext": self.bitext.name, "bitext_pairs": self.size}
        return {**found, "corpora_of_pairs": self.size or "all"}


def parse(text: str) -> list[Source]:
    """Read ``PREFIX:SOURCE-TARGET`` (its own text, in parts) or ``PREFIX:SOURCE-TARGET:BITEXT:SIZE``.

    Raises
    ------
    InputError
        If it is neither.
    """
    prefix, _, rest = text.partition(":")
    pair, _, beside = rest.partition(":")
    source, dash, target = pair.partition("-")
    bitext, colon, size = beside.rpartition(":")
    if not (prefix and source and dash and target) or (beside and not (colon and size.isdecimal())):
        raise InputError(f"{text}: not PREFIX:SOURCE-TARGET or PREFIX:SOURCE-TARGET:BITEXT:SIZE")
    if beside:
        return [Source(Path(prefix), source, target, Path(bitext), int(size))]
    return [Source(Path(prefix), source, target, None, size) for size in PARTS]


class Recipe:
    """Learns weights from gold of several sources, with the pipeline as it is by default.

    Parameters
    ----------
    folder : Path
        For configurations and parts of gold texts.
    workdir : Path
        Work folder of the pipeline.
    kernels : Kernels
        Where compiled kernels are.
    jobs, seed : int
        As the pipeline's.
    """

    def __init__(self, folder: Path, *, workdir: Path, kernels: Kernels, jobs: int, seed: int) -> None:
        self._folder, self._workdir = folder, workdir
        self._kernels, self._jobs, self._seed = kernels, jobs, seed
        self._known: dict[Source, list[Training]] = {}

    def learn(self, sources: Sequence[Source]) -> Weights:
        """Return the weights that the gold of all sources gives, and their calibration."""
        parts = [training for source in sources for training in self._trainings(source)]
        training = Training.join(parts)
        fitted = training.weights()
        return Weights(
            names=training.names,
            weights=fitted,
            groups=training.groups,
            calibration=training.calibration(fitted),
            options={name.partition(".")[2]: value for name, value in OPTIONS.items()},
            provenance={
                "trained_on": [source.described() for source in sources],
                "pairs": len(training.pairs),
                "seed": self._seed,
            },
            fertility=OPTIONS["train.fertility"],
            word_groups=training.word_groups,
        )

    def _trainings(self, source: Source) -> list[Training]:
        """Return the features and labels of all pairs of a source, corpus by corpus."""
        if source not in self._known:
            self._known[source] = [
                self._training(source, f"{source.name}.{number}" if source.size else source.name, prefix)
                for number, prefix in enumerate(self._prefixes(source))
            ]
        return self._known[source]

    def _prefixes(self, source: Source) -> list[Path]:
        """Return the prefixes of the parts of a gold text, cut here if need be."""
        if source.bitext is not None or not source.size:
            return [source.prefix]
        paths = {
            source.source: text_file(source.prefix, source.source),
            source.target: text_file(source.prefix, source.target),
            "align": links_file(source.prefix),
        }
        texts = {ending: read_lines(path) for ending, path in paths.items()}
        pairs = len(texts["align"])
        count = max(1, pairs // source.size)
        prefixes = []
        for number in range(count):
            prefix = self._folder / "parts" / f"{source.name}-{number}"
            prefix.parent.mkdir(parents=True, exist_ok=True)
            for ending, lines in texts.items():
                part = lines[number * pairs // count : (number + 1) * pairs // count]
                write_lines(prefix.with_name(f"{prefix.name}.{ending}"), part)
            prefixes.append(prefix)
        return prefixes

    def _training(self, source: Source, name: str, prefix: Path) -> Training:
        gold = [str(text_file(prefix, language)) for language in (source.source, source.target)]
        links = links_file(prefix)
        corpus: dict[str, Any] = {"name": name, "source": source.source, "target": source.target}
        preprocess: dict[str, Any] = {}
        if source.bitext is None:
            corpus |= {"files": gold, "tokenized": True}
        else:
            files = [str(text_file(source.bitext, side)) for side in (source.source, source.target)]
            corpus |= {"files": files, "limit": source.size}
            preprocess = {"profile": "expand"}
        settings = {
            "corpus": corpus,
            "gold": {"files": gold, "links": str(links), "base": 0, "train": len(read_lines(links))},
            "preprocess": preprocess,
        }
        pipeline = Pipeline(
            self._folder / "configs" / f"{name}.toml",
            settings,
            workdir=self._workdir,
            kernels=self._kernels,
            jobs=self._jobs,
            seed=self._seed,
        )
        pipeline.run("train", [f"{key}={value}" for key, value in OPTIONS.items()])
        return Training.load(
            *(pipeline.folder(stage) for stage in ("preprocess", "featurize", "label", "train"))
        )
