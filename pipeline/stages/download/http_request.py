"""One try at getting a file over HTTP, going on where an earlier one stopped.

Beside ``NAME.part`` a small file says which version of the resource it is part of: its ETag, Last-Modified
and size. A further request asks for the rest of that version only (``Range`` with ``If-Range``, RFC 9110
sections 13.1.5 and 14.2); a server that ignores this, or has another version by now, sends the whole file,
and the part begins again.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

import requests
import urllib3

import align
from align.core.errors import WorkError
from align.core.files import naming
from align.data.streams import ZIP_MARK, packing_of
from pipeline.work.publish import write_json
from pipeline.work.resources import check_space

# Bytes read at once (what a kill can lose), and bytes a step of the progress bar.
PIECE = 1 << 16
BLOCK = 1 << 20

# Seconds after which what has arrived is flushed to the disk: what a power cut can lose.
FLUSH_EVERY = 2.0

TEMPORARY = (408, 425, 429, 500, 502, 503, 504)

# How pages begin, with or without a comment before, and the types of messages in JSON.
_PAGE = re.compile(rb"(<!--.*?-->\s*)*<(!doctype html|html|head|body|title|meta|script|error)\b", re.DOTALL)
_JSON = re.compile(r"application/(\S+\+)?json")

Progress = Callable[..., Iterable[Any]]


def blocks_of(stream: IO[bytes], progress: Progress, *, size: int | None = None) -> Iterable[bytes]:
    """Read a stream of ``size`` bytes, if that is known, block by block behind a progress bar."""
    total = None if size is None else -(-size // BLOCK)
    return progress(iter(lambda: stream.read(BLOCK), b""), total=total, unit="MiB")


class TemporaryError(Exception):
    """A failure worth another try; ``wait`` is what the server asks for, in seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Version:
    """Which version of a resource a server sends: validators and size, each None where it does not say."""

    etag: str | None
    modified: str | None
    total: int | None

    @property
    def validator(self) -> str | None:
        """What ``If-Range`` may hold: a strong ETag, else a date."""
        return self.etag or self.modified


class Part:
    """The part of a file that has arrived, and its version.

    Parameters
    ----------
    path : Path
        Where the bytes are; the version is in ``path`` + ``.json``.
    most : int, optional
        So many bytes may come; any number where None.
    """

    def __init__(self, path: Path, *, most: int | None = None) -> None:
        self.path, self._most = path, most
        self._about = path.with_name(path.name + ".json")

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def version(self) -> Version | None:
        """The version they are of, None where that is not known."""
        known = self._known()
        try:
            return Version(**{field.name: known[field.name] for field in fields(Version)})
        except KeyError:
            return None

    def settle(self) -> None:
        """Cut off what may not have come to the disk, where the machine was started anew since it came.

        After a power cut a file may be as long as it was, and hold zeros.
        """
        known = self._known()
        flushed = known.get("flushed", 0)
        if known.get("boot") != boot() and isinstance(flushed, int) and flushed < self.size:
            os.truncate(self.path, flushed)

    def begin(self, version: Version) -> None:
        """Start again with nothing, for another version."""
        self.forget()
        self._note(asdict(version) | {"boot": boot(), "flushed": 0})

    def flush(self, out: BinaryIO) -> None:
        """Flush what has arrived to the disk, and note how much that is."""
        os.fsync(out.fileno())
        self._note(self._known() | {"boot": boot(), "flushed": self.size})

    def check_size(self, size: int | None, url: str) -> None:
        """Refuse to have more than may come, and forget what has.

        Raises
        ------
        WorkError
            If ``size`` is more.
        """
        if self._most is not None and size is not None and size > self._most:
            self.forget()
            raise WorkError(f"{url}: the server sends more than {self._most} bytes; check the address")

    def forget(self) -> None:
        """Remove the part."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)

    def complete(self) -> None:
        """Note that all has arrived, where the server did not say how much there is."""
        version = self.version
        if version is not None and version.total is None:
            self._note(self._known() | {"total": self.size})

    def is_whole(self) -> bool:
        """Tell whether as many bytes have arrived as the server announced."""
        version = self.version
        return version is not None and version.total == self.size > 0

    def _known(self) -> dict[str, Any]:
        try:
            known = json.loads(self._about.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _note(self, values: dict[str, Any]) -> None:
        write_json(self._about, values)


@cache
def boot() -> str:
    """Return what tells one start of this machine from another, empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def receive(
    session: requests.Session, url: str, part: Part, *, timeout: float, progress: Progress
) -> str | None:
    """Make one request and save what arrives; return the date of the file's last change where it is known.

    Raises
    ------
    TemporaryError
        If another try may help; what has arrived is kept where it can be used.
    WorkError
        If no other try can help.
    """
    known = part.version
    start = part.size if known is not None and (known.validator or known.total) else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": f"Liaison/{align.__version__}"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if known is not None and known.validator:
            headers["If-Range"] = known.validator
    try:
        with session.get(url, headers=headers, stream=True, timeout=timeout) as response:
            _check_redirects(response, url)
            if _is_rest(response, part, start):
                return None
            first = response.raw.read(PIECE, decode_content=False)
            if response.status_code == 200:
                start = 0
                _begin(response, url, part, first)
            _save(response, part, first, start, progress)
            return response.headers.get("Last-Modified")
    except requests.exceptions.RequestException as error:
        raise _explained(error, url) from None
    except urllib3.exceptions.ReadTimeoutError:
        raise TemporaryError(f"nothing came for {timeout:g} s after {part.size} bytes") from None
    except urllib3.exceptions.HTTPError:
        total = part.version.total if part.version else None
        of_all = f" of {total}" if total else ""
        raise TemporaryError(f"the connection was cut after {part.size}{of_all} bytes") from None


def is_page(content_type: str, start: bytes) -> bool:
    """Tell a web page or a message in XML or JSON from data, by the first bytes, then by the type."""
    text = start[:2048].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if _PAGE.match(text):
        return True
    if text.startswith(b"<?xml"):
        # What OPUS has of sentence numbers is told later, with what to do.
        return not any(mark in text for mark in (b"<tmx", b"<!doctype tmx", b"cesalign"))
    kind = content_type.partition(";")[0].strip().lower()
    is_packed = packing_of(start) is not None or start.startswith(ZIP_MARK)
    is_message = kind in ("text/html", "application/xhtml+xml") or _JSON.fullmatch(kind) is not None
    return is_message and not is_packed


def _check_redirects(response: requests.Response, url: str) -> None:
    """Refuse to leave https for http."""
    if url.lower().startswith("https:") and not response.url.lower().startswith("https:"):
        raise WorkError(f"{url}: leads to {response.url}, which is not secure; name another address")


def _is_rest(response: requests.Response, part: Part, start: int) -> bool:
    """Judge the status of an answer: True where nothing is missing, False where a body is to be saved."""
    status = response.status_code
    if status == 200 or (status == 206 and start and _continues(response, part, start)):
        return False
    total = _content_range(response)[1]
    if status == 416 and start and total == start:
        part.complete()
        return True
    if status in (206, 416) and start:
        part.forget()
        raise TemporaryError("the file on the server has changed; starting again", wait=0.0)
    reason = f"the server answered {status} {response.reason or ''}".rstrip()
    if status in TEMPORARY:
        after = response.headers.get("Retry-After", "")
        raise TemporaryError(reason, float(after) if after.isascii() and after.isdigit() else None)
    raise WorkError(f"{response.url}: {reason}; check the address, or name a mirror")


def _continues(response: requests.Response, part: Part, start: int) -> bool:
    """Tell whether a partial answer begins where the part ends, in the same version."""
    known, sent = part.version, _version(response)
    first, total = _content_range(response)
    if known is None or first != start:
        return False
    same = (known.total, total), (known.etag, sent.etag), (known.modified, sent.modified)
    return all(old is None or new is None or old == new for old, new in same)


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    found = re.fullmatch(
        r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", "").strip()
    )
    if found is None:
        return None, None
    first, total = found.groups()
    return int(first) if first else None, int(total) if total != "*" else None


def _version(response: requests.Response) -> Version:
    etag = response.headers.get("ETag")
    length = response.headers.get("Content-Length", "")
    return Version(
        etag if etag and not etag.startswith("W/") else None,
        response.headers.get("Last-Modified"),
        int(length) if length.isascii() and length.isdigit() else None,
    )


def _begin(response: requests.Response, url: str, part: Part, first: bytes) -> None:
    """Check the start of a whole answer and start the part with its version."""
    if is_page(response.headers.get("Content-Type", ""), first):
        title = re.search(rb"<(?:title|message)>([^<]{1,100})", first, re.IGNORECASE)
        title = title or re.search(rb'"(?:message|error|detail)": *"([^"]{1,100})', first, re.IGNORECASE)
        saying = f" saying {title.group(1).decode('utf-8', 'replace').strip()!r}" if title else ""
        raise WorkError(
            f"{url}: the server sent a web page{saying}, not a file; check the address, or name a mirror"
        )
    version = _version(response)
    part.check_size(version.total, url)
    part.begin(version)
    if version.total:
        check_space(part.path.parent, version.total, url)


def _save(response: requests.Response, part: Part, first: bytes, start: int, progress: Progress) -> None:
    version = part.version
    total = version.total if version else None
    steps = None if total is None else -(-(total - start) // BLOCK)
    # Unbuffered: a killed process has written all that it took from the network.
    with naming(part.path), open(part.path, "ab", buffering=0) as out:
        for _ in progress(_written(response, first, out, part), total=steps, unit="MiB"):
            part.check_size(part.size, response.url)
        part.flush(out)
    if total is not None and part.size < total:
        raise TemporaryError(f"the connection was cut after {part.size} of {total} bytes")
    if total is not None and part.size > total:
        size = part.size
        part.forget()
        raise TemporaryError(f"the server sent {size} bytes instead of {total}", wait=0.0)
    part.complete()


def _written(response: requests.Response, first: bytes, out: BinaryIO, part: Part) -> Iterator[None]:
    """Write the body piece by piece, flush it from time to time; yield after each block of it."""
    piece, unseen, flushed = first, 0, time.monotonic()
    while piece:
        out.write(piece)
        if time.monotonic() - flushed >= FLUSH_EVERY:
            part.flush(out)
            flushed = time.monotonic()
        unseen += len(piece)
        while unseen >= BLOCK:
            unseen -= BLOCK
            yield
        piece = response.raw.read(PIECE, decode_content=False)
    if unseen:
        yield


def _explained(error: requests.exceptions.RequestException, url: str) -> Exception:
    """Sort what went wrong before a body came: what another try can mend, and what not."""
    host = urlsplit(url).hostname or url
    if isinstance(error, requests.exceptions.SSLError) and "CERTIFICATE" in str(error).upper():
        return WorkError(
            f"{url}: the certificate of {host} cannot be verified; check this machine's clock, or name a "
            "mirror (verification is never switched off)"
        )
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return WorkError(f"{url}: too many redirections; check the address")
    if isinstance(error, requests.exceptions.InvalidSchema | requests.exceptions.InvalidURL | ValueError):
        return WorkError(f"{url}: leads to an address that is no http or https URL; check the address")
    if isinstance(error, requests.exceptions.Timeout):
        return TemporaryError(f"{host} did not answer in time")
    return TemporaryError(f"no connection to {host} ({_brief(error)})")


def _brief(error: Exception) -> str:
    """Return the innermost reason of a network error in a few words."""
    while isinstance(error.args[0] if error.args else None, Exception):
        error = error.args[0]
    reason = getattr(error, "reason", None)
    text = " ".join(str(reason if isinstance(reason, Exception) else error).split())
    # The library names its connection object first; the address is in the message already.
    return re.sub(r"^HTTPS?Connection(Pool)?\([^)]*\): ", "", text)[:200]
