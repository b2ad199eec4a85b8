"""All command lines: negative numbers are values in any notation, and wrong usage is one line."""

import importlib
import math
import re
import sys
from pathlib import Path

import pytest

from align.cli import main as align_main
from align.cli.arguments import Parser
from pipeline.run import command

ROOT = Path(__file__).resolve().parents[3]

COMMANDS = sorted(
    path.stem
    for path in (ROOT / "benchmarks").glob("*.py")
    if "Parser(" in path.read_text(encoding="utf-8").replace("ArgumentParser(", "")
)


@pytest.fixture
def parser():
    found = Parser(prog="program")
    found.add_argument("-i", "--input")
    found.add_argument("--bias", type=float)
    found.add_argument("--many", type=float, nargs="+")
    found.add_argument("--flag", action="store_true")
    found.add_argument("word", nargs="?")
    return found


@pytest.mark.parametrize(
    "number",
    [
        "-1",
        "-1.5",
        "-.5",
        "-5.",
        "-1e-3",
        "-1E+3",
        "-1.5e3",
        "-.5e-2",
        "-1_000",
        "-1_0.5",
        "-inf",
        "-Infinity",
    ],
)
def test_negative_numbers_are_values(parser, number):
    assert parser.parse_args(["--bias", number]).bias == float(number)
    assert parser.parse_args([f"--bias={number}"]).bias == float(number)
    assert parser.parse_args(["--many", number, "2", number]).many == [float(number), 2, float(number)]
    assert parser.parse_args(["--flag", number]).word == number


def test_nan_is_one(parser):
    assert math.isnan(parser.parse_args(["--bias", "-nan"]).bias)


@pytest.mark.parametrize("word", ["-ifile", "-i", "--flag", "-", "-info"])
def test_all_else_is_as_ever(parser, word):
    words = [word, "x"] if word == "-i" else [word]
    found = parser.parse_args(words)
    expected = {"-ifile": ("file", None), "-i": ("x", None), "-info": ("nfo", None), "-": (None, "-")}
    assert (found.input, found.word) == expected.get(word, (None, None))
    assert found.flag == (word == "--flag")


def wrong(capsys, call, *words):
    """Return the one line that a wrong command line is answered by."""
    with pytest.raises(SystemExit) as ended:
        call(*words)
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--bias"], "error: --bias: expected one argument; program --help lists the options\n"),
        (["--bias", "x"], "error: --bias: invalid float value: 'x'; program --help lists the options\n"),
        (["--none"], "error: unrecognized arguments: --none; program --help lists the options\n"),
        (["-1e-3x"], "error: unrecognized arguments: -1e-3x; program --help lists the options\n"),
        (["a", "b\nc"], "error: unrecognized arguments: b c; program --help lists the options\n"),
    ],
)
def test_wrong_usage_is_one_line(parser, capsys, words, told):
    assert wrong(capsys, parser.parse_args, words) == told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "the following arguments are required: COMMAND; python -m align --help lists"),
        ("nonsense", "COMMAND: invalid choice: 'nonsense' (choose from "),
        ("score --gold g", "the following arguments are required: --hyp; python -m align score --help lists"),
        (
            "links --model m --bias x",
            "--bias: 'x' is no number; give for example 0.5 or -0.5; python -m align",
        ),
        ("links --model m --bias -inf", "--bias: '-inf' is no number; give"),
        ("links --model m --bias", "--bias: expected one argument; python -m align links --help lists"),
        ("links --model m --nonsense", "unrecognized arguments: --nonsense; python -m align"),
        ("models list --x", "unrecognized arguments: --x; python -m align models list --help"),
        (
            "links en fr",
            "unrecognized arguments: en fr; write the option before it, as --input, --source, --target; "
            "python -m align links --help lists",
        ),
    ],
)
def test_of_the_library(capsys, words, told):
    assert wrong(capsys, align_main.main, words.split()).startswith(f"error: {told}")


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--jobs many", ": invalid int value: 'many'; run_pipeline.py --help lists the options"),
        ("--jobs -1e3", ": invalid int value: '-1e3'; run_pipeline.py --help lists the options"),
        ("--engine slurm", ": invalid choice: 'slurm' (choose from "),
    ],
)
def test_of_the_pipeline(capsys, option, told):
    words = option.split()
    assert wrong(capsys, command.main, words).startswith(f"error: {words[0]}{told}")
    told = "unrecognized arguments: --nonsense; run_pipeline.py --help lists the options"
    assert wrong(capsys, command.main, ["--nonsense"]).startswith(f"error: {told}")
    told = "unrecognized arguments: my.toml; write the option before it, as --config; run_pipeline.py"
    assert wrong(capsys, command.main, ["my.toml"]).startswith(f"error: {told}")


@pytest.mark.parametrize("bias", ["-1e-3", "-.5", "-2E-1"])
def test_a_bias_may_be_any_negative_number(bias):
    parser = align_main.parser_of(align_main.Program(), {"links": importlib.import_module("align.cli.links")})
    assert parser.parse_args(["links", "--model", "m", "--bias", bias]).bias == float(bias)


@pytest.mark.parametrize("name", COMMANDS)
def test_of_the_measurements(capsys, monkeypatch, name):
    module = importlib.import_module(f"benchmarks.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--nonsense-option"])
    told = wrong(capsys, module.main)
    program = "benchmarks" if name == "__main__" else f"benchmarks.{name}"
    assert re.fullmatch(rf"error: .*; python -m {re.escape(program)} --help lists the options\n", told)


def test_there_is_no_other_parser():
    """Whoever adds a command line takes the one that does all this."""
    assert len(COMMANDS) > 10
    for folder in ("align", "pipeline", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            made = re.findall(r"(?<!\w)(?:argparse\.)?ArgumentParser\(", path.read_text(encoding="utf-8"))
            assert not made, path
