"""What a configuration names that is on the disk already: known before anything is fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.config.input_sections import corpus_options, gold_options, vectors_options
from pipeline.config.places import VECTOR_SETS, local_path
from pipeline.stages.download.members import archive_kind
from pipeline.stages.download.stage import CORPUS_KEYS, GOLD_KEYS, VECTORS_KEYS, kind_of_text


def named(option: Callable[[str], Any]) -> dict[str, Any]:
    """Return what :func:`pipeline.stages.download.stage.load` would, as far as it is on the disk.

    Of a corpus, or gold, that has to be fetched or unpacked there are no ``paths``, or ``files``.

    Parameters
    ----------
    option : callable
        Gives the value of each key.

    Raises
    ------
    InputError
        If a file on the disk cannot be read, or is neither an archive nor a bitext.
    """
    corpus = corpus_options(name="corpus", **{key: option(f"corpus.{key}") for key in CORPUS_KEYS})
    vectors = vectors_options(**{key: option(f"vectors.{key}") for key in VECTORS_KEYS})
    gold = gold_options(**{key: option(f"gold.{key}") for key in GOLD_KEYS})
    kind, paths = corpus.kind, _on_disk(corpus.places)
    if paths and kind in ("url", "tsv", "tmx"):
        if archive_kind(Path(paths[0])) is not None:
            paths = []
        elif kind == "url":
            kind = kind_of_text(Path(paths[0]))
    return {
        "corpus": {"kind": kind, "paths": paths},
        "vectors": {key: _vectors(getattr(vectors, key)) for key in VECTORS_KEYS},
        "gold": None if gold.links is None else _gold(*_on_disk([*gold.files, gold.links])),
    }


def _on_disk(places: Sequence[str]) -> list[str]:
    """Return the paths of all places; none where one of them is not on the disk."""
    found = [path for place in places if (path := local_path(place)) is not None]
    return [str(path) for path in found] if len(found) == len(places) else []


def _gold(*paths: str) -> dict[str, Any]:
    return {"files": list(paths[:2]), "links": paths[2] if paths else None}


def _vectors(place: str | None) -> str | None:
    path = None if place is None or place in VECTOR_SETS else local_path(place)
    return None if path is None or archive_kind(path) is not None else str(path)
