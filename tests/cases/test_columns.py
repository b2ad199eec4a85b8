"""Rows of more than two fields: which of them hold source and target."""

import pytest

from tests.align import toy


@pytest.fixture
def links(run, tmp_path):
    """Return a function that aligns a file with the toy model."""
    toy.toy_model().save(tmp_path / "toy")
    return lambda words, text: run(f"links --model toy -i p {words}", p=text)


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("--columns 1,2", "red house\tmaison rouge\t0.93"),
        ("--columns 2,3", "0.93\tred house\tmaison rouge"),
        ("--columns 4,2", "7\tmaison rouge\tx\tred house\ty"),
        ("--format joint --columns 1,2", "red house ||| maison rouge ||| 0-1 1-0"),
        ("--format joint --columns 3,2", "7 ||| maison rouge ||| red house"),
    ],
)
def test_g26_columns_of_rows_are_chosen(links, words, row):
    assert links(words, f"{row}\n" * 3)[:2] == (0, "0-1 1-0\n" * 3)


def test_g26_a_row_without_the_column_keeps_its_line(links):
    status, out, err = links("--columns 2,3", "1\tred\trouge\n" * 3 + "1\tred\n1\tI\tje\n")
    assert (status, out) == (0, "0-0\n" * 3 + "\n0-0\n")
    assert "p:4: 2 field(s), and no field 3; the line is left empty" in err
    status, _, err = links("--columns 2,5", "1\tred\trouge\n" * 9)
    assert status == 2
    assert "p:1: 3 field(s), and no field 5" in err


@pytest.mark.parametrize("words", ["--columns 0,1", "--columns 2", "--columns 2,2", "--columns a,b"])
def test_g26_columns_that_cannot_be_are_refused(links, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        links(words, "a\tb\n")
    assert "is not two columns from 1; give for example 2,3" in capsys.readouterr().err


def test_g26_only_rows_have_columns(links, run):
    status, _, err = links("--format tmx --columns 1,2", "<tmx/>")
    assert (status, "--columns: for rows of tsv or joint only" in err) == (2, True)
