"""What a killed run costs, and whether memory stays within what was given.

A run's stage align is timed to its end. The same is done in another folder, killed (SIGKILL) in the middle of
align, and started again: its links must be the same, byte for byte, and the second start should take what was
left. With --memory a whole run is watched from outside, and its links are compared with those of a run that
has all memory and is told to use the sample that the first one took.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from dataclasses import dataclass
from typing import Any

from align.cli.arguments import Parser
from align.core.errors import InputError, WorkError
from benchmarks import texts
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import Table, facts, facts_text, markdown, write_csv, write_json
from benchmarks.process import Watched
from benchmarks.repeats import Spread
from benchmarks.runs import Pipeline
from benchmarks.stages import Runs, StageFigures, figures_of, pairs_of, whole
from pipeline.work.journal import NAME as JOURNAL
from pipeline.work.resources import parse_size

_MEBIBYTE = 2**20

# Files of the stage align that must not depend on where a run was killed.
FILES = ("links.txt", "scores.txt", "links.parquet")

NOTES = """\
T is the stage align alone, in a process of its own (with its start), all it needs being there. "Killed" is
the same in another folder, ended by SIGKILL at the given share of the seconds that align itself took;
"again" is that command once more, "same": whether the files are those of the whole run, byte for byte. "Kept"
are the lines that the killed run's journal counts on: the machine's speed is not the same in two runs.
"""

MEMORY_NOTES = """\
Memory, in MiB, of a run from the archive or files to links, one process and its workers. RSS: the largest sum
of what is resident in each, seen every 50 ms from outside (shared pages and pages of mapped files count in
each); PSS: with shared pages shared out, looked at less often; manifest: the sum of the processes' own peaks.
"""


@dataclass
class Killed:
    """One round: the whole stage, the killed one, the second start; seconds of the stage itself in two.

    ``kept``: the share of the lines that the killed run left done.
    """

    round: int
    full: Watched
    killed: Watched
    again: Watched
    stage_seconds: float
    again_seconds: float
    kept: float
    same: dict[str, bool]

    @property
    def share(self) -> float:
        """Return the seconds of the second start in those of the whole stage."""
        return self.again.usage.seconds / self.full.usage.seconds


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.restart", description=__doc__)
    texts.add_arguments(parser)
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="the first N (default: all)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="of the pipeline (default: 1)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="rounds of killing (default: 1)")
    parser.add_argument(
        "--kill-at", type=float, default=0.5, metavar="SHARE", help="of the stage align (default: 0.5)"
    )
    parser.add_argument("--memory", metavar="SIZE", help="watch a run with this limit too, for example 1G")
    parser.add_argument(
        "--same-as",
        nargs="+",
        metavar="KEY=VALUE",
        help="options of the run with all memory that must have the same links; default: lexicon.pairs as "
        "many as the lexicon of the limited run tells",
    )
    add_output_arguments(parser, "restart")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Kill and start again, watch memory, and write the results."""
    repeats = texts.numbers("--repeats", [args.repeats], least=0)[0]
    pairs = texts.numbers("--pairs", [args.pairs], least=0)[0]
    jobs = texts.numbers("--jobs", [args.jobs])[0]
    if not 0 < args.kill_at < 1:
        raise InputError(f"--kill-at {args.kill_at}: not between 0 and 1; give for example 0.5")
    texts.check_memory(args)
    args.out.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {**facts(args.seed), "jobs": jobs}
    with texts.settings_of(args) as settings:
        runs = Runs(args.out, settings, args.set, args.seed)
        runs.warm_up(pairs, jobs)
        rounds = [killed_round(runs, pairs, jobs, args.kill_at, number) for number in range(repeats)]
        memory = None if args.memory is None else memory_run(runs, pairs, jobs, args.memory, args.same_as)
    text = page(told, rounds, args.kill_at, memory)
    (args.out / "table.md").write_text(text, encoding="utf-8", newline="\n")
    write_csv(args.out / "restart.csv", restart_lines(rounds))
    write_json(args.out / "results.json", {**told, "restart": rounds, "memory": memory})
    print(text, end="")


def killed_round(runs: Runs, pairs: int, jobs: int, share: float, number: int) -> Killed:
    """Run align to its end, then killed and again in another folder.

    Raises
    ------
    WorkError
        If align was over before it could be killed.
    """
    print(f"round {number + 1}", flush=True)
    pipeline, work, (full,) = runs.fresh(f"full-{number + 1}", pairs, jobs, ["align"], unmeasured="train")
    seconds = figures_of(pipeline, [full])["align"].seconds
    expected = digests(pipeline)
    other, other_work = runs.pipeline(f"killed-{number + 1}", pairs, jobs)
    other.run("train", runs.options)
    killed = other.watched("align", runs.options, kill=("align", share * seconds))
    if not killed.killed:
        raise WorkError("align was over before it could be killed; give more --pairs or a smaller --kill-at")
    done = kept_lines(other)
    again = other.watched("align", runs.options)
    left = figures_of(other, [again])["align"].seconds
    found = digests(other)
    same = {name: found[name] == expected[name] for name in expected}
    kept = done / pairs_of(other, pairs)
    shutil.rmtree(work)
    shutil.rmtree(other_work)
    return Killed(number, full, killed, again, seconds, left, kept, same)


def kept_lines(pipeline: Pipeline) -> int:
    """Return how many lines the journal of a killed align says are done."""
    journal = pipeline.unfinished("align") / JOURNAL
    # Its first line only says what the work is; what follows the last line's end was not written whole.
    lines = journal.read_text(encoding="ascii").split("\n")[1:-1] if journal.exists() else []
    return int(json.loads(lines[-1].partition("\t")[0])["state"]["lines"]) if lines else 0


def memory_run(runs: Runs, pairs: int, jobs: int, size: str, same_as: list[str] | None) -> dict[str, Any]:
    """Watch a run with a limit of memory, and compare its links with those of the sample it took."""
    print(f"memory {size}", flush=True)
    pipeline, work = runs.pipeline("limited", pairs, jobs)
    watched = pipeline.watched("align", runs.options, words=("--memory", size))
    stages = figures_of(pipeline, [watched])
    notes = notes_of(pipeline, "lexicon")
    # Gold text is counted besides what lexicon.pairs says.
    sample = notes.get("pairs_chosen", notes["pairs"])
    there = notes["pairs_of_corpus"]
    if same_as is None:
        same_as = [f"lexicon.pairs={sample}"] if sample < there else []
    limited = digests(pipeline)
    lines = pairs_of(pipeline, pairs)
    shutil.rmtree(work)
    print("memory without a limit", flush=True)
    other, other_work = runs.pipeline("unlimited", pairs, jobs)
    free = other.watched("align", [*runs.options, *same_as])
    found = digests(other)
    shutil.rmtree(other_work)
    return {
        "limit": parse_size(size),
        "pairs": lines,
        "sample": sample,
        "sampled": notes.get("pairs_sampled", 0),
        "pairs_of_corpus": there,
        "same_as": same_as,
        "same": {name: found[name] == limited[name] for name in limited},
        "whole": whole([watched]),
        "stages": stages,
        "unlimited": whole([free]),
    }


def digests(pipeline: Pipeline) -> dict[str, str]:
    """Return the SHA-256 of each file of the stage align."""
    found = {}
    for name in FILES:
        with open(pipeline.folder("align") / name, "rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def notes_of(pipeline: Pipeline, stage: str) -> dict[str, Any]:
    """Return the notes of a stage's manifest."""
    manifest = pipeline.folder(stage) / "manifest.json"
    notes: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))["notes"]
    return notes


def page(told: dict[str, Any], rounds: list[Killed], share: float, memory: dict[str, Any] | None) -> str:
    """Return the whole report."""
    parts = ["# Killed and started again, and memory\n", facts_text(told), f"- --jobs {told['jobs']}\n"]
    if rounds:
        spread = Spread.of([each.share for each in rounds])
        parts += [
            f"## Killed at {100 * share:.0f} % of align\n",
            NOTES,
            markdown(restart_lines(rounds)),
            f"Started again: {spread.text(2)} of T.\n",
        ]
    if memory is not None:
        parts += [f"## --memory {memory['limit'] / _MEBIBYTE:,.0f} MiB\n", MEMORY_NOTES]
        parts += [markdown(memory_lines(memory)), verdict(memory)]
    return "\n".join(parts)


def restart_lines(rounds: list[Killed]) -> Table:
    """Return a line for each round."""
    return [
        {
            "round": str(each.round + 1),
            "T, s": f"{each.full.usage.seconds:.2f}",
            "align itself, s": f"{each.stage_seconds:.2f}",
            "killed": each.killed.killed,
            "kept": f"{each.kept:.3f}",
            "again, s": f"{each.again.usage.seconds:.2f}",
            "align itself again, s": f"{each.again_seconds:.2f}",
            "again / T": f"{each.share:.2f}",
            "CPU again / T": f"{each.again.usage.cpu_seconds / each.full.usage.cpu_seconds:.2f}",
            **{f"same {name}": "yes" if same else "NO" for name, same in each.same.items()},
        }
        for each in rounds
    ]


def memory_lines(memory: dict[str, Any]) -> Table:
    """Return a line for each stage of the limited run, and for the whole."""
    stages: dict[str, StageFigures] = memory["stages"]
    lines = [
        {
            "": name,
            "RSS": _mebibytes(each.rss),
            "PSS": _mebibytes(each.pss),
            "manifest": _mebibytes(each.told),
        }
        for name, each in stages.items()
    ]
    for title, used in (("whole run", memory["whole"]), ("whole run without the limit", memory["unlimited"])):
        lines.append({"": title, "RSS": _mebibytes(used.rss), "PSS": _mebibytes(used.pss)})
    return lines


def verdict(memory: dict[str, Any]) -> str:
    """Say in words whether the limit was kept and the links are the same."""
    used = {"RSS": memory["whole"].rss, "PSS": memory["whole"].pss}
    kept = [
        f"{kind} {'within' if value <= memory['limit'] else 'ABOVE'} the limit"
        for kind, value in used.items()
    ]
    options = " ".join(memory["same_as"]) or "the same options"
    files = ", ".join(f"{name} {'same' if same else 'DIFFERENT'}" for name, same in memory["same"].items())
    return (
        f"{'; '.join(kept)}. The lexicon was made of {memory['sample']} of {memory['pairs_of_corpus']} "
        f"pairs, of which {memory['sampled']} were sampled. A run with all memory and {options}: {files}.\n"
    )


def _mebibytes(value: float) -> str:
    return f"{value / _MEBIBYTE:.0f}" if value else ""


if __name__ == "__main__":
    main()
