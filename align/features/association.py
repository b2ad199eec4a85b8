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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.core.mapped import in_pieces
from align.core.ragged import read_only
from align.features import competition, rows
from align.features.resources import Resources

if TYPE_CHECKING:
    from align.features.block import Block
    from align.statistics.expected_links import ExpectedLinks
    from align.statistics.lexicon import Lexicon

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

# Cells of a row that are walked in the time of one search in it.
CELLS_A_SEARCH = 12


@dataclass(frozen=True)
class Association:
    """What the lexicon says of each edge of a block.

    Attributes
    ----------
    dice, forward, reverse : ndarray of float32, shape (E,)
        Dice coefficient, p(target|source) and p(source|target); 0 for pairs that were never seen.
    null_forward : ndarray of float32, shape (T_target,)
        p(target word|NULL) of each target token.
    null_reverse : ndarray of float32, shape (T_source,)
        p(source word|NULL) of each source token.
    """

    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray

    def part(self, edges: slice) -> Association:
        """Return a run of edges; the tokens stay those of the block."""
        return Association(
            self.dice[edges], self.forward[edges], self.reverse[edges], self.null_forward, self.null_reverse
        )


def look_up(block: Block) -> Association:
    """Find the statistics of each edge of a block; all 0 where there is no lexicon."""
    source, target = block.source, block.target
    lexicon = block.resources.lexicon
    null_forward = target.of_words(None if lexicon is None else lexicon.null_forward)[target.tokens]
    null_reverse = source.of_words(None if lexicon is None else lexicon.null_reverse)[source.tokens]
    if lexicon is None:
        none = np.zeros(int(block.offsets[-1]), dtype=np.float32)
        return Association(none, none, none, null_forward, null_reverse)
    values = _of_edges(block, lexicon, (lexicon.dice, lexicon.forward, lexicon.reverse))
    return Association(*values, null_forward, null_reverse)


def expected_links(block: Block, links: ExpectedLinks | None) -> tuple[np.ndarray, np.ndarray]:
    """Find the expected links of each edge in tables of them, both ways, float32, shape (E,).

    There must be such tables, and the lexicon they go with.
    """
    lexicon = block.resources.lexicon
    assert lexicon is not None
    assert links is not None
    forward, _, reverse = _of_edges(block, lexicon, (links.forward, links.forward, links.reverse))
    return forward, reverse


def _of_edges(
    block: Block, lexicon: Lexicon, tables: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values of three tables (float32, one value a cell) for each edge, 0 without a cell."""
    source, target = block.source, block.target
    first, second, third = (np.zeros(int(block.offsets[-1]), dtype=np.float32) for _ in tables)
    place = np.zeros(len(lexicon.null_forward), dtype=np.int32)
    place[target.words[: target.known]] = np.arange(1, target.known + 1)
    words = source.words[: source.known]
    order = source.by_word
    of_tokens = np.searchsorted(source.tokens, np.arange(len(words) + 1, dtype=np.int32), sorter=order)
    for start, stop in in_pieces(words, lexicon.offsets, (lexicon.targets, *tables)):
        _look_up(
            block.shapes,
            block.offsets,
            source.tokens,
            block.source_starts,
            order[of_tokens[start] : of_tokens[stop]],
            words,
            target.tokens,
            block.target_starts,
            target.words,
            place,
            CELLS_A_SEARCH,
            read_only(lexicon.offsets),
            read_only(lexicon.targets),
            read_only(tables[0]),
            read_only(tables[1]),
            read_only(tables[2]),
            first,
            second,
            third,
        )
    return first, second, third


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``lexical``."""
    return (*_NAMES, *competition.names("dice"), *competition.names("joint"))


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``lexical``.

    Probabilities stand as they are and as max(ln p, -10) / 10 + 1, in [0, 1]; ``geometric`` is
    sqrt(p(t|s) p(s|t)); ``forward_over_null`` is p(t|s) / (p(t|s) + p(t|NULL)); ``joint`` is the geometric
    mean of the two posteriors and ``joint_log`` the scaled logarithm of their product.
    """
    found = block.association
    write_lexical(
        block.shapes,
        block.offsets,
        found.dice,
        found.forward,
        found.reverse,
        found.null_forward,
        block.target_starts,
        found.null_reverse,
        block.source_starts,
        out,
    )
    own = len(_NAMES)
    competition.compete(found.dice, block.shapes, block.offsets, out[own:])
    joint = out[_NAMES.index("joint"), : len(found.dice)]
    competition.compete(joint, block.shapes, block.offsets, out[own + len(competition.SUFFIXES) :])


@kernel(error_model="numpy")
def _look_up(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source,
    source_starts,
    order,
    source_words,
    target,
    target_starts,
    target_words,
    place,
    cells_a_search,
    row_starts,
    columns,
    row_dice,
    row_forward,
    row_reverse,
    dice,
    forward,
    reverse,
):
    """Fill the edges, a source word at a time; ``order`` sorts the source tokens by word.

    ``place`` gives each target word of the block its number there plus 1, all others 0.
    """
    pair_of = np.empty(len(source), dtype=np.int32)
    for i in range(len(shapes)):
        for j in range(shapes[i, 0]):
            pair_of[source_starts[i] + j] = i
    # What the row walked last has of each target word; of an earlier row where it has another number.
    row_of = np.full(len(target_words), -1, dtype=np.int32)
    found = np.zeros((len(target_words), 4), dtype=np.float32)
    zero = np.float32(0.0)
    at = 0
    while at < len(order):
        word = source[order[at]]
        stop, wanted = at, 0
        while stop < len(order) and source[order[stop]] == word:
            wanted += shapes[pair_of[order[stop]], 1]
            stop += 1
        if word >= len(source_words):
            at = stop
            continue
        low, high = row_starts[source_words[word]], row_starts[source_words[word] + 1]
        # One walk along the row serves all occurrences of the word; of a long row with few of them, a
        # search for each target token is cheaper.
        walk = high - low <= cells_a_search * wanted
        if walk:
            for cell in range(low, high):
                local = place[columns[cell]] - 1
                if local >= 0:
                    row_of[local] = word
                    values = found[local]
                    values[0], values[1], values[2] = row_dice[cell], row_forward[cell], row_reverse[cell]
        for place_in_order in range(at, stop):
            token = order[place_in_order]
            i = pair_of[token]
            m = shapes[i, 1]
            start = offsets[i] + (token - source_starts[i]) * m
            words = target[target_starts[i] : target_starts[i] + m]
            if walk:
                # Without a branch: whether two words were ever seen together is hard to foretell.
                for k in range(m):
                    values = found[words[k]]
                    here = row_of[words[k]] == word
                    dice[start + k] = values[0] if here else zero
                    forward[start + k] = values[1] if here else zero
                    reverse[start + k] = values[2] if here else zero
                continue
            for k in range(m):
                cell = _search(columns, low, high, target_words[words[k]]) - 1
                if cell >= 0:
                    dice[start + k] = row_dice[cell]
                    forward[start + k] = row_forward[cell]
                    reverse[start + k] = row_reverse[cell]
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
def write_lexical(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    dice,
    forward,
    reverse,
    null_forward,
    target_starts,
    null_reverse,
    source_starts,
    out,
):
    """Write the group ``lexical`` without its competition."""
    # Per pair only what needs its rows and columns; then one result a loop over all edges.
    zero = np.float32(0.0)
    edges = len(dice)
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    totals = np.empty(widest, dtype=np.float32)
    over_null, reverse_over_null, posterior, reverse_posterior = out[6], out[7], out[8], out[9]
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        null = null_forward[target_starts[i] : target_starts[i] + m]
        rows.copy(null, totals)
        for j in range(n):
            row = forward[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            for k in range(m):
                totals[k] += row[k]
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            row, shares, own = forward[start:stop], over_null[start:stop], posterior[start:stop]
            for k in range(m):
                shares[k] = row[k] / (row[k] + null[k]) if row[k] > zero else zero
            for k in range(m):
                own[k] = row[k] / totals[k] if row[k] > zero else zero
            row = reverse[start:stop]
            shares, own = reverse_over_null[start:stop], reverse_posterior[start:stop]
            null_source = null_reverse[source_starts[i] + j]
            total = null_source
            for k in range(m):
                total += row[k]
            for k in range(m):
                shares[k] = row[k] / (row[k] + null_source) if row[k] > zero else zero
            for k in range(m):
                own[k] = row[k] / total if row[k] > zero else zero
    rows.copy(dice, out[0])
    rows.copy(forward, out[1])
    rows.copy(reverse, out[2])
    rows.scaled_log(forward, out[3])
    rows.scaled_log(reverse, out[4])
    geometric, joint = out[5], out[10]
    product = np.empty(edges, dtype=np.float32)
    for edge in range(edges):
        geometric[edge] = np.sqrt(forward[edge] * reverse[edge])
    for edge in range(edges):
        product[edge] = posterior[edge] * reverse_posterior[edge]
    for edge in range(edges):
        joint[edge] = np.sqrt(product[edge])
    rows.scaled_log(product, out[11])
