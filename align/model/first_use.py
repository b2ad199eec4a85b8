"""The first use on a machine: kernels are compiled by two processes, and whoever waits is told.

Numba compiles one function at a time in a process, however many threads it has. So a second process begins at
the other end: it compiles what the first comes to last, which then finds the machine code on the disk.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from align.core import kernels
from align.features import GROUPS
from align.features.block import Block
from align.features.chain import jump_table, null_odds, run_chains
from align.features.scoring import Scores
from align.matching.decoding import decode
from align.model import own_text
from align.model.aligner import Aligner
from align.model.alignments import linked_share
from align.model.evidence import evidence
from align.model.pairs import look_up
from align.model.shipped import first_model

# The word for a run, where a model's folder is expected.
_RUN = "--run"

_PAIRS = [("a 1 . b", "b 1 ."), ("c .", "d e ."), ("b a", "a b")]


@contextmanager
def compiling(model: Path | None, tell: Callable[[int], None]) -> Iterator[None]:
    """Tell of kernels that are compiled meanwhile, and let another process compile half of them.

    Parameters
    ----------
    model : Path, optional
        The model's folder: it decides which kernels are needed. Without one those of a whole run are, from
        a text to its links.
    tell : callable
        Called before each kernel that this process compiles, with how many there are by then.
    """
    helpers: list[subprocess.Popen[bytes]] = []

    def begin(count: int) -> None:
        able = kernels.are_kept() and (os.cpu_count() or 1) > 1 and sys.executable
        if not helpers and able:
            helpers.append(_start(model))
        if count:
            tell(count)

    try:
        if kernels.is_first_start():
            begin(0)
        with kernels.watching(begin):
            yield
    finally:
        for helper in helpers:
            helper.kill()  # numba's files get their name when they are whole
            helper.wait()


def _start(model: Path | None) -> subprocess.Popen[bytes]:
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        # -P: a folder of the user's with an align.py of its own does not come first.
        [sys.executable, "-P", "-m", __name__, _RUN if model is None else str(model.resolve())],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def compile_from_the_end(model: Path) -> None:
    """Compile the kernels that a model is aligned with, but those that are called first.

    The largest come first, called with numbers of no meaning: what is computed before them in earnest
    is compiled by the other process meanwhile.
    """
    aligner = Aligner.load(model, tokenizer="spaces")
    known, vocabularies = aligner.model, aligner.model.resources
    words = (vocabularies.source_vocabulary, vocabularies.target_vocabulary)
    pairs, _ = look_up([aligner.tokens("a 1 .", "b 1 .")], words)
    block = Block.of(pairs, known.resources)
    edges = int(block.offsets[-1])
    if "chain" in known.groups:
        even = np.ones(edges, dtype=np.float32)
        run_chains(block, even, null_odds(block)[0], jump_table(block, ahead=True), ahead=True)
    costs = np.zeros(3), np.zeros(3)
    scored = Scores(block.shapes, block.offsets, np.linspace(-1.0, 1.0, edges), costs)
    decode(scored, max_fertility=known.fertility)
    first = np.zeros(1, dtype=np.int64)
    linked_share(block, (first, first), np.ones(1), evidence(block))
    for group in reversed(known.groups):
        out = np.empty((len(GROUPS[group].names(known.resources)), edges), dtype=np.float32)
        GROUPS[group].fill(block, out)


def compile_for_a_run() -> None:
    """Compile the kernels of a run with its default options, those of its last stages first.

    What stages compute is computed of a text of a few words: features and what is learnt from links made by
    hand, then links, then the statistics of the text.
    """
    aligner = Aligner.load(first_model(), tokenizer="spaces")
    aligner.learn([(*pair, "0-0") for pair in _PAIRS])
    aligner.align(*_PAIRS[0])
    own_text.learn([aligner.tokens(*pair) for pair in _PAIRS])


if __name__ == "__main__":
    gc.disable()  # as of kernels that are watched; this process does not live for long
    if sys.argv[1] == _RUN:
        compile_for_a_run()
    else:
        compile_from_the_end(Path(sys.argv[1]))
