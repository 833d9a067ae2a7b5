"""Estimators with gradients: unbiased in their value and in their gradient.

Values and gradients are compared with those of an enumeration of all trees.  Each check has a fixed
seed, and together they have one false-alarm budget: see verification/ledger.py.
"""

import math
from dataclasses import dataclass
from functools import partial

import pytest
import scipy.stats
import torch

from arborand.torch import DependencyTrees, SpanningTrees, arc_indicators
from arborand.torch.estimators import (
    expectation,
    expectation_without_replacement,
    relaxed_sample,
    straight_through_sample,
    sum_and_sample,
)
from tests.fronts.torch.enumerated import KINDS, Enumerated
from verification.goodness_of_fit import g_test
from verification.ledger import NUM_CHECKS, Check, alpha_per_check, require_unique

NUM_REPEATS = 20_000
SCORES = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
# What a gradient is projected on: a direction in which it is not 0.
DIRECTION = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def height(heads):
    """Find the longest path to the root, plus 3: no sum over arcs, and far from 0."""
    node = torch.arange(heads.shape[-1]).expand(heads.shape)
    depth = torch.zeros_like(heads)
    for _ in range(heads.shape[-1] - 1):
        depth += node > 0
        node = torch.where(node > 0, heads.gather(-1, node).clamp(min=0), 0)
    return depth.amax(-1).double() + 3.0


def exact_mean(kind, x):
    law = Enumerated(kind, x, 3)
    return (law.log_prob.exp() * height(law.heads)).sum()


def exact(kind):
    x = SCORES.clone().requires_grad_()
    value = exact_mean(kind, x)
    (gradient,) = torch.autograd.grad(value, x)
    return value.item(), (gradient * DIRECTION).sum().item()


ESTIMATORS = {
    "leave one out": lambda d, g: expectation(d, height, 4, generator=g),
    "no baseline": lambda d, g: expectation(d, height, 4, baseline="none", generator=g),
    "distinct trees": lambda d, g: expectation_without_replacement(d, height, 4, generator=g),
    "sum and sample": lambda d, g: sum_and_sample(d, height, 2, 2, generator=g),
    "sum and sample of one": lambda d, g: sum_and_sample(d, height, 0, 1, generator=g),
}


def repeated(kind, estimate, seed):
    """Return values and projected gradients of independent estimates, which are one batch."""
    generator = torch.Generator().manual_seed(seed)
    x = SCORES.expand(NUM_REPEATS, 4, 4).clone().requires_grad_()
    values = estimate(kind(x), generator)
    (gradients,) = torch.autograd.grad(values.sum(), x)
    return values.detach().numpy(), (gradients * DIRECTION).sum((-1, -2)).numpy()


def mean_is(sample, expected):
    """Compare the mean of independent numbers with what it should be: a z test."""
    spread = sample.std(ddof=1)
    if spread < 1e-12:
        return 1.0 if math.isclose(sample.mean(), expected, rel_tol=1e-10) else 0.0
    z = (sample.mean() - expected) / (spread / math.sqrt(len(sample)))
    return float(2 * scipy.stats.norm.sf(abs(z)))


@dataclass(frozen=True)
class Means:
    """Whether the value and the gradient are right on average: a verdict of the ledger's checks."""

    p_value: float

    def report(self):
        return f"value or gradient is off its mean, p = {self.p_value:.3g}"


def judge(kind, estimate, seed):
    pairs = zip(repeated(kind, estimate, seed), exact(kind), strict=True)
    return Means(2 * min(mean_is(sample, expected) for sample, expected in pairs))


def judge_cold_samples(seed):
    """Judge the head of word 3 in relaxed samples that are cold enough to be trees.

    Words 1 and 2 have no choice, so that the best of three noisy scores is chosen: that is a draw
    from their softmax, if the noise is Gumbel's, and not its mirror image.
    """
    x = torch.full((4, 4), -math.inf, dtype=torch.float64)
    x[0, 1:3] = 0.0
    x[:3, 3] = torch.tensor([0.0, 1.0, 2.0])
    generator = torch.Generator().manual_seed(seed)
    soft = relaxed_sample(SpanningTrees(x), (NUM_REPEATS,), temperature=1e-6, generator=generator)
    heads = soft[:, :3, 3].argmax(-1)
    return g_test(torch.bincount(heads, minlength=3).numpy(), x[:3, 3].softmax(0).numpy())


REGISTER = [Check("torch estimators: relaxed samples, cold", judge_cold_samples)]
REGISTER += [
    Check(
        f"torch estimators: {name}, {kind.__name__}",
        partial(judge, kind, estimate),
    )
    for name, estimate in ESTIMATORS.items()
    for kind in (SpanningTrees, DependencyTrees)
]
require_unique(REGISTER)
ALPHA = alpha_per_check(NUM_CHECKS + len(REGISTER))


@pytest.mark.parametrize("check", REGISTER, ids=lambda check: check.name)
def test_values_and_gradients_are_unbiased(check):
    verdict = check.run()
    assert verdict.p_value >= ALPHA, verdict.report()


def biased_baseline(distribution, generator):
    """Take the mean of all draws as baseline, their own included: gradients are too small."""
    heads = distribution.sample((4,), generator=generator)
    values = height(heads)
    surrogate = ((values - values.mean(0)) * distribution.log_prob(heads)).mean(0)
    return values.mean(0) + surrogate - surrogate.detach()


def unweighted(distribution, generator):
    """Distinct trees as if they had been drawn with replacement."""
    draws = distribution.sample_without_replacement(4, generator=generator)
    return (height(draws.heads) + 0.0 * distribution.log_prob(draws.heads)).mean(0)


@pytest.mark.parametrize("mutant", [biased_baseline, unweighted])
def test_biased_estimators_are_rejected(mutant):
    assert judge(SpanningTrees, mutant, 0).p_value < 1e-12


@KINDS
@pytest.mark.parametrize(
    "estimate",
    [
        lambda d: expectation_without_replacement(d, height, 100),
        lambda d: sum_and_sample(d, height, 50, 50),
    ],
)
def test_small_supports_give_exact_values_and_gradients(kind, estimate):
    x = SCORES.clone().requires_grad_()
    value = estimate(kind(x))
    (gradient,) = torch.autograd.grad(value, x)
    expected = exact(kind)
    assert value.item() == pytest.approx(expected[0], rel=1e-12)
    assert (gradient * DIRECTION).sum().item() == pytest.approx(expected[1], rel=1e-11)


def hessian(function, x):
    return torch.autograd.functional.hessian(function, x)


@KINDS
@pytest.mark.parametrize(
    "estimate",
    [
        lambda d: expectation_without_replacement(d, height, 100),
        lambda d: sum_and_sample(d, height, 50, 50),
    ],
)
def test_second_derivatives_from_all_trees_are_exact(kind, estimate):
    found = hessian(lambda x: estimate(kind(x)), SCORES)
    expected = hessian(lambda x: exact_mean(kind, x), SCORES)
    assert expected.abs().max() > 0.01
    assert torch.allclose(found, expected, rtol=0, atol=1e-14)


@KINDS
def test_second_derivatives_from_each_tree_once_are_exact(kind):
    """If all trees are equally probable, their mean has the derivatives of the expectation."""
    x = torch.zeros(4, 4, dtype=torch.float64)
    trees = kind(x).enumerate_support()
    count = len(trees)

    class Listed(kind):
        def sample(self, sample_shape, generator):
            return trees

    expected = hessian(lambda x: exact_mean(kind, x), x)
    assert expected.abs().max() > 0.01
    # The others' mean as a baseline is worth one draw less.
    for baseline, factor in (("none", 1.0), ("leave_one_out", count / (count - 1))):
        found = hessian(lambda x, b=baseline: expectation(Listed(x), height, count, baseline=b), x)
        assert torch.allclose(found, factor * expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("num_words", "num_draws"), [(40, 400), (250, 100)])
def test_distinct_trees_weigh_one_together_where_each_has_hardly_any_mass(num_words, num_draws):
    # All trees are alike: each draw weighs exp(threshold).  One over that is a sum of num_draws + 1
    # exponential variables, so that the total has the mean 1, and the variance 1 / (num_draws - 1).
    x = torch.zeros(num_words + 1, num_words + 1, dtype=torch.float64)
    trees = SpanningTrees(x)
    best, generator = trees.best_tree(), torch.Generator().manual_seed(0)
    total = expectation_without_replacement(
        trees, lambda heads: (heads != best).any(-1).double(), num_draws, generator=generator
    )
    assert abs(total.item() - 1) < 6 / math.sqrt(num_draws - 1)


def test_leave_one_out_is_far_less_noisy():
    plain, better = (
        repeated(SpanningTrees, ESTIMATORS[name], 1)[1] for name in ("no baseline", "leave one out")
    )
    assert better.var() < plain.var() / 10


def test_batches_are_estimated_graph_by_graph():
    x = torch.stack([SCORES, SCORES.sin()]).requires_grad_()
    value = expectation(DependencyTrees(x), height, 50)
    assert value.shape == (2,)
    value.sum().backward()
    assert x.grad.isfinite().all()


DISTINCT = pytest.mark.parametrize(
    "estimate",
    [
        lambda d, k, g=None: expectation_without_replacement(d, height, k, generator=g),
        lambda d, k, g=None: sum_and_sample(d, height, k // 2, k - k // 2, generator=g),
    ],
    ids=["distinct trees", "sum and sample"],
)


@KINDS
@DISTINCT
def test_a_padded_batch_is_exact_where_a_sentence_has_no_more_trees(kind, estimate):
    lengths = torch.tensor([1, 3, 2, 1])
    x = torch.stack([SCORES, SCORES.sin(), SCORES.cos(), SCORES]).requires_grad_()
    value = estimate(kind(x, lengths=lengths), 3, torch.Generator().manual_seed(0))
    (gradient,) = torch.autograd.grad(value.sum(), x)
    assert gradient.isfinite().all()
    for place, num_words in enumerate(lengths.tolist()):
        if num_words < 3:  # at most three trees
            one = x[place].detach().requires_grad_()
            law = Enumerated(kind, one, num_words)
            expected = (law.log_prob.exp() * height(law.heads)).sum()
            assert value[place].item() == pytest.approx(expected.item(), rel=1e-12)
            (exact_gradient,) = torch.autograd.grad(expected, one, materialize_grads=True)
            assert torch.allclose(gradient[place], exact_gradient, rtol=1e-12, atol=1e-14)


@DISTINCT
def test_a_batch_of_one_graph_has_the_estimate_of_the_graph(estimate):
    one = estimate(DependencyTrees(SCORES), 4, torch.Generator().manual_seed(5))
    batch = estimate(DependencyTrees(SCORES[None]), 4, torch.Generator().manual_seed(5))
    assert torch.equal(batch, one[None])


def test_functions_get_trees_only():
    seen = []

    def function(heads):
        seen.append(heads)
        return height(heads)

    trees = DependencyTrees(torch.stack([SCORES, SCORES]), lengths=[3, 1])
    expectation_without_replacement(trees, function, 5)
    assert seen[0].shape == (6, 2, 4)
    assert trees.support.check(seen[0]).all()


def test_a_reinforce_step_with_distinct_draws_on_a_padded_batch():
    """With 1-word sentences, which have one tree: the gradient is finite, and theirs is 0."""
    lengths, gold = torch.tensor([1, 3, 1, 2]), torch.tensor([[-1, 0, 1, 1]] * 4)
    node = torch.arange(4)
    is_word = (node > 0) & (node <= lengths[:, None])
    gold = torch.where(is_word, gold, -1)

    def loss(heads):
        return ((heads != gold) & is_word).sum(-1).double()

    x = SCORES.expand(4, 4, 4).clone().requires_grad_()
    optimiser = torch.optim.SGD([x], 0.5)
    exact_risk, num_moved = [], 0
    for step in range(100):
        trees = DependencyTrees(x, lengths=lengths)
        arcs = arc_indicators(gold, dtype=torch.float64)
        exact_risk.append((lengths - trees.expectation(arcs)).sum().item())
        draws = trees.sample_without_replacement(3, generator=torch.Generator().manual_seed(step))
        assert draws.mask.sum(0).tolist() == [1, 3, 1, 2]
        log_prob = trees.log_prob(draws.heads)
        assert torch.equal(log_prob == -math.inf, ~draws.mask)
        optimiser.zero_grad()
        expectation_without_replacement(
            trees, loss, 2, generator=torch.Generator().manual_seed(step)
        ).sum().backward()
        assert x.grad.isfinite().all()
        assert not x.grad[[0, 2]].any()
        num_moved += bool(x.grad[1].any())
        optimiser.step()
    assert num_moved > 30
    assert exact_risk[-1] < 0.25 * exact_risk[0]


def test_gradients_of_the_function_itself_are_kept():
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    for estimate in (
        lambda f: expectation(DependencyTrees(SCORES), f, 5),
        lambda f: expectation_without_replacement(DependencyTrees(SCORES), f, 5),
        lambda f: sum_and_sample(DependencyTrees(SCORES), f, 2, 3),
    ):
        value = estimate(lambda heads: scale * height(heads))
        (gradient,) = torch.autograd.grad(value, scale)
        assert gradient.item() == pytest.approx(value.item() / 2, rel=1e-12)


@KINDS
def test_relaxed_samples_are_marginals_that_become_trees(kind):
    x = SCORES.clone().requires_grad_()
    generator = torch.Generator().manual_seed(2)
    soft = relaxed_sample(kind(x), (5,), temperature=1.0, generator=generator)
    assert soft.shape == (5, 4, 4)
    assert torch.allclose(soft.sum(-2)[:, 1:], torch.ones(5, 3).double())
    soft.square().sum().backward()
    assert x.grad.any()
    generator = torch.Generator().manual_seed(2)
    hard = relaxed_sample(kind(SCORES), (5,), temperature=1e-3, generator=generator)
    assert torch.allclose(hard, hard.round(), atol=1e-6)
    assert torch.isfinite(hard).all()


@KINDS
def test_relaxed_samples_of_padded_graphs_have_the_words_of_each(kind):
    lengths = torch.tensor([3, 1])
    trees = kind(torch.stack([SCORES, SCORES.sin()]), lengths=lengths)
    soft = relaxed_sample(trees, (5,))
    expected = ((torch.arange(4) > 0) & (torch.arange(4) <= lengths[:, None])).double()
    assert torch.allclose(soft.sum(-2), expected.expand(5, 2, 4))


def test_straight_through_samples_are_draws_with_the_gradient_of_the_marginals():
    x = SCORES.clone().requires_grad_()
    trees = DependencyTrees(x)
    hard = straight_through_sample(trees, (6,), generator=torch.Generator().manual_seed(3))
    heads = trees.sample((6,), generator=torch.Generator().manual_seed(3))
    assert torch.equal(hard.detach(), arc_indicators(heads, dtype=torch.float64))
    (found,) = torch.autograd.grad((hard * DIRECTION).sum(), x)
    (expected,) = torch.autograd.grad(6 * trees.expectation(DIRECTION), x)
    assert torch.allclose(found, expected, rtol=1e-12)


def test_wrong_arguments_are_refused():
    trees = DependencyTrees(SCORES)
    with pytest.raises(ValueError, match="num_draws is 1: it must be at least 2"):
        expectation(trees, height, 1)
    with pytest.raises(ValueError, match="baseline is 'mean'"):
        expectation(trees, height, 5, baseline="mean")
    with pytest.raises(ValueError, match="num_rest is 0: it must be at least 1"):
        sum_and_sample(trees, height, 1, 0)
    with pytest.raises(ValueError, match="num_draws is 0: it must be at least 1"):
        expectation_without_replacement(trees, height, 0)
    with pytest.raises(ValueError, match="one value per tree"):
        expectation(trees, lambda heads: height(heads)[0], 5)
    with pytest.raises(TypeError, match="floating-point"):
        expectation(trees, lambda heads: heads.sum(-1), 5)
    with pytest.raises(ValueError, match="temperature is 0"):
        relaxed_sample(trees, temperature=0)
