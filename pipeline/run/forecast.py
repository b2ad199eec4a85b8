"""What a run is going to take, told before its stages start: pairs, workers, and memory of each stage.

The figures are estimates from the size of the text; the stage ``lexicon`` tells exact ones when it knows
its text, and keeps to ``--memory`` by them (:mod:`pipeline.stages.lexicon.selection`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from align.core.errors import LiaisonError
from align.data.streams import open_text
from pipeline.config.configuration import Config
from pipeline.config.places import is_url
from pipeline.run.plan import Settings, Step
from pipeline.stages.download import stage as download
from pipeline.work import budget
from pipeline.work import manifest as manifests
from pipeline.work.resources import show_size

# Bytes at the beginning of a text that tell how long its lines are.
_LOOKED_AT = 1 << 20

# How much smaller packed text is, roughly.
_PACKED = 0.36


@dataclass(frozen=True)
class Outlook:
    """What is known of a run's text beforehand.

    Attributes
    ----------
    pairs : int or None
        Sentence pairs, None where nobody knows.
    known : str
        How that is known.
    """

    pairs: int | None
    known: str


@dataclass(frozen=True)
class Places:
    """Where the work of a run is done.

    Attributes
    ----------
    settings : Settings
        Of this machine.
    cluster : str
        The workers of the cluster that does the work of stages that can be shared out, empty without one.
    """

    settings: Settings
    cluster: str

    @classmethod
    def of(cls, settings: Settings, engine: str, workers: int | None) -> Places:
        """Return them by the engine's name, and the number of the cluster's workers where it is known."""
        if engine != "dask":
            return cls(settings, "")
        count = "" if workers is None else f"{workers} "
        return cls(settings, f"{count}worker{'s' if workers != 1 else ''} of the cluster")


def memory_lines(
    config: Config, steps: Sequence[Step], settings: Settings, *, engine: str, workers: int | None = None
) -> list[str]:
    """Return the plan of a run: a line of all, and a line for each stage that is to be made.

    Parameters
    ----------
    config : Config
    steps : sequence of Step
        Its stages; without one that is to be made there is no plan.
    settings : Settings
    engine : str
        Where blocks of work run.
    workers : int, optional
        With engine ``dask``: how many the cluster has now, where that is known.
    """
    to_run = [step.stage.name for step in steps if step.run]
    if not to_run:
        return []
    outlook = _look(config, steps)
    jobs = f"{settings.jobs} job{'s' if settings.jobs > 1 else ''}"
    if settings.processes < settings.jobs:
        jobs += f" (room for {settings.processes} process{'es' if settings.processes > 1 else ''})"
    places = Places.of(settings, engine, workers)
    if places.cluster:
        jobs += f" here, {places.cluster}"
    lines = [
        f"plan: {outlook.known}; memory {show_size(settings.memory)}, {jobs}, engine {engine}; "
        f"{len(to_run)} of {len(steps)} stages to run"
    ]
    for name in to_run:
        takes = _TAKES.get(name)
        if takes is None:
            told = _about(budget.BASE)
        elif outlook.pairs is None:
            told = "memory told when the text is known"
        else:
            told = takes(config, outlook.pairs, places)
        lines.append(f"plan: {name:<10} {told}")
    return lines


def _look(config: Config, steps: Sequence[Step]) -> Outlook:
    """Find out how many pairs there are, from the last stage that is done, else from the files."""
    done = {step.stage.name: step for step in steps if not step.run}
    if "preprocess" in done:
        notes = (manifests.read(done["preprocess"].folder) or {}).get("notes", {})
        pairs = notes.get("pairs")
        return Outlook(pairs, "pairs not known" if pairs is None else f"{pairs} pairs")
    if "download" in done:
        corpus = download.load(done["download"].folder)["corpus"]
        paths = [] if corpus["kind"] == "tmx" else corpus["paths"]
    else:
        corpus = config.values["corpus"]
        places = corpus["files"] or [corpus[key] for key in ("tsv", "joint") if corpus[key]]
        paths = [place for place in places if not is_url(place)]
    limit = config.option("corpus.limit")
    lines = _estimated_lines(Path(paths[0])) if paths else None
    if lines is None:
        when = "text is read" if "download" in done or paths or config.values["corpus"]["tmx"] else "download"
        return Outlook(limit, f"at most {limit} pairs" if limit else f"pairs not known before the {when}")
    pairs = min(lines, limit or lines)
    return Outlook(pairs, f"about {pairs} pairs by the size of the text")


def _estimated_lines(path: Path) -> int | None:
    """Return about how many lines a text has, None where it cannot be read."""
    try:
        with open_text(path) as text:
            begin = text.read(_LOOKED_AT)
        size = path.stat().st_size
    except (OSError, LiaisonError):
        return None
    lines = begin.count(b"\n")
    if len(begin) < _LOOKED_AT:
        return lines
    with open(path, "rb") as raw:
        plain = raw.read(64) == begin[:64]
    return int(lines / len(begin) * size / (1.0 if plain else _PACKED))


def _lexicon(config: Config, pairs: int, places: Places) -> str:
    memory = places.settings.memory
    end = f"; {places.cluster}" if places.cluster else ""
    wanted = min(pairs, config.option("lexicon.pairs") or pairs)
    needed, count = budget.lexicon_memory(wanted), wanted
    if needed <= memory:
        which = f"a sample of {wanted} pairs" if wanted < pairs else "all pairs"
        return f"{_about(needed)}: {which}{end}"
    while count > 1 and budget.lexicon_memory(count) > memory:
        count = int(0.95 * count)
    return f"{_about(memory)}: a sample of some {float(f'{count:.1g}'):.0f} pairs{end}"


def _preprocess(config: Config, pairs: int, places: Places) -> str:
    if places.cluster:
        return f"{_about(budget.preprocess_memory(pairs, 0))} here; {places.cluster}"
    workers = places.settings.processes
    return f"{_about(budget.preprocess_memory(pairs, workers))}: {workers} at a time"


def _embed(config: Config, pairs: int, places: Places) -> str:
    return _about(budget.embed_memory(pairs))


def _inspect(config: Config, pairs: int, places: Places) -> str:
    return _about(budget.inspect_memory(pairs))


def _align(config: Config, pairs: int, places: Places) -> str:
    if places.cluster:
        return f"{_about(budget.BASE)} here; {places.cluster}"
    settings = places.settings
    workers = budget.most_workers(
        lambda jobs: budget.align_memory(pairs, jobs), settings.memory, settings.jobs
    )
    return f"{_about(budget.align_memory(pairs, workers))}: {workers} at a time"


def _about(size: int) -> str:
    return f"about {size / 2**30:.2g} GB"


_TAKES = {
    "preprocess": _preprocess,
    "embed": _embed,
    "lexicon": _lexicon,
    "align": _align,
    "inspect": _inspect,
}
