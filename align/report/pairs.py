"""Sentence pairs as the page's scripts read them: words, links, gold, figures, reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from align.evaluation.metrics import FIGURES, figures, statistics
from align.links import Link
from align.report.meanings import in_words

KINDS = ("gold", "corpus", "own")

# Decimals of what is shown; more would only make the page larger.
_DIGITS = 4

Cell = tuple[int, int]


class Reason(NamedTuple):
    """Why one link was made."""

    score: float  # the sum of the contributions
    confidence: float | None  # in [0, 1]
    contributions: Mapping[str, float]  # by the name of the feature or term


@dataclass(frozen=True)
class ShownPair:
    """One sentence pair to be shown."""

    kind: str  # "gold" (annotated by hand), "corpus", or "own": given by whoever looks at the page
    number: int  # 1-based line it has in the gold or the corpus
    source: Sequence[str]  # surface tokens; either side may be empty
    target: Sequence[str]
    links: Sequence[Link]  # what the model links; a link's score is its confidence in [0, 1]
    gold: Sequence[Link] | None = None  # what annotators link; None where nobody did
    part: str = ""  # "train" or "test" for gold pairs where some were trained on
    score: float | None = None  # how good the model holds the whole pair to be
    reasons: Mapping[Cell, Reason] = field(default_factory=dict)  # for links, by (source, target) token
    # What :func:`align.report.why.why` says of links and of cells without one, by (source, target) token.
    whys: Mapping[Cell, Mapping[str, Any]] = field(default_factory=dict)


def reasons_of(explanation: Mapping[str, Any]) -> dict[Cell, Reason]:
    """Return the reasons of each link from what ``Aligner.explain`` tells of a pair."""
    return {
        (link["source"], link["target"]): Reason(
            link["score"], link.get("confidence"), link.get("contributions", {})
        )
        for link in explanation["links"]
    }


def as_json(pairs: Sequence[ShownPair], *, contributions: int = 8) -> dict[str, Any]:
    """Return the pairs as JSON values.

    Parameters
    ----------
    pairs : sequence of ShownPair
    contributions : int
        So many reasons of a link are kept, the largest first, >= 0; the sum of the others is kept as one.

    Returns
    -------
    dict
        ``names``: the names of all contributions that occur, ``words``: each in plain words; ``pairs``: one
        object a pair. A link is
        ``[source, target, confidence, score, [[name index, value], ...], others]``, a gold link
        ``[source, target, 1 sure or 0 possible]``; ``whys``, where there are any:
        ``[source, target, what is said]``.
    """
    names: dict[str, int] = {}
    rows = []
    for pair, of_pair in zip(pairs, _figures(pairs), strict=True):
        row: dict[str, Any] = {
            "kind": pair.kind,
            "number": pair.number,
            "source": list(pair.source),
            "target": list(pair.target),
            "links": [_link(link, pair.reasons, names, contributions) for link in pair.links],
            "confidence": _mean(_confidence(link, pair.reasons) for link in pair.links),
        }
        if pair.part:
            row["part"] = pair.part
        if pair.score is not None:
            row["score"] = _number(pair.score)
        if pair.gold is not None:
            row["gold"] = [[link.source, link.target, int(link.sure)] for link in pair.gold]
            row["figures"] = of_pair
        if pair.whys:
            row["whys"] = [[*cell, _why(pair.whys[cell])] for cell in sorted(pair.whys)]
        rows.append(row)
    return {"names": list(names), "words": list(map(in_words, names)), "pairs": rows}


def _figures(pairs: Sequence[ShownPair]) -> list[dict[str, float | None]]:
    """Return AER, precision, recall and F1 of each pair, None where undefined."""
    counts = statistics([pair.links for pair in pairs], [pair.gold or [] for pair in pairs])
    return [dict(zip(FIGURES, map(_number, row), strict=True)) for row in figures(counts).tolist()]


def _link(link: Link, reasons: Mapping[Cell, Reason], names: dict[str, int], contributions: int) -> list[Any]:
    """Return one link; names of contributions not met before get the next index in ``names``."""
    row: list[Any] = [link.source, link.target, _number(_confidence(link, reasons))]
    reason = reasons.get((link.source, link.target))
    if reason is None:
        return row
    ranked = sorted(
        ((name, value) for name, value in reason.contributions.items() if _number(value)),
        key=lambda item: (-abs(item[1]), item[0]),
    )
    kept, others = ranked[:contributions], ranked[contributions:]
    row += [
        _number(reason.score),
        [[names.setdefault(name, len(names)), _number(value)] for name, value in kept],
        _number(math.fsum(value for _, value in others)),
    ]
    return row


def _why(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of the reasons of a cell."""
    row: dict[str, Any] = {}
    if "reasons" in said:
        row["reasons"] = [
            {"aspect": each["aspect"], "score": _number(each["score"]), "words": each["words"]}
            for each in said["reasons"]
        ]
    else:
        row["sentences"] = list(said["sentences"])
    if said.get("rival"):
        row["rival"] = {name: said["rival"][name] for name in ("source", "target", "sentences")}
    if "needed" in said:
        row["needed"] = said["needed"]
    return row


def _confidence(link: Link, reasons: Mapping[Cell, Reason]) -> float | None:
    """Return the confidence the link came with, else that of its reason."""
    if link.score is not None:
        return link.score
    reason = reasons.get((link.source, link.target))
    return None if reason is None else reason.confidence


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return _number(math.fsum(known) / len(known)) if known else None


def _number(value: float | None) -> float | None:
    """Return a value as it is shown: rounded, None for what JSON cannot hold, no negative zero."""
    if value is None or not math.isfinite(value):
        return None
    return round(float(value), _DIGITS) + 0.0
