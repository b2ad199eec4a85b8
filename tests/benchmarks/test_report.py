"""The page of all experiments, on very small data."""

import argparse
import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.features import Edges
from align.features.scoring import score_edges
from align.links import Link
from align.problems.labels import Labels
from align.problems.triplets import TripletProblem
from benchmarks.report import __main__ as command
from benchmarks.report import data, sections
from benchmarks.report.conclusions import conclusions
from benchmarks.report.measuring import Limits, Measured, measured, memory
from benchmarks.report.page import Section
from benchmarks.solvers import Point, Run

NAMES = ("bcfw", "subgradient", "extragradient")
LIMITS = Limits(passes=6, seconds=20.0, rounds=2)


def pairs_of(count, seed):
    """Pairs of words 0 to 9 in another order; one feature tells the links, two are noise."""
    generator = np.random.default_rng(seed)
    ids, links = [], []
    for _ in range(count):
        words = generator.choice(10, generator.integers(2, 6), replace=False)
        order = generator.permutation(len(words))
        ids.append((words.tolist(), words[order].tolist()))
        links.append([Link(int(j), k) for k, j in enumerate(order)])
    corpus = Corpus(*(Sentences.from_lists(side) for side in zip(*ids, strict=True)))
    shapes = corpus.shapes()
    labels = Labels.from_lists(links)
    features = generator.normal(size=(int(edge_offsets(shapes)[-1]), 3)).astype(np.float32)
    features[:, 0] += 3 * labels.dense(shapes)[0]
    return Edges(shapes, edge_offsets(shapes), features, ("told", "x", "y")), labels, corpus, links


@pytest.fixture(scope="module")
def text():
    edges, labels, corpus, _ = pairs_of(12, 0)
    gold_edges, gold_labels, gold_corpus, known = pairs_of(9, 1)
    gold = data.Gold(gold_edges, gold_labels, gold_corpus, known, 4)
    vectors = np.random.default_rng(2).normal(size=(10, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return data.Text("made", edges, labels, corpus, np.arange(12), gold, (vectors, vectors))


@pytest.fixture
def setup(text):
    return sections.Setup(text, (6, 12), NAMES, LIMITS, "python -m benchmarks.report")


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.sources, self.links, self.words, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.sources += [found["src"]] if "src" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, words):
        self.words.append(words)


@pytest.fixture(scope="module")
def made(text, tmp_path_factory):
    """The folder of a whole run."""
    out = tmp_path_factory.mktemp("report") / "out"
    generator, scene = np.random.default_rng(1), out.parent / "scene.npz"
    arrays = {}
    for part, count in (("train", 12), ("test", 8)):
        arrays[f"X_{part}"], arrays[f"y_{part}"] = (
            generator.random((count, 4)),
            generator.integers(0, 2, (count, 3)),
        )
    np.savez(scene, **arrays)
    args = argparse.Namespace(
        hansards=None, gold=None, scene=scene, triplets=None, solvers="; ".join(NAMES), sizes="6,12",
        passes=6, seconds=20.0, rounds=2, only=None, seed=0, jobs=1, workdir=out, out=out, vectors=None,
        dictionary=None,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "load_text", lambda args, pairs: text)
        patch.setattr(data, "faces", lambda n, seed, real=data.faces: real(60, seed))
        patch.setattr(data, "chain_task", lambda n, seed, real=data.chain_task: real(8, seed))
        patch.setattr("sys.argv", ["report", "--sizes", "6,12", "--only", "first"])
        command.run(args)
    return out


def test_the_page_needs_no_other_file_and_is_well_formed(made):
    text = (made / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert {"first", "pairs-6", "pairs-12", "lam", "scene", "triplets", "sequences", "approximate"} == set(
        page.ids
    )
    assert {link.removeprefix("#") for link in page.links} == set(page.ids)
    assert len(page.sources) == 2 * 3 + 2
    for source in page.sources:
        kind, _, content = source.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content, validate=True).startswith(b"\x89PNG")
    assert "default-src 'none'" in text


def test_tables_have_a_cell_for_each_heading(made):
    """A stroke in a name would end its cell."""
    for table in re.findall(r"(?:^\|.*\n)+", (made / "report.md").read_text(encoding="utf-8"), re.M):
        assert len({line.count("|") for line in table.strip("\n").split("\n")}) == 1, table


def test_every_section_says_how_it_is_made_and_the_facts_stand_there(made):
    words = "".join(Page((made / "report.html").read_text(encoding="utf-8")).words)
    for key in ("first", "pairs-6", "pairs-12", "lam", "scene", "triplets", "sequences", "approximate"):
        assert f"python -m benchmarks.report --sizes 6,12 --only {key}\n" in words
    assert "seed 0" in words
    assert "numpy " in words
    assert "the median of 2 runs" in words


def test_the_conclusions_carry_the_measured_values(made):
    values = json.loads((made / "report.json").read_text(encoding="utf-8"))["sections"]
    said = (made / "report.md").read_text(encoding="utf-8").split("## ")[0]
    first = values["first"]["the same, assignment"]
    told = f"makes {first['links']} links where {first['sure']} are sure, {first['right']} of them right"
    assert told in said
    assert f"AER {100 * first['aer']:.2f} %" in said
    errors = {lam: own["aer"] for lam, own in values["lam"].items()}
    assert set(errors.values()) == {0.0}  # all learn these pairs
    assert "All strengths of regularisation have the same AER, 0.00 %." in said
    assert all(own["reached"] == (own["share"] <= 0.01) for own in values["lam"].values())
    assert all(each["missed"] <= each["bound"] for each in values["approximate"].values())
    assert "the bound of theory held in every row" in said


def test_made_up_figures_lead_to_other_conclusions():
    def own(seconds, passes, memory):
        return {"seconds": seconds, "passes": passes, "memory": memory, "share": 0.5, "aer": 0.1}

    few = Section("pairs-100", "", values={"bcfw": own(2.0, 5, 2**20), "fw": own(1.0, 9, 2**22)})
    many = Section("pairs-1000", "", values={"bcfw": own(3.0, 5, 2**20), "fw": own(None, None, 2**22)})
    said = " ".join(conclusions([few, many]))
    assert (
        "with 100 pairs 2 of 2 get there, the quickest in the median fw (1.00 CPU s), in the fewest passes "
        "bcfw (5)" in said
    )
    assert "with 1,000 pairs 1 of 2 get there" in said
    assert "Not within the limits (gap over primal at the end): fw (0.5)." in said
    assert "Beside the features bcfw takes 1.0 MiB, fw 4.0 MiB." in said
    assert conclusions([]) == []


@pytest.mark.parametrize(
    ("missed", "said"),
    [
        ((2.0, 0.5), "the bound of theory was broken by rough; the costliest was rough, 2 short"),
        ((0.9, 0.5), "the bound of theory held in every row; the costliest was rough, 0.9 short"),
        (
            (0.1, 0.2),
            "the bound of theory held in every row, 5 times what is measured or more; the costliest",
        ),
        (
            (1e-3, 0.0),
            "held in every row, 1,000 times what is measured or more, too far above it to be a test;",
        ),
    ],
)
def test_what_is_said_of_a_bound_is_what_was_measured(missed, said):
    values = {
        name: {"missed": own, "bound": 1.0} for name, own in zip(("rough", "fine"), missed, strict=True)
    }
    assert said in " ".join(conclusions([Section("approximate", "", values=values)]))


@pytest.mark.parametrize(
    ("errors", "step"),
    [
        ((0.95, 0.94, 0.24, 0.05, 0.04), "to features: 70.0 of 90.0 points."),
        ((0.95, 0.90, 0.89, 0.88, 0.07), "to annotated: 81.0 of 83.0 points."),
        ((0.95, 0.94, 0.90, 0.10, 0.07), "to sampled: 80.0 of 87.0 points."),
    ],
)
def test_the_cause_of_the_lower_error_is_the_largest_step(errors, step):
    names = ("2019", "assignment", "features", "sampled", "annotated")
    own = {"links": 5, "sure": 9, "right": 1}
    values = {name: {"aer": error, **own} for name, error in zip(names, errors, strict=True)}
    (said,) = conclusions([Section("first", "", values=values)])
    assert said.endswith(f"The largest single step is that {step}")
    (said,) = conclusions([Section("first", "", values={name: {"aer": 0.5, **own} for name in names})])
    assert "step" not in said


def test_error_rates_of_weights_that_were_not_solved_are_told():
    def own(aer, reached):
        return {"aer": aer, "share": 0.5, "reached": reached}

    (said,) = conclusions([Section("lam", "", values={"0.1": own(0.05, True), "0.001": own(0.2, False)})])
    assert "lam = 0.1 has the lowest AER, 5.00 %; lam = 0.001 the highest, 20.00 %." in said
    assert said.endswith(
        "Weights that are not within 1 % of their minimum (gap over primal): lam = 0.001 (50.00 %)."
    )
    (said,) = conclusions([Section("lam", "", values={"0.1": own(0.05, True), "1": own(0.05, True)})])
    assert said == "All strengths of regularisation have the same AER, 5.00 %."


def test_concatenated_vectors_cannot_tell_who_translates_whom(text):
    edges = data.concatenated(text.corpus, text.vectors)
    scores = score_edges(edges.features, np.random.default_rng(0).normal(size=8))
    for pair, (n, m) in enumerate(edges.shapes.tolist()):
        own = scores[edges.offsets[pair] : edges.offsets[pair + 1]].reshape(n, m)
        np.testing.assert_allclose(own - own[:1], np.repeat(own[:, :1] - own[:1, :1], m, axis=1), atol=1e-5)
    unknown = Corpus(Sentences.from_lists([[3, 99]]), Sentences.from_lists([[3]]))
    features = data.concatenated(unknown, text.vectors).features
    np.testing.assert_array_equal(features[0], np.tile(text.vectors[0][3], 2))
    np.testing.assert_array_equal(features[1], [*[0] * 4, *text.vectors[0][3]])


def test_links_are_judged_on_the_pairs_that_do_not_train(text):
    perfect = data.judge(text.gold)(np.array([1.0, 0.0, 0.0]))
    assert perfect.pairs == len(text.gold.judged) == 5
    assert perfect.sure == sum(map(len, text.gold.known[4:]))
    nothing = data.judge(text.gold)(np.array([-100.0, 0.0, 0.0]))
    assert nothing.sure_matched < perfect.sure_matched


def test_seconds_are_the_median_of_the_rounds(setup):
    own = measured(setup.text.task(6), "bcfw", replace(LIMITS, rounds=3, passes=50), setup.error())
    assert own.seconds.least <= own.seconds.median <= own.seconds.most
    assert own.reached.gap <= 0.01 * own.reached.primal
    assert [passes for passes, _ in own.errors][:3] == [1, 2, 3][: len(own.errors)]
    assert all(0 <= error <= 1 for _, error in own.errors)
    late = measured(setup.text.task(6), "fw", replace(LIMITS, passes=1), setup.error())
    assert late.seconds is None
    assert late.reached is None


def test_memory_is_that_of_the_state_at_least(setup):
    task = setup.text.task(12)
    sizes = {name: memory(task, name) for name in ("bcfw", "bcfw, no cache", "fw")}
    assert all(most >= 0 for most, _ in sizes.values())
    n, d = task.problem.n, task.problem.d
    assert sizes["bcfw"][1] > 8 * n * d * 11 > sizes["bcfw, no cache"][1] > 8 * n * d > sizes["fw"][1]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fw", "C_f is up to n = 6 times the curvature of bcfw"),
        ("extragradient, s of edges kept", "the step is 1/Lip"),
        ("subgradient", r"steps 1/\(lam t\)"),
        ("bcfw", "gap 0.5 of the primal"),
    ],
)
def test_why_a_solver_did_not_get_there(setup, name, why):
    task = setup.text.task(6)
    own = measured(task, "bcfw", replace(LIMITS, passes=1))
    run = Run(name, replace(own.run.fit, primal=2.0, gap=1.0), [Point(3, 30, 1.0, 1.5, 2.0, 1.0, 1.0)])
    told = sections.reason(Measured(name, task, run, None, []))
    assert told.startswith(f"ended by the {own.run.fit.status} after 1 passes of 0.5 CPU s")
    assert re.search(why, told)


def test_judges_of_made_faces_look_at_four_dimensions():
    embeddings, odd = data.faces(3000, 0)
    truth = np.where(np.arange(16) < 4, 1.0, 0.0)
    right = (TripletProblem(embeddings, odd).predict(truth, embeddings) == odd).mean()
    assert right == pytest.approx(1 - 0.1 * 2 / 3, abs=0.02)


def test_a_table_of_ones_own_stands_beside_the_made_faces(tmp_path):
    face = ",".join("address,0.1,0.9,0.2,0.8" for _ in range(3))
    table, embeddings = tmp_path / "mine.csv", tmp_path / "mine.npy"
    table.write_text("".join(f"{face},ONE_CLASS_TRIPLET,judge,{vote}\n" for vote in (1, 3)), encoding="utf-8")
    np.save(embeddings, np.random.default_rng(0).normal(size=(2, 3, 4)))
    found = data.triplets_of(argparse.Namespace(triplets=[table, embeddings]), 0)
    assert list(found) == ["made faces", "mine.csv"]
    assert found["mine.csv"][0].shape == (2, 3, 4)
    assert found["mine.csv"][1].tolist() == [0, 2]


def test_the_sample_is_what_there_is_without_data(text, tmp_path, monkeypatch):
    ran = []

    class Made:
        def run(self, stages, options):
            ran.append((stages, options))

        def folder(self, stage):
            return tmp_path / stage

    monkeypatch.setattr(data, "pipeline_of", lambda args, name, settings: ran.append(settings) or Made())
    monkeypatch.setattr(data, "_gold", lambda pipeline, links, train: (links.name, train))
    monkeypatch.setattr(data.Edges, "load", lambda folder: text.edges)
    monkeypatch.setattr(data.Labels, "load", lambda folder: text.labels)
    monkeypatch.setattr(data, "labelled_pairs", lambda preprocess, label: text.corpus)
    monkeypatch.setattr(data, "load_array", lambda path: text.vectors[0])
    args = argparse.Namespace(
        hansards=None, gold=None, vectors=[Path("a.vec"), Path("b.vec")], dictionary=Path("d.tsv")
    )
    found = data.load_text(args, 300)
    settings, silver = ran
    assert settings["corpus"]["name"] == found.name == "report-sample"
    assert settings["vectors"]["dictionary"] == str(Path("d.tsv").absolute())
    assert silver == ("featurize", ["train.labels=silver", "label.pairs=300"])
    assert found.gold == ("gold.align", 60)
    with pytest.raises(InputError, match="--hansards, --gold: give both or none"):
        data.load_text(argparse.Namespace(hansards=Path("h"), gold=None), 300)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"only": "fist"}, "--only 'fist': no section; give some of first, sizes"),
        ({"only": "pairs-0"}, "--only 'pairs-0': no section"),
        ({"passes": 0}, "--passes, --seconds, --rounds: give numbers above 0"),
        ({"sizes": "10,x"}, "--sizes 10,x: not whole numbers"),
        ({"solvers": "newton"}, "--solvers: 'newton' is no solver"),
    ],
)
def test_wrong_options_are_told(tmp_path, words, told):
    options = {"hansards": None, "sizes": None, "solvers": None, "passes": 1, "rounds": 1, "seconds": 1.0}
    args = argparse.Namespace(**{**options, "only": None, "out": tmp_path, "seed": 0, **words})
    with pytest.raises(InputError, match=told):
        command.run(args)
