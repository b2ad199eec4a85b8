"""Memory of a process and of those below it, seen from outside; killing in the middle of a stage."""

import sys
import time
from pathlib import Path

import pytest

from align.core.errors import WorkError
from benchmarks.process import Plan, Usage, environment, watch

SIZE = 100 << 20
HOLD = f"import time; x = b'1' * {SIZE}; time.sleep(0.7)"
# A process that holds as much as its child does, at the same time.
BOTH = (
    f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-S', '-c', {HOLD!r}]); {HOLD}; p.wait()"
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of other processes")


def run(program, tmp_path, **plan):
    return watch(
        [sys.executable, "-S", "-c", program], tmp_path / "log", environment(threads=1), Plan(**plan)
    )


@linux
def test_memory_is_the_sum_of_a_process_and_those_below_it(tmp_path):
    alone, _ = run(HOLD, tmp_path, poll=0.02)
    both, _ = run(BOTH, tmp_path, poll=0.02)
    assert SIZE < alone.usage.rss < 1.5 * SIZE
    assert 2 * SIZE < both.usage.rss < 2.5 * SIZE
    assert 2 * SIZE < both.usage.pss <= both.usage.rss
    assert both.usage.peak_memory < 1.5 * SIZE


def test_nobody_looks_unless_asked(tmp_path):
    watched, output = run("print('x')", tmp_path)
    assert (watched.usage.rss, watched.usage.pss, watched.stages, output) == (0, 0, {}, "x\n")


STAGES = """
import os, time
def stage(name, size):
    os.makedirs(f"{root}/{name}/1.partial")
    x = b"1" * size
    time.sleep(0.5)
    os.rename(f"{root}/{name}/1.partial", f"{root}/{name}/1")
stage("first", 50 << 20)
stage("second", 120 << 20)
print("done")
"""


def staged(tmp_path, poll=0.02, **plan):
    root = tmp_path / "work"
    folders = {name: str(root / name) for name in ("first", "second")}
    return run(STAGES.replace("{root}", str(root)), tmp_path, poll=poll, folders=folders, **plan)


@linux
def test_memory_is_told_by_stage(tmp_path):
    watched, output = staged(tmp_path)
    assert output == "done\n"
    assert 50 << 20 < watched.stages["first"]["rss"] < 100 << 20
    assert 120 << 20 < watched.stages["second"]["rss"] < 170 << 20
    assert watched.usage.rss == watched.stages["second"]["rss"]
    assert not watched.killed


@pytest.mark.parametrize("poll", [0.02, 0.0])
def test_a_run_is_killed_so_long_after_a_stage_began(tmp_path, poll):
    watched, _ = staged(tmp_path, poll=poll, kill=("second", 0.1))
    assert watched.killed.startswith("second after 0.1")
    assert bool(watched.stages) == bool(poll)
    assert (tmp_path / "work" / "first" / "1").is_dir()
    assert (tmp_path / "work" / "second" / "1.partial").is_dir()


@pytest.mark.parametrize("poll", [0.02, 0.0])
def test_a_run_that_takes_too_long_is_ended(tmp_path, poll):
    watched, _ = run("import time; time.sleep(60)", tmp_path, poll=poll, limit=0.3)
    assert watched.killed == "limit"
    assert (watched.usage.rss, watched.usage.pss) == (0, 0) or poll


@linux
def test_what_takes_too_long_leaves_no_process_behind(tmp_path):
    below = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)".replace(
        "'pid'", repr(str(tmp_path / "pid"))
    )
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {below!r}])"
    run(program, tmp_path, poll=0.02, limit=1.0)
    left = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    deadline = time.monotonic() + 10
    # Nobody may have waited for it yet: it is then a zombie, Z.
    while left.exists() and left.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_another_failure_is_one(tmp_path):
    with pytest.raises(WorkError, match="exit status 3"):
        run("import sys; sys.exit(3)", tmp_path, poll=0.02, kill=("second", 0.0))


def test_peaks_do_not_add_up():
    assert Usage(1, 1, 1, 5, 3) + Usage(1, 1, 1, 4, 4) == Usage(2, 2, 1, 5, 4)
