"""What the stages take of ``--memory``: constants and formulas, measured (docs/performance.md).

All figures are bytes of resident memory. They depend on the input and the options alone, never on the
machine or on ``--jobs``, as they decide how many pairs the lexicon is learnt from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from align.core.errors import InputError
from pipeline.work.resources import parse_size, show_size

MB = 1 << 20

# What a process of the pipeline holds anyway: the interpreter, libraries, compiled kernels, and what the
# stages before have not given back.
BASE = 250 * MB

# Below this no stage can work: the base, and room for the blocks of a small corpus.
LEAST = 400 * MB

# What a process holds in align (libraries, more kernels, pieces of the model's tables), the largest block of
# pairs that it works at, and what words take for each byte of the files of vocabularies.
ALIGN_PROCESS, ALIGN_BLOCK, ALIGN_WORDS = 270 * MB, 80 * MB, 20

# What the results of the stages that grow with the text take on the disk, for each of its bytes: a little
# less than measured, so that nothing is refused that has room.
DISK_A_BYTE = {"preprocess": 3.5, "lexicon": 1.0, "align": 1.5}

# Finding the candidates of a block of pairs, and a chain's own block.
_BLOCK = 25 * MB

# Numbers that the jumps of a chain take at most, and the classes of words with jumps of their own
# (align.statistics.jumps).
JUMPS, JUMP_CLASSES = 1_000_000, 1500


def parse_memory(text: str) -> int:
    """Return the bytes of a ``--memory`` as given.

    Raises
    ------
    InputError
        If it is no size, or no stage can work within it.
    """
    memory = parse_size(text)
    if memory < LEAST:
        raise InputError(
            f"--memory {text}: libraries and compiled code alone take {show_size(BASE)}; "
            f"give {LEAST >> 20}M or more"
        )
    return memory


def index_memory(tokens: int, pairs: int, words: int) -> int:
    """Return what making the index takes: bags and postings, and the text that they are made from."""
    return BASE + 12 * tokens + 24 * pairs + 64 * words


def tables_memory(estimating: int, words: int, pairs: int) -> int:
    """Return what Model 1 takes, with that of :meth:`align.statistics.cooccurrence.Cooccurrence.memory`.

    ``pairs`` are those that are used: meanwhile their order is kept, should fewer of them be taken.
    """
    return BASE + estimating + 200 * words + 16 * pairs


def sampling_memory(
    cells: int, tokens: int, words: int, *, workers: int = 1, longest: int | None = None, stems: bool = False
) -> int:
    """Return what sampling takes with so many chains at a time, putting them together included.

    ``longest`` are the words of the longest sentence, if that is known; ``stems`` says whether those of the
    words are counted too.
    """
    jumps = min(JUMPS, 3 * tokens)
    if longest is not None:
        jumps = min(jumps, 3 * JUMP_CLASSES * (2 * longest + 3))
    together = (72 if stems else 44) * cells
    # Of so long a text a word may come more often than float32 counts: the links are float64 then.
    chain = (12 if tokens < 1 << 28 else 16) * cells + 2 * tokens + 32 * words + _BLOCK
    chain += 32 * jumps  # their counts and probabilities
    chain += 8 * cells if stems else 0
    return BASE + 200 * words + max(together, 16 * cells + workers * chain)


def most_workers(takes: Callable[[int], int], memory: int, jobs: int) -> int:
    """Return how many workers have room, 1 to ``jobs``, where ``takes(workers)`` is what so many take."""
    return max((workers for workers in range(1, jobs + 1) if takes(workers) <= memory), default=1)


def lexicon_memory(pairs: int) -> int:
    """Return about what the stage ``lexicon`` takes, by the number of pairs alone (of 25 words a side)."""
    cells = int(15.8e6 * (pairs / 200_000) ** 0.68)
    return BASE + 420 * pairs + 16 * cells + 18 * MB


def processes_memory(workers: int) -> int:
    """Return what so many worker processes take beside the main one, which works by itself if it is alone."""
    return BASE + 200 * MB * workers if workers > 1 else LEAST


def preprocess_memory(pairs: int, workers: int) -> int:
    """Return about what ``preprocess`` takes: of each pair a hash and lengths, and blocks of lines.

    With 0 workers: what it takes here where the blocks are worked at elsewhere.
    """
    return (processes_memory(workers) if workers else BASE) + 50 * pairs


def embed_memory(pairs: int) -> int:
    """Return about what the stage ``embed`` takes: vectors, word pairs of a sample, what draws the sample."""
    return BASE + max(int(min(1.0, pairs / 60_000) * 200 * MB), 24 * pairs)


def align_memory(pairs: int, workers: int) -> int:
    """Return about what the stage ``align`` takes: words, and a block for each worker."""
    return ALIGN_PROCESS + int(20 * MB * (pairs / 200_000) ** 0.68) + ALIGN_BLOCK * workers


def inspect_memory(pairs: int) -> int:
    """Return about what the stage ``inspect`` takes: the model's tables as the report wants them."""
    return BASE + int(250 * MB * (pairs / 200_000) ** 0.68)


def disk_space(text: int, stages: Iterable[str]) -> int:
    """Return what the results of some stages take on the disk at least, of so many bytes of text."""
    return int(sum(DISK_A_BYTE.get(name, 0.0) for name in stages) * text)
