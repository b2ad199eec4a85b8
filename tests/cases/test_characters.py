"""Signs of several characters, invisible ones, and signs that are letters: one token each."""

import pytest

from align.text.normalise import clean, lookup_key
from align.text.processor import TextProcessor
from tests.align.text.test_batch import check
from tests.align.text.tokens import tokens

CLUSTERS = [
    *("🇫🇷", "🇩🇪", "1️⃣", "#️⃣", "*⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👨‍👩‍👧‍👦", "👍🏽", "🧑🏿‍🚀", "🏳️‍🌈", "❤️‍🔥", "🏴‍☠️", "©️", "⚕️"),
    # A Han sign and its variant, half-width Kana, a musical note.
    *("葛󠄀", "ｶﾞ", "𝅘𝅥𝅮"),
]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_g25_a_grapheme_cluster_is_never_cut(cluster):
    for language in ("en", "fr", "ja", "xx"):
        assert tokens(language, f"{cluster} ok") == [cluster, "ok"]
        assert tokens(language, f"(a{cluster}{cluster}, b{cluster}.)") == [
            *("(", "a", cluster, cluster, ",", "b", cluster, ".", ")"),
        ]
    check(TextProcessor("fr", profile="expand"), [f"{cluster}l'été{cluster} 5% {cluster}", "", cluster * 3])


def test_g25_a_keycap_is_no_digit_of_the_number_before_it():
    assert tokens("en", "12️⃣3️⃣ 5🇫🇷") == ["1", "2️⃣", "3️⃣", "5", "🇫🇷"]


@pytest.mark.parametrize("word", ["हिन्दी", "𑄌𑄋𑄴𑄟𑄳𑄦", "السَّلامُ", "q⃝z", "a\u200db", "x\u0323\u0302y"])
def test_g25_letters_and_their_marks_stay_together(word):
    assert tokens("xx", f"{word}, {word}") == [word, ",", word]


def test_g25_a_sign_before_digits_stays_with_them():
    assert tokens("ar", "\u0600١٢ آية") == ["\u0600١٢", "آية"]


MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u206a\u2060\ufeff\ufff9"


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: f"U+{ord(mark):04X}")
def test_g25_marks_of_direction_go_and_part_no_word(mark):
    assert tokens("ar", f"{mark}كت{mark}اب{mark} ١٢{mark}٫٥") == ["كتاب", "١٢٫٥"]
    assert clean(f"a{mark}b").changes == {"invisible": 1}
    assert lookup_key(f"{mark}a{mark}b") == "ab"
    found = TextProcessor("en").process(f"x a{mark}b {mark}")
    assert found.spans == [(0, 1), (2, 5)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('צה"ל מנכ"לית, (ד"ר)', 'צה"ל מנכ"לית , ( ד"ר )'),
        ("צה״ל ש״ח.", "צה״ל ש״ח ."),
        ("צה”ל צה''ל", "צה”ל צה''ל"),
        ("צַהַ״ל", "צַהַ״ל"),
        ("ג׳ירפה ג'ירפה ג’ירפה", "ג׳ירפה ג'ירפה ג’ירפה"),
        ("ג׳ וכו' רח', ה׳תשפ״ד", "ג׳ וכו' רח' , ה׳תשפ״ד"),
        # Quotes are quotes.
        ('"שלום" אמר "כן, לא".', '" שלום " אמר " כן , לא " .'),
        ("'שלום' ''כן''", "' שלום ' '' כן ''"),
        ('ב"הארץ" "צה"ל"', 'ב " הארץ " " צה"ל "'),
        ("א4 ב_ג abc", "א4 ב_ג abc"),
    ],
)
def test_g25_gershayim_and_geresh_are_letters_in_hebrew(text, expected):
    for language in ("he", "en", "it"):
        assert tokens(language, text) == expected.split(" ")


def test_g25_every_way_to_type_gershayim_and_geresh_is_one_word():
    assert {lookup_key(word) for word in ('צה"ל', "צה״ל", "צה”ל", "צה''ל", "צה׳׳ל")} == {'צה"ל'}
    assert {lookup_key(word) for word in ("ג׳", "ג'", "ג’")} == {"ג'"}
    for key in ('צה"ל', "ג'", "״", "׳׳"):
        assert lookup_key(lookup_key(key)) == lookup_key(key)
