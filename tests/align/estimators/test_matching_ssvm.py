"""The estimator: what it promises to scikit-learn's tools, what it learns, what it refuses."""

import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import align
from align import Aligner, MatchingSSVM
from align.core.errors import InputError
from align.estimators import NotConvergedWarning
from align.estimators.parameters import is_number
from align.evaluation.metrics import figures, statistics
from align.links import Link, parse_pharaoh
from align.model.adapting import gold_links
from align.problems.matching import MatchingProblem
from align.solvers import SOLVERS
from tests.runs import ROOT

# Two passes are enough for most of what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::align.estimators.NotConvergedWarning")

SAMPLE = ROOT / "data" / "sample"
SETTINGS = {"languages": ("en", "fr"), "tolerance": 5e-2}


def lines(name):
    return (SAMPLE / name).read_text(encoding="utf-8").split("\n")[:-1]


PAIRS = [(s.split(" "), t.split(" ")) for s, t in zip(lines("gold.en"), lines("gold.fr"), strict=True)]
LINKS = lines("gold.align")
TEXT = list(zip(lines("sample.en"), lines("sample.fr"), strict=True))[:60]


@pytest.fixture(scope="module")
def fitted():
    return MatchingSSVM(**SETTINGS).fit(PAIRS[:20], LINKS[:20], text=[*TEXT, *PAIRS[20:]])


def cloned(estimator):
    """What ``sklearn.base.clone`` does: the class made again with the parameters, which are kept as given."""
    parameters = estimator.get_params(deep=False)
    new = type(estimator)(**parameters)
    for name, value in new.get_params(deep=False).items():
        assert value is parameters[name], name
    return new


class TestParameters:
    def test_they_are_the_arguments_kept_as_given(self):
        odd = {"solver": object(), "lam": "x", "groups": ["a"], "seed": -3}
        estimator = MatchingSSVM(**odd)
        assert {name: estimator.get_params()[name] for name in odd} == odd
        assert list(estimator.get_params(deep=True)) == list(inspect.signature(MatchingSSVM).parameters)
        assert all(
            each.kind is each.KEYWORD_ONLY for each in inspect.signature(MatchingSSVM).parameters.values()
        )
        assert cloned(estimator).get_params() == estimator.get_params()

    def test_the_defaults_are_those_that_the_signature_says(self):
        estimator = MatchingSSVM()
        assert (estimator.solver, estimator.lam, estimator.cost_fn) == ("bcfw", 0.01, 3.0)
        assert repr(estimator) == "MatchingSSVM()"
        # and those are the ones of solvers and problems
        assert (estimator.lam, estimator.tolerance) == (SOLVERS["bcfw"]().lam, SOLVERS["bcfw"]().tolerance)
        own = inspect.signature(MatchingProblem).parameters
        assert (estimator.cost_fn, estimator.cost_fp) == (own["cost_fn"].default, own["cost_fp"].default)
        assert repr(MatchingSSVM(lam=0.1, solver="fw")) == "MatchingSSVM(solver='fw', lam=0.1)"

    def test_they_are_set_all_or_none(self):
        estimator = MatchingSSVM()
        assert estimator.set_params(lam=0.5, seed=3) is estimator
        assert (estimator.lam, estimator.seed) == (0.5, 3)
        with pytest.raises(InputError, match="MatchingSSVM: no parameter 'lambda'; there are solver, lam, "):
            estimator.set_params(lam=7.0, **{"lambda": 1})
        assert estimator.lam == 0.5

    @pytest.mark.parametrize(
        ("name", "value", "wanted"),
        [
            ("solver", "sgd", "one of bcfw, "), ("solver", ["bcfw"], "one of bcfw, "),
            ("lam", 0, "a number above 0, or None"), ("lam", "0.1", "a number above 0"),
            ("lam", float("nan"), "a number above 0"), ("passes", 0, "a whole number from 1 on"),
            ("passes", 1.5, "a whole number"), ("passes", True, "a whole number"),
            ("tolerance", 1, "0 or more, below 1"), ("cost_fn", -1, "a number of 0 or more"),
            ("cost_fp", float("inf"), "a number of 0 or more"), ("fertility", 0, "a whole number from 1 on"),
            ("groups", ["nice"], "None, or some of cosine, "), ("groups", "lexical", "None, or some of"),
            ("groups", [], "None, or some of"), ("weights", 3, "a name or a folder of weights, or 'none'"),
            ("languages", "en", "None, or two codes"), ("languages", ("en", 3), "None, or two codes"),
            ("hidden", "yes", "True or False"), ("solver_options", 3, "None, or options of the solver"),
            ("seed", -1, "a whole number from 0 on"),
        ],
    )  # fmt: skip
    def test_a_wrong_one_is_told_by_fit(self, name, value, wanted):
        with pytest.raises(InputError) as told:
            MatchingSSVM(**{name: value}).fit(PAIRS[:2], LINKS[:2])
        assert str(told.value).startswith(f"MatchingSSVM: {name} is {value!r}; give {wanted}")

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"solver_options": {"nice": 1}}, "solver_options: 'nice' is none of bcfw's; there are "),
            ({"solver_options": {"lam": 1}}, "solver_options: 'lam' is none of bcfw's"),
            ({"solver_options": {"gap_every": 0}}, "solver_options: gap_every is 0; give at least 1"),
            ({"solver_options": {"gap_every": "x"}}, "a value is no number; give numbers"),
            (
                {"solver": "extragradient", "fertility": 2, "solver_options": {"ball": 1.0}},
                "extragradient with these options learns at most 1 links a word",
            ),
            ({"tokenizer": ("rules", "rules", "rules")}, r"tokenizer is \('rules'.*; give one, or a pair"),
            ({"weights": "no such weights"}, "no such"),
        ],
    )
    def test_what_does_not_go_together(self, parameters, message):
        with pytest.raises(InputError, match=message):
            MatchingSSVM(**parameters).fit(PAIRS[:2], LINKS[:2])

    def test_numbers_as_numpy_has_them(self):
        assert is_number(np.float32(0.5))
        assert is_number(np.int64(3))
        assert not any(map(is_number, (True, "1", None, float("inf"), np.zeros(2), 1j)))


class TestFit:
    def test_what_is_learnt_and_its_certificate(self, fitted):
        assert fitted.weights_.shape == (len(fitted.names_),)
        assert fitted.gap_ == pytest.approx(fitted.primal_ - fitted.dual_)
        assert 0 <= fitted.gap_ <= 5e-2 * fitted.primal_
        assert (fitted.status_, fitted.passes_) == ("converged", fitted.history_[-1].passes)
        assert fitted.history_[0].gap > fitted.history_[-1].gap
        assert isinstance(fitted.aligner_, Aligner)
        told = fitted.aligner_.model.provenance
        assert (told["pairs"], told["text_pairs"]) == (20, len(PAIRS) + len(TEXT))

    def test_the_same_again_bit_by_bit_and_another_for_another_seed(self, fitted):
        again = cloned(fitted).fit(PAIRS[:20], LINKS[:20], text=[*TEXT, *PAIRS[20:]])
        assert again.weights_.tobytes() == fitted.weights_.tobytes()
        assert again.predict(PAIRS[:5]) == fitted.predict(PAIRS[:5])
        other = cloned(fitted).set_params(seed=1).fit(PAIRS[:20], LINKS[:20], text=TEXT)
        assert other.weights_.tobytes() != fitted.weights_.tobytes()

    def test_it_is_better_than_the_weights_it_started_from(self, fitted):
        started = cloned(fitted).set_params(lam=1e3, hidden=False)
        started.fit(PAIRS[:20], LINKS[:20], text=[*TEXT, *PAIRS[20:]])
        assert fitted.score(PAIRS[:20], LINKS[:20]) > started.score(PAIRS[:20], LINKS[:20])

    def test_links_as_people_give_them(self):
        quick = MatchingSSVM(passes=2, hidden=False)
        forms = [
            LINKS[:6],
            [parse_pharaoh(each, where="") for each in LINKS[:6]],
            [[(x.source, x.target, x.sure) for x in parse_pharaoh(each, where="")] for each in LINKS[:6]],
            np.array(LINKS[:6], dtype=object),
        ]
        found = [quick.fit(PAIRS[:6], each).weights_.tobytes() for each in forms]
        assert len(set(found)) == 1

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_every_solver(self, solver):
        estimator = MatchingSSVM(solver=solver, passes=2, hidden=False, lam=None, weights="none")
        estimator.fit(PAIRS[:4], LINKS[:4])
        assert np.isfinite(estimator.gap_)
        assert estimator.aligner_.model.options["lam"] == 0.1
        assert estimator.aligner_.model.options["solver"] == solver

    def test_passes_that_were_too_few_are_told(self):
        estimator = MatchingSSVM(solver="fw", passes=2, hidden=False)
        with pytest.warns(
            NotConvergedWarning, match=r"MatchingSSVM: not converged: stopped by the pass-limit af"
        ):
            estimator.fit(PAIRS[:4], LINKS[:4])
        assert estimator.status_ == "pass-limit"
        with warnings.catch_warnings(action="error"):
            easy = MatchingSSVM(hidden=False, tolerance=0.1).fit(PAIRS[:4], LINKS[:4])
        assert easy.status_ == "converged"

    def test_a_solver_takes_its_own_passes_unless_told(self):
        taken = []
        for solver in ("bcfw", "fw", "extragradient"):
            MatchingSSVM(solver=solver, hidden=False, tolerance=0.5).fit(
                PAIRS[:4], LINKS[:4], on_pass=lambda progress: taken.append(progress.passes)
            )
            assert set(taken) == {SOLVERS[solver]().passes}, solver
            taken.clear()

    def test_some_groups_and_one_link_a_word(self):
        estimator = MatchingSSVM(groups=["lexical", "position"], fertility=1, weights="none", hidden=False)
        estimator.fit(PAIRS[:6], LINKS[:6])
        assert estimator.aligner_.model.groups == ("position", "lexical")
        for links in estimator.predict(PAIRS[:6]):
            assert len({s for s, _ in links}) == len({t for _, t in links}) == len(links)

    @pytest.mark.parametrize(
        ("pairs", "links", "message"),
        [
            (PAIRS[:2], LINKS[:1], "2 pairs, but links of 1; give the links of each pair, empty for none"),
            (PAIRS[:1], [""], "no pair has a sure link; link some words and mark them sure"),
            (PAIRS[:1], ["0p0"], "no pair has a sure link"),
            ([], [], "no pair has a sure link"),
            (PAIRS[:1], ["0-0 x"], "links of pair 0: 'x' is not a link like"),
            (PAIRS[:1], ["900-0"], "pair 0: .*900"),
            ([(["a", "."] * 210, ["b", "."] * 210)], ["0-0"], "pair 0: too long to learn from"),
        ],
    )
    def test_what_cannot_be_learnt_from(self, pairs, links, message):
        with pytest.raises(InputError, match=message):
            MatchingSSVM(passes=1, hidden=False).fit(pairs, links)

    @pytest.mark.parametrize(
        ("pairs", "links", "message"),
        [
            ("ab", ["0-0"], "pairs: 'ab' is no list of pairs"),
            (["ab"], ["0-0"], r"pairs: pair 0: 'ab' is no \(source, target\)"),
            ([("a", 3)], ["0-0"], "pairs: pair 0: target: 3 .* is no text"),
            ([("a", "b")], "0-0", "links: '0-0' are no list; give the links of each pair"),
        ],
    )
    def test_what_is_no_list_of_pairs(self, pairs, links, message):
        with pytest.raises(TypeError, match=message):
            MatchingSSVM().fit(pairs, links)


class TestPredict:
    def test_before_fit(self):
        assert not MatchingSSVM().__sklearn_is_fitted__()
        for call in (lambda: MatchingSSVM().predict(PAIRS), lambda: MatchingSSVM().score(PAIRS, LINKS)):
            with pytest.raises(InputError, match="MatchingSSVM: nothing to .* with; call fit first"):
                call()

    def test_new_pairs_are_aligned_as_the_aligner_does(self, fitted):
        new = [
            (["the", "house"], ["la", "maison"]),
            ("Madam President .", "Madame la Présidente ."),
            ("", "a"),
        ]
        assert fitted.predict(new) == fitted.aligner_.align_many(new)
        assert json.loads(json.dumps(fitted.predict(new))) == [
            [list(x) for x in y] for y in fitted.predict(new)
        ]

    def test_pairs_of_the_text_have_what_was_sampled_of_them(self, fitted):
        """As an aligner of that text has it, whatever else is asked for with them."""
        found = fitted.predict([("unseen words", "mots inconnus"), *PAIRS[20:26]])[1:]
        pairs = [fitted.aligner_.tokens(*pair) for pair in PAIRS[20:26]]
        aligner = fitted.aligner_.with_model(fitted.aligner_.model)
        aligner._text = fitted._own
        place = 20 + len(TEXT)
        links = aligner.align_tokens(pairs, place=place)
        assert found == [links.pairs(pair) for pair in range(6)]

    def test_a_pair_that_was_split(self):
        long = (["the", "house", "."] * 160, ["la", "maison", "."] * 160)
        estimator = MatchingSSVM(passes=1, hidden=False).fit(PAIRS[:3], LINKS[:3], text=[long])
        rows = estimator.predict([PAIRS[0], long, PAIRS[1]])
        assert len(rows) == 3
        assert sum(source == target for source, target in rows[1]) > 300

    def test_score_is_one_less_the_error_rate(self, fitted):
        gold = [gold_links(each, where="") for each in LINKS[20:]]
        found = [[Link(*link) for link in each] for each in fitted.predict(PAIRS[20:])]
        error = figures(statistics(found, gold).sum(axis=0)[None])[0, 0]
        assert fitted.score(PAIRS[20:], LINKS[20:]) == pytest.approx(1 - error)
        with pytest.raises(InputError, match="no link in gold or prediction, so no error rate"):
            fitted.score([("", "")], [""])

    def test_its_model_can_be_kept(self, fitted, tmp_path):
        fitted.aligner_.model.save(tmp_path / "model")
        again = Aligner.load(tmp_path / "model")
        assert again.align_many(TEXT[:5]) == fitted.aligner_.align_many(TEXT[:5])


def test_it_is_imported_when_asked_for():
    assert align.MatchingSSVM is MatchingSSVM
    source = Path(align.__file__).read_text(encoding="utf-8")
    assert "\nfrom align.estimators" not in source


def test_the_tools_of_scikit_learn_take_it():
    pytest.importorskip("sklearn", reason="not needed, so not installed with the tests")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    estimator = MatchingSSVM(passes=2, hidden=False)
    assert clone(estimator).get_params() == estimator.get_params()
    search = GridSearchCV(estimator, {"lam": [0.01, 0.1]}, cv=2).fit(PAIRS[:8], LINKS[:8])
    assert search.best_params_["lam"] in (0.01, 0.1)
