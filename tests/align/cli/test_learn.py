"""The command learn."""

import json
import re

import pytest

from align import Aligner
from align.links.jsonl import write_jsonl
from align.links.link import AlignedPair
from align.links.pharaoh import parse_pharaoh
from tests.align import toy
from tests.align.model.test_adapting import GOLD, NEW


@pytest.fixture(autouse=True)
def model(tmp_path):
    toy.toy_model().save(tmp_path / "toy")


def tokens(text):
    return text.replace(".", " .").split()


TEXT = {
    "s": "".join(" ".join(tokens(source)) + "\n" for source, _, _ in GOLD),
    "t": "".join(" ".join(tokens(target)) + "\n" for _, target, _ in GOLD),
    "g.align": "".join(f"{links}\n" for _, _, links in GOLD),
}
JSONL = "".join(
    line + "\n"
    for line in write_jsonl(
        AlignedPair(parse_pharaoh(links), tokens(source), tokens(target)) for source, target, links in GOLD
    )
)


def test_the_new_model_is_kept_and_the_old_one_too(run, tmp_path):
    status, out, err = run("learn --model toy --gold g.align --source s --target t -o new", **TEXT)
    assert status == 0
    assert out.startswith("6 pairs, duality gap ")
    assert re.search(
        r", held-out AER 0\.\d{4} before, 0\.\d{4} after, difference -0\.\d{4} "
        r"\(95 % -0\.\d{4} to -0\.\d{4}\) in 6 pairs: better\n$",
        out,
    )
    assert "pass 1: duality gap " in err
    assert "new: the new model; the old one stays as it was" in err
    assert Aligner.load(tmp_path / "new").align(*NEW) == Aligner.load(tmp_path / "toy").align(*NEW)[:-1]
    assert run("learn --model toy --gold g.align --source s --target t -o new")[0] == 2


def test_what_the_model_has_learnt_from_before_is_told(run, tmp_path):
    four = "".join(f"{line}\n" for line in JSONL.split("\n")[:4])
    assert run("learn --model toy --gold 4.jsonl -o new", **{"4.jsonl": four})[0] == 0
    rows = (tmp_path / "new" / "history.csv").read_text(encoding="utf-8").split("\n")
    assert rows[0].startswith("passes,oracle_calls,seconds,primal,dual,gap,")
    assert rows[1].startswith("0,") or rows[1].startswith("1,")
    status, out, _ = run("learn --model new --gold 4.jsonl", **{"4.jsonl": four})
    told = "; the model has learnt from them before: link others to see what it is worth\n"
    assert (status, out.endswith(told)) == (0, True)
    out = run("learn --model new --gold 6.jsonl", **{"6.jsonl": JSONL})[1]
    assert " in 2 pairs (the model has learnt from the other 4 before): " in out
    found = json.loads(run("learn --model new --gold 6.jsonl --json", **{"6.jsonl": JSONL})[1])
    assert (found["held_out_known"], found["held_out_pairs"]) == (4, 2)
    assert "adapted_keys" not in found


def test_tokens_and_links_in_one_file(run):
    status, out, err = run("learn --model toy --gold g.jsonl --json", **{"g.jsonl": JSONL})
    assert status == 0
    found = json.loads(out)
    assert found["adapted_to_pairs"] == 6
    assert found["held_out_aer_after"] < found["held_out_aer_before"]
    assert "the model was not kept; -o FOLDER keeps it" in err


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (1, "; one pair has nothing to be left out"),
        (3, " in 3 pairs: it may be chance; link more pairs to know"),
    ],
)
def test_of_few_pairs_nothing_is_called_better(run, pairs, told):
    lines = "".join(f"{line}\n" for line in JSONL.split("\n")[:pairs])
    status, out, _ = run("learn --model toy --gold g.jsonl", **{"g.jsonl": lines})
    assert status == 0
    assert told in out


def test_a_run_that_did_not_converge_says_so(run):
    status, _, err = run("learn --model toy --gold g.jsonl --lam 1e-300 --json", **{"g.jsonl": JSONL})
    assert status == 0
    assert "warning: not converged (pass-limit): the weights of the best primal met are taken" in err
    assert "not converged" not in run("learn --model toy --gold g.jsonl", **{"g.jsonl": JSONL})[2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--gold g.align", "g.align: links without their tokens; give --source and --target"),
        ("--gold g.align --source s", "--source and --target go together"),
        ("--gold g.align --source t --target t2", "t2"),
        ("--gold g.align --source s --target t --lam 0", "--lam 0: not above 0"),
        ("--gold g.align --source s --target t -o toy", "toy: is there already; give a new folder"),
        ("--gold g.align --source s --target t --model nothing", "nothing"),
    ],
)
def test_wrong_input_is_one_line(run, words, told):
    status, out, err = run(f"learn --model toy {words}", **TEXT, t2="le\n")
    assert (status, out) == (2, "")
    (line,) = [line for line in err.split("\n") if "error: " in line]
    assert told in line
