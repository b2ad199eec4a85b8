"""Run a command and write what it took: ``python -S measured.py REPORT.json PLAN.json COMMAND ...``.

It is a program of its own, and imports next to nothing, because of memory: the system counts what the
process that starts a command occupies as if the command had occupied it. This one takes about 10 MB.

The plan says what to do besides: ``poll`` (seconds between looks at the memory of the command and all
processes below it, 0 for none), ``folders`` (by name of a stage the folder whose ``.partial`` folder is there
while the stage is at work, in the order of the stages), ``kill`` (a stage and seconds: the command gets
SIGKILL so long after the stage began, alone, as when a user kills it), ``limit`` (seconds after which it and
all processes below it are killed anyway, 0 for none).
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

# Proportional shares take the system far longer to add up than resident sizes: they are asked for when more
# is resident than ever, by so much, or after so many seconds.
_GROWTH, _PAUSE = 1.02, 0.5

# Seconds between looks at the clock and the folders where nobody asks for memory.
_TICK = 0.05


class Watch(threading.Thread):
    """Looks at a process and all below it until told to stop; keeps the largest sums, for each stage too."""

    def __init__(
        self,
        process: int,
        *,
        poll: float,
        folders: dict[str, str],
        kill: tuple[str, float] | None,
        limit: float,
    ) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.peak = {"rss": 0, "pss": 0}
        self.stages: dict[str, dict[str, int]] = {}
        self.killed = ""
        self._process, self._poll, self._folders = process, poll, folders
        self._kill, self._limit = kill or ("", 0.0), limit
        self._begun = time.perf_counter()
        self._stage, self._stage_begun = "", 0.0
        self._asked: dict[str, tuple[int, float]] = {}

    def run(self) -> None:
        """Look, and kill the process when its time has come."""
        while not self.stop.wait(self._poll or _TICK):
            now = time.perf_counter()
            stage = self._at_work()
            if stage != self._stage:
                self._stage, self._stage_begun = stage, now
            if self._poll:
                self._look(stage, now)
            name, seconds = self._kill
            if name and stage == name and now - self._stage_begun >= seconds:
                self._end(f"{name} after {now - self._stage_begun:.2f} s", [self._process])
            elif self._limit and now - self._begun > self._limit:
                self._end("limit", tree(self._process))

    def _at_work(self) -> str:
        """Return the first stage that has an unfinished folder, empty without one."""
        for name, folder in self._folders.items():
            try:
                if any(entry.endswith(".partial") for entry in os.listdir(folder)):
                    return name
            except OSError:
                continue
        return ""

    def _look(self, stage: str, now: float) -> None:
        processes = tree(self._process)
        sums = {"rss": sum(map(resident, processes))}
        most, last = self._asked.get(stage, (0, 0.0))
        if sums["rss"] > _GROWTH * most or now - last > _PAUSE:
            sums["pss"] = sum(map(proportional, processes))
            self._asked[stage] = max(most, sums["rss"]), now
        for place in (self.peak, self.stages.setdefault(stage, {"rss": 0, "pss": 0})):
            for kind, value in sums.items():
                place[kind] = max(place[kind], value)

    def _end(self, why: str, processes: list[int]) -> None:
        if self.killed:
            return
        self.killed = why
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue


def tree(process: int) -> list[int]:
    """Return a process and all below it, as numbers; Linux only, elsewhere it is alone."""
    found = [process]
    for each in found:
        try:
            threads = os.listdir(f"/proc/{each}/task")
        except OSError:
            continue
        for thread in threads:
            found += map(int, text(f"/proc/{each}/task/{thread}/children").split())
    return found


def resident(process: int) -> int:
    """Return the bytes of a process that are in memory, 0 where it is gone."""
    fields = text(f"/proc/{process}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def proportional(process: int) -> int:
    """Return the bytes of a process in memory, pages of several processes shared out among them."""
    for line in text(f"/proc/{process}/smaps_rollup").split("\n"):
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def text(path: str) -> str:
    """Return a file of the system, empty where it is gone."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def main() -> int:
    report, command = sys.argv[1], sys.argv[3:]
    with open(sys.argv[2], encoding="utf-8") as file:
        plan = json.load(file)
    begun = time.perf_counter()
    process = subprocess.Popen(command)
    watch = Watch(process.pid, **plan)
    if plan["poll"] or plan["kill"] or plan["limit"]:
        watch.start()
    # Of the command and of all its processes that have been waited for.
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    watch.stop.set()
    process.returncode = os.waitstatus_to_exitcode(status)
    figures = {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "seconds": seconds,
        # Linux counts in KiB, macOS in bytes.
        "peak_memory": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        **watch.peak,
        "stages": watch.stages,
        "killed": watch.killed,
    }
    with open(report, "w", encoding="utf-8") as out:
        json.dump(figures, out)
    # The status of a process that a signal ended is negative: a shell says 128 and the signal's number.
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main())
