r"""How far two words are known to be translations of each other, whatever stands around them.

Where nothing is known, links follow from places: any two sentences, of any languages, have some. With p(t|s)
what is known of the words and q(t) the share of the target text that is t, a sentence of m words without any
relation has t with probability m q(t) at most, so that

    p(t|s) / (p(t|s) + m q(t))

is how far t is owed to s and not to chance; likewise the other way. The evidence for two words is the largest
of the geometric mean of both, l^2 for words spelt alike (:func:`align.features.spelling.likenesses`) and c^8
for vectors with a positive cosine c: those of words that are seldom seen are often somewhat alike.

p(t|s) is that of the chain (:func:`align.features.chain.probabilities`), from the links that the sampler
expects, or Model 1's where it has not run. Every pair would speak for itself: where it was sampled its own
links are not counted, and two words that were counted together there and nowhere else have no evidence from
tables. Two numbers of different values have none at all: that they met often says that texts count; that of a
number and another word is raised to the fourth power. ``275 000``, with its thousands apart, is one number.
The stems of two words (:mod:`align.statistics.stem_links`), which may be rare themselves, have evidence of
tables too; it counts where it is larger.

How far a word is owed to the whole other side is told likewise. With c(s, t) links, and b that are given to
all words by their share of the text before anything is seen,

    r(t) = 1/n sum_j (c(s_j, t) / q(t) + b) / (c(s_j) + b)

is how much more probable t is beside these n words than anywhere, and r / (1 + r) the share that is owed to
them: near 0 beside words whose translations are well known and others than it, 1/2 where nothing is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block
from align.features.chain import SPELLING
from align.features.cosine import cosines
from align.features.lexical import associations, expected_links
from align.features.posterior import sampled_posteriors
from align.features.spelling import likenesses, spellings
from align.statistics.sampler_priors import LEXICAL
from align.statistics.stem_links import places_of
from align.text.words import NUMBER, WORD

# So often two words must have met elsewhere: counts are whole numbers, but for rounding.
_MET = 0.5

# Digits of a group of thousands.
_THOUSANDS = 3
_ZERO, _NINE = ord("0"), ord("9")


class Evidence(NamedTuple):
    """What is known of a block's words beside each other.

    Attributes
    ----------
    edges : ndarray of float32, shape (E,)
        The evidence for the two words of each edge, in [0, 1].
    source, target : ndarray of float32, shape (T,)
        How far each token is owed to the whole other side, in [0, 1]; 1/2 where nothing is known.
    """

    edges: np.ndarray
    source: np.ndarray
    target: np.ndarray


def evidence(block: Block) -> Evidence:
    """Return what is known of the words of each pair of a block, whatever stands around them.

    The pairs that were sampled are taken to be counted in the tables.
    """
    given, edges = block.resources, int(block.offsets[-1])
    stored, links = block.pairs.posteriors, given.links
    sampled = np.zeros(len(block.shapes), dtype=bool) if stored is None else stored.sampled
    own = (np.zeros(edges, dtype=np.float32),) * 2
    if links is None:
        found = block.of_edges(associations)[1:]
        totals = block.source.counts.astype(np.float32), block.target.counts.astype(np.float32)
    else:
        found = block.of_edges(expected_links)
        totals = (
            block.source.of_words(links.forward_totals)[block.source.tokens],
            block.target.of_words(links.reverse_totals)[block.target.tokens],
        )
        if sampled.any():
            posteriors = block.shared(sampled_posteriors)
            own = posteriors.forward, posteriors.reverse
    result = Evidence(
        *(np.empty(size, np.float32) for size in (edges, len(block.source.tokens), len(block.target.tokens)))
    )
    words = (block.whole or block).shared(spellings)
    numbers = tuple(side.kinds == NUMBER for side in words)
    _write_evidence(
        (block.shapes, block.offsets, sampled), (block.source, block.target),
        numbers, totals,
        (given.source_tokens, given.target_tokens), block.of_edges(associations)[0], found, own,
        (block.of_edges(likenesses), block.of_edges(cosines)), links is not None, result,
    )  # fmt: skip
    if given.stem_links is not None:
        of_words, sides = (block.whole or block).shared(_stems), (block.source, block.target)
        stems = of_words[0][sides[0].tokens], of_words[1][sides[1].tokens]
        _write_of_stems(
            (block.shapes, block.offsets, sampled), (sides[0].starts, sides[1].starts), stems,
            np.argsort(stems[0], kind="stable"), given.stem_links,
            (given.source_tokens, given.target_tokens), own, result.edges,
        )  # fmt: skip
    if any(side.any() for side in numbers):
        _write_thousands(
            block.shapes, block.offsets, (block.source, block.target), numbers, words, result.edges
        )
    return result


def _stems(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the stem of each word of both sides in the tables of stems, int32, -1 without one."""
    links, found = block.resources.stem_links, []
    assert links is not None
    for words, keys in zip(block.shared(spellings), (links.source_keys, links.target_keys), strict=True):
        places = places_of(words.codes, words.offsets, keys)
        places[words.kinds != WORD] = -1
        found.append(places)
    return found[0], found[1]


@kernel(error_model="numpy")
def _write_evidence(  # type: ignore[no-untyped-def]
    pairs, sides, numbers, totals, texts, dice, found, own, alike, linked, out
):
    """Write what :func:`evidence` says; ``linked`` tells numbers of links from probabilities."""
    shapes, offsets, sampled = pairs
    source, target = sides
    spelling, cosine = alike
    edges, back_owed, owed = out
    # What each word is given before anything is seen, in links.
    given, back_given = LEXICAL * target.size, LEXICAL * source.size
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first, second = source.starts[i], target.starts[i]
        # What links of each word there are elsewhere, and which share of the text it is.
        rows = totals[0][first : first + n].astype(np.float64)
        columns = totals[1][second : second + m].astype(np.float64)
        if sampled[i]:
            for j in range(n):
                for k in range(m):
                    rows[j] -= own[0][offsets[i] + j * m + k]
                    columns[k] -= own[1][offsets[i] + j * m + k]
        rows, columns = np.maximum(rows, 0.0) + given, np.maximum(columns, 0.0) + back_given
        share = np.maximum(target.counts[second : second + m], 1) / texts[1]
        back_share = np.maximum(source.counts[first : first + n], 1) / texts[0]
        # The sums of r.
        more, back_more = np.full(m, (given / rows).sum()), np.full(n, (back_given / columns).sum())
        taken = 1.0 if sampled[i] else 0.0
        for j in range(n):
            s, start, stop = source.tokens[first + j], offsets[i] + j * m, offsets[i] + (j + 1) * m
            _write_alike(spelling[start:stop], cosine[start:stop], edges[start:stop])
            for k in range(m):
                edge, t = start + k, target.tokens[second + k]
                if numbers[0][s] and numbers[1][t]:
                    edges[edge] = np.float64(spelling[edge]) * np.float64(spelling[edge])
                    continue
                # Few words were ever seen together: the rest is done for these alone.
                if dice[edge] == 0.0:
                    continue
                met = dice[edge] * (source.counts[first + j] + target.counts[second + k]) / 2
                if sampled[i] and _MET < met <= min(n, m) + _MET:
                    met -= _own_times(source, first, n, s, target, second, m, t)
                if met <= _MET:
                    continue
                ahead, back = np.float64(found[0, edge]), np.float64(found[1, edge])
                if linked:
                    ahead = max(ahead - taken * own[0][edge], 0.0) / rows[j]
                    back = max(back - taken * own[1][edge], 0.0) / columns[k]
                    spelt = SPELLING * np.float64(spelling[edge])
                more[k] += ahead / share[k]
                back_more[j] += back / back_share[j]
                if linked:
                    ahead = (ahead * rows[j] + LEXICAL + spelt) / (rows[j] + spelt)
                    back = (back * columns[k] + LEXICAL + spelt) / (columns[k] + spelt)
                if ahead > 0 and back > 0:
                    of_tables = ahead / (ahead + m * share[k]) * back / (back + n * back_share[j])
                    # A number beside another word: squared, where of others the root is taken.
                    alone = numbers[0][s] or numbers[1][t]
                    of_tables = of_tables * of_tables if alone else np.sqrt(of_tables)
                    edges[edge] = max(edges[edge], np.float32(min(of_tables, 1.0)))
        owed[second : second + m] = more / (more + max(n, 1))
        back_owed[first : first + n] = back_more / (back_more + max(m, 1))


@kernel
def _write_alike(spelling, cosine, out):  # type: ignore[no-untyped-def]
    """Write the evidence that spelling and vectors give for a word and all it meets."""
    for k in range(len(out)):
        likeness = np.float64(spelling[k])
        square = np.float64(max(cosine[k], np.float32(0.0)) * max(cosine[k], np.float32(0.0)))
        out[k] = min(max(likeness * likeness, square * square * square * square), 1.0)


@kernel
def _own_times(source, first, n, s, target, second, m, t):  # type: ignore[no-untyped-def]
    """Return how often two words meet in their own pair."""
    sources = targets = 0
    for j in range(first, first + n):
        sources += 1 if source.tokens[j] == s else 0
    for k in range(second, second + m):
        targets += 1 if target.tokens[k] == t else 0
    return min(sources, targets)


@kernel(error_model="numpy")
def _write_of_stems(pairs, starts, stems, order, links, texts, own, edges):  # type: ignore[no-untyped-def]
    """Write the evidence of stems where it is larger; ``order`` sorts the source tokens by their stems."""
    shapes, offsets, sampled = pairs
    pair_of = np.repeat(np.arange(len(shapes)), shapes[:, 0])
    # What the row of the stem that came last has of each target stem.
    size, last = len(links.target_keys), -1
    row, back_row = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    for token in order:
        stem = stems[0][token]
        if stem < 0:
            continue
        if stem != last:
            for cell in range(links.offsets[last], links.offsets[last + 1] if last >= 0 else 0):
                row[links.targets[cell]] = 0.0
            for cell in range(links.offsets[stem], links.offsets[stem + 1]):
                row[links.targets[cell]] = links.forward[cell]
                back_row[links.targets[cell]] = links.reverse[cell]
            last = stem
        i = pair_of[token]
        n, m = shapes[i, 0], shapes[i, 1]
        here, there = stems[0][starts[0][i] :][:n], stems[1][starts[1][i] :][:m]
        start = offsets[i] + (token - starts[0][i]) * m
        for k in range(m):
            other = there[k]
            if other < 0 or row[other] <= _MET:
                continue
            ahead, back = np.float64(row[other]), np.float64(back_row[other])
            if sampled[i]:
                ahead -= _own_links(own[0][offsets[i] : offsets[i + 1]], here, there, stem, other)
                back -= _own_links(own[1][offsets[i] : offsets[i + 1]], here, there, stem, other)
            if ahead > _MET and back > _MET:
                ahead /= links.forward_totals[stem] + LEXICAL * size
                back /= links.reverse_totals[other] + LEXICAL * len(links.source_keys)
                chance, back_chance = m * links.target_counts[other], n * links.source_counts[stem]
                found = ahead / (ahead + chance / texts[1]) * back / (back + back_chance / texts[0])
                found = np.sqrt(found)
                edges[start + k] = max(edges[start + k], np.float32(min(found, 1.0)))


@kernel
def _own_links(links, here, there, stem, other):  # type: ignore[no-untyped-def]
    """Return how many links two stems have in their own pair."""
    total = 0.0
    for j in range(len(here)):
        if here[j] == stem:
            for k in range(len(there)):
                if there[k] == other:
                    total += links[j * len(there) + k]
    return total


@kernel
def _write_thousands(shapes, offsets, sides, numbers, words, edges):  # type: ignore[no-untyped-def]
    """Write 1 for a number and each part of the same number where its thousands stand apart."""
    source, target = sides
    for i in range(len(shapes)):
        own = edges[offsets[i] : offsets[i + 1]].reshape((shapes[i, 0], shapes[i, 1]))
        here = source.tokens[source.starts[i] : source.starts[i + 1]]
        there = target.tokens[target.starts[i] : target.starts[i + 1]]
        _write_parts(here, there, numbers[0], numbers[1], words[0], words[1], own)
        _write_parts(there, here, numbers[1], numbers[0], words[1], words[0], own.T)


@kernel
def _write_parts(wholes, parts, are_wholes, are_parts, whole_words, part_words, edges):  # type: ignore[no-untyped-def]
    digits = np.empty(_THOUSANDS * len(parts), dtype=np.uint32)
    for first in range(len(parts) - 1):
        if not are_parts[parts[first]]:
            continue
        size = _write_digits(part_words, parts[first], digits)
        if size == 0 or part_words.offsets[parts[first]] + size != part_words.offsets[parts[first] + 1]:
            continue
        for last in range(first + 1, len(parts)):
            if (
                not are_parts[parts[last]]
                or _write_digits(part_words, parts[last], digits[size:]) != _THOUSANDS
            ):
                break
            size += _THOUSANDS
            for j in range(len(wholes)):
                start, stop = whole_words.ends[wholes[j]], whole_words.ends[wholes[j] + 1]
                same = are_wholes[wholes[j]] and stop - start == size
                if same and (whole_words.letters[start:stop] == digits[:size]).all():
                    edges[j, first : last + 1] = 1.0


@kernel
def _write_digits(words, word, digits):  # type: ignore[no-untyped-def]
    """Write the digits that a word begins with, and return how many: up to three, 0 if there are more."""
    start, stop = words.offsets[word], words.offsets[word + 1]
    size = 0
    while start + size < stop and _ZERO <= words.codes[start + size] <= _NINE:
        if size == _THOUSANDS:
            return 0
        digits[size] = words.codes[start + size]
        size += 1
    return size
