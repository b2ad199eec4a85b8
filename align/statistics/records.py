"""Records of arrays, kept in a folder: one ``.npy`` file a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.errors import InputError

REMEDY = "make the tables again"

# The length of an array of one dimension, or the shape of any.
Size = int | tuple[int, ...]


@dataclass(frozen=True)
class Record:
    """The fields of a subclass are arrays: of one dimension but where ``DIMENSIONS`` says another number."""

    DIMENSIONS: ClassVar[Mapping[str, int]] = {}

    def save(self, folder: Path) -> None:
        """Write one ``.npy`` file a field into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            save_array(folder / f"{field.name}.npy", getattr(self, field.name))


def load_columns(kind: type[Record], folder: Path, *, mapped: bool = True) -> dict[str, np.ndarray]:
    """Read the fields of a dataclass; ``mapped`` leaves large ones on disk (memory-mapped).

    Raises
    ------
    InputError
        If a file is missing, or holds an array of other dimensions.
    """
    found = {}
    for field in fields(kind):
        path = folder / f"{field.name}.npy"
        found[field.name] = load_array(path, mapped=mapped, remedy=REMEDY)
        wanted = kind.DIMENSIONS.get(field.name, 1)
        if found[field.name].ndim != wanted:
            dimensions = "one dimension" if wanted == 1 else f"{wanted} dimensions"
            raise InputError(f"{path}: no array of {dimensions}; {REMEDY}")
    return found


def check_columns(
    found: Mapping[str, np.ndarray], expected: Mapping[str, tuple[type, Size]], folder: Path
) -> None:
    """Refuse a field (InputError) that is not of the type and length, or shape, expected."""
    for name, (dtype, size) in expected.items():
        values, shape = found[name], (size,) if isinstance(size, int) else size
        if values.dtype != dtype or values.shape != shape:
            raise InputError(
                f"{folder / f'{name}.npy'}: {values.dtype} {values.shape}, "
                f"not {np.dtype(dtype)} {shape}; {REMEDY}"
            )


def check_offsets(offsets: np.ndarray, count: int, what: str, folder: Path) -> None:
    """Refuse offsets (InputError) that do not go from 0 to ``count`` without a step back."""
    if offsets[0] != 0 or offsets[-1] != count or np.diff(offsets).min(initial=0) < 0:
        raise InputError(f"{folder / 'offsets.npy'}: does not fit {count} {what}; {REMEDY}")
