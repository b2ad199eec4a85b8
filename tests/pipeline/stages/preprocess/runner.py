"""The preprocess stage run by itself on texts that a test gives, and what it left."""

import csv
import json
from pathlib import Path

import numpy as np

from align.data.corpus import Corpus
from align.data.vocabulary import Vocabulary
from pipeline.config.configuration import Config
from pipeline.stages.preprocess import stage as preprocess
from pipeline.work.engine import open_engine
from pipeline.work.stage import Stage, StageContext

SIDES = ("source", "target")
DEFAULTS = {"source": "en", "target": "fr", "limit": None, "tokenized": False, "encoding": "utf-8"}
DEFAULTS |= {"columns": None, "shifted": None}
USES = (*(f"corpus.{key}" for key in DEFAULTS), "gold.in_corpus")


class Said:
    """A reporter that keeps what is said."""

    def __init__(self):
        self.lines, self.warnings = [], []

    def say(self, text):
        self.lines.append(text)

    def warn(self, text):
        self.warnings.append(text)

    def progress(self, items, **_):
        return items


class Result:
    """What the stage left in its folder."""

    def __init__(self, folder, said):
        self.folder, self.said = folder, said
        self.corpus = Corpus.load(folder / "corpus")
        self.lines = np.load(folder / "lines.npy", allow_pickle=False)
        self.used = np.load(folder / "in_statistics.npy", allow_pickle=False)
        self.words = [Vocabulary.load(folder / f"{side}.vocabulary.tsv") for side in SIDES]
        self.text = [(folder / f"{side}.txt").read_bytes().decode("utf-8").split("\n")[:-1] for side in SIDES]
        self.summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        with open(folder / "rejects.tsv", encoding="utf-8", newline="\n") as rows:
            self.rejects = list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))

    @property
    def reasons(self):
        return [(int(row["line"]), row["reason"], row["effect"]) for row in self.rejects]

    def analysis(self, part, side=0, corpus=None):
        sentences = getattr(corpus or self.corpus, SIDES[side])
        ids = sentences.ids[sentences.offsets[part] : sentences.offsets[part + 1]]
        return [self.words[side].words[word] for word in ids]

    def spans(self, line, side=0):
        starts = np.load(self.folder / f"{SIDES[side]}.spans.offsets.npy", allow_pickle=False)
        spans = np.load(self.folder / f"{SIDES[side]}.spans.npy", allow_pickle=False)
        return [tuple(span) for span in spans[starts[line] : starts[line + 1]].tolist()]


def as_bytes(lines):
    return lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode("utf-8")


def runner(tmp_path):
    """Return a function that writes two texts, runs the stage on them and reads what it left."""

    def call(
        source,
        target,
        /,
        *,
        gold=None,
        in_corpus=True,
        jobs=1,
        kind="files",
        options=None,
        again=False,
        **corpus,
    ):
        number = len(list(tmp_path.glob("out*"))) - again
        folders = {name: tmp_path / f"{name}{number}" for name in ("out", "scratch", "download")}
        for folder in folders.values():
            folder.mkdir(exist_ok=again)
        paths = []
        for name, lines in zip(("text.source", "text.target"), (source, target), strict=True):
            if lines is not None:
                (folders["download"] / name).write_bytes(as_bytes(lines))
                paths.append(name)
        for side, lines in zip(SIDES, gold or (), strict=bool(gold)):
            (folders["download"] / f"gold.{side}").write_bytes(as_bytes(lines))
        sources = {
            "corpus": {"kind": kind, "paths": paths, "sha256": []},
            "vectors": {"source": None, "target": None, "dictionary": None},
            "gold": {"files": ["gold.source", "gold.target"], "links": "gold.align"} if gold else None,
        }
        (folders["download"] / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
        values = {"corpus": DEFAULTS | corpus, "gold": {"in_corpus": in_corpus}}
        said = Said()
        with open_engine("local", jobs=jobs) as engine:
            context = StageContext(
                folder=folders["out"],
                inputs={"download": folders["download"]},
                seed=1,
                jobs=jobs,
                memory=1 << 30,
                scratch=folders["scratch"],
                workdir=tmp_path,
                engine=engine,
                reporter=said,
                stage=Stage("preprocess", preprocess.run, uses=USES),
                config=Config(Path("test.toml"), values, frozenset()),
            )
            preprocess.run(context, **(options or {}))
        assert not list(folders["scratch"].iterdir())
        assert not (folders["out"] / "shards").exists()
        return Result(folders["out"], said)

    return call
