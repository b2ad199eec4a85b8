"""The stages of the pipeline, in order: what each needs and which options of other sections it reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.config import input_sections as sources
from pipeline.config.configuration import Config
from pipeline.stages import evaluate, featurize
from pipeline.stages.align import stage as align
from pipeline.stages.download import stage as download
from pipeline.stages.embed import stage as embed
from pipeline.stages.inspect import stage as inspect
from pipeline.stages.label import stage as label
from pipeline.stages.lexicon import stage as lexicon
from pipeline.stages.preprocess import stage as preprocess
from pipeline.stages.train import stage as train
from pipeline.work.stage import Stage

LANGUAGES = ("corpus.source", "corpus.target")
GOLD_LINKS = ("gold.links", "gold.format", "gold.columns", "gold.base", "gold.train")

# Large files that a stage leaves to others, and that are not compared with their checksums when it begins:
# of preprocess what the links are written with, of lexicon what a model holds too.
OF_ALIGN = ("preprocess/source.txt", "preprocess/target.txt", "preprocess/*.spans*")
TABLES = ("lexicon/[!p]*",)

STAGES: dict[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage(
            "download",
            download.run,
            uses=(
                *LANGUAGES,
                *(f"corpus.{key}" for key in ("files", "url", "tsv", "tmx", "joint", "sha256")),
                "vectors.*",
                "gold.files",
                "gold.links",
            ),
            files=lambda config: sources.local_files(config.option),
            placed=True,
            records=(download.SOURCES,),
            resumable=True,
        ),
        Stage(
            "preprocess",
            preprocess.run,
            needs=("download",),
            uses=(
                *LANGUAGES,
                *(f"corpus.{key}" for key in ("limit", "tokenized", "encoding", "columns", "shifted")),
                "gold.in_corpus",
            ),
            files=preprocess.local_files,
            resumable=True,
        ),
        Stage(
            "embed",
            embed.run,
            needs=("download", "preprocess"),
            uses=(*LANGUAGES, "gold.in_corpus"),
            seeded=True,
            unread=OF_ALIGN,
        ),
        Stage(
            "lexicon",
            lexicon.run,
            needs=("preprocess",),
            uses=("gold.in_corpus",),
            files=lexicon.local_files,
            seeded=True,
            unread=OF_ALIGN,
            resumable=True,
        ),
        Stage(
            "label",
            label.run,
            needs=("download", "preprocess", "embed", "lexicon"),
            uses=(*GOLD_LINKS, "train.labels", "train.fertility", "train.solver"),
            seeded=True,
            unread=OF_ALIGN,
            check=label.check,
        ),
        Stage(
            "featurize",
            featurize.run,
            needs=("preprocess", "embed", "lexicon", "label"),
            seeded=True,
            unread=OF_ALIGN,
            describe=featurize.describe,
            check=featurize.check,
        ),
        Stage(
            "train",
            train.run,
            needs=("preprocess", "embed", "lexicon", "label", "featurize"),
            uses=("corpus.name", *LANGUAGES, "gold.train"),
            files=train.local_files,
            seeded=True,
            records=("training.json", "history.csv", "curve.png"),
            unread=(*OF_ALIGN, "lexicon/posteriors/corpus/*"),
            resumable=True,
            check=train.check,
            shows=("model", ""),
        ),
        Stage(
            "align",
            align.run,
            needs=("preprocess", "lexicon", "train"),
            unread=("preprocess/*.spans.npy", "preprocess/gold*", *TABLES),
            resumable=True,
            shows=("links", "links.txt"),
        ),
        Stage(
            "evaluate",
            evaluate.run,
            needs=("download", "preprocess", "lexicon", "label", "train"),
            uses=GOLD_LINKS,
            seeded=True,
            unread=(*OF_ALIGN, *TABLES),
        ),
        Stage(
            "inspect",
            inspect.run,
            needs=("download", "preprocess", "lexicon", "train", "align", "evaluate"),
            uses=("corpus.name", *LANGUAGES, *GOLD_LINKS, "align.bias", "evaluate.bias"),
            seeded=True,
            unread=(*OF_ALIGN, *TABLES, "align/links.txt"),
            shows=("page", "report.html"),
        ),
    )
}

SCHEMA: dict[str, Callable[..., Any]] = {
    "corpus": sources.corpus_options,
    "vectors": sources.vectors_options,
    "gold": sources.gold_options,
    **{name: stage.run for name, stage in STAGES.items()},
}

_PACKAGE = Path(__file__).resolve().parents[1]
# In an installed package the sample lies inside it, in a checkout beside it.
_SAMPLES = (_PACKAGE / "sample", _PACKAGE.parent / "data" / "sample")
DEFAULT_CONFIG = next((folder for folder in _SAMPLES if folder.is_dir()), _SAMPLES[-1]) / "sample.toml"


def check_options(config: Config) -> None:
    """Refuse wrong options of any stage, before one is run.

    Raises
    ------
    InputError
        If an option is out of range, or does not go with another.
    """
    for stage in STAGES.values():
        stage.check(config)
