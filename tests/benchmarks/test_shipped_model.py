"""A shipped model is learnt, packed, measured both ways and described in one command."""

import pytest

from align import Aligner
from align.model.folder import Model
from benchmarks import shipped_model


@pytest.fixture
def words(bitext, gold, tmp_path):
    source, _ = bitext(150)
    return [
        *("--bitext", source.with_suffix(""), "--languages", "en-fr", "--gold", gold),
        *("--licence", "free", "--to", tmp_path / "en-fr"),
    ]


def test_made_packed_and_measured(command, words, tmp_path):
    text, _ = command(shipped_model, *words)
    page = (tmp_path / "en-fr" / "MODEL.md").read_text(encoding="utf-8")
    assert text == f"{page}\n"
    assert "| learnt from | made: 150 pairs;" in page
    rows = {}
    for line in page.split("\n"):
        cells = [cell.strip() for cell in line.split("|")]
        if cells[1:2] in (["en-fr"], ["fr-en"], ["before it was packed"]):
            rows[cells[1]] = float(cells[2])
    assert len(rows) == 3
    assert max(rows.values()) < 20
    model = Model.load(tmp_path / "en-fr")
    assert model.languages == ("en", "fr")
    assert model.checked
    assert Aligner.load(tmp_path / "en-fr", languages=("fr", "en")).model.languages == ("fr", "en")
    command(shipped_model, *words)


def test_what_is_no_shipped_model_stays(command, words, tmp_path, capsys):
    (tmp_path / "en-fr").mkdir()
    (tmp_path / "en-fr" / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        command(shipped_model, *words)
    assert stopped.value.code == 2
    assert "is there already, and is no shipped model" in capsys.readouterr().err
    assert (tmp_path / "en-fr" / "thesis.txt").is_file()
