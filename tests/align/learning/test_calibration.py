"""Confidences: the fit against a general optimiser, the mathematics of the ends."""

import numpy as np
import pytest
from scipy.optimize import minimize

from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features.scoring import score_edges
from align.learning.calibration import (
    UNFITTED,
    Calibration,
    confidence,
    fit_calibration,
    logistic,
    of_translation,
    rare_words,
)


def sample(seed, count=400, a=1.2, b=-0.4):
    generator = np.random.default_rng(seed)
    scores = generator.normal(1.0, 2.0, count)
    return scores, generator.random(count) < 1 / (1 + np.exp(-(a * scores + b)))


class TestFit:
    @pytest.mark.parametrize("seed", range(3))
    def test_it_is_the_maximum_of_the_likelihood(self, seed):
        scores, correct = sample(seed)
        right = correct.sum()
        wanted = np.where(correct, (right + 1) / (right + 2), 1 / (len(correct) - right + 2))

        def loss(parameters):
            x = parameters[0] * scores + parameters[1] + parameters[2] * np.maximum(scores - 1, 0)
            return (np.logaddexp(0, x) - wanted * x).sum() + parameters[2] ** 2 / 2

        best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-7}).x
        if best[2] < 0:
            best = np.append(minimize(lambda two: loss([*two, 0.0]), [0.0, 0.0], method="BFGS").x, 0.0)
        np.testing.assert_allclose(np.array(fit_calibration(scores, correct))[[0, 1, 4]], best, atol=1e-4)

    def test_it_finds_the_slope_that_made_the_data(self):
        found = fit_calibration(*sample(0, count=20_000))
        assert found == pytest.approx((1.2, -0.4, 0, 0, 0), abs=0.1)

    def test_it_finds_where_scores_say_more(self):
        generator = np.random.default_rng(3)
        scores = generator.normal(1.0, 2.0, 40_000)
        x = 0.4 * scores + 0.1 + 0.8 * np.maximum(scores - 1, 0)
        found = fit_calibration(scores, generator.random(len(x)) < logistic(x))
        assert found == pytest.approx((0.4, 0.1, 0, 0, 0.8), abs=0.1)

    @pytest.mark.parametrize("a", [-0.3, 0.0])
    def test_scores_below_the_margin_may_say_nothing(self, a):
        """What those above it say is found all the same: the maximum of the likelihood under the bounds."""
        generator = np.random.default_rng(4)
        scores = generator.normal(1.0, 1.5, 4000)
        above = np.maximum(scores - 1, 0)
        correct = generator.random(len(scores)) < logistic(a * scores + 0.3 + (1.5 - a) * above)
        wanted = np.where(correct, (correct.sum() + 1) / (correct.sum() + 2), 1 / ((~correct).sum() + 2))

        def loss(parameters):
            x = parameters[0] * scores + parameters[1] + parameters[2] * above
            return (np.logaddexp(0, x) - wanted * x).sum() + parameters[2] ** 2 / 2

        bounds = [(1e-3, None), (None, None), (0, None)]
        best = minimize(loss, np.zeros(3), method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13}).x
        assert best[2] > 1
        np.testing.assert_allclose(np.array(fit_calibration(scores, correct))[[0, 1, 4]], best, atol=2e-3)

    def test_confidence_is_calibrated(self):
        scores, correct = sample(7, count=5000)
        found = confidence(scores, fit_calibration(scores, correct))
        for low in (0.2, 0.5, 0.8):
            inside = (found >= low) & (found < low + 0.2)
            assert correct[inside].mean() == pytest.approx(found[inside].mean(), abs=0.06)

    @pytest.mark.parametrize(
        ("scores", "correct"),
        [
            ([1.0, 2.0, 3.0], [True, True, True]),
            ([1.0, 2.0], [False, False]),
            ([2.0], [True]),
            ([2.0, 2.0, 2.0], [True, False, True]),
            ([0.1, 5.0], [False, True]),
            ([5.0, 0.1, 0.2], [False, True, True]),
            ([1e4, -1e4], [True, False]),
        ],
    )
    def test_few_or_one_sided_links_do_not_give_certainty(self, scores, correct):
        a, b, *_ = fit_calibration(np.array(scores), np.array(correct))
        assert a > 0
        assert np.isfinite([a, b]).all()
        assert 0 < confidence(np.array([1.0]), (a, b))[0] < 1

    def test_no_links(self):
        assert fit_calibration(np.zeros(0), np.zeros(0, dtype=bool)) == UNFITTED

    def test_logistic_does_not_overflow(self):
        assert logistic(np.array([-1e9, 0.0, 1e9])).tolist() == [0.0, 0.5, 1.0]


class TestCounts:
    def sample(self, count=4000, c=-1.5, d=0.2, e=0.0, share=0.3):
        generator = np.random.default_rng(5)
        scores, rare = generator.normal(1.0, 2.0, count), generator.random(count) < share
        seen = np.where(rare, 1, np.exp(generator.uniform(1, 9, count)).astype(int))
        x = 1.2 * scores + 0.4 + c * rare + d * np.log1p(seen) + e * np.maximum(scores - 1, 0)
        return scores, generator.random(count) < 1 / (1 + np.exp(-x)), seen

    def test_it_finds_what_made_the_data(self):
        assert fit_calibration(*self.sample(count=40_000)) == pytest.approx(
            (1.2, 0.4, -1.5, 0.2, 0.0), abs=0.15
        )

    def test_it_is_the_maximum_of_likelihood_and_prior(self):
        scores, correct, seen = self.sample(count=400, e=1.0)
        right = correct.sum()
        wanted = np.where(correct, (right + 1) / (right + 2), 1 / (len(correct) - right + 2))

        def loss(parameters):
            x = parameters[:2] @ [scores, np.ones(400)]
            x += parameters[2:] @ [seen <= 1, np.log1p(seen), np.maximum(scores - 1, 0)]
            return (np.logaddexp(0, x) - wanted * x).sum() + parameters[2:] @ parameters[2:] / 2

        best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7}).x
        assert (best * [1, 1, -1, 1, 1] > 0)[[0, 2, 3, 4]].all()
        np.testing.assert_allclose(fit_calibration(scores, correct, seen), best, atol=1e-4)

    def test_a_rare_word_never_makes_a_link_surer(self):
        scores, correct, seen = self.sample(c=3.0, d=-0.2)
        assert fit_calibration(scores, correct, seen) == fit_calibration(scores, correct)

    def test_one_of_both_is_enough(self):
        scores, correct, seen = self.sample(c=-4.0, d=-0.2)
        found = fit_calibration(scores, correct, seen)
        assert (found.rare < -1, found.often) == (True, 0.0)
        scores, correct, seen = self.sample(c=2.0, d=0.5)
        found = fit_calibration(scores, correct, seen)
        assert (found.rare, found.often > 0.05) == (0.0, True)

    def test_nothing_is_learnt_of_words_seen_equally_often(self):
        scores, correct, _ = self.sample()
        for seen in (0, 1, 30):
            found = fit_calibration(scores, correct, np.full(len(scores), seen))
            assert found == fit_calibration(scores, correct)

    def test_a_few_rare_links_do_not_decide(self):
        scores, correct, seen = self.sample(c=0.0, share=0.0)
        seen[np.flatnonzero(~correct)[:2]] = 1
        assert -2 < fit_calibration(scores, correct, seen).rare < 0

    def test_confidence(self):
        scores, seen = np.array([1.0, 1.0, 1.0]), np.array([2, 1, 0])
        expected = logistic(np.array([2.5, 1.0, 1.0]))
        assert confidence(scores, Calibration(2.0, 0.5, -1.5), seen).tolist() == expected.tolist()
        assert confidence(scores, (2.0, 0.5), seen).tolist() == [expected[0]] * 3
        often = logistic(2.5 + 0.3 * np.log([3, 2, 1]))
        assert confidence(scores, (2.0, 0.5, 0.0, 0.3), seen).tolist() == pytest.approx(often.tolist())

    def test_pairs_that_may_be_no_translations(self):
        found = of_translation(np.array([0.0, 0.05, 0.1, 0.2, 0.5]))
        assert found.tolist() == pytest.approx([0, 0.0588, 0.5, 0.9412, 0.9984], abs=1e-4)

    def test_words_not_in_the_vocabulary_and_seen_once_are_rare(self):
        corpus = Corpus(Sentences.from_lists([[0, 1], [5]]), Sentences.from_lists([[2], [0, 1]]))
        vocabularies = Vocabulary(["a", "b"], [3, 2]), Vocabulary(["c", "d", "e"], [9, 1, 1])
        source, target = rare_words(corpus, vocabularies)
        assert source.tolist() == [False, False, True]
        assert target.tolist() == [True, False, True]


class TestScores:
    @pytest.mark.parametrize("d", [1, 3, 4, 7, 77])
    def test_inner_products(self, d):
        generator = np.random.default_rng(d)
        features = generator.normal(size=(50, d)).astype(np.float32)
        weights = generator.normal(size=d)
        expected = features.astype(np.float64) @ weights
        np.testing.assert_allclose(score_edges(features, weights), expected, atol=1e-12)

    def test_an_edge_does_not_depend_on_the_others(self, tmp_path):
        generator = np.random.default_rng(0)
        features = generator.normal(size=(50, 13)).astype(np.float32)
        weights = generator.normal(size=13)
        np.save(tmp_path / "x.npy", features)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r", allow_pickle=False)
        assert np.array_equal(score_edges(features[7:8], weights), score_edges(mapped, weights)[7:8])
