"""The two spaces of the ``embed`` stage made one: word pairs, the map, and the check on held-out pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.vectors.dictionary import bitext_pairs, identical_pairs, read_dictionary
from align.vectors.mapping import Check, Map, apply, check, fit, has_vector, refine
from pipeline.stages.embed.vectors import Words
from pipeline.work.stage import StageContext

# Word pairs held out for the check: one source word in five, at most so many pairs; fewer than ENOUGH
# prove nothing.
HELD_OUT = 500
ENOUGH = 20

# A dictionary with fewer word pairs is refined where the option leaves it open.
SMALL = 1_000

# The bitext's own dictionary comes from a sample with at most so many cells (source times target words).
CELLS = 40_000_000


@dataclass(frozen=True)
class Space:
    """Whose vectors are mapped, and how: `files` are None where they were trained on the corpus."""

    files: tuple[str | None, str | None] | None
    languages: tuple[str, str]
    refine: int
    candidates: int
    min_gap: float

    @property
    def name(self) -> str:
        """What an error message names."""
        return " and ".join(map(str, self.files)) if self.files else "vectors trained on the corpus"


def check_dictionary(method: str, path: str | None) -> None:
    """Refuse to learn a map from a dictionary where none is given."""
    if method == "file" and path is None:
        raise InputError("vectors.dictionary: missing, but embed.dictionary is file; set it, or choose auto")


def find_seeds(
    context: StageContext, words: Words, sides: list[np.ndarray], path: str | None, method: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """Find the word pairs to learn from, all of them with vectors, int64, shape (d, 2)."""
    check_dictionary(method, path)
    facts: dict[str, Any] = {}
    if path is not None and method in ("auto", "file"):
        pairs, counts = read_dictionary(Path(path), *words.vocabularies)
        found, facts = {"file": pairs}, {"file": path, "counts": counts}
    else:
        found = {}
        if method in ("auto", "bitext"):
            cells = words.text.sizes(np.multiply)
            drawn = words.text.sample(cells, CELLS, [context.seed, 4])
            found["bitext"] = bitext_pairs(words.text.take(drawn), words.sizes)
        if method in ("auto", "identical"):
            found["identical"] = identical_pairs(*words.vocabularies)
    known = [has_vector(side) for side in sides]
    usable = {name: pairs[known[0][pairs[:, 0]] & known[1][pairs[:, 1]]] for name, pairs in found.items()}
    chosen = next(iter(usable))
    if chosen == "bitext" and "identical" in usable and len(usable["bitext"]) < ENOUGH:
        chosen = max(usable, key=lambda name: len(usable[name]))
    facts |= {"method": chosen, "pairs": len(usable[chosen])}
    return usable[chosen], facts


def to_one_space(
    context: StageContext, sides: list[np.ndarray], seeds: np.ndarray, method: str, space: Space
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Learn the map without a part of the word pairs, check it on them, and learn it again from all."""
    dim = sides[0].shape[1]
    if not len(seeds):
        _complain(context, space, f"no word pairs to join the two spaces (by {method})")
        return [np.zeros_like(side) for side in sides], {"pairs": 0, "rank": 0}
    rounds = space.refine
    if rounds < 0:
        rounds = 2 if space.files and (method == "identical" or len(seeds) < SMALL) else 0
    held = _held_out(seeds, np.random.default_rng([context.seed, 2]))
    mapped = _apply(sides, _learn(sides, seeds[~held], rounds))
    rng = np.random.default_rng([context.seed, 3])
    checked = check(mapped[0], mapped[1], seeds[held], candidates=space.candidates, rng=rng)
    context.say(_line(space, method, len(seeds), checked))
    _judge(context, space, checked)
    final = _learn(sides, seeds, rounds)
    if final.rank < dim:
        context.warn(
            f"{final.pairs} word pairs speak of {final.rank} of {dim} directions: the others are left out; "
            f"a dictionary of over {dim} words (vectors.dictionary) or more text mends it"
        )
    facts = {"pairs": final.pairs, "rank": final.rank, "rounds": rounds, "check": asdict(checked)}
    return _apply(sides, final), facts


def _learn(sides: list[np.ndarray], pairs: np.ndarray, rounds: int) -> Map:
    return refine(sides[0], sides[1], fit(sides[0], sides[1], pairs), rounds=rounds)


def _apply(sides: list[np.ndarray], learnt: Map) -> list[np.ndarray]:
    return [apply(sides[0], learnt.source), apply(sides[1], learnt.target)]


def _held_out(pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Choose pairs to hold out, all those of a source word together, bool, shape (d,)."""
    words = np.unique(pairs[:, 0])
    count = min(len(words) // 5, HELD_OUT * len(words) // len(pairs))
    return np.isin(pairs[:, 0], rng.permutation(words)[:count])


def _judge(context: StageContext, space: Space, checked: Check) -> None:
    """Stop, or warn, where held-out pairs are no closer than random ones; few prove nothing: warn only."""
    if checked.gap is None or checked.chance is None or space.min_gap == 0:
        return
    found = (
        f"the mean cosine of {checked.pairs} held-out word pairs is {checked.cosine:.2f}, "
        f"of random pairs {checked.random:.2f}"
    )
    if checked.gap < space.min_gap and checked.pairs >= ENOUGH:
        _complain(context, space, f"no common space: {found}")
    elif checked.gap < max(space.min_gap, checked.chance):
        context.warn(
            f"{space.name}: a map no better than chance, as far as so few word pairs tell: {found}; give a "
            "larger dictionary (vectors.dictionary), more text, or do without (embed.vectors = none)"
        )


def _complain(context: StageContext, space: Space, what: str) -> None:
    """Raise InputError over given vectors; over trained ones, which the user did not choose, warn."""
    source, target = space.languages
    if space.files is not None:
        raise InputError(
            f"{space.name}: {what}; check that they are of {source} and {target}, and vectors.dictionary"
        )
    context.warn(f"{space.name}: {what}; with so little text they help little")


def _line(space: Space, method: str, pairs: int, checked: Check) -> str:
    """Return the line about the map."""
    line = f"map {'-'.join(space.languages)} from {pairs} word pairs ({method}), held out {checked.pairs}: "
    if checked.cosine is None or checked.random is None:
        return line + "mean cosine n/a (0 pairs)"
    return line + (
        f"mean cosine {checked.cosine:.3f}, random {checked.random:.3f}, precision at 1 "
        f"{checked.precision:.3f} (CSLS {checked.precision_csls:.3f}) among {checked.candidates}"
    )
