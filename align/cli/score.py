"""Compare links with gold links: AER, precision, recall and F1 with bootstrap intervals.

Figures are of the corpus (sums over all pairs); --macro adds the means over pairs. Without --gold-base
and --hyp-base the files tell whether they count from 0 or from 1, or the command refuses to guess.

--agreement compares two annotators: Cohen's kappa over all pairs of words, link or none, and once more with
sure and possible links apart; F1 of all links and of the sure ones, the same in both directions; AER
with either one as the gold.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from align.cli import sides
from align.cli.arguments import add_link_columns, natural
from align.cli.terminal import only_one_stdin, say
from align.evaluation import agreement, metrics
from align.links import FORMATS, Link, in_other_base, swapped

# A hypothesis that would match so many times as many gold links in another reading is said to.
_MUCH_BETTER = 2

# Other readings are tried on so many pairs at the start.
_TRIED = 5000


EXAMPLES = (
    "score --gold gold.align --hyp links.txt",
    "score --gold test.wa --gold-format wpt --hyp links.txt --json",
    "score --gold gold.align --hyp reversed.txt --reverse --macro",
    "score --gold anna.align --hyp ben.align --source gold.en --target gold.fr --agreement",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--gold", required=True, metavar="FILE", help="gold links, - for stdin")
    parser.add_argument("--hyp", required=True, metavar="FILE", help="links to be scored, - for stdin")
    for name in ("gold", "hyp"):
        parser.add_argument(
            f"--{name}-format", choices=list(FORMATS), default="pharaoh", help="default: pharaoh"
        )
        parser.add_argument(f"--{name}-base", type=int, choices=(0, 1), help="what its indices count from")
        add_link_columns(parser, f"--{name}-columns", of="its rows")
    parser.add_argument("--reverse", action="store_true", help="swap the sides of the hypothesis")
    parser.add_argument(
        "--allow-missing", action="store_true", help="count the pairs that the shorter file lacks as empty"
    )
    parser.add_argument("--source", metavar="FILE", help="source tokens, to check the indices against")
    parser.add_argument("--target", metavar="FILE", help="target tokens")
    parser.add_argument("--macro", action="store_true", help="add the means over sentence pairs")
    parser.add_argument(
        "--agreement", action="store_true", help="add the agreement of two annotators; needs the words"
    )
    parser.add_argument(
        "--empty-precision",
        choices=("n/a", "1"),
        default="n/a",
        help="the precision of no links at all (default: n/a, undefined)",
    )
    parser.add_argument(
        "--samples", type=_positive, default=1000, metavar="N", help="of the bootstrap (1000)"
    )
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="of the bootstrap (1)")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(args: argparse.Namespace) -> int:
    """Score and print."""
    only_one_stdin([args.gold, args.hyp, args.source, args.target])
    tokens = sides.read_tokens(args.source, args.target)
    common: dict[str, Any] = {"tokens": tokens, "allow_missing": args.allow_missing}
    gold, hypothesis = (
        sides.read_side(path, format=format, base=base, columns=columns, reverse=reverse, **common)
        for path, format, base, columns, reverse in (
            (args.gold, args.gold_format, args.gold_base, args.gold_columns, False),
            (args.hyp, args.hyp_format, args.hyp_base, args.hyp_columns, args.reverse),
        )
    )
    bases = {"gold": sides.gold_base(gold, hypothesis)}
    hint = "its links seem to be target first: swap --source and --target, and add --reverse"
    gold = sides.settle(gold, bases["gold"], hint=hint)
    hypothesis = sides.with_text_of(hypothesis, gold)
    bases["hyp"] = sides.hypothesis_base(hypothesis, [pair.links for pair in gold.pairs])
    hint = "leave out --reverse" if args.reverse else "swap its sides with --reverse"
    hypothesis = sides.settle(hypothesis, bases["hyp"], hint=hint)
    gold_links, links = sides.evened(gold, hypothesis, allow_missing=args.allow_missing)
    _warn_if_displaced(links, gold_links, reverse=args.reverse)
    report = _figures(args, gold_links, links, bases)
    if args.agreement:
        counts = agreement.tables(gold_links, links, sides.cells(gold, hypothesis))
        report["agreement"] = agreement.agreement(counts, samples=args.samples, seed=args.seed)
    report["other_base"] = _under_other_bases(args, gold_links, links)
    print(json.dumps(_as_json(report), ensure_ascii=False, indent=1) if args.json else _as_text(report))
    return 0


def _warn_if_displaced(links: list[list[Link]], gold: list[list[Link]], *, reverse: bool) -> None:
    """Say so where the hypothesis would agree much better with its sides swapped or its indices shifted."""
    links, gold = links[:_TRIED], gold[:_TRIED]
    as_it_is = sides.matches(links, gold)
    others = (
        ("without --reverse" if reverse else "with --reverse", [swapped(pair) for pair in links]),
        ("if its indices were 1 less; see --hyp-base and --gold-base", sides.shifted(links, -1)),
        ("if its indices were 1 more; see --hyp-base and --gold-base", sides.shifted(links, 1)),
    )
    for how, other in others:
        count = sides.matches(other, gold)
        if count > _MUCH_BETTER * as_it_is:
            say(f"only {as_it_is} links of the hypothesis match the gold, but {count} would {how}")


def _under_other_bases(
    args: argparse.Namespace, gold: list[list[Link]], links: list[list[Link]]
) -> dict[str, metrics.Score]:
    """Return the figures under the other base, by its option, of each base that the user states.

    A warning is said where the error rate is lower. A file with an index 0 has no other base.
    """
    found = {}
    for name, file, stated, mine in (
        ("gold", args.gold, args.gold_base, gold),
        ("hyp", args.hyp, args.hyp_base, links),
    ):
        other = None if stated is None else in_other_base(mine, base=stated)
        if other is None:
            continue
        both = (links, other) if name == "gold" else (other, gold)
        scored = metrics.score(metrics.statistics(*both))
        option = f"--{name}-base {1 - stated}"
        found[option] = scored
        said = metrics.score(metrics.statistics(links, gold)).aer
        if said is not None and scored.aer is not None and scored.aer < said:
            say(
                f"warning: {file} is said to count from {stated}, but AER {said:.4f} would be "
                f"{scored.aer:.4f} if it counted from {1 - stated}; look whether {option} is right"
            )
    return found


def _figures(
    args: argparse.Namespace, gold: list[list[Link]], links: list[list[Link]], bases: dict[str, int]
) -> dict[str, Any]:
    """Return all there is to print, by name."""
    counts = metrics.statistics(links, gold)
    empty = 1.0 if args.empty_precision == "1" else None
    score = metrics.score(counts, empty_precision=empty)
    signature = metrics.signature(
        score,
        gold,
        gold_format=args.gold_format,
        gold_base=bases["gold"],
        hyp_format=args.hyp_format,
        hyp_base=bases["hyp"],
        reverse=args.reverse,
        average="micro",
        empty_precision=args.empty_precision,
        samples=args.samples,
        seed=args.seed,
    )
    return {
        "score": score,
        "intervals": metrics.bootstrap(counts, samples=args.samples, seed=args.seed, empty_precision=empty),
        "macro": metrics.macro(counts, empty_precision=empty) if args.macro else None,
        "signature": signature,
    }


def _as_text(report: dict[str, Any]) -> str:
    """Return the report as lines: the figures, their intervals, the means if asked for, the signature."""
    intervals = report["intervals"]
    lines = [
        report["score"].line(),
        f"interval {metrics.figures_text(intervals)}"
        f" ({100 * intervals.level:g} % by bootstrap, {intervals.samples} samples, seed {intervals.seed})",
    ]
    for option, score in report["other_base"].items():
        lines.append(f"with {option} {metrics.figures_text(score)}")
    if report["macro"] is not None:
        lines.append(f"macro {metrics.figures_text(report['macro'])} (means over pairs where defined)")
    if "agreement" in report:
        lines += _agreement_lines(report["agreement"])
    return "\n".join([*lines, f"signature {metrics.signature_text(report['signature'])}"])


def _agreement_lines(found: agreement.Agreement) -> list[str]:
    """Return the agreement and the intervals of its kappas."""

    def shown(value: float | None) -> str:
        return "n/a" if value is None else f"{value:.4f}"

    def ends(name: str) -> str:
        interval = found.intervals[name]
        return "n/a" if interval is None else "-".join(map(shown, interval))

    return [
        f"agreement kappa {shown(found.kappa)} with-kinds {shown(found.kappa_kinds)}"
        f" F1 {shown(found.f1)} of-sure {shown(found.f1_sure)}"
        f" AER by-gold {shown(found.aer_ab)} by-hyp {shown(found.aer_ba)} cells {found.cells}",
        f"interval kappa {ends('kappa')} with-kinds {ends('kappa_kinds')}",
    ]


def _as_json(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report with the figures at its top; undefined ones are null."""
    names = ("intervals", "macro", "agreement")
    parts = {name: asdict(report[name]) for name in names if report.get(name) is not None}
    return {
        "line": report["score"].line(),
        **asdict(report["score"]),
        **parts,
        "other_base": {option: score.aer for option, score in report["other_base"].items()},
        "signature": report["signature"],
    }


def _positive(text: str) -> int:
    number = natural(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 is too few; give 1 or more")
    return number
