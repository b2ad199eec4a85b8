"""List the models that come with the library, tell about one, or make one small enough to be handed on.

NAME is the folder of a model, or the name of a shipped one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from align.cli.arguments import finite, natural
from align.cli.terminal import say
from align.core.errors import InputError
from align.learning.calibration import Calibration
from align.model.folder import Model
from align.model.packing import Limits, pack
from align.model.reading import read_description, read_weights_description
from align.model.shipped import (
    MODEL,
    WEIGHTS,
    find_model,
    find_weights,
    shipped_models,
    shipped_weights,
)
from align.model.weights import Weights, remarks

EXAMPLES = (
    "models list",
    "models info data/work/sample/latest/train",
    "models pack data/work/sample/latest/train sample-packed",
    "models pack data/work/sample/latest/train sample-packed",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be asked."""
    questions = parser.add_subparsers(dest="question", required=True, metavar="{list,info,pack}")
    questions.add_parser(
        "list", help="name, languages, size and path of each shipped model, and of weights alone"
    )
    info = questions.add_parser("info", help="what a model was trained on and holds")
    info.add_argument("name", metavar="NAME")
    info.add_argument("--json", action="store_true", help="print it as JSON")
    pack = questions.add_parser(
        "pack", help="write a model with what matters for links alone, in a fifth of its size or less"
    )
    pack.add_argument("name", metavar="NAME")
    pack.add_argument("folder", type=Path, metavar="FOLDER", help="new, or empty")
    limits = Limits()
    pack.add_argument(
        "--links",
        type=finite,
        default=limits.links,
        metavar="X",
        help=f"keep pairs of words that are expected to be linked so often in the text ({limits.links:g})",
    )
    pack.add_argument(
        "--words",
        type=natural,
        default=limits.words,
        metavar="N",
        help=f"keep the most frequent words of each side ({limits.words})",
    )
    pack.add_argument(
        "--vectors",
        type=natural,
        default=limits.vectors,
        metavar="N",
        help=f"keep the vectors of the most frequent words of each side ({limits.vectors})",
    )


def run(args: argparse.Namespace) -> int:
    """Answer."""
    if args.question == "list":
        return _list()
    if args.question == "pack":
        return _pack(args)
    path = find_weights(args.name)
    is_model = (path / MODEL).is_file()
    # Loading checks every file: what is told of a model is told of one that works.
    found = Model.load(path) if is_model else Weights.load(path)
    for remark in remarks(found):
        say(f"{path}: {remark}")
    described = read_description(path) if is_model else read_weights_description(path / WEIGHTS)
    if args.json:
        print(json.dumps({"path": str(path), **described}, ensure_ascii=False, indent=1))
        return 0
    rows = [
        *(_of_model(path, described) if is_model else _of_weights(path)),
        ("features", f"{len(found.names)} of the groups {', '.join(found.groups)}"),
        ("calibration", _formula(found.calibration)),
        *((f"option {key}", _plain(value)) for key, value in found.options.items()),
        *((f"provenance {key}", _plain(value)) for key, value in found.provenance.items()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    return 0


def _list() -> int:
    found = shipped_models()
    if not found:
        say("no models come with this installation; a model is what the stage train leaves in latest/train")
    for path in found:
        described = read_description(path)
        languages = "-".join(described["text"][side]["language"] for side in ("source", "target"))
        print(f"{path.name}\t{languages}\t{_megabytes(path)}\t{path}")
    for path in shipped_weights():
        print(f"{path.name}\tweights alone\t{_megabytes(path)}\t{path}")
    return 0


def _pack(args: argparse.Namespace) -> int:
    if args.folder.exists() and not (args.folder.is_dir() and not any(args.folder.iterdir())):
        raise InputError(f"{args.folder}: is there already; give a new folder")
    path = find_model(args.name)
    small = pack(Model.load(path), Limits(links=args.links, words=args.words, vectors=args.vectors))
    small.save(args.folder, packed=True)
    say(f"{args.folder}: {_megabytes(args.folder)}, of {_megabytes(path)}")
    return 0


def _of_weights(path: Path) -> list[tuple[str, Any]]:
    return [
        ("weights", path),
        ("use", "the stage train takes them where there is no gold to learn from (train.labels = none)"),
    ]


def _of_model(path: Path, described: Mapping[str, Any]) -> list[tuple[str, Any]]:
    sizes, text = described["sizes"], described["text"]
    rows: list[tuple[str, Any]] = [("model", path), ("size", _megabytes(path))]
    for side in ("source", "target"):
        settings = ", ".join(f"{key} {value}" for key, value in text[side].items())
        rows.append((side, f"{settings}, {sizes[f'{side}_words']} words"))
    return [
        *rows,
        ("word pairs", "none" if sizes["cells"] is None else sizes["cells"]),
        ("vectors", f"{sizes['dimensions']} dimensions" if sizes["dimensions"] else "none"),
    ]


def _formula(calibration: Calibration) -> str:
    a, b, c, d, e = calibration
    rare = f" {c:+.3f} where a word is rare" if c else ""
    often = f" {d:+.3f} ln(1 + times the rarer word was seen)" if d else ""
    steeper = f" {e:+.3f} max(score - 1, 0)" if e else ""
    return f"confidence = logistic({a:.3f} score {b:+.3f}{rare}{often}{steeper})"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _megabytes(path: Path) -> str:
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return f"{size / 1e6:.1f} MB"
