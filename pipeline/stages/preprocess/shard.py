"""One shard of lines through preprocessing, by a worker: text in, compact arrays in files out.

In this order: markup goes, lines are tokenized, empty ones dropped, long ones split, identical and uneven
ones noted, words counted and numbered, arrays written; what was found is saved beside them, so that a killed
run need not find it again. A *line* is a pair of the input; a *part* is a row of the corpus: a line, or a
piece of one that was too long.
"""

from __future__ import annotations

import io
import json
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np

from align.core.errors import WorkError
from align.core.files import byte_file, new_file, text_file
from align.core.ragged import SIDES
from align.data.anchors import LineSigns, SideTokens, hash_words, line_signs
from align.text.batch import Batch, BatchProcessor
from align.text.markup import blank_language_tag, is_markup
from align.text.processor import TextProcessor
from align.text.sentences import SentenceSplitter
from pipeline.stages.preprocess.counts import count_side, hash_pairs, length_sums, values_of_spans
from pipeline.stages.preprocess.parts import Parts, make_parts
from pipeline.stages.preprocess.summary import Report, Summary, shard_files
from pipeline.stages.preprocess.tokenizer import code_of
from pipeline.stages.preprocess.write import signs_to_arrays

# Under so many tokens on the longer side any ratio of lengths may be right: "Bravo !" is "Hear , hear !"
RATIO_FROM = 10


@dataclass(frozen=True)
class Settings:
    """What every shard is treated by."""

    processors: tuple[str, str]  # settings of the text processors of both sides, as JSON
    max_length: int  # analysis tokens that a part may have
    max_ratio: float  # of lengths, over which a part is left out of statistics
    strip_markup: bool  # whether lines of markup and language tags go
    folder: str  # of the shards' files; sample.source.txt and sample.target.txt train the sentence splitters
    code: str = ""  # hash of the code of both tokenizers (tokenizer.code_of)
    sample: str = ""  # hash of the two samples


@dataclass(frozen=True)
class Shard:
    """Lines in a row, as they are sent to a worker.

    Attributes
    ----------
    number, first : int
        Its own number and that of its first line, from 0.
    texts : (str, str)
        All lines of a side in one string, with a line feed between: sixteen thousand small objects take
        longer to send, and what is made among them holds on to their memory when they are gone.
    problems : list of (int, str, str)
        Line within the shard, reason and detail; the text of such a line is empty.
    settings : Settings
    """

    number: int
    first: int
    texts: tuple[str, str]
    problems: list[tuple[int, str, str]]
    settings: Settings


def process_shard(shard: Shard) -> Summary:
    """Tokenize, check and split the lines of a shard; write its arrays and return the rest.

    What a killed run did of it is taken as it is, where it is whole and of the very same lines and settings.

    Raises
    ------
    InputError
        If a tokenizer of the user's own gives what is no token.
    """
    folder, made_from = Path(shard.settings.folder), fingerprint(shard)
    summary = Summary.load(folder, shard.number, made_from=made_from)
    if summary is not None:
        return summary
    again = shard_files(folder, shard.number)["summary"].exists()
    summary = _process(shard)
    summary.save(folder, made_from=made_from)
    return replace(summary, again=again)


def fingerprint(shard: Shard) -> str:
    """Return a hash of what a shard is made from: its lines and its settings.

    The settings have hashes of the code of the user's own tokenizers and of the text that sentence splitters
    learn from: both may be others though all names are the same.
    """
    found = blake2b(repr((shard.first, shard.problems, asdict(shard.settings))).encode(), digest_size=16)
    for text in shard.texts:
        found.update(text.encode("utf-8", "surrogatepass") + b"\n\n")
    return found.hexdigest()


def _process(shard: Shard) -> Summary:
    settings = shard.settings
    texts = [text.split("\n") for text in shard.texts]
    assert len(texts[0]) == len(texts[1])
    report = Report(shard.first, len(texts[0]))
    changes: Counter[str] = Counter()
    for row, reason, detail in shard.problems:
        report.drop(row, reason, detail)
    if settings.strip_markup:
        texts = _strip_markup(texts, report, changes)
    _check_code(settings.processors, settings.code)
    processors = [_processor(text, settings.code) for text in settings.processors]
    batches = [processor.process(lines) for processor, lines in zip(processors, texts, strict=True)]
    for batch in batches:
        changes.update(batch.changes)
    _drop_empty(batches, report)
    long = any((np.diff(batch.offsets) > settings.max_length)[report.alive].any() for batch in batches)
    splitters = [*_splitters(settings)] if long else None
    parts = make_parts(texts, batches, splitters, limit=settings.max_length, report=report)
    same = _identical(texts, batches, report)
    used = ~(same[parts.rows] | _uneven(parts, settings.max_ratio, report))
    alive = report.alive
    (source, source_ids), (target, target_ids) = (
        count_side(processor, batch, spans, used, alive)
        for processor, batch, spans in zip(processors, batches, parts.spans, strict=True)
    )
    ids = source_ids, target_ids
    hashes = hash_words(source.words), hash_words(target.words)
    signs = _signs(hashes, ids, parts, batches, alive)
    _write(shard, parts, used, ids, batches, alive, signs_to_arrays(signs))
    return Summary(
        number=shard.number,
        lines=len(alive),
        used_lines=int(alive.sum()),
        split_lines=int(np.count_nonzero(np.bincount(parts.rows) > 1)),
        parts=len(parts.rows),
        sides=(source, target),
        lengths=length_sums(np.diff(batches[0].starts), np.diff(batches[1].starts), alive),
        hashes=hash_pairs(hashes, ids, parts.sizes())[used],
        rejects=sorted(report.rows, key=lambda reject: reject.line),
        changes=dict(changes),
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


def _strip_markup(texts: Sequence[Sequence[str]], report: Report, changes: Counter[str]) -> list[list[str]]:
    """Drop lines that are markup on a side; blank language tags and count them."""
    stripped = [[blank_language_tag(line) for line in side] for side in texts]
    tags = sum(
        line is not blank
        for old, new in zip(texts, stripped, strict=True)
        for line, blank in zip(old, new, strict=True)
    )
    if tags:
        changes["language_tags"] = tags
    for side, lines in zip(SIDES, stripped, strict=True):
        for row, line in enumerate(lines):
            if line.startswith((" ", "<")) and report.alive[row] and is_markup(line):
                report.drop(row, "markup", f"{side}: {line.strip()[:100]}")
    for row in np.flatnonzero(~report.alive).tolist():
        for lines in stripped:
            lines[row] = ""
    return stripped


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


def _signs(
    hashes: Sequence[np.ndarray],
    ids: Sequence[np.ndarray],
    parts: Parts,
    batches: Sequence[Batch],
    alive: np.ndarray,
) -> LineSigns:
    """Return what tells whether the lines stand beside their translations."""
    source, target = (
        SideTokens(known, tokens, np.repeat(parts.rows, sizes), np.array([len(text) for text in batch.text]))
        for known, tokens, sizes, batch in zip(hashes, ids, parts.sizes(), batches, strict=True)
    )
    return line_signs(source, target, alive)


def _write(
    shard: Shard,
    parts: Parts,
    used: np.ndarray,
    ids: Sequence[np.ndarray],
    batches: Sequence[Batch],
    alive: np.ndarray,
    further: dict[str, np.ndarray],
) -> None:
    """Write the arrays and the surface text of a shard; lines out of use are empty."""
    files = shard_files(Path(shard.settings.folder), shard.number)
    arrays = {"lines": parts.rows + shard.first, "used": used, **further}
    for side, local, batch, spans in zip(SIDES, ids, batches, parts.spans, strict=True):
        surface = np.diff(batch.starts)
        arrays |= {
            f"{side}.ids": local,
            f"{side}.sizes": spans[:, 1] - spans[:, 0],
            f"{side}.parents": values_of_spans(batch.parents, spans),
            f"{side}.spans": batch.spans[np.repeat(alive, surface)],
            f"{side}.span_sizes": surface * alive,
        }
        with (
            new_file(files[side]) as aside,
            text_file(aside) as out,
        ):
            stay = alive.tolist()
            out.writelines(f"{text}\n" if keep else "\n" for text, keep in zip(batch.text, stay, strict=True))
    with new_file(files["arrays"]) as aside, byte_file(aside) as raw:
        np.savez(raw, **arrays)  # type: ignore[arg-type]
