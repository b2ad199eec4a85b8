"""Taking what is needed out of archives and packed files that a stranger made.

Only the members asked for are written, under names of ours, into the folder given; what makes an archive
unsafe is in :mod:`pipeline.stages.download.members`. It is read to its end before anything counts: a cut or
damaged archive never passes for a short one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from align.core.errors import InputError
from align.core.files import byte_file, new_file
from align.core.tags import comparable, is_variant
from align.data.streams import open_unpacked
from pipeline.stages.download.http_request import BLOCK, Progress, blocks_of
from pipeline.stages.download.members import Meter, entries, plain_damage
from pipeline.work.resources import check_space

_PACKED = re.compile(r"\.(gz|xz|zst)$", re.IGNORECASE)


class Member(NamedTuple):
    """A file taken out of an archive: its ``name`` there, and the ``path`` where it is now."""

    name: str
    path: Path


def extract_pair(
    path: Path, folder: Path, languages: tuple[str, str], *, progress: Progress
) -> tuple[Path, Path]:
    """Take the two sides of a bitext out of an archive.

    Parameters
    ----------
    path : Path
        The archive.
    folder : Path
        Where ``corpus.<source>`` and ``corpus.<target>`` are written; it exists.
    languages : (str, str)
        Codes of the source and the target: the endings of the two members (``name.en`` or ``name.en.gz``),
        ``zh-CN`` and ``zh_cn`` the same; ``pt`` for ``name.pt_BR`` too where there is no ``name.pt``.
    progress : function
        ``progress(iterable, total=, unit=)``.

    Raises
    ------
    InputError
        If the archive is cut, damaged, unsafe or too large, or does not hold one such pair.
    """
    endings = [f".{code.lower()}" for code in languages]

    def of_either(name: str) -> bool:
        return any(is_variant(_tag(name), code) for code in languages)

    with _extracted(path, folder, of_either, progress) as (members, names):
        sides = [_of_language(members, code) for code in languages]
        pair = _pair(sides)
        if pair is None:
            what = "several pairs" if all(sides) else "no pair"
            raise InputError(
                f"{path}: {what} of files ending in {endings[0]} and {endings[1]} in it (members: "
                f"{_listed(names)}); unpack it and set corpus.files"
            )
        targets = folder / f"corpus{endings[0]}", folder / f"corpus{endings[1]}"
        for member, target in zip(pair, targets, strict=True):
            os.replace(member.path, target)
    return targets


def extract_folder(
    path: Path, folder: Path, marks: Collection[str], wanted: Collection[str], *, progress: Progress
) -> None:
    """Take the files of one folder out of an archive, wherever it lies there, and write them to ``folder``.

    Parameters
    ----------
    path : Path
        The archive.
    folder : Path
        Where they are written; it exists.
    marks : collection of str
        Names of files, of which that folder, and no other, has one.
    wanted : collection of str
        What is written, by the path in that folder with ``/``; nothing else is.
    progress : function
        ``progress(iterable, total=, unit=)``.

    Raises
    ------
    InputError
        If the archive is cut, damaged, unsafe or too large, or does not hold exactly one such folder.
    """

    def inside(name: str) -> str | None:
        """Return the longest end of a member's path that is wanted."""
        parts = name.split("/")
        return next((end for at in range(len(parts)) if (end := "/".join(parts[at:])) in wanted), None)

    with _extracted(path, folder, lambda name: inside(name) is not None, progress) as (members, names):
        found = [(member, inside(member.name) or "") for member in members]
        roots = {member.name.removesuffix(end) for member, end in found if end in marks}
        if len(roots) != 1:
            raise InputError(
                f"{path}: {len(roots)} folders with {' or '.join(marks)} in it instead of one (members: "
                f"{_listed(names)}); make another archive"
            )
        for member, end in found:
            if member.name.removesuffix(end) in roots:
                (folder / end).parent.mkdir(parents=True, exist_ok=True)
                os.replace(member.path, folder / end)


def extract_one(path: Path, target: Path, ending: str, *, progress: Progress) -> Path:
    """Take the one member with an ending out of an archive and write it to ``target``.

    Raises
    ------
    InputError
        If the archive is cut, damaged, unsafe or too large, or does not hold exactly one such member.
    """
    with _extracted(path, target.parent, lambda name: _ends(name, ending), progress) as (members, names):
        if len(members) != 1:
            raise InputError(
                f"{path}: {len(members)} files ending in {ending} in it instead of one (members: "
                f"{_listed(names)}); unpack it and give the file"
            )
        os.replace(members[0].path, target)
    return target


def check_packed(path: Path, *, progress: Progress) -> None:
    """Read a file, packed or not, to its end.

    Raises
    ------
    InputError
        If its packed data are cut off, damaged or followed by something else.
    """
    with open_unpacked(path) as stream:
        for _ in blocks_of(stream, progress):
            pass


def unpack(path: Path, target: Path, *, progress: Progress) -> Path:
    """Write the unpacked content of a packed file to ``target``.

    Raises
    ------
    InputError
        If the packed data are cut off or damaged, or unpack to more than the limits allow.
    """
    meter = Meter(path)
    with open_unpacked(path) as stream, new_file(target) as aside, byte_file(aside) as out:
        for block in blocks_of(stream, progress):
            meter.add(len(block))
            if meter.total % (64 * BLOCK) < BLOCK:
                check_space(target.parent, 64 * BLOCK, str(path))
            out.write(block)
    return target


@contextlib.contextmanager
def _extracted(
    path: Path, folder: Path, wanted: Callable[[str], bool], progress: Progress
) -> Iterator[tuple[list[Member], list[str]]]:
    """Write the members that are wanted to a folder aside; give them and the names of all; tidy up."""
    aside = folder / ".extracted"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    members: list[Member] = []
    names: list[str] = []
    try:
        with plain_damage(path):
            for name, size, data in entries(path):
                names.append(name)
                blocks = progress(data, total=-(-size // BLOCK), unit="MiB")
                if not wanted(name):
                    for _ in blocks:
                        pass
                    continue
                check_space(folder, size, str(path))
                member = Member(name, aside / str(len(members)))
                with new_file(member.path) as fresh, byte_file(fresh) as out:
                    out.writelines(blocks)
                members.append(member)
        yield members, names
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*sorted(names)[:12], *(["..."] if len(names) > 12 else [])]) or "none"


def _base(name: str) -> str:
    """Return the name of a member without folders and the suffix of a packing; empty for what is no text."""
    base = _PACKED.sub("", name.rpartition("/")[2])
    # macOS puts "._name" files with attributes beside the real ones.
    return "" if base.startswith("._") else base


def _ends(name: str, ending: str) -> bool:
    """Tell whether a member has an ending, and more of a name before it."""
    base = _base(name).lower()
    return base.endswith(ending) and base != ending


def _tag(name: str) -> str:
    """Return what stands after the last full stop of a member's name, as a rule its language."""
    stem, _, tag = _base(name).rpartition(".")
    return tag if stem else ""


def _of_language(members: Sequence[Member], code: str) -> list[Member]:
    """Return the members of a language; of a variant of it where there are none."""
    exact = [member for member in members if comparable(_tag(member.name)) == comparable(code)]
    return exact or [member for member in members if is_variant(_tag(member.name), code)]


def _pair(sides: Sequence[Sequence[Member]]) -> tuple[Member, Member] | None:
    """Return the only pair of members, or the only one whose names agree but for the ending."""
    if len(sides[0]) == len(sides[1]) == 1:
        return sides[0][0], sides[1][0]

    def stem(member: Member) -> str:
        return _PACKED.sub("", member.name).rpartition(".")[0]

    pairs = [(one, other) for one in sides[0] for other in sides[1] if stem(one) == stem(other)]
    return pairs[0] if len(pairs) == 1 else None
