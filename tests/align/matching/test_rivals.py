"""The best matchings without and with an edge, against all matchings of small pairs, each tried."""

import numpy as np
import pytest

from align.matching.fertility import total
from align.matching.rivals import best, best_with, best_without
from tests.align.matching.test_fertility import KINDS, fits, random_instance


def all_matchings(theta, costs, max_fertility):
    """Return every set of edges that fits, with its value."""
    n, m = theta.shape
    for number in range(2 ** (n * m)):
        links = np.array([number >> edge & 1 for edge in range(n * m)], dtype=bool).reshape(n, m)
        if fits(links, max_fertility):
            yield links, total(theta, *costs, links)


@pytest.mark.parametrize("max_fertility", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_against_trying_all(kind, max_fertility):
    generator = np.random.default_rng(5)
    for _ in range(6):
        n, m = generator.integers(1, 4, 2)
        theta, *costs = random_instance(generator, kind, n, m)
        if max_fertility == 1:
            costs = [np.zeros(n), np.zeros(m)]
        tried = list(all_matchings(theta, costs, max_fertility))
        given = {"costs": None if max_fertility == 1 else tuple(costs), "max_fertility": max_fertility}
        tolerance = 1e-9 * max(1.0, np.abs(theta).max())
        assert best(theta, **given).value == pytest.approx(max(v for _, v in tried), abs=tolerance)
        edges = [(int(generator.integers(n)), int(generator.integers(m))) for _ in range(2)]
        for found, fitting in (
            (best_without(theta, edges, **given), [v for y, v in tried if not any(y[e] for e in edges)]),
            (best_with(theta, edges, **given), [v for y, v in tried if any(y[e] for e in edges)]),
        ):
            assert found.value == pytest.approx(max(fitting), abs=tolerance)
            assert found.value == pytest.approx(total(theta, *costs, found.links), abs=tolerance)
            assert fits(found.links, max_fertility)
        assert not any(best_without(theta, edges, **given).links[e] for e in edges)
        assert any(best_with(theta, edges, **given).links[e] for e in edges)


def test_what_cannot_be_asked():
    with pytest.raises(ValueError, match="no edge that could be forced"):
        best_with(np.ones((1, 1)), [])
    with pytest.raises(ValueError, match="no costs of words"):
        best(np.ones((1, 1)), max_fertility=2)
