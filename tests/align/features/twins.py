"""The feature groups once more, in plain Python: slow, word by word, from their documented formulas."""

import math
import unicodedata

import numpy as np

from align.features import GROUPS, chain
from align.statistics.jumps import GAPS, JUMP, OF_ALL, OF_GAP, OTHERS
from align.statistics.sampler_priors import LEXICAL, NULL, NULL_LEXICAL
from align.text.numbers import normal_number


def shares_and_margins(scores):
    """Row margin, column margin, row share, column share and mutual best of each score of a matrix."""
    n, m = scores.shape
    result = np.zeros((n, m, 5))
    for j in range(n):
        for k in range(m):
            score = scores[j, k]
            row = [scores[j, x] for x in range(m) if x != k]
            column = [scores[x, k] for x in range(n) if x != j]
            margins = score - max(row, default=0.0), score - max(column, default=0.0)
            sums = sum(max(x, 0) for x in scores[j]), sum(max(x, 0) for x in scores[:, k])
            result[j, k, :2] = margins
            result[j, k, 2:4] = [max(score, 0) / total if total > 0 else 0 for total in sums]
            result[j, k, 4] = margins[0] > 0 and margins[1] > 0
    return result


def scaled_log(p):
    return max(math.log(p), -10) / 10 + 1 if p > 0 else 0.0


def cosine(pair):
    n, m = pair.n, pair.m
    scores = np.array([[float(np.dot(x, y)) for y in pair.target_vectors] for x in pair.source_vectors])
    scores = np.clip(scores.reshape(n, m), -1, 1)
    missing = np.array(
        [[not (x.any() and y.any()) for y in pair.target_vectors] for x in pair.source_vectors], dtype=float
    ).reshape(n, m)
    return np.concatenate([scores[..., None], missing[..., None], shares_and_margins(scores)], axis=2)


def product(pair):
    p = pair.dimensions
    result = np.zeros((pair.n, pair.m, p))
    for j, x in enumerate(pair.source_vectors):
        for k, y in enumerate(pair.target_vectors):
            result[j, k] = math.sqrt(p) * x * y
    return result


def concat(pair):
    p = pair.dimensions
    result = np.zeros((pair.n, pair.m, 2 * p))
    for j, x in enumerate(pair.source_vectors):
        for k, y in enumerate(pair.target_vectors):
            result[j, k, :p], result[j, k, p:] = x, y
    return result


def position(pair):
    n, m = pair.n, pair.m
    result = np.zeros((n, m, 7))
    for j in range(n):
        for k in range(m):
            distance = abs((j + 0.5) / n - (k + 0.5) / m)
            result[j, k] = [
                distance,
                distance**2,
                math.sqrt(distance),
                min(distance * m, 10) / 10,
                distance * m <= 0.5 + 1e-12,
                j == k == 0,
                j == n - 1 and k == m - 1,
            ]
    return result


def plain_letters(word):
    table = {"œ": "oe", "ß": "ss", "б": "b", "р": "r", "а": "a", "т": "t"}
    letters = [x for x in unicodedata.normalize("NFD", word) if not unicodedata.combining(x)]
    return "".join(table.get(letter, letter) for letter in letters)


def longest_common_subsequence(a, b):
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best[i + 1][j + 1] = best[i][j] + 1 if x == y else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


def kind_of(word):
    if word[0].isdigit():
        return "number"
    return "word" if any(letter.isalnum() for letter in word) else "punctuation"


def spelling_of(a, b):
    kinds = {kind_of(a), kind_of(b)}
    row = dict.fromkeys(GROUPS["spelling"].names(None), 0.0)
    if len(kinds) == 2:
        row["punctuation_and_word" if "punctuation" in kinds else "number_and_word"] = 1.0
    elif kinds == {"punctuation"}:
        row["same_punctuation" if a == b else "other_punctuation"] = 1.0
    elif kinds == {"number"}:
        row["same_number" if normal_number(a) == normal_number(b) else "other_number"] = 1.0
    else:
        x, y = plain_letters(a)[:63], plain_letters(b)[:63]
        longest, shortest = max(len(x), len(y)), min(len(x), len(y))
        prefix = next((i for i in range(shortest) if x[i] != y[i]), shortest)
        row["same_word"] = float(a == b)
        row["prefix"] = prefix / longest
        row["long_prefix"] = prefix / longest * min(longest, 8) / 8
        row["common_letters"] = longest_common_subsequence(x, y) / longest
        row["cognate"] = float(shortest >= 4 and row["common_letters"] > 0.7)
        row["length_difference"] = (longest - shortest) / longest
    return list(row.values())


def spelling(pair):
    return np.array([[spelling_of(a, b) for b in pair.target] for a in pair.source]).reshape(
        pair.n, pair.m, 12
    )


def likeness(pair):
    """How far each two words are spelt alike."""

    def of(a, b):
        kind = kind_of(a)
        if kind != kind_of(b):
            return 0.0
        if kind == "number":
            return float(normal_number(a) == normal_number(b))
        x, y = plain_letters(a)[:63], plain_letters(b)[:63]
        longest, shortest = max(len(x), len(y)), min(len(x), len(y))
        if x == y:
            return 0.5 if kind == "word" and longest < 4 else 1.0
        share = longest_common_subsequence(x, y) / longest
        return share if kind == "word" and shortest >= 4 and share > 0.7 else 0.0

    return np.array([[of(a, b) for b in pair.target] for a in pair.source]).reshape(pair.n, pair.m)


def partner(pair):
    alike, result = likeness(pair), np.zeros((pair.n, pair.m, 11))
    for j in range(pair.n):
        for k in range(pair.m):
            source, target = 1 / (1 + pair.source_counts[j]), 1 / (1 + pair.target_counts[k])
            apart = abs((j + 0.5) / pair.n - (k + 0.5) / pair.m)
            in_row = max((alike[j, x] for x in range(pair.m) if x != k), default=0.0)
            in_column = max((alike[x, k] for x in range(pair.n) if x != j), default=0.0)
            rival, unknown = max(in_row, in_column), max(source, target)
            result[j, k] = [
                alike[j, k],
                unknown * alike[j, k],
                unknown * alike[j, k] * (alike[j, k] > rival),
                max(rival - alike[j, k], 0),
                unknown * max(rival - alike[j, k], 0),
                unknown * max(min(in_row, in_column) - alike[j, k], 0),
                unknown * alike[j, k] * apart,
                source,
                target,
                source * target,
                source * target * (1 - apart),
            ]
    return result


def frequency(pair):
    result = np.zeros((pair.n, pair.m, 9))
    vocabularies = pair.resources.source_vocabulary, pair.resources.target_vocabulary
    for j in range(pair.n):
        for k in range(pair.m):
            counts = pair.source_counts[j], pair.target_counts[k]
            f = [math.log(max(c, 0.5) / total) for c, total in zip(counts, pair.totals, strict=True)]
            ids = (pair.source_ids[j], len(vocabularies[0])), (pair.target_ids[k], len(vocabularies[1]))
            r = [math.log(min(rank, known) + 1) for rank, known in ids]
            level = [max(x, -16) / 16 + 1 for x in f]
            often = [x >= math.log(0.002) for x in f]
            result[j, k] = [
                min(abs(f[0] - f[1]) / 10, 1),
                min(abs(r[0] - r[1]) / 10, 1),
                *level,
                level[0] * level[1],
                all(often),
                often[0] != often[1],
                counts[0] <= 2,
                counts[1] <= 2,
            ]
    return result


def identity(pair):
    words = pair.resources.source_vocabulary.words[:30], pair.resources.target_vocabulary.words[:30]
    result = np.zeros((pair.n, pair.m, len(words[0]) + len(words[1])))
    for j in range(pair.n):
        for k in range(pair.m):
            own = [pair.source[j] == word for word in words[0]]
            result[j, k] = own + [pair.target[k] == word for word in words[1]]
    return result


def sentence_posteriors(pair):
    """Model 1 posteriors of both directions."""
    f, r = pair.forward, pair.reverse
    forward, reverse = np.zeros_like(f), np.zeros_like(r)
    for j in range(pair.n):
        for k in range(pair.m):
            if f[j, k] > 0:
                forward[j, k] = f[j, k] / (sum(f[:, k]) + pair.null_forward[k])
            if r[j, k] > 0:
                reverse[j, k] = r[j, k] / (sum(r[j]) + pair.null_reverse[j])
    return forward, reverse


def lexical(pair):
    n, m = pair.n, pair.m
    forward, reverse = sentence_posteriors(pair)
    joint = np.sqrt(forward * reverse)
    own = np.zeros((n, m, 12))
    for j in range(n):
        for k in range(m):
            f, r = pair.forward[j, k], pair.reverse[j, k]
            own[j, k] = [
                pair.dice[j, k],
                f,
                r,
                scaled_log(f),
                scaled_log(r),
                math.sqrt(f * r),
                f / (f + pair.null_forward[k]) if f > 0 else 0,
                r / (r + pair.null_reverse[j]) if r > 0 else 0,
                forward[j, k],
                reverse[j, k],
                joint[j, k],
                scaled_log(forward[j, k] * reverse[j, k]),
            ]
    return np.concatenate([own, shares_and_margins(pair.dice), shares_and_margins(joint)], axis=2)


def fixed_jumps(words):
    """The chain's own jumps: the same from every word and over every gap."""
    total = sum(math.exp(-chain.JUMP_DECAY * abs(d - 1)) + chain.JUMP_FLOOR for d in range(-100, 101))
    return lambda place, gap, d: (math.exp(-chain.JUMP_DECAY * abs(d - 1)) + chain.JUMP_FLOOR) / total


def learnt_jumps(jumps):
    """Jumps by class, smoothed by the formula; a place is that of a word, -1 the beginning."""
    counts = jumps.counts.astype(float)
    overall = counts.sum(axis=(0, 1)) + JUMP
    overall /= overall.sum()
    table = np.empty_like(counts)
    for g in range(GAPS):
        by_gap = counts[:, g].sum(axis=0) + OF_ALL * overall
        by_gap /= by_gap.sum()
        for own, row in zip(counts[:, g], table[:, g], strict=True):
            row[:] = (own + OF_GAP * by_gap) / (own.sum() + OF_GAP)
    table = table.tolist()

    def of(words):
        known = len(jumps.classes)
        classes = [0, *(jumps.classes[word] if word < known else OTHERS for word in words)]
        longest = jumps.longest
        return lambda place, gap, d: table[classes[place + 1]][min(gap, GAPS) - 1][
            longest + max(-longest, min(d, longest))
        ]

    return of


def chain_posterior(emission, null, jump):
    """p(a_k = j) by summing over all sequences of the last linked place and the words since then."""
    n, m = emission.shape
    emission, most = emission.tolist(), GAPS - 1
    states = [(j, since) for j in range(-1, n) for since in range(GAPS)]
    alive, history = {(-1, 0): 1.0}, []
    for k in range(m):
        now = dict.fromkeys(states, 0.0)
        for (place, since), mass in alive.items():
            now[place, min(since + 1, most)] += mass * null[k]
            for j in range(n):
                now[j, 0] += mass * jump(place, since + 1, j - place) * emission[j][k]
        total = sum(now.values())
        alive = {state: mass / total for state, mass in now.items() if mass > 0}
        history.append(alive)
    onward = {(place, since): jump(place, since + 1, n - place) for place, since in alive}
    result = np.zeros((n, m))
    for k in range(m - 1, -1, -1):
        total = sum(mass * onward[state] for state, mass in history[k].items())
        for (place, since), mass in history[k].items():
            if since == 0:
                result[place, k] = mass * onward[place, since] / total
        if k:
            onward = {
                (place, since): onward.get((place, min(since + 1, most)), 0.0) * null[k]
                + sum(
                    jump(place, since + 1, j - place) * emission[j][k] * onward.get((j, 0), 0.0)
                    for j in range(n)
                )
                for place, since in history[k - 1]
            }
    return result


def tables(pair):
    """p(target|source), p(source|target), and the odds of NULL of target and of source words."""
    links, odds = pair.resources.links, NULL / (1 - NULL)
    if links is None:
        nulls = (odds * np.array(each) for each in (pair.null_forward, pair.null_reverse))
        return pair.forward, pair.reverse, *nulls
    sizes = len(links.forward_totals), len(links.reverse_totals)

    def null(table, ids):
        total = float(table.sum()) + NULL_LEXICAL * len(table)
        return np.array([odds * (each + NULL_LEXICAL) / total for each in pair.look_up(table, ids)])

    of_source = np.array(pair.look_up(links.forward_totals, pair.source_ids)) + LEXICAL * sizes[1]
    of_target = np.array(pair.look_up(links.reverse_totals, pair.target_ids)) + LEXICAL * sizes[0]
    alike = chain.SPELLING * likeness(pair)
    return (
        (pair.links_forward + LEXICAL + alike) / (of_source[:, None] + alike),
        (pair.links_reverse + LEXICAL + alike) / (of_target + alike),
        null(links.null_forward, pair.target_ids),
        null(links.null_reverse, pair.source_ids),
    )


def both_chains(pair, forward, reverse, null_target, null_source):
    """The posteriors both ways, given emissions and what NULL emits."""
    links = pair.resources.links
    of = (fixed_jumps,) * 2 if links is None else tuple(map(learnt_jumps, links.jumps))
    ahead = chain_posterior(forward, null_target, of[0](pair.source_ids))
    return ahead, chain_posterior(reverse.T, null_source, of[1](pair.target_ids)).T


def chain_posteriors(pair):
    n, m = pair.n, pair.m
    extra = np.zeros((n, m))
    cosines, alike = cosine(pair)[..., 0], likeness(pair)
    for j, a in enumerate(pair.source):
        for k, b in enumerate(pair.target):
            extra[j, k] = chain.COSINE_EMISSION * max(cosines[j, k] - chain.COSINE_THRESHOLD, 0) ** 2
            name = kind_of(a) == "number" or (kind_of(a) == "word" and len(a) >= 4)
            if a == b and name:
                extra[j, k] += chain.SAME_NAME_EMISSION
            elif 0 in (pair.source_counts[j], pair.target_counts[k]):
                extra[j, k] += chain.SAME_NAME_EMISSION * alike[j, k]
    floors = [
        np.array([chain.EMISSION_FLOOR + chain.UNSEEN_EMISSION * (count == 0) for count in counts])
        for counts in (pair.source_counts, pair.target_counts)
    ]
    forward, reverse, *nulls = tables(pair)
    return both_chains(
        pair,
        forward + extra + floors[0][:, None],
        reverse + extra + floors[1][None],
        *(null + chain.EMISSION_FLOOR for null in nulls),
    )


def chain_group(pair):
    forward, reverse = chain_posteriors(pair)
    joint = np.sqrt(forward * reverse).round(12)  # so that equals are equal
    logs = np.vectorize(scaled_log)(joint * joint)
    return np.concatenate(
        [np.stack([forward, reverse, joint, logs], axis=2), shares_and_margins(joint)], axis=2
    )


def table_posteriors(pair):
    """The chain again, over the tables alone."""
    forward, reverse = both_chains(pair, *tables(pair))
    joint = np.sqrt(forward * reverse)
    logs = np.vectorize(scaled_log)(joint * joint)
    own = np.stack([forward, reverse, joint, logs], axis=2)
    return joint, np.concatenate([own, shares_and_margins(joint)], axis=2)


def posterior_group(pair):
    joint, own = table_posteriors(pair)
    padded = np.pad(joint, 1)
    before, after = padded[:-2, :-2], padded[2:, 2:]
    around = np.stack([before, after, np.sqrt(before * after)], axis=2)
    return np.concatenate([own, around], axis=2)


def context(pair):
    n, m = pair.n, pair.m
    forward, reverse = chain_posteriors(pair)
    h = np.sqrt(forward * reverse)

    def at(j, k):
        return h[j, k] if 0 <= j < n and 0 <= k < m else 0.0

    best = [
        (j, k) for j in range(n) for k in range(m) if h[j, k] == h[j].max() == h[:, k].max() and h[j, k] > 0.3
    ]
    result = np.zeros((n, m, 10))
    for j in range(n):
        for k in range(m):
            before = max((a for a in best if a[0] < j), default=(-1, -1))
            after = min((a for a in best if a[0] > j), default=(n, m))
            left = abs((k - before[1]) - (j - before[0]))
            right = abs((after[1] - k) - (after[0] - j))
            result[j, k] = [
                at(j - 1, k - 1),
                at(j + 1, k + 1),
                math.sqrt(at(j - 1, k - 1) * at(j + 1, k + 1)),
                sum(at(j + x, k + x) for x in (-3, -2, -1, 1, 2, 3)) / 6,
                *(value for d in (left, right) for value in (min(d, 10) / 10, d == 0, d == 1)),
            ]
    return result


TWINS = {
    "cosine": cosine,
    "product": product,
    "position": position,
    "spelling": spelling,
    "frequency": frequency,
    "lexical": lexical,
    "chain": chain_group,
    "context": context,
    "posterior": posterior_group,
    "partner": partner,
    "identity": identity,
    "concat": concat,
}
