"""Folders of earlier stages made by hand, and a context to run a stage in."""

import json
from contextlib import contextmanager

import numpy as np

from pipeline.config.configuration import Config
from pipeline.work.engine import Local, open_engine
from pipeline.work.progress import Reporter
from pipeline.work.stage import StageContext


def plain_context(stage, folder, inputs, values, *, seed=0, quiet=False):
    """Return a context for a stage in this process alone, with the values of other sections given."""
    return StageContext(
        folder=folder,
        inputs=inputs,
        seed=seed,
        jobs=1,
        memory=2**30,
        scratch=folder,
        workdir=folder,
        engine=Local(1),
        reporter=Reporter("tiny", quiet=quiet),
        stage=stage,
        config=Config(folder.parent / "tiny.toml", values, frozenset()),
    )


class Counting(Local):
    """Works in this process, and keeps what it was given; stands for a cluster, too."""

    def __init__(self):
        self.items = []

    def map(self, function, items, *, threads=0):
        for item in items:
            self.items.append(item)
            yield function(item)


@contextmanager
def context_of(stage, folder, inputs, *, jobs=1, values=None):
    """Yield a context for a stage that fills ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    arguments = {
        "folder": folder,
        "inputs": inputs,
        "seed": 1,
        "jobs": jobs,
        "memory": 2**30,
        "scratch": scratch,
        "workdir": folder.parent,
        "reporter": Reporter("test"),
        "stage": stage,
        "config": Config(folder / "x.toml", values or {}, frozenset()),
    }
    with open_engine("local", jobs=jobs) as engine:
        yield StageContext(engine=engine, **arguments)


def write_preprocess(folder, model, corpus, lines, texts):
    """Write what the stages read of ``preprocess``: ``texts`` are the lines of both sides, rejects empty."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus.save(folder / "corpus")
    np.save(folder / "lines.npy", np.array(lines, dtype=np.int64))
    resources = model.resources
    vocabularies = (resources.source_vocabulary, resources.target_vocabulary)
    for side, vocabulary, text in zip(("source", "target"), vocabularies, texts, strict=True):
        vocabulary.save(folder / f"{side}.vocabulary.tsv")
        (folder / f"{side}.txt").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
        counts = [len(line.split(" ")) if line else 0 for line in text]
        np.save(
            folder / f"{side}.spans.offsets.npy", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        )
    (folder / "text.json").write_text(json.dumps(dict(model.text)), encoding="utf-8")
