"""A text grown from another: as many pairs as asked for, more words, sides that belong together."""

import subprocess
import sys
from pathlib import Path

import pytest

from align.core.errors import InputError
from benchmarks.grown import Halves

ROOT = Path(__file__).parents[2]


def sides(count=60):
    source = [f"the house number {word(i)} is red" for i in range(count)]
    target = [f"la maison numero {word(i)} est rouge" for i in range(count)]
    return [source, target]


def word(number):
    return "q" + "abcdefghij"[number // 10] + "klmnopqrst"[number % 10]


def test_a_rare_word_comes_in_the_same_variant_on_both_sides():
    halves = Halves(sides(), 600)
    assert (len(halves), halves.variants) == (60, 4)  # 66 words of 60 rare: 10 ** 0.6 times as many
    assert halves.text(3, 0) == ("the house number qan is red", "la maison numero qan est rouge")
    assert halves.text(3, 2) == ("the house number qanb is red", "la maison numero qanb est rouge")


def test_the_text_as_it_is_for_no_more_pairs():
    assert Halves(sides(), 60).variants == 1


def test_texts_that_cannot_grow():
    with pytest.raises(InputError, match="60 lines, but 59"):
        Halves([sides()[0], sides()[1][:-1]], 10)
    with pytest.raises(InputError, match="no pair of 1 to 20 words"):
        Halves([["a " * 30], ["b"]], 10)


def test_the_command(tmp_path):
    for name, lines in zip(("en", "fr"), sides(), strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def run(out, *more):
        command = [
            *(
                sys.executable,
                "-m",
                "benchmarks.grown",
                "--bitext",
                str(tmp_path / "en"),
                str(tmp_path / "fr"),
            ),
            *("--out", str(tmp_path / out), *more),
        ]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    found = run("one", "--pairs", "600")
    assert found.returncode == 0, found.stderr
    assert "600 pairs of 60 in 4 variants" in found.stdout
    source, target = (
        (tmp_path / "one" / f"grown.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        for side in ("source", "target")
    )
    assert len(source) == len(target) == 600
    assert len(set(source)) > 590
    for left, right in zip(source, target, strict=True):
        assert [each for each in left.split() if each[0] == "q"] == [
            each for each in right.split() if each[0] == "q"
        ]
    run("two", "--pairs", "600")
    assert (tmp_path / "two" / "grown.source").read_bytes() == (
        tmp_path / "one" / "grown.source"
    ).read_bytes()
    wrong = run("three", "--pairs", "0")
    assert (wrong.returncode, wrong.stderr) == (2, "error: --pairs 0: less than 1; give more\n")
