"""Stage ``featurize``: the features of every possible link of the labelled pairs.

Leaves ``edges/`` (:meth:`align.features.Edges.save`), in the order of the labels, and the labels
(:meth:`align.problems.labels.Labels.save`). Of N pairs that are labelled those from N on are the same once
more as text that is new to the statistics (:mod:`align.learning.hidden`): their words are others, and where
these changed places the links are. Only what is labelled is featurized: the features of all of Europarl
would be about 150 GB, so the stage ``align`` makes them on the fly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from align.core.arrays import create_array, load_array, write_rows
from align.core.errors import InputError
from align.core.ragged import SIDES, edge_offsets, word_offsets
from align.data.corpus import Corpus
from align.data.vocabulary import Vocabulary
from align.features import (
    DEFAULT_GROUPS,
    DEFAULT_WORD_GROUPS,
    GROUPS,
    WORD_GROUPS,
    Edges,
    PairBlock,
    Resources,
    compute,
    feature_names,
    parse_groups,
    word_feature_names,
)
from align.features.edges import save_description
from align.learning.hidden import hide
from align.problems.labels import Labels
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import Posteriors
from pipeline.config.configuration import Config
from pipeline.stages.lexicon.places import LINKS, POSTERIORS
from pipeline.work.manifest import made_of
from pipeline.work.stage import StageContext

EDGES = "edges"

# The kind of a labelled pair that is gold, as the stage label writes it.
_GOLD = 1
_PAIRS_A_BLOCK = 256


class Inputs(NamedTuple):
    """The folders that features are made of.

    ``made`` tells apart what was made at different times in the same folders: a worker may serve many runs.
    """

    folders: tuple[str, str, str, str]  # preprocess, embed, lexicon, label
    made: str
    sampled: bool


@dataclass(frozen=True)
class Task:
    """Labelled pairs ``start`` to ``stop``, whose features belong into the folder ``edges``.

    With a ``seed`` they are made once more as text that is new, and are pairs ``place`` and on there.
    """

    inputs: Inputs
    edges: str
    groups: tuple[str, ...]
    word_groups: tuple[str, ...]
    start: int
    stop: int
    place: int
    seed: int | None = None


def run(
    context: StageContext,
    *,
    groups: str = ",".join(DEFAULT_GROUPS),
    extra: str = ",".join(DEFAULT_WORD_GROUPS),
    hidden: bool = True,
) -> None:
    """Compute the features of the labelled pairs.

    Parameters
    ----------
    groups : str
        Comma list of feature groups; a bias is always there.
    extra : str
        Comma list of groups of features of words, from which the cost of a word's links after its first is
        learnt where train.fertility is above 1.
    hidden : bool
        Whether each pair is learnt from once more as text that comes later, with words that are not known:
        those that no other pair has, some others, and names, numbers, signs and codes that have changed
        places. Without it a model knows less of what to do with words that it has never seen.

    Raises
    ------
    InputError
        If a group is unknown.
    """
    chosen, word_groups = _chosen(groups, extra)
    folders = [context.inputs[name] for name in ("preprocess", "embed", "lexicon", "label")]
    preprocess, embed, lexicon, label = folders
    resources = load_resources(preprocess, embed, lexicon)
    count = len(labels := Labels.load(label))
    copies = count if hidden else 0
    shapes = np.tile(labelled_pairs(preprocess, label).shapes(), (2 if hidden else 1, 1))
    names = feature_names(chosen, resources)
    folder = context.folder / EDGES
    edges = int(edge_offsets(shapes)[-1])
    of_words = word_feature_names(word_groups, resources)
    save_description(folder, shapes, names, of_words)
    create_array(folder / "features.npy", np.float32, (edges, len(names)))
    create_array(folder / "likely.npy", np.bool_, (edges,))
    for side, words in zip(SIDES, shapes.sum(axis=0, dtype=np.int64).tolist(), strict=True):
        width = sum(name.startswith(f"extra.{side}.") for name in of_words)
        create_array(folder / f"extra.{side}.npy", np.float32, (words, width))
    places = (str(preprocess), str(embed), str(lexicon), str(label))
    inputs = Inputs(places, made_of(folders), (lexicon / POSTERIORS).is_dir())
    once = [
        Task(inputs, str(folder), chosen, word_groups, start, min(start + _PAIRS_A_BLOCK, count), start)
        for start in range(0, count, _PAIRS_A_BLOCK)
    ]
    again = [replace(task, place=count + task.start, seed=context.seed) for task in once]
    made = [found for found in context.map(fill, once + (again if hidden else [])) if found is not None]
    Labels.join([labels, *made]).save(context.folder)
    context.notes |= {"pairs": count, "hidden": copies, "edges": edges, "features": len(names)}
    context.notes |= {"groups": list(chosen), "extra": list(word_groups)}
    twice = ", each of them once more with words that are not known" if copies else ""
    context.say(f"{len(names)} features of {edges} possible links in {count} labelled pairs{twice}")


def check(config: Config) -> None:
    """Refuse wrong options before the first stage is run."""
    _chosen(config.option("featurize.groups"), config.option("featurize.extra"))


def _chosen(groups: str, extra: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        return parse_groups(groups, GROUPS, "groups"), parse_groups(extra, WORD_GROUPS, "extra")
    except InputError as error:
        raise InputError(f"featurize.{error}") from None


def describe() -> str:
    """Return the table of feature groups for ``--list featurize``."""
    width = max(map(len, GROUPS))
    lines = [
        f"  {name:<{width}}  {'' if name in DEFAULT_GROUPS else '(off by default) '}{group.meaning}"
        for name, group in GROUPS.items()
    ]
    of_words = [
        f"  {name:<{width}}  {'' if name in DEFAULT_WORD_GROUPS else '(off by default) '}{meaning}"
        for name, meaning in WORD_GROUPS.items()
    ]
    return "\n".join(
        ["Feature groups:", *lines, "Groups of features of words that make a further link cost:", *of_words]
    )


def fill(task: Task) -> Labels | None:
    """Write the features of a run of pairs into their place in the file, in any process.

    Returns
    -------
    Labels or None
        Of pairs that were made anew.
    """
    pairs, resources, stored = _load(task.inputs)
    block, labels = PairBlock(pairs, posteriors=stored).block(task.start, task.stop), None
    if task.seed is not None:
        given = Labels.load(Path(task.inputs.folders[-1])).block(task.start, task.stop)
        block, labels = hide(block.corpus, given, resources, seed=task.seed, first=task.start)
    part = compute(block, resources, groups=task.groups, word_groups=task.word_groups)
    assert part.word_features is not None  # there is a group at least
    assert part.likely is not None  # as in all that is computed
    shapes = load_array(Path(task.edges) / "shapes.npy")
    edges, (source, target) = edge_offsets(shapes), word_offsets(shapes)
    for name, begin, values in (
        ("features", edges, part.features),
        ("likely", edges, part.likely),
        ("extra.source", source, part.word_features.source),
        ("extra.target", target, part.word_features.target),
    ):
        if len(values):
            first = int(begin[task.place])
            assert len(values) == begin[task.place + task.stop - task.start] - first
            write_rows(Path(task.edges) / f"{name}.npy", first, values)
    return labels


def load_resources(preprocess: Path, embed: Path, lexicon: Path) -> Resources:
    """Return what features are computed from, given three stages' folders; large arrays stay on disk."""
    tables = Lexicon.load(lexicon, mapped=True)
    return Resources(
        tables,
        load_array(embed / "source.vectors.npy", mapped=True),
        load_array(embed / "target.vectors.npy", mapped=True),
        Vocabulary.load(preprocess / "source.vocabulary.tsv"),
        Vocabulary.load(preprocess / "target.vocabulary.tsv"),
        ExpectedLinks.load(lexicon / LINKS, tables) if (lexicon / LINKS).is_dir() else None,
    )


def labelled_pairs(preprocess: Path, label: Path) -> Corpus:
    """Return the labelled pairs, in the order of the labels: parts of the corpus and gold pairs."""
    return Corpus.join(
        [Corpus.load_chosen(preprocess / folder, chosen) for folder, chosen in _labelled_runs(label)]
    )


def _labelled_runs(label: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the folder and the indices of each run of labelled pairs, at least one."""
    kind = load_array(label / "kind.npy")
    index = load_array(label / "pairs.npy")
    # Runs of one kind: as a rule there are two at most.
    ends = [*(np.flatnonzero(kind[1:] != kind[:-1]) + 1).tolist(), len(kind)]
    start = 0
    for end in ends:
        folder = "gold" if start < end and kind[start] == _GOLD else "corpus"
        yield folder, index[start:end]
        start = end


@lru_cache(maxsize=1)
def _load(inputs: Inputs) -> tuple[Corpus, Resources, Posteriors | None]:
    preprocess, embed, lexicon, label = map(Path, inputs.folders)
    posteriors = None
    if inputs.sampled:
        posteriors = Posteriors.join(
            [
                Posteriors.load_chosen(lexicon / POSTERIORS / folder, chosen)
                for folder, chosen in _labelled_runs(label)
            ]
        )
    return labelled_pairs(preprocess, label), load_resources(preprocess, embed, lexicon), posteriors


def load_edges(featurize: Path) -> Edges:
    """Return the features of the labelled pairs, and of each as new text where it was made; memory-mapped."""
    return Edges.load(featurize / EDGES)
