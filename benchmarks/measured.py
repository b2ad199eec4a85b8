"""Run a command and write what it took: ``python -S measured.py REPORT.json COMMAND ...``.

It is a program of its own, and imports next to nothing, because of memory: the system counts what the
process that starts a command occupies as if the command had occupied it. This one takes about 10 MB.
"""

import json
import os
import subprocess
import sys
import time


def main() -> int:
    report, command = sys.argv[1], sys.argv[2:]
    begun = time.perf_counter()
    process = subprocess.Popen(command)
    # Of the command and of all its processes that have been waited for.
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    figures = {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "seconds": time.perf_counter() - begun,
        # Linux counts in KiB, macOS in bytes.
        "peak_memory": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    with open(report, "w", encoding="utf-8") as out:
        json.dump(figures, out)
    # The status of a process that a signal ended is negative: a shell says 128 and the signal's number.
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main())
