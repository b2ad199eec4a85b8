"""The English-French Hansards: the options that name text and gold, and the configuration of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from benchmarks.figures import read_lines
from benchmarks.gold import Source

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
    gold = Source(args.gold, *LANGUAGES)
    if len(read_lines(gold.links)) <= TRAIN:
        raise InputError(f"{gold.links}: {TRAIN} pairs train and none is left to test; give more gold")
    corpus = {"name": name, "source": source, "target": target, "limit": size}
    return {
        "corpus": {**corpus, "files": Source(prefix, *LANGUAGES).files()},
        "gold": gold.section(0),
        "preprocess": {"profile": "expand"},
    }


def sizes_of(text: str) -> list[int]:
    """Return the sizes of a comma list.

    Raises
    ------
    InputError
        If one is no whole number above 0.
    """
    pieces = [piece.strip() for piece in text.split(",")]
    if not all(piece.isascii() and piece.isdigit() and int(piece) for piece in pieces):
        raise InputError(
            f"--sizes {text}: not whole numbers above 0 between commas; give for example 2000,20000"
        )
    return [int(piece) for piece in pieces]


def merged(
    settings: dict[str, dict[str, Any]], options: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return settings with options of the same or other sections added."""
    sections = dict.fromkeys([*settings, *options])
    return {section: {**settings.get(section, {}), **options.get(section, {})} for section in sections}
