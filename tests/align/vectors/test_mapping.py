"""Two spaces into one: the map recovers a rotation, and the check tells a map from none."""

import numpy as np
import pytest

from align.data.vocabulary import Vocabulary
from align.vectors.dictionary import identical_pairs, read_dictionary
from align.vectors.mapping import (
    ROTATED,
    Check,
    apply,
    centre_rows,
    check,
    csls,
    fit,
    has_vector,
    mean_similarity,
    mutual_nearest,
    neighbourhood,
    refine,
    rotate,
    unit_rows,
)
from align.vectors.vec import read_vec


def rotation(dim, rng):
    return np.linalg.qr(rng.normal(size=(dim, dim)))[0]


def two_spaces(size, dim, *, noise=0.0, seed=0):
    """Vectors, and the same turned and blurred: word i of one side translates word i of the other."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(size, dim))
    target = source @ rotation(dim, rng) + noise * rng.normal(size=(size, dim))
    return unit_rows(source.astype(np.float32)), unit_rows(target.astype(np.float32))


def diagonal(count):
    return np.stack([np.arange(count)] * 2, axis=1)


def test_rows_get_length_one_and_zeros_stay():
    rows = unit_rows(np.array([[3, 4], [0, 0], [1e-20, 0]], dtype=np.float32))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0], [1, 0]], rtol=1e-6)
    assert unit_rows(np.zeros((0, 3), dtype=np.float32)).shape == (0, 3)


def test_centring_moves_only_rows_with_vectors():
    rows = np.array([[1, 0], [0, 0], [0, 1]], dtype=np.float32)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(centre_rows(rows), [[half, -half], [0, 0], [-half, half]], rtol=1e-6)
    assert has_vector(rows).tolist() == [True, False, True]


def test_centring_a_single_word_leaves_it():
    rows = np.array([[1, 0], [0, 0]], dtype=np.float32)
    np.testing.assert_array_equal(centre_rows(rows), rows)


@pytest.mark.parametrize("rows", [0, 1, ROTATED - 1, ROTATED, 2 * ROTATED + 7])
def test_rows_are_rotated_a_piece_at_a_time(rows):
    rng = np.random.default_rng(rows)
    matrix = rng.normal(size=(rows, 5)).astype(np.float32)
    turn = rotation(5, rng).astype(np.float32)
    turned = rotate(matrix, turn)
    assert turned.dtype == np.float32
    assert turned.shape == (rows, 5)
    np.testing.assert_allclose(turned, matrix.astype(float) @ turn, atol=1e-5)


def test_the_map_recovers_a_rotation():
    source, target = two_spaces(60, 8)
    learnt = fit(source, target, diagonal(40))
    assert (learnt.rank, learnt.pairs) == (8, 40)
    one, other = apply(source, learnt.source), apply(target, learnt.target)
    np.testing.assert_allclose(one, other, atol=1e-5)
    for side in (learnt.source, learnt.target):
        assert side.dtype == np.float32
        np.testing.assert_allclose(side.T @ side, np.eye(8), atol=1e-5)


def test_no_other_rotation_brings_the_pairs_closer():
    source, target = two_spaces(30, 5, noise=1.0)
    pairs = diagonal(30)
    learnt = fit(source, target, pairs)

    def closeness(source_map, target_map):
        return np.einsum("ip,ip->", source @ source_map, target @ target_map)

    best = closeness(learnt.source, learnt.target)
    rng = np.random.default_rng(3)
    assert all(closeness(rotation(5, rng), rotation(5, rng)) <= best for _ in range(200))
    # The sum of the singular values, by another way.
    assert best == pytest.approx(np.linalg.norm(target.T @ source, "nuc"), rel=1e-5)


def test_signs_are_fixed():
    source, target = two_spaces(40, 6, noise=0.3)
    learnt = fit(source, target, diagonal(40))
    largest = np.abs(learnt.source).argmax(axis=0)
    assert (learnt.source[largest, np.arange(6)] > 0).all()
    # Turning all vectors of both sides around changes nothing of the maps.
    again = fit(-source, -target, diagonal(40))
    np.testing.assert_allclose(again.source, learnt.source, atol=1e-5)
    np.testing.assert_allclose(again.target, learnt.target, atol=1e-5)


@pytest.mark.parametrize("count", [1, 3, 7])
def test_fewer_pairs_than_dimensions_use_only_the_directions_they_speak_of(count):
    source, target = two_spaces(50, 8)
    learnt = fit(source, target, diagonal(count))
    assert learnt.rank == count
    assert not learnt.source[:, count:].any()
    assert not learnt.target[:, count:].any()
    one, other = apply(source, learnt.source), apply(target, learnt.target)
    assert np.isfinite(one).all()
    np.testing.assert_allclose(one[:count], other[:count], atol=1e-5)


def test_no_pairs_make_a_map_to_nothing():
    source, target = two_spaces(5, 3)
    learnt = fit(source, target, np.zeros((0, 2), dtype=np.int64))
    assert learnt.rank == 0
    assert not apply(source, learnt.source).any()


def test_mean_similarity_by_hand():
    rows = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    assert mean_similarity(rows, rows, np.array([[0, 0], [0, 1]])) == pytest.approx(0.8)
    assert mean_similarity(rows, rows, np.zeros((0, 2), dtype=int)) is None


def slow_csls(source, target, nearest):
    cosines = source.astype(np.float64) @ target.T
    rows = [np.sort(row)[::-1][:nearest].mean() for row in cosines]
    columns = [np.sort(column)[::-1][:nearest].mean() for column in cosines.T]
    return 2 * cosines - np.array(rows)[:, None] - np.array(columns)[None, :]


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("nearest", [1, 3, 99])
def test_csls_agrees_with_its_definition(monkeypatch, chunk, nearest):
    monkeypatch.setattr("align.vectors.mapping.CHUNK", chunk)
    source, target = two_spaces(20, 4, noise=1.0)
    target = target[:13]
    means = [neighbourhood(*sides, nearest=nearest) for sides in ((source, target), (target, source))]
    scores = csls(source, target, *means)
    np.testing.assert_allclose(scores, slow_csls(source, target, nearest), atol=1e-5)


@pytest.mark.parametrize("chunk", [3, 1000])
def test_mutual_nearest_agrees_with_its_definition(monkeypatch, chunk):
    monkeypatch.setattr("align.vectors.mapping.CHUNK", chunk)
    source, target = two_spaces(40, 4, noise=0.5)
    target = target[:33]
    scores = slow_csls(source, target, 10)
    expected = [
        [x, y]
        for x, y in enumerate(scores.argmax(axis=1).tolist())
        if scores[:, y].argmax() == x
    ]  # fmt: skip
    assert mutual_nearest(source, target).tolist() == expected
    assert len(expected) > 3
    assert mutual_nearest(source[:0], target).shape == (0, 2)


def test_refinement_grows_a_small_dictionary():
    source, target = two_spaces(300, 10, noise=0.15)
    wrong = diagonal(12)
    start = fit(source, target, wrong)
    refined = refine(source, target, start, rounds=3)
    assert refined.pairs > 250
    held = diagonal(300)[12:]
    before, after = (
        mean_similarity(apply(source, each.source), apply(target, each.target), held)
        for each in (start, refined)
    )
    assert after > before + 0.01
    assert refine(source, target, start, rounds=0) is start


def test_refinement_leaves_words_without_vectors_alone():
    source, target = two_spaces(60, 6)
    source[::2] = 0
    refined = refine(source, target, fit(source, target, diagonal(60)[1::2]), rounds=1)
    assert refined.pairs == 30


def test_refinement_gives_up_where_it_would_lose_most_pairs():
    rng = np.random.default_rng(0)
    source, target = (unit_rows(rng.normal(size=(100, 50)).astype(np.float32)) for _ in range(2))
    start = fit(source[:80], target[:80], diagonal(80))
    target[:] = unit_rows(np.ones_like(target) + 1e-3 * target)
    assert refine(source, target, start, rounds=2) is start


def checked(source, target, pairs, candidates=1000):
    return check(source, target, pairs, candidates=candidates, rng=np.random.default_rng(0))


def test_the_check_tells_a_common_space():
    source, target = two_spaces(300, 10, noise=0.1)
    learnt = fit(source, target, diagonal(200))
    sides = apply(source, learnt.source), apply(target, learnt.target)
    result = checked(*sides, diagonal(300)[200:])
    assert result.pairs == 100
    assert result.candidates == 300
    assert result.cosine > 0.9
    assert abs(result.random) < 0.05
    assert result.gap == pytest.approx(result.cosine - result.random)
    assert result.precision > 0.95
    assert result.precision_csls > 0.95


def test_the_check_tells_that_there_is_none():
    source, _ = two_spaces(300, 10, seed=1)
    _, target = two_spaces(300, 10, seed=2)
    learnt = fit(source, target, diagonal(200))
    result = checked(apply(source, learnt.source), apply(target, learnt.target), diagonal(300)[200:])
    assert abs(result.gap) < 0.1
    assert result.precision < 0.1


def test_precision_counts_source_words_and_any_of_their_translations():
    rows = np.eye(4, dtype=np.float32)
    pairs = np.array([[0, 3], [0, 0], [1, 2], [2, 2]])
    result = checked(rows, rows, pairs)
    assert result.precision == pytest.approx(2 / 3)
    # The third target word is no candidate: its source word cannot be right.
    assert checked(rows, rows, pairs, candidates=2).precision == pytest.approx(1 / 3)


def test_a_hub_is_kept_down_by_csls():
    """Target word 0 is near to all source words, word i + 1 to source word i alone, a little less."""
    source = np.eye(5, dtype=np.float32)
    target = unit_rows(
        np.concatenate([np.ones((1, 5)), np.eye(5) * 0.5 + 0.17 * (1 - np.eye(5))]).astype(np.float32)
    )
    target[1:] *= 0.0
    target[1:] += (
        unit_rows((0.4 * np.eye(5) - 0.35 * np.roll(np.eye(5), 1, axis=1)).astype(np.float32)) * 0.44
    )
    pairs = np.stack([np.arange(5), np.arange(5) + 1], axis=1)
    result = checked(source, target, pairs)
    assert result.precision == 0.0
    assert result.precision_csls == 1.0


def test_a_check_of_no_pairs_has_no_numbers():
    rows = np.eye(3, dtype=np.float32)
    result = checked(rows, rows, np.zeros((0, 2), dtype=int))
    assert result == Check(0)
    assert result.gap is None


@pytest.fixture(scope="module")
def published():
    """Return a function that reads the measuring vectors, once."""
    kept = {}

    def read(real_data):
        if not kept:
            for side in ("en", "fr"):
                words = names(real_data(f"vectors/europarl.{side}.vec.gz"))
                vectors = read_vec(real_data(f"vectors/europarl.{side}.vec.gz"), words)
                vocabulary = Vocabulary(words, np.arange(len(words), 0, -1))
                kept[side] = vocabulary, unit_rows(vectors.matrix)
        return [kept[side] for side in ("en", "fr")]

    return read


def names(path):
    import gzip

    with gzip.open(path) as lines:
        next(lines)
        return [line.split(b" ", 1)[0].decode() for line in lines]


@pytest.mark.parametrize(
    ("seeds", "rounds", "floor"), [("dictionary", 0, 0.37), ("identical", 0, 0.33), ("identical", 2, 0.35)]
)
def test_translation_precision_of_published_vectors(real_data, published, seeds, rounds, floor):
    """Source words of the 2,000 test entries that have vectors; one is right if its nearest word is."""
    (english, source), (french, target) = published(real_data)
    test = real_data("dict/yacle.test.freq.2k.en-fr.tsv")
    if seeds == "dictionary":
        train = real_data("dict/yacle.train.freq.5k.en-fr.tsv")
        pairs, _ = read_dictionary(train, english, french)
    else:
        pairs = identical_pairs(english, french)
    learnt = refine(source, target, fit(source, target, pairs), rounds=rounds)
    sides = apply(source, learnt.source), apply(target, learnt.target)
    held, _ = read_dictionary(test, english, french)
    asked = {line.split(b"\t")[0].decode() for line in test.read_bytes().split(b"\n") if line}
    result = checked(*sides, held, candidates=20_000)
    right = result.precision * len(np.unique(held[:, 0]))
    assert right / sum(word in english.index for word in asked) >= floor
    assert result.precision_csls >= result.precision
    assert result.gap > 0.3
