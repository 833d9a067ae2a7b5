r"""What a check would find: the smallest bias that is called a failure with 99 % probability.

A check that passes says little until one knows what would have made it fail. Under a biased law q
instead of p, the G statistic of N draws is close to a non-central chi-square variable with
non-centrality

.. math:: \lambda = 2 N \sum_i q_i \log(q_i / p_i),

so the chance of p-values below the level is known, both of the first attempt and of the second
with ten times the draws, which has ten times the :math:`\lambda`. A failure takes both. The
:math:`\lambda` for which their product is 99 % is found numerically, and from it the size of the
bias, for biases of a given shape:

* one outcome's probability changes by a factor, at the cost of all others alike;
* a share of the draws repeats the draw before it;
* where one outcome has all but a sliver of the mass, a share of the draws is one of the others:
  here the law is binomial, and the tails are summed;
* where only one outcome is possible, a share of the draws is something else: one such draw is
  enough, so what counts is the chance that there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import optimize, special, stats

from verification.goodness_of_fit import group_cells
from verification.laws import FloatArray

POWER = 0.99
"""The chance with which a bias must be found to be listed."""

MORE_DRAWS = 10
"""How many times the draws of the first attempt the second one makes."""


@dataclass(frozen=True)
class Power:
    """The smallest bias that a check finds.

    Attributes
    ----------
    bias : str
        What changes, in words.
    easiest, hardest : float
        The size found where it is seen best, and where it is seen worst.
    """

    bias: str
    easiest: float
    hardest: float


@lru_cache(maxsize=4096)
def needed_noncentrality(degrees_of_freedom: int, level: float) -> float:
    """Find the non-centrality at which both attempts fail with probability :data:`POWER`.

    Parameters
    ----------
    degrees_of_freedom : int
        Of the G test.
    level : float
        The p-value below which an attempt fails.

    Returns
    -------
    float
        The non-centrality of the first attempt.
    """
    critical = float(special.chdtri(degrees_of_freedom, level))

    def shortfall(noncentrality: float) -> float:
        return chance_of_failure(noncentrality, degrees_of_freedom, critical) - POWER

    highest = 50.0
    while shortfall(highest) < 0.0:
        highest *= 2.0
    return float(optimize.brentq(shortfall, 0.0, highest, rtol=1e-6))


def chance_of_failure(noncentrality: float, degrees_of_freedom: int, critical: float) -> float:
    """Compute the chance that both attempts exceed the critical value.

    Parameters
    ----------
    noncentrality : float
        Of the first attempt.
    degrees_of_freedom : int
        Of the G test.
    critical : float
        What both statistics must exceed.

    Returns
    -------
    float
        The chance of a failure.
    """
    law = stats.ncx2(degrees_of_freedom, np.array([1.0, MORE_DRAWS]) * max(noncentrality, 1e-12))
    return float(np.prod(law.sf(critical)))


def of_changed_outcome(
    probabilities: FloatArray, num_draws: int, level: float, *, bias: str
) -> Power | None:
    """Find the relative change of one outcome's probability that a G test finds.

    Parameters
    ----------
    probabilities : ndarray of float64
        The law, of any shape.
    num_draws : int
        Number of draws of the first attempt.
    level : float
        Of the whole test.
    bias : str
        What an outcome is.

    Returns
    -------
    Power or None
        The least and the largest over all cells. If the G test has only one, the share of draws
        that the pool must get; None if there is no pool either.
    """
    law, draws, own_level = _tested_cells(probabilities.ravel(), num_draws, level)
    if len(law) < 2:
        return _of_rare_outcomes(probabilities.ravel(), num_draws, level)
    changes = relative_changes(law, draws, needed_noncentrality(len(law) - 1, own_level))
    return Power(bias, float(changes.min()), float(changes.max()))


def of_certain_outcome(num_draws: int, *, outcome: str) -> Power:
    """Find the share of draws that are something else, where only one outcome is possible.

    A single other draw is a failure, so that each attempt misses the bias only if it draws none.

    Parameters
    ----------
    num_draws : int
        Number of draws of the first attempt.
    outcome : str
        What must come.

    Returns
    -------
    Power
        The share.
    """

    def shortfall(log_share: float) -> float:
        log_miss = num_draws * np.array([1, MORE_DRAWS]) * math.log1p(-math.exp(log_share))
        return float(np.prod(-np.expm1(log_miss))) - POWER

    share = math.exp(optimize.brentq(shortfall, -math.log(num_draws) - 20, -1e-9, rtol=1e-6))
    return Power(f"share of draws that are not {outcome}", share, share)


def of_changed_events(
    probabilities: FloatArray, num_draws: int, level: float, *, bias: str
) -> Power | None:
    """Find the same for separate events, each tested alone by a binomial test.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (events,)
        Their probabilities.
    num_draws : int
        Number of draws of the first attempt.
    level : float
        Of each test.
    bias : str
        What an event is.

    Returns
    -------
    Power or None
        The least and the largest over all events that are neither certain nor too rare.
    """
    expected = num_draws * np.minimum(probabilities, 1.0 - probabilities)
    law = probabilities[expected >= 1.0]
    if not len(law):
        return None
    changes = relative_changes(law, num_draws, needed_noncentrality(1, level))
    return Power(bias, float(changes.min()), float(changes.max()))


def of_repeated_draws(probabilities: FloatArray, num_pairs: int, level: float) -> Power | None:
    """Find the share of draws that repeat the one before which a G test on pairs finds.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (trees,)
        The law of one draw.
    num_pairs : int
        Number of pairs of the first attempt.
    level : float
        Of the test.

    Returns
    -------
    Power or None
        The share.
    """
    pairs = np.multiply.outer(probabilities, probabilities).ravel()
    repeats = np.diag(probabilities).ravel()
    cells = group_cells(pairs, num_pairs)

    def grouped(law: FloatArray) -> FloatArray:
        return np.append(law[cells.alone], law[cells.pooled].sum())

    right, wrong = grouped(pairs), grouped(repeats)
    needed = needed_noncentrality(len(right) - 1, level)

    def shortfall(share: float) -> float:
        law = (1 - share) * right + share * wrong
        return float(2 * num_pairs * special.rel_entr(law, right).sum() - needed)

    if shortfall(1.0) < 0.0:
        return None
    share = float(optimize.brentq(shortfall, 0.0, 1.0, rtol=1e-6))
    return Power("share of draws that repeat the last one", share, share)


def of_distance(num_values: int, level: float) -> Power:
    """Bound the distance between distribution functions that the test of distances finds.

    By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart the empirical distribution
    function is within sqrt(log(2 / a) / 2N) of its own law but for a chance of a; so is, up to the
    test's level, the critical value. No power formula is needed, and the result is an upper bound.

    Parameters
    ----------
    num_values : int
        How many values are compared.
    level : float
        Of the test.

    Returns
    -------
    Power
        The distance.
    """
    # Both attempts must fail; the second misses far less often than the first.
    distance = sum(math.sqrt(math.log(2 / a) / (2 * num_values)) for a in (level, 1 - POWER))
    return Power("distance between distribution functions", distance, distance)


def of_agreement(chance_to_agree: FloatArray, num_pairs: int, level: float) -> Power:
    """Find the share of repeats which tests of how often two draws agree on a head find.

    Parameters
    ----------
    chance_to_agree : ndarray of float64, shape (words,)
        For independent draws.
    num_pairs : int
        Number of pairs of the first attempt.
    level : float
        Of each test.

    Returns
    -------
    Power
        The least and the largest share over all words.
    """
    needed = needed_noncentrality(1, level)
    shares = _changed_by(
        chance_to_agree,
        num_pairs,
        needed,
        lambda share: chance_to_agree + share * (1 - chance_to_agree),
    )
    return Power(
        "share of draws that repeat the last one", float(shares.min()), float(shares.max())
    )


def relative_changes(law: FloatArray, num_draws: float, noncentrality: float) -> FloatArray:
    """Turn a non-centrality into the change of each outcome's probability, alone.

    Parameters
    ----------
    law : ndarray of float64, shape (outcomes,)
        Probabilities.
    num_draws : float
        Number of draws.
    noncentrality : float
        What the change must amount to.

    Returns
    -------
    ndarray of float64, shape (outcomes,)
        Relative changes: upwards, or downwards for what is more likely than not. A change by
        more than is left up to 1 is infinite.
    """
    is_raised = law <= 0.5

    def changed(step: FloatArray) -> FloatArray:
        # From the old probability to 1, or to 0, in relation to the way there.
        return np.where(is_raised, law + step * (1 - law), law * (1 - step))

    step = _changed_by(law, num_draws, noncentrality, changed)
    is_possible = np.isfinite(step)
    change = np.abs(changed(np.where(is_possible, step, 0.0)) / law - 1.0)
    return np.where(is_possible, change, np.inf)


def _of_rare_outcomes(law: FloatArray, num_draws: int, level: float) -> Power | None:
    """Find the share of draws in the pool that its exact test finds too large."""
    pool = float(law[group_cells(law, num_draws).pooled].sum())
    if pool == 0.0:
        return None
    attempts = np.array([num_draws, MORE_DRAWS * num_draws])
    # The test doubles the smaller tail.
    critical = stats.binom.isf(level / 2, attempts, pool) + 1

    def shortfall(log_share: float) -> float:
        share = np.exp(log_share)
        return float(np.prod(stats.binom.sf(critical - 1, attempts, share))) - POWER

    share = math.exp(optimize.brentq(shortfall, math.log(pool), 0.0, rtol=1e-6))
    return Power("share of draws that are one of the rare outcomes", share, share)


def _changed_by(
    law: FloatArray,
    num_draws: float,
    noncentrality: float,
    changed: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Bisect for the step in [0, 1], for each outcome, that reaches a non-centrality."""
    low, high = np.zeros(len(law)), np.ones(len(law))
    for _ in range(60):
        middle = 0.5 * (low + high)
        new = changed(middle)
        entropy = special.rel_entr(new, law) + special.rel_entr(1 - new, 1 - law)
        is_enough = 2 * num_draws * entropy >= noncentrality
        high = np.where(is_enough, middle, high)
        low = np.where(is_enough, low, middle)
    return np.where(high < 1.0, high, np.inf)


def _tested_cells(law: FloatArray, num_draws: int, level: float) -> tuple[FloatArray, float, float]:
    """Return the cells of the G test, the draws that fall into them, and the test's level."""
    cells = group_cells(law, num_draws)
    alone = law[cells.alone]
    if cells.is_pool_exact:
        return alone / alone.sum(), num_draws * float(alone.sum()), level / 2
    if len(cells.pooled):
        alone = np.append(alone, law[cells.pooled].sum())
    return alone, num_draws, level
