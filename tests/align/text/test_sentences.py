"""Sentences within a line."""

import pytest

from align.text.sentences import SentenceSplitter


def sentences(splitter, text):
    return [text[start:stop] for start, stop in splitter.spans(text)]


@pytest.fixture(scope="module")
def english():
    # "approx" and "Sgt" are known; "Xrp" is only ever seen with a full stop.
    sample = [
        f"The Xrp. {name} came home. He met Xrp. {name} there. We saw it."
        for name in ("Able", "Boris", "Cook")
    ] * 20
    return SentenceSplitter("en", sample)


def test_sentences_end_at_full_stops_not_at_abbreviations(english):
    text = "Mr. Speaker met Xrp. Able.  He left! Did he? Approx. No. 5 went."
    assert sentences(english, text) == [
        "Mr. Speaker met Xrp. Able.",
        "He left!",
        "Did he?",
        "Approx. No. 5 went.",
    ]


def test_other_scripts_have_their_own_full_stops(english):
    assert sentences(english, "今天很好。明天呢？好！") == ["今天很好。", "明天呢？", "好！"]
    assert sentences(english, "كيف حالك؟ بخير. نعم") == ["كيف حالك؟", "بخير.", "نعم"]
    assert sentences(english, "यह है। वह था।") == ["यह है।", "वह था।"]


@pytest.mark.parametrize("text", ["", "   ", "word", "..."])
def test_short_lines(english, text):
    assert sentences(english, text) == ([text] if text.strip() else [])


@pytest.mark.parametrize("sample", [[], [""], ["One line only"]])
def test_little_or_nothing_to_train_on(sample):
    assert sentences(SentenceSplitter("xx", sample), "One. Two.") == ["One.", "Two."]
