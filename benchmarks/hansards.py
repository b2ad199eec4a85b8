"""The English-French Hansards: the options that name text and gold, and the configuration of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from benchmarks.figures import read_lines
from benchmarks.gold import links_file, text_file

LANGUAGES = ("en", "fr")

# The first so many gold pairs may train; the figures of what they trained are of the others.
TRAIN = 100


def add_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Declare the options."""
    parser.add_argument(
        "--hansards",
        required=required,
        type=Path,
        help="prefix of the bitext's .en and .fr, or a folder with hansards.en, hansards.fr; .xz, .gz too",
    )
    parser.add_argument("--gold", required=required, type=Path, help="prefix of .en, .fr and .align")


def settings(args: argparse.Namespace, name: str, size: int) -> dict[str, dict[str, Any]]:
    """Return the configuration of the first ``size`` pairs and all gold; nothing is said of training.

    Raises
    ------
    InputError
        If a file is missing, or all gold pairs would train.
    """
    prefix = args.hansards / "hansards" if args.hansards.is_dir() else args.hansards
    source, target = LANGUAGES
    links = links_file(args.gold)
    if len(read_lines(links)) <= TRAIN:
        raise InputError(f"{links}: {TRAIN} pairs train and none is left to test; give more gold")
    return {
        "corpus": {
            "name": name,
            "source": source,
            "target": target,
            "files": [str(text_file(prefix, language)) for language in LANGUAGES],
            "limit": size,
        },
        "gold": {
            "files": [str(text_file(args.gold, language)) for language in LANGUAGES],
            "links": str(links),
            "base": 0,
        },
        "preprocess": {"profile": "expand"},
    }


def merged(
    settings: dict[str, dict[str, Any]], options: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return settings with options of the same or other sections added."""
    sections = dict.fromkeys([*settings, *options])
    return {section: {**settings.get(section, {}), **options.get(section, {})} for section in sections}
