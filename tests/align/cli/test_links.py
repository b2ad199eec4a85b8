"""``python -m align`` score, convert and combine."""

import json
import re
import types
from pathlib import Path
from typing import ClassVar

import pytest

import align


class TestScore:
    def test_the_figures_their_intervals_and_what_they_rest_on(self, run):
        status, out, err = run("score --gold g --hyp h", g="0-0 1-1\n0-0 1p1\n", h="0-0 1-1\n1-1 2-2\n")
        lines = out.split("\n")
        assert status == 0
        assert lines[0] == "AER 0.2857 P 0.7500 R 0.6667 F1 0.7059 pairs 2 links 4 sure 3 possible 4"
        number = r"\d\.\d{4}"
        interval = (
            rf"interval( (AER|P|R|F1) {number}-{number}){{4}} \(95 % by bootstrap, 1000 samples, seed 1\)"
        )
        assert re.fullmatch(interval, lines[1])
        assert re.fullmatch(
            r"signature gold:[0-9a-f]{12}\|pairs:2\|links:4\|sure:3\|possible:4\|gold_format:pharaoh"
            r"\|gold_base:0\|hyp_format:pharaoh\|hyp_base:0\|reverse:False\|average:micro\|empty_precision:n/a\|samples:1000"
            rf"\|seed:1\|version:{align.__version__}",
            lines[2],
        )
        assert lines[3:] == [""]
        assert "gold g counts from 0 (index 0 in line 1)\n" in err

    def test_json_holds_everything(self, run):
        files = {"g": "0-0 1-1\n0-0 1p1\n", "h": "0-0 1-1\n1-1 2-2\n"}
        _, text, _ = run("score --gold g --hyp h", **files)
        status, out, _ = run("score --gold g --hyp h --json --macro --samples 10 --seed 5", **files)
        report = json.loads(out)
        assert status == 0
        assert report["line"] == text.split("\n")[0]
        assert report["aer"] == pytest.approx(2 / 7)
        assert (report["pairs"], report["links"], report["sure"], report["possible"]) == (2, 4, 3, 4)
        assert (report["sure_matched"], report["possible_matched"]) == (2, 3)
        assert (report["intervals"]["samples"], report["intervals"]["seed"]) == (10, 5)
        assert report["macro"]["aer"] == pytest.approx(1 / 3)
        assert report["signature"]["gold_base"] == 0


class TestAgreement:
    """Two annotators: of 9 + 4 cells both link 2 and say no of 9, each links one that the other does not."""

    FILES: ClassVar = {
        "a": "0-0 1p1 2-2\n0-0\n",
        "b": "0-0 1-1\n\n",
        "s": "x y z\nx y\n",
        "t": "u v w\nu v\n",
    }

    def test_it_stands_after_the_other_figures(self, run):
        words = "score --gold a --hyp b --gold-base 0 --hyp-base 0 --source s --target t"
        plain = run(words, **self.FILES)[1].split("\n")
        status, out, _ = run(f"{words} --agreement", **self.FILES)
        lines = out.split("\n")
        assert (status, lines[:2], lines[4:]) == (0, plain[:2], plain[2:])
        # link or none: p_o = 11/13, p_e = (4 * 2 + 9 * 11) / 169; kinds: p_o = 10/13,
        # p_e = (9 * 11 + 3 * 2) / 169. All links: 2 in common of 4 and 2; sure: 1 of 3 and 2.
        kappa, kinds = (11 / 13 - 107 / 169) / (1 - 107 / 169), (10 / 13 - 105 / 169) / (1 - 105 / 169)
        assert lines[2] == (
            f"agreement kappa {kappa:.4f} with-kinds {kinds:.4f} F1 {4 / 6:.4f} of-sure {2 / 5:.4f}"
            f" AER by-gold {1 - 3 / 5:.4f} by-hyp {1 - 4 / 6:.4f} cells 13"
        )
        assert re.fullmatch(r"interval kappa -?\d\.\d{4}--?\d\.\d{4} with-kinds .*", lines[3])
        report = json.loads(run(f"{words} --agreement --json", **self.FILES)[1])["agreement"]
        assert (report["kappa"], report["cells"], report["pairs"]) == (pytest.approx(kappa), 13, 2)
        assert set(report["intervals"]) >= {"kappa", "kappa_kinds", "aer_ab"}

    def test_the_words_may_stand_in_the_files(self, run):
        rows = '{"source": ["x", "y"], "target": ["u"], "links": [[0, 0]]}\n'
        words = "score --gold a --hyp b --gold-format jsonl --agreement"
        status, out, _ = run(words, a=rows, b="0-0\n")
        assert (status, out.split("\n")[2].split(" AER ")[0]) == (
            0,
            "agreement kappa 1.0000 with-kinds 1.0000 F1 1.0000 of-sure 1.0000",
        )

    def test_without_words_it_cannot_be_counted(self, run):
        status, out, err = run("score --gold a --hyp b --agreement", a="0-0\n", b="0-0\n")
        assert (status, out) == (2, "")
        assert err.endswith(
            "a: pair 1 has no words, and agreement is counted over them; give --source and --target, or JSON "
            "lines that hold them\n"
        )

    def test_nothing_but_one_kind_is_undefined(self, run):
        rows = '{"source": ["x"], "target": ["u"], "links": []}\n'
        words = "score --gold a --hyp b --gold-format jsonl --hyp-format jsonl --agreement"
        assert run(words, a=rows, b=rows)[1].split("\n")[2:4] == [
            "agreement kappa n/a with-kinds n/a F1 n/a of-sure n/a AER by-gold n/a by-hyp n/a cells 1",
            "interval kappa n/a with-kinds n/a",
        ]


class TestBase:
    """Indices that count from 1 must never be scored as if they counted from 0."""

    def test_a_small_hypothesis_counts_from_0_unless_the_gold_speaks_against_it(self, run):
        status, out, err = run("score --gold g --hyp h", g="0-0 1-1 2-2\n", h="1-1\n")
        assert (status, out[:19]) == (0, "AER 0.5000 P 1.0000")
        assert "hypothesis h counts from 0 (taken so: no index 0" in err
        files = {"g": "0-0 1-1 2-2\n", "h": "1-1 2-2 3-3\n"}
        status, out, err = run("score --gold g --hyp h", **files)
        assert (status, out) == (2, "")
        assert "but it agrees better with the gold from 1; give --hyp-base 0 or --hyp-base 1" in err
        assert run("score --gold g --hyp h --hyp-base 1", **files)[1].startswith("AER 0.0000 ")

    def test_a_first_token_that_is_never_linked_does_not_mislead(self, run):
        """Texts with a start symbol have no index 0 either."""
        files = {"g": "1-2 2-1\n" * 30, "h": "0-0 1-2 2-1\n" * 30}
        status, _, err = run("score --gold g --hyp h", **files)
        assert (status, "error: g: counts from 0 or" in err, "better with the hypothesis from 0" in err) == (
            2,
            True,
            True,
        )
        status, _, err = run("score --gold h --hyp g", **files)
        assert (status, "error: g: counts from 0 or" in err, "better with the gold from 0" in err) == (
            2,
            True,
            True,
        )
        status, out, _ = run("score --gold g --hyp g", **files)
        assert (status, out[:10]) == (0, "AER 0.0000")

    def test_a_base_that_is_said_wrongly_is_noticed(self, run):
        status, _, err = run("score --gold g --hyp h --gold-base 0", g="1-3 2-2 3-1\n", h="0-2 1-1 2-0\n")
        expected = (
            "only 0 links of the hypothesis match the gold, but 3 would if its indices were 1 more; see"
        )
        assert (status, expected in err) == (0, True)

    def test_a_base_that_cannot_be(self, run):
        status, _, err = run("score --gold g --hyp h --gold-base 1", g="0-0\n", h="0-0\n")
        assert (status, "error: g:1: index 0 in a file that counts from 1; mend the line" in err) == (2, True)
        status, _, err = run("score --gold g --hyp h --gold-format wpt --gold-base 0", g="1 1 1\n", h="0-0\n")
        assert (status, "error: g: the format wpt counts from 1, not 0" in err) == (2, True)


class TestBounds:
    FILES = types.MappingProxyType({"s": "a b c\n", "t": "x y\n"})

    def test_tokens_in_the_gold_itself_are_checked_too(self, run):
        gold = '{"source": ["a", "b"], "target": ["x"], "links": [[0, 0]]}\n'
        status, _, err = run("score --gold g --gold-format jsonl --hyp h", g=gold, h="0-0 1-1\n")
        assert (status, "error: h:1: link 1-1 " in err) == (2, True)

    def test_text_must_have_as_many_lines(self, run):
        words = "score --gold g --hyp h --source s --target t"
        status, _, err = run(words, g="0-0\n", h="0-0\n", s="a\nb\n", t="x\ny\n")
        assert (status, "error: g: 1 pairs but 2 lines of text; give its own text" in err) == (2, True)
        status, _, err = run(words, g="0-0\n", h="0-0\n", s="a\nb\n", t="x\n")
        assert (status, "error: s has 2 lines, t 1 lines; give both sides of a text" in err) == (2, True)
        status, _, err = run("score --gold g --hyp h --source s", g="0-0\n", h="0-0\n", s="a\n")
        assert (status, "error: --source and --target go together; give both or neither" in err) == (2, True)


class TestConvert:
    TEXT = types.MappingProxyType({"s": "le chat\n\nl' été\n", "t": "the cat\n\nsummer\n"})
    LINKS = "0-0:0.5 1p1\n\n0-0 1-0\n"

    @pytest.mark.parametrize("format", ["pharaoh", "talp", "wpt", "jsonl", "tmx"])
    def test_there_and_back_again(self, run, format):
        status, there, _ = run(
            f"convert --from pharaoh --to {format} --source s --target t", stdin=self.LINKS, **self.TEXT
        )
        assert status == 0
        back, out, _ = run(f"convert --from {format} --to pharaoh -i middle -o end", middle=there)
        assert (back, out, Path("end").read_text(encoding="utf-8")) == (0, "", self.LINKS)

    def test_each_loss_is_said_once(self, run):
        links = "0-0:0.5 1p1:0.5\n1p1 0-0\n\n"
        _, out, err = run("convert --from pharaoh --to nltk", stdin=links)
        assert out == "0-0 1-1\n0-0 1-1\n\n"
        assert err == (
            "nltk holds sure links only: 2 possible links are written as such\n"
            "nltk does not hold scores: those of 2 links are dropped\n"
        )
        _, out, err = run("convert --from pharaoh --to berkeley", stdin=links)
        assert out == "0-0 1-1-P\n0-0 1-1-P\n\n"
        assert err == "berkeley does not hold scores: those of 2 links are dropped\n"
        _, out, err = run("convert --from pharaoh --to wpt", stdin=links)
        assert out == "0001 1 1 S 0.5\n0001 2 2 P 0.5\n0002 1 1 S\n0002 2 2 P\n"
        assert err == "wpt holds no pairs without links: the last 1 leave no trace\n"
        _, out, err = run(
            "convert --from jsonl --to pharaoh", stdin='{"source":["a"],"target":["b"],"links":[[0,0]]}\n'
        )
        assert (out, err) == ("0-0\n", "pharaoh does not hold tokens: the text of 1 pairs is not written\n")

    def test_the_text_gives_wpt_its_number_of_pairs(self, run):
        files = {"s": "a\nb\nc\n", "t": "x\ny\nz\n"}
        _, out, _ = run("convert --from wpt --to pharaoh --source s --target t", stdin="1 1 1 S\n", **files)
        assert out == "0-0\n\n\n"

    def test_giza_keeps_its_tokens(self, run):
        text = "# Sentence pair (1) source length 1\nla maison\nNULL ({ }) house ({ 1 2 })\n"
        _, out, _ = run("convert --from giza --to jsonl", stdin=text)
        assert json.loads(out)["source"] == ["house"]
        assert run("convert --from giza --to pharaoh", stdin=text)[1] == "0-0 0-1\n"
        status, _, err = run(
            "convert --from giza --to pharaoh --source s --target t",
            stdin=text,
            s="the house\n",
            t="la maison\n",
        )
        assert (status, "error: <stdin>:1: 1 tokens, but 2 in the text given" in err) == (2, True)

    def test_numbers_of_lines_must_agree(self, run):
        words = "convert --from pharaoh --to jsonl -o out --source s --target t"
        for stdin, count in (("0-0\n", 1), ("0-0\n\n0-0\n\n\n", 5)):
            status, _, err = run(words, stdin=stdin, **self.TEXT)
            expected = (
                f"error: <stdin> has {count} pairs, s 3 lines, t 3 lines; give the text that was aligned\n"
            )
            assert (status, expected in err, Path("out").exists()) == (2, True, False)

    def test_links_of_more_pairs_than_there_are_lines_are_refused(self, run):
        words = "convert --from wpt --to jsonl -o out --source s --target t"
        status, _, err = run(words, stdin="1 1 1\n4 1 1\n", **self.TEXT)
        assert (status, "error: <stdin>: more pairs than lines of text; give" in err) == (2, True)
        assert run(words, stdin="1 1 1\n", **self.TEXT)[0] == 0

    def test_files_that_count_from_1(self, run):
        status, out, err = run("convert --from pharaoh --to pharaoh", stdin="1-1 2p2\n" * 40)
        assert (status, out) == (0, "0-0 1p1\n" * 40)
        assert "<stdin> counts from 1 (no index 0 in 40 pairs with links); --from-base 0 if not" in err
        _, out, err = run("convert --from pharaoh --to pharaoh", stdin="1-1 2p2\n")
        assert out == "1-1 2p2\n"
        assert "<stdin> is taken to count from 0 (no index 0" in err
        assert run("convert --from pharaoh --to pharaoh --from-base 1", stdin="1-1 2p2\n")[1] == "0-0 1p1\n"

    def test_tmx_needs_text(self, run):
        status, _, err = run("convert --from pharaoh --to tmx -o out", stdin="0-0\n")
        assert (status, "error: pair 1: tmx needs the tokens; give the text of both sides" in err) == (
            2,
            True,
        )

    def test_the_input_may_be_the_output(self, run):
        Path("f").write_text("1-2-P 0-0\n", encoding="utf-8")
        assert run("convert --from berkeley --to pharaoh -i f -o f")[0] == 0
        assert Path("f").read_text(encoding="utf-8") == "0-0 2p1\n"
        assert [path.name for path in Path().iterdir()] == ["f"]

    def test_faulty_files(self, run):
        status, _, err = run("convert --from pharaoh --to wpt", stdin="0-0\n0-x\n")
        assert (status, err) == (
            2,
            "error: <stdin>:2: '0-x' is not a link like 0-0 or 1p2; mend the line, or name the format of the"
            " file (column 1)\n",
        )
        status, _, err = run("convert --from pharaoh --to wpt -i nowhere")
        assert (status, err) == (2, "error: nowhere: no such file; check the path\n")
        status, _, err = run("convert --from pharaoh --to wpt -o a/b", stdin="0-0\n")
        assert (status, "error: a/b: there is no folder" in err) == (2, True)
        status, _, err = run("convert --from pharaoh --to wpt -o .", stdin="0-0\n")
        assert (status, err) == (2, "error: " + err[7:])
        status, _, err = run("convert --from pharaoh --to wpt --source - --target x", stdin="0-0\n")
        assert (status, "error: -: the standard input is given for two files" in err) == (2, True)


class TestCombine:
    FILES = types.MappingProxyType({"f": "0-0 1-1 2-2\n0-0\n", "r": "0-0 1-1 3-2\n\n"})

    @pytest.mark.parametrize(
        ("method", "first"),
        [
            ("intersect", "0-0 1-1"),
            ("union", "0-0 1-1 2-2 3-2"),
            ("grow-diag", "0-0 1-1 2-2 3-2"),
            ("grow-diag-final", "0-0 1-1 2-2 3-2"),
            ("grow-diag-final-and", "0-0 1-1 2-2 3-2"),
        ],
    )
    def test_methods(self, run, method, first):
        status, out, err = run(f"combine --forward f --reverse r --method {method}", **self.FILES)
        second = "" if method in {"intersect", "grow-diag"} else "0-0"
        assert (status, out, err) == (0, f"{first}\n{second}\n", "")

    def test_the_reverse_file_is_source_first_unless_swapped(self, run):
        files = {"f": "0-0 1-2 2-1 3-3 4-5\n", "r": "0-0 5-4\n"}
        _, out, err = run("combine --forward f --reverse r --method intersect", **files)
        assert (out, err) == ("0-0\n", "")
        _, out, _ = run("combine --forward f --reverse r --swap-reverse --method intersect", **files)
        assert out == "0-0 4-5\n"
        _, _, err = run(
            "combine --forward f --reverse r --method intersect", f="0-1 1-2 2-3\n", r="1-0 2-1 3-2\n"
        )
        assert (
            "share 3 links with --swap-reverse, only 0 as it is: is the reverse file in the other order?"
            in err
        )

    def test_possible_links_and_scores(self, run):
        files = {"f": "0-0:0.5 1p1 2p2\n", "r": "0-0 1-1 3p3\n"}
        _, out, err = run("combine --forward f --reverse r --method union", **files)
        assert out == "0-0 1p1 2p2 3p3\n"
        assert err == "scores are not combined: those of 1 links are dropped\n"

    def test_numbers_of_pairs_must_agree(self, run):
        for f, r, counts in (("0-0\n" * 3, "0-0\n", (3, 1)), ("0-0\n", "0-0\n" * 4, (1, 4))):
            status, _, err = run("combine --forward f --reverse r --method union -o out", f=f, r=r)
            expected = f"error: f has {counts[0]} pairs, r {counts[1]} pairs; give both for one text\n"
            assert (status, err, Path("out").exists()) == (2, expected, False)

    def test_bases_may_differ(self, run):
        files = {"f": "0-0 1-1\n" * 30, "r": "1-1 2-2\n" * 30}
        _, out, err = run("combine --forward f --reverse r --method intersect", **files)
        assert out == "0-0 1-1\n" * 30
        assert "r counts from 1 (no index 0 in 30 pairs with links); --base 0 if not" in err
        assert run("combine --forward f --reverse r --method intersect --base 0", **files)[1] == "1-1\n" * 30

    def test_other_formats(self, run):
        files = {"f": "0002 1 1 S\n", "r": "0001 1 1 S\n0002 1 1 P\n0003 1 1 P\n"}
        _, out, _ = run("combine --forward f --reverse r --method union --format wpt", **files)
        assert out == "0-0\n0p0\n0p0\n"


@pytest.mark.parametrize(
    ("name", "aer"),
    [
        ("giza.grow-diagonal.talp", "0.0594"),
        ("giza.intersection.talp", "0.0756"),
        ("giza.forward.talp", "0.0799"),
        ("giza.reverse.talp --reverse", "0.0975"),
        ("awesome-align.out", "0.0407"),
        ("fastalign.intersection.talp", "0.1117"),
    ],
)
def test_published_figures(run, real_data, name, aer):
    folder = real_data("gold/native")
    status, out, err = run(
        f"score --gold {folder}/enfr.gold.one-based --hyp {folder}/enfr.{name} --samples 20"
    )
    assert (status, out[:10]) == (0, f"AER {aer}")
    assert "counts from 1 (no index 0 in 447 pairs with links)" in err
    assert "only" not in err


def test_the_published_intersection(run, real_data):
    folder = real_data("gold/native")
    mgiza = f"{folder}/enfr.giza"
    words = f"combine --forward {mgiza}.forward.talp --reverse {mgiza}.reverse.talp --method intersect"
    assert run(f"{words} --swap-reverse -o combined") == (0, "", "")
    _, published, _ = run(f"convert --from talp --to pharaoh -i {mgiza}.intersection.talp")
    assert Path("combined").read_text(encoding="utf-8") == published
    assert "with --swap-reverse" in run(f"{words} -o other")[2]
