"""The sections [corpus], [vectors] and [gold]: what is valid, and what is said of what is not."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from align.core.errors import InputError
from pipeline.config import input_sections as sources
from pipeline.config import places
from pipeline.config.input_sections import corpus_options, gold_options, local_files, vectors_options
from pipeline.config.options import options_of
from pipeline.config.places import (
    EUROPARL,
    check_file,
    check_place,
    europarl_urls,
    is_url,
    local_path,
    vectors_place,
)

DATA = Path(__file__).resolve().parents[3] / "data"
CORPUS = {"name": "c", "source": "en", "target": "fr"}
SECTIONS = {"corpus": corpus_options, "vectors": vectors_options, "gold": gold_options}


@pytest.mark.parametrize(
    ("given", "kind", "where"),
    [
        ({}, "europarl", ()),
        ({"files": ["/a.en", "/a.fr"]}, "files", ("/a.en", "/a.fr")),
        ({"url": "https://h/fr-en.tgz"}, "url", ("https://h/fr-en.tgz",)),
        ({"tsv": "/a.tsv"}, "tsv", ("/a.tsv",)),
        ({"tmx": "file:///a.tmx"}, "tmx", ("file:///a.tmx",)),
        ({"joint": "/a"}, "joint", ("/a",)),
    ],
)
def test_the_kind_of_a_corpus_follows_from_the_key(given, kind, where):
    options = corpus_options(**CORPUS, **given)
    assert (options.kind, options.places) == (kind, where)
    assert (options.limit, options.tokenized, options.encoding, options.sha256) == (
        None,
        False,
        "utf-8",
        None,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "a/b"}, r"corpus\.name: 'a/b' cannot name a folder; use letters"),
        ({"name": ""}, r"corpus\.name: ''"),
        ({"name": ".."}, r"corpus\.name: '\.\.'"),
        ({"name": "downloads"}, r"corpus\.name: 'downloads'.*not downloads or latest"),
        ({"source": "english"}, r"corpus\.source: 'english' is no language code; write for example en"),
        ({"target": "../x"}, r"corpus\.target: '\.\./x' is no language code"),
        ({"files": ["a"]}, r"corpus\.files: 1 file\(s\) given; give two, the source first"),
        ({"files": []}, r"corpus\.files: 0 file\(s\) given"),
        ({"files": ["a", "b", "c"]}, r"corpus\.files: 3 file\(s\) given"),
        ({"files": ["a", "a"]}, r"corpus\.files: a is given twice; give the source and the target file"),
        ({"files": ["a", ""]}, r"corpus\.files: empty; give a path or a URL"),
        ({"files": ["a", "b"], "url": "c"}, r"corpus\.files: corpus\.url is set as well; keep one of them"),
        ({"tsv": "a", "joint": "b"}, r"corpus\.tsv: corpus\.joint is set as well"),
        ({"url": "ftp://h/x"}, r"corpus\.url: ftp://h/x is no http, https or file URL; give one, or a path"),
        ({"url": "s3://h/x"}, r"corpus\.url: s3://h/x is no http"),
        ({"url": "http:///x"}, r"corpus\.url: http:///x has no valid host or port; write http://host/path"),
        ({"url": "http://h:99999/x"}, r"corpus\.url: http://h:99999/x has no valid host or port"),
        ({"files": ["", ""]}, r"corpus\.files: empty; give a path or a URL"),
        ({"name": "\u65e5" * 90}, r"corpus\.name: '.*' cannot name a folder"),
        ({"encoding": "undefined"}, r"corpus\.encoding: unknown encoding 'undefined'"),
        ({"encoding": "utf-8\0"}, r"corpus\.encoding: unknown encoding 'utf-8\\x00'"),
        ({"url": "http://[::1/x"}, r"corpus\.url: http://\[::1/x has no valid host"),
        ({"tmx": "file://other/x"}, r"corpus\.tmx: file://other/x names another machine"),
        ({"url": "x", "target": "en"}, r"corpus\.target: 'en' is the source too; with corpus\.url they must"),
        ({"limit": 0}, r"corpus\.limit: 0 is less than 1; leave it out to use all pairs"),
        ({"encoding": "utf-99"}, r"corpus\.encoding: unknown encoding 'utf-99'"),
        ({"sha256": "12"}, r"corpus\.sha256: '12' is not 64 hexadecimal digits"),
        (
            {"sha256": "0" * 64, "files": ["a", "b"]},
            r"corpus\.sha256: it is of one file but corpus\.files are two",
        ),
        (
            {"target": "xx"},
            r"no files, url, tsv, tmx or joint is set, and Europarl has no 'xx' \(it has en, bg, cs",
        ),
    ],
)
def test_what_is_wrong_with_a_corpus_is_said_with_its_key(given, message):
    with pytest.raises(InputError, match=message):
        corpus_options(**{**CORPUS, **given})


def test_a_hash_may_be_written_in_capitals():
    assert corpus_options(**CORPUS, url="x", sha256="AB" * 32).sha256 == "ab" * 32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": "a"}, r"vectors\.target: missing while vectors\.source is set; set both or neither"),
        ({"target": "a"}, r"vectors\.source: missing while vectors\.target is set"),
        ({"source": "gopher://x", "target": "b"}, r"vectors\.source: gopher://x is no http"),
        ({"dictionary": ""}, r"vectors\.dictionary: empty"),
    ],
)
def test_what_is_wrong_with_vectors_is_said_with_its_key(given, message):
    with pytest.raises(InputError, match=message):
        vectors_options(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"files": ["a", "b"]}, r"gold\.links: missing while gold\.files is set; set both or neither"),
        ({"links": "a"}, r"gold\.files: missing while gold\.links is set"),
        ({"files": ["a"], "links": "l"}, r"gold\.files: 1 file\(s\) given; give two, the source first"),
        ({"files": ["a", "a"], "links": "l"}, r"gold\.files: a is given twice"),
        ({"files": ["a", "b"], "links": "ftp://h/l"}, r"gold\.links: ftp://h/l is no http"),
        ({"format": "giza"}, r"gold\.format: no format 'giza'; choose one of pharaoh, wpt, talp"),
        ({"base": 2}, r"gold\.base: 2 is neither 0 nor 1; say how the first token is counted"),
        ({"train": -1}, r"gold\.train: -1 is less than 0"),
        ({"train": 5}, r"gold\.train: 5 pairs of no gold; set gold\.files and gold\.links"),
    ],
)
def test_what_is_wrong_with_gold_is_said_with_its_key(given, message):
    with pytest.raises(InputError, match=message):
        gold_options(**given)


def test_a_path_that_no_disk_can_hold_is_told():
    with pytest.raises(InputError, match=r"corpus\.tsv: /a+: File name too long; correct the path"):
        check_file("corpus.tsv", Path("/" + "a" * 5000))


def test_absent_sections_are_valid():
    assert vectors_options() == sources.VectorsOptions(None, None, None)
    assert gold_options().files == ()


def test_europarl_comes_from_its_site_then_from_opus():
    assert len(EUROPARL) == 20
    for code in EUROPARL:
        first, second = europarl_urls("en", code)
        assert first == f"https://www.statmt.org/europarl/v7/{code}-en.tgz"
        assert europarl_urls(code, "en") == [first, second]
    assert second == "https://object.pouta.csc.fi/OPUS-Europarl/v8/moses/en-sv.txt.zip"
    assert europarl_urls("fr", "de") == ["https://object.pouta.csc.fi/OPUS-Europarl/v8/moses/de-fr.txt.zip"]


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("crawl", "vectors-crawl/cc.pt.300.vec.gz"),
        ("crawl.bin", "vectors-crawl/cc.pt.300.bin.gz"),
        ("wiki", "vectors-wiki/wiki.pt.vec"),
        ("wiki.bin", "vectors-wiki/wiki.pt.zip"),
    ],
)
@pytest.mark.parametrize("language", ["pt", "pt-BR"])
def test_vectors_by_language_code(value, language, address):
    assert vectors_place(value, language) == f"https://dl.fbaipublicfiles.com/fasttext/{address}"
    assert vectors_place("/my/pt.vec", language) == "/my/pt.vec"
    assert vectors_options(source=value, target=value).source == value


RELATIVE = [
    *("corpus.url=a.tgz", "corpus.files=../a b.en", "vectors.source=wiki.vec", "vectors.dictionary=crawl"),
    "download.mirror=archives",
]
OTHERS = ["corpus.url=/a.tgz", "corpus.url=https://h/a.tgz", "vectors.source=crawl", "gold.links="]


@pytest.mark.parametrize("setting", RELATIVE + OTHERS)
def test_relative_paths_are_relative_to_the_folder(setting):
    key, _, value = setting.partition("=")
    placed = f"/folder/{value}" if setting in RELATIVE else value
    assert sources.place(key, value, Path("/folder")) == placed
    assert key in sources.PATH_KEYS


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert sources.place("corpus.tsv", "~/a.tsv", Path("/folder")) == "/home/me/a.tsv"
    assert sources.place("corpus.tsv", "~a.tsv", Path("/folder")) == "/folder/~a.tsv"


def test_urls_and_paths():
    assert local_path("/a b") == Path("/a b")
    assert local_path("file:///a%20b%2520c") == Path("/a b%20c")
    assert local_path("FILE://localhost/a") == Path("/a")
    assert local_path("http://h/a") is None
    assert is_url("http://h/a")
    assert not is_url("a:b")
    check_place("x", "C:\\a.txt")


def test_the_users_own_files_are_listed(tmp_path):
    for name in ("a.en", "a.fr", "v"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    files = [str(tmp_path / "a.en"), f"file://{tmp_path}/a.fr"]
    values = {"corpus.files": files, "vectors.source": "crawl", "vectors.target": str(tmp_path / "v")}
    found = local_files(values.get)
    assert found == [tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "v"]
    assert local_files({"corpus.url": "https://h/x"}.get) == []


def test_a_missing_or_empty_file_is_named_with_its_key(tmp_path):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("gone", r"corpus\.tsv: .*/gone does not exist; correct the path"),
        ("empty", r"corpus\.tsv: .*/empty is empty; give a file with text in it"),
        ("pipe", r"corpus\.tsv: .*/pipe is a pipe or device, which can be read only once; save it as a file"),
        ("", r"corpus\.tsv: .* is a folder; name a file in it"),
    ):
        with pytest.raises(InputError, match=message):
            local_files({"corpus.tsv": str(tmp_path / name)}.get)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.toml")), ids=lambda path: path.name)
def test_the_shipped_configurations_are_valid(path):
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    for section, check in SECTIONS.items():
        check(**values.get(section, {})) if section in values or section != "corpus" else pytest.fail(
            "no corpus"
        )
    assert values["corpus"]["name"] == path.stem


def test_the_configuration_to_copy_explains_every_key():
    text = (DATA / "my-corpus.toml").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^(?:# )?\[(\w+)\]\n(.*?)(?=^(?:# )?\[|\Z)", text, re.S | re.M))
    for section, function in SECTIONS.items():
        keys = re.findall(r"^(?:# )?(\w+) = ", parts[section], re.M)
        assert sorted(keys) == sorted(options_of(function))
        for option in options_of(function).values():
            assert option.meaning


def test_the_defaults_it_shows_are_the_defaults():
    text = (DATA / "my-corpus.toml").read_text(encoding="utf-8")
    for section, keys in (("corpus", ("tokenized", "encoding")), ("gold", ("format", "in_corpus"))):
        for key in keys:
            shown = re.search(rf"^# ({key} = .*)$", text, re.M).group(1)
            assert tomllib.loads(shown)[key] == options_of(SECTIONS[section])[key].default


def test_the_known_places_are_secure():
    for address in (*places.VECTOR_SETS.values(), *europarl_urls("en", "fr")):
        assert address.startswith("https://")
