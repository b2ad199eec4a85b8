"""What was found of a shard is taken from the disk only where all of it is whole and the shard the same."""

import json
import os
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from align.text.processor import TextProcessor
from pipeline.stages.preprocess.shard import (
    Settings,
    Shard,
    fingerprint,
    process_shard,
)
from pipeline.stages.preprocess.summary import Summary, shard_files

TEXTS = (
    ["The house, the cat.", "", "(DE) It's 3.50?", "same same", "a b c d e f g h i j k"],
    ["La maison, le chat.", "rien", "C'est 3,50.", "same same", "x"],
)


def joined(*sides):
    return tuple("\n".join(lines) for lines in sides)


def saved(shard):
    return Summary.load(Path(shard.settings.folder), shard.number, made_from=fingerprint(shard))


@pytest.fixture
def shard(tmp_path):
    processors = [json.dumps(TextProcessor(language).settings()) for language in ("en", "fr")]
    settings = Settings((processors[0], processors[1]), 100, 5.0, True, str(tmp_path))
    return Shard(3, 24, joined(*TEXTS), [(1, "encoding", "byte 5")], settings)


def same(one, other):
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if field.name == "sides":
            assert all(map(same, left, right))
        elif isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)
        else:
            assert left == right
            assert type(left) is type(right)
    return True


def test_it_comes_back_as_it_was(shard):
    summary = process_shard(shard)
    assert len(summary.rejects) == 3
    assert summary.changes
    found = saved(shard)
    assert same(summary, found)
    assert [type(reject) for reject in found.rejects] == [type(reject) for reject in summary.rejects]
    assert same(summary, process_shard(shard))


def test_it_is_not_done_again(shard, monkeypatch):
    process_shard(shard)
    monkeypatch.setattr("pipeline.stages.preprocess.shard._process", None)
    process_shard(shard)


@pytest.mark.parametrize("name", ["arrays", "source", "target", "summary"])
@pytest.mark.parametrize("fault", ["changed", "short", "empty", "missing"])
def test_what_is_not_whole_is_done_again(shard, tmp_path, name, fault):
    process_shard(shard)
    path = shard_files(tmp_path, shard.number)[name]
    whole = path.read_bytes()
    bad = {"changed": bytes([whole[0] ^ 1]) + whole[1:], "short": whole[:-1], "empty": b""}
    if fault == "missing":
        path.unlink()
    else:
        path.write_bytes(bad[fault])
    assert saved(shard) is None
    assert process_shard(shard).again == (name != "summary" or fault != "missing")
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda shard: replace(shard, first=25),
        lambda shard: replace(shard, problems=[]),
        lambda shard: replace(shard, texts=joined(TEXTS[0], ["La maison, le chien.", *TEXTS[1][1:]])),
        lambda shard: replace(shard, texts=joined(TEXTS[0][:-1], TEXTS[1][:-1])),
        lambda shard: replace(shard, texts=joined([*TEXTS[0], ""], TEXTS[1])),
        lambda shard: replace(shard, settings=replace(shard.settings, max_length=5)),
        lambda shard: replace(shard, settings=replace(shard.settings, code="other")),
        lambda shard: replace(shard, settings=replace(shard.settings, sample="other")),
    ],
)
def test_another_shard_is_not_taken_for_it(shard, change):
    process_shard(shard)
    assert saved(change(shard)) is None


def test_nothing_is_left_aside(shard, tmp_path):
    summary = process_shard(shard)
    summary.save(tmp_path, made_from=fingerprint(shard))
    assert sorted(tmp_path.iterdir()) == sorted(shard_files(tmp_path, shard.number).values())


@pytest.mark.parametrize("name", ["arrays", "source", "target", "summary"])
def test_no_file_is_seen_half_written(shard, tmp_path, monkeypatch, name):
    """A second worker at the same shard ends in the middle of a file: that of the first one stays."""
    process_shard(shard)
    path = shard_files(tmp_path, shard.number)[name]
    whole = path.read_bytes()
    monkeypatch.setattr(Summary, "load", lambda *_, **__: None)
    replaced = os.replace

    def failing(aside, final):
        if final == path:
            raise OSError("ended")
        replaced(aside, final)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="ended"):
        process_shard(shard)
    assert path.read_bytes() == whole
    assert sorted(tmp_path.iterdir()) == sorted(shard_files(tmp_path, shard.number).values())


def test_a_line_feed_alone_ends_a_line(shard, tmp_path):
    odd = ["\x85", "", "a\rb", "\u2028 c", ""]
    for lines in ([""], odd):
        assert process_shard(replace(shard, problems=[], texts=joined(lines, lines[::-1]))).lines == len(
            lines
        )
        files = shard_files(tmp_path, shard.number)
        assert files["source"].read_bytes().count(b"\n") == len(lines)
    with pytest.raises(AssertionError):
        process_shard(replace(shard, texts=("a\nb", "c")))
