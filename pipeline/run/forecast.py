"""What a run is going to take, told before its stages start: pairs, workers, and memory of each stage.

The figures are estimates from the size of the text; the stage ``lexicon`` tells exact ones when it knows
its text, and keeps to ``--memory`` by them (:mod:`pipeline.stages.lexicon.selection`).
"""

from __future__ import annotations

from collections.abc import Sequence
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
    pairs, known = _look(config, steps)
    jobs = f"{settings.jobs} job{'s' if settings.jobs > 1 else ''}"
    if settings.processes < settings.jobs:
        jobs += f" (room for {settings.processes} process{'es' if settings.processes > 1 else ''})"
    cluster = ""
    if engine == "dask":
        count = "" if workers is None else f"{workers} "
        cluster = f"{count}worker{'s' if workers != 1 else ''} of the cluster"
        jobs += f" here, {cluster}"
    lines = [
        f"plan: {known}; memory {show_size(settings.memory)}, {jobs}, engine {engine}; "
        f"{len(to_run)} of {len(steps)} stages to run"
    ]
    for name in to_run:
        if name not in ("preprocess", "embed", "lexicon", "align", "inspect"):
            takes = _about(budget.BASE)
        elif pairs is None:
            takes = "memory told when the text is known"
        else:
            takes = _takes(name, pairs, settings, cluster, config.option("lexicon.pairs"))
        lines.append(f"plan: {name:<10} {takes}")
    return lines


def _look(config: Config, steps: Sequence[Step]) -> tuple[int | None, str]:
    """Return how many pairs there are, and how that is known: from a stage that is done, or the files."""
    done = {step.stage.name: step for step in steps if not step.run}
    if "preprocess" in done:
        notes = (manifests.read(done["preprocess"].folder) or {}).get("notes", {})
        pairs = notes.get("pairs")
        return pairs, "pairs not known" if pairs is None else f"{pairs} pairs"
    if "download" in done:
        corpus = download.load(done["download"].folder)["corpus"]
        paths = [] if corpus["kind"] == "tmx" else corpus["paths"]
    else:
        corpus = config.values["corpus"]
        places = corpus["files"] or [corpus[key] for key in ("tsv", "joint") if corpus[key]]
        paths = [place for place in places if not is_url(place)]
    limit = config.option("corpus.limit")
    found = _estimated(Path(paths[0])) if paths else None
    if found is None:
        when = "text is read" if "download" in done or paths or config.values["corpus"]["tmx"] else "download"
        return limit, f"at most {limit} pairs" if limit else f"pairs not known before the {when}"
    pairs = min(found[0], limit or found[0])
    return pairs, f"about {pairs} pairs by the size of the text"


def text_bytes(paths: Sequence[Path], limit: int | None) -> int | None:
    """Return about how many bytes a text has, its first ``limit`` lines, unpacked; None if it is not known.

    Parameters
    ----------
    paths : sequence of Path
        Its files: of one side each, or of both.
    limit : int, optional
        Lines of each that count.
    """
    found = [_estimated(path) for path in paths]
    sizes = [size * min(1.0, (limit or lines) / max(lines, 1)) for lines, size in filter(None, found)]
    return int(sum(sizes)) if len(sizes) == len(paths) else None


def _estimated(path: Path) -> tuple[int, int] | None:
    """Return about how many lines and bytes a text has, None where it cannot be read."""
    try:
        with open_text(path) as text:
            begin = text.read(_LOOKED_AT)
        size = path.stat().st_size
    except (OSError, LiaisonError):
        return None
    lines = begin.count(b"\n")
    if len(begin) < _LOOKED_AT:
        return lines, len(begin)
    with open(path, "rb") as raw:
        plain = raw.read(64) == begin[:64]
    whole = int(size / (1.0 if plain else _PACKED))
    return int(lines / len(begin) * whole), whole


def _takes(name: str, pairs: int, settings: Settings, cluster: str, sample: int | None) -> str:
    """Return what a stage takes whose memory depends on the number of pairs, and what it works at."""
    memory, jobs = settings.memory, settings.jobs
    if name == "embed":
        return _about(budget.embed_memory(pairs))
    if name == "inspect":
        return _about(budget.inspect_memory(pairs))
    if name == "lexicon":
        return _lexicon(pairs, sample or pairs, memory) + (f"; {cluster}" if cluster else "")
    if cluster:
        takes = budget.preprocess_memory(pairs, 0) if name == "preprocess" else budget.BASE
        return f"{_about(takes)} here; {cluster}"
    if name == "preprocess":
        workers = settings.processes
        takes = budget.preprocess_memory(pairs, workers)
    else:
        workers = budget.most_workers(lambda workers: budget.align_memory(pairs, workers), memory, jobs)
        takes = budget.align_memory(pairs, workers)
    return f"{_about(takes)}: {workers} at a time"


def _lexicon(pairs: int, sample: int, memory: int) -> str:
    """Return what the stage ``lexicon`` takes, and of how many pairs it is learnt within the memory."""
    count = wanted = min(pairs, sample)
    if budget.lexicon_memory(wanted) <= memory:
        which = f"a sample of {wanted} pairs" if wanted < pairs else "all pairs"
        return f"{_about(budget.lexicon_memory(wanted))}: {which}"
    while count > 1 and budget.lexicon_memory(count) > memory:
        count = int(0.95 * count)
    return f"{_about(memory)}: a sample of some {float(f'{count:.1g}'):.0f} pairs"


def _about(size: int) -> str:
    return f"about {size / 2**30:.2g} GB"
