"""Vectors as text: every way a file is written, or goes wrong, that has been met in the wild."""

import gzip
import lzma
import tracemalloc

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from align.core.errors import InputError
from align.data.vocabulary import Vocabulary
from align.vectors.rows import parse_numbers, split_row
from align.vectors.vec import coverage, read_vec

CAT = "cat 0.25 -1.5 3e-2"
DOG = "dog 1 2 -0.5"


def write(tmp_path, *rows, name="words.vec", end="\n"):
    path = tmp_path / name
    text = [row if isinstance(row, bytes) else row.encode() for row in rows]
    path.write_bytes(end.encode().join(text) + end.encode())
    return path


def filler(count, dim=3):
    return [f"w{number} " + " ".join(["0.5"] * dim) for number in range(count)]


@pytest.mark.parametrize(
    "pack",
    [lambda data: data, gzip.compress, lzma.compress, lambda data: zstandard.ZstdCompressor().compress(data)],
    ids=["plain", "gz", "xz", "zst"],
)
def test_packed_files_are_told_by_their_content(tmp_path, pack):
    path = tmp_path / "misnamed.txt"
    path.write_bytes(pack(f"{CAT}\n{DOG}\n".encode()))
    assert read_vec(path, ["cat", "dog"]).found.all()


@pytest.mark.parametrize("end", [" \n", "\r\n", " \r\n"])
def test_white_space_at_the_end_of_rows_is_nothing(tmp_path, end):
    vectors = read_vec(write(tmp_path, "2 3", CAT, DOG, end=end), ["cat"])
    assert vectors.matrix.tolist() == [[0.25, -1.5, np.float32(0.03)]]


def test_tabs_and_runs_of_spaces_part_fields_too(tmp_path):
    vectors = read_vec(write(tmp_path, "cat\t0.25\t-1.5\t3e-2", "dog  1 2  -0.5"), ["cat", "dog"])
    assert vectors.found.all()


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path):
    assert read_vec(write(tmp_path, "\ufeff" + CAT, DOG), ["cat"]).found.all()
    assert read_vec(write(tmp_path, "\ufeff2 3", CAT, DOG), ["cat"]).report.header == 2


def test_the_last_line_needs_no_end(tmp_path):
    path = tmp_path / "words.vec"
    path.write_bytes(f"{CAT}\n{DOG}".encode())
    assert read_vec(path, ["dog"]).found.all()


@pytest.mark.parametrize(
    ("row", "word", "numbers"),
    [
        (b". . 0.1 0.2", b". .", b"0.1 0.2"),
        ("a\u00a0b 0.1 0.2".encode(), "a\u00a0b".encode(), b"0.1 0.2"),
        ("\u2009 0.1 0.2".encode(), "\u2009".encode(), b"0.1 0.2"),
        (b"New York 0.1 0.2", b"New York", b"0.1 0.2"),
        (b"-0.27998 0.70 0.1", b"-0.27998", b"0.70 0.1"),
        (b"10 000 0.1 0.2", b"10 000", b"0.1 0.2"),
        (b"0.5 0.75 0.1 0.2", b"0.5 0.75", b"0.1 0.2"),
        (b"1 2 3 0.1 0.2", b"1 2 3", b"0.1 0.2"),
        (b"cat 0.5 0.1 0.2", None, None),  # three numbers
        (b"cat 0.1", None, None),
        (b"cat", None, None),
        (b"0.1 0.2", None, None),  # no word
        (b"cat dog 0.1", None, None),
    ],
)
def test_rows_are_split_from_the_right(row, word, numbers):
    assert split_row(row, 2) == (None if word is None else (word, numbers))


def test_a_small_file_that_is_mostly_bad_stops(tmp_path):
    with pytest.raises(InputError, match="the first of 3 rows, of 5,"):
        read_vec(write(tmp_path, CAT, DOG, "a 1 x 2", "b nan 1 2", "c inf 1 2"), ["a", "b", "c"])


def test_a_huge_header_allocates_nothing(tmp_path):
    path = write(tmp_path, "999999999999999 3", CAT, DOG)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="cut off: its first line promises 999999999999999 rows, 2 are"):
            read_vec(path, ["cat"])
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_more_rows_than_the_header_says_are_read(tmp_path):
    assert read_vec(write(tmp_path, "1 3", CAT, DOG), ["cat", "dog"]).found.all()


def test_the_closest_form_wins_wherever_it_stands(tmp_path):
    rows = ["D’Action 3 3 3", "D'ACTION 2 2 2", "d'action 1 1 1"]
    words = ["d'action"]
    assert read_vec(write(tmp_path, *rows), words).matrix.tolist() == [[1, 1, 1]]
    assert read_vec(write(tmp_path, *rows[:2]), words).matrix.tolist() == [[2, 2, 2]]
    assert read_vec(write(tmp_path, *rows[:1]), words).matrix.tolist() == [[3, 3, 3]]
    assert read_vec(write(tmp_path, *rows[::-1]), words).report.lookups["exact"] == 1


def test_one_row_may_serve_several_words(tmp_path):
    vectors = read_vec(write(tmp_path, CAT, DOG), ["Cat", "cat", "CAT"])
    assert vectors.found.all()
    assert vectors.report.lookups == {"exact": 1, "lower": 2, "spelling": 0, "subwords": 0}


def test_accents_in_two_pieces_are_found_as_one(tmp_path):
    assert read_vec(write(tmp_path, "e\u0301te\u0301 1 2 3", DOG), ["été"]).report.lookups["spelling"] == 1


def test_a_closest_form_of_zeros_leaves_the_next_one(tmp_path):
    vectors = read_vec(write(tmp_path, "cat 0 0 0", "Cat 1 2 3"), ["cat"])
    assert vectors.matrix.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e39", "x", "1_0", "0x1", "1,5", "١"])
def test_what_is_no_finite_number_makes_a_bad_row(tmp_path, number):
    vectors = read_vec(write(tmp_path, CAT, f"dog 1 {number} 2", *filler(3)), ["cat", "dog"])
    assert vectors.found.tolist() == [True, False]
    assert np.isfinite(vectors.matrix).all()
    assert vectors.report.bad == {"number": 1}


def test_bad_rows_of_unwanted_words_are_not_even_parsed(tmp_path):
    assert read_vec(write(tmp_path, CAT, DOG, "bird 1 x 2"), ["cat"]).report.bad == {}


def test_a_later_good_row_makes_up_for_a_bad_one(tmp_path):
    vectors = read_vec(write(tmp_path, DOG, "cat 1 nan 3", CAT, *filler(2)), ["cat"])
    assert vectors.matrix[0].tolist() == [0.25, -1.5, np.float32(0.03)]


def test_words_that_are_not_utf8_are_counted(tmp_path):
    rows = [CAT, "café 1 2 3".encode("latin-1"), DOG]
    assert read_vec(write(tmp_path, *rows), ["cat", "caf", "dog"]).found.tolist() == [True, False, True]
    assert read_vec(write(tmp_path, *rows), ["cat"]).report.bad == {"encoding": 1}
    many = [f"é{number} 1 2 3".encode("latin-1") for number in range(20)]
    with pytest.raises(InputError, match="20 words of 60 are not UTF-8; convert"):
        read_vec(write(tmp_path, *filler(40), *many), ["w1"])


def test_words_like_tags_are_no_web_page(tmp_path):
    assert read_vec(write(tmp_path, "<unk> 1 2 3", "</s> 1 2 3", CAT), ["cat"]).found.all()


@pytest.mark.parametrize("content", [b"", b"\n \n", b"2 3\n"])
def test_a_file_without_rows_is_refused(tmp_path, content):
    path = tmp_path / "words.vec"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"words\.vec: (empty|no rows after its first line)"):
        read_vec(path, ["cat"])


@pytest.mark.parametrize("content", [b"\x00\x01" * (1 << 20), b"3 100\n" + bytes(range(256)) * 40])
def test_binary_data_are_refused(tmp_path, content):
    path = tmp_path / "words.vec"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not vectors as text|the first rows are not a word"):
        read_vec(path, ["cat"])


def test_prose_is_refused(tmp_path):
    path = write(tmp_path, *["This is a sentence of some words .", "And here is one more ."] * 20)
    with pytest.raises(InputError, match="the first rows are not a word and its numbers"):
        read_vec(path, ["this"])


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match=r"none\.vec: no such file"):
        read_vec(tmp_path / "none.vec", ["cat"])


def test_progress_sees_every_row(tmp_path):
    seen = []

    def track(lines, total):
        seen.append(total)
        for line in lines:
            seen.append(line)
            yield line

    read_vec(write(tmp_path, "2 3", CAT, DOG), ["cat"], track=track)
    assert seen == [2, f"{CAT}\n".encode(), f"{DOG}\n".encode()]


@pytest.mark.parametrize(
    ("numbers", "expected"), [(b"1 2", [1, 2]), (b"1", None), (b"1 2 3", None), (b"1 a", None)]
)
def test_numbers_are_parsed_or_refused(numbers, expected):
    parsed = parse_numbers(numbers, 2)
    assert (None if parsed is None else parsed.tolist()) == expected


def test_coverage_counts_words_and_their_occurrences():
    vocabulary = Vocabulary(["the", "cat", "xyzzy"], [6, 3, 1])
    told = coverage(np.array([True, False, False]), vocabulary, top=1)
    assert (told.types, told.tokens, told.missing) == (pytest.approx(1 / 3), pytest.approx(0.6), ("cat",))


def test_coverage_of_nothing_is_not_a_number_at_all():
    told = coverage(np.zeros(0, dtype=bool), Vocabulary([], []))
    assert (told.types, told.tokens, told.missing) == (None, None, ())
    assert coverage(np.zeros(1, dtype=bool), Vocabulary(["a"], [0])).tokens is None


PIECES = st.sampled_from(
    [b"cat", b" ", b"\n", b"0.5", b"-1", b"nan", b"\t", b"\xe9", b"\xc2\xa0", b"3 2\n", b"\r", b"x"]
)


@given(st.lists(PIECES, max_size=60), st.booleans())
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, pieces, sound):
    path = tmp_path_factory.getbasetemp() / "fuzzed.vec"
    path.write_bytes((b"cat 1 2\ndog 3 4\n" if sound else b"") + b"".join(pieces))
    words = ["cat", "dog", "x", "\u00a0"]
    try:
        vectors = read_vec(path, words)
    except InputError:
        return
    assert vectors.matrix.shape == (4, vectors.report.dim)
    assert np.isfinite(vectors.matrix).all()
    assert np.array_equal(vectors.found, vectors.matrix.any(axis=1))
    assert sum(vectors.report.lookups.values()) == vectors.found.sum()


@pytest.mark.parametrize("side", ["en", "fr"])
def test_published_vectors_are_read_whole(real_data, side):
    path = real_data(f"vectors/europarl.{side}.vec.gz")
    vectors = read_vec(path, ["parlement", "parliament", ",", "1999", "Parliament", "qqqq"])
    assert vectors.report.header == vectors.report.rows == 25_000
    assert vectors.report.bad == {}
    assert vectors.matrix.shape == (6, 100)
    assert vectors.found[2:].tolist() == [True, True, side == "en", False]
