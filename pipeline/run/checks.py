"""The checks before work: what configuration, heads of files and gold tell is told before it costs time.

A run and ``--dry-run`` make the same ones, those of `CHECKS` that a stage to be run has to do with. What lies
on the disk is looked at before the first stage, what has to be fetched after the stage ``download``.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.anchors import line_signs, text_tokens
from align.data.bitext import count_lines, told_of_names
from align.data.row import Row
from align.data.shifted_lines import find_stretches
from align.data.vocabulary import Vocabulary
from align.links import find_format
from align.model.weights import Weights
from align.vectors.dictionary import read_dictionary
from align.vectors.vec import first_words
from pipeline.config.configuration import Config
from pipeline.config.places import local_path
from pipeline.run.forecast import text_bytes
from pipeline.run.plan import Settings, Step
from pipeline.stages.download import stage as download
from pipeline.stages.download.downloader import DOWNLOADS, forget_small
from pipeline.stages.download.named import named
from pipeline.stages.embed.space import check_dictionary
from pipeline.stages.embed.vectors import check_dimensions, check_given
from pipeline.stages.gold import LINKS_OPTIONS, fit_gold
from pipeline.stages.label.stage import wanted_labels
from pipeline.stages.lexicon.prior_model import check_prior, prior_folder
from pipeline.stages.preprocess.checks import ADVICE, check_order, check_usable
from pipeline.stages.preprocess.gold import Gold as GoldText
from pipeline.stages.preprocess.stage import SHARD, open_corpus, text_settings
from pipeline.stages.train.model import NO_WEIGHTS, weights_folder
from pipeline.work import budget
from pipeline.work import manifest as manifests
from pipeline.work.resources import check_space

# Rows of a bitext, and of a file of vectors, that are looked at.
HEAD, HEAD_WORDS = 1000, 2000

# Two sides are swapped if the words of each are found so many times as often on the side of the other; of
# fewer words nothing is said.
_SWAPPED, _ENOUGH = 1.5, 100

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Known:
    """What the checks look at: the options, what is on the disk, and what is to be run with them."""

    config: Config
    sources: dict[str, Any]  # as download.load gives them, without ``paths`` or ``files`` that are not there
    steps: Sequence[Step]
    settings: Settings

    def option(self, key: str) -> Any:
        """Return the value of ``section.key``."""
        return self.config.option(key)

    def text_settings(self) -> list[dict[str, str]]:
        """Return the settings of the text processors of both sides."""
        tokenizers = [self.option(f"preprocess.{side}_tokenizer") for side in SIDES]
        return text_settings(self.option, self.option("preprocess.profile"), tokenizers)

    def head(self, rows: int = HEAD) -> list[Row]:
        """Return the first rows of the corpus, none where it is not there yet."""
        corpus = self.sources["corpus"]
        return list(islice(open_corpus(corpus, self.option), rows)) if corpus["paths"] else []


class Check(NamedTuple):
    """A check: it yields what is odd and raises an error over what is wrong."""

    look: Callable[[Known], Iterable[str]]
    # The stages that would find it out; without one of them to be run nothing is looked at.
    stages: tuple[str, ...]


def check(config: Config, steps: Sequence[Step], settings: Settings, *, warn: Callable[[str], None]) -> None:
    """Make the checks before the first stage of a run.

    Parameters
    ----------
    config : Config
    steps : sequence of Step
        Its stages, done or to be run.
    settings : Settings
    warn : function
        Called with a line for each thing that is odd.

    Raises
    ------
    InputError
        If the input, or an option, is wrong.
    WorkError
        If the disk has no room for the results.
    """
    done = {step.stage.name: step.folder for step in steps if not step.run}
    sources = download.load(done["download"]) if "download" in done else named(config.option)
    _look(Known(config, sources, steps, settings), warn)


def check_fetched(
    config: Config, steps: Sequence[Step], settings: Settings, *, warn: Callable[[str], None]
) -> None:
    """Make the checks that had to wait for the stage ``download``, which this run has just done.

    Where they fail, short files that were fetched are forgotten, with the stage's result: no other run can
    have begun with it. Parameters and errors are those of :func:`check`.
    """
    (folder,) = (step.folder for step in steps if step.stage.name == "download")
    fetched, before = download.load(folder), named(config.option)
    if any(_places(fetched, section) != _places(before, section) for section in fetched):
        try:
            _look(Known(config, fetched, steps, settings), warn)
        except InputError as error:
            again = _forget_fetched(folder, settings)
            if not again:
                raise
            raise InputError(f"{error}; the next run fetches {' and '.join(again)} again") from None


def _look(known: Known, warn: Callable[[str], None]) -> None:
    to_run = {step.stage.name for step in known.steps if step.run}
    for each in CHECKS:
        if to_run.intersection(each.stages):
            for odd in each.look(known):
                warn(odd)


def _forget_fetched(folder: Path, settings: Settings) -> list[str]:
    """Forget what was fetched and is wrong: it may be what a server says instead; return the addresses.

    Messages of servers are short. A long file stays, for the option that is wrong may be the user's.
    """
    origins = (manifests.read(folder) or {}).get("notes", {}).get("origins", {})
    urls = sorted({place for places in origins.values() for place in places if local_path(place) is None})
    again = forget_small(settings.workdir / DOWNLOADS, urls)
    if again:
        shutil.rmtree(folder)
    return again


def _places(sources: dict[str, Any], section: str) -> Any:
    """Return where the files of a section are."""
    return sources[section]["paths"] if section == "corpus" else sources[section]


def check_tokenizers(known: Known) -> Iterator[str]:
    """Refuse tokenizers and profiles that there are not."""
    known.text_settings()
    yield from ()


def check_corpus(known: Known) -> Iterator[str]:
    """Refuse a bitext that does not begin as one of its kind, is empty, or has sides of other lengths."""
    corpus = known.sources["corpus"]
    paths = corpus["paths"]
    if not paths:
        return
    head = known.head()
    reasons = Counter(row.problem or "empty" for row in head if row.problem or _is_empty(row))
    if len(head) < HEAD:  # that is all of it
        check_usable(str(paths[0]), len(head), len(head) - reasons.total(), reasons)
    if len(paths) > 1 and len({count_lines(path) for path in paths}) > 1:
        # Only reading all of it tells from where on the lines do not belong together.
        for _ in open_corpus(corpus, known.option):
            pass
    languages = known.option("corpus.source"), known.option("corpus.target")
    if head and (told := told_of_names(head[0], corpus["kind"], languages, ADVICE)):
        yield f"{paths[0]}:1: {told}"


def check_shifts(known: Known) -> Iterator[str]:
    """Tell where lines of the text's beginning do not stand beside their translations.

    They stop the run as they do in preprocess where that is all of the text; else that is for it to say.
    """
    head = known.head(SHARD)
    if not head:
        return
    used = np.array([not (row.problem or _is_empty(row)) for row in head], dtype=bool)
    source, target = (
        text_tokens(side) for side in zip(*((row.source, row.target) for row in head), strict=True)
    )
    choice = known.option("corpus.shifted")
    if len(head) == SHARD and choice is None:
        choice = "report"
    where = str(known.sources["corpus"]["paths"][0])
    told = check_order(where, find_stretches(line_signs(source, target, used)), len(head), choice)
    if told is not None:
        yield f"{where}: at its beginning {told}"


def check_gold(known: Known) -> Iterator[str]:
    """Refuse gold whose links do not fit its text, its text the corpus, or gold.train either."""
    gold = known.sources["gold"]
    if gold is None or not gold["files"]:
        return
    options = {key: known.option(f"gold.{key}") for key in LINKS_OPTIONS}
    text = GoldText.read(gold["files"], known.text_settings())
    source, target = ([line.split(" ") if line else [] for line in batch.text] for batch in text.batches)
    found = fit_gold(str(gold["links"]), source, target, **options)
    train = known.option("gold.train")
    if train > len(found) or wanted_labels(known.option("train.labels"), train) in ("gold", "both"):
        found.check_training(train)
    _check_sides(
        [_words(chain.from_iterable(side)) for side in (source, target)],
        known.head(),
        f"gold.files: {gold['files'][0]} and {gold['files'][1]} seem to be target first; give the source "
        "first, and links whose first index is of the source",
    )
    own = find_format(options["format"]).base
    if own is not None and options["base"] not in (None, own):
        yield "gold.base = {base}: without effect, for the format {format} counts from {}".format(
            own, **options
        )


def check_vectors(known: Known) -> Iterator[str]:
    """Refuse vectors that do not begin as such, or cannot be brought to one space, and bad dictionaries."""
    wanted, files = known.option("embed.vectors"), known.sources["vectors"]
    if wanted == "given":
        check_given(known.config.values["vectors"])
    check_dictionary(known.option("embed.dictionary"), known.option("vectors.dictionary"))
    if files["dictionary"] is not None:
        none = Vocabulary([], [])
        read_dictionary(Path(files["dictionary"]), none, none)
    paths = [Path(files[side]) for side in SIDES if files[side] is not None]
    if wanted in ("trained", "none"):
        return
    if len(paths) == len(SIDES):
        check_dimensions(paths)
        _check_sides(
            [_words(first_words(path, HEAD_WORDS)) for path in paths],
            known.head(),
            f"vectors.source: {paths[0]} seems to be of the target's language and {paths[1]} of the "
            "source's; swap vectors.source and vectors.target",
        )
    yield from ()


def check_prior_model(known: Known) -> Iterator[str]:
    """Refuse a prior of other languages than the corpus's."""
    prior = known.option("lexicon.prior")
    if prior is not None:
        source, target = (settings["language"] for settings in known.text_settings())
        check_prior(prior_folder(known.config, prior), (source, target))
    yield from ()


def check_weights(known: Known) -> Iterator[str]:
    """Refuse known weights that cannot be read."""
    if known.option("train.weights") != NO_WEIGHTS:
        Weights.load(weights_folder(known.config))
    yield from ()


def check_disk(known: Known) -> Iterator[str]:
    """Refuse to begin where the disk has no room for the results, by the size of the text."""
    corpus = known.sources["corpus"]
    # A translation memory has more markup than text.
    paths = [] if corpus["kind"] == "tmx" else [Path(path) for path in corpus["paths"]]
    size = text_bytes(paths, known.option("corpus.limit")) if paths else None
    if size is not None:
        needed = budget.disk_space(size, [step.stage.name for step in known.steps if step.run])
        place = known.settings.workdir
        there = next(each for each in (place, *place.parents) if each.is_dir())
        check_space(there, needed, f"results in {place}")
    yield from ()


def _is_empty(row: Row) -> bool:
    return not (row.source.strip() and row.target.strip())


def _check_sides(words: Sequence[Counter[str]], head: Sequence[Row], told: str) -> None:
    """Refuse two sides whose words are more at home on the other side of the corpus each."""
    corpus = [set(_words(texts)) for texts in ((row.source for row in head), (row.target for row in head))]
    own, other = (
        [sum(side[word] for word in side.keys() & known) for side, known in zip(words, each, strict=True)]
        for each in (corpus, corpus[::-1])
    )
    enough = all(sum(side.values()) >= _ENOUGH for side in words)
    if enough and all(there > _SWAPPED * here for here, there in zip(own, other, strict=True)):
        raise InputError(told)


def _words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of letters in some texts, in lower case."""
    return Counter(word for text in texts for word in _WORD.findall(text.lower()))


# Those that cost least first.
CHECKS = (
    Check(check_tokenizers, ("preprocess",)),
    Check(check_prior_model, ("lexicon",)),
    Check(check_weights, ("train",)),
    Check(check_disk, ("preprocess", "lexicon", "align")),
    Check(check_gold, ("preprocess", "label", "evaluate", "inspect")),
    Check(check_vectors, ("embed",)),
    Check(check_corpus, ("preprocess",)),
    Check(check_shifts, ("preprocess",)),
)
