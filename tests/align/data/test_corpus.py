"""A corpus on the disk: blocks of it are read alone."""

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences

CORPUS = Corpus(
    Sentences.from_lists([[3, 1], [], [2], [4, 4, 5]], [[0, 0], [], [7], [1, 2, 3]]),
    Sentences.from_lists([[1], [2, 3], [], [9]]),
)


def equal(one, other):
    return all(
        np.array_equal(getattr(getattr(one, side), name), getattr(getattr(other, side), name))
        for side in ("source", "target")
        for name in ("ids", "offsets", "parents")
    )


def test_blocks_are_read_alone(tmp_path):
    CORPUS.save(tmp_path)
    assert equal(Corpus.load(tmp_path), CORPUS)
    for start, stop in ((0, 4), (0, 0), (1, 2), (2, 4), (4, 4)):
        assert equal(Corpus.load_block(tmp_path, start, stop), CORPUS.block(start, stop))


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_shapes_are_read_alone(tmp_path, monkeypatch, piece):
    monkeypatch.setattr("align.data.corpus._PIECE", piece)
    CORPUS.save(tmp_path)
    for name in ("ids", "parents"):
        (tmp_path / f"source.{name}.npy").unlink()
    shapes = Corpus.load_shapes(tmp_path)
    assert shapes.dtype == np.int32
    assert shapes.tolist() == [[2, 1], [0, 2], [1, 0], [3, 1]]
    assert Corpus.load_count(tmp_path) == 4
    np.save(tmp_path / "target.offsets.npy", np.zeros(3, dtype=np.int64))
    with pytest.raises(InputError, match=r"target\.offsets\.npy: .*no rows"):
        Corpus.load_shapes(tmp_path)


CHOICES = ([], [2], [0, 1, 3], [1, 1, 2], [3, 0, 2, 1])


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_chosen_pairs_are_read_alone(tmp_path, chosen):
    CORPUS.save(tmp_path)
    chosen = np.array(chosen, dtype=np.int64)
    assert equal(Corpus.load_chosen(tmp_path, chosen), CORPUS.take(chosen))


def test_a_block_that_is_not_there(tmp_path):
    CORPUS.save(tmp_path)
    with pytest.raises(InputError, match=r"source\.offsets\.npy: .*no rows 3 to 6"):
        Corpus.load_block(tmp_path, 3, 5)
    np.save(tmp_path / "target.parents.npy", np.zeros(2, dtype=np.int32))
    with pytest.raises(InputError, match=r"target\.parents\.npy: .*no rows"):
        Corpus.load_block(tmp_path, 2, 4)
