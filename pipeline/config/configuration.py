"""The configuration of one corpus: a TOML file and ``--set`` overrides, checked against signatures."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from pipeline.config import input_sections as sources
from pipeline.config.options import REQUIRED, Option, from_text, from_toml, options_of


@dataclass(frozen=True)
class Config:
    """The checked options of one corpus."""

    path: Path  # the file they came from
    values: dict[str, dict[str, Any]]  # {"corpus": {"name": "sample", ...}, ...}, defaults filled in
    given: frozenset[str]  # the keys the user set ("train.lam"), in the file or on the command line

    def option(self, key: str) -> Any:
        """Return the value of ``section.key``."""
        section, _, name = key.partition(".")
        return self.values[section][name]

    @property
    def name(self) -> str:
        """The corpus's name, which names its work folder."""
        return str(self.values["corpus"]["name"])


def load(path: Path, overrides: Sequence[str], schema: Mapping[str, Callable[..., Any]]) -> Config:
    """Read a configuration file and apply ``key=value`` overrides.

    Parameters
    ----------
    path : Path
        A TOML file.
    overrides : sequence of str
        ``section.key=value`` texts; relative paths in them are relative to the current folder, those in
        the file to the file's folder.
    schema : mapping of str to function
        The function whose keyword-only arguments are a section's keys.

    Raises
    ------
    InputError
        If the file is missing or no TOML, a section or key is unknown, or a value has the wrong type or
        is out of its range.
    """
    text = _read(path)
    try:
        written = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers too long for Python, lists in lists without end
        raise _toml_error(path, " ".join(str(error).split())) from None
    sections = {section: options_of(function) for section, function in schema.items()}
    values: dict[str, dict[str, Any]] = {section: {} for section in sections}
    for section, entries in written.items():
        where = _line(path, text, section, None)
        if isinstance(entries, list) and section in sections:
            raise InputError(f"{where}: a section is there once; write [{section}], with single brackets")
        if not isinstance(entries, dict):
            raise InputError(
                f"{where}: {section} = ... stands outside a section; write it under one of "
                f"{', '.join(f'[{name}]' for name in sections)}"
            )
        _section(section, sections, where)
        for key, value in entries.items():
            where = _line(path, text, section, key)
            option = _key(section, key, sections, where)
            values[section][key] = _placed(f"{section}.{key}", from_toml(option, value, where), path.parent)
    for override in overrides:
        section, key, value = _override(override, sections)
        values[section][key] = _placed(f"{section}.{key}", value, Path.cwd())
    return _complete(path, values, sections)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such configuration file; give --config FILE.toml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); give --config FILE.toml") from None


def _complete(
    path: Path, values: dict[str, dict[str, Any]], sections: dict[str, dict[str, Option]]
) -> Config:
    given = frozenset(f"{section}.{key}" for section, entries in values.items() for key in entries)
    for section, options in sections.items():
        for key, option in options.items():
            if key in values[section]:
                continue
            if option.default is REQUIRED:
                raise InputError(f"{path}: {section}.{key} is missing; set it under [{section}]")
            values[section][key] = option.default
        for key, value in values[section].items():
            options[key].check(value, f"{section}.{key}")
    try:
        sources.corpus_options(**values["corpus"])
        sources.vectors_options(**values["vectors"])
        sources.gold_options(**values["gold"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return Config(path, values, given)


def _override(text: str, sections: dict[str, dict[str, Option]]) -> tuple[str, str, Any]:
    name, equals, value = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not equals or not dot:
        raise InputError(f"--set {text}: not section.key=value; write for example --set train.lam=0.01")
    where = f"--set {name.strip()}"
    option = _key(section, key, sections, where)
    return section, key, from_text(option, value.strip(), where)


def _section(section: str, sections: dict[str, dict[str, Option]], where: str) -> dict[str, Option]:
    if section not in sections:
        raise InputError(f"{where}: no section [{section}]{_nearest(section, sections)}")
    return sections[section]


def _key(section: str, key: str, sections: dict[str, dict[str, Option]], where: str) -> Option:
    options = _section(section, sections, where)
    if key not in options:
        others = " and ".join(f"[{name}]" for name, found in sections.items() if key in found)
        elsewhere = f" ({others} has it)" if others else ""
        raise InputError(f"{where}: [{section}] has no key {key!r}{elsewhere}{_nearest(key, options)}")
    return options[key]


def _nearest(word: str, valid: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(word, list(valid), 1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"{hint} valid: {', '.join(valid) or 'none'}"


def _placed(key: str, value: Any, folder: Path) -> Any:
    """Make a path relative to ``folder`` absolute; leave URLs and everything else as they are."""
    if key not in sources.PATH_KEYS:
        return value
    if isinstance(value, list):
        return [_placed(key, piece, folder) for piece in value]
    return sources.place(key, value, folder)


def _line(path: Path, text: str, section: str, key: str | None) -> str:
    """Return ``path:line`` of a section or key, just ``path`` where the text does not show it plainly."""
    inside = ""
    for number, line in enumerate(text.split("\n"), 1):
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line)
        if header:
            inside = header.group(1)
            if key is None and inside == section:
                return f"{path}:{number}"
        elif (
            key is not None and inside == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line)
        ):
            return f"{path}:{number}"
        elif key is None and not inside and re.match(rf"\s*{re.escape(section)}\s*[.=]", line):
            return f"{path}:{number}"
    return str(path)


def _toml_error(path: Path, text: str) -> InputError:
    told = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", text)
    if told is None:
        return InputError(f"{path}: {text}; mend the TOML")
    if told.group(1) == r"Illegal character '\n'":
        return InputError(
            f"{path}:{told.group(2)}: a text does not end on its line; close its quotation mark"
        )
    return InputError(f"{path}:{told.group(2)}: {told.group(1)}; mend the TOML")
