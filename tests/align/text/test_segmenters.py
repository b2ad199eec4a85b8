"""Tokenizers that are not ours: what they give is checked."""

import sys
from types import SimpleNamespace

import pytest

from align.core.errors import InputError
from align.text import segmenters
from align.text.processor import TextProcessor


@pytest.fixture
def module(monkeypatch):
    """A module on the import path with a function ``cut`` that the test sets."""
    own = SimpleNamespace(cut=str.split, number=3)
    monkeypatch.setitem(sys.modules, "own_tokenizer", own)
    return own


@pytest.fixture
def jieba(monkeypatch):
    """A stand-in for the package, which cuts to words of two characters."""
    fake = SimpleNamespace(
        lcut=lambda text: [text[place : place + 2] for place in range(0, len(text), 2)],
        setLogLevel=lambda level: None,
    )
    monkeypatch.setitem(sys.modules, "jieba", fake)
    segmenters.segmenter.cache_clear()
    yield fake
    segmenters.segmenter.cache_clear()


def test_a_segmenter_cuts_its_script_and_the_rules_the_rest(jieba):
    found = TextProcessor("zh", tokenizer="jieba").process("欧洲议会 GPT4, 很好的。")
    assert found.surface == ["欧洲", "议会", "GPT4", ",", "很好", "的", "。"]
    assert found.spans[:3] == [(0, 2), (2, 4), (5, 9)]


def test_a_segmenter_that_changes_the_text_is_refused(jieba):
    jieba.lcut = lambda text: [text.replace("洲", "州")]
    with pytest.raises(InputError, match="its words are not the text"):
        TextProcessor("zh", tokenizer="jieba").process("欧洲")


@pytest.mark.parametrize("name", ["jieba", "pythainlp", "janome"])
def test_a_missing_segmenter_says_what_to_install(name, monkeypatch):
    for module_name in (name, f"{name}.tokenize", f"{name}.tokenizer"):
        monkeypatch.setitem(sys.modules, module_name, None)
    segmenters.segmenter.cache_clear()
    with pytest.raises(InputError, match=f"pip install {name}"):
        TextProcessor("zh", tokenizer=name)


def test_nltk_by_name():
    found = TextProcessor("en", tokenizer="nltk:TreebankWordTokenizer").process('He can\'t, "no".')
    assert found.surface == ["He", "ca", "n't", ",", '"', "no", '"', "."]
    assert found.spans[1:3] == [(3, 5), (5, 8)]


def test_nltk_tokenizers_without_spans():
    assert TextProcessor("en", tokenizer="nltk:TweetTokenizer").process("so :-) it is").surface == [
        *("so", ":-)", "it", "is"),
    ]


def test_nltk_has_no_such_tokenizer():
    with pytest.raises(InputError, match="nltk has no such tokenizer; one of .*WordPunctTokenizer"):
        TextProcessor("en", tokenizer="nltk:Moses")


def test_nltk_tokenizers_that_need_more():
    with pytest.raises(InputError, match="cannot be used without arguments or data"):
        TextProcessor("en", tokenizer="nltk:RegexpTokenizer")


def test_a_function_of_one_s_own_gives_strings_or_spans(module):
    processor = TextProcessor("vi", tokenizer="own_tokenizer:cut")
    assert processor.process("sinh viên").surface == ["sinh", "viên"]
    module.cut = lambda text: [(0, 9), (10, 13)]
    found = TextProcessor("vi", tokenizer="own_tokenizer:cut").process("sinh viên học")
    # A token with a space within: files of tokens are parted by spaces.
    assert found.surface == ["sinh_viên", "học"]
    assert found.spans == [(0, 9), (10, 13)]


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda text: ["b", "a"], "its token 'a' is not in the text from character 3 on"),
        (lambda text: [""], "its token '' is not in the text"),
        (lambda text: [(2, 1)], r"span \(2, 1\) after character 0 of 3"),
        (lambda text: [(0, 2), (1, 3)], r"span \(1, 3\) after character 2 of 3"),
        (lambda text: [(0, 9)], r"span \(0, 9\)"),
        (lambda text: [7], "it gave 7, which is no text"),
        (lambda text: 1 / 0, r"it failed on 'a b' \(ZeroDivisionError: division by zero\)"),
    ],
)
def test_what_is_no_token_of_the_text_is_refused(module, cut, message):
    module.cut = cut
    with pytest.raises(InputError, match=message):
        TextProcessor("en", tokenizer="own_tokenizer:cut").process("a b")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:cut", "No module named 'no_such_module'"),
        ("own_tokenizer:nothing", "has no attribute 'nothing'"),
        ("own_tokenizer:number", "it is no function"),
        (":cut", "give module:function"),
        ("../own_tokenizer:cut", "give module:function"),
        ("broken_tokenizer:cut", "tokenizer 'broken_tokenizer:cut': out of order; give module:function"),
    ],
)
def test_a_function_that_cannot_be_had(module, name, message, tmp_path, monkeypatch):
    (tmp_path / "broken_tokenizer.py").write_text("raise RuntimeError('out of\\norder')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=message):
        TextProcessor("en", tokenizer=name)
