"""Gold links: where they count from is told by themselves, or asked for."""

import json

import pytest

from align.core.errors import InputError
from pipeline.stages.gold import LINKS_OPTIONS, read_gold
from pipeline.work.stage import Stage
from tests.pipeline.stages.made_by_hand import plain_context

TEXT = ("a b c", "d e", "f g h")


@pytest.fixture
def read(tmp_path):
    def call(links, *, base=None, format="pharaoh"):
        (tmp_path / "links").write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
        for side in ("source", "target"):
            text = "".join(f"{line}\n" for line in TEXT)
            (tmp_path / f"gold.{side}.txt").write_text(text, encoding="utf-8")
        gold = {"files": ["a", "b"], "links": str(tmp_path / "links")}
        sources = {"corpus": {"paths": []}, "vectors": {}, "gold": gold}
        (tmp_path / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
        stage = Stage("inspect", lambda context: None, uses=tuple(f"gold.{key}" for key in LINKS_OPTIONS))
        inputs = dict.fromkeys(("download", "preprocess"), tmp_path)
        options = {"format": format, "columns": None, "base": base}
        return read_gold(plain_context(stage, tmp_path, inputs, {"gold": options}))

    return call


def cells(gold):
    return [[tuple(link[:2]) for link in pair] for pair in gold.links]


@pytest.mark.parametrize(
    ("links", "base", "expected", "doubt"),
    [
        (["0-0 2-2", "1-1", ""], None, [[(0, 0), (2, 2)], [(1, 1)], []], ""),
        (["1-1 3-3", "2-2", ""], None, [[(0, 0), (2, 2)], [(1, 1)], []], ""),
        (["1-1 3-3", "2-2", ""], 1, [[(0, 0), (2, 2)], [(1, 1)], []], ""),
        (["1-1", "1-1", "2-2"], 1, [[(0, 0)], [(0, 0)], [(1, 1)]], ""),
        (["1-1", "1-1", "2-2"], 0, [[(1, 1)], [(1, 1)], [(2, 2)]], ""),
        (["1-1", "1-1", "2-2"], None, [[(1, 1)], [(1, 1)], [(2, 2)]], "no index 0 in 3 pair"),
        (["", "", ""], None, [[], [], []], ""),
    ],
)
def test_the_base_is_told_by_the_links(read, links, base, expected, doubt):
    gold = read(links, base=base)
    assert cells(gold) == expected
    assert gold.doubt.startswith(doubt)
    assert bool(gold.doubt) == bool(doubt)


def test_a_wrong_base_is_told(read):
    with pytest.raises(InputError, match=r"links:1: link 3-3 .* counted from 1\? then set gold\.base to 1"):
        read(["1-1 3-3", "2-2", ""], base=0)
    with pytest.raises(InputError, match=r"links:2: index 0 in a file that counts from 1; mend the line, or"):
        read(["1-1", "0-0", ""], base=1)
    with pytest.raises(InputError, match=r"links:1: link 5-0 .*; use the tokens that the links were"):
        read(["5-0", "0-0", ""])


def test_a_format_that_says_its_base_is_read_by_its_own_rule(read):
    for base in (None, 0, 1):
        assert cells(read(["1 1 3", "2 2 1"], base=base, format="wpt")) == [[(0, 2)], [(1, 0)], []]


def test_the_number_of_pairs_must_agree(read):
    with pytest.raises(InputError, match="links: links of 2 pairs but 3 gold pairs; give the links"):
        read(["0-0", "1-1"])
