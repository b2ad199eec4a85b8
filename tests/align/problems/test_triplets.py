import numpy as np
import pytest

from align.core.errors import InputError
from align.problems.triplets import TripletProblem, read_triplets
from tests.align.solvers.problems import bcfw

FACE = "http://faces.example/{}.jpg,0.1,0.9,0.2,0.8"


def line(*votes, kind="ONE_CLASS_TRIPLET", faces=("a", "b", "c")):
    return ",".join([*(FACE.format(face) for face in faces), kind, *(f"judge,{vote}" for vote in votes)])


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a table and embeddings: texts of lines, array -> their paths."""

    def write(lines, embeddings=None):
        table, array = tmp_path / "triplets.csv", tmp_path / "faces.npy"
        table.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
        if embeddings is None:
            embeddings = np.random.default_rng(0).normal(size=(len(lines), 3, 4))
        np.save(array, embeddings)
        return table, array

    return write


@pytest.mark.parametrize("similarity", ["distance", "product"])
def test_the_closest_pair_is_found_among_all(similarity):
    generator = np.random.default_rng(0)
    e = generator.normal(size=(50, 3, 4))
    problem = TripletProblem(e, np.zeros(50, dtype=int), similarity=similarity)
    for w in generator.normal(size=(10, 4)):
        expected = []
        for own in e:
            score = {}
            for k, (a, b) in enumerate(((1, 2), (0, 2), (0, 1))):
                product = similarity == "product"
                score[k] = w @ (own[a] * own[b]) if product else -w @ (own[a] - own[b]) ** 2
            expected.append(max(score, key=score.get))
        assert problem.predict(w, e).tolist() == expected


@pytest.mark.parametrize("metric", [False, True])
def test_dimensions_that_matter_are_learnt(metric):
    """People look at two of six dimensions, and are sometimes wrong."""
    generator = np.random.default_rng(1)
    e = generator.normal(size=(600, 3, 6))
    truth = np.array([2.0, 1.0, 0, 0, 0, 0])
    odd = TripletProblem(e, np.zeros(600, dtype=int)).predict(truth, e)
    noisy = np.where(generator.random(600) < 0.1, generator.integers(0, 3, 600), odd)
    problem = TripletProblem(e[:400], noisy[:400], metric=metric)
    assert problem.nonnegative == (0 if metric else 6)
    fit = bcfw(problem, lam=0.01, passes=300, tolerance=0.01)
    assert fit.status == "converged"
    assert (problem.predict(fit.weights, e[400:]) == odd[400:]).mean() > 0.85
    assert (problem.predict(np.ones(6), e[400:]) == odd[400:]).mean() < 0.75
    if metric:
        assert (fit.weights >= 0).all()
    assert fit.weights[:2].min() > 2 * np.abs(fit.weights[2:]).max()


def test_votes_are_counted(files):
    lines = [line(1, 1, 2), line(1, 2), line(3), line(2, 3, 2, 3, 1), line(2, 2, 3, 3, 2, 1)]
    embeddings = np.arange(5 * 3 * 2, dtype=np.float32).reshape(5, 3, 2)
    found = read_triplets(*files(lines, embeddings))
    assert found.odd.tolist() == [0, 2, 1]
    assert found.lines.tolist() == [1, 3, 5]
    assert found.undecided == 2
    np.testing.assert_array_equal(found.embeddings, embeddings[[0, 2, 4]])
    assert found.embeddings.dtype == np.float64
    TripletProblem(found.embeddings, found.odd)


def test_lines_filled_up_and_quoted_addresses_are_read(files):
    text = line(2).replace("http://faces.example/a.jpg", '"http://faces.example/a,b.jpg"') + ",,,"
    assert read_triplets(*files([text])).odd.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (line(), "line 2: 16 values; give 16 of the faces and kind, then a name and a vote"),
        (line(1) + ",judge", "line 2: 19 values"),
        ("", "line 2: 0 values"),
        (line(4), "line 2: the vote '4'; give 1, 2 or 3"),
        (line("x"), "line 2: the vote 'x'"),
        (line(1).replace("b.jpg,0.1", "b.jpg,1.5"), "line 2: '1.5' in the box of face 2"),
        (line(1).replace("c.jpg,0.1", "c.jpg,nan"), "line 2: 'nan' in the box of face 3"),
        (line(1).replace("a.jpg,0.1", "a.jpg,left"), "line 2: 'left' in the box of face 1"),
    ],
)
def test_a_wrong_line_is_named(files, text, told):
    with pytest.raises(InputError, match=rf"triplets\.csv, {told}"):
        read_triplets(*files([line(1), text], np.zeros((2, 3, 1))))


@pytest.mark.parametrize(
    ("embeddings", "told"),
    [
        (np.zeros((1, 3, 4)), "embeddings of 1 triplets, .*csv has 2; give as many"),
        (np.zeros((2, 2, 4)), r"shape \(2, 2, 4\); give floats of shape \(triplets, 3, p\)"),
        (np.zeros((2, 3, 0)), r"shape \(2, 3, 0\)"),
        (np.zeros((6, 4)), r"shape \(6, 4\)"),
        (np.zeros((2, 3, 4), dtype=int), "an array of int64"),
        (np.full((2, 3, 4), np.nan), "NaN or infinite; embed the faces again"),
    ],
)
def test_wrong_embeddings_are_refused(files, embeddings, told):
    with pytest.raises(InputError, match=told):
        read_triplets(*files([line(1), line(2)], embeddings))


def test_files_that_cannot_be_read_are_named(files, tmp_path):
    table, array = files([line(1)])
    with pytest.raises(InputError, match=r"none\.csv: .*; give a UTF-8 table"):
        read_triplets(tmp_path / "none.csv", array)
    with pytest.raises(InputError, match=r"none\.npy: missing; give an \.npy file"):
        read_triplets(table, tmp_path / "none.npy")
    with pytest.raises(InputError, match="no triplet on whose odd one most annotators agree"):
        read_triplets(*files([line(1, 2)]))
    with pytest.raises(InputError, match="no triplets"):
        read_triplets(*files([], np.zeros((0, 3, 1))))
    table.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_triplets(table, array)


@pytest.mark.parametrize(
    ("e", "odd", "options", "told"),
    [
        (np.zeros((2, 3, 1)), [0, 3], {}, "0 to 2"),
        (np.zeros((2, 3, 1)), [0], {}, "2 triplets, odd ones of shape"),
        (np.zeros((0, 3, 1)), [], {}, "at least one"),
        (np.zeros((2, 2, 1)), [0, 1], {}, r"embeddings of shape \(2, 2, 1\)"),
        (np.full((2, 3, 1), np.inf), [0, 1], {}, "finite ones"),
        (np.zeros((2, 3, 1)), [0, 1], {"similarity": "cosine"}, "'cosine'; give one of distance, product"),
    ],
)
def test_wrong_input_is_refused(e, odd, options, told):
    with pytest.raises(ValueError, match=told):
        TripletProblem(e, np.array(odd, dtype=int), **options)


def test_prediction_needs_the_dimensions_of_training():
    problem = TripletProblem(np.zeros((1, 3, 2)), np.array([0]))
    with pytest.raises(ValueError, match="3 dimensions"):
        problem.predict(np.zeros(2), np.zeros((1, 3, 3)))
