"""The record of labelled links."""

import numpy as np
import pytest

from align.links import Link
from align.problems.labels import Labels


def pairs_of(labels):
    return [
        list(
            zip(
                labels.source[a:b].tolist(),
                labels.target[a:b].tolist(),
                labels.sure[a:b].tolist(),
                strict=True,
            )
        )
        for a, b in zip(labels.offsets[:-1], labels.offsets[1:], strict=True)
    ]


@pytest.fixture
def labels():
    return Labels.from_lists(
        [[Link(1, 2), Link(0, 0), Link(0, 1, False)], [], [Link(1, 0, False), Link(0, 0)]]
    )


def test_lists_are_kept_in_order(labels):
    assert len(labels) == 3
    assert pairs_of(labels) == [
        [(0, 0, True), (0, 1, False), (1, 2, True)],
        [],
        [(0, 0, True), (1, 0, False)],
    ]
    assert labels.counts().tolist() == [2, 0, 1]
    assert labels.source.dtype == labels.target.dtype == np.int32
    assert labels.sure.dtype == bool


def test_dense_labels_are_laid_out_edge_by_edge(labels):
    shapes = np.array([[2, 3], [0, 4], [2, 1]], dtype=np.int32)
    gold, free = labels.dense(shapes)
    assert np.flatnonzero(gold).tolist() == [0, 5, 6]
    assert np.flatnonzero(free).tolist() == [1, 7]
    assert len(gold) == len(free) == 8
    back = Labels.from_edges(gold, shapes)
    assert pairs_of(back) == [[(0, 0, True), (1, 2, True)], [], [(0, 0, True)]]


def test_dense_labels_fit_their_pairs(labels):
    with pytest.raises(ValueError, match="labels: of 3 pairs, not 2"):
        labels.dense(np.array([[2, 3], [1, 1]], dtype=np.int32))
    with pytest.raises(ValueError, match="labels: a link lies outside its pair"):
        labels.dense(np.array([[2, 2], [1, 1], [2, 1]], dtype=np.int32))


def test_blocks_choices_and_joins(labels):
    assert pairs_of(labels.block(1, 3)) == pairs_of(labels)[1:]
    assert pairs_of(labels.take(np.array([2, 0, 2]))) == [pairs_of(labels)[i] for i in (2, 0, 2)]
    assert pairs_of(Labels.join([labels.block(0, 1), labels.block(1, 3)])) == pairs_of(labels)
    assert len(Labels.join([])) == 0
    assert len(labels.take(np.zeros(0, dtype=np.int64))) == 0


def test_what_is_saved_is_what_is_loaded(labels, tmp_path):
    labels.save(tmp_path / "label")
    loaded = Labels.load(tmp_path / "label")
    assert pairs_of(loaded) == pairs_of(labels)
    assert loaded.offsets.dtype == np.int64
