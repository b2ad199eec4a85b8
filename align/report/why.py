"""Why two words are linked, or are not, in sentences: what speaks for it, the best rival, what is missing.

A matching is chosen as a whole, so a link is held against the best matching without it, and a cell that has
none against the best matching that has one there: both are found by the oracle, with the cell forbidden or
forced (:mod:`align.matching.rivals`). What the two matchings do not have in common makes the difference of
their values, and each group of features has its part of it.

Both are made of likely edges (:func:`align.features.likely_edges`), as all links are. A cell that has none is
said to have none, and is held against the best matching as if it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.features import PairBlock, compute
from align.features.block import Block
from align.features.edges import Edges
from align.features.groups import BIAS, GROUPS, LIKELY, SCALE
from align.features.lexical import associations, expected_links
from align.features.scoring import UNSCORED
from align.matching import rivals
from align.matching.decoding import score
from align.model.aligner import Aligner, Text
from align.model.folder import Model
from align.report.evidence_words import ASPECTS, Facts, by_aspect
from align.text.processor import Tokens

# Shares of a score below this are not worth a sentence.
_LEAST = 0.01

# The group of what links of words after the first cost.
WORDS = "words"

_DIGITS = 6
_ROUNDING = 1e-9

# What is said of a cell without a likely edge.
_UNLIKELY = (
    "In this pair the link has a probability of "
    f"{100 * LIKELY:g} % at most, by what was learnt of words and their order, and the two are not spelt "
    "alike: such words are not linked, whatever the score."
)

_Edge = tuple[int, int]  # an analysis token of either side


class _Pair(NamedTuple):
    """One scored pair: n source and m target analysis tokens, of which each belongs to a surface token."""

    model: Model
    edges: Edges
    block: Block
    theta: np.ndarray  # float64, (n, m): what the edges score; of those that are not likely what they would
    likely: np.ndarray  # bool, (n, m): the edges that may be linked
    costs: tuple[np.ndarray, np.ndarray] | None
    parents: tuple[np.ndarray, np.ndarray]  # surface tokens of the analysis tokens, (n,) and (m,)
    surface: tuple[Sequence[str], Sequence[str]]
    words: tuple[Sequence[str], Sequence[str]]  # the analysis tokens themselves

    @property
    def weights(self) -> np.ndarray:
        """Return what the best links are chosen by, float64, (n, m)."""
        return np.where(self.likely, self.theta, UNSCORED)

    @property
    def options(self) -> dict[str, Any]:
        """Return how a matching of the pair is solved."""
        return {"costs": self.costs, "max_fertility": self.model.fertility}


def why(
    aligner: Aligner, source: Text, target: Text, i: int, j: int, *, place: int | None = None
) -> dict[str, Any]:
    """Return why a source and a target token are linked, or are not.

    Parameters
    ----------
    aligner : Aligner
    source, target : str or sequence of str
        A pair, as text or as its tokens.
    i, j : int
        The source and the target token, from 0.
    place : int, optional
        Of an aligner of a text (:meth:`~align.model.aligner.Aligner.of_text`): the number there of the pair.

    Returns
    -------
    dict
        JSON values. ``linked``; ``score``, what the link is worth, or would be by itself; ``reasons``, a
        list of ``{"aspect", "score", "words", "groups"}``, largest first: the scores sum to that of the
        link, ``groups`` is the part of each feature group; ``sentences``, the same to be read. ``rival``:
        ``source`` and ``target``, the link that is made instead in the best other matching (of a cell
        without a link: the one its words have in the best matching), None where there is none;
        ``difference`` >= 0, how much the other matching is worth less; ``groups``, its parts, which sum to
        it; ``links``, what changes: ``{"best": [[source, target], ...], "other": [...]}``; ``sentences``.
        ``needed`` only without a link: what would have had to be different, and first, where the link is not
        likely, that it is not made whatever the score; if that alone keeps the words apart, there is no
        ``rival``. Of words in different parts of a split pair, or of one that the model leaves out,
        ``linked`` and ``sentences`` only.

    Raises
    ------
    InputError
        If there is no such token, or the pair is too long and cannot be split.
    """
    return whys(aligner, source, target, [(i, j)], place=place)[0]


def whys(
    aligner: Aligner,
    source: Text,
    target: Text,
    cells: Iterable[tuple[int, int]],
    *,
    place: int | None = None,
) -> list[dict[str, Any]]:
    """Return what :func:`why` does for several cells (source, target) of one pair, in their order."""
    knowing, tokens, pairs = aligner.looked_up(source, target, place=place)
    return whys_of_block(knowing.model, tokens, pairs, cells)


def whys_of_block(
    model: Model, tokens: tuple[Tokens, Tokens], pairs: PairBlock, cells: Iterable[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Return what :func:`whys` does of a pair that is looked up, as for :meth:`Aligner.explain_block`."""
    surface = tokens[0].surface, tokens[1].surface
    scored: dict[int, _Pair] = {}
    found = []
    for cell in cells:
        for side, number, words in zip(SIDES, cell, surface, strict=True):
            if not 0 <= number < len(words):
                raise InputError(f"no {side} token {number}, there are {len(words)}; give one counted from 0")
        row = _row(pairs, cell)
        if row is None:
            found.append(_apart(surface, cell, pairs))
            continue
        if row not in scored:
            scored[row] = _pair(model, pairs.block(row, row + 1), tokens)
        pair = scored[row]
        sources, targets = (np.flatnonzero(of == at) for of, at in zip(pair.parents, cell, strict=True))
        found.append(_reasons(pair, [(int(a), int(b)) for a in sources for b in targets]))
    return found


def _apart(
    surface: tuple[Sequence[str], Sequence[str]], cell: tuple[int, int], pairs: PairBlock
) -> dict[str, Any]:
    """Tell why two tokens are in no part together."""
    for number, tokens, words in zip(cell, surface, (pairs.corpus.source, pairs.corpus.target), strict=True):
        if number not in words.parents:
            left_out = "is left out when the model cuts text to words, so it has no links"
            return {"linked": False, "sentences": [f"'{tokens[number]}' {left_out}."]}
    named = f"'{surface[0][cell[0]]}' and '{surface[1][cell[1]]}'"
    reason = "a pair as long as this one is split before its words are linked"
    return {"linked": False, "sentences": [f"{named} are in different parts: {reason}."]}


def _row(pairs: PairBlock, cell: tuple[int, int]) -> int | None:
    """Return the part of a pair that both tokens belong to."""
    for row in range(len(pairs.corpus)):
        here = pairs.corpus.block(row, row + 1)
        if cell[0] in here.source.parents and cell[1] in here.target.parents:
            return row
    return None


def _pair(model: Model, pairs: PairBlock, tokens: tuple[Tokens, Tokens]) -> _Pair:
    edges = compute(pairs, model.resources, groups=model.groups, word_groups=model.word_groups)
    scored = score(replace(edges, likely=None), model.weights)
    assert edges.likely is not None  # features that were just computed say so
    corpus = pairs.corpus
    parents = np.asarray(corpus.source.parents), np.asarray(corpus.target.parents)
    # A part of a split pair is a run of tokens, which begins with its first surface token.
    words = tuple(
        side.analysis[(start := side.parents.index(int(of[0]))) : start + len(of)]
        for side, of in zip(tokens, parents, strict=True)
    )
    return _Pair(
        model,
        edges,
        Block.of(pairs, model.resources),
        scored.scores.reshape(shape := (len(parents[0]), len(parents[1]))),
        edges.likely.reshape(shape),
        scored.costs if model.fertility > 1 else None,
        parents,
        (tokens[0].surface, tokens[1].surface),
        (words[0], words[1]),
    )


def _reasons(pair: _Pair, cell: list[_Edge]) -> dict[str, Any]:
    """Tell all of a cell, given its edges between analysis tokens."""
    weights = pair.weights
    best = rivals.best(weights, **pair.options)
    made = [edge for edge in cell if best.links[edge]]
    likely = any(pair.likely[each] for each in cell)
    if not likely:  # it is held against the best matching as if it were
        for each in cell:
            weights[each] = pair.theta[each]
    edge = max(made or cell, key=lambda each: float(weights[each]))
    other = (rivals.best_without if made else rivals.best_with)(weights, cell, **pair.options)
    shares = _shares(pair, edge)
    charge = _charge(pair, best.links, edge) if made else 0.0
    if charge:
        shares[WORDS] = -charge
    facts, whole = _facts(pair, edge, best.links), sum(shares.values())
    change = _change(pair, edge, best, other)
    found = {
        "linked": bool(made),
        "score": _shown(whole),
        "reasons": [
            {
                "aspect": aspect,
                "score": _shown(part),
                "words": ASPECTS[aspect].said(facts),
                "groups": {
                    group: _shown(shares[group]) for group in ASPECTS[aspect].groups if group in shares
                },
            }
            for aspect, part in by_aspect(shares).items()
        ],
    }
    found["sentences"] = _sentences(pair, edge, found)
    needed = [] if likely else [_UNLIKELY]
    if likely or best.value >= other.value:
        found["rival"] = _rival(pair, change, linked=bool(made))
        needed += [] if made else [_needed(change)]
    if needed:
        found["needed"] = " ".join(needed)
    return found


def _columns(model: Model) -> dict[str, slice]:
    """Return which features each group has, the bias first."""
    found, start = {BIAS: slice(0, 1)}, 1
    for group in model.groups:
        size = len(GROUPS[group].names(model.resources))
        found[group] = slice(start, start + size)
        start += size
    return found


def _shares(pair: _Pair, edge: _Edge) -> dict[str, float]:
    """Return what each group adds to the weight of an edge; those that add nothing are left out."""
    row = pair.edges.features[edge[0] * pair.theta.shape[1] + edge[1]].astype(np.float64)
    products = pair.model.weights[: len(row)] * row
    shares = {group: float(products[columns].sum()) for group, columns in _columns(pair.model).items()}
    return {group: share for group, share in shares.items() if share}


def _charge(pair: _Pair, links: np.ndarray, edge: _Edge) -> float:
    """Return what a link costs its words: all but the strongest of each pay, of equals all but the first."""
    if pair.costs is None:
        return 0.0
    j, k = edge
    row, column = np.where(links[j], pair.theta[j], -np.inf), np.where(links[:, k], pair.theta[:, k], -np.inf)
    charge = 0.0 if int(np.argmax(row)) == k else float(pair.costs[0][j])
    return charge if int(np.argmax(column)) == j else charge + float(pair.costs[1][k])


def _facts(pair: _Pair, edge: _Edge, links: np.ndarray) -> Facts:
    (j, k), (n, m) = edge, pair.theta.shape
    at, block = j * m + k, pair.block
    counts = int(block.source.counts[j]), int(block.target.counts[k])
    together, given = None, pair.model.resources
    if given.links is not None:
        together = float(block.of_edges(expected_links)[:, at].astype(np.float64).mean())
    elif given.lexicon is not None:
        together = float(block.of_edges(associations)[0, at]) * sum(counts) / 2
    stored = block.pairs.posteriors
    values = pair.edges.features[at] / SCALE
    return Facts(
        pair.words[0][j],
        pair.words[1][k],
        edge,
        (n, m),
        dict(zip(pair.edges.names, values.tolist(), strict=True)),
        counts,
        together,
        given.links is not None,
        stored is not None and bool(stored.sampled[0]),
        bool(links[j - 1, k - 1]) if j and k else None,
        bool(links[j + 1, k + 1]) if j + 1 < n and k + 1 < m else None,
    )


class _Change(NamedTuple):
    """What the best matching has before another one, and how they differ."""

    edge: _Edge
    lost: list[_Edge]  # links of the best matching that the other one does not have
    come: list[_Edge]  # the other way
    rival: _Edge | None  # what a word of ``edge`` is linked to instead
    difference: float
    parts: dict[str, float]  # by group; they sum to the difference
    next_best: _Edge | None  # the strongest edge of the two words that neither of both has


def _change(pair: _Pair, edge: _Edge, best: rivals.Matching, other: rivals.Matching) -> _Change:
    lost, come = (
        [(int(j), int(k)) for j, k in zip(*np.nonzero(some), strict=True)]
        for some in (best.links & ~other.links, other.links & ~best.links)
    )
    parts: dict[str, float] = {}
    for edges, sign in ((lost, 1.0), (come, -1.0)):
        for each in edges:
            for group, share in _shares(pair, each).items():
                parts[group] = parts.get(group, 0.0) + sign * share
    difference = best.value - other.value
    costs = difference - sum(parts.values())
    if pair.costs is not None and abs(costs) > _ROUNDING:
        parts[WORDS] = costs
    (j, k), (n, m) = edge, pair.theta.shape
    touching = [(j, column) for column in range(m) if column != k] + [
        (row, k) for row in range(n) if row != j
    ]
    strongest = sorted(
        (each for each in touching if pair.likely[each]), key=lambda each: -float(pair.theta[each])
    )
    instead = other.links if best.links[edge] else best.links
    changed = [each for each in strongest if best.links[each] != other.links[each]]
    # A word that may have a further link is in nobody's way, but has one already.
    rival = next((each for each in [*changed, *strongest] if instead[each]), None)
    if best.links[edge] and rival not in changed:
        rival = None
    free = (each for each in strongest if not best.links[each] and not other.links[each])
    return _Change(edge, lost, come, rival, max(difference, 0.0), parts, next(free, None))


def _sentences(pair: _Pair, edge: _Edge, found: dict[str, Any]) -> list[str]:
    """Return what is to be read of a cell: the score, then what speaks for it and against it."""
    score = f"{found['score']:.2f}"
    first = (
        f"{_named(pair, edge)} are linked: the link has a score of {score}."
        if found["linked"]
        else f"{_named(pair, edge)} are not linked: by itself the link would have a score of {score}."
    )
    told = [
        each for each in found["reasons"] if abs(each["score"]) >= _LEAST or each["aspect"] == "translation"
    ]
    return [
        first,
        *(
            f"{'For' if each['score'] > 0 else 'Against'} the link ({each['score']:+.2f}): {each['words']}."
            for each in told
        ),
    ]


def _rival(pair: _Pair, change: _Change, *, linked: bool) -> dict[str, Any]:
    """Return how the best matching differs from the other one, and by what it is better, as JSON values."""
    source, target = (None, None) if change.rival is None else _surface(pair, change.rival)
    ranked = sorted(change.parts.items(), key=lambda item: (-abs(item[1]), item[0]))
    links = {
        name: [list(link) for link in sorted({_surface(pair, each) for each in edges})]
        for name, edges in (("best", change.lost), ("other", change.come))
    }
    return {
        "source": source,
        "target": target,
        "difference": _shown(change.difference),
        "groups": {group: _shown(part) for group, part in ranked},
        "links": links,
        "sentences": [
            _instead(pair, change, linked=linked),
            *_others(pair, change),
            *_compared(change),
        ],
    }


def _instead(pair: _Pair, change: _Change, *, linked: bool) -> str:
    """Say what stands against the cell."""
    less, rival = f"worth {change.difference:.2f} less", change.rival
    if linked and rival is not None:
        return f"The best choice without this link has {_named(pair, rival)} instead, and is {less}."
    if linked:
        first = f"The best choice without this link puts none in its place, and is {less}"
        if change.next_best is None:
            return f"{first}."
        score = float(pair.theta[change.next_best])
        named = _named(pair, change.next_best)
        return f"{first}; the next candidate, {named}, would have a score of {score:.2f}."
    if rival is None:
        return f"Nothing stands in its place: with this link the whole is {less}."
    if rival in change.lost:
        return f"{_named(pair, rival)} are linked instead: the best choice with this link is {less}."
    return f"{_named(pair, rival)} are linked already: with this link too, the whole is {less}."


def _others(pair: _Pair, change: _Change) -> list[str]:
    """Say which further links change."""
    known = {change.edge, change.rival}
    told = []
    for edges, verb in ((change.lost, "gone"), (change.come, "there")):
        named = [_link(pair, each) for each in edges if each not in known]
        if named:
            told.append(f"{_list(named)} {'is' if len(named) == 1 else 'are'} {verb}")
    return [f"Then also {_list(told)}."] if told else []


def _compared(change: _Change) -> list[str]:
    """Say in what the better choice is ahead, and in what it is behind, where more than one link changes."""
    if len(change.lost) + len(change.come) == 1:
        return []
    told: list[str] = []
    for words, sign in (("is ahead in", 1.0), ("is behind in", -1.0)):
        parts = [
            f"{ASPECTS[aspect].short} ({abs(part):.2f})"
            for aspect, part in by_aspect(change.parts).items()
            if sign * part >= _LEAST
        ]
        if parts:
            told.append(f"{'The choice made' if not told else 'It'} {words} {_list(parts)}.")
    return told


def _needed(change: _Change) -> str:
    """Say what would have had to be different, from what the choice made is ahead in."""
    lacking, covered = [], 0.0
    for aspect, part in by_aspect(change.parts).items():
        if part >= _LEAST and covered < change.difference:
            lacking.append(f"{ASPECTS[aspect].wanted} ({part:.2f} behind in this)")
            covered += part
    first = f"It would have needed {change.difference:.2f} more"
    return f"{first}: {_list(lacking)}." if lacking else f"{first}."


def _surface(pair: _Pair, edge: _Edge) -> tuple[int, int]:
    return int(pair.parents[0][edge[0]]), int(pair.parents[1][edge[1]])


def _named(pair: _Pair, edge: _Edge) -> str:
    source, target = _surface(pair, edge)
    return f"'{pair.surface[0][source]}' and '{pair.surface[1][target]}'"


def _link(pair: _Pair, edge: _Edge) -> str:
    source, target = _surface(pair, edge)
    return f"'{pair.surface[0][source]}' – '{pair.surface[1][target]}'"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _shown(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0
