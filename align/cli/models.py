"""List the models that come with the library, or tell about one.

NAME is the folder of a model, or the name of a shipped one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from align.cli.terminal import say
from align.model import Model
from align.model_reading import read_description
from align.shipped import find_model, shipped_models


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be asked."""
    questions = parser.add_subparsers(dest="question", required=True, metavar="{list,info}")
    questions.add_parser("list", help="name, languages, size and path of each shipped model")
    info = questions.add_parser("info", help="what a model was trained on and holds")
    info.add_argument("name", metavar="NAME")
    info.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> int:
    """Answer."""
    return _list() if args.question == "list" else _info(find_model(args.name), as_json=args.json)


def _list() -> int:
    found = shipped_models()
    if not found:
        say("no models come with this installation; a model is what the stage train leaves in latest/train")
    for path in found:
        described = read_description(path)
        languages = "-".join(described["text"][side]["language"] for side in ("source", "target"))
        print(f"{path.name}\t{languages}\t{_megabytes(path)}\t{path}")
    return 0


def _info(path: Path, *, as_json: bool) -> int:
    # Loading checks every file: what is told of a model is told of one that works.
    model = Model.load(path)
    described = read_description(path)
    if as_json:
        print(json.dumps({"path": str(path), **described}, ensure_ascii=False, indent=1))
        return 0
    sizes, text = described["sizes"], described["text"]
    rows: list[tuple[str, Any]] = [("model", path), ("size", _megabytes(path))]
    for side in ("source", "target"):
        settings = ", ".join(f"{key} {value}" for key, value in text[side].items())
        rows.append((side, f"{settings}, {sizes[f'{side}_words']} words"))
    rows += [
        ("word pairs", "none" if sizes["cells"] is None else sizes["cells"]),
        ("vectors", f"{sizes['dimensions']} dimensions" if sizes["dimensions"] else "none"),
        ("features", f"{len(model.names)} of the groups {', '.join(model.groups)}"),
        (
            "calibration",
            f"confidence = logistic({model.calibration[0]:.3f} score {model.calibration[1]:+.3f})",
        ),
        *((f"option {key}", _plain(value)) for key, value in model.options.items()),
        *(("provenance " + key, _plain(value)) for key, value in model.provenance.items()),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    return 0


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _megabytes(path: Path) -> str:
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return f"{size / 1e6:.1f} MB"
