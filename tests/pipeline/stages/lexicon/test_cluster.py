"""The lexicon counted and estimated on a cluster, in shards: the same bytes as in this process."""

import hashlib
import os
import signal
import time
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.statistics.lexicon import Lexicon, estimate
from pipeline.stages.lexicon import cluster
from pipeline.stages.lexicon import stage as lexicon
from pipeline.work.engine import Local, open_engine
from tests.pipeline.stages.lexicon import test_lexicon as shared

WORDS, PAIRS = 300, 400


class Elsewhere:
    """A cluster in this process: pieces are done in the wrong order, some of them twice."""

    remote = True

    def __init__(self):
        self.done = []

    def map(self, function, items, *, threads=0):
        items = list(items)
        results = {}
        for number in reversed(range(len(items))):
            for _ in range(1 + number % 2):
                results[number] = function(items[number])
                self.done.append(items[number])
        return iter([results[number] for number in range(len(items))])

    def workers(self):
        return 5

    def release(self):
        pass


def random_text(seed, pairs):
    generator = np.random.default_rng(seed)

    def side():
        return [
            (WORDS * generator.random(generator.integers(1, 12)) ** 2).astype(int).tolist()
            for _ in range(pairs)
        ]

    return Corpus(Sentences.from_lists(side()), Sentences.from_lists(side()))


@pytest.fixture
def context(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_SHARD_STEPS", 1500)
    folder = tmp_path / "preprocess"
    shared.write_text(folder, words=WORDS)
    random_text(0, PAIRS).save(folder / "corpus")
    random_text(1, 5).save(folder / "gold")
    np.save(folder / "in_statistics.npy", np.arange(PAIRS) % 6 > 0)
    np.save(folder / "gold_in_corpus.npy", np.full(5, -1))
    (tmp_path / "out").mkdir()
    return shared.context_of(folder, tmp_path / "out")


def made(context, **options):
    """Run the stage; return the hash of each of its files, and its figures."""
    again = replace(context, notes={})
    lexicon.run(again, **{"chains": 0} | options)
    found = {
        path.relative_to(context.folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in context.folder.rglob("*")
        if path.is_file()
    }
    assert len(found) >= len(fields(Lexicon))
    return found, again.notes


@pytest.mark.parametrize(
    "options",
    [{}, {"smoothing": 0.0, "min_probability": 0.0}, {"iterations": 1, "pairs": 30}],
    ids=["default", "likelihood", "few"],
)
def test_elsewhere_is_the_same(context, options):
    expected = made(context, **options)
    assert made(replace(context, jobs=2), **options) == expected
    engine = Elsewhere()
    assert made(replace(context, engine=engine), **options) == expected
    shards = Counter(
        piece.function.__name__ for piece in {piece.folder: piece for piece in engine.done}.values()
    )
    rounds = options.get("iterations", 5)
    for name in ("denominators", "expected_counts"):
        shards[name] /= rounds
    assert set(shards) == {
        *("count_cells", "begin_cells", "first_tables", "denominators", "expected_counts", "finish_rows")
    }
    if "pairs" not in options:
        assert min(shards.values()) > 5, "one piece shares nothing out"


def test_the_workers_that_sample_are_those_of_the_cluster(context, capsys):
    made(replace(context, jobs=3), chains=1)
    assert " chains each way, 3 at a time, about " in capsys.readouterr().err
    made(replace(context, jobs=3, engine=Elsewhere()), chains=1)
    told = capsys.readouterr().err
    assert " chains each way, 5 workers of the cluster, about " in told
    assert " of memory here" in told
    assert "at a time" not in told


def test_a_prior_starts_the_tables_elsewhere_too(context, tmp_path):
    model = tmp_path / "models" / "old"
    shared.write_text(model, words=WORDS + 5, name="model.json")
    estimate(random_text(7, 100), WORDS + 5, WORDS + 5).save(model / "lexicon")
    alone = made(context)
    expected = made(context, prior=str(model), prior_weight=0.5)
    assert expected != alone
    assert made(replace(context, engine=Elsewhere()), prior=str(model), prior_weight=0.5) == expected


def test_what_does_not_fit_is_left_out_elsewhere_too(context, monkeypatch):
    shared.no_base(monkeypatch)
    _, notes = made(context)
    small = replace(context, memory=int(0.7 * notes["memory_predicted"]))
    expected, told = made(small)
    assert told["pairs"] < notes["pairs"]
    assert made(replace(small, engine=Elsewhere())) == (expected, told)


def test_a_corpus_without_words_is_no_error(context):
    folder = context.inputs["preprocess"]
    shared.write_text(folder, words=0)
    assert made(replace(context, engine=Elsewhere())) == made(context)


def test_disk_is_given_back_after_each_round(context, monkeypatch):
    """Tables of two rounds at most are there at a time, and nothing of it all at the end."""
    rounds = []
    do = cluster.do

    def watched(piece):
        if piece.function.__name__ == "expected_counts":
            tables = Path(piece.folder).parent.parent
            rounds.append(sum(any(path.iterdir()) for path in tables.glob("expected_counts-*")))
        return do(piece)

    monkeypatch.setattr(cluster, "do", watched)
    made(replace(context, engine=Elsewhere()))
    assert set(rounds) <= {0, 1, 2}
    assert len(rounds) > 5 * 5
    assert not (context.folder / "sampling").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Port .* is already in use")
class TestCluster:
    def test_it_changes_nothing(self, context):
        expected = made(context, chains=2)
        processes = Local(2)
        assert made(replace(context, engine=processes, jobs=2), chains=2)[0] == expected[0]
        processes.release()
        with open_engine("dask", jobs=2) as engine:
            assert made(replace(context, engine=engine), chains=2) == expected

    def test_nor_does_a_worker_that_is_killed(self, context):
        expected = made(context, iterations=12)
        with open_engine("dask", jobs=2) as engine:
            victim = next(iter(engine._client.run(os.getpid).values()))
            begun = []

            def kill():
                while not (found := list(context.folder.glob("sampling/tables/*/expected_counts-3/*"))):
                    time.sleep(0.001)
                os.kill(victim, signal.SIGKILL)
                begun.append(found)

            killer = Thread(target=kill)
            killer.start()
            assert made(replace(context, engine=engine), iterations=12) == expected
            killer.join()
            assert victim not in engine._client.run(os.getpid).values()
        assert begun
