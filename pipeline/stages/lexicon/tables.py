"""The tables of the lexicon, made over as many pairs as fit, or found as a killed run left them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from align.data.corpus import Corpus
from align.statistics.cooccurrence import Cooccurrence, index
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.mapper import Mapper, Threads
from pipeline.stages.lexicon.cluster import Files
from pipeline.stages.lexicon.places import WORK, clear_work, text_folders
from pipeline.stages.lexicon.prior_model import PriorModel
from pipeline.stages.lexicon.selection import Selection
from pipeline.work import checkpoint
from pipeline.work.resources import show_size
from pipeline.work.stage import INCOMPLETE, StageContext

_STATE = "tables.json"


def make_tables(
    context: StageContext, selection: Selection, prior: PriorModel | None, options: Mapping[str, Any]
) -> np.ndarray:
    """Make the tables in the stage's folder, if a killed run has not.

    Parameters
    ----------
    context : StageContext
    selection : Selection
        Takes fewer pairs where they do not fit.
    prior : PriorModel, optional
    options : mapping
        Those of :func:`align.statistics.lexicon.estimate`.

    Returns
    -------
    ndarray of bool
        Which pairs they are of (:meth:`Selection.used`).
    """
    figures = _read_state(context)
    if figures is not None:
        context.say(
            f"statistics of {figures['pairs']} of {figures['pairs_of_corpus']} pairs are there already"
        )
    else:
        clear_work(context.folder)
        figures = _make(context, selection, prior, options)
    context.notes |= figures
    return selection.used(figures["pairs_chosen"])


def _make(
    context: StageContext, selection: Selection, prior: PriorModel | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Make tables of fewer and fewer pairs until all fits; save them, and return the figures."""
    lexicon = None
    texts = [Corpus.load(folder) for folder in text_folders(context)]
    while lexicon is None:
        mapper = _mapper(context)
        cooccurrence = index(texts, *selection.sizes, used=selection.used(), mapper=mapper)
        if not selection.fits_tables(cooccurrence):
            del cooccurrence
            continue
        context.say(
            f"statistics of {selection.count} of {selection.all} pairs, {cooccurrence.cells} word pairs, "
            f"about {show_size(selection.needed)} of {show_size(context.memory)} of memory"
        )
        if not context.engine.remote:
            mapper = Threads(selection.threads(cooccurrence))
        counted = cooccurrence.cells
        lexicon, likelihoods = _estimate(context, selection.sizes, cooccurrence, mapper, prior, options)
        del cooccurrence
        if not selection.fits_sampling(lexicon):
            lexicon = None
    selection.tell()
    lexicon.save(context.folder)
    figures = {
        "pairs": selection.count,
        "pairs_of_corpus": selection.all,
        "pairs_chosen": selection.chosen,
        "word_pairs_counted": counted,
        "word_pairs_kept": lexicon.cells,
        "memory_predicted": selection.needed,
        "log_likelihoods": likelihoods,
    }
    if not selection.complete:
        figures[INCOMPLETE] = selection.described()
    _write_state(context, figures, complete=selection.complete)
    if context.engine.remote:
        shutil.rmtree(context.folder / WORK / "tables", ignore_errors=True)
    return figures


def _mapper(context: StageContext) -> Mapper:
    """Return who does the work: threads, or a cluster with files in a folder whose old ones go."""
    if not context.engine.remote:
        return Threads(context.jobs)
    folder = context.folder / WORK / "tables"
    shutil.rmtree(folder, ignore_errors=True)
    return Files(context.engine, folder)


def _estimate(
    context: StageContext,
    sizes: tuple[int, int],
    cooccurrence: Cooccurrence,
    mapper: Mapper,
    prior: PriorModel | None,
    options: Mapping[str, Any],
) -> tuple[Lexicon, list[list[float]]]:
    """Estimate the tables, with progress; return them and the log-likelihoods of each round."""
    likelihoods: list[list[float]] = []
    total = options["iterations"]
    rounds = iter(context.progress(range(total), total=total, unit="rounds"))

    def on_iteration(_: int, forward: float, reverse: float) -> None:
        likelihoods.append([round(forward, 1), round(reverse, 1)])
        next(rounds, None)

    lexicon = estimate(
        cooccurrence,
        *sizes,
        **options,
        prior=None if prior is None else prior.renumbered(*sizes),
        mapper=mapper,
        on_iteration=on_iteration,
    )
    next(rounds, None)
    return lexicon, likelihoods


def _read_state(context: StageContext) -> dict[str, Any] | None:
    """Return the figures of the tables that a killed run left, None where they are not whole.

    None, too, where this run makes others.
    """
    path = context.folder / WORK / _STATE
    if not path.exists():
        return None
    state = checkpoint.load(path)
    if state is None:
        context.say("the statistics of an earlier run cannot be read whole; they are made anew")
        return None
    same = state["memory"] == context.memory or (state["all"] and state["memory"] <= context.memory)
    return dict(state["figures"]) if same else None


def _write_state(context: StageContext, figures: dict[str, Any], *, complete: bool) -> None:
    """Flush the tables to the disk and note that they are whole.

    ``complete`` says that all pairs wanted are in them.
    """
    work = context.folder / WORK
    work.mkdir(exist_ok=True)
    state = {"memory": context.memory, "all": complete, "figures": figures}
    checkpoint.save(work / _STATE, state, sorted(context.folder.glob("*.npy")))
