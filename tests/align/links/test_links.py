"""Links of one pair, the line formats, bounds."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.core.errors import InputError
from align.links import (
    Link,
    check_bounds,
    format_berkeley,
    format_pharaoh,
    parse_berkeley,
    parse_pharaoh,
    swapped,
    tidy,
)

indices = st.integers(0, 40)
finite = st.floats(allow_nan=False, allow_infinity=False)


def alignments(*, possible=True, scores=True):
    """Sorted links without duplicates."""
    link = st.builds(
        Link,
        indices,
        indices,
        st.booleans() if possible else st.just(True),
        st.one_of(st.none(), finite) if scores else st.none(),
    )
    return st.lists(link, max_size=12).map(tidy)


@given(alignments())
def test_pharaoh_reads_what_it_writes(links):
    assert parse_pharaoh(format_pharaoh(links)) == links


@given(alignments(scores=False))
def test_berkeley_reads_what_it_writes(links):
    assert parse_berkeley(format_berkeley(links)) == links


@given(alignments())
def test_links_swapped_twice_are_the_links(links):
    assert swapped(swapped(links)) == links


@given(st.text(max_size=40))
def test_any_text_is_links_or_a_plain_error(text):
    for parse in (parse_pharaoh, parse_berkeley):
        with contextlib.suppress(InputError):
            assert parse(text) == tidy(parse(text))


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("", []),
        (" \t ", []),
        ("0-0", [Link(0, 0)]),
        ("3-4 0-0 1p2", [Link(0, 0), Link(1, 2, False), Link(3, 4)]),
        ("1P2 2?3", [Link(1, 2, False), Link(2, 3, False)]),
        ("0-0:0.93 1p2:1e-05", [Link(0, 0, True, 0.93), Link(1, 2, False, 1e-05)]),
        ("0-0:-3 1-1:.5", [Link(0, 0, True, -3.0), Link(1, 1, True, 0.5)]),
        ("0-0\t1-1  2-2 ", [Link(0, 0), Link(1, 1), Link(2, 2)]),
        ("007-01", [Link(7, 1)]),
    ],
)
def test_pharaoh_lines(text, links):
    assert parse_pharaoh(text) == links


def test_a_link_listed_twice_is_one_link():
    assert parse_pharaoh("1-1 1-1") == [Link(1, 1)]
    assert parse_pharaoh("1p1 1-1 1p1") == [Link(1, 1)]
    assert parse_pharaoh("1p1:0.2 1p1:0.7 1p1") == [Link(1, 1, False, 0.7)]


@pytest.mark.parametrize(
    "word",
    [
        "a-b",
        "1",
        "1-",
        "-1-2",
        "1-2-3",
        "1--2",
        "1.5-2",
        "1-2:",
        "1-2:x",
        "1-2:nan",
        "١-٢",
        "²-1",
        "0-0\xa01-1",
        "1\r-1",
        "0-0,1-1",
        "9999999999-0",
        "1s2",
        "0-0:1:2",
        "(0,",
        "\ufeff0-0",
    ],
)
def test_what_is_not_a_link_is_an_error_that_names_the_place(word):
    with pytest.raises(InputError, match=r"^gold\.txt:7: '.*' is not a link like 0-0 or 1p2; mend the line"):
        parse_pharaoh(f"0-0 {word}", where="gold.txt:7")


def test_a_score_must_be_finite():
    with pytest.raises(InputError, match="the score '1e999' is not finite; write a number"):
        parse_pharaoh("0-0:1e999")


@pytest.mark.parametrize(
    ("line", "format"),
    [
        ("0-0 2-1-P", "berkeley"),
        ("0001 3 4 P", "wpt"),
        ('{"links": []}', "jsonl"),
        ("# Sentence pair (1) source length 1", "giza"),
        ("<tmx version='1.4'>", "tmx"),
    ],
)
def test_a_line_of_another_format_is_recognised(line, format):
    with pytest.raises(InputError, match=f"this looks like the {format} format: name it"):
        parse_pharaoh(line)


def test_scores_are_left_out_or_rounded_on_request():
    links = [Link(0, 0, True, 0.9312), Link(1, 2, False, 1.0), Link(2, 2)]
    assert format_pharaoh(links) == "0-0:0.9312 1p2:1.0 2-2"
    assert format_pharaoh(links, scores=False) == "0-0 1p2 2-2"
    assert format_pharaoh(links, digits=2) == "0-0:0.93 1p2:1.00 2-2"


def test_berkeley_has_the_target_first():
    assert parse_berkeley("0-0 2-1-P 3-1-S") == [Link(0, 0), Link(1, 2, False), Link(1, 3)]
    assert format_berkeley([Link(0, 5), Link(1, 2, False, 0.5)]) == "5-0 2-1-P"
    with pytest.raises(
        InputError, match=r"^b:1: '0p1' is not a berkeley link like 0-0 or 2-1-P; mend the line"
    ):
        parse_berkeley("0p1", where="b:1")


def test_a_link_beyond_the_sentence_is_an_error_with_both_token_lists():
    source, target = ["l'", "homme", "court"], ["the", "man"]
    check_bounds(parse_pharaoh("0-0 2-1"), source, target, where="x")
    check_bounds([], [], [], where="x")
    with pytest.raises(InputError, match="; begin at 0"):
        check_bounds(parse_pharaoh("9-9"), source, target, where="x", otherwise="begin at 0")
    message = (
        r"^gold:12: link 3-1 \(counted from 0\) lies outside the pair of 3 source tokens \(l' homme court\)"
        r" and 2 target tokens \(the man\); use the tokens that the links were made for$"
    )
    with pytest.raises(InputError, match=message):
        check_bounds(parse_pharaoh("0-0 3-1"), source, target, where="gold:12")
    with pytest.raises(InputError, match=r"link 0-2 "):
        check_bounds(parse_pharaoh("0-2"), source, target, where="gold:12")
    with pytest.raises(InputError, match=r"link 0p0 .* 0 source tokens \(\)"):
        check_bounds(parse_pharaoh("0p0"), [], target, where="gold:12")


def test_the_bounds_check_suggests_the_other_direction_only_where_it_fits():
    source, target = ["a", "b", "c"], ["x", "y"]
    with pytest.raises(InputError, match="; try --reverse$"):
        check_bounds(parse_pharaoh("1-2"), source, target, where="h:1", reverse="try --reverse")
    with pytest.raises(InputError, match="; use the tokens that the links were made for$"):
        check_bounds(parse_pharaoh("0-5"), source, target, where="h:1", reverse="try --reverse")
    with pytest.raises(InputError, match="; use the tokens that the links were made for$"):
        check_bounds(parse_pharaoh("2-1 1-2"), source, target, where="h:1", reverse="try --reverse")
