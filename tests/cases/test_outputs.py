"""Where outputs go and what is said: streams and devices, full disks, a second run, the last lines."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from align.core.errors import InputError, WorkError
from align.core.files import byte_file, new_file, open_in_place, text_file
from align.data.tmx import read_tmx
from align.links import read_file
from align.model.shipped import find_model, find_weights
from pipeline.config.configuration import Config
from pipeline.run import command, results, runner
from pipeline.run.graph import STAGES
from pipeline.run.plan import Settings, plan
from pipeline.work.engine import Local
from pipeline.work.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
CONVERT = [sys.executable, "-m", "align", "convert", "--from", "pharaoh", "--to", "pharaoh"]
LEXICON = [sys.executable, "-m", "align", "lexicon", "--links", "links", "--source", "words"]
COMBINE = [sys.executable, "-m", "align", "combine", "--forward", "links"]
WRITERS = {
    "convert": [*CONVERT, "-i", "links"],
    "combine": [*COMBINE, "--reverse", "links", "--method", "union"],
    "lexicon": [*LEXICON, "--target", "words"],
}

needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="no /proc here")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "links").write_text("0-0\n", encoding="utf-8")
    (tmp_path / "words").write_text("a\n", encoding="utf-8")
    (tmp_path / "to-stdout").symlink_to("/dev/stdout")
    (tmp_path / "further").symlink_to("to-stdout")
    return tmp_path


def process(words, folder, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(words, check=False, cwd=folder, env=environment, timeout=60, **options)


# What a shell has written to the file before, and after, stays; so does the file itself.


@needs_proc
@pytest.mark.parametrize("name", WRITERS)
def test_g14_every_command_writes_to_the_stream_that_dev_stdout_is(folder, name):
    want = process(WRITERS[name], folder).stdout
    with open(folder / "out", "wb", buffering=0) as out:
        out.write(b"before\n")
        done = process([*WRITERS[name], "-o", "/dev/stdout"], folder, stdout=out)
        out.write(b"after\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert want
    assert (folder / "out").read_bytes() == b"before\n" + want + b"after\n"


@needs_proc
@pytest.mark.parametrize("path", ["/proc/self/fd/1", "/dev/fd/1", "/dev/../dev/fd/1", "to-stdout", "further"])
@pytest.mark.parametrize("piped", [False, True])
def test_g14_other_names_of_a_stream_and_links_to_them(folder, path, piped):
    words = [*CONVERT, "-i", "links", "-o", path]
    if piped:
        found = process(words, folder).stdout
    else:
        with open(folder / "out", "wb", buffering=0) as out:
            out.write(b"before\n")
            process(words, folder, stdout=out)
        found = (folder / "out").read_bytes().removeprefix(b"before\n")
    assert found == b"0-0\n"
    assert (folder / "to-stdout").is_symlink()


@needs_proc
def test_g14_any_descriptor_and_what_no_text_can_be_written_to(folder):
    with open(folder / "out", "wb", buffering=0) as out:
        out.write(b"before\n")
        number = out.fileno()
        words = [*CONVERT, "-i", "links", "-o", f"/dev/fd/{number}"]
        assert process(words, folder, pass_fds=[number]).returncode == 0
    assert (folder / "out").read_bytes() == b"before\n0-0\n"
    with open(folder / "links", "rb") as links:
        with pytest.raises(InputError, match=r"/dev/fd/\d+: open for reading only; name another file"):
            open_in_place(f"/dev/fd/{links.fileno()}")
        closed = links.fileno()
    with pytest.raises(InputError, match=r"/proc/self/fd/\d+: no such stream is open; name another file"):
        open_in_place(f"/proc/self/fd/{closed}")


@needs_proc
def test_g14_a_stream_of_another_process_is_written_on(folder):
    with open(folder / "out", "wb", buffering=0) as out:
        out.write(b"before\n")
        words = [*CONVERT, "-i", "links", "-o", f"/proc/{os.getpid()}/fd/{out.fileno()}"]
        assert process(words, folder).returncode == 0
    assert (folder / "out").read_bytes() == b"before\n0-0\n"


@pytest.mark.parametrize("linked", [False, True])
def test_g14_pipes_and_devices_are_written_to(folder, linked):
    os.mkfifo(folder / "pipe")
    (folder / "to-pipe").symlink_to("pipe")
    (folder / "to-null").symlink_to("/dev/null")
    words = [*CONVERT, "-i", "links", "-o"]
    with subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE) as reader:
        assert process([*words, "to-pipe" if linked else "pipe"], folder).returncode == 0
        assert reader.stdout.read() == b"0-0\n"
    assert (folder / "pipe").is_fifo()
    assert process([*words, "to-null" if linked else "/dev/null"], folder).returncode == 0
    assert Path("/dev/null").is_char_device()


def test_g14_regular_files_are_still_replaced_whole(folder):
    (folder / "to-links").symlink_to("links")
    assert open_in_place(str(folder / "to-links")) is None
    assert open_in_place(str(folder / "new")) is None
    old = os.stat(folder / "links").st_ino
    assert process([*CONVERT, "-i", "links", "-o", "to-links"], folder).returncode == 0
    assert (folder / "to-links").is_symlink()
    assert os.stat(folder / "links").st_ino != old


@needs_proc
def test_g14_links_and_scores_cannot_go_to_one_stream(run):
    words = "links --model m -i x -o - --sentence-scores"
    for name in ("-", "/dev/stdout"):
        status, _, err = run(f"{words} {name}", x="a\tb\n")
        assert (status, "given for two outputs; give each its own file" in err) == (2, True)


# The file and the cause.


@needs_dev_full
@pytest.mark.parametrize("linked", [False, True])
def test_g21_a_full_disk_is_told_of_the_output(folder, linked):
    (folder / "full").symlink_to("/dev/full")
    path = "full" if linked else "/dev/full"
    done = process([*CONVERT, "-i", "links", "-o", path], folder)
    told = f"error: {path}: No space left on device; free space or check the disk\n"
    assert (done.returncode, done.stderr.decode()) == (1, told)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_g21_a_limit_of_file_sizes_is_told_of_the_output(folder):
    (folder / "links").write_text("0-0 1-1\n" * 10_000, encoding="utf-8")
    done = process([*CONVERT, "-i", "links", "-o", "out"], folder, preexec_fn=small_files)
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "error: out: File too large; raise the limit (ulimit -f) or check the disk\n"
    )
    assert not [path for path in folder.iterdir() if path.name.startswith("out")]


@needs_dev_full
def test_g21_whatever_is_written_names_its_file(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    for opened, data in ((text_file, "x"), (byte_file, b"x")):
        with (
            pytest.raises(OSError, match=r"No space left on device: '.*/full'"),
            opened(tmp_path / "full") as out,
        ):
            out.write(data)
    with (
        pytest.raises(OSError, match="No space left on device: 'the file'"),
        text_file(tmp_path / "full", told="the file") as out,
    ):
        out.write("x")


def test_g21_a_new_file_is_told_by_its_own_name(tmp_path):
    path = tmp_path / "none" / "file"
    with pytest.raises(OSError, match=r"No such file or directory: '.*/none/file'"), new_file(path) as aside:
        byte_file(aside)


def test_g21_a_copy_that_does_not_fit_is_told_by_its_own_name(tmp_path):
    (tmp_path / "old").write_bytes(bytes(10_000))
    code = (
        "import os, pathlib; from align.core import files\n"
        "def refuse(*_): raise OSError\n"
        "os.copy_file_range = refuse; files.copy_file(pathlib.Path('old'), pathlib.Path('new'))"
    )
    done = process([sys.executable, "-c", code], tmp_path, preexec_fn=small_files)
    assert done.stderr.endswith(b"File too large: 'new'\n")


def test_g21_nothing_is_opened_to_write_without_a_name():
    """``write`` of a file that Python opens tells a full disk without saying of which file."""
    for path in [*(ROOT / "align").rglob("*.py"), *(ROOT / "pipeline").rglob("*.py")]:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            writes = any(f'"{mode}"' in line for mode in ("w", "wb", "a", "ab", "r+b", "rb+", "w+b"))
            plain = " open(" in line and writes and "naming(" not in line
            written = "write_text(" in line or "write_bytes(" in line
            inside = path.name == "arrays.py"  # each of its writers has ``naming`` around it
            assert inside or not (plain or written), f"{path}:{number}: {line.strip()}"


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "temporary").mkdir()
    return Settings(workdir=tmp_path / "work", tmp_dir=tmp_path / "temporary", jobs=1, memory=2**30, seed=0)


def go(settings, function, **options):
    """Run a stage of that function, and return its folder of links to results."""
    stages = {"train": Stage("train", function, **options)}
    config = Config(Path("tiny.toml"), {"corpus": {"name": "tiny"}, "train": {}}, frozenset())
    runner.run(plan(config, ["train"], stages, settings), config, settings, Local(1))
    return settings.workdir / "tiny" / "latest"


@needs_dev_full
@pytest.mark.parametrize(("place", "option"), [("scratch", "--tmp-dir"), ("folder", "--workdir")])
def test_g21_the_full_place_is_named_with_its_own_option(settings, place, option):
    def fill(context):
        """Write to a full disk."""
        full = getattr(context, place) / "full.txt"
        full.symlink_to("/dev/full")
        with text_file(full) as out:
            out.write("x")

    with pytest.raises(
        WorkError, match=rf"^train: the disk is full at .*/full.txt; free space, or give another {option}$"
    ):
        go(settings, fill)


def test_g21_an_error_that_names_no_file_is_told_of_the_fuller_disk(settings, monkeypatch):
    def fill(context):
        """Fail as compiled code does."""
        raise OSError(errno.ENOSPC, "No space left on device")

    class Disk:
        def __init__(self, path):
            self.free = 0 if str(path).endswith("temporary") else 10**9

    monkeypatch.setattr("pipeline.run.runner.shutil.disk_usage", Disk)
    with pytest.raises(WorkError, match="the disk is full at .*/temporary; .* --tmp-dir$"):
        go(settings, fill)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EFBIG, r"train: the file may not become so large here at /x; raise the limit \(ulimit -f\)"),
        (errno.EROFS, "train: the file system is read-only at /x; make it writable"),
        (errno.EDQUOT, "train: the quota on this disk is used up at /x; free space"),
    ],
)
def test_g21_other_causes_are_told_as_what_they_are(settings, number, told):
    def refuse(context):
        """Fail."""
        raise OSError(number, os.strerror(number), "/x")

    with pytest.raises(WorkError, match=f"^{told}, or give another --workdir and --tmp-dir$"):
        go(settings, refuse)


def test_g21_a_file_of_the_user_that_may_not_be_read_is_not_told_as_written(settings):
    def refuse(context):
        """Fail."""
        raise PermissionError(errno.EACCES, "Permission denied", "/x/corpus.en")

    with pytest.raises(PermissionError):
        go(settings, refuse)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_g21_a_work_folder_that_cannot_be_written_to_is_no_disk_without_locks(settings, monkeypatch, number):
    def refuse(self, timeout):
        raise OSError(number, os.strerror(number), self.lock_file)

    monkeypatch.setattr(results.FileLock, "acquire", refuse)
    with pytest.raises(WorkError, match="/tiny/lock: cannot be made: .* --workdir$") as found:
        go(settings, lambda context: None)
    assert "locks" not in str(found.value)


@pytest.mark.skipif(os.name != "posix" or not Path("/proc").exists(), reason="needs a read-only place")
def test_g21_a_work_folder_that_cannot_be_made(settings, monkeypatch):
    def refuse(self, **_):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(results.Path, "mkdir", refuse)
    with pytest.raises(WorkError, match="/tiny: cannot be made: the file system is read-only;.*--workdir"):
        go(settings, lambda context: None)


# A second run.


def test_g22_a_second_run_says_which_is_at_work(settings):
    root = settings.workdir / "tiny"
    code = (
        "import sys, pathlib; from pipeline.run.results import locked\n"
        f"with locked(pathlib.Path({str(root)!r})): print('held', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes) as holder:
        assert holder.stdout.readline() == b"held\n"
        told = (
            rf"another run is at work there \(process {holder.pid} on \S+, since "
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}\); wait for it to end, or give another --workdir$"
        )
        for _ in range(2):  # the first asking takes nothing away
            with pytest.raises(WorkError, match=told):
                go(settings, lambda context: None)
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
    assert (root / "lock.json").exists()
    go(settings, lambda context: None)
    assert not (root / "lock.json").exists()


@pytest.mark.parametrize("left", [None, b"", b"{}", b"\xff", b'{"pid": "x", "host": 1, "since": 2}'])
def test_g22_a_run_that_cannot_be_named_is_told_all_the_same(settings, left):
    root = settings.workdir / "tiny"
    with results.locked(root):
        (root / "lock.json").unlink()
        if left is not None:
            (root / "lock.json").write_bytes(left)
        with pytest.raises(WorkError, match="another run is at work there; wait for it to end"):
            go(settings, lambda context: None)


def test_g22_what_a_killed_run_left_names_nobody(settings):
    root = settings.workdir / "tiny"
    with results.locked(root):
        holder = json.loads((root / "lock.json").read_text(encoding="utf-8"))
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait(60)
        (root / "lock.json").write_text(json.dumps({**holder, "pid": ended.pid}), encoding="utf-8")
        with pytest.raises(WorkError, match="another run is at work there; wait for it to end"):
            go(settings, lambda context: None)


# Results that can be gone on with.


@pytest.mark.parametrize(
    ("given", "codes"), [("en-fr", ("en", "fr")), ("pt-BR,en", ("pt-BR", "en")), ("zh-Hant,sr-Latn", None)]
)
def test_g33_a_memory_names_its_languages_and_is_read_again(run, given, codes):
    codes = codes or tuple(given.split(","))
    words = f"convert --from pharaoh --to tmx --source s --target t -o m.tmx --languages {given}"
    assert run(words, stdin="0-0 1p1\n", s="le chat\n", t="the cat\n") == (0, "", "")
    assert f'srclang="{codes[0]}"' in Path("m.tmx").read_text(encoding="utf-8")
    (row,) = read_tmx(Path("m.tmx"), *codes)
    assert (row.source, row.target, row.problem) == ("le chat", "the cat", None)
    (pair,) = read_file("m.tmx", format="tmx")
    assert (pair.source, [tuple(link)[:2] for link in pair.links]) == (["le", "chat"], [(0, 0), (1, 1)])


def test_g33_a_memory_without_languages_is_told(run):
    words = "convert --from pharaoh --to tmx --source s --target t"
    status, out, err = run(words, stdin="0-0\n", s="le\n", t="the\n")
    assert (status, 'xml:lang="x-source"' in out) == (0, True)
    assert "give --languages en-fr for others to read it" in err


@pytest.mark.parametrize("given", ["en", "en-fr-de", "en,", "e n-fr", 'en"-fr', "en-en", "en-EN", "pt-BR-en"])
def test_g33_wrong_languages_are_wrong_usage(run, capsys, given):
    words = ["convert", "--from", "pharaoh", "--to", "tmx", "--languages", given]
    from align.cli.main import main

    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert "--languages: " in capsys.readouterr().err


def test_g33_languages_of_a_format_that_has_none(run):
    status, _, err = run("convert --from pharaoh --to wpt --languages en-fr -o out", stdin="0-0\n")
    assert (status, Path("out").exists()) == (2, False)
    assert err == "error: --languages: wpt does not name languages; leave it out (for tmx only)\n"


@pytest.mark.parametrize("given", ["latest", "", "latest/align", "latest/train/model.json", "train"])
def test_g33_a_folder_of_a_run_that_is_no_model_leads_to_the_one_that_is(tmp_path, given):
    for stage in ("train", "align"):
        (tmp_path / stage / "0123").mkdir(parents=True)
        (tmp_path / "latest").mkdir(exist_ok=True)
        (tmp_path / "latest" / stage).symlink_to(f"../{stage}/0123")
    (tmp_path / "train" / "0123" / "model.json").write_text("{}", encoding="utf-8")
    told = rf"^{tmp_path / given}: .*, but {tmp_path}/latest/train (is|does); give that folder$"
    for find in (find_model, find_weights):
        with pytest.raises(InputError, match=told):
            find(tmp_path / given)
    assert find_model(tmp_path / "latest" / "train") == tmp_path / "latest" / "train"


@pytest.mark.parametrize("given", ["latest", "nowhere"])
def test_g33_no_hint_where_there_is_no_model(tmp_path, given):
    (tmp_path / "latest").mkdir()
    with pytest.raises(InputError, match="is no model; give the folder|no such model; give a folder"):
        find_model(tmp_path / given)


@pytest.mark.parametrize("quiet", [False, True])
def test_g33_the_last_lines_of_a_run_say_where_its_results_are(settings, monkeypatch, capsys, quiet):
    settings = Settings(**{**vars(settings), "quiet": quiet})
    monkeypatch.chdir(settings.workdir.parent)

    def make(context):
        """Make a file."""
        context.result("a result")

    go(settings, make, shows=("model", ""))
    assert capsys.readouterr().out == "a result\n"
    go(settings, make, shows=("links", "links.txt"))
    told = capsys.readouterr()
    assert told.out == "a result\n"
    assert told.err.endswith("[tiny] links: work/tiny/latest/train/links.txt\n") is not quiet
    monkeypatch.chdir("/")
    go(settings, make, shows=("model", ""))
    here = settings.workdir / "tiny" / "latest" / "train"
    assert capsys.readouterr().err.endswith(f"[tiny] model: {str(here).removeprefix('/')}\n") is not quiet


def test_g33_links_model_and_page_are_what_is_said():
    shown = {name: stage.shows for name, stage in STAGES.items() if stage.shows}
    assert shown == {
        "train": ("model", ""),
        "align": ("links", "links.txt"),
        "inspect": ("page", "report.html"),
    }


def test_g21_a_fault_outside_the_stages_is_told_with_its_remedy(capsys):
    error = OSError(errno.EFBIG, "File too large", "/x/log.txt")
    assert command._tell(error, debug=False) == 1
    told = "error: /x/log.txt: File too large; raise the limit (ulimit -f) and run the command again\n"
    assert capsys.readouterr().err == told
