"""The frame of ``python -m align``: finding commands, exit status, streams, interrupts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import align
from align.cli import main as frame_module
from align.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = [sys.executable, "-m", "align"]


def process(words, **options):
    """Run a command in a process of its own."""
    options = {"cwd": ROOT, "capture_output": True, "timeout": 60, **options}
    return subprocess.run([*PROGRAM, *words], check=False, **options)


class TestFrame:
    def test_usage_errors_end_with_2(self, run):
        for words in (
            "",
            "--nonsense",
            "score",
            "score --gold g",
            "score --gold g --hyp h --revers",
        ):
            with pytest.raises(SystemExit) as end:
                run(words)
            assert end.value.code == 2

    @pytest.mark.parametrize(
        "words", ["--samples 0", "--samples x", "--seed -1", "--gold-base 2", "--hyp-format A3"]
    )
    def test_values_of_options_are_checked(self, run, words):
        with pytest.raises(SystemExit) as end:
            run(f"score --gold g --hyp h {words}", g="0-0\n", h="0-0\n")
        assert end.value.code == 2

    def test_help_names_every_command(self, run, capsys):
        with pytest.raises(SystemExit) as end:
            run("--help")
        text = capsys.readouterr().out
        assert end.value.code == 0
        assert all(command in text for command in COMMANDS)

    def test_a_missing_command_does_not_hinder_the_others(self, run, monkeypatch):
        monkeypatch.setitem(COMMANDS, "nowhere", "a command that is not there")
        status, out, err = run("nowhere --model x")
        assert (status, out) == (1, "")
        assert err == "error: nowhere: this installation does not have the command; install it again\n"
        assert run("score --gold g --hyp h", g="0-0\n", h="0-0\n")[0] == 0

    def test_a_missing_package_is_named(self, run, monkeypatch):
        def load(name):
            raise ModuleNotFoundError("No module named 'numba'", name="numba")

        monkeypatch.setattr(frame_module.importlib, "import_module", load)
        assert run("score")[2] == "error: score: the package numba is missing; pip install numba\n"

    @pytest.mark.parametrize(
        ("error", "status", "message"),
        [
            (PermissionError(13, "Permission denied", "f"), 2, "f: Permission denied; check the path"),
            (
                OSError(28, "No space left on device", "f"),
                1,
                "f: No space left on device; free space or check the disk",
            ),
            (
                UnicodeEncodeError("utf-8", "caf\udce9", 3, 4, "no"),
                2,
                r"'\udce9' in a name or a text is no character; give UTF-8",
            ),
            (MemoryError(), 1, "out of memory; give it less at once, or a machine with more"),
            (
                ImportError("x.so: cannot allocate memory in static TLS block"),
                1,
                "out of memory; give it less at once, or a machine with more",
            ),
            (KeyError("x"), 1, "internal fault: KeyError: 'x'; run with --debug and report it"),
        ],
    )
    def test_no_traceback_unless_asked_for(self, run, monkeypatch, error, status, message):
        def fail(args):
            raise error

        monkeypatch.setattr("align.cli.score.run", fail)
        assert run("score --gold g --hyp h") == (status, "", f"error: {message}\n")
        ended, _, err = run("score --gold g --hyp h --debug")
        assert (ended, "Traceback" in err, err.endswith(f"error: {message}\n")) == (status, True, True)
        assert "Traceback" in run("--debug score --gold g --hyp h")[2]

    def test_interrupted(self, run, monkeypatch):
        def fail(args):
            raise KeyboardInterrupt

        monkeypatch.setattr("align.cli.score.run", fail)
        assert run("score --gold g --hyp h") == (130, "", "")


class TestProcess:
    def test_the_version(self):
        done = process(["--version"])
        assert (done.returncode, done.stdout) == (0, f"liaison {align.__version__}\n".encode())

    def test_it_speaks_utf8_whatever_the_locale(self, tmp_path):
        text = '{"source": ["été"], "target": ["夏"], "links": [[0, 0]]}\n'
        for variables in ({"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
            environment = {**os.environ, "LC_ALL": "C", **variables}
            done = process(
                ["convert", "--from", "jsonl", "--to", "jsonl"], input=text.encode(), env=environment
            )
            assert (done.returncode, done.stderr) == (0, b"")
            assert "été" in done.stdout.decode("utf-8")
            done = process(
                ["convert", "--from", "wpt", "--to", "jsonl"], input="été\n".encode(), env=environment
            )
            assert (done.returncode, "'été' is not a wpt link" in done.stderr.decode("utf-8")) == (2, True)

    def test_a_reader_that_goes_away(self, tmp_path):
        (tmp_path / "links").write_bytes(b"0-0 1-1\n" * 100_000)
        words = [*PROGRAM, "convert", "--from", "pharaoh", "--to", "pharaoh", "-i", str(tmp_path / "links")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, cwd=ROOT, **pipes) as running:
            running.stdout.read(10)
            running.stdout.close()
            assert running.stderr.read() == b""
        assert running.returncode == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            options = {"input": b"0-0\n", "stdout": full, "stderr": subprocess.PIPE, "capture_output": False}
            done = process(["convert", "--from", "pharaoh", "--to", "pharaoh"], **options)
        expected = b"error: <stdout>: No space left on device; free space or check the disk\n"
        assert (done.returncode, done.stderr) == (1, expected)

    def test_an_interrupt_from_the_keyboard(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        words = ["convert", "--from", "pharaoh", "--to", "pharaoh", "-o", str(tmp_path / "pipe")]
        code = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"from align.cli.main import main; sys.exit(main({words!r}))"
        )
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes) as running:
            running.stdin.write(b"0-0\n")
            running.stdin.flush()
            try:
                # The pipe opens once the command is at work; it then waits for more input.
                with open(tmp_path / "pipe", "rb"):
                    running.send_signal(signal.SIGINT)
                    assert running.wait(60) == 130
            finally:
                running.kill()
            assert running.stderr.read() == b""

    @pytest.mark.skipif(os.name != "posix", reason="needs a shell")
    def test_closed_streams(self, tmp_path):
        words = " ".join([*PROGRAM, "convert", "--from", "pharaoh", "--to", "pharaoh"])
        for closed, message in (
            ("<&-", "<stdin>: closed; name a file, or feed the text in"),
            (">&- < /dev/null", "<stdout>: closed; name a file for the output"),
        ):
            done = subprocess.run(f"{words} {closed}", shell=True, cwd=ROOT, capture_output=True, check=False)
            assert done.returncode in (1, 2)
            assert done.stderr.decode() == f"error: {message}\n"
        command = f"echo 0-0 | {words} -o {tmp_path / 'links'} >&-"
        assert subprocess.run(command, shell=True, cwd=ROOT, check=False).returncode == 0
        assert (tmp_path / "links").read_bytes() == b"0-0\n"

    def test_a_device_is_written_to_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        words = ["convert", "--from", "pharaoh", "--to", "pharaoh", "-o", str(tmp_path / "pipe")]
        with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
            assert process(words, input=b"0-0\n").returncode == 0
            assert reader.stdout.read() == b"0-0\n"

    def test_starting_is_quick(self):
        """Nothing heavy is imported to score."""
        show = "import sys; print(*sys.modules)"
        code = f"from align.cli.main import main; main(['score', '--gold', 'g', '--hyp', 'g']); {show}"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
        loaded = {name.split(".")[0] for name in done.stdout.decode().split()}
        assert not loaded & {
            "numba",
            "pandas",
            "nltk",
            "scipy",
            "lxml",
            "matplotlib",
            "pyarrow",
            "requests",
            "dask",
        }
