"""Tables, choices and comparisons of the benchmarks."""

import json
import tomllib

import pytest

from benchmarks import figures
from benchmarks.process import Usage


def report(aer):
    return {"pairs": 3, "aer": aer, "precision": 0.5, "recall": None, "intervals": {"aer": (0.1, 0.25)}}


def test_a_table_has_every_column_and_empty_cells():
    table = figures.markdown([{"": "a", "AER %": "1"}, {"": "b", "CPU s": "2"}])
    assert table == "|  | AER % | CPU s |\n| --- | --- | --- |\n| a | 1 |  |\n| b |  | 2 |\n"


def test_figures_are_per_cent_and_say_what_is_undefined():
    assert figures.figures_of(report(0.1234)) == {
        "pairs": "3",
        "AER %": "12.34",
        "95 %": "10.00 to 25.00",
        "precision": "50.00",
        "recall": "n/a",
    }


def test_usage_is_in_seconds_and_mebibytes():
    assert figures.usage_of(Usage(1.25, 2.0, 3 << 20)) == {"CPU s": "1.2", "wall s": "2.0", "peak MiB": "3"}


def test_the_best_has_the_lowest_error_and_is_the_first_of_equals():
    assert figures.best([report(0.3), report(0.1), report(0.1)]) == 1
    assert figures.best([report(None), report(0.9)]) == 1


def test_a_comparison_is_of_the_pairs_from_the_start_given(tmp_path):
    gold, first, second = (tmp_path / name for name in ("gold", "first", "second"))
    gold.write_text("0-0\n0-0 1-1\n0-0\n")
    first.write_text("5-5\n0-0 1-1\n0-0\n")
    second.write_text("0-0\n0-0 2-2\n0-0\n")
    found = figures.compare(gold, first, second, 1)
    assert found.difference == pytest.approx(-(1 - 4 / 6))
    assert found.interval[0] <= found.difference <= found.interval[1]
    assert figures.compare(gold, first, second, 0).difference == pytest.approx(2 / 8 - 2 / 8)


def test_score_is_what_the_command_says_of_the_pairs_from_the_start(tmp_path):
    gold, found = tmp_path / "gold.align", tmp_path / "found.txt"
    gold.write_text("0-0\n0-0 1-1\n\n")
    found.write_text("1-1\n0-0:0.5\n\n")
    scored = figures.score(gold, found, 1, tmp_path)
    assert scored["pairs"] == 2
    assert scored["aer"] == pytest.approx(1 - 2 / 3)
    assert scored["intervals"]["level"] == 0.95


def test_results_are_left_as_text_and_json(tmp_path):
    figures.publish(tmp_path, "x", "# x\n", {"usage": Usage(1.0, 2.0, 3)})
    assert (tmp_path / "x.md").read_text() == "# x\n"
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "usage": {"cpu_seconds": 1.0, "seconds": 2.0, "peak_memory": 3, "rss": 0, "pss": 0}
    }


def test_the_facts_name_versions_seed_and_processor():
    text = figures.facts_text(figures.facts(7, eflomal="2.0"))
    assert "seed 7" in text
    assert "liaison " in text
    assert "eflomal 2.0" in text
    assert figures.cpu_model() in text
    assert "GiB, load before " in text


def test_only_newlines_end_lines(tmp_path):
    path = tmp_path / "lines"
    figures.write_lines(path, ["a\u2028b", "", "c"])
    assert figures.read_lines(path) == ["a\u2028b", "", "c"]


def test_configurations_are_toml():
    from benchmarks.runs import toml

    settings = {
        "corpus": {"files": ['/a "b"\\é', "c"], "limit": 5, "tokenized": True},
        "gold": {"links": "x"},
    }
    assert tomllib.loads(toml(settings)) == settings


def test_folders_of_kernels_tell_that_something_was_compiled(tmp_path, monkeypatch):
    from benchmarks.process import environment
    from benchmarks.runs import compiled, kernels

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert kernels().parent.name == "align"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    before = compiled()
    (tmp_path / "elsewhere" / "a").mkdir(parents=True)
    (tmp_path / "elsewhere" / "a" / "b.nbi").write_bytes(b"")
    assert compiled() != before
    assert kernels() == tmp_path / "elsewhere"
    assert environment(threads=1)["NUMBA_CACHE_DIR"] == str(tmp_path / "elsewhere")
