"""Primitives and their rules, which use parts of JAX without a promise of compatibility.

A primitive is made from a computation with NumPy arrays.  Called directly, it simply computes.  In
a compiled function, it becomes a call into the core on the CPU, through XLA's foreign function
interface (``src/core/python/xla.cpp``), and a callback to Python on every other device.  With
``ARBORAND_JAX_ROUTE=callback`` in the environment, the CPU uses the callback as well.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from arborand import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VARIABLE = "ARBORAND_JAX_ROUTE"
ROUTES = ("ffi", "callback")


def _find_route() -> str:
    route = os.environ.get(VARIABLE) or ROUTES[0]
    if route not in ROUTES:
        raise ValueError(f'{VARIABLE} is "{route}": use "ffi" or "callback", or leave it unset')
    return route


# How compiled functions reach the core on the CPU.
ROUTE = _find_route()

_computations: dict[str, Callable[..., list[np.ndarray]]] = {}


def _answer(attributes: dict[str, Any], arrays: list[Any], answers: list[Any]) -> None:
    """Compute for a handler that leaves the work to Python; write to where XLA expects it."""
    compute = _computations[attributes.pop("operation")]
    for place, answer in zip(answers, compute(*arrays, **attributes), strict=True):
        place[...] = answer


# Handlers by name; `python` serves all primitives that have none of their own.
HANDLERS: dict[str, Any] = _core.xla_handlers(_answer)
for _name, _handler in HANDLERS.items():
    jax.ffi.register_ffi_target(f"arborand_{_name}", _handler, platform="cpu")


def make_primitive(
    name: str,
    compute: Callable[..., Any],
    shapes: Callable[..., list[Any]],
    align: Callable[..., tuple[list[Any], int]],
    handler: str = "python",
) -> Primitive:
    """Make a primitive that returns a list of arrays.

    Parameters
    ----------
    name : str
    compute : callable
        From NumPy arrays, and keywords that are not arrays, to an array or a tuple of arrays.
    shapes : callable
        From arrays and the same keywords to a pair of shape and dtype for each answer.
    align : callable
        How an axis of ``vmap`` joins the axes of a batch: see `in_front`.
    handler : str
        The one of HANDLERS that computes the same thing.
    """
    primitive = Primitive(f"arborand_{name}")
    primitive.multiple_results = True

    def in_numpy(*arrays: Any, **static: Any) -> list[np.ndarray]:
        found = compute(*(np.asarray(array) for array in arrays), **static)
        return list(found) if isinstance(found, tuple) else [found]

    def types(*arrays: Any, **static: Any) -> list[Any]:
        return [jax.ShapeDtypeStruct(*one) for one in shapes(*arrays, **static)]

    def call_back(*arrays: Any, **static: Any) -> Any:
        return jax.pure_callback(partial(in_numpy, **static), types(*arrays, **static), *arrays)

    def call_core(context: Any, *operands: Any, **static: Any) -> Any:
        numbers = {
            key: np.float64(value) if isinstance(value, float) else np.int64(value)
            for key, value in static.items()
            if not isinstance(value, str)
        }
        lower = jax.ffi.ffi_lowering(f"arborand_{handler}")
        return lower(context, *operands, operation=name, **{**static, **numbers})

    def mapped(arrays: Sequence[Any], axes: Sequence[int | None], **static: Any) -> Any:
        (size, *_) = (a.shape[x] for a, x in zip(arrays, axes, strict=True) if x is not None)
        aligned, axis = align(arrays, axes, size)
        found = primitive.bind(*aligned, **static)
        return found, [axis] * len(found)

    _computations[name] = in_numpy
    primitive.def_impl(lambda *a, **s: [jnp.asarray(answer) for answer in in_numpy(*a, **s)])
    primitive.def_abstract_eval(
        lambda *a, **s: [jax.core.ShapedArray(*one) for one in shapes(*a, **s)]
    )
    mlir.register_lowering(primitive, mlir.lower_fun(call_back, multiple_results=True))
    if ROUTE == "ffi":
        mlir.register_lowering(primitive, call_core, platform="cpu")
    batching.primitive_batchers[primitive] = mapped
    set_tangents(
        primitive, lambda arrays, tangents, **static: (primitive.bind(*arrays, **static), ())
    )
    return primitive


def move(array: Any, axis: int | None, size: int, to: int = 0) -> Any:
    """Move a mapped axis, or repeat an array along an axis that it lacks."""
    if axis is not None:
        return jnp.moveaxis(array, axis, to)
    array = jnp.expand_dims(array, to)
    return jnp.broadcast_to(array, (*array.shape[:to], size, *array.shape[to + 1 :]))


def in_front(arrays: Sequence[Any], axes: Sequence[int | None], size: int) -> tuple[list[Any], int]:
    """Make a mapped axis the first of the batch; return the arrays, and its place in answers."""
    return [move(array, axis, size) for array, axis in zip(arrays, axes, strict=True)], 0


def set_tangents(primitive: Primitive, rule: Callable[..., tuple[Any, Any]]) -> None:
    """Set how a primitive is differentiated in forward mode.

    The rule takes arguments and their tangents (None instead of 0), and returns answers and their
    tangents.
    """

    def jvp(arrays: Any, tangents: Any, **static: Any) -> Any:
        return rule(
            arrays, [None if isinstance(one, ad.Zero) else one for one in tangents], **static
        )

    ad.primitive_jvps[primitive] = jvp


def set_cotangents(primitive: Primitive, rule: Callable[..., Sequence[Any]]) -> None:
    """Set how a primitive with one answer is transposed in arguments in which it is linear.

    The rule takes the cotangent, which arguments need one, and the arguments.
    """

    def transpose(cotangents: Any, *arrays: Any, **static: Any) -> Any:
        is_wanted = [ad.is_undefined_primal(array) for array in arrays]
        (cotangent,) = cotangents
        if isinstance(cotangent, ad.Zero):
            return [ad.Zero(a.aval) if w else None for a, w in zip(arrays, is_wanted, strict=True)]
        found = rule(cotangent, is_wanted, arrays, **static)
        return [*found, *[None] * (len(arrays) - len(found))]

    ad.primitive_transposes[primitive] = transpose
