"""What the stage train leaves: the model folder; and the way there without training, with given weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.core.files import text_file
from align.features import GROUPS, Resources
from align.model.folder import Model
from align.model.shipped import MODEL, WEIGHTS, find_weights
from align.model.weights import TABLE, Weights, missing_note, remarks
from align.solvers import Row
from align.solvers.fit import history_lines
from pipeline.config.configuration import Config
from pipeline.stages.featurize import load_resources
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext

# For ``train.weights``: there are no known weights.
NO_WEIGHTS = "none"

# Options of the section that have an effect where nothing is learnt; the others say how to learn.
_OF_GIVEN_WEIGHTS = frozenset(("train.labels", "train.weights"))


def weights_folder(config: Config) -> Path:
    """Return the folder of ``train.weights``: beside the configuration file, else wherever it is found.

    Raises
    ------
    InputError
        If there are no such weights.
    """
    named = config.option("train.weights")
    beside = config.path.parent / named
    there = any((beside / name).is_file() for name in (WEIGHTS, MODEL))
    try:
        return beside if there else find_weights(named)
    except InputError as error:
        raise InputError(f"train.weights: {error}") from None


def weights_files(config: Config) -> list[Path]:
    """Return the files of ``train.weights``."""
    if config.option("train.weights") == NO_WEIGHTS:
        return []
    folder = weights_folder(config)
    return [path for path in (folder / name for name in (WEIGHTS, MODEL, TABLE)) if path.is_file()]


def origin_of(context: StageContext, names: tuple[str, ...]) -> np.ndarray | None:
    """Return what ``train.weights`` says of features, 0 for those it does not know; None without any."""
    if context.config.option("train.weights") == NO_WEIGHTS:
        return None
    return _load(context, weights_folder(context.config)).named(names)


def _load(context: StageContext, folder: Path) -> Weights:
    """Return given weights, and say what there is to say of them."""
    found = Weights.load(folder)
    for remark in remarks(found):
        context.warn(f"{folder}: {remark}")
    return found


def take_weights(context: StageContext) -> None:
    """Write the model of given weights and this corpus's statistics."""
    folder = weights_folder(context.config)
    resources = resources_of(context)
    given = _load(context, folder).of_features(resources, where=folder)
    if given.missing:
        context.warn(f"{folder}: {missing_note(given.missing)}")
    needed = {need for group in given.groups for need in GROUPS[group].needs}
    if "links" in needed and resources.links is None:
        context.warn("the weights count on sampled posteriors, and there are none; set lexicon.chains to -1")
    own = {key for key in context.config.given if key.startswith("train.")}
    idle = sorted(own - _OF_GIVEN_WEIGHTS)
    if idle:
        context.warn(
            f"{', '.join(idle)}: without effect, for nothing is learnt; "
            "set train.labels to silver, or gold.train"
        )
    facts: dict[str, Any] = {
        "solver": None, "status": "weights given", "weights": folder.name, "pairs": 0, "primal": None,
        "dual": None, "gap": None, "averaged": None, "passes": 0, "oracle_calls": 0,
    }  # fmt: skip
    model = Model(
        weights=given.weights,
        names=given.names,
        groups=given.groups,
        resources=resources,
        text=text_of(context),
        calibration=given.calibration,
        options=given.options,
        provenance={"corpus": context.option("corpus.name"), **facts, "weights_from": given.provenance},
        fertility=given.fertility,
        word_groups=given.word_groups,
    )
    write_model(context, model)
    write_training(context, {**facts, "seconds": 0.0}, ())
    context.say(f"no training: the weights of {folder}, {len(given.names)} features")


def resources_of(context: StageContext) -> Resources:
    """Return the statistics of this corpus."""
    return load_resources(*(context.inputs[name] for name in ("preprocess", "embed", "lexicon")))


def text_of(context: StageContext) -> dict[str, Any]:
    """Return the settings of the text processors of both sides."""
    text: dict[str, Any] = json.loads(
        (context.inputs["preprocess"] / "text.json").read_text(encoding="utf-8")
    )
    return text


def write_model(context: StageContext, model: Model) -> None:
    """Write the model folder; what other stages wrote already is copied."""
    preprocess, embed, lexicon = (context.inputs[name] for name in ("preprocess", "embed", "lexicon"))
    model.save(context.folder, vocabularies_from=preprocess, lexicon_from=lexicon, vectors_from=embed)


def write_training(context: StageContext, training: dict[str, Any], history: tuple[Row, ...]) -> None:
    """Write ``training.json``, which is noted too, and ``history.csv``, a line a pass."""
    write_json(context.folder / "training.json", training)
    context.note("training", training)
    with text_file(context.folder / "history.csv") as out:
        out.writelines(history_lines(history))
