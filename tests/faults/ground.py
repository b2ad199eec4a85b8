"""The undisturbed run that disturbed ones are compared with, and what a round of a fault is given."""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pipeline.run.graph import STAGES
from pipeline.run.plan import closure
from tests import prepared
from tests.pipeline.site import Site
from tests.runs import ROOT, command, digests, run, without

PAIRS, GOLD = 300, 60
LINKS = "links"
EVERY = (*STAGES, LINKS)
STOPS = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}

# Two seconds are promised to whom a signal is sent; another program may have the machine.
IN_TIME = 8.0

# A command that takes longer hangs.
LIMIT = 240.0

# What a run leaves while it is at it, and never after it.
LEFTOVER = re.compile(r"\.partial$|\.replaced$|\.[0-9a-f]{32}$|^liaison-|\.part$|^lock\.json$")

CORPUS = '[corpus]\nname = "sample"\nsource = "en"\ntarget = "fr"\n'
FILES = f'{CORPUS}files = ["text.en", "text.fr"]\n[gold]\nfiles = ["gold.en", "gold.fr"]\n'
FILES += 'links = "gold.align"\ntrain = 30\n'
PLACES = ("/en-fr.tgz", "/en.vec", "/fr.vec", "/en-fr.tsv")
NET = (
    f'{CORPUS}url = "{{0}}{PLACES[0]}"\n[vectors]\nsource = "{{0}}{PLACES[1]}"\n'
    f'target = "{{0}}{PLACES[2]}"\ndictionary = "{{0}}{PLACES[3]}"\n'
    "[download]\nretries = 1\ntimeout = 1.0\nbackoff = 0.0\n"
)


@dataclass
class Ended:
    """How a command ended; ``wrong``: what a fault itself has seen go wrong."""

    status: int
    said: str
    sent: int | None = None  # the signal that it was sent
    seconds: float = 0.0  # from then
    wrong: str = ""


class Ground:
    """Texts, the finished run of them in ``done``, and its results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts = folder / "texts"
        self.texts.mkdir(parents=True)
        sample = ROOT / "data" / "sample"
        for name, count in (("text", PAIRS), ("gold", GOLD)):
            for end in ("en", "fr", "align"):
                whole = sample / f"{name.replace('text', 'sample')}.{end}"
                if whole.exists():
                    lines = whole.read_bytes().split(b"\n")[:count]
                    (self.texts / f"{name}.{end}").write_bytes(b"\n".join(lines) + b"\n")
        self.config = self.texts / "sample.toml"
        self.config.write_text(FILES, encoding="utf-8")
        sides = [(self.texts / f"text.{end}").read_bytes().split(b"\n")[:-1] for end in ("en", "fr")]
        rows = b"".join(b"%s\t%s\n" % pair for pair in zip(*sides, strict=True))
        self.rows = folder / "rows.tsv"
        self.rows.write_bytes(rows * 10)
        self.done = folder / "done"
        self.digests = self.made(self.done, anew=True)
        self.seconds = self._seconds()
        round_ = Round(self, LINKS, random.Random(0), folder / "links")
        begun = time.monotonic()
        round_.prepare()
        assert round_.go().status == 0
        self.seconds[LINKS] = time.monotonic() - begun
        self.links = round_.found()

    def close(self) -> None:
        """End the web server, if one was needed."""
        if "site" in vars(self):
            self.site.close()

    def made(self, work: Path, *words: str, anew: bool = False) -> dict[str, str]:
        """Run everything undisturbed; return the results' hashes."""
        words = words or ("--config", str(self.config))
        run(work, "--jobs", "1", *words, anew=anew)
        return digests(work)

    def _seconds(self) -> dict[str, float]:
        told = (self.done / "sample" / "log.txt").read_text(encoding="utf-8")
        return {name: float(found) for name, found in re.findall(r"(\w+): done in ([\d.]+) s", told)}

    @cached_property
    def changed(self) -> dict[str, str]:
        """The hashes of a run of the changed text."""
        with self.other_text():
            return self.made(self.folder / "changed")

    def other_text(self) -> "OtherText":
        """Return a block in which one word of the text is another, of as many letters."""
        return OtherText(self.texts / "text.en")

    @cached_property
    def site(self) -> Site:
        """A web server with all that the configuration ``net.toml`` names."""
        os.environ["NO_PROXY"] = "127.0.0.1"
        site = Site()
        archive = self.folder / "en-fr.tgz"
        with tarfile.open(archive, "w:gz") as out:
            for end in ("en", "fr"):
                out.add(self.texts / f"text.{end}", f"text.fr-en.{end}")
        site.add(PLACES[0], archive.read_bytes())
        chance = random.Random(0)
        for place, end in zip(PLACES[1:3], ("en", "fr"), strict=True):
            words = sorted(set((self.texts / f"text.{end}").read_text(encoding="utf-8").split()))
            rows = [f"{word} {chance.random():.3f} {chance.random():.3f}" for word in words]
            site.add(place, ("\n".join(rows) + "\n").encode(), content_type="text/plain")
        site.add(PLACES[3], b"the\tle\nand\tet\n" * 50, content_type="text/plain")
        (self.texts / "net.toml").write_text(NET.format(site.address), encoding="utf-8")
        return site

    @cached_property
    def fetched(self) -> dict[str, str]:
        """The hashes of what is fetched from the site where nothing is broken."""
        assert self.site.resources
        return self.made(
            self.folder / "fetched", "--stage", "download", "--config", str(self.texts / "net.toml")
        )


@dataclass
class OtherText:
    """Puts another word into a text file, and the old one back; the size stays, the time if asked for."""

    path: Path
    same_time: bool = False

    def __enter__(self) -> None:
        self.before, self.when = self.path.read_bytes(), self.path.stat().st_mtime_ns
        assert b" the " in self.before
        self.path.write_bytes(self.before.replace(b" the ", b" teh ", 5))
        if self.same_time:
            os.utime(self.path, ns=(self.when, self.when))

    def __exit__(self, *error: object) -> None:
        self.path.write_bytes(self.before)
        os.utime(self.path, ns=(self.when, self.when))


@dataclass
class Round:
    """One fault at one stage: a copy of the finished run without that stage, to disturb.

    ``expected``: the hashes that are right after the disturbed run, None where either may be; ``undo``: what
    ends the disturbance before the command is run again; ``last``: what is to be done at the very end;
    ``hit``: what exactly was disturbed.
    """

    ground: Ground
    stage: str
    chance: random.Random
    folder: Path
    words: list[str] = field(default_factory=list)
    expected: dict[str, str] | None = None
    undo: list[Callable[[], object]] = field(default_factory=list)
    last: Callable[[], object] = lambda: None
    hit: str = ""
    name: str = "work"  # of the work folder
    killed: bool = False  # so that nothing could be tidied up
    _writer: subprocess.Popen | None = None

    def calm(self) -> None:
        """End the disturbance."""
        while self.undo:
            self.undo.pop()()

    @property
    def scratch(self) -> Path:
        """The folder of temporary files."""
        return self.folder / "scratch"

    @property
    def out(self) -> Path:
        """Where ``links`` writes."""
        return self.folder / "out"

    @property
    def work(self) -> Path:
        """The work folder."""
        return self.folder / self.name

    @property
    def place(self) -> Path:
        """The folder that the command writes its results to."""
        return self.out if self.stage == LINKS else self.work

    def prepare(self) -> None:
        """Make the copy."""
        for each in (self.scratch, self.out):
            each.mkdir(parents=True)
        if self.stage == LINKS:
            latest = self.ground.done / "sample" / "latest"
            shutil.copytree(latest / "train", self.folder / "model", symlinks=True)
            self.expected = getattr(self.ground, "links", None)
        else:
            without(self.stage, self.ground.done, self.folder)
            self.expected = self.of_stages(self.ground.digests)
            self.words = ["--stage", self.stage, "--config", str(self.ground.config)]

    def of_stages(self, found: dict[str, str]) -> dict[str, str]:
        """Return the hashes of this stage and those that it needs."""
        names = closure([self.stage], STAGES)
        return {name: value for name, value in found.items() if name.split("/")[0] in names}

    def found(self) -> dict[str, str]:
        """Return the hashes of what the command has left."""
        if self.stage == LINKS:
            files = [path for path in self.out.iterdir() if not LEFTOVER.search(path.name)]
            return {path.name: path.read_text(encoding="utf-8") for path in files}
        return self.of_stages(digests(self.work))

    def line(self) -> list[str]:
        """Return the command."""
        if self.stage != LINKS:
            return command(self.work, "--jobs", "1", "--tmp-dir", str(self.scratch), *self.words)
        files = ["-i", str(self.ground.rows), "-o", str(self.out / "links")]
        files += ["--sentence-scores", str(self.out / "scores"), "--model", str(self.folder / "model")]
        return [sys.executable, "-m", "align", "links", *files]

    def start(self, before=lambda: None, *, stderr=None) -> subprocess.Popen:
        """Start the command; ``before`` is called in the new process."""

        def prepare() -> None:
            for number in STOPS - {signal.SIGKILL}:
                signal.signal(number, signal.SIG_DFL)
            before()

        with contextlib.ExitStack() as stack:
            if stderr is None:
                # By way of another process: a limit to the size of files is not for what is said.
                said = stack.enter_context(open(self.folder / "said", "wb"))
                self._writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=said)
                stderr = stack.enter_context(self._writer.stdin)
            return subprocess.Popen(
                self.line(), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=stderr, preexec_fn=prepare,
                start_new_session=True,
            )  # fmt: skip

    def finish(self, process: subprocess.Popen, sent: int | None = None) -> Ended:
        """Wait for its end."""
        begun, wrong = time.monotonic(), ""
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            wrong = "hangs"
            process.kill()
            process.wait()
        if self._writer is not None:
            self._writer.wait(LIMIT)
        self.killed |= process.returncode == -signal.SIGKILL
        said = (self.folder / "said").read_text(encoding="utf-8", errors="replace")
        return Ended(process.returncode, said, sent, time.monotonic() - begun, wrong)

    def go(self, before=lambda: None) -> Ended:
        """Run the command to its end."""
        return self.finish(self.start(before))

    def calmly(self) -> Ended:
        """Run the command to its end, undisturbed, in a copy of the prepared process."""
        done = prepared.run(self.line()[1:], cwd=ROOT, timeout=LIMIT)
        return Ended(done.returncode, done.stderr)

    def at_work(self, process: subprocess.Popen) -> None:
        """Wait for a random moment: most often of the stage's work, else of the program's start."""
        if self.chance.random() < 0.2:
            time.sleep(self.chance.uniform(0.2, 2.0))
            return
        sign = f"{self.stage}: running".encode()
        place = self.folder / "said"
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            there = any(self.out.iterdir()) if self.stage == LINKS else sign in place.read_bytes()
            if there:
                break
            time.sleep(0.005)
        time.sleep(self.chance.uniform(0.0, min(self.ground.seconds.get(self.stage, 1.0), 4.0)))

    def leftovers(self) -> list[str]:
        """Return what lies about that no finished run leaves."""
        return sorted(
            str(path.relative_to(self.folder))
            for place in (self.work, self.scratch, self.out)
            for path in place.rglob("*")
            if LEFTOVER.search(path.name)
        )
