"""List models, tell about one, fetch one by name, or make one small enough to be handed on.

NAME is the folder of a model, or the name of one that is shipped, was fetched, or can be: a registry says
from where, with its SHA-256, size and licence. What is fetched lies in the folder for data of the user
(LIAISON_MODELS names another), where --model NAME finds it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urljoin

from filelock import FileLock

from align.cli import models
from align.cli.terminal import say
from align.core.errors import InputError, LiaisonError
from align.core.files import text_file
from align.core.signals import removed_after
from align.model.folder import Model
from align.model.reading import all_files
from align.model.registry import (
    ANY,
    MOST_BYTES,
    REGISTRY,
    Entry,
    as_registry,
    parse_registry,
    read_registry,
)
from align.model.shipped import (
    FOLDERS,
    MODEL,
    VARIABLE,
    WEIGHTS,
    is_shipped,
    known_models,
    known_weights,
    user_folder,
)
from align.model.weights import Weights
from pipeline.config.places import check_place, is_url, local_path
from pipeline.stages.download.archives import extract_folder
from pipeline.stages.download.downloader import DOWNLOADS, Downloader
from pipeline.stages.download.sources import Sources
from pipeline.work.progress import Reporter
from pipeline.work.publish import sync_tree
from pipeline.work.resources import check_space

EXAMPLES = (
    *models.EXAMPLES,
    "models list --registry https://models.example.org/registry.toml",
    "models get en-de --registry https://models.example.org/registry.toml",
)

# What to do about a file that is not what a registry says.
_CHANGED = "tell whoever keeps the registry"

# Beside the files of a model: who made it of what, and what it may be used for.
_PAPERS = (models.CARD, "LICENSE", "LICENSE.txt")

# An archive and what is in it take so many times its size.
_ROOM = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be asked."""
    questions = models.add_questions(parser, "get")
    get = questions.add_parser("get", help="fetch a model that a registry has, so that its name is known")
    get.add_argument("name", metavar="NAME")
    for name in ("list", "info", "get"):
        questions.choices[name].add_argument(
            "--registry", metavar="FILE", help="a registry of models: a file or a URL (what is shipped)"
        )


def run(args: argparse.Namespace) -> int:
    """Answer."""
    if args.question == "pack":
        return models.run(args)
    place, entries = _registry(args.registry)
    known = {path.name for path in [*known_models(), *known_weights()]}
    if args.question == "get":
        return _get(args.name, place, entries)
    entry = entries.get(args.name) if args.question == "info" else None
    if entry is not None and entry.url is not None and entry.name not in known:
        return _info(entry, place)
    status = models.run(args)
    if args.question == "list":
        for each in entries.values():
            if each.url is not None and each.size is not None and each.name not in known:
                url = _address(each.url, place)
                models.print_listed(each.name, each.languages, each.size, url, "to fetch", each.licence)
    return status


def _registry(place: str | None) -> tuple[str, dict[str, Entry]]:
    """Return where a registry is, and its models; the shipped one where no place is given."""
    if place is None:
        shipped = next((path for folder in FOLDERS if (path := folder / REGISTRY).is_file()), FOLDERS[0])
        return str(shipped), read_registry(shipped)
    check_place("--registry", place)
    with tempfile.TemporaryDirectory() as folder:
        # A registry is what it is now, never what it was when it was last asked for.
        sources = _sources(Path(folder), most=MOST_BYTES)
        path = sources.get("--registry", place, hashed=False).path
        return place, parse_registry(path.read_bytes(), place)


def _get(name: str, place: str, entries: dict[str, Entry]) -> int:
    """Fetch a model."""
    entry = entries.get(name)
    if entry is None:
        raise InputError(
            f"{name}: not in the registry {place}, which has {', '.join(sorted(entries)) or 'none'}; "
            "give one of them, or another --registry"
        )
    if entry.url is None:
        say(f"{name}: comes with the installation; there is nothing to fetch")
        return 0
    if is_shipped(name):
        raise InputError(
            f"{name}: a model of that name comes with the installation and would be found in its place; "
            "another name is needed in the registry"
        )
    folder = user_folder()
    if folder is None:
        raise InputError(
            f"{VARIABLE}: not set, and there is no home folder; name a folder for models with it"
        )
    fetched = entry._replace(url=_address(entry.url, place))
    if _fetch(fetched, folder):
        say(f"{name}: in {folder / name} ({entry.licence})")
    return 0


def _fetch(entry: Entry, folder: Path) -> bool:
    """Have a model in the user's folder; tell whether it had to be fetched."""
    final, downloads = folder / entry.name, folder / f".{DOWNLOADS}"
    downloads.mkdir(parents=True, exist_ok=True)
    aside, old = (downloads / part / entry.name for part in ("unpacked", "replaced"))
    with FileLock(downloads / f"{entry.name}.lock"), removed_after(aside):
        if _is_there(final, entry):
            say(f"{entry.name}: is there already, in {final}")
            return False
        # What a killed command left.
        for left in (aside, old):
            shutil.rmtree(left, ignore_errors=True)
        aside.mkdir(parents=True)
        sources = _sources(downloads, most=entry.size)
        check_space(
            folder, _ROOM * (entry.size or 0), entry.name, elsewhere=f"name another folder in {VARIABLE}"
        )
        source = sources.get(entry.name, entry.url or "", sha256=entry.sha256)
        sources.checked(source, _unpack, aside, entry, sources)
        sync_tree(aside)
        if final.exists():
            # Of the old one nothing stays, not even for a moment under its name.
            old.parent.mkdir(exist_ok=True)
            with removed_after(old):
                os.replace(final, old)
                os.replace(aside, final)
        else:
            os.replace(aside, final)
        if source.url is not None:
            sources.downloader.discard(source)
    return True


def _unpack(path: Path, folder: Path, entry: Entry, sources: Sources) -> None:
    """Take a model out of an archive and check that it is what the registry says, and whole."""
    wanted = all_files().union(_PAPERS)
    extract_folder(path, folder, (MODEL, WEIGHTS), wanted, progress=sources.progress)
    found = _languages(folder)
    if found.lower() != entry.languages.lower():
        raise InputError(f"it holds a model of {found}, not {entry.languages}; {_CHANGED}")
    with text_file(folder / REGISTRY) as out:
        out.write(as_registry(entry))


def _languages(folder: Path) -> str:
    """Load a model, which checks all of its files, and return its languages."""
    if not (folder / MODEL).is_file():
        Weights.load(folder)
        return ANY
    return "-".join(Model.load(folder).languages)


def _is_there(folder: Path, entry: Entry) -> bool:
    """Tell whether a folder has the model of a registry, whole."""
    try:
        return read_registry(folder / REGISTRY).get(entry.name) == entry and bool(_languages(folder))
    except LiaisonError:
        return False


def _info(entry: Entry, place: str) -> int:
    """Tell what a registry says of a model that was not fetched."""
    models.print_rows(
        [
            ("model", f"to fetch: liaison models get {entry.name} --registry {place}"),
            *((key, value) for key, value in entry._asdict().items() if key != "name"),
        ]
    )
    return 0


def _address(url: str, registry: str) -> str:
    """Return the address or path that a registry means; one that came from the network means no file here."""
    if local_path(registry) is None:
        there = urljoin(registry, url)
        if local_path(there) is not None:
            raise InputError(f"{registry}: url {url!r} is no http or https address; {_CHANGED}")
        return there
    return url if is_url(url) else str((local_path(registry) or Path()).parent / url)


def _sources(folder: Path, *, most: int | None) -> Sources:
    reporter = Reporter("models")
    downloader = Downloader(cache=folder, say=say, progress=reporter.progress, most=most, changed=_CHANGED)
    return Sources(folder, downloader)
