"""An annotator played by gold at a real desk, with a model known by heart."""

import argparse

import numpy as np
import pytest

from align.core.errors import InputError
from align.links import parse_pharaoh
from align.model.aligner import Aligner
from benchmarks import annotation
from benchmarks.annotation import GoldPair
from tests.align import toy

ROWS = [
    ("the red house .", "le maison rouge .", "0-0 1-2 2-1"),
    ("i see the dog .", "je vois le chien .", "0-0 1-1 2p2 3-3"),
    ("the red house .", "le maison rouge .", "0-0 1-2 2-1"),
    ("the big dog .", "le grand chien .", "0-0 1-1 2-2"),
    ("the member is big .", "le membre est grand .", "0-0 1-1 2-2 3-3"),
]
POOL = [GoldPair(s.split(" "), t.split(" "), parse_pharaoh(links, where="")) for s, t, links in ROWS]


def test_what_the_annotator_changes():
    shown = {"pair": {"links": [[0, 0, 0.9], [1, 2, 0.8], [3, 3, 0.7]]}}
    gold = GoldPair([], [], parse_pharaoh("0-0 1p2 2-1", where=""))
    assert annotation.changes(shown, gold) == [[3, 3, "none"], [1, 2, "possible"], [2, 1, "sure"]]


def test_the_desk_learns_what_the_gold_says(tmp_path, monkeypatch):
    toy.toy_model().save(tmp_path / "toy")
    monkeypatch.setattr(annotation, "STEPS", (2, 4))
    two, four = annotation.annotate(tmp_path / "toy", POOL, tmp_path / "desk")
    assert four.pairs[:2] == two.pairs
    assert len({0, 2} & set(four.pairs)) == 1  # the same words are asked for once
    for step in (two, four):
        assert sorted(step.gold) == sorted(POOL[number] for number in step.pairs)
        annotation.check(Aligner.load(tmp_path / "toy"), step, POOL)
    assert four.told["pairs"] == 4
    assert four.links[0] == "0-0 1-2 2-1"  # the full stop is left alone


def test_its_table(tmp_path):
    before = np.array([[4, 4, 2, 2, 4]])
    after = np.array([[4, 4, 3, 3, 4]])
    told = {"before": 0.5, "after": 0.25}
    lines = annotation.table(before, [(after, told)] * 4, [[before] * 4, [after] * 4])
    assert [line["pairs"] for line in lines] == ["0", "5", "10", "20", "30"]
    assert lines[0]["desk, AER %"] == lines[0]["random"] == "50.00"
    assert lines[1]["desk, AER %"] == "25.00"
    assert lines[1]["random"] == "37.50 (25.00 to 50.00)"
    assert lines[1]["told"] == "50.00, 25.00"
    annotation.plot(tmp_path / "a.png", before, [after] * 4, [[before] * 4, [after] * 4])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_text_of_a_model(tmp_path):
    (tmp_path / "text.en").write_text("a small cat .\n" * 3)
    (tmp_path / "text.fr").write_text("un petit chat .\n" * 3)
    words = {}
    for joined in (False, True):
        given = argparse.Namespace(
            weights="default",
            languages=("en", "fr"),
            bitext=tmp_path / "text",
            size=2,
            with_gold_text=joined,
        )
        annotation.model_of_text(given, POOL, tmp_path / str(joined))
        source = Aligner.load(tmp_path / str(joined)).model.resources.source_vocabulary
        words[joined] = {word: source.counts[number] for word, number in source.index.items()}
    assert words[False] == {"a": 2, "small": 2, "cat": 2, ".": 2}
    assert words[True]["house"] == 2
    assert words[True]["cat"] == 2


def test_a_pool_that_is_too_small_or_all_there_is(tmp_path, command):
    for name, lines in (("en", "a\n" * 40), ("fr", "b\n" * 40), ("align", "0-0\n" * 40)):
        (tmp_path / f"gold.{name}").write_text(lines)
    given = ["--gold", tmp_path / "gold"]
    for pool in ("20", "40"):
        with pytest.raises((InputError, SystemExit)):
            command(annotation, *map(str, given), "--pool", pool)
