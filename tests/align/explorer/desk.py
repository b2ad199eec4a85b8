"""A random desk: pairs with and without gold, two runs, two annotators; the same as plain lists for twins."""

from dataclasses import dataclass, field

import numpy as np

from align.explorer.store import NewLinks, NewPair, Store

SOURCE = ["The", "the", "house", "House", "red", "not", ",", "7", "Anna", "of", "ate", "n't"]
TARGET = ["La", "la", "maison", "rouge", "pas", ",", "7", "Anna", "de", "avons", "mangé", "ne"]


@dataclass
class Desk:
    """What was put into a store."""

    store: Store
    pairs: list[NewPair] = field(default_factory=list)  # pair 1 first
    runs: list[dict[int, list]] = field(default_factory=list)  # by pair: [source, target, confidence]
    scores: list[dict[int, float]] = field(default_factory=list)
    annotations: dict[str, dict[int, tuple[list, bool]]] = field(default_factory=dict)

    def truth(self, pair):
        """Return sure and possible cells that a pair is judged by, None where there are none."""
        mine = self.annotations.get(self.store.annotator, {})
        links = mine[pair][0] if pair in mine else self.pairs[pair - 1].gold
        if links is None:
            return None
        return {(s, t) for s, t, sure in links if sure}, {(s, t) for s, t, _ in links}

    def cells(self, run, pair):
        """Return the links of a run in a pair as a set."""
        return {(s, t) for s, t, _ in self.runs[run][pair]}


def made(path, *, pairs=60, seed=1):
    """Return a random desk in a new file."""
    generator = np.random.default_rng(seed)
    store = Store(path)
    desk = Desk(store)

    def some(words):
        return [words[i] for i in generator.integers(len(words), size=generator.integers(0, 9))]

    def links(source, target, value):
        cells = {
            (int(s), int(t))
            for s, t in zip(
                *(generator.integers(max(1, len(side)), size=len(source)) for side in (source, target)),
                strict=True,
            )
        }
        return [[s, t, value()] for s, t in sorted(cells) if s < len(source) and t < len(target)]

    for number in range(1, pairs + 1):
        source, target = some(SOURCE), some(TARGET)
        gold = links(source, target, lambda: int(generator.integers(4) > 0)) if number % 3 else None
        desk.pairs.append(NewPair("gold" if gold else "corpus", number, source, target, gold))
    store.add_pairs(desk.pairs)
    for run, name in enumerate(("one", "two")):
        store.add_run(name, "model")
        desk.runs.append({})
        desk.scores.append({})
        for pair, row in enumerate(desk.pairs, start=1):
            if run and pair % 7 == 0:
                continue  # not linked yet
            found = links(row.source, row.target, lambda: round(float(generator.random()), 4))
            if run and pair % 5 == 0:
                found = desk.runs[0][pair]
            desk.runs[run][pair] = found
            desk.scores[run][pair] = round(float(generator.random()), 4)
            store.put_links(run, [NewLinks(pair, row.source, row.target, found, desk.scores[run][pair])])
    for annotator in ("annotator", "ben"):
        of_one = desk.annotations[annotator] = {}
        for pair, row in enumerate(desk.pairs, start=1):
            if generator.integers(2):
                found = links(row.source, row.target, lambda: int(generator.integers(3) > 0))
                of_one[pair] = found, bool(generator.integers(4))
                store.set_annotation(annotator, pair, found, done=of_one[pair][1])
    return desk
