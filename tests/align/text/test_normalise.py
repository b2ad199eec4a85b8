"""Cleaning keeps the words and the way back; one function makes the keys of tokens."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.text.normalise import clean, lookup_key, replace_in_place

# Text as it comes: letters, marks that compose, every sort of white space, invisible signs.
SIGNS = (
    "abE &;é'’.-1 \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2009\u200b\u2028\u2029\u202f\u3000"
    "\u0301\u0323\u0308\ufeff\xad\u2060\u200e\u1112\u1161\u11ab한ﬁ½\x92\x00\U0001f600"
)
texts = st.text(alphabet=SIGNS, max_size=30)


@pytest.mark.parametrize(
    "code",
    [
        0x2028,
        0x2029,
        0x85,
        0x0B,
        0x0C,
        0x1C,
        0x1D,
        0x1E,
        0x1F,
        0xA0,
        0x2009,
        0x202F,
        0x3000,
        0x200B,
        0x09,
        0x0D,
    ],
)
def test_every_white_space_and_line_separator_becomes_one_space_and_is_counted(code):
    cleaned = clean(f"one.{chr(code)}two")
    assert cleaned.text == "one. two"
    assert cleaned.changes == {"spaces": 1}
    assert cleaned.raw_span(5, 8) == (5, 8)


def test_text_without_anything_to_clean_is_itself():
    text = "Le chat, « l’ami » — œuvre."
    assert clean(text) == (text, None, {})


@pytest.mark.parametrize("mark", ["\ufeff", "\xad", "\u2060", "\u200e", "\u202a"])
def test_invisible_characters_go_anywhere(mark):
    cleaned = clean(f"{mark}Le{mark} ch{mark}at{mark}")
    assert cleaned.text == "Le chat"
    assert cleaned.changes == {"invisible": 4}
    # The spans are those of the visible letters: from "L" to "e", from "c" to "t".
    assert [cleaned.raw_span(0, 2), cleaned.raw_span(3, 7)] == [(1, 3), (5, 10)]


def test_decomposed_letters_are_composed_and_keep_their_place():
    cleaned = clean("cafe\u0301 noir")
    assert cleaned.text == "café noir"
    assert cleaned.changes == {"composed": 1}
    assert cleaned.raw_span(0, 4) == (0, 5)
    assert cleaned.raw_span(5, 9) == (6, 10)


def test_hangul_of_single_letters_is_composed():
    assert clean("\u1112\u1161\u11ab").text == "한"


def test_an_invisible_sign_does_not_part_a_letter_from_its_accent():
    assert clean("e\ufeff\u0301").text == "é"


@pytest.mark.parametrize("text", ["½ ﬁ ² Ⅳ", "ｆｕｌｌ"])
def test_compatibility_characters_stay(text):
    assert clean(text).text == text


def test_windows_quotes_read_as_latin_1_are_quotes():
    assert clean("l\x92ami \x96 \x93oui\x94").text == "l’ami – “oui”"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("n&apos;aura", "n'aura"),
        ("AT&amp;T &quot;x&quot; 5 &lt; 6", 'AT&T "x" 5 < 6'),
        ("l&#39;ami&nbsp;&#x2014;", "l'ami —"),
        ("&amp;apos; &amp;amp; &amp;amp;apos;", "' & '"),
        ("e&#x301; a&#xad;b", "é ab"),
        ("&#0; &#99999999; &unknown; R&D; &", "\ufffd &#99999999; &unknown; R&D; &"),
    ],
)
def test_escapes_of_markup_are_undone(text, cleaned):
    assert clean(text).text == cleaned
    assert clean(clean(text).text).text == cleaned


def test_the_place_of_an_escape_is_all_of_it():
    cleaned = clean("n&apos;aura")
    assert [cleaned.raw_span(0, 2), cleaned.raw_span(2, 6)] == [(0, 7), (7, 11)]
    assert cleaned.changes == {"escapes": 1}


@given(texts)
def test_cleaning_is_canonical_and_keeps_the_way_back(text):
    cleaned = clean(text)
    assert unicodedata.is_normalized("NFC", cleaned.text)
    assert not set("\t\n\r\x85\xa0\u2028\ufeff\xad") & set(cleaned.text)
    assert clean(cleaned.text).text == cleaned.text
    for place, character in enumerate(cleaned.text):
        start, stop = cleaned.raw_span(place, place + 1)
        assert 0 <= start < stop <= len(text)
        assert character in clean(text[start:stop]).text


@given(st.lists(texts.map(lambda text: text.replace("\n", "")), min_size=1, max_size=5))
def test_many_lines_at_once_are_cleaned_alike(lines):
    replaced, complete = replace_in_place("\n".join(lines))
    assert len(replaced) == len("\n".join(lines))
    if complete:
        assert replaced.split("\n") == [clean(line).text for line in lines]


@pytest.mark.parametrize(
    ("token", "key"),
    [
        ("Speaker", "speaker"),
        ("ÉTAT", "état"),
        ("d’", "d'"),
        ("d\u02bc", "d'"),
        ("it’s", "it's"),
        ("’", "'"),
        ("‘", "‘"),
        ("E\u0301tat", "état"),
        ("\ufeffLe", "le"),
        ("10\xa0000", "10_000"),
        ("-LRB-", "("),
        ("-rrb-", ")"),
        ("''", '"'),
        ("``", '"'),
        ("&apos;s", "'s"),
        ("&amp;", "&"),
        ("&", "&"),
        ("ΟΔΟΣ", "οδος"),
        ("½", "½"),
        ("", "_"),
        ("\ufeff", "_"),
        ("\t", "_"),
    ],
)
def test_keys(token, key):
    assert lookup_key(token) == key


@given(texts)
def test_a_key_is_its_own_key_and_can_stand_in_a_file(token):
    key = lookup_key(token)
    assert key
    assert lookup_key(key) == key
    assert not any(character.isspace() for character in key)
