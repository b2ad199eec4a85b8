"""The table of faults: each is a function of a round that disturbs one command and returns how it ended."""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.run.graph import STAGES
from tests.faults.ground import EVERY, LINKS, PLACES, Ended, OtherText, Round

MADE = tuple(name for name in STAGES if name != "download")


class NotHere(Exception):
    """This system does not let the fault be made."""


@dataclass(frozen=True)
class Kind:
    """A fault and the stages that it can hit."""

    disturb: Callable[[Round], Ended]
    stages: tuple[str, ...] = EVERY


def stopped(number: int, round_: Round) -> Ended:
    """Send a signal at a random moment."""
    process = round_.start()
    round_.at_work(process)
    process.send_signal(number)
    ended = round_.finish(process, sent=number)
    if number != signal.SIGKILL:
        # What can be gone on with stays in the work folder.
        left = [name for name in round_.leftovers() if not name.startswith("work")]
        ended.wrong = ended.wrong or (f"left behind: {left[0]}" if left else "")
    return ended


def full(round_: Round) -> Ended:
    """Let the disk of the results, or that of temporary files, be full at some point."""
    place = round_.chance.choice([round_.place, round_.scratch])
    kept = round_.folder / "kept"
    place.rename(kept)
    place.mkdir()
    used = sum(path.stat().st_size + 4096 for path in kept.rglob("*"))
    size = used + round_.chance.randrange(4096, 2_000_000)

    def mount(*words: str) -> int:
        done = subprocess.run(["mount", "-t", "tmpfs", *words, "tmpfs", str(place)], capture_output=True)
        return done.returncode

    if mount("-o", f"size={size}"):
        raise NotHere("a small disk cannot be mounted")

    def undo() -> None:
        mount("-o", "remount,size=1G")

    round_.undo += [undo]
    round_.last = partial(subprocess.run, ["umount", "-l", str(place)], check=True)
    shutil.copytree(kept, place, symlinks=True, dirs_exist_ok=True)
    return round_.go()


def limited(round_: Round) -> Ended:
    """Let no file become larger than a random size."""
    size = int(10 ** round_.chance.uniform(0, 6))
    return round_.go(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


def without_rights() -> None:
    """Let permissions count for root, too: give up the capabilities to pass over them (prctl.h)."""
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def read_only(round_: Round) -> Ended:
    """Take away the right to write in one of the folders that are written to."""
    places = [round_.place, round_.scratch]
    if round_.stage != LINKS:
        corpus = round_.work / "sample"
        places += [corpus, corpus / "latest", *[path for path in corpus.iterdir() if path.is_dir()]]
    place = round_.chance.choice(places)
    every = round_.chance.random() < 0.5
    modes = {path: path.stat().st_mode for path in [place, *place.rglob("*")] if not path.is_symlink()}
    for path, mode in modes.items():
        if path == place or every:
            path.chmod(mode & ~0o222)

    def undo() -> None:
        for path, mode in modes.items():
            with contextlib.suppress(FileNotFoundError):
                path.chmod(mode)

    round_.undo += [undo]
    return round_.go(without_rights)


def no_memory(round_: Round) -> Ended:
    """Let the process have no more than a random part of the address space it wants."""
    size = int(round_.chance.uniform(0.1e9, 2e9))
    return round_.go(lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))


def damaged(cut: bool, round_: Round) -> Ended:
    """Change one byte of a file that the stage finds, or cut the file."""
    damage(round_, [round_.folder / "model"] if round_.stage == LINKS else results(round_), cut=cut)
    return round_.go()


def results(round_: Round) -> list[Path]:
    """Return the folders of the stages before."""
    latest = round_.work / "sample" / "latest"
    return [path.resolve() for path in sorted(latest.iterdir())]


def damage(round_: Round, folders: list[Path], *, cut: bool) -> None:
    """Damage one file in the folders; what the model's copy was is put back before the second run."""
    files = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    files = [path for path in files if path.stat().st_size]
    if not files:
        raise NotHere("there is no file to damage")
    path = round_.chance.choice(files)
    data = bytearray(path.read_bytes())
    whole = bytes(data)
    at = round_.chance.randrange(len(data))
    if cut:
        del data[at:]
    else:
        data[at] ^= 1 << round_.chance.randrange(8)
    # A new file: results of several stages may be one by hard links.
    path.unlink()
    path.write_bytes(data)
    round_.hit = f"{path.relative_to(round_.folder)} at {at} of {len(whole)}"
    if round_.stage == LINKS:
        round_.undo += [lambda: path.write_bytes(whole)]


def torn(round_: Round) -> Ended:
    """Kill a run and damage a file that it was making, as a power cut does."""
    process = round_.start()
    round_.at_work(process)
    process.kill()
    round_.finish(process)
    corpus = round_.work / "sample"
    damage(round_, list((corpus / round_.stage).glob("*.partial")), cut=round_.chance.random() < 0.5)
    return round_.go()


def changed(round_: Round) -> Ended:
    """Change the text after the stages before were made; at times with size and time as before."""
    expected = round_.of_stages(round_.ground.changed)
    other = OtherText(round_.ground.texts / "text.en", same_time=round_.chance.random() < 0.5)
    round_.hit = f"time {'as before' if other.same_time else 'new'}"
    other.__enter__()
    round_.undo += [other.__exit__, partial(setattr, round_, "expected", round_.expected)]
    round_.expected = expected
    return round_.go()


def changing(round_: Round) -> Ended:
    """Change the text while the stage is at work: the next run must see it."""
    expected = round_.of_stages(round_.ground.changed)
    process = round_.start()
    round_.at_work(process)
    other = OtherText(round_.ground.texts / "text.en")
    other.__enter__()
    round_.last = other.__exit__
    round_.expected, ended = None, round_.finish(process)
    round_.undo += [partial(setattr, round_, "expected", expected)]
    return ended


def twice(round_: Round) -> Ended:
    """Run it twice at once: one does the work, the other is refused, or comes when it is done."""
    first = round_.start()
    if round_.chance.random() < 0.7:
        round_.at_work(first)
    said = round_.folder / "said.second"
    with open(said, "wb") as heard:
        second = round_.start(stderr=heard)
    second.wait()
    ended = round_.finish(first)
    ended.said += said.read_text(encoding="utf-8")
    statuses = sorted([ended.status, second.returncode])
    ended.status = 0
    if statuses not in ([0, 0], [0, 1]) or (statuses[1] and "another run is at work" not in ended.said):
        ended.wrong = f"statuses {statuses}"
    return ended


def moved(round_: Round) -> Ended:
    """Move the work folder, at times after a kill, and run there."""
    if round_.chance.random() < 0.5:
        process = round_.start()
        round_.at_work(process)
        process.kill()
        round_.finish(process)
    before = round_.work
    round_.name = "moved"
    before.rename(round_.work)
    return round_.go()


def network(round_: Round) -> Ended:
    """Break one to three answers of the server at one of the classes of place."""
    ground, chance = round_.ground, round_.chance
    expected = ground.fetched
    round_.words = ["--stage", "download", "--config", str(ground.texts / "net.toml")]
    round_.expected = expected
    place = chance.choice(PLACES)
    resource_ = ground.site.resources[place]
    size = len(resource_.data)
    fault = chance.choice(["status", "cut", "stall", "web page", "nothing", "gone", "turned away"])
    before = dict(vars(resource_))
    if fault == "status":
        resource_.faults = [chance.choice([404, 403, 500, 503, 429]) for _ in range(chance.randint(1, 3))]
    elif fault in ("cut", "stall"):
        resource_.faults = [f"{fault}:{chance.randrange(size)}" for _ in range(chance.randint(1, 3))]
    elif fault == "web page":
        resource_.data = b"<html><body>Please sign in</body></html>"
        resource_.content_type = chance.choice(["text/html", "application/octet-stream"])
    elif fault == "nothing":
        resource_.data = b""
    elif fault == "turned away":
        resource_.redirect = chance.choice(["http://127.0.0.1:9/", place, "ftp://127.0.0.1/"])
    else:
        del ground.site.resources[place]
    round_.hit = f"{place}: {fault} {resource_.faults or ''}"

    def undo() -> None:
        vars(resource_).update({**before, "faults": []})
        ground.site.resources[place] = resource_

    round_.undo += [undo]
    return round_.go()


def unheard(round_: Round) -> Ended:
    """Let nobody read what the command says: a closed terminal, ``| head``."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as unread:
        process = round_.start(stderr=unread)
    (round_.folder / "said").write_bytes(b"error: nobody hears it")
    return round_.finish(process)


def late(round_: Round) -> Ended:
    """Let the clock of all files be an hour ahead: they were made on another machine."""
    ahead = time.time() + 3600
    for path in [*round_.folder.rglob("*")]:
        if not path.is_symlink():
            os.utime(path, (ahead, ahead))
    return round_.go()


KINDS = {
    "kill": Kind(partial(stopped, signal.SIGKILL)),
    "term": Kind(partial(stopped, signal.SIGTERM)),
    "interrupt": Kind(partial(stopped, signal.SIGINT)),
    "hang-up": Kind(partial(stopped, signal.SIGHUP)),
    "disk-full": Kind(full),
    "file-limit": Kind(limited),
    "read-only": Kind(read_only),
    "no-memory": Kind(no_memory),
    "flipped-byte": Kind(partial(damaged, False), (*MADE, LINKS)),
    "cut-file": Kind(partial(damaged, True), (*MADE, LINKS)),
    "torn": Kind(torn, MADE),
    "changed": Kind(changed, tuple(STAGES)),
    "changing": Kind(changing, tuple(STAGES)),
    "twice": Kind(twice, tuple(STAGES)),
    "moved": Kind(moved, tuple(STAGES)),
    "network": Kind(network, ("download",)),
    "unheard": Kind(unheard),
    "other-clock": Kind(late),
}
