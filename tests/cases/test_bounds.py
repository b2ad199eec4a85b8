"""Links to words that there are not, and numbers that a type cannot hold: told with the place, or held."""

import json

import pytest

from align.core.errors import InputError
from align.links import check_pair, read_file
from tests.align.links.test_formats import parse

SOURCE, TARGET = ["a", "b", "c"], ["x", "y"]


# G27: a link to a word that is not there is told with line, column, text and what is allowed.


def bounds(text, **options):
    for pair in parse(text, **options):
        check_pair(pair._replace(source=SOURCE, target=TARGET), name="f")


@pytest.mark.parametrize(
    ("format", "text", "options", "place", "allowed"),
    [
        ("pharaoh", "0-0\n0-0  1p1\t3-1:0.5 2-1\n", {}, "line 2, column 10: '3-1:0.5'", (0, 2, 1)),
        ("pharaoh", "1-1\n1-1 4p2\n", {"base": 1}, "line 2, column 5: '4p2'", (1, 3, 2)),
        ("talp", "\n0p2\n", {}, "line 2, column 1: '0p2'", (0, 2, 1)),
        ("berkeley", "0-0 1-3-P\n", {}, "line 1, column 5: '1-3-P'", (0, 2, 1)),
        ("wpt", "1 1 1\n0002  4 2 P\n1 2 2\n", {}, "line 2, column 7: '4 2'", (1, 3, 2)),
        ("nltk", "0-0 0-7\n", {}, "line 1, column 5: '0-7'", (0, 2, 1)),
        ("nltk", "a b c\nx y\n0-0 0-7\n", {}, "line 3, column 5: '0-7'", (0, 2, 1)),
        ("jsonl", '{"links": [[0, 0], [0, 7]]}\n', {}, "line 1, column 20: '[0, 7]'", (0, 2, 1)),
        (
            "jsonl",
            json.dumps({"links": [{"source": 3, "target": 0}]}),
            {},
            'line 1, column 12: \'{"source": 3, "target": 0}\'',
            (0, 2, 1),
        ),
    ],
)
def test_g27_a_link_outside_its_pair_is_told_with_its_place(format, text, options, place, allowed):
    base, last_source, last_target = allowed
    with pytest.raises(InputError) as error:
        bounds(text, format=format, **options)
    assert str(error.value).endswith(
        f"; use the tokens that the links were made for ({place}, where source {base} to {last_source} and "
        f"target {base} to {last_target} can stand)"
    )


def test_g27_where_a_side_is_empty():
    with pytest.raises(InputError, match=r"where no source and target 0 to 1 can stand\)$"):
        check_pair(parse("0-0\n")[0]._replace(source=[], target=TARGET), name="f")


def test_g27_a_file_whose_sides_are_swapped_is_told_as_it_is_written(run):
    words = "score --gold g --hyp h --source s --target t --gold-base 0 --hyp-base 0 --reverse"
    files = {"s": "a b c\n", "t": "x y\n", "g": "0-0\n", "h": "0-0 5-1\n"}
    _, _, err = run(words, **files)
    assert "h:1: link 1-5 (counted from 0) lies outside the pair" in err
    assert "(line 1, column 5: '5-1', where source 0 to 2 and target 0 to 1 can stand)" in err


@pytest.mark.parametrize(
    "words",
    [
        "lexicon --links h --source s --target t",
        "convert --from pharaoh --to jsonl -i h --source s --target t",
    ],
)
def test_g27_every_command_that_reads_links_says_it(run, words):
    status, _, err = run(words, s="a b c\n", t="x y\n", h="0-0  0-5\n")
    assert status == 2
    assert "(line 1, column 6: '0-5', where source 0 to 2 and target 0 to 1 can stand)" in err


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("pharaoh", "0-0\n0-0 \t1-None 2-2\n", r"f:2: '1-None' is not a link .*\(column 6\)$"),
        ("berkeley", "0-0 1-None\n", r"f:1: '1-None' is not a berkeley link .*\(column 5\)$"),
        ("nltk", "0-0 1-None\n", r"f:1: '0-0 1-None' is not a line of links .*\(column 5: '1-None'\)$"),
        ("nltk", "1-None\n", r"f:1: '1-None' is not a line of links .*\(column 1: '1-None'\)$"),
        ("nltk", "\n1-None\n0-0\n1-1\n2-2\n", r"f:2: '1-None' is not a line of links"),
        ("nltk", "1-None None-1 x 0-0\n0-0\n0-0\n", "f:1: '1-None None-1 x 0-0' is not a line of links"),
        ("pharaoh", "1-1 0-0\n", r"f:1: index 0 in a file .* right base \(line 1, column 5: '0-0'\)$"),
    ],
)
def test_g27_what_is_no_link_is_told_with_its_column(format, text, message):
    with pytest.raises(InputError, match=message):
        parse(text, format=format, **({"base": 1} if "index 0" in message else {}))


def test_g27_sentences_with_words_like_links_are_still_sentences():
    text = "Apollo-11 landed\nApollo-11 a atterri\n0-0 1-1 1-2\n"
    (pair,) = parse(text, format="nltk")
    assert (pair.source, len(pair.links)) == (["Apollo-11", "landed"], 3)


# G27: the parts that GIZA's processes write hold every second or third pair.


def giza(*numbers):
    return "".join(
        f"# Sentence pair ({number}) source length 1 target length 1\nx\nNULL ({{ }}) a ({{ 1 }})\n"
        for number in numbers
    )


@pytest.mark.parametrize("numbers", [(1, 3, 5, 2, 4, 6), (1, 2, 2), (1, 2, 1, 2)])
def test_g27_parts_of_giza_are_to_be_merged_by_number(numbers):
    with pytest.raises(InputError, match=r"merge the parts .* by number: merge_alignment\.py of mgiza"):
        parse(giza(*numbers), format="giza")


@pytest.mark.parametrize(("numbers", "missing"), [((1, 4, 7), 4), ((1, 3, 5), 2), ((2, 4, 6, 8), 4)])
def test_g27_one_part_alone_is_said_to_be_one(numbers, missing):
    notes = []
    assert len(parse(giza(*numbers), format="giza", on_note=notes.append)) == numbers[-1]
    assert f"{missing} pairs are missing" in notes[0]
    assert "is this one part of several? merge them by number: merge_alignment.py" in notes[0]


def test_g27_a_position_that_giza_does_not_have(tmp_path):
    (tmp_path / "f").write_text("# Sentence pair (1)\nx y\nNULL ({ }) a ({ 1 3 })\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":3: '3' is not one of the 2 .* \(column 19, where 1 to 2 can"):
        read_file(tmp_path / "f", format="giza")
