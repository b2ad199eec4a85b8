"""A local web server whose faults are set by the test."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Resource:
    """What is served at one path.

    ``faults`` are used up one a request: a status (503), ``"cut:N"`` (N bytes of the body, then the
    connection ends), ``"stall:N"`` (N bytes, then nothing until the server closes), or None (no fault).
    """

    data: bytes
    etag: str | None = '"one"'
    modified: str | None = "Mon, 01 Jan 2024 00:00:00 GMT"
    content_type: str = "application/octet-stream"
    ranges: bool = True  # whether Range is understood
    if_range: bool = True  # whether If-Range is respected
    length: bool = True  # whether Content-Length is said
    redirect: str | None = None
    faults: list[int | str | None] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[Resource], None] | None = None  # called at each request


@dataclass
class Request:
    """What was asked and how much of a body was sent."""

    path: str
    range: str | None
    if_range: str | None
    status: int = 0
    sent: int = 0


class Site:
    """Serves ``resources`` (by path) on 127.0.0.1 and logs ``requests``."""

    def __init__(self) -> None:
        self.resources: dict[str, Resource] = {}
        self.requests: list[Request] = []
        self.closing = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                _answer(self, site)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def add(self, path: str, data: bytes, **options: object) -> str:
        """Serve data at a path; return its URL."""
        self.resources[path] = Resource(data, **options)  # type: ignore[arg-type]
        return self.address + path

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _answer(handler: BaseHTTPRequestHandler, site: Site) -> None:
    request = Request(handler.path, handler.headers.get("Range"), handler.headers.get("If-Range"))
    site.requests.append(request)
    # One request a connection: what a fault leaves behind cannot disturb the next one.
    handler.close_connection = True
    resource = site.resources.get(handler.path.partition("?")[0])
    if resource is None:
        _send(handler, request, 404, {"Content-Type": "text/html"}, b"<html><title>Not Found</title></html>")
        return
    if resource.before is not None:
        resource.before(resource)
    fault = resource.faults.pop(0) if resource.faults else None
    if resource.redirect is not None:
        _send(handler, request, 302, {"Location": resource.redirect}, b"")
        return
    if isinstance(fault, int):
        _send(
            handler, request, fault, {"Content-Type": "text/html", **resource.headers}, b"<html>error</html>"
        )
        return
    status, headers, body = _content(resource, request)
    if not resource.length:
        headers.pop("Content-Length", None)
    kind, _, count = (fault or "").partition(":")
    _send(
        handler,
        request,
        status,
        headers,
        body[: int(count)] if kind else body,
        announced=len(body),
        length=resource.length,
    )
    if kind == "stall":
        site.closing.wait(30)


def _content(resource: Resource, request: Request) -> tuple[int, dict[str, str], bytes]:
    headers = {"Content-Type": resource.content_type, **resource.headers}
    if resource.etag:
        headers["ETag"] = resource.etag
    if resource.modified:
        headers["Last-Modified"] = resource.modified
    asked = re.fullmatch(r"bytes=(\d+)-", request.range or "")
    same = request.if_range in (None, resource.etag, resource.modified) or not resource.if_range
    if asked is None or not resource.ranges or not same:
        return 200, headers, resource.data
    start, total = int(asked.group(1)), len(resource.data)
    if start >= total:
        return 416, {"Content-Range": f"bytes */{total}"}, b""
    headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
    return 206, headers, resource.data[start:]


def _send(
    handler: BaseHTTPRequestHandler,
    request: Request,
    status: int,
    headers: dict[str, str],
    body: bytes,
    *,
    announced: int | None = None,
    length: bool = True,
) -> None:
    request.status = status
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    if length:
        handler.send_header("Content-Length", str(len(body) if announced is None else announced))
    handler.send_header("Connection", "close")
    handler.end_headers()
    for start in range(0, len(body), 1 << 14):
        try:
            handler.wfile.write(body[start : start + (1 << 14)])
        except OSError:
            return
        request.sent += len(body[start : start + (1 << 14)])
