"""Say why a model links what it links in one sentence pair.

Each link has a score, its confidence (the probability that it is right) and the contributions of the
features, weight times value, which sum to the score. Without --json the largest are shown, in plain words
and with their names (docs/features.md tells about all of them).
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from align.cli.arguments import add_model
from align.cli.loading import chosen_model, first_use_told, load_aligner
from align.cli.terminal import say
from align.core.errors import InputError
from align.report.meanings import in_words

EXAMPLES = (
    'explain --languages en-fr --source "It is late." --target "Il est tard."',
    'explain -m data/work/sample/latest/train --source "It is late." --target "Il est tard."',
    'explain -m data/work/sample/latest/train --source "It is late." --target "Il est tard." --json',
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(parser)
    parser.add_argument("--source", required=True, metavar="TEXT", help="the source sentence")
    parser.add_argument("--target", required=True, metavar="TEXT", help="the target sentence")
    parser.add_argument("--tokenized", action="store_true", help="split on single spaces only")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="contributions shown of a link (5)")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    if args.top < 0:
        raise InputError(f"--top {args.top}: less than 0; give a number from 0 on")
    if os.path.isfile(args.source) and os.path.isfile(args.target):
        say(
            f"{args.source}: there is such a file, but --source and --target are sentences; links reads files"
        )
    model = chosen_model(args.model, args.languages)
    aligner = load_aligner(model, tokenized=args.tokenized, languages=args.languages)
    with first_use_told(model):
        explained = aligner.explain(args.source, args.target)
    if args.json:
        print(json.dumps(explained, ensure_ascii=False, indent=1))
    else:
        for line in _lines(explained, args.top):
            print(line)
    return 0


def _lines(explained: dict[str, Any], top: int) -> list[str]:
    """Return a line a link and, below it, its largest contributions; then the words without a link."""
    source, target = explained["source"], explained["target"]
    lines = []
    for link in explained["links"]:
        j, k = link["source"], link["target"]
        lines.append(
            f"{j}-{k}  {source[j]} ~ {target[k]}  score {link['score']:.3f}"
            f"  confidence {link['confidence']:.3f}"
        )
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
