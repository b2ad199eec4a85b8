"""The vectors of the ``embed`` stage before they share a space: read from files, or trained on the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError
from align.core.files import text_file
from align.core.ragged import SIDES
from align.data.corpus import Corpus
from align.data.vocabulary import Vocabulary
from align.vectors import training as embedding
from align.vectors.binary import is_model, model_dimension, read_model
from align.vectors.mapping import has_vector
from align.vectors.rows import text_dimension
from align.vectors.vec import Vectors, coverage, read_vec
from pipeline.stages.lexicon.places import no_pair, text_folders
from pipeline.work.stage import StageContext

# Pairs whose sizes are looked at together.
_PIECE = 1 << 18

# Pairs whose words are looked at together, and the file of lines without vectors.
_BLOCK = 1 << 15
BARE = "without_vectors.txt"

MOST_EPOCHS = 20

# Words gone through in training: about 70,000 a second and core, with 64 dimensions.
USUAL_EFFORT, MOST_EFFORT = 3_000_000, 8_000_000

# How to train on a text of fewer words than SMALL, and of more: settings by which the nearest word of the
# other language was most often right, on 500 and on 20,000 pairs. On little text a word must learn from
# more neighbours, words that come once count too, and frequent words are not left out so often.
SMALL = 400_000
ON_LITTLE = {"window": 10, "rate": 0.1, "sampling": 1e-3, "min_count": 1, "buckets": 50_000}
ON_MUCH = {"window": 5, "rate": 0.2, "sampling": 1e-4, "min_count": 2, "buckets": 200_000}


@dataclass(frozen=True)
class Text:
    """The pairs that statistics may be made of, left on the disk but for those that are taken."""

    folders: tuple[Path, ...]  # the corpus and, where it joins, the gold text
    rows: tuple[np.ndarray, ...]  # int32, ascending: pairs of each that may be used

    def sizes(self, of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Return ``of(n, m)`` of the numbers of words of each pair, int64, shape (N,)."""
        found, start = np.empty(sum(map(len, self.rows)), dtype=np.int64), 0
        for folder, rows in zip(self.folders, self.rows, strict=True):
            shapes = Corpus.load_shapes(folder)
            for first in range(0, len(rows), _PIECE):
                own = shapes[rows[first : first + _PIECE]].astype(np.int64)
                found[start : start + len(own)] = of(own[:, 0], own[:, 1])
                start += len(own)
        return found

    def take(self, chosen: np.ndarray) -> Corpus:
        """Return the pairs of the given numbers, ascending, as a copy."""
        taken, start = [], 0
        for folder, rows in zip(self.folders, self.rows, strict=True):
            own = chosen[(chosen >= start) & (chosen < start + len(rows))] - start
            # Not through mapped files, whose pages would stay: 0.5 KB for each pair of the corpus.
            taken.append(Corpus.load_chosen(folder, rows[own]))
            start += len(rows)
        return Corpus.join(taken) if taken[1:] else taken[0]

    def sample(self, sizes: np.ndarray, most: int, seed: list[int]) -> np.ndarray:
        """Return the numbers of random pairs whose sizes add up to `most`, all where they do not reach it."""
        if sizes.sum() <= most:
            return np.arange(len(sizes))
        order = np.random.default_rng(seed).permutation(len(sizes))
        count = total = 0
        while True:  # the pairs taken are few, and so no list of all sums is made
            sums = total + np.cumsum(sizes[order[count : count + _PIECE]])
            fitting = int(np.searchsorted(sums, most, side="right"))
            count += fitting
            if fitting < len(sums):
                return np.sort(order[:count])
            total = int(sums[-1])


@dataclass(frozen=True)
class Words:
    """The two vocabularies, the bitext they were counted in, and its languages' codes."""

    vocabularies: tuple[Vocabulary, Vocabulary]
    text: Text
    languages: tuple[str, str]

    @property
    def sizes(self) -> tuple[int, int]:
        """Words of each side."""
        return len(self.vocabularies[0]), len(self.vocabularies[1])


def read_words(context: StageContext) -> Words:
    """Read what the preprocess stage left: of the corpus, the pairs that statistics may be made of."""
    folder = context.inputs["preprocess"]
    source, target = (Vocabulary.load(folder / f"{side}.vocabulary.tsv") for side in SIDES)
    used = np.flatnonzero(load_array(folder / "in_statistics.npy")).astype(np.int32)
    folders = text_folders(context)
    gold = [np.arange(Corpus.load_count(each), dtype=np.int32) for each in folders[1:]]
    text = Text(tuple(folders), (used, *gold))
    return Words((source, target), text, (context.option("corpus.source"), context.option("corpus.target")))


def check_given(files: Mapping[str, Any]) -> None:
    """Refuse to go by given vectors where there are none."""
    for side in SIDES:
        if files[side] is None:
            raise InputError(
                f"vectors.{side}: missing, but embed.vectors is given; "
                "set vectors.source and vectors.target, or embed.vectors to auto"
            )


def check_dimensions(paths: Sequence[Path]) -> None:
    """Refuse vectors of two sides that can never be in one space, by their beginnings alone."""
    dims = [model_dimension(path) if is_model(path) else text_dimension(path) for path in paths]
    if dims[0] != dims[1]:
        raise InputError(
            f"{paths[0]} has {dims[0]} dimensions but {paths[1]} has {dims[1]}; "
            "give vectors of the same number of dimensions"
        )


def read_given(
    context: StageContext, words: Words, files: dict[str, str | None]
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Read the given vectors of both sides; both must have the same number of dimensions."""
    check_given(files)
    paths = [Path(str(files[side])) for side in SIDES]
    check_dimensions(paths)
    read = [
        _read(context, path, vocabulary) for path, vocabulary in zip(paths, words.vocabularies, strict=True)
    ]
    return [each.matrix for each in read], {
        side: asdict(each.report) for side, each in zip(SIDES, read, strict=True)
    }


def train_on_corpus(
    context: StageContext, words: Words, *, dim: int, epochs: int, effort: int, window: int
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Train vectors on the merged bitext, on one thread, so that ``--jobs`` changes nothing.

    The options are those of the stage.
    """
    sizes = words.text.sizes(np.add)
    if not len(sizes):
        raise no_pair(context)
    effort = effort or min(max(USUAL_EFFORT, int(sizes.sum())), MOST_EFFORT)
    chosen = words.text.sample(sizes, effort, [context.seed, 1])
    if not len(chosen):  # the first pair alone is longer
        chosen = np.random.default_rng([context.seed, 1]).permutation(len(sizes))[:1]
    corpus = words.text.take(chosen)
    names = [vocabulary.words for vocabulary in words.vocabularies]
    text = context.scratch / "merged.txt"
    tokens = embedding.write_merged(text, corpus, names, seed=context.seed)
    epochs = epochs or min(MOST_EPOCHS, max(1, round(effort / max(tokens, 1))))
    settings: dict[str, Any] = {"dim": dim, "epochs": epochs}
    settings |= ON_LITTLE if tokens < SMALL else ON_MUCH
    if window:
        settings["window"] = window
    context.say(f"training vectors: {len(corpus)} pairs, {tokens} words, {epochs} epochs, one thread")
    vectors = embedding.train(text, names, verbose=context.reporter.shows_bars, **settings)
    text.unlink()
    return list(vectors), settings | {"pairs": len(corpus), "tokens": tokens}


def cover(
    context: StageContext,
    words: Words,
    raw: list[np.ndarray],
    files: tuple[str | None, str | None] | None,
    max_missing: float,
) -> dict[str, Any]:
    """Tell what share of each language has vectors, and stop where it is too small."""
    facts = {}
    for number, (side, language) in enumerate(zip(SIDES, words.languages, strict=True)):
        vocabulary = words.vocabularies[number]
        told = coverage(has_vector(raw[number]), vocabulary)
        facts[side] = asdict(told)
        missing = " ".join(told.missing) or "none"
        context.say(
            f"{language}: {_percent(told.types)} of {len(vocabulary)} words, {_percent(told.tokens)} of the "
            f"text have vectors; the most frequent without: {missing}"
        )
        if files is not None and told.tokens is not None and 1.0 - told.tokens > max_missing:
            raise InputError(
                f"{files[number]}: only {_percent(told.tokens)} of the {language} text has vectors (the most "
                f"frequent words without: {missing}); check that vectors.{side} is of {language}, "
                "or raise embed.max_missing"
            )
    return facts


def tell_bare_lines(context: StageContext, raw: list[np.ndarray]) -> int:
    """Write which lines have no word with a vector on a side, say how many, and return that."""
    known = [has_vector(side) for side in raw]
    if all(side.all() for side in known):
        return 0
    folder = context.inputs["preprocess"]
    lines = load_array(folder / "lines.npy")
    found: set[int] = set()
    for start in range(0, len(lines), _BLOCK):
        stop = min(start + _BLOCK, len(lines))
        corpus = Corpus.load_block(folder / "corpus", start, stop)
        covered = np.ones(stop - start, dtype=bool)
        for has, side in zip(known, (corpus.source, corpus.target), strict=True):
            words = np.concatenate([[0], np.cumsum(has[side.ids])])
            covered &= words[side.offsets[1:]] > words[side.offsets[:-1]]
        found.update((lines[start:stop][~covered] + 1).tolist())
    if found:
        with text_file(context.folder / BARE) as out:
            out.writelines(f"{line}\n" for line in sorted(found))
        context.say(
            f"{len(found)} pairs have no word with a vector on a side: other features alone link them "
            f"(their lines are in {BARE})"
        )
    return len(found)


def _read(context: StageContext, path: Path, vocabulary: Vocabulary) -> Vectors:
    """Read one file, text or model, and say what was odd in it."""
    if is_model(path):
        context.say(f"{path}: reading the model")
        vectors = read_model(path, vocabulary.words)
    else:

        def track(lines: Iterable[bytes], total: int | None) -> Iterable[bytes]:
            return context.progress(lines, total=total, unit="rows")

        vectors = read_vec(path, vocabulary.words, track=track)
    report = vectors.report
    odd = {**report.bad, "duplicate": report.duplicates, "zero": report.zero}
    told = ", ".join(f"{count} {reason}" for reason, count in odd.items() if count) or "none"
    megabytes = round(vectors.matrix.nbytes / 1e6)
    counts = "no first line with counts" if report.header is None else "counts in the first line"
    if report.header is not None and report.header < report.rows:
        counts += f", which promises {report.header}"
    context.say(
        f"{path}: {report.rows} rows of {report.dim} numbers, {counts}; "
        f"kept {int(vectors.found.sum())} ({megabytes} MB); rows passed over: {told}"
    )
    if not report.ended:
        context.warn(f"{path}: its last row has no end of line; if the file was cut off there, get it again")
    return vectors


def _percent(share: float | None) -> str:
    if share is None:
        return "n/a"
    # 99.97 % is not all: never round up to 100.
    return f"{int(share * 1000) / 10:.1f} %"
