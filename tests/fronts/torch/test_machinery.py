"""What torch's machinery does with the operations: one test for each part of it."""

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from torch import func
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import arborand
from arborand import InvalidTreeError, InvalidWeightsError, NoTreeError
from arborand.derivatives import OPERATIONS
from arborand.torch import DependencyTrees, SpanningTrees, hooks, operations
from tests.fronts.torch.enumerated import KINDS, Enumerated

NAMES = pytest.mark.parametrize("name", ["log_partition", "arc_marginals", "entropy"])
LENGTHS = torch.tensor([4, 3])


def scores(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


X = scores(2, 5, 5)


# ---- torch.func


@NAMES
def test_func_vmap(name):
    def one(x, length):
        return getattr(DependencyTrees(x, lengths=length), name)()

    expected = getattr(DependencyTrees(X, lengths=LENGTHS), name)()
    assert torch.equal(func.vmap(one)(X, LENGTHS), expected)


def test_func_vmap_over_another_axis_and_over_trees():
    heads = DependencyTrees(X).sample((3,), generator=torch.Generator().manual_seed(0))
    found = func.vmap(lambda x, h: DependencyTrees(x).log_prob(h), in_dims=(2, 1), out_dims=1)(
        X.movedim(0, 2), heads
    )
    assert torch.equal(found, DependencyTrees(X).log_prob(heads))
    one = DependencyTrees(X[0])
    assert torch.equal(func.vmap(one.log_prob)(heads[:, 0]), one.log_prob(heads[:, 0]))


@KINDS
def test_func_grad(kind):
    found = func.grad(lambda x: kind(x, lengths=LENGTHS).log_partition().sum())(X)
    assert torch.equal(found, kind(X, lengths=LENGTHS).arc_marginals())


@KINDS
def test_func_vmap_of_grad(kind):
    found = func.vmap(func.grad(lambda x, n: kind(x, lengths=n).log_partition()))(X, LENGTHS)
    assert torch.equal(found, kind(X, lengths=LENGTHS).arc_marginals())


def assert_a_jacobian_is_that_of_enumeration(jacobian, kind):
    found = jacobian(lambda x: kind(x).arc_marginals())(X[0])
    exact = func.jacrev(lambda x: Enumerated(kind, x, 4).arc_marginals())(X[0])
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-13)


@KINDS
def test_func_jacrev(kind):
    assert_a_jacobian_is_that_of_enumeration(func.jacrev, kind)


@KINDS
def test_func_jacfwd(kind):
    assert_a_jacobian_is_that_of_enumeration(func.jacfwd, kind)


@KINDS
@pytest.mark.parametrize("name", ["log_partition", "entropy"])
def test_func_jvp(kind, name):
    direction = scores(5, 5, seed=1)
    _, found = func.jvp(lambda x: getattr(kind(x), name)(), (X[0],), (direction,))
    _, exact = func.jvp(lambda x: getattr(Enumerated(kind, x, 4), name)(), (X[0],), (direction,))
    assert exact.abs() > 1e-3
    assert torch.allclose(found, exact, rtol=1e-11)


@KINDS
@pytest.mark.parametrize("name", ["log_partition", "entropy"])
def test_func_hessian(kind, name):
    found = func.hessian(lambda x: getattr(kind(x), name)())(X[0])
    exact = func.hessian(lambda x: getattr(Enumerated(kind, x, 4), name)())(X[0])
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-13)


# At equal scores the entropy's gradient is exactly 0, and its Hessian is not.
POINTS = pytest.mark.parametrize("point", [X[0], 0 * X[0]], ids=["random", "equal"])
OVER_FORWARD = pytest.mark.parametrize("outer", [func.jacfwd, func.jacrev])


@KINDS
@POINTS
@OVER_FORWARD
@pytest.mark.parametrize("name", ["log_partition", "entropy"])
def test_func_derivatives_of_forward_derivatives(kind, name, outer, point):
    # Torch gives 0 for forward ones of a function that does nothing about it.
    found = outer(func.jacfwd(lambda x: getattr(kind(x), name)()))(point)
    exact = func.hessian(lambda x: getattr(Enumerated(kind, x, 4), name)())(point)
    assert exact.abs().max() > 0.1
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-13)


@KINDS
@OVER_FORWARD
@pytest.mark.parametrize("place", ["p", "q"])
def test_func_derivatives_of_forward_derivatives_of_a_divergence_from_itself(kind, outer, place):
    # Where p is q the gradient is 0, and the Hessian is the Fisher matrix: that of log Z.
    def divergence(x):
        pair = (kind(x), kind(X[0]))
        return torch.distributions.kl_divergence(*(pair if place == "p" else pair[::-1]))

    found = outer(func.jacfwd(divergence))(X[0])
    exact = func.hessian(lambda x: Enumerated(kind, x, 4).log_partition())(X[0])
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-13)


@KINDS
def test_reverse_derivatives_of_a_dual_level(kind):
    x, tangent = (0 * X[0]).requires_grad_(), X[1]
    with forward_ad.dual_level():
        entropy = kind(forward_ad.make_dual(x, tangent)).entropy()
        (found,) = torch.autograd.grad(forward_ad.unpack_dual(entropy).tangent, x)
    hessian = func.hessian(lambda x: Enumerated(kind, x, 4).entropy())(x.detach())
    exact = (hessian * tangent).sum((-1, -2))
    assert exact.abs().max() > 0.1
    assert torch.allclose(found, exact, rtol=1e-11, atol=1e-13)


@KINDS
def test_func_third_derivatives_forwards(kind):
    def third(value):
        for seed in (1, 2, 3):
            value = partial(directional, value, scores(5, 5, seed=seed))
        return value(X[0])

    def directional(value, direction, x):
        return func.jvp(value, (x,), (direction,))[1]

    found = third(lambda x: kind(x).log_partition())
    exact = third(lambda x: Enumerated(kind, x, 4).log_partition())
    assert exact.abs() > 1e-3
    assert torch.allclose(found, exact, rtol=1e-11)


@NAMES
@pytest.mark.parametrize("requires_grad", [False, True])
def test_func_leaves_scores_alone_that_it_does_not_transform(name, requires_grad):
    fixed = X.clone().requires_grad_(requires_grad)
    expected = getattr(DependencyTrees(X, lengths=LENGTHS), name)()

    def scaled(factor):
        return factor * getattr(DependencyTrees(fixed, lengths=LENGTHS), name)()

    one = torch.ones((), dtype=X.dtype)
    assert torch.equal(func.vmap(scaled)(one[None])[0], expected)
    assert torch.equal(func.jvp(scaled, (one,), (one,))[1], expected)
    assert torch.equal(func.grad(lambda x: scaled(x).sum())(one), expected.sum())


def test_func_grad_passes_through_a_condition():
    known = torch.tensor([-1, 2, -1, -1, -1])

    def evidence(x):
        return DependencyTrees(x).condition(heads=known).log_partition()

    expected = DependencyTrees(X[0]).condition(heads=known).arc_marginals()
    assert torch.equal(func.grad(evidence)(X[0]), expected)
    assert torch.equal(func.jacfwd(evidence)(X[0]), expected)


@pytest.mark.parametrize(
    "ask",
    [
        lambda trees: trees.best_tree(),
        lambda trees: trees.sample_without_replacement(2).heads,
        lambda trees: trees.condition(heads=torch.tensor([-1, 2, -1, -1, -1])).entropy(),
    ],
)
def test_func_vmap_of_what_it_does_not_map_is_refused(ask):
    with pytest.raises(NotImplementedError, match=r"cannot be mapped by torch\.func\.vmap"):
        func.vmap(lambda x: ask(DependencyTrees(x)), randomness="same")(X)


def test_batched_gradients():
    x, values = X.clone().requires_grad_(), scores(2, 5, 5, seed=1)
    means = DependencyTrees(x).expectation(values)
    (found,) = torch.autograd.grad(
        means, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True
    )

    def mean(x, values):
        return Enumerated(DependencyTrees, x, 4).expectation(values)

    for graph in range(2):
        exact = func.grad(mean)(X[graph], values[graph])
        assert torch.allclose(found[graph, graph], exact, rtol=1e-11, atol=1e-13)
        assert not found[graph, 1 - graph].any()


def test_func_vmap_of_trees_that_broadcast_with_the_batch():
    trees = DependencyTrees(X)
    heads = trees.sample((3, 4), generator=torch.Generator().manual_seed(0))
    weights = scores(4, 3, 2, seed=1)

    def value(x, heads):  # heads of shape (3, 2, 5), as many as there are graphs
        return DependencyTrees(x).log_prob(heads)

    mapped = func.vmap(value, in_dims=(None, 1))
    assert torch.equal(mapped(X, heads), trees.log_prob(heads).movedim(1, 0))
    found = func.grad(lambda x: (mapped(x, heads) * weights).sum())(X)
    expected = func.grad(
        lambda x: (DependencyTrees(x).log_prob(heads).movedim(1, 0) * weights).sum()
    )
    assert torch.allclose(found, expected(X), rtol=1e-13, atol=1e-15)
    one = heads[0, 0, 0]  # one tree for all graphs
    found = func.vmap(lambda x: DependencyTrees(x).log_prob(one), in_dims=1)(X[None])
    assert torch.equal(found, trees.log_prob(one)[:, None])


# ---- torch.compile


def loss(x):
    trees = DependencyTrees(x, lengths=LENGTHS)
    divergence = torch.distributions.kl_divergence(trees, SpanningTrees(x.sin(), lengths=LENGTHS))
    variance = trees.variance(x.cos().detach())
    return trees.entropy() - trees.log_partition() + divergence + variance


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_forward_and_backward_in_one_graph(backend):
    torch._dynamo.reset()
    gradients, values = [], []
    for called in (loss, torch.compile(loss, fullgraph=True, backend=backend)):
        x = X.clone().requires_grad_()
        value = called(x)
        value.sum().backward()
        values.append(value.detach())
        gradients.append(x.grad)
    assert torch.allclose(*values, rtol=1e-13)
    assert torch.allclose(*gradients, rtol=1e-12, atol=1e-14)


def test_compile_log_prob_and_sample():
    torch._dynamo.reset()

    def draw(x):
        trees = DependencyTrees(x, lengths=LENGTHS)
        heads = trees.sample((5,))
        return heads, trees.log_prob(heads)

    torch.manual_seed(0)
    x = X.clone().requires_grad_()
    heads, log_prob = torch.compile(draw, fullgraph=True, backend="aot_eager")(x)
    trees = DependencyTrees(X, lengths=LENGTHS)
    assert bool(trees.support.check(heads).all())
    assert torch.equal(log_prob.detach(), trees.log_prob(heads))
    log_prob.sum().backward()
    y = X.clone().requires_grad_()
    DependencyTrees(y, lengths=LENGTHS).log_prob(heads).sum().backward()
    assert torch.equal(x.grad, y.grad)


@pytest.mark.parametrize(
    "ask",
    [
        lambda trees: trees.condition(heads=torch.tensor([[-1, 2, -1, -1, -1]] * 2)).entropy(),
        lambda trees: trees.best_tree(),
        lambda trees: trees.best_trees(3).log_prob,
        lambda trees: trees.minimum_risk_tree(),
        lambda trees: trees.sample_without_replacement(2).num_drawn,
        lambda trees: trees.sample(generator=torch.Generator().manual_seed(0)),
    ],
    ids=["condition", "best_tree", "best_trees", "minimum_risk", "distinct", "generator"],
)
def test_compile_continues_behind_what_breaks_the_graph(ask):
    torch._dynamo.reset()

    def doubled(x):
        return 2 * ask(DependencyTrees(x.sin(), lengths=LENGTHS))

    assert torch.equal(torch.compile(doubled, backend="aot_eager")(X), doubled(X))


def test_compile_of_vmap():
    torch._dynamo.reset()
    mapped = func.vmap(lambda x, length: DependencyTrees(x, lengths=length).entropy())
    compiled = torch.compile(mapped, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(X, LENGTHS), mapped(X, LENGTHS))


@pytest.mark.parametrize(
    "derivative",
    [
        lambda value: func.grad(value)(X[0]),
        lambda value: func.jvp(value, (X[0],), (X[1],))[1],
        lambda value: func.hessian(value)(X[0]),
    ],
    ids=["grad", "jvp", "hessian"],
)
def test_compile_of_derivatives_by_func_is_right_or_refused(derivative):
    def entropy(x):
        return DependencyTrees(x).entropy()

    torch._dynamo.reset()
    found = torch.compile(lambda: derivative(entropy), backend="aot_eager")()
    assert torch.equal(found, derivative(entropy))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"derivatives by torch\.func"):
        torch.compile(lambda: derivative(entropy), fullgraph=True, backend="aot_eager")()


@NAMES
@pytest.mark.parametrize("is_compiled_before", [False, True])
def test_compiled_functions_keep_the_tangents_of_a_dual_level(name, is_compiled_before):
    torch._dynamo.reset()

    def value(x):
        return getattr(DependencyTrees(x, lengths=LENGTHS), name)().square().sum() * x.sum()

    compiled = torch.compile(value, fullgraph=True, backend="aot_eager")
    tangent = scores(2, 5, 5, seed=1)
    _, expected = func.jvp(value, (X,), (tangent,))
    if is_compiled_before:  # without any tangent: torch takes the same code for both
        compiled(X)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(compiled(forward_ad.make_dual(X, tangent))).tangent
    assert torch.allclose(found, expected, rtol=1e-13)


@NAMES
def test_derivatives_of_operators_are_right_or_refused(name):
    def value(x):
        return getattr(torch.ops.arborand, name)(x, LENGTHS, True, 1)

    tangent = scores(2, 5, 5, seed=1)
    _, expected = func.jvp(
        lambda x: getattr(DependencyTrees(x, lengths=LENGTHS), name)(), (X,), (tangent,)
    )
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(value(forward_ad.make_dual(X, tangent))).tangent
    assert torch.equal(found, expected)
    for derivative in (
        lambda: func.jvp(value, (X,), (tangent,)),
        lambda: func.grad(lambda x: value(x).sum())(X),
    ):
        with pytest.raises(NotImplementedError, match=f"the operator arborand::{name}"):
            derivative()


def test_compiled_errors_on_values_are_raised_when_it_runs():
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x: DependencyTrees(x).log_partition(), fullgraph=True, backend="aot_eager"
    )
    assert compiled(X).shape == (2,)
    with pytest.raises(InvalidWeightsError, match=r"log_weights\[0, 0, 1\] is nan"):
        compiled(torch.full_like(X, math.nan))
    assert compiled(X).shape == (2,)


ARGUMENTS = {
    "log_partition": (),
    "arc_marginals": (),
    "arc_covariances": (scores(2, 5, 5, seed=1),),
    "entropy": (),
    "entropy_gradient": (),
    "log_evidence": (X < 1.0,),
    "log_prob": (DependencyTrees(X, lengths=LENGTHS).sample((3,)),),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_opcheck(name):
    x = X.clone().requires_grad_()
    operator = getattr(torch.ops.arborand, name).default
    last = ("value",) if name == "log_prob" else ()
    torch.library.opcheck(operator, (x, *ARGUMENTS[name], LENGTHS, True, 1, *last))


LAST_ARGUMENTS = {
    "arc_cumulants": (scores(2, 5, 5, seed=1), scores(2, 5, 5, seed=2)),
    "entropy_gradient_tangents": (scores(2, 5, 5, seed=1),),
}


@pytest.mark.parametrize("name", LAST_ARGUMENTS)
def test_opcheck_where_the_chain_of_derivatives_ends(name):
    # The scores have no derivative here, the directions have.
    directions = [direction.clone().requires_grad_() for direction in LAST_ARGUMENTS[name]]
    operator = getattr(torch.ops.arborand, name).default
    torch.library.opcheck(operator, (X, *directions, LENGTHS, True, 1))


def test_opcheck_kl_divergence():
    x, y = X.clone().requires_grad_(), X.sin().requires_grad_()
    operator = torch.ops.arborand.kl_divergence.default
    torch.library.opcheck(operator, (x, y, LENGTHS, LENGTHS, True, False, 1))


@pytest.mark.parametrize("name", ["renyi_entropy", "renyi_entropy_gradient"])
def test_opcheck_renyi_entropy(name):
    operator = getattr(torch.ops.arborand, name).default
    torch.library.opcheck(operator, (X.clone().requires_grad_(), LENGTHS, True, 1, 1.5))


def test_every_operation_is_checked():
    checked = {*ARGUMENTS, *LAST_ARGUMENTS, "kl_divergence", "checked"}
    assert checked | {"renyi_entropy", "renyi_entropy_gradient"} == set(OPERATIONS)


def test_opcheck_checked():
    x = X.clone().requires_grad_()
    torch.library.opcheck(torch.ops.arborand.checked.default, (x, X.isnan(), "{} is wrong"))


def test_opcheck_sample():
    key = torch.tensor([1, 2])
    torch.library.opcheck(torch.ops.arborand.sample.default, (X, key, LENGTHS, True, 1, 3, None))


# ---- modes


def test_inference_mode():
    with torch.inference_mode():
        trees = DependencyTrees(scores(2, 5, 5))
        assert trees.arc_marginals().sum().item() == pytest.approx(8)
        assert trees.log_prob(trees.sample((3,))).shape == (3, 2)
        assert trees.best_tree().shape == (2, 5)


def test_activation_checkpointing_draws_the_same_trees_again():
    def reward(x):
        trees = DependencyTrees(x)
        return trees.log_prob(trees.sample((20,))).sum()

    gradients = []
    for run in (reward, lambda x: checkpoint(reward, x, use_reentrant=False)):
        torch.manual_seed(3)
        x = X.clone().requires_grad_()
        run(x).backward()
        gradients.append(x.grad)
    assert torch.equal(*gradients)


def test_autocast():
    linear = torch.nn.Linear(8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = linear(torch.randn(8, 8, generator=torch.Generator().manual_seed(0)))
        x.retain_grad()
        trees = DependencyTrees(x)
        answer = trees.log_partition() + trees.entropy()
    answer.backward()
    assert x.dtype == torch.bfloat16
    assert answer.dtype == torch.float32
    law = arborand.DependencyTrees(x.detach().double().numpy())
    parts = torch.tensor(np.stack([law.arc_marginals(), law.entropy_gradient()]))
    # Both are rounded to eight bits, and so is their sum.
    tolerance = 2.0**-8 * (parts.abs().sum(0) + parts.sum(0).abs())
    assert ((x.grad.double() - parts.sum(0)).abs() <= tolerance).all()
    assert linear.weight.grad.dtype == torch.float32
    assert linear.weight.grad.any()


# torch's own warning that the mode is slow
@pytest.mark.filterwarnings("ignore:Anomaly Detection:UserWarning")
def test_anomaly_detection_finds_nothing():
    values = scores(5, 5, seed=1)

    def total(trees):
        return trees.entropy() + trees.log_partition() + trees.covariance(values, values)

    x = X[0].clone()
    x[1, 2] = -math.inf
    x.requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        total(DependencyTrees(x)).backward()
    # An enumeration of finite scores: with this one, trees of the arc have probability 0.
    expected = func.grad(lambda x: total(Enumerated(DependencyTrees, x, 4)))(
        x.detach().clamp(min=-1e4)
    )
    assert torch.allclose(x.grad, expected, rtol=1e-11, atol=1e-13)


def test_meta_tensors():
    x = torch.empty(2, 3, 5, 5, device="meta", requires_grad=True)
    trees = DependencyTrees(x)
    assert trees.log_partition().shape == (2, 3)
    assert trees.sample((7,)).shape == (7, 2, 3, 5)
    trees.entropy().sum().backward()
    assert x.grad.shape == x.shape


def on_meta(tensor):
    return tensor.to("meta")


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    "ask",
    [
        lambda x: DependencyTrees(x).log_prob(on_meta(DependencyTrees(X).best_tree())),
        lambda x: DependencyTrees(x).arc_covariances(on_meta(X)),
        lambda x: torch.distributions.kl_divergence(
            DependencyTrees(x), DependencyTrees(on_meta(X))
        ),
        lambda x: DependencyTrees(on_meta(x)).arc_covariances(X),
        lambda x: torch.ops.arborand.entropy(x, on_meta(LENGTHS), True, 1),
        lambda x: operations.sample(x, torch.tensor([1, 2]), on_meta(LENGTHS), True, 1, 3, None),
    ],
    ids=["heads", "direction", "divergence", "scores", "lengths", "draws"],
)
def test_meta_tensors_beside_others_are_refused(ask, requires_grad):
    with pytest.raises(ValueError, match="some tensors are on the device meta"):
        ask(X.clone().requires_grad_(requires_grad))


def test_lengths_are_on_the_device_of_the_scores():
    with pytest.raises(NotImplementedError, match="meta"):  # has nothing to move
        DependencyTrees(X, lengths=on_meta(LENGTHS))
    assert DependencyTrees(on_meta(X), lengths=LENGTHS).entropy().is_meta
    expected = DependencyTrees(X, lengths=LENGTHS).log_partition()
    with torch.device("meta"):
        assert torch.equal(DependencyTrees(X, lengths=[4, 3]).log_partition(), expected)


def test_fake_tensors():
    with FakeTensorMode():
        x = torch.empty(2, 5, 5, dtype=torch.bfloat16)
        trees = DependencyTrees(x, lengths=torch.tensor([4, 3]))
        assert trees.arc_marginals().dtype == torch.float32
        assert trees.log_partition().shape == (2,)


@KINDS
def test_empty_batches(kind):
    x = torch.randn(0, 6, 6, requires_grad=True)
    trees = kind(x)
    assert trees.log_partition().shape == (0,)
    assert trees.arc_marginals().shape == (0, 6, 6)
    assert trees.sample((3,)).shape == (3, 0, 6)
    assert trees.log_prob(trees.sample((3,))).shape == (3, 0)
    assert trees.best_tree().shape == (0, 6)
    (trees.entropy().sum() + trees.log_partition().sum()).backward()
    assert x.grad.shape == x.shape


def test_transposed_scores():
    x = scores(2, 5, 5)
    assert torch.equal(
        DependencyTrees(x.mT).log_partition(), DependencyTrees(x.mT.contiguous()).log_partition()
    )


@pytest.mark.parametrize("is_contiguous", [False, True])
def test_scores_whose_sign_torch_keeps_apart(is_contiguous):
    x = torch.complex(scores(2, 5, 5), -X).conj().imag  # as conj of a complex tensor does
    if is_contiguous:
        x = torch._neg_view(-X)
    assert x.is_neg()
    assert x.is_contiguous() == is_contiguous
    trees, expected = DependencyTrees(x), DependencyTrees(X)
    for name in ("log_partition", "entropy", "arc_marginals", "best_tree", "minimum_risk_tree"):
        assert torch.equal(getattr(trees, name)(), getattr(expected, name)())
    assert torch.equal(
        func.grad(lambda x: DependencyTrees(x).entropy().sum())(x),
        func.grad(lambda x: DependencyTrees(x).entropy().sum())(X),
    )
    assert torch.equal(
        func.grad(lambda x: (DependencyTrees(x).mode * x[..., 0]).sum())(x),
        func.grad(lambda x: (DependencyTrees(x).mode * x[..., 0]).sum())(X),
    )


# ---- copies and processes


def assert_a_copy_is_the_same(make, kind):
    trees = kind(X.clone(), lengths=LENGTHS)
    other = make(trees)
    assert type(other) is kind
    trees.log_weights.zero_()  # of which a copy knows nothing
    assert torch.equal(other.entropy(), kind(X, lengths=LENGTHS).entropy())


@KINDS
def test_pickling(kind):
    assert_a_copy_is_the_same(lambda trees: pickle.loads(pickle.dumps(trees)), kind)


@KINDS
def test_deepcopy(kind):
    assert_a_copy_is_the_same(copy.deepcopy, kind)


class DrawnTrees(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return DependencyTrees(torch.zeros(12, 12), workers=2).sample((3,))


@pytest.mark.parametrize("start", ["fork", "spawn"])
# Python's own warning, whoever forks with threads around
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_data_loader_workers_draw_different_trees_and_the_same_again(start):
    runs = []
    DependencyTrees(torch.zeros(12, 12), workers=2).sample((3,))  # threads before the fork
    for _ in range(2):
        torch.manual_seed(0)
        loader = torch.utils.data.DataLoader(
            DrawnTrees(), batch_size=2, num_workers=2, multiprocessing_context=start
        )
        runs.append(torch.cat(list(loader)).reshape(-1, 12))
    assert torch.equal(*runs)
    assert len(torch.unique(runs[0], dim=0)) == 24


# ---- what is private in torch, and may be gone

FALLBACKS = {
    "num_dispatch_modes": lambda: 1,
    "are_transforms_active": lambda: True,
    "keeps_graph": lambda: True,
    "will_execute": lambda node: True,
}


@pytest.mark.parametrize("name", FALLBACKS)
def test_answers_are_the_same_without_what_torch_may_lack(name, monkeypatch):
    def answers():
        x = X.clone().requires_grad_()
        trees = DependencyTrees(x, lengths=LENGTHS)
        heads = torch.tensor([[-1, 0, 1, 1, 1], [-1, 2, 0, 2, -1]])
        loss = trees.entropy() + trees.variance(scores(2, 5, 5, seed=1)) - trees.log_prob(heads)
        (gradient,) = torch.autograd.grad(loss.sum() + trees.log_partition().square().sum(), x)
        hessian = func.hessian(lambda x: DependencyTrees(x).entropy())(X[0])
        return loss.detach(), gradient, hessian

    expected = answers()
    monkeypatch.setattr(hooks, name, FALLBACKS[name])
    for found, right in zip(answers(), expected, strict=True):
        assert torch.allclose(found, right, rtol=1e-12, atol=1e-14)


def test_products_are_refused_if_torch_does_not_tell_what_a_pass_wants(monkeypatch):
    monkeypatch.setattr(hooks, "will_execute", FALLBACKS["will_execute"])
    value = lambda x: DependencyTrees(x).entropy()  # noqa: E731
    with pytest.raises(NotImplementedError, match="differentiated for the third time"):
        torch.autograd.functional.hvp(value, X[0], X[1])


def test_forward_derivatives_are_refused_if_they_would_be_zero(monkeypatch):
    monkeypatch.delattr(forward_ad, "_set_fwd_grad_enabled")
    with forward_ad.dual_level():
        trees = DependencyTrees(forward_ad.make_dual(X, X))
        with pytest.raises(NotImplementedError, match="use reverse mode"):
            trees.entropy()


def test_a_graph_that_cannot_be_broken_is_refused(monkeypatch):
    monkeypatch.delattr(torch._dynamo, "graph_break")
    with pytest.raises(NotImplementedError, match="some reason"):
        hooks.break_graph("some reason")
    monkeypatch.delattr(torch._C, "_functorch")
    assert not hooks.is_differentiated_by_func()


# ---- errors on values


def no_tree():
    x = torch.zeros(2, 4, 4)
    x[1, :, 2] = -math.inf
    return x


@pytest.mark.parametrize("mode", ["eager", "vmap", "compile"])
def test_errors_on_values_are_raised_in_every_mode(mode):
    torch._dynamo.reset()

    def log_partition(x):
        return DependencyTrees(x).log_partition()

    called = {
        "eager": log_partition,
        "vmap": func.vmap(log_partition),
        "compile": torch.compile(log_partition, fullgraph=True, backend="aot_eager"),
    }[mode]
    with pytest.raises(NoTreeError, match=r"batch item \[1\] .* node 2"):
        called(no_tree())
    x = torch.zeros(2, 4, 4)
    x[1, 2, 3] = math.nan
    with pytest.raises(InvalidWeightsError, match=r"log_weights\[1, 2, 3\] is nan"):
        called(x)


def test_log_prob_refuses_what_is_not_a_tree():
    with pytest.raises(InvalidTreeError, match="cycle"):
        DependencyTrees(torch.zeros(4, 4)).log_prob(torch.tensor([-1, 2, 1, 0]))
