"""Running the pipeline small, and comparing what it left."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pipeline.run.graph import STAGES

ROOT = Path(__file__).resolve().parent.parent

# Small, so that the pipeline can be run many times; every stage has something to do.
FAST = ("embed.dim=10", "embed.epochs=1", "lexicon.chains=4", "train.passes=5", "inspect.pairs=20")

# Seconds and dates are in these: they differ from run to run.
NOT_COMPARED = re.compile(
    r"(^|/)(manifest\.json|training\.json|history\.csv|curve\.png|log\.txt|hashes\.json|lock)$"
)


def command(workdir, *arguments, fast=True):
    settings = [word for each in (FAST if fast else ()) for word in ("--set", each)]
    return [sys.executable, str(ROOT / "run_pipeline.py"), "--workdir", str(workdir), *settings, *arguments]


def run(workdir, *arguments, status=0, fast=True, **environment):
    done = subprocess.run(
        command(workdir, *arguments, fast=fast),
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=280,
        check=False,
    )
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
