"""Tables of rounds, on made figures."""

from benchmarks.figures import facts
from benchmarks.process import Usage
from benchmarks.stages import StageFigures
from benchmarks.tables import LIAISON, Trial, accuracy_lines, aligner_lines, page, rows_of, stage_lines

MEBIBYTE = 1 << 20


def usage(cpu, wall, memory=10):
    return Usage(cpu, wall, 0, memory * MEBIBYTE, (memory - 1) * MEBIBYTE)


def trials():
    stages = [{"align": StageFigures(s, 2 * s, 9 * MEBIBYTE, 8 * MEBIBYTE, 7 * MEBIBYTE)} for s in (1.0, 3.0)]
    return [
        Trial(LIAISON, 0, 1, usage(2, 2), usage(4, 4, 20), stages[0]),
        Trial("eflomal", 0, 1, usage(4, 8)),
        Trial("other", 0, problem="stopped after 5 s"),
        Trial("eflomal", 1, 1, usage(10, 10)),
        Trial(LIAISON, 1, 1, usage(2, 5), usage(4, 4, 20), stages[1]),
    ]


def test_stages_have_the_median_of_the_rounds_and_pairs_a_second():
    lines = {line[""]: line for line in stage_lines(rows_of(trials(), 600, None, 0), 1)}
    assert lines["align"]["wall s"] == "2.0 (1.0-3.0)"
    assert lines["align"]["CPU s"] == "4.0 (2.0-6.0)"
    assert lines["align"]["pairs/s"] == "400 (200-600)"
    assert (lines["align"]["RSS"], lines["align"]["PSS"], lines["align"]["manifest"]) == ("8", "7", "9")
    assert lines["whole run, text to links"]["RSS"] == "20"
    assert stage_lines(rows_of(trials(), 600, None, 0), 2)[0]["rounds"] == "0"


def test_ratios_are_to_eflomal_of_the_same_round():
    lines = {line[""]: line for line in aligner_lines(rows_of(trials(), 600, None, 0))}
    own = lines["Liaison, tokens to links, --jobs 1"]
    # Of the rounds: CPU 2/4 and 2/10, wall 2/8 and 5/10.
    assert own["CPU / eflomal"] == "0.35 (0.20-0.50)"
    assert own["wall / eflomal"] == "0.38 (0.25-0.50)"
    assert lines["eflomal"]["CPU / eflomal"] == "1.00"
    assert lines["other"]["problem"] == "stopped after 5 s"
    assert lines["other"]["rounds"] == "0"
    assert lines["other"]["CPU s"] == ""


def test_without_eflomal_there_is_no_ratio():
    rows = rows_of([trial for trial in trials() if trial.name != "eflomal"], 600, None, 0)
    assert {line["CPU / eflomal"] for line in aligner_lines(rows)} == {"n/a"}


def linked(tmp_path, name, number, **texts):
    files = {}
    for method, text in texts.items():
        files[method] = tmp_path / f"{name}-{number}-{method}.txt"
        files[method].write_text(text)
    return Trial(name, number, links=files)


def test_accuracy_is_the_median_of_rounds_and_the_best_method_is_told(tmp_path):
    gold = tmp_path / "gold.align"
    gold.write_text("5-5\n0-0 1-1\n0-0 1-1\n")
    right, half = "\n0-0 1-1\n0-0 1-1\n", "\n0-0 1-1\n0-1 1-0\n"
    found = [
        linked(tmp_path, LIAISON, 0, matching=right),
        linked(tmp_path, "eflomal", 0, intersect=half, union=half),
        linked(tmp_path, "eflomal", 1, intersect=right, union=half),
    ]
    # The first pair trained: nobody found its link, and it does not count.
    rows = rows_of(found, 3, gold, 1)
    lines = {line[""]: line for line in accuracy_lines(found, rows, gold, 1, tmp_path)}
    assert lines[LIAISON]["AER %, best"] == "0.00"
    assert lines[LIAISON]["pairs"] == "2"
    assert lines["eflomal"]["best"] == "intersect"
    assert lines["eflomal"]["AER %, best"] == "25.00 (0.00-50.00)"
    assert lines[LIAISON]["less eflomal (95 %)"].startswith("-50.00 (")
    assert accuracy_lines(found, rows, None, 1, tmp_path) == []


def test_the_page_names_what_was_not_measured():
    told = {**facts(0), "pairs": 600, "pairs of other aligners": 612, "tokens": "surface"}
    told["absent"] = {"fast_align": "no fast_align on the PATH"}
    text = page(told, rows_of(trials(), 600, None, 0), [])
    assert "fast_align: not measured: no fast_align on the PATH" in text
    assert "## The pipeline, --jobs 1" in text
    assert "## Accuracy" not in text
