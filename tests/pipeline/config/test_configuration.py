from pathlib import Path

import pytest

from align.core.errors import InputError
from pipeline.config import input_sections as sources
from pipeline.config.configuration import load


def train(context, *, lam: float = 0.01, solver: str = "bcfw", passes: int = 50):
    """Train."""


SCHEMA = {
    "corpus": sources.corpus_options,
    "vectors": sources.vectors_options,
    "gold": sources.gold_options,
    "train": train,
}
TEXT = """
[corpus]
name = "tiny"
source = "en"
target = "fr"
files = ["text/a.en", "/data/a.fr"]

[vectors]
source = "crawl"
target = "http://127.0.0.1:1/wiki.fr.vec"

[train]
lam = 1
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def rewrite(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_values_defaults_and_what_was_given(file):
    config = load(file, [], SCHEMA)
    assert config.name == "tiny"
    assert config.option("train.lam") == 1.0
    assert config.option("train.passes") == 50
    assert config.option("corpus.limit") is None
    assert "train.lam" in config.given
    assert "train.passes" not in config.given


def test_relative_paths_are_relative_to_the_file_and_urls_and_names_are_left(file):
    config = load(file, [], SCHEMA)
    assert config.option("corpus.files") == [str(file.parent / "text/a.en"), "/data/a.fr"]
    assert config.option("vectors.source") == "crawl"
    assert config.option("vectors.target") == "http://127.0.0.1:1/wiki.fr.vec"


def test_overrides_win_and_their_paths_are_relative_to_the_current_folder(file):
    config = load(file, ["train.lam=0.5", "corpus.files=b.en,b.fr"], SCHEMA)
    assert config.option("train.lam") == 0.5
    assert config.option("corpus.files") == [str(Path.cwd() / "b.en"), str(Path.cwd() / "b.fr")]


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("train.lam", r"--set train.lam: not section.key=value"),
        ("lam=1", r"--set lam=1: not section.key=value"),
        (
            "train.lamb=1",
            r"--set train.lamb: \[train\] has no key 'lamb'; did you mean 'lam'\? valid: lam, solver",
        ),
        ("trian.lam=1", r"--set trian.lam: no section \[trian\]; did you mean 'train'\?"),
        ("train.passes=many", r"--set train.passes: 'many' is no whole number; give for example 100"),
    ],
)
def test_odd_overrides_are_refused(file, override, told):
    with pytest.raises(InputError, match=told):
        load(file, [override], SCHEMA)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("lamda = 1", r"\[train\] has no key 'lamda'; did you mean 'lam'"),
        ('lam = "1"', "'1' is no number"),
        ("lam = = 1", "Invalid value; mend the TOML"),
        ('solver = "bcfw\n', "a text does not end on its line; close its quotation mark"),
        ("passes = 99999999999999999999", "9+ is no whole number"),
    ],
)
def test_an_odd_value_is_refused_with_its_line(file, line, told):
    rewrite(file, "lam = 1", line)
    with pytest.raises(InputError, match=f"tiny.toml:13: {told}"):
        load(file, [], SCHEMA)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[train]", "[tarin]", r"tiny.toml:12: no section \[tarin\]; did you mean 'train'"),
        ("[train]\nlam = 1", "train = 1", r"tiny.toml:12: \[vectors\] has no key 'train'"),
        (
            'target = "fr"\nfiles',
            'target = "fr"\nurl = "http://x/y.tgz"\nfiles',
            r"tiny.toml: corpus.files: .*keep one",
        ),
        ("[train]", "[[train]]", r"tiny.toml:12: a section is there once; write \[train\]"),
        ('name = "tiny"\n', "", r"tiny.toml: corpus.name is missing"),
        ('name = "tiny"', 'name = "../up"', r"tiny.toml: corpus.name: '../up' cannot name a folder"),
    ],
)
def test_odd_files_are_refused_with_the_line(file, old, new, told):
    rewrite(file, old, new)
    with pytest.raises(InputError, match=told):
        load(file, [], SCHEMA)


def test_a_key_outside_any_section_is_refused(file):
    rewrite(file, "\n[corpus]", "gold = 1\n[corpus]")
    with pytest.raises(InputError, match=r"tiny.toml:1: gold = ... stands outside a section"):
        load(file, [], SCHEMA)
    rewrite(file, "gold = 1", "name = 1")
    with pytest.raises(InputError, match=r"tiny.toml:1: name = ... stands outside a section; .* \[corpus\]"):
        load(file, [], SCHEMA)


def test_a_missing_or_unreadable_file_is_told(tmp_path):
    with pytest.raises(InputError, match=r"none.toml: no such configuration file"):
        load(tmp_path / "none.toml", [], SCHEMA)
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"odd.toml: cannot be read"):
        load(tmp_path / "odd.toml", [], SCHEMA)


def test_a_byte_order_mark_is_no_matter(file):
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load(file, [], SCHEMA).name == "tiny"
