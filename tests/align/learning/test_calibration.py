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
            x = parameters[0] * scores + parameters[1]
            return (np.logaddexp(0, x) - wanted * x).sum()

        best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-7}).x
        np.testing.assert_allclose(fit_calibration(scores, correct)[:2], best, atol=1e-4)

    def test_it_finds_the_slope_that_made_the_data(self):
        assert fit_calibration(*sample(0, count=20_000))[:2] == pytest.approx((1.2, -0.4), abs=0.1)

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
        a, b, _ = fit_calibration(np.array(scores), np.array(correct))
        assert a > 0
        assert np.isfinite([a, b]).all()
        assert 0 < confidence(np.array([1.0]), (a, b))[0] < 1

    def test_no_links(self):
        assert fit_calibration(np.zeros(0), np.zeros(0, dtype=bool)) == UNFITTED

    def test_logistic_does_not_overflow(self):
        assert logistic(np.array([-1e9, 0.0, 1e9])).tolist() == [0.0, 0.5, 1.0]


class TestRare:
    def sample(self, count=4000, c=-1.5, share=0.3):
        generator = np.random.default_rng(5)
        scores, rare = generator.normal(1.0, 2.0, count), generator.random(count) < share
        x = 1.2 * scores + 0.4 + c * rare
        return scores, generator.random(count) < 1 / (1 + np.exp(-x)), rare

    def test_it_finds_what_made_the_data(self):
        assert fit_calibration(*self.sample(count=20_000)) == pytest.approx((1.2, 0.4, -1.5), abs=0.1)

    def test_it_is_the_maximum_of_likelihood_and_prior(self):
        scores, correct, rare = self.sample(count=400)
        right = correct.sum()
        wanted = np.where(correct, (right + 1) / (right + 2), 1 / (len(correct) - right + 2))

        def loss(parameters):
            x = parameters[0] * scores + parameters[1] + parameters[2] * rare
            return (np.logaddexp(0, x) - wanted * x).sum() + parameters[2] ** 2 / 2

        best = minimize(loss, [0.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-7}).x
        np.testing.assert_allclose(fit_calibration(scores, correct, rare), best, atol=1e-4)

    def test_a_rare_word_never_makes_a_link_surer(self):
        scores, correct, rare = self.sample(c=1.5)
        assert fit_calibration(scores, correct, rare) == fit_calibration(scores, correct)

    @pytest.mark.parametrize("share", [0.0, 1.0])
    def test_nothing_is_learnt_of_rare_words_without_both_kinds(self, share):
        scores, correct, rare = self.sample(share=share)
        assert fit_calibration(scores, correct, rare) == fit_calibration(scores, correct)

    def test_a_few_rare_links_do_not_decide(self):
        scores, correct, _ = self.sample(c=0.0)
        rare = np.zeros(len(scores), dtype=bool)
        rare[np.flatnonzero(~correct)[:2]] = True
        assert -2 < fit_calibration(scores, correct, rare).rare < 0

    def test_confidence(self):
        scores, rare = np.array([1.0, 1.0]), np.array([False, True])
        expected = logistic(np.array([2.5, 1.0]))
        assert confidence(scores, Calibration(2.0, 0.5, -1.5), rare).tolist() == expected.tolist()
        assert confidence(scores, (2.0, 0.5), rare).tolist() == [expected[0]] * 2

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
