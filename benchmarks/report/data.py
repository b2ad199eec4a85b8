"""What the experiments run on: labelled pairs with features, gold to judge by, and data of other problems."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError
from align.data.corpus import Corpus
from align.evaluation.metrics import Score, score, statistics
from align.features import Edges
from align.learning.silver import cosine
from align.links import read_file
from align.matching.decoding import decode
from align.matching.decoding import score as scores_of
from align.problems.labels import Labels
from align.problems.matching import MatchingProblem
from align.problems.sequences import ChainProblem
from align.problems.triplets import TripletProblem, read_triplets
from benchmarks import hansards
from benchmarks.eflomal import surface_links
from benchmarks.figures import read_lines
from benchmarks.gold import links_file
from benchmarks.quadratic import links_of_pairs
from benchmarks.runs import Pipeline, pipeline_of
from benchmarks.solvers import LAM, SAMPLE, Task
from pipeline.stages.featurize import labelled_pairs

# Gold pairs that the first experiment may learn from; of the others the error rates are.
TRAIN = hansards.TRAIN
_SAMPLE_TRAIN = 60


@dataclass(frozen=True)
class Gold:
    """Annotated pairs with their features."""

    edges: Edges
    labels: Labels
    corpus: Corpus
    known: list[Any]  # the gold links of each pair
    train: int  # the first so many may train; the others judge

    @property
    def judged(self) -> range:
        """The pairs that error rates are of."""
        return range(self.train, len(self.edges))


@dataclass(frozen=True)
class Text:
    """Labelled pairs of a bitext, and gold."""

    name: str
    edges: Edges
    labels: Labels  # sampled links
    corpus: Corpus
    usable: np.ndarray  # int64: pairs with a sure link
    gold: Gold
    vectors: tuple[np.ndarray, np.ndarray]  # of both vocabularies, in one space

    def task(self, pairs: int, lam: float = LAM) -> Task:
        """Return the problem of the first so many usable pairs."""
        chosen = self.usable[:pairs]
        last = int(chosen[-1]) + 1  # a view: what is not learnt from is not looked at
        edges, labels = self.edges.block(0, last), self.labels.block(0, last)
        return Task(f"pairs-{len(chosen)}", MatchingProblem(edges, labels, pairs=chosen), lam)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that name data."""
    hansards.add_arguments(parser, required=False)
    parser.add_argument(
        "--vectors", nargs=2, type=Path, metavar=("SOURCE", "TARGET"), help="of words; default: trained"
    )
    parser.add_argument("--dictionary", type=Path, metavar="TSV", help="to turn the vectors to one space")
    parser.add_argument(
        "--scene", type=Path, metavar="NPZ", help="as of benchmarks.solvers; default: left out"
    )
    parser.add_argument(
        "--triplets", nargs=2, type=Path, metavar=("CSV", "NPY"), help="a table and embeddings of its faces"
    )


def load_text(args: argparse.Namespace, pairs: int) -> Text:
    """Run the pipeline as far as features, of so many pairs of text and of all gold.

    Raises
    ------
    InputError
        If files do not go together.
    """
    if (args.hansards is None) != (args.gold is None):
        raise InputError("--hansards, --gold: give both or none")
    if args.hansards is None:
        settings, links, train = _sample(), SAMPLE.parent / "gold.align", _SAMPLE_TRAIN
    else:
        settings, links, train = hansards.settings(args, "report", pairs), links_file(args.gold), TRAIN
    if args.vectors is not None:
        settings["vectors"] = dict(zip(("source", "target"), map(_absolute, args.vectors), strict=True))
        if args.dictionary is not None:
            settings["vectors"]["dictionary"] = _absolute(args.dictionary)
    settings = hansards.merged(settings, {"train": {"fertility": 1}, "featurize": {"hidden": False}})
    pipeline = pipeline_of(args, "report", settings)
    gold = _gold(pipeline, links, train)
    pipeline.run("featurize", ["train.labels=silver", f"label.pairs={pairs}"])
    preprocess, embed, label = map(pipeline.folder, ("preprocess", "embed", "label"))
    edges, labels = Edges.load(pipeline.folder("featurize") / "edges"), Labels.load(label)
    return Text(
        settings["corpus"]["name"],
        edges,
        labels,
        labelled_pairs(preprocess, label),
        np.flatnonzero(labels.counts() > 0),
        gold,
        (load_array(embed / "source.vectors.npy"), load_array(embed / "target.vectors.npy")),
    )


def _absolute(path: Path) -> str:
    return str(path.absolute())


def _sample() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads(SAMPLE.read_text(encoding="utf-8"))
    for section in ("corpus", "gold"):
        settings[section]["files"] = [str(SAMPLE.parent / name) for name in settings[section]["files"]]
    settings["gold"]["links"] = str(SAMPLE.parent / settings["gold"]["links"])
    settings["corpus"]["name"] = "report-sample"
    return settings


def _gold(pipeline: Pipeline, links: Path, train: int) -> Gold:
    pipeline.run("featurize", ["train.labels=gold", f"gold.train={len(read_lines(links))}"])
    preprocess, label = map(pipeline.folder, ("preprocess", "label"))
    pairs, known = load_array(label / "pairs.npy"), read_file(links, base=0)
    return Gold(
        Edges.load(pipeline.folder("featurize") / "edges"),
        Labels.load(label),
        Corpus.load(preprocess / "gold").take(pairs),
        [known[pair].links for pair in pairs],
        int((pairs < train).sum()),
    )


def judge(gold: Gold, edges: Edges | None = None) -> Callable[[np.ndarray], Score]:
    """Return what scores the links that weights make in the gold pairs that nothing was learnt from.

    ``edges`` are other features of all gold pairs.
    """
    chosen = np.array(gold.judged)
    own = (gold.edges if edges is None else edges).take(chosen)
    corpus, known = gold.corpus.take(chosen), [gold.known[pair] for pair in chosen]

    def scored(weights: np.ndarray) -> Score:
        linked = decode(scores_of(own, weights)).linked
        flags = np.zeros(len(own.features), dtype=bool)
        flags[linked] = True
        return score(statistics(surface_links(links_of_pairs(flags, own), corpus), known))

    return scored


def concatenated(corpus: Corpus, vectors: tuple[np.ndarray, np.ndarray]) -> Edges:
    """Return as features of an edge the two word vectors, one after the other; 0 of a word without one."""
    shapes = corpus.shapes()
    width = vectors[0].shape[1]
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    features = np.zeros((offsets[-1], 2 * width), dtype=np.float32)
    for pair, (n, m) in enumerate(shapes.tolist()):
        own = features[offsets[pair] : offsets[pair + 1]].reshape(n, m, 2 * width)
        own[:, :, :width] = vectors_of(corpus.source, pair, vectors[0])[:, None]
        own[:, :, width:] = vectors_of(corpus.target, pair, vectors[1])[None]
    names = tuple(f"{side}.{k}" for side in ("source", "target") for k in range(width))
    return Edges(shapes, offsets, features, names)


def vectors_of(side: Any, pair: int, vectors: np.ndarray) -> np.ndarray:
    """Return the vectors of the words of a sentence; 0 of words that are not known."""
    ids = np.asarray(side.ids[side.offsets[pair] : side.offsets[pair + 1]])
    found = np.zeros((len(ids), vectors.shape[1]), dtype=np.float32)
    known = ids < len(vectors)
    found[known] = vectors[ids[known]]
    return found


def cosine_labels(text: Text, pairs: np.ndarray) -> tuple[Corpus, Labels]:
    """Return pairs of the text, and as their links the nearest word of each word, made a matching."""
    corpus = text.corpus.take(pairs)
    return corpus, cosine(corpus, *text.vectors)


def faces(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings, (n, 3, 16), and odd ones of triplets as people might choose them.

    Half of the triplets have two faces of one kind of eight, half have three of a kind; judges look at four
    of sixteen dimensions and guess in one of ten cases.
    """
    generator = np.random.default_rng(seed)
    kinds = generator.normal(size=(8, 16))
    first, other = generator.integers(0, 8, (2, n))
    members = np.stack([first, first, np.where(generator.random(n) < 0.5, first, other)], axis=1)
    members = np.take_along_axis(members, generator.permuted(np.tile(np.arange(3), (n, 1)), axis=1), axis=1)
    embeddings = kinds[members] + 0.7 * generator.normal(size=(n, 3, 16))
    looked_at = np.where(np.arange(16) < 4, 1.0, 0.0)
    odd = TripletProblem(embeddings, np.zeros(n, dtype=np.int64)).predict(looked_at, embeddings)
    return embeddings, np.where(generator.random(n) < 0.1, generator.integers(0, 3, n), odd)


def triplets_of(args: argparse.Namespace, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return embeddings and odd ones by name: made ones, and those of the files that were given."""
    found = {"made faces": faces(2000, seed)}
    if args.triplets is not None:
        own = read_triplets(*args.triplets)
        found[args.triplets[0].name] = own.embeddings, own.odd
    return found


def chains(n: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return features and labels of chains like words of handwritten letters.

    Eight letters of 16 noisy pixels each; which letter follows which is far from even.
    """
    generator = np.random.default_rng(seed)
    letters = generator.normal(size=(8, 16))
    following = generator.dirichlet(np.full(8, 0.3), size=8)
    features, labels = [], []
    for _ in range(n):
        word = [int(generator.integers(8))]
        for _ in range(int(generator.integers(3, 11)) - 1):
            word.append(int(generator.choice(8, p=following[word[-1]])))
        labels.append(np.array(word))
        features.append(letters[word] + 2.0 * generator.normal(size=(len(word), 16)))
    return features, labels


def chain_task(n: int, seed: int, lam: float = LAM) -> Task:
    """Return the problem of half of some made chains; the test is the share of wrong labels in the rest."""
    features, labels = chains(2 * n, seed)
    problem = ChainProblem(features[:n], labels[:n], labels=8)

    def test(weights: np.ndarray) -> float:
        wrong = [(problem.predict(weights, x) != y) for x, y in zip(features[n:], labels[n:], strict=True)]
        return float(np.concatenate(wrong).mean())

    return Task("sequences", problem, lam, test)
