"""The classes: equal to those of NumPy, at home in torch.distributions."""

import functools
import inspect
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Categorical, Independent, MixtureSameFamily, kl_divergence

import arborand
from arborand import InvalidTreeError, InvalidWeightsError, NoTreeError
from arborand.fronts import FrontDistribution
from arborand.torch import (
    DependencyTrees,
    SpanningTrees,
    TreeDistribution,
    arc_indicators,
    distributions,
)
from arborand.torch.conversion import draw_key, key_words
from tests.fronts.torch.enumerated import KINDS, Enumerated

LENGTHS = torch.tensor([4, 3])


def in_numpy(kind):
    return getattr(arborand, kind.__name__)


def scores(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def seeded(seed):
    return torch.Generator().manual_seed(seed)


X = scores(2, 5, 5)
VALUES, OTHER = scores(2, 5, 5, seed=1), scores(2, 5, 5, seed=2)
SMALL = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])


@KINDS
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda d: d.sample((2,), seed=0),
            r"\.sample has no argument seed: it is called generator",
        ),
        (lambda d: d.sample((2,), rng=0), r"\.sample has no argument rng: it is called generator"),
        (
            lambda d: d.sample(size=(2,)),
            r"\.sample has no argument size: it is called sample_shape",
        ),
        (lambda d: type(d)(X, multiroot=True), " has no argument multiroot: the class decides"),
        (lambda d: type(d)(X, LENGTHS), " takes 1 positional argument, but got 2; .* lengths="),
    ],
)
def test_arguments_of_other_libraries_are_answered_by_their_names_here(kind, call, message):
    with pytest.raises(TypeError, match=f"^{kind.__name__}{message}"):
        call(kind(X))


@KINDS
@pytest.mark.parametrize("name", ["log_partition", "arc_marginals", "root_marginals", "entropy"])
def test_answers_are_those_of_numpy(kind, name):
    ours = getattr(kind(X, lengths=LENGTHS), name)()
    theirs = getattr(in_numpy(kind)(X.numpy(), lengths=LENGTHS.numpy()), name)()
    # Root marginals are found in another way.
    assert np.allclose(ours.numpy(), theirs, rtol=1e-13, atol=0)


@KINDS
@pytest.mark.parametrize("name", ["expectation", "variance", "covariance", "arc_covariances"])
def test_sums_over_arcs_are_those_of_numpy(kind, name):
    arguments = (VALUES, OTHER) if name == "covariance" else (VALUES,)
    ours = getattr(kind(X, lengths=LENGTHS), name)(*arguments)
    numpy = in_numpy(kind)(X.numpy(), lengths=LENGTHS.numpy())
    theirs = getattr(numpy, name)(*(argument.numpy() for argument in arguments))
    assert np.allclose(ours.numpy(), theirs, rtol=1e-12, atol=1e-15)


def test_a_variance_is_never_negative():
    # Each dependency tree has one root arc: the sum is the same for all, and rounding is left.
    values = torch.zeros(2, 5, 5, dtype=torch.float64)
    values[:, 0] = 0.7
    many = [DependencyTrees(scores(2, 5, 5, seed=seed)) for seed in range(50)]
    assert any((trees.covariance(values, values) < 0).any() for trees in many)
    assert all((trees.variance(values) >= 0).all() for trees in many)


@KINDS
def test_divergences_are_those_of_numpy(kind):
    p, q = kind(X, lengths=LENGTHS), kind(VALUES, lengths=LENGTHS)
    numpy_p, numpy_q = (in_numpy(kind)(x.numpy(), lengths=LENGTHS.numpy()) for x in (X, VALUES))
    assert np.array_equal(kl_divergence(p, q).numpy(), numpy_p.kl_divergence(numpy_q))
    assert np.array_equal(p.cross_entropy(q).numpy(), numpy_p.cross_entropy(numpy_q))


def test_every_public_name_of_the_torch_class_means_what_it_means_in_numpy():
    ours = {
        name
        for one in (TreeDistribution, FrontDistribution)
        for name in vars(one)
        if not name.startswith("_")
    }
    of_torch = {
        "arg_constraints",
        "enumerate_support",
        "expand",
        "has_enumerate_support",
        "has_rsample",
        "mean",
        "mode",
        "rsample",
        "stddev",
        "support",
    }
    theirs = set(dir(arborand.DependencyTrees))
    assert ours - of_torch <= theirs
    for name in ("expectation", "variance", "covariance", "arc_covariances", "best_trees"):
        first = list(inspect.signature(getattr(DependencyTrees, name)).parameters)
        second = inspect.signature(getattr(arborand.DependencyTrees, name)).parameters
        assert set(first) <= set(second)


# ---- torch.distributions


@KINDS
def test_shapes(kind):
    trees = kind(scores(3, 2, 5, 5))
    assert trees.batch_shape == (3, 2)
    assert trees.event_shape == (5,)
    heads = trees.sample((7, 4))
    assert heads.shape == (7, 4, 3, 2, 5)
    assert heads.dtype == torch.int64
    assert trees.log_prob(heads).shape == (7, 4, 3, 2)
    assert trees.log_prob(heads[0, 0, 0, 0]).shape == (3, 2)
    assert (heads[..., 0] == -1).all()
    assert not trees.has_rsample


@KINDS
def test_expand(kind):
    one = kind(X[0])
    many = one.expand((3, 2))
    assert type(many) is kind
    assert many.sample((4,)).shape == (4, 3, 2, 5)
    assert torch.equal(many.log_partition(), one.log_partition().expand(3, 2))
    padded = kind(X, lengths=LENGTHS).expand((3, 2))
    assert torch.equal(padded.lengths, LENGTHS.expand(3, 2))


@KINDS
@pytest.mark.parametrize(
    ("batch", "values"),
    [((), (3, 2)), ((1,), (4,)), ((3, 1), (3, 2)), ((3, 1), (2,)), ((2,), (1,))],
)
def test_batches_and_trees_are_broadcast_with_each_other(kind, batch, values):
    lengths = torch.full(batch, 3)
    trees = kind(scores(*batch, 5, 5), lengths=lengths)
    heads = kind(torch.zeros(4, 4)).sample(values, generator=seeded(0))
    heads = torch.nn.functional.pad(heads, (0, 1), value=-1)
    shape = torch.broadcast_shapes(batch, values)
    found = trees.log_prob(heads)
    assert torch.equal(found, trees.expand(shape).log_prob(heads.expand(*shape, 5)))
    assert found.shape == shape
    assert trees.support.check(heads).shape == shape
    assert trees.support.check(heads).all()


def test_mixtures_of_batches():
    x = scores(3, 5, 5)
    weights = torch.tensor([0.2, 0.3, 0.5], dtype=x.dtype)
    mixture = MixtureSameFamily(Categorical(weights), DependencyTrees(x))
    heads = mixture.sample((4,))
    each = DependencyTrees(x).log_prob(heads[:, None])
    assert torch.allclose(mixture.log_prob(heads), (each.exp() @ weights).log(), rtol=1e-13)


def test_independent():
    trees = DependencyTrees(X)
    heads = trees.sample()
    expected = trees.log_prob(heads).sum()
    assert torch.equal(Independent(trees, 1).log_prob(heads), expected)


@KINDS
def test_support_tells_trees_from_other_things(kind):
    support = kind(torch.zeros(4, 4)).support
    assert support.event_dim == 1
    values = torch.tensor(
        [[-1, 0, 1, 2], [-1, 0, 0, 2], [-1, 3, 0, 2], [-1, 2, 1, 0], [-1, 0, 1, 3]]
    )
    several, crossing = not kind._kind.has_single_root, not kind._kind.is_projective
    assert support.check(values).tolist() == [True, several, crossing, False, False]


@KINDS
def test_enumerated_support_has_probability_one(kind):
    trees = kind(torch.stack([X[0], X[1]]))
    listed = trees.enumerate_support()
    count = {"SpanningTrees": 125, "DependencyTrees": 64, "ProjectiveSpanningTrees": 55}
    assert listed.shape == (count.get(kind.__name__, 30), 2, 5)
    assert torch.allclose(trees.log_prob(listed).exp().sum(0), torch.ones(2).double())
    assert trees.enumerate_support(expand=False).shape == (len(listed), 1, 5)
    assert len(torch.unique(listed[:, 0], dim=0)) == len(listed)
    short = kind(X, lengths=torch.tensor([3, 3])).enumerate_support()
    assert (short[..., 4] == -1).all()


def test_supports_that_cannot_be_listed_are_refused():
    with pytest.raises(NotImplementedError, match="different lengths"):
        DependencyTrees(X, lengths=LENGTHS).enumerate_support()
    with pytest.raises(NotImplementedError, match="more than 1,000,000"):
        DependencyTrees(torch.zeros(20, 20)).enumerate_support()


@KINDS
def test_mode_and_best_trees(kind):
    trees = kind(X, lengths=LENGTHS)
    numpy = in_numpy(kind)(X.numpy(), lengths=LENGTHS.numpy())
    assert np.array_equal(trees.mode.numpy(), numpy.best_tree())
    assert torch.equal(trees.mode, trees.best_tree())
    best, theirs = trees.best_trees(5), numpy.best_trees(5)
    assert np.array_equal(best.heads.numpy(), theirs.heads)
    assert np.array_equal(best.log_prob.numpy(), theirs.log_prob)
    assert np.array_equal(trees.minimum_risk_tree().numpy(), numpy.minimum_risk_tree())
    assert trees.mode.dtype == torch.int64


def test_kl_divergence_broadcasts_and_ignores_padding():
    p, q = DependencyTrees(X), DependencyTrees(VALUES[0])
    expected = torch.stack([kl_divergence(DependencyTrees(x), q) for x in X])
    assert torch.equal(kl_divergence(p, q), expected)
    wide = torch.full((6, 6), math.nan, dtype=torch.float64)
    wide[:5, :5] = VALUES[0]
    padded = DependencyTrees(wide, lengths=torch.tensor(4))
    assert torch.allclose(kl_divergence(p, padded), expected, rtol=1e-14)
    assert torch.allclose(kl_divergence(padded, p[0]), kl_divergence(q, p[0]), rtol=1e-14)
    with pytest.raises(ValueError, match="differ in length"):
        kl_divergence(p, DependencyTrees(X, lengths=LENGTHS))
    with pytest.raises(ValueError, match="differ in length"):
        kl_divergence(q, DependencyTrees(wide.nan_to_num(0.0)))


def test_a_tree_has_no_standard_deviation_and_no_reparametrisation():
    with pytest.raises(NotImplementedError, match="variance"):
        _ = DependencyTrees(X).stddev
    with pytest.raises(NotImplementedError, match=r"expectation\(arc_values\)"):
        _ = DependencyTrees(X).mean
    with pytest.raises(NotImplementedError, match="discrete"):
        DependencyTrees(X).rsample()


# ---- batches


@KINDS
def test_batches_are_indexed_like_tensors(kind):
    x = scores(3, 2, 5, 5).requires_grad_()
    lengths = torch.tensor([[4, 3], [2, 1], [4, 2]])
    trees = kind(x, lengths=lengths, workers=2)
    expected = trees.log_partition().detach()
    for index in (
        0,
        -1,
        slice(1, 3),
        (1, 1),
        (slice(None), 0),
        ...,
        (..., 1),
        (0, ...),
        None,
        [0, 2],
        torch.tensor([2, 0]),
        (torch.tensor([2, 0]), 1),
        lengths > 2,
    ):
        taken = trees[index]
        assert type(taken) is kind
        assert taken.workers == 2
        assert torch.equal(taken.lengths, lengths[index])
        assert torch.equal(taken.log_partition().detach(), expected[index])
    (gradient,) = torch.autograd.grad(trees[1, 0].log_partition(), x)
    assert gradient[1, 0].any()
    assert gradient.count_nonzero() == gradient[1, 0].count_nonzero()
    assert len(trees) == 3
    assert [len(one) for one in trees] == [2, 2, 2]
    with pytest.raises(IndexError):
        trees[3]
    with pytest.raises(IndexError, match="too many indices"):
        trees[0, 0, 0]
    with pytest.raises(TypeError, match="a single graph cannot be indexed"):
        trees[0, 0][0]
    with pytest.raises(TypeError, match="a single graph has no length"):
        len(trees[0, 0])


def test_repr_tells_the_lengths():
    assert repr(DependencyTrees(X[0])) == "DependencyTrees(4 words)"
    assert repr(SpanningTrees(X)) == "SpanningTrees(batch of shape (2,), 4 words)"
    trees = DependencyTrees(torch.zeros(4, 8, 8), lengths=[7, 5, 3, 1])
    assert repr(trees) == "DependencyTrees(batch of shape (4,), 1 to 7 words)"
    assert repr(trees[1]) == "DependencyTrees(5 words)"
    assert repr(trees[3]) == "DependencyTrees(1 word)"
    assert repr(trees[:0]) == "DependencyTrees(batch of shape (0,), 7 words)"
    meta = DependencyTrees(torch.empty(2, 8, 8, device="meta"), lengths=[7, 5])
    assert repr(meta) == "DependencyTrees(batch of shape (2,), 7 words)"


@KINDS
def test_an_orientation_turns_the_scores_and_nothing_else(kind):
    x = X.mT.clone().requires_grad_()
    trees = kind(x, lengths=LENGTHS, orientation="dependent,head")
    plain = kind(X, lengths=LENGTHS)
    assert torch.equal(trees.log_weights, X)
    assert torch.equal(trees.arc_marginals(), plain.arc_marginals())
    (gradient,) = torch.autograd.grad(trees.log_partition().sum(), x)
    assert torch.equal(gradient, plain.arc_marginals().mT)
    for made in (
        trees[1],
        trees.expand((3, 2)),
        trees.condition(heads=torch.full((2, 5), -1)),
    ):
        assert made.log_partition().isfinite().all()
    with pytest.raises(ValueError, match="orientation is 'head'"):
        kind(X, orientation="head")


def test_errors_on_values_have_the_index_of_the_given_orientation():
    x = torch.zeros(2, 4, 4)
    x[1, 2, 3] = math.nan
    trees = DependencyTrees(x, orientation="dependent,head")
    message = r"log_weights\[1, 2, 3\] is nan, on the arc 3 -> 2"
    for ask in (trees.log_partition, trees.best_tree, trees.sample, trees.entropy):
        with pytest.raises(InvalidWeightsError, match=message):
            ask()
    with pytest.raises(InvalidWeightsError, match=r"log_weights\[0, 1, 2, 3\] is nan"):
        trees.expand((3, 2)).entropy()
    with pytest.raises(InvalidWeightsError, match=message):
        DependencyTrees(x, orientation="dependent,head", validate_args=True)


# ---- rows that are no trees


@KINDS
@pytest.mark.parametrize("rows", ["best_trees", "sample_without_replacement"])
def test_rows_beyond_the_trees_of_a_graph_have_no_probability_and_no_gradient(kind, rows):
    lengths = torch.tensor([1, 3, 2])
    x = scores(3, 4, 4).requires_grad_()
    trees = kind(x, lengths=lengths)
    found = getattr(trees, rows)(5)
    count = found.num_found if rows == "best_trees" else found.num_drawn
    assert torch.equal(found.mask, torch.arange(5)[:, None] < count)
    assert found.mask.sum(0).tolist() == [1, 5, 2 if kind._kind.has_single_root else 3]
    log_prob = trees.log_prob(found.heads)
    assert torch.equal(log_prob == -math.inf, ~found.mask)
    assert torch.allclose(log_prob, found.log_prob, rtol=1e-14)
    weights = scores(5, 3, seed=3)
    (gradient,) = torch.autograd.grad((log_prob * weights)[found.mask].sum(), x, retain_graph=True)
    (masked,) = torch.autograd.grad(log_prob, x, weights)
    assert torch.equal(gradient, masked)
    expected = torch.zeros_like(x)
    for graph, number in enumerate(count.tolist()):
        one = x.detach()[graph].requires_grad_()
        alone = kind(one, lengths=lengths[graph]).log_prob(found.heads[:number, graph])
        expected[graph] = torch.autograd.grad(alone, one, weights[:number, graph])[0]
    assert torch.allclose(gradient, expected, rtol=1e-13, atol=1e-15)


def test_a_tangent_of_a_row_that_is_no_tree_is_zero():
    heads = torch.tensor([[-1, 0, 1, 1, 1], [-1, -1, -1, -1, -1]])
    _, found = torch.func.jvp(lambda x: DependencyTrees(x).log_prob(heads), (X[0],), (OTHER[0],))
    assert found[0].item() != 0
    assert found[1].item() == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.tensor([[-1, 0, 1, 2, 3], [-1, 0, 1, 2, -100]]), r"value\[1, 4\] is -100: "),
        (torch.tensor([-1, 0, 1, 2, 9]), r"value\[4\] is 9: "),
        (torch.tensor([[[-1, 0, 1, 2, 3]], [[-1, 2, 1, 0, 3]]]), r"value\[1, 0\] is not a tree"),
        (torch.tensor([[-1, -1, 1, 2, 3], [-1, 0, 1, 2, 3]]), r"value\[0, 1\] is -1: "),
    ],
)
@pytest.mark.parametrize("mode", ["eager", "gradient", "compile"])
def test_what_is_no_tree_is_named_as_the_caller_wrote_it(value, message, mode):
    torch._dynamo.reset()

    def log_prob(x):
        return DependencyTrees(x).log_prob(value)

    called = torch.compile(log_prob, backend="aot_eager") if mode == "compile" else log_prob
    with pytest.raises(InvalidTreeError, match=message):
        called(X.clone().requires_grad_(mode == "gradient"))


# ---- what NumPy's classes have


@KINDS
def test_renyi_entropies_are_those_of_numpy(kind):
    trees, law = kind(X, lengths=LENGTHS), in_numpy(kind)(X.numpy(), lengths=LENGTHS.numpy())
    for order in (0, 0.5, 1, 1 + 1e-9, 2, 1e20, math.inf):
        found = trees.renyi_entropy(order)
        np.testing.assert_allclose(found.numpy(), law.renyi_entropy(order), rtol=1e-13)
    with pytest.raises(ValueError, match="order is -1"):
        trees.renyi_entropy(-1)


@KINDS
@pytest.mark.parametrize("order", [0, 0.5, 1, 3, math.inf])
def test_renyi_entropies_of_every_order_have_gradients(kind, order):
    x = X[0].clone().requires_grad_()
    (found,) = torch.autograd.grad(kind(x).renyi_entropy(order), x)
    p = Enumerated(kind, x, 4).log_prob
    if order == math.inf:
        exact = -p.max()
    elif order == 1:
        exact = -(p.exp() * p).sum()
    else:
        exact = torch.logsumexp(order * p, 0) / (1 - order)
    (expected,) = torch.autograd.grad(exact, x)
    assert torch.allclose(found, expected, rtol=1e-11, atol=1e-13)


@KINDS
def test_evidence_is_that_of_numpy_and_has_the_gradient_of_two_partitions(kind):
    heads = torch.tensor([[-1, 2, -1, -1, -1], [-1, 0, 3, 2, -1]])  # the second has a cycle
    x = X.clone().requires_grad_()
    trees, law = kind(x, lengths=LENGTHS), in_numpy(kind)(X.numpy(), lengths=LENGTHS.numpy())
    found = trees.log_evidence(heads=heads)
    assert np.array_equal(found.detach().numpy(), law.log_evidence(heads=heads.numpy()))
    assert found[1].item() == -math.inf
    (gradient,) = torch.autograd.grad(found.sum(), x)
    left = trees[0].condition(heads=heads[0])
    assert torch.equal(gradient[0], left.arc_marginals() - trees[0].arc_marginals())
    assert not gradient[1].any()
    allowed = torch.rand(2, 5, 5, generator=seeded(0)) < 0.8
    expected = law.log_evidence(allowed=allowed.numpy())
    assert np.array_equal(trees.log_evidence(allowed=allowed).detach().numpy(), expected)
    with pytest.raises(TypeError, match=r"heads must be a torch\.Tensor, not list"):
        trees.log_evidence(heads=[-1] * 5)
    with pytest.raises(TypeError, match="include takes arcs of a single graph"):
        trees.log_evidence(include=[(0, 1)])


@KINDS
def test_joint_probabilities_are_those_of_numpy(kind):
    x = X[0].clone().requires_grad_()
    trees, law = kind(x), in_numpy(kind)(X[0].numpy())
    for arcs, known in (
        ([(0, 1), (1, 2)], []),
        ([(0, 1), (1, 2)], [(2, 3)]),
        ([(0, 1), (2, 1)], []),
        ([(1, 2), (2, 1)], []),
        ([(0, 1)], [(0, 1)]),
        ([], []),
    ):
        expected = law.joint_probability(arcs, given=known)
        found = trees.joint_probability(arcs, given=known)
        assert found.item() == pytest.approx(expected, rel=1e-12)
    (gradient,) = torch.autograd.grad(trees.joint_probability([(0, 1), (1, 2)]), x)
    p, arcs = (Enumerated(kind, x, 4).log_prob.exp(), Enumerated(kind, x, 4).arcs)
    (expected,) = torch.autograd.grad((p * arcs[:, 0, 1] * arcs[:, 1, 2]).sum(), x)
    assert torch.allclose(gradient, expected, rtol=1e-11, atol=1e-14)
    with pytest.raises(NoTreeError, match="cycle"):
        trees.joint_probability([(0, 3)], given=[(1, 2), (2, 1)])
    with pytest.raises(TypeError, match="joint_probability takes arcs of a single graph"):
        kind(X).joint_probability([(0, 1)])


@KINDS
def test_sums_over_arcs_take_axes_behind(kind):
    x = X.clone().requires_grad_()
    trees = kind(x, lengths=LENGTHS)
    first, second = scores(2, 5, 5, 3, 4, seed=1), scores(2, 5, 5, 4, seed=2)
    found = trees.covariance(first, second)
    assert found.shape == (2, 3, 4)
    expected = torch.stack(
        [
            torch.stack([trees.covariance(first[..., i, j], second[..., j]) for j in range(4)], -1)
            for i in range(3)
        ],
        -2,
    )
    for answer, alone in (
        (found, expected),
        (trees.variance(second)[..., 1], trees.variance(second[..., 1])),
        (trees.covariance(first, X)[:, 2, 1], trees.covariance(first[..., 2, 1], X)),
        (trees.expectation(first)[:, 2, 1], trees.expectation(first[..., 2, 1])),
    ):  # torch adds up in the order of memory
        assert torch.allclose(answer, alone, rtol=1e-13, atol=1e-14)
    weights = scores(2, 3, 4, seed=3)
    gradients = [
        torch.autograd.grad(answer, x, weights, retain_graph=True)[0]
        for answer in (found, expected)
    ]
    assert torch.allclose(*gradients, rtol=1e-12, atol=1e-14)
    bad = second.clone()
    bad[1, 2, 3, 1] = math.inf
    for ask in (lambda: trees.variance(bad), lambda: trees.covariance(first, bad)):
        with pytest.raises(ValueError, match=r"\[1, 2, 3, 1\] is not finite, on an arc"):
            ask()
    with pytest.raises(ValueError, match=r"other has shape .* followed by any number of axes"):
        trees.covariance(X, X[0])
    with pytest.raises(ValueError, match=r"other has shape \(2, 5, 5, 3\), whose axes after"):
        trees.covariance(first, scores(2, 5, 5, 3, seed=1))


# ---- conditions


@KINDS
def test_conditions_are_those_of_numpy_and_let_gradients_through(kind):
    x = X[0].clone().requires_grad_()
    known = torch.tensor([-1, 2, -1, -1, 3])
    left = kind(x).condition(heads=known, exclude=[(0, 2)])
    theirs = in_numpy(kind)(X[0].numpy()).condition(heads=known.numpy(), exclude=[(0, 2)])
    with torch.no_grad():  # for a gradient, log Z comes from the elimination of the marginals
        assert left.log_partition().item() == theirs.log_partition()
    assert left.log_partition().item() == pytest.approx(theirs.log_partition(), rel=1e-15)
    left.log_partition().backward()
    assert np.array_equal(x.grad.numpy(), theirs.arc_marginals())


def test_conditions_on_batches_and_on_allowed_arcs():
    allowed = torch.rand(2, 5, 5, generator=seeded(0)) < 0.8
    allowed[:, 0] = True
    left = SpanningTrees(X, lengths=LENGTHS).condition(allowed=allowed)
    marginals = left.arc_marginals()
    assert (marginals[~allowed] == 0).all()
    assert (marginals[allowed] > 0).any()


def test_contradictions_are_named():
    with pytest.raises(NoTreeError, match="cycle 1 -> 2 -> 1"):
        DependencyTrees(X[0]).condition(heads=torch.tensor([-1, 2, 1, -1, -1]))


# ---- randomness


@KINDS
def test_the_same_seed_gives_the_same_trees(kind):
    trees = kind(X, lengths=LENGTHS)
    torch.manual_seed(1)
    first, second = trees.sample((50,)), trees.sample((50,))
    torch.manual_seed(1)
    assert torch.equal(trees.sample((50,)), first)
    assert not torch.equal(first, second)
    assert torch.equal(
        trees.sample((50,), generator=seeded(1)), trees.sample((50,), generator=seeded(1))
    )


def test_a_call_advances_the_generator_by_one_key_however_many_trees_it_draws():
    states = []
    for draw in (
        lambda g: DependencyTrees(X).sample(generator=g),
        lambda g: DependencyTrees(X).sample((1000,), generator=g),
        lambda g: DependencyTrees(X[0]).sample_without_replacement(3, generator=g),
    ):
        generator = seeded(2)
        draw(generator)
        states.append(generator.get_state())
    assert torch.equal(states[0], states[1])
    assert torch.equal(states[0], states[2])


def test_every_bit_of_a_key_is_drawn():
    generator = seeded(0)
    keys = [key_words(draw_key(generator)) for _ in range(200)]
    for words in zip(*keys, strict=True):
        # Some key has the bit, and some key has not, for each of 64.
        assert functools.reduce(int.__or__, words) == 2**64 - 1
        assert functools.reduce(int.__and__, words) == 0
    assert len({word for key in keys for word in key}) == 400


def test_both_words_of_a_key_are_used(monkeypatch):
    drawn = []
    for key in ([1, 2], [1, 3], [4, 2]):
        monkeypatch.setattr(distributions, "draw_key", lambda _, key=key: torch.tensor(key))
        drawn.append(DependencyTrees(X).sample((50,)))
        drawn.append(DependencyTrees(X).sample_without_replacement(20).heads)
    for one, other in itertools.combinations(drawn, 2):
        assert not torch.equal(one, other)


def test_draws_keep_the_stream_contract():
    trees = DependencyTrees(X)
    many = trees.sample((100,), generator=seeded(3))
    assert torch.equal(trees.sample((10,), generator=seeded(3)), many[:10])
    assert torch.equal(DependencyTrees(X[:1]).sample((100,), generator=seeded(3)), many[:, :1])
    threads = DependencyTrees(X, workers=2).sample((100,), generator=seeded(3))
    assert torch.equal(threads, many)


@KINDS
def test_distinct_trees(kind):
    trees = kind(X, lengths=LENGTHS)
    draws = trees.sample_without_replacement(1000, generator=seeded(4))
    assert draws.exhausted.all()
    assert torch.allclose(draws.log_prob.exp().sum(0), torch.ones(2).double())
    again = trees.sample_without_replacement(10, generator=seeded(4))
    assert torch.equal(again.heads, draws.heads[:10])
    assert len(again) == 10


# ---- precision


@SMALL
def test_short_dtypes_give_float32_and_gradients_in_their_own(dtype):
    x = scores(4, 12, 12, dtype=dtype).requires_grad_()
    trees = DependencyTrees(x)
    answers = [
        trees.log_partition(),
        trees.entropy(),
        trees.arc_marginals(),
        trees.log_prob(trees.sample((2,))),
        kl_divergence(trees, DependencyTrees(x.detach() * 0.5)),
    ]
    assert {answer.dtype for answer in answers} == {torch.float32}
    # Computed in float64: equal to the rounded answer for the same numbers in float64.
    exact = DependencyTrees(x.detach().double())
    assert torch.equal(answers[0], exact.log_partition().float())
    assert torch.equal(answers[2], exact.arc_marginals().float())
    sum(answer.sum() for answer in answers).backward()
    assert x.grad.dtype == dtype
    assert x.grad.isfinite().all()


def test_float64_gives_float64():
    x = X.clone().requires_grad_()
    DependencyTrees(x).entropy().sum().backward()
    assert x.grad.dtype == torch.float64
    assert DependencyTrees(x).log_partition().dtype == torch.float64


@KINDS
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(torch.float16, 1e3), (torch.bfloat16, 1e3), (torch.int64, 1e12), (torch.uint8, 30)],
)
def test_values_of_any_dtype_are_computed_with_in_that_of_the_answer(kind, dtype, scale):
    values, other = ((scale * given.abs()).to(dtype) for given in (VALUES, OTHER))
    for x, answer in ((X, torch.float64), (X.half(), torch.float32)):
        trees = kind(x, lengths=LENGTHS)
        for name, arguments in (
            ("expectation", (values,)),
            ("variance", (values,)),
            ("covariance", (values, other)),
            ("arc_covariances", (values,)),
        ):
            found = getattr(trees, name)(*arguments)
            exact = getattr(trees, name)(*(argument.to(answer) for argument in arguments))
            assert found.dtype == answer
            assert torch.equal(found, exact)


def test_differences_of_short_values_do_not_overflow():
    values = torch.full((4, 4), 6e4, dtype=torch.float16)
    values[0] = -6e4
    trees = SpanningTrees(torch.zeros(4, 4, dtype=torch.float64))
    # 3/8 is the variance of the number of root arcs.
    assert trees.variance(values).item() == pytest.approx(0.375 * 1.2e5**2, rel=1e-12)


# ---- what is not read


@KINDS
@pytest.mark.parametrize("junk", [math.nan, math.inf, -math.inf, 1e308])
def test_gradients_are_zero_where_nothing_is_read_whatever_stands_there(kind, junk):
    x = scores(2, 6, 6, seed=5)
    x[1, 4:], x[1, :, 4:] = junk, junk  # padding
    x[:, :, 0] = junk
    x.diagonal(dim1=-2, dim2=-1)[:] = junk
    x[:, 2, 3] = -math.inf
    lengths = torch.tensor([5, 3])
    is_read = torch.ones(2, 6, 6, dtype=torch.bool)
    is_read[1, 4:] = is_read[1, :, 4:] = is_read[:, :, 0] = is_read[:, 2, 3] = False
    is_read.diagonal(dim1=-2, dim2=-1)[:] = False
    heads = kind(x, lengths=lengths).sample((3,), generator=seeded(6))
    values = torch.where(is_read, scores(2, 6, 6, seed=7), junk)
    other = values.clone()
    other[:, 2, 3] = -math.inf
    for function, is_twice_differentiable in (
        (lambda d: d.log_partition(), True),
        (lambda d: d.entropy(), True),
        (lambda d: d.arc_marginals().square(), True),
        (lambda d: d.log_prob(heads), True),
        (lambda d: d.expectation(values), True),
        (lambda d: d.variance(values), False),
        (lambda d: kl_divergence(d, kind(other, lengths=lengths)), True),
        (lambda d: kl_divergence(kind(other, lengths=lengths), d), True),
    ):
        leaf = x.clone().requires_grad_()
        value = function(kind(leaf, lengths=lengths)).sum()
        (gradient,) = torch.autograd.grad(value, leaf, create_graph=True)
        assert value.isfinite()
        assert gradient.isfinite().all()
        assert gradient.any()
        assert (gradient[~is_read] == 0).all()
        if is_twice_differentiable:
            (second,) = torch.autograd.grad(gradient.square().sum(), leaf)
            assert second.isfinite().all()
            assert (second[~is_read] == 0).all()


# ---- arguments


@pytest.mark.parametrize(
    ("log_weights", "error", "message"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], TypeError, "torch.Tensor, not list"),
        (torch.zeros(3, 3, dtype=torch.int64), TypeError, "torch.int64"),
        (torch.zeros(3, 3).to(torch.float8_e4m3fn), TypeError, "torch.float8_e4m3fn"),
        (torch.zeros(3), InvalidWeightsError, r"shape \(3,\)"),
        (torch.zeros(3, 4), InvalidWeightsError, r"shape \(3, 4\)"),
        (torch.zeros(1, 1), InvalidWeightsError, r"shape \(1, 1\)"),
    ],
)
def test_scores_of_the_wrong_form_are_refused(log_weights, error, message):
    with pytest.raises(error, match=message):
        DependencyTrees(log_weights)


def test_lengths_of_the_wrong_form_are_refused():
    with pytest.raises(TypeError, match=r"mask.sum\(-1\)"):
        DependencyTrees(X, lengths=torch.ones(2, dtype=torch.bool))
    with pytest.raises(InvalidWeightsError, match=r"shape \(3,\)"):
        DependencyTrees(X, lengths=torch.tensor([1, 2, 3]))
    with pytest.raises(InvalidWeightsError, match=r"lengths\[1\] is 9"):
        DependencyTrees(X, lengths=torch.tensor([1, 9])).entropy()


def test_lengths_of_an_empty_batch_may_be_an_empty_list():
    assert DependencyTrees(torch.zeros(0, 5, 5), lengths=[]).log_partition().shape == (0,)


def test_conditions_that_are_not_tensors_are_refused():
    with pytest.raises(TypeError, match=r"heads must be a torch\.Tensor, not list"):
        DependencyTrees(X[0]).condition(heads=[-1, 2, -1, -1, -1])
    with pytest.raises(TypeError, match=r"allowed must be a torch\.Tensor, not ndarray"):
        DependencyTrees(X[0]).condition(allowed=np.ones((5, 5), dtype=bool))


def test_heads_of_the_wrong_form_are_refused():
    trees = DependencyTrees(X)
    with pytest.raises(TypeError, match=r"value must be a torch\.Tensor, not list"):
        trees.log_prob([-1, 0, 1, 2, 3])
    with pytest.raises(TypeError, match=r"value must hold integers.*float32"):
        trees.log_prob(torch.tensor([-1, 0.7, 1, 2, 3]))
    with pytest.raises(InvalidTreeError, match=r"value has shape \(4,\): expected \(\.\.\., 5\)"):
        trees.log_prob(torch.tensor([-1, 0, 1, 2]))


def test_generators_of_the_wrong_form_are_refused():
    for draw in (DependencyTrees(X).sample, DependencyTrees(X).sample_without_replacement):
        with pytest.raises(TypeError, match=r"generator must be a torch\.Generator.*manual_seed"):
            draw(*([3] if draw.__name__ != "sample" else []), generator=3)


def test_values_that_are_not_tensors_are_refused():
    with pytest.raises(TypeError, match=r"arc_values must be a torch\.Tensor, not ndarray"):
        DependencyTrees(X).expectation(VALUES.numpy())


def test_values_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"arc_values has shape \(5, 5\)"):
        DependencyTrees(X).expectation(torch.zeros(5, 5))
    with pytest.raises(ValueError, match="direction has shape"):
        DependencyTrees(X).arc_covariances(torch.zeros(2, 5, 5, 3))


@pytest.mark.parametrize("mode", ["eager", "vmap", "compile"])
@pytest.mark.parametrize(
    ("ask", "bad", "message"),
    [
        (lambda d, v: d.expectation(v), math.nan, r"arc_values\[1, 2, 3\] is nan"),
        (lambda d, v: d.variance(v), math.nan, r"arc_values\[1, 2, 3\] is not finite"),
        (
            lambda d, v: d.covariance(v, torch.zeros_like(v)),
            math.inf,
            r"arc_values\[1, 2, 3\] is not finite",
        ),
        (
            lambda d, v: d.covariance(torch.zeros_like(v), v),
            math.nan,
            r"other\[1, 2, 3\] is not finite",
        ),
    ],
    ids=["expectation", "variance", "first", "second"],
)
def test_values_that_are_not_numbers_are_refused(ask, bad, message, mode):
    values = VALUES.clone()
    values[1, 2, 3] = bad

    def called(x, values):
        return ask(DependencyTrees(x), values)

    torch._dynamo.reset()
    in_mode = {
        "eager": called,
        "vmap": torch.func.vmap(called),
        "compile": torch.compile(called, backend="aot_eager", fullgraph=True),
    }[mode]
    with pytest.raises(ValueError, match=f"{message}, on an arc of some tree"):
        in_mode(X, values)


def test_infinite_values_have_an_infinite_mean_without_a_derivative():
    values, x = VALUES.clone(), X.clone().requires_grad_()
    values[1, 2, 3] = math.inf
    mean = DependencyTrees(x).expectation(values)
    assert mean.isinf().tolist() == [False, True]
    with pytest.raises(ValueError, match="what was differentiated is infinite"):
        mean.sum().backward()


def test_validate_args_checks_at_once():
    bad = torch.full((4, 4), -math.inf)
    DependencyTrees(bad)
    with pytest.raises(NoTreeError):
        DependencyTrees(bad, validate_args=True)


def test_scores_of_the_caller_are_never_modified():
    x = X.clone()
    trees = DependencyTrees(x, lengths=LENGTHS)
    trees.log_partition(), trees.best_trees(3), trees.sample((3,)), trees.entropy()
    trees.condition(heads=torch.tensor([[-1, 2, -1, -1, -1], [-1, -1, -1, -1, -1]]))
    assert torch.equal(x, X)
    assert not x.requires_grad


def test_arc_indicators():
    heads = torch.tensor([[-1, 2, 0, -1], [-1, 0, 1, 2]])
    matrices = arc_indicators(heads, dtype=torch.float64)
    assert matrices.dtype == torch.float64
    assert matrices.nonzero().tolist() == [[0, 0, 2], [0, 2, 1], [1, 0, 1], [1, 1, 2], [1, 2, 3]]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    batch=st.lists(st.integers(0, 3), max_size=2).map(tuple),
    sample_shape=st.lists(st.integers(0, 3), max_size=2).map(tuple),
    size=st.integers(2, 6),
    dtype=st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16]),
    kind=st.sampled_from([SpanningTrees, DependencyTrees]),
)
def test_shapes_and_dtypes_of_everything(batch, sample_shape, size, dtype, kind):
    x = scores(*batch, size, size, dtype=dtype).requires_grad_()
    trees = kind(x)
    answer = torch.float64 if dtype == torch.float64 else torch.float32
    heads = trees.sample(sample_shape)
    shapes = {
        "log_partition": (trees.log_partition(), batch),
        "arc_marginals": (trees.arc_marginals(), (*batch, size, size)),
        "root_marginals": (trees.root_marginals(), (*batch, size)),
        "entropy": (trees.entropy(), batch),
        "log_prob": (trees.log_prob(heads), (*sample_shape, *batch)),
        "expectation": (trees.expectation(torch.ones_like(x)), batch),
        "variance": (trees.variance(torch.ones_like(x)), batch),
        "kl_divergence": (kl_divergence(trees, kind(x.detach())), batch),
    }
    assert heads.shape == (*sample_shape, *batch, size)
    for value, shape in shapes.values():
        assert value.shape == shape
        assert value.dtype == answer
    sum(value.sum() for value, _ in shapes.values()).backward()
    assert x.grad.dtype == dtype
    assert x.grad.isfinite().all()


def test_a_number_is_not_a_shape_of_draws():
    with pytest.raises(TypeError, match=r"sample_shape is 3: pass a shape, \(3,\)"):
        DependencyTrees(torch.zeros(3, 3)).sample(3)


def test_batches_that_do_not_fit_are_refused():
    trees, three = DependencyTrees(X), DependencyTrees(torch.zeros(3, 5, 5))
    with pytest.raises(InvalidTreeError, match=r"value has shape \(3, 5\).* shape is \(2,\)"):
        trees.log_prob(torch.tensor([[-1, 0, 1, 2, 3]] * 3))
    with pytest.raises(ValueError, match=r"batches of shapes \(2,\) and \(3,\)"):
        kl_divergence(trees, three)
    with pytest.raises(ValueError, match=r"batch_shape is \(3,\): a batch of shape \(2,\) cannot"):
        trees.expand((3,))
    with pytest.raises(ValueError, match=r"sample_shape is \(-1,\)"):
        trees.sample((-1,))
