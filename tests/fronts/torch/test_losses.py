"""Losses with their gradients: what a training step asks for, read from the scores in one go."""

import contextlib
import math

import numpy as np
import pytest
import torch
from torch import func
from torch._dynamo import compiled_autograd
from torch.autograd import forward_ad, grad

import arborand
from arborand import InvalidWeightsError, NoTreeError
from arborand.torch import DependencyTrees
from tests.fronts.torch.enumerated import KINDS

LOSSES = pytest.mark.parametrize(
    ("loss", "gradient_name"),
    [("log_partition", "arc_marginals"), ("entropy", "entropy_gradient")],
)
LENGTHS = torch.tensor([11, 1, 6])
DTYPES = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
}


def scores(seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = 3 * torch.randn(3, 12, 12, generator=generator, dtype=torch.float64)
    x[0, 3, 5] = -math.inf
    return x


def with_junk(x):
    """Put NaN wherever nothing is read."""
    x = x.clone()
    x[:, :, 0] = math.nan
    x.diagonal(dim1=-2, dim2=-1)[:] = math.nan
    for graph, length in enumerate(LENGTHS.tolist()):
        x[graph, length + 1 :] = x[graph, :, length + 1 :] = math.nan
    return x


@KINDS
@LOSSES
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_loss_and_its_gradient_are_those_of_arrays_rounded_once(
    kind, loss, gradient_name, dtype, workers
):
    x = with_junk(scores()).to(dtype).requires_grad_()
    law = getattr(arborand, kind.__name__)(x.detach().double().numpy(), lengths=LENGTHS.numpy())
    value = getattr(kind(x, lengths=LENGTHS, workers=workers), loss)()
    expected = torch.tensor(getattr(law, loss)()).to(DTYPES[dtype])
    if loss == "log_partition":
        assert torch.equal(value, expected)
    else:  # computed beside its gradient, and not alone
        torch.testing.assert_close(
            value, expected, rtol=1e-12 if dtype == torch.float64 else 1e-6, atol=0
        )
    value.sum().backward()
    expected = torch.tensor(getattr(law, gradient_name)()).to(DTYPES[dtype]).to(dtype)
    assert x.grad.dtype == dtype
    assert torch.equal(x.grad, expected)


@KINDS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("workers", [1, 2])
def test_sentences_of_one_length_have_what_each_has_alone(kind, dtype, workers):
    """The core solves four of them at once; one of these leaves the range of double."""
    lengths = torch.tensor([6, 9, 6, 6, 9, 6, 11, 6, 9, 6, 6, 6, 9, 4])
    generator = torch.Generator().manual_seed(7)
    x = 3 * torch.randn(len(lengths), 12, 12, generator=generator, dtype=torch.float64)
    x[3, 2, 1:] = -math.inf
    x[5] *= 30
    x = x.to(dtype).requires_grad_()
    value = kind(x, lengths=lengths, workers=workers).log_partition()
    value.sum().backward()
    for graph, length in enumerate(lengths.tolist()):
        alone = x.detach()[graph, : length + 1, : length + 1].clone().requires_grad_()
        log_partition = kind(alone).log_partition()
        log_partition.backward()
        assert torch.equal(value[graph], log_partition)
        expected = torch.zeros(12, 12, dtype=dtype)
        expected[: length + 1, : length + 1] = alone.grad
        assert torch.equal(x.grad[graph], expected)


def test_scores_that_are_wrong_in_a_group_are_named():
    x = torch.zeros(9, 6, 6)
    x[6, 2, 3] = math.nan
    with pytest.raises(InvalidWeightsError, match=r"\[6, 2, 3\]"):
        DependencyTrees(x).log_partition()
    x[6] = -math.inf
    with pytest.raises(NoTreeError, match=r"batch item \[6\]"):
        DependencyTrees(x).log_partition()


@KINDS
@LOSSES
def test_scores_may_lie_in_memory_in_any_order(kind, loss, gradient_name):
    plain = scores().requires_grad_()
    getattr(kind(plain), loss)().sum().backward()
    turned = scores().transpose(-1, -2).contiguous().transpose(-1, -2).requires_grad_()
    getattr(kind(turned), loss)().sum().backward()
    assert torch.equal(turned.grad, plain.grad)
    one = scores()[0].requires_grad_()
    getattr(kind(one.expand(4, 12, 12)), loss)().sum().backward()
    assert torch.allclose(one.grad, 4 * plain.grad[0], rtol=1e-15, atol=0)


@KINDS
@LOSSES
def test_a_graph_that_is_kept_gives_its_gradient_again(kind, loss, gradient_name):
    x = scores().requires_grad_()
    value = getattr(kind(x), loss)()
    weights = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    (first,) = grad(value, x, weights, retain_graph=True)
    expected = first.clone()
    first.zero_()  # as an optimiser may
    (second,) = grad(value, x, weights, retain_graph=True)
    assert torch.equal(second, expected)
    (last,) = grad(value, x, weights)
    assert torch.equal(last, expected)
    with pytest.raises(RuntimeError, match="second time"):
        grad(value, x, weights)


@LOSSES
@pytest.mark.parametrize("primal", [1.0, 2.0])
def test_a_gradient_has_the_tangent_of_what_it_is_multiplied_with(loss, gradient_name, primal):
    x = scores().requires_grad_()
    tangent = torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
    with forward_ad.dual_level():
        weights = forward_ad.make_dual(torch.full_like(tangent, primal), tangent)
        (found,) = grad(getattr(DependencyTrees(x), loss)(), x, weights)
        found = forward_ad.unpack_dual(found).tangent
    (expected,) = grad(getattr(DependencyTrees(x), loss)(), x, tangent)
    assert torch.equal(found, expected)


@LOSSES
def test_what_was_saved_for_a_gradient_is_left_alone(loss, gradient_name):
    saved = []

    def pack(tensor):
        saved.append((tensor, tensor.clone()))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        value = getattr(DependencyTrees(scores().requires_grad_()), loss)().mean()
    value.backward()
    assert len(saved) >= 2
    for now, before in saved:
        assert torch.equal(now, before)


@LOSSES
# torch's own warning that it is slow where something is not compiled
@pytest.mark.filterwarnings("ignore")
def test_compiled_autograd(loss, gradient_name):
    torch._dynamo.reset()
    gradients = []
    for context in (
        contextlib.nullcontext(),
        compiled_autograd._enable(torch.compile(backend="aot_eager")),
    ):
        x = scores().requires_grad_()
        value = getattr(DependencyTrees(x), loss)().square().sum()
        with context:
            value.backward()
        gradients.append(x.grad)
    assert torch.allclose(*gradients, rtol=1e-13, atol=0)


@KINDS
@LOSSES
def test_gradients_of_two_passes_add_up(kind, loss, gradient_name):
    x = scores().requires_grad_()
    getattr(kind(x), loss)().sum().backward()
    once = x.grad.clone()
    getattr(kind(x), loss)().sum().backward()
    assert torch.equal(x.grad, 2 * once)


@LOSSES
def test_a_loss_inside_a_transform_of_something_else_is_found(loss, gradient_name):
    x = scores().requires_grad_()

    def shifted(shift):
        return getattr(DependencyTrees(x), loss)() + shift

    found = func.vmap(shifted)(torch.arange(2, dtype=torch.float64))
    expected = getattr(DependencyTrees(x.detach()), loss)()
    assert torch.allclose(found, torch.stack([expected, expected + 1]), rtol=1e-12, atol=0)


@KINDS
@LOSSES
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_wrong_with_scores_is_named_where_a_gradient_is_wanted(
    kind, loss, gradient_name, workers
):
    def found(x, lengths=None):
        return getattr(kind(x.requires_grad_(), lengths=lengths, workers=workers), loss)()

    for bad, name in ((math.nan, "nan"), (math.inf, "inf")):
        x = scores()
        x[2, 4, 1] = bad
        with pytest.raises(InvalidWeightsError, match=rf"log_weights\[2, 4, 1\] is {name}"):
            found(x)
    x = scores()
    x[1, :, 7] = -math.inf
    with pytest.raises(NoTreeError, match=r"batch item \[1\] .* node 7"):
        found(x)
    for length in (0, 12, -1, 2**32 + 5):
        with pytest.raises(InvalidWeightsError, match=rf"lengths\[1\] is {length}:"):
            found(scores(), torch.tensor([3, length, 4]))


@LOSSES
def test_a_batch_may_be_empty(loss, gradient_name):
    x = torch.empty(0, 3, 3, requires_grad=True)
    value = getattr(DependencyTrees(x), loss)()
    assert value.shape == (0,)
    value.sum().backward()
    assert x.grad.shape == (0, 3, 3)


def test_the_scores_of_the_caller_are_left_alone():
    x = with_junk(scores())
    before = x.numpy().tobytes()
    DependencyTrees(x.requires_grad_(), lengths=LENGTHS).log_partition().sum().backward()
    assert np.array_equal(
        np.frombuffer(before, np.uint8), x.detach().numpy().view(np.uint8).ravel()
    )
