"""Stages are run when needed, published whole, skipped when done; nothing made is lost."""

import errno
import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from align.core.errors import InputError, WorkError
from pipeline.config.configuration import Config
from pipeline.run import results, runner
from pipeline.run.plan import Settings, closure, plan
from pipeline.work.engine import Local
from pipeline.work.stage import Stage

calls: list[str] = []


def first(context, *, words: str = "a b"):
    """Write words."""
    calls.append("first")
    (context.folder / "words.txt").write_text(words + context.option("corpus.source"), encoding="utf-8")
    context.note("count", len(words.split()))


def second(context, *, times: int = 2):
    """Repeat the words."""
    calls.append("second")
    text = (context.inputs["first"] / "words.txt").read_text(encoding="utf-8")
    (context.folder / "out.txt").write_text(text * times + str(context.seed), encoding="utf-8")
    context.result(f"words {len(text)}")


def aside(context):
    """Need nothing."""
    calls.append("aside")


def slow(context):
    """Write a first half, wait, and write the rest."""
    begun = context.folder / "begun"
    resumed = begun.exists()
    begun.write_text("half", encoding="utf-8")
    if os.environ.get("LIAISON_TEST_WAIT"):
        time.sleep(60)
    (context.folder / "out.txt").write_text("resumed" if resumed else "fresh", encoding="utf-8")


STAGES = {
    "first": Stage("first", first, uses=("corpus.source",)),
    "second": Stage("second", second, needs=("first",), seeded=True),
    "aside": Stage("aside", aside),
    "slow": Stage("slow", slow),
    "resumed": Stage("resumed", slow, resumable=True),
}


def more(context, *, more: int = 0):
    """Write a number."""
    (context.folder / "out.txt").write_text(str(more), encoding="utf-8")


MORE = {"resumed": Stage("resumed", more, resumable=True)}


@pytest.fixture
def settings(tmp_path):
    calls.clear()
    return Settings(workdir=tmp_path / "work", tmp_dir=None, jobs=1, memory=2**30, seed=0)


def configuration(**changes):
    values = {
        "corpus": {"name": "tiny", "source": "en", "limit": None},
        "first": {"words": "a b"},
        "second": {"times": 2},
        "aside": {},
        "slow": {},
        "resumed": {},
    }
    for key, value in changes.items():
        section, name = key.split("__")
        values[section][name] = value
    return Config(Path("tiny.toml"), values, frozenset())


def go(settings, names, config=None, stages=STAGES, forced=()):
    config = config or configuration()
    calls.clear()
    steps = plan(config, closure(names, stages), stages, settings, forced=frozenset(forced))
    outcome = runner.run(steps, config, settings, Local(1))
    return steps, outcome


def latest(settings, stage):
    return settings.workdir / "tiny" / "latest" / stage


def test_a_stage_runs_what_it_needs_and_nothing_else(settings):
    _, outcome = go(settings, ["second"])
    assert calls == outcome.ran == ["first", "second"]
    assert (latest(settings, "second") / "out.txt").read_text(encoding="utf-8") == "a bena ben0"


def test_done_stages_are_skipped_and_their_results_told_again(settings, capsys):
    go(settings, ["second"])
    capsys.readouterr()
    _, outcome = go(settings, ["second"])
    assert calls == []
    assert outcome.skipped == ["first", "second"]
    shown = capsys.readouterr()
    assert shown.out == "words 5\n"
    assert "second: skipped, done (options, inputs and code unchanged)" in shown.err


def test_what_was_made_from_less_says_so_when_it_is_skipped(settings, capsys):
    def less(context, *, words: str = "a b"):
        """Note that something was left out."""
        context.note("incomplete", "5 of 9 pairs, for lack of memory (1 GB)")

    stages = {"first": Stage("first", less), "second": STAGES["second"]}
    go(settings, ["first"], stages=stages)
    capsys.readouterr()
    (step,), outcome = go(settings, ["first"], stages=stages)
    assert outcome.skipped == ["first"]
    told = (
        "options, inputs and code unchanged; made from 5 of 9 pairs, for lack of memory (1 GB); "
        "--from first makes it and what follows anew"
    )
    assert step.reason == told
    assert f"first: skipped, done ({told})" in capsys.readouterr().err


def test_an_option_makes_its_stage_and_what_follows_stale_with_the_reason(settings):
    go(settings, ["second", "aside"])
    steps, _ = go(settings, ["second", "aside"], configuration(first__words="c"))
    assert calls == ["first", "second"]
    reasons = {step.stage.name: (step.state, step.reason) for step in steps}
    assert reasons["first"] == ("stale", "first.words was 'a b', is 'c'")
    assert reasons["second"] == ("stale", "first changed")
    assert reasons["aside"][0] == "done"


def test_used_keys_of_other_sections_count_and_unused_do_not(settings):
    go(settings, ["first"])
    go(settings, ["first"], configuration(corpus__limit=5))
    assert calls == []
    go(settings, ["first"], configuration(corpus__source="de"))
    assert calls == ["first"]


def test_an_undeclared_key_cannot_be_read(settings):
    def nosy(context, *, words: str = ""):
        """Read what was not declared."""
        context.option("corpus.limit")

    with pytest.raises(KeyError):
        go(settings, ["first"], stages={"first": Stage("first", nosy)})


def test_old_results_stay_and_serve_again(settings):
    go(settings, ["second"])
    go(settings, ["second"], configuration(second__times=3))
    _, outcome = go(settings, ["second"])
    assert outcome.skipped == ["first", "second"]
    assert (latest(settings, "second") / "out.txt").read_text(encoding="utf-8") == "a bena ben0"


def test_latest_never_mixes_results_that_do_not_belong_together(settings):
    go(settings, ["second", "aside"])
    go(settings, ["first"], configuration(first__words="c"))
    assert not latest(settings, "second").exists()
    assert latest(settings, "aside").exists()
    steps, _ = go(settings, ["second"])
    assert calls == []
    assert latest(settings, "second").exists()
    assert [step.state for step in steps] == ["done", "done"]


def test_the_reason_is_told_though_latest_points_at_nothing(settings):
    go(settings, ["second"])
    go(settings, ["first"], configuration(first__words="c"))
    steps = plan(configuration(second__times=5), ["first", "second"], STAGES, settings)
    assert (steps[1].state, steps[1].reason) == ("stale", "second.times was 2, is 5")


def test_the_seed_counts_only_where_it_matters(settings):
    go(settings, ["second"])
    _, outcome = go(replace(settings, seed=7), ["second"])
    assert outcome.ran == ["second"]


@pytest.mark.parametrize("fault", ["cut", "gone"])
def test_a_damaged_result_is_made_again(settings, fault):
    go(settings, ["second"])
    words = latest(settings, "first") / "words.txt"
    whole = words.read_bytes()
    if fault == "cut":
        words.write_bytes(whole[:-1])
        reason = f"damaged: words.txt has {len(whole) - 1} bytes, not {len(whole)}"
    else:
        words.unlink()
        reason = "damaged: words.txt is missing"
    steps, _ = go(settings, ["second"])
    assert [(step.state, step.run) for step in steps] == [("stale", True), ("done", False)]
    assert steps[0].reason == reason
    assert calls == ["first"]
    assert words.read_bytes() == whole


def test_forced_stages_are_made_again(settings):
    go(settings, ["second"])
    _, outcome = go(settings, ["second"], forced=["second"])
    assert outcome.ran == ["second"]
    assert outcome.skipped == ["first"]
    assert not list((settings.workdir / "tiny" / "second").glob("*.replaced"))


def test_a_users_file_is_part_of_the_fingerprint(settings, tmp_path):
    file = tmp_path / "user.txt"
    file.write_text("one", encoding="utf-8")
    stages = {"aside": Stage("aside", aside, files=lambda config: [file])}
    go(settings, ["aside"], stages=stages)
    go(settings, ["aside"], stages=stages)
    assert calls == []
    file.write_text("three", encoding="utf-8")
    steps, _ = go(settings, ["aside"], stages=stages)
    assert calls == ["aside"]
    assert steps[0].reason == f"contents changed: {file}"


def test_manifests_say_what_a_result_was_made_from(settings):
    go(settings, ["second"])
    manifest = json.loads((latest(settings, "first") / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["ingredients"]["options"] == {"first.words": "a b", "corpus.source": "en"}
    assert manifest["notes"] == {"count": 2}
    assert manifest["seconds"] >= 0
    assert manifest["peak_memory"] > 2**20
    assert manifest["versions"]["python"]


def test_a_plan_touches_nothing(settings):
    plan(configuration(), closure(["second"], STAGES), STAGES, settings, remember=False)
    assert not settings.workdir.exists()


def test_a_failed_stage_publishes_nothing_and_keeps_what_was_done(settings):
    def fail(context, *, times: int = 2):
        """Fail half-way."""
        (context.folder / "half.txt").write_text("half", encoding="utf-8")
        raise InputError("file.en:3: odd; mend it")

    stages = {**STAGES, "second": Stage("second", fail, needs=("first",))}
    with pytest.raises(InputError, match="file.en:3: odd"):
        go(settings, ["second"], stages=stages)
    assert not latest(settings, "second").exists()
    assert latest(settings, "first").exists()
    _, outcome = go(settings, ["second"])
    assert outcome.skipped == ["first"]
    assert not list((settings.workdir / "tiny" / "second").glob("*.partial"))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/big"), "the disk is full at /big.*--tmp-dir"),
        (MemoryError(), "out of memory.*--memory"),
        (ImportError("lib.so: failed to map segment from shared object"), "out of memory.*--memory"),
    ],
)
def test_a_full_disk_or_memory_is_told_in_one_line(settings, error, told):
    def fail(context):
        """Fail."""
        raise error

    with pytest.raises(WorkError, match=told):
        go(settings, ["aside"], stages={"aside": Stage("aside", fail)})


def test_a_second_run_on_the_same_folder_is_refused(settings):
    (settings.workdir / "tiny").mkdir(parents=True)
    with (
        results.locked(settings.workdir / "tiny"),
        pytest.raises(WorkError, match="another run is at work there.*--workdir"),
    ):
        go(settings, ["first"])


def test_a_disk_without_locks_is_told(settings, monkeypatch):
    def refuse(self, timeout):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(results.FileLock, "acquire", refuse)
    with pytest.raises(
        WorkError, match=r"cannot be locked \(No locks available\); give a --workdir on a disk"
    ):
        go(settings, ["first"])


def test_what_a_network_disk_keeps_of_a_removed_file_is_no_result(settings):
    """It goes by itself when it is closed, and the result is not damaged then."""

    def leave(context, *, words: str = ""):
        """Leave a ghost."""
        (context.folder / "out.txt").write_text("x", encoding="utf-8")
        (context.folder / ".nfs0001").write_text("x", encoding="utf-8")

    stages = {"first": Stage("first", leave)}
    go(settings, ["first"], stages=stages)
    (latest(settings, "first") / ".nfs0001").unlink()
    (step,), _ = go(settings, ["first"], stages=stages)
    assert step.state == "done"


def _run_stage(name, settings):
    config = configuration()
    steps = plan(config, [name], STAGES, settings)
    runner.run(steps, config, settings, Local(1))


@pytest.mark.parametrize(("name", "content"), [("slow", "fresh"), ("resumed", "resumed")])
def test_a_killed_stage_is_made_again_or_goes_on(settings, monkeypatch, name, content):
    monkeypatch.setenv("LIAISON_TEST_WAIT", "1")
    run = multiprocessing.get_context("fork").Process(target=_run_stage, args=(name, settings))
    run.start()
    folder = settings.workdir / "tiny" / name
    deadline = time.monotonic() + 30
    while not list(folder.glob("*.partial/begun")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGKILL)
    run.join()
    assert not latest(settings, name).exists()
    # A kill while a file is written leaves that.
    (half,) = (path / f"out.{'0' * 32}" for path in folder.glob("*.partial"))
    half.mkdir()
    (half / f"manifest.json.{'1' * 32}").touch()
    monkeypatch.delenv("LIAISON_TEST_WAIT")
    steps, _ = go(settings, [name])
    assert steps[0].reason == "never made to the end"
    assert (latest(settings, name) / "out.txt").read_text(encoding="utf-8") == content
    assert not list(folder.glob("*.partial"))
    assert not list(folder.rglob("out.*[01]"))


@pytest.mark.parametrize("done", [True, False])
def test_forcing_a_resumable_stage_begins_afresh(settings, done):
    go(settings, ["resumed"])
    left = latest(settings, "resumed").resolve()
    partial = left.with_name(left.name + ".partial")
    if done:
        partial.mkdir()
    else:
        left.rename(partial)
        (partial / "manifest.json").unlink()
    (partial / "begun").write_text("half", encoding="utf-8")
    go(settings, ["resumed"], forced=["resumed"])
    assert (latest(settings, "resumed") / "out.txt").read_text(encoding="utf-8") == "fresh"


def test_unfinished_folders_of_other_options_go_when_the_stage_is_done(settings, capsys):
    """Those that nobody will go on with; finished results, and other stages' folders, stay."""
    go(settings, ["resumed", "first"])
    done = latest(settings, "resumed").resolve()
    unfinished = [done.with_name(f"{number}.partial") for number in (1, 2)]
    elsewhere = latest(settings, "first").resolve().with_name("3.partial")
    for folder in (*unfinished, elsewhere):
        (folder / "below").mkdir(parents=True)
        (folder / "below" / "half").write_bytes(bytes(1_500_000))
    go(settings, ["resumed"])  # done: nothing is looked at
    assert all(folder.exists() for folder in unfinished)
    capsys.readouterr()
    go(replace(settings, quiet=False), ["resumed"], configuration(resumed__more=1), MORE)
    assert (
        "resumed: removed what unfinished runs with other options or another version had left (3.0 MB)"
        in (capsys.readouterr().err)
    )
    assert sorted(path.name for path in done.parent.iterdir()) == sorted(
        {done.name, latest(settings, "resumed").resolve().name}
    )
    assert elsewhere.exists()
    go(settings, ["resumed"], configuration(resumed__more=2), MORE)
    assert "removed what" not in capsys.readouterr().err


def test_what_is_unfinished_stays_while_its_stage_fails(settings):
    def fail(context, *, more: int = 0):
        """Fail."""
        raise InputError("file.en:3: odd; mend it")

    go(settings, ["resumed"], configuration(resumed__more=1), MORE)
    other = latest(settings, "resumed").resolve().with_name("1.partial")
    other.mkdir()
    stages = {"resumed": replace(MORE["resumed"], run=fail)}
    with pytest.raises(InputError):
        go(settings, ["resumed"], configuration(resumed__more=2), stages)
    assert other.exists()


def stopping(name):
    """Stages of which one is stopped by the user while it is at work."""

    def stop(context, **options):
        """Be stopped."""
        raise KeyboardInterrupt

    return {**STAGES, name: replace(STAGES[name], run=stop)}


@pytest.mark.parametrize(
    ("done", "stage", "forced", "begins_anew", "left", "first"),
    [
        ([], "second", [], False, False, True),
        ([], "first", ["second"], False, False, True),  # no forced one was begun
        ([], "second", ["first", "second"], True, False, False),
        (["second"], "first", ["first", "second"], True, True, True),
        (["first"], "second", ["first", "second"], True, False, False),
        (["second"], "second", ["second"], True, True, True),
    ],
)
def test_an_interruption_tells_what_the_same_command_would_do(
    settings, done, stage, forced, begins_anew, left, first
):
    stages = stopping(stage)
    if done:
        # made by the same code: that of the module
        go(settings, done, stages=STAGES)
    with pytest.raises(runner.Interrupted) as raised:
        go(settings, ["second"], stages=stages, forced=forced)
    found = raised.value
    assert (found.stage, found.forced, found.left, found.first) == (stage, begins_anew, left, first)


def test_the_log_keeps_every_line(settings):
    go(replace(settings, quiet=True), ["first"])
    log = (settings.workdir / "tiny" / "log.txt").read_text(encoding="utf-8")
    assert "first: running (never made)" in log
    assert "first: done in" in log
