"""Signs of text that is made for the tests: sentences of random lengths, numbers and names in some."""

import random

import numpy as np

from align.data.anchors import line_signs, text_tokens
from align.data.shifted_lines import scan

SHARD = 2048


def translations(count, seed=0):
    """Return the lines of two sides, each beside its translation."""
    rng = random.Random(seed)
    sides = [], []
    for _ in range(count):
        size = int(rng.lognormvariate(2.6, 0.6)) + 1
        name = [f"Name{rng.randrange(4 * count)}"] if rng.random() < 0.3 else []
        for lines, word in zip(sides, ("word", "mot"), strict=True):
            lines.append(" ".join([word] * max(1, size + round(rng.gauss(0, 0.12 * size))) + name))
    return sides


def signs(source, target):
    """Return the signs of lines; empty ones are out of use."""
    used = np.array([bool(one and other) for one, other in zip(source, target, strict=True)], dtype=bool)
    return line_signs(text_tokens(source), text_tokens(target), used)


def found(source, target):
    """Return what is found in a text that comes in shards."""
    shards = range(0, len(source), SHARD)
    return scan(signs(source[start : start + SHARD], target[start : start + SHARD]) for start in shards)
