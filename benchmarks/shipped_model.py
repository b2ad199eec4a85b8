"""Make a model that is shipped, such as models/en-fr: learn the whole of a bitext, pack it, measure it.

    python -m benchmarks.shipped_model --bitext EUROPARL --languages en-fr --gold GOLD/hansards-test \
        --licence "..." --to models/en-fr

The bitext is PREFIX.en and PREFIX.fr, packed or not; contractions are undone, and the weights are the default
ones. Gold, which is not learnt from, tells what the model is worth, both ways, sentence by sentence, for text
that is not in the bitext; MODEL.md has the figures.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser, finite, languages
from align.core.errors import InputError
from align.data.corpus import Corpus
from align.evaluation.metrics import score, statistics
from align.links import Link, read_file
from align.model.aligner import Aligner
from align.model.folder import Model
from align.model.packing import Limits, pack
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import facts, percent, read_lines, write_lines
from benchmarks.gold import Source
from benchmarks.runs import pipeline_of
from benchmarks.texts import add_settings_argument

PAGE = """# {name}

Links between words of {source} and {target}, either way: `liaison links --languages {name}`,
`Aligner.load("{name}")`, and `Aligner.load("{turned}")`.

| | |
| --- | --- |
| learnt from | {bitext}: {pairs} pairs; no sentence of it is in the model |
| licence of the text | {licence} |
| weights | the [default ones](../README.md): no links of this text made by hand |
| kept | pairs of words with {links:g} expected links, {words} words a side at most, vectors of {vectors} |
| size | {size:.1f} MB |

Error rates, sentence by sentence, of text that is not in the bitext ({gold}, {gold_pairs} pairs):

| | AER % | precision | recall |
| --- | --- | --- | --- |
{rows}

What it does not know: words of later years and of other fields, of which spelling, numbers and place tell all
that is told, and other kinds of text. `liaison links` says so where most words are unknown.

Made by

    {command}
"""


def main() -> None:
    """Make the model."""
    parser = Parser(
        prog="python -m benchmarks.shipped_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    limits = Limits()
    parser.add_argument("--bitext", required=True, type=Path, metavar="PREFIX", help="what is learnt")
    parser.add_argument("--languages", required=True, type=languages, metavar="SOURCE-TARGET")
    parser.add_argument("--gold", required=True, type=Path, metavar="PREFIX", help="what it is measured by")
    parser.add_argument("--licence", required=True, help="of the bitext, for MODEL.md")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="where the model goes")
    parser.add_argument(
        "--links", type=finite, default=limits.links, help="as of models pack (default: %(default)s)"
    )
    parser.add_argument(
        "--vectors", type=int, default=limits.vectors, help="as of models pack (default: %(default)s)"
    )
    add_settings_argument(parser)
    add_common_arguments(parser, "shipped_model", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Learn, pack and measure."""
    source, target = args.languages
    gold, limits = Source(args.gold, source, target), Limits(links=args.links, vectors=args.vectors)
    name = f"{source}-{target}"
    if args.to.exists() and any(args.to.iterdir()) and not (args.to / "MODEL.md").is_file():
        raise InputError(f"{args.to}: is there already, and is no shipped model; give a new folder")
    corpus = {"name": name, "source": source, "target": target}
    pipeline = pipeline_of(
        args,
        name,
        {
            "corpus": {**corpus, "files": Source(args.bitext, source, target).files()},
            "preprocess": {"profile": "expand"},
        },
    )
    pipeline.run("train", args.set)
    made = args.out / name
    shutil.rmtree(made, ignore_errors=True)
    whole = Model.load(pipeline.folder("train"))
    pack(whole, limits).save(made, packed=True)
    turned = Aligner.load(made, languages=(target, source))
    measured = {
        name: _figures(Aligner.load(made), gold),
        f"{target}-{source}": _figures(turned, gold, turned=True),
        "before it was packed": _figures(Aligner.load(pipeline.folder("train")), gold),
    }
    page = PAGE.format(
        name=name,
        turned=f"{target}-{source}",
        source=source,
        target=target,
        bitext=args.bitext.name,
        pairs=f"{len(Corpus.load(pipeline.folder('preprocess') / 'corpus')):,}",
        licence=args.licence,
        size=sum(path.stat().st_size for path in made.rglob("*") if path.is_file()) / 1e6,
        gold=args.gold.name,
        gold_pairs=len(read_lines(gold.links)),
        rows="\n".join(f"| {way} | {figures} |" for way, figures in measured.items()),
        command=facts(args.seed)["command"],
        **{"links": limits.links, "words": f"{limits.words:,}", "vectors": f"{limits.vectors:,}"},
    )
    write_lines(made / "MODEL.md", page.split("\n")[:-1])
    if args.to.exists():
        shutil.rmtree(args.to)
    shutil.copytree(made, args.to)
    print(page)


def _figures(aligner: Aligner, gold: Source, *, turned: bool = False) -> str:
    """Return AER, precision and recall of the links of gold text, pair by pair."""
    texts: Any = zip(*(read_lines(Path(path)) for path in gold.files()), strict=True)
    if turned:
        texts = ((target, source) for source, target in texts)
    pairs = [tuple(text.split(" ") for text in pair) for pair in texts]
    found = [[Link(*link[::-1] if turned else link) for link in links] for links in aligner.align_many(pairs)]
    known = [pair.links for pair in read_file(gold.links, base=0)]
    reached = score(statistics(found, known))
    return " | ".join(percent(value) for value in (reached.aer, reached.precision, reached.recall))


if __name__ == "__main__":
    main()
