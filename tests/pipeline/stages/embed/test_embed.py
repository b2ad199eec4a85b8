"""The embed stage: given vectors, trained ones, none; what it refuses, and what it says."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from pipeline.stages.embed import stage as embed
from pipeline.stages.embed import vectors as embed_vectors
from pipeline.stages.embed.space import ENOUGH
from pipeline.stages.embed.vectors import Text
from pipeline.work.engine import Local
from pipeline.work.progress import Reporter
from pipeline.work.stage import Stage, StageContext

USES = ("corpus.source", "corpus.target", "gold.in_corpus")
WORDS = 120
DIM = 10


def bitext(size=WORDS, pairs=400, seed=0):
    """Return sentence pairs whose word i always translates word i; each is written its own way."""
    rng = np.random.default_rng(seed)
    source = [rng.integers(0, size, rng.integers(3, 9)).tolist() for _ in range(pairs)]
    target = [sentence[::-1] for sentence in source]
    return Corpus(Sentences.from_lists(source), Sentences.from_lists(target))


def vocabularies(corpus, size=WORDS):
    spelled = ([f"word{i}" for i in range(size)], [f"mot{i}x" for i in range(size)])
    counted = []
    for words, side in zip(spelled, (corpus.source, corpus.target), strict=True):
        counts = np.bincount(side.ids, minlength=size)
        counts[::-1].sort()  # the ids are made up: any counts will do that do not grow
        counted.append(Vocabulary(words, counts))
    return counted


def rows(words, matrix, header=True):
    lines = [f"{len(words)} {matrix.shape[1]}"] if header else []
    lines += [
        f"{word} " + " ".join(f"{number:.5f}" for number in row)
        for word, row in zip(words, matrix, strict=True)
    ]
    return "\n".join(lines) + "\n"


class World:
    """A work folder with what the stages before leave, and what the stage said."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        self.files = {"source": None, "target": None, "dictionary": None}
        self.in_corpus = False
        self.write_corpus(bitext())

    def write_corpus(self, corpus, size=WORDS, used=None):
        folder = self.folder / "preprocess"
        self.corpus, self.vocabularies = corpus, vocabularies(corpus, size)
        corpus.save(folder / "corpus")
        used = np.ones(len(corpus), dtype=bool) if used is None else used
        np.save(folder / "in_statistics.npy", used, allow_pickle=False)
        np.save(folder / "lines.npy", np.arange(len(corpus)), allow_pickle=False)
        for side, vocabulary in zip(("source", "target"), self.vocabularies, strict=True):
            vocabulary.save(folder / f"{side}.vocabulary.tsv")

    def give(self, key, text, name=None):
        path = self.folder / (name or f"{key}.vec")
        path.write_text(text, encoding="utf-8", newline="\n")
        self.files[key] = str(path)
        return path

    def give_vectors(self, *, noise=0.05, dims=(DIM, DIM), shuffled=False, known=WORDS):
        rng = np.random.default_rng(5)
        source = rng.normal(size=(WORDS, dims[0]))
        turn = np.linalg.qr(rng.normal(size=(dims[0], dims[0])))[0]
        target = (source @ turn + noise * rng.normal(size=source.shape))[:, : dims[1]]
        if shuffled:
            target = rng.normal(size=target.shape)
        for key, matrix, vocabulary in zip(
            ("source", "target"), (source, target), self.vocabularies, strict=True
        ):
            self.give(key, rows(vocabulary.words[:known], matrix[:known]))

    def run(self, *, seed=0, jobs=1, **options):
        sources = {
            "corpus": {"kind": "files", "paths": [], "sha256": []},
            "vectors": self.files,
            "gold": None,
        }
        for name in ("download", "embed", "scratch"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "download" / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
        values = {
            "corpus": {"source": "en", "target": "fr"},
            "gold": {"in_corpus": self.in_corpus},
            "embed": {},
        }
        config = SimpleNamespace(
            values=values, option=lambda key: values[key.split(".")[0]][key.split(".")[1]]
        )
        self.context = StageContext(
            folder=self.folder / "embed",
            inputs={name: self.folder / name for name in ("download", "preprocess")},
            seed=seed,
            jobs=jobs,
            memory=2**30,
            scratch=self.folder / "scratch",
            workdir=self.folder,
            engine=Local(1),
            reporter=Reporter("tiny"),
            stage=Stage("embed", embed.run, uses=USES),
            config=config,
        )
        embed.run(self.context, **options)
        out, self.said = self.capsys.readouterr()
        return out

    def output(self):
        folder = self.folder / "embed"
        matrices = [
            np.load(folder / f"{side}.vectors.npy", allow_pickle=False) for side in ("source", "target")
        ]
        for matrix in matrices:
            assert matrix.dtype == np.float32
            assert np.isfinite(matrix).all()
            lengths = np.linalg.norm(matrix, axis=1)
            assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))
        return *matrices, json.loads((folder / "mapping.json").read_text(encoding="utf-8"))

    def bytes(self):
        return {path.name: path.read_bytes() for path in sorted((self.folder / "embed").iterdir())}


@pytest.fixture
def world(tmp_path, capsys):
    return World(tmp_path, capsys)


def nearest_share(source, target):
    return float(((source @ target.T).argmax(axis=1) == np.arange(len(source))).mean())


def test_given_vectors_come_to_one_space_by_the_bitexts_own_dictionary(world):
    world.give_vectors()
    out = world.run()
    source, target, facts = world.output()
    assert source.shape == target.shape == (WORDS, DIM)
    assert nearest_share(source, target) == 1.0
    assert facts["vectors"] == "given"
    assert facts["dictionary"] == {"method": "bitext", "pairs": WORDS}
    assert facts["files"]["source"]["rows"] == WORDS
    assert facts["coverage"]["target"] == {"types": 1.0, "tokens": 1.0, "missing": []}
    held = facts["map"]["check"]
    assert held["pairs"] == WORDS // 5
    assert held["precision"] == 1.0
    assert out == ""
    assert f"map en-fr from {WORDS} word pairs (bitext), held out {WORDS // 5}: mean cosine 0.9" in world.said
    assert "random " in world.said
    assert "precision at 1 1.000 (CSLS 1.000) among 120" in world.said
    assert "en: 100.0 % of 120 words, 100.0 % of the text have vectors" in world.said
    assert world.context.notes["map"] == facts["map"]
    assert world.context.notes["bytes"] == source.nbytes + target.nbytes


def test_a_given_dictionary_is_used_and_counted(world):
    world.give_vectors()
    lines = [f"Word{i}\tmot{i}x" for i in range(60)] + ["two words\tmot1x", "nothing\tmot1x"]
    world.give("dictionary", "\n".join(lines) + "\n", "words.tsv")
    world.run()
    source, target, facts = world.output()
    assert facts["dictionary"]["method"] == "file"
    assert facts["dictionary"]["counts"] == {
        "entries": 62, "malformed": 0, "multiword": 1, "unknown": 1, "duplicate": 0, "used": 60,
    }  # fmt: skip
    assert nearest_share(source, target) == 1.0


def test_identical_words_are_a_dictionary(world):
    world.vocabularies[1] = Vocabulary(world.vocabularies[0].words, world.vocabularies[1].counts)
    world.vocabularies[1].save(world.folder / "preprocess" / "target.vocabulary.tsv")
    world.give_vectors()
    world.run(dictionary="identical")
    source, target, facts = world.output()
    assert facts["dictionary"] == {"method": "identical", "pairs": WORDS}
    assert facts["map"]["rounds"] == 2
    assert nearest_share(source, target) == 1.0


def test_too_small_a_bitext_falls_back_on_identical_words(world):
    world.write_corpus(bitext(pairs=1))
    world.vocabularies[1] = Vocabulary(world.vocabularies[0].words, world.vocabularies[1].counts)
    world.vocabularies[1].save(world.folder / "preprocess" / "target.vocabulary.tsv")
    world.give_vectors()
    world.run()
    assert world.output()[2]["dictionary"]["method"] == "identical"


def test_words_without_vectors_stay_zero(world):
    world.give_vectors(known=100)
    world.run()
    source, target, facts = world.output()
    assert not source[100:].any()
    assert source[:100].any(axis=1).all()
    assert nearest_share(source[:100], target[:100]) == 1.0
    assert facts["coverage"]["source"]["missing"][:2] == ["word100", "word101"]


def test_a_share_without_vectors_may_be_allowed(world):
    world.give_vectors(known=40)
    with pytest.raises(InputError, match="raise embed.max_missing"):
        world.run()
    world.run(max_missing=0.9)
    assert world.output()[0].any(axis=1).sum() == 40


def test_given_vectors_without_word_pairs_are_refused(world):
    world.give_vectors()
    world.give("dictionary", "no\tpair\n", "words.tsv")
    with pytest.raises(
        InputError, match=r"no word pairs to join the two spaces \(by file\); check that they"
    ):
        world.run()


def test_refinement_mends_a_small_dictionary(world):
    world.give_vectors(noise=0.2)
    world.give("dictionary", "".join(f"word{i}\tmot{i}x\n" for i in range(14)), "words.tsv")
    world.run(refine=0)
    before = nearest_share(*world.output()[:2])
    world.run()
    source, target, facts = world.output()
    assert facts["map"]["rounds"] == 2
    assert facts["map"]["pairs"] > 80
    assert nearest_share(source, target) >= before


def test_vectors_are_trained_where_none_are_given(world):
    out = world.run(dim=12, epochs=3)
    source, target, facts = world.output()
    assert source.shape == (WORDS, 12)
    assert source.any(axis=1).all()
    assert target.any(axis=1).all()
    assert facts["vectors"] == "trained"
    assert facts["training"]["pairs"] == 400
    assert facts["training"]["epochs"] == 3
    assert out == ""
    assert "map en-fr from" in world.said
    assert "training vectors: 400 pairs" in world.said
    assert not list((world.folder / "scratch").iterdir())


def test_the_effort_sets_the_epochs_and_the_sample(world):
    tokens = 2 * len(world.corpus.source.ids)
    world.run(dim=4, effort=2 * tokens)
    assert world.output()[2]["training"]["epochs"] == 2
    world.run(dim=4, effort=tokens // 4)
    training = world.output()[2]["training"]
    assert training["epochs"] == 1
    assert tokens // 5 < training["tokens"] <= tokens // 4


def test_the_effort_follows_a_great_corpus_up_to_a_limit(world, monkeypatch):
    tokens = 2 * len(world.corpus.source.ids)
    monkeypatch.setattr("pipeline.stages.embed.vectors.USUAL_EFFORT", tokens // 8)
    for most, least, epochs in ((2 * tokens, tokens, 1), (tokens // 2, tokens // 3, 1)):
        monkeypatch.setattr("pipeline.stages.embed.vectors.MOST_EFFORT", most)
        world.run(dim=4)
        training = world.output()[2]["training"]
        assert training["epochs"] == epochs
        assert least <= training["tokens"] <= most


def test_a_small_corpus_is_not_gone_through_for_ever(world):
    world.write_corpus(bitext(pairs=20))
    world.run(dim=4)
    assert world.output()[2]["training"]["epochs"] == 20


def test_poor_trained_vectors_only_cause_a_warning(world):
    """Random text teaches nothing: the check fails, and the stage goes on."""
    rng = np.random.default_rng(0)
    sides = [Sentences.from_lists(rng.integers(0, WORDS, (30, 4)).tolist()) for _ in range(2)]
    world.write_corpus(Corpus(*sides))
    world.vocabularies[1] = Vocabulary([f"word{i}" for i in range(WORDS)], world.vocabularies[1].counts)
    world.run(dim=6, epochs=1, dictionary="bitext", min_gap=1.9)
    assert (
        "no common space" in world.said
        or "no word pairs" in world.said
        or world.output()[2]["map"]["pairs"] < 99
    )
    world.output()


def test_the_gap_of_trained_vectors_only_causes_a_warning(world):
    world.run(dim=6, epochs=1, min_gap=1.9)
    assert (
        "warning: embed: vectors trained on the corpus: no common space: the mean cosine of 24" in world.said
    )
    assert world.output()[2]["map"]["check"]["pairs"] >= ENOUGH


def test_a_corpus_of_two_pairs_passes(world):
    world.write_corpus(bitext(pairs=2))
    world.run(dim=5)
    source, target, _ = world.output()
    assert source.shape == target.shape == (WORDS, 5)
    assert "no word pairs to join the two spaces" in world.said or "directions" in world.said


def test_no_vectors_make_matrices_without_columns(world):
    world.give_vectors()
    assert world.run(vectors="none") == ""
    source, target, facts = world.output()
    assert source.shape == target.shape == (WORDS, 0)
    assert facts == {"vectors": "none"}
    assert "no vectors: the features made of them are zero" in world.said


def test_given_vectors_may_be_passed_over(world):
    world.give_vectors()
    world.run(vectors="trained", dim=4, epochs=1)
    assert world.output()[0].shape == (WORDS, 4)


def test_pairs_left_out_of_statistics_teach_nothing(world):
    used = np.zeros(400, dtype=bool)
    used[:100] = True
    world.write_corpus(bitext(), used=used)
    world.run(dim=4, epochs=1)
    assert world.output()[2]["training"]["pairs"] == 100


def test_gold_text_joins_where_it_is_part_of_the_corpus(world):
    bitext(pairs=50, seed=9).save(world.folder / "preprocess" / "gold")
    for joined, pairs in ((False, 400), (True, 450)):
        world.in_corpus = joined
        world.run(dim=4, epochs=1)
        assert world.output()[2]["training"]["pairs"] == pairs


@pytest.mark.parametrize("given", [True, False])
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_jobs(world, given):
    if given:
        world.give_vectors()
    written = []
    for seed, jobs in ((0, 1), (0, 4), (1, 1)):
        world.run(seed=seed, jobs=jobs, **({} if given else {"dim": 6, "epochs": 1}))
        written.append(world.bytes())
    assert written[0] == written[1]
    assert written[0] != written[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dictionary": "file", "dim": 4, "epochs": 1},
            "vectors.dictionary: missing, but embed.dictionary is",
        ),
        ({"vectors": "given"}, "vectors.source: missing, but embed.vectors is given; set vectors.source and"),
    ],
)
def test_wrong_options_are_told(world, options, message):
    with pytest.raises(InputError, match=message):
        world.run(**options)


def test_pairs_are_taken_from_the_disk_not_through_mapped_files(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    parts = []
    for name, count in (("corpus", 3000), ("gold", 20)):
        sides = [
            Sentences.from_lists([generator.integers(0, 90, generator.integers(1, 9)) for _ in range(count)])
            for _ in range(2)
        ]
        parts.append(Corpus(*sides))
        parts[-1].save(tmp_path / name)
    rows = (np.flatnonzero(generator.random(3000) < 0.7), np.arange(20))
    text = Text((tmp_path / "corpus", tmp_path / "gold"), rows)
    used = Corpus.join([part.take(own) for part, own in zip(parts, rows, strict=True)])
    monkeypatch.setattr(embed_vectors, "_PIECE", 700)
    n, m = used.source.lengths(), used.target.lengths()
    np.testing.assert_array_equal(text.sizes(np.multiply), n * m)
    monkeypatch.setattr(Corpus, "load", None)
    some = np.sort(generator.choice(len(used), 200, replace=False))
    for chosen in (some, np.arange(len(used)), np.arange(5)):
        found, expected = text.take(chosen), used.take(chosen)
        for side in ("source", "target"):
            for name in ("ids", "offsets", "parents"):
                left, right = (getattr(getattr(each, side), name) for each in (found, expected))
                assert left.dtype == right.dtype
                np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("piece", [1, 7, 1000])
@pytest.mark.parametrize("most", [0, 1, 150, 151, 299, 300, 10**9])
def test_a_sample_is_drawn_as_long_as_it_fits(monkeypatch, piece, most):
    monkeypatch.setattr(embed_vectors, "_PIECE", piece)
    sizes = np.random.default_rng(3).integers(0, 4, 200)
    order = np.random.default_rng([5, 1]).permutation(200)
    expected = np.sort(order[np.cumsum(sizes[order]) <= most])
    if sizes.sum() <= most:
        expected = np.arange(200)
    found = Text((), ()).sample(sizes, most, [5, 1])
    np.testing.assert_array_equal(found, expected)
