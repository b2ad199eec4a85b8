"""The options that name a text, and the server of an archive."""

import argparse
import urllib.error
import urllib.request

import pytest

from align.core.errors import InputError
from benchmarks import texts


def parsed(*words):
    parser = argparse.ArgumentParser()
    texts.add_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def test_two_files_vectors_and_gold_become_a_configuration(bitext, gold):
    source, target = bitext(3)
    args = parsed("--bitext", source, target, "--vectors", source, target, "--gold", gold, "--train", 5)
    with texts.settings_of(args) as settings:
        assert settings["corpus"]["files"] == [str(source), str(target)]
        assert settings["vectors"] == {"source": str(source), "target": str(target)}
        assert settings["gold"]["links"] == f"{gold}.align"
        assert settings["gold"]["train"] == 5
        assert settings["preprocess"] == {"profile": "expand"}


def test_a_local_archive_is_served_and_nothing_else(tmp_path):
    archive = tmp_path / "a.tgz"
    archive.write_bytes(b"content" * 1000)
    (tmp_path / "secret").write_text("x")
    with texts.settings_of(parsed("--europarl", archive)) as settings:
        address = settings["corpus"]["url"]
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert answer.read() == archive.read_bytes()
            assert answer.headers["Content-Length"] == "7000"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(address.replace("a.tgz", "secret"), timeout=10)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=10)


def test_an_address_is_left_as_it_is():
    with texts.settings_of(parsed("--europarl", "https://host/x.tgz")) as settings:
        assert settings["corpus"]["url"] == "https://host/x.tgz"


def test_files_that_are_missing_are_told(tmp_path):
    for words in (["--europarl", tmp_path / "no.tgz"], ["--bitext", tmp_path / "no.en", tmp_path / "no.fr"]):
        with pytest.raises(InputError, match=r"no\..* does not exist"), texts.settings_of(parsed(*words)):
            pass


def test_numbers_are_above_nothing_and_told_once():
    assert texts.numbers("--jobs", [2, 1, 2]) == [2, 1]
    with pytest.raises(InputError, match="--jobs 0: less than 1"):
        texts.numbers("--jobs", [0])
