"""Early stops: a run ends when the error on data left out no longer falls, with the weights of the lowest."""

import numpy as np
import pytest

from align.solvers import SOLVERS, EarlyStop
from tests.align.solvers.problems import pairs

everyone = pytest.mark.parametrize("name", SOLVERS)


def one_after_the_other(errors, seen=None):
    """Errors by the number of the call; the last one goes on. ``seen`` gets the weights."""
    left = list(errors)

    def error(weights):
        if seen is not None:
            seen.append(weights.copy())
        return left.pop(0) if len(left) > 1 else left[0]

    return error


@everyone
def test_the_weights_are_those_of_the_lowest_error(name):
    problem, seen = pairs(12, 5, 4, seed=1), []
    stop = EarlyStop(one_after_the_other([0.5, 0.2, 0.4, 0.2, 0.3], seen), 3)
    fit = SOLVERS[name](lam=0.01, passes=50, tolerance=0).run(problem, early_stop=stop)
    assert (fit.status, fit.stopped_by, fit.passes, fit.best_pass) == ("held-out", "patience", 5, 2)
    assert fit.errors == ((1, 0.5), (2, 0.2), (3, 0.4), (4, 0.2), (5, 0.3))
    np.testing.assert_array_equal(fit.weights, seen[1])
    psi, loss = problem.oracles(fit.weights, np.arange(problem.n))
    primal = 0.005 * fit.weights @ fit.weights + (loss - psi @ fit.weights).mean()
    assert fit.primal == pytest.approx(primal, rel=1e-9)
    assert fit.gap == pytest.approx(fit.primal - fit.dual, abs=1e-12)
    assert fit.shortfall == ""


@everyone
def test_a_run_resumed_from_a_file_stops_where_the_whole_one_does(name, tmp_path):
    problem, path = pairs(12, 5, 4, seed=2), tmp_path / "state.npz"
    solver = SOLVERS[name](lam=0.01, passes=60, tolerance=0)

    def error(weights):  # it falls, then rises: how far the weights are from some early ones
        return float(abs(np.linalg.norm(weights) - 2.0))

    whole = solver.run(problem, early_stop=EarlyStop(error, 4))
    assert whole.errors[whole.best_pass - 1][1] == min(each for _, each in whole.errors)

    def stop(progress):
        progress.state.save(path)
        if progress.row.passes == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.run(problem, early_stop=EarlyStop(error, 4), on_pass=stop)
    resumed = solver.run(problem, early_stop=EarlyStop(error, 4), resume=solver.load(path))
    np.testing.assert_array_equal(resumed.weights, whole.weights)
    assert (resumed.errors, resumed.passes, resumed.status) == (whole.errors, whole.passes, whole.status)


def test_limits_and_convergence_end_a_run_too_and_the_lowest_error_is_returned():
    problem = pairs(12, 5, 4, seed=3)
    errors = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    for options, status, stopped_by in (
        ({"passes": 4, "tolerance": 0}, "pass-limit", "pass-limit"),
        ({"tolerance": 0.01}, "held-out", "gap"),
    ):
        seen = []
        stop = EarlyStop(one_after_the_other(errors, seen), 100)
        fit = SOLVERS["bcfw"](lam=0.05, **options).run(problem, early_stop=stop)
        assert (fit.status, fit.stopped_by, fit.best_pass) == (status, stopped_by, 1)
        assert fit.passes > 1
        np.testing.assert_array_equal(fit.weights, seen[0])


@everyone
@pytest.mark.parametrize("lowest", ["first", "last"])
def test_converged_is_said_of_the_weights_and_not_of_the_last_pass(name, lowest):
    problem = pairs(12, 5, 4, seed=3)
    solver = SOLVERS[name](lam=0.05, tolerance=0.05)
    passes = solver.run(problem).passes
    assert passes > 1
    errors = np.linspace(0.1, 0.9, passes)
    stop = EarlyStop(one_after_the_other(list(errors if lowest == "first" else errors[::-1])), 1000)
    fit = solver.run(problem, early_stop=stop)
    assert (fit.passes, fit.stopped_by, fit.shortfall) == (passes, "gap", "")
    small = fit.gap <= 0.05 * fit.primal
    assert (fit.status, fit.best_pass) == (("held-out", 1) if lowest == "first" else ("converged", passes))
    assert small == (lowest == "last")
    told = fit.certificate
    assert (told["status"], told["stopped_by"], told["best_pass"]) == (fit.status, "gap", fit.best_pass)
    assert repr(fit).startswith(
        f"Fit({fit.status} after {passes} passes, weights of pass {fit.best_pass}, stopped by the gap, "
    )


def test_no_patience_and_an_error_that_is_no_number_are_refused():
    problem = pairs(12, 5, 4, seed=3)
    with pytest.raises(ValueError, match="patience 0; give 1 or more"):
        SOLVERS["bcfw"](lam=0.05).run(problem, early_stop=EarlyStop(lambda weights: 0.5, 0))
    with pytest.raises(ValueError, match="the error of pass 1 is no number"):
        SOLVERS["bcfw"](lam=0.05).run(problem, early_stop=EarlyStop(lambda weights: float("nan"), 3))


def test_only_passes_whose_gap_is_measured_are_judged():
    stop = EarlyStop(one_after_the_other([0.5, 0.4, 0.6, 0.6]), 3)
    solver = SOLVERS["bcfw"](lam=0.01, passes=30, tolerance=0, gap_every=2)
    fit = solver.run(pairs(12, 5, 4, seed=4), early_stop=stop)
    assert [passes for passes, _ in fit.errors] == [2, 4, 6, 8]
    assert (fit.best_pass, fit.passes, fit.status) == (4, 8, "held-out")


def test_a_result_prints_as_one_line():
    fit = SOLVERS["bcfw"](lam=0.05).run(pairs(12, 5, 4, seed=3))
    assert repr(fit).startswith(f"Fit(converged after {fit.passes} passes, {fit.oracle_calls} oracle calls, ")
    assert f"primal {fit.primal:.6g}, duality gap {fit.gap:.3g} (" in repr(fit)
    assert "\n" not in repr(fit)
    assert "stopped_by" not in fit.certificate


@everyone
def test_a_limit_tells_which_weights_a_run_with_an_early_stop_returns(name):
    problem = pairs(12, 5, 4, seed=1)
    stop = EarlyStop(one_after_the_other([0.5, 0.2, 0.4]), 9)
    fit = SOLVERS[name](lam=0.01, passes=4, tolerance=0).run(problem, early_stop=stop)
    assert (fit.status, fit.best_pass) == ("pass-limit", 2)
    assert fit.shortfall.startswith(
        "not converged: stopped by the pass-limit after 4 passes, with the primal of pass 2, the lowest in "
        f"error, {fit.primal:.6g}, which is at most {fit.gap:.3g} above the minimum"
    )


@everyone
def test_a_run_resumed_without_its_early_stop_returns_the_lowest_primal(name):
    problem, told = pairs(12, 5, 4, seed=1), []
    solver = SOLVERS[name](lam=0.01, passes=3, tolerance=0)
    stop = EarlyStop(one_after_the_other([0.1, 0.5]), 9)
    first = solver.run(problem, early_stop=stop, on_pass=told.append)
    assert first.best_pass == 1
    longer = SOLVERS[name](lam=0.01, passes=8, tolerance=0)
    fit = longer.run(problem, resume=told[-1].state)
    assert fit.errors == ()
    assert fit.best_pass == fit.passes == 8
    met = [[row.primal, row.average_primal] for row in fit.history[4:]]
    assert fit.primal == min(first.primal, np.nanmin(met))
