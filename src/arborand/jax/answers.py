"""What distributions return: pytrees of trees, and trees as matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from jax import Array
    from jax.typing import ArrayLike


def as_pytree(cls: Any) -> Any:
    """Register a class with JAX as a pytree, without checking its fields again."""

    def flatten(self: Any) -> Any:
        return [(jax.tree_util.GetAttrKey(n), getattr(self, n)) for n in cls._arrays], tuple(
            getattr(self, name) for name in cls._static
        )

    def unflatten(static: Any, arrays: Any) -> Any:
        self = object.__new__(cls)
        for name, value in zip((*cls._arrays, *cls._static), (*arrays, *static), strict=True):
            object.__setattr__(self, name, value)
        return self

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)
    return cls


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Draws:
    """Distinct trees in the order of their draw: the arrays of :class:`arborand.Draws`.

    There are always as many rows as were requested.  Rows beyond the number of a graph's trees hold
    heads of -1 and numbers of -inf, and contribute nothing to a gradient.

    Attributes
    ----------
    heads : Array of int32, shape ``(k, *batch_shape, m)``
    log_prob : Array, shape ``(k, *batch_shape)``
        With gradients, like the distribution's `log_prob`.
    log_remaining, perturbed_log_prob : Array, shape ``(k, *batch_shape)``
        Without gradients.
    num_drawn : Array of int32, shape batch_shape
        How many rows hold a tree.
    labels : Array of int32, in the shape of `heads`, or None
        The label of each word's arc; only for `LabelledTrees`.
    """

    heads: Array
    log_prob: Array
    log_remaining: Array
    perturbed_log_prob: Array
    num_drawn: Array
    labels: Array | None = None

    @property
    def is_drawn(self) -> Array:
        """Which rows hold a tree: an Array of bool, shape ``(k, *batch_shape)``."""
        return self.heads[..., 1] >= 0

    @property
    def exhausted(self) -> Array:
        """Whether the graph has fewer trees than were requested."""
        return self.num_drawn < self.heads.shape[0]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class BestTrees:
    """The best trees, in order: the arrays of :class:`arborand.BestTrees`.

    There are always as many rows as were requested; those beyond the number of trees are as in
    :class:`Draws`.

    Attributes
    ----------
    heads : Array of int32, shape ``(k, *batch_shape, m)``
    log_prob : Array, shape ``(k, *batch_shape)``
        With gradients.
    num_found : Array of int32, shape batch_shape
        How many rows hold a tree.
    labels : Array of int32, in the shape of `heads`, or None
        The label of each word's arc; only for `LabelledTrees`.
    """

    heads: Array
    log_prob: Array
    num_found: Array
    labels: Array | None = None

    @property
    def is_found(self) -> Array:
        """Which rows hold a tree: an Array of bool, shape ``(k, *batch_shape)``."""
        return self.heads[..., 1] >= 0

    @property
    def exhausted(self) -> Array:
        """Whether the graph has fewer trees than were requested."""
        return self.num_found < self.heads.shape[0]


def arc_indicators(heads: ArrayLike, *, dtype: Any = None) -> Array:
    """Make the matrix of each tree: 1 where [head, dependent] is one of its arcs, else 0.

    Parameters
    ----------
    heads : Array of int, shape (..., m)
        -1 for the root, for padding and for unknown heads.
    dtype : dtype, optional
        By default JAX's default.

    Returns
    -------
    Array, shape (..., m, m)

    Examples
    --------
    >>> arc_indicators(jnp.array([-1, 2, 0])).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    trees = jnp.asarray(heads)
    node = jnp.arange(trees.shape[-1])
    return (trees[..., None, :] == node[:, None]).astype(dtype or jnp.asarray(0.0).dtype)
