"""A model's weights learnt further from pairs that were linked by hand.

The tables and vectors of the model stay as they are; its weights leave their place only as far as the pairs
ask for it (:func:`align.learning.gold.adapted_lam`). What that is worth is told by cross-validation: the
links of each fold are made by weights that the other folds gave, and the difference has an interval by
resampling of pairs (:func:`align.evaluation.metrics.paired_bootstrap`). Of pairs that the model has learnt
from before, weights of other folds know the links all the same: they are not measured in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import index
from typing import NamedTuple

import numpy as np

from align.core.errors import InputError
from align.data.corpus import Corpus
from align.evaluation.metrics import figures, paired_bootstrap
from align.features import PairBlock, compute
from align.learning.calibration import word_counts
from align.learning.cross_validation import Found, Learner, folds, held_out, texts_of
from align.learning.gold import adapted_lam, labels_of
from align.learning.held_out_calibration import calibrate
from align.links import Link, parse_pharaoh
from align.links.link import tidy
from align.model.folder import Model
from align.solvers import Fit
from align.solvers.block import BlockFrankWolfe
from align.solvers.fit import Progress

# From fewer pairs nothing is learnt of how far to trust a score: the model's own calibration stays.
CALIBRATED_FROM = 50

_FOLDS = 5

# In fewer pairs nothing is called better or worse: even if all of them moved one way, chance alone would do
# that in more than 5 % of the cases (2 / 2**5 with five).
_JUDGED_FROM = 6

# Of a model's provenance: the keys of the pairs that it has learnt from by :func:`adapt`.
SEEN = "adapted_keys"

GoldLinks = str | Iterable[Link | tuple[int, int] | tuple[int, int, bool]]


class Worth(NamedTuple):
    """What learning is worth, in pairs that were left out of it.

    Attributes
    ----------
    pairs : int
    before, after : float
        AER, in [0, 1], of the given weights in these pairs, and of weights learnt from others of them (five
        folds). Links that are not sure count nothing.
    difference : (float, float, float)
        After less before, below 0 where it got better, and the ends of its paired interval (95 %).
    """

    pairs: int
    before: float
    after: float
    difference: tuple[float, float, float]

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` where the interval leaves out 0 (of six pairs or more), else ``chance``."""
        _, low, high = self.difference
        if self.pairs < _JUDGED_FROM or low <= 0 <= high:
            return "chance"
        return "better" if high < 0 else "worse"


class Adapted(NamedTuple):
    """A model with new weights, and what it took.

    Attributes
    ----------
    model : Model
        Its ``provenance`` tells the same.
    fit : Fit
        The duality gap bounds how far the weights are from the best ones.
    pairs : int
        Pairs that were learnt from: those with a sure link.
    worth : Worth or None
        None with a single pair, if all are the same, or if the model has learnt from all of them before.
    """

    model: Model
    fit: Fit
    pairs: int
    worth: Worth | None


def adapt(
    model: Model,
    pairs: PairBlock,
    links: Sequence[Sequence[Link]],
    *,
    lam: float | None = None,
    cost_fn: float | None = None,
    seed: int = 0,
    on_pass: Callable[[Progress], None] | None = None,
    keys: Sequence[str] = (),
) -> Adapted:
    """Learn the weights of a model further.

    Parameters
    ----------
    model : Model
    pairs : PairBlock
        N pairs of ids of the model's vocabularies, with ``parents``; nothing need have been sampled of them.
    links : sequence of sequence of Link
        The links of each pair, over surface tokens.
    lam : float, optional
        Strength of regularisation towards the model's weights, > 0. Default: 7 over the number of pairs,
        0.01 to 0.1.
    cost_fn : float, optional
        Cost of a missed sure link where a wrong link costs 1, >= 0. Default: that of
        :class:`~align.learning.cross_validation.Learner`.
    seed : int
        Of the order of steps and the folds, >= 0.
    on_pass : function, optional
        Called after each pass of the solver.
    keys : sequence of str
        Of each pair its :func:`key_of`; empty: none is known again in later learning.

    Raises
    ------
    InputError
        If no pair has a sure link.
    """
    edges = compute(pairs, model.resources, groups=model.groups, word_groups=model.word_groups)
    corpus = pairs.corpus
    labels = labels_of(links, corpus, edges, max_fertility=model.fertility)
    usable = np.flatnonzero(labels.counts() > 0)
    if not len(usable):
        raise InputError("learn: no pair has a sure link; link some words and mark them sure")
    solver = BlockFrankWolfe(lam=adapted_lam(len(usable)) if lam is None else lam, seed=seed)
    learner = Learner(
        edges,
        labels,
        solver=solver,
        max_fertility=model.fertility,
        origin=model.weights,
    )
    if cost_fn is not None:
        learner = replace(learner, cost_fn=cost_fn)
    fit = solver.run(learner.problem(usable), origin=model.weights, on_pass=on_pass)
    before = _seen(model)
    fresh = usable if not keys else usable[[keys[pair] not in before for pair in usable.tolist()]]
    worth = _worth(learner, corpus, usable, fresh)
    calibration = model.calibration
    if len(usable) >= CALIBRATED_FROM:
        known = model.resources.source_vocabulary, model.resources.target_vocabulary
        seen = word_counts(corpus, known)
        calibration = calibrate(learner, fit.weights, pairs=usable, texts=texts_of(corpus), seen=seen)
    told = {
        "adapted_to_pairs": len(usable),
        "adapted_lam": solver.lam,
        "adapted_status": fit.status,
        "adapted_gap": fit.gap,
        SEEN: sorted(before | {keys[pair] for pair in usable.tolist() if keys}),
        "held_out_known": len(usable) - len(fresh),
        "held_out_pairs": 0 if worth is None else worth.pairs,
        "held_out_aer_before": None if worth is None else worth.before,
        "held_out_aer_after": None if worth is None else worth.after,
        "held_out_aer_difference": None if worth is None else list(worth.difference),
        "held_out_verdict": None if worth is None else worth.verdict,
    }
    learnt = replace(
        model, weights=fit.weights, calibration=calibration, provenance={**model.provenance, **told}
    )
    return Adapted(learnt, fit, len(usable), worth)


def key_of(source: Sequence[str], target: Sequence[str]) -> str:
    """Return what the surface tokens of a pair are known by in a model, 12 hexadecimal digits."""
    text = "\n\n".join("\n".join(side) for side in (source, target))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _seen(model: Model) -> set[str]:
    """Return the keys of the pairs that a model, which may be a stranger's, has learnt from before."""
    told = model.provenance.get(SEEN)
    return {key for key in told if isinstance(key, str)} if isinstance(told, list) else set()


def gold_links(links: GoldLinks, *, where: str) -> list[Link]:
    """Return links as a person may give them, sorted.

    Parameters
    ----------
    links : str or iterable
        As Pharaoh, or (source, target) or (source, target, sure) each.
    where : str
        What an error starts with.

    Raises
    ------
    InputError
        If something is no link.
    """
    if isinstance(links, str):
        return parse_pharaoh(links, where=where)
    try:
        given = [Link(index(link[0]), index(link[1]), len(link) < 3 or bool(link[2])) for link in links]
    except (TypeError, IndexError, KeyError):
        raise InputError(
            f"{where}: {links!r:.80} are no links; give a list like [(0, 0), (1, 2, False)], or '0-0 1p2'"
        ) from None
    return tidy(given)


def _worth(learner: Learner, corpus: Corpus, usable: np.ndarray, fresh: np.ndarray) -> Worth | None:
    """Compare the given weights with weights learnt from the other folds, in the same fresh pairs."""
    assert learner.origin is not None
    texts = texts_of(corpus)
    own = [texts[pair] for pair in usable]
    parts = [usable[fold] for fold in folds(own, _FOLDS, learner.solver.seed) if len(fold)]
    if len(parts) < 2 or not len(fresh):
        return None
    old, new = (
        _counts(learner, found, fresh)
        for found in (learner.links(learner.origin, fresh), held_out(learner, parts))
    )
    before, after = figures(np.stack([old.sum(axis=0), new.sum(axis=0)]))[:, 0].tolist()
    found = paired_bootstrap(new, old)
    assert found.interval is not None  # all of these pairs have sure links
    return Worth(len(fresh), before, after, (after - before, *found.interval))


def _counts(learner: Learner, found: Found, pairs: np.ndarray) -> np.ndarray:
    """Return the counts of :meth:`Found.counts` of each of the pairs, int64, shape (n, 5)."""
    of_pair = np.searchsorted(learner.edges.offsets, found.edges, side="right") - 1
    linked, sure, free = (
        np.bincount(of_pair[which], minlength=len(learner.labels))[pairs]
        for which in (np.ones(len(of_pair), dtype=bool), found.sure, found.free)
    )
    return np.stack([linked, learner.labels.counts()[pairs], sure, sure + free, sure + free], axis=1)
