"""Many lines at once give what each line gives by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import align.text.batch
from align.text.batch import BatchProcessor
from align.text.processor import TextProcessor

WORDS = [
    *("L’homme", "n'a", "du", "au-delà", "Y", "a-t-il", "p.", "100", "No.", "5", "Mr.", "it's", "don't"),
    *(
        "9.8m",
        "10\xa0000",
        "cafe\u0301",
        "\ufeffLe",
        "x\xady",
        "",
        "",
        "\t",
        "« ici »",
        "选文件",
        "👩‍💻",
        "-t-",
        "-",
        "t",
    ),
    *("n&apos;a", "&quot;", "il", "au", "art.", "(art.", "5%", "\u2028", "end.", "\x93a\x94"),
]
lines_of_text = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=6)


def check(processor, lines):
    batch_processor = BatchProcessor(processor)
    batch = batch_processor.process(lines)
    assert len(batch.text) == len(lines) == len(batch.starts) - 1 == len(batch.offsets) - 1
    for row, line in enumerate(lines):
        one = processor.process(line)
        surface, analysis = slice(*batch.starts[row : row + 2]), slice(*batch.offsets[row : row + 2])
        assert batch.text[row] == " ".join(one.surface)
        assert [batch_processor.surface[token] for token in batch.surface[surface]] == one.surface
        assert [tuple(span) for span in batch.spans[surface].tolist()] == one.spans
        assert [batch_processor.words[word] for word in batch.words[analysis]] == one.analysis
        assert batch.parents[analysis].tolist() == one.parents
    assert batch.spans.dtype == np.uint32
    assert batch.words.dtype == batch.parents.dtype == np.int32


@pytest.mark.parametrize("profile", ["plain", "expand"])
@pytest.mark.parametrize("language", ["en", "fr", "zh"])
@given(lines=lines_of_text)
def test_a_batch_is_its_lines(language, profile, lines):
    check(TextProcessor(language, profile=profile), lines)


@given(lines=lines_of_text)
def test_tokenized_text_too(lines):
    check(TextProcessor("fr", profile="expand", tokenizer="spaces"), lines)


def test_tokenizers_from_elsewhere_too():
    lines = ["It's \ufeffa\xa0dog (x).", "", "No. 5"]
    check(TextProcessor("en", tokenizer="nltk:WordPunctTokenizer"), lines)


def test_a_number_on_the_next_line_does_not_follow():
    check(TextProcessor("en"), ["I said no. No.", "5 men", "No. 5"])


def test_a_line_feed_within_a_line_is_a_space():
    batch = BatchProcessor(TextProcessor("en")).process(["a\nb", "c"])
    assert batch.text == ["a b", "c"]


def test_changes_are_counted():
    batch = BatchProcessor(TextProcessor("en")).process(["a\u2028b\tc", "\ufeffcafe\u0301", "plain"])
    assert batch.changes == {"spaces": 2, "invisible": 1, "composed": 1}


def test_forgetting_changes_nothing(monkeypatch):
    monkeypatch.setattr(align.text.batch, "REMEMBERED", 3)
    processor = BatchProcessor(TextProcessor("en"))
    for _ in range(3):
        batch = processor.process(["one two three four five", "six one"])
        assert [processor.words[word] for word in batch.words] == [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "one",
        ]


def test_no_lines():
    batch = BatchProcessor(TextProcessor("en")).process([])
    assert batch.starts.tolist() == [0]
    assert batch.text == []
