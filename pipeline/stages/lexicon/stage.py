"""Stage ``lexicon``: which words of the bitext translate each other.

In this order: choose the pairs that fit the memory (:mod:`~pipeline.stages.lexicon.selection`), make the
tables of :class:`align.statistics.lexicon.Lexicon` over them (the Dice coefficient and IBM Model 1 in both
directions; :mod:`~pipeline.stages.lexicon.tables`), make prior counts of a model's links and of spelling
(:mod:`~pipeline.stages.lexicon.prior_model`), sample the links (:mod:`~pipeline.stages.lexicon.sampling`).
"""

from __future__ import annotations

from typing import Annotated

from align.core import heap
from align.core.ragged import SIDES
from align.data.vocabulary import Vocabulary
from align.model.checksums import UNCHECKED
from align.statistics.lexicon import Lexicon
from align.statistics.sampler_priors import SPELLING
from align.statistics.stems import MOST_PAIRS
from align.statistics.stems import WEIGHT as STEMS
from pipeline.config.options import above, at_least, between
from pipeline.stages.lexicon.places import clear_work
from pipeline.stages.lexicon.prior_model import load_prior, local_files, prior_counts, prior_folder
from pipeline.stages.lexicon.sampling import MAX_CHAINS, sample_links
from pipeline.stages.lexicon.selection import Selection
from pipeline.stages.lexicon.tables import make_tables
from pipeline.work.stage import StageContext

__all__ = ["local_files", "run"]


def run(
    context: StageContext,
    *,
    pairs: Annotated[int, at_least(0)] = 0,
    iterations: Annotated[int, at_least(1)] = 5,
    smoothing: Annotated[float, at_least(0)] = 0.1,
    min_probability: Annotated[float, between(0, 1)] = 1e-5,
    prior: str | None = None,
    prior_weight: Annotated[float, above(0)] = 0.05,
    chains: Annotated[int, between(-1, MAX_CHAINS)] = -1,
    spelling: Annotated[float, at_least(0)] = SPELLING,
    stems: Annotated[float, at_least(0)] = STEMS,
) -> None:
    """Count which words occur together, and learn which translate each other (Dice, Model 1, sampling).

    Parameters
    ----------
    pairs : int
        Pairs that tables and links are learnt from: 0 all that fit --memory, N a seeded sample of so many
        (the gold text comes besides, where gold.in_corpus is set and it is not in the corpus anyway). Where
        not all fit, the run says how many it uses: with that number here, more --memory gives the same.
    iterations : int
        Rounds of EM of Model 1, >= 1.
    smoothing : float
        Size of the Dirichlet prior of Model 1 in counts a word pair, >= 0; 0 is maximum likelihood, which
        gives rare words too many links.
    min_probability : float
        Word pairs less probable than this in both directions are dropped, 0 to 1.
    prior : str, optional
        A model whose tables start this corpus: a model folder, or the name of a known model. One of the same
        languages the other way round is turned.
    prior_weight : float
        What an occurrence in the text of the prior counts against one in this corpus, > 0.
    chains : int
        Chains that sample who translates whom in the pairs counted: -1 the fewer the more pairs there are
        (5 for 20,000), 0 no sampling, which is faster and less accurate.
    spelling : float
        Links that words spelt alike have before sampling, >= 0; 0 says nothing of spelling.
    stems : float
        Weight, in links a word, of what words of the same first letters are linked to, >= 0; 0 leaves
        them apart. Of more than 25,000 pairs words are known well enough without.

    Raises
    ------
    InputError
        If the prior is no model of these languages, or there is no text.
    WorkError
        If not even one pair fits the memory.
    """
    folder = context.inputs["preprocess"]
    vocabularies = [Vocabulary.load(folder / f"{side}.vocabulary.tsv") for side in SIDES]
    old = None if prior is None else load_prior(prior_folder(context.config, prior), folder, vocabularies)
    if prior is not None and old is not None and not old.checked:
        context.warn(f"{prior_folder(context.config, prior)}: {UNCHECKED}")
    selection = Selection(
        context,
        pairs,
        (len(vocabularies[0]), len(vocabularies[1])),
        prior_cells=old.lexicon.cells if old else 0,
        sampled=chains != 0,
    )
    model1 = {"iterations": iterations, "smoothing": smoothing, "min_probability": min_probability}
    used = make_tables(context, selection, old, {**model1, "prior_weight": prior_weight})
    del selection
    heap.trim()
    lexicon = Lexicon.load(context.folder, mapped=True)
    context.say(f"{lexicon.cells} word pairs kept")
    if chains:
        own_stems = stems if int(used.sum()) <= MOST_PAIRS else 0.0
        priors = prior_counts(
            lexicon, vocabularies, old, weight=prior_weight, spelling=spelling, stems=own_stems
        )
        del vocabularies, old
        sample_links(context, lexicon, used, chains=chains, priors=priors)
    clear_work(context.folder)
