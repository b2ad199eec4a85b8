"""Two annotators of a desk against the functions that ``score --agreement`` uses, on the same links."""

import json

import pytest

from align.evaluation import metrics
from align.evaluation.agreement import FIGURES, tables
from align.evaluation.agreement import agreement as measured
from align.explorer import agreement as module
from align.explorer.agreement import agreement
from align.links import Link
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    made = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite", seed=4)
    yield made
    made.store.close()


def compared(desk, a="annotator", b="ben", **options):
    with desk.store.reading() as connection:
        return agreement(connection, a, b, **options)


def done(desk):
    both = (desk.annotations[name] for name in ("annotator", "ben"))
    first, second = both
    return [pair for pair in sorted(first) if pair in second and first[pair][1] and second[pair][1]]


def links(desk, name, pairs):
    return [[Link(s, t, bool(sure)) for s, t, sure in desk.annotations[name][pair][0]] for pair in pairs]


@pytest.mark.parametrize("block", [3, 500])
def test_figures_of_the_pairs_both_have_done(desk, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    found, pairs = compared(desk, samples=100, seed=5), done(desk)
    ours, theirs = links(desk, "annotator", pairs), links(desk, "ben", pairs)
    sizes = [len(desk.pairs[pair - 1].source) * len(desk.pairs[pair - 1].target) for pair in pairs]
    expected = measured(tables(ours, theirs, sizes), samples=100, seed=5)
    assert (found["pairs"], found["cells"]) == (len(pairs), sum(sizes))
    for name in FIGURES:
        assert found[name] == [getattr(expected, name), *expected.intervals[name]]
    assert found["aer_ab"][0] == metrics.score(metrics.statistics(theirs, ours)).aer
    assert found["aer_ba"][0] == metrics.score(metrics.statistics(ours, theirs)).aer
    assert found["table"] == tables(ours, theirs, sizes).sum(axis=0).tolist()
    first, second = desk.annotations["annotator"], desk.annotations["ben"]
    assert found["begun"] == len(set(first) & set(second)) - len(pairs) > 0


def test_where_they_differ(desk):
    found = compared(desk, rows=None)["differing"]
    expected = {}
    for pair in done(desk):
        ours, theirs = (
            {link[:2]: link.sure for link in links(desk, n, [pair])[0]} for n in ("annotator", "ben")
        )
        counts = (
            len(ours.keys() - theirs.keys()),
            len(theirs.keys() - ours.keys()),
            sum(ours[cell] != theirs[cell] for cell in ours.keys() & theirs.keys()),
        )
        if any(counts):
            expected[pair] = counts
    assert {row["id"]: (row["only_a"], row["only_b"], row["unlike"]) for row in found} == expected
    sums = [row["only_a"] + row["only_b"] + row["unlike"] for row in found]
    assert sums == sorted(sums, reverse=True)
    few = compared(desk, rows=2)
    assert (few["differing"], few["differ"]) == (found[:2], len(found))
    assert found[0]["number"] == found[0]["id"]


def test_one_agrees_with_himself(desk):
    found = compared(desk, b="annotator")
    assert found["kappa"] == found["kappa_kinds"] == [1.0, 1.0, 1.0]
    assert (found["aer_ab"][0], found["aer_ba"][0], found["differing"]) == (0.0, 0.0, [])


def test_somebody_who_has_done_nothing(desk):
    found = compared(desk, b="nobody")
    assert (found["pairs"], found["kappa"], found["f1"], found["differing"]) == (0, None, None, [])
    json.dumps(found, allow_nan=False)
