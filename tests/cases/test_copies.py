"""A corpus of a few pairs, some of them thousands of times: G20."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from align.statistics.posteriors import Posteriors
from pipeline.stages.label import stage as label
from pipeline.stages.preprocess.copies import CAP
from tests.runs import ROOT, digests, run

PAIRS, OFTEN, TIMES = 300, (7, 40), 3000


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run the statistics of each pair once, and of the text with two of them often, by one or two threads."""
    folder = tmp_path_factory.mktemp("copies")
    sides = [
        (ROOT / f"data/sample/sample.{end}").read_text(encoding="utf-8").split("\n") for end in ("en", "fr")
    ]
    often = np.random.default_rng(0).permutation(np.r_[np.arange(PAIRS), np.repeat(OFTEN, TIMES - 1)])
    rows = {"once": np.arange(PAIRS), "often": often}
    for name, places in rows.items():
        files = [folder / f"{name}.{end}" for end in ("en", "fr")]
        for side, path in zip(sides, files, strict=True):
            path.write_text("".join(f"{side[row]}\n" for row in places), encoding="utf-8")
        paths = json.dumps(list(map(str, files)))
        (folder / f"{name}.toml").write_text(
            f'[corpus]\nname = "sample"\nsource = "en"\ntarget = "fr"\nfiles = {paths}\n', encoding="utf-8"
        )
    for name, config, jobs in (("once", "once", 1), ("often", "often", 1), ("two", "often", 2)):
        words = ["--stage", "lexicon", "--set", "lexicon.chains=-1", "--jobs", str(jobs)]
        run(folder / f"{name}-work", "--config", str(folder / f"{config}.toml"), *words)
    return folder, rows


def latest(made, name, stage):
    return made[0] / f"{name}-work" / "sample" / "latest" / stage


def notes(made, name):
    return json.loads((latest(made, name, "lexicon") / "manifest.json").read_text(encoding="utf-8"))["notes"]


def test_g20_copies_are_sampled_and_scheduled_as_one_pair(made):
    once, often = notes(made, "once"), notes(made, "often")
    assert often["chains"] == once["chains"] == 14
    assert often["pairs_sampled"] == once["pairs_sampled"] == PAIRS
    # what the tables count
    assert (once["pairs"], often["pairs"]) == (PAIRS, PAIRS + len(OFTEN) * (CAP - 1))


def test_g20_all_copies_have_the_same_posteriors_and_the_others_those_without_copies(made):
    rows = made[1]["often"]
    found = {name: Posteriors.load(latest(made, name, "lexicon") / "posteriors/corpus") for name in made[1]}
    assert found["often"].sampled.all()
    for row in OFTEN:
        here = np.flatnonzero(rows == row)
        assert len(here) == TIMES
        copies = found["often"].take(here)
        assert (
            len({copies.edges[a:b].tobytes() + copies.forward[a:b].tobytes() for a, b in spans(copies)}) == 1
        )
    first = [int(np.flatnonzero(rows == row)[0]) for row in range(PAIRS) if row not in OFTEN]
    others = [row for row in range(PAIRS) if row not in OFTEN]
    once, often = likely(found["once"].take(np.array(others))), likely(found["often"].take(np.array(first)))
    assert 2 * len(once & often) > 0.95 * (len(once) + len(often))


def spans(posteriors):
    return zip(posteriors.offsets[:-1].tolist(), posteriors.offsets[1:].tolist(), strict=True)


def likely(posteriors):
    """The links that both directions take for more likely than not."""
    pair = np.repeat(np.arange(len(posteriors)), np.diff(posteriors.offsets))
    both = np.sqrt(posteriors.forward.astype(float) * posteriors.reverse) > 65535 / 2
    return set(zip(pair[both].tolist(), posteriors.edges[both].tolist(), strict=True))


def test_g20_the_same_bytes_for_any_jobs(made):
    one, two = (digests(made[0] / f"{name}-work", "lexicon") for name in ("often", "two"))
    assert one == two


def test_g20_no_pair_is_labelled_twice(made):
    context = SimpleNamespace(inputs={"preprocess": latest(made, "often", "preprocess")}, seed=0)
    sample = label._sample(context, 2000)
    assert sorted(made[1]["often"][sample].tolist()) == list(range(PAIRS))
