"""Learn the weights of a model further from pairs that were linked by hand, and say what that is worth.

Shown is the duality gap as it falls, and the alignment error rate (AER) in the pairs themselves: of the model
as it was, and of weights learnt from the other pairs (five folds), which have not seen them. Where the
interval of the difference, by resampling of pairs, leaves out 0, it got better, or worse. The tables and
vectors of the model stay as they are, and the model given is not changed: -o keeps the new one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from align.cli import sides
from align.cli.arguments import add_link_columns, add_model, check_new_folder, finite, natural
from align.cli.loading import chosen_model, first_use_told, load_aligner
from align.cli.terminal import only_one_stdin, say
from align.core.errors import InputError
from align.links import FORMATS
from align.model.adapting import SEEN
from align.model.folder import save_adapted
from align.model.shipped import find_model
from align.solvers import Progress, Row
from align.solvers.fit import history_lines

EXAMPLES = (
    "learn --languages en-fr --gold corrected.jsonl",
    "learn -m en-fr --gold gold.align --source gold.en --target gold.fr -o my-model",
)

_VERDICTS = {
    "better": "better",
    "worse": "worse; keep the old model",
    "chance": "no better; keep the old model, or link more pairs",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(parser)
    parser.add_argument("--gold", required=True, metavar="FILE", help="the links, - for stdin")
    parser.add_argument(
        "--gold-format",
        choices=list(FORMATS),
        help="default: jsonl for FILE.jsonl, whose lines hold the tokens too; else pharaoh",
    )
    parser.add_argument("--gold-base", type=int, choices=(0, 1), help="what its indices count from")
    add_link_columns(parser, "--gold-columns", of="its rows")
    parser.add_argument("--source", metavar="FILE", help="source tokens of the links, a line a pair")
    parser.add_argument("--target", metavar="FILE", help="target tokens")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="of the new model: new, or empty")
    parser.add_argument(
        "--lam", type=finite, metavar="X", help="strength of regularisation (7 / pairs, 0.01 to 0.1)"
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of order and folds (0)")
    parser.add_argument("--json", action="store_true", help="print what came of it as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Learn, print, and write the model."""
    if args.lam is not None and args.lam <= 0:
        raise InputError(f"--lam {args.lam:g}: not above 0; give for example 0.05")
    if args.output is not None:
        check_new_folder(args.output)
    only_one_stdin([args.gold, args.source, args.target])
    gold = _gold(args)
    model = chosen_model(args.model, args.languages)
    aligner = load_aligner(model, languages=args.languages)
    pairs = [(pair.source or [], pair.target or [], pair.links) for pair in gold.pairs]
    history: list[Row] = []

    def on_pass(progress: Progress) -> None:
        history.append(progress.row)
        if not args.json:
            _tell(progress)

    with first_use_told(model):
        learnt = aligner.learn(pairs, lam=args.lam, seed=args.seed, on_pass=on_pass)
    told = learnt.model.provenance
    if told["adapted_status"] != "converged":
        say(
            f"warning: not converged ({told['adapted_status']}): the weights of the best primal "
            "met are taken, a larger --lam converges sooner"
        )
    found = {name: told[name] for name in told if name.startswith(("adapted_", "held_out_"))}
    del found[SEEN]
    print(json.dumps(found) if args.json else _summary(found))
    if args.output is None:
        say("the model was not kept; -o FOLDER keeps it")
        return 0
    save_adapted(learnt.model, args.output, origin=find_model(model), history=history_lines(history))
    say(f"{args.output}: the new model; the old one stays as it was")
    return 0


def _gold(args: argparse.Namespace) -> sides.Side:
    """Read the links with their tokens."""
    named_so = args.gold_format is None and args.gold.endswith((".jsonl", ".jsonl.gz"))
    gold = sides.read_side(
        args.gold,
        format=args.gold_format or ("jsonl" if named_so else "pharaoh"),
        base=args.gold_base,
        columns=args.gold_columns,
        tokens=sides.read_tokens(args.source, args.target),
        allow_missing=False,
    )
    if any(pair.source is None or pair.target is None for pair in gold.pairs):
        raise InputError(
            f"{gold.name}: links without their tokens; give --source and --target, or a .jsonl that has them"
        )
    nothing = sides.Side("", [], 0, every_pair=False)
    return sides.settle(gold, sides.gold_base(gold, nothing), hint="swap --source and --target")


def _tell(progress: Progress) -> None:
    row = progress.row
    say(f"pass {row.passes}: duality gap {row.gap:.2e}, {row.gap / max(row.primal, 1e-12):.2%} of the primal")


def _summary(found: dict[str, Any]) -> str:
    told = f"{found['adapted_to_pairs']} pairs, duality gap {found['adapted_gap']:.2e}"
    known = found["held_out_known"]
    if found["held_out_aer_before"] is None and known:
        return f"{told}; the model has learnt from them before: link others to see what it is worth"
    if found["held_out_aer_before"] is None:
        return f"{told}; one pair has nothing to be left out: link more to see what it is worth"
    before, after = found["held_out_aer_before"], found["held_out_aer_after"]
    value, low, high = found["held_out_aer_difference"]
    verdict = _VERDICTS[found["held_out_verdict"]]
    if found["held_out_verdict"] == "chance" and value < 0:
        verdict = "it may be chance; link more pairs to know"
    return (
        f"{told}, held-out AER {before:.4f} before, {after:.4f} after, difference {value:+.4f} "
        f"(95 % {low:+.4f} to {high:+.4f}) in {found['held_out_pairs']} pairs"
        f"{f' (the model has learnt from the other {known} before)' if known else ''}: {verdict}"
    )
