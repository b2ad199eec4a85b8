"""The stage lexicon: what it counts, what fits the memory, and a model's tables as a start."""

import json
import multiprocessing
import os
import re
import shutil
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from align.core.errors import InputError, WorkError
from align.core.ragged import SIDES
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.posteriors import Posteriors
from align.statistics.sampler import Schedule, run_chain
from pipeline.stages.lexicon import sampling, sampling_files, tables
from pipeline.stages.lexicon import stage as lexicon
from pipeline.stages.lexicon.prior_model import load_prior, prior_counts
from pipeline.work import budget, checkpoint
from pipeline.work.engine import open_engine
from pipeline.work.memory_release import prepare
from pipeline.work.stage import Stage
from tests.align import toy
from tests.align.model.test_folder import with_links
from tests.pipeline.stages.made_by_hand import plain_context

WORDS = 30

# Words of a text that takes more memory than the program itself.
LARGE = 30_000


def bitext(seed, pairs):
    """Pairs in which word i of one side translates word i of the other."""
    generator = np.random.default_rng(seed)
    lines = [generator.choice(WORDS, generator.integers(2, 8), replace=False).tolist() for _ in range(pairs)]
    return Corpus(Sentences.from_lists(lines), Sentences.from_lists([line[::-1] for line in lines]))


def write_text(folder, *, words=WORDS, languages=("en", "fr"), name="text.json"):
    folder.mkdir(parents=True, exist_ok=True)
    text = {side: {"language": code} for side, code in zip(SIDES, languages, strict=True)}
    described = text if name == "text.json" else {"text": text}
    (folder / name).write_text(json.dumps(described), encoding="utf-8")
    for side, letter in zip(SIDES, "st", strict=True):
        vocabulary = Vocabulary([f"{letter}{word}" for word in range(words)], np.full(words, 3))
        vocabulary.save(folder / f"{side}.vocabulary.tsv")


@pytest.fixture
def preprocess(tmp_path):
    folder = tmp_path / "preprocess"
    write_text(folder)
    bitext(0, 60).save(folder / "corpus")
    bitext(1, 5).save(folder / "gold")
    np.save(folder / "in_statistics.npy", np.arange(60) % 6 > 0)
    np.save(folder / "gold_in_corpus.npy", np.full(5, -1))
    return folder


@pytest.fixture
def context(preprocess, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return context_of(preprocess, folder)


def context_of(preprocess, folder):
    values = {"gold": {"in_corpus": True}, "lexicon": {"prior": None}}
    stage = Stage("lexicon", lexicon.run, uses=("gold.in_corpus",))
    return plain_context(stage, folder, {"preprocess": preprocess}, values)


def counted(folder):
    """The number of source tokens the tables were made from."""
    return int(Lexicon.load(folder).source_counts.sum())


def tokens(preprocess, chosen=None, gold=True):
    corpus = Corpus.load(preprocess / "corpus")
    chosen = np.flatnonzero(np.load(preprocess / "in_statistics.npy")) if chosen is None else chosen
    return len(corpus.take(chosen).source.ids) + gold * len(Corpus.load(preprocess / "gold").source.ids)


def assert_equal(one, other):
    for field in fields(Lexicon):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_it_counts_the_pairs_in_statistics_and_the_gold_text(context, preprocess, capsys):
    lexicon.run(context, chains=1)
    corpus = Corpus.load(preprocess / "corpus").take(np.flatnonzero(np.arange(60) % 6 > 0))
    expected = estimate(Corpus.join([corpus, Corpus.load(preprocess / "gold")]), WORDS, WORDS)
    assert_equal(Lexicon.load(context.folder), expected)
    assert counted(context.folder) == tokens(preprocess)
    assert context.notes["pairs"] == context.notes["pairs_of_corpus"] == 55
    assert context.notes["word_pairs_kept"] == expected.cells
    assert len(context.notes["log_likelihoods"]) == 5
    said = capsys.readouterr().err
    assert "statistics of 55 of 55 pairs" in said
    assert "of memory" in said


def test_the_gold_text_can_be_left_out_or_missing(context, preprocess, tmp_path):
    context.config.values["gold"]["in_corpus"] = False
    lexicon.run(context, chains=1)
    assert counted(context.folder) == tokens(preprocess, gold=False)
    context.config.values["gold"]["in_corpus"] = True
    (preprocess / "gold").rename(tmp_path / "elsewhere")
    lexicon.run(context, chains=1)
    assert context.notes["pairs"] == 50


def test_a_sample_is_seeded_and_always_has_the_gold_text(context, preprocess):
    lexicon.run(context, pairs=10, chains=1)
    first = Lexicon.load(context.folder)
    assert context.notes["pairs"] == 15
    assert context.notes["pairs_of_corpus"] == 55
    gold = np.bincount(Corpus.load(preprocess / "gold").source.ids, minlength=WORDS)
    assert (first.source_counts >= gold).all()
    lexicon.run(context, pairs=10, chains=1)
    assert_equal(first, Lexicon.load(context.folder))
    lexicon.run(replace(context, seed=1), pairs=10, chains=1)
    assert not np.array_equal(first.source_counts, Lexicon.load(context.folder).source_counts)
    lexicon.run(context, pairs=5000, chains=1)
    assert context.notes["pairs"] == 55


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.npy")}


def test_threads_change_nothing(context):
    lexicon.run(context, chains=4)
    first = files(context.folder)
    assert len(first) == len(fields(Lexicon)) + len(fields(ExpectedLinks)) + 2 * len(fields(Posteriors))
    lexicon.run(replace(context, jobs=3), chains=4)
    assert files(context.folder) == first


class TestSampling:
    def test_what_is_counted_is_sampled(self, context, preprocess):
        lexicon.run(context, chains=2)
        corpus = Posteriors.load(context.folder / "posteriors" / "corpus")
        gold = Posteriors.load(context.folder / "posteriors" / "gold")
        assert corpus.sampled.tolist() == (np.arange(60) % 6 > 0).tolist()
        assert gold.sampled.tolist() == [True] * 5
        ExpectedLinks.load(context.folder / "links", Lexicon.load(context.folder))
        assert context.notes["pairs_sampled"] == 55
        assert context.notes["chains"] == 2
        # the words of a target sentence are those of the source the other way round
        text = Corpus.load(preprocess / "gold")
        right = []
        for pair, size in enumerate(text.source.lengths().tolist()):
            here = gold.block(pair, pair + 1)
            forward, reverse = here.dense(np.array([[size, size]]))
            right += np.sqrt(forward * reverse).reshape(size, size)[:, ::-1].diagonal().tolist()
        assert np.mean(right) > 0.8

    def test_gold_text_that_is_not_counted_is_not_sampled(self, context):
        context.config.values["gold"]["in_corpus"] = False
        lexicon.run(context, chains=1)
        gold = Posteriors.load(context.folder / "posteriors" / "gold")
        assert gold.sampled.tolist() == [False] * 5

    @pytest.mark.parametrize("in_corpus", [True, False])
    def test_a_gold_pair_that_is_in_the_corpus_is_sampled_once(self, context, preprocess, in_corpus):
        context.config.values["gold"]["in_corpus"] = in_corpus
        text = Corpus.load(preprocess / "corpus")
        text.take(np.array([7, 1, 8, 2, 9])).save(preprocess / "gold")
        np.save(preprocess / "gold_in_corpus.npy", [7, 1, 8, 2, 9])
        lexicon.run(context, chains=1)
        corpus = Posteriors.load(context.folder / "posteriors" / "corpus")
        gold = Posteriors.load(context.folder / "posteriors" / "gold")
        assert context.notes["pairs_sampled"] == 50
        same = corpus.take(np.array([7, 1, 8, 2, 9]))
        for field in fields(Posteriors):
            assert np.array_equal(getattr(gold, field.name), getattr(same, field.name)), field.name

    def test_none(self, context):
        lexicon.run(context, chains=0)
        assert not (context.folder / "links").exists()
        assert not (context.folder / "posteriors").exists()


def no_base(monkeypatch):
    """Let a small corpus be all that counts."""
    for name in ("BASE", "_BLOCK"):
        monkeypatch.setattr(budget, name, 0)


class TestMemory:
    """What does not fit is left out, told, and the same as if it had been asked for."""

    def test_fewer_pairs(self, context, monkeypatch, capsys):
        no_base(monkeypatch)
        lexicon.run(context, chains=2)
        needed = context.notes["memory_predicted"]
        small = replace(context, memory=int(0.8 * needed), notes={})
        lexicon.run(small, chains=2)
        assert small.notes["memory_predicted"] <= 0.8 * needed
        chosen = small.notes["pairs_chosen"]
        assert small.notes["pairs"] == small.notes["pairs_sampled"] == chosen + 5 < 55
        assert chosen > 2
        assert small.notes["incomplete"].startswith(f"{chosen} of 50 pairs, for lack of memory (")
        assert "incomplete" not in context.notes
        (warning,) = small.notes["warnings"]
        assert f"using {chosen} of 50 pairs: more do not fit" in warning
        assert f"lexicon.pairs={chosen}" in warning
        assert "give a larger --memory to use all" in capsys.readouterr().err
        found = files(context.folder)
        lexicon.run(replace(context, notes={}), pairs=chosen, chains=2)
        assert files(context.folder) == found
        lexicon.run(replace(context, notes={}), pairs=chosen + 1, chains=2)
        assert files(context.folder) != found

    def test_fewer_chains_at_a_time(self, context, monkeypatch, capsys):
        no_base(monkeypatch)
        lexicon.run(context, chains=4)
        one, found = context.notes["memory_predicted"], files(context.folder)
        lexicon.run(replace(context, jobs=3, memory=one, notes={}), chains=4)
        assert files(context.folder) == found
        assert "4 chains each way, 1 at a time" in capsys.readouterr().err
        lexicon.run(replace(context, jobs=3, notes={}), chains=4)
        assert files(context.folder) == found
        assert "4 chains each way, 3 at a time" in capsys.readouterr().err

    def test_the_number_does_not_depend_on_jobs(self, context, monkeypatch):
        no_base(monkeypatch)
        lexicon.run(context, chains=0)
        memory, chosen = int(0.7 * context.notes["memory_predicted"]), []
        for jobs in (1, 4):
            small = replace(context, memory=memory, jobs=jobs, notes={})
            lexicon.run(small, chains=0)
            chosen.append(small.notes["pairs_chosen"])
        assert chosen[0] == chosen[1] < 50

    def test_tables_that_leave_no_room_for_sampling(self, context, monkeypatch):
        """All cells are kept: sampling takes more of each than Model 1 does."""
        no_base(monkeypatch)
        lexicon.run(context, min_probability=0.0, chains=0)
        alone = context.notes["memory_predicted"]
        lexicon.run(context, min_probability=0.0, chains=1)
        assert context.notes["memory_predicted"] > alone
        small = replace(context, memory=alone, notes={})
        lexicon.run(small, min_probability=0.0, chains=1)
        assert small.notes["memory_predicted"] <= alone
        assert small.notes["pairs_chosen"] < 50

    def test_nothing_fits(self, context, monkeypatch):
        with pytest.raises(WorkError, match=r"lexicon: it takes .* of 1 KB; give a larger --memory"):
            lexicon.run(replace(context, memory=1024))
        no_base(monkeypatch)
        context.config.values["gold"]["in_corpus"] = False
        with pytest.raises(WorkError, match=r"lexicon: it takes .* of 4 KB; give a larger --memory"):
            lexicon.run(replace(context, memory=4096))


def _measure(folder, jobs):
    """Run the stage by itself on a larger text; tell its peak and what was predicted.

    A sweep with each of the three models takes as much memory as many.
    """
    prepare()
    sampling.schedule_for = lambda pairs: Schedule(1, lexical=1, jumps=1, fertility=1, kept=1)
    inner = folder / "preprocess"
    write_text(inner, words=LARGE)
    generator = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        offsets = np.arange(0, 36_001 * 20, 20)
        ids = (LARGE * generator.random(offsets[-1]) ** 3).astype(np.int32)
        sides.append(Sentences(ids, offsets, np.zeros_like(ids)))
    Corpus(*sides).save(inner / "corpus")
    np.save(inner / "in_statistics.npy", np.ones(36_000, dtype=bool))
    del sides, ids
    (folder / "out").mkdir()
    here = context_of(inner, folder / "out")
    here.config.values["gold"]["in_corpus"] = False
    lexicon.run(replace(here, jobs=jobs), chains=1, iterations=2)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M)[1]) * 2**10, here.notes["memory_predicted"]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_memory_told_is_what_is_taken(tmp_path, jobs):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
        peak, predicted = alone.submit(_measure, tmp_path, jobs).result()
    assert peak > 450 * 2**20  # most of it is the text's, not the program's
    assert 0.85 * predicted < peak < 1.15 * predicted


def damage(path, fault):
    """Leave of a file what a power cut may."""
    size = path.stat().st_size
    path.write_bytes({"short": path.read_bytes()[: size // 2], "zeros": bytes(size)}[fault])


class TestResume:
    """A killed run is gone on with: tables and chains that are there are not made again."""

    def killed_in_chain(self, context, monkeypatch, number):
        """Run until a chain is begun, and stop there as a kill would."""
        begun = []

        def die(settings, text, sums, *, chain, on_sweep=None):
            begun.append((settings.side, chain))
            if len(begun) > number:
                raise KeyboardInterrupt
            return run_chain(settings, text, sums, chain=chain, on_sweep=on_sweep)

        with monkeypatch.context() as patch:
            patch.setattr(sampling_files, "run_chain", die)
            with pytest.raises(KeyboardInterrupt):
                lexicon.run(context, chains=2)

    def test_only_what_is_missing_is_made(self, context, monkeypatch, tmp_path):
        lexicon.run(context, chains=2)
        found, notes = files(context.folder), context.notes
        again = replace(context, folder=tmp_path / "again", notes={})
        again.folder.mkdir()
        self.killed_in_chain(again, monkeypatch, 3)
        made = []

        def counted(settings, text, sums, *, chain, on_sweep=None):
            made.append((settings.side, chain))
            return run_chain(settings, text, sums, chain=chain, on_sweep=on_sweep)

        monkeypatch.setattr(sampling_files, "run_chain", counted)
        monkeypatch.setattr(tables, "estimate", None)
        lexicon.run(again, chains=2)
        assert made == [(1, 1)]
        assert files(again.folder) == found
        assert again.notes == notes
        assert sorted(path.name for path in again.folder.iterdir()) == sorted(
            path.name for path in context.folder.iterdir()
        )

    def test_with_less_memory_it_begins_afresh(self, context, monkeypatch):
        no_base(monkeypatch)
        self.killed_in_chain(context, monkeypatch, 1)
        needed = checkpoint.load(context.folder / "sampling" / "tables.json")
        memory = int(0.8 * needed["figures"]["memory_predicted"])
        small = replace(context, memory=memory, notes={})
        lexicon.run(small, chains=2)
        found = files(small.folder)
        assert small.notes["pairs_chosen"] < 50
        lexicon.run(context, chains=2, pairs=small.notes["pairs_chosen"])
        assert files(context.folder) == found

    @pytest.mark.parametrize("fault", ["short", "zeros"])
    def test_what_a_power_cut_left_is_not_counted_on(self, context, monkeypatch, tmp_path, capsys, fault):
        """One of the files that are kept is damaged: what it belongs to is made anew, to the same bytes."""
        lexicon.run(context, chains=2)
        found, notes = files(context.folder), context.notes
        killed = replace(context, folder=tmp_path / "killed", notes={})
        killed.folder.mkdir()
        self.killed_in_chain(killed, monkeypatch, 3)
        of_each_kind = (
            "targets.npy",
            "sampling/tables.json",
            "sampling/priors/forward.links.npy",
            "sampling/blocks/0/reverse.places.npy",
            "sampling/chains/0-0/0.candidates.npy",
            "sampling/chains/1-0/checkpoint.json",
        )
        for name in of_each_kind:
            again = replace(killed, folder=tmp_path / "again", notes={})
            shutil.copytree(killed.folder, again.folder)
            damage(again.folder / name, fault)
            capsys.readouterr()
            lexicon.run(again, chains=2)
            told = capsys.readouterr().err
            assert told.count("made anew") == 1, name
            assert files(again.folder) == found, name
            assert again.notes == notes
            assert {path.name for path in again.folder.iterdir()} == {
                path.name for path in context.folder.iterdir()
            }
            shutil.rmtree(again.folder)

    def test_more_memory_changes_nothing(self, context, monkeypatch):
        self.killed_in_chain(context, monkeypatch, 1)
        monkeypatch.setattr(tables, "estimate", None)
        lexicon.run(replace(context, memory=2 * context.memory), chains=2)


def test_blocks_of_pairs_change_nothing(context, monkeypatch):
    lexicon.run(context, chains=2)
    found = files(context.folder)
    monkeypatch.setattr(sampling, "_BLOCK_TOKENS", 60)
    lexicon.run(replace(context, jobs=3), chains=2)
    assert files(context.folder) == found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Port .* is already in use")
class TestCluster:
    def test_a_worker_that_is_killed_changes_nothing(self, context):
        lexicon.run(context, chains=8)
        found = files(context.folder)
        with open_engine("dask", jobs=2) as engine:
            victim = next(iter(engine._client.run(os.getpid).values()))
            killed = []

            def kill():
                chains = context.folder / "sampling" / "chains"
                while not chains.exists() or not any(chains.iterdir()):
                    time.sleep(0.001)
                os.kill(victim, signal.SIGKILL)
                killed.append(sum(path.suffix == "" for path in chains.iterdir()))

            killer = Thread(target=kill)
            killer.start()
            lexicon.run(replace(context, engine=engine, notes={}), chains=8)
            killer.join()
        assert killed[0] < 12  # of 16: the work was not over
        assert files(context.folder) == found


def test_no_text_at_all_is_refused(context, preprocess):
    np.save(preprocess / "in_statistics.npy", np.zeros(60, dtype=bool))
    context.config.values["gold"]["in_corpus"] = False
    summary = {"pairs": 60, "rejects": {"identical": 58, "length_ratio": 2}}
    (preprocess / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    told = (
        r"rejects\.tsv: 0 usable pairs to learn from, of 60 \(reported: identical 58, length_ratio 2\); give"
    )
    with pytest.raises(InputError, match=told):
        lexicon.run(context)


@pytest.fixture
def model(tmp_path):
    """The part of a model folder that a prior is: five words more than the corpus has."""
    folder = tmp_path / "models" / "old"
    write_text(folder, words=WORDS + 5, name="model.json")
    estimate(bitext(7, 300), WORDS + 5, WORDS + 5).save(folder / "lexicon")
    return folder


def test_a_prior_starts_the_tables(context, preprocess, model):
    lexicon.run(context, pairs=1, chains=1)
    alone = Lexicon.load(context.folder)
    lexicon.run(context, pairs=1, chains=1, prior=str(model), prior_weight=0.5)
    grown = Lexicon.load(context.folder)
    assert len(np.unique(grown.sources())) == WORDS > len(np.unique(alone.sources()))
    assert len(grown.source_counts) == WORDS

    def right(tables):
        """Mean probability of the translation of a word."""
        same = tables.sources() == tables.targets
        return tables.forward[same].sum() / WORDS

    assert right(grown) > 0.9 > right(alone)


def test_a_prior_serves_the_other_way_round(tmp_path, preprocess):
    """A corpus of fr-en is started from the tables and sampled links of a model of en-fr, turned."""
    model, folder = with_links(toy.toy_model()), tmp_path / "model"
    given = model.resources
    uneven = replace(given.lexicon, forward=given.lexicon.forward / 2)
    links = replace(given.links, forward=given.links.forward / 2)
    replace(model, resources=replace(given, lexicon=uneven, links=links)).save(folder)
    vocabularies = [given.source_vocabulary, given.target_vocabulary]
    there = load_prior(folder, preprocess, vocabularies)
    write_text(preprocess, languages=("fr", "en"))
    back = load_prior(folder, preprocess, vocabularies[::-1])
    assert [ids.tolist() for ids in back.ids] == [list(range(12))] * 2
    assert back.lexicon.reverse.tolist() == there.lexicon.forward.tolist() != back.lexicon.forward.tolist()
    assert back.links.reverse.tolist() == there.links.forward.tolist() != back.links.forward.tolist()
    small = Lexicon.load(folder / "lexicon")
    counts = prior_counts(small, vocabularies, there, weight=0.5, spelling=0.0, stems=0.0)
    turned = prior_counts(back.lexicon, vocabularies[::-1], back, weight=0.5, spelling=0.0, stems=0.0)
    for one, other in zip(counts, turned[::-1], strict=True):
        assert one.links.tolist() == other.links.tolist()


def test_a_prior_is_found_beside_the_configuration_and_is_part_of_the_fingerprint(context, model, tmp_path):
    assert lexicon.local_files(context.config) == []
    context.config.values["lexicon"]["prior"] = "models/old"
    files = lexicon.local_files(context.config)
    assert [path.relative_to(tmp_path) for path in files] == [
        Path("models/old", name)
        for name in ("model.json", "source.vocabulary.tsv", "target.vocabulary.tsv", "lexicon")
    ]
    assert all(path.exists() for path in files)
    lexicon.run(context, prior="models/old", chains=1)
    context.config.values["lexicon"]["prior"] = "models/none"
    with pytest.raises(InputError, match=r"models/none: no such model; give a folder with a model\.json"):
        lexicon.local_files(context.config)


def test_priors_that_do_not_fit_are_refused(context, model):
    write_text(model, words=WORDS + 5, languages=("fr", "de"), name="model.json")
    with pytest.raises(
        InputError, match=r"lexicon\.prior: .* is of fr-de, the corpus of en-fr; give a model"
    ):
        lexicon.run(context, prior=str(model))
    write_text(model, words=WORDS, name="model.json")
    with pytest.raises(
        InputError, match=r"tables of 35 and 35 words, vocabularies of 30 and 30; get the model"
    ):
        lexicon.run(context, prior=str(model))
    (model / "lexicon").rename(model / "lost")
    with pytest.raises(InputError, match=r"has no lexicon; give a model with lexical features"):
        lexicon.run(context, prior=str(model))
    (model / "model.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"model\.json: tells no languages \(KeyError\('text'\)\); give a model"
    ):
        lexicon.run(context, prior=str(model))
