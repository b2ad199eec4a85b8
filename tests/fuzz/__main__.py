"""Give every reader changed files: ``python -m tests.fuzz --seconds 1200 --seed 1``.

Only the project's own errors may come out, each file in bounded time and memory. The same seed gives the same
files; a finding is told with its number, and ``--only NAME:NUMBER`` reads that one again.
"""

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from align.core.errors import LiaisonError
from tests.fuzz.mutate import changed
from tests.fuzz.targets import Target, targets

# Of one file.
SECONDS = 10
# Of address space, above what the program has at the start.
MEMORY = 4 << 30


class TooLongError(Exception):
    """A reader was at one file for longer than it may be."""


def main() -> int:
    """Read files until the time is over; status 1 if there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--targets", default="", metavar="NAMES", help="default: all")
    parser.add_argument("--only", metavar="NAME:NUMBER", help="this file alone, with the traceback")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        table = targets(Path(place))
        return one(args, table, Path(place)) if args.only else loop(args, table, Path(place))


def one(args: argparse.Namespace, table: dict[str, Target], folder: Path) -> int:
    """Read one file again."""
    name, _, number = args.only.rpartition(":")
    data = file_of(args.seed, name, int(number), table[name])
    print(repr(data[:2000]))
    found = reading(table[name], data, folder, show=True)
    print(found or "right")
    return int(bool(found))


def loop(args: argparse.Namespace, table: dict[str, Target], folder: Path) -> int:
    """Read a file of each target in turn."""
    names = args.targets.split(",") if args.targets else list(table)
    end = time.monotonic() + args.seconds
    findings: dict[tuple[str, str], str] = {}
    counts: Counter[str] = Counter()
    number = 0
    while time.monotonic() < end:
        for name in names:
            found = reading(table[name], file_of(args.seed, name, number, table[name]), folder)
            counts[name] += 1
            if found and findings.setdefault((name, found), f"{name}:{number}") == f"{name}:{number}":
                print(f"{name}:{number} {found}", flush=True)
        number += 1
    print(f"{sum(counts.values())} files, {number} of each reader; {len(findings)} findings")
    return int(bool(findings))


def file_of(seed: int, name: str, number: int, target: Target) -> bytes:
    """Return a changed file of a target: the same for the same numbers."""
    chance = random.Random(f"{seed}-{name}-{number}")
    return changed(chance.choice(target.seeds), target.seeds, chance)


def reading(target: Target, data: bytes, folder: Path, *, show: bool = False) -> str:
    """Read a file; return what came out that must not and where it arose, empty if all is well."""
    path = folder / "file"
    path.write_bytes(data)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        target.read(path)
    except LiaisonError as error:
        return "" if str(error).strip() and "\n" not in str(error) else f"an error of no line: {error!r}"
    except Exception as error:
        if show:
            traceback.print_exc()
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return ""


def _address_space() -> int:
    pages = Path("/proc/self/statm")
    return int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize() if pages.exists() else 0


def _too_long(number: int, frame: object) -> None:
    raise TooLongError(f"after {SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
