"""What the core computes, as operations of JAX, made from the table of derivatives.

The conventions are those of :mod:`arborand.derivatives`, with lengths always given, in int32, and
one more: directions of the scores may have further axes between those of the batch and their last
two.  Then each graph is differentiated in that many directions, but checked only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from arborand import best, conditioning, methods, sampling, without_replacement
from arborand.derivatives import OPERATIONS, Answer, Operation, along
from arborand.inference import normalise
from arborand.jax.hooks import (
    HANDLERS,
    in_front,
    make_primitive,
    move,
    set_cotangents,
    set_tangents,
)
from arborand.values import graphs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Front:
    """What the rules of the table need from JAX: these functions, and all operations (below)."""

    where = staticmethod(jnp.where)
    moveaxis = staticmethod(jnp.moveaxis)
    broadcast_shapes = staticmethod(jnp.broadcast_shapes)
    broadcast_to = staticmethod(jnp.broadcast_to)
    stop_gradient = staticmethod(jax.lax.stop_gradient)

    @staticmethod
    def has_arc(heads: Any) -> Any:
        """Mark the arcs of each tree."""
        return heads[..., None, :] == jnp.arange(heads.shape[-1])[:, None]

    @staticmethod
    def is_arc(log_weights: Any, lengths: Any) -> Any:
        """Mark the arcs."""
        node = jnp.arange(log_weights.shape[-1])
        is_node = node <= lengths[..., None]
        inside = is_node[..., None] & is_node[..., None, :]
        is_there = jax.lax.stop_gradient(log_weights) > -jnp.inf
        # Computed once: XLA would compute it again for each direction of a Hessian.
        return jax.lax.optimization_barrier(
            is_there & (node > 0) & (node != node[:, None]) & inside
        )

    @staticmethod
    def sums_over_trees(values: Any, heads: Any) -> Any:
        """Add up values over the arcs of each tree."""
        values = values.reshape(*[1] * (heads.ndim + 1 - values.ndim), *values.shape)
        chosen = jnp.take_along_axis(values, jnp.maximum(heads, 0)[..., None, :], -2)[..., 0, :]
        return jnp.where(heads >= 0, chosen, 0.0).sum(-1)


front: Any = _Front()


# ---- the operations of the table


def _with_as_many_directions(log_weights: Any, *rest: Any) -> tuple[Any, ...]:
    """Give all directions the same axes."""
    *directions, lengths = rest
    longest = max(directions, key=np.ndim)
    batch = longest.shape[: log_weights.ndim - 2]

    def expanded(direction: Any) -> Any:
        ones = [1] * (longest.ndim - direction.ndim)
        shaped = direction.reshape(*batch, *ones, *direction.shape[-2:]) if ones else direction
        return jnp.broadcast_to(shaped, longest.shape) if ones else shaped

    return (log_weights, *map(expanded, directions), lengths)


def _compute(operation: Operation, compute: Callable[..., Any]) -> Callable[..., Any]:
    def answer(*arrays: Any, **rest: Any) -> Any:
        if "direction" in operation.rules and arrays[1].ndim > arrays[0].ndim:
            log_weights, *directions, lengths = arrays
            graphs_of(log_weights, lengths, rest["kind"])  # errors name the graph alone
            more = tuple(range(log_weights.ndim - 2, directions[0].ndim - 2))
            shape = directions[0].shape
            arrays = (
                np.broadcast_to(np.expand_dims(log_weights, more), shape),
                *directions,
                np.broadcast_to(np.expand_dims(lengths, more), shape[:-2]),
            )
        return compute(*arrays, *_in_order(operation, rest))

    return answer


def _in_order(operation: Operation, rest: dict[str, Any]) -> list[Any]:
    return [rest[name] for name in operation.rest]


def _shapes(operation: Operation) -> Callable[..., list[Any]]:
    def shapes(first: Any, *others: Any, **_: Any) -> list[Any]:
        shape = {
            Answer.GRAPH: first.shape[:-2],
            Answer.ARC: others[0].shape if "direction" in operation.rules else first.shape,
            Answer.ENTRY: first.shape,
        }
        if operation.answer is Answer.TREE:
            return [(others[0].shape[:-1], first.dtype)]
        return [(shape[operation.answer], first.dtype)]

    return shapes


def _align_directions(
    arrays: Sequence[Any], axes: Sequence[int | None], size: int
) -> tuple[list[Any], int]:
    """Keep an axis that only directions have as one of theirs: the graph is checked once."""
    if axes[0] is not None or axes[-1] is not None:
        return in_front(arrays, axes, size)
    place = arrays[0].ndim - 2
    directions = [move(a, x, size, place) for a, x in zip(arrays[1:-1], axes[1:-1], strict=True)]
    return [arrays[0], *directions, arrays[-1]], place


def _align_trees(
    arrays: Sequence[Any], axes: Sequence[int | None], size: int
) -> tuple[list[Any], int]:
    """Make an axis that only heads have an axis of draws."""
    log_weights, heads, lengths = arrays
    if axes[0] is None and axes[-1] is None:
        return [log_weights, move(heads, axes[1], size), lengths], 0
    num_axes = heads.ndim - (axes[1] is not None)
    batch_axes = log_weights.ndim - 2 - (axes[0] is not None)
    place = num_axes - 1 - batch_axes
    aligned = move(log_weights, axes[0], size), move(heads, axes[1], size, place)
    return [*aligned, move(lengths, axes[2], size)], place


def _handler(operation: Operation) -> str:
    """Find the handler that computes what an operation does."""
    by_gradient = {"arc_marginals": "log_partition", "entropy_gradient": "entropy"}
    name = by_gradient.get(operation.name, operation.name)
    return name if name in HANDLERS else "python"


def _make(operation: Operation) -> Any:
    align = in_front
    if "direction" in operation.rules:
        align = _align_directions
    elif operation.answer is Answer.TREE:
        align = _align_trees
    primitive = make_primitive(
        operation.name,
        _compute(operation, operation.compute),
        _shapes(operation),
        align,
        _handler(operation),
    )

    def tangents(arrays: Any, given: Any, **rest: Any) -> Any:
        (answer,) = primitive.bind(*arrays, **rest)
        arguments = (*arrays, *_in_order(operation, rest))
        return [answer], [operation.tangent(front, given, arguments, answer)]

    def cotangents(cotangent: Any, is_wanted: Any, arrays: Any, **rest: Any) -> Any:
        arguments = (*arrays, *_in_order(operation, rest))
        return operation.cotangents(front, cotangent, is_wanted, arguments, None)

    set_tangents(primitive, tangents)
    if any(getattr(rule, "is_linear", False) for rule in operation.rules.values()):
        set_cotangents(primitive, cotangents)
    return primitive


def _make_with_gradient(operation: Operation, value: Any) -> None:
    """Compute a number and its gradient together when the number is differentiated."""
    (rule,) = operation.rules.values()
    of_graph, of_arc = _shapes(operation), _shapes(OPERATIONS[rule.of])  # type: ignore
    both = make_primitive(
        f"{operation.name}_with_gradient",
        _compute(operation, operation.with_gradient),  # type: ignore[arg-type]
        lambda *a, **s: [*of_graph(*a, **s), *of_arc(*a, **s)],
        in_front,
        _handler(operation),
    )

    def tangents(arrays: Any, given: Any, **rest: Any) -> Any:
        answer, gradient = both.bind(*arrays, **rest)
        return [answer], [along(front, gradient, given[0], *arrays)]

    def tangents_of_both(arrays: Any, given: Any, **rest: Any) -> Any:
        answer, gradient = both.bind(*arrays, **rest)
        arguments = (*arrays, *_in_order(operation, rest))
        slope = OPERATIONS[rule.of].tangent(front, given, arguments, gradient)  # type: ignore
        return [answer, gradient], [along(front, gradient, given[0], *arrays), slope]

    set_tangents(value, tangents)
    set_tangents(both, tangents_of_both)


def _caller(operation: Operation, primitive: Any) -> Callable[..., Any]:
    num_arrays = len(operation.rules) + len(operation.lengths)

    def call(*arguments: Any) -> Any:
        arrays = arguments[:num_arrays]
        if "direction" in operation.rules:
            arrays = _with_as_many_directions(*arrays)
        rest = dict(zip(operation.rest, arguments[num_arrays:], strict=True))
        return primitive.bind(*arrays, **rest)[0]

    return call


for _operation in OPERATIONS.values():
    _primitive = _make(_operation)
    setattr(front, _operation.name, _caller(_operation, _primitive))
    if _operation.with_gradient is not None:
        _make_with_gradient(_operation, _primitive)


# ---- what has no derivatives: its scores must not be differentiated

# The core counts methods from 0.
METHODS = methods.names(methods.WITH_REPLACEMENT)


def _for_each_key(draw: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """Draw for each key separately: axes of keys are those that ``vmap`` has added in front."""

    def answer(log_weights: Any, keys: Any, lengths: Any, **static: Any) -> tuple[Any, ...]:
        shape = keys.shape[:-1]
        drawn = []
        for i in np.ndindex(shape):
            first, second = np.ascontiguousarray(keys[i]).view(np.uint64)
            graphs = graphs_of(log_weights[i], lengths[i], static["kind"])
            drawn.append(draw(graphs, (int(first), int(second)), log_weights.dtype, **static))
        if not drawn:  # there is nothing to draw from
            types = _drawn_shapes(log_weights, keys, lengths, **static)
            return tuple(np.empty(*one) for one in types)
        return tuple(
            np.stack(column).reshape((*shape, *column[0].shape))
            for column in zip(*drawn, strict=True)
        )

    return answer


def _drawn_shapes(log_weights: Any, keys: Any, _: Any, *, num_draws: int, **static: Any) -> Any:
    num_mapped = len(keys.shape) - 1
    mapped, batch = log_weights.shape[:num_mapped], log_weights.shape[num_mapped:-2]
    heads = ((*mapped, num_draws, *batch, log_weights.shape[-1]), np.dtype(np.int32))
    if "is_distinct" not in static:
        return [heads]
    numbers = ((*mapped, num_draws, *batch), log_weights.dtype)
    return [heads, numbers, numbers, ((*mapped, *batch), np.dtype(np.int32))]


def _draw(
    graphs: Any,
    key: tuple[int, int],
    _: Any,
    *,
    kind: int,
    workers: int,
    num_draws: int,
    method: int,
) -> tuple[Any, ...]:
    found = sampling.sample(graphs, num_draws, key=key, method=METHODS[method], workers=workers)
    return found[:1]


def _draw_distinct(
    graphs: Any,
    key: Any,
    dtype: Any,
    *,
    kind: int,
    workers: int,
    num_draws: int,
    method: str,
    is_distinct: int,
) -> tuple[Any, ...]:
    drawn = without_replacement.sample_without_replacement(
        graphs, num_draws, key=key, method=method or None, workers=workers
    )
    return (
        fill(drawn.heads, num_draws, -1),
        fill(drawn.log_remaining, num_draws, -np.inf).astype(dtype),
        fill(drawn.perturbed_log_prob, num_draws, -np.inf).astype(dtype),
        np.asarray(drawn.num_drawn, np.int32),
    )


def fill(array: Any, count: int, value: float) -> Any:
    """Add rows until there are as many as were requested."""
    rest = np.full((count - len(array), *array.shape[1:]), value, array.dtype)
    return np.concatenate([array, rest])


def _best_trees(
    log_weights: Any, lengths: Any, *, kind: int, workers: int, k: int
) -> tuple[Any, ...]:
    graphs = graphs_of(log_weights, lengths, kind)
    found = best.best_trees(graphs, normalise(graphs, workers), k, workers=workers)
    return np.moveaxis(fill(found.heads, k, -1), 0, -2), np.asarray(found.num_found, np.int32)


def _minimum_risk_tree(log_weights: Any, lengths: Any, *, kind: int, workers: int) -> Any:
    return best.minimum_risk_tree(graphs_of(log_weights, lengths, kind), workers=workers)


def _allowed_arcs(
    log_weights: Any,
    include: Any,
    exclude: Any,
    heads: Any,
    allowed: Any,
    lengths: Any,
    *,
    kind: int,
    needs_tree: int,
) -> Any:
    graphs = graphs_of(log_weights, lengths, kind)
    if include.ndim > 2 and include.size + exclude.size:  # the arcs of each graph of a mapped call
        arrays = zip(log_weights, include, exclude, heads, allowed, lengths, strict=True)
        answers = [_allowed_arcs(*one, kind=kind, needs_tree=needs_tree) for one in arrays]
        return np.array(answers, np.bool_).reshape(log_weights.shape)
    arcs = (one.reshape(-1, 2).tolist() for one in (include, exclude))
    include, exclude = ([(head, dependent) for head, dependent in pairs] for pairs in arcs)
    asked = conditioning.check_condition(graphs, include, exclude, heads, allowed)
    if needs_tree:
        conditioning.condition(graphs, asked)
    return conditioning.allowed_arcs(graphs, asked).reshape(log_weights.shape)


_int32 = np.dtype(np.int32)
sample = make_primitive("sample", _for_each_key(_draw), _drawn_shapes, in_front, "sample")
sample_without_replacement = make_primitive(
    "sample_without_replacement", _for_each_key(_draw_distinct), _drawn_shapes, in_front
)
best_trees = make_primitive(
    "best_trees",
    _best_trees,
    lambda s, n, k, **_: [((*n.shape, k, s.shape[-1]), _int32), (n.shape, _int32)],
    in_front,
)
minimum_risk_tree = make_primitive(
    "minimum_risk_tree", _minimum_risk_tree, lambda s, n, **_: [(s.shape[:-1], _int32)], in_front
)
allowed_arcs = make_primitive(
    "allowed_arcs", _allowed_arcs, lambda s, *_, **__: [(s.shape, np.dtype(np.bool_))], in_front
)
