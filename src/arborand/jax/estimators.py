r"""Expectations of any function of a tree, from draws, with gradients attached.

The value of each is an estimate of E f, and its gradient is an estimate of the gradient of E f: the
score-function estimator, :math:`E[(f(t) - b) \nabla \log p(t)]` with a baseline b, plus the
gradient of f itself if f depends on parameters.  Both are unbiased, and so are higher derivatives,
as far as `log_prob` has them.  The names are those of
``arborand.estimators``, which also gives standard errors.  All can be compiled and mapped.

`relaxed_sample` and `straight_through_sample` let gradients flow through draws.  They are biased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from arborand.arguments import check_choice, check_count
from arborand.jax.answers import arc_indicators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jax import Array
    from jax.typing import ArrayLike

    from arborand.jax.answers import Draws
    from arborand.jax.distributions import TreeDistribution

    Function = Callable[[Array], Array]


def expectation(
    distribution: TreeDistribution,
    function: Function,
    key: Array,
    num_draws: int,
    *,
    baseline: str = "leave_one_out",
) -> Array:
    """Estimate the expectation of a function by its mean over draws with replacement.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        A graph or a batch.
    function : callable
        From heads, shape ``(K, *batch_shape, m)``, to values, shape ``(K, *batch_shape)``.
    key : Array
        A key of ``jax.random``.
    num_draws : int
        How many trees to draw from each graph.
    baseline : {"leave_one_out", "none"}
        Whether to subtract from each value the mean of the others before it is multiplied by the
        gradient of the log-probability.  This needs at least two draws, and usually makes the
        gradient far less noisy.

    Returns
    -------
    Array, in the shape of the batch

    Raises
    ------
    TypeError, ValueError
        If there are too few draws, or the function does not return a floating-point array with one
        value per tree.

    Examples
    --------
    >>> from arborand.jax import SpanningTrees
    >>> def mean_root_arcs(scores):
    ...     root_arcs = lambda heads: (heads == 0).sum(-1).astype(float)
    ...     return expectation(SpanningTrees(scores), root_arcs, jax.random.key(0), 100)
    >>> bool(jax.grad(mean_root_arcs)(jnp.zeros((3, 3)))[0, 1] > 0)
    True
    """
    check_choice(baseline, "baseline", ("leave_one_out", "none"))
    num_draws = check_count(num_draws, "num_draws", 2 if baseline == "leave_one_out" else 1)
    heads = distribution.sample(key, (num_draws,))
    values = _evaluate(function, heads)
    excess = values
    if baseline == "leave_one_out":
        # f - (sum of the others) / (K - 1)
        excess = (values - values.mean(0)) * (num_draws / (num_draws - 1))
    # Nothing is added to the value, which is not rounded again.
    return values.mean(0) + (excess * (_ratio(distribution.log_prob(heads)) - 1.0)).mean(0)


def expectation_without_replacement(
    distribution: TreeDistribution, function: Function, key: Array, num_draws: int
) -> Array:
    r"""Estimate the expectation of a function from distinct trees, weighted by a threshold.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        A graph or a batch.
    function : callable
        From heads, shape ``(K, *batch_shape, m)``, to values, shape ``(K, *batch_shape)``.  Rows
        without a tree have heads of -1, and their values are not used.
    key : Array
        A key of ``jax.random``.
    num_draws : int
        How many distinct trees to evaluate.  If there are no more than that, the result is exact.

    Returns
    -------
    Array, in the shape of the batch

    Raises
    ------
    TypeError, ValueError
        As for `expectation`.

    Notes
    -----
    The weights are those of ``arborand.estimators``.  The baseline is the value of the best tree:
    one more evaluation, which does not depend on the draws.
    """
    num_draws = check_count(num_draws, "num_draws", 1)
    draws = distribution.sample_without_replacement(key, num_draws + 1)
    log_prob = stop_gradient(draws.log_prob[:num_draws])
    threshold = draws.perturbed_log_prob[num_draws]
    margin = log_prob - jnp.where(draws.exhausted, 0.0, threshold)
    # The log-probability of passing the threshold; far below it, log(1 - exp(-exp(x))) is x.
    passing = jnp.log(-jnp.expm1(-jnp.exp(jnp.clip(margin, -37.0, 20.0))))
    weights = jnp.exp(log_prob - jnp.where(margin < -37.0, margin, passing))
    return _weighted(distribution, function, draws, weights)


def sum_and_sample(
    distribution: TreeDistribution, function: Function, key: Array, num_distinct: int, num_rest: int
) -> Array:
    """Estimate an expectation by an exact sum over some trees and a sample of the rest.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        A graph or a batch.
    function : callable
        As for `expectation_without_replacement`.
    key : Array
        A key of ``jax.random``.
    num_distinct : int
        How many trees to draw first, for the sum.  May be 0.
    num_rest : int
        How many to draw after them.  If there are no more trees than `num_distinct` + `num_rest`,
        the result is exact.

    Returns
    -------
    Array, in the shape of the batch

    Raises
    ------
    TypeError, ValueError
        As for `expectation`.

    Notes
    -----
    The baseline is the value of the best tree: one more evaluation, which does not depend on the
    draws.
    """
    num_distinct = check_count(num_distinct, "num_distinct", 0)
    num_rest = check_count(num_rest, "num_rest", 1)
    num_draws = num_distinct + num_rest
    draws = distribution.sample_without_replacement(key, num_draws + 1)
    # The mean over the last draws j of (the sum before j) + (the probability left before j) f(j):
    # tree i counts with its probability once for every later j.
    place = jnp.arange(num_draws).reshape(-1, *[1] * draws.num_drawn.ndim)
    behind = num_draws - 1 - jnp.maximum(place, num_distinct - 1)
    weights = jnp.exp(stop_gradient(draws.log_prob[:num_draws])) * behind
    rest = jnp.exp(draws.log_remaining[:num_draws])
    weights = (weights + jnp.where(place >= num_distinct, rest, 0.0)) / num_rest
    return _weighted(distribution, function, draws, weights)


def relaxed_sample(
    distribution: TreeDistribution,
    key: Array,
    shape: Sequence[int] = (),
    *,
    temperature: ArrayLike = 1.0,
) -> Array:
    """Draw soft trees: the marginals of scores with Gumbel noise, divided by a temperature.

    As the temperature falls, they approach trees, though not trees drawn from the distribution:
    noise on arcs is not noise on trees.  This is a biased relaxation, through which gradients flow.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
    key : Array
        A key of ``jax.random``.
    shape : sequence of int
        The shape of the draws.
    temperature : float
        Above 0, which is not checked if it is an argument of a compiled or mapped function.

    Returns
    -------
    Array, shape ``(*shape, *batch_shape, m, m)``
        ``[head, dependent]``: each word's heads sum to 1.

    Raises
    ------
    ValueError
        If the temperature is not above 0.

    Examples
    --------
    >>> from arborand.jax import DependencyTrees
    >>> soft = relaxed_sample(
    ...     DependencyTrees(jnp.zeros((4, 4))), jax.random.key(0), (2,), temperature=0.5
    ... )
    >>> soft.sum(-2).round(4).tolist()
    [[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]]
    """
    if not isinstance(temperature, jax.core.Tracer) and not temperature > 0:
        raise ValueError(f"temperature is {temperature}: use a number above 0")
    scores = distribution.log_weights
    noise = jax.random.gumbel(key, (*shape, *scores.shape), distribution._arguments[0].dtype)
    lengths = jnp.broadcast_to(distribution.lengths, (*shape, *distribution.batch_shape))
    return distribution._like((scores + noise) / temperature, lengths).arc_marginals()


def straight_through_sample(
    distribution: TreeDistribution, key: Array, shape: Sequence[int] = ()
) -> Array:
    """Draw trees as matrices of 0 and 1, and let gradients pass as if they were the marginals.

    The draws are exact.  The gradient of a function of them is that of the function's linear
    approximation at the draw, which is biased unless the function is a sum over arcs.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
    key : Array
        A key of ``jax.random``.
    shape : sequence of int
        The shape of the draws.

    Returns
    -------
    Array, shape ``(*shape, *batch_shape, m, m)``
        The `arc_indicators` of the draws.

    Examples
    --------
    >>> from arborand.jax import DependencyTrees
    >>> tree = straight_through_sample(DependencyTrees(jnp.zeros((4, 4))), jax.random.key(0))
    >>> float(tree.sum())
    3.0
    """
    marginals = distribution.arc_marginals()
    heads = distribution.sample(key, shape)
    return arc_indicators(heads, dtype=marginals.dtype) + (marginals - stop_gradient(marginals))


def _weighted(
    distribution: TreeDistribution, function: Function, draws: Draws, weights: Array
) -> Array:
    """Combine trees whose weighted sums are unbiased, relative to the value of the best tree.

    The last draw has no weight.  If these are all the trees, each counts with its probability.
    """
    num_draws = len(weights)
    heads, log_prob = draws.heads[:num_draws], draws.log_prob[:num_draws]
    weights = jnp.where(draws.exhausted, jnp.exp(stop_gradient(log_prob)), weights)
    values = _evaluate(function, jnp.concatenate([distribution.best_tree()[None], heads]))
    # Values and log-probabilities of rows without a tree are not read.
    is_drawn = draws.is_drawn[:num_draws]
    excess = jnp.where(is_drawn, values[1:] - values[0], 0.0)
    log_prob = jnp.where(is_drawn, log_prob, 0.0)
    weights = jnp.where(is_drawn, weights, 0.0)
    return values[0] + (weights * excess * _ratio(log_prob)).sum(0)


def _ratio(log_prob: Array) -> Array:
    """Return 1, with the derivatives of a probability over its present value, of any order."""
    return jnp.exp(log_prob - stop_gradient(log_prob))


def _evaluate(function: Function, heads: Array) -> Array:
    """Call the function on all trees at once, and check the shape of what it returns."""
    values = function(heads)
    if not isinstance(values, jax.Array) or not jnp.issubdtype(values.dtype, jnp.floating):
        found = values.dtype if isinstance(values, jax.Array) else type(values).__name__
        raise TypeError(
            f"function must return a floating-point jax.Array, one value per tree, not {found}"
        )
    if values.shape != heads.shape[:-1]:
        raise ValueError(
            f"function returned an array of shape {values.shape} for heads of shape {heads.shape}: "
            f"expected {heads.shape[:-1]}, one value per tree"
        )
    return values
