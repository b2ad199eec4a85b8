"""What is wrong with a bitext as a whole: errors that stop, and signs worth a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.advice import LIBRARY
from align.data.shifted_lines import Stretch
from pipeline.stages.preprocess.copies import CAP
from pipeline.stages.preprocess.counts import LONG_TOKEN, correlation
from pipeline.stages.preprocess.summary import Summary

# Undecodable lines: more than this share, and more than a few, mean another encoding.
ENCODING_SHARE, ENCODING_FEW = 0.01, 2

# From so many pairs on shares and correlations mean something.
ENOUGH = 200

# The lengths of translations correlate at 0.9 or more; those of unrelated lines hardly at all.
CORRELATION = 0.5

# Over this share of lines that do not stand beside their translations a run stops, if not told otherwise:
# some dozens of them are the way of large corpora, a whole part is a fault. So many stretches are named.
STOP_SHARE, NAMED = 0.02, 5

# What to do about a corpus of another kind than the configuration says.
ADVICE = LIBRARY._replace(
    languages="correct corpus.source and corpus.target",
    encoding="set the encoding of the text (corpus.encoding), e.g. latin-1",
    tsv="set corpus.tsv instead of corpus.files, or take the tabs out of the sentences",
    joint="set corpus.joint instead of corpus.files",
    kind="set corpus.{}".format,
    columns="--set corpus.columns={}".format,
)
GOLD_ADVICE = ADVICE._replace(
    encoding="convert it first: iconv -f latin-1 -t utf-8",
    tsv="gold.files are two files of one side each: cut -f1, cut -f2",
    joint="gold.files are two files of one side each",
)


def check_encoding(where: str, bad: int, lines: int, first: str, encoding: str) -> None:
    """Stop where too many lines are not text in the encoding.

    Raises
    ------
    InputError
        If more than 1 % of the lines (and more than two) are not.
    """
    if bad > ENCODING_FEW and bad > ENCODING_SHARE * lines:
        other = "utf-8" if encoding.replace("-", "").lower() != "utf8" else "latin-1"
        raise InputError(
            f"{where}: {bad} of {lines} lines are not {encoding} ({first}); give the encoding of the text: "
            f"--set corpus.encoding={other}"
        )


def check_usable(where: str, lines: int, used: int, reasons: Counter[str]) -> None:
    """Stop where nothing is left.

    Raises
    ------
    InputError
        If no pair is usable.
    """
    if used:
        return
    if not lines:
        raise InputError(f"{where}: 0 usable pairs: the input is empty; give a corpus with lines")
    found = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    raise InputError(f"{where}: 0 usable pairs of {lines} lines ({found}); check the files and their format")


def warnings(
    summaries: Sequence[Summary],
    *,
    identical: int,
    duplicates: int,
    segmented: Sequence[bool],
    returns: int,
) -> Iterator[str]:
    """Yield what the user should know.

    Parameters
    ----------
    summaries : sequence of Summary
        All shards.
    identical, duplicates : int
        Pairs with the same text on both sides; parts that came before.
    segmented : (bool, bool)
        Whether a segmenter parts the text of each side, or it came tokenized.
    returns : int
        Carriage returns within the lines.
    """
    pairs = sum(summary.used_lines for summary in summaries)
    lines = sum(summary.lines for summary in summaries)
    if lines >= 10 and lines - pairs > 0.1 * lines:
        yield f"{lines - pairs} of {lines} lines cannot be used; rejects.tsv says why"
    if returns > lines:
        yield (
            f"{returns} carriage returns within {lines} lines, where only a line feed ends a line: if they "
            r"are to end lines, convert the files first: tr '\r' '\n'"
        )
    yield from _unparted(summaries, segmented)
    if pairs >= 10 and identical > 0.1 * pairs:
        yield (
            f"{identical} of {pairs} pairs are the same on both sides ({identical / pairs:.0%}): "
            "is the corpus translated? they are aligned, but left out of statistics"
        )
    if pairs >= ENOUGH and duplicates > 0.3 * pairs:
        yield (
            f"{duplicates} of {pairs} pairs came before ({duplicates / pairs:.0%}); of each up to {CAP} are "
            "counted"
        )
    yield from _unlike(summaries)


def _unparted(summaries: Sequence[Summary], segmented: Sequence[bool]) -> Iterator[str]:
    for place, side in enumerate(SIDES):
        surface = sum(summary.sides[place].surface for summary in summaries)
        unspaced = sum(summary.sides[place].unspaced for summary in summaries)
        long = sum(summary.sides[place].long for summary in summaries)
        if not segmented[place] and unspaced > 0.2 * surface:
            yield (
                f"{side}: {unspaced / surface:.0%} of the tokens are signs of a script without spaces; "
                f"name a segmenter, --set preprocess.{side}_tokenizer=jieba (Chinese), pythainlp (Thai) or "
                "janome (Japanese), or give text with a space between words"
            )
        if long > 0.005 * surface:
            yield (
                f"{side}: {long} tokens have {LONG_TOKEN} letters or more; is the text parted into words? "
                f"name a tokenizer, --set preprocess.{side}_tokenizer=..."
            )


def check_order(where: str, stretches: Sequence[Stretch], lines: int, choice: str | None) -> str | None:
    """Stop where too many lines do not stand beside their translations.

    Parameters
    ----------
    where : str
        The file.
    stretches : sequence of Stretch
        All that were found.
    lines : int
        Of the text.
    choice : {"stop", "report"}, optional
        ``corpus.shifted``.

    Returns
    -------
    str or None
        A warning, where the run goes on.

    Raises
    ------
    InputError
        If it is to stop.
    """
    if not stretches:
        return None
    wrong = sum(stretch.stop - stretch.first for stretch in stretches)
    named = "; ".join(_stretch(stretch) for stretch in stretches[:NAMED])
    more = f"; and {len(stretches) - NAMED} more" if len(stretches) > NAMED else ""
    text = (
        f"{wrong} of {lines} lines ({wrong / lines:.1%}) seem not to stand beside their translations: "
        f"{named}{more}"
    )
    if choice == "stop" or (choice is None and wrong > STOP_SHARE * lines):
        raise InputError(
            f"{where}: {text}; look there for missing or extra lines, or go on with them: "
            "--set corpus.shifted=report"
        )
    return text


def _stretch(stretch: Stretch) -> str:
    """Name its lines and what is wrong with them."""
    where = f"lines {stretch.first + 1} to {stretch.stop}"
    if stretch.shift is None:
        return f"{where} (strangers: no shift fits)"
    return f"{where} (shift {stretch.shift:+d}: source line N goes with target line N{stretch.shift:+d})"


def _unlike(summaries: Sequence[Summary]) -> Iterator[str]:
    """Compare the lengths of all pairs."""
    sums = np.sum([summary.lengths for summary in summaries], axis=0)
    overall = correlation(sums)
    if sums[0] >= ENOUGH and overall < CORRELATION:
        yield (
            f"the lengths of the pairs hardly agree (correlation {overall:.2f}; translations: over 0.8): "
            "are these files translations of each other, in the same order?"
        )
