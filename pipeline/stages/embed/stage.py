"""Stage ``embed``: word vectors of both languages in one space, and the check that it is one.

The vectors are read from files, or trained on the corpus. Both sides are then turned to a middle space by
an orthogonal map learnt from word pairs, a part of which is held out: pairs of the space must lie closer
to each other than random words do.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from align.core.arrays import save_array
from align.core.ragged import SIDES
from align.vectors.mapping import centre_rows, unit_rows
from pipeline.config.options import between, one_of
from pipeline.stages.download import stage as download
from pipeline.stages.embed.space import Space, find_seeds, to_one_space
from pipeline.stages.embed.vectors import cover, read_given, read_words, tell_bare_lines, train_on_corpus
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext


def run(
    context: StageContext,
    *,
    vectors: Annotated[str, one_of("auto", "given", "trained", "none")] = "auto",
    dim: Annotated[int, between(1, 1000)] = 64,
    epochs: Annotated[int, between(0, 1000)] = 0,
    effort: Annotated[int, between(0, 10**12)] = 0,
    window: Annotated[int, between(0, 100)] = 0,
    dictionary: Annotated[str, one_of("auto", "file", "bitext", "identical")] = "auto",
    refine: Annotated[int, between(-1, 100)] = -1,
    centre: bool = True,
    candidates: Annotated[int, between(1, 10**9)] = 20_000,
    min_gap: Annotated[float, between(0, 2)] = 0.1,
    max_missing: Annotated[float, between(0, 1)] = 0.5,
) -> None:
    """Bring word vectors of both languages to one space.

    Parameters
    ----------
    vectors : str
        ``given`` reads the files of [vectors], ``trained`` trains on the corpus, ``auto`` does the first
        where there are files and else the second, ``none`` goes without: features of vectors are zero then.
    dim : int
        Numbers in a trained vector, 1 to 1000.
    epochs : int
        Times the corpus is gone through in training; 0: as many as `effort` allows, at most 20.
    effort : int
        Words gone through in training, all epochs together; of a corpus with more words a sample is taken.
        0: 3 million (half a minute), for a greater corpus all of it once, up to 8 million.
    window : int
        Words to each side, of both languages, that a word learns from in training; 0: 10 on little text, 5
        on much.
    dictionary : str
        Word pairs that the map is learnt from: ``file`` (vectors.dictionary), ``bitext`` (words that are
        each other's best translation by Dice), ``identical`` (words and numerals written alike). ``auto``:
        the file if there is one, else the bitext's, or the identical words where they are more.
    refine : int
        Rounds of learning the map again from the words that are each other's nearest. -1: two where
        given vectors have fewer than 1,000 word pairs or only identical words, else none.
    centre : bool
        Move the mean of each language's vectors to zero first.
    candidates : int
        In the check, translations are sought among so many of the most frequent target words.
    min_gap : float
        Stop if the mean cosine of held-out word pairs is not above that of random pairs by as much (given
        vectors; trained ones, and fewer than 20 held-out pairs, only cause a warning). 0 turns it off.
    max_missing : float
        Stop if a greater share of a language's words, as often as they stand in the text, has no vector.

    Raises
    ------
    InputError
        If a file is wrong, the dimensions differ, a language has too few vectors, or the
        vectors have no common space.
    """
    files = download.load(context.inputs["download"])["vectors"]
    words = read_words(context)
    if vectors == "auto":
        vectors = "given" if files["source"] else "trained"
    facts: dict[str, Any] = {"vectors": vectors}
    if vectors == "none":
        _write(context, [np.zeros((size, 0), dtype=np.float32) for size in words.sizes], facts)
        context.say("no vectors: the features made of them are zero")
        return
    if vectors == "given":
        raw, facts["files"] = read_given(context, words, files)
    else:
        raw, facts["training"] = train_on_corpus(
            context, words, dim=dim, epochs=epochs, effort=effort, window=window
        )
    named = (files["source"], files["target"]) if vectors == "given" else None
    facts["coverage"] = cover(context, words, raw, named, max_missing)
    facts["bare_pairs"] = tell_bare_lines(context, raw)
    sides = [unit_rows(side) for side in raw]
    del raw
    if centre:
        sides = [centre_rows(side) for side in sides]
    seeds, facts["dictionary"] = find_seeds(context, words, sides, files["dictionary"], dictionary)
    space = Space(named, words.languages, refine, candidates, min_gap)
    sides, facts["map"] = to_one_space(context, sides, seeds, facts["dictionary"]["method"], space)
    _write(context, sides, facts)


def _write(context: StageContext, sides: list[np.ndarray], facts: dict[str, Any]) -> None:
    """Write the vectors and the report; nothing leaves that is not finite and of length one or zero."""
    for name, side in zip(SIDES, sides, strict=True):
        lengths = np.linalg.norm(side, axis=1)
        assert np.isfinite(side).all()
        assert (np.isclose(lengths, 1.0, atol=1e-3) | (lengths == 0)).all()
        save_array(context.folder / f"{name}.vectors.npy", side.astype(np.float32))
    write_json(context.folder / "mapping.json", facts)
    context.notes |= {**facts, "bytes": sum(side.nbytes for side in sides)}
