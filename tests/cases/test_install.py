"""Installing: every Python that is admitted gives the same tokens."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import align
from tests.runs import ROOT
from tests.test_packaging import project

# What regular expressions of the tokenizer had to do with: numbers, elisions, contractions, signs.
TEXTS = (
    'It was late, wasn\'t it? The 1,000.50 people said: "no".',
    "L'homme d'aujourd'hui n'aura 10 000 \u20ac qu'à 15h30, M. Dupont...",
    "e-mail: a.b@c.org http://x.org/?q=1 50 % 3rd No. 5 U.S. rock 'n' roll",
)

# Tokens of each text, a line a text, as one Python cuts them.
PROGRAM = """
import sys
from align.text.processor import TextProcessor
for language in ("en", "fr"):
    processor = TextProcessor(language)
    for text in sys.argv[1:]:
        print(ascii(processor.process(text).surface))
"""


def pythons():
    """Return this Python and, by name, the system's own ones whose libraries can be these."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    places = [sys.executable, *(f"{folder}/{version}" for folder in ("/usr/bin", "/usr/local/bin"))]
    return [place for place in places if shutil.which(place)]


def tokens(python):
    path = ":".join([str(ROOT), *(place for place in sys.path if place.endswith("site-packages"))])
    done = subprocess.run(
        [python, "-c", PROGRAM, *TEXTS],
        env={"PYTHONPATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{python}: {done.stderr}"
    return done.stdout


def test_g01_every_python_here_gives_the_same_tokens():
    assert Path(align.__file__).is_relative_to(ROOT)
    found = {python: tokens(python) for python in pythons()}
    assert len(set(found.values())) == 1, found
    assert "'late'" in found[sys.executable]


def test_g01_no_group_is_repeated_possessively():
    """Python 3.11.0 to 3.11.4 match too much then (gh-106052), and Debian 12 has 3.11.2."""
    assert "3.11" in project()["requires-python"]
    possessive = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+[^+]")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in ("align", "pipeline", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        if possessive.search(line)
    ]
    assert not found, "\n".join(found)
