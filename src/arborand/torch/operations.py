"""What the core computes, as operations of torch with derivatives of their own.

Each operation exists twice over one computation.  As an operator of ``torch.library`` it is seen by
``torch.compile``, by fake and meta tensors.  As an ``autograd.Function`` it has derivatives of any
mode (reverse, forward, batched), which ``torch.func`` needs, and which Dynamo does not look into.
Where an operator is to be differentiated, it calls the function.  What ``torch.library`` offers for
derivatives has no forward ones: they would be silently 0.

No derivative needs a tape.  With s the scores, P the marginals and v a direction of the scores:

    log Z            ->  P
    P                ->  Hess v, the covariances of arcs with a sum over arcs
    Hess v           ->  cumulants of third order; in v, Hess again
    entropy H        ->  its gradient  ->  the derivative of that in a direction
    log p(t)         ->  indicators of t's arcs minus P
    KL(p || q)       ->  in p, Hess_p (s_p - s_q); in q, P_q - P_p

All these second and third derivatives are symmetric, so that one computation serves both modes.
Where the chain ends, an error is raised.

Conventions: the leading axes of every tensor are those of the batch.  First come the tensors that
have derivatives, then the others, then what is no tensor.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad
from torch.library import Library, custom_op, infer_schema, register_fake, register_vmap

from arborand import _core, divergence, expectations, inference, sampling
from arborand.expectations import check_arc_values
from arborand.kinds import TreeKind
from arborand.torch.conversion import (
    answer_dtype,
    key_words,
    not_compiled,
    to_array,
    to_graphs,
    to_tensor,
    value_and_gradient,
)
from arborand.trees import check_trees, num_root_arcs

# How many modes watch operators, for instance to trace them.  Where torch has no such count, the
# short way round its operators is never taken.
num_dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)

are_transforms_active = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
# Whether a backward pass may be followed by another through the same graph.
keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)

# Whether a backward pass goes on to a node.
will_execute = getattr(torch._C, "_will_engine_execute_node", lambda node: True)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arborand.validation import Graphs

# ---- the computations


def _compute_log_partition(
    log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    compute = _core.log_partition
    return value_and_gradient(compute, log_weights, lengths, kind, workers, gradient=False)[0]


def _compute_arc_marginals(
    log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    return to_tensor(inference.arc_marginals(graphs, workers), log_weights)


def _compute_arc_covariances(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    answer = expectations.arc_covariances(graphs, _direction(direction, graphs), workers)
    return to_tensor(answer.reshape(log_weights.shape), log_weights)


def _compute_arc_cumulants(
    log_weights: Tensor,
    direction: Tensor,
    other: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    answer = expectations.arc_cumulants(
        graphs, _direction(direction, graphs), _direction(other, graphs), workers
    )
    return to_tensor(answer.reshape(log_weights.shape), log_weights)


def _compute_entropy(
    log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    compute = _core.entropy
    return value_and_gradient(compute, log_weights, lengths, kind, workers, gradient=False)[0]


def _compute_entropy_gradient(
    log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    return to_tensor(inference.entropy_gradient(graphs, workers), log_weights)


def _compute_entropy_gradient_tangents(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    answer = expectations.entropy_gradient_tangents(graphs, _direction(direction, graphs), workers)
    return to_tensor(answer.reshape(log_weights.shape), log_weights)


def _compute_log_prob(
    log_weights: Tensor, heads: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    array = np.moveaxis(to_array(heads), -2, 0)
    trees = check_trees(array, graphs.lengths.reshape(graphs.batch_shape)).astype(np.int32)
    answer = inference.log_prob(graphs, inference.normalise(graphs, workers), trees)
    if TreeKind(kind).has_single_root:
        answer[num_root_arcs(trees) != 1] = -np.inf
    return to_tensor(np.ascontiguousarray(np.moveaxis(answer, 0, -1)), log_weights)


def _compute_kl_divergence(
    log_weights: Tensor,
    other: Tensor,
    lengths: Tensor | None,
    other_lengths: Tensor | None,
    kind: int,
    other_kind: int,
    workers: int,
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    other_graphs = to_graphs(other, other_lengths, other_kind)
    if not np.array_equal(graphs.lengths, other_graphs.lengths):
        raise ValueError(
            "the graphs of the two distributions differ in length: kl_divergence compares graphs "
            "of the same number of words"
        )
    answer = divergence.kl_divergence(graphs, other_graphs, workers)
    return to_tensor(answer, log_weights, answer_dtype(_wider(log_weights, other)))


def _compute_sample(
    log_weights: Tensor,
    key: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
    num_draws: int,
    method: str | None,
) -> Tensor:
    graphs = to_graphs(log_weights, lengths, kind)
    heads, _ = sampling.sample(
        graphs, num_draws, key=key_words(key), method=method, workers=workers
    )
    return to_tensor(heads, log_weights, torch.int64)


def _compute_checked(numbers: Tensor, is_wrong: Tensor, message: str) -> Tensor:
    wrong = np.argwhere(to_array(is_wrong))
    if len(wrong):
        raise ValueError(message.format(list(map(int, wrong[0])) or ""))
    return numbers.clone()


def _direction(direction: Tensor, graphs: Graphs) -> NDArray[np.float64]:
    try:
        return check_arc_values(to_array(direction), "direction", graphs)
    except ValueError as error:
        raise ValueError(
            f"{error}; if this was asked for a derivative, what was differentiated is infinite"
        ) from None


def _wider(first: Tensor, second: Tensor) -> torch.dtype:
    return torch.promote_types(first.dtype, second.dtype)


# ---- their shapes, for fake and meta tensors


def _batch(log_weights: Tensor, *_: Any) -> Tensor:
    return log_weights.new_empty(log_weights.shape[:-2], dtype=answer_dtype(log_weights.dtype))


def _arcs(log_weights: Tensor, *_: Any) -> Tensor:
    return log_weights.new_empty(log_weights.shape, dtype=answer_dtype(log_weights.dtype))


def _the_same(numbers: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(numbers)


def _batch_and_trees(log_weights: Tensor, heads: Tensor, *_: Any) -> Tensor:
    return log_weights.new_empty(heads.shape[:-1], dtype=answer_dtype(log_weights.dtype))


def _batch_of_two(log_weights: Tensor, other: Tensor, *_: Any) -> Tensor:
    dtype = answer_dtype(_wider(log_weights, other))
    return log_weights.new_empty(log_weights.shape[:-2], dtype=dtype)


def _drawn_trees(
    log_weights: Tensor,
    key: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
    num_draws: int,
    method: str | None,
) -> Tensor:
    _check_devices((log_weights, lengths))  # the key is on the CPU, or with its generator
    return log_weights.new_empty((num_draws, *log_weights.shape[:-1]), dtype=torch.int64)


def _check_devices(arguments: tuple[Any, ...]) -> None:
    """Refuse shapes without values beside values: torch would return memory as it finds it."""
    is_meta = {argument.is_meta for argument in arguments if isinstance(argument, Tensor)}
    if len(is_meta) == 2:
        raise ValueError(
            "some tensors are on the device meta, which has no values, and others are not: move "
            "scores, lengths, heads, directions and the other distribution to one device"
        )


# ---- what the operations have in common


class _Operation(Function):
    """A computation with derivatives, which need its arguments, and its answer if it is kept."""

    compute: ClassVar[Callable[..., Tensor]]
    operator: ClassVar[Any]
    keeps_answer: ClassVar[bool] = False

    @classmethod
    def forward(cls, *arguments: Any) -> Any:
        return (cls.compute if _have_values(arguments) else cls.operator)(*arguments)

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        is_tensor = [isinstance(argument, Tensor) for argument in inputs]
        kept = [argument for argument in inputs if isinstance(argument, Tensor)]
        ctx.is_tensor = is_tensor
        ctx.others = [argument for argument in inputs if not isinstance(argument, Tensor)]
        if cls.keeps_answer:
            kept.append(output)
        # What has no tangent is not differentiated: that is not the same as a tangent of 0.
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        """Batches are what the core works on: one more axis in front."""
        answer = cls.apply(*_with_axis(info, in_dims, arguments))  # type: ignore[no-untyped-call]
        return answer, 0


def _with_axis(info: Any, in_dims: tuple[int | None, ...], arguments: tuple[Any, ...]) -> list[Any]:
    return [
        argument
        if not isinstance(argument, Tensor)
        else argument.expand(info.batch_size, *argument.shape)
        if dim is None
        else argument.movedim(dim, 0)
        for argument, dim in zip(arguments, in_dims, strict=True)
    ]


def _inputs(ctx: Any) -> list[Any]:
    """Give back the arguments of the call, and behind them what else was kept."""
    tensors, others = iter(ctx.saved_tensors), iter(ctx.others)
    arguments = [next(tensors) if is_tensor else next(others) for is_tensor in ctx.is_tensor]
    return [*arguments, *tensors]


_library = Library("arborand", "FRAGMENT")


def _register(
    operation: type[_Operation], compute: Callable[..., Tensor], shape: Callable[..., Tensor]
) -> None:
    """Make the operator that goes with an operation, with the same derivatives."""
    name = compute.__name__.removeprefix("_compute_")
    schema = infer_schema(compute, mutates_args=())
    _library.define(f"{name}{schema}", tags=[torch.Tag.pt2_compliant_tag])
    operator = getattr(torch.ops.arborand, name).default

    def differentiate(keys: Any, *arguments: Any) -> Any:
        if _has_derivatives(arguments):
            if are_transforms_active():  # which look for functions before they call an operator
                raise NotImplementedError(
                    f"torch.func does not differentiate the operator arborand::{name}; it does "
                    "differentiate the methods of the distributions of arborand.torch"
                )
            return operation.apply(*arguments)  # type: ignore[no-untyped-call]
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)

    def shape_of(*arguments: Any) -> Tensor:
        _check_devices(arguments)
        return shape(*arguments)

    def mapped(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        return operator(*_with_axis(info, in_dims, arguments)), 0

    _library.impl(name, not_compiled(compute), "CompositeExplicitAutograd")
    _library.impl(name, differentiate, "Autograd", with_keyset=True)
    register_fake(operator, shape_of, lib=_library)
    register_vmap(operator, mapped, lib=_library)
    operation.operator = operator
    operation.compute = staticmethod(compute)
    operation.backward = staticmethod(_of_something(operation.backward))  # type: ignore[method-assign]
    operation.jvp = staticmethod(_nested(operation.jvp))  # type: ignore[method-assign]


def _of_something(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Let nothing flow back where nothing arrives.

    A plain function, and no method of a class: compiled autograd asks for one.
    """

    def answer(ctx: Any, grad: Tensor | None) -> Any:
        return (None,) * len(ctx.is_tensor) if grad is None else backward(ctx, grad)

    return answer


def _nested(jvp: Callable[..., Any]) -> Callable[..., Any]:
    """Let forward derivatives be differentiated forwards again.

    Torch switches them off while it asks for one, and would take the next one for 0.
    """

    def answer(ctx: Any, *tangents: Any) -> Any:
        with forward_ad._set_fwd_grad_enabled(True):
            # Without this derivative's own tangents; those of the others stay.
            kept = [forward_ad.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]
            return jvp(
                SimpleNamespace(saved_tensors=kept, others=ctx.others, is_tensor=ctx.is_tensor),
                *tangents,
            )

    return answer


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _is_differentiated_by_func() -> bool:
    """Whether ``torch.func`` differentiates what is being compiled."""
    functorch = torch._C._functorch
    return any(
        interpreter.key() != functorch.TransformType.Vmap
        for interpreter in functorch.get_interpreter_stack() or ()
    )


def _call(operation: type[_Operation], operator: Any, *arguments: Any) -> Tensor:
    answer: Tensor
    if torch.compiler.is_compiling():
        if _is_differentiated_by_func():
            # It does not differentiate operators.
            torch._dynamo.graph_break(
                msg="arborand: derivatives by torch.func inside torch.compile are not compiled; "
                "use torch.autograd, or fullgraph=False"
            )
        answer = operator(*arguments)  # Dynamo would not look it up in the class
    else:
        answer = _run(operation, *arguments)
    return answer


@not_compiled
def _run(operation: type[_Operation], *arguments: Any) -> Tensor:
    answer: Tensor
    if are_transforms_active() or not _have_values(arguments) or _has_derivatives(arguments):
        answer = operation.apply(*arguments)  # type: ignore[no-untyped-call]
    else:  # what torch does around a function takes longer than the work on a short sentence
        answer = operation.compute(*arguments)
    return answer


def _have_values(arguments: tuple[Any, ...]) -> bool:
    """Whether the numbers can be read: not if tensors are fake, wrapped by a transform, traced."""
    if num_dispatch_modes():
        return False
    try:
        for argument in arguments:  # not `all`: this takes a tenth of a call on a short sentence
            if isinstance(argument, Tensor) and not argument.data_ptr():
                return False
    except RuntimeError:  # no memory behind it
        return False
    return True


def _has_derivatives(arguments: tuple[Any, ...]) -> bool:
    is_recorded = torch.is_grad_enabled()
    for argument in arguments:
        if isinstance(argument, Tensor) and (
            (is_recorded and argument.requires_grad)
            or forward_ad.unpack_dual(argument).tangent is not None
        ):
            return True
    return False


def _awaits_backward(scores: Tensor) -> bool:
    """Whether a plain backward pass can be expected, and no other kind of derivative."""
    return (
        scores.requires_grad
        and not torch.compiler.is_compiling()
        and not are_transforms_active()
        and torch.is_grad_enabled()
        and _have_values((scores,))
        and forward_ad.unpack_dual(scores).tangent is None
    )


@not_compiled
def _apply_with_gradient(operation: type[_WithGradient], arguments: tuple[Any, ...]) -> Tensor:
    answer: Tensor = operation.apply(*arguments)  # type: ignore[no-untyped-call]
    return answer


def _for_arcs(numbers: Tensor) -> Tensor:
    """One number per graph, to be multiplied with one per arc."""
    return numbers[..., None, None]


def _inner(
    answers: Tensor, tangents: Tensor, log_weights: Tensor, lengths: Tensor | None
) -> Tensor:
    """Sum over arcs; tangents are not read where there is none, whatever stands there.

    Answers are: an arc whose derivative is 0 may have a second one that is not.
    """
    return (answers * torch.where(_is_arc(log_weights, lengths), tangents, 0.0)).sum((-1, -2))


def _is_arc(log_weights: Tensor, lengths: Tensor | None) -> Tensor:
    """Where there are arcs: what the gate of the library finds, told by torch."""
    node = torch.arange(log_weights.shape[-1], device=log_weights.device)
    is_arc = (log_weights > -math.inf) & (node > 0) & (node != node[:, None])
    if lengths is not None:
        is_node = node <= lengths[..., None]
        is_arc = is_arc & is_node[..., None] & is_node[..., None, :]
    return is_arc


def _are_scores_differentiated(ctx: Any) -> bool:
    """Whether a backward pass wants the gradient in the first argument.

    Scores that need a gradient do so in every pass, also in one that asks for that in a direction:
    torch finds Hessian-vector products by differentiating a gradient in what it is multiplied with.
    Torch tells of every node but a leaf whether a pass goes on to it.
    """
    return bool(ctx.needs_input_grad[0] and will_execute(ctx.next_functions[0][0]))


def _no_derivative(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what}: log_partition and log_prob have derivatives of up to third order, marginals, "
        "entropy and kl_divergence of up to second, variances and covariances of first; detach() "
        "the scores in what is differentiated once too often"
    )


# ---- the operations


class _Number(_Operation):
    """A number per graph, and the operation that is its gradient."""

    gradient: ClassVar[Callable[..., Tensor]]

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> Any:
        log_weights, *rest = _inputs(ctx)
        answer = _for_arcs(grad) * cls.gradient(log_weights, *rest)
        return answer.to(log_weights.dtype), None, None, None

    @classmethod
    def jvp(cls, ctx: Any, *tangents: Any) -> Any:
        log_weights, lengths, *rest = _inputs(ctx)
        gradient = cls.gradient(log_weights, lengths, *rest)
        return _inner(gradient, tangents[0], log_weights, lengths)


class _LogPartition(_Number):
    @staticmethod
    def gradient(*arguments: Any) -> Tensor:
        return arc_marginals(*arguments)


class _Entropy(_Number):
    @staticmethod
    def gradient(*arguments: Any) -> Tensor:
        return entropy_gradient(*arguments)


class _WithGradient(Function):
    """A number and its gradient: the core finds both for less than one after the other."""

    compute: ClassVar[Callable[..., None]]
    number: ClassVar[type[_Number]]

    # Without a `setup_context`, which only transforms need, and which costs as much as a sentence.
    @classmethod
    def forward(cls, ctx: Any, log_weights: Tensor, lengths: Tensor | None, *others: Any) -> Any:
        value, gradient = value_and_gradient(
            cls.compute, log_weights, lengths, *others, gradient=True
        )
        ctx.number, ctx.others = cls.number, others
        ctx.save_for_backward(log_weights, lengths, gradient)
        return value

    # Not a method of the class: compiled autograd asks for a plain function.
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, lengths, gradient = ctx.saved_tensors
        if torch.is_grad_enabled():  # once more, with derivatives of its own
            answer = _for_arcs(grad) * ctx.number.gradient(log_weights, lengths, *ctx.others)
        elif not keeps_graph() and _are_ones(grad):  # nobody will ask for the gradient again
            answer = gradient.detach()
        else:
            answer = _for_arcs(grad) * gradient
        if answer.dtype != log_weights.dtype:
            answer = answer.to(log_weights.dtype)
        return answer, None, None, None


def _are_ones(grad: Tensor) -> bool:
    """Whether numbers are 1, and nothing else: as for a sum of losses."""
    return (
        _have_values((grad,))
        and forward_ad.unpack_dual(grad).tangent is None
        and set(grad.flatten().tolist()) == {1.0}
    )


class _LogPartitionWithGradient(_WithGradient):
    compute = _core.log_partition
    number = _LogPartition


class _EntropyWithGradient(_WithGradient):
    compute = _core.entropy
    number = _Entropy


class _Gradient(_Operation):
    """The gradient of a number per graph, and the operation that is its derivative."""

    derivative: ClassVar[Callable[..., Tensor]]  # in a direction

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> Any:
        log_weights, *rest = _inputs(ctx)
        return cls.derivative(log_weights, grad, *rest).to(log_weights.dtype), None, None, None

    @classmethod
    def jvp(cls, ctx: Any, *tangents: Any) -> Any:
        log_weights, *rest = _inputs(ctx)
        return cls.derivative(log_weights, tangents[0], *rest)


class _ArcMarginals(_Gradient):
    @staticmethod
    def derivative(*arguments: Any) -> Tensor:
        return arc_covariances(*arguments)


class _EntropyGradient(_Gradient):
    @staticmethod
    def derivative(*arguments: Any) -> Tensor:
        return entropy_gradient_tangents(*arguments)


class _ArcCovariances(_Operation):
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, direction, *rest = _inputs(ctx)
        answers: list[Tensor | None] = [None] * 5
        if ctx.needs_input_grad[0]:
            answer = arc_cumulants(log_weights, direction, grad, *rest)
            answers[0] = answer.to(log_weights.dtype)
        if ctx.needs_input_grad[1]:
            answers[1] = arc_covariances(log_weights, grad, *rest).to(direction.dtype)
        return tuple(answers)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        log_weights, direction, *rest = _inputs(ctx)
        answer: Any = 0.0
        if tangents[0] is not None:
            answer = answer + arc_cumulants(log_weights, direction, tangents[0], *rest)
        if tangents[1] is not None:
            answer = answer + arc_covariances(log_weights, tangents[1], *rest)
        return answer


class _ArcCumulants(_Operation):
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, direction, other, *rest = _inputs(ctx)
        if _are_scores_differentiated(ctx):
            raise _no_derivative("log Z is differentiated for the fourth time")
        answers: list[Tensor | None] = [None] * 6
        if ctx.needs_input_grad[1]:
            answers[1] = arc_cumulants(log_weights, other, grad, *rest).to(direction.dtype)
        if ctx.needs_input_grad[2]:
            answers[2] = arc_cumulants(log_weights, direction, grad, *rest).to(other.dtype)
        return tuple(answers)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        log_weights, direction, other, *rest = _inputs(ctx)
        if tangents[0] is not None:
            raise _no_derivative("log Z is differentiated for the fourth time")
        answer: Any = 0.0
        if tangents[1] is not None:
            answer = answer + arc_cumulants(log_weights, tangents[1], other, *rest)
        if tangents[2] is not None:
            answer = answer + arc_cumulants(log_weights, direction, tangents[2], *rest)
        return answer


class _EntropyGradientTangents(_Operation):
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, direction, *rest = _inputs(ctx)
        if _are_scores_differentiated(ctx):
            raise _no_derivative("the entropy is differentiated for the third time")
        answer = entropy_gradient_tangents(log_weights, grad, *rest)
        return None, answer.to(direction.dtype), None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        log_weights, _, *rest = _inputs(ctx)
        if tangents[0] is not None:
            raise _no_derivative("the entropy is differentiated for the third time")
        return entropy_gradient_tangents(log_weights, tangents[1], *rest)


class _LogProb(_Operation):
    """Trees outside the support have the constant -inf: they add nothing to a gradient."""

    keeps_answer = True

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, heads, *rest, answer = _inputs(ctx)
        weight = torch.where(answer == -math.inf, 0.0, grad)
        marginals = arc_marginals(log_weights, *rest)
        share = weight[..., None] * (heads >= 0)
        counts = torch.zeros_like(marginals).scatter_add(-2, heads.clamp(min=0), share)
        total = counts - _for_arcs(weight.sum(-1)) * marginals
        return total.to(log_weights.dtype), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        log_weights, heads, lengths, *rest, answer = _inputs(ctx)
        marginals = arc_marginals(log_weights, lengths, *rest)
        mean = _inner(marginals, tangents[0], log_weights, lengths)
        chosen = tangents[0].gather(-2, heads.clamp(min=0))
        total = torch.where(heads >= 0, chosen, 0.0).sum(-1) - mean[..., None]
        return torch.where(answer == -math.inf, 0.0, total).to(answer.dtype)


class _Checked(_Operation):
    """Numbers as they are, unless something is wrong: that is seen when the operation runs."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0]


_INFINITE = (
    "kl_divergence{} is infinite, and has no derivative: the first distribution has trees that the "
    "second does not allow"
)


class _KullbackLeiblerDivergence(_Operation):
    keeps_answer = True

    @staticmethod
    def _gradients(ctx: Any) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
        log_weights, other, lengths, _, kind, other_kind, workers, _ = _inputs(ctx)

        def in_first() -> Tensor:
            # No tree of finite divergence has an arc that only one of the two allows.
            is_arc = (log_weights > -math.inf) & (other > -math.inf)
            first, second = (torch.where(is_arc, scores, 0.0) for scores in (log_weights, other))
            return arc_covariances(log_weights, first - second, lengths, kind, workers)

        def in_second() -> Tensor:
            return arc_marginals(other, lengths, other_kind, workers) - arc_marginals(
                log_weights, lengths, kind, workers
            )

        return in_first, in_second

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, other, *_, answer = _inputs(ctx)
        in_first, in_second = _KullbackLeiblerDivergence._gradients(ctx)
        grad = checked(grad, answer == math.inf, _INFINITE)
        answers: list[Tensor | None] = [None] * 7
        if ctx.needs_input_grad[0]:
            answers[0] = (_for_arcs(grad) * in_first()).to(log_weights.dtype)
        if ctx.needs_input_grad[1]:
            answers[1] = (_for_arcs(grad) * in_second()).to(other.dtype)
        return tuple(answers)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        log_weights, other, lengths, *_, answer = _inputs(ctx)
        in_first, in_second = _KullbackLeiblerDivergence._gradients(ctx)
        total: Any = 0.0
        if tangents[0] is not None:
            total = total + _inner(in_first(), tangents[0], log_weights, lengths)
        if tangents[1] is not None:
            total = total + _inner(in_second(), tangents[1], other, lengths)
        return checked(total, answer == math.inf, _INFINITE)


_register(_LogPartition, _compute_log_partition, _batch)
_register(_ArcMarginals, _compute_arc_marginals, _arcs)
_register(_ArcCovariances, _compute_arc_covariances, _arcs)
_register(_ArcCumulants, _compute_arc_cumulants, _arcs)
_register(_Entropy, _compute_entropy, _batch)
_register(_EntropyGradient, _compute_entropy_gradient, _arcs)
_register(_EntropyGradientTangents, _compute_entropy_gradient_tangents, _arcs)
_register(_LogProb, _compute_log_prob, _batch_and_trees)
_register(_Checked, _compute_checked, _the_same)
_register(_KullbackLeiblerDivergence, _compute_kl_divergence, _batch_of_two)

_sample = custom_op("arborand::sample", mutates_args=())(_compute_sample)
_sample.register_fake(_drawn_trees)
_draw = not_compiled(_compute_sample)


# ---- what the distributions call

_operators = torch.ops.arborand


def log_partition(log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int) -> Tensor:
    """Compute log Z of every graph."""
    arguments = (log_weights, lengths, kind, workers)
    if _awaits_backward(log_weights):
        return _apply_with_gradient(_LogPartitionWithGradient, arguments)
    return _call(_LogPartition, _operators.log_partition, *arguments)


def arc_marginals(log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int) -> Tensor:
    """Compute the probability of every arc."""
    return _call(_ArcMarginals, _operators.arc_marginals, log_weights, lengths, kind, workers)


def arc_covariances(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    """Compute the derivative of all marginals in a direction of the scores."""
    return _call(
        _ArcCovariances,
        _operators.arc_covariances,
        log_weights,
        direction,
        lengths,
        kind,
        workers,
    )


def arc_cumulants(
    log_weights: Tensor,
    direction: Tensor,
    other: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
) -> Tensor:
    """Compute the derivative of `arc_covariances` in another direction."""
    return _call(
        _ArcCumulants,
        _operators.arc_cumulants,
        log_weights.view_as(log_weights),  # see _are_scores_differentiated
        direction,
        other,
        lengths,
        kind,
        workers,
    )


def entropy(log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int) -> Tensor:
    """Compute the entropy of every graph's trees, in nats."""
    arguments = (log_weights, lengths, kind, workers)
    if _awaits_backward(log_weights):
        return _apply_with_gradient(_EntropyWithGradient, arguments)
    return _call(_Entropy, _operators.entropy, *arguments)


def entropy_gradient(
    log_weights: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    """Compute the derivative of the entropy in every score."""
    return _call(_EntropyGradient, _operators.entropy_gradient, log_weights, lengths, kind, workers)


def entropy_gradient_tangents(
    log_weights: Tensor, direction: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    """Compute the derivative of `entropy_gradient` in a direction of the scores."""
    return _call(
        _EntropyGradientTangents,
        _operators.entropy_gradient_tangents,
        log_weights.view_as(log_weights),  # see _are_scores_differentiated
        direction,
        lengths,
        kind,
        workers,
    )


def log_prob(
    log_weights: Tensor, heads: Tensor, lengths: Tensor | None, kind: int, workers: int
) -> Tensor:
    """Compute the log-probability of trees of shape (*batch_shape, num_trees, m)."""
    return _call(_LogProb, _operators.log_prob, log_weights, heads, lengths, kind, workers)


def checked(numbers: Tensor, is_wrong: Tensor, message: str) -> Tensor:
    """Give numbers back; raise an error if anything is wrong, with its index for {}."""
    return _call(_Checked, _operators.checked, numbers, is_wrong, message)


def kl_divergence(
    log_weights: Tensor,
    other: Tensor,
    lengths: Tensor | None,
    other_lengths: Tensor | None,
    kind: int,
    other_kind: int,
    workers: int,
) -> Tensor:
    """Compute the divergence of every graph's trees from those of another."""
    return _call(
        _KullbackLeiblerDivergence,
        _operators.kl_divergence,
        log_weights,
        other,
        lengths,
        other_lengths,
        kind,
        other_kind,
        workers,
    )


def sample(
    log_weights: Tensor,
    key: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
    num_draws: int,
    method: str | None,
) -> Tensor:
    """Draw trees of shape (num_draws, *batch_shape, m); nothing flows back through them."""
    arguments = (log_weights.detach(), key, lengths, kind, workers, num_draws, method)
    answer: Tensor
    if torch.compiler.is_compiling() or not _have_values(arguments):
        answer = _sample(*arguments)
    else:
        answer = _draw(*arguments)
    return answer
