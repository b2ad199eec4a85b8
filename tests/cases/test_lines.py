"""Lines, separators and encodings: named after the cases that were found.

That ``splitlines`` is nowhere used: test_text_and_models_of_strangers_are_read_safely in tests/test_rooms.py.
"""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from align.core.errors import InputError
from tests.align import toy
from tests.align.text.tokens import tokens


def test_a01_an_empty_side_rejects_the_pair_and_keeps_the_place(preprocess):
    source = ["one", "", "  ", "\t", "five", "\ufeff"]
    target = ["un", "deux", "\t", "quatre", " ", ""]
    result = preprocess(source, target)
    assert result.reasons == [
        (2, "empty_src", "dropped"),
        (3, "empty_both", "dropped"),
        (4, "empty_src", "dropped"),
        (5, "empty_tgt", "dropped"),
        (6, "empty_both", "dropped"),
    ]
    assert result.text == [["one", *[""] * 5], ["un", *[""] * 5]]
    assert result.lines.tolist() == [0]
    assert [result.spans(line) for line in (0, 1)] == [[(0, 3)], []]
    # What was only on rejected lines is no word of the corpus.
    assert result.words[1].words == ["un"]


def test_a01_links_leaves_the_line_of_an_empty_side_empty(run, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    status, out, err = run("links --model toy --format joint -i p", p=" ||| ein Satz\nred ||| rouge\nI |||\n")
    assert (status, out) == (0, "\n0-0\n\n")
    assert "p:1: the source side is empty; the line is left empty" in err


def test_a02_a_joint_file_without_spaces_at_its_bars_stops_with_a_hint(preprocess):
    with pytest.raises(InputError, match=r"text\.source:1: .*put one space before and one after the bars"):
        preprocess(["select a file||| 选 文件"] * 5, None, kind="joint")


def test_a02_one_joint_line_without_its_separator_is_rejected_and_named(preprocess, run, tmp_path):
    lines = [*["the red house ||| le maison rouge"] * 4, "select a file||| x", "red ||| rouge"]
    result = preprocess(lines, None, kind="joint")
    assert result.reasons == [(5, "bad_row", "dropped")]
    assert "0 separators ' ||| ' instead of one" in result.rejects[0]["detail"]
    toy.toy_model().save(tmp_path / "toy")
    status, out, err = run("links --model toy --format joint -i p", p="".join(f"{line}\n" for line in lines))
    assert (status, out.split("\n")[4:]) == (0, ["", "0-0", ""])
    assert "p:5: 0 separators" in err


def test_a04_a_tab_within_a_sentence_is_a_space(preprocess):
    assert preprocess(["ich\tgehe"], ["I go"]).text[0] == ["ich gehe"]


def test_a04_rows_of_a_table_without_two_fields_are_rejected(preprocess):
    rows = [*["a b\tc d"] * 4, "a\tb\tc", "no tab", "e\tf"]
    result = preprocess(rows, None, kind="tsv")
    assert result.reasons == [(5, "bad_row", "dropped"), (6, "bad_row", "dropped")]
    assert "3 field(s)" in result.rejects[0]["detail"]
    assert result.text[0] == [*["a b"] * 4, "", "", "e"]


@pytest.mark.parametrize("kind", ["files", "tsv"])
def test_a06_white_space_alone_is_empty_and_keeps_its_line(preprocess, kind):
    source, target = ["a", "  ", "\xa0\u3000", "\u2028", "b"], ["x", "y", " ", "\u200b\ufeff", "z"]
    if kind == "files":
        result = preprocess(source, target)
    else:
        rows = [f"{one}\t{other}" for one, other in zip(source, target, strict=True)]
        result = preprocess(rows, None, kind=kind)
    reasons = ["empty_src", "empty_both", "empty_both"]
    assert result.reasons == [(line, reason, "dropped") for line, reason in enumerate(reasons, 2)]
    assert result.text == [["a", "", "", "", "b"], ["x", "", "", "", "z"]]


def test_a07_blank_lines_are_never_dropped_on_one_side(run, tmp_path):
    source, target = ["one", "", "two", "three"], ["un", "deux", "", "trois"]
    texts = ["".join(f"{line}\n" for line in side if line) for side in (source[:3], target)]
    toy.toy_model().save(tmp_path / "toy")
    status, _, err = run("links --model toy --source s --target t", s=texts[0], t=texts[1])
    assert status == 2
    assert "s: 2 lines, but t has 3" in err
    for option in ("--drop-empty", "--skip-empty"):
        with pytest.raises(SystemExit, match="2"):
            run(f"links --model toy {option}")


def test_a08_files_of_different_lengths_stop(preprocess):
    with pytest.raises(InputError, match=r"3 lines, but .*text\.target has 2"):
        preprocess(["a", "b", "c"], ["x", "y"])


@pytest.mark.parametrize("code", [0x2028, 0x2029])
def test_a09_only_a_line_feed_ends_a_line(preprocess, code):
    result = preprocess([f"one.{chr(code)}two", "three"], ["un. deux", "trois"])
    assert result.text[0] == ["one . two", "three"]
    assert result.summary["changes"] == {"spaces": 1}


@pytest.mark.parametrize("code", [0x85, 0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x0D])
def test_a10_what_ends_a_line_elsewhere_is_a_space(preprocess, run, tmp_path, code):
    result = preprocess([f"one{chr(code)}two", "three"], [f"un{chr(code)}deux", "trois"])
    assert result.text == [["one two", "three"], ["un deux", "trois"]]
    assert result.summary["changes"] == {"spaces": 2}
    toy.toy_model().save(tmp_path / "toy")
    rows = f"the{chr(code)}dog\tle{chr(code)}chien\nred\trouge\n"
    assert run("links --model toy -i p", p=rows)[:2] == (0, "0-0 1-1\n0-0\n")


def test_a12_dos_line_ends_on_one_side_change_nothing(preprocess):
    plain = preprocess(["a b.", "c."], ["x y.", "z."])
    dos = preprocess(b"a b.\r\nc.\r\n", ["x y.", "z."])
    assert dos.text == plain.text
    assert dos.words[0].words == plain.words[0].words


@pytest.mark.parametrize("tokenized", [False, True])
def test_a12_dos_line_ends_leave_nothing_behind_in_tokenized_text_either(preprocess, tokenized):
    assert preprocess(b"a b .\r\n", ["x y ."], tokenized=tokenized).text[0] == ["a b ."]


@pytest.mark.parametrize("kind", ["files", "tsv", "joint"])
def test_a12_line_ends_may_be_mixed(preprocess, kind):
    source, target = b"a b.\r\nc.\nd.\r\n", b"x y.\nz.\r\nw."
    if kind == "files":
        result = preprocess(source, target)
    else:
        mark = {"tsv": b"\t", "joint": b" ||| "}[kind]
        result = preprocess(
            mark.join([b"a b.", b"x y."]) + b"\r\nc." + mark + b"z.\nd." + mark + b"w.", None, kind=kind
        )
    assert result.text == [["a b .", "c .", "d ."], ["x y .", "z .", "w ."]]


def test_a14_byte_order_marks_go_everywhere(preprocess):
    result = preprocess(
        "\ufeffLe chat\nun \ufeffchien\n".encode(), ["the cat", "a dog"], source="fr", target="en"
    )
    assert result.text[0] == ["Le chat", "un chien"]
    assert result.spans(1) == [(0, 2), (4, 9)]


def test_a14_byte_order_marks_of_links_and_tables_go(run, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    status, out, _ = run("links --model toy -i p", p="\ufeffred\trouge\n\ufeffred\t\ufeffrouge\n")
    assert (status, out) == (0, "0-0\n0-0\n")
    status, out, _ = run("convert --from pharaoh --to pharaoh -i l", l="\ufeff0-0 1-1\n")
    assert (status, out) == (0, "0-0 1-1\n")


def test_a15_bytes_that_are_no_text_reject_their_pair(preprocess):
    lines = [b"caf\xe9" if number == 70 else b"coffee" for number in range(300)]
    result = preprocess(b"\n".join(lines) + b"\n", ["un café"] * 300)
    assert result.reasons == [(71, "encoding", "dropped")]
    assert "0xe9 at offset 3" in result.rejects[0]["detail"]
    assert result.text[0][70] == result.text[1][70] == ""
    assert len(result.lines) == 299


def test_a15_many_such_bytes_mean_another_encoding(preprocess):
    lines = b"".join(b"caf\xe9\n" if number % 20 == 0 else b"the\n" for number in range(300))
    message = r"text\.source: 15 of 300 lines are not utf-8 \(line 1, .*--set corpus\.encoding=latin-1"
    with pytest.raises(InputError, match=message):
        preprocess(lines, ["x"] * 300)
    assert preprocess(lines, ["x"] * 300, encoding="latin-1", target="en").text[0][0] == "café"


def test_a16_text_is_utf_8_whatever_the_locale(tmp_path):
    """Stages: test_an_ascii_locale_changes_nothing in tests/test_pipeline.py.

    Every ``open`` says its encoding: test_text_files_are_opened_as_utf8 in tests/test_rooms.py.
    """
    toy.toy_model().save(tmp_path / "toy")
    (tmp_path / "é中.tsv").write_text("red house 中\tmaison rouge 中\n", encoding="utf-8")
    words = [sys.executable, "-m", "align", "links", "--model", "toy", "-i", "é中.tsv", "-o", "中.txt"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent.parent)
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "中.txt").read_bytes() == b"0-1 1-0 2-2\n"


def test_a17_what_fails_leaves_no_output(run, tmp_path):
    """Stages: their results are made aside and renamed when whole, tests/pipeline/work/test_publish.py."""
    toy.toy_model().save(tmp_path / "toy")
    packed = gzip.compress(b"red\trouge\n" * 2000)[:-12]
    status, _, err = run("links --model toy -i p.gz -o out", **{"p.gz": packed})
    assert status == 2
    assert "p.gz: the gzip data are cut off" in err
    assert not [path.name for path in tmp_path.iterdir() if "out" in path.name]


def test_a18_no_white_space_but_single_spaces_between_tokens_is_written(preprocess):
    source = "10\xa0000 a  b\u3000c\u202fd\u2009e \x1ff"
    result = preprocess([source], ["x"])
    assert result.text[0] == ["10 000 a b c d e f"]
    assert all(
        len(token) == stop - start
        for token, (start, stop) in zip(result.text[0][0].split(" "), result.spans(0), strict=True)
    )


@pytest.mark.parametrize("space", ["\xa0", "\u202f", "\u2009", "\u3000", "\t", "  "])
def test_a18_every_space_parts_numbers_alike(space):
    assert tokens("fr", f"10{space}000 euros") == ["10", "000", "euros"]


@pytest.mark.parametrize("tokenized", [False, True])
def test_a20_tokens_have_one_space_between(preprocess, tokenized):
    lines = ["a  b", "  a b ", "a b   ", "a\x20\x20\x20b c"]
    result = preprocess(lines, ["x  y"] * 4, tokenized=tokenized)
    assert result.text == [["a b", "a b", "a b", "a b c"], ["x y"] * 4]


def test_a21_composed_and_decomposed_letters_are_one_word(preprocess):
    result = preprocess(["e\u0301te\u0301 été"], ["summer summer"], source="fr", target="en")
    assert result.words[0].words == ["été"]
    assert result.text[0] == ["été été"]


@pytest.mark.parametrize("text", ["½ ﬁ ² Ⅳ", "ｆｕｌｌ"])
def test_a21_compatibility_forms_stay(preprocess, text):
    assert preprocess([text], ["x"]).text[0] == [text]
