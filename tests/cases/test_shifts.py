"""Lines that do not stand beside their translations: named after the cases that were found."""

import json
import random
from pathlib import Path

import pytest

from align.core.errors import InputError
from align.data.bitext import open_bitext
from pipeline.run import checks as early
from pipeline.stages.preprocess import checks
from tests.align.data.line_signs import found, translations

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = [ROOT / "data" / "sample" / f"sample.{language}" for language in ("en", "fr")]


def shifted(lines, first, stop, by=1):
    """Return lines of which ``by`` are missing at ``first``, and as many too many at ``stop``."""
    return [*lines[:first], *lines[first + by : stop], *["Un mot de plus."] * by, *lines[stop:]]


def near(stretch, first, stop, shift):
    return stretch.shift == shift and abs(stretch.first - first) <= 3 and abs(stretch.stop - stop) <= 3


@pytest.mark.parametrize(
    ("lines", "first", "stop"),
    [(20000, 3000, 8000), (20000, 3000, 4000), (8000, 6000, 8000), (20000, 3000, 3100), (700, 300, 700)],
)
@pytest.mark.parametrize(("side", "by"), [(1, 1), (0, 1), (1, 3)])
def test_g15_a_stretch_that_is_shifted_is_found_with_its_ends_and_its_shift(lines, first, stop, side, by):
    sides = [*translations(lines)]
    sides[side] = shifted(sides[side], first, stop, by)
    stretches = found(*sides)
    assert len(stretches) == 1, stretches
    assert near(stretches[0], first, stop, -by if side == 1 else by), stretches


def test_g15_shifts_that_grow_and_go_back():
    source, target = translations(5000)
    target = shifted(target, 4000, 4500)
    target = shifted(target, 1000, 3000)
    target = shifted(target, 2000, 2600)
    one, two, again, other = found(source, target)
    assert near(one, 1000, 2000, -1)
    assert near(two, 2000, 2600, -2)
    assert near(again, 2600, 3000, -1)
    assert near(other, 4000, 4500, -1)


def test_g15_blocks_that_have_changed_places():
    source, target = translations(6000)
    target[2000:4000] = target[2700:4000] + target[2000:2700]
    one, other = found(source, target)
    assert near(one, 2000, 2700, 1300)
    assert near(other, 2700, 4000, -700)


def test_g15_lines_that_do_not_translate_each_other_are_strangers():
    source, target = translations(6000)
    target[3000:3500] = random.Random(1).sample(target[3000:3500], 500)
    (stretch,) = found(source, target)
    assert near(stretch, 3000, 3500, None)
    (all_of_it,) = found(source, translations(6000, seed=1)[1])
    assert near(all_of_it, 0, 6000, None)


def test_g15_a_text_as_it_should_be_has_no_alarm():
    for seed in range(5):
        assert found(*translations(3000, seed)) == []
    sides = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in SAMPLE]
    assert found(*sides) == []


@pytest.fixture
def sample(pipeline, tmp_path):
    """Return a function that preprocesses the sample, shifted in a range: (status, stderr, summary)."""
    source, target = (path.read_text(encoding="utf-8").split("\n")[:-1] for path in SAMPLE)

    def call(first, stop, *words):
        changed = shifted(target, first, min(stop, len(target)))[: len(source)]
        sides = {"a.en": source, "a.fr": changed}
        texts = {name: "".join(f"{line}\n" for line in lines) for name, lines in sides.items()}
        status, _, err = pipeline('files = ["a.en", "a.fr"]\n', "--stage", "preprocess", *words, **texts)
        summary = tmp_path / "w" / "c" / "latest" / "preprocess" / "summary.json"
        return status, err, json.loads(summary.read_text(encoding="utf-8")) if summary.exists() else None

    return call


def test_g15_the_sample_from_line_300_on_stops_the_run(sample):
    status, err, summary = sample(299, 10**6)
    assert (status, summary) == (2, None)
    message = err.split("error: ")[1]
    assert message.count("\n") == 1
    assert "a.en: " in message
    assert " to 710 (shift -1: source line N goes with target line N-1); look there for missing" in message
    assert message.endswith("or go on with them: --set corpus.shifted=report\n")
    line = int(message.split(": lines ")[1].split()[0])
    assert abs(line - 300) <= 3


def test_g15_a_run_that_is_told_to_goes_on_and_reports(sample):
    status, err, summary = sample(299, 10**6, "--set", "corpus.shifted=report")
    assert status == 0
    assert "seem not to stand beside their translations: lines" in err
    (stretch,) = summary["shifted"]
    assert (stretch["last"], stretch["shift"]) == (710, -1)
    assert abs(stretch["first"] - 300) <= 3
    assert sample(299, 10**6, "--set", "corpus.shifted=report", "--force", "--jobs", "2")[2] == summary


def test_g15_few_such_lines_are_only_reported_if_not_told_otherwise(sample, monkeypatch):
    monkeypatch.setattr(checks, "STOP_SHARE", 0.2)
    status, err, summary = sample(300, 400)
    assert (status, len(summary["shifted"])) == (0, 1)
    assert "(shift -1" in err
    assert sample(300, 400, "--set", "corpus.shifted=stop")[0] == 2


def test_g15_a_dry_run_looks_at_the_beginning(sample, monkeypatch, tmp_path):
    status, err, _ = sample(299, 10**6, "--dry-run")
    assert status == 2
    assert "(shift -1: source line N goes with target line N-1); look there" in err
    # It is not for the beginning of a longer text to say that it is too much.
    monkeypatch.setattr(early, "SHARD", 500)
    status, err, _ = sample(300, 400, "--dry-run")
    assert status == 0
    assert "a.en: at its beginning 1" in err
    assert " of 500 lines (2" in err
    assert sample(300, 400, "--dry-run", "--set", "corpus.shifted=stop")[0] == 2
    assert sample(300, 301, "--dry-run")[:2] == (0, "")
    assert not (tmp_path / "w").exists()


def test_g15_the_choice_is_one_of_two_words(sample):
    status, err, _ = sample(300, 400, "--set", "corpus.shifted=maybe")
    assert status == 2
    assert "corpus.shifted: 'maybe' is out of range; give one of stop, report" in err


def test_a08_files_of_different_lengths_name_both_counts_and_the_place(tmp_path):
    source, target = translations(1998, seed=2)
    paths = []
    for name, lines in (("s", source), ("t", [*target[:1200], *target[1201:]])):
        paths.append(tmp_path / name)
        paths[-1].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    message = r"s: 1998 lines, but .*t has 1997; the pairs seem shifted from about line (\d+) on: look there"
    with pytest.raises(InputError, match=message) as caught:
        list(open_bitext("files", paths))
    assert abs(int(str(caught.value).split("line ")[1].split()[0]) - 1201) <= 5
