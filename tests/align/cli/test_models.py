"""The commands that use a model: links, explain, lexicon, models."""

import errno
import gzip
import json
import re
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from align.cli import loading, serve
from align.cli.loading import chosen_model
from align.cli.main import main
from align.cli.starting import COMPILED
from align.model import shipped
from align.model.aligner import Aligner
from align.report.meanings import in_words
from tests.align import toy
from tests.align.model.test_folder import with_links

ROW = "The red house.\tLe maison rouge.\n"
LINKS = "0-0 1-2 2-1 3-3"


@pytest.fixture(autouse=True)
def model(tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    return tmp_path / "toy"


class TestLinks:
    def test_rows_of_the_standard_input(self, run):
        assert run("links --model toy", stdin=ROW + "I see\tJe vois\n") == (0, f"{LINKS}\n0-0 1-1\n", "")
        assert run("links --model toy -i - -o -", stdin=ROW) == (0, f"{LINKS}\n", "")
        assert run("links --model toy", stdin="") == (0, "", "")

    def test_every_way_to_give_the_pairs(self, run):
        source, target = "The red house.\nI see\n", "Le maison rouge.\nJe vois\n"
        joint = "The red house. ||| Le maison rouge.\nI see ||| Je vois\n"
        unit = "<tu><tuv xml:lang='en'><seg>{}</seg></tuv><tuv xml:lang='fr'><seg>{}</seg></tuv></tu>"
        body = "".join(map(unit.format, source.split("\n")[:2], target.split("\n")[:2]))
        tmx = f"<tmx version='1.4'><header/><body>{body}</body></tmx>"
        rows = "".join(
            f"{a}\t{b}\n" for a, b in zip(source.split("\n"), target.split("\n"), strict=True) if a
        )
        files = {"s": source, "t": target, "joint": joint, "tmx": tmx, "rows": rows}
        expected = (0, f"{LINKS}\n0-0 1-1\n", "")
        assert run("links --model toy --source s --target t", **files) == expected
        assert run("links --model toy -i joint --format joint") == expected
        assert run("links --model toy -i tmx --format tmx") == expected
        assert run("links --model toy -i rows --format tsv") == expected
        assert run("links --model toy --source - --target t", stdin=source) == expected

    def test_an_output_that_is_named_as_if_it_were_packed(self, run, tmp_path):
        status, _, err = run("links --model toy -i rows -o links.gz", rows=ROW)
        assert (status, err) == (
            2,
            "error: links.gz: what is written is not packed; leave out .gz, and pack it afterwards\n",
        )
        assert not (tmp_path / "links.gz").exists()

    def test_packed_input(self, run):
        assert (
            run("links --model toy -i rows.gz", **{"rows.gz": gzip.compress(ROW.encode())})[1] == f"{LINKS}\n"
        )

    def test_bad_rows_give_empty_lines_and_status_0(self, run):
        bytes_of_no_text = b"good house\tbon maison\n\xff\xfe see\tvois\n\tchien\n \t \nhouse\tmaison\n"
        status, out, err = run("links --model toy -i rows", rows=bytes_of_no_text)
        assert status == 0
        assert out == "1-1\n\n\n\n0-0\n"
        reasons = err.split("\n")
        assert reasons[0].startswith("rows:2: byte 0xff at offset 0")
        assert reasons[1] == "rows:3: the source side is empty; the line is left empty"
        assert reasons[2] == "rows:4: both sides are empty; the line is left empty"
        assert len(reasons) == 4

    def test_the_tokens_that_links_count_are_written_where_asked(self, run):
        rows = "the house, red\tla maison rouge\n\tchien\nthe dog\tle chien\n"
        status, out, _ = run("links --model toy -o - --tokens words", stdin=rows)
        words = Path("words").read_text(encoding="utf-8")
        assert (status, words) == (0, "the house , red\tla maison rouge\n\t\nthe dog\tle chien\n")
        together = "".join(
            f"{text}\t{links}\n"
            for text, links in zip(words.split("\n")[:-1], out.split("\n")[:-1], strict=True)
        )
        status, out, _ = run("lexicon --links rows --columns 1,2,3", rows=together)
        assert status == 0
        assert "house\tmaison\t1\t1.000000\t1.000000\n" in out

    def test_a_wrong_format_is_said_at_once(self, run):
        rows = "house ||| maison\n" * 500
        status, out, err = run("links --model toy -o out --sentence-scores sums", stdin=rows)
        assert (status, out) == (2, "")
        assert (
            "51 of the first 51 rows are bad; this looks like the joint format (source ||| target): " in err
        )
        assert "give it with --format joint" in err
        assert not Path("out").exists()
        assert not Path("sums").exists()

    def test_files_of_different_lengths(self, run):
        status, out, err = run("links --model toy --source s --target t -o out", s="a\n" * 3, t="a\n" * 2)
        assert (status, out) == (2, "")
        assert "s: 3 lines, but t has 2" in err
        assert not Path("out").exists()

    def test_line_separators_of_unicode_do_not_end_a_line(self, run):
        rows = "see\u2028the house\tvois\u0085le maison\r\nhouse\tmaison\r\n"
        assert run("links --model toy", stdin=rows)[1] == "0-0 1-1 2-2\n0-0\n"

    def test_tokenized_text_is_split_on_single_spaces_only(self, run):
        rows = "the house.\u00a0x dog\tle maison. chien\n"
        assert run("links --model toy --tokenized", stdin=rows)[1] == "0-0 2-2\n"
        assert run("links --model toy", stdin=rows)[1] == "0-0 1-1 2-2 4-3\n"

    def test_scores_are_confidences(self, run):
        out = run("links --model toy --scores", stdin=ROW)[1]
        found = re.findall(r"(\d+-\d+):(\d\.\d{4})", out)
        assert [link for link, _ in found] == LINKS.split(" ")
        expected = Aligner.load("toy").scores("The red house.", "Le maison rouge.")
        assert [float(score) for _, score in found] == pytest.approx(expected, abs=1e-4)

    def test_offsets_are_characters_of_the_text_as_it_came(self, run):
        row = "The\ufeff  red house.\tLe   maison rouge.\n"
        out = run("links --model toy --offsets", stdin=row)[1]
        source, target = row[:-1].split("\t")
        words = [
            (source[int(a) : int(b)].strip("\ufeff"), target[int(c) : int(d)])
            for a, b, c, d in re.findall(r"(\d+):(\d+)-(\d+):(\d+)", out)
        ]
        assert words == [("The", "Le"), ("red", "rouge"), ("house", "maison"), (".", ".")]
        assert re.fullmatch(
            r"(\d+:\d+-\d+:\d+:\d\.\d{4} ?)+\n", run("links --model toy --offsets --scores", stdin=row)[1]
        )

    def test_sentence_scores(self, run):
        rows = ROW + "bad\n" + "house not a dog at all\tfigurez-vous\n"
        assert run("links --model toy --sentence-scores sums", stdin=rows)[0] == 0
        lines = Path("sums").read_text(encoding="utf-8").split("\n")
        assert len(lines) == 4
        assert 0.9 < float(lines[0]) <= 1
        assert lines[1] == ""
        assert float(lines[2]) == 0

    def test_a_text_that_the_model_does_not_know_is_told(self, run):
        strange = "qwert zuiop asdf 2019 house\tyxcv bnm 2019 maison tzui\n"
        status, out, err = run("links --model toy", stdin=2 * strange)
        assert (status, out.count("\n")) == (0, 2)
        told = "<stdin>: 12 of 16 words are unknown to the model, which is of en and fr; "
        assert [line for line in err.split("\n") if told in line]
        for known in (strange, 2 * strange + 4 * ROW, ROW):
            assert "unknown to the model" not in run("links --model toy", stdin=known)[2]

    def test_bias(self, run):
        counts = [
            run(f"links --model toy --bias {bias}", stdin="see the red cat\tmon petit chat\n")[1].count("-")
            for bias in ("-9", "0", "9")
        ]
        assert counts[0] == 0
        assert counts[2] == 3

    def test_an_old_output_survives_a_failure(self, run):
        status, _, _ = run("links --model toy --source s --target t -o out", s="a\nb\n", t="a\n", out="old\n")
        assert status == 2
        assert Path("out").read_text(encoding="utf-8") == "old\n"
        assert not list(Path().glob(".out*"))

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("--source s", "--source and --target go together"),
            ("--source s --target t --format joint", "leave out --input and --format"),
            ("--source - --target -", "the standard input is given for two files"),
            ("-o x --sentence-scores x", "x: given for two outputs; give each its own file"),
            ("-i nowhere", "nowhere: no such file; check the path"),
        ],
    )
    def test_wrong_usage(self, run, words, message):
        status, out, err = run(f"links --model toy {words}")
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1

    def test_a_model_that_is_not_there(self, run):
        status, _, err = run("links --model nowhere", stdin=ROW)
        assert status == 2
        assert err.startswith("error: nowhere: no such model")

    def test_without_a_model_the_input_is_the_bitext(self, run):
        rows = "The dog sees.\tLe chien voit.\nbad\nThe house sees.\tLa maison voit.\n"
        status, out, err = run("links --languages en-de --unlinked none", stdin=rows)
        told = err.split("\n")
        assert (status, len(told)) == (0, 3)
        assert told[0].startswith("default: there is no model here but weights")
        assert "35 to 55 % for a single pair" in told[0]
        assert told[1].startswith("<stdin>:2: ")
        lines = out.split("\n")
        assert (len(lines), lines[1]) == (4, "")
        assert "0-0 1-1" in lines[0]
        assert run("links --model default --languages en-de", stdin=rows)[1] == out
        assert run("links --flush", stdin=rows)[1].split("\n")[1] == ""
        assert run("links", stdin="")[:2] == (0, "")

    def test_the_shipped_model_of_the_languages(self, run, tmp_path, monkeypatch):
        (tmp_path / "models").mkdir()
        (tmp_path / "toy").rename(tmp_path / "models" / "en-fr")
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path / "models", *shipped.FOLDERS))
        assert run("links --languages en-fr", stdin=ROW) == (0, f"{LINKS}\n", "")
        turned = "\t".join(ROW.rstrip("\n").split("\t")[::-1]) + "\n"
        assert run("links --languages fr-en", stdin=turned) == (0, "0-0 1-2 2-1 3-3\n", "")
        assert run("links -m en-fr --languages fr-en", stdin=turned)[1] == "0-0 1-2 2-1 3-3\n"
        told = run("links --languages en-de", stdin=ROW)[2]
        assert "there is no model here but weights" in told
        assert "--model en-fr" not in told
        assert "; or name one that is known: --model en-fr\n" in run("links", stdin=ROW)[2]
        status, _, err = run("links -m en-fr --languages en-de", stdin=ROW)
        assert (status, err) == (2, "error: en-fr: a model of en-fr, not en-de; give another model\n")

    def test_tmx_without_a_model_needs_languages(self, run):
        status, _, err = run("links --format tmx -i x.tmx", **{"x.tmx": "<tmx/>"})
        assert status == 2
        assert err.endswith("error: --format tmx: its languages are not known; give --languages, as en-fr\n")

    @pytest.mark.parametrize("bias", ["x", "nan", "inf"])
    def test_a_bias_that_is_no_number(self, run, bias):
        with pytest.raises(SystemExit) as end:
            run(f"links --model toy --bias {bias}")
        assert end.value.code == 2


class TestExplain:
    def test_json(self, model, capsys):
        words = ["--source", "The red house.", "--target", "Le maison rouge."]
        assert main(["explain", "--model", str(model), *words, "--json"]) == 0
        explained = json.loads(capsys.readouterr().out)
        for link in explained["links"]:
            told = {key: link.pop(key) for key in ("reasons", "sentences", "rival")}
            assert sum(each["score"] for each in told["reasons"]) == pytest.approx(link["score"], abs=1e-4)
            assert told["rival"]["difference"] >= 0
        assert explained == Aligner.load(model).explain(words[1], words[3])
        for link in explained["links"]:
            assert sum(link["contributions"].values()) == pytest.approx(link["score"], abs=1e-6)

    def test_files_are_not_read_but_told(self, run):
        status, out, err = run("explain --model toy --source s --target t", s="the", t="le")
        assert (status, out.split("\n")[0]) == (0, "source words without a link: 0 s")
        assert err == "s: there is such a file, but --source and --target are sentences; links reads files\n"

    def test_text(self, model, capsys):
        words = ["--source", "the house here", "--target", "le maison", "--top", "1"]
        assert main(["explain", "--model", str(model), *words]) == 0
        lines = capsys.readouterr().out.split("\n")
        assert re.fullmatch(r"0-0  the ~ le  score \d\.\d{3}  confidence 0\.\d{3}", lines[0])
        sentences = [line for line in lines[1 : lines.index(next(x for x in lines if x[:3] == "1-1"))][:-2]]
        assert all(re.fullmatch(r" {6}[A-Z].+\.", line) for line in sentences)
        assert sentences[0].startswith("      For the link (+")
        assert "The best choice without this link puts none in its place" in sentences[-1]
        rest = lines[1 + len(sentences) :]
        words, name = re.fullmatch(r" +[+-]\d\.\d{3}  (.+) \((\w+)\)", rest[0]).groups()
        assert words == in_words(name) != name
        assert re.fullmatch(r" +[+-]\d\.\d{3}  \d+ more", rest[1])
        assert "source words without a link: 2 here" in lines

    def test_one_cell(self, model, capsys):
        words = ["explain", "--model", str(model), "--source", "the house", "--target", "le maison"]
        assert main([*words, "--link", "0-1"]) == 0
        lines = capsys.readouterr().out.rstrip("\n").split("\n")
        assert lines[0].startswith(
            "'the' and 'maison' are not linked: by itself the link would have a score of"
        )
        assert lines[-1].startswith("It would have needed ")
        assert main([*words, "--link", "1-1", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert list(found) == ["source", "target", "links", "cell"]
        assert found["cell"]["linked"]
        assert (found["cell"]["source"], found["cell"]["target"]) == (1, 1)
        for cell, message in (
            ("1", "--link '1': no source and target token; give for example 3-4"),
            ("1-2", "no target token 2, there are 2; give one counted from 0"),
        ):
            assert main([*words, "--link", cell]) == 2
            assert capsys.readouterr().err == f"error: {message}\n"

    def test_tokenized_and_wrong_values(self, model, capsys):
        words = ["explain", "--model", str(model), "--source", "the house.", "--target", "maison"]
        assert main([*words, "--tokenized", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["source"] == ["the", "house."]
        assert main([*words, "--top", "-1"]) == 2
        assert capsys.readouterr().err == "error: --top -1: less than 0; give a number from 0 on\n"

    def test_the_model_is_that_of_the_languages_or_the_first(self, capsys, model, monkeypatch):
        model.rename(model.with_name("en-fr"))
        monkeypatch.setattr(shipped, "FOLDERS", (model.parent,))
        words = ["explain", "--source", "the house", "--target", "la maison", "--json"]
        told = []
        for languages in ([], ["--languages", "en-fr"], ["--model", "en-fr"]):
            assert main([*words, *languages]) == 0
            told.append(capsys.readouterr())
        assert told[0].err == "model en-fr, the first that is known; --model or --languages chooses another\n"
        assert told[1].err == "model en-fr, for en-fr; --model or --languages chooses another\n"
        assert (told[2].err, told[0].out, told[1].out) == ("", told[2].out, told[2].out)
        words = ["explain", "--source", "la maison", "--target", "the house", "--languages", "fr-en"]
        assert main(words) == 0
        assert "1-1  maison ~ house  score" in capsys.readouterr().out
        monkeypatch.setattr(shipped, "FOLDERS", (model, *shipped.FOLDERS[1:]))
        assert chosen_model(None, ("en", "de")) == chosen_model(None, None) == "default"


def test_serve_says_which_model_it_shows(capsys, monkeypatch, model):
    def taken(port, page, routes, *, token, on_fault):
        told.append(page().replace(token, "token"))
        raise OSError(errno.EADDRINUSE, "taken")

    told = []
    monkeypatch.setattr(serve, "make_desk_server", taken)
    monkeypatch.setattr(shipped, "FOLDERS", (model.parent,))
    for words in ([], ["--model", "toy"]):
        assert main(["serve", *words]) == 2
    chosen, *others = capsys.readouterr().err.rstrip("\n").split("\n")
    assert chosen == "model toy, the first that is known; --model or --languages chooses another"
    assert [other[:11] for other in others] == ["error: port"] * 2
    assert told[0] == told[1]


def test_every_command_that_compiles_says_so(run, monkeypatch):
    """In a fresh environment each may be the first, and nobody waits for half a minute without a word."""

    @contextmanager
    def compiling(model, tell):
        assert model.name == "toy"
        for count in (1, 2):
            tell(count)
        yield

    class Server(nullcontext):
        server_address = "", 1

        def serve_forever(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(loading, "compiling", compiling)
    monkeypatch.setattr(loading, "TOLD", "it compiles")  # TOLD itself the fixture leaves out
    monkeypatch.setattr(serve, "make_desk_server", lambda *port, **told: Server())
    words = {
        "links": "-i rows",
        "explain": "--source a --target b",
        "learn": "--gold g --source s --target s",
        "serve": "--port 0",
    }
    assert {*words, "run"} == COMPILED
    for command, others in words.items():
        status, _, err = run(f"{command} --model toy {others}", rows=ROW, g="0-0\n", s="a\n")
        assert (status, err.count("it compiles\n")) == (0, 1), command


TEXT = {"l": "0-0 1-1\n0-0\n0-0 0-1\n\n", "s": "the house\nthe\nThe\nx\n", "t": "la maison\nla\nle La\ny\n"}


class TestLexicon:
    def test_of_links(self, run):
        status, out, err = run("lexicon --links l --source s --target t", **TEXT)
        assert (status, err) == (0, "")
        assert out.split("\n")[:-1] == [
            "The\tLa\t1\t0.500000\t1.000000",
            "The\tle\t1\t0.500000\t1.000000",
            "the\tla\t2\t1.000000\t1.000000",
            "house\tmaison\t1\t1.000000\t1.000000",
        ]

    def test_of_links_in_lower_case_and_above_limits(self, run):
        out = run("lexicon --links l --source s --target t --lowercase", **TEXT)[1]
        assert out.startswith("the\tla\t3\t0.750000\t1.000000\nthe\tle\t1\t0.250000\t1.000000\n")
        limits = "--min-count 2 --min-prob 0.8 -o out"
        assert run(f"lexicon --links l --source s --target t {limits}", **TEXT) == (0, "", "")
        assert Path("out").read_text(encoding="utf-8") == "the\tla\t2\t1.000000\t1.000000\n"

    def test_of_a_model(self, run):
        status, out, _ = run("lexicon --model toy --min-count 90")
        assert status == 0
        assert out.split("\n")[:-1] == [
            f"{source}\t{target}\t{round(0.8 * count)}\t0.800000\t0.800000"
            for (source, target), count in zip(toy.PAIRS, range(120, 0, -10), strict=True)
            if round(0.8 * count) >= 90
        ]
        assert run("lexicon --model toy --min-prob 0.9")[1] == ""

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("--links l", "give both, or --columns S,T,L where one file holds all three"),
            ("--model toy --source s", "belong to --links; leave them out with --model"),
            ("--links - --source - --target t", "the standard input is given for two files"),
            ("--links l --source s --target s", "link 1-1 (counted from 0) lies outside the pair"),
            ("--links l --source s --target short", "give the text that was aligned"),
            ("--links bad --source s --target t", "bad:1: 'x' is not a link"),
        ],
    )
    def test_wrong_usage(self, run, words, message):
        files = {**TEXT, "bad": "x\n", "short": "le maison\nla\n"}
        if message.startswith("link 1-1"):
            files["s"] = "the\n" * 4
        status, _, err = run(f"lexicon {words}", **files)
        assert (status, err.count("\n")) == (2, 1)
        assert message in err

    @pytest.mark.parametrize("words", ["--min-prob 2", "--min-prob x", "--min-count -1", "--links l", ""])
    def test_values_of_options_are_checked(self, run, words):
        with pytest.raises(SystemExit) as end:
            run(f"lexicon {words} --model" if words else "lexicon", **TEXT)
        assert end.value.code == 2

    def test_one_word_with_sentences_to_quote(self, run):
        words = "lexicon --links l --source s --target t --word THE"
        status, out, err = run(words, **TEXT)
        assert (status, err) == (0, "THE: 3 times in the source text, 0 of them without a link\n")
        assert out == (
            "The\tLa\t1\t0.500000\t1.000000\n\t3\t[The]\t[le] [La]\n"
            "The\tle\t1\t0.500000\t1.000000\n\t3\t[The]\t[le] [La]\n"
            "the\tla\t2\t1.000000\t1.000000\n\t1\t[the] house\t[la] maison\n\t2\t[the]\t[la]\n"
        )
        rows = [row for row in out.split("\n") if row and not row.startswith("\t")]
        assert run(f"{words} --examples 0", **TEXT)[1].split("\n")[:-1] == rows
        out = run(f"{words} --lowercase --min-count 2 --examples 1", **TEXT)[1]
        assert out == "the\tla\t3\t0.750000\t1.000000\n\t1\t[the] house\t[la] maison\n"

    def test_one_word_of_the_target(self, run):
        files = {"r": "a b\tx\t0-0 1-0\nb\tx x\t0-0\na\tX\t\nb c\ty x\t0-1 1-0\n"}
        status, out, err = run(
            "lexicon --links r --columns 1,2,3 --word x --side target --examples 1", **files
        )
        assert (status, err) == (0, "x: 5 times in the target text, 2 of them without a link\n")
        assert out == (
            "b\tx\t3\t1.000000\t0.750000\n\t1\t[a] [b]\t[x]\na\tx\t1\t1.000000\t0.250000\n\t1\t[a] [b]\t[x]\n"
        )

    def test_the_same_sentences_are_quoted_once(self, run):
        files = {"r": "a\tx\t0-0\na\tx\t0-0\na\tx .\t0-0\na\tx !\t0-0\n"}
        out = run("lexicon --links r --columns 1,2,3 --word a", **files)[1]
        assert out == "a\tx\t4\t1.000000\t1.000000\n\t1\t[a]\t[x]\n\t3\t[a]\t[x] .\n"

    def test_one_word_of_a_model(self, run):
        everything = run("lexicon --model toy")[1].split("\n")[:-1]
        for side in ("source", "target"):
            word = toy.PAIRS[2][side == "target"]
            status, out, err = run(f"lexicon --model toy --word {word.upper()} --side {side}")
            assert status == 0
            assert err == (
                "a model holds no sentences, so there are no examples: "
                "--links, --source and --target have some\n"
            )
            expected = [row for row in everything if row.split("\t")[side == "target"] == word]
            assert sorted(out.split("\n")[:-1]) == sorted(expected) != []
        assert run(f"lexicon --model toy --word {toy.PAIRS[2][0]} --examples 0")[2] == ""

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("--examples 2", "--examples and --side belong to --word; give the word, or leave them out"),
            ("--side target", "--examples and --side belong to --word; give the word, or leave them out"),
            ("--word barn", "l: no source word of its pairs is barn; give another form, or the other --side"),
            ("--word house --side target", "l: no target word of its pairs is house; give another form"),
        ],
    )
    def test_words_that_are_none(self, run, words, message):
        status, out, err = run(f"lexicon --links l --source s --target t {words}", **TEXT)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err

    def test_several_words_are_no_word(self, run):
        from align.cli.main import main

        assert main(["lexicon", "--model", "toy", "--word", "pommes de terre"]) == 2
        status, _, err = run("lexicon --model toy --word nowhere")
        assert status == 2
        assert "this model has no such source word; give another form, or --side" in err

    def test_a_model_without_statistics(self, run, tmp_path):
        from dataclasses import replace

        given = toy.toy_model()
        bare = replace(given.resources, lexicon=None)
        replace(given, resources=bare).save(tmp_path / "bare")
        status, _, err = run("lexicon --model bare")
        assert status == 2
        assert "this model holds no statistics" in err


class TestModels:
    def test_list(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path,))
        status, out, err = run("models list")
        assert (status, err) == (0, "")
        assert re.fullmatch(rf"toy\ten-fr\t\d+\.\d MB\t{re.escape(str(tmp_path / 'toy'))}\tshipped\t\n", out)

    def test_an_empty_list(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr(shipped, "FOLDERS", (tmp_path / "none",))
        status, out, err = run("models list")
        assert (status, out) == (0, "")
        assert err.startswith("no models come with this installation")

    def test_info(self, run):
        status, out, _ = run("models info toy")
        assert status == 0
        for text in (
            "language en, profile expand",
            "12 words",
            "5 dimensions",
            "option lam",
            "provenance corpus",
        ):
            assert text in out
        described = json.loads(run("models info toy --json")[1])
        sizes = {"source_words": 12, "target_words": 12, "cells": 12, "dimensions": 5}
        assert sizes.items() <= described["sizes"].items()

    def test_what_was_not_done_is_not_told(self, run):
        told = {"solver": None, "pairs": 3, "adapted_keys": ["0"] * 40}
        replace(toy.toy_model(), provenance=told).save(Path("given"))
        out = run("models info given")[1]
        assert "provenance pairs" in out
        assert re.search("provenance adapted_keys +40 values\n", out)
        assert "provenance solver" not in out

    def test_features_without_a_weight_are_told_once(self, run, model):
        (model / "checksums.tsv").unlink()
        path = model / "weights.tsv"
        lines = path.read_text(encoding="utf-8").split("\n")
        path.write_text("\n".join(line for line in lines if not line.startswith("dice\t")), encoding="utf-8")
        for command in ("models info toy", "explain --model toy --source house --target maison"):
            status, _, err = run(command)
            assert status == 0
            assert err.count("1 feature has no weight and counts 0 (dice); train anew to use them") == 1

    def test_info_of_a_damaged_model(self, run):
        Path("toy/lexicon/dice.npy").write_bytes(b"")
        status, _, err = run("models info toy")
        assert (status, err.count("\n")) == (2, 1)
        assert "dice.npy" in err

    def test_pack(self, run, model):
        with_links(toy.toy_model()).save(model)
        status, out, err = run("models pack toy small --links 1 --words 11 --vectors 4")
        assert (status, out) == (0, "")
        assert err.startswith("small: 0.0 MB, of 0.0 MB")
        described = json.loads(run("models info small --json")[1])
        assert described["sizes"]["source_words"] == 11
        assert run("links -m small", ROW)[1].split() == LINKS.split()
        for words, message in (
            ("models pack toy small", "small: is there already; give a new folder"),
            ("models pack toy other --words 0", "words: 0 is not in 1 to 65,536"),
            ("models pack toy other --links -1", "links: -1 is no number of links"),
        ):
            status, _, err = run(words)
            assert (status, message in err, err.count("\n")) == (2, True, 1)
        assert not Path("other").exists()
