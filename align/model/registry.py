"""Registries of models: what can be had by name, from where, how large, and under which licence.

A registry is a TOML file with a table a model, called by its name::

    [en-de]
    languages = "en-de"         # or "any": weights without statistics
    licence = "CC0-1.0"
    url = "en-de.tar.gz"        # http, https, or beside the registry; absent: comes with the installation
    sha256 = "..."              # of the archive
    size = 11000000             # its bytes

The one that is shipped lies beside the shipped models; a model that was fetched holds its own table, so that
its licence goes with it.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from align.core.errors import InputError
from align.core.files import readable

REGISTRY = "registry.toml"

# What stands for the languages of weights, which serve any two.
ANY = "any"

# No registry is larger, and no archive of a model.
MOST_BYTES, MOST_SIZE = 1 << 20, 1 << 36

# A name becomes that of a folder, on every system.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_])?", re.ASCII)

_FETCHED = ("url", "sha256", "size")


class Entry(NamedTuple):
    """A model of a registry; ``url``, ``sha256`` and ``size`` are None where it comes with the library."""

    name: str
    languages: str
    licence: str
    url: str | None = None
    sha256: str | None = None
    size: int | None = None


def parse_registry(text: bytes, where: str) -> dict[str, Entry]:
    """Return the models of a registry by name.

    Parameters
    ----------
    text : bytes
        The file; it may be a stranger's.
    where : str
        What messages call it.

    Raises
    ------
    InputError
        If it is no registry; the message names the model and the key.
    """
    if len(text) > MOST_BYTES:
        raise InputError(f"{where}: over {MOST_BYTES} bytes, too many for a registry; give another file")
    try:
        tables = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no TOML can be read ({error}); give a registry of models") from None
    return {name: _entry(name, values, where) for name, values in tables.items()}


def read_registry(path: Path) -> dict[str, Entry]:
    """Return the models of a registry on the disk by name, none where it is not there.

    Raises
    ------
    InputError
        As :func:`parse_registry`.
    """
    if not path.is_file():
        return {}
    with readable(path, "cannot be read", "give a registry of models"), open(path, "rb") as file:
        return parse_registry(file.read(MOST_BYTES + 1), str(path))


def as_registry(entry: Entry) -> str:
    """Return the registry of one model as text."""
    values = ((key, getattr(entry, key)) for key in Entry._fields[1:])
    rows = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values if value)
    return "\n".join([f"[{json.dumps(entry.name)}]", *rows, ""])


def entry_of(folder: Path) -> Entry | None:
    """Return what a registry in a model's folder, or beside it, says of the model; None where none does."""
    for place in (folder, folder.parent):
        if (entry := read_registry(place / REGISTRY).get(folder.name)) is not None:
            return entry
    return None


def _entry(name: str, values: Any, where: str) -> Entry:
    """Check the table of a model."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{where}: {name[:80]!a} is no name of a model; give letters, digits, - _ . (64 at most)"
        )
    where = f"{where}: [{name}]"
    if not isinstance(values, dict):
        raise InputError(f"{where}: no table; write its keys below it: {', '.join(Entry._fields[1:])}")
    for key in values:
        if key not in Entry._fields[1:]:
            raise InputError(f"{where} has no key {key[:80]!a}; there are {', '.join(Entry._fields[1:])}")
    fetched = any(key in values for key in _FETCHED)
    wanted = ("languages", "licence", *(_FETCHED if fetched else ()))
    for key in wanted:
        if not _FORMS[key](values.get(key)):
            raise InputError(f"{where} {key}: {ascii(values.get(key))[:80]} is not {_MEANT[key]}; correct it")
    return Entry(name, **{key: values[key] for key in wanted})


def _is_text(value: Any) -> bool:
    # What a terminal would take for a command is no text of a registry.
    return isinstance(value, str) and 0 < len(value) <= 1000 and value.isprintable()


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_SIZE


_FORMS = {
    "languages": _is_text,
    "licence": _is_text,
    "url": _is_text,
    "sha256": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None,
    "size": _is_size,
}
_MEANT = {
    "languages": f"two codes as 'en-fr', or '{ANY}'",
    "licence": "the name of a licence",
    "url": "an address",
    "sha256": "64 hexadecimal digits in small letters",
    "size": f"a number of bytes up to {MOST_SIZE}",
}
