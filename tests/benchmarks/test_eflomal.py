"""The text another aligner is given, and its links on the way back."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

from align.core.arrays import save_array
from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.links import Link
from benchmarks import eflomal

# "du" of the second target sentence is two analysis tokens.
SOURCE = Sentences.from_lists([[0, 1], [1]])
TARGET = Sentences.from_lists([[2], [0, 1, 2]], [[0], [0, 0, 1]])
GOLD = Corpus(SOURCE, TARGET)
WORDS = {"source": ["the", "cat"], "target": ["de", "le", "chat"]}


@pytest.fixture
def preprocess(tmp_path):
    folder = tmp_path / "preprocess"
    GOLD.save(folder / "gold")
    corpus = Corpus.join([GOLD, Corpus(Sentences.from_lists([[0]]), Sentences.from_lists([[1]]))])
    corpus.save(folder / "corpus")
    save_array(folder / "in_statistics.npy", np.array([False, True, True]))
    # The second gold pair is the second of the corpus, the first is not in its statistics.
    save_array(folder / "gold_in_corpus.npy", np.array([-1, 1]))
    for side, words in WORDS.items():
        Vocabulary(words, np.ones(len(words), dtype=np.int64)).save(folder / f"{side}.vocabulary.tsv")
    return folder


# A stand-in for the program: it links the first words of each pair, forward, or all with the first, reverse.
STAND_IN = """#!{python} -S
import sys
words = sys.argv[1:]
options = {{name: words[words.index(name) + 1] for name in ("-s", "-t", "-f", "-r") if name in words}}
out = options.get("-f") or options["-r"]
with open(options["-s"]) as source, open(options["-t"]) as target, open(out, "w") as links:
    for left, right in zip(source, target):
        n = 1 if "-f" in options else len(right.split())
        links.write(" ".join(f"0-{{k}}" for k in range(n)) + "\\n")
"""


@pytest.fixture
def tool(tmp_path):
    program = tmp_path / "eflomal-align"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    return eflomal.Tool(program, "0")


def test_links_lead_back_to_surface_tokens_each_once():
    links = [Link(0, 0), Link(0, 1), Link(0, 2)]
    assert eflomal.to_surface(links, [0], [0, 0, 1]) == [Link(0, 0), Link(0, 1)]
    assert eflomal.surface_links([[Link(1, 0)], links], GOLD) == [[Link(1, 0)], [Link(0, 0), Link(0, 1)]]


def test_the_text_is_that_of_the_statistics_each_pair_once(preprocess):
    corpus, rows = eflomal.text_of(preprocess)
    assert eflomal.lines_of(corpus.source, WORDS["source"]) == ["cat", "the", "the cat"]
    assert eflomal.lines_of(corpus.target, WORDS["target"]) == ["de le chat", "le", "chat"]
    assert rows.tolist() == [2, 0]


def test_both_directions_are_run_and_put_together(preprocess, tool, tmp_path):
    folder = tmp_path / "out"
    used = eflomal.align(tool, preprocess, folder)
    assert used.cpu_seconds > 0
    assert (folder / "reverse.txt").read_text() == "0-0 0-1 0-2\n0-0\n0-0\n"
    files = eflomal.symmetrised(preprocess, folder)
    assert files["intersect"].read_text() == "0-0\n0-0\n"
    assert files["union"].read_text() == "0-0\n0-0 0-1\n"
    assert set(files) == {"intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"}


def test_an_environment_without_it_is_told(tmp_path):
    with pytest.raises(InputError, match="no eflomal-align beside it; python -m venv"):
        eflomal.find(tmp_path / "python", tmp_path / "log")


def test_it_is_never_imported():
    files = sorted(Path(eflomal.__file__).parent.glob("*.py"))
    assert len(files) > 5
    for path in files:
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "eflomal"], path.name
