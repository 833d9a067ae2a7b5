"""Derivatives of all orders and modes are those of finite differences, and of what is known."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import arborand
from arborand.jax import DependencyTrees, SpanningTrees
from tests.fronts.jax.graphs import (
    FRONTS,
    LENGTHS,
    OTHER,
    PLAIN,
    PROJECTIVE,
    SCORES,
    VALUES,
    WAYS,
)

TREES = np.array([[-1, 2, 0, 2, 5, 3], [-1, 0, 1, 2, 3, 4], [-1] * 6])
GIVEN = np.array([-1, 2, -1, -1, 3, -1])
FUNCTIONS = {
    "log_partition": lambda d: d.log_partition(),
    "arc_marginals": lambda d: (d.arc_marginals() * VALUES[0]).sum(),
    "entropy": lambda d: d.entropy(),
    "renyi_entropy": lambda d: d.renyi_entropy(0.7),
    "log_prob": lambda d: (d.log_prob(TREES)[:2] * jnp.array([1.0, -0.3])).sum(),
    "kl_divergence of it": lambda d: d.kl_divergence(type(d)(OTHER[0])),
    "kl_divergence from it": lambda d: type(d)(OTHER[0]).kl_divergence(d),
    "expectation": lambda d: d.expectation(VALUES[0]),
    "log_evidence": lambda d: d.log_evidence(heads=GIVEN),
    "condition": lambda d: d.condition(heads=GIVEN).entropy(),
}


# Differences of second order lose half of the digits of those of first, which lose a third.
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("front", FRONTS)
def test_derivatives_of_second_order_in_both_modes(front, name):
    function = jax.jit(lambda scores: FUNCTIONS[name](front(scores)))
    check_grads(function, (jnp.asarray(PLAIN),), order=2, atol=1e-5, rtol=1e-5, eps=1e-4)


@pytest.mark.parametrize("name", ["arc_marginals", "entropy", "kl_divergence of it"])
@pytest.mark.parametrize("front", PROJECTIVE)
def test_derivatives_of_projective_trees(front, name):
    function = jax.jit(lambda scores: FUNCTIONS[name](front(scores)))
    check_grads(function, (jnp.asarray(PLAIN),), order=2, atol=1e-5, rtol=1e-5, eps=1e-4)


@pytest.mark.parametrize("front", PROJECTIVE)
def test_hessians_of_projective_trees(front):
    hessian = jax.jit(jax.hessian(lambda s: front(s).log_partition()))(PLAIN)
    d = getattr(arborand, front.__name__)(np.broadcast_to(PLAIN, (36, 6, 6)).copy())
    expected = d.arc_covariances(np.eye(36).reshape(36, 6, 6)).reshape(6, 6, 6, 6)
    np.testing.assert_allclose(hessian, expected, atol=1e-14)


@pytest.mark.parametrize("name", ["log_partition", "kl_divergence from it", "condition"])
def test_derivatives_of_first_order_without_compilation(name):
    def function(scores):
        return FUNCTIONS[name](DependencyTrees(scores))

    check_grads(function, (jnp.asarray(PLAIN),), order=1, atol=1e-7, rtol=1e-7, eps=1e-5)


@pytest.mark.parametrize(
    "value",
    [
        lambda d: d.log_partition(),
        lambda d: d.log_prob(np.array([-1, 2, 0, 2])),
        lambda d: d.log_evidence(heads=GIVEN[:4]),
    ],
    ids=["log_partition", "log_prob", "log_evidence"],
)
@pytest.mark.parametrize("front", FRONTS)
def test_derivatives_of_third_order(front, value):
    function = jax.jit(lambda scores: value(front(scores)))
    check_grads(function, (jnp.asarray(PLAIN[:4, :4]),), order=3, atol=1e-3, rtol=1e-3, eps=1e-3)


def test_covariances_have_derivatives_of_first_order():
    function = jax.jit(lambda s: DependencyTrees(s).covariance(VALUES[0], OTHER[0]))
    check_grads(function, (jnp.asarray(PLAIN),), order=1, atol=1e-7, rtol=1e-7, eps=1e-5)


def derivative(function, order):
    return functools.reduce(lambda f, _: jax.grad(lambda s: f(s).sum()), range(order), function)


@pytest.mark.parametrize(
    ("ask", "order", "message"),
    [
        (lambda d: d.log_partition(), 4, "log Z is differentiated for the fourth time"),
        (lambda d: d.arc_marginals(), 3, "log Z is differentiated for the fourth time"),
        (lambda d: d.entropy(), 3, "the entropy is differentiated for the third time"),
        (lambda d: d.variance(VALUES[0]), 2, "log Z is differentiated for the fourth time"),
    ],
)
def test_beyond_that_there_is_an_error(ask, order, message):
    def function(scores):
        return ask(DependencyTrees(scores))

    # A sum over all second derivatives of log Z is 0, but asking for it is not an error.
    derivative(function, order - 1)(jnp.asarray(PLAIN))
    with pytest.raises(NotImplementedError, match=message):
        derivative(function, order)(jnp.asarray(PLAIN))
    with pytest.raises(NotImplementedError, match=message):
        jax.jit(functools.reduce(lambda f, _: jax.jacfwd(f), range(order), function))(PLAIN)


# ---- derivatives that are known


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", FRONTS)
def test_gradients_of_padded_batches(front, way):
    numpy_front = getattr(arborand, front.__name__)(SCORES, lengths=LENGTHS)
    for name, expected in (
        ("log_partition", numpy_front.arc_marginals()),
        ("entropy", numpy_front.entropy_gradient()),
    ):
        found = way(jax.grad(lambda s, n=name: getattr(front(s, lengths=LENGTHS), n)().sum()))(
            SCORES
        )
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-16)
        assert (np.asarray(found)[1, 4:] == 0).all()


def covariances(scores, front):
    """List the covariance of every two arcs, from the probabilities of pairs."""
    d = getattr(arborand, front.__name__)(scores)
    p = d.arc_marginals()
    return d.joint_marginals() - p[:, :, None, None] * p


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_hessians(front, way, is_sparse):
    scores = PLAIN.copy()
    if is_sparse:
        scores[0, 2:] = scores[3, 1] = scores[1, 2:4] = -np.inf
    hessian = way(jax.hessian(lambda s: front(s).log_partition()))(scores)
    np.testing.assert_allclose(hessian, covariances(scores, front), atol=1e-14)
    backwards = way(jax.jacrev(jax.jacrev(lambda s: front(s).log_partition())))(scores)
    np.testing.assert_allclose(backwards, hessian, atol=1e-14)


def test_hessians_of_a_batch_and_of_sums():
    hessians = jax.jit(jax.vmap(jax.hessian(lambda s: SpanningTrees(s).log_partition())))(VALUES)
    expected = [covariances(scores, SpanningTrees) for scores in VALUES]
    np.testing.assert_allclose(hessians, expected, atol=1e-14)
    whole = jax.hessian(lambda s: SpanningTrees(s).log_partition().sum())(jnp.asarray(VALUES))
    for i in range(3):
        for j in range(3):
            part = expected[i] if i == j else np.zeros((6,) * 4)
            np.testing.assert_allclose(whole[i, :, :, j], part, atol=1e-14)


@pytest.mark.parametrize("front", FRONTS)
def test_third_derivatives_of_mapped_directions(front):
    """Directions that share a graph carry its tangents, too."""
    third = jax.jit(jax.jacfwd(jax.hessian(lambda s: front(s).log_partition())))(PLAIN[:4, :4])
    # Log Z and its derivatives do not depend on the order of differentiation.
    places = [(0, 1, 2, 3, 4, 5), (2, 3, 0, 1, 4, 5), (4, 5, 2, 3, 0, 1)]
    for axes in places[1:]:
        np.testing.assert_allclose(third.transpose(axes), third, atol=1e-14)
    direction = VALUES[0][:4, :4]
    step = 1e-5
    hessian = jax.jit(jax.hessian(lambda s: front(s).log_partition()))
    change = hessian(PLAIN[:4, :4] + step * direction) - hessian(PLAIN[:4, :4] - step * direction)
    np.testing.assert_allclose(
        jnp.einsum("abcdef,ef->abcd", third, direction), change / (2 * step), atol=1e-8
    )


def test_a_nearly_certain_tree_keeps_its_small_second_derivatives():
    """Relative to each word's most probable head, nothing cancels."""
    scores = np.zeros((5, 5))
    scores[0, 1] = scores[1, 2] = scores[2, 3] = scores[3, 4] = 40.0
    hessian = jax.jit(jax.hessian(lambda s: DependencyTrees(s).log_partition()))(scores)
    directions = np.eye(25).reshape(25, 5, 5)
    d = arborand.DependencyTrees(np.broadcast_to(scores, (25, 5, 5)).copy())
    expected = d.arc_covariances(directions).reshape(5, 5, 5, 5)
    assert 0 < abs(expected[0, 1, 0, 1]) < 1e-16
    # One direction at a time, an arc of probability 1e-18 has an error of 1e-16 of that, or some.
    np.testing.assert_allclose(hessian.transpose(2, 3, 0, 1), expected, rtol=1e-9, atol=1e-35)


def test_trees_that_do_not_exist_add_nothing():
    def total(scores, weights):
        d = DependencyTrees(scores, lengths=LENGTHS)
        draws = d.sample_without_replacement(jax.random.key(0), 5)
        best = d.best_trees(5)
        log_prob = jnp.where(draws.is_drawn, draws.log_prob, 0.0)
        return (weights * log_prob).sum() + jnp.where(best.is_found, best.log_prob, 0.0).sum()

    gradient = jax.jit(jax.grad(total))(SCORES, jnp.ones((5, 3)))
    assert jnp.isfinite(gradient).all()
    assert (gradient[2] == 0).all()  # one word, one tree
    # Also if somebody forgets the mask, as long as the weights of missing trees are finite.
    forgotten = jax.grad(
        lambda s: DependencyTrees(s, lengths=LENGTHS).best_trees(5).log_prob.sum()
    )(jnp.asarray(SCORES))
    assert jnp.isfinite(forgotten).all()


def test_the_gradient_of_draws_is_that_of_their_log_probability():
    key = jax.random.key(4)
    gradient = jax.grad(
        lambda s: DependencyTrees(s).sample_without_replacement(key, 3).log_prob[1]
    )(jnp.asarray(PLAIN))
    heads = DependencyTrees(PLAIN).sample_without_replacement(key, 3).heads[1]
    expected = jax.grad(lambda s: DependencyTrees(s).log_prob(heads))(jnp.asarray(PLAIN))
    np.testing.assert_array_equal(gradient, expected)
    assert (gradient != 0).any()


def test_sampling_does_not_stop_other_gradients():
    def function(scores):
        d = DependencyTrees(scores)
        return (d.sample(jax.random.key(0)) * 1.0).sum() + d.log_partition()

    found = jax.grad(function)(jnp.asarray(PLAIN))
    np.testing.assert_array_equal(found, DependencyTrees(PLAIN).arc_marginals())


# ---- other transformations


@pytest.mark.parametrize("way", WAYS)
def test_scan_and_checkpoint(way):
    gradient = jax.grad(lambda s: DependencyTrees(s).entropy())

    def scanned(batch):
        return jax.lax.scan(lambda carry, s: (carry, gradient(s)), 0, batch)[1]

    expected = arborand.DependencyTrees(VALUES).entropy_gradient()
    np.testing.assert_allclose(way(scanned)(VALUES), expected, rtol=1e-13, atol=1e-16)
    remat = jax.grad(jax.checkpoint(lambda s: jnp.sin(DependencyTrees(s).entropy()).sum()))
    plain = jax.grad(lambda s: jnp.sin(DependencyTrees(s).entropy()).sum())
    np.testing.assert_allclose(way(remat)(VALUES), way(plain)(VALUES), rtol=1e-13)

    def along_scan(scores):
        def step(carry, _):
            return carry + DependencyTrees(carry).arc_marginals(), DependencyTrees(carry).entropy()

        return jax.lax.scan(step, scores, None, 3)[1].sum()

    check_grads(way(along_scan), (jnp.asarray(PLAIN),), order=1, atol=1e-6, rtol=1e-6, eps=1e-5)


def test_forward_and_reverse_agree():
    def marginals(scores):
        return SpanningTrees(scores).arc_marginals()

    value, forward = jax.jvp(marginals, (PLAIN,), (VALUES[0],))
    same, pull = jax.vjp(marginals, PLAIN)
    np.testing.assert_array_equal(value, same)
    np.testing.assert_allclose(pull(jnp.asarray(VALUES[0]))[0], forward, rtol=1e-14)
    _, linear = jax.linearize(marginals, PLAIN)
    np.testing.assert_allclose(linear(VALUES[0]), forward, rtol=1e-14)
    np.testing.assert_allclose(
        jax.jacfwd(marginals)(PLAIN), jax.jacrev(marginals)(PLAIN), atol=1e-15
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_mapped_gradients_are_those_of_each_graph(name):
    def function(scores):
        return FUNCTIONS[name](DependencyTrees(scores))

    expected = [jax.grad(function)(jnp.asarray(scores)) for scores in VALUES]
    found = jax.jit(jax.vmap(jax.grad(function)))(VALUES)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    turned = jax.vmap(jax.grad(function), in_axes=2, out_axes=1)(np.moveaxis(VALUES, 0, 2))
    np.testing.assert_allclose(turned, np.stack(expected, 1), rtol=1e-13, atol=1e-15)
