"""Readers of sentence pairs: line N stays line N whatever the lines hold."""

import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.core.errors import InputError
from align.data import bitext
from align.data.bitext import open_bitext
from align.data.row import Row

GOOD = "a cat\tun chat\n" * 20


def stream(text):
    return io.BytesIO(text if isinstance(text, bytes) else text.encode())


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read_tsv(path, **options):
    return open_bitext("tsv", [path], **options)


def read_joint(path):
    return open_bitext("joint", [path])


def read_files(*paths, **options):
    return open_bitext("files", paths, **options)


def texts(rows):
    return [(row.source, row.target) for row in rows]


def problems(rows):
    return [(row.number, row.problem, row.detail) for row in rows if row.problem]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a cat ||| un chat", ("a cat", "un chat")),
        (" ||| ein Satz", ("", "ein Satz")),
        ("||| ein Satz", ("", "ein Satz")),
        ("ein Satz |||", ("ein Satz", "")),
        ("a || b ||| c", ("a || b", "c")),
        ("a  |||  b ", ("a ", " b ")),
        ("a|||b ||| c", ("a|||b", "c")),
        ("a\tb ||| c", ("a\tb", "c")),
    ],
)
def test_joint_line(line, expected):
    assert texts(read_joint(stream(line + "\n"))) == [expected]


@pytest.mark.parametrize(
    ("line", "count"),
    [("select a file||| x", 0), ("a ||| b ||| c", 2), ("a ||| ||| c", 2), ("", 0), ("|||||", 0)],
)
def test_joint_line_without_exactly_one_separator_keeps_its_place(line, count):
    rows = list(read_joint(stream(f"a ||| b\n{line}\nc ||| d\n")))
    assert [row.number for row in rows] == [0, 1, 2]
    assert rows[1] == Row(1, "", "", "bad_row", f"{count} separators ' ||| ' instead of one")
    assert texts(rows)[2] == ("c", "d")


@pytest.mark.parametrize(("line", "count"), [("a", 1), ("", 1), ("a\tb\tc", 3), ("ich\tgehe\tI go", 3)])
def test_tsv_line_without_exactly_two_fields_keeps_its_place(line, count):
    rows = list(read_tsv(stream(f"a\tb\n{line}\nc\td\n")))
    assert rows[1] == Row(1, "", "", "bad_row", f"{count} field(s) instead of 2 with a TAB between")
    assert texts(rows)[2] == ("c", "d")


@pytest.mark.parametrize(
    "odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\x00"]
)
def test_only_a_line_feed_ends_a_line(odd):
    rows = list(read_tsv(stream(f"one.{odd}two\tun.{odd}deux\nx\ty\n")))
    assert texts(rows) == [(f"one.{odd}two", f"un.{odd}deux"), ("x", "y")]


def test_carriage_returns_at_line_ends_go_on_either_side(tmp_path):
    source = write(tmp_path, "s", "One.\r\nTwo.\r\n")
    target = write(tmp_path, "t", "Un.\nDeux.")
    assert texts(read_files(source, target)) == [("One.", "Un."), ("Two.", "Deux.")]


def test_byte_order_mark_goes_at_the_start_only():
    rows = list(read_tsv(stream("\ufeffLe chat\tThe cat\n\ufeffun\tone\n")))
    assert texts(rows) == [("Le chat", "The cat"), ("\ufeffun", "one")]


def test_last_line_without_line_feed_counts_and_an_empty_file_has_no_rows():
    assert texts(read_tsv(stream("a\tb\nc\td"))) == [("a", "b"), ("c", "d")]
    assert list(read_tsv(stream(""))) == []
    assert list(read_joint(stream(""))) == []


def test_a_wrong_byte_rejects_the_pair_and_says_where():
    rows = list(read_tsv(stream(b"\xef\xbb\xbfa\tb\n" + b"x\tcaf\xe9\n" + b"c\td\n")))
    assert problems(rows) == [
        (1, "encoding", "byte 0xe9 at offset 5 of the line (12 of the text) is not utf-8")
    ]
    assert rows[1].source == rows[1].target == ""
    assert texts(rows)[2] == ("c", "d")


def test_a_wrong_byte_on_one_side_rejects_both(tmp_path):
    source, target = write(tmp_path, "s", b"a\nb\nc\nd\n"), write(tmp_path, "t", b"A\n\xff\nC\nD\n")
    rows = list(read_files(source, target))
    assert rows[1] == Row(
        1, "", "", "encoding", "target: byte 0xff at offset 0 of the line (2 of the text) is not utf-8"
    )
    assert [row.number for row in rows] == [0, 1, 2, 3]


def test_the_file_of_the_wrong_bytes_is_named(tmp_path):
    source, target = write(tmp_path, "s", b"a\n" * 9), write(tmp_path, "t", b"\xff\n" * 9)
    for files, name in ((source, target), "t:1: target"), ((target, source), "t:1: source"):
        with pytest.raises(InputError, match=rf"{name}: byte 0xff.*rows are bad"):
            list(read_files(*files))


def test_other_encodings_are_read_when_named():
    assert texts(read_tsv(stream(b"caf\xe9\tcoffee\n"), encoding="latin-1")) == [("café", "coffee")]
    assert texts(read_tsv(stream("咖啡\tcoffee\n".encode("gb18030")), encoding="gb18030")) == [
        ("咖啡", "coffee")
    ]


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("latin-99", r"corpus\.encoding: unknown encoding 'latin-99'; use utf-8, latin-1"),
        ("undefined", r"corpus\.encoding: unknown encoding 'undefined'; use utf-8, latin-1"),
        ("UTF-8-SIG", r"corpus\.encoding: 'UTF-8-SIG'; write utf-8, a byte order mark is left out anyway"),
        ("utf-16", r"corpus\.encoding: 'utf-16' cannot be cut into lines; convert the text first: iconv"),
    ],
)
def test_encodings_that_cannot_be_cut_into_lines_are_refused(encoding, message):
    with pytest.raises(InputError, match=message):
        read_tsv(stream(GOOD), encoding=encoding)


HINTS = {
    ("joint", "select a file||| x"): r"c:1: 0 separators .*rows are bad; put one space before and one after",
    ("joint", "a\tb"): r"c:1: .*this looks like TSV \(source TAB target\): read it as kind 'tsv'",
    ("joint", '<?xml version="1.0"?>'): r"c:1: .*this looks like TMX: read it as kind 'tmx'",
    ("joint", "a b"): r"c:1: .*each line must be 'source \|\|\| target'",
    ("tsv", "a ||| b"): r"c:1: .*this looks like the joint format",
    ("tsv", "a b"): r"c:1: 1 field.* 51 of the first 51 rows are bad; each line must be 'source TAB target'",
    ("tsv", "a\tb\tc"): r"c:1: 3 field.*its rows have 3 fields: say which two, columns=1,2",
    ("joint", "a ||| b ||| c"): r"c:1: 2 separators.*its rows have 3 fields: say which two, columns=1,2",
}


@pytest.mark.parametrize(("given", "message"), HINTS.items())
def test_input_of_another_format_stops_with_a_hint(tmp_path, given, message):
    kind, line = given
    path = write(tmp_path, "c", (line + "\n") * 200)
    with pytest.raises(InputError, match=message):
        list(open_bitext(kind, [path]))


def test_the_first_bad_line_is_named_and_a_short_input_is_judged_at_its_end():
    with pytest.raises(InputError, match=r"stream>:2: .*and 2 of the first 3 rows are bad"):
        list(read_tsv(stream("a\tb\nbad\nbad\n")))
    assert len(list(read_tsv(stream("a\tb\nbad\n")))) == 2


def test_half_of_the_first_rows_may_be_bad_and_later_ones_all():
    text = "a\tb\nbad\n" * 50 + "bad\n" * 500
    rows = list(read_tsv(stream(text)))
    assert len(rows) == 600
    assert sum(row.problem is not None for row in rows) == 550


def test_wrong_encoding_of_a_whole_text_stops_with_a_hint(tmp_path):
    source, target = write(tmp_path, "s", b"caf\xe9\n" * 99), write(tmp_path, "t", b"coffee\n" * 99)
    with pytest.raises(InputError, match=r"s:1: source: byte 0xe9 .*name the encoding of the text.*latin-1"):
        list(read_files(source, target))


def test_utf16_text_is_recognised(tmp_path):
    path = write(tmp_path, "c", ("a\tb\n" * 30).encode("utf-16"))
    with pytest.raises(
        InputError, match=r"c: UTF-16 text cannot be cut into lines; convert it to UTF-8 first"
    ):
        list(read_tsv(path))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["a\tb\n" * 5, "The house.\tLa maison d'été.\n" * 500])
def test_utf16_text_without_a_mark_is_recognised(text, encoding):
    with pytest.raises(InputError, match=r"UTF-16 text cannot be cut into lines; convert it to UTF-8 first"):
        list(read_tsv(stream(text.encode(encoding))))


def test_a_few_zero_bytes_are_text():
    assert texts(read_tsv(stream("a\0\tb\n\0\0 c d e f g h i\tb\n"))) == [
        ("a\0", "b"),
        ("\0\0 c d e f g h i", "b"),
    ]


def test_blank_rows_say_nothing_of_the_format():
    rows = list(read_tsv(stream("\n \n\r\na\tb\n\n")))
    assert [row.problem for row in rows] == ["bad_row", "bad_row", "bad_row", None, "bad_row"]
    with pytest.raises(InputError, match="2 of the first 3 rows are bad"):
        list(read_tsv(stream("a\nb\n\n")))


def test_a_line_over_the_limit_is_a_row_with_a_problem(monkeypatch):
    monkeypatch.setattr(bitext, "LINE_LIMIT", 100)
    long = "x" * 1000
    rows = list(read_tsv(stream(f"a\tb\n{long}\tc\n{'y' * 48}\t{'z' * 51}\nc\td\n")))
    assert problems(rows) == [(1, "long_line", "longer than 100 bytes")]
    assert len(rows[2].source + rows[2].target) == 99
    assert texts(rows)[3] == ("c", "d")


def test_a_line_without_end_is_not_held_in_memory():
    class Endless(io.RawIOBase):
        left = 200_000_000

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), self.left)
            buffer[:size] = b"x" * size
            self.left -= size
            return size

    text = io.BufferedReader(Endless())
    tracemalloc.start()
    with pytest.raises(InputError, match="longer than 1000000 bytes, and 1 of the first 1 rows are bad"):
        list(read_tsv(text))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_different_numbers_of_lines_name_both_counts_and_the_place(tmp_path):
    lengths = [5 + 37 * i % 90 for i in range(400)]
    source = write(tmp_path, "s", "".join("x" * size + "\n" for size in lengths))
    target = write(tmp_path, "t", "".join("y" * size + "\n" for i, size in enumerate(lengths) if i != 150))
    message = r"s: 400 lines, but .*t has 399; the pairs seem shifted from about line (\d+) on"
    with pytest.raises(InputError, match=message) as caught:
        list(read_files(source, target))
    line = int(str(caught.value).split("line ")[1].split()[0])
    assert abs(line - 151) <= 2
    with pytest.raises(InputError, match=r"the first 10 pairs seem parallel: look after them"):
        list(read_files(source, target, limit=10))
    with pytest.raises(InputError, match="shifted"):
        list(read_files(source, target, limit=300))


def test_a_surplus_at_the_end_is_said_to_be_there(tmp_path):
    source, target = write(tmp_path, "s", "one\ntwo\nthree\nfour\nfive\n"), write(tmp_path, "t", "un\ndeux\n")
    with pytest.raises(InputError, match=r"5 lines, but .* has 2; no place stands out: compare the ends"):
        list(read_files(source, target))


def test_rows_are_given_before_the_counts_are_known(tmp_path):
    source, target = write(tmp_path, "s", "one\ntwo\n"), write(tmp_path, "t", "un\n")
    rows = read_files(source, target)
    assert next(rows) == Row(0, "one", "un")


def test_limit_counts_rows_good_and_bad(tmp_path):
    path = write(tmp_path, "c", "a\tb\nbad\nc\td\ne\tf\n")
    assert [row.number for row in open_bitext("tsv", [path], limit=2)] == [0, 1]
    assert len(list(open_bitext("tsv", [path], limit=99))) == 4


@pytest.mark.parametrize(
    ("kind", "paths", "message"),
    [
        ("csv", ["a"], "no kind 'csv'; choose one of files, joint, tsv, tmx"),
        ("files", ["a"], r"1 file\(s\) given for files; it takes 2"),
        ("tsv", ["a", "b"], r"2 file\(s\) given for tsv; it takes 1"),
        ("tmx", ["a"], "no languages given for tmx"),
        ("files", ["a", "a"], "a: given as source and as target; give two files"),
    ],
)
def test_wrong_arguments_are_refused(kind, paths, message):
    with pytest.raises(InputError, match=message):
        open_bitext(kind, paths)


FIELD = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\n\r\t\ufeff"))


@given(st.lists(st.tuples(FIELD, FIELD), max_size=20))
def test_any_text_comes_back_from_tsv_and_from_two_files(pairs):
    tsv = "".join(f"{source}\t{target}\n" for source, target in pairs)
    assert texts(read_tsv(stream(tsv))) == pairs
    sides = [stream("".join(side + "\n" for side in column)) for column in zip(*pairs, strict=True)]
    if sides:
        assert texts(read_files(*sides)) == pairs


@given(st.binary(max_size=300))
def test_any_bytes_give_a_row_a_line_or_one_clear_error(data):
    good = b"a\tb\n" * 200
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"PK", b"\x1f\x8b", b"\xfd7z", b"(\xb5")):
        return
    rows = list(read_tsv(stream(data.rstrip(b"\n") + b"\n" + good)))
    assert [row.number for row in rows] == list(range(data.rstrip(b"\n").count(b"\n") + 201))
    assert rows[-200:] == [Row(rows[-200].number + i, "a", "b") for i in range(200)]


def test_standard_input_is_a_dash(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream("a\tb\n"), encoding="ascii"))
    assert texts(open_bitext("tsv", ["-"])) == [("a", "b")]


def test_every_row_of_a_packed_file_comes_in_constant_memory(tmp_path):
    import gzip

    path = tmp_path / "c.txt"
    with gzip.open(path, "wb", compresslevel=1) as out:
        for _ in range(8):
            out.write(b"the same sentence again\tla meme phrase\n" * 5000)
    tracemalloc.start()
    count = sum(1 for _ in read_tsv(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 40_000
    assert peak < 2_000_000
