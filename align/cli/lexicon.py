"""Write a dictionary: word pairs with how often they go together and their probabilities.

Columns, with TABs between: source, target, count, p(target|source), p(source|target). From a model (--model)
these are its statistics, over its lookup keys; count is how often the words stand in the same pairs. From
links (--links with --source and --target: tokenized text, one sentence a line; or --columns S,T,L where one
file holds all three) count is how often the words are linked, and p(target|source) its share of the source
word's links; --lowercase puts the forms of a word together. Rows with both probabilities at --min-prob and
more are written, the most frequent source words first, the likeliest translation of each before the others.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from align.cli.arguments import add_link_columns, natural, probability
from align.cli.terminal import only_one_stdin, open_input, open_output, side_by_side
from align.core.errors import InputError
from align.links import check_pair, read, read_text
from align.model.folder import Model
from align.model.shipped import find_model, is_turned
from align.model.turning import turned
from align.text.normalise import lookup_key


class Entry(NamedTuple):
    """A row of the dictionary."""

    source: str
    target: str
    together: int
    forward: float
    reverse: float


EXAMPLES = (
    "lexicon -m data/work/sample/latest/train --min-count 2 -o words.tsv",
    "lexicon --links links.txt --source text.en --target text.fr",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("-m", "--model", metavar="NAME", help="a model's folder, or a known model")
    origin.add_argument("--links", metavar="FILE", help="links in the Pharaoh format")
    parser.add_argument("--source", metavar="FILE", help="with --links: its source tokens")
    parser.add_argument("--target", metavar="FILE", help="with --links: its target tokens")
    add_link_columns(parser, of="the rows of --links")
    parser.add_argument("--lowercase", action="store_true", help="with --links: put Word and word together")
    parser.add_argument(
        "--min-count", type=natural, default=1, metavar="N", help="leave out rarer word pairs (1)"
    )
    parser.add_argument(
        "--min-prob", type=probability, default=0.0, metavar="P", help="of both probabilities (0)"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, the standard output")


def run(args: argparse.Namespace) -> int:
    """Write the dictionary."""
    texts = (args.source, args.target)
    if args.model is not None and (texts != (None, None) or args.lowercase or args.columns):
        raise InputError(
            "--source, --target, --columns and --lowercase belong to --links; leave them out with --model"
        )
    in_rows = args.columns is not None and len(args.columns) > 1
    if args.links is not None and None in texts and not (in_rows and texts == (None, None)):
        raise InputError(
            "--links needs --source and --target, the tokens it was made for; give both, or --columns S,T,L "
            "where one file holds all three"
        )
    only_one_stdin([args.links, *texts])
    entries = _of_model(_model(args.model)) if args.model else _of_links(args)
    with open_output(args.output) as out:
        for entry in entries:
            if entry.together >= args.min_count and min(entry.forward, entry.reverse) >= args.min_prob:
                out.write(
                    f"{entry.source}\t{entry.target}\t{entry.together}\t{entry.forward:.6f}\t{entry.reverse:.6f}\n"
                )
    return 0


def _model(name: str) -> Model:
    model = Model.load(find_model(name))
    return turned(model) if is_turned(name) else model


def _of_model(model: Model) -> Iterator[Entry]:
    """Yield the cells of a model's statistics, a source word at a time."""
    lexicon, resources = model.resources.lexicon, model.resources
    if lexicon is None:
        raise InputError("--model: this model holds no statistics of a bitext; choose one that does")
    sources, targets = resources.source_vocabulary.words, resources.target_vocabulary.words
    for word, source in enumerate(sources):
        here = slice(int(lexicon.offsets[word]), int(lexicon.offsets[word + 1]))
        ids, forward, reverse = lexicon.targets[here], lexicon.forward[here], lexicon.reverse[here]
        both = int(lexicon.source_counts[word]) + lexicon.target_counts[ids]
        # Dice is 2 joint / (count + count).
        counts = np.rint(lexicon.dice[here] * both / 2).astype(np.int64)
        for row in np.lexsort((ids, -forward)).tolist():
            yield Entry(source, targets[ids[row]], int(counts[row]), float(forward[row]), float(reverse[row]))


def _of_links(args: argparse.Namespace) -> Iterator[Entry]:
    """Count the linked words of a text, and yield them."""
    counts = _count(args)
    of_source: Counter[str] = Counter()
    of_target: Counter[str] = Counter()
    for (source, target), count in counts.items():
        of_source[source] += count
        of_target[target] += count
    ranked = sorted(
        counts.items(), key=lambda item: (-of_source[item[0][0]], item[0][0], -item[1], item[0][1])
    )
    for (source, target), count in ranked:
        yield Entry(source, target, count, count / of_source[source], count / of_target[target])


def _count(args: argparse.Namespace) -> Counter[tuple[str, str]]:
    key = lookup_key if args.lowercase else str
    counts: Counter[tuple[str, str]] = Counter()
    with ExitStack() as stack:
        paths = [path for path in (args.source, args.target, args.links) if path is not None]
        *texts, (stream, name) = [stack.enter_context(open_input(path)) for path in paths]
        files: list[tuple[str, str, Iterable[Any]]] = [
            (name, "lines", read_text(stream, name)) for stream, name in texts
        ]
        files.append((name, "lines", read(stream, name=name, base=0, columns=args.columns)))
        for *sides, pair in side_by_side(files):
            source, target = sides or (pair.source, pair.target)
            own = pair._replace(source=source, target=target)
            check_pair(own, name=name, reverse="swap --source and --target")
            counts.update((key(source[link.source]), key(target[link.target])) for link in pair.links)
    return counts
