"""The harness judged by itself: p-values of exact multinomial draws must be uniform.

Were they too small, correct samplers would fail; were they too large, wrong ones would pass. The
counts come straight from NumPy's multinomial generator and the uniformity is judged by SciPy's
Kolmogorov-Smirnov test and exact binomial tails, so that the G test does not judge itself.

Simulation reaches levels of about 1e-3. The far tail, where the ledger works, is summed exactly
in the tests of the harness.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from verification.goodness_of_fit import (
    Cell,
    CountFit,
    Family,
    Verdict,
    binomial_test,
    distance_test,
    g_test,
)
from verification.laws import FloatArray
from verification.trials import Trial, generator

LEVELS = (0.1, 0.01, 0.001)


def exact_p_values(
    probabilities: FloatArray, num_draws: int, num_repeats: int, seed: int
) -> FloatArray:
    """Run the G test on draws that follow the law exactly, many times.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (outcomes,)
        The law.
    num_draws : int
        Draws per test.
    num_repeats : int
        Number of tests.
    seed : int
        Seed of the draws.

    Returns
    -------
    ndarray of float64, shape (num_repeats,)
        The p-values.
    """
    counts = generator(seed).multinomial(num_draws, probabilities, size=num_repeats)
    return np.array([g_test(row, probabilities).p_value for row in counts])


def judge_uniform(p_values: FloatArray) -> Verdict:
    """Test that p-values are uniform, in the bulk and at each level.

    Parameters
    ----------
    p_values : ndarray of float64
        Independent p-values of a test whose statistic is nearly continuous.

    Returns
    -------
    Verdict
        Two-sided: p-values that are too large fail as well.
    """
    members: list[tuple[str, Verdict]] = [("the whole range", distance_test(p_values, "uniform"))]
    for level in LEVELS:
        count = int(np.count_nonzero(p_values <= level))
        name = f"p-values up to {level:g}"
        members.append((name, binomial_test(count, len(p_values), level, outcome=name)))
    return Family(tuple(members))


def judge_not_too_small(p_values: FloatArray) -> Verdict:
    """Test that no level is exceeded more often than it says.

    Parameters
    ----------
    p_values : ndarray of float64
        Independent p-values of a test that may be conservative, as every exact test of a
        discrete statistic is.

    Returns
    -------
    Verdict
        One-sided: only p-values that are too small fail.
    """
    members: list[tuple[str, Verdict]] = [
        ("the whole range", distance_test(p_values, "uniform", alternative="greater"))
    ]
    for level in LEVELS:
        count = int(np.count_nonzero(p_values <= level))
        tail = float(stats.binom.sf(count - 1, len(p_values), level))
        name = f"p-values up to {level:g}"
        members.append((name, CountFit(tail, Cell(name, count, level * len(p_values)))))
    return Family(tuple(members))


def calibration_trial(
    probabilities: FloatArray,
    *,
    num_draws: int,
    num_repeats: int,
    judge: Callable[[FloatArray], Verdict] = judge_uniform,
) -> Trial:
    """Prepare to judge the G test itself.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (outcomes,)
        The law to draw from and to test against.
    num_draws : int
        Draws per test.
    num_repeats : int
        Number of tests.
    judge : callable, optional
        What the p-values must be.

    Returns
    -------
    callable
        From a seed to a verdict.
    """
    return lambda seed: judge(exact_p_values(probabilities, num_draws, num_repeats, seed))
