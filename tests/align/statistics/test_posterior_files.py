"""Posteriors written block by block: the same files as those of all written at once."""

import numpy as np

from align.statistics.posterior_files import PosteriorAppender
from align.statistics.posteriors import Posteriors


def some(pairs, seed):
    generator = np.random.default_rng(seed)
    shapes = generator.integers(0, 5, (pairs, 2))
    edges = int(shapes.prod(axis=1).sum())
    return Posteriors.of(shapes, *generator.integers(0, 2000, (2, edges)).astype(np.uint16))


def test_blocks_make_the_files_of_the_whole(tmp_path):
    rows = [np.array([1, 2, 5]), np.array([6]), np.zeros(0, dtype=np.int64), np.array([7, 9])]
    blocks = [some(len(own), seed) for seed, own in enumerate(rows)]
    with PosteriorAppender(tmp_path / "blocks", 11) as out:
        for own, block in zip(rows, blocks, strict=True):
            out.append(own, block)
    Posteriors.join(blocks).placed(np.concatenate(rows), 11).save(tmp_path / "whole")
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "blocks").iterdir())
    for name in names:
        assert (tmp_path / "blocks" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert Posteriors.load(tmp_path / "blocks").sampled.sum() == 6
