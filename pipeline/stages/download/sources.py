"""The files that a configuration names: on the disk they stay where they are, others are downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from align.core.errors import InputError, WorkError
from align.data.streams import open_file, packing_of
from pipeline.config.places import check_file, local_path
from pipeline.stages.download.archives import check_packed
from pipeline.stages.download.downloader import Downloader, SourceFile, file_name, sha256_of
from pipeline.stages.download.http_request import Progress

Result = TypeVar("Result")


@dataclass(frozen=True)
class Sources:
    """Gets files from their places; downloads get a second name in ``folder``."""

    folder: Path
    downloader: Downloader
    origins: dict[str, list[str]] = field(default_factory=dict)  # the places asked for, by key
    hashes: dict[str, list[str | None]] = field(default_factory=dict)  # of the files there, as far as known

    @property
    def progress(self) -> Progress:
        """The downloader's progress bar, for files on the disk too."""
        return self.downloader.progress

    def get(self, key: str, place: str, *, sha256: str | None = None, hashed: bool = True) -> SourceFile:
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
            source = self.downloader.fetch(place, sha256=sha256)
        else:
            check_file(key, path)
            source = SourceFile(path.absolute(), sha256_of(path, self.progress) if hashed or sha256 else None)
            if sha256 not in (None, source.sha256):
                found = f"{path}: its sha256 is {source.sha256} ({path.stat().st_size} bytes), not {sha256}"
                if not self.downloader.accepts(found):
                    raise InputError(f"{found}; {self.downloader.changed}")
        self.origins.setdefault(key, []).append(place)
        self.hashes.setdefault(key, []).append(source.sha256)
        return source

    def checked(
        self, source: SourceFile, work: Callable[..., Result], *arguments: Any, **options: Any
    ) -> Result:
        """Return ``work(path, ...)``; where the file turns out to be bad, a download is forgotten."""
        try:
            return work(source.path, *arguments, **options)
        except InputError as error:
            if source.url is None:
                raise
            self.downloader.discard(source)
            raise WorkError(f"{source.url}: {error}") from None

    def keep(self, source: SourceFile, role: str) -> str:
        """Return what ``sources.json`` says of a file used as it is, once it has been read to its end."""
        self.checked(source, self._read_through)
        if source.url is None:
            return str(source.path)
        name = f"{role}.{file_name(source.url)}"
        try:
            os.link(source.path, self.folder / name)
        except OSError:
            # Not every disk has hard links; the shared download is then named itself.
            return str(source.path.absolute())
        return name

    def _read_through(self, path: Path) -> None:
        with open_file(path) as file:
            packing = packing_of(file.read(8))
        if packing is not None:
            check_packed(path, progress=self.progress)
