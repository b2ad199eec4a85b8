"""The stage ``inspect``: what it takes from other stages, and what it says where that is not whole."""

import json
import re
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from align.core.errors import InputError, WorkError
from align.data.vocabulary import Vocabulary
from align.features import Resources, feature_names
from align.features.groups import SCALE
from align.model.aligner import Aligner
from align.model.folder import Model
from align.model.pairs import look_up
from align.text.processor import TextProcessor
from pipeline.stages.inspect import stage as inspect
from pipeline.work.stage import Stage
from tests.pipeline.stages.made_by_hand import plain_context

GOLD = {
    "source": ["the house", "yes .", "no"],
    "target": ["la maison", "oui .", ""],
    "links": ["0-0 1p1", "0-0 1-1", ""],
    "guessed": ["0-0:0.5 1-1:0.25", "0-1:0.75", ""],
}

# Line 2 was rejected, line 4 has no links.
CORPUS = {
    "source": ["one two", "", "three", "four", "five six"],
    "target": ["un deux", "", "trois", "quatre", "cinq six"],
    "links": [[(0, 0), (1, 1)], [], [(0, 0)], [], [(0, 1)]],
    "scores": ["0.9", "", "0.8", "0.1", "0.5"],
}

EVALUATION = {
    "line": "AER 0.2500",
    "pairs": 3,
    "train_pairs": 1,
    "links": 3,
    "sure": 3,
    "possible": 4,
    "aer": 0.25,
    "precision": 0.5,
    "recall": 1 / 3,
    "f1": 0.4,
    "intervals": {"level": 0.95, "samples": 1000, "seed": 1, "aer": [0.125, 0.5]},
}

TRAINING = {"solver": "bcfw", "status": "converged", "primal": 0.5, "dual": 0.496, "gap": 0.004, "passes": 12}


class FakeAligner:
    """Links equal positions, and says so."""

    loaded: ClassVar[list] = []
    biases: ClassVar[list] = []

    @classmethod
    def load(cls, folder):
        cls.loaded.append(folder)
        return cls()

    def tokens(self, source, target):
        return source, target

    def explain_block(self, tokens, block, *, bias):
        source, target = tokens
        self.biases.append(bias)
        assert [len(side.ids) for side in (block.corpus.source, block.corpus.target)] == list(
            map(len, tokens)
        )
        links = [
            {
                "source": index,
                "target": index,
                "score": 1.5,
                "confidence": 0.875,
                "contributions": {"position": 2.0, "bias": -0.5},
            }
            for index in range(min(len(source), len(target)))
        ]
        return {"source": source, "target": target, "links": links}


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


WORDS = (
    "one Paris Rome the house yes no two three four five six .",
    "un Paris Rome la maison oui deux trois quatre cinq six .",
)


def tokens_of(text, side):
    return TextProcessor(("en", "fr")[side]).process_tokens(text.split(" ") if text else [])


def vocabularies():
    """Return those of the words above, but for some that occur."""
    words = [list(dict.fromkeys(tokens_of(text, side).analysis)) for side, text in enumerate(WORDS)]
    return tuple(Vocabulary(each, [1] * len(each)) for each in words)


def write_corpus(folder, source, target):
    """Write word ids as ``preprocess`` does."""
    pairs = [
        tuple(tokens_of(text, side) for side, text in enumerate(pair))
        for pair in zip(source, target, strict=True)
    ]
    look_up(pairs, vocabularies())[0].corpus.save(folder)


def write_table(path, links):
    """Write links as the stage ``align`` does, in row groups so small that lines go over their ends."""
    rows = [(number, *link, 1.5, 0.625) for number, line in enumerate(links, 1) for link in line]
    columns = zip(*rows, strict=True) if rows else [()] * 5
    names = {
        "line": "int64",
        "source": "int32",
        "target": "int32",
        "score": "float32",
        "confidence": "float32",
    }
    arrays = [pa.array(column, type=kind) for column, kind in zip(columns, names.values(), strict=True)]
    pq.write_table(pa.table(arrays, names=list(names)), path, row_group_size=1)


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """Return a function that makes the folders of the stages before and runs ``inspect``: its page's data."""
    monkeypatch.setattr(inspect, "Aligner", FakeAligner)
    FakeAligner.loaded.clear()
    FakeAligner.biases.clear()

    def run(
        *,
        gold=GOLD,
        corpus=CORPUS,
        evaluation=EVALUATION,
        format="pharaoh",
        base=0,
        train=1,
        without=None,
        bias=-0.5,
        **options,
    ):
        names = ("download", "preprocess", "lexicon", "train", "align", "evaluate")
        folders = {name: tmp_path / name / "0123" for name in names}
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out").mkdir(exist_ok=True)
        sources = {
            "corpus": {"kind": "tsv", "paths": ["corpus.tsv"], "sha256": ["ab" * 32]},
            "vectors": {"source": None, "target": None, "dictionary": None},
            "gold": None,
        }
        if gold is not None:
            sources["gold"] = {"files": ["gold.en", "gold.fr"], "links": "gold.links"}
            write(folders["download"] / "gold.links", gold["links"])
            write(folders["preprocess"] / "gold.source.txt", gold["source"])
            write(folders["preprocess"] / "gold.target.txt", gold["target"])
            write(folders["evaluate"] / "gold.links.txt", gold["guessed"])
            write_corpus(folders["preprocess"] / "gold", gold["source"], gold["target"])
        (folders["download"] / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
        for name in ("source", "target", "scores"):
            write(folders["align"] / f"{name}.txt", corpus[name])
        write_table(folders["align"] / "links.parquet", corpus["links"])
        used = [number for number, line in enumerate(corpus["source"]) if line]
        rows = [[corpus[side][number] for number in used] for side in ("source", "target")]
        write_corpus(folders["preprocess"] / "corpus", *rows)
        np.save(folders["preprocess"] / "lines.npy", np.array(used, np.int64), allow_pickle=False)
        (folders["evaluate"] / "evaluation.json").write_text(json.dumps(evaluation), encoding="utf-8")
        (folders["train"] / "training.json").write_text(json.dumps(TRAINING), encoding="utf-8")
        if without is not None:
            (tmp_path / without).unlink()
        values = {
            "corpus": {"name": "tiny", "source": "en", "target": "fr"},
            "gold": {"links": None, "format": format, "columns": None, "base": base, "train": train},
            "align": {"bias": 0.25},
            "evaluate": {"bias": bias},
            "inspect": {},
        }
        uses = [f"{section}.{key}" for section, keys in values.items() for key in keys]
        stage = Stage("inspect", inspect.run, uses=uses)
        context = plain_context(stage, tmp_path / "out", folders, values, quiet=True)
        inspect.run(context, **options)
        page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
        data = re.search(r'<script type="application/json" id="data">(.*)</script>', page).group(1)
        return page, json.loads(data)

    return run


def facts(page):
    """Return the figures at the top: by name, value and remark."""
    found = re.findall(r"<dt>(.*?)</dt><dd><b>(.*?)</b>(?: <span>(.*?)</span>)?</dd>", page)
    return {name: (value, remark) for name, value, remark in found}


def by_kind(data, kind):
    return [pair for pair in data["pairs"] if pair["kind"] == kind]


def test_gold_pairs_with_predicted_and_gold_links(stage):
    _, data = stage()
    pairs = by_kind(data, "gold")
    assert [(pair["number"], pair["part"]) for pair in pairs] == [(1, "train"), (2, "test"), (3, "test")]
    assert pairs[0]["source"] == ["the", "house"]
    assert pairs[0]["gold"] == [[0, 0, 1], [1, 1, 0]]
    assert [link[:3] for link in pairs[0]["links"]] == [[0, 0, 0.5], [1, 1, 0.25]]
    assert pairs[1]["figures"]["aer"] == 1.0
    assert pairs[2]["target"] == []
    assert pairs[2]["figures"]["aer"] is None


def test_pairs_of_the_corpus_but_not_the_rejected_ones(stage):
    _, data = stage()
    pairs = by_kind(data, "corpus")
    assert [pair["number"] for pair in pairs] == [1, 3, 4, 5]
    assert [pair["score"] for pair in pairs] == [0.9, 0.8, 0.1, 0.5]
    assert [link[:3] for link in pairs[0]["links"]] == [[0, 0, 0.625], [1, 1, 0.625]]
    assert pairs[2]["links"] == []


def test_links_are_explained_where_the_model_makes_them(stage):
    _, data = stage()
    names = data["names"]
    (link,) = by_kind(data, "corpus")[1]["links"]
    assert [[names[name], value] for name, value in link[4]] == [["position", 2.0], ["bias", -0.5]]
    # The link 0-1 is not one that the explanation knows.
    assert by_kind(data, "corpus")[3]["links"] == [[0, 1, 0.625]]


def real_model(tmp_path, monkeypatch):
    """Leave a model that links what is spelt the same where the stage looks for one."""
    monkeypatch.setattr(inspect, "Aligner", Aligner)
    resources = Resources(None, None, None, *vocabularies())
    names = feature_names(("spelling",), resources)
    # Features come multiplied by SCALE: with these weights a same word counts 2, the bias -0.5.
    weights = np.array([{"bias": -0.5, "same_word": 2.0}.get(name, 0.0) for name in names]) / SCALE
    text = {"source": TextProcessor("en").settings(), "target": TextProcessor("fr").settings()}
    model = Model(names, weights, ("spelling",), (1.0, 0.0), {}, {}, resources=resources, text=text)
    model.save(tmp_path / "train" / "0123")


def test_reasons_of_a_real_model(stage, tmp_path, monkeypatch):
    real_model(tmp_path, monkeypatch)
    corpus = {
        "source": ["Paris one"],
        "target": ["un Paris"],
        "links": [[(0, 1)]],
        "scores": ["0.5"],
    }
    _, data = stage(corpus=corpus, gold=None)
    ((link,),) = [pair["links"] for pair in data["pairs"]]
    assert link[:4] == [0, 1, 0.625, pytest.approx(1.5)]
    reasons = {data["names"][name]: value for name, value in link[4]}
    assert reasons == pytest.approx({"same_word": 2.0, "bias": -0.5})


def test_how_the_weights_were_trained(stage, tmp_path):
    _, data = stage()
    assert data["gap_curve"] == []
    lines = ["passes,primal,dual,gap", "1,2.0,1.0,1.0", "2,1.5,1.25,"]
    write(tmp_path / "train" / "0123" / "history.csv", lines)
    _, data = stage()
    assert data["gap_curve"] == [[1, 1, 2], [2, None, 1.5]]


def test_errors_are_explained_in_words(stage, tmp_path, monkeypatch):
    """Wrong and missed links of gold pairs: not where a bias makes the links others than the best ones."""
    real_model(tmp_path, monkeypatch)
    gold = {
        "source": ["Paris one", "Rome"],
        "target": ["un Paris", "Rome"],
        "links": ["0-0 1p0", "0-0"],
        "guessed": ["0-1", "0-0"],
    }
    _, data = stage(gold=gold, bias=0.0)
    first, second, *_ = by_kind(data, "gold")
    assert [cell[:2] for cell in first["whys"]] == [[0, 0], [0, 1]]
    missed, wrong = (cell[2] for cell in first["whys"])
    assert "needed" in missed
    assert "needed" not in wrong
    assert max(wrong["reasons"], key=lambda each: each["score"])["aspect"] == "spelling"
    assert "whys" not in second
    _, data = stage(gold=gold, bias=-0.5)
    assert not any("whys" in pair for pair in data["pairs"])


def test_links_are_explained_with_the_bias_they_were_made_with(stage):
    stage()
    assert FakeAligner.biases == [-0.5, -0.5, 0.25, 0.25, 0.25]


def test_without_reasons_no_model_is_loaded(stage):
    _, data = stage(reasons=0)
    assert FakeAligner.loaded == []
    assert data["names"] == []


def test_the_figures_at_the_top(stage):
    page, _ = stage()
    assert facts(page) == {
        "AER": ("25.0 %", "12.5 to 50.0 % (95 % interval)"),
        "Precision, recall": ("50.0 %, 33.3 %", "F1 40.0 %"),
        "Gold": ("3 pairs", "3 sure and 1 possible links; 1 more pairs for training"),
        "Corpus": ("5 lines", "4 aligned, 1 of them without links; 4 links"),
        "Words linked": ("66.7 %, 66.7 %", "source, target; in the sample shown"),
        "Training": ("bcfw", "converged, duality gap 0.8 % of the primal, 12 passes"),
    }
    assert f"sha256 {'ab' * 32}" in page


def test_without_gold(stage):
    page, data = stage(gold=None, evaluation={"aer": None, "pairs": 0})
    assert by_kind(data, "gold") == []
    assert len(data["pairs"]) == 4
    assert facts(page)["AER"] == ("n/a", "no gold")


def test_without_any_links(stage):
    corpus = CORPUS | {"links": [[]] * 5}
    page, data = stage(corpus=corpus, gold=GOLD | {"guessed": ["", "", ""]})
    assert all(pair["links"] == [] for pair in data["pairs"])
    assert facts(page)["Words linked"][0] == "0.0 %, 0.0 %"
    assert facts(page)["Corpus"][1] == "4 aligned, 4 of them without links; 0 links"


def test_a_sample_is_drawn_the_same_way_every_time(stage):
    corpus = {name: [f"{name}{number}" for number in range(300)] for name in ("source", "target")}
    corpus |= {"links": [[(0, 0)]] * 300, "scores": ["0.5"] * 300}
    first, data = stage(corpus=corpus, pairs=20)
    numbers = [pair["number"] for pair in by_kind(data, "corpus")]
    assert len(set(numbers)) == 20
    assert numbers == sorted(numbers)
    assert numbers[-1] - numbers[0] > 100
    for pair in by_kind(data, "corpus"):
        assert pair["source"] == [f"source{pair['number'] - 1}"]
    assert stage(corpus=corpus, pairs=20)[0] == first


def test_no_more_gold_pairs_than_asked_for(stage):
    _, data = stage(gold_pairs=2, pairs=0)
    assert [pair["kind"] for pair in data["pairs"]] == ["gold", "gold"]


def test_gold_in_the_wpt_format(stage):
    gold = GOLD | {"links": ["0001 1 1 S", "0001 2 2 P", "0002 1 1 S"]}
    _, data = stage(gold=gold, format="wpt")
    assert [pair["gold"] for pair in by_kind(data, "gold")] == [[[0, 0, 1], [1, 1, 0]], [[0, 0, 1]], []]


def test_gold_counted_from_one(stage):
    _, data = stage(gold=GOLD | {"links": ["1-1 2p2", "1-1", ""]}, base=1)
    assert by_kind(data, "gold")[0]["gold"] == [[0, 0, 1], [1, 1, 0]]


def test_gold_links_of_another_text(stage):
    with pytest.raises(
        InputError, match=r"gold\.links: links of 2 pairs but 3 gold pairs; give the links of this"
    ):
        stage(gold=GOLD | {"links": ["0-0", "0-0"]})


def test_a_gold_link_outside_its_pair(stage):
    with pytest.raises(InputError, match=r"gold\.links:2: link 5-0 \(counted from 0\) lies outside the pair"):
        stage(gold=GOLD | {"links": ["0-0", "5-0", ""]})


def test_a_link_outside_its_pair_of_the_corpus(stage):
    links = [[(0, 0), (1, 1)], [], [(0, 7)], [], []]
    with pytest.raises(
        InputError, match=r"links\.parquet, line 3: link 0-7 \(counted from 0\) lies outside the pair"
    ):
        stage(corpus=CORPUS | {"links": links})


def test_fewer_predicted_lines_than_gold_pairs(stage):
    with pytest.raises(WorkError, match=r"gold\.links\.txt: 2 lines for 3 gold pairs; make evaluate again"):
        stage(gold=GOLD | {"guessed": ["0-0", "0-0"]})


def test_a_result_that_ends_early(stage):
    with pytest.raises(WorkError, match=r"scores\.txt: ends after line 4; make the stage align again"):
        stage(corpus=CORPUS | {"scores": ["0.9", "", "0.8", "0.1"]})


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("align/0123/links.parquet", r"links\.parquet: missing; make the stage align again with --force"),
        ("align/0123/target.txt", r"target\.txt: missing; make the stage align again with --force"),
        ("evaluate/0123/gold.links.txt", r"gold\.links\.txt: missing; make the stage evaluate again with"),
    ],
)
def test_a_result_that_is_missing(stage, file, message):
    with pytest.raises(WorkError, match=message):
        stage(without=file)
