"""A word aligner learnt from linked pairs, as an estimator.

    from align import MatchingSSVM
    model = MatchingSSVM().fit(pairs, links)          # [("the house", "la maison"), ...], ["0-0 1-1", ...]
    model.predict(new_pairs)                          # [[(0, 0), (1, 1)], ...]

What is learnt are the weights of the structured SVM over matchings

    min_w  lam/2 |w - w_0|^2 + 1/n sum_i max_y [ L_i(y) - w'(F_i y_i - F_i y) ]        ([1]_, [2]_)

with the bitext statistics of the very pairs it is given, and of more text without links where there is some.

References
----------
.. [1] B. Taskar, S. Lacoste-Julien and D. Klein, "A discriminative matching approach to word alignment",
   HLT/EMNLP 2005.
.. [2] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.estimators.parameters import Parameters, Wanted, number, whole
from align.estimators.training import Learnt, Task, TokenPair, learnt
from align.evaluation.metrics import figures, statistics
from align.features import DEFAULT_GROUPS, GROUPS, PairBlock
from align.learning.calibration import UNFITTED
from align.learning.gold import adapted_lam
from align.links import Link, check_bounds
from align.model.adapting import GoldLinks, gold_links
from align.model.aligner import Aligner, Text
from align.model.folder import Model
from align.model.own_text import UNKNOWN_LANGUAGES, learn, no_text
from align.model.pairs import SideText, as_text, look_up
from align.model.shipped import DEFAULT, find_weights
from align.model.weights import Weights, names_of
from align.problems.matching import COST_FN, COST_FP
from align.solvers import SOLVERS, OptionError, Progress, Solver, links_a_word

Pairs = Iterable[tuple[Text, Text]]

# The name of no known weights.
NO_WEIGHTS = "none"

# Options of solvers that are parameters by themselves.
_OWN_OPTIONS = frozenset(("lam", "passes", "tolerance", "time_limit"))


def _are_codes(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(x, str) for x in value)


def _are_groups(value: Any) -> bool:
    listed = list(value) if isinstance(value, (list, tuple)) else []
    return bool(listed) and all(name in tuple(GROUPS) for name in listed)


_WANTED = {
    "solver": Wanted(f"one of {', '.join(SOLVERS)}", lambda value: value in tuple(SOLVERS)),
    "lam": Wanted(
        "a number above 0, or None",
        lambda value: value is None or number("", lambda each: each > 0).fits(value),
    ),
    "passes": Wanted(
        "a whole number from 1 on, or None", lambda value: value is None or whole("", 1).fits(value)
    ),
    "tolerance": number("0 or more, below 1", lambda value: 0 <= value < 1),
    "cost_fn": number("a number of 0 or more", lambda value: value >= 0),
    "cost_fp": number("a number of 0 or more", lambda value: value >= 0),
    "fertility": Wanted(
        "a whole number from 1 on, or None", lambda value: value is None or whole("", 1).fits(value)
    ),
    "groups": Wanted(
        f"None, or some of {', '.join(GROUPS)}",
        lambda value: value is None or _are_groups(value),
    ),
    "weights": Wanted(
        "a name or a folder of weights, or 'none'", lambda value: isinstance(value, (str, Path))
    ),
    "languages": Wanted(
        'None, or two codes such as ("en", "fr")',
        lambda value: value is None or _are_codes(value),
    ),
    "hidden": Wanted("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "solver_options": Wanted(
        "None, or options of the solver by name", lambda value: value is None or isinstance(value, Mapping)
    ),
    "seed": whole("a whole number from 0 on", 0),
}  # fmt: skip


class NotConvergedWarning(UserWarning):
    """The passes ended before the duality gap was within the tolerance."""


class MatchingSSVM(Parameters):
    """A word aligner that is learnt from pairs linked by hand.

    Objects are made, fitted, copied and searched over as those of scikit-learn are. Parameters are checked by
    :meth:`fit`. The same parameters, pairs and links give the same weights, bit by bit.

    Parameters
    ----------
    solver : str
        One of :data:`align.solvers.SOLVERS`.
    lam : float or None
        Strength of regularisation, > 0: towards ``weights``. None: what :meth:`align.Aligner.learn` takes,
        which with few pairs stays nearer to known weights.
    passes : int or None
        At most so many passes over the linked pairs, >= 1. None: as many as the solver takes by itself.
        :class:`NotConvergedWarning` tells where they were too few.
    tolerance : float
        The solver stops where the duality gap is at most this share of the objective, in [0, 1).
    cost_fn, cost_fp : float
        Cost of a missed sure link, and of a wrong link, >= 0.
    fertility : int or None
        Links that a word may have, >= 1. None: 2, or 1 with a solver that projects.
    groups : sequence of str or None
        Feature groups (:data:`align.features.GROUPS`). None: those of ``weights``, else the default ones.
    weights : str or Path
        Known weights w_0 that are left only as far as the pairs ask for it: those shipped as ``default``, a
        folder of weights or of a model; ``none``: 0.
    languages : (str, str) or None
        Codes of the source and the target language, for elisions and contractions of texts.
    tokenizer : str, function or None, or a pair of them
        How texts are cut to tokens, as in :meth:`align.Aligner.load`.
    hidden : bool
        Whether each pair is learnt from once more as text that the statistics do not know
        (:mod:`align.learning.hidden`), which is what new pairs are.
    solver_options : mapping or None
        Further options of the solver by name, such as ``{"cache": 0}``.
    seed : int
        Of the sampler and of the order of steps, >= 0.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (d,)
        The weights learnt.
    names_ : tuple of str
        What each is the weight of.
    primal_, dual_, gap_ : float
        The objective, its lower bound, and their difference, which bounds how far ``weights_`` are from the
        best ones.
    status_ : str
        Why the solver stopped: ``converged`` or ``pass-limit``.
    passes_ : int
        Passes that were taken.
    history_ : tuple of Row
        Where the solver stood after each pass.
    aligner_ : Aligner
        Aligns, explains, learns further; ``aligner_.model.save(folder)`` keeps the model.
    """

    def __init__(
        self,
        *,
        solver: str = "bcfw",
        lam: float | None = Solver.lam,
        passes: int | None = None,
        tolerance: float = Solver.tolerance,
        cost_fn: float = COST_FN,
        cost_fp: float = COST_FP,
        fertility: int | None = None,
        groups: Sequence[str] | None = None,
        weights: str | Path = DEFAULT,
        languages: tuple[str, str] | None = None,
        tokenizer: Any = None,
        hidden: bool = True,
        solver_options: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.solver = solver
        self.lam = lam
        self.passes = passes
        self.tolerance = tolerance
        self.cost_fn = cost_fn
        self.cost_fp = cost_fp
        self.fertility = fertility
        self.groups = groups
        self.weights = weights
        self.languages = languages
        self.tokenizer = tokenizer
        self.hidden = hidden
        self.solver_options = solver_options
        self.seed = seed

    def fit(
        self,
        pairs: Pairs,
        links: Iterable[GoldLinks],
        *,
        text: Pairs = (),
        on_pass: Callable[[Progress], None] | None = None,
    ) -> MatchingSSVM:
        """Make the statistics of the pairs, and learn the weights from their links.

        Parameters
        ----------
        pairs : iterable of (source, target)
            Texts, or their tokens.
        links : iterable
            The links of each pair: as Pharaoh (``"0-0 1p2"``), or a list of (source token, target token),
            where a third value False makes a link possible only, counted from 0.
        text : iterable of (source, target)
            More bitext, without links, for the statistics. Pairs that are to be aligned later may be in it:
            they are aligned the better for it.
        on_pass : function, optional
            Called after each pass of the solver.

        Returns
        -------
        MatchingSSVM
            This one.

        Warns
        -----
        NotConvergedWarning
            If the passes ended before the duality gap was within the tolerance.

        Raises
        ------
        InputError
            If a parameter does not fit; if there are not as many links as pairs, a link is none or outside
            its pair, or no pair has a sure link.
        TypeError
            If a pair is no (source, target).
        """
        values = self._checked(_WANTED)
        base = _reader(values)
        tokens, gold = _linked(base, pairs, links)
        tokens += _tokens_of(base, text, "text")
        origin = None if str(self.weights) == NO_WEIGHTS else Weights.load(find_weights(self.weights))
        fertility = links_a_word(self.solver, None if self.fertility is None else int(self.fertility))
        limit = self._solver(1).max_fertility  # wrong options are told before the work
        if limit is not None and fertility > limit:
            raise InputError(
                f"MatchingSSVM: fertility is {fertility}; {self.solver} with these options learns at most "
                f"{limit} links a word"
            )
        own = learn(tokens, seed=int(self.seed))
        task = Task(tokens, own, gold, _chosen_groups(values, origin), fertility)
        found = learnt(
            task,
            self._solver,
            (float(self.cost_fn), float(self.cost_fp)),
            origin,
            hidden=bool(self.hidden),
            seed=int(self.seed),
            on_pass=on_pass,
        )
        self._keep(task, found, base)
        if found.fit.shortfall:
            warnings.warn(
                f"MatchingSSVM: {found.fit.shortfall}; raise passes, lam or tolerance",
                NotConvergedWarning,
                stacklevel=2,
            )
        return self

    def predict(self, pairs: Pairs) -> list[list[tuple[int, int]]]:
        """Return the links of each pair: (source token, target token), counted from 0, sorted.

        Parameters
        ----------
        pairs : iterable of (source, target)
            Texts, or their tokens.

        Raises
        ------
        InputError
            If nothing was fitted.
        TypeError
            If a pair is no (source, target).
        """
        if not hasattr(self, "aligner_"):
            raise InputError("MatchingSSVM: nothing to predict with; call fit first")
        tokens = _tokens_of(self.aligner_, pairs, "pairs")
        known = self._own.resources
        block, lines = look_up(tokens, (known.source_vocabulary, known.target_vocabulary))
        found = self.aligner_.align_block(self._sampled(block, tokens, lines)).merged(lines, len(tokens))
        return [found.pairs(pair) for pair in range(len(tokens))]

    def score(self, pairs: Pairs, links: Iterable[GoldLinks]) -> float:
        """Return 1 - AER of what is predicted for some pairs, in [0, 1]; larger is better.

        Parameters
        ----------
        pairs, links
            As of :meth:`fit`.

        Raises
        ------
        InputError
            If nothing was fitted, the links do not fit the pairs, or there is neither a link nor a sure one.
        """
        if not hasattr(self, "aligner_"):
            raise InputError("MatchingSSVM: nothing to score with; call fit first")
        pairs = list(pairs)
        _, gold = _linked(self.aligner_, pairs, links)
        found = [[Link(*link) for link in each] for each in self.predict(pairs)]
        error = float(figures(statistics(found, gold).sum(axis=0)[None])[0, 0])
        if np.isnan(error):
            raise InputError(
                "MatchingSSVM: no link in gold or prediction, so no error rate; give linked pairs"
            )
        return 1.0 - error

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is something to predict with."""
        return hasattr(self, "aligner_")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn, which alone asks, what kind of object this is."""
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import-not-found]

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def _solver(self, pairs: int) -> Solver[Any]:
        """Return the solver, given how many pairs it learns from."""
        method = SOLVERS[self.solver]
        options = dict(self.solver_options or {})
        for name in options:
            if name not in method.options() or name in _OWN_OPTIONS:
                listed = ", ".join(each for each in method.options() if each not in _OWN_OPTIONS)
                raise InputError(
                    f"MatchingSSVM: solver_options: {name!r} is none of {self.solver}'s; there are {listed}"
                )
        lam = adapted_lam(pairs) if self.lam is None else float(self.lam)
        own: dict[str, Any] = {"lam": lam, "tolerance": float(self.tolerance)}
        if self.passes is not None:
            own["passes"] = int(self.passes)
        try:
            return method(**own, **options, seed=int(self.seed))
        except OptionError as error:
            raise InputError(
                f"MatchingSSVM: solver_options: {error.option} is {error.value!r}; give {error.wanted}"
            ) from None
        except TypeError:
            raise InputError(
                f"MatchingSSVM: solver_options: {options!r:.80}: a value is no number; give numbers"
            ) from None

    def _keep(self, task: Task, learnt: Learnt, base: Aligner) -> None:
        """Set the attributes that are there when it is fitted."""
        fit, learner, origin = learnt.fit, learnt.learner, learnt.origin
        options = {
            "solver": self.solver,
            "cost_fn": learner.cost_fn,
            "cost_fp": learner.cost_fp,
            **learner.solver.chosen(),
            "seed": learner.solver.seed,
            "weights": str(self.weights),
            **({"fertility": task.fertility} if task.fertility > 1 else {}),
        }
        facts = {
            "pairs": len(learnt.usable),
            "text_pairs": len(task.own.parts) - 1,
            **fit.certificate,
            **({} if origin is None else {"weights_from": dict(origin.provenance)}),
        }
        model = Model(
            weights=fit.weights,
            names=names_of(task.groups, learnt.word_groups, task.own.resources),
            groups=task.groups,
            resources=task.own.resources,
            text=base.model.text,
            calibration=learnt.calibration,
            options=options,
            provenance=facts,
            fertility=task.fertility,
            word_groups=learnt.word_groups,
        )
        self.weights_, self.names_ = fit.weights, model.names
        self.primal_, self.dual_, self.gap_ = fit.primal, fit.dual, fit.gap
        self.status_, self.passes_, self.history_ = fit.status, fit.passes, fit.history
        self.aligner_ = base.with_model(model)
        self._own = task.own
        self._places = {_key(pair): place for place, pair in reversed(list(enumerate(task.text)))}

    def _sampled(self, block: PairBlock, tokens: Sequence[TokenPair], lines: np.ndarray) -> PairBlock:
        """Return a block with what was sampled of those of its pairs that were in the text."""
        stored, parts = self._own.posteriors, self._own.parts
        if stored is None:
            return block
        places = np.array([self._places.get(_key(pair), -1) for pair in tokens], dtype=np.int64)[lines]
        rows = np.flatnonzero(places >= 0)
        # A pair that is split has as many parts here as it had there.
        within = rows - np.searchsorted(lines, lines[rows])
        found = stored.take(parts[places[rows]] + within)
        return block._replace(posteriors=found.placed(rows, len(lines)))


def _reader(values: Mapping[str, Any]) -> Aligner:
    """Return an aligner that knows nothing, for what it makes of text."""
    settings = {"profile": "expand", "tokenizer": "rules"}
    text = {
        side: {"language": code, **settings}
        for side, code in zip(SIDES, values["languages"] or UNKNOWN_LANGUAGES, strict=True)
    }
    resources = no_text()
    empty = Model(
        weights=np.zeros(1),
        names=names_of((), (), resources),
        groups=(),
        resources=resources,
        text=text,
        calibration=UNFITTED,
        options={},
        provenance={},
    )
    given = values["tokenizer"]
    both = given if isinstance(given, tuple) else (given, given)
    if len(both) != 2:
        raise InputError(f"MatchingSSVM: tokenizer is {given!r:.80}; give one, or a pair (source, target)")
    return Aligner(empty, SideText(text["source"], both[0]), SideText(text["target"], both[1]))


def _linked(
    aligner: Aligner, pairs: Pairs, links: Iterable[GoldLinks]
) -> tuple[list[TokenPair], list[list[Link]]]:
    """Return the tokens of pairs, and their links, which lie within them."""
    tokens = _tokens_of(aligner, pairs, "pairs")
    if isinstance(links, str) or not isinstance(links, Iterable):
        raise TypeError(f"links: {links!r:.80} are no list; give the links of each pair")
    gold = [gold_links(each, where=f"links of pair {place}") for place, each in enumerate(links)]
    if len(gold) != len(tokens):
        raise InputError(
            f"MatchingSSVM: {len(tokens)} pairs, but links of {len(gold)}; give the links of each pair, "
            "empty for none"
        )
    for place, ((source, target), found) in enumerate(zip(tokens, gold, strict=True)):
        check_bounds(found, source.surface, target.surface, where=f"pair {place}")
    return tokens, gold


def _tokens_of(aligner: Aligner, pairs: Pairs, name: str) -> list[TokenPair]:
    """Return the tokens of pairs; ``name`` begins what is told of one that is none."""
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise TypeError(f"{name}: {pairs!r:.80} is no list of pairs; give [(source, target), ...]")
    found = []
    for place, pair in enumerate(pairs):
        sides = None if isinstance(pair, (str, bytes)) or not isinstance(pair, Iterable) else list(pair)
        if sides is None or len(sides) != 2:
            raise TypeError(f"{name}: pair {place}: {pair!r:.80} is no (source, target)")
        try:
            found.append(aligner.tokens(*sides))
        except TypeError as error:
            raise TypeError(f"{name}: pair {place}: {error}") from None
    return found


def _chosen_groups(values: Mapping[str, Any], origin: Weights | None) -> tuple[str, ...]:
    """Return the feature groups, in the order of the table."""
    chosen = values["groups"]
    if chosen is None:
        chosen = DEFAULT_GROUPS if origin is None else origin.groups
    return tuple(name for name in GROUPS if name in chosen)


def _key(pair: TokenPair) -> bytes:
    """Return what tells pairs apart: a digest of their words, so that the words need not be kept."""
    text = "\0".join(["\0".join(map(as_text, side.analysis)) + "\n" for side in pair])
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
