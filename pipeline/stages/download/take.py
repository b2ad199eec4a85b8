"""Taking files from the places that a configuration names: from the disk as they are, or by download."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from align.core.errors import InputError, WorkError
from align.data.streams import open_file, packing_of
from pipeline.config.places import check_file, local_path
from pipeline.stages.download.archives import check_packed
from pipeline.stages.download.fetch import Fetched, Fetcher, file_name, sha256_of

Result = TypeVar("Result")


@dataclass(frozen=True)
class Taken:
    """A file at hand: its ``path``, its hash, and the download it is, if it is one."""

    path: Path
    sha256: str | None
    fetched: Fetched | None = None


class Taker:
    """Takes files from their places, and remembers where each came from.

    Parameters
    ----------
    folder : Path
        Where files that were fetched are put.
    fetcher : Fetcher
    """

    def __init__(self, folder: Path, fetcher: Fetcher) -> None:
        self.folder = folder
        self.fetcher = fetcher
        self.progress = fetcher.progress
        self.origins: dict[str, list[str]] = {}

    def take(self, key: str, place: str, *, sha256: str | None = None, hashed: bool = True) -> Taken:
        """Return the file at a place.

        Parameters
        ----------
        key : str
            The key of the configuration that names it.
        place : str
            A path or a URL.
        sha256 : str, optional
            What its hash must be.
        hashed : bool
            Whether the hash of a file on the disk is wanted too.

        Raises
        ------
        InputError
            If a file on the disk is missing, empty, a folder, or has another hash.
        WorkError
            If a URL does not give the file.
        """
        path = local_path(place)
        if path is None:
            fetched = self.fetcher.fetch(place, sha256=sha256)
            taken = Taken(fetched.path, fetched.sha256, fetched)
        else:
            check_file(key, path)
            got = sha256_of(path, self.progress) if hashed or sha256 else None
            if sha256 not in (None, got):
                self._differs(path, str(sha256), str(got))
            taken = Taken(path.absolute(), got)
        self.origins.setdefault(key, []).append(place)
        return taken

    def _differs(self, path: Path, wanted: str, got: str) -> None:
        found = f"{path}: its sha256 is {got} ({path.stat().st_size} bytes), not {wanted}"
        if not self.fetcher.accept_changed:
            raise InputError(f"{found}; correct corpus.sha256 or set download.accept_changed = true")
        self.fetcher.say(f"{found}; taken all the same, as download.accept_changed says")

    def checked(self, taken: Taken, work: Callable[[Path], Result]) -> Result:
        """Return ``work(path)``; where the file turns out to be bad, a download is forgotten."""
        try:
            return work(taken.path)
        except InputError as error:
            if taken.fetched is None:
                raise
            self.fetcher.discard(taken.fetched)
            raise WorkError(f"{taken.fetched.url}: {error}") from None

    def keep(self, taken: Taken, role: str) -> str:
        """Return what ``sources.json`` says of a file used as it is, once it has been read to its end."""
        self.checked(taken, self._read_through)
        if taken.fetched is None:
            return str(taken.path)
        name = f"{role}.{file_name(taken.fetched.url)}"
        try:
            os.link(taken.path, self.folder / name)
        except OSError:
            # Not every disk has hard links; the shared download is then named itself.
            return str(taken.path.absolute())
        return name

    def _read_through(self, path: Path) -> None:
        with open_file(path) as file:
            packing = packing_of(file.read(8))
        if packing is not None:
            check_packed(path, progress=self.progress)
