"""Rows of more fields than needed: which of them hold source, target and links."""

import io
import tracemalloc
from pathlib import Path

import pytest

from align.core.errors import InputError
from align.data.bitext import open_bitext
from align.data.columns import check_columns, fields_of
from align.links import FORMATS
from pipeline.stages.gold import fit_gold
from tests.align import toy
from tests.align.links.test_formats import links_of, parse


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


@pytest.mark.parametrize(
    "words",
    ["--columns 0,1", "--columns 2", "--columns 2,2", "--columns a,2", "--columns a,", "--columns a,b,c"],
)
def test_g26_columns_that_cannot_be_are_refused(links, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        links(words, "a\tb\n")
    assert "is not two columns from 1, or by name; give for example 2,3" in capsys.readouterr().err


def test_g26_only_rows_have_columns(links, run):
    status, _, err = links("--format tmx --columns 1,2", "<tmx/>")
    assert (status, "--columns: for rows of tsv or joint only" in err) == (2, True)


# Names in the first row.


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--columns en,fr", "score\ten\tfr\n1\tred\trouge\n"),
        ("--columns fr,en", "\ufefffr\t en \r\nred\trouge\n"),
        ("--columns en,fr --format joint", "fr ||| en\nrouge ||| red\n"),
    ],
)
def test_g26_columns_by_name_leave_the_first_row_out(links, words, text):
    status, out, err = links(words, text)
    assert (status, out) == (0, "\n0-0\n")
    assert err == "p:1: the names of the columns; the line is left empty\n"


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (
            "a\tb",
            "no column 'en' in its first row ('a', 'b'); give names that stand there, or numbers from 1",
        ),
        ("en\ten\tfr", "two columns 'en' in its first row ('en', 'en', 'fr')"),
        ("", "no column 'en' in its first row ('')"),
    ],
)
def test_g26_names_that_are_not_there_are_told(links, head, told):
    status, _, err = links("--columns en,fr", f"{head}\nred\trouge\n")
    assert (status, f"error: p:1: {told}" in err) == (2, True)


@pytest.mark.parametrize(
    ("head", "names"), [("Source\ttarget", True), ("en\tfr", True), ("red\trouge", False)]
)
def test_g26_a_row_that_seems_to_hold_names_is_told(links, head, names):
    status, out, err = links("", f"{head}\nred\trouge\n")
    assert (status, out.count("\n")) == (0, 2)
    told = "p:1: it seems to hold the names of columns, and is taken for a pair; --columns "
    assert (told + head.replace("\t", ",") in err) == names


def test_g26_names_do_not_count_in_a_limit():
    text = io.BytesIO(b"a\tb\n1\t2\n3\t4\n5\t6\n")
    rows = list(open_bitext("tsv", [text], columns=["b", "a"], limit=2))
    assert [row[:4] for row in rows] == [(0, "", "", "header"), (1, "2", "1", None), (2, "4", "3", None)]


def test_g26_other_kinds_have_no_columns():
    with pytest.raises(InputError, match="columns: files has none; leave them out"):
        open_bitext("files", ["a", "b"], columns=(1, 2))


@pytest.mark.parametrize(
    ("kind", "row", "fields"),
    [
        ("tsv", "a\t\t b ", [(0, "a"), (2, ""), (3, " b ")]),
        ("joint", "a  ||| b c |||  |||", [(0, "a"), (7, "b c"), (15, ""), (19, "")]),
        ("joint", "|||x||| y", [(0, "|||x||| y")]),
    ],
)
def test_g26_fields_keep_their_places(kind, row, fields):
    found = fields_of(row, kind)
    assert [each.text for each in found] == [text for _, text in fields]
    assert all(row[each.start :].startswith(each.text) for each in found)


def test_g26_true_is_no_number_of_a_column():
    with pytest.raises(InputError, match="columns: 'b,,' is not two columns"):
        check_columns(["b", "", ""])


# Links in a column.


ROWS = "7\tred house\tmaison rouge\t0-1 1-0\n8\tred\trouge\t\n"
BARS = "red house ||| maison rouge ||| 0-1 1-0\nred ||| rouge |||\n"


@pytest.mark.parametrize(("columns", "text"), [("4", ROWS), ("3", BARS), ("l", "x\tl\n1\t0-1 1-0\n2\t\n")])
def test_g26_convert_takes_links_from_a_column(run, columns, text):
    words = f"convert --from pharaoh --to pharaoh --columns {columns} -i f"
    assert run(words, f=text)[:2] == (0, "0-1 1-0\n\n")


@pytest.mark.parametrize(("columns", "text"), [("2,3,4", ROWS), ("1,2,3", BARS)])
def test_g26_convert_takes_text_and_links_from_rows(run, columns, text):
    status, out, _ = run(f"convert --from pharaoh --to jsonl --columns {columns} -i f", f=text)
    assert status == 0
    assert [(pair.source, pair.target, links_of([pair])) for pair in parse(out, format="jsonl")] == [
        (["red", "house"], ["maison", "rouge"], [[(0, 1, True, None), (1, 0, True, None)]]),
        (["red"], ["rouge"], [[]]),
    ]
    assert run(f"convert --from pharaoh --to tmx --columns {columns} -i f", f=text)[0] == 0


def test_g26_a_base_is_told_by_the_text_of_the_rows(run):
    status, out, err = run("convert --from pharaoh --to pharaoh --columns 1,2,3", stdin="a b ||| c ||| 2-1\n")
    assert (status, out) == (0, "1-0\n")
    assert "<stdin> counts from 1 (index 2 in line 1, of 2 tokens)" in err
    assert links_of(parse("a b\tc\t2-1\n", columns=(1, 2, 3))) == [[(1, 0, True, None)]]


def test_g26_score_takes_each_file_by_its_own_columns(run):
    words = "score --gold g --hyp h --gold-columns 2 --hyp-columns s,t,links"
    files = {
        "g": "id7\t0-1 1-0\nid8\t0-0\n",
        "h": "n ||| s ||| t ||| links\n" + "1 ||| a b ||| c d ||| 0-1\n" * 2,
    }
    status, out, _ = run(words, **files)
    assert (status, out.split("\n")[0].startswith("AER 0.6000 P 0.5000 R 0.3333")) == (0, True)
    status, _, err = run(words, **{**files, "h": files["h"].replace("0-1", "0-2")})
    assert status == 2
    assert "h:2: link 0-2 (counted from 0) lies outside the pair" in err
    assert "(line 2, column 23: '0-2', where source 0 to 1 and target 0 to 1 can stand)" in err


def test_g26_combine_takes_both_files_by_columns(run):
    words = "combine --forward f --reverse r --method union --columns 2"
    assert run(words, f="a\t0-0\n", r="a ||| 1-1\n")[:2] == (0, "0-0 1-1\n")


def test_g26_lexicon_counts_rows_of_text_and_links(run):
    status, out, _ = run("lexicon --links f --columns 1,2,3", f=BARS)
    assert (status, out.count("\n")) == (0, 2)
    one = run(
        "lexicon --links f --columns 4 --source s --target t", f=ROWS, s="red house\nred\n", t="a b\nc\n"
    )
    assert (one[0], one[1].count("\n")) == (0, 2)
    for words in ("--links f --columns 4", "--links f --columns 1,2,3 --source s", "--model toy --columns 1"):
        assert run(f"lexicon {words}", f=ROWS, s="a\n")[0] == 2


@pytest.mark.parametrize("name", [name for name, format in FORMATS.items() if not format.in_columns])
def test_g26_formats_of_other_lines_have_no_columns(name):
    with pytest.raises(
        InputError, match=rf"^f: columns: {name} has none; leave .* \(for pharaoh, talp, berk"
    ):
        parse("", format=name, columns=(1,))


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("a\t0-0\nb\n", (2,), "f:2: 1 field(s), and no field 2; mend the row, or choose other columns"),
        ("a\t0-0\n\n", (2,), "f:2: 1 field(s), and no field 2; mend the row"),
        (
            "id\tlinks\n7\t0-0\n",
            (2,),
            "f:1: 'links' is no line of links; if that is the name of the column, choose",
        ),
        ("id\t0-0 1-x\n", (2,), r"f:1: '1-x' is not a link like 0-0 or 1p2; mend the line"),
        ("id\t0-0 1-x\n", (2,), "(column 8)"),
        ("s1\t0-0 1-1\n", None, "its field 2 seems to be the links: choose that column (column 1)"),
        ("a b ||| c ||| 0-0\n", None, "its field 3 seems to be the links: choose that column (column 1)"),
    ],
)
def test_g26_what_a_column_does_not_hold_is_told(text, columns, told):
    with pytest.raises(InputError) as error:
        parse(text, columns=columns)
    assert told in str(error.value)


def test_g26_a_name_of_a_row_that_reads_as_a_link_is_noted():
    notes = []
    assert len(parse("3-1\t0-0 1-1\n3-2\t0-0 1-1\n", on_note=notes.append)) == 2
    assert notes == [
        "f:1: '3-1' before the TAB is read as a link; if it names the row, choose the column of the links"
    ]
    parse("3-1\t0-0 1-1\n", columns=(2,), on_note=notes.append)
    parse("3-1\t0-0\n0-0\t1-1\t2-2\n0-0 1-1\t2-2\n", on_note=notes.append)
    assert len(notes) == 1


def test_g26_links_in_a_column_are_streamed():
    """So many rows are read in the memory of a few: none is held."""
    rows = (b"%d\t0-0 1-1\n" % number for number in range(20_000))

    class Rows(io.RawIOBase):
        def readline(self, size=-1):
            return next(rows, b"")

    from align.links import read

    tracemalloc.start()
    count = sum(1 for _ in read(Rows(), columns=(2,), base=0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 200_000


# In a configuration.


TSV = "".join(f"{n}\tred house {n}\tmaison rouge {n}\n" for n in range(40))
DRY = ("--dry-run", "--stage", "preprocess")


def head(*columns):
    return f'tsv = "p.tsv"\ncolumns = {list(columns)}\n'.replace("'", '"')


@pytest.mark.parametrize(
    ("text", "words", "first"),
    [
        (head(2, 3), (), ""),
        ('tsv = "p.tsv"\n', ("--set", "corpus.columns=2,3"), ""),
        ('tsv = "p.tsv"\n', ("--set", "corpus.columns=[2, 3]"), ""),
        (head("en", "fr"), (), "id\ten\tfr\n"),
        ('url = "p.tsv"\n', ("--set", "corpus.columns=en,fr"), "id\ten\tfr\n"),
    ],
)
def test_g26_columns_of_a_corpus(pipeline, text, words, first):
    status, _, err = pipeline(text, "--stage", "preprocess", *words, **{"p.tsv": first + TSV})
    assert (status, "error" in err) == (0, False)
    kept = Path("w/c/latest/preprocess/source.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert kept == [*[""] * bool(first), *(f"red house {n}" for n in range(40))]
    rejects = Path("w/c/latest/preprocess/rejects.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    assert rejects == ["1\theader\tdropped\tthe names of the columns"] * bool(first)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'tsv = "p.tsv"\n',
            "p.tsv:1: 3 field(s) instead of 2 with a TAB between, and 40 of the first 40 rows",
        ),
        ('tsv = "p.tsv"\n', "its rows have 3 fields: say which two, --set corpus.columns=1,2"),
        (head(2, 4), "p.tsv:1: 3 field(s), and no field 4"),
        (head("en", "fr"), "p.tsv:1: no column 'en' in its first row ('0', 'red house 0', 'maison rouge 0')"),
        (head(2), "corpus.columns: '2' is not two columns from 1, or by name; give for example 2,3"),
        (head(2, "fr"), "corpus.columns: '2,fr' is not two columns"),
        (
            'tsv = "p.tsv"\ncolumns = [1.5, 2]\n',
            "[1.5, 2] is no list of whole numbers or texts; give for example",
        ),
        ('tsv = "p.tsv"\ncolumns = [true, 2]\n', "[True, 2] is no list of whole numbers or texts"),
        (
            'tmx = "p.tsv"\ncolumns = [1, 2]\n',
            "corpus.columns: for corpus.tsv or corpus.joint only, not for corpus.tmx",
        ),
        ('url = "p.tsv"\n', "its rows have 3 fields: say which two"),
    ],
)
def test_g26_wrong_columns_are_told_before_work(pipeline, text, told):
    status, _, err = pipeline(text, *DRY, **{"p.tsv": TSV})
    assert (status, told in err) == (2, True), err


def test_g26_names_in_the_first_row_are_told_before_work(pipeline):
    rows = "en\tfr\n" + "".join(f"red {n}\trouge {n}\n" for n in range(20))
    status, out, err = pipeline('tsv = "p.tsv"\n', *DRY, **{"p.tsv": rows})
    assert status == 0
    assert (
        "p.tsv:1: it seems to hold the names of columns, and is taken for a pair; --set corpus.columns=en,fr"
        in (out + err)
    )


GOLD = '[gold]\nfiles = ["g.en", "g.fr"]\nlinks = "g"\ncolumns = [2]\n'
GOLD_TEXT = {"g.en": "red house\nred\n", "g.fr": "maison rouge\nrouge\n"}


@pytest.mark.parametrize(
    ("section", "links", "told"),
    [
        (GOLD, "a\t0-1 1-0\nb\t0-0\n", ""),
        (GOLD.replace("[2]", '["l"]'), "id\tl\na\t0-1 1-0\nb\t0-0\n", ""),
        (GOLD, "a\t0-1 1-0\nb\t0-1\n", "g:2: link 0-1 (counted from 0) lies outside the pair"),
        (GOLD, "0-1 1-0\n0-0\n", "g:1: 1 field(s), and no field 2"),
        (GOLD.replace("columns = [2]", ""), "a\t0-1 1-0\nb\t0-0\n", "its field 2 seems to be the links"),
        (GOLD.replace("[2]", "[1, 2, 3]"), "", "gold.columns: '1,2,3' is not one column from 1, or by name"),
        (GOLD + 'format = "wpt"\n', "", "gold.columns: wpt has none; leave them out"),
    ],
)
def test_g26_gold_with_names_of_its_pairs(pipeline, section, links, told):
    files = {"p.tsv": TSV.replace("\tr", "\tR"), "g": links, **GOLD_TEXT}
    status, _, err = pipeline(head(2, 3) + section, *DRY, **files)
    assert (status, told in err) == (2 if told else 0, True), err


def test_g26_the_links_of_such_gold(tmp_path):
    (tmp_path / "g").write_text("12-3\t0-1 1-0\n12-4\t\n", encoding="utf-8")
    gold = fit_gold(str(tmp_path / "g"), [["a", "b"], ["c"]], [["d", "e"], ["f"]], columns=(2,))
    assert [[link[:2] for link in pair] for pair in gold.links] == [[(0, 1), (1, 0)], []]
