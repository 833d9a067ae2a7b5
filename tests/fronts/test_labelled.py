"""Labelled trees of the fronts: values are those of arborand, gradients those of differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import arborand
import arborand.jax
import arborand.torch

jax.config.update("jax_enable_x64", True)


class Torch:
    """Functions of torch, for arrays in and out."""

    name = "torch"
    module = arborand.torch
    array = staticmethod(lambda values: torch.tensor(np.asarray(values)))
    to_numpy = staticmethod(lambda value: value.detach().numpy())

    @staticmethod
    def gradient(function, scores):
        given = torch.tensor(scores, requires_grad=True)
        function(given).sum().backward()
        return given.grad.numpy()

    @staticmethod
    def draw(d, method, *arguments):
        return getattr(d, method)(*arguments, generator=torch.Generator().manual_seed(0))


class Jax:
    """Functions of JAX, for arrays in and out."""

    name = "jax"
    module = arborand.jax
    array = staticmethod(jnp.asarray)
    to_numpy = staticmethod(np.asarray)

    @staticmethod
    def gradient(function, scores):
        return np.asarray(jax.jit(jax.grad(lambda x: function(x).sum()))(jnp.asarray(scores)))

    @staticmethod
    def draw(d, method, *arguments):
        return getattr(d, method)(jax.random.key(0), *arguments)


FRONTS = pytest.mark.parametrize("front", [Torch, Jax], ids=lambda front: front.name)
KINDS = pytest.mark.parametrize("kind", ["SpanningTrees", "DependencyTrees"])
LENGTHS = [4, 2, 3]


def scores_of(seed=0):
    """Draw scores of a padded batch, with labels and an arc that are missing, and junk."""
    scores = np.random.default_rng(seed).normal(size=(3, 5, 5, 3))
    scores[0, 1, 2] = -np.inf
    scores[:, 2, 1, 0] = -np.inf
    scores[:, :, 0] = np.nan
    scores[1, :, 3:] = np.inf
    return scores


def both(front, kind, scores=None, **options):
    """Make the same distribution twice: of arborand, and of a front."""
    scores = scores_of() if scores is None else scores
    ours = arborand.LabelledTrees(scores, kind=getattr(arborand, kind), lengths=LENGTHS, **options)
    lengths = front.array(LENGTHS)
    theirs = front.module.LabelledTrees(
        front.array(scores), kind=getattr(front.module, kind), lengths=lengths, **options
    )
    return ours, theirs


def from_trees(front, kind):
    scores = np.nan_to_num(scores_of(), nan=0.0, posinf=0.0, neginf=-np.inf)
    scores[0, 1, 2] = 0.5
    arcs = np.random.default_rng(9).normal(size=(3, 5, 5))
    ours = arborand.LabelledTrees.from_trees(
        getattr(arborand, kind)(arcs, lengths=LENGTHS), scores, labels=list("abc")
    )
    theirs = front.module.LabelledTrees.from_trees(
        getattr(front.module, kind)(front.array(arcs), lengths=front.array(LENGTHS)),
        front.array(scores),
        labels=list("abc"),
    )
    return ours, theirs


def same(front, found, expected, rtol=1e-11):
    np.testing.assert_allclose(front.to_numpy(found), expected, rtol=rtol, atol=1e-13)


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_answers_are_those_of_arborand(front, kind, maker):
    ours, theirs = maker(front, kind)
    values, other = np.random.default_rng(1).normal(size=(2, 3, 5, 5, 3))
    for name in ("log_partition", "label_marginals", "arc_marginals", "root_marginals", "entropy"):
        same(front, getattr(theirs, name)(), getattr(ours, name)())
    same(front, theirs.expectation(front.array(values)), ours.expectation(values))
    same(front, theirs.variance(front.array(values)), ours.variance(values))
    pair = [front.array(values), front.array(other)]
    same(front, theirs.covariance(*pair), ours.covariance(values, other))
    heads, labels = ours.sample((4, 2), rng=0)
    given = (front.array(heads), front.array(labels))
    same(front, theirs.log_prob(*given), ours.log_prob(heads, labels))
    assert theirs.num_labels == 3
    assert theirs.labels == ours.labels
    assert repr(theirs).startswith(f"LabelledTrees({kind}, ")


@FRONTS
@KINDS
def test_divergences(front, kind):
    complete = np.random.default_rng(3).normal(size=(2, 3, 5, 5, 3))
    ours, theirs = both(front, kind, complete[0])
    our_other, their_other = both(front, kind, complete[1])
    same(front, theirs.kl_divergence(their_other), ours.kl_divergence(our_other))
    same(front, theirs.cross_entropy(their_other), ours.cross_entropy(our_other))


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_conditions(front, kind, maker):
    ours, theirs = maker(front, kind)
    heads, labels = ours.sample(rng=1)
    allowed = np.ones((3, 5, 5, 3), bool)
    allowed[:, 0, :, 2] = False
    for graph, word in np.argwhere(heads >= 0):  # so that this one meets the condition
        allowed[graph, heads[graph, word], word, labels[graph, word]] = True
    heads[:, 2:] = -1
    labels[:, [0, 1, 3, 4]] = -1
    asked = {"heads": heads, "labels": labels, "allowed": allowed}
    given = {name: front.array(value) for name, value in asked.items()}
    ours_met, theirs_met = ours.condition(**asked), theirs.condition(**given)
    same(front, theirs_met.label_marginals(), ours_met.label_marginals())
    same(front, theirs_met.log_partition(), ours_met.log_partition())
    same(front, theirs.log_evidence(**given), ours.log_evidence(**asked))
    for found, expected in zip(theirs_met.best_tree(), ours_met.best_tree(), strict=True):
        np.testing.assert_array_equal(front.to_numpy(found), expected)


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_trees_that_are_drawn_and_found(front, kind, maker):
    ours, theirs = maker(front, kind)
    for name in ("best_tree", "minimum_risk_tree"):
        for found, expected in zip(getattr(theirs, name)(), getattr(ours, name)(), strict=True):
            np.testing.assert_array_equal(front.to_numpy(found), expected)
    best = ours.best_trees(6)
    heads, labels = theirs.best_trees(6)
    np.testing.assert_array_equal(front.to_numpy(heads), best.heads)
    np.testing.assert_array_equal(front.to_numpy(labels), best.labels)
    heads, labels = front.draw(theirs, "sample", (2000,))
    alone = front.draw(theirs.trees, "sample", (2000,))
    np.testing.assert_array_equal(front.to_numpy(heads), front.to_numpy(alone))
    # How often a labelled arc was drawn: within 6 standard deviations.
    expected = ours.label_marginals()
    heads, labels = front.to_numpy(heads), front.to_numpy(labels)
    for graph, head, word, label in np.argwhere(expected > 0):
        drawn = (heads[:, graph, word] == head) & (labels[:, graph, word] == label)
        p = expected[graph, head, word, label]
        assert abs(drawn.mean() - p) <= 6 * (p * (1 - p) / 2000) ** 0.5
    heads, labels = front.draw(theirs, "sample_without_replacement", 20)
    for graph in range(3):
        pairs = np.concatenate(
            [front.to_numpy(heads)[:, graph], front.to_numpy(labels)[:, graph]], axis=-1
        )
        pairs = pairs[pairs[:, 1] >= 0]
        assert len(pairs) >= 15
        assert len(np.unique(pairs, axis=0)) == len(pairs)


@FRONTS
@KINDS
def test_gradients(front, kind):
    scores = scores_of()
    ours, _ = both(front, kind)
    heads, labels = ours.sample(rng=0)
    values = np.random.default_rng(2).normal(size=scores.shape)
    tree = (front.array(heads), front.array(labels))
    questions = {
        "log_partition": lambda d: d.log_partition(),
        "log_prob": lambda d: d.log_prob(*tree),
        "entropy": lambda d: d.entropy(),
        "expectation": lambda d: d.expectation(front.array(values)),
        "log_evidence": lambda d: d.log_evidence(labels=front.array(np.where(labels == 1, 1, -1))),
    }
    lengths = front.array(LENGTHS)

    def asked(name):
        def function(given):
            maker = front.module.LabelledTrees
            kind_of_front = getattr(front.module, kind)
            return questions[name](maker(given, kind=kind_of_front, lengths=lengths))

        return function

    found = front.gradient(asked("log_partition"), scores)
    np.testing.assert_allclose(found, ours.label_marginals(), rtol=1e-10, atol=1e-13)
    is_read = ours.log_weights > -np.inf
    rng = np.random.default_rng(4)
    for name in questions:
        if name == "log_evidence" and front is Jax:
            continue  # asks of values, while a function is differentiated, are for plain arrays
        function = asked(name)
        gradient = front.gradient(function, scores)
        assert np.isfinite(gradient).all(), name
        assert (gradient[~is_read] == 0).all(), name
        for index in rng.permutation(np.argwhere(is_read))[:12]:
            step = np.zeros_like(scores)
            step[tuple(index)] = 1e-5
            high, low = (
                front.to_numpy(function(front.array(scores + sign * step))).sum()
                for sign in (1, -1)
            )
            difference = (high - low) / 2e-5
            assert abs(gradient[tuple(index)] - difference) < 2e-6, (name, index)


@FRONTS
def test_gradients_of_separate_scores(front):
    arcs, scores = np.random.default_rng(0).normal(size=(4, 4)), scores_of()[0, :4, :4]
    scores = np.where(np.isfinite(scores), scores, 0.0)
    heads, labels = [-1, 2, 0, 2], [-1, 1, 0, 2]

    def loss(given):
        trees = front.module.DependencyTrees(front.array(arcs))
        d = front.module.LabelledTrees.from_trees(trees, given)
        return d.log_prob(front.array(heads), front.array(labels))

    gradient = front.gradient(loss, scores)
    chances = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = np.zeros_like(scores)
    for j in (1, 2, 3):
        expected[heads[j], j] = -chances[heads[j], j]
        expected[heads[j], j, labels[j]] += 1
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-15)


@FRONTS
def test_float32_scores_give_float32_answers(front):
    scores = scores_of().astype(np.float32)
    ours, theirs = both(front, "DependencyTrees", scores)
    assert front.to_numpy(theirs.log_partition()).dtype == np.float32
    same(front, theirs.label_marginals(), ours.label_marginals(), rtol=2e-5)


def test_jax_compiles_and_maps():
    scores = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4, 4, 2)))

    @jax.jit
    def questions(given):
        d = arborand.jax.LabelledTrees(given)
        return d.entropy(), d.best_tree(), d.sample(jax.random.key(1), (2,))

    together = jax.vmap(questions)(scores)
    for i in range(3):
        alone = questions(scores[i])
        jax.tree.map(
            lambda x, y, i=i: np.testing.assert_allclose(x[i], y, rtol=1e-12), together, alone
        )


@FRONTS
def test_errors(front):
    zeros = front.array(np.zeros((3, 3, 2)))
    maker = front.module.LabelledTrees
    with pytest.raises(arborand.InvalidWeightsError, match=r"shape \(3, 3\): expected"):
        maker(front.array(np.zeros((3, 3))))
    with pytest.raises(ValueError, match="labels has 1 names, where the scores have 2"):
        maker(zeros, labels=["a"])
    with pytest.raises(TypeError, match="kind must be a class of arborand"):
        maker(zeros, kind=arborand.DependencyTrees)
    with pytest.raises(TypeError, match="trees must be of arborand"):
        maker.from_trees(arborand.DependencyTrees(np.zeros((3, 3))), zeros)
    with pytest.raises(ValueError, match="orientation is 'x'"):
        maker(zeros, orientation="x")
    with pytest.raises(arborand.InvalidWeightsError, match=r"\(4, 4, 2\): expected \(3, 3, 'L'\)"):
        maker.from_trees(maker(zeros).trees, front.array(np.zeros((4, 4, 2))))
