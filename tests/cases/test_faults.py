"""A few rounds of the harness of faults, and that it sees what goes wrong."""

import pytest

from tests.faults.__main__ import main
from tests.faults.ground import Ended
from tests.faults.judging import judge
from tests.faults.kinds import KINDS


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_after_faults_a_run_ends_well(monkeypatch, capsys):
    """Ten rounds, of as many kinds and stages as so few can have."""
    kinds = "kill,term,hang-up,disk-full,file-limit,read-only,no-memory,cut-file,torn,twice,moved,network"
    words = ["--rounds", "10", "--seed", "75", "--kinds", f"{kinds},unheard"]
    monkeypatch.setattr("sys.argv", ["tests.faults", *words])
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    status, told = main(), capsys.readouterr().out
    assert status == 0, told
    assert told.count("\n") == 10 + 1, told


class Staged:
    """A round whose results and second run are given."""

    stage, killed, hit, words = "align", False, "", ()

    def __init__(self, found, again=0, left=()):
        self.expected, self._found, self._again, self._left = {"align/links.txt": "a"}, found, again, left

    def calm(self):
        pass

    def found(self):
        return self._found

    def leftovers(self):
        return list(self._left)

    def calmly(self):
        return Ended(self._again, "")


@pytest.mark.parametrize(
    ("round_", "ended", "outcome"),
    [
        (Staged({"align/links.txt": "a"}), Ended(0, ""), "right finish"),
        (Staged({"align/links.txt": "b"}), Ended(0, ""), "silent change"),
        (Staged({}), Ended(0, ""), "silent change"),
        (Staged({"align/links.txt": "a"}), Ended(1, "error: align: the disk is full\n"), "clear error"),
        (Staged({"align/links.txt": "b"}), Ended(1, "error: align: the disk is full\n"), "wrong rerun"),
        (Staged({"align/links.txt": "a"}, left=["work/x.partial"]), Ended(2, "error: x\n"), "wrong rerun"),
        (Staged({}), Ended(1, "Traceback (most recent call last):\n"), "traceback"),
        (Staged({}), Ended(1, "error: unexpected X; this is a fault of the program\n"), "traceback"),
        (Staged({}), Ended(-11, ""), "unclear error"),
        (Staged({}), Ended(1, ""), "unclear error"),
        (Staged({"align/links.txt": "a"}), Ended(143, "interrupted\n", 15, 1.0), "stopped"),
        (Staged({"align/links.txt": "a"}), Ended(143, "interrupted\n", 15, 60.0), "too late"),
        (Staged({"align/links.txt": "a"}), Ended(0, "", None, 0.0, "left behind: x"), "wrong end"),
    ],
)
def test_how_a_round_is_judged(round_, ended, outcome):
    assert judge(round_, ended).outcome == outcome


def test_every_kind_says_what_it_is_and_hits_a_stage():
    assert all(kind.stages for kind in KINDS.values())
    assert {"kill", "disk-full", "read-only", "no-memory", "flipped-byte", "network"} <= set(KINDS)
