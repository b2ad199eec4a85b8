"""The plan of a run: pairs known or guessed, what each stage takes, and budgets too small for any."""

import re
from types import SimpleNamespace

import pytest

from pipeline.config import configuration as configs
from pipeline.run import graph
from pipeline.run.command import main
from pipeline.run.forecast import memory_lines
from pipeline.run.plan import Settings
from pipeline.work import budget
from pipeline.work import manifest as manifests

GB = 2**30


@pytest.fixture
def config(tmp_path):
    for code in ("en", "fr"):
        (tmp_path / f"a.{code}").write_text("some words of a line\n" * 200_000, encoding="utf-8")
    path = tmp_path / "a.toml"
    path.write_text(
        '[corpus]\nname = "a"\nsource = "en"\ntarget = "fr"\nfiles = ["a.en", "a.fr"]\n', encoding="utf-8"
    )
    return path


def lines(path, tmp_path, *overrides, memory=4 * GB, jobs=2, done=(), engine="local", workers=None):
    settings = Settings(tmp_path, None, jobs, memory, 0, processes=jobs)
    steps = [
        SimpleNamespace(stage=stage, folder=tmp_path / name, run=name not in done)
        for name, stage in graph.STAGES.items()
    ]
    config = configs.load(path, overrides, graph.SCHEMA)
    return memory_lines(config, steps, settings, engine=engine, workers=workers)


def test_every_stage_that_is_to_run_has_a_line(config, tmp_path):
    told = lines(config, tmp_path)
    assert "memory 4.0 GB, 2 jobs, engine local; 10 of 10 stages to run" in told[0]
    assert [line.split()[1] for line in told[1:]] == list(graph.STAGES)
    assert all(" about " in line for line in told[1:])


def test_pairs_are_guessed_by_the_size_of_the_text(config, tmp_path):
    pairs = int(lines(config, tmp_path)[0].split("about ")[1].split()[0])
    assert pairs == pytest.approx(200_000, rel=0.02)
    assert "about 500 pairs" in lines(config, tmp_path, "corpus.limit=500")[0]


def test_pairs_are_known_once_the_text_is_prepared(config, tmp_path):
    (tmp_path / "preprocess").mkdir()
    manifests.write(tmp_path / "preprocess", {"notes": {"pairs": 1234}})
    told = lines(config, tmp_path, done=("download", "preprocess"))
    assert told[0].startswith("plan: 1234 pairs; ")
    assert "8 of 10 stages" in told[0]
    assert len(told) == 9
    assert lines(config, tmp_path, done=tuple(graph.STAGES)) == []


@pytest.mark.parametrize(
    ("workers", "named"),
    [(8, "8 workers of the cluster"), (1, "1 worker of the cluster"), (None, "workers of the cluster")],
)
def test_on_a_cluster_its_workers_are_named_and_not_the_jobs_of_this_machine(
    config, tmp_path, workers, named
):
    told = lines(config, tmp_path, jobs=2, engine="dask", workers=workers)
    assert f"memory 4.0 GB, 2 jobs here, {named}, engine dask; 10 of 10" in told[0]
    by_stage = {line.split()[1]: line for line in told[1:]}
    for stage, size in (("preprocess", "0.25"), ("align", "0.24")):
        assert by_stage[stage].endswith(f"about {size} GB here; {named}")
    assert by_stage["lexicon"].endswith(f"all pairs; {named}")
    assert "at a time" not in "".join(told)
    assert named not in "".join(lines(config, tmp_path, workers=2))


@pytest.mark.parametrize(
    ("pairs", "jobs", "told"),
    [
        (1000, 1, "0.39 GB: 1"),
        (1000, 2, "0.63 GB: 2"),
        (20_000_000, 2, "1.6 GB: 2"),
        (100_000_000, 1, "5 GB: 1"),
    ],
)
def test_preprocess_keeps_something_of_each_pair(config, tmp_path, pairs, jobs, told):
    config.write_text(
        '[corpus]\nname = "a"\nsource = "en"\ntarget = "fr"\nurl = "https://x.org/a.tgz"\n', encoding="utf-8"
    )
    found = lines(config, tmp_path, f"corpus.limit={pairs}", jobs=jobs)
    (line,) = (line for line in found if " preprocess " in line)
    assert line.endswith(f"about {told} at a time")


@pytest.mark.parametrize("manifest", [{"notes": {}}, {}, None])
def test_pairs_that_nobody_noted_are_not_known(config, tmp_path, manifest):
    (tmp_path / "preprocess").mkdir()
    if manifest is not None:
        manifests.write(tmp_path / "preprocess", manifest)
    told = lines(config, tmp_path, done=("download", "preprocess"))
    assert told[0].startswith("plan: pairs not known; memory")
    assert "None" not in "".join(told)


def test_what_is_there_is_not_waited_for(config, tmp_path):
    """The pairs of a TMX file are known when it is read, not before its download."""
    config.write_text('[corpus]\nname = "a"\nsource = "en"\ntarget = "fr"\ntmx = "a.tmx"\n', encoding="utf-8")
    assert lines(config, tmp_path)[0].startswith("plan: pairs not known before the text is read; ")


def test_what_is_not_known_is_not_guessed(config, tmp_path):
    config.write_text(
        '[corpus]\nname = "a"\nsource = "en"\ntarget = "fr"\nurl = "https://x.org/a.tgz"\n', encoding="utf-8"
    )
    told = lines(config, tmp_path)
    assert told[0].startswith("plan: pairs not known before the download; ")
    assert "lexicon    memory told when the text is known" in told[4]
    assert "at most 70 pairs" in lines(config, tmp_path, "corpus.limit=70")[0]


def test_the_lexicon_says_what_it_learns_from(config, tmp_path):
    (all_pairs,) = (line for line in lines(config, tmp_path) if " lexicon " in line)
    assert re.search(r"about 0\.5\d GB: all pairs$", all_pairs)
    (chosen,) = (line for line in lines(config, tmp_path, "lexicon.pairs=900") if " lexicon " in line)
    assert chosen.endswith("a sample of 900 pairs")
    (forced,) = (line for line in lines(config, tmp_path, memory=GB // 2) if " lexicon " in line)
    assert "about 0.5 GB: a sample of some " in forced
    assert 20_000 < int(forced.split("some ")[1].split()[0]) < 200_000


def test_the_plan_is_told_before_anything_is_run(config, tmp_path, capsys):
    arguments = ["--config", str(config), "--workdir", str(tmp_path / "work"), "--stage", "download"]
    assert main([*arguments, "--dry-run", "--memory", "1G"]) == 0
    assert "plan: download   about" in capsys.readouterr().out
    assert main([*arguments, "--memory", "1G"]) == 0
    told = capsys.readouterr().err.split("\n")
    assert "plan: " in told[0]
    assert "download: running" in told[2]
    assert main([*arguments, "--memory", "1G", "--force", "--quiet"]) == 0
    assert "plan" not in capsys.readouterr().err


def test_a_budget_below_any_run_is_refused(config, capsys):
    assert main(["--config", str(config), "--dry-run", "--memory", "100M"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"--memory 100M: libraries and compiled code alone take {budget.BASE >> 20}.0 MB" in told
    assert f"give {budget.LEAST >> 20}M or more" in told


def test_fewer_processes_where_more_have_no_room(config, capsys):
    assert main(["--config", str(config), "--dry-run", "--memory", "900M", "--jobs", "16"]) == 0
    assert "16 jobs (room for 3 processes)" in capsys.readouterr().out
