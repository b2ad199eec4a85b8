"""The text that measurements of speed are of: the options that name it, and the configuration of a run."""

from __future__ import annotations

import argparse
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from benchmarks.gold import links_file, text_file
from benchmarks.hansards import merged
from pipeline.config.places import check_file, is_url
from pipeline.work.budget import parse_memory

Settings = dict[str, dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--bitext", nargs=2, type=Path, metavar=("SOURCE", "TARGET"), help="two text files")
    text.add_argument(
        "--europarl",
        metavar="ARCHIVE_OR_URL",
        help="an archive with a file for each language; a server started here serves it if it is a file",
    )
    parser.add_argument(
        "--languages", nargs=2, default=["en", "fr"], metavar=("SOURCE", "TARGET"), help="default: en fr"
    )
    parser.add_argument(
        "--vectors", nargs=2, type=Path, metavar=("SOURCE", "TARGET"), help="without them they are trained"
    )
    parser.add_argument(
        "--gold",
        type=Path,
        metavar="PREFIX",
        help="of .LANGUAGE twice and .align; its text joins the corpus, whose profile is then 'expand'",
    )
    parser.add_argument(
        "--train", type=int, default=0, metavar="N", help="the first N gold pairs train (default: none)"
    )
    add_settings_argument(parser)


def add_settings_argument(parser: argparse.ArgumentParser) -> None:
    """Declare settings of the pipeline that all its runs have."""
    told = "of the pipeline, in all runs; repeatable"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=told)


def add_memory_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the limit of memory of the pipeline's measured runs."""
    parser.add_argument("--memory", metavar="SIZE", help="of the pipeline, for example 4G (its own default)")


def check_memory(args: argparse.Namespace) -> None:
    """Refuse a wrong --memory before anything is run.

    Raises
    ------
    InputError
        If it is no size, or no stage can work within it.
    """
    if args.memory is not None:
        parse_memory(args.memory)


@contextmanager
def settings_of(args: argparse.Namespace) -> Iterator[Settings]:
    """Give the configuration of all of the text; a local archive is served while it is in use.

    Raises
    ------
    InputError
        If a file is missing.
    """
    for pair in (args.bitext, args.vectors):
        for path in pair or ():
            check_file("--bitext" if pair is args.bitext else "--vectors", path)
    source, target = args.languages
    settings: Settings = {"corpus": {"name": "text", "source": source, "target": target}}
    if args.vectors:
        places = [str(path.absolute()) for path in args.vectors]
        settings["vectors"] = {"source": places[0], "target": places[1]}
    if args.gold:
        settings["gold"] = {
            "files": [str(text_file(args.gold, language)) for language in args.languages],
            "links": str(links_file(args.gold)),
            "base": 0,
            "train": args.train,
        }
        settings["preprocess"] = {"profile": "expand"}
    if args.bitext:
        files = [str(path.absolute()) for path in args.bitext]
        yield merged(settings, {"corpus": {"files": files}})
    elif is_url(args.europarl):
        yield merged(settings, {"corpus": {"url": args.europarl}})
    else:
        archive = check_file("--europarl", Path(args.europarl)).absolute()
        with served(archive) as address:
            yield merged(settings, {"corpus": {"url": address}})


@contextmanager
def served(path: Path) -> Iterator[str]:
    """Serve one file on this machine only, at a port of the system's choice; give its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._begin()

        def do_GET(self) -> None:
            if self._begin():
                with open(path, "rb") as file:
                    shutil.copyfileobj(file, self.wfile)

        def _begin(self) -> bool:
            found = self.path == f"/{path.name}"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(path.stat().st_size if found else 0))
            self.send_header("Content-Type", "application/octet-stream")
            self.end_headers()
            return found

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/{path.name}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def numbers(name: str, values: Sequence[int], *, least: int = 1) -> list[int]:
    """Return whole numbers of an option, each once, in their order.

    Raises
    ------
    InputError
        If one is below ``least``.
    """
    for value in values:
        if value < least:
            raise InputError(f"{name} {value}: less than {least}; give more")
    return list(dict.fromkeys(values))
