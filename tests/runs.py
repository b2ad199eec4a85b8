"""Running the pipeline small, and comparing what it left."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.run.graph import STAGES
from tests import prepared

ROOT = Path(__file__).resolve().parent.parent

# Small, so that the pipeline can be run many times; every stage has something to do.
FAST = ("embed.dim=10", "embed.epochs=1", "lexicon.chains=4", "train.passes=5", "inspect.pairs=20")

# Seconds and dates are in these: they differ from run to run.
NOT_COMPARED = re.compile(
    r"(^|/)(manifest\.json|training\.json|history\.csv|curve\.png|log\.txt|hashes\.json|lock)$"
)


def words(workdir, *arguments, fast=True):
    """Return what is said to Python to run the pipeline."""
    settings = [word for each in (FAST if fast else ()) for word in ("--set", each)]
    return [str(ROOT / "run_pipeline.py"), "--workdir", str(workdir), *settings, *arguments]


def command(workdir, *arguments, fast=True):
    return [sys.executable, *words(workdir, *arguments, fast=fast)]


def begin(workdir, *arguments, fast=True, code=None, **given):
    """Begin the pipeline, or Python code that is given its words, in a copy of the prepared process."""
    said = words(workdir, *arguments, fast=fast)
    return prepared.Command(said if code is None else ["-c", code, *said[1:]], **given)


def run(workdir, *arguments, status=0, fast=True, anew=False, **environment):
    """Run the pipeline in a copy of the prepared process, or in one that Python starts anew."""
    given = {"env": {**os.environ, **environment}, "timeout": 280}
    if anew:
        done = subprocess.run(
            command(workdir, *arguments, fast=fast),
            capture_output=True,
            encoding="utf-8",
            check=False,
            **given,
        )
    else:
        done = prepared.run(words(workdir, *arguments, fast=fast), **given)
    assert done.returncode == status, done.stderr
    return done


def digests(workdir, *stages):
    """Return the hash of every result, or those of some stages, that ``latest/`` points at."""
    found = {}
    latest = workdir / "sample" / "latest"
    for stage in sorted(stages or os.listdir(latest)):
        for path in sorted((latest / stage).rglob("*")):
            name = f"{stage}/{path.relative_to(latest / stage)}"
            if path.is_file() and not NOT_COMPARED.search(name):
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def without(stage, done, tmp_path):
    """Return a copy of the finished run that lacks a stage and those after it."""
    copy = tmp_path / "work"
    shutil.copytree(done, copy, symlinks=True, dirs_exist_ok=True)
    for name in list(STAGES)[list(STAGES).index(stage) :]:
        shutil.rmtree(copy / "sample" / name)
        (copy / "sample" / "latest" / name).unlink()
    return copy
