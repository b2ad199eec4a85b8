"""Say why a model links what it links in one sentence pair.

Each link has a score, its confidence (the probability that it is right), what speaks for it and against it,
and what the best choice without it would be; then come the largest contributions of single features, weight
times value, which sum to the score (docs/features.md tells about all of them). --link asks for one cell,
with or without a link: for one without, what it would have needed is told.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import Any

from align.cli.arguments import add_model
from align.cli.loading import chosen_model, first_use_told, load_aligner
from align.cli.terminal import say
from align.core.errors import InputError
from align.report.meanings import in_words
from align.report.why import whys

EXAMPLES = (
    'explain --languages en-fr --source "It is late." --target "Il est tard."',
    'explain -m data/work/sample/latest/train --source "It is late." --target "Il est tard."',
    'explain -m data/work/sample/latest/train --source "It is late." --target "Il est tard." --link 0-2',
    'explain -m data/work/sample/latest/train --source "It is late." --target "Il est tard." --json',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(parser)
    parser.add_argument("--source", required=True, metavar="TEXT", help="the source sentence")
    parser.add_argument("--target", required=True, metavar="TEXT", help="the target sentence")
    parser.add_argument("--tokenized", action="store_true", help="split on single spaces only")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="contributions shown of a link (5)")
    parser.add_argument(
        "--link", metavar="S-T", help="of this cell only: source token - target token, from 0"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    if args.top < 0:
        raise InputError(f"--top {args.top}: less than 0; give a number from 0 on")
    if os.path.isfile(args.source) and os.path.isfile(args.target):
        say(
            f"{args.source}: there is such a file, but --source and --target are sentences; links reads files"
        )
    asked = None if args.link is None else _cell(args.link)
    model = chosen_model(args.model, args.languages)
    aligner = load_aligner(model, tokenized=args.tokenized, languages=args.languages)
    pair = args.source, args.target
    with first_use_told(model):
        explained = aligner.explain(*pair)
        links = explained["links"]
        cells = [(link["source"], link["target"]) for link in links] if asked is None else [asked]
        found = whys(aligner, *pair, cells)
    if asked is None:
        for link, reasons in zip(links, found, strict=True):
            link |= {key: reasons[key] for key in ("reasons", "sentences", "rival") if key in reasons}
    else:
        explained["cell"] = {"source": asked[0], "target": asked[1], **found[0]}
    if args.json:
        print(json.dumps(explained, ensure_ascii=False, indent=1))
        return 0
    for line in _lines(explained, args.top) if asked is None else _sentences(found[0]):
        print(line)
    return 0


def _cell(text: str) -> tuple[int, int]:
    """Return the cell that is asked for."""
    found = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if found is None:
        raise InputError(f"--link {text!r}: no source and target token; give for example 3-4")
    return int(found[1]), int(found[2])


def _sentences(reasons: dict[str, Any]) -> list[str]:
    """Return what is to be read of a cell, a line a sentence."""
    rival = reasons.get("rival", {"sentences": []})["sentences"]
    return [*reasons["sentences"], *rival, *([reasons["needed"]] if "needed" in reasons else [])]


def _lines(explained: dict[str, Any], top: int) -> list[str]:
    """Return a line a link, below it why and the largest contributions; then the words without a link."""
    source, target = explained["source"], explained["target"]
    lines = []
    for link in explained["links"]:
        j, k = link["source"], link["target"]
        lines.append(
            f"{j}-{k}  {source[j]} ~ {target[k]}  score {link['score']:.3f}"
            f"  confidence {link['confidence']:.3f}"
        )
        lines += [f"      {sentence}" for sentence in _sentences(link)[1:]]
        shares = sorted(link["contributions"].items(), key=lambda item: (-abs(item[1]), item[0]))
        lines += [f"      {share:+.3f}  {in_words(name)} ({name})" for name, share in shares[:top]]
        rest = sum(share for _, share in shares[top:])
        if len(shares) > top:
            lines.append(f"      {rest:+.3f}  {len(shares) - top} more")
    for side, tokens in (("source", source), ("target", target)):
        linked = {link[side] for link in explained["links"]}
        alone = [f"{index} {token}" for index, token in enumerate(tokens) if index not in linked]
        if alone:
            lines.append(f"{side} words without a link: {', '.join(alone)}")
    return lines
