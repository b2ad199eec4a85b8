"""List the models that are known by name, tell about one, or make one small enough to be handed on.

NAME is the folder of a model, or the name of one that is shipped or was fetched (liaison models get NAME).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from align.cli.arguments import check_new_folder, finite, natural
from align.cli.terminal import say
from align.learning.calibration import Calibration
from align.model.folder import Model
from align.model.packing import Limits, pack
from align.model.reading import read_description, read_languages, read_weights_description
from align.model.registry import ANY, entry_of
from align.model.shipped import (
    MODEL,
    WEIGHTS,
    find_model,
    find_weights,
    is_shipped,
    known_models,
    known_weights,
)
from align.model.weights import Weights, remarks

CARD = "MODEL.md"

# Of tables in Markdown: a link, of which the text is told, and what stands between head and rows.
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_RULE = re.compile(r":?-+:?")

# Of a list in provenance; longer ones are counted.
_MOST_VALUES = 12

EXAMPLES = (
    "models list",
    "models info data/work/sample/latest/train",
    "models pack data/work/sample/latest/train sample-packed",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be asked."""
    add_questions(parser)


def add_questions(parser: argparse.ArgumentParser, *more: str) -> Any:
    """Declare what can be asked, and return that, so that others can be declared after it."""
    metavar = "{" + ",".join(("list", "info", "pack", *more)) + "}"
    questions = parser.add_subparsers(dest="question", required=True, metavar=metavar)
    questions.add_parser("list", help="a line each: name, languages, size, path, shipped or fetched, licence")
    info = questions.add_parser("info", help="what a model was trained on and holds")
    info.add_argument("name", metavar="NAME")
    info.add_argument("--json", action="store_true", help="print it as JSON")
    pack = questions.add_parser(
        "pack", help="write a model with what matters for links alone, in a fifth of its size or less"
    )
    pack.add_argument("name", metavar="NAME")
    pack.add_argument("folder", type=Path, metavar="FOLDER", help="new, or empty")
    limits = Limits()
    for name, number, metavar, kept in (
        ("links", finite, "X", "pairs of words that are expected to be linked so often in the text"),
        ("words", natural, "N", "the most frequent words of each side"),
        ("vectors", natural, "N", "the vectors of the most frequent words of each side"),
    ):
        default = getattr(limits, name)
        pack.add_argument(
            f"--{name}", type=number, default=default, metavar=metavar, help=f"keep {kept} ({default:g})"
        )
    return questions


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
        told = {"path": str(path), "card": dict(_of_card(path)), **described}
        print(json.dumps(told, ensure_ascii=False, indent=1))
        return 0
    entry = entry_of(path)
    rows = [
        *(_of_model(path, described) if is_model else _of_weights(path)),
        *([] if entry is None else [("licence", entry.licence)]),
        *_of_card(path),
        ("features", f"{len(found.names)} of the groups {', '.join(found.groups)}"),
        ("calibration", _formula(found.calibration)),
        *((f"option {key}", _plain(value)) for key, value in found.options.items()),
        *(
            (f"provenance {key}", _plain(value))
            for key, value in found.provenance.items()
            if value is not None
        ),
    ]
    print_rows(rows)
    return 0


def print_rows(rows: Sequence[tuple[str, Any]]) -> None:
    """Print what is known of a model, a line each; a model may be a stranger's, a terminal obeys signs."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(_printable(f"{name:<{width}}  {value}"))


def print_listed(name: str, languages: str, size: int, place: str, state: str, licence: str) -> None:
    """Print the line of a model in the list."""
    named = "weights alone" if languages == ANY else languages
    fields = name, named, f"{size / 1e6:.1f} MB", place, state, licence
    print("\t".join(map(_printable, fields)))


def _list() -> int:
    found = known_models()
    if not found:
        say("no models come with this installation; a model is what the stage train leaves in latest/train")
    for path in [*found, *known_weights()]:
        entry = entry_of(path)
        print_listed(
            path.name,
            "-".join(read_languages(path)) if path in found else ANY,
            _size(path),
            str(path),
            "shipped" if is_shipped(path.name) else "fetched",
            "" if entry is None else entry.licence,
        )
    return 0


def _pack(args: argparse.Namespace) -> int:
    check_new_folder(args.folder)
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


def _of_card(path: Path) -> Iterator[tuple[str, str]]:
    """Yield what the tables of MODEL.md say: of two columns a row each, of more a row for each number."""
    try:
        lines = (path / CARD).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return
    head: list[str] = []
    for line in lines:
        row = [_LINK.sub(r"\1", cell).strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = row
        elif len(row) == len(head) and not _RULE.fullmatch(row[-1]):
            figures = [f"{name} {cell}".strip() for name, cell in zip(head[1:], row[1:], strict=True)]
            yield row[0], ", ".join(figures)


def _formula(calibration: Calibration) -> str:
    a, b, c, d, e = calibration
    rare = f" {c:+.3f} where a word is rare" if c else ""
    often = f" {d:+.3f} ln(1 + times the rarer word was seen)" if d else ""
    steeper = f" {e:+.3f} max(score - 1, 0)" if e else ""
    return f"confidence = logistic({a:.3f} score {b:+.3f}{rare}{often}{steeper})"


def _plain(value: Any) -> str:
    if isinstance(value, list) and len(value) > _MOST_VALUES:
        return f"{len(value)} values"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _megabytes(path: Path) -> str:
    return f"{_size(path) / 1e6:.1f} MB"


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
