"""The desk of ``serve`` with many pairs: memory, times of pages, malformed requests, many requests at once.

The server runs in a process of its own on the first pairs of a bitext; its memory is what is resident in it
(RSS), beside that of the same server without pairs. Requests come from this process, one after the other
where not told otherwise.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from align.cli.arguments import Parser
from align.core.errors import InputError, WorkError
from align.explorer.queries import ORDERS
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import facts, markdown, tell
from benchmarks.process import ROOT

PAIR = {"source": "the red house", "target": "la maison rouge"}

# Filters by themselves and together; each is asked for in every order where it is the first.
FILTERS: dict[str, dict[str, str]] = {
    "none": {},
    "part of a word": {"words": "parl"},
    "whole words": {"words": '"the" "president"'},
    "word pair": {"link": "house>assemblée"},
    "word to any": {"link": "the>"},
    "no link at all": {"errors": "unlinked"},
    "word without a link": {"unlinked_word": "source:the"},
    "confidence of the pair": {"confidence": "0.5-0.8"},
    "confidence of a link": {"link_confidence": "0.2-0.3"},
    "score": {"score": "0.2-0.4"},
    "to do": {"show": "todo"},
    "several": {"words": "commission", "link": "of>de", "show": "todo", "confidence": "0.5-0.9"},
}


class Served(NamedTuple):
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    errors: Path  # what it says on stderr
    token: str
    started: float  # seconds until its address was known

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return status and JSON."""
        headers = {"Content-Type": "application/json", "X-Liaison-Token": self.token}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            if body is None:
                connection.request("GET", path, headers={"X-Liaison-Token": self.token})  # as the page
            else:
                connection.request("POST", path, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def get(self, path: str, **parameters: object) -> Any:
        """Return what a GET that has to be answered gives."""
        status, answer = self.ask(address(path, parameters))
        if status != 200:
            raise WorkError(f"{path}: {status} {answer}; look at {self.errors}")
        return answer

    def cpu(self) -> float:
        """Return the seconds of processor that the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Return the resident memory of the server, in bytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").split("\n"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise WorkError(f"process {self.process.pid}: gone; look at {self.errors}")


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument(
        "--bitext", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"), help="two text files"
    )
    parser.add_argument("--model", default="en-fr", metavar="NAME", help="default: %(default)s")
    parser.add_argument(
        "--pairs", type=int, default=100_000, metavar="N", help="the first N (default: %(default)s)"
    )
    parser.add_argument("--malformed", type=int, default=5000, metavar="N", help="default: %(default)s")
    parser.add_argument("--at-once", type=int, default=200, metavar="N", help="default: %(default)s")
    parser.add_argument("--rate", type=int, default=50, metavar="N", help="requests a second (%(default)s)")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="of that rate (%(default)s)")
    add_output_arguments(parser, "serving")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure one server after the other."""
    args.out.mkdir(parents=True, exist_ok=True)
    sides = [
        first_lines(path, args.pairs, args.out / f"text.{side}") for side, path in enumerate(args.bitext)
    ]
    found: dict[str, Any] = {"pairs": args.pairs}
    with server(args.model, [], args.out) as bare:
        bare.ask("/align", PAIR)
        found["bare_bytes"] = bare.memory()
    options = ["--source", str(sides[0]), "--target", str(sides[1]), "--save", str(args.out / "corrections")]
    with server(args.model, options, args.out) as served:
        found["seconds_to_address"] = served.started
        found |= linked(served)
        found["pages"] = pages(served)
        found["malformed"] = malformed(served, args.malformed, args.seed)
        found["at_once"] = at_once(served, args.at_once)
        before = served.memory()
        found["steady"] = steady(served, args.rate, args.seconds, args.seed)
        found["steady"] |= {"bytes_before": before, "bytes_after": served.memory()}
        found["alive"] = served.ask("/status")[0] == 200
    found["traceback"] = "Traceback" in served.errors.read_text(encoding="utf-8", errors="replace")
    tell(args.out, "table", facts(seed=args.seed), ["# The desk of serve\n", *report(found)], found)


def address(path: str, parameters: Mapping[str, object]) -> str:
    """Return a path with parameters."""
    return f"{path}?{urlencode(dict(parameters))}" if parameters else path


def first_lines(path: Path, count: int, copy: Path) -> Path:
    """Write the first lines of a text to another file.

    Raises
    ------
    InputError
        If it has fewer.
    """
    with open(path, "rb") as whole, open(copy, "wb") as part:
        written = 0
        for line in islice(whole, count):
            part.write(line)
            written += 1
    if written < count:
        raise InputError(f"{path}: {written} lines, not {count}; give fewer --pairs")
    return copy


@contextmanager
def server(model: str, options: Sequence[str], folder: Path) -> Iterator[Served]:
    """Run a server until the end of the block."""
    errors = folder / "server.log"
    command = [sys.executable, "-m", "align", "serve", "-m", model, "--port", "0", *options]
    began = time.monotonic()
    with (
        open(errors, "w", encoding="utf-8") as log,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8"
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                said = errors.read_text(encoding="utf-8").split("\n")
                raise WorkError(f"{' '.join(command)}: {said[-2:]}; it has not started")
            seconds = time.monotonic() - began
            port = int(line.rsplit(":", 1)[1].rstrip("/\n"))
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/")
            token = connection.getresponse().read().decode().split('"token":"')[1].split('"')[0]
            connection.close()
            yield Served(process, port, errors, token, seconds)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def linked(served: Served) -> dict[str, Any]:
    """Wait until all pairs are linked; return how long that took, and the memory meanwhile."""
    began = time.monotonic()
    most, slowest, read = 0, 0.0, 0.0
    while True:
        asked = time.monotonic()
        status = served.get("/status")
        served.get("/pairs", limit=50)
        slowest = max(slowest, time.monotonic() - asked)
        most = max(most, served.memory())
        if status["reading"] is None and not read:
            read = time.monotonic() - began
        if status["reading"] is None and status["linked"] >= status["pairs"]:
            break
        time.sleep(0.5)
    return {
        "seconds_to_read": read,
        "seconds_to_link": time.monotonic() - began,
        "peak_bytes_meanwhile": most,
        "slowest_meanwhile": slowest,
        "linked_bytes": served.memory(),
    }


def pages(served: Served) -> list[dict[str, Any]]:
    """Return the seconds of pages by filter and order: the first, one in the middle, the last."""
    rows = []
    for name, filter in FILTERS.items():
        for order in ORDERS if not filter else ("number", "unsure", "worst", "random"):
            times, total = [], 0
            before = served.cpu()
            for share in (0.0, 0.5, 1.0):
                offset = max(0, int(share * total) - 50)
                began = time.monotonic()
                answer = served.get("/pairs", order=order, offset=offset, limit=50, **filter)
                times.append(time.monotonic() - began)
                total = answer["total"]
            took = {"seconds": times, "cpu_seconds": served.cpu() - before}
            rows.append({"filter": name, "order": order, "found": total, **took})
    return rows


def malformed(served: Served, count: int, seed: int) -> dict[str, int]:
    """Send requests that are none, or hold what does not fit; return how they were answered, by status."""
    generator = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(count):
        data = bad_request(generator, served)
        answer = b""
        with (
            suppress(ConnectionError, TimeoutError),
            socket.create_connection(("127.0.0.1", served.port), timeout=20) as client,
        ):
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(1 << 16):
                answer += piece
        status = answer[9:12].decode("ascii", "replace") if answer.startswith(b"HTTP/1.") else "none"
        if b"Traceback" in answer:
            status = "traceback"
        found[status] += 1
    return dict(sorted(found.items()))


_GETS = ("/pairs", "/pair", "/why", "/queue", "/learn", "/status", "/export", "/summary", "/compare")
_POSTS = ("/align", "/edit", "/undo", "/redo", "/annotator", "/run", "/upload?format=tsv", "/nothing")
_NAMES = ("id", "run", "other", "order", "offset", "limit", "words", "link", "confidence", "show", "a", "b")
_VALUES = (
    *("-1", "1e9", "99999999999999999999", "NaN", "", "%00", "%ff", "%ed%a0%80", "'; DROP TABLE pair; --"),
    *("../../etc/passwd", "null", "[]", ">", "a>b>c", "0.9-0.1", "x" * 5000, "𝔞", '"', "source:", "\u202e"),
)


def bad_request(generator: random.Random, served: Served) -> bytes:
    """Return the bytes of a request of which something is wrong."""
    host = f"Host: 127.0.0.1:{served.port}\r\n"
    kind = generator.randrange(5)
    if kind == 0:  # no HTTP at all
        return generator.randbytes(generator.randrange(1, 300)) + b"\r\n\r\n"
    if kind == 1:  # parameters that are none
        count = generator.randrange(1, 4)
        query = "&".join(f"{generator.choice(_NAMES)}={generator.choice(_VALUES)}" for _ in range(count))
        path = f"{generator.choice(_GETS)}?{query}".replace(" ", "+")
        return f"GET {path} HTTP/1.1\r\n{host}\r\n".encode()
    token = served.token if generator.random() < 0.8 else "wrong"
    length = ""
    if kind == 2:  # a body of any bytes
        body = generator.randbytes(generator.randrange(200))
    else:
        value: Any = generator.choice([None, True, -1, 1e308, "x", [], {}, [[0, 0]], {"id": []}, 2**70])
        names = generator.sample(["id", "changes", "done", "clear", "source", "target", "name", "run"], 2)
        body = json.dumps({name: value for name in names}).encode()
    if kind == 4:  # cut off, or its length wrong
        length = generator.choice(["-1", "1e3", str(len(body) + 50), str(10**12), "x"])
        body = body[: generator.randrange(1 + len(body))]
    head = (
        f"POST {generator.choice(_POSTS)} HTTP/1.1\r\n{host}X-Liaison-Token: {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length or len(body)}\r\n\r\n"
    )
    return head.encode() + body


def at_once(served: Served, count: int) -> dict[str, Any]:
    """Send so many requests together; return how many were answered, and the slowest."""
    together = threading.Barrier(count)

    def one(place: int) -> tuple[int, float]:
        together.wait(60)
        began = time.monotonic()
        status, _ = served.ask("/pairs?limit=50") if place % 2 else served.ask("/align", PAIR)
        return status, time.monotonic() - began

    with ThreadPoolExecutor(count) as pool:
        found = list(pool.map(one, range(count)))
    return {
        "asked": count,
        "answered": sum(status == 200 for status, _ in found),
        "slowest": max(seconds for _, seconds in found),
    }


def steady(served: Served, rate: int, seconds: int, seed: int) -> dict[str, Any]:
    """Send requests at a rate, whether or not those before are answered; return their times.

    They are those of who looks through pairs and corrects some: three pages of the list, five pairs, a status
    and a correction of ten.
    """
    generator = random.Random(seed)
    pairs = served.get("/status")["pairs"]
    times: list[float] = []
    failed: list[str] = []
    kinds: dict[str, list[float]] = {}

    def one(at: float, kind: str, path: str, body: Any) -> None:
        time.sleep(max(0.0, at - time.monotonic()))
        began = time.monotonic()
        try:
            status, answer = served.ask(path, body)
        except OSError as error:
            failed.append(str(error))
            return
        took = time.monotonic() - began
        times.append(took)
        kinds.setdefault(kind, []).append(took)
        if status != 200:
            failed.append(f"{path}: {status} {answer}")

    def asked(place: int) -> tuple[str, str, Any]:
        pair = generator.randrange(1, pairs + 1)
        match place % 10:
            case 0 | 3 | 6:
                order = ("number", "unsure", "longest")[place % 3]
                offset = generator.randrange(max(1, pairs - 50))
                return "list", address("/pairs", {"order": order, "offset": offset, "limit": 50}), None
            case 9:
                return "correction", "/edit", {"id": pair, "done": True}
            case 5:
                return "status", "/status", None
        return "pair", address("/pair", {"id": pair}), None

    before, start = served.cpu(), time.monotonic() + 1
    with ThreadPoolExecutor(4 * rate) as pool:
        for place in range(rate * seconds):
            pool.submit(one, start + place / rate, *asked(place))
            # No more of them wait in the pool than it has threads.
            time.sleep(max(0.0, start + (place - rate) / rate - time.monotonic()))
    return {
        "requests": rate * seconds,
        "cpu_seconds": served.cpu() - before,
        "failed": failed[:5],
        **{name: quantile(times, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("slowest", 1.0))},
        "p99_of": {kind: quantile(some, 0.99) for kind, some in sorted(kinds.items())},
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else math.nan


def report(found: Mapping[str, Any]) -> list[str]:
    """Return the tables."""
    mebibytes = {name: found[name] / 2**20 for name in found if name.endswith("bytes") or "_bytes_" in name}
    steady, bare = found["steady"], mebibytes["bare_bytes"]
    rows = [
        {"what": "memory without pairs, MiB", "figure": f"{bare:.0f}"},
        {
            "what": f"memory with {found['pairs']} pairs linked, MiB",
            "figure": f"{mebibytes['linked_bytes']:.0f} ({mebibytes['linked_bytes'] - bare:+.0f})",
        },
        {"what": "most while linking, MiB", "figure": f"{mebibytes['peak_bytes_meanwhile']:.0f}"},
        {"what": "seconds until the address", "figure": f"{found['seconds_to_address']:.1f}"},
        {"what": "seconds until all is read", "figure": f"{found['seconds_to_read']:.1f}"},
        {"what": "seconds until all is linked", "figure": f"{found['seconds_to_link']:.1f}"},
        {"what": "malformed requests by status", "figure": str(found["malformed"])},
        {
            "what": "at once: answered of asked, slowest",
            "figure": f"{found['at_once']['answered']} of {found['at_once']['asked']}, "
            f"{found['at_once']['slowest']:.2f} s",
        },
        {
            "what": f"{steady['requests']} requests at a rate: p50, p99, slowest, ms",
            "figure": ", ".join(f"{1000 * steady[name]:.0f}" for name in ("p50", "p99", "slowest")),
        },
        {
            "what": "p99 by kind, ms",
            "figure": ", ".join(f"{kind} {1000 * each:.0f}" for kind, each in steady["p99_of"].items()),
        },
        {
            "what": "CPU a request, ms",
            "figure": f"{1000 * steady['cpu_seconds'] / steady['requests']:.1f}",
        },
        {"what": "failed", "figure": str(len(steady["failed"]))},
        {
            "what": "memory before and after that, MiB",
            "figure": f"{steady['bytes_before'] / 2**20:.0f}, {steady['bytes_after'] / 2**20:.0f}",
        },
        {"what": "goes on, tracebacks", "figure": f"{found['alive']}, {found['traceback']}"},
    ]
    of_pages = [
        {
            "filter": row["filter"],
            "order": row["order"],
            "found": str(row["found"]),
            "CPU of the three, ms": f"{1000 * row['cpu_seconds']:.0f}",
            "first, middle, last page, ms": ", ".join(f"{1000 * each:.0f}" for each in row["seconds"]),
        }
        for row in found["pages"]
    ]
    slowest = max(max(row["seconds"]) for row in found["pages"])
    rows.insert(6, {"what": "slowest page, ms", "figure": f"{1000 * slowest:.0f}"})
    return [markdown(rows), markdown(of_pages)]


if __name__ == "__main__":
    main()
