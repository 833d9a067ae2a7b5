"""The table of derivatives as operations of torch.

Each operation exists in two forms that share one computation.  As an operator of ``torch.library``,
it works with ``torch.compile`` and with fake and meta tensors.  As an ``autograd.Function``, it has
derivatives of any mode (reverse, forward, batched), which ``torch.func`` needs, and which Dynamo
does not look into.  An operator that is differentiated calls the function.  The derivatives that
``torch.library`` itself offers have no forward mode: such derivatives would silently be 0.

What is computed, and what its derivatives are, is in :mod:`arborand.derivatives`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad
from torch.library import Library, register_fake, register_vmap

from arborand import sampling
from arborand.derivatives import OPERATIONS, Answer, Operation, Refused
from arborand.torch import hooks
from arborand.torch.conversion import answer_dtype, key_words, not_compiled, to_array, to_tensor
from arborand.values import graphs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_library = Library("arborand", "FRAGMENT")
_SCHEMA = {int: "int", float: "float", str: "str"}


# ---- a function of autograd for each operation


class _Made(Function):
    """A computation with derivatives, which need its arguments and, if kept, its answer."""

    operation: ClassVar[Operation]
    compute: ClassVar[Callable[..., Tensor]]
    operator: ClassVar[Any]

    @classmethod
    def forward(cls, *arguments: Any) -> Any:
        return (cls.compute if _have_values(arguments) else cls.operator)(*arguments)

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        ctx.is_tensor = [isinstance(argument, Tensor) for argument in inputs]
        ctx.others = [argument for argument in inputs if not isinstance(argument, Tensor)]
        kept = [argument for argument in inputs if isinstance(argument, Tensor)]
        if cls.operation.keeps_answer:
            kept.append(output)
        # An argument without a tangent is not differentiated, which is not the same as a tangent of
        # 0.
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        """Add an axis in front: the core works on batches."""
        mapped, place = _with_axis(cls.operation, info, in_dims, arguments)
        return cls.apply(*mapped), place  # type: ignore[no-untyped-call]


def _given(ctx: Any, kept: Sequence[Tensor]) -> tuple[list[Any], Tensor | None]:
    """Return the arguments of a call, and the answer if it was kept."""
    tensors, others = iter(kept), iter(ctx.others)
    arguments = [next(tensors) if is_tensor else next(others) for is_tensor in ctx.is_tensor]
    return arguments, next(tensors, None)


def _make(operation: Operation) -> type[_Made]:
    """Make the function of an entry of the table, and the operator that goes with it."""
    rules = list(operation.rules.values())

    # Plain functions, not methods of a class: compiled autograd requires them.
    def backward(ctx: Any, grad: Tensor | None) -> Any:
        if grad is None:
            return (None,) * len(ctx.is_tensor)
        arguments, answer = _given(ctx, ctx.saved_tensors)
        is_wanted = [
            needed and not (isinstance(rule, Refused) and not _goes_on(ctx, place))
            for place, (rule, needed) in enumerate(zip(rules, ctx.needs_input_grad, strict=False))
        ]
        found = operation.cotangents(front, grad, is_wanted, arguments, answer)
        return *(
            None if one is None else one.to(argument.dtype)
            for one, argument in zip(found, arguments, strict=False)
        ), *[None] * (len(arguments) - len(rules))

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with hooks.nested_forward_derivatives():
            # Remove this derivative's own tangents; those of others stay.
            kept = [forward_ad.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]
            return operation.tangent(front, tangents, *_given(ctx, kept))

    def compute(*arguments: Any) -> Tensor:
        arrays = [to_array(one) if isinstance(one, Tensor) else one for one in arguments]
        return to_tensor(operation.compute(*arrays), arguments[0])

    made: type[_Made] = type(
        operation.name,
        (_Made,),
        {
            "operation": operation,
            "compute": staticmethod(_checked if operation.name == "checked" else compute),
            "backward": staticmethod(backward),
            "jvp": staticmethod(jvp),
        },
    )
    made.operator = _operator(made)
    return made


def _checked(numbers: Tensor, is_wrong: Tensor, message: str) -> Tensor:
    """Leave the numbers on their device."""
    OPERATIONS["checked"].compute(np.empty(0), to_array(is_wrong), message)
    return numbers.clone()


def _goes_on(ctx: Any, place: int) -> bool:
    """Whether a backward pass needs the gradient with respect to an argument.

    Scores that require a gradient do so in every pass, even in one for the gradient in a direction:
    torch computes Hessian-vector products by differentiating a gradient with respect to its
    cotangent.  For every node except a leaf, torch can say whether a pass continues to it.
    """
    return hooks.will_execute(ctx.next_functions[place][0])


def _with_axis(
    operation: Operation, info: Any, in_dims: tuple[int | None, ...], arguments: tuple[Any, ...]
) -> tuple[list[Any], int]:
    """Add an axis in front of all tensors, and return its place in the answer."""
    mapped = [
        argument
        if not isinstance(argument, Tensor)
        else argument.expand(info.batch_size, *argument.shape)
        if dim is None
        else argument.movedim(dim, 0)
        for argument, dim in zip(arguments, in_dims, strict=True)
    ]
    if operation.answer is not Answer.TREE:
        return mapped, 0
    # Trees have draws in front, and broadcast with the batch, to which the axis belongs.
    num_batch_axes, heads = mapped[0].dim() - 3, mapped[1]
    heads = heads.reshape(
        info.batch_size, *[1] * (num_batch_axes - heads.dim() + 2), *heads.shape[1:]
    )
    num_draw_axes = heads.dim() - 2 - num_batch_axes
    mapped[1] = heads.movedim(0, num_draw_axes)
    return mapped, num_draw_axes


# ---- and an operator of torch.library


def _operator(made: type[_Made]) -> Any:
    operation = made.operation
    name, num_scores = operation.name, len(operation.lengths)
    names = [f"Tensor {array}" for array in operation.rules]
    names += [f"Tensor? {lengths}" for lengths in operation.lengths]
    names += [f"{_SCHEMA[kind]} {other}" for other, kind in operation.rest.items()]

    def shape_of(*arguments: Any) -> Tensor:
        _check_devices(arguments)
        first = arguments[0]
        if operation.answer is Answer.ENTRY:
            return torch.empty_like(first)
        shape = first.shape if operation.answer is Answer.ARC else first.shape[:-2]
        if operation.answer is Answer.TREE:
            shape = torch.broadcast_shapes(arguments[1].shape[:-1], shape)
        dtype = first.dtype
        for scores in arguments[1:num_scores]:
            dtype = torch.promote_types(dtype, scores.dtype)
        return first.new_empty(shape, dtype=answer_dtype(dtype))  # type: ignore[no-any-return]

    def differentiate(keys: Any, *arguments: Any) -> Any:
        if not _has_derivatives(arguments):
            return hooks.below_autograd(operator, keys, arguments)
        if hooks.are_transforms_active():  # they look for functions before they call an operator
            raise NotImplementedError(
                f"torch.func does not differentiate the operator arborand::{name}; it does "
                "differentiate the methods of the distributions of arborand.torch"
            )
        return made.apply(*arguments)  # type: ignore[no-untyped-call]

    def mapped(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        with_axis, place = _with_axis(operation, info, in_dims, arguments)
        return operator(*with_axis), place

    operator = _define(name, names, made.compute, shape_of)
    _library.impl(name, differentiate, "Autograd", with_keyset=True)
    register_vmap(operator, mapped, lib=_library)
    return operator


def _define(
    name: str, names: list[str], compute: Callable[..., Tensor], shape_of: Callable[..., Tensor]
) -> Any:
    schema = f"{name}({', '.join(names)}) -> Tensor"
    _library.define(schema, tags=[torch.Tag.pt2_compliant_tag])
    _library.impl(name, not_compiled(compute), "CompositeExplicitAutograd")
    operator = getattr(torch.ops.arborand, name).default
    register_fake(operator, shape_of, lib=_library)
    return operator


def _check_devices(arguments: Sequence[Any]) -> None:
    """Refuse to mix tensors with and without values: torch would return uninitialised memory."""
    is_meta = {argument.is_meta for argument in arguments if isinstance(argument, Tensor)}
    if len(is_meta) == 2:
        raise ValueError(
            "some tensors are on the device meta, which has no values, and others are not: move "
            "scores, lengths, heads, directions and the other distribution to the same device"
        )


# ---- a number with its gradient


def _make_with_gradient(operation: Operation, compute: Callable[..., Any]) -> type[Function]:
    """Make a function that computes value and gradient together, for a plain backward pass."""

    # No `setup_context`: only transforms need it, and it takes as long as a sentence.
    def forward(ctx: Any, log_weights: Tensor, lengths: Tensor | None, *others: Any) -> Tensor:
        num_words = None if lengths is None else to_array(lengths)
        value, gradient = compute(to_array(log_weights), num_words, *others)
        ctx.others = others
        ctx.save_for_backward(log_weights, lengths, to_tensor(gradient, log_weights))
        return to_tensor(value, log_weights)

    def backward(ctx: Any, grad: Tensor) -> Any:
        log_weights, lengths, gradient = ctx.saved_tensors
        if torch.is_grad_enabled():  # once more, with derivatives of its own
            arguments = (log_weights, lengths, *ctx.others)
            (answer,) = operation.cotangents(front, grad, [True], arguments, None)
        elif not hooks.keeps_graph() and _are_ones(grad):  # it is not needed again
            answer = gradient.detach()
        else:
            answer = grad[..., None, None] * gradient
        if answer.dtype != log_weights.dtype:
            answer = answer.to(log_weights.dtype)
        return answer, None, *[None] * len(ctx.others)

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(f"{operation.name}_with_gradient", (Function,), methods)


def _are_ones(grad: Tensor) -> bool:
    """Whether all numbers are 1, as for a sum of losses."""
    return (
        _have_values((grad,))
        and forward_ad.unpack_dual(grad).tangent is None
        and set(grad.flatten().tolist()) == {1.0}
    )


@not_compiled
def _apply(function: type[Function], arguments: tuple[Any, ...]) -> Tensor:
    answer: Tensor = function.apply(*arguments)
    return answer


# ---- which of them is called


def _caller(made: type[_Made]) -> Callable[..., Tensor]:
    """Make the function that the distributions and the rules of derivatives call."""
    operation, operator = made.operation, made.operator
    has_end = any(isinstance(rule, Refused) for rule in operation.rules.values())
    with_gradient = operation.with_gradient
    at_once = None if with_gradient is None else _make_with_gradient(operation, with_gradient)

    def call(*arguments: Any) -> Tensor:
        answer: Tensor
        if at_once is not None and _awaits_backward(arguments[0]):
            return _apply(at_once, arguments)
        if has_end:
            arguments = (arguments[0].view_as(arguments[0]), *arguments[1:])  # see _goes_on
        if torch.compiler.is_compiling():
            if hooks.is_differentiated_by_func():
                # It does not differentiate operators.
                hooks.break_graph(
                    "arborand: derivatives by torch.func inside torch.compile are not compiled; "
                    "use torch.autograd, or fullgraph=False"
                )
            answer = operator(*arguments)  # Dynamo would not look it up in the class
        else:
            answer = _run(made, *arguments)
        return answer

    return call


@not_compiled
def _run(made: type[_Made], *arguments: Any) -> Tensor:
    answer: Tensor
    if hooks.are_transforms_active() or not _have_values(arguments) or _has_derivatives(arguments):
        answer = made.apply(*arguments)  # type: ignore[no-untyped-call]
    else:  # torch's overhead for a function exceeds the work on a short sentence
        answer = made.compute(*arguments)
    return answer


def _have_values(arguments: Sequence[Any]) -> bool:
    """Whether the values can be read: not if tensors are fake, traced or wrapped by a transform."""
    if hooks.num_dispatch_modes():
        return False
    try:
        for argument in arguments:  # not `all`: this takes a tenth of a call on a short sentence
            if isinstance(argument, Tensor) and not argument.data_ptr():
                return False
    except RuntimeError:  # it has no memory
        return False
    return True


def _has_derivatives(arguments: Sequence[Any]) -> bool:
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
        and not hooks.are_transforms_active()
        and torch.is_grad_enabled()
        and _have_values((scores,))
        and forward_ad.unpack_dual(scores).tangent is None
    )


class _TorchFront:
    """What the rules of derivatives need from torch, with the operations as attributes."""

    def __init__(self) -> None:
        for name, operation in OPERATIONS.items():
            setattr(self, name, _caller(_make(operation)))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...

    @staticmethod
    def where(condition: Tensor, first: Tensor | float, second: Tensor | float) -> Tensor:
        """Choose entry by entry."""
        return torch.where(condition, first, second)

    @staticmethod
    def stop_gradient(tensor: Tensor) -> Tensor:
        """Stop derivatives."""
        return tensor.detach()

    @staticmethod
    def has_arc(heads: Tensor) -> Tensor:
        """Whether [head, dependent] is an arc of each tree."""
        return heads[..., None, :] == torch.arange(heads.shape[-1], device=heads.device)[:, None]

    moveaxis = staticmethod(torch.moveaxis)
    broadcast_shapes = staticmethod(torch.broadcast_shapes)
    broadcast_to = staticmethod(torch.broadcast_to)

    @staticmethod
    def is_arc(log_weights: Tensor, lengths: Tensor | None) -> Tensor:
        """Mark the arcs, as the gate of the library does, but in torch."""
        node = torch.arange(log_weights.shape[-1], device=log_weights.device)
        is_arc = (log_weights > -math.inf) & (node > 0) & (node != node[:, None])
        if lengths is not None:
            is_node = node <= lengths[..., None]
            is_arc = is_arc & is_node[..., None] & is_node[..., None, :]
        return is_arc

    @staticmethod
    def sums_over_trees(values: Tensor, heads: Tensor) -> Tensor:
        """Add up values over the arcs of each tree."""
        flat, shape = _trees_last(heads, values.shape[:-2])
        chosen = values.gather(-2, flat.clamp(min=0))
        return torch.where(flat >= 0, chosen, 0.0).sum(-1).movedim(-1, 0).reshape(shape)

    @staticmethod
    def sums_over_arcs(weights: Tensor, heads: Tensor, like: Tensor) -> Tensor:
        """Add up weights over the trees that contain each arc."""
        flat, shape = _trees_last(heads, like.shape[:-2])
        flat_weights = weights.expand(shape).reshape(flat.shape[-2], *like.shape[:-2])
        share = flat_weights.movedim(0, -1)[..., None] * (flat >= 0)
        return torch.zeros_like(like).scatter_add(-2, flat.clamp(min=0), share)


def _trees_last(heads: Tensor, batch_shape: torch.Size) -> tuple[Tensor, torch.Size]:
    """Reshape trees to (*batch_shape, num_trees, m), and return their previous shape."""
    shape = torch.broadcast_shapes(heads.shape[:-1], batch_shape)
    num_trees = shape[: len(shape) - len(batch_shape)].numel()
    flat = heads.expand(*shape, heads.shape[-1]).reshape(num_trees, *batch_shape, heads.shape[-1])
    return flat.movedim(0, -2), shape


front = _TorchFront()


# ---- draws, through which no gradient flows


def _compute_sample(
    log_weights: Tensor,
    key: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
    num_draws: int,
    method: str | None,
) -> Tensor:
    graphs = graphs_of(to_array(log_weights), None if lengths is None else to_array(lengths), kind)
    heads, _ = sampling.sample(
        graphs, num_draws, key=key_words(key), method=method, workers=workers
    )
    return to_tensor(heads, log_weights, torch.int64)


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


_sample = _define(
    "sample",
    [
        "Tensor log_weights",
        "Tensor key",
        "Tensor? lengths",
        "int kind",
        "int workers",
        "SymInt num_draws",
        "str? method",
    ],
    _compute_sample,
    _drawn_trees,
)
_draw = not_compiled(_compute_sample)


def sample(log_weights: Tensor, *arguments: Any) -> Tensor:
    """Draw trees of shape (num_draws, *batch_shape, m).

    The arguments are those of the operator: key, lengths, kind, workers, num_draws, method.
    """
    log_weights = log_weights.detach()
    answer: Tensor
    if torch.compiler.is_compiling() or not _have_values((log_weights, *arguments)):
        answer = _sample(log_weights, *arguments)
    else:
        answer = _draw(log_weights, *arguments)
    return answer
