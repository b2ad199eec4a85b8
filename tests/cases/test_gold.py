"""Gold links and what is measured against them: each test is named after the case it holds.

Of E14 the overlap with what was trained on is that of G29, in tests/cases/test_library.py.
"""

import re

import numpy as np
import pytest

from align import __version__
from align.core.errors import InputError
from align.evaluation import metrics
from align.links import Link
from tests.align.evaluation.test_metrics import corpus, scored
from tests.pipeline.stages import test_gold
from tests.pipeline.stages.preprocess import test_preprocess

preprocessed, read_gold = test_preprocess.run, test_gold.read

SCORE = "score --gold g --hyp h"
TEXT = f"{SCORE} --source s --target t"


def first_line(out):
    return out.partition("\n")[0]


def test_e01_a_large_gold_without_any_0(run):
    status, out, err = run(SCORE, g="1-1 2-2\n" * 30, h="0-0 1-1\n" * 30)
    assert (status, out[:10]) == (0, "AER 0.0000")
    assert "gold g counts from 1 (no index 0 in 30 pairs with links)" in err
    assert "hypothesis h counts from 0 (index 0 in line 1)" in err


def test_e01_a_small_one_is_not_guessed_at(run):
    files = {"g": "1-1 2-2\n", "h": "0-0 1-1\n"}
    status, out, err = run(SCORE, **files)
    assert (status, out) == (2, "")
    assert re.search(r"error: g: counts from 0 or from 1\? .*; give --gold-base 0 or --gold-base 1\n", err)
    assert run(f"{SCORE} --gold-base 1", **files)[1].startswith("AER 0.0000 ")
    assert run(f"{SCORE} --gold-base 0", **files)[1].startswith("AER 0.5000 ")


def test_e01_the_text_tells(run):
    files = {"g": "1-1 2-2\n", "h": "0-0 1-1\n", "s": "a b\n", "t": "x y z\n"}
    status, out, err = run(TEXT, **files)
    assert (status, out[:10]) == (0, "AER 0.0000")
    assert "gold g counts from 1 (index 2 in line 1, of 2 tokens)" in err


@pytest.mark.parametrize("possible", ["1p1", "1?1"])
def test_e01_possible_links_tell_too(run, possible):
    files = {"g": f"{possible} 2-2\n", "h": "0-0 1-1\n", "s": "a b\n", "t": "x y z\n"}
    assert (
        first_line(run(TEXT, **files)[1])
        == "AER 0.0000 P 1.0000 R 1.0000 F1 1.0000 pairs 1 links 2 sure 1 possible 2"
    )


def test_e01_of_a_run_the_gold_has_its_text_and_is_told_by_it(read_gold):
    """Of a few pairs that tell nothing it is taken to count from 0, as the library does.

    Not refused, as by ``score``: by then a run has worked for hours. It warns, and gives the error rate under
    the other base too (tests of G28), which docs/limits.md says.
    """
    assert test_gold.cells(read_gold(["1-1 3-3", "2-2", ""])) == [[(0, 0), (2, 2)], [(1, 1)], []]
    doubtful = read_gold(["1-1", "1-1", "2-2"])
    assert (doubtful.base, doubtful.doubt[:10]) == (0, "no index 0")
    assert doubtful.otherwise is not None


@pytest.mark.parametrize(
    ("pair", "line"),
    {
        ("", "3p4"): "AER n/a P n/a R n/a F1 n/a pairs 1 links 0 sure 0 possible 1",
        ("3-4", "3p4"): "AER 0.0000 P 1.0000 R n/a F1 n/a pairs 1 links 1 sure 0 possible 1",
        ("0-0", "3p4"): "AER 1.0000 P 0.0000 R n/a F1 n/a pairs 1 links 1 sure 0 possible 1",
        ("", "0-0"): "AER 1.0000 P n/a R 0.0000 F1 n/a pairs 1 links 0 sure 1 possible 1",
        ("", ""): "AER n/a P n/a R n/a F1 n/a pairs 1 links 0 sure 0 possible 0",
        ("0-0", ""): "AER 1.0000 P 0.0000 R n/a F1 n/a pairs 1 links 1 sure 0 possible 0",
        ("0-0", "1-1"): "AER 1.0000 P 0.0000 R 0.0000 F1 0.0000 pairs 1 links 1 sure 1 possible 1",
        ("0-0", "0-0"): "AER 0.0000 P 1.0000 R 1.0000 F1 1.0000 pairs 1 links 1 sure 1 possible 1",
    }.items(),
)
def test_e03_degenerate_pairs_divide_nothing_by_zero(pair, line):
    hypothesis, gold = pair
    assert scored([hypothesis], [gold]).line() == line
    counts = metrics.statistics(corpus(hypothesis), corpus(gold))
    metrics.bootstrap(counts, samples=5)
    assert metrics.macro(counts).aer == scored([hypothesis], [gold]).aer


@pytest.mark.parametrize("gold", ["3p4\n", "3p4\n\n1p1\n", "", "\n\n"])
def test_e03_the_command_prints_what_is_undefined_as_such(run, gold):
    for options in ("", "--macro", "--json"):
        status, out, _ = run(
            f"{SCORE} --gold-base 0 --hyp-base 0 {options}", g=gold, h="\n" * gold.count("\n")
        )
        assert status == 0
        assert "AER n/a P n/a R n/a F1 n/a" in out
        assert "nan" not in out.lower()


def test_e04_nothing_predicted(run):
    files = {"g": "0-0\n", "h": "\n"}
    _, out, _ = run(SCORE, **files)
    assert first_line(out) == "AER 1.0000 P n/a R 0.0000 F1 n/a pairs 1 links 0 sure 1 possible 1"
    _, out, _ = run(f"{SCORE} --empty-precision 1", **files)
    assert first_line(out) == "AER 1.0000 P 1.0000 R 0.0000 F1 0.0000 pairs 1 links 0 sure 1 possible 1"
    assert "|empty_precision:1|" in out


def test_e04_the_precision_of_nothing_may_be_set():
    score = scored([""], ["0-0"], empty_precision=1.0)
    assert (score.precision, score.recall, score.f1, score.aer) == (1.0, 0.0, 0.0, 1.0)
    counts = metrics.statistics([[]], corpus("0-0"))
    assert metrics.macro(counts, empty_precision=1.0).precision == 1.0
    assert metrics.bootstrap(counts, empty_precision=1.0).precision == (1.0, 1.0)


def test_e07_numbers_of_pairs_must_agree(run):
    files = {"g": "0-0\n0-0\n0-0\n", "h": "0-0\n0-0\n"}
    status, out, err = run(SCORE, **files)
    assert (status, out) == (2, "")
    assert "error: g has 3 pairs but h has 2; give both for the same text, or --allow-missing" in err
    status, out, err = run(f"{SCORE} --allow-missing", **files)
    assert out.startswith("AER 0.2000 P 1.0000 R 0.6667 F1 0.8000 pairs 3 links 2 ")
    assert "h: 1 missing pair(s) counted as empty" in err
    status, out, err = run("score --gold h --hyp g", **files)
    assert (status, "error: h has 2 pairs but g has 3;" in err) == (2, True)
    status, out, err = run("score --gold h --hyp g --allow-missing", **files)
    assert out.startswith("AER 0.2000 P 0.6667 R 1.0000 F1 0.8000 pairs 3 links 3 ")


@pytest.mark.parametrize("hypothesis", ["", "0-0\n0-0\n0-0\n\n", "0-0\n"])
def test_e07_an_empty_file_and_an_empty_line_too_many_as_well(run, hypothesis):
    status, _, err = run(SCORE, g="0-0\n0-0\n0-0\n", h=hypothesis)
    assert (status, f"error: g has 3 pairs but h has {hypothesis.count(chr(10))}; give both" in err) == (
        2,
        True,
    )


def test_e07_the_gold_of_a_run_has_a_line_a_pair(read_gold):
    for links in (["0-0", "1-1"], ["0-0", "1-1", "", ""]):
        with pytest.raises(
            InputError, match=rf"links: links of {len(links)} pairs but 3 gold pairs; give the links"
        ):
            read_gold(links)


def test_e08_gold_out_of_range_names_the_line_and_both_token_lists(run):
    files = {"g": "0-0\n12-9\n", "h": "0-0\n0-0\n", "s": "a b c\nd e\n", "t": "x y\nz w\n"}
    status, out, err = run(TEXT, **files)
    assert (status, out) == (2, "")
    assert (
        "error: g:2: link 12-9 (counted from 0) lies outside the pair of 2 source tokens (d e) and 2"
        " target tokens (z w); use the tokens that the links were made for"
    ) in err


def test_e08_gold_text_is_never_tokenized_again(preprocessed):
    """Its own tokens are used, whatever the rules of the corpus, so that its links fit."""
    gold = (["Mr. can't", "a-b  c"], ["l'ami d'eux", "x"])
    result = preprocessed(["two one"], ["un deux"], gold=gold, options={"profile": "expand"})
    told = [(result.folder / f"gold.{side}.txt").read_text(encoding="utf-8") for side in ("source", "target")]
    assert told == ["Mr. can't\na-b c\n", "l'ami d'eux\nx\n"]


WPT = "0001 3 4 P\n0001 0 2 S\n0001 1 0 S\n0001 1 1 S\n0003 1 1\n"


def test_e09_links_to_the_empty_word_go_before_indices_are_counted_from_0(run):
    status, out, err = run("convert --from wpt --to pharaoh -i g", g=WPT)
    assert (status, out) == (0, "0-0 2p3\n\n0-0\n")
    assert err == "g: 2 links to the empty word (index 0) left out\n"
    status, out, err = run(f"{SCORE} --gold-format wpt --hyp-format wpt", g=WPT, h=WPT)
    assert first_line(out) == "AER 0.0000 P 1.0000 R 1.0000 F1 1.0000 pairs 3 links 3 sure 2 possible 3"
    assert err == "".join(f"{name}: 2 links to the empty word (index 0) left out\n" for name in "gh")


def test_e09_wpt_does_not_tell_how_many_pairs_there_are(run):
    status, out, err = run(f"{SCORE} --gold-format wpt", g="0001 0 2 S\n0001 1 1 S\n", h="0-0\n\n0-0\n")
    assert (status, first_line(out)) == (
        0,
        "AER 0.3333 P 0.5000 R 1.0000 F1 0.6667 pairs 3 links 2 sure 1 possible 1",
    )
    assert "g: 1 links to the empty word (index 0) left out" in err
    assert "|gold_format:wpt|gold_base:1|" in out


def test_e09_in_the_gold_of_a_run_they_are_counted_too(read_gold):
    gold = read_gold(WPT.split("\n")[1:-1], format="wpt")
    assert test_gold.cells(gold) == [[(0, 0)], [], [(0, 0)]]
    assert len(gold.notes) == 1
    assert gold.notes[0].endswith("links: 2 links to the empty word (index 0) left out")


def test_e11_reverse_swaps_the_hypothesis(run):
    files = {"g": "0-0 1-2 2-1 3-4\n", "h": "0-0 2-1 1-2 4-3\n"}
    assert run(f"{SCORE} --reverse", **files)[1].startswith("AER 0.0000 ")
    status, out, err = run(SCORE, g="0-1 1-2 2-3\n", h="1-0 2-1 3-2\n")
    assert (status, out[:10]) == (0, "AER 1.0000")
    assert "only 0 links of the hypothesis match the gold, but 3 would with --reverse\n" in err


def test_e11_a_swapped_hypothesis_is_told_of_reverse(run):
    files = {"g": "0-0 2-1\n", "h": "0-0 1-2\n", "s": "a b c\n", "t": "x y\n"}
    status, _, err = run(TEXT, **files)
    assert (status, "error: h:1: link 1-2 " in err, "; swap its sides with --reverse" in err) == (
        2,
        True,
        True,
    )
    assert run(f"{TEXT} --reverse")[1].startswith("AER 0.0000 ")
    status, _, err = run(f"{TEXT} --reverse", **{**files, "h": files["g"]})
    assert (status, "; leave out --reverse" in err) == (2, True)


def test_e11_a_swapped_gold_is_told_too(run, read_gold):
    files = {"g": "0-0 1-2\n", "h": "0-0 2-1\n", "s": "a b c\n", "t": "x y\n"}
    status, _, err = run(TEXT, **files)
    told = "its links seem to be target first: swap --source and --target, and add --reverse"
    assert (status, "error: g:1: link 1-2 " in err, told in err) == (2, True, True)
    status, out, _ = run(f"{SCORE} --source t --target s --reverse")
    assert (status, out[:10]) == (0, "AER 0.0000")


def test_e12_corpus_figures_weigh_links_and_macro_figures_pairs():
    """One perfect pair of 30 links, one missed pair of 1 link: 0.016 against 0.50."""
    perfect = " ".join(f"{j}-{j}" for j in range(30))
    counts = metrics.statistics(corpus(perfect, ""), corpus(perfect, "0-0"))
    assert metrics.score(counts).aer == pytest.approx(1 / 61, abs=1e-12)
    macro = metrics.macro(counts)
    assert macro.aer == pytest.approx(0.5, abs=1e-12)
    assert (macro.precision, macro.precision_pairs, macro.recall_pairs) == (1.0, 1, 2)


def test_e12_macro_is_labelled(run):
    perfect = " ".join(f"{j}-{j}" for j in range(30))
    files = {"g": f"{perfect}\n0-0\n", "h": f"{perfect}\n\n"}
    _, out, _ = run(SCORE, **files)
    assert out.startswith("AER 0.0164 ")
    assert "macro" not in out
    assert "|average:micro|" in out
    _, out, _ = run(f"{SCORE} --macro", **files)
    assert out.startswith("AER 0.0164 ")
    assert (
        out.split("\n")[2] == "macro AER 0.5000 P 1.0000 R 0.5000 F1 1.0000 (means over pairs where defined)"
    )


def test_e13_the_signature_tells_what_a_figure_rests_on(run):
    gold = corpus("0-0 1p1")
    score = metrics.score(metrics.statistics(corpus("0-0"), gold))
    signature = metrics.signature(score, gold, gold_base=1)
    expected = f"gold:{metrics.checksum(gold)}|pairs:1|links:1|sure:1|possible:2"
    assert metrics.signature_text(signature) == f"{expected}|gold_base:1|version:{__version__}"
    _, out, _ = run(f"{SCORE} --hyp-base 0", g="0-0 1p1\n", h="0-0\n")
    assert f"\nsignature {expected}|gold_format:pharaoh|" in out


def test_e13_other_gold_has_another_checksum_and_the_same_gold_the_same():
    one = metrics.checksum(corpus("0-0 1p1", ""))
    assert metrics.checksum(corpus("1p1 0-0 0-0", "")) == one
    for other in (("0-0 1-1", ""), ("0-0", ""), ("0-0 1p1",), ("", "0-0 1p1"), ("0-0 1p1", "", "")):
        assert metrics.checksum(corpus(*other)) != one


def test_e14_gold_pairs_in_the_corpus_are_counted_once_and_said(preprocessed):
    texts = ["x", "", "One  two", "one two"], ["y", "z", "Un deux", "un deux"]
    result = preprocessed(*texts, gold=test_preprocess.GOLD)
    assert result.summary["gold_pairs_in_corpus"] == 1
    assert result.said.warnings == [
        "preprocess: 1 of 3 gold pairs are in the corpus too: they are no unseen text "
        "(their words are counted once)"
    ]
    # parts: "x", the first of the two equal ones, the other
    assert np.load(result.folder / "gold_in_corpus.npy").tolist() == [-1, -1, 1]
    counts = dict(zip(result.words[1].words, result.words[1].counts.tolist(), strict=True))
    assert counts == {"un": 3, "deux": 2, "mot": 1, "nouveau": 1, "rien": 1, "y": 1}
    assert preprocessed(["two one"], ["deux un"], gold=test_preprocess.GOLD).said.warnings == []


def test_e15_a_link_listed_twice_counts_once(run):
    double = [[Link(1, 1), Link(1, 1), Link(1, 1, False)]]
    assert metrics.statistics(double, double).tolist() == [[1, 1, 1, 1, 1]]
    line = "AER 0.0000 P 1.0000 R 1.0000 F1 1.0000 pairs 1 links 2 sure 2 possible 2"
    for gold, guess in (
        ("1-1 1-1 0-0", "0-0 1-1"),
        ("0-0 1-1", "1-1 0-0 1-1"),
        ("1p1 1-1 0-0", "0-0 1?1 1-1"),
    ):
        assert first_line(run(SCORE, g=f"{gold}\n", h=f"{guess}\n")[1]) == line


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("pharaoh", "0-0 1p1 0-0 1-1\n"),
        ("berkeley", "0-0 1-1-P 0-0 1-1\n"),
        ("wpt", "1 1 1 S\n1 2 2 P\n1 1 1 S\n1 2 2 S\n"),
        ("jsonl", '{"links": [[0, 0], [1, 1], [0, 0]]}\n'),
        ("nltk", "0-0 1-1 0-0\n"),
    ],
)
def test_e15_in_every_format_and_a_link_that_is_both_is_sure(run, format, text):
    assert run(f"convert --from {format} --to pharaoh", stdin=text)[:2] == (0, "0-0 1-1\n")
