"""Text made for the tests, programs that stand in for other aligners, and commands run to their end."""

import random
import sys

import pytest

VOCABULARY = 60

# Vectors are trained on the made text: small ones will do, and so do few chains.
FAST = ["--set", "embed.dim=8", "--set", "embed.epochs=1", "--set", "lexicon.chains=2"]

# It links the words of each pair one by one; as an interpreter it answers which version it is.
EFLOMAL = """#!{python} -S
import sys
words = sys.argv[1:]
if "-c" in words:
    print("0.1")
    sys.exit()
options = {{name: words[words.index(name) + 1] for name in ("-s", "-t", "-f", "-r")}}
with open(options["-s"]) as source, open(options["-t"]) as target:
    pairs = [(left.split(), right.split()) for left, right in zip(source, target)]
for name in ("-f", "-r"):
    with open(options[name], "w") as out:
        for left, right in pairs:
            out.write(" ".join(f"{{j}}-{{j}}" for j in range(min(len(left), len(right)))) + "\\n")
"""


def word(number, vowel):
    return "".join("bdfgklmnpr"[int(digit)] + vowel for digit in f"{number:02d}") + "n"


def write(folder, pairs, seed):
    rng = random.Random(seed)
    sentences = [[rng.randrange(VOCABULARY) for _ in range(rng.randrange(3, 9))] for _ in range(pairs)]
    for language, vowel in (("en", "a"), ("fr", "o")):
        lines = [" ".join(word(number, vowel) for number in sentence) for sentence in sentences]
        (folder / f"made.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    links = [" ".join(f"{j}-{j}" for j in range(len(sentence))) for sentence in sentences]
    (folder / "made.align").write_text("".join(f"{line}\n" for line in links), encoding="utf-8")


@pytest.fixture
def bitext(tmp_path):
    """Return a function that writes so many pairs, word for word translations; it gives the two files."""

    def make(pairs):
        folder = tmp_path / "text"
        folder.mkdir()
        write(folder, pairs, 0)
        return [folder / "made.en", folder / "made.fr"]

    return make


@pytest.fixture
def gold(tmp_path):
    """Return the prefix of 12 pairs with their links."""
    folder = tmp_path / "gold"
    folder.mkdir()
    write(folder, 12, 1)
    return folder / "made"


@pytest.fixture
def environments(tmp_path):
    """Return a folder of environments with a stand-in for eflomal in it."""
    folder = tmp_path / "environments"
    (folder / "eflomal" / "bin").mkdir(parents=True)
    for name in ("python", "eflomal-align"):
        program = folder / "eflomal" / "bin" / name
        program.write_text(EFLOMAL.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
    return folder


@pytest.fixture
def command(monkeypatch, tmp_path, capsys):
    """Return a function that runs a module's ``main``: words to what it printed; results are in ``out``."""

    def run(module, *words):
        out = tmp_path / "out"
        given = [module.__file__, *map(str, words), *FAST, "--output", str(out)]
        monkeypatch.setattr(sys, "argv", given)
        module.main()
        return capsys.readouterr().out, out

    return run
