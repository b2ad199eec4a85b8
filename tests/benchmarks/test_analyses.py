"""The analyses of the desk are measured on pairs whose figures are known."""

import json
import sys

import pytest

from benchmarks import analyses

FILES = {
    "t.en": "the house\nthe red house\n\n",
    "t.fr": "la maison\nla maison rouge\n\n",
    "a.links": "0-0:0.5 1-1:0.75\n0-0\n\n",
    "b.links": "0-0 1-1\n0-0 1-2\n\n",
    "gold": "0-0 1p1\n0-0 1-2\n\n",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = "--tokens t.en t.fr --links a.links b.links --gold gold --out out"
    monkeypatch.setattr(sys, "argv", ["analyses", *words.split()])
    return tmp_path


def test_each_analysis_in_a_process_of_its_own(files, capsys):
    analyses.main()
    assert "| summary | 3 |" in capsys.readouterr().out
    told = json.loads((files / "out" / "table.json").read_text(encoding="utf-8"))
    rows = {row["analysis"]: row for row in told["analyses"]}
    assert list(rows) == ["nothing", "summary", "comparison", "lexicon"]
    assert (rows["summary"]["judged"], rows["comparison"]["differ"]) == (3, 1)
    assert all(row["seconds"] > 0 and row["peak_bytes"] > 1 << 20 for row in rows.values())
    assert not (files / "out" / "desk.sqlite").exists()


def test_files_of_different_lengths(files, capsys):
    (files / "gold").write_text("0-0\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        analyses.main()
    assert ended.value.code == 2
    assert "t.en and the others: [1, 3] lines; give files of the same pairs" in capsys.readouterr().err
