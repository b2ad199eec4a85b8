"""The sections [corpus], [vectors] and [gold] of a configuration: their keys, and what makes them valid.

A place is a path, or an ``http``, ``https`` or ``file`` URL (see :mod:`pipeline.config.places`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from align.core.errors import InputError
from align.core.tags import comparable
from align.data.bitext import KINDS, WITH_COLUMNS, check_encoding
from align.data.columns import Columns, check_columns
from align.links import find_format
from pipeline.config.options import one_of
from pipeline.config.places import VECTOR_SETS, check_file, check_place, europarl_urls, is_url, local_path

# Keys whose values are places: relative paths in them are relative to the configuration file.
_FILE_KEYS = sorted(
    [f"corpus.{key}" for key in ("url", *KINDS)]
    + [f"vectors.{key}" for key in ("source", "target", "dictionary")]
    + [f"gold.{key}" for key in ("files", "links")]
)
PATH_KEYS = {*_FILE_KEYS, "download.mirror"}

GOLD_FORMATS = ("pharaoh", "wpt", "talp")

# These names would collide with what else lies in the work folder.
RESERVED_NAMES = ("downloads", "latest")

# Disks allow 255 bytes; a name of 100 letters may have more in some scripts.
_NAME_BYTES = 200

# pt-BR, and as archives and POSIX name it: zh_cn, sr@latin.
_CODE = re.compile(r"[A-Za-z]{2,3}([-_@][A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class CorpusOptions:
    """The section [corpus], checked: see :func:`corpus_options`."""

    name: str
    source: str
    target: str
    kind: str  # "files", "joint", "tsv", "tmx", "url" or "europarl"
    places: tuple[str, ...]  # two for "files", none for "europarl", else one
    limit: int | None
    tokenized: bool
    encoding: str
    columns: Columns | None
    sha256: str | None
    shifted: str | None


@dataclass(frozen=True)
class VectorsOptions:
    """The section [vectors], checked: see :func:`vectors_options`."""

    source: str | None
    target: str | None
    dictionary: str | None


@dataclass(frozen=True)
class GoldOptions:
    """The section [gold], checked: see :func:`gold_options`; ``files`` is empty where there is no gold."""

    files: tuple[str, ...]
    links: str | None
    format: str
    columns: Columns | None
    base: int | None
    train: int
    in_corpus: bool


def corpus_options(
    *,
    name: str,
    source: str,
    target: str,
    files: list[str] | None = None,
    url: str | None = None,
    tsv: str | None = None,
    tmx: str | None = None,
    joint: str | None = None,
    limit: int | None = None,
    tokenized: bool = False,
    encoding: str = "utf-8",
    columns: list[int | str] | None = None,
    sha256: str | None = None,
    shifted: Annotated[str | None, one_of("stop", "report")] = None,
) -> CorpusOptions:
    """Check the section [corpus]: the text to align.

    Of `files`, `url`, `tsv`, `tmx` and `joint` at most one is set; with none of them the corpus is Europarl
    in the two languages. Each file may be packed with gzip, xz or zstd, whatever its name.

    Parameters
    ----------
    name : str
        Names the work folder: letters, digits, and ``. _ + -`` after the first.
    source, target : str
        Language codes, such as ``en`` and ``fr``, ``pt-BR``, ``zh_cn``, ``sr@latin``.
    files : list of str, optional
        Two text files, source first, line by line in parallel: paths or URLs.
    url : str, optional
        An archive (tar, zip) with one file for each language, found by their endings (``.en``, ``.fr``), or
        a single TMX, TSV or joint file: a URL or a path.
    tsv : str, optional
        A file of ``source TAB target`` lines: a path or a URL.
    tmx : str, optional
        A translation memory: a path or a URL.
    joint : str, optional
        A file of ``source ||| target`` lines: a path or a URL.
    limit : int, optional
        Use the first so many pairs, >= 1; absent: all. Gold text never counts in it.
    tokenized : bool
        The text is tokenized: split on single spaces, and do nothing else to it.
    encoding : str
        Of the text; not for TMX, which says its own.
    columns : list of int or of str, optional
        Which two fields of the rows of `tsv` or `joint` hold source and target, where there may be others:
        numbers from 1, ``[2, 3]``, or the names that the first row has, ``["en", "fr"]``; that row is no pair
        then, and its line of links is empty.
    sha256 : str, optional
        Of the file that is fetched or given, 64 hexadecimal digits: another content is refused. Not for
        `files`, which are two.
    shifted : {"stop", "report"}, optional
        What stretches of lines do that do not stand beside their translations: stop the run, or be reported
        only. Absent: they stop it where they are over 2 % of the lines.

    Raises
    ------
    InputError
        If a value is wrong or the values do not fit together.
    """
    _check_name(name)
    for key, code in (("source", source), ("target", target)):
        if not _CODE.fullmatch(code):
            raise InputError(f"corpus.{key}: {code!r} is no language code; write for example en or pt-BR")
    given = {"files": files, "url": url, "tsv": tsv, "tmx": tmx, "joint": joint}
    kinds = [kind for kind, value in given.items() if value is not None]
    if len(kinds) > 1:
        raise InputError(f"corpus.{kinds[0]}: corpus.{kinds[1]} is set as well; keep one of them")
    kind = kinds[0] if kinds else "europarl"
    value = given.get(kind) or []
    places = tuple([value] if isinstance(value, str) else value)
    if kind == "europarl":
        europarl_urls(source, target)
    _check_places(f"corpus.{kind}", places)
    if kind in ("url", "tmx", "europarl") and comparable(source) == comparable(target):
        raise InputError(f"corpus.target: {target!r} is the source too; with corpus.{kind} they must differ")
    if limit is not None and limit < 1:
        raise InputError(f"corpus.limit: {limit} is less than 1; leave it out to use all pairs")
    check_encoding(encoding)
    if columns is not None:
        check_columns(columns, where="corpus.columns")
        if kind not in (*WITH_COLUMNS, "url"):
            own = "corpus.tsv or corpus.joint"
            raise InputError(f"corpus.columns: for {own} only, not for corpus.{kind}; leave it out")
    if sha256 is not None and not re.fullmatch(r"[0-9A-Fa-f]{64}", sha256):
        raise InputError(f"corpus.sha256: {sha256!r} is not 64 hexadecimal digits; correct or remove it")
    if sha256 is not None and kind == "files":
        raise InputError("corpus.sha256: it is of one file but corpus.files are two; remove it")
    lower = sha256.lower() if sha256 else None
    return CorpusOptions(
        name, source, target, kind, places, limit, tokenized, encoding, columns, lower, shifted
    )


def vectors_options(
    *, source: str | None = None, target: str | None = None, dictionary: str | None = None
) -> VectorsOptions:
    """Check the section [vectors]: word vectors of the two languages.

    Parameters
    ----------
    source, target : str, optional
        fastText vectors (``.vec``, ``.vec.gz`` or ``.bin``): a path, a URL, or the published ones of the
        language: ``crawl`` (Common Crawl and Wikipedia, 1.3 GB), ``wiki`` (Wikipedia, 0.5 to 6 GB), and
        ``crawl.bin`` or ``wiki.bin`` for the models with subwords (4 to 10 GB). Absent: trained on the
        corpus.
    dictionary : str, optional
        ``source TAB target`` (or space) word pairs that join the two spaces: a path or a URL.

    Raises
    ------
    InputError
        If only one side is set, or a value is no place.
    """
    _check_both("vectors", source=source, target=target)
    for key, value in (("source", source), ("target", target), ("dictionary", dictionary)):
        if value is not None and (key == "dictionary" or value not in VECTOR_SETS):
            check_place(f"vectors.{key}", value)
    return VectorsOptions(source, target, dictionary)


def gold_options(
    *,
    files: list[str] | None = None,
    links: str | None = None,
    format: str = "pharaoh",
    columns: list[int | str] | None = None,
    base: int | None = None,
    train: int = 0,
    in_corpus: bool = True,
) -> GoldOptions:
    """Check the section [gold]: sentence pairs aligned by hand.

    Parameters
    ----------
    files : list of str, optional
        The two sides, tokenized, used as they are; source first: paths or URLs.
    links : str, optional
        Their links: a path or a URL.
    format : str
        ``pharaoh`` (``0-0 1p2``), ``wpt`` (``0001 1 1 S``) or ``talp``.
    columns : list of int or of str, optional
        Which field of the rows of `links` holds the links, where others stand before or after it with TABs or
        ``|||`` between, such as names of the pairs: ``[2]``, or the name that the first row has. Not for wpt.
    base : int, optional
        Number of the first token of a sentence: 0 or 1. Absent: told by the links, and 0 where they do not
        tell.
    train : int
        The first so many pairs may train, >= 0; the rest is the test part.
    in_corpus : bool
        Their text, never their links, joins the statistics of the corpus.

    Raises
    ------
    InputError
        If a value is wrong or the values do not fit together.
    """
    places = tuple(files or ())
    _check_both("gold", files=files or None, links=links)
    if places:
        _check_places("gold.files", places)
    if links is not None:
        check_place("gold.links", links)
    if format not in GOLD_FORMATS:
        raise InputError(f"gold.format: no format {format!r}; choose one of {', '.join(GOLD_FORMATS)}")
    if columns is not None:
        check_columns(columns, counts=(1,), where="gold.columns")
        if not find_format(format).in_columns:
            raise InputError(f"gold.columns: {format} has none; leave them out")
    if base not in (0, 1, None):
        raise InputError(f"gold.base: {base} is neither 0 nor 1; say how the first token is counted")
    if train < 0:
        raise InputError(f"gold.train: {train} is less than 0; give the number of pairs that may train")
    if train and not places:
        raise InputError(f"gold.train: {train} pairs of no gold; set gold.files and gold.links")
    return GoldOptions(places, links, format, columns, base, train, in_corpus)


def place(key: str, value: str, folder: Path) -> str:
    """Make a relative path absolute, from ``folder``; leave URLs and the names of vector sets alone."""
    if is_url(value) or not value or _names_set(key, value):
        return value
    path = Path(value).expanduser() if value.startswith("~/") else Path(value)
    return str((folder / path).absolute())


def local_files(option: Callable[[str], Any]) -> list[Path]:
    """Return the user's own files, given the value of each key, in the order of their keys.

    Raises
    ------
    InputError
        If one is missing, empty or a folder; the message names the key.
    """
    found = []
    for key in _FILE_KEYS:
        value = option(key)
        for each in [value] if isinstance(value, str) else value or []:
            path = None if _names_set(key, each) else local_path(each)
            if path is not None:
                found.append(check_file(key, path))
    return found


def _names_set(key: str, value: str) -> bool:
    """Tell whether the value is the name of a set of published vectors, not a place."""
    return key in ("vectors.source", "vectors.target") and value in VECTOR_SETS


def _check_both(section: str, **values: Any) -> None:
    """Refuse one of two keys without the other."""
    absent, present = sorted(values, key=lambda key: values[key] is not None)
    if (values[absent] is None) != (values[present] is None):
        raise InputError(f"{section}.{absent}: missing while {section}.{present} is set; set both or neither")


def _check_places(key: str, places: tuple[str, ...]) -> None:
    """Refuse what is no place, and files of a text that are not two."""
    if key.endswith(".files") and len(places) != 2:
        raise InputError(f"{key}: {len(places)} file(s) given; give two, the source first")
    for place in places:
        check_place(key, place)
    if len(set(places)) < len(places):
        raise InputError(f"{key}: {places[0]} is given twice; give the source and the target file")


def _check_name(name: str) -> None:
    fits = re.fullmatch(r"\w[\w.+-]{0,99}", name) and len(name.encode()) <= _NAME_BYTES
    if not fits or name in RESERVED_NAMES:
        raise InputError(
            f"corpus.name: {name!r} cannot name a folder; use letters, digits, and . _ + - after the first "
            f"(at most 100, and not {' or '.join(RESERVED_NAMES)})"
        )
