"""Estimators are unbiased, in value and gradient, and exact where they see all trees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from arborand.enumeration import dependency_trees, spanning_trees
from arborand.jax import DependencyTrees, SpanningTrees, arc_indicators, estimators
from tests.fronts.jax.graphs import FRONTS, LENGTHS, VALUES, WAYS

SCORES = np.random.default_rng(2).normal(size=(4, 4))
TABLE = jnp.asarray(np.random.default_rng(3).normal(size=256))
KEY = jax.random.key(0)


def function(heads):
    """Give each tree of three words a number that is no sum over its arcs."""
    code = (jnp.maximum(heads[..., 1:], 0) * jnp.array([64, 8, 1])).sum(-1) % 256
    return TABLE[code]


def all_trees(front):
    enumerate_trees = dependency_trees if front is DependencyTrees else spanning_trees
    return jnp.asarray(np.array([heads for heads, *_ in enumerate_trees(SCORES)], np.int32))


def exact_mean(front):
    trees = all_trees(front)

    def mean(scores):
        sums = jax.vmap(lambda heads: (scores[heads[1:], jnp.arange(1, 4)]).sum())(trees)
        return (jax.nn.softmax(sums) * function(trees)).sum()

    return mean


def exact(front):
    return jax.value_and_grad(exact_mean(front))(jnp.asarray(SCORES))


ESTIMATES = {
    "expectation": lambda d, key: estimators.expectation(d, function, key, 4),
    "no baseline": lambda d, key: estimators.expectation(d, function, key, 2, baseline="none"),
    "distinct": lambda d, key: estimators.expectation_without_replacement(d, function, key, 4),
    "sum_and_sample": lambda d, key: estimators.sum_and_sample(d, function, key, 2, 2),
    "only rest": lambda d, key: estimators.sum_and_sample(d, function, key, 0, 1),
}


@pytest.mark.parametrize("name", ESTIMATES)
@pytest.mark.parametrize("front", FRONTS)
def test_estimates_and_their_gradients_are_unbiased(front, name):
    keys = jax.random.split(KEY, 4000)
    estimate = jax.value_and_grad(lambda s, key: ESTIMATES[name](front(s), key))
    values, gradients = jax.jit(jax.vmap(estimate, (None, 0)))(jnp.asarray(SCORES), keys)
    mean, gradient = exact(front)
    found = np.concatenate([values[:, None], gradients.reshape(len(keys), -1)], 1)
    expected = np.concatenate([[mean], gradient.ravel()])
    error = found.std(0) / np.sqrt(len(keys))
    # The seed is fixed; of 17 numbers none should be five standard errors off.
    assert (abs(found.mean(0) - expected) <= 5 * error + 1e-12).all()
    assert (error < 0.1).all()  # a test that cannot fail would be one with large errors


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    "estimate",
    [
        lambda d: estimators.expectation_without_replacement(d, function, KEY, 20),
        lambda d: estimators.sum_and_sample(d, function, KEY, 15, 5),
    ],
)
def test_estimates_from_all_trees_are_exact(front, estimate, way):
    value, gradient = way(jax.value_and_grad(lambda s: estimate(front(s))))(jnp.asarray(SCORES))
    mean, slope = exact(front)
    np.testing.assert_allclose(value, mean, rtol=1e-13)
    np.testing.assert_allclose(gradient, slope, atol=1e-14)


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(
    "estimate",
    [
        lambda d: estimators.expectation_without_replacement(d, function, KEY, 20),
        lambda d: estimators.sum_and_sample(d, function, KEY, 15, 5),
    ],
)
def test_second_derivatives_from_all_trees_are_exact(front, estimate):
    found = jax.hessian(lambda s: estimate(front(s)))(jnp.asarray(SCORES))
    expected = jax.hessian(exact_mean(front))(jnp.asarray(SCORES))
    assert abs(expected).max() > 0.01
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("front", FRONTS)
def test_second_derivatives_from_each_tree_once_are_exact(front):
    """If all trees are equally probable, their mean has the derivatives of the expectation."""
    trees = all_trees(front)
    count = len(trees)

    class Listed(front):
        def sample(self, key, shape):
            return trees

    expected = jax.hessian(exact_mean(front))(jnp.zeros((4, 4)))
    assert abs(expected).max() > 0.01
    # The others' mean as a baseline is worth one draw less.
    for baseline, factor in (("none", 1.0), ("leave_one_out", count / (count - 1))):
        found = jax.hessian(
            lambda s, b=baseline: estimators.expectation(
                Listed(s), function, KEY, count, baseline=b
            )
        )(jnp.zeros((4, 4)))
        np.testing.assert_allclose(found, factor * expected, atol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_distinct_draws_of_a_padded_batch_train_a_model(way):
    """A step of REINFORCE with a sentence of one word, as in the docs."""

    def risk(scores, key):
        d = DependencyTrees(scores, lengths=LENGTHS)
        plain = estimators.expectation_without_replacement(
            d, lambda heads: (heads == 0).sum(-1) + heads[..., 1] * 0.5, key, 4
        )
        return (
            plain.sum()
            + estimators.sum_and_sample(
                d, lambda heads: (heads == 2).sum(-1) * 1.0, key, 2, 3
            ).sum()
        )

    gradient = way(jax.grad(risk))(jnp.asarray(VALUES), KEY)
    assert jnp.isfinite(gradient).all()
    assert (gradient[2] == 0).all()
    assert (gradient[0] != 0).any()


def test_batches_are_as_many_graphs():
    """Exact answers do not depend on the streams of graphs."""
    batch = DependencyTrees(VALUES[:, :4, :4])
    found = estimators.expectation_without_replacement(batch, function, KEY, 20)
    expected = [
        estimators.expectation_without_replacement(batch[i], function, KEY, 20) for i in range(3)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_values_of_trees_that_do_not_exist_are_not_used():
    def odd(heads):
        return jnp.where((heads < 0).all(-1), jnp.nan, function(heads))

    found = estimators.sum_and_sample(DependencyTrees(SCORES), odd, KEY, 15, 5)
    np.testing.assert_allclose(found, exact(DependencyTrees)[0], rtol=1e-13)


def test_parameters_of_the_function_have_gradients():
    def risk(parameter):
        return estimators.expectation(
            SpanningTrees(SCORES), lambda heads: parameter * function(heads), KEY, 8
        )

    found = jax.grad(risk)(2.0)
    np.testing.assert_allclose(found, risk(1.0), rtol=1e-13)


def test_relaxed_trees():
    d = DependencyTrees(VALUES, lengths=LENGTHS)
    soft = estimators.relaxed_sample(d, KEY, (7,), temperature=0.5)
    assert soft.shape == (7, 3, 6, 6)
    is_word = (jnp.arange(6) > 0) & (jnp.arange(6) <= LENGTHS[:, None])
    np.testing.assert_allclose(soft.sum(-2), jnp.broadcast_to(is_word, (7, 3, 6)), atol=1e-13)
    cold = estimators.relaxed_sample(d, KEY, temperature=1e-4)
    assert (jnp.minimum(cold, 1 - cold) < 1e-6).all()
    gradient = jax.jit(
        jax.grad(lambda s: (estimators.relaxed_sample(DependencyTrees(s), KEY) ** 2).sum())
    )(VALUES)
    assert (gradient != 0).any()
    with pytest.raises(ValueError, match="temperature is 0"):
        estimators.relaxed_sample(d, KEY, temperature=0)


def test_the_temperature_may_be_an_argument_of_a_compiled_or_mapped_function():
    d = DependencyTrees(VALUES, lengths=LENGTHS)

    def relaxed(temperature):
        return estimators.relaxed_sample(d, KEY, temperature=temperature)

    np.testing.assert_allclose(jax.jit(relaxed)(0.5), relaxed(0.5), atol=1e-14)
    mapped = jax.vmap(relaxed)(jnp.array([0.5, 2.0]))
    np.testing.assert_allclose(mapped[1], relaxed(2.0), atol=1e-14)


def test_straight_through_trees():
    d = DependencyTrees(VALUES)
    hard = estimators.straight_through_sample(d, KEY, (2,))
    np.testing.assert_allclose(hard, arc_indicators(d.sample(KEY, (2,))), atol=1e-15)
    found = jax.grad(
        lambda s: (estimators.straight_through_sample(DependencyTrees(s), KEY) * VALUES).sum()
    )(jnp.asarray(VALUES))
    expected = jax.grad(lambda s: DependencyTrees(s).expectation(VALUES).sum())(jnp.asarray(VALUES))
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: estimators.expectation(d, function, KEY, 1), ValueError, "num_draws is 1"),
        (
            lambda d: estimators.expectation(d, function, KEY, 2, baseline="mean"),
            ValueError,
            "baseline is",
        ),
        (
            lambda d: estimators.expectation(d, lambda heads: heads, KEY, 2),
            TypeError,
            "floating-point jax.Array",
        ),
        (
            lambda d: estimators.expectation(d, lambda heads: heads * 1.0, KEY, 2),
            ValueError,
            r"shape \(2, 4\) for heads of shape \(2, 4\): expected \(2,\)",
        ),
        (lambda d: estimators.sum_and_sample(d, function, KEY, -1, 2), ValueError, "num_distinct"),
        (lambda d: estimators.sum_and_sample(d, function, KEY, 1, 0), ValueError, "num_rest is 0"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(DependencyTrees(SCORES))
