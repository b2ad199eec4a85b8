"""Speed, memory and accuracy on one text: every stage of the pipeline, and other aligners on the same tokens.

The pipeline is run from nothing in every round, for each number of jobs; other aligners get the tokens that
it found, one thread each. Rounds alternate the order. What is told is the median of all rounds with the
smallest and largest figure, and the ratio to eflomal's figure of the same round.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from align.cli.arguments import Parser
from align.core.errors import InputError, LiaisonError, WorkError
from benchmarks import peers, texts
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import facts, write_csv, write_json
from benchmarks.gold import links_file
from benchmarks.repeats import turn
from benchmarks.stages import Runs, figures_of, pairs_of, whole
from benchmarks.tables import LIAISON, Trial, accuracy_lines, page, rows_of


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks", description=__doc__)
    texts.add_arguments(parser)
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="the first N (default: all)")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1], metavar="N", help="of the pipeline")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (default: 3)")
    parser.add_argument(
        "--peers",
        nargs="*",
        default=list(peers.NAMES),
        choices=peers.NAMES,
        metavar="NAME",
        help=f"what to compare with, none or several of {', '.join(peers.NAMES)} (default: all)",
    )
    told = "of their environments; what is missing is installed"
    parser.add_argument("--peers-venv", type=Path, metavar="FOLDER", help=told)
    parser.add_argument(
        "--peer-limit", type=float, default=3600, metavar="SECONDS", help="a peer is stopped then (3600)"
    )
    parser.add_argument(
        "--tokens",
        default="surface",
        choices=peers.TOKENS,
        help="what peers are given: tokens as people see them (default), or with contractions undone",
    )
    texts.add_memory_argument(parser)
    add_output_arguments(parser, "speed")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure all rounds; the results are written after each."""
    rounds = texts.numbers("--repeats", [args.repeats])[0]
    jobs = texts.numbers("--jobs", args.jobs)
    texts.check_memory(args)
    pairs = texts.numbers("--pairs", [args.pairs], least=0)[0]
    args.out.mkdir(parents=True, exist_ok=True)
    with texts.settings_of(args) as settings:
        bench = Bench(args, Runs(args.out, settings, args.set, args.seed, memory=args.memory), jobs, pairs)
        bench.prepare()
        trials: list[Trial] = []
        for number in range(rounds):
            trials += bench.round(number)
            bench.publish(trials)
    print((args.out / "table.md").read_text(encoding="utf-8"), end="")


class Bench:
    """What all rounds have in common."""

    def __init__(self, args: argparse.Namespace, runs: Runs, jobs: list[int], pairs: int) -> None:
        self._args, self._runs, self._pairs = args, runs, pairs
        self._out: Path = args.out
        # Beside other aligners the pipeline is run with one job too.
        self._jobs = jobs if 1 in jobs or not args.peers else [1, *jobs]
        self._peers: list[peers.Peer] = []
        self._absent: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._told = facts(args.seed)
        self._text: peers.PeerText | None = None
        self._lines = 0

    def prepare(self) -> None:
        """Find the aligners, compile the kernels, and write the text that is aligned."""
        for name in dict.fromkeys(self._args.peers):
            try:
                peer = peers.find(name, self._args.peers_venv, self._out / "peers.log")
                self._peers.append(peer)
                self._versions[name] = peer.version
            except LiaisonError as error:
                self._absent[name] = str(error)
                print(f"{name}: left out: {error}")
        for jobs in self._jobs:
            self._runs.warm_up(self._pairs, jobs)
        pipeline, work = self._runs.pipeline("text", self._pairs, 1)
        pipeline.run("preprocess", self._runs.options)
        self._lines = pairs_of(pipeline, self._pairs)
        preprocess = pipeline.folder("preprocess")
        self._text = peers.write_text(preprocess, self._out / "peers" / "text", self._args.tokens)
        shutil.rmtree(work)

    def round(self, number: int) -> list[Trial]:
        """Run every contender once."""
        names = [*(f"{LIAISON} {jobs}" for jobs in self._jobs), *(peer.name for peer in self._peers)]
        known = {peer.name: peer for peer in self._peers}
        trials = []
        for name in turn(names, number):
            print(f"round {number + 1}: {name}", flush=True)
            if name in known:
                trials.append(self._peer(known[name], number))
            else:
                trials.append(self._pipeline(int(name.split()[1]), number))
        return trials

    def _pipeline(self, jobs: int, number: int) -> Trial:
        steps = ["embed", "align", *(["evaluate"] if self._runs.last == "evaluate" else [])]
        name = f"round-{number + 1}-jobs-{jobs}"
        pipeline, work, watched = self._runs.fresh(name, self._pairs, jobs, steps)
        trial = Trial(
            LIAISON, number, jobs, watched[1].usage, whole(watched[:2]), figures_of(pipeline, watched)
        )
        if "evaluate" in steps:
            links = self._out / "links" / f"{name}.txt"
            links.parent.mkdir(exist_ok=True)
            shutil.copyfile(pipeline.folder("evaluate") / "gold.links.txt", links)
            trial.links = {"matching": links}
        shutil.rmtree(work)
        return trial

    def _peer(self, peer: peers.Peer, number: int) -> Trial:
        assert self._text is not None
        folder = self._out / "peers" / peer.name / f"round-{number + 1}"
        trial = Trial(peer.name, number)
        try:
            trial.usage = peers.run(peer, self._text, folder, limit=self._args.peer_limit)
            if self._args.gold is not None:
                trial.links = peers.combined(self._text, folder)
        except (InputError, WorkError) as error:
            trial.problem = str(error)
            print(f"{peer.name}: {error}")
            # It would fail, or take as long, in every round.
            self._peers = [each for each in self._peers if each is not peer]
        return trial

    def publish(self, trials: list[Trial]) -> None:
        """Write the table, and every figure as CSV and JSON."""
        told = {**self._told, "versions": {**self._told["versions"], **self._versions}}
        assert self._text is not None
        told |= {"pairs": self._lines, "pairs of other aligners": self._text.pairs}
        told |= {"tokens": self._args.tokens, "absent": self._absent}
        gold = None if self._args.gold is None else links_file(self._args.gold)
        rows = rows_of(trials, self._lines, gold, self._args.train)
        write_csv(self._out / "results.csv", rows)
        write_json(self._out / "results.json", {**told, "rows": rows})
        text = page(told, rows, accuracy_lines(trials, rows, gold, self._args.train, self._out))
        (self._out / "table.md").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
