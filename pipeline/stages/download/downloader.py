"""Downloads that survive cuts, kills, and servers that answer with something else.

What arrives goes to ``NAME.part`` (see :mod:`pipeline.stages.download.http_request`); whole and checked, it
is flushed to the disk, stamped with its hash and renamed to ``NAME``. Each address has its own folder,
shared by all corpora.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import requests
from filelock import FileLock, Timeout

from align.core.errors import WorkError
from pipeline.stages.download.http_request import Part, Progress, TemporaryError, blocks_of, receive
from pipeline.work.publish import sync_folder, write_json
from pipeline.work.resources import show_bytes

# Seconds waited at most before a further try, whatever the server asks for.
LONGEST_WAIT = 60.0

# A try that brought at least so many bytes counts as success: the count of failures starts again.
GAIN = 1 << 20

MOST_REDIRECTS = 5

# The folder of all downloads, in the work folder; a download below so many bytes is cheap to make again.
DOWNLOADS = "downloads"
SMALL = 1 << 20


class WrongHashError(WorkError):
    """The file that arrived is whole but not the expected one."""


class SourceFile(NamedTuple):
    """A file at hand; ``url`` says which download it is, None: none, it was on the disk."""

    path: Path
    sha256: str | None  # lower-case hexadecimal digits, None where nobody asked
    url: str | None = None


@dataclass(frozen=True)
class Downloader:
    """How downloads are made; ``cache`` is the folder of all.

    Lines for the user go to ``say``; ``progress(iterable, total=, unit=)`` yields the items behind a bar.
    ``retries``, ``timeout``, ``backoff`` and ``accept_changed`` are options of the stage. A file may have
    ``most`` bytes; what to do about one that is not the expected one, ``changed`` says.
    """

    cache: Path
    say: Callable[[str], None]
    progress: Progress
    retries: int = 5
    timeout: float = 30.0
    backoff: float = 1.0
    accept_changed: bool = False
    most: int | None = None
    changed: str = "correct corpus.sha256 or set download.accept_changed = true"

    def folder(self, url: str) -> Path:
        """Return the folder of an address."""
        return folder_of(self.cache, url)

    def fetch(self, url: str, *, sha256: str | None = None) -> SourceFile:
        """Return the file at an address, downloading what is not there yet.

        Parameters
        ----------
        url : str
            ``http`` or ``https``.
        sha256 : str, optional
            What its hash must be.

        Raises
        ------
        WrongHashError
            If the hash is another; nothing is kept.
        WorkError
            If the server does not give the file: an error status, a web page, a connection that is cut
            whenever it is tried, a certificate that cannot be verified; or the disk has no room.
        """
        folder = self.folder(url)
        folder.mkdir(parents=True, exist_ok=True)
        # Another corpus, or another process, may be fetching the same address.
        lock = FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            self.say(f"waiting for another run that is downloading {url}")
            lock.acquire()
        try:
            return self._present(url, sha256) or self._download(url, sha256)
        finally:
            lock.release()

    def discard(self, source: SourceFile) -> None:
        """Forget a download that turned out to be bad."""
        _forget(source.path)

    def accepts(self, found: str) -> bool:
        """Tell whether a file with another hash is taken all the same; if so, say what was found."""
        if self.accept_changed:
            self.say(f"{found}; taken all the same, as download.accept_changed says")
        return self.accept_changed

    def _present(self, url: str, sha256: str | None) -> SourceFile | None:
        """Return the file if it is there whole, and the expected one."""
        path = self.folder(url) / file_name(url)
        try:
            stamp = json.loads(_stamp(path).read_text(encoding="utf-8"))
            size, got, found = stamp["size"], str(stamp["sha256"]), path.stat().st_size
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if found != size or (sha256 not in (None, got) and not self.accept_changed):
            return None
        if sha256_of(path, self.progress) != got:
            self.say(f"{url}: what is there has other bytes than were fetched; downloading it again")
            return None
        self.say(f"{url} is there already ({show_bytes(size)})")
        return SourceFile(path, got, url)

    def _download(self, url: str, sha256: str | None) -> SourceFile:
        path = self.folder(url) / file_name(url)
        part = Part(path.with_name(path.name + ".part"), most=self.most)
        part.settle()
        resumed = part.size
        self.say(f"downloading {url}" + (f", going on after {show_bytes(resumed)}" if resumed else ""))
        modified = self._persist(url, part)
        got = sha256_of(part.path, self.progress)
        if sha256 not in (None, got) and resumed:
            # The part of an earlier run may have been of another version that could not be told apart.
            self.say(f"{url}: the hash is wrong; downloading it again from the start")
            part.forget()
            modified = self._persist(url, part)
            got = sha256_of(part.path, self.progress)
        if sha256 not in (None, got):
            dated = f", last changed {modified}" if modified else ""
            found = f"{url}: its sha256 is {got} ({part.size} bytes{dated}), not {sha256}"
            if not self.accepts(found):
                part.forget()
                raise WrongHashError(
                    f"{found}; the file was changed or damaged: find out which, then {self.changed}"
                )
        # The stamp comes first: without the renamed file it says nothing.
        write_json(_stamp(path), {"url": url, "size": part.size, "sha256": got, "modified": modified})
        os.replace(part.path, path)
        part.forget()
        sync_folder(path.parent)
        return SourceFile(path, got, url)

    def _persist(self, url: str, part: Part) -> str | None:
        """Try until the part is whole; return the date of the file's last change where it is known."""
        failures, modified = 0, None
        with requests.Session() as session:
            session.max_redirects = MOST_REDIRECTS
            while not part.is_whole():
                before = part.size
                try:
                    modified = receive(session, url, part, timeout=self.timeout, progress=self.progress)
                    if part.size == 0:
                        part.forget()
                        raise WorkError(f"{url}: the server sent an empty file; check the address")
                except TemporaryError as failure:
                    failures = 1 if part.size >= before + GAIN else failures + 1
                    self._wait(url, part, failures, failure)
                except OSError as error:
                    if error.errno == errno.ENOSPC:
                        raise WorkError(
                            f"{url}: the disk is full at {part.path.parent} after {show_bytes(part.size)}; "
                            "free space, or give another --workdir (what has arrived is kept)"
                        ) from None
                    raise
        return modified

    def _wait(self, url: str, part: Part, failures: int, failure: TemporaryError) -> None:
        if failures > self.retries:
            kept = f" ({show_bytes(part.size)} are kept for the next run)" if part.size else ""
            tries = f", after {failures} tries" if failures > 1 else ""
            raise WorkError(f"{url}: {failure}{tries}; check the network, or name a mirror{kept}")
        wait = self.backoff * 2 ** (failures - 1) if failure.wait is None else failure.wait
        wait = min(wait, LONGEST_WAIT)
        self.say(f"{url}: {failure}; trying again in {wait:g} s")
        time.sleep(wait)


def folder_of(cache: Path, url: str) -> Path:
    """Return the folder of an address among all downloads."""
    return cache / hashlib.sha256(url.encode()).hexdigest()[:32]


def forget_small(cache: Path, urls: Iterable[str]) -> list[str]:
    """Forget those downloads that are small, as messages of servers are; return their addresses.

    One stays if the result of another corpus has it as well, or may have: where a disk has no hard links.
    """
    paths = {url: folder_of(cache, url) / file_name(url) for url in urls}
    found = {url: path.stat() for url, path in paths.items() if path.exists()}
    small = [url for url, about in found.items() if about.st_size < SMALL and about.st_nlink == 2]
    for url in small:
        _forget(paths[url])
    return small


def file_name(url: str) -> str:
    """Return a safe file name for what an address gives: its last part, without odd characters."""
    name = re.sub(r"[^\w.+-]", "_", unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2])
    return name.lstrip(".")[-100:] or "download"


def sha256_of(path: Path, progress: Progress) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in blocks_of(file, progress, size=path.stat().st_size):
            digest.update(block)
    return digest.hexdigest()


def _forget(path: Path) -> None:
    _stamp(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".json")
