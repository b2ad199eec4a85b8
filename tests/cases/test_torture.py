"""Ten thousand lines of every kind of A and B through the whole pipeline: none is lost, none is shifted."""

import csv
import random

import pytest

from tests import prepared
from tests.runs import ROOT

FAST = ("embed.dim=10", "embed.epochs=1", "lexicon.chains=2", "inspect.pairs=20", "corpus.shifted=report")

WORDS = [
    ("the", "le"),
    ("house", "maison"),
    ("red", "rouge"),
    ("dog", "chien"),
    ("sees", "voit"),
    ("it's", "c'est"),
]
SPACES = [
    "\t",
    "\xa0",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1e",
    "\u202f",
    "\u3000",
    "  ",
    "\r",
]
SIGNS = [
    *(
        "e\u0301",
        "\ufeff",
        "\u061c",
        "🇫🇷",
        "1️⃣",
        'צה"ל',
        "选文件",
        "£9.8m",
        "10\xa0000",
        "sinh_viên",
        "d’action",
    ),
    *("rock 'n' roll", "&apos;", "½", "हिन्दी", "葛󠄀", "|||", "&#x1F;", "\u200b", "\x00", "น้ำ"),
]
EMPTY = ["", "  ", "\t", "\ufeff", "\u2028"]


def line(random):
    """A pair of sides as bytes, and the reason why it is skipped, if it is."""
    pairs = random.choices(WORDS, k=random.randint(1, 12))
    sides = [" ".join(words) for words in zip(*pairs, strict=True)]
    for place in (0, 1):
        if random.random() < 0.4:
            sides[place] = sides[place].replace(" ", random.choice(SPACES))
        if random.random() < 0.4:
            sides[place] += random.choice(["", " "]) + random.choice(SIGNS)
    chance, reason = random.random(), None
    if chance < 0.03:
        place = random.randrange(2)
        sides[place], reason = random.choice(EMPTY), ("empty_src", "empty_tgt")[place]
    elif chance < 0.04:
        sides, reason = [random.choice(EMPTY), random.choice(EMPTY)], "empty_both"
    elif chance < 0.05:
        sides, reason = ["word " * 300, "mot"], "too_long"
    raw = [side.encode() + random.choice([b"", b"\r"]) for side in sides]
    if 0.05 <= chance < 0.055:
        raw[random.randrange(2)] += b" caf\xe9"
        reason = "encoding"
    return raw, reason


@pytest.mark.slow
def test_every_line_of_every_kind_keeps_its_place(tmp_path):
    seeded = random.Random(7)
    lines = [line(seeded) for _ in range(10_000)]
    for place, name in enumerate(("t.en", "t.fr")):
        (tmp_path / name).write_bytes(b"".join(raw[place] + b"\n" for raw, _ in lines))
    (tmp_path / "c.toml").write_text(
        '[corpus]\nname = "c"\nsource = "en"\ntarget = "fr"\nfiles = ["t.en", "t.fr"]\n', encoding="utf-8"
    )
    words = [word for each in FAST for word in ("--set", each)]
    command = [ROOT / "run_pipeline.py", "--config", "c.toml", "--workdir", "w", *words]
    done = prepared.run(command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    latest = tmp_path / "w" / "c" / "latest"
    links = (latest / "align" / "links.txt").read_bytes().split(b"\n")
    assert (len(links), links[-1]) == (10_001, b"")
    with open(latest / "preprocess" / "rejects.tsv", encoding="utf-8", newline="\n") as rows:
        table = list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))
    told = {int(row["line"]): row["reason"] for row in table if row["effect"] == "dropped"}
    assert told == {number: reason for number, (_, reason) in enumerate(lines, 1) if reason}
    assert not any(links[number - 1] for number in told)
    for side in ("source", "target"):
        text = (latest / "align" / f"{side}.txt").read_text(encoding="utf-8").split("\n")[:-1]
        assert all(each == " ".join(each.split()) for each in text)
        assert [number for number, each in enumerate(text, 1) if not each] == sorted(told)
