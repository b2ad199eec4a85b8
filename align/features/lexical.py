"""Bitext statistics of each edge: Dice and IBM Model 1, looked up in the lexicon.

With p(t|s) of Model 1 [1]_, the posterior that target word k of a sentence came from source word j is
p(t_k|s_j) / (sum over j' of p(t_k|s_j') + p(t_k|NULL)); likewise the other way.

References
----------
.. [1] Brown, Della Pietra, Della Pietra and Mercer 1993, "The Mathematics of Statistical Machine
   Translation", equation 17.
.. [2] Taskar, Lacoste-Julien and Klein 2005, "A Discriminative Matching Approach to Word Alignment":
   Dice and its competition as features.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.core.mapped import in_pieces
from align.core.ragged import read_only
from align.features.block import Block, Resources, chosen
from align.features.maps import COMPETITION, compete, competition_names, scaled_log
from align.statistics import lexicon as lexicon_tables

_NAMES = (
    "dice",
    "forward",
    "reverse",
    "forward_log",
    "reverse_log",
    "geometric",
    "forward_over_null",
    "reverse_over_null",
    "forward_posterior",
    "reverse_posterior",
    "joint",
    "joint_log",
)
(
    _DICE, _FORWARD, _REVERSE, _FORWARD_LOG, _REVERSE_LOG, _GEOMETRIC, _FORWARD_OVER_NULL,
    _REVERSE_OVER_NULL, _FORWARD_POSTERIOR, _REVERSE_POSTERIOR, _JOINT, _JOINT_LOG,
) = range(len(_NAMES))  # fmt: skip


def associations(block: Block) -> np.ndarray:
    """Return Dice, p(target|source), p(source|target) of each edge, float32, shape (3, E), 0 if not seen."""
    return block.shared(_looked_up)[:3]


def expected_links(block: Block) -> np.ndarray:
    """Return the expected links of each edge, both ways, float32, shape (2, E); there must be tables."""
    assert block.resources.links is not None
    return block.shared(_looked_up)[3:]


def null_probabilities(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return p(word|NULL) of each source and of each target token, float32."""
    lexicon, source, target = block.resources.lexicon, block.source, block.target
    of_source = source.of_words(None if lexicon is None else lexicon.null_reverse)
    of_target = target.of_words(None if lexicon is None else lexicon.null_forward)
    return of_source[source.tokens], of_target[target.tokens]


def _looked_up(block: Block) -> np.ndarray:
    """Return what the tables have of each edge, float32, shape (5, E), 0 without a cell.

    The rows are those of :func:`associations`, then those of :func:`expected_links`.
    """
    lexicon, links = block.resources.lexicon, block.resources.links
    found = np.zeros((5, int(block.offsets[-1])), dtype=np.float32)
    if lexicon is None:
        return found
    counted = (lexicon.forward, lexicon.reverse) if links is None else (links.forward, links.reverse)
    tables = (lexicon.dice, lexicon.forward, lexicon.reverse, *counted)
    source, target = block.source, block.target
    place = np.zeros(len(lexicon.null_forward), dtype=np.int32)
    place[target.words[: target.known]] = np.arange(1, target.known + 1)
    words = source.words[: source.known]
    order = source.by_word()
    of_tokens = np.searchsorted(source.tokens, np.arange(len(words) + 1, dtype=np.int32), sorter=order)
    for start, stop in in_pieces(words, lexicon.offsets, (lexicon.targets, *tables)):
        _walk(
            block.shapes,
            block.offsets,
            source,
            target,
            order[of_tokens[start] : of_tokens[stop]],
            place,
            lexicon_tables.CELLS_A_SEARCH,
            read_only(lexicon.offsets),
            read_only(lexicon.targets),
            tuple(read_only(table) for table in tables),
            found,
        )
    return found


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``lexical``."""
    return (*_NAMES, *competition_names("dice"), *competition_names("joint"))


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``lexical``.

    Probabilities stand as they are and as max(ln p, -10) / 10 + 1, in [0, 1]; ``geometric`` is
    sqrt(p(t|s) p(s|t)); ``forward_over_null`` is p(t|s) / (p(t|s) + p(t|NULL)); ``joint`` is the geometric
    mean of the two posteriors and ``joint_log`` the scaled logarithm of their product.
    """
    dice, forward, reverse = block.of_edges(associations)
    null, wanted = block.shared(null_probabilities), block.shared(chosen)
    posteriors = np.empty((2, len(dice)), dtype=np.float32)
    sides = block.source, block.target
    _write_posteriors(block.shapes, block.offsets, *sides, (forward, reverse), null, posteriors)
    product = posteriors[0] * posteriors[1]
    joint = np.sqrt(product)
    for row, values in (
        (_DICE, dice), (_FORWARD, forward), (_REVERSE, reverse), (_FORWARD_POSTERIOR, posteriors[0]),
        (_REVERSE_POSTERIOR, posteriors[1]), (_JOINT, joint),
    ):  # fmt: skip
        np.take(values, wanted.edges, out=out[row])
    forward, reverse = out[_FORWARD], out[_REVERSE]
    _write_shares((forward, reverse), *sides, null, wanted, out)
    np.sqrt(forward * reverse, out=out[_GEOMETRIC])
    for values, row in (
        (forward, _FORWARD_LOG),
        (reverse, _REVERSE_LOG),
        (product[wanted.edges], _JOINT_LOG),
    ):
        scaled_log(values, out[row])
    own = len(_NAMES)
    compete(dice, block.shapes, block.offsets, wanted, out[own:])
    compete(joint, block.shapes, block.offsets, wanted, out[own + len(COMPETITION) :])


@kernel(error_model="numpy")
def _walk(  # type: ignore[no-untyped-def]
    shapes, offsets, source, target, order, place, cells_a_search, row_starts, columns, tables, found
):
    """Fill the edges, a source word at a time; ``order`` sorts the source tokens by word.

    ``place`` gives each target word of the block its number there plus 1, all others 0.
    """
    pair_of = np.empty(len(source.tokens), dtype=np.int32)
    for i in range(len(shapes)):
        for token in range(source.starts[i], source.starts[i + 1]):
            pair_of[token] = i
    # What the row walked last has of each target word; of an earlier row where it has another number.
    row_of = np.full(len(target.words), -1, dtype=np.int32)
    row = np.zeros((len(target.words), 5), dtype=np.float32)
    first, second, third, fourth, fifth = found[0], found[1], found[2], found[3], found[4]
    first_table, second_table, third_table, fourth_table, fifth_table = tables
    zero = np.float32(0.0)
    at = 0
    while at < len(order):
        word = source.tokens[order[at]]
        stop, wanted = at, 0
        while stop < len(order) and source.tokens[order[stop]] == word:
            wanted += shapes[pair_of[order[stop]], 1]
            stop += 1
        if word >= source.known:
            at = stop
            continue
        low, high = row_starts[source.words[word]], row_starts[source.words[word] + 1]
        # One walk along the row serves all occurrences of the word; of a long row with few of them, a
        # search for each target token is cheaper.
        walk = high - low <= cells_a_search * wanted
        if walk:
            for cell in range(low, high):
                local = place[columns[cell]] - 1
                if local >= 0:
                    row_of[local] = word
                    row[local, 0], row[local, 1] = first_table[cell], second_table[cell]
                    row[local, 2] = third_table[cell]
                    row[local, 3], row[local, 4] = fourth_table[cell], fifth_table[cell]
        for place_in_order in range(at, stop):
            token = order[place_in_order]
            i = pair_of[token]
            start = offsets[i] + (token - source.starts[i]) * shapes[i, 1]
            words = target.tokens[target.starts[i] : target.starts[i + 1]]
            for k in range(len(words)):
                if walk:
                    # Without a branch: whether two words were ever seen together is hard to foretell.
                    here = row_of[words[k]] == word
                    first[start + k] = row[words[k], 0] if here else zero
                    second[start + k] = row[words[k], 1] if here else zero
                    third[start + k] = row[words[k], 2] if here else zero
                    fourth[start + k] = row[words[k], 3] if here else zero
                    fifth[start + k] = row[words[k], 4] if here else zero
                    continue
                cell = _search(columns, low, high, target.words[words[k]]) - 1
                if cell >= 0:
                    first[start + k], second[start + k] = first_table[cell], second_table[cell]
                    third[start + k] = third_table[cell]
                    fourth[start + k], fifth[start + k] = fourth_table[cell], fifth_table[cell]
        at = stop


@kernel
def _search(columns, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return 1 + the place of a word among the ascending ``columns[low:high]``, 0 where it is not."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low + 1 if low < end and columns[low] == wanted else 0


@kernel(error_model="numpy")
def _write_shares(probabilities, source, target, null_of, wanted, out):  # type: ignore[no-untyped-def]
    """Write the shares of the wanted edges, whose ``probabilities`` are given, against NULL."""
    forward, reverse = probabilities
    null_source, null_target = null_of
    zero = np.float32(0.0)
    for i in range(len(source.starts) - 1):
        null = null_target[target.starts[i] : target.starts[i + 1]]
        for token in range(source.starts[i], source.starts[i + 1]):
            none = null_source[token]
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                ahead, back = forward[at], reverse[at]
                other = null[wanted.targets[at]]
                out[_FORWARD_OVER_NULL, at] = ahead / (ahead + other) if ahead > zero else zero
                out[_REVERSE_OVER_NULL, at] = back / (back + none) if back > zero else zero


@kernel(error_model="numpy")
def _write_posteriors(  # type: ignore[no-untyped-def]
    shapes, offsets, source, target, probabilities, null_of, out
):
    """Write the posteriors of the sentence both ways, of all edges."""
    forward, reverse = probabilities
    null_source, null_target = null_of
    zero = np.float32(0.0)
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    totals = np.empty(widest, dtype=np.float32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        null = null_target[target.starts[i] : target.starts[i + 1]]
        for k in range(m):
            totals[k] = null[k]
        for j in range(n):
            row = forward[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            for k in range(m):
                totals[k] += row[k]
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            row, own = forward[start:stop], out[0, start:stop]
            for k in range(m):
                own[k] = row[k] / totals[k] if row[k] > zero else zero
            row, own = reverse[start:stop], out[1, start:stop]
            total = null_source[source.starts[i] + j]
            for k in range(m):
                total += row[k]
            for k in range(m):
                own[k] = row[k] / total if row[k] > zero else zero
