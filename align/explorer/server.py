"""The explorer's server: one page, what its scripts ask for, and what they write.

Whatever a request holds is the word of a stranger: a web page in the same browser can send requests here
too. So the host must be the one this server was bound to (a name that an attacker's server resolves to
127.0.0.1 is refused), a post must be JSON, come from this page and have the token that only this page knows,
sizes are limited before anything is read, and nothing is ever read from a path that a request names.

127.0.0.1 is open to all users of a machine. Where the system tells whose the other end of a connection is
(Linux does), only the user who runs the server is answered, and root; the page's token stands for that, too.
"""

from __future__ import annotations

import errno
import hmac
import io
import json
import os
import queue
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from align.core.errors import LiaisonError, WorkError
from align.core.files import WRITE_FAULTS
from align.explorer.requests import MOST_CHARACTERS, RequestError, sentences
from align.explorer.routes import UPLOAD_BYTES, Attachment, Routes
from align.report import policy

ADDRESS = "127.0.0.1"

# Of a request's body, in bytes.
MOST_BYTES = 1 << 16

# Seconds a client may be silent in a request, and those that it may take over a whole one. A file has more,
# by its length: so many bytes a second must come.
_TIMEOUT = 30
_WHOLE = 60.0
_SLOWEST = 1 << 17

# Requests that are read at once, a thread each. The others wait in the system's queue of connections, which
# is as long as the system allows; one that is too short would have them reset.
_THREADS = 32
_QUEUE = 4096

# Bytes of a body that is too large which are read and thrown away, and the seconds its next ones may take.
_MOST_THROWN_AWAY = 1 << 23
_LINGER = 2

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{policy('explorer')}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

# Of faults: there is no more room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Linux's connections, a row an end; a socket of IPv6 that speaks IPv4 stands in the second one.
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LOOKS = 3

# Bytes of a file that are read, or sent, at a time.
_PIECE = 1 << 18

__all__ = ["ADDRESS", "MOST_BYTES", "MOST_CHARACTERS", "make_desk_server", "make_server"]

Answer = Callable[[Any, Any], Mapping[str, Any]]


def make_server(
    port: int, page: str, answer: Answer, *, on_fault: Callable[[str], None] | None = None
) -> ThreadingHTTPServer:
    """Return a server bound to 127.0.0.1; ``serve_forever`` starts it.

    Parameters
    ----------
    port : int
        0 for any free one.
    page : str
        The page it gives.
    answer : callable
        From two sentences (both text, or both lists of tokens) to what is sent back as JSON. Calls come one
        at a time, from several threads.
    on_fault : callable, optional
        Called with the traceback of a fault of ``answer``.

    Raises
    ------
    OSError
        If the port is taken or not allowed.
    """
    alone = threading.Lock()

    def one_at_a_time(source: Any, target: Any) -> Mapping[str, Any]:
        with alone:
            return answer(source, target)

    class Handler(_Handler):
        pass

    Handler.page = staticmethod(lambda: page)
    Handler.answer = staticmethod(one_at_a_time)
    Handler.on_fault = None if on_fault is None else staticmethod(on_fault)
    return _Server((ADDRESS, port), Handler)


def make_desk_server(
    port: int,
    page: Callable[[], str],
    routes: Routes,
    *,
    token: str,
    on_fault: Callable[[str], None] | None = None,
) -> ThreadingHTTPServer:
    """Return a server of a desk, bound to 127.0.0.1; ``serve_forever`` starts it.

    Parameters
    ----------
    port : int
        0 for any free one.
    page : callable
        Returns the page as it is now; calls come from several threads.
    routes : Routes
        What its paths answer.
    token : str
        What whoever writes must send as ``X-Liaison-Token``; the page knows it.
    on_fault : callable, optional
        Called with the traceback of a fault.

    Raises
    ------
    OSError
        If the port is taken or not allowed.
    """

    class Handler(_Handler):
        pass

    Handler.page = staticmethod(page)
    Handler.routes, Handler.token = routes, token
    Handler.on_fault = None if on_fault is None else staticmethod(on_fault)
    return _Server((ADDRESS, port), Handler)


def owner_of_peer(own: tuple[str, int], peer: tuple[str, int]) -> int | None:
    """Return the user whose the other end of a connection is, both ends being on this machine.

    Parameters
    ----------
    own, peer : (str, int)
        IPv4 address and port of this process's end, and of the other one.

    Returns
    -------
    int or None
        The number of the user, -1 where the other end is gone; None where the system does not tell.
    """
    here, there = _in_table(*own), _in_table(*peer)
    for _ in range(_LOOKS):  # a table that changes while it is read may lack a row
        owners = {}
        for table in _TABLES:
            try:
                rows = Path(table).read_bytes().split(b"\n")
            except OSError:
                continue
            for row in rows:
                if here in row and there in row:
                    fields = row.split()
                    owners[fields[1].endswith(there)] = int(fields[7])
        if True in owners:
            return owners[True]
        if False not in owners:  # nor is this end told of
            return None
    return -1


def _in_table(address: str, port: int) -> bytes:
    """Return an address as the system's tables have it."""
    number = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    return f"{number:08X}:{port:04X}".encode()


def _told_of_full_disk(error: Exception) -> str:
    """Return why nothing more can be written and what to do, empty where that is not what is wrong."""
    code = error.errno if isinstance(error, OSError) else None
    if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode == sqlite3.SQLITE_FULL:
        code = errno.ENOSPC
    return "; ".join(WRITE_FAULTS[code]) if code in _FULL else ""


class _Received(io.RawIOBase):
    """What a client sends, while it takes no longer over it than it may."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.allow(_WHOLE)

    def allow(self, seconds: float) -> None:
        """Give so many seconds from now on."""
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is.

        Raises
        ------
        TimeoutError
            If nothing comes for a while, or the time for all of it is over.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(min(left, _TIMEOUT))
        return self._connection.recv_into(buffer)


class _Server(ThreadingHTTPServer):
    """Reads so many requests at once; the next one is taken up when one of them is answered.

    A thread that has answered waits for another request: to start one for each would have whoever takes them
    up wait until it runs.
    """

    request_queue_size = _QUEUE

    def __init__(self, *args: Any) -> None:
        self._places = threading.BoundedSemaphore(_THREADS)
        self._idle = threading.Semaphore(0)
        self._taken: queue.SimpleQueue[tuple[Any, Any] | None] = queue.SimpleQueue()
        self._count = 0
        super().__init__(*args)

    def server_close(self) -> None:
        """Take no more requests, and let those that are being answered end."""
        super().server_close()
        end = time.monotonic() + _LINGER
        for _ in range(_THREADS):
            self._places.acquire(timeout=max(0.0, end - time.monotonic()))
        for _ in range(self._count):
            self._taken.put(None)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Wait for a place, then answer in a thread that has nothing to do, or in a new one."""
        self._places.acquire()
        try:
            if not self._idle.acquire(blocking=False):
                threading.Thread(target=self._work, name="answering", daemon=True).start()
                self._count += 1
        except BaseException:  # no thread could be started
            self._places.release()
            raise
        self._taken.put((request, client_address))

    def _work(self) -> None:
        """Answer one request after the other."""
        while (taken := self._taken.get()) is not None:
            try:
                self.process_request_thread(*taken)
            finally:
                self._idle.release()
                self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tell of a fault outside of what answers where the handler does: by default it goes to stderr."""
        if (on_fault := getattr(self.RequestHandlerClass, "on_fault", None)) is not None:
            on_fault(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    """Answers one request and closes the connection."""

    page: Callable[[], str]
    answer: Answer
    routes: Routes | None = None
    token: str | None = None
    on_fault: Callable[[str], None] | None
    timeout = _TIMEOUT
    raw_requestline: bytes
    _received: _Received
    _unread = 0  # bytes of a body that is refused
    server_version = "liaison"
    sys_version = ""

    def setup(self) -> None:
        """Read what comes within the time that a request has."""
        super().setup()
        self.rfile.close()
        self._received = _Received(self.connection)
        self.rfile = io.BufferedReader(self._received)

    def handle(self) -> None:
        """Read the request and answer; who goes away before its end is no fault."""
        with suppress(ConnectionError):
            super().handle()

    def parse_request(self) -> bool:
        """Read the head; a first line of blanks alone is answered too."""
        if not self.raw_requestline.decode("iso-8859-1").split():
            self.command = self.requestline = ""
            self.send_error(400)
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """Give the page."""
        self._guarded(self._get)

    def do_HEAD(self) -> None:
        """Say what GET would give."""
        self._guarded(self._get)

    def do_POST(self) -> None:
        """Link two sentences."""
        self._guarded(self._post)

    def _get(self) -> None:
        try:
            address = urlsplit(self.path)
        except ValueError:
            raise RequestError(400, "the address cannot be read") from None
        if address.path == "/":
            self._send(200, "text/html; charset=utf-8", self.page().encode())
        elif self.routes is None:
            raise RequestError(404, "there is nothing here but / and /align")
        else:
            self._check_origin()
            self._give(self.routes.get(address.path, address.query))

    def _post(self) -> None:
        length = self.headers.get("Content-Length", "")
        if length.isascii() and length.isdigit() and len(length) < 10:
            self._unread = min(int(length), _MOST_THROWN_AWAY)
        if self.routes is None:
            if self.path != "/align":
                raise RequestError(404, "only /align takes posts")
            self._check_origin()
            self._check_kind("application/json")
            source, target = sentences(self._body())
            self._send_json(200, self.answer(source, target))
            return
        try:
            address = urlsplit(self.path)
        except ValueError:
            raise RequestError(400, "the address cannot be read") from None
        self._check_origin()
        is_file = address.path == "/upload"
        self._check_kind("application/octet-stream" if is_file else "application/json")
        self._check_token()
        if is_file:
            format = self.routes.upload_format(address.query)
            # Where others are being read already, that is told before this one comes.
            with (
                self.routes.desk.loading(),
                tempfile.TemporaryFile(dir=self.routes.desk.scratch) as file,
            ):
                # In messages, in place of the number of a descriptor.
                file.raw.name = "the file"  # type: ignore[attr-defined]
                self._take(file)
                answer = self.routes.upload(format, file)
            self._give(answer)  # whoever has it may send the next one
            return
        if address.query:
            raise RequestError(400, "posts have no parameters")
        self._give(self.routes.post(address.path, self._body()))

    def _give(self, answer: Mapping[str, Any] | Attachment) -> None:
        """Send what was answered."""
        if isinstance(answer, Attachment):
            with answer.file:
                self._send_file(answer)
        else:
            self._send_json(200, answer)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do the work; tell what goes wrong as JSON, never with a traceback."""
        try:
            self._check_host()
            self._check_user()
            work()
        except RequestError as error:
            self._send_json(error.status, {"error": str(error)})
            self._throw_away()
        except WorkError as error:
            self._send_json(507, {"error": str(error)})
        except LiaisonError as error:
            self._send_json(400, {"error": str(error)})
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:
            if self.routes is not None and self.routes.desk.ended:
                self.close_connection = True
                return
            if (full := _told_of_full_disk(error)) and self.routes is not None:
                self._send_json(507, {"error": f"{self.routes.desk.scratch}: {full}, then try again"})
                return
            if self.on_fault is not None:
                self.on_fault(traceback.format_exc())
            self._send_json(500, {"error": f"internal fault: {type(error).__name__}"})

    def _check_host(self) -> None:
        """Refuse requests for another host: a name can be made to lead here."""
        port = self.connection.getsockname()[1]
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in {f"{ADDRESS}:{port}", f"localhost:{port}"}:
            raise RequestError(403, f"this server answers for http://{ADDRESS}:{port}/ only")

    def _check_user(self) -> None:
        """Refuse other users of this machine, where the system tells of them."""
        if self._has_token():  # who has it has read the page
            return
        owner = owner_of_peer(self.connection.getsockname(), self.client_address)
        if owner is not None and owner not in {os.getuid(), os.geteuid(), 0}:
            raise RequestError(403, "this server answers the user who has started it only")

    def _check_origin(self) -> None:
        """Refuse what another site's page makes a browser send."""
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers['Host']}":
            raise RequestError(403, "only this server's own page may ask for this")
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise RequestError(403, "only this server's own page may ask for this")

    def _check_kind(self, kind: str) -> None:
        """Refuse bodies that a form of another site could send."""
        if self.headers.get_content_type() != kind:
            raise RequestError(415, f"the body must be {kind}")

    def _check_token(self) -> None:
        """Refuse who has not read the page."""
        if not self._has_token():
            raise RequestError(403, "the token is missing or wrong: load the page again")

    def _has_token(self) -> bool:
        given = self.headers.get("X-Liaison-Token", "")
        return self.token is not None and hmac.compare_digest(
            given.encode("utf-8", "replace"), self.token.encode()
        )

    def _body(self) -> bytes:
        """Read the body, whose length must be told and allowed."""
        length = self._length(MOST_BYTES, "give a shorter pair")
        self._unread = 0
        body = self.rfile.read(length)
        if len(body) < length:
            raise RequestError(400, "the body is shorter than told")
        return body

    def _take(self, file: IO[bytes]) -> None:
        """Write a long body to a file, which is left at its start."""
        left = self._length(UPLOAD_BYTES, "give it with --input, or in parts")
        self._unread = 0
        self._received.allow(_WHOLE + left / _SLOWEST)
        while left and (piece := self.rfile.read(min(left, _PIECE))):
            file.write(piece)
            left -= len(piece)
        if left:
            raise RequestError(400, "the body is shorter than told")
        file.seek(0)

    def _length(self, most: int, remedy: str) -> int:
        """Return the length of the body, in bytes."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") is not None or not length:
            raise RequestError(411, "the length of the body must be given")
        if not (length.isascii() and length.isdigit() and len(length) < 10):
            raise RequestError(400, "the length of the body is no number")
        if int(length) > most:
            self._unread = min(int(length), _MOST_THROWN_AWAY)
            raise RequestError(413, f"the body is larger than {most} bytes; {remedy}")
        return int(length)

    def _throw_away(self) -> None:
        """Read on for a moment: a connection closed with bytes unread is reset, and its answer lost."""
        self._received.allow(_LINGER)
        with suppress(OSError):
            while self._unread > 0 and (piece := self.rfile.read1(MOST_BYTES)):
                self._unread -= len(piece)

    def _send_json(self, status: int, value: Mapping[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value, allow_nan=False).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        with suppress(ConnectionError, TimeoutError):  # whoever asked has gone
            self._send_head(status, kind, len(body))
            if self.command != "HEAD":
                self.wfile.write(body)

    def _send_file(self, sent: Attachment) -> None:
        with suppress(ConnectionError, TimeoutError):
            self._send_head(200, sent.kind, sent.size, name=sent.name)
            if self.command != "HEAD":
                shutil.copyfileobj(sent.file, self.wfile, _PIECE)

    def _send_head(self, status: int, kind: str, length: int, *, name: str | None = None) -> None:
        self.close_connection = True
        self.connection.settimeout(_TIMEOUT)
        # A request line without a version, or that cannot be read, is taken for HTTP 0.9, whose answers have
        # no head: nothing would say how the page may be used.
        self.request_version = self.protocol_version
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        if name is not None:
            self.send_header("Content-Disposition", f'attachment; filename="{name}"')
        for header, value in _HEADERS.items():
            self.send_header(header, value)
        self.end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Tell of a request that is no HTTP, or a method that is not known, as JSON too."""
        reason = message or self.responses.get(code, ("not understood", ""))[0]
        self.command = self.command or ""  # None where the line could not be read
        self._send_json(code, {"error": reason})

    def log_message(self, format: str, *args: Any) -> None:
        """Keep no record of what is asked."""
