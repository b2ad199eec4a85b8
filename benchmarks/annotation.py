"""What the annotator's desk is worth: error rates before and after so many corrected pairs, in other pairs.

    python -m benchmarks.annotation --gold GOLD --bitext PREFIX --size 2000

The model has no gold: the statistics of the first pairs of a bitext (without one: of the text of the gold
pairs), and the shipped default weights. An
annotator, played by the gold, sits at the desk (``liaison serve``) with the first gold pairs, asks for the
next pair to correct, corrects it, and lets the model learn after 5, 10, 20 and 30 pairs, all by the requests
that the page makes. Measured are the gold pairs that never were on the desk. Beside it: as many pairs drawn
at random, several times.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import numpy as np

from align.cli.arguments import Parser, natural
from align.core.errors import InputError, WorkError
from align.data.bitext import open_bitext
from align.evaluation.metrics import paired_bootstrap, statistics
from align.evaluation.metrics import score as score_of
from align.links import Link, read_file
from align.model.aligner import Aligner
from align.model.own_text import NoModelWarning
from align.plot import learning_curve
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import difference_of, drawing, facts, markdown, percent, read_lines, tell, write_lines
from benchmarks.gold import Source, links_file, text_file
from benchmarks.process import environment

# After so many corrected pairs the model learns.
STEPS = (5, 10, 20, 30)

# Seconds between two questions for what the server is doing, and until it is given up.
_PAUSE, _PATIENCE = 0.2, 900.0

NOTES = """\
"desk": the pairs that its queue gives one after the other, least certain first, by the weights that were
learnt last. "random": the mean of {seeds} draws of different pairs, the least and the largest beside it. AER,
precision and recall are of the {test} gold pairs that were never on the desk; the difference to the model
before any correction with its 95 % interval, both resampled together. "told": the error rates that the desk
itself tells the annotator, before and after, of corrected pairs left out of learning.
"""


class GoldPair(NamedTuple):
    """A pair linked by hand."""

    source: list[str]
    target: list[str]
    links: list[Link]


def main() -> None:
    """Measure and write the results."""
    parser = Parser(
        prog="python -m benchmarks.annotation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--gold", required=True, type=Path, metavar="PREFIX", help="of .en, .fr and .align")
    parser.add_argument("--languages", type=_languages, default=("en", "fr"), metavar="S-T", help="en-fr")
    parser.add_argument(
        "--bitext", type=Path, metavar="PREFIX", help="of the text's .en and .fr; .xz, .gz too"
    )
    parser.add_argument("--size", type=natural, default=2000, metavar="N", help="pairs of it (%(default)s)")
    parser.add_argument(
        "--pool",
        type=natural,
        default=100,
        metavar="N",
        help="gold pairs on the desk (%(default)s)",
    )
    parser.add_argument(
        "--with-gold-text",
        action="store_true",
        help="the text of the gold pairs joins the bitext, as where a part of one's own text is annotated",
    )
    parser.add_argument(
        "--weights",
        default="default",
        metavar="FOLDER",
        help="to begin with, as of benchmarks.default_weights (default: those that are shipped, which were "
        "learnt from some English-French gold too)",
    )
    parser.add_argument("--draws", type=natural, default=5, metavar="N", help="of random pairs (%(default)s)")
    add_output_arguments(parser, "annotation")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure both ways and write them."""
    gold = gold_pairs(args.gold, args.languages)
    if not max(STEPS) <= args.pool < len(gold):
        raise InputError(
            f"--pool {args.pool}: give {max(STEPS)} to {len(gold) - 1}, there are {len(gold)} pairs"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    folder = args.out / "model"
    model_of_text(args, gold, folder)
    aligner = Aligner.load(folder)
    pool, test = gold[: args.pool], gold[args.pool :]
    before = counts(aligner, test)
    at_desk = annotate(folder, pool, args.out / "desk")
    desk = [(counts(aligner.learn(each.gold), test), each.told) for each in at_desk]
    for each in at_desk:
        check(aligner, each, pool)
    different = list({(*pair.source, "", *pair.target): place for place, pair in enumerate(pool)}.values())
    drawn = []
    for seed in range(args.seed, args.seed + args.draws):
        order = np.random.default_rng(seed).permutation(different).tolist()
        drawn.append([counts(aligner.learn([pool[i] for i in order[:n]]), test) for n in STEPS])
    lines = table(before, desk, drawn)
    plot(args.out / "annotation.png", before, [each for each, _ in desk], drawn)
    values = {
        "before": vars(score_of(before)),
        "desk": [{**vars(score_of(found)), "told": told} for found, told in desk],
        "random": [[vars(score_of(found)) for found in row] for row in drawn],
        "pairs": [each.pairs for each in at_desk],
    }
    notes = NOTES.format(seeds=args.draws, test=len(test))
    text = f"{args.size} pairs of {args.bitext.name}" if args.bitext else "the text of the gold alone"
    parts = [f"# Corrected pairs of {args.gold.name}, {text}\n", notes, markdown(lines)]
    tell(args.out, "annotation", facts(args.seed), parts, {"steps": [0, *STEPS], **values})


def _languages(text: str) -> tuple[str, str]:
    source, _, target = text.partition("-")
    if not source or not target:
        raise argparse.ArgumentTypeError(f"{text!r} are no two languages; give them as en-fr")
    return source, target


def gold_pairs(prefix: Path, languages: tuple[str, str]) -> list[GoldPair]:
    """Return the gold pairs."""
    sides = [read_lines(text_file(prefix, language)) for language in languages]
    links = [pair.links for pair in read_file(links_file(prefix), base=0)]
    return [
        GoldPair(source.split(" "), target.split(" "), of_pair)
        for source, target, of_pair in zip(*sides, links, strict=True)
    ]


def model_of_text(args: argparse.Namespace, gold: Sequence[GoldPair], folder: Path) -> None:
    """Write the model of the text, with the default weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoModelWarning)
        bare = Aligner.load(args.weights, languages=args.languages)
    text: Iterable[tuple[Any, Any]] = ((pair.source, pair.target) for pair in gold)
    if args.bitext is not None:
        files = Source(args.bitext, *args.languages).files()
        bitext = ((row.source, row.target) for row in islice(open_bitext("files", files), args.size))
        text = chain(bitext, text) if args.with_gold_text else bitext
    bare.of_text(bare.tokens(*pair) for pair in text).model.save(folder)


def counts(aligner: Aligner, pairs: Sequence[GoldPair]) -> np.ndarray:
    """Return what error rates are calculated from, of each pair."""
    found = aligner.align_many([(pair.source, pair.target) for pair in pairs])
    return statistics([[Link(*link) for link in links] for links in found], [pair.links for pair in pairs])


class Step(NamedTuple):
    """What the desk had after some pairs."""

    pairs: list[int]  # their numbers in the pool, from 0, in the order they were corrected
    gold: list[GoldPair]  # as its gold file has them
    told: dict[str, Any]  # what it said of the learning
    links: list[str]  # of the pool, by the model that has learnt


def annotate(model: Path, pool: Sequence[GoldPair], folder: Path) -> list[Step]:
    """Correct pairs at a desk, in the order of its queue; return what it had at each of :data:`STEPS`."""
    folder.mkdir(parents=True)
    for side in ("source", "target"):
        write_lines(folder / f"pool.{side}", (" ".join(getattr(pair, side)) for pair in pool))
    steps: list[Step] = []
    done: list[int] = []
    with desk(model, folder) as client:
        while len(done) < max(STEPS):
            client.settled(len(pool))
            pair = client.get("/pair", id=client.get("/queue", order="unsure")["id"])
            number = pair["pair"]["number"] - 1
            client.post("/edit", id=pair["pair"]["id"], changes=changes(pair, pool[number]), done=True)
            done.append(number)
            if len(done) in STEPS:
                told = client.learnt()
                client.settled(len(pool))
                exported = client.links()
                steps.append(Step(list(done), saved(client, folder, len(done)), told, exported))
    return steps


def changes(pair: dict[str, Any], gold: GoldPair) -> list[list[Any]]:
    """Return what the annotator changes of what is shown."""
    wanted = {(link.source, link.target): "sure" if link.sure else "possible" for link in gold.links}
    shown = {(link[0], link[1]): "sure" for link in pair["pair"]["links"]}
    gone = [[*cell, "none"] for cell in shown if cell not in wanted]
    return gone + [[*cell, how] for cell, how in wanted.items() if shown.get(cell) != how]


def saved(client: Client, folder: Path, count: int) -> list[GoldPair]:
    """Return the pairs of the gold file that the desk keeps, which is written within a second."""
    path, until = folder / "saved" / "gold.jsonl", time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if path.is_file():
            rows = read_file(path, format="jsonl")
            if len(rows) == count:
                return [GoldPair(list(row.source or ()), list(row.target or ()), row.links) for row in rows]
        time.sleep(_PAUSE)
    raise WorkError(f"{path}: not the {count} pairs that were corrected; look at what the server says")


def check(aligner: Aligner, step: Step, pool: Sequence[GoldPair]) -> None:
    """Make sure that what is measured is what the desk has learnt: its links of the pool are the same."""
    again = aligner.learn(step.gold).align_many([(pair.source, pair.target) for pair in pool])
    if [" ".join(f"{j}-{k}" for j, k in links) for links in again] != step.links:
        raise WorkError(f"{len(step.pairs)} pairs: the desk's model makes other links; report this")


@contextmanager
def desk(model: Path, folder: Path) -> Iterator[Client]:
    """Start a server with the pool, and end it."""
    command = [
        *(sys.executable, "-m", "align", "serve", "--model", model, "--port", "0", "--tokenized"),
        *("--source", folder / "pool.source", "--target", folder / "pool.target"),
        *("--save", folder / "saved", "--annotator", "gold"),
    ]
    (folder / "saved").mkdir()
    with (
        open(folder / "server.log", "w", encoding="utf-8") as log,
        subprocess.Popen(
            list(map(str, command)), env=environment(threads=1), stdout=subprocess.PIPE, stderr=log, text=True
        ) as server,
    ):
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            if not address:
                raise WorkError(f"{folder / 'server.log'}: the server did not start; look there")
            yield Client(address)
        finally:
            server.terminate()


class Client:
    """What the page does: questions, and posts with the token that stands in it."""

    def __init__(self, address: str) -> None:
        self._place = urlsplit(address).netloc
        found = re.search(r'"token": ?"([\w-]+)"', self._ask("GET", "/"))
        if found is None:
            raise WorkError(f"{address}: the page has no token; is this the server of this version?")
        self._token = found[1]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> str:
        connection = http.client.HTTPConnection(self._place, timeout=_PATIENCE)
        try:
            if body is None:
                connection.request(method, path)
            else:
                head = {"Content-Type": "application/json", "X-Liaison-Token": self._token}
                connection.request(method, path, json.dumps(body), head)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8")
            if answer.status != 200:
                raise WorkError(f"{method} {path}: {answer.status}, {text[:200]}; look at server.log")
            return text
        finally:
            connection.close()

    def links(self) -> list[str]:
        """Return the links of all pairs by the model that is shown, as Pharaoh without confidences."""
        lines = self._ask("GET", "/export?format=pharaoh&links=run&order=number").split("\n")[:-1]
        return [re.sub(r":[\d.]+", "", line) for line in lines]

    def get(self, path: str, **asked: Any) -> Any:
        """Return the answer to a question."""
        return json.loads(self._ask("GET", f"{path}?{urlencode(asked)}"))

    def post(self, path: str, **body: Any) -> Any:
        """Return the answer to a post."""
        return json.loads(self._ask("POST", path, body))

    def settled(self, pairs: int) -> None:
        """Wait until all pairs have links."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            status = self.get("/status")
            if status["pairs"] == status["linked"] == pairs:
                return
            time.sleep(_PAUSE)
        raise WorkError("/status: the pairs are not linked after a quarter of an hour; look at server.log")

    def learnt(self) -> dict[str, Any]:
        """Let the model learn; return what is told of it."""
        self.post("/learn")
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            told: dict[str, Any] = self.get("/learn")
            if told["state"] == "done":
                return told
            if told["state"] == "failed":
                raise WorkError(f"/learn: {told['error']}; look at server.log")
            time.sleep(_PAUSE)
        raise WorkError("/learn: not done after a quarter of an hour; look at server.log")


def table(
    before: np.ndarray,
    desk: Sequence[tuple[np.ndarray, dict[str, Any]]],
    drawn: Sequence[Sequence[np.ndarray]],
) -> list[dict[str, str]]:
    """Return a line for each number of corrected pairs."""
    start = score_of(before)
    lines = [{"pairs": "0", **_figures(before), "desk - before (95 %)": "", "random": percent(start.aer)}]
    for at, (step, (found, told)) in enumerate(zip(STEPS, desk, strict=True)):
        errors = np.array([float(score_of(row[at]).aer or 0.0) for row in drawn])
        spread = f"{percent(errors.mean())} ({percent(errors.min())} to {percent(errors.max())})"
        lines.append(
            {
                "pairs": str(step),
                **_figures(found),
                "desk - before (95 %)": difference_of(paired_bootstrap(found, before)),
                "random": spread,
                "told": f"{percent(told['before'])}, {percent(told['after'])}",
            }
        )
    return lines


def _figures(found: np.ndarray) -> dict[str, str]:
    score = score_of(found)
    return {
        "desk, AER %": percent(score.aer),
        "precision": percent(score.precision),
        "recall": percent(score.recall),
    }


def plot(
    path: Path, before: np.ndarray, desk: Sequence[np.ndarray], drawn: Sequence[Sequence[np.ndarray]]
) -> None:
    """Draw the error rates, in per cent, over the corrected pairs."""
    figure = drawing(5.5, 3.6)
    axes = figure.subplots()

    def error(found: np.ndarray) -> float:
        return 100 * float(score_of(found).aer or 0.0)

    sizes = (0, *STEPS)
    learning_curve(
        axes, sizes, [error(before), *map(error, desk)], label="the desk's queue, least certain first"
    )
    random = [[error(before)] * len(drawn), *([error(row[at]) for row in drawn] for at in range(len(STEPS)))]
    learning_curve(axes, sizes, random, label=f"random pairs, {len(drawn)} draws")
    axes.set(xlabel="corrected pairs", ylabel="AER in % of other pairs")
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main()
