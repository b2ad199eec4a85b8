"""The queue of pairs to correct: nothing that is said already, nor the same words once more."""

import time

from align.explorer import reading
from align.explorer.desk import Desk
from align.model.aligner import Aligner
from tests.align import toy

ROWS = [
    ("the house", "le maison"),
    ("see dog", "vois chien"),
    ("the house", "le maison"),
    ("big dog", "chien"),
]


def settled(desk):
    until = time.monotonic() + 60
    while desk.status()["linked"] < len(ROWS):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_pair_of_the_same_words_is_not_asked_for_again(tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    text = tmp_path / "pairs.tsv"
    text.write_text("".join(f"{source}\t{target}\n" for source, target in ROWS), encoding="utf-8")
    (tmp_path / "scratch").mkdir()
    desk = Desk(Aligner.load(tmp_path / "toy"), "toy", scratch=tmp_path / "scratch")
    try:
        desk.open(reading.Text("tsv", [str(text)], "pairs"), on_failure=lambda: None)
        desk.start(reading=True)
        settled(desk)
        first = desk.next_to_do("random", None)
        left = {pair for pair in range(1, len(ROWS) + 1) if ROWS[pair - 1] != ROWS[first - 1]}
        desk.edit(first, done=True)
        asked = []
        while (pair := desk.next_to_do("unsure", None)) is not None:
            asked.append(ROWS[pair - 1])
            desk.edit(pair, done=True)
        assert sorted(asked) == sorted({ROWS[pair - 1] for pair in left})
    finally:
        desk.close()
