"""Readers of pairs and of links, given what users gave them: named after the cases that were found."""

import io
import re
import tarfile

import pytest

from align.core.errors import InputError
from align.data import tmx
from align.data.bitext import open_bitext
from align.data.tmx import read_tmx
from pipeline.config.input_sections import corpus_options
from pipeline.stages.download.archives import extract_pair
from tests.align import toy

ROWS = [("The red house.", "Le maison rouge."), ("I see", "Je vois")] * 20
TSV = "".join(f"{source}\t{target}\n" for source, target in ROWS)
JOINT = "".join(f"{source} ||| {target}\n" for source, target in ROWS)
PLAIN = "".join(f"{target}\n" for _, target in ROWS)


def two_files(source, target):
    return list(open_bitext("files", [io.BytesIO(text.encode()) for text in (source, target)]))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TSV, r":1: every line has one tab: is this a TSV\? "),
        (TSV.replace("\n", "\tx\n"), r":1: every line has 2 tabs: is this a TSV\? "),
        (TSV + "no tab\n" * 2, r":1: 40 of the first 42 lines have one tab: is this a TSV\? "),
        (JOINT, r":1: every line has one ' \|\|\| ': is this the joint format\? "),
    ],
)
def test_g16_a_file_with_both_sides_is_no_side(text, message, swapped):
    plain = "a\n" * text.count("\n")
    with pytest.raises(InputError, match=message) as caught:
        two_files(*((plain, text) if swapped else (text, plain)))
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    "text", ["ich\tgehe\n", "a\tb\n" * 10 + "a b\n" * 10, "\tindented\n" * 20, "ends\t\n" * 20]
)
def test_g16_tabs_in_sentences_are_no_tsv(text):
    assert len(two_files(text, "I go\n" * text.count("\n"))) == text.count("\n")


def test_g16_rows_are_given_as_they_come():
    streams = [io.BytesIO(text.encode()) for text in (TSV, PLAIN)]
    assert next(open_bitext("files", streams)).number == 0


def test_g16_links_refuses_a_tsv_as_source(run, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    status, out, err = run("links --model toy --source p.tsv --target t", **{"p.tsv": TSV, "t": PLAIN})
    assert (status, out) == (2, "")
    assert "error: p.tsv:1: every line has one tab: is this a TSV? give it as --input" in err


def test_g16_the_pipeline_refuses_a_tsv_as_one_of_two_files(tmp_path, monkeypatch, capsys):
    from pipeline.run.command import main

    monkeypatch.chdir(tmp_path)
    for name, text in (("p.tsv", TSV), ("t", PLAIN)):
        (tmp_path / name).write_text(text)
    (tmp_path / "c.toml").write_text(
        '[corpus]\nname = "c"\nsource = "en"\ntarget = "fr"\nfiles = ["p.tsv", "t"]\n'
    )
    assert main(["--config", "c.toml", "--stage", "preprocess", "--workdir", "w"]) == 2
    err = capsys.readouterr().err
    assert "p.tsv:1: every line has one tab: is this a TSV? set corpus.tsv instead of corpus.files" in err


HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header>{}</header><body>\n'
DOCTYPE = HEAD.replace("<tmx", '<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx')


NO_HEADER = HEAD.format("")


def unit(*texts):
    variants = (f'<tuv xml:lang="{tag}">{segment}</tuv>' for tag, segment in texts)
    return f"<tu>{''.join(variants)}</tu>\n"


def good(source="a cat", target="un chat"):
    return unit(("en", f"<seg>{source}</seg>"), ("fr", f"<seg>{target}</seg>"))


def read(*units, head=NO_HEADER, between="\n"):
    text = (head + "".join(units) + "</body></tmx>\n").replace("\n", between)
    return list(read_tmx(io.BytesIO(text.encode()), "en", "fr"))


@pytest.mark.parametrize("between", ["\n", " "])
@pytest.mark.parametrize("head", [HEAD, DOCTYPE])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("a\x0bb", r"line 303: the character U\+000B, which XML cannot hold"),
        ("<![CDATA[a\x0bb]]>", r"line 303: the character U\+000B, which XML cannot hold"),
        ("a\ufffeb", r"line 303: the character U\+FFFE, which XML cannot hold"),
        ("a&nbsp;b", "line 303: Entity 'nbsp' not defined"),
        ("AT&T", "line 303: '&' that begins no entity; it is written &amp;"),
        ("R & D", "line 303: '&' that begins no entity; it is written &amp;"),
        ("a&#xZ;", "line 303: '&' that begins no entity; it is written &amp;"),
        ("a&#x110000;", "line 303: character reference out of bounds"),
        ("a&#xD800;b", "line 303: a reference to what is no character"),
    ],
)
def test_g23_a_wrong_character_costs_its_unit_alone(fault, reason, head, between):
    rows = read(good() * 300, good(fault), good() * 300, head=head.format(""), between=between)
    assert [row.number for row in rows if row.problem] == [300]
    assert rows[300].problem == "markup"
    reason = reason if between == "\n" else reason.replace("303", "1")
    assert re.fullmatch(reason, rows[300].detail)
    assert {row[1:3] for row in rows if not row.problem} == {("a cat", "un chat")}
    assert len(rows) == 601


def test_g23_references_that_xml_forbids_are_dropped():
    rows = read(good() * 300, good("a&#x1F;b&#11;", "&#xFFFF;x"), good() * 300)
    assert (rows[300][1:4], len(rows)) == (("ab", "x", None), 601)


def test_g23_a_wrong_character_outside_the_units_costs_nothing():
    rows = read(good() + "<!-- \x0b -->" + good(), head=HEAD.format("<prop type='x'>AT&T\x0b</prop>"))
    assert [row.problem for row in rows] == [None, None]


def test_g23_wrong_characters_in_units_cut_by_the_blocks_that_are_read():
    text = [good("x" * (n % 97)) if n % 3 else good("a&nbsp;b" + "y" * (n % 89)) for n in range(6000)]
    rows = read(*text)
    assert [row.problem for row in rows] == [None if n % 3 else "markup" for n in range(6000)]


def test_g23_too_many_wrong_characters_stop(monkeypatch):
    monkeypatch.setattr(tmx, "FAULT_LIMIT", 10)
    with pytest.raises(InputError, match="over 10 wrong characters or entities; is this a TMX file"):
        read(good("&nbsp;") * 12)


def test_g23_a_variant_without_seg_is_told():
    rows = read(good(), unit(("en", "<seg>a</seg>"), ("fr", "")))
    assert rows[1][3:] == ("no_language", "the unit has no <seg> in its fr")
    with pytest.raises(
        InputError, match=r"none of the 2 units can be used \(unit 1: the unit has no <seg> in its fr\); mend"
    ):
        read(unit(("en", "<seg>a</seg>"), ("fr", "")) * 2)


def test_g23_several_texts_of_one_language_are_told():
    rows = read(unit(("en", "<seg>a</seg>"), ("en-GB", "<seg>b</seg>"), ("fr", "<seg>c</seg>")))
    assert rows[0][1:] == ("a", "c", None, "2 texts in en, of which the first is taken")


def test_g23_links_names_units_and_its_own_options(run, tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    twice = unit(("en", "<seg>I see</seg>"), ("en", "<seg>I</seg>"), ("fr", "<seg>Je vois</seg>"))
    text = HEAD.format("") + good("a&nbsp;b") + twice + good("I see", "Je vois") + "</body></tmx>"
    status, out, err = run("links --model toy --format tmx -i m", m=text)
    assert (status, out) == (0, "\n0-0 1-1\n0-0 1-1\n")
    assert "m: unit 1: line 3: Entity 'nbsp' not defined; the line is left empty\n" in err
    assert "m: unit 2: 2 texts in en, of which the first is taken\n" in err
    text = HEAD.format("") + unit(("de", "<seg>a</seg>"), ("sv", "<seg>b</seg>")) + "</body></tmx>"
    status, out, err = run("links --model toy --format tmx -i m", m=text)
    assert (status, out) == (2, "")
    assert "no unit has both en and fr (languages found: de, sv;" in err
    assert "use a --model of languages that it has" in err
    assert "corpus." not in err
    for words in ("--source m --target m2", "-i m --format joint", "-i m"):
        _, _, err = run(f"links --model toy {words}", m=b"caf\xe9\n" * 9, m2="a\n" * 9)
        assert "error: m:1: " in err
        assert "corpus." not in err


@pytest.mark.parametrize("asked", ["zh_cn", "zh-CN", "zh_CN", "ZH-cn", "zh"])
@pytest.mark.parametrize("other", ["sr@latin", "sr-Latn", "sr_latin", "sr"])
def test_g24_archives_name_languages_in_their_own_way(tmp_path, asked, other):
    pair = _pair_of(tmp_path, {"d/x.zh_cn": "中", "d/x.sr@latin": "s"}, asked, other)
    assert [path.read_text(encoding="utf-8") for path in pair] == ["中", "s"]
    assert [path.name for path in pair] == [f"corpus.{asked.lower()}", f"corpus.{other.lower()}"]
    options = corpus_options(name="c", source=asked, target=other, url="/a.tgz")
    assert (options.source, options.target) == (asked, other)


def test_g24_the_language_itself_goes_before_its_variants(tmp_path):
    members = {"x.pt": "pt", "x.pt-BR": "br", "x.en": "en"}
    for asked, text in (("pt", "pt"), ("pt_br", "br"), ("pt-BR", "br")):
        assert _pair_of(tmp_path, members, asked, "en")[0].read_text() == text
    with pytest.raises(InputError, match="several pairs of files ending in"):
        _pair_of(tmp_path, {"x.pt_PT": "pt", "x.pt-BR": "br", "x.en": "en"}, "pt", "en")
    with pytest.raises(InputError, match="no pair of files ending in"):
        _pair_of(tmp_path, {"x.pt_PT": "pt", "x.en": "en"}, "pt-BR", "en")


def test_g24_two_spellings_of_one_language_are_no_pair():
    with pytest.raises(InputError, match="is the source too"):
        corpus_options(name="c", source="zh_cn", target="zh-CN", url="/a.tgz")


def _pair_of(folder, members, *languages):
    archive = folder / "a.tgz"
    with tarfile.open(archive, "w:gz") as tape:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tape.addfile(info, io.BytesIO(text.encode()))
    return extract_pair(archive, folder, languages, progress=lambda blocks, **_: blocks)
