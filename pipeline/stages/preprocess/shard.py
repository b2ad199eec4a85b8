"""One shard of lines through preprocessing, by a worker: text in, compact arrays in a temporary file out."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from align.core.errors import WorkError
from align.core.files import new_file
from align.core.ragged import SIDES
from align.text.batch import Batch, BatchProcessor
from align.text.markup import blank_language_tag, is_markup
from align.text.processor import TextProcessor
from align.text.sentences import SentenceSplitter
from pipeline.stages.preprocess.counts import count_side, hash_pairs, length_sums, take
from pipeline.stages.preprocess.keep import is_there, keep, kept, stamp
from pipeline.stages.preprocess.parts import Parts, Report, make_parts
from pipeline.stages.preprocess.tokenizer import code_of
from pipeline.stages.preprocess.types import Packed, Settings, Shard, Summary, shard_files

# Under so many tokens on the longer side any ratio of lengths may be right: "Bravo !" is "Hear , hear !"
RATIO_FROM = 10


def process_packed(packed: Packed) -> Summary:
    """Process a shard as it was sent: see :func:`process_shard`."""
    return process_shard(packed.unpacked())


def process_shard(shard: Shard) -> Summary:
    """Tokenize, check and split the lines of a shard; write its arrays and return the rest.

    What a killed run did of it is taken as it is, where it is whole and of the very same lines and settings.

    Raises
    ------
    InputError
        If a tokenizer of the user's own gives what is no token.
    """
    mark = stamp(shard)
    summary = kept(shard, mark)
    if summary is not None:
        return summary
    again = is_there(shard)
    summary = _process(shard)
    keep(shard, summary, mark)
    return replace(summary, again=again)


def _process(shard: Shard) -> Summary:
    settings = shard.settings
    report = Report(shard.first, len(shard.texts[0]))
    for row, reason, detail in shard.problems:
        report.drop(row, reason, detail)
    tags = 0
    texts: Sequence[Sequence[str]] = shard.texts
    if settings.strip_markup:
        texts, tags = _strip_markup(shard.texts, report)
    _check_code(settings.processors, settings.code)
    processors = [_processor(text, settings.code) for text in settings.processors]
    batches = [processor.process(lines) for processor, lines in zip(processors, texts, strict=True)]
    _drop_empty(batches, report)
    long = any((np.diff(batch.offsets) > settings.max_length)[report.alive].any() for batch in batches)
    splitters = [*_splitters(settings)] if long else None
    parts = make_parts(texts, batches, splitters, limit=settings.max_length, report=report)
    same = _identical(texts, batches, report)
    used = ~(same[parts.rows] | _uneven(parts, settings.max_ratio, report))
    alive = report.alive
    counted = [
        count_side(processor, batch, spans, used, alive)
        for processor, batch, spans in zip(processors, batches, parts.spans, strict=True)
    ]
    _write(shard, parts, used, [ids for _, ids in counted], batches, alive)
    changes = {"language_tags": tags} if tags else {}
    for batch in batches:
        for kind, count in batch.changes.items():
            changes[kind] = changes.get(kind, 0) + count
    return Summary(
        number=shard.number,
        lines=len(alive),
        used_lines=int(alive.sum()),
        split_lines=int(np.count_nonzero(np.bincount(parts.rows) > 1)) if len(parts.rows) else 0,
        parts=len(parts.rows),
        sides=(counted[0][0], counted[1][0]),
        lengths=length_sums(np.diff(batches[0].starts), np.diff(batches[1].starts), alive),
        hashes=hash_pairs([counts.words for counts, _ in counted], [ids for _, ids in counted], parts)[used],
        rejects=sorted(report.rows, key=lambda reject: reject.line),
        changes=changes,
    )


@lru_cache(maxsize=8)
def _check_code(processors: tuple[str, str], code: str) -> None:
    """Compare the code of tokenizers with that of the run, where it is known; once in a process."""
    if code and code_of(json.loads(each)["tokenizer"] for each in processors) != code:
        raise WorkError(
            f"{socket.gethostname()}: the tokenizer of a worker has other code, or another version of its "
            "package, than that of the run; give every worker the same, and run the command again"
        )


@lru_cache(maxsize=8)
def _processor(settings: str, code: str) -> BatchProcessor:
    # The settings come from the user's own configuration.
    return BatchProcessor(TextProcessor.from_settings(json.loads(settings), trusted=True))


def sample_hash(folder: str) -> str:
    """Return a hash of the text that sentence splitters learn from."""
    found = blake2b(digest_size=16)
    for side in SIDES:
        found.update((Path(folder) / f"sample.{side}.txt").read_bytes() + b"\n")
    return found.hexdigest()


def _splitters(settings: Settings) -> Iterator[SentenceSplitter]:
    if settings.sample and sample_hash(settings.folder) != settings.sample:
        raise WorkError(
            f"{settings.folder}: a worker sees other files there than the run does; "
            "give a --workdir on a disk that all workers share"
        )
    for side, processor in zip(SIDES, settings.processors, strict=True):
        with open(Path(settings.folder) / f"sample.{side}.txt", encoding="utf-8", newline="\n") as sample:
            yield _splitter(json.loads(processor)["language"], sample.read())


@lru_cache(maxsize=4)
def _splitter(language: str, sample: str) -> SentenceSplitter:
    # By its text: a worker of a cluster may meet another corpus's sample by the same path.
    return SentenceSplitter(language, io.StringIO(sample, newline="\n"))


def _strip_markup(texts: Sequence[list[str]], report: Report) -> tuple[list[list[str]], int]:
    """Drop lines that are markup on a side; blank language tags and count them."""
    stripped = [[blank_language_tag(line) for line in side] for side in texts]
    tags = sum(
        line is not blank
        for old, new in zip(texts, stripped, strict=True)
        for line, blank in zip(old, new, strict=True)
    )
    for side, lines in zip(SIDES, stripped, strict=True):
        for row, line in enumerate(lines):
            if line.startswith((" ", "<")) and report.alive[row] and is_markup(line):
                report.drop(row, "markup", f"{side}: {line.strip()[:100]}")
    for row in np.flatnonzero(~report.alive).tolist():
        for lines in stripped:
            lines[row] = ""
    return stripped, tags


def _drop_empty(batches: Sequence[Batch], report: Report) -> None:
    empty = [np.diff(batch.offsets) == 0 for batch in batches]
    for row in np.flatnonzero(report.alive & (empty[0] | empty[1])).tolist():
        both = empty[0][row] and empty[1][row]
        report.drop(row, "empty_both" if both else "empty_src" if empty[0][row] else "empty_tgt")


def _identical(texts: Sequence[Sequence[str]], batches: Sequence[Batch], report: Report) -> np.ndarray:
    """Return which lines are the same on both sides, bool, shape (lines,), and report them.

    A number or a sign is the same in all languages, and that is worth counting: such lines do not matter.
    """
    same = np.zeros(len(report.alive), dtype=bool)
    for row, (one, other) in enumerate(zip(*texts, strict=True)):
        if (one == other or batches[0].text[row] == batches[1].text[row]) and report.alive[row]:
            same[row] = any(character.isalpha() for character in one)
            if same[row]:
                report.note(row, "identical", "no-statistics", "source and target are the same")
    return same


def _uneven(parts: Parts, max_ratio: float, report: Report) -> np.ndarray:
    """Return which parts have lengths too far apart, bool, shape (P,), and report them."""
    source, target = parts.sizes()
    longer, shorter = np.maximum(source, target), np.minimum(source, target)
    uneven: np.ndarray = (longer >= RATIO_FROM) & (longer > max_ratio * shorter)
    for part in np.flatnonzero(uneven).tolist():
        detail = f"{source[part]} source and {target[part]} target tokens, ratio over {max_ratio:g}"
        report.note(int(parts.rows[part]), "length_ratio", "no-statistics", detail)
    return uneven


def _write(
    shard: Shard,
    parts: Parts,
    used: np.ndarray,
    ids: Sequence[np.ndarray],
    batches: Sequence[Batch],
    alive: np.ndarray,
) -> None:
    """Write the arrays and the surface text of a shard; lines out of use are empty."""
    files = shard_files(Path(shard.settings.folder), shard.number)
    arrays = {"lines": parts.rows + shard.first, "used": used}
    for side, local, batch, spans in zip(SIDES, ids, batches, parts.spans, strict=True):
        surface = np.diff(batch.starts)
        arrays |= {
            f"{side}.ids": local,
            f"{side}.sizes": spans[:, 1] - spans[:, 0],
            f"{side}.parents": take(batch.parents, spans),
            f"{side}.spans": batch.spans[np.repeat(alive, surface)],
            f"{side}.span_sizes": surface * alive,
        }
        with (
            new_file(files[side]) as aside,
            open(aside, "w", encoding="utf-8", newline="\n") as out,
        ):
            stay = alive.tolist()
            out.writelines(f"{text}\n" if keep else "\n" for text, keep in zip(batch.text, stay, strict=True))
    with new_file(files["arrays"]) as aside, open(aside, "wb") as raw:
        np.savez(raw, **arrays)  # type: ignore[arg-type]
