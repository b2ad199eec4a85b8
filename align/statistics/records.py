"""Records of arrays, kept in a folder: one ``.npy`` file a field.

Packed, a file takes an eighth to a half of the place: whole numbers in fewer bits, others as codes of a scale
(:mod:`align.core.codes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.codes import Scale, smallest_whole
from align.core.errors import InputError

REMEDY = "make the tables again"

# The length of an array of one dimension, or the shape of any.
Size = int | tuple[int, ...]


@dataclass(frozen=True)
class Record:
    """The fields of a subclass are arrays: of one dimension but where ``DIMENSIONS`` says another number.

    ``PACKED`` says of each what it is unpacked to: numbers of a scale, or whole numbers of a type.
    """

    DIMENSIONS: ClassVar[Mapping[str, int]] = {}
    PACKED: ClassVar[Mapping[str, Scale | type]] = {}

    def save(self, folder: Path, *, packed: bool = False) -> None:
        """Write one ``.npy`` file a field into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for field in fields(self):
            values = getattr(self, field.name)
            if packed:
                kind = self.PACKED[field.name]
                values = kind.encode(values) if isinstance(kind, Scale) else smallest_whole(values)
            save_array(folder / f"{field.name}.npy", values)


def load_columns(kind: type[Record], folder: Path, *, mapped: bool = True) -> dict[str, np.ndarray]:
    """Read the fields of a dataclass, packed or not; ``mapped`` leaves large ones on disk (memory-mapped).

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
        if (unpacked := kind.PACKED.get(field.name)) is not None:
            found[field.name] = _unpacked(found[field.name], unpacked)
    return found


def _unpacked(values: np.ndarray, kind: Scale | type) -> np.ndarray:
    """Return values as they were before they were packed; what is not packed stays as it is."""
    if isinstance(kind, Scale):
        return kind.decode(values) if values.dtype == np.uint8 else values
    return values.astype(kind) if values.dtype in (np.uint16, np.uint32) else values


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
