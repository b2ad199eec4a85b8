"""Places that text and vectors come from: paths, URLs, and archives known by language codes.

Europarl [1]_ is known by two codes, from the site of its author with the OPUS collection [2]_ as fallback;
published fastText vectors [3]_ [4]_ by the word ``crawl`` or ``wiki``.

References
----------
.. [1] P. Koehn, "Europarl: A Parallel Corpus for Statistical Machine Translation", MT Summit 2005.
.. [2] J. Tiedemann, "Parallel Data, Tools and Interfaces in OPUS", LREC 2012.
.. [3] E. Grave et al., "Learning Word Vectors for 157 Languages", LREC 2018.
.. [4] P. Bojanowski et al., "Enriching Word Vectors with Subword Information", TACL 5, 2017.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from align.core.errors import InputError
from align.text.languages import base_code

# The languages that Europarl v7 pairs with English.
EUROPARL = (
    *("bg", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hu"),
    *("it", "lt", "lv", "nl", "pl", "pt", "ro", "sk", "sl", "sv"),
)
EUROPARL_SITE = "https://www.statmt.org/europarl/v7"
OPUS_EUROPARL = "https://object.pouta.csc.fi/OPUS-Europarl/v8/moses"
FASTTEXT = "https://dl.fbaipublicfiles.com/fasttext"

# What ``vectors.source`` and ``vectors.target`` may say instead of a place. The Wikipedia set has its
# binary models in zip archives.
VECTOR_SETS = {
    "crawl": FASTTEXT + "/vectors-crawl/cc.{language}.300.vec.gz",
    "crawl.bin": FASTTEXT + "/vectors-crawl/cc.{language}.300.bin.gz",
    "wiki": FASTTEXT + "/vectors-wiki/wiki.{language}.vec",
    "wiki.bin": FASTTEXT + "/vectors-wiki/wiki.{language}.zip",
}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def is_url(value: str) -> bool:
    """Tell whether the value is a URL of any scheme, not a path."""
    return _SCHEME.match(value) is not None


def check_place(key: str, value: str) -> None:
    """Refuse what is neither a path nor a URL of a known scheme.

    Raises
    ------
    InputError
        If the value is empty, or the URL's scheme or host is wrong.
    """
    if not value:
        raise InputError(f"{key}: empty; give a path or a URL")
    scheme = _SCHEME.match(value)
    if scheme is None:
        return
    if scheme.group(1).lower() not in ("http", "https", "file"):
        raise InputError(f"{key}: {value} is no http, https or file URL; give one, or a path")
    try:
        host = urlsplit(value).hostname
        urlsplit(value).port  # noqa: B018  a wrong one raises
    except ValueError:
        host = None
    if scheme.group(1).lower() == "file":
        if host not in (None, "localhost"):
            raise InputError(f"{key}: {value} names another machine; a file URL is file:///path")
    elif not host:
        raise InputError(f"{key}: {value} has no valid host or port; write http://host/path")


def local_path(value: str) -> Path | None:
    """Return the path that a place means, None where it is an http or https URL."""
    scheme = _SCHEME.match(value)
    if scheme is None:
        return Path(value)
    return Path(url2pathname(urlsplit(value).path)) if scheme.group(1).lower() == "file" else None


def check_file(key: str, path: Path) -> Path:
    """Return ``path`` if it is a file with something in it.

    Raises
    ------
    InputError
        If it is missing, empty or no file.
    """
    try:
        path.stat()
    except (OSError, ValueError) as error:
        if not isinstance(error, (FileNotFoundError, ValueError)):
            raise InputError(f"{key}: {str(path)[:200]}: {error.strerror}; correct the path") from None
    if path.is_dir():
        raise InputError(f"{key}: {path} is a folder; name a file in it")
    if not path.exists():
        raise InputError(f"{key}: {path} does not exist; correct the path")
    if not path.is_file():
        raise InputError(f"{key}: {path} is a pipe or device, which can be read only once; save it as a file")
    if path.stat().st_size == 0:
        raise InputError(f"{key}: {path} is empty; give a file with text in it")
    return path


def europarl_urls(source: str, target: str) -> list[str]:
    """Return the addresses of Europarl's archive of two languages, the preferred one first.

    Raises
    ------
    InputError
        If Europarl does not have one of the languages.
    """
    first, second = sorted((source.lower(), target.lower()))
    for code in (first, second):
        if code not in (*EUROPARL, "en"):
            raise InputError(
                f"corpus: no files, url, tsv, tmx or joint is set, and Europarl has no {code!r} (it has en, "
                f"{', '.join(EUROPARL)}); name the text to align"
            )
    urls = [f"{OPUS_EUROPARL}/{first}-{second}.txt.zip"]
    if "en" in (first, second):
        other = second if first == "en" else first
        urls.insert(0, f"{EUROPARL_SITE}/{other}-en.tgz")
    return urls


def vectors_place(value: str, language: str) -> str:
    """Return the place of vectors: the address of a published set in ``language``, or ``value`` itself."""
    return VECTOR_SETS[value].format(language=base_code(language)) if value in VECTOR_SETS else value
