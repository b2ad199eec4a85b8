"""Markup and language tags of parliamentary corpora."""

import pytest

from align.text.markup import blank_language_tag, is_markup


@pytest.mark.parametrize(
    "line",
    [
        "<CHAPTER ID=1>",
        '<SPEAKER ID=2 NAME="X">',
        "<SPEAKER ID=3 LANGUAGE=\"DE\" NAME='Müller (PSE)'>",
        " <P> ",
        "</P>",
        "<p/>",
        '<doc docid="x">',
        '<note lang="en"/>',
    ],
)
def test_markup(line):
    assert is_markup(line)


@pytest.mark.parametrize(
    "line", ["5 < 6", "<", "", "<P> and text", "text <P>", "<3 you", "<hope>", "a < b > c", "<<P>>"]
)
def test_text(line):
    assert not is_markup(line)


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("(DE) Herr Präsident", "Herr Präsident"),
        ("– (FR) Monsieur", "Monsieur"),
        ("- (SV) - Fru talman", "Fru talman"),
        ("  (EN)", ""),
        ("(IT)Signor", "Signor"),
    ],
)
def test_a_language_tag_becomes_spaces(line, rest):
    blanked = blank_language_tag(line)
    assert len(blanked) == len(line)
    assert blanked.strip() == rest
    assert line.endswith(rest)


@pytest.mark.parametrize(
    "line", ["(UK) text", "(de) text", "Mr (DE) text", "(A) first", "", "(EU) law", "- no"]
)
def test_other_brackets_stay(line):
    assert blank_language_tag(line) is line
