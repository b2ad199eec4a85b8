"""Stage ``preprocess``: sentence pairs cleaned, tokenized, checked and numbered.

Every line of the input stays in its place: what cannot be used is reported, with its reason, in
``rejects.tsv``, and line N of ``source.txt`` and ``target.txt`` always belongs to line N of the input.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from align.core.files import text_file
from align.core.ragged import SIDES
from align.data.bitext import open_bitext
from align.data.corpus import LONGEST
from align.data.row import Row
from align.data.shifted_lines import scan
from align.data.streams import packing_of
from align.data.vocabulary import Vocabulary, WordCounter
from align.text.processor import TextProcessor
from align.text.sentences import SAMPLE_SIZE
from pipeline.config.configuration import Config
from pipeline.config.options import at_least, between
from pipeline.stages.download.stage import load as load_sources
from pipeline.stages.preprocess.checks import ADVICE, check_encoding, check_order, check_usable, warnings
from pipeline.stages.preprocess.copies import find_copies, write_copies
from pipeline.stages.preprocess.counts import correlation
from pipeline.stages.preprocess.gold import Gold
from pipeline.stages.preprocess.shard import Settings, Shard, process_shard, sample_hash
from pipeline.stages.preprocess.summary import Summary
from pipeline.stages.preprocess.tokenizer import code_of, own_files
from pipeline.stages.preprocess.write import read_signs, write_corpus
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext

# Lines a worker is given at a time: enough to share the cost of arrays, a few MB.
SHARD = 8192

# Where their results wait for the last of them. In the stage's own folder: workers on other machines see it,
# and the next run finds it where this one is killed.
SHARDS = "shards"


def run(
    context: StageContext,
    *,
    profile: str = "plain",
    max_length: Annotated[int, between(1, LONGEST)] = 100,
    max_ratio: Annotated[float, at_least(1)] = 5.0,
    source_tokenizer: str = "rules",
    target_tokenizer: str = "rules",
    strip_markup: bool = True,
) -> None:
    """Clean, tokenize and check the corpus and the gold text.

    Parameters
    ----------
    profile : str
        What statistics are made of: ``plain``, the words as they are; ``expand``, contractions undone
        (French l'homme, du: le homme, de le) where the language has rules. Links refer to the words as
        they are with both.
    max_length : int
        Words a pair may have on either side, contractions undone, 1 to 32767. Longer pairs are split to
        shorter parallel ones, or rejected where that cannot be.
    max_ratio : float
        Pairs of 10 words or more whose one side has over this many times the words of the other are aligned,
        but left out of statistics.
    source_tokenizer : str
        Tokenizer of the source: ``rules``; ``jieba``, ``pythainlp`` or ``janome`` for scripts without
        spaces; ``nltk:NAME``; ``module:function`` of your own, whose code, with that of modules beside it,
        counts as input. Tokenized corpora need none.
    target_tokenizer : str
        Tokenizer of the target, likewise.
    strip_markup : bool
        Leave out lines that are markup (<SPEAKER ID=1>) and language tags before a speech ((DE)). Never
        done to tokenized text.

    Raises
    ------
    InputError
        If a tokenizer or the input is wrong, too many lines are not text in the encoding, no pair is usable,
        or the lines of a stretch do not stand beside their translations (see ``corpus.shifted``).
    """
    tokenized = context.option("corpus.tokenized")
    recorded = text_settings(context.option, profile, (source_tokenizer, target_tokenizer))
    chosen = [settings | {"tokenizer": "spaces"} if tokenized else settings for settings in recorded]
    shards = context.folder / SHARDS
    shards.mkdir(exist_ok=True)
    settings = Settings(
        (json.dumps(chosen[0]), json.dumps(chosen[1])),
        max_length,
        max_ratio,
        strip_markup and not tokenized,
        str(shards),
        code_of(settings["tokenizer"] for settings in chosen),
    )
    sources = load_sources(context.inputs["download"])
    gold = None if sources["gold"] is None else Gold.read(sources["gold"]["files"], recorded)
    corpus = _read_corpus(context, sources["corpus"], settings)
    _check_order(context, corpus, shards)
    copies = find_copies([summary.hashes for summary in corpus.summaries])
    _warn(context, corpus, [settings["tokenizer"] != "rules" for settings in chosen], len(copies))
    places = None if gold is None else _add_gold(context, corpus, gold)
    vocabularies, ids = zip(*(words.rank() for words in corpus.words), strict=True)
    write_corpus(context.folder, shards, corpus.summaries, corpus.numbers, ids)
    write_copies(context.folder, copies)
    if gold is not None and places is not None:
        gold.write(context.folder, vocabularies, places)
    for side, vocabulary in zip(SIDES, vocabularies, strict=True):
        vocabulary.save(context.folder / f"{side}.vocabulary.tsv")
    write_json(context.folder / "text.json", dict(zip(SIDES, recorded, strict=True)))
    _report(context, corpus, vocabularies, tokenized)
    # On a network disk a file that a worker still has open keeps its folder: no reason to fail at the end.
    shutil.rmtree(shards, ignore_errors=True)


def text_settings(
    option: Callable[[str], Any], profile: str, tokenizers: Sequence[str]
) -> list[dict[str, str]]:
    """Return the settings of the text processors of both sides; an InputError if there are no such ones."""
    return [
        TextProcessor(option(f"corpus.{side}"), profile=profile, tokenizer=tokenizer).settings()
        for side, tokenizer in zip(SIDES, tokenizers, strict=True)
    ]


def open_corpus(source: Mapping[str, Any], option: Callable[[str], Any]) -> Iterator[Row]:
    """Return the rows of a corpus, as the stage ``download`` describes it, by [corpus]."""
    return open_bitext(
        source["kind"],
        [Path(path) for path in source["paths"]],
        encoding=option("corpus.encoding"),
        languages=(option("corpus.source"), option("corpus.target")),
        limit=option("corpus.limit"),
        columns=option("corpus.columns"),
        advice=ADVICE,
    )


@dataclass
class _Corpus:
    """What is known of the corpus when all its shards are done."""

    where: str
    summaries: list[Summary] = field(default_factory=list)
    words: tuple[WordCounter, WordCounter] = field(default_factory=lambda: (WordCounter(), WordCounter()))
    numbers: tuple[list[np.ndarray], list[np.ndarray]] = field(default_factory=lambda: ([], []))
    reasons: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    returns: int = 0
    doubtful: list[str] = field(default_factory=list)  # rows that are used, but not all of them
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        return sum(summary.lines for summary in self.summaries)

    @property
    def used_lines(self) -> int:
        return sum(summary.used_lines for summary in self.summaries)


def _read_corpus(context: StageContext, source: dict[str, Any], settings: Settings) -> _Corpus:
    """Send the corpus through the workers, shard by shard, and write the reject report."""
    paths = [Path(path) for path in source["paths"]]
    rows = open_corpus(source, context.option)
    corpus = _Corpus(str(paths[0]))
    shards = _shards(rows, settings, corpus, context.option("corpus.encoding"))
    with text_file(context.folder / "rejects.tsv") as rejects:
        rejects.write("line\treason\teffect\tdetail\n")
        expected = _expected_shards(paths[0], context.option("corpus.limit"))
        for summary in context.map(process_shard, shards, unit="shards", total=expected):
            rejects.writelines("\t".join(map(str, reject)) + "\n" for reject in summary.rejects)
            corpus.reasons.update(reject.reason for reject in summary.rejects)
            corpus.changes.update(summary.changes)
            for words, numbers, side in zip(corpus.words, corpus.numbers, summary.sides, strict=True):
                numbers.append(words.add(side.words, side.counts))
            corpus.summaries.append(summary.light())
    again = sum(summary.again for summary in corpus.summaries)
    if again:
        context.say(
            f"{again} shards of an earlier run could not be read whole or are of other text; made anew"
        )
    if corpus.doubtful:
        context.warn(f"{len(corpus.doubtful)} units are not used whole (first: unit {corpus.doubtful[0]})")
    check_usable(corpus.where, corpus.lines, corpus.used_lines, corpus.reasons)
    return corpus


def _expected_shards(path: Path, limit: int | None) -> int | None:
    """Guess the number of shards from the start of the file, for the time left; None where it is packed."""
    with open(path, "rb") as raw:
        start = raw.read(1 << 20)
    lines = start.count(b"\n")
    if not lines or packing_of(start) is not None:
        return None if limit is None else -(-limit // SHARD)
    guess = lines * path.stat().st_size // len(start)
    return -(-min(guess, limit or guess) // SHARD)


def _shards(rows: Iterable[Row], settings: Settings, corpus: _Corpus, encoding: str) -> Iterator[Shard]:
    """Group rows to shards; the first of them train the sentence splitters."""
    rows, bad, first_bad = iter(rows), 0, ""
    for number in count():
        lines = list(islice(rows, SHARD))
        if not lines:
            return
        problems = []
        for place, row in enumerate(lines):
            if row.problem:
                problems.append((place, row.problem, row.detail))
            elif row.detail:
                corpus.doubtful.append(f"{row.number + 1}: {row.detail}" if not corpus.doubtful else "")
            if row.problem == "encoding":
                bad, first_bad = bad + 1, first_bad or f"line {row.number + 1}, {row.detail}"
        check_encoding(corpus.where, bad, lines[-1].number + 1, first_bad, encoding)
        texts = "\n".join(row.source for row in lines), "\n".join(row.target for row in lines)
        corpus.returns += sum(text.count("\r") for text in texts)
        if number == 0:
            settings = _with_samples(settings, texts)
        yield Shard(number, lines[0].number, texts, problems, settings)


def _with_samples(settings: Settings, texts: tuple[str, str]) -> Settings:
    """Write the text that sentence splitters learn from; return the settings with its hash."""
    for side, text in zip(SIDES, texts, strict=True):
        with text_file(Path(settings.folder) / f"sample.{side}.txt") as out:
            size = 0
            for line in text.split("\n"):
                out.write(f"{line}\n")
                size += len(line)
                if size > SAMPLE_SIZE:
                    break
    return replace(settings, sample=sample_hash(settings.folder))


def local_files(config: Config) -> list[Path]:
    """Return the files of tokenizers of the user's own."""
    return sorted(
        {path for side in SIDES for path in own_files(config.option(f"preprocess.{side}_tokenizer"))}
    )


def _add_gold(context: StageContext, corpus: _Corpus, gold: Gold) -> np.ndarray:
    """Count the words of the gold text with those of the corpus, and say what both share.

    Returns the place of each gold pair among the parts that statistics use, -1 where it is not one of them.
    """
    places = gold.places(np.concatenate([summary.hashes for summary in corpus.summaries]))
    gold.count(corpus.words, (places < 0) & context.option("gold.in_corpus"))
    overlap = int((places >= 0).sum())
    corpus.notes |= {"gold_pairs": len(gold), "gold_pairs_in_corpus": overlap}
    if overlap:
        context.warn(
            f"{overlap} of {len(gold)} gold pairs are in the corpus too: they are no unseen text "
            "(their words are counted once)"
        )
    return places


def _check_order(context: StageContext, corpus: _Corpus, shards: Path) -> None:
    """Look for stretches of lines that do not stand beside their translations; keep them for the report."""
    stretches = scan(read_signs(shards, corpus.summaries))
    corpus.notes["shifted"] = [
        {"first": stretch.first + 1, "last": stretch.stop, "shift": stretch.shift} for stretch in stretches
    ]
    warning = check_order(corpus.where, stretches, corpus.lines, context.option("corpus.shifted"))
    if warning is not None:
        context.warn(warning)


def _warn(context: StageContext, corpus: _Corpus, segmented: list[bool], duplicates: int) -> None:
    """Warn of what looks wrong in the corpus as a whole."""
    sums = np.sum([summary.lengths for summary in corpus.summaries], axis=0)
    corpus.notes |= {
        "duplicates": duplicates,
        "length_correlation": round(correlation(sums), 4),
    }
    figures = {"identical": corpus.reasons["identical"], "duplicates": duplicates, "returns": corpus.returns}
    for text in warnings(corpus.summaries, segmented=segmented, **figures):
        context.warn(text)


def _report(
    context: StageContext, corpus: _Corpus, vocabularies: Sequence[Vocabulary], tokenized: bool
) -> None:
    """Write ``summary.json``, and say the same in a line."""
    columns = zip(*(summary.sides for summary in corpus.summaries), strict=True)
    sides = dict(zip(SIDES, columns, strict=True))
    summary = {
        "lines": corpus.lines,
        "pairs": corpus.used_lines,
        "parts": sum(summary.parts for summary in corpus.summaries),
        "split_pairs": sum(summary.split_lines for summary in corpus.summaries),
        "parts_in_statistics": sum(len(summary.hashes) for summary in corpus.summaries),
        "tokenized": tokenized,
        "rejects": dict(sorted(corpus.reasons.items())),
        "changes": dict(sorted(corpus.changes.items())),
        "surface_tokens": {side: sum(each.surface for each in found) for side, found in sides.items()},
        "analysis_tokens": {side: sum(each.tokens for each in found) for side, found in sides.items()},
        "vocabulary": {side: len(vocabulary) for side, vocabulary in zip(SIDES, vocabularies, strict=True)},
        **corpus.notes,
    }
    write_json(context.folder / "summary.json", summary)
    context.notes |= summary
    rejected, changed = (
        ", ".join(f"{name} {times}" for name, times in each.most_common()) or "nothing"
        for each in (corpus.reasons, corpus.changes)
    )
    context.say(
        f"{corpus.used_lines} pairs of {corpus.lines} lines, {summary['split_pairs']} of them split; "
        f"reported: {rejected}; cleaned: {changed}; "
        f"vocabulary {len(vocabularies[0])} and {len(vocabularies[1])} words"
    )
