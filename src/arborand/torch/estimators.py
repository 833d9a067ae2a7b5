r"""Expectations of any function of a tree, from draws, with gradients attached.

The value of each is an estimate of E f, and its gradient is an estimate of the gradient of E f: the
score-function estimator, :math:`E[(f(t) - b) \nabla \log p(t)]` with a baseline b, plus the
gradient of f itself if f depends on parameters.  Both are unbiased, and so are higher derivatives,
as far as `log_prob` has them.  The names are those of
``arborand.estimators``, which also gives standard errors.

`relaxed_sample` and `straight_through_sample` let gradients flow through draws.  They are biased.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Size, Tensor

from arborand.arguments import check_choice, check_count
from arborand.torch.answers import arc_indicators
from arborand.torch.conversion import answer_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arborand.torch.answers import Draws
    from arborand.torch.distributions import TreeDistribution

    Function = Callable[[Tensor], Tensor]


def expectation(
    distribution: TreeDistribution,
    function: Function,
    num_draws: int,
    *,
    baseline: str = "leave_one_out",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Estimate the expectation of a function by its mean over draws with replacement.

    Parameters
    ----------
    distribution : TreeDistribution
        A graph or a batch.
    function : callable
        From heads, shape ``(K, *batch_shape, m)``, to values, shape ``(K, *batch_shape)``.
    num_draws : int
        How many trees to draw from each graph.
    baseline : {"leave_one_out", "none"}
        Whether to subtract from each value the mean of the others before it is multiplied by the
        gradient of the log-probability.  This needs at least two draws, and usually makes the
        gradient far less noisy.
    generator : torch.Generator, optional
        The source of randomness.

    Returns
    -------
    Tensor, in the shape of the batch

    Raises
    ------
    TypeError, ValueError
        If there are too few draws, or the function does not return a floating-point tensor with one
        value per tree.

    Examples
    --------
    >>> import torch
    >>> from arborand.torch import SpanningTrees
    >>> scores = torch.zeros(3, 3, requires_grad=True)
    >>> root_arcs = lambda heads: (heads == 0).sum(-1).float()
    >>> expectation(SpanningTrees(scores), root_arcs, 100).backward()
    >>> bool(scores.grad[0, 1] > 0)
    True
    """
    check_choice(baseline, "baseline", ("leave_one_out", "none"))
    num_draws = check_count(num_draws, "num_draws", 2 if baseline == "leave_one_out" else 1)
    heads = distribution.sample((num_draws,), generator=generator)
    values = _evaluate(function, heads)
    excess = values
    if baseline == "leave_one_out":
        # f - (sum of the others) / (K - 1)
        excess = (values - values.mean(0)) * (num_draws / (num_draws - 1))
    # Nothing is added to the value, which is not rounded again.
    return values.mean(0) + (excess * (_ratio(distribution.log_prob(heads)) - 1.0)).mean(0)


def expectation_without_replacement(
    distribution: TreeDistribution,
    function: Function,
    num_draws: int,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Estimate the expectation of a function from distinct trees, weighted by a threshold.

    Parameters
    ----------
    distribution : TreeDistribution
        A graph or a batch.
    function : callable
        From heads, shape ``(K, *batch_shape, m)``, to values, shape ``(K, *batch_shape)``.
    num_draws : int
        How many distinct trees to evaluate.  If there are no more than that, the result is exact.
    generator : torch.Generator, optional
        The source of randomness.

    Returns
    -------
    Tensor, in the shape of the batch

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
    draws = distribution.sample_without_replacement(num_draws + 1, generator=generator)
    log_prob = draws.log_prob[:num_draws]
    # The threshold is the next tree.  If there is none, it is -inf, and all trees pass.
    threshold = draws.perturbed_log_prob[num_draws] if len(draws) > num_draws else -math.inf
    margin = log_prob - threshold
    # The log-probability of passing the threshold; far below it, log(1 - exp(-exp(x))) is x.
    passing = torch.log(-torch.expm1(-margin.clamp(-37.0, 20.0).exp()))
    weights = torch.exp(log_prob - torch.where(margin < -37.0, margin, passing))
    return _weighted(distribution, function, draws, weights)


def sum_and_sample(
    distribution: TreeDistribution,
    function: Function,
    num_distinct: int,
    num_rest: int,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Estimate an expectation by an exact sum over some trees and a sample of the rest.

    Parameters
    ----------
    distribution : TreeDistribution
        A graph or a batch.
    function : callable
        From heads, shape ``(K, *batch_shape, m)``, to values, shape ``(K, *batch_shape)``.
    num_distinct : int
        How many trees to draw first, for the sum.  May be 0.
    num_rest : int
        How many to draw after them.  If there are no more trees than `num_distinct` + `num_rest`,
        the result is exact.
    generator : torch.Generator, optional
        The source of randomness.

    Returns
    -------
    Tensor, in the shape of the batch

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
    draws = distribution.sample_without_replacement(num_draws + 1, generator=generator)
    # The mean over the last draws j of (the sum before j) + (the probability left before j) f(j):
    # tree i counts with its probability once for every later j.
    chance, remaining = draws.log_prob[:num_draws].exp(), draws.log_remaining[:num_draws].exp()
    place = torch.arange(len(chance), device=chance.device)
    place = place.reshape(-1, *[1] * (chance.dim() - 1))
    behind = num_draws - 1 - place.clamp(min=num_distinct - 1)
    weights = (chance * behind + torch.where(place < num_distinct, 0.0, remaining)) / num_rest
    # If these are all the trees, they have their own probabilities.
    weights = torch.where(draws.num_drawn <= num_draws, chance, weights)
    return _weighted(distribution, function, draws, weights)


def relaxed_sample(
    distribution: TreeDistribution,
    sample_shape: Sequence[int] = Size(),
    *,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw soft trees: the marginals of scores with Gumbel noise, divided by a temperature.

    As the temperature falls, they approach trees, though not trees drawn from the distribution:
    noise on arcs is not noise on trees.  This is a biased relaxation, through which gradients flow.

    Parameters
    ----------
    distribution : TreeDistribution
    sample_shape : sequence of int
        The shape of the draws.
    temperature : float
        Above 0.
    generator : torch.Generator, optional
        The source of randomness.

    Returns
    -------
    Tensor, shape ``(*sample_shape, *batch_shape, m, m)``
        ``[head, dependent]``: each word's heads sum to 1.

    Raises
    ------
    ValueError
        If the temperature is not above 0.

    Examples
    --------
    >>> import torch
    >>> from arborand.torch import DependencyTrees
    >>> soft = relaxed_sample(DependencyTrees(torch.zeros(4, 4)), (2,), temperature=0.5)
    >>> soft.sum(-2).round(decimals=4).tolist()
    [[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]]
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}: use a number above 0")
    shape = Size(sample_shape) + distribution.batch_shape
    scores = distribution.log_weights
    device = torch.device("cpu") if generator is None else generator.device
    uniform = torch.rand(
        *shape, *scores.shape[-2:], generator=generator, dtype=torch.float64, device=device
    )
    # No number drawn is 1; a 0 becomes the smallest positive number.
    noise = -torch.log(-torch.log(uniform.clamp(min=torch.finfo(torch.float64).tiny)))
    noisy = (scores + noise.to(scores.device, answer_dtype(scores.dtype))) / temperature
    expanded = distribution.expand(shape)
    return expanded._like(noisy, expanded._lengths).arc_marginals()


def straight_through_sample(
    distribution: TreeDistribution,
    sample_shape: Sequence[int] = Size(),
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw trees as matrices of 0 and 1, and let gradients pass as if they were the marginals.

    The draws are exact.  The gradient of a function of them is that of the function's linear
    approximation at the draw, which is biased unless the function is a sum over arcs.

    Parameters
    ----------
    distribution : TreeDistribution
    sample_shape : sequence of int
        The shape of the draws.
    generator : torch.Generator, optional
        The source of randomness.

    Returns
    -------
    Tensor, shape ``(*sample_shape, *batch_shape, m, m)``
        The `arc_indicators` of the draws.

    Examples
    --------
    >>> import torch
    >>> from arborand.torch import DependencyTrees
    >>> scores = torch.zeros(4, 4, requires_grad=True)
    >>> tree = straight_through_sample(DependencyTrees(scores))
    >>> tree.sum().item(), tree.requires_grad
    (3.0, True)
    """
    marginals = distribution.arc_marginals()
    heads = distribution.sample(sample_shape, generator=generator)
    return arc_indicators(heads, dtype=marginals.dtype) + (marginals - marginals.detach())


def _weighted(
    distribution: TreeDistribution, function: Function, draws: Draws, weights: Tensor
) -> Tensor:
    """Combine trees whose weighted sums are unbiased, relative to the value of the best tree.

    If the weights are the probabilities of all trees, the value and its derivatives are exact.
    """
    best, mask = distribution.best_tree(), draws.mask[: len(weights)]
    # Functions must only get trees: where there is none, pass the best one, with weight 0.
    heads = torch.where(mask[..., None], draws.heads[: len(weights)], best)
    values = _evaluate(function, torch.cat([best[None], heads]))
    log_prob = distribution.log_prob(heads)
    weights = torch.where(mask, weights, 0.0).to(log_prob.dtype)
    excess = values[1:] - values[0]
    return values[0] + (weights * excess * _ratio(log_prob)).sum(0)


def _ratio(log_prob: Tensor) -> Tensor:
    """Return 1, with the derivatives of a probability over its present value, of any order."""
    return torch.exp(log_prob - log_prob.detach())


def _evaluate(function: Function, heads: Tensor) -> Tensor:
    """Call the function on all trees at once, and check the shape of what it returns."""
    values = function(heads)
    if not isinstance(values, Tensor) or not values.is_floating_point():
        found = values.dtype if isinstance(values, Tensor) else type(values).__name__
        raise TypeError(
            f"function must return a floating-point torch.Tensor, one value per tree, not {found}"
        )
    if values.shape != heads.shape[:-1]:
        raise ValueError(
            f"function returned a tensor of shape {tuple(values.shape)} for heads of shape "
            f"{tuple(heads.shape)}: expected {tuple(heads.shape[:-1])}, one value per tree"
        )
    return values
