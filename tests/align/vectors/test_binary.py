"""Binary fastText models, against what fastText itself says of them."""

import gzip
import struct

import fasttext
import numpy as np
import pytest

from align.core.errors import InputError
from align.vectors.binary import Subwords, is_model, read_model
from align.vectors.rows import MAGIC

TEXT = """\
the cat sat on the mat and the dog sat on the log
le chat était assis sur le tapis et l'élève naïf mangeait
the cat and the dog are not friends
日本語 の 文 です
"""
HEAD = 4 + 4 + 12 * 4 + 8  # magic, version, settings


def trained(folder, *, bucket=500, minn=2, maxn=5):
    text = folder / "text.txt"
    text.write_text(TEXT * 5, encoding="utf-8", newline="\n")
    model = fasttext.train_unsupervised(
        str(text), dim=7, epoch=1, minCount=2, bucket=bucket, minn=minn, maxn=maxn, thread=1, verbose=0
    )
    model.save_model(str(folder / "model.bin"))
    return model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return trained(folder), folder / "model.bin"


def directions(rows):
    """Scale to length one: some versions of fastText do, before they hand a vector out."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def expected(reference, words):
    return directions(np.array([reference.get_word_vector(word) for word in words]))


def damaged(model, tmp_path, change):
    path = tmp_path / "damaged.bin"
    path.write_bytes(change(model[1].read_bytes()))
    return path


def test_known_and_unknown_words_have_fasttexts_own_vectors(model):
    reference, path = model
    known = ["the", "cat", "était", "l'élève", "日本語", "の", "</s>"]
    unknown = ["cats", "mathématique", "語", "xyzzy", "a"]
    vectors = read_model(path, known + unknown)
    np.testing.assert_allclose(directions(vectors.matrix), expected(reference, known + unknown), atol=1e-5)
    own = vectors.matrix[known.index("</s>")]
    np.testing.assert_allclose(own, reference.get_input_vector(reference.get_word_id("</s>")), atol=1e-7)
    assert vectors.found.all()
    assert vectors.matrix.dtype == np.float32
    assert vectors.report.lookups == {"exact": 7, "lower": 0, "spelling": 0, "subwords": 5}
    assert vectors.report.dim == 7


@pytest.mark.parametrize("settings", [{"minn": 1, "maxn": 1}, {"minn": 4, "maxn": 4}, {"minn": 1, "maxn": 6}])
def test_every_length_of_n_grams(tmp_path, settings):
    reference = trained(tmp_path, **settings)
    words = ["the", "été", "xyz", "unknowable"]
    found = read_model(tmp_path / "model.bin", words).matrix
    np.testing.assert_allclose(directions(found), expected(reference, words), atol=1e-5)


def test_without_n_grams_unknown_words_have_no_vector(tmp_path):
    reference = trained(tmp_path, minn=0, maxn=0)
    vectors = read_model(tmp_path / "model.bin", ["the", "unknowable"])
    np.testing.assert_allclose(directions(vectors.matrix[:1]), expected(reference, ["the"]), atol=1e-5)
    assert vectors.found.tolist() == [True, False]
    assert not vectors.matrix[1].any()


def test_other_spellings_are_found_before_n_grams_are_used(model):
    reference, path = model
    vectors = read_model(path, ["The", "l’élève", "THE"])
    words = ["the", "l'élève", "the"]
    np.testing.assert_allclose(directions(vectors.matrix), expected(reference, words), atol=1e-5)
    assert vectors.report.lookups == {"exact": 0, "lower": 2, "spelling": 1, "subwords": 0}


def test_n_grams_are_those_of_fasttext(model):
    reference, _ = model
    subwords = Subwords(2, 5, 500)
    for word in ["naïf", "日本", "l'eau"]:
        rows = (reference.get_subwords(word)[1] - len(reference.words)).tolist()
        assert subwords.rows(word) == [row for row in rows if row >= 0]


def test_packed_models_are_read_as_they_go_by(model, tmp_path):
    path = tmp_path / "model.bin.gz"
    path.write_bytes(gzip.compress(model[1].read_bytes()))
    assert is_model(path)
    assert is_model(model[1])
    np.testing.assert_array_equal(
        read_model(path, ["the", "cats"]).matrix, read_model(model[1], ["the", "cats"]).matrix
    )


def test_a_text_file_is_no_model(tmp_path):
    path = tmp_path / "words.vec"
    path.write_text("the 1 2 3\n", encoding="utf-8", newline="\n")
    assert not is_model(path)
    with pytest.raises(InputError, match=r"words\.vec: not a fastText model; give a \.bin or a \.vec file"):
        read_model(path, ["the"])


@pytest.mark.parametrize("share", [0.001, 0.02, 0.05, 0.3, 0.6, 0.9, 0.9999])
def test_a_model_that_is_cut_off_is_refused(model, tmp_path, share):
    path = damaged(model, tmp_path, lambda data: data[: max(4, int(share * len(data)))])
    with pytest.raises(
        InputError, match=r"damaged\.bin: a fastText model that is cut off; get the file again"
    ):
        read_model(path, ["the"])


def test_a_model_of_another_version_or_size_is_refused(model, tmp_path):
    other = damaged(model, tmp_path, lambda data: data[:4] + struct.pack("<i", 99) + data[8:])
    with pytest.raises(InputError, match="of version 99 with 7 dimensions; give one of version 12"):
        read_model(other, ["the"])
    huge = damaged(model, tmp_path, lambda data: data[:8] + struct.pack("<i", 2**31 - 1) + data[12:])
    with pytest.raises(InputError, match="with 2147483647 dimensions; give"):
        read_model(huge, ["the"])


def test_sizes_that_contradict_each_other_are_refused(model, tmp_path):
    path = damaged(model, tmp_path, lambda data: data[:8] + struct.pack("<i", 8) + data[12:])
    with pytest.raises(
        InputError, match="a damaged fastText model: .* rows of 7 numbers where .* of 8 are due"
    ):
        read_model(path, ["the"])
    counts = struct.pack("<3i2q", 2**31 - 1, 2**31 - 1, 0, 9, -1)
    huge = damaged(model, tmp_path, lambda data: data[:HEAD] + counts + data[HEAD + len(counts) :])
    with pytest.raises(InputError, match="a fastText model that is cut off"):
        read_model(huge, ["the"])
    wrong = struct.pack("<3i2q", -1, 3, 0, 9, -1)
    negative = damaged(model, tmp_path, lambda data: data[:HEAD] + wrong + data[HEAD + len(wrong) :])
    with pytest.raises(InputError, match="damaged or quantized fastText model"):
        read_model(negative, ["the"])


def test_a_vocabulary_that_never_ends_is_refused_early(tmp_path):
    path = tmp_path / "endless.bin"
    settings = struct.pack("<12id", 7, 5, 1, 1, 5, 1, 1, 2, 500, 2, 5, 100, 1e-4)
    counts = struct.pack("<3i2q", 10, 10, 0, 9, -1)
    path.write_bytes(MAGIC + struct.pack("<i", 12) + settings + counts + b"x" * 9_000_000)
    with pytest.raises(InputError, match=r"endless\.bin: a damaged fastText model; get the file again"):
        read_model(path, ["the"])


def test_quantized_models_are_refused(model, tmp_path):
    matrix = model[1].read_bytes().find(struct.pack("<2q", len(model[0].words) + 500, 7)) - 1

    def quantize(data):
        return data[:matrix] + b"\1" + data[matrix + 1 :]

    with pytest.raises(InputError, match="a quantized fastText model; give the .bin or .vec file"):
        read_model(damaged(model, tmp_path, quantize), ["the"])


def test_numbers_that_are_not_finite_leave_the_word_without_vector(model, tmp_path):
    reference, path = model
    start = path.read_bytes().find(struct.pack("<2q", len(reference.words) + 500, 7)) + 16
    row = start + 4 * 7 * reference.get_word_id("cat")
    nan = damaged(model, tmp_path, lambda data: data[:row] + struct.pack("<f", np.nan) + data[row + 4 :])
    vectors = read_model(nan, ["the", "cat"])
    assert vectors.found.tolist() == [True, False]
    assert np.isfinite(vectors.matrix).all()
    assert vectors.report.bad == {"number": 1}


def test_many_words_take_many_steps(model, monkeypatch):
    words = [f"word{number}" for number in range(300)]
    whole = read_model(model[1], words).matrix
    monkeypatch.setattr("align.vectors.binary.STEP", 1000)
    monkeypatch.setattr("align.vectors.binary.ROWS", 7)
    np.testing.assert_allclose(read_model(model[1], words).matrix, whole, atol=1e-6)


def test_whatever_is_damaged_the_model_is_read_or_refused(model, tmp_path):
    rng = np.random.default_rng(0)
    data = bytearray(model[1].read_bytes())
    matrices = data.find(struct.pack("<2q", len(model[0].words) + 500, 7))
    path = tmp_path / "damaged.bin"
    for _ in range(60):
        changed = bytearray(data)
        changed[int(rng.integers(4, matrices + 16))] = int(rng.integers(256))
        path.write_bytes(changed)
        try:
            vectors = read_model(path, ["the", "cats"])
        except InputError:
            continue
        assert np.isfinite(vectors.matrix).all()
