r"""Estimate the expectation of a function of a random tree from draws, with a standard error.

The expectation of a sum over the arcs of a tree needs no draws: the distribution's `expectation`
computes it exactly.  For any other function there are three estimators, from the simplest to the
one that makes the most of a few evaluations:

- `expectation`: the mean over draws with replacement;
- `expectation_without_replacement`: distinct trees, weighted by the inverse of their probability of
  being drawn (Horvitz and Thompson 1952; with a threshold from the sample itself, Duffield, Lund
  and Thorup 2007 and Cohen and Kaplan 2007; for sequence models Kool, van Hoof and Welling 2019);
- `sum_and_sample`: distinct trees, the first of which count with their exact probability while the
  others stand for all trees not yet drawn (Des Raj 1956; Liu, Regier, Tripuraneni, Jordan and
  McAuliffe 2019; Kool, van Hoof and Welling 2020).

If there are few enough trees to draw them all, the last two give the exact value.  No probability
is computed as 1 - p, and ratios of small probabilities are differences of logarithms.  So trees get
their correct weight even beside a tree of probability 1 - 1e-19, or if there are so many that the
probability of each is too small for float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.arguments import check_count
from arborand.distributions import check_single_graph
from arborand.validation import real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from arborand.distributions import TreeDistribution
    from arborand.randomness import Seed
    from arborand.without_replacement import Draws

    Function = Callable[[NDArray[np.int32]], ArrayLike]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """An estimate of an expectation, with its standard error.

    Attributes
    ----------
    value : ndarray of float64
        The estimate, in the shape of one value of the function.
    standard_error : ndarray of float64
        The estimated standard deviation of `value`, entry by entry: 0 if the value is exact (or if
        all draws gave the same value), NaN after a single draw.
    num_evaluations : int
        The number of trees on which the function was evaluated.
    """

    value: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    num_evaluations: int


def expectation(
    distribution: TreeDistribution,
    function: Function,
    num_draws: int,
    *,
    rng: Seed = None,
    method: str | None = None,
) -> Estimate:
    """Estimate the expectation of a function by its mean over draws with replacement.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        A single graph.
    function : callable
        From ``heads``, shape (K, m), to K finite values: an array of shape (K,) or (K, ...).
    num_draws : int
        How many trees to draw.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness, as for `sample`.
    method : str, optional
        The sampler, as for `sample`; projective trees have only one.

    Returns
    -------
    Estimate
        Unbiased, and so is the square of its standard error.

    Raises
    ------
    TypeError, ValueError
        If the distribution is a batch, the number of draws is not at least 1, or the function does
        not give one finite value per tree.

    Notes
    -----
    The error decreases like one over the square root of `num_draws`, whatever the distribution.  If
    one tree has nearly all the probability, all draws may be that tree, and the standard error 0.

    Examples
    --------
    >>> from arborand import SpanningTrees
    >>> from arborand.trees import num_root_arcs
    >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> estimate = expectation(d, num_root_arcs, 10_000, rng=0)  # exactly, 15 / 13 = 1.1538...
    >>> bool(abs(estimate.value - 15 / 13) < 4 * estimate.standard_error)
    True
    """
    check_single_graph(distribution, "expectation")
    num_draws = check_count(num_draws, "num_draws", 1)
    chosen: dict[str, Any] = {} if method is None else {"method": method}
    values = _evaluate(function, distribution.sample(num_draws, rng=rng, **chosen))
    return Estimate(*_mean(values), num_draws)


def expectation_without_replacement(
    distribution: TreeDistribution,
    function: Function,
    num_draws: int,
    *,
    rng: Seed = None,
    normalise: bool = False,
) -> Estimate:
    r"""Estimate the expectation of a function from distinct trees, weighted by a threshold.

    One more tree is drawn than evaluated.  Its perturbed log-probability :math:`\kappa` is the
    threshold that the others have passed.  Tree t passes it with probability :math:`q_t = 1 -
    \exp(-\exp(\log p_t - \kappa))`.  The estimate is :math:`\sum_t w_t f(t)` over the trees drawn,
    with :math:`w_t = p_t / q_t`.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        A single graph.
    function : callable
        From ``heads``, shape (K, m), to K finite values: an array of shape (K,) or (K, ...).
    num_draws : int
        How many distinct trees to evaluate.  If there are no more than that, the result is exact.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness, as for `sample_without_replacement`.
    normalise : bool
        Divide by the sum of the weights, whose expectation is 1.  This is consistent but *biased*,
        by about the variance.  It is usually more accurate, because a constant added to the
        function does not add to the error, and it never leaves the range of the values.

    Returns
    -------
    Estimate
        Unbiased unless normalised.

    Raises
    ------
    TypeError, ValueError
        If the distribution is a batch, the number of draws is not at least 1, or the function does
        not give one finite value per tree.

    Notes
    -----
    With two or more draws, the contributions of different trees are uncorrelated, so the variance
    is the sum of theirs, and :math:`\sum_t w_t^2 (1 - q_t) f(t)^2` is an unbiased estimate of it.
    With `normalise`, the function is replaced by its difference from the estimate and the sum is
    divided by the square of the sum of the weights, which is right to first order.  With a single
    draw, the variance is infinite and the standard error is NaN.

    Without `normalise`, the error grows with the distance of the function from 0: subtract a guess
    of the expectation that does not depend on these draws, and add it to the result.

    Examples
    --------
    >>> from arborand import SpanningTrees
    >>> from arborand.trees import num_root_arcs
    >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> estimate = expectation_without_replacement(d, num_root_arcs, 3, rng=0)  # all three trees
    >>> float(estimate.value.round(6)), float(estimate.standard_error)
    (1.153846, 0.0)
    """
    check_single_graph(distribution, "expectation_without_replacement")
    num_draws = check_count(num_draws, "num_draws", 1)
    draws = distribution.sample_without_replacement(num_draws + 1, rng=rng)
    if draws.num_drawn <= num_draws:
        return _exact(function, draws)
    values = _evaluate(function, draws.heads[:num_draws])
    log_prob = draws.log_prob[:num_draws]
    weight, spread = _threshold_weights(log_prob, draws.perturbed_log_prob[num_draws])
    value = _weighted_sum(weight, values)
    if normalise:
        value = value / weight.sum()
        values = values - value
        spread = spread / weight.sum()
    error = _root_of_squares(_times(spread, values)) if num_draws > 1 else value * np.nan
    return Estimate(value[()], error[()], num_draws)


def sum_and_sample(
    distribution: TreeDistribution,
    function: Function,
    num_distinct: int,
    num_rest: int,
    *,
    rng: Seed = None,
) -> Estimate:
    r"""Estimate an expectation by an exact sum over some trees and a sample of the rest.

    Draw distinct trees :math:`t_1, t_2, \ldots`, and let :math:`R_j` be the probability of all
    trees not drawn before the j-th.  Since :math:`t_j` follows the law of the remaining trees,

    .. math:: e_j = \sum_{i < j} p_i f(t_i) + R_j f(t_j)

    is unbiased.  The estimate is the mean of :math:`e_j` over the last `num_rest` of the draws.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        A single graph.
    function : callable
        From ``heads``, shape (K, m), to K finite values: an array of shape (K,) or (K, ...).
    num_distinct : int
        How many trees to draw first, for the sum.  May be 0.
    num_rest : int
        How many to draw after them.  If there are no more trees than `num_distinct` + `num_rest`,
        the result is exact.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness, as for `sample_without_replacement`.

    Returns
    -------
    Estimate
        Unbiased, and so is the square of its standard error; this is NaN if `num_rest` is 1.

    Raises
    ------
    TypeError, ValueError
        If the distribution is a batch, a number of draws is too small, or the function does not
        give one finite value per tree.

    Notes
    -----
    The :math:`e_j` are uncorrelated and their variances never increase with j.  So the variance is
    at most that of `expectation` with `num_rest` draws, for any distribution and any function.
    On a peaked distribution the first :math:`e_j` vary most, so leave them out: `num_distinct`
    equal to `num_rest` is a good choice, which at worst doubles the variance.  With `num_distinct`
    0 the result is never worse than `expectation`, but less is gained.

    Examples
    --------
    >>> from arborand import SpanningTrees
    >>> from arborand.trees import num_root_arcs
    >>> d = SpanningTrees([[0, 9, 9, 0], [0, 0, 0, 9], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> estimate = sum_and_sample(d, num_root_arcs, 3, 3, rng=0)
    >>> bool(estimate.standard_error < 1e-4), estimate.num_evaluations
    (True, 6)
    """
    check_single_graph(distribution, "sum_and_sample")
    num_distinct = check_count(num_distinct, "num_distinct", 0)
    num_rest = check_count(num_rest, "num_rest", 1)
    num_draws = num_distinct + num_rest
    # One more tree is requested, but never evaluated: it tells whether there are more.
    draws = distribution.sample_without_replacement(num_draws + 1, rng=rng)
    if draws.num_drawn <= num_draws:
        return _exact(function, draws)
    values = _evaluate(function, draws.heads[:num_draws])
    terms = _times(np.exp(draws.log_prob[:num_draws]), values)
    rest = _times(np.exp(draws.log_remaining[num_distinct:num_draws]), values[num_distinct:])
    rest[1:] += terms[num_distinct:-1].cumsum(axis=0)
    # The sum is added last: its rounding may be larger than what all the rest contributes, and the
    # standard error should not see it.
    value, error = _mean(rest)
    return Estimate((terms[:num_distinct].sum(axis=0) + value)[()], error, num_draws)


def _exact(function: Function, draws: Draws) -> Estimate:
    """Sum over all trees."""
    value = _weighted_sum(np.exp(draws.log_prob), _evaluate(function, draws.heads))
    return Estimate(value[()], np.zeros(value.shape)[()], len(draws))


def _threshold_weights(
    log_prob: NDArray[np.float64], threshold: np.float64
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute p / q and p / q * sqrt(1 - q), where q = 1 - exp(-exp(log_prob - threshold)).

    As a quotient of logarithms: on graphs with many trees p and q both vanish in float64, while
    their ratio is about exp(threshold).
    """
    margin = log_prob - threshold
    # Beyond these bounds q is its argument, or 1, to the last bit.
    rate = np.exp(np.clip(margin, -37.0, 20.0))
    log_passing = np.where(margin < -37.0, margin, np.log(-np.expm1(-rate)))
    weight = np.exp(log_prob - log_passing)
    return weight, weight * np.exp(-0.5 * rate)


def _mean(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the mean of uncorrelated values with one expectation, and its standard error."""
    number = len(values)
    value = np.asarray(values.mean(axis=0))
    if number == 1:
        return value[()], np.full(value.shape, np.nan)[()]
    error = _root_of_squares(values - value) / np.sqrt(number * (number - 1.0))
    return value[()], error[()]


def _root_of_squares(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the root of the sum of squares, where squares may leave the range of float64."""
    largest = np.abs(terms).max(axis=0)
    scale = np.where(largest > 0.0, largest, 1.0)
    answer: NDArray[np.float64] = scale * np.sqrt(np.square(terms / scale).sum(axis=0))
    return answer


def _times(weight: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply each tree's values by its weight."""
    return weight.reshape(-1, *[1] * (values.ndim - 1)) * values


def _weighted_sum(weight: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_times(weight, values).sum(axis=0))


def _evaluate(function: Function, heads: NDArray[np.int32]) -> NDArray[np.float64]:
    """Call the function on all trees at once, and check what it returns."""
    if not callable(function):
        raise TypeError(
            f"function must be callable, from heads to one value per tree, not a "
            f"{type(function).__name__}; the expectation of a sum over arcs is a method of the "
            "distribution"
        )
    values = real_array(function(heads), "what function returns")
    if values.shape[:1] != heads.shape[:1]:
        raise ValueError(
            f"function returned an array of shape {values.shape} for heads of shape {heads.shape}: "
            f"expected one value for each of the {len(heads)} trees, along the first axis; if it "
            "takes one tree at a time, pass lambda heads: [function(h) for h in heads]"
        )
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(
            f"function returned {values[index]} for the tree {heads[index[0]].tolist()}: every "
            "tree of the support needs a finite value"
        )
    return values
