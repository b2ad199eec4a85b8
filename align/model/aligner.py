"""Align sentence pairs with a trained model, and say why.

    from align import Aligner
    aligner = Aligner.load("models/en-fr")
    aligner.align("This assignment was hard", "Ce travail était ardu")      # [(0, 0), (1, 1), ...]

An aligner keeps no state between calls but memories of words already cut: threads may share it. Other
processes get the folder of its model: they load it again, and its large arrays are in memory once for all.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus
from align.features import PairBlock, compute_rows, score_blocks
from align.features.block import Block
from align.learning.calibration import confidence, of_translation
from align.links import check_bounds
from align.matching.decoding import decode, places
from align.model.alignments import Alignments, linked_share, share
from align.model.evidence import evidence
from align.model.folder import Model
from align.model.own_text import (
    EXPECTATION,
    UNKNOWN_LANGUAGES,
    NoModelWarning,
    OwnText,
    learn,
    model_of,
    no_text,
)
from align.model.pairs import LONGEST, SideBatch, SideText, Tokenizer, look_up, split_long
from align.model.reading import read_languages
from align.model.shipped import bare_weights, find_model, is_turned
from align.model.turning import turned
from align.model.weights import Weights
from align.text.processor import Tokens

if TYPE_CHECKING:
    import pandas as pd

    from align.model.adapting import GoldLinks
    from align.solvers import Progress

Text = str | Sequence[str]

_LoadedFrom = tuple[Path, Tokenizer | tuple[Tokenizer, Tokenizer], tuple[str, str] | None]

_PAIRS_AT_A_TIME = 256

# What a link that nothing speaks for but its place counts in the score of its pair; one that is known, 1.
_UNKNOWN = 0.05


class _Linked(NamedTuple):
    """Links between the analysis tokens of N pairs; edges and tokens are counted over all pairs."""

    edges: np.ndarray  # int64, (L,), ascending
    words: np.ndarray  # int64, (3, L): pair and tokens
    score: np.ndarray
    charge: np.ndarray  # what each costs its words, which its score is less
    confidence: np.ndarray
    mass: np.ndarray  # of each pair, as in Alignments
    weight: np.ndarray

    @classmethod
    def none(cls) -> _Linked:
        return cls(*(np.zeros(shape, dtype=np.int64) for shape in (0, (3, 0))), *np.zeros((5, 0)))

    @classmethod
    def join(cls, parts: Sequence[_Linked]) -> _Linked:
        return cls(*(np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))


class Aligner:
    """A model ready to align.

    Parameters
    ----------
    model : Model
        The model.
    source, target : SideText
        How the text of each side becomes tokens.
    """

    def __init__(self, model: Model, source: SideText, target: SideText) -> None:
        self.model = model
        self._sides = (source, target)
        self._loaded_from: _LoadedFrom | None = None
        self._weights: Weights | None = None
        self._text: OwnText | None = None

    def __repr__(self) -> str:
        """Return what it aligns and what with, for whoever looks at it."""
        return f"<Aligner {'-'.join(self.model.languages)}{', without a model' if self.untrained else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the place of the model and the tokenizer, not as its tables.

        Raises
        ------
        TypeError
            If the model was not loaded from a folder.
        """
        if self._loaded_from is None:
            raise TypeError(
                "this Aligner was made of a Model in memory and cannot be pickled; save the model "
                "(aligner.model.save(folder)) and share Aligner.load(folder)"
            )
        return _load_again, (*self._loaded_from, self.model.weights.tolist())

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        tokenizer: Tokenizer | tuple[Tokenizer, Tokenizer] = None,
        languages: tuple[str, str] | None = None,
    ) -> Aligner:
        """Load a model.

        Weights without statistics, such as ``default``, serve any two languages: they are used with
        statistics of what a call is given, all pairs of it together, so that many pairs in one call of
        :meth:`align_many` are aligned much better than one by one.

        Parameters
        ----------
        path : str or Path
            Folder of a model, or the name of one that is shipped or was fetched; or of weights.
        tokenizer : str, function or None, or a pair of them, optional
            How text is cut to tokens, both sides alike or (source, target). None: as the model was trained.
            A name: ``spaces`` (text is tokenized already), ``rules``, ``nltk:NAME``, ``module:function``. A
            function: from a text to its tokens, or to their (start, end).
        languages : (str, str), optional
            Codes of the source and the target language. Weights know none: elisions and contractions are
            then left as they are. A model must be of these, and is turned round if it is of these the other
            way (:mod:`align.model.turning`), as ``fr-en`` is ``en-fr`` turned.

        Raises
        ------
        InputError
            If there is no such model, it is of other languages, a file of it is missing or damaged, it asks
            for a tokenizer that is code (give it yourself if you trust it), or the tokenizer given does not
            exist.
        TypeError
            If ``languages`` is one text.

        Warns
        -----
        NoModelWarning
            Where weights are loaded.
        """
        if isinstance(languages, str):
            raise TypeError(f'languages: {languages!r} is one text; give two codes, such as ("en", "fr")')
        bare = bare_weights(path)
        folder = find_model(path) if bare is None else bare
        if bare is not None:
            warnings.warn(f"{path}: {EXPECTATION}", NoModelWarning, stacklevel=2)
        if languages is None and is_turned(path):
            languages = read_languages(folder)[::-1]
        aligner = cls._of_folder(folder, tokenizer, languages, bare=bare is not None)
        known = aligner.model.languages
        if languages is not None and not _same(languages, known):
            raise InputError(
                f"{path}: a model of {'-'.join(known)}, not {'-'.join(languages)}; give another model"
            )
        return aligner

    @classmethod
    def _of_folder(
        cls,
        folder: Path,
        tokenizer: Tokenizer | tuple[Tokenizer, Tokenizer],
        languages: tuple[str, str] | None,
        *,
        bare: bool,
    ) -> Aligner:
        weights = Weights.load(folder) if bare else None
        if weights is None:
            model = Model.load(folder)
            there, back = model.languages, model.languages[::-1]
            if languages is not None and _same(languages, back) and not _same(languages, there):
                model = turned(model)
        else:
            model = model_of(weights, no_text(), languages or UNKNOWN_LANGUAGES, where=folder)
        given = tokenizer if isinstance(tokenizer, tuple) else (tokenizer, tokenizer)
        aligner = cls(
            model, SideText(model.text["source"], given[0]), SideText(model.text["target"], given[1])
        )
        aligner._loaded_from = folder.resolve(), tokenizer, languages
        aligner._weights = weights
        return aligner

    @property
    def untrained(self) -> bool:
        """Whether there are weights alone, whose statistics are made of the text that is aligned."""
        return self._weights is not None

    @property
    def folder(self) -> Path | None:
        """The folder it was loaded from, None where its model was made in memory."""
        return None if self._loaded_from is None else self._loaded_from[0]

    def of_text(self, pairs: Iterable[tuple[Tokens, Tokens]]) -> Aligner:
        """Return an aligner whose statistics are those of a text, for weights without any.

        Parameters
        ----------
        pairs : iterable of (Tokens, Tokens)
            The whole text, gone through once; runs of its pairs are then given to :meth:`align_tokens`, with
            ``place``.
        """
        if self._weights is None or self._loaded_from is None:
            return self
        text = learn(pairs)
        where = self._loaded_from[0]
        learnt = Aligner(
            model_of(self._weights, text.resources, self.model.languages, where=where), *self._sides
        )
        learnt._text = text
        return learnt

    def with_model(self, model: Model) -> Aligner:
        """Return an aligner with another model, which cuts text to tokens as this one does."""
        return Aligner(model, *self._sides)

    def align(self, source: Text, target: Text, *, bias: float = 0.0) -> list[tuple[int, int]]:
        """Return the links of one pair, sorted.

        Parameters
        ----------
        source, target : str or sequence of str
            Text, or its tokens.
        bias : float
            Added to the score of every possible link: above 0 there are more links, below 0 fewer.

        Returns
        -------
        list of (int, int)
            0-based source and target tokens.

        Raises
        ------
        TypeError
            If a side is neither a text nor a list of tokens.
        """
        return self.align_tokens([self.tokens(source, target)], bias=bias).pairs(0)

    def align_many(
        self, pairs: Iterable[tuple[Text, Text]], *, bias: float = 0.0
    ) -> list[list[tuple[int, int]]]:
        """Return the links of each pair; faster than one call a pair, and with all processors.

        Raises
        ------
        TypeError
            If a pair is no (source, target), such as a text; it is named by its place.
        """
        if self.untrained:
            tokens = [self._tokens_of_pair(pair, place) for place, pair in enumerate(_iterated(pairs))]
            return self.align_tokens(tokens, bias=bias).lists()
        found: list[list[tuple[int, int]]] = []
        blocks = self._blocks(pairs)
        first = next(blocks)
        found += self._linked(*first, bias)
        if len(found) < _PAIRS_AT_A_TIME:
            return found
        workers = os.cpu_count() or 1
        # While kernels link some pairs, others are cut to words.
        with ThreadPoolExecutor(workers) as threads:
            waiting: deque[Future[list[list[tuple[int, int]]]]] = deque()
            for block in blocks:
                waiting.append(threads.submit(self._linked, *block, bias))
                if len(waiting) > workers:
                    found += waiting.popleft().result()
            for last in waiting:
                found += last.result()
        return found

    def _blocks(self, pairs: Iterable[tuple[Text, Text]]) -> Iterator[tuple[PairBlock, np.ndarray, int]]:
        """Yield pairs as word ids, so many at a time, the last time fewer, even none; then their number."""
        rows: list[tuple[Text, Text]] = []
        start = 0
        for pair in _iterated(pairs):
            rows.append(pair)
            if len(rows) == _PAIRS_AT_A_TIME:
                yield *self._block(rows, start), len(rows)
                start += len(rows)
                rows = []
        yield *self._block(rows, start), len(rows)

    def _block(self, rows: list[tuple[Text, Text]], start: int) -> tuple[PairBlock, np.ndarray]:
        """Return pairs as :func:`look_up` does, in one go where that can be; ``start`` numbers the first."""
        source, target = self._batches
        texts = [_parts(pair, start + place, "(source, target)") for place, pair in enumerate(rows)]
        if source and target and all(isinstance(text, str) for pair in texts for text in pair):
            sides = source.look_up([pair[0] for pair in texts]), target.look_up([pair[1] for pair in texts])
            (sources, unknown_source), (targets, unknown_target) = sides
            if max(side.lengths().max(initial=0) for side in (sources, targets)) <= LONGEST:
                block = PairBlock(Corpus(sources, targets), unknown_source, unknown_target)
                return block, np.arange(len(rows))
        tokens = [self._tokens_of_pair(pair, start + place) for place, pair in enumerate(texts)]
        return look_up(tokens, self._vocabularies)

    @cached_property
    def _batches(self) -> tuple[SideBatch | None, SideBatch | None]:
        source, target = map(SideText.batch, self._sides, self._vocabularies)
        return source, target

    def _linked(
        self, block: PairBlock, lines: np.ndarray, count: int, bias: float
    ) -> list[list[tuple[int, int]]]:
        return self.align_block(block, bias=bias).merged(lines, count).lists()

    def align_frame(
        self, frame: pd.DataFrame, *, source: str = "source", target: str = "target", bias: float = 0.0
    ) -> pd.DataFrame:
        """Return a table of pandas with the links of its rows in further columns.

        Parameters
        ----------
        frame : DataFrame
            A row a pair; a missing value is an empty text.
        source, target : str
            The columns of texts, or of lists of tokens.
        bias : float
            Added to the score of every possible link.

        Returns
        -------
        DataFrame
            A copy with ``links``, a list of (source token, target token) each; ``confidences``, theirs, in
            [0, 1]; and ``score``, float64, that of the pair in [0, 1].

        Raises
        ------
        InputError
            If there is no such column.
        TypeError
            If a value is neither a text nor a list of tokens.
        """
        for name in (source, target):
            if name not in frame.columns:
                known = ", ".join(map(str, frame.columns)) or "none"
                raise InputError(f"no column {name!r} (there are: {known}); name it with source= and target=")
        missing = zip(frame[source].isna(), frame[target].isna(), strict=True)
        rows = zip(frame[source], frame[target], missing, strict=True)
        tokens = [
            self._tokens_of_pair(("" if no[0] else one, "" if no[1] else other), place)
            for place, (one, other, no) in enumerate(rows)
        ]
        found = self.align_tokens(tokens, bias=bias)
        confidences = [
            found.confidence[start:stop].tolist() for start, stop in pairwise(found.offsets.tolist())
        ]
        links: list[Any] = [found.pairs(pair) for pair in range(len(found))]
        return frame.assign(links=links, confidences=confidences, score=found.sentence_scores())

    def learn(
        self,
        gold: Iterable[tuple[Text, Text, GoldLinks]],
        *,
        lam: float | None = None,
        cost_fn: float | None = None,
        seed: int = 0,
        on_pass: Callable[[Progress], None] | None = None,
    ) -> Aligner:
        """Return an aligner whose weights are learnt further from pairs that were linked by hand.

        This one stays as it is. What came of it stands in ``model.provenance`` of the new one:
        ``adapted_to_pairs``, ``adapted_gap`` (the duality gap), and of the ``held_out_pairs``, which were
        left out of learning, the error rates ``held_out_aer_before`` and ``_after``, their difference with
        its interval (``_difference``), and ``held_out_verdict``: better, worse, or chance. Pairs that this
        one has learnt from in the same way before are known again, ``held_out_known``, and not measured in.
        ``model.save(folder)`` keeps it.

        Parameters
        ----------
        gold : iterable of (source, target, links)
            Texts, or their tokens; the links as Pharaoh (``"0-0 1p2"``), or a list of (source token, target
            token), where a third value False makes a link possible only, counted from 0.
        lam, cost_fn, seed, on_pass
            As of :func:`align.model.adapting.adapt`.

        Raises
        ------
        InputError
            If there are weights alone; if a link is none, or outside its pair, which is named by its place;
            if no pair has a sure link.
        TypeError
            If a pair is no (source, target, links).
        """
        from align.model.adapting import adapt, gold_links, key_of  # the solvers take a while to load

        if self.untrained:
            raise InputError(
                "learn: weights without a model cannot learn by themselves; run the pipeline on your text "
                "with these links as [gold] (liaison run --config), or name a model"
            )
        rows = []
        for place, row in enumerate(_iterated(gold)):
            *sides, links = _parts(row, place, "(source, target, links)")
            rows.append((self._tokens_of_pair(sides, place), gold_links(links, where=f"pair {place}")))
        for place, ((one, other), links) in enumerate(rows):
            check_bounds(links, one.surface, other.surface, where=f"pair {place}")
        pairs, lines = look_up([tokens for tokens, _ in rows], self._vocabularies)
        if len(lines) > len(rows):
            place = int(lines[:-1][np.diff(lines) == 0][0])
            raise InputError(f"pair {place}: too long to learn from; cut it to sentences, or leave it out")
        found = adapt(
            self.model,
            pairs,
            [links for _, links in rows],
            lam=lam,
            cost_fn=cost_fn,
            seed=seed,
            on_pass=on_pass,
            keys=[key_of(one.surface, other.surface) for (one, other), _ in rows],
        )
        return self.with_model(found.model)

    def scores(self, source: Text, target: Text, *, bias: float = 0.0) -> list[float]:
        """Return the confidence, in [0, 1], of each link that :meth:`align` gives, in the same order."""
        return self.align_tokens([self.tokens(source, target)], bias=bias).confidence.tolist()

    def explain(
        self, source: Text, target: Text, *, bias: float = 0.0, place: int | None = None
    ) -> dict[str, Any]:
        """Return the links of a pair with the contribution of each feature to their scores.

        Parameters
        ----------
        source, target, bias
            As of :meth:`align`.
        place : int, optional
            Of an aligner of a text (:meth:`of_text`): the number there of this pair.

        Returns
        -------
        dict
            ``{"source": tokens, "target": tokens, "links": [{"source": 0, "target": 0, "score": 1.9,
            "confidence": 0.97, "contributions": {"cosine": 0.7, ...}}, ...]}``. The contributions of a link,
            weight times value of each feature that is not 0, sum to its score. ``bias`` is not in them. Where
            a word has several links, all but its strongest have a contribution ``fertility``: what they cost.
        """
        aligner, tokens, block = self.looked_up(source, target, place=place)
        return aligner.explain_block(tokens, block, bias=bias)

    def explain_block(
        self, tokens: tuple[Tokens, Tokens], block: PairBlock, *, bias: float = 0.0
    ) -> dict[str, Any]:
        """Return what :meth:`explain` does, of a pair that is looked up: its links are :meth:`align_block`'s.

        Parameters
        ----------
        tokens : (Tokens, Tokens)
            Its tokens (:meth:`tokens`).
        block : PairBlock
            The pair, a row for each of its parts, by the model's word ids; with what was sampled of it.
        bias : float
            As of :meth:`align`.
        """
        corpus, found = block.corpus, self._link(block, bias)
        features = compute_rows(block, self.model.resources, found.edges, groups=self.model.groups)
        _, sources, targets = found.words
        surface = corpus.source.parents[sources].tolist(), corpus.target.parents[targets].tolist()
        rows = (*surface, found.score.tolist(), found.confidence.tolist(), found.charge.tolist(), features)
        links: dict[tuple[int, int], dict[str, Any]] = {}
        for source, target, score, trust, charge, values in zip(*rows, strict=True):
            link = (source, target)
            if link not in links or score > links[link]["score"]:
                links[link] = {
                    "source": source,
                    "target": target,
                    "score": score,
                    "confidence": trust,
                    "contributions": self._reasons(charge, values),
                }
        return {
            "source": tokens[0].surface,
            "target": tokens[1].surface,
            "links": [links[link] for link in sorted(links)],
        }

    def looked_up(
        self, source: Text, target: Text, *, place: int | None = None
    ) -> tuple[Aligner, tuple[Tokens, Tokens], PairBlock]:
        """Return a pair as it is scored: with the aligner that knows its statistics, and as word ids.

        Parameters
        ----------
        source, target : str or sequence of str
            Text, or its tokens.
        place : int, optional
            Of an aligner of a text (:meth:`of_text`): the number there of this pair.

        Returns
        -------
        aligner : Aligner
            This one; of weights alone, that of the pair's own statistics.
        tokens : (Tokens, Tokens)
        block : PairBlock
            One row, but for very long pairs, which are split; ``parents`` count over the whole pair.
        """
        tokens = self.tokens(source, target)
        aligner, place = (self.of_text([tokens]), 0) if self.untrained else (self, place)
        return aligner, tokens, aligner._looked_up([tokens], place)[0]

    def tokens(self, source: Text, target: Text) -> tuple[Tokens, Tokens]:
        """Return the tokens of both sides; those of a sequence are taken as they are.

        Raises
        ------
        TypeError
            If a side is neither a text nor a list of tokens.
        """
        for name, text in (("source", source), ("target", target)):
            if not isinstance(text, str) and not _has_order(text):
                raise TypeError(f"{name}: {_shown(text)} is no text; give a str or a list of str, its tokens")
        return self._sides[0].tokens(source), self._sides[1].tokens(target)

    def _tokens_of_pair(self, pair: Sequence[Text], place: int) -> tuple[Tokens, Tokens]:
        sides = _parts(pair, place, "(source, target)")
        try:
            return self.tokens(*sides)
        except TypeError as error:
            raise TypeError(f"pair {place}: {error}") from None

    def unknown_words(self, pairs: Iterable[tuple[Tokens, Tokens]]) -> tuple[int, int]:
        """Return how many words with a letter the model does not know, and how many there are."""
        unknown = words = 0
        for pair in pairs:
            for side, vocabulary in zip(pair, self._vocabularies, strict=True):
                spelt = [word for word in side.analysis if any(map(str.isalpha, word))]
                words += len(spelt)
                unknown += sum(word not in vocabulary.index for word in spelt)
        return unknown, words

    def check(self, pair: tuple[Tokens, Tokens]) -> None:
        """Check that a tokenized pair can be aligned.

        Raises
        ------
        InputError
            If it is too long and there is no place to split it.
        """
        split_long(*pair)

    def align_tokens(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, bias: float = 0.0, place: int | None = None
    ) -> Alignments:
        """Return the links of tokenized pairs; very long ones are split to parallel parts first.

        Parameters
        ----------
        pairs : sequence of (Tokens, Tokens)
        bias : float
            Added to the score of every possible link.
        place : int, optional
            Of an aligner of a text (:meth:`of_text`): the number there of the first of these pairs, which
            follow one another.
        """
        if self.untrained:
            learnt = self.of_text(pairs)
            runs = range(0, len(pairs), _PAIRS_AT_A_TIME)
            return Alignments.join(
                [
                    learnt.align_tokens(pairs[start : start + _PAIRS_AT_A_TIME], bias=bias, place=start)
                    for start in runs
                ]
            )
        block, lines = self._looked_up(pairs, place)
        return self.align_block(block, bias=bias).merged(lines, len(pairs))

    def _looked_up(
        self, pairs: Sequence[tuple[Tokens, Tokens]], place: int | None
    ) -> tuple[PairBlock, np.ndarray]:
        """Look up the words of pairs; those of the aligner's own text have what was sampled of them."""
        block, lines = look_up(pairs, self._vocabularies)
        text = self._text
        if text is not None and text.posteriors is not None and place is not None:
            first, last = text.parts[place], text.parts[place + len(pairs)]
            block = block._replace(posteriors=text.posteriors.block(int(first), int(last)))
        return block, lines

    def align_block(self, block: PairBlock, *, bias: float = 0.0) -> Alignments:
        """Return the links of a block of a corpus: the compiled path.

        Parameters
        ----------
        block : PairBlock
            Pairs of ids of the model's vocabularies, with ``parents``; what was sampled of them when the
            model's tables were made.
        bias : float
            Added to the score of every possible link.

        Returns
        -------
        Alignments
            Links between surface tokens (``parents``).
        """
        corpus = block.corpus
        found = self._link(block, bias)
        pairs, sources, targets = found.words
        return Alignments.build(
            pairs,
            corpus.source.parents[sources],
            corpus.target.parents[targets],
            found.score,
            found.confidence,
            found.mass,
            found.weight,
        )

    def _link(self, pairs: PairBlock, bias: float) -> _Linked:
        """Return the links between analysis tokens of a block."""
        model = self.model
        found, starts = [_Linked.none()], edge_offsets(pairs.corpus.shapes())
        for start, part, block in score_blocks(
            *(pairs, model.resources, model.weights),
            groups=model.groups,
            word_groups=model.word_groups,
            every=bias > 0,
        ):
            linked, scores, charges = decode(part, max_fertility=model.fertility, bias=bias)
            words = places(part, linked)
            mass, weight, trusted = self._trust(block, linked, scores, words)
            words += _first_words(pairs.corpus, start)
            edges = linked + starts[start]
            found.append(_Linked(edges, words, scores, charges, trusted, mass, weight))
        return _Linked.join(found)

    def _trust(
        self, block: Block, linked: np.ndarray, scores: np.ndarray, words: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mass and weight of the pairs of a block, and the confidence of its links."""
        pairs, sources, targets = words
        seen = np.minimum(block.source.counts[sources], block.target.counts[targets])
        own = confidence(scores, self.model.calibration, seen)
        known = evidence(block)
        trust = own * (_UNKNOWN + (1 - _UNKNOWN) * known.edges[linked])
        mass, weight = linked_share(block, (sources, targets), trust, known)
        return mass, weight, own * of_translation(share(mass, weight))[pairs]

    @property
    def _vocabularies(self) -> tuple[Any, Any]:
        resources = self.model.resources
        return resources.source_vocabulary, resources.target_vocabulary

    def _reasons(self, charge: float, values: np.ndarray) -> dict[str, float]:
        """Return the share of each feature that is not 0 in a score, and what the words are charged."""
        own = len(values)
        shares = self.model.weights[:own] * values.astype(np.float64)
        contributions = {
            name: share for name, share in zip(self.model.names[:own], shares.tolist(), strict=True) if share
        }
        if charge:
            contributions["fertility"] = -charge
        return contributions


def _load_again(
    folder: Path,
    tokenizer: Tokenizer | tuple[Tokenizer, Tokenizer],
    languages: tuple[str, str] | None,
    weights: list[float],
) -> Aligner:
    """Return the aligner of a folder that another process loaded, which may have changed since."""
    aligner = Aligner._of_folder(folder, tokenizer, languages, bare=bare_weights(folder) is not None)
    if aligner.model.weights.tolist() != weights:
        raise InputError(f"{folder}: another model since this Aligner was pickled; load the model again")
    return aligner


def _same(codes: tuple[str, str], others: tuple[str, str]) -> bool:
    return [code.lower() for code in codes] == [code.lower() for code in others]


def _iterated(pairs: Iterable[Any]) -> Iterable[Any]:
    if not isinstance(pairs, Iterable) or isinstance(pairs, (str, bytes)):
        raise TypeError(f"{_shown(pairs)} is no list of pairs; give [(source, target), ...]")
    return pairs


def _has_order(value: object) -> bool:
    """Tell whether a value holds others one after the other: no single object, no set, no bytes."""
    return isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, Mapping, Set))


def _parts(row: object, place: int, wanted: str) -> list[Any]:
    """Return what a row of a list holds, as many values as ``wanted`` has."""
    # A text of two characters would unpack to two texts.
    parts = list(row) if isinstance(row, Iterable) and not isinstance(row, str) and _has_order(row) else []
    if len(parts) != len(wanted.split(",")):
        raise TypeError(f"pair {place}: {_shown(row)} is no {wanted}; give a list of pairs")
    return parts


def _shown(value: object) -> str:
    return f"{value!r:.80} ({type(value).__name__})"


def _first_words(corpus: Corpus, start: int) -> np.ndarray:
    """Return a pair's number, and those of its first source and target token in the corpus, int64 (3, 1)."""
    return np.array([[start], [corpus.source.offsets[start]], [corpus.target.offsets[start]]])
