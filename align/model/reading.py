"""Reading the files of a model folder: each is checked, and a fault is told by the name of its file.

Nothing is executed, no array is unpickled, and no number is trusted to be an index before it is checked.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import load_array
from align.core.errors import InputError
from align.core.files import readable
from align.core.mapped import give_pages_back
from align.core.ragged import SIDES
from align.core.version import __version__
from align.data.vocabulary import Vocabulary
from align.features import GROUPS, WORD_GROUPS
from align.model.checksums import CHECKSUMS, REMEDY, check
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon

FORMAT = 2

_WEIGHTS_HAVE = ("calibration", "options", "provenance")

# The files of a model and of weights, which are all that is ever read of their folder.
_FILES = (
    "model.json",
    "weights.json",
    "weights.tsv",
    CHECKSUMS,
    "*.vocabulary.tsv",
    "*.vectors.npy",
    "lexicon/*.npy",
    "lexicon/links/*.npy",
)

# No text has so many words, and no training so large a weight: sums of them stay finite.
_MOST_COUNT, _MOST_WEIGHT = 1 << 53, 1e30


def read_description(folder: Path) -> dict[str, Any]:
    """Read and check ``model.json`` alone: what a model is, without loading its tables.

    Raises
    ------
    InputError
        If the folder or the file is missing, of another format version, or a value has the wrong form.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such model; give a folder with a model.json, or a known model's name")
    return _read(folder / "model.json", ("text", "groups", "sizes", *_WEIGHTS_HAVE))


def read_languages(folder: Path) -> tuple[str, str]:
    """Return the codes of a model's source and target language; errors as :func:`read_description`."""
    text = read_description(folder)["text"]
    return text["source"]["language"], text["target"]["language"]


def read_weights_description(path: Path) -> dict[str, Any]:
    """Read and check ``weights.json``: what weights without tables are.

    Raises
    ------
    InputError
        As :func:`read_description`.
    """
    return _read(path, ("groups", *_WEIGHTS_HAVE))


def check_files(folder: Path) -> None:
    """Check that each file of a model is a regular file inside its folder.

    A model may come from anywhere. A symbolic link in it would have another file of this machine read, and
    its lines shown in a message about them; a pipe or a device would be waited for without end.

    Raises
    ------
    InputError
        If one is not; the message names it.
    """
    root = Path(os.path.realpath(folder))
    for path in sorted(path for pattern in _FILES for path in folder.glob(pattern)):
        place = Path(os.path.realpath(path))
        if not place.is_relative_to(root):
            raise InputError(
                f"{path}: leads out of the model's folder, to {place}; put a copy of that file in its place "
                "if you trust the model"
            )
        if not stat.S_ISREG(os.lstat(place).st_mode):
            raise InputError(f"{path}: is no regular file; {REMEDY}")


def model_files(described: Mapping[str, Any]) -> list[str]:
    """Return the files of a model, given its description: what is loaded, by the path in its folder."""
    sizes = described["sizes"]
    names = ["model.json", "weights.tsv", *(f"{side}.vocabulary.tsv" for side in SIDES)]
    if sizes["cells"] is not None:
        names += table_files(links=sizes.get("jumps") is not None)
    if sizes["dimensions"] is not None:
        names += [f"{side}.vectors.npy" for side in SIDES]
    return names


def all_files() -> frozenset[str]:
    """Return all files that a folder of a model, or of weights, may have, by their paths in it."""
    weights = ("weights.json", CHECKSUMS)
    described = {"sizes": {"cells": 0, "jumps": [], "dimensions": 0}}
    return frozenset([*model_files(described), *weights])


def table_files(*, links: bool) -> list[str]:
    """Return the files of a model's tables, with or without expected links."""
    names = [f"lexicon/{field.name}.npy" for field in fields(Lexicon)]
    return names + [f"lexicon/links/{field.name}.npy" for field in fields(ExpectedLinks) if links]


def _read(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    check_files(path.parent)
    if path.is_file():
        check(path.parent, [path.name])
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            described = json.load(file)
    except FileNotFoundError:
        raise InputError(
            f"{path}: missing, so {path.parent} is no model; give the folder of a model"
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path}: no JSON can be read ({error}); {REMEDY}") from None
    if not isinstance(described, dict) or not isinstance(described.get("format"), int):
        raise InputError(f"{path}: says no format version; {REMEDY}")
    if described["format"] != FORMAT:
        raise InputError(
            f"{path}: format {described['format']}, but version {__version__} of liaison reads {FORMAT}; "
            "use the version that wrote it or train it anew"
        )
    for key in keys:
        if key not in described or not _FORMS[key](described[key]):
            raise InputError(f"{path}: {key} is {json.dumps(described.get(key))[:80]}; {REMEDY}")
    for key, fits in _OPTIONAL_FORMS.items():
        if key in described and not fits(described[key]):
            raise InputError(f"{path}: {key} is {json.dumps(described[key])[:80]}; {REMEDY}")
    for key, known in (("groups", GROUPS), ("extra_groups", WORD_GROUPS)):
        for group in described.get(key, ()):
            if group not in known:
                raise InputError(f"{path}: this version has no feature group {group!r}; update liaison")
    return described


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MOST_WEIGHT


def _is_text(value: Any) -> bool:
    """Tell whether both sides have settings with a language; the text processor checks the rest."""
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(side), dict) for side in SIDES)
        and all(isinstance(value[side].get("language"), str) for side in SIDES)
    )


def _are_sizes(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_whole(value.get(f"{side}_words")) for side in SIDES)
        and all(
            key in value and (value[key] is None or _whole(value[key])) for key in ("cells", "dimensions")
        )
        # models of before the sampler do not have it
        and (value.get("jumps") is None or _are_jumps(value["jumps"], value["cells"]))
    )


def _are_jumps(value: Any, cells: int | None) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_whole, value)) and cells is not None


def _are_groups(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


# Models whose words have one link do not have them.
_OPTIONAL_FORMS = {
    "fertility": lambda value: _whole(value) and 1 <= value < 1 << 31,
    "extra_groups": _are_groups,
}
_FORMS = {
    "text": _is_text,
    "groups": _are_groups,
    "sizes": _are_sizes,
    # Two numbers: nothing is said of how often words were seen.
    "calibration": lambda value: (
        isinstance(value, list) and 2 <= len(value) <= 5 and all(map(_number, value))
    ),
    "options": lambda value: isinstance(value, dict),
    "provenance": lambda value: isinstance(value, dict),
}


def read_weights(path: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the feature names and their weights, float64, of ``weights.tsv``.

    Raises
    ------
    InputError
        If the file is missing or a line is not a name, a TAB and a number of at most 1e30.
    """
    names, weights = [], []
    for number, line in enumerate(_lines(path), 1):
        name, tab, value = line.partition("\t")
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not name or not tab or not abs(weight) <= _MOST_WEIGHT:
            raise InputError(f"{path}:{number}: {line[:80]!r} is not 'feature TAB weight'; {REMEDY}")
        names.append(name)
        weights.append(weight)
    return tuple(names), np.array(weights, dtype=np.float64)


def _lines(path: Path) -> list[str]:
    with readable(path, "cannot be read", REMEDY), open(path, encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")
    if lines.pop():
        raise InputError(f"{path}:{len(lines) + 1}: cut off, the line has no end; {REMEDY}")
    return lines


def read_vocabulary(path: Path) -> Vocabulary:
    """Return the vocabulary of a file.

    Raises
    ------
    InputError
        If it is missing or no vocabulary.
    """
    with readable(path, "no vocabulary can be read", REMEDY):
        return Vocabulary.load(path)


def read_lexicon(folder: Path, cells: int, words: tuple[int, int]) -> Lexicon:
    """Return the statistics, memory-mapped, given the cells and the words of both sides there must be.

    Raises
    ------
    InputError
        If a file is missing, or has another type or size, or values that are no probabilities.
    """
    lexicon = Lexicon.load(folder, mapped=True)
    for name in ("dice", "forward", "reverse", "null_forward", "null_reverse"):
        if not _within(getattr(lexicon, name), 0.0, 1.0 + 1e-4):
            raise InputError(f"{folder / f'{name}.npy'}: a value is not in [0, 1]; {REMEDY}")
    if lexicon.cells != cells or (len(lexicon.source_counts), len(lexicon.target_counts)) != words:
        sizes = (lexicon.cells, len(lexicon.source_counts), len(lexicon.target_counts))
        raise InputError(
            f"{folder}: (cells, source words, target words) = {sizes}, not {(cells, *words)}; {REMEDY}"
        )
    for name in ("source_counts", "target_counts"):
        if not _within(getattr(lexicon, name), 0, _MOST_COUNT):
            raise InputError(f"{folder / f'{name}.npy'}: a count is below 0 or too large; {REMEDY}")
    if cells and not _within(lexicon.targets, 0, words[1] - 1):
        raise InputError(f"{folder / 'targets.npy'}: a word id is not below {words[1]}; {REMEDY}")
    return lexicon


def read_links(folder: Path, lexicon: Lexicon, jumps: list[int]) -> ExpectedLinks:
    """Return the expected links over the cells of a lexicon, memory-mapped, given the lengths of both jumps.

    Raises
    ------
    InputError
        As :meth:`align.statistics.expected_links.ExpectedLinks.load`, or if there are other numbers of jumps.
    """
    links = ExpectedLinks.load(folder, lexicon)
    found = [links.forward_jumps.shape[2], links.reverse_jumps.shape[2]]
    if found != jumps:
        raise InputError(f"{folder}: numbers of jumps {found}, not {jumps}; {REMEDY}")
    return links


def read_vectors(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Return unit vectors, float32 of the given shape, memory-mapped where they are not packed.

    Raises
    ------
    InputError
        If the file is missing, of another type or shape, or a value is outside [-1, 1] or NaN.
    """
    vectors = load_array(path, mapped=True, remedy=REMEDY)
    if vectors.dtype == np.int8 and vectors.ndim == 2 and len(vectors) <= shape[0]:
        vectors = unpacked_vectors(vectors, shape[0])
    if vectors.dtype != np.float32 or vectors.shape != shape:
        raise InputError(f"{path}: {vectors.dtype} {vectors.shape}, not float32 {shape}; {REMEDY}")
    if not _within(vectors.reshape(-1), -1.0 - 1e-3, 1.0 + 1e-3):
        raise InputError(f"{path}: a value is not that of a unit vector; {REMEDY}")
    return vectors


def packed_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return unit vectors in a byte a number, int8, without the words at the end that have none."""
    with_one = np.flatnonzero(np.any(vectors != 0, axis=1))
    last = int(with_one[-1]) + 1 if len(with_one) else 0
    largest = np.maximum(np.abs(vectors[:last]).max(axis=1, initial=0, keepdims=True), 1e-9)
    return np.rint(vectors[:last] * (127 / largest)).astype(np.int8)


def unpacked_vectors(packed: np.ndarray, words: int) -> np.ndarray:
    """Return the unit vectors of so many words, float32, of what :func:`packed_vectors` made."""
    vectors = np.zeros((words, packed.shape[1]), dtype=np.float32)
    values = packed.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
    np.divide(values, lengths, out=vectors[: len(packed)], where=lengths > 0)
    return vectors


def _within(values: np.ndarray, lowest: float, highest: float) -> bool:
    """Tell whether all values are in a range (NaN is not), a piece at a time to spare memory."""
    step = 1 << 20
    for start in range(0, len(values), step):
        piece = np.asarray(values[start : start + step])
        if not (piece.min() >= lowest and piece.max() <= highest):
            return False
        give_pages_back(values)
    return True
