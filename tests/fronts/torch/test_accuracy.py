"""How many digits gradients have, against exact answers: on benign, peaked, sparse, hostile graphs.

The bounds are those of ``arc_covariances`` and ``entropy_gradient`` in docs/is_it_exact.md.
"""

from pathlib import Path

import flint
import mpmath
import numpy as np
import pytest
import torch

import arborand
from arborand.torch import DependencyTrees, SpanningTrees, arc_indicators, operations
from examples.first_trees import read_corpus
from tests.enumerated_law import DIGITS, EnumeratedLaw
from tests.fronts.torch.enumerated import KINDS as ALL_KINDS
from tests.random_graphs import (
    dense_scores,
    mutual_pairs,
    negligible_roots,
    nested_traps,
    one_tree,
    sparse_scores,
)
from verification.with_flint import second_order

KINDS = pytest.mark.parametrize("kind", [SpanningTrees, DependencyTrees])
GRAPHS = {
    "normal": dense_scores(0, 12),
    "times 100": dense_scores(2, 12, 100.0),
    "bound pairs": mutual_pairs(3, 16, 40.0),
    "peaked": one_tree(4, 20, 50.0),
    "sparse": sparse_scores(5, 20, 0.2, 5.0),
    "weak roots": negligible_roots(6, 12, -300.0),
    "nested traps": nested_traps(7, 10, 20.0),
}
SMALL = {
    "normal": dense_scores(0, 4),
    "times 30": dense_scores(1, 4, 30.0),
    "peaked": one_tree(2, 4, 60.0),
    "bound pairs": mutual_pairs(3, 4, 40.0),
    "sparse": sparse_scores(5, 4, 0.6, 3.0),
    "masked": np.where(np.eye(5, k=2) > 0, -1e9, dense_scores(4, 4)),
}


def gradient(function, scores):
    x = torch.tensor(scores, requires_grad=True)
    (answer,) = torch.autograd.grad(function(x), x)
    return answer.numpy()


def in_numpy(kind):
    return getattr(arborand, kind.__name__)


@KINDS
@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_of_marginals_are_exact_in_proportion_to_the_marginals(kind, name):
    scores = GRAPHS[name]
    direction = np.random.default_rng(9).normal(size=scores.shape)
    weights = torch.tensor(direction)
    found = gradient(lambda x: (kind(x).arc_marginals() * weights).sum(), scores)
    marginals, exact = second_order(scores, direction, single_root=kind._kind.has_single_root)
    for arc in np.ndindex(scores.shape):
        if marginals[arc] > 1e-290:
            error = abs(flint.arb(float(found[arc])) - exact[arc])
            assert error < 1e-12 * np.abs(direction).max() * marginals[arc], arc


@KINDS
@pytest.mark.parametrize("name", GRAPHS)
def test_entropy_gradients_are_exact_in_proportion_to_the_marginals(kind, name):
    scores = GRAPHS[name]
    num_words = len(scores) - 1
    found = gradient(lambda x: kind(x).entropy(), scores)
    values = np.where(scores > -np.inf, scores, 0.0)
    marginals, exact = second_order(scores, values, single_root=kind._kind.has_single_root)
    for arc in np.ndindex(scores.shape):
        if marginals[arc] > 1e-290:
            error = abs(flint.arb(float(found[arc])) + exact[arc])
            assert error < 1e-12 * num_words * np.log(num_words + 1) * marginals[arc], arc


@ALL_KINDS
@pytest.mark.parametrize("name", SMALL)
def test_variances_are_exact_in_proportion_to_the_mass_beside_the_best_tree(kind, name):
    scores = SMALL[name]
    law = EnumeratedLaw(in_numpy(kind), scores)
    # What all heads of a word have in common adds nothing to a variance, and must not take digits:
    # the bound is that for the values without it.
    u, v = np.random.default_rng(5).normal(size=(2, *scores.shape))
    unit = 1e-12 * len(scores) ** 2 * np.abs([u, v]).max() ** 2 * (1 - max(law.chance.values()))
    u, v = u + 2**30, v + 2**30
    trees = kind(torch.tensor(scores))
    first, second = torch.tensor(u), torch.tensor(v)
    with mpmath.workdps(DIGITS):
        for found, exact in (
            (trees.variance(first), law.covariance(u, u)),
            (trees.covariance(first, second), law.covariance(u, v)),
        ):
            assert abs(mpmath.mpf(found.item()) - exact) <= unit + mpmath.mpf("1e-290")


@ALL_KINDS
@pytest.mark.parametrize("name", SMALL)
def test_third_cumulants_are_exact_in_proportion_to_the_marginals(kind, name):
    scores = SMALL[name]
    law = EnumeratedLaw(in_numpy(kind), scores)
    u, v = np.random.default_rng(3).normal(size=(2, *scores.shape))
    f, g = law.arc_sum(u), law.arc_sum(v)
    with mpmath.workdps(DIGITS):
        mean_f, mean_g, both = law.mean(f), law.mean(g), law.covariance(u, v)
        exact = law.over_arcs(lambda tree: (f(tree) - mean_f) * (g(tree) - mean_g) - both)
    found = operations.front.arc_cumulants(*map(torch.tensor, (scores, u, v)), None, kind._kind, 1)
    largest = np.abs(u).max() * np.abs(v).max() * len(scores) ** 2
    assert_close(found, exact, law.arc_marginals(), 1e-13 * largest)


@ALL_KINDS
@pytest.mark.parametrize("name", SMALL)
def test_tangents_of_the_entropy_gradient_are_exact_in_proportion_to_the_marginals(kind, name):
    scores = SMALL[name]
    law = EnumeratedLaw(in_numpy(kind), scores)
    u = np.random.default_rng(4).normal(size=scores.shape)
    f = law.arc_sum(u)
    with mpmath.workdps(DIGITS):
        mean, entropy = law.mean(f), law.entropy()

        def surprise(tree):
            return -law.log_chance[tree] - entropy

        both = law.mean(lambda tree: (f(tree) - mean) * surprise(tree))
        exact = law.over_arcs(
            lambda tree: (f(tree) - mean) * surprise(tree) - both - (f(tree) - mean)
        )
    found = operations.front.entropy_gradient_tangents(
        *map(torch.tensor, (scores, u)), None, kind._kind, 1
    )
    largest = np.abs(u).max() * len(scores) ** 2 * np.log(len(scores))
    # Relative to each arc's own trees, whose surprise may be large: P(e) log P(e) beside P(e).
    marginals = law.arc_marginals()
    scale = np.vectorize(lambda p: p * (1 + abs(mpmath.log(p))) if p > 0 else p)(marginals)
    assert_close(found, exact, scale, 1e-13 * largest)


def assert_close(found, exact, scale, tolerance):
    with mpmath.workdps(DIGITS):
        for arc in np.ndindex(exact.shape):
            if scale[arc] > 1e-290:
                assert abs(mpmath.mpf(float(found[arc])) - exact[arc]) <= tolerance * scale[arc]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_no_gradient_of_a_peaked_parser_is_nan(dtype):
    """Scores as of a parser that knows its sentences by heart: gaps of up to a thousand nats."""
    for sentence in read_corpus(Path(__file__).parents[3] / "examples" / "corpus"):
        for sharpness in (1.0, 10.0, 100.0):
            x = torch.tensor(sharpness * sentence.log_weights, dtype=dtype).requires_grad_()
            trees = DependencyTrees(x)
            (trees.entropy() - trees.log_prob(trees.best_tree())).backward()
            assert x.grad.isfinite().all()
            if dtype == torch.float64:
                expected = arborand.DependencyTrees(x.detach().numpy()).entropy_gradient()
                (entropy,) = torch.autograd.grad(DependencyTrees(x).entropy(), x)
                assert np.array_equal(entropy.numpy(), expected)


def overfit_batch(seed, num_sentences=50):
    """Make scores as of a parser trained too long: each word is sure of its head, or of two.

    Lengths are those of sentences, with many short ones.  Returns scores, trees and lengths.
    """
    random = np.random.default_rng(seed)
    lengths = np.clip(np.rint(random.lognormal(2.6, 0.7, num_sentences)), 1, 80).astype(int)
    size = lengths.max() + 1
    scores = np.full((num_sentences, size, size), np.nan)
    heads = np.full((num_sentences, size), -1)
    for matrix, tree, length in zip(scores, heads, lengths, strict=True):
        matrix[: length + 1, : length + 1] = random.normal(0, 3, (length + 1, length + 1))
        order = 1 + random.permutation(length)
        for place, word in enumerate(order):
            tree[word] = 0 if place == 0 else random.choice(order[:place])
            gap = random.lognormal(3.5, 0.5)  # some 30 nats, up to 150
            matrix[tree[word], word] += gap
            if length > 2 and random.random() < 0.15:  # torn between two
                matrix[random.choice(np.delete(np.arange(length + 1), word)), word] += gap
    return torch.tensor(scores), torch.tensor(heads), torch.tensor(lengths)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("seed", range(6))
def test_no_loss_of_three_hundred_overfit_sentences_is_nan(seed, dtype):
    scores, heads, lengths = overfit_batch(seed)
    is_word = torch.arange(scores.shape[-1]) <= lengths[:, None]
    is_arc = is_word[:, None] & is_word[..., None]
    x = scores.to(dtype).requires_grad_()
    trees = DependencyTrees(x, lengths=lengths)
    uniform = DependencyTrees(torch.zeros_like(x), lengths=lengths)
    for loss in (
        -trees.log_prob(heads),
        trees.entropy(),
        trees.log_partition(),
        trees.expectation(arc_indicators(heads)),
        trees.variance(arc_indicators(heads)),
        torch.distributions.kl_divergence(uniform, trees),
        torch.distributions.kl_divergence(trees, uniform),
    ):
        (gradient,) = torch.autograd.grad(loss.sum(), x, retain_graph=True)
        assert loss.isfinite().all()
        assert gradient.isfinite().all()
        assert gradient.any()
        assert not gradient[~is_arc].any()
    # Whatever head is added to all arcs into a word, log Z goes up by as much.
    (marginals,) = torch.autograd.grad(trees.log_partition().sum(), x)
    expected = is_word.double()
    expected[:, 0] = 0
    # Each of up to 81 numbers, of sum 1, is rounded once.
    rounding = max(torch.finfo(dtype).eps, 1e-12)
    assert ((marginals.double().sum(-2) - expected).abs() <= rounding).all()
