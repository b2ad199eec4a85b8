"""Other aligners: what they are given, how they are found, and what happens when they fail."""

import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from align.core.arrays import save_array
from align.core.errors import InputError, WorkError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.links import Link
from benchmarks import peers, thot_program

# Line 1 was rejected; the "Du" of line 2 is two analysis tokens.
CORPUS = Corpus(Sentences.from_lists([[0], [0, 1]]), Sentences.from_lists([[2], [0, 1, 2]], [[0], [0, 0, 1]]))
GOLD = Corpus(Sentences.from_lists([[1]]), Sentences.from_lists([[0, 1, 2]], [[0, 0, 1]]))
WORDS = {"source": ["the", "cat"], "target": ["de", "le", "chat"]}
TEXT = {"source": "The\n\nThe cat\n", "target": "Chat\nx\nDu chat\n"}


@pytest.fixture
def preprocess(tmp_path):
    folder = tmp_path / "preprocess"
    CORPUS.save(folder / "corpus")
    save_array(folder / "in_statistics.npy", np.array([False, True]))
    save_array(folder / "lines.npy", np.array([0, 2]))
    for side in WORDS:
        words = WORDS[side]
        Vocabulary(words, np.ones(len(words), dtype=np.int64)).save(folder / f"{side}.vocabulary.tsv")
        (folder / f"{side}.txt").write_text(TEXT[side])
    return folder


@pytest.fixture
def with_gold(preprocess):
    GOLD.save(preprocess / "gold")
    save_array(preprocess / "gold_in_corpus.npy", np.array([-1]))
    (preprocess / "gold.source.txt").write_text("Cat\n")
    (preprocess / "gold.target.txt").write_text("Du chat\n")
    return preprocess


def written(text):
    return [(text.folder / f"{side}.txt").read_text() for side in ("source", "target")]


def test_surface_tokens_are_those_of_lines_that_were_not_rejected_in_lower_case(with_gold, tmp_path):
    text = peers.write_text(with_gold, tmp_path / "text", "surface")
    assert written(text) == ["the\nthe cat\ncat\n", "chat\ndu chat\ndu chat\n"]
    assert (text.pairs, text.rows.tolist()) == (3, [2])
    links = [[Link(0, 0), Link(0, 1)]]
    assert text.to_gold(links) == links


def test_analysis_tokens_are_those_of_the_statistics_and_lead_back(with_gold, tmp_path):
    text = peers.write_text(with_gold, tmp_path / "text", "analysis")
    assert written(text) == ["the cat\ncat\n", "de le chat\nde le chat\n"]
    assert text.rows.tolist() == [1]
    assert text.to_gold([[Link(0, 0), Link(0, 1), Link(0, 2)]]) == [[Link(0, 0), Link(0, 1)]]


@pytest.mark.parametrize(("tokens", "target"), [("surface", "chat\ndu chat\n"), ("analysis", "de le chat\n")])
def test_gold_need_not_be_there(preprocess, tmp_path, tokens, target):
    text = peers.write_text(preprocess, tmp_path / "text", tokens)
    assert written(text)[1] == target
    assert text.rows.tolist() == []


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "source.txt").write_text("a b\nc\n")
    (folder / "target.txt").write_text("x y\n||| z\n")
    return peers.PeerText(folder, 2, np.array([1]), lambda links: links)


def peer(*programs):
    """Return an aligner of Python programs; each is told its folder."""

    def commands(text, folder):
        return [([sys.executable, "-S", "-c", program, str(folder)], None) for program in programs]

    return peers.Peer("made", "0", commands)


WRITE = "import sys; open(sys.argv[1] + '/{}.txt', 'w').write('0-0\\n0-0\\n')"


def test_an_aligner_that_links_every_pair_is_measured(text, tmp_path):
    used = peers.run(peer(WRITE.format("forward"), WRITE.format("reverse")), text, tmp_path / "out", limit=0)
    assert used.cpu_seconds > 0
    assert peers.combined(text, tmp_path / "out")["intersect"].read_text() == "0-0\n"


@pytest.mark.parametrize(
    ("programs", "limit", "told"),
    [
        (["import sys; sys.exit('the reason')"], 0, "exit status 1: the reason"),
        ([WRITE.format("forward")], 0, "0 lines for 2 pairs"),
        (["import time; time.sleep(60)"], 0.3, "stopped after 0 s"),
    ],
)
def test_an_aligner_that_fails_is_told(text, tmp_path, programs, limit, told):
    with pytest.raises(WorkError, match=told):
        peers.run(peer(*programs), text, tmp_path / "out", limit=limit)


FAST_ALIGN = """#!{python} -S
import os
import sys
if not {{"-d", "-o", "-v"}} <= set(sys.argv):
    sys.exit("other options")
with open(sys.argv[sys.argv.index("-i") + 1]) as lines:
    for line in lines:
        assert len(line.split(" ||| ")) == 2
        print("0-1" if "-r" in sys.argv else "0-0")
"""


def test_fast_align_is_that_of_the_path(text, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no fast_align on the PATH"):
        peers.find("fast_align", None, tmp_path / "log")
    program = tmp_path / "fast_align"
    program.write_text(FAST_ALIGN.format(python=sys.executable))
    program.chmod(0o755)
    peers.run(peers.find("fast_align", None, tmp_path / "log"), text, tmp_path / "out", limit=0)
    assert (tmp_path / "out" / "joined.txt").read_text() == "a b ||| x y\nc ||| | z\n"
    assert (tmp_path / "out" / "forward.txt").read_text() == "0-0\n0-0\n"
    assert (tmp_path / "out" / "reverse.txt").read_text() == "0-1\n0-1\n"


def test_an_environment_is_used_as_it_is(environments, text, tmp_path):
    found = peers.find("eflomal", environments, tmp_path / "log")
    assert found.version == "0.1"
    peers.run(found, text, tmp_path / "out", limit=0)
    assert (tmp_path / "out" / "forward.txt").read_text() == "0-0 1-1\n0-0\n"


def test_without_a_folder_of_environments_nothing_is_installed(tmp_path):
    for name in ("eflomal", "sil-thot-hmm"):
        with pytest.raises(InputError, match="--peers-venv"):
            peers.find(name, None, tmp_path / "log")


def test_what_cannot_be_installed_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(WorkError, match="sil-thot cannot be installed"):
        peers.find("sil-thot-hmm", tmp_path / "environments", tmp_path / "log")
    assert not list((tmp_path / "environments").glob("*"))


class Matrix:
    def __init__(self, words):
        self._words = words

    def to_list(self):
        return self._words


class Model:
    """A stand-in for a class of sil-thot: it links the first word, and knows its rounds."""

    made: list = []  # noqa: RUF012

    def __init__(self, *before):
        self.before, self.pairs, self.rounds = before, [], 0
        self.scheduled_iterations = 7
        self.made.append(self)

    def add_sentence_pair(self, source, target, count):
        self.pairs.append((source, target))

    def start_training(self):
        pass

    end_training = start_training

    def train(self):
        self.rounds += 1

    def get_training_alignment(self, pair):
        return 0.0, Matrix([1, *[0] * (len(self.pairs[pair][1]) - 1)])


@pytest.fixture
def library(monkeypatch):
    names = {name for schedule in thot_program.SCHEDULES.values() for name, _ in schedule}
    Model.made = []
    monkeypatch.setattr(
        thot_program, "import_module", lambda _: SimpleNamespace(**dict.fromkeys(names, Model))
    )


@pytest.mark.usefixtures("library")
def test_each_model_of_thot_starts_from_the_one_before_it():
    assert thot_program.links("ibm4", [["a", "b"]], [["x"]]) == [[(0, 0)]]
    assert [model.rounds for model in Model.made] == [5, 5, 5, 4]
    assert [model.before for model in Model.made] == [(), *((model,) for model in Model.made[:-1])]
    assert Model.made[-1].pairs == [(["a", "b"], ["x"])]
    thot_program.links("eflomal", [["a"]], [["x"]])
    assert Model.made[-1].rounds == 7


@pytest.mark.usefixtures("library")
def test_thot_writes_both_directions_source_first(text, tmp_path, monkeypatch):
    files = [text.folder / "source.txt", text.folder / "target.txt", tmp_path / "f", tmp_path / "r"]
    monkeypatch.setattr(sys, "argv", ["thot_program.py", "hmm", *map(str, files)])
    monkeypatch.setattr(Matrix, "to_list", lambda matrix: [2, *matrix._words[1:]])
    thot_program.main()
    assert files[2].read_text() == "1-0\n1-0\n"
    assert files[3].read_text() == "0-1\n0-1\n"
