"""Derivatives of first, second and third order: against enumeration and finite differences."""

import math
from functools import partial

import pytest
import torch
from torch.autograd import grad, gradcheck, gradgradcheck
from torch.distributions import kl_divergence

from arborand.torch import DependencyTrees, SpanningTrees
from tests.fronts.torch.enumerated import KINDS, Enumerated

LENGTHS = torch.tensor([4, 3])


def scores(seed, *shape, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()


KNOWN = torch.tensor([[-1, 2, -1, -1, -1], [-1, -1, 3, -1, -1]])
X, Y, U, V = (scores(seed, 2, 5, 5) for seed in range(4))


def over(kind):
    """Make distributions of the kind, padded."""
    return lambda log_weights: kind(log_weights, lengths=LENGTHS)


def heads_of(kind):
    generator = torch.Generator().manual_seed(5)
    return over(kind)(X.detach()).sample((7,), generator=generator)


# Each is a function of tensors, all of which are differentiated.
FUNCTIONS = {
    "log_partition": (lambda d: lambda x: d(x).log_partition(), (X,)),
    "log_prob": (None, (X,)),
    "arc_marginals": (lambda d: lambda x: d(x).arc_marginals(), (X,)),
    "root_marginals": (lambda d: lambda x: d(x).root_marginals(), (X,)),
    "entropy": (lambda d: lambda x: d(x).entropy(), (X,)),
    "renyi_entropy": (lambda d: lambda x: d(x).renyi_entropy(1.5), (X,)),
    "log_evidence": (lambda d: lambda x: d(x).log_evidence(heads=KNOWN), (X,)),
    "expectation": (lambda d: lambda x, u: d(x).expectation(u), (X, U)),
    "variance": (lambda d: lambda x, u: d(x).variance(u), (X, U)),
    "covariance": (lambda d: lambda x, u, v: d(x).covariance(u, v), (X, U, V)),
    "arc_covariances": (lambda d: lambda x, u: d(x).arc_covariances(u), (X, U)),
    "kl_divergence": (lambda d: lambda x, y: kl_divergence(d(x), d(y)), (X, Y)),
    "cross_entropy": (lambda d: lambda x, y: d(x).cross_entropy(d(y)), (X, Y)),
}


def function(kind, name):
    make, arguments = FUNCTIONS[name]
    if name == "log_prob":
        heads = heads_of(kind)
        return (lambda x: over(kind)(x).log_prob(heads)), arguments
    return make(over(kind)), arguments


@KINDS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivatives_pass_gradcheck_in_both_modes(kind, name):
    called, arguments = function(kind, name)
    assert gradcheck(called, arguments, check_forward_ad=True, check_batched_grad=True)


@KINDS
@pytest.mark.parametrize(
    "name",
    [
        "log_partition",
        "log_prob",
        "arc_marginals",
        "entropy",
        "renyi_entropy",
        "log_evidence",
        "expectation",
        "kl_divergence",
    ],
)
def test_second_derivatives_pass_gradgradcheck(kind, name):
    called, arguments = function(kind, name)
    assert gradgradcheck(called, arguments, check_fwd_over_rev=True)


def third_derivative(value, x, directions):
    """Differentiate a number in three directions of x, one after the other."""
    for direction in directions:
        (gradient,) = grad(value, x, create_graph=True)
        value = (gradient * direction).sum()
    return value


CHAIN = torch.tensor([-1, 0, 1, 2, 3])
# What has a third derivative, of a distribution and of an enumeration.
THREE_TIMES = {
    "log_partition": (lambda d: d.log_partition(), lambda law: law.log_partition()),
    "log_prob": (
        lambda d: d.log_prob(CHAIN),
        lambda law: law.log_prob[(law.heads == CHAIN).all(-1)].squeeze(),
    ),
    "log_evidence": (
        lambda d: d.log_evidence(heads=KNOWN[0]),
        lambda law: torch.logsumexp(law.log_prob[law.heads[:, 1] == KNOWN[0, 1]], 0),
    ),
}


@KINDS
@pytest.mark.parametrize("name", THREE_TIMES)
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_third_derivatives_equal_those_of_enumeration(kind, name, scale):
    directions = [scores(seed, 5, 5).detach() for seed in (10, 11, 12)]
    of_trees, by_enumeration = THREE_TIMES[name]
    answers = []
    for value in (lambda x: of_trees(kind(x)), lambda x: by_enumeration(Enumerated(kind, x, 4))):
        x = scores(13, 5, 5, scale=scale)
        answers.append(third_derivative(value(x), x, directions))
    # An enumeration of 125 trees of at most four arcs rounds a few times 1e-16 of 4^3.
    assert torch.allclose(*answers, rtol=1e-11, atol=1e-12)


@KINDS
def test_hessian_vector_products_of_the_entropy_equal_those_of_enumeration(kind):
    direction, answers = scores(14, 5, 5).detach(), []
    for law in (lambda x: kind(x), lambda x: Enumerated(kind, x, 4)):
        x = scores(15, 5, 5, scale=3.0)
        (gradient,) = grad(law(x).entropy(), x, create_graph=True)
        answers.append(grad((gradient * direction).sum(), x)[0])
    assert torch.allclose(*answers, rtol=1e-11, atol=1e-12)


@KINDS
def test_hessian_vector_products_of_the_entropy_do_not_suffer_from_masks(kind):
    # A mask of -1e9 on arcs that no likely tree has: the same as no arc.
    direction, answers = scores(16, 5, 5).detach(), []
    for mask in (-1e9, -math.inf):
        x = scores(17, 5, 5).detach()
        x[1, 2] = x[3, 4] = mask
        x.requires_grad_()
        (gradient,) = grad(kind(x).entropy(), x, create_graph=True)
        answers.append(grad((gradient * direction).sum(), x)[0])
    assert torch.allclose(*answers, rtol=1e-12, atol=1e-13)


@KINDS
def test_gradients_of_covariances_in_the_scores_equal_those_of_enumeration(kind):
    first, second = scores(18, 5, 5).detach(), scores(19, 5, 5).detach()
    answers = []
    for law in (lambda x: kind(x), lambda x: Enumerated(kind, x, 4)):
        x = scores(20, 5, 5, scale=2.0)
        answers.append(grad(law(x).covariance(first, second), x)[0])
    assert torch.allclose(*answers, rtol=1e-11, atol=1e-12)


def entropy(law, x):
    return law(x).entropy()


def divergence(law, x):
    if law.func is Enumerated:
        return law(x).kl_divergence(law(Y[0]))
    return kl_divergence(law(x), law(Y[0]))


def variance(law, x):
    return law(x).covariance(U[0].detach(), U[0].detach())


@KINDS
@pytest.mark.parametrize("value", [entropy, divergence])
@pytest.mark.parametrize("product", ["hvp", "vhp"])
def test_hessian_vector_products_of_torch_are_those_of_enumeration(kind, value, product):
    direction, answers = V[0].detach(), []
    for law in (partial(kind), partial(Enumerated, kind, num_words=4)):
        multiply = getattr(torch.autograd.functional, product)
        answers.append(multiply(partial(value, law), X[0].detach(), direction)[1])
    assert torch.allclose(*answers, rtol=1e-11, atol=1e-12)


@KINDS
def test_a_directional_derivative_of_torch_is_that_of_enumeration(kind):
    # By two backward passes, of which the second asks for the gradient in a direction only.
    answers = []
    for law in (partial(kind), partial(Enumerated, kind, num_words=4)):
        pair = torch.autograd.functional.jvp(partial(variance, law), X[0].detach(), V[0].detach())
        answers.append(pair[1])
    assert torch.allclose(*answers, rtol=1e-11)


@KINDS
def test_a_gradient_of_a_leaf_is_differentiated_in_what_it_was_multiplied_with(kind):
    x, weight = X[0].detach().requires_grad_(), torch.ones((), dtype=X.dtype, requires_grad=True)
    (gradient,) = grad(
        kind(x).covariance(U[0].detach(), V[0].detach()), x, weight, create_graph=True
    )
    (found,) = grad(gradient.sum(), weight)
    assert found.item() == pytest.approx(gradient.sum().item(), rel=1e-11)


@KINDS
@pytest.mark.parametrize("outer", [torch.func.jacfwd, torch.func.jacrev])
def test_mixed_derivatives_of_a_variance_in_scores_and_values(kind, outer):
    def mixed(law):
        in_scores = torch.func.grad(lambda x, u: law(x).covariance(u, u))
        return outer(lambda u: in_scores(X[0].detach(), u))(U[0].detach())

    found, exact = mixed(kind), mixed(partial(Enumerated, kind, num_words=4))
    assert exact.abs().max() > 0.1
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-12)


@KINDS
def test_a_forward_derivative_of_an_entropy_product_in_its_direction(kind):
    def product(law):
        gradient = torch.func.grad(lambda x: law(x).entropy())
        return lambda v: torch.func.jvp(gradient, (X[0].detach(),), (v,))[1]

    found, exact = (
        torch.func.jvp(product(law), (U[0].detach(),), (V[0].detach(),))[1]
        for law in (kind, partial(Enumerated, kind, num_words=4))
    )
    assert exact.abs().max() > 0.1
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("p", KINDS.args[1])
@pytest.mark.parametrize("q", KINDS.args[1])
def test_kl_divergence_of_all_pairs_of_kinds(p, q):
    x, y = scores(21, 4, 4), scores(22, 4, 4)
    found = kl_divergence(p(x), q(y))
    ours, theirs = Enumerated(p, x, 3), Enumerated(q, y, 3)
    if not {*map(tuple, ours.heads.tolist())} <= {*map(tuple, theirs.heads.tolist())}:
        assert found.item() == math.inf
        return
    exact = ours.kl_divergence(theirs)
    assert torch.allclose(found, exact, rtol=1e-13)
    for ours, theirs in zip(grad(found, (x, y)), grad(exact, (x, y)), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mode", ["backward", "compile", "func.grad", "func.jvp"])
@pytest.mark.parametrize("place", ["p", "q"])
def test_an_infinite_divergence_refuses_to_be_differentiated(place, mode):
    # A finite one stands before it.
    x = torch.zeros(2, 4, 4, dtype=torch.float64)
    missing = x.clone()
    missing[1, 1, 2] = -math.inf

    def divergence(scores):
        p, q = (scores, missing) if place == "p" else (x, scores)
        return kl_divergence(SpanningTrees(p), SpanningTrees(q)).sum()

    point = (x if place == "p" else missing).clone()
    assert divergence(point).item() == math.inf
    torch._dynamo.reset()
    compiled = torch.compile(divergence, backend="aot_eager", fullgraph=True)
    differentiate = {
        "backward": lambda: divergence(point.requires_grad_()).backward(),
        "compile": lambda: compiled(point.requires_grad_()).backward(),
        "func.grad": lambda: torch.func.grad(divergence)(point),
        "func.jvp": lambda: torch.func.jvp(divergence, (point,), (x + 1,)),
    }[mode]
    with pytest.raises(ValueError, match=r"kl_divergence\[1\] is infinite, and has no derivative"):
        differentiate()


@pytest.mark.parametrize(
    ("name", "order"),
    [("log_partition", 4), ("entropy", 3)],
)
def test_the_derivative_after_the_last_one_raises(name, order):
    x = scores(25, 4, 4)
    value = getattr(DependencyTrees(x), name)()
    for _ in range(order - 1):
        (gradient,) = grad(value, x, create_graph=True)
        value = (gradient * torch.linspace(0, 1, 16, dtype=torch.float64).reshape(4, 4)).sum()
    with pytest.raises(NotImplementedError, match="differentiated for the"):
        grad(value, x)


@pytest.mark.parametrize(("name", "order"), [("log_partition", 4), ("entropy", 3)])
@pytest.mark.parametrize("mode", ["forward", "reverse", "leaves"])
def test_the_derivative_after_the_last_one_raises_in_every_mode(name, order, mode):
    direction = scores(26, 4, 4).detach()

    def forward(value):
        return lambda x: torch.func.jvp(value, (x,), (direction,))[1]

    def reverse(value):
        return lambda x: (torch.func.grad(value)(x) * direction).sum()

    def tracked(value):
        return lambda x: (grad(value(x), x, create_graph=True)[0] * direction).sum()

    def derivative(x):
        return getattr(DependencyTrees(x.sin()), name)()

    x = scores(25, 4, 4)
    once = {"forward": forward, "reverse": reverse, "leaves": tracked}[mode]
    for _ in range(order - 1):
        derivative = once(derivative)
    last = derivative(x if mode == "leaves" else x.detach())
    assert last.abs() > 1e-3
    # A backward pass without inputs asks for the gradients of all leaves.
    differentiate = last.backward if mode == "leaves" else partial(once(derivative), x.detach())
    with pytest.raises(NotImplementedError, match="differentiated for the"):
        differentiate()


@KINDS
def test_trees_outside_the_support_add_nothing_to_gradients(kind):
    x = scores(26, 4, 4)
    with torch.no_grad():
        x[1, 2] = -math.inf
    heads = torch.tensor([[-1, 0, 1, 2], [-1, 0, 3, 1]])
    log_prob = kind(x).log_prob(heads)
    assert log_prob[0].item() == -math.inf
    (both,) = grad(log_prob.sum(), x)
    (one,) = grad(kind(x).log_prob(heads[1]), x)
    assert torch.equal(both, one)


@KINDS
@pytest.mark.parametrize("name", ["log_partition", "entropy", "log_prob", "kl_divergence"])
def test_forward_derivatives_do_not_read_tangents_where_there_is_no_arc(kind, name):
    x, tangent = scores(27, 5, 5).detach(), scores(28, 5, 5).detach()
    x[1, 2] = -math.inf
    heads, length = torch.tensor([-1, 0, 3, 1, -1]), torch.tensor(3)

    def value(log_weights):
        trees = kind(log_weights, lengths=length)
        if name == "log_prob":
            return trees.log_prob(heads)
        if name == "kl_divergence":
            return kl_divergence(trees, kind(0.5 * x, lengths=length))
        return getattr(trees, name)()

    junk = tangent.clone()
    junk[:, 0] = junk[1, 2] = math.nan
    junk.diagonal()[:] = junk[4] = junk[:, 4] = math.inf
    _, expected = torch.func.jvp(value, (x,), (tangent,))
    _, found = torch.func.jvp(value, (x,), (junk,))
    assert expected.isfinite()
    assert torch.equal(found, expected)


@KINDS
def test_an_arc_of_no_tree_may_be_missing_in_the_other_distribution(kind):
    # Word 2 hangs from word 1 in every tree, so that no tree has the arc 2 -> 1.
    p = torch.tensor([[0.0, 1.0, -math.inf], [0.0, 0.0, 2.0], [0.0, 3.0, 0.0]], dtype=torch.float64)
    q = p.clone()
    q[2, 1] = -math.inf
    p.requires_grad_()
    divergence = kl_divergence(kind(p), kind(q))
    assert divergence.item() == 0.0
    divergence.backward()
    assert torch.equal(p.grad, torch.zeros_like(p))
