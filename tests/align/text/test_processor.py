"""The way from text to tokens, and the settings a model keeps of it."""

import time

import pytest

from align.core.errors import InputError
from align.text.processor import TextProcessor


def test_spans_are_places_in_the_original_text():
    text = "\ufeffL’ami\xa0a 9.8m, cafe\u0301\xad!"
    found = TextProcessor("fr").process(text)
    assert found.surface == ["L’", "ami", "a", "9.8", "m", ",", "café", "!"]
    assert [text[start:stop] for start, stop in found.spans] == [
        *("L’", "ami", "a", "9.8", "m", ",", "cafe\u0301", "!"),
    ]


def test_both_sides_of_a_space_are_alike_whatever_the_line_end():
    processor = TextProcessor("en")
    assert processor.process("a b .\r").analysis == processor.process("a b .").analysis


@pytest.mark.parametrize("text", ["", "  ", "\t", "\ufeff", "\u2028"])
def test_nothing_visible_has_no_tokens(text):
    assert TextProcessor("en").process(text) == ([], [], [], [])


def test_given_tokens_are_kept_as_they_are():
    found = TextProcessor("vi").process_tokens(["sinh viên", "học,", "A\u0301", ""])
    assert found.surface == ["sinh viên", "học,", "A\u0301", ""]
    assert found.analysis == ["sinh_viên", "học,", "á", "_"]
    assert found.spans == [(0, 9), (10, 14), (15, 17), (18, 18)]


def test_spaces_split_on_the_space_alone():
    text = "l'ami  a,b\xa0c\td e\u0301 "
    found = TextProcessor("fr", tokenizer="spaces").process(text)
    assert found.surface == ["l'ami", "a,b\xa0c\td", "e\u0301"]
    assert [text[start:stop] for start, stop in found.spans] == found.surface
    assert found.analysis == ["l'ami", "a,b_c_d", "é"]


def test_settings_make_the_same_processor():
    processor = TextProcessor("fr", profile="expand", tokenizer="spaces")
    again = TextProcessor.from_settings(processor.settings())
    assert again.settings() == {"language": "fr", "profile": "expand", "tokenizer": "spaces"}
    assert again.process("du vin") == processor.process("du vin")


def test_settings_of_a_stranger_import_nothing(monkeypatch):
    def no_import(name):
        raise AssertionError(f"imported {name}")

    monkeypatch.setattr("importlib.import_module", no_import)
    settings = {"language": "en", "profile": "plain", "tokenizer": "os:system"}
    with pytest.raises(InputError, match="tokenizer 'os:system' is code that the model asks for"):
        TextProcessor.from_settings(settings)


@pytest.mark.parametrize("settings", [{}, {"language": "en", "profile": "plain"}, {"language": 1}])
def test_settings_that_lack_something(settings):
    with pytest.raises(InputError, match="lacks language, profile or tokenizer"):
        TextProcessor.from_settings(settings)


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(
        InputError, match=r"tokenizer 'moses': no such tokenizer; choose rules, spaces, jieba"
    ):
        TextProcessor("en", tokenizer="moses")


def test_one_call_is_fast():
    """10,000 sentences of 25 words take a second at most; a loaded machine gets five times that."""
    processor = TextProcessor("fr", profile="expand")
    sentences = [
        f"Le rapport n° {number}, c'est l'avis du chef : il n'y a pas, dit-il, d'autre"
        for number in range(2000)
    ]
    started = time.process_time()
    for sentence in sentences:
        processor.process(sentence)
    assert time.process_time() - started < 1.0
