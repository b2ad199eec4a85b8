"""The command line of the pipeline: ``liaison run``, ``python run_pipeline.py``."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from align.cli.arguments import Parser, examples_text
from align.cli.terminal import give_up_stdout, say
from align.core.errors import InputError, LiaisonError, is_out_of_memory
from align.core.files import WRITE_FAULTS
from align.core.signals import stoppable
from align.core.version import __version__
from pipeline.config import configuration as configs
from pipeline.config.configuration import Config
from pipeline.run import runner
from pipeline.run.listing import batch_table, plan_lines, stage_lines
from pipeline.run.plan import Settings, closure, plan
from pipeline.work.budget import LEAST, most_workers, parse_memory, processes_memory
from pipeline.work.engine import ENGINES, Engine, open_engine
from pipeline.work.memory_release import prepare
from pipeline.work.progress import Reporter
from pipeline.work.resources import default_jobs, default_memory

DESCRIPTION = """Word alignment from raw bitext to links: download, preprocess, embed, lexicon, label,
featurize, train, align, evaluate, inspect. A stage runs what it needs first and skips what is done.
Exit status: 0 done, 1 the work failed, 2 wrong usage or bad input."""


EXAMPLES = (
    "",
    "--config my.toml",
    "--config my.toml --stage evaluate --set train.lam=0.1",
    "--list",
    "--list train",
    "--config one.toml --config two.toml --jobs 4 --memory 8G",
)


def main(arguments: Sequence[str] | None = None, *, program: str = "run_pipeline.py") -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process where not given.
    program : str
        What it is called, in its help and its messages.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = _parser(program).parse_args(arguments)
    prepare()
    with stoppable(lambda stop: say(_what_goes_on(stop, options))) as stopping:
        try:
            return _run(options)
        except KeyboardInterrupt as stop:
            say(_what_goes_on(stop, options))
            return stopping.exit_status
        except Exception as error:
            if stopping.number is None:
                return _tell(error, debug=options.debug)
            # It broke because of the stop.
            say(_what_goes_on(KeyboardInterrupt(), options))
            return stopping.exit_status


def _parser(program: str) -> argparse.ArgumentParser:
    # Python has to be named where the program is a file of a checkout.
    shown = f"python {program}" if program.endswith(".py") else program
    parser = Parser(
        program,
        description=DESCRIPTION,
        epilog=examples_text(shown, EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"liaison {__version__}")
    add_arguments(parser)
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--stage", default="all", metavar="NAMES", help="a stage, a comma list, or all (default)"
    )
    parser.add_argument(
        "--config",
        action="append",
        type=Path,
        metavar="FILE.toml",
        help="repeatable; default: the embedded sample",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a key; repeatable"
    )
    parser.add_argument(
        "--workdir", type=Path, default=Path("data/work"), metavar="DIR", help="default: data/work"
    )
    parser.add_argument(
        "--tmp-dir", type=Path, metavar="DIR", help="for temporary files; default: the system's"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; default: the machine's cores")
    parser.add_argument(
        "--memory", metavar="SIZE", help="for example 4G; default: three quarters of the machine's"
    )
    parser.add_argument("--engine", default="local", choices=ENGINES, help="where blocks of work run")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a running Dask scheduler, tcp://host:port")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--force", action="store_true", help="make the named stages again even where done")
    parser.add_argument(
        "--from", dest="start", metavar="STAGE", help="make this stage and all after it again"
    )
    parser.add_argument(
        "--list", nargs="?", const="", metavar="STAGE", help="the stages' state, or a stage's options"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would be run and why, check what a run would; touch nothing",
    )
    parser.add_argument("--quiet", action="store_true", help="only results, warnings and errors")


def _run(options: argparse.Namespace) -> int:
    # The stages' libraries take a second to load: a wrong option is told before.
    settings = _settings(options)
    from pipeline.run.graph import DEFAULT_CONFIG, STAGES

    if options.list:
        print(
            "\n".join(
                stage_lines(_stage_name(options.list, "--list", [*STAGES, "corpus", "vectors", "gold"]))
            )
        )
        return 0
    selected = _selected(options.stage, list(STAGES))
    forced = frozenset(selected) if options.force else frozenset()
    if options.start:
        start = list(STAGES).index(_stage_name(options.start, "--from", list(STAGES)))
        forced |= frozenset(list(STAGES)[start:])
        if options.stage == "all":
            selected = list(STAGES)
    names = closure(selected, STAGES)
    paths = options.config or [DEFAULT_CONFIG]
    if options.list is not None or options.dry_run:
        every = names if options.dry_run else list(STAGES)
        return _worst([_show(path, options, every, forced, settings) for path in paths])
    with open_engine(options.engine, jobs=settings.processes, scheduler=options.scheduler) as engine:
        if len(paths) == 1:
            _corpus(_load(paths[0], options), names, forced, settings, engine)
            return 0
        return _batch(paths, options, names, forced, settings, engine)


def _show(
    path: Path, options: argparse.Namespace, names: list[str], forced: frozenset[str], settings: Settings
) -> int:
    """Print the plan of a corpus, and in a dry run make the checks of one; return the exit status."""
    from pipeline.run.checks import check
    from pipeline.run.forecast import memory_lines
    from pipeline.run.graph import STAGES

    try:
        config = _load(path, options)
        steps = plan(config, names, STAGES, settings, forced=forced, remember=False)
        print("\n".join(plan_lines(config, steps, dry=options.dry_run)))
        if options.dry_run:
            workers = None if options.scheduler else settings.jobs
            for line in memory_lines(config, steps, settings, engine=options.engine, workers=workers):
                print(f"  {line}")
            check(config, steps, settings, warn=Reporter(config.name).warn)
    except Exception as error:
        return _tell(error, debug=options.debug)
    return 0


def _load(path: Path, options: argparse.Namespace) -> Config:
    from pipeline.run.graph import SCHEMA, check_options

    config = configs.load(path, options.set, SCHEMA)
    check_options(config)
    return config


def _corpus(
    config: Config, names: list[str], forced: frozenset[str], settings: Settings, engine: Engine
) -> runner.Outcome:
    from pipeline.run.checks import check, check_fetched
    from pipeline.run.forecast import memory_lines
    from pipeline.run.graph import STAGES

    steps = plan(config, names, STAGES, settings, forced=forced)
    reporter = Reporter(config.name, quiet=settings.quiet)
    kind = "dask" if engine.remote else "local"
    for line in memory_lines(config, steps, settings, engine=kind, workers=engine.workers()):
        reporter.say(line)

    def look_again(made: str) -> None:
        if made == "download":
            check_fetched(config, steps, settings, warn=reporter.warn)

    with _compiled_by_two(settings, engine) if any(step.run for step in steps) else nullcontext():
        check(config, steps, settings, warn=reporter.warn)
        return runner.run(steps, config, settings, engine, on_made=look_again)


def _compiled_by_two(settings: Settings, engine: Engine) -> AbstractContextManager[None]:
    """Let another process compile what is not yet compiled here; that it is told is up to the stages.

    Not where the work is done elsewhere, by one process at a time, or the memory is not that of two.
    """
    if engine.remote or settings.jobs < 2 or settings.memory < 2 * LEAST:
        return nullcontext()
    # Here: numba takes a second to import, and what runs no stage needs none of it.
    from align.model.first_use import compiling

    return compiling(None, lambda count: None)


def _batch(
    paths: list[Path],
    options: argparse.Namespace,
    names: list[str],
    forced: frozenset[str],
    settings: Settings,
    engine: Engine,
) -> int:
    """Run several corpora; one that fails does not stop the others. Print a table at the end."""
    rows: list[tuple[Path, runner.Outcome | None, str]] = []
    statuses = [0]
    taken: dict[str, Path] = {}
    for path in paths[1:]:
        _foretell(path, options, names, forced, settings)
    for path in paths:
        try:
            config = _load(path, options)
            if config.name in taken:
                raise InputError(
                    f"{path}: corpus.name {config.name!r} is that of {taken[config.name]} too; rename it"
                )
            taken[config.name] = path
            rows.append((path, _corpus(config, names, forced, settings, engine), ""))
        except Exception as error:
            statuses.append(_tell(error, debug=options.debug))
            rows.append((path, None, " ".join(str(error).split())))
    print("\n".join(batch_table(rows)))
    return _worst(statuses)


def _foretell(
    path: Path, options: argparse.Namespace, names: list[str], forced: frozenset[str], settings: Settings
) -> None:
    """Say, before the first of several corpora is begun, what a later one would be refused for.

    No more than that: it may need what an earlier one is going to make, such as a prior.
    """
    from pipeline.run.checks import check
    from pipeline.run.graph import STAGES

    try:
        config = _load(path, options)
        steps = plan(config, names, STAGES, settings, forced=forced)
        check(config, steps, settings, warn=lambda odd: None)
    except LiaisonError as error:
        told = " ".join(str(error).split())
        print(f"warning: {path} would be refused as things stand: {told}", file=sys.stderr, flush=True)


def _worst(statuses: Sequence[int]) -> int:
    """Return the exit status of several corpora: 1 where one failed, else 2 where one was refused."""
    return 1 if 1 in statuses else max(statuses)


def _settings(options: argparse.Namespace) -> Settings:
    jobs = default_jobs() if options.jobs is None else options.jobs
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: less than one process; give 1 or more")
    if not 0 <= options.seed < 2**63:
        raise InputError(f"--seed {options.seed}: below zero or over 63 bits; give 0 or more")
    memory = max(default_memory(), LEAST) if options.memory is None else parse_memory(options.memory)
    for name, folder in (("--workdir", options.workdir), ("--tmp-dir", options.tmp_dir)):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise InputError(f"{name} {folder}: a file, not a folder; give another path")
    if options.tmp_dir is not None and not options.tmp_dir.exists():
        raise InputError(f"--tmp-dir {options.tmp_dir}: no such folder; make it first")
    return Settings(
        workdir=options.workdir.absolute(),
        tmp_dir=options.tmp_dir.absolute() if options.tmp_dir is not None else None,
        jobs=jobs,
        processes=jobs if options.engine == "dask" else most_workers(processes_memory, memory, jobs),
        memory=memory,
        seed=options.seed,
        quiet=options.quiet,
    )


def _selected(text: str, valid: list[str]) -> list[str]:
    if text == "all":
        return valid
    return [_stage_name(name.strip(), "--stage", [*valid, "all"]) for name in text.split(",")]


def _stage_name(name: str, option: str, valid: list[str]) -> str:
    if name not in valid:
        raise InputError(f"{option} {name}: no such stage; valid: {', '.join(valid)}")
    return name


def _what_goes_on(stop: KeyboardInterrupt, options: argparse.Namespace) -> str:
    """Say which command goes on after an interruption: with --force and --from the same one begins anew."""
    if not isinstance(stop, runner.Interrupted) or not stop.forced:
        return "interrupted; the same command goes on where it stopped"
    given = " and ".join(["--force"] * options.force + [f"--from {options.start}"] * bool(options.start))
    others = "; leave out the --config of what is done" if len(options.config or ()) > 1 else ""
    if stop.left and stop.first:
        return f"interrupted in {stop.stage}; the same command begins that stage anew{others}"
    if stop.left:
        return (
            f"interrupted in {stop.stage}; the same command with --from {stop.stage} in place of {given} "
            f"begins that stage anew and keeps what was made before it{others}"
        )
    return f"interrupted in {stop.stage}; the same command without {given} goes on where it stopped{others}"


def _tell(error: Exception, *, debug: bool) -> int:
    """Print a failure as one line and return the exit status it stands for."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, LiaisonError):
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_status
    if is_out_of_memory(error):
        print("error: out of memory; give a smaller --memory, or fewer --jobs", file=sys.stderr)
        return 1
    if isinstance(error, OSError) and error.filename is None:
        give_up_stdout()
    if isinstance(error, BrokenPipeError):
        return 1  # whoever read the output has gone, as `head` does: nothing to tell
    if isinstance(error, OSError):
        file = error.filename2 or error.filename
        place = f"{os.fsdecode(file)}: " if file else ""
        remedy = WRITE_FAULTS[error.errno][1] if error.errno in WRITE_FAULTS else "mend it"
        told = f"error: {place}{error.strerror or error}; {remedy} and run the command again"
        print(told, file=sys.stderr)
        return 1
    text = " ".join(f"{type(error).__name__}: {error}".split())
    print(
        f"error: unexpected {text}; this is a fault of the program: run again with --debug", file=sys.stderr
    )
    return 1
