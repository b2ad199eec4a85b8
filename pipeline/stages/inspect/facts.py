"""The figures at the top of the report, and what it rests on; nothing in it changes from run to run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from align.report import Fact, Origin, ShownPair, model_facts, percent
from pipeline.config.places import is_url
from pipeline.stages.download.stage import load as load_sources
from pipeline.work import manifest as manifests


@dataclass(frozen=True)
class Aligned:
    """Counts of the whole corpus."""

    lines: int
    pairs: int  # lines that were aligned: those not rejected
    linked: int  # pairs with at least one link
    links: int


def facts(inputs: Mapping[str, Path], aligned: Aligned, sample: Sequence[ShownPair]) -> list[Fact]:
    """Return the figures at the top of the page.

    Parameters
    ----------
    inputs : mapping of str to Path
        The folders of ``evaluate`` and ``train``.
    aligned : Aligned
        Counts of the corpus.
    sample : sequence of ShownPair
        The pairs of the corpus that are shown.
    """
    return [
        *_evaluation(_read(inputs["evaluate"] / "evaluation.json")),
        Fact(
            "Corpus",
            f"{aligned.lines:,} lines",
            f"{aligned.pairs:,} aligned, {aligned.pairs - aligned.linked:,} of them without links; "
            f"{aligned.links:,} links",
        ),
        _coverage(sample),
        *model_facts(_read(inputs["train"] / "training.json")),
    ]


def _evaluation(evaluation: Mapping[str, Any]) -> list[Fact]:
    """Return what the gold says."""
    train = evaluation.get("train_pairs") or 0
    if evaluation.get("aer") is None:
        nothing = "no sure gold links and none predicted" if evaluation.get("pairs") else "no gold"
        return [Fact("AER", "n/a", f"all {train} gold pairs may train" if train else nothing)]
    interval = (evaluation.get("intervals") or {}).get("aer")
    remark = ""
    if interval:
        level = evaluation["intervals"].get("level", 0.95)
        remark = f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f} % ({100 * level:g} % interval)"
    return [
        Fact("AER", percent(evaluation["aer"]), remark),
        Fact(
            "Precision, recall",
            f"{percent(evaluation.get('precision'))}, {percent(evaluation.get('recall'))}",
            f"F1 {percent(evaluation.get('f1'))}",
        ),
        Fact(
            "Gold",
            f"{evaluation['pairs']:,} pairs",
            f"{evaluation['sure']:,} sure and {evaluation['possible'] - evaluation['sure']:,} possible links"
            + (f"; {train:,} more pairs for training" if train else ""),
        ),
    ]


def _coverage(sample: Sequence[ShownPair]) -> Fact:
    """Return how many words of the sample are linked."""
    shares = []
    for side in ("source", "target"):
        words = sum(len(getattr(pair, side)) for pair in sample)
        linked = sum(len({getattr(link, side) for link in pair.links}) for pair in sample)
        shares.append(percent(linked / words if words else None))
    return Fact("Words linked", ", ".join(shares), "source, target; in the sample shown")


def origins(inputs: Mapping[str, Path]) -> list[Origin]:
    """Return what the page rests on: files with their hashes, and each stage with its options.

    Times and places on this machine are left out: the page is for others too.
    """
    found = [Origin("corpus", _files(inputs["download"]))]
    for stage, folder in inputs.items():
        manifest = manifests.read(folder)
        if manifest is None:
            continue
        ingredients = manifest.get("ingredients", {})
        lines = [f"fingerprint {manifest.get('fingerprint')}"]
        if "seed" in ingredients:
            lines[0] += f", seed {ingredients['seed']}"
        options = {
            key: value
            for key, value in ingredients.get("options", {}).items()
            if key.startswith(f"{stage}.") and value is not None
        }
        if options:
            lines.append(", ".join(f"{key} = {_shown(value)}" for key, value in options.items()))
        found.append(Origin(stage, lines))
    return found


def _files(download: Path) -> list[str]:
    """Return the corpus's places, as far as they are of use elsewhere, and the hashes of its files."""
    manifest = manifests.read(download) or {}
    places = [place for key, found in _places(manifest) if key.startswith("corpus") for place in found]
    hashes = [each for each in load_sources(download)["corpus"].get("sha256") or [] if each]
    return [_shown(place) for place in places] + [f"sha256 {each}" for each in hashes]


def _places(manifest: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    return sorted((manifest.get("notes", {}).get("origins") or {}).items())


def _shown(value: Any) -> str:
    """Return a value as text; of a path on this machine only the file's name."""
    if isinstance(value, str) and not is_url(value) and Path(value).is_absolute():
        return Path(value).name
    return value if isinstance(value, str) else json.dumps(value)


def _read(path: Path) -> dict[str, Any]:
    """Read a JSON object that an earlier stage left; empty where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return value if isinstance(value, dict) else {}
