"""The lists of the analyses as CSV: every column, every row, nothing that a spreadsheet would run."""

import csv
import io

import pytest

from align.explorer import exports
from align.explorer.agreement import agreement
from align.explorer.comparison import compare
from align.explorer.lexicon import lexicon
from align.explorer.summary import summary
from align.statistics.translations import Entry
from tests.align.explorer import desk as desks


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Every analysis of a random desk, with all rows."""
    made = desks.made(tmp_path_factory.mktemp("desk") / "desk.sqlite", seed=5)

    def table(side, word):
        return [Entry("the", "maison", 3, 0.5, 0.25)]

    with made.store.reading() as connection:
        yield {
            "summary": summary(connection, 0, rows=None),
            "compare": compare(connection, 0, 1, languages=("en", "fr"), annotator="annotator", rows=None),
            "lexicon": lexicon(connection, "source", "the", 0, table=table, rows=None),
            "agreement": agreement(connection, "annotator", "ben", rows=None),
        }
    made.store.close()


def read(name, found):
    analysis, rows_of = exports.TABLES[name]
    text = "".join(exports.table(rows_of(found[analysis])))
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name", exports.TABLES)
def test_every_table_has_rows_of_one_form(name, found):
    rows = read(name, found)
    assert len(rows) > 1
    assert all(None not in row and None not in row.values() for row in rows)
    assert not any("[" in value or "{" in value for row in rows for value in row.values())


def test_rows_are_those_of_the_analysis(found):
    expected = found["summary"]["confusions"]
    assert [(row["source"], row["target"], int(row["wrong"])) for row in read("confusions", found)] == [
        (row["source"], row["target"], row["wrong"]) for row in expected
    ]
    figures = {row["figure"]: row for row in read("figures", found)}
    assert [float(figures["aer"][name]) for name in ("value", "low", "high")] == found["summary"]["aer"]
    assert {row["side"] for row in read("unaligned", found)} == {"source", "target"}
    kinds = read("kinds", found)
    assert [float(row["difference_low"]) for row in kinds] == [
        row["difference"][1] for row in found["compare"]["kinds"]
    ]
    assert [row["words"] for row in read("expressions", found)] == [
        row["words"] for row in found["lexicon"]["expressions"]
    ]


def test_a_translation_that_the_model_has_not_has_empty_fields(found):
    rows = {row["word"]: row for row in read("lexicon", found)}
    assert (rows["maison"]["model_p_forward"], rows["maison"]["model_p_reverse"]) == ("0.5", "0.25")
    assert rows["la"]["model_p_forward"] == ""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("\t=1+1", "'\t=1+1"),
        ("\r\n @x", "'\r\n @x"),
        ("\t-1.5", "\t-1.5"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
        ("+x", "'+x"),
        ("- Mr President", "'- Mr President"),
        ("-", "-"),
        ("=", "="),
        ("-1.5", "-1.5"),
        ("+3 %", "+3 %"),
        ("maison", "maison"),
        ("l'=x", "l'=x"),
        ('say "no"', 'say "no"'),
    ],
)
def test_text_that_a_spreadsheet_would_run(text, written):
    (row,) = csv.DictReader(io.StringIO("".join(exports.table([{"word": text}]))))
    assert row["word"] == written
