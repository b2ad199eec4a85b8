"""Flip or cut bytes of models and results: ``python -m tests.faults.flips --rounds 2000 --seed 1``.

A round changes one byte of one file, or cuts the file somewhere, in the model folder or in the result of a
stage of a finished run, and lets what reads it work in this process: a model aligns pairs, a result is needed
by a later stage that is made again. Right is a clear error that names the file, the damage told and the stage
made again, or the output of before; what must not be is another output in silence.
"""

import argparse
import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from align.core.errors import InputError
from align.model.aligner import Aligner
from pipeline.run.command import main as pipeline
from pipeline.run.graph import STAGES
from tests.runs import ROOT, command, digests

SILENT = "other output in silence"
PAIRS = 40

# So many rounds in a hundred show in the time of the file, as with an editor and not with a bad disk.
TOUCHED = 5


@dataclass(frozen=True)
class Flip:
    """One byte changed by a mask, or (mask 0) the file cut there."""

    path: Path
    place: int
    mask: int
    touched: bool

    @classmethod
    def of(cls, path: Path, chance: random.Random) -> "Flip":
        """Choose what to do to a file of at least a byte."""
        mask = chance.randrange(1, 256) if chance.random() < 0.8 else 0
        return cls(path, chance.randrange(path.stat().st_size), mask, chance.randrange(100) < TOUCHED)

    @contextlib.contextmanager
    def done(self):
        """Let the file be so, and as it was afterwards."""
        whole, state = self.path.read_bytes(), self.path.stat()
        byte = bytes([whole[self.place] ^ self.mask]) if self.mask else b""
        damaged = whole[: self.place] + byte + (whole[self.place + 1 :] if self.mask else b"")
        self.path.write_bytes(damaged)
        if not self.touched:
            os.utime(self.path, ns=(state.st_atime_ns, state.st_mtime_ns))
        try:
            yield
        finally:
            if self.path.read_bytes() == damaged:  # not made again
                self.path.write_bytes(whole)
                os.utime(self.path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def __str__(self) -> str:
        return f"{self.path} byte {self.place} {f'^ {self.mask}' if self.mask else 'cut'}"


class Models:
    """Flips in a model folder, read by an aligner."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
        sides = [(ROOT / "data/sample" / f"sample.{end}").read_text(encoding="utf-8") for end in ("en", "fr")]
        self._pairs = list(zip(*(side.split("\n")[:PAIRS] for side in sides), strict=True))
        self._folder = folder.resolve()
        self._expected = self._output()

    def _output(self) -> list[list[object]]:
        aligner = Aligner.load(self._folder)
        return [[aligner.align(*pair), aligner.scores(*pair)] for pair in self._pairs]

    def outcome(self, chance: random.Random) -> tuple[str, str, str]:
        """Run a round: what was hit, how it ended, and what was said."""
        flip = Flip.of(chance.choice(self.files), chance)
        with flip.done():
            try:
                found = self._output()
            except InputError as error:
                named = flip.path.name in str(error)
                return "model", "refused by name" if named else "refused, not by name", f"{flip}: {error}"
        return "model", "same output" if found == self._expected else SILENT, str(flip)


class Results:
    """Flips in the results of a run, read by a stage that is made again."""

    def __init__(self, work: Path, words: list[str]) -> None:
        self._work, self._words, self._root = work, words, work / "sample"
        self._expected = digests(work)

    def outcome(self, chance: random.Random) -> tuple[str, str, str]:
        """Run a round."""
        hit = chance.choice(list(STAGES))
        folder = (self._root / "latest" / hit).resolve()
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
        flip = Flip.of(chance.choice(files), chance)
        name = f"{hit}/{flip.path.relative_to(folder)}"
        readers = [
            stage.name
            for stage in STAGES.values()
            if hit in stage.needs and not any(fnmatch(name, pattern) for pattern in stage.unread)
        ]
        # What nobody needs is looked at by whoever runs the whole again.
        words = ["--stage", chance.choice(readers), "--force"] if readers else []
        with flip.done():
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                status = pipeline([*self._words, *words])
            error = next((line for line in said.getvalue().split("\n") if line.startswith("error: ")), "")
            told = f"{flip}: {error}"
            if status:
                clear = status == 2 and flip.path.name in error and "fault of the program" not in error
                return hit, "refused by name" if clear else "refused, not clearly", told
            if self._differing(hit, words):
                return hit, SILENT, told
        if "damaged: " in said.getvalue():
            return hit, "told and made again", told
        return hit, "same output", told

    def _differing(self, hit: str, words: list[str]) -> bool:
        """Tell whether what was made is another; what nobody read may be damaged as before."""
        made = digests(self._work, words[1]) if words else {}
        others = (
            {} if words else {name: found for name, found in digests(self._work).items() if hit not in name}
        )
        return any(self._expected[name] != found for name, found in {**made, **others}.items())


def rounds(count: int, seed: int, work: Path, *, told: bool = False) -> Counter[tuple[str, str]]:
    """Run so many rounds, half of them on the model, and count the outcomes by what was hit.

    Parameters
    ----------
    count, seed : int
    work : Path
        Of a finished run of the sample by ``tests.runs.command``.
    told : bool
        Whether to print those that are neither refused clearly nor without effect.
    """
    words = command(work, "--jobs", "1")[2:]
    sources = (Models(work / "sample" / "latest" / "train"), Results(work, words))
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(count):
        hit, outcome, detail = sources[number % 2].outcome(random.Random(f"{seed}-{number}"))
        counts[hit, outcome] += 1
        if told and ("not" in outcome or outcome == SILENT):
            print(f"{number:5} {hit:10} {outcome}: {detail}", flush=True)
    return counts


def table(counts: Counter[tuple[str, str]]) -> list[str]:
    """Return the lines of a table of outcomes by what was hit."""
    outcomes = sorted({outcome for _, outcome in counts} | {SILENT})
    lines = [f"| hit | {' | '.join(outcomes)} |", f"| --- |{' ---: |' * len(outcomes)}"]
    for hit in ("model", *STAGES):
        lines.append(f"| {hit} | {' | '.join(str(counts[hit, outcome]) for outcome in outcomes)} |")
    sums = (sum(count for (_, each), count in counts.items() if each == outcome) for outcome in outcomes)
    return [*lines, f"| **all** | {' | '.join(map(str, sums))} |"]


def main() -> int:
    """Make a run and flip bytes of it; status 1 if one was not noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.flips", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flips-") as folder:
        work = Path(folder) / "work"
        subprocess.run(command(work, "--jobs", "1"), check=True, stdout=subprocess.DEVNULL)
        counts = rounds(args.rounds, args.seed, work, told=True)
    print("\n".join(table(counts)))
    return int(any(outcome == SILENT for _, outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
