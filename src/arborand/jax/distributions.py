"""Distributions over trees that JAX can compile, differentiate and map.

Names and meanings are those of the classes in ``arborand``; what is said there about accuracy holds
here too, up to the rounding of answers to the dtype of the scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from arborand.arguments import (
    check_arcs,
    check_count,
    check_workers,
    explain_arguments,
)
from arborand.errors import InvalidTreeError, InvalidWeightsError
from arborand.fronts import FrontDistribution
from arborand.jax import operations
from arborand.jax.answers import BestTrees, Draws, as_pytree
from arborand.jax.operations import front
from arborand.kinds import TreeKind
from arborand.methods import (
    DEFAULT_METHOD,
    WITH_REPLACEMENT,
    WITHOUT_REPLACEMENT,
    check_method,
)
from arborand.validation import DEPENDENT_HEAD, HEAD_DEPENDENT, ORIENTATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jax.typing import ArrayLike


@explain_arguments
class TreeDistribution(FrontDistribution[Array]):
    """A distribution over trees: what all classes of this module have in common.

    A pytree, whose leaves are `log_weights` and, if given, `lengths`.

    Parameters
    ----------
    log_weights : Array, shape ``(*batch_shape, m, m)``
        ``log_weights[head, dependent]`` in float32, float64, bfloat16 or float16; -inf means no
        arc.  Values are checked when they are used: under ``jax.jit``, errors about them appear
        when the compiled function runs.
    lengths : Array of int, shape batch_shape, optional
        The number of words of each graph of a padded batch.
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.
    workers : int
        Threads that share the graphs of a batch.

    Raises
    ------
    InvalidWeightsError, NoTreeError
        If the array is not a graph, or the graph has no tree.  In compiled functions, errors about
        values are a ``jax.errors.JaxRuntimeError`` with the same message.

    Examples
    --------
    >>> d = DependencyTrees(jnp.zeros((4, 4)))
    >>> f"{jnp.exp(d.log_partition()):.4f}"  # nine trees of three words
    '9.0000'
    >>> arc_length = jnp.abs(jnp.arange(4)[:, None] - jnp.arange(4.0))
    >>> f"{d.expectation(arc_length):.4f}, {d.variance(arc_length):.4f}"
    '4.6667, 0.8889'
    >>> known = jnp.array([-1, 2, -1, -1])  # the head of word 1 is 2
    >>> f"{jnp.exp(d.log_evidence(heads=known)):.4f}"
    '0.3333'
    >>> f"{jnp.exp(d.condition(heads=known).renyi_entropy(0)):.4f}"  # the remaining trees
    '3.0000'
    """

    _front = front
    _kind: ClassVar[TreeKind]
    _arrays: ClassVar = ("log_weights", "_lengths")
    _static: ClassVar = ("workers",)

    workers: int

    def __init__(
        self,
        log_weights: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        orientation: str = HEAD_DEPENDENT,
        workers: int = 1,
    ) -> None:
        scores = _check_scores(log_weights)
        if orientation not in ORIENTATIONS:
            raise ValueError(
                f"orientation is {orientation!r}: use {HEAD_DEPENDENT!r} for "
                f"log_weights[head, dependent], or {DEPENDENT_HEAD!r}"
            )
        if orientation == DEPENDENT_HEAD:
            scores = jnp.swapaxes(scores, -1, -2)
        own = {
            "log_weights": scores,
            "_lengths": None if lengths is None else _check_lengths(lengths, scores.shape[:-2]),
            "workers": check_workers(workers),
        }
        self.__dict__.update(own)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: it keeps {name}")

    # ---- data

    @property
    def lengths(self) -> Array:
        """The number of words of each graph, in the shape of the batch."""
        if self._lengths is None:
            return jnp.full(self.batch_shape, self.log_weights.shape[-1] - 1, jnp.int32)
        return self._lengths

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch: ``()`` for a single graph."""
        shape: tuple[int, ...] = self.log_weights.shape[:-2]
        return shape

    def __getitem__(self, index: Any) -> Self:
        """Take graphs out of a batch, by an index of the batch axes.

        In a compiled function, an index out of bounds is clamped to the nearest one in the batch if
        its value is not known before the function runs, as everywhere in JAX.
        """
        if not self.batch_shape:
            raise TypeError("a single graph cannot be indexed; only batches can")
        is_traced = any(isinstance(part, jax.core.Tracer) for part in jax.tree.leaves(index))
        places = (jnp if is_traced else np).arange(math.prod(self.batch_shape))
        chosen = places.reshape(self.batch_shape)[index]
        scores = self.log_weights.reshape(-1, *self.log_weights.shape[-2:])[chosen]
        return self._like(scores, None if self._lengths is None else self._lengths.ravel()[chosen])

    def __repr__(self) -> str:
        words = self.log_weights.shape[-1] - 1
        batch = f"batch of shape {self.batch_shape}, " if self.batch_shape else ""
        up_to = "" if self._lengths is None else "up to "
        return f"{type(self).__name__}({batch}{up_to}{words} word{'s' if words > 1 else ''})"

    # ---- probabilities

    def log_prob(self, heads: ArrayLike) -> Array:
        """Compute the log-probability of trees.

        Parameters
        ----------
        heads : Array of int, shape ``(*draws, *batch_shape, m)``
            As `sample` returns them.  A row of -1 stands for a missing tree.

        Returns
        -------
        Array, shape ``(*draws, *batch_shape)``
            -inf for a tree outside the support and for a missing tree, which contribute nothing to
            any gradient.

        Raises
        ------
        InvalidTreeError
            If something is not a tree; the message names the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees(jnp.zeros((3, 3)))
        >>> jnp.exp(d.log_prob(jnp.array([[-1, 0, 1], [-1, 0, 0]]))).tolist()
        [0.5, 0.0]
        """
        scores, lengths, *rest = self._arguments
        trees = check_integers(heads, "heads")
        shape = (*self.batch_shape, scores.shape[-1])
        if trees.shape[trees.ndim - len(shape) :] != shape:
            raise InvalidTreeError(
                f"heads has shape {trees.shape}: expected (..., {', '.join(map(str, shape))}), one "
                "head for each node, -1 for the root"
            )
        return front.log_prob(scores, trees, lengths, *rest, "heads")

    def kl_divergence(self, other: TreeDistribution) -> Array:
        """Compute the Kullback-Leibler divergence of this distribution from another, in nats."""
        if not isinstance(other, TreeDistribution):
            raise TypeError(
                f"other must be a distribution of arborand.jax, not {type(other).__name__}"
            )
        if self.log_weights.shape != other.log_weights.shape:
            raise ValueError(
                f"the scores of the other distribution have shape {other.log_weights.shape}: "
                f"expected {self.log_weights.shape}, graphs over the same words"
            )
        (scores, lengths, kind, workers), others = self._arguments, other._arguments
        dtype = jnp.promote_types(scores.dtype, others[0].dtype)
        pair = scores.astype(dtype), others[0].astype(dtype)
        return front.kl_divergence(
            *pair, lengths, others[1], kind, others[2], max(workers, other.workers)
        )

    def cross_entropy(self, other: TreeDistribution) -> Array:
        """Compute the cross-entropy with another distribution, in nats."""
        return self.entropy() + self.kl_divergence(other)

    # ---- random and best trees

    def sample(self, key: Array, shape: Sequence[int] = (), *, method: str | None = None) -> Array:
        """Draw trees with replacement, each with its exact probability.

        Parameters
        ----------
        key : Array
            A key of ``jax.random``.  Under ``jax.vmap``, every key gives the same trees as on its
            own.
        shape : sequence of int
            The shape of the draws.
        method : str, optional
            As for ``arborand``.

        Returns
        -------
        Array of int32, shape ``(*shape, *batch_shape, m)``
            Heads; -1 for the root and for padding.

        Examples
        --------
        >>> d = DependencyTrees(jnp.zeros((4, 4)))
        >>> d.sample(jax.random.key(0), (2, 3)).shape
        (2, 3, 4)
        """
        sizes = tuple(check_count(size, "shape", 0) for size in shape)
        check_method(method, WITH_REPLACEMENT, kind=self._kind)
        scores, lengths, kind, workers = self._arguments
        (heads,) = operations.sample.bind(
            jax.lax.stop_gradient(scores),
            key_words(key),
            lengths,
            kind=kind,
            workers=workers,
            num_draws=math.prod(sizes),
            method=operations.METHODS.index(method or DEFAULT_METHOD),
        )
        return heads.reshape(*sizes, *scores.shape[:-1])

    def sample_without_replacement(self, key: Array, k: int, *, method: str | None = None) -> Draws:
        """Draw k distinct trees, each in proportion to its probability among the remaining ones.

        Parameters
        ----------
        key : Array
            A key of ``jax.random``.
        k : int
            The number of draws.  The answer has k rows, whatever the number of trees.
        method : str, optional
            As for ``arborand``.

        Examples
        --------
        >>> draws = DependencyTrees(jnp.zeros((4, 4))).sample_without_replacement(
        ...     jax.random.key(0), 12
        ... )
        >>> draws.heads.shape, int(draws.num_drawn)  # there are nine
        ((12, 4), 9)
        """
        k = check_count(k, "k", 0)
        check_method(method, WITHOUT_REPLACEMENT, kind=self._kind)
        scores, lengths, kind, workers = self._arguments
        heads, log_remaining, perturbed, num_drawn = operations.sample_without_replacement.bind(
            jax.lax.stop_gradient(scores),
            key_words(key),
            lengths,
            kind=kind,
            workers=workers,
            num_draws=k,
            method=method or "",
            is_distinct=1,
        )
        return Draws(heads, self.log_prob(heads), log_remaining, perturbed, num_drawn)

    def best_tree(self) -> Array:
        """Find the most probable tree: heads, shape ``(*batch_shape, m)``."""
        return self._best_trees(1)[0][0]

    def best_trees(self, k: int) -> BestTrees:
        """Find the k most probable trees, in exact order.

        Examples
        --------
        >>> DependencyTrees(jnp.zeros((3, 3))).best_trees(3).heads.tolist()
        [[-1, 0, 1], [-1, 2, 0], [-1, -1, -1]]
        """
        heads, num_found = self._best_trees(check_count(k, "k", 0))
        return BestTrees(heads, self.log_prob(heads), num_found)

    def minimum_risk_tree(self) -> Array:
        """Find the tree with the most expected correct arcs: heads, ``(*batch_shape, m)``."""
        scores, lengths, kind, workers = self._arguments
        scores = jax.lax.stop_gradient(scores)
        (heads,) = operations.minimum_risk_tree.bind(scores, lengths, kind=kind, workers=workers)
        return heads

    # ---- internals

    @property
    def _arguments(self) -> tuple[Array, Array, int, int]:
        """Arguments of operations: scores in the precision of answers, lengths, and the rest."""
        scores = self.log_weights
        if scores.dtype not in (jnp.float32, jnp.float64):
            scores = scores.astype(jnp.float32)
        return scores, self.lengths, int(self._kind), self.workers

    def _ask(self, name: str, *arrays: Array, last: tuple[Any, ...] = ()) -> Array:
        scores, *rest = self._arguments
        return getattr(front, name)(scores, *arrays, *rest, *last)

    def _covariances(self, values: Array) -> Array:
        """Compute covariances of values with more axes in front, which follow the batch's below."""
        num_axes, num_batch_axes = values.ndim - self.log_weights.ndim, len(self.batch_shape)
        places = tuple(range(num_axes)), tuple(range(num_batch_axes, num_batch_axes + num_axes))
        found = self._ask("arc_covariances", jnp.moveaxis(values, *places))
        return jnp.moveaxis(found, *places[::-1])

    def _like(self, log_weights: Array, lengths: Array | None) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(log_weights=log_weights, _lengths=lengths, workers=self.workers)
        return new

    def _best_trees(self, k: int) -> tuple[Array, Array]:
        scores, lengths, kind, workers = self._arguments
        heads, num_found = operations.best_trees.bind(
            jax.lax.stop_gradient(scores), lengths, kind=kind, workers=workers, k=k
        )
        return jnp.moveaxis(heads, -2, 0), num_found

    def _check_values(self, values: ArrayLike, name: str, *, trailing: bool = False) -> Array:
        values, shape = jnp.asarray(values), self.log_weights.shape
        if jnp.issubdtype(values.dtype, jnp.complexfloating):
            raise TypeError(f"{name} must hold real numbers, but its dtype is {values.dtype}")
        if values.shape[: len(shape)] != shape or (values.ndim > len(shape) and not trailing):
            raise ValueError(
                f"{name} has shape {values.shape}: expected {shape}, one row and one column for "
                "each node, root included"
                + (", followed by any number of axes" if trailing else "")
            )
        return values.astype(self._arguments[0].dtype)

    def _allowed(
        self,
        include: Iterable[tuple[int, int]],
        exclude: Iterable[tuple[int, int]],
        heads: ArrayLike | None,
        allowed: ArrayLike | None,
        *,
        needs_tree: bool,
    ) -> Array:
        """Check the arguments of a condition, and mark the arcs that it allows."""
        scores, lengths, kind, _ = self._arguments
        given = jnp.ones(scores.shape, jnp.bool_) if allowed is None else jnp.asarray(allowed)
        if given.dtype != jnp.bool_:
            raise TypeError(
                f"allowed must be an array of bool, but its dtype is {given.dtype}: if 0 forbids "
                "an arc, pass allowed != 0"
            )
        if given.shape != scores.shape:
            raise ValueError(
                f"allowed has shape {given.shape}: expected {scores.shape}, True where "
                "[head, dependent] may be an arc"
            )
        unknown = np.full(scores.shape[:-1], -1)
        known = check_integers(unknown if heads is None else heads, "heads")
        if known.shape != scores.shape[:-1]:
            raise InvalidTreeError(
                f"heads has shape {known.shape}: expected {scores.shape[:-1]}, one entry for each "
                "node, with -1 where the head is unknown"
            )
        (left,) = operations.allowed_arcs.bind(
            jax.lax.stop_gradient(scores),
            self._arcs(include, "include"),
            self._arcs(exclude, "exclude"),
            known,
            given,
            lengths,
            kind=kind,
            needs_tree=int(needs_tree),
        )
        return left

    def _arcs(self, given: Iterable[tuple[int, int]], name: str) -> Array:
        """Make an array of arcs; only the operation knows which of them are in the padding."""
        arcs = check_arcs(given, name, self.log_weights.shape[-1] - 1)
        if arcs and self.batch_shape:
            raise TypeError(
                f"{name} takes arcs of a single graph, but this is a batch of shape "
                f"{self.batch_shape}; use heads or allowed, or index it first"
            )
        return jnp.array(arcs, jnp.int32).reshape(-1, 2)


@as_pytree
class SpanningTrees(TreeDistribution):
    """The distribution over the spanning trees of a rooted, weighted, directed graph.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = SpanningTrees(jnp.zeros((4, 4)))
    >>> d.batch_shape, float(jnp.exp(d.log_partition()).round(4))
    ((), 16.0)
    """

    _kind = TreeKind.SPANNING


@as_pytree
class DependencyTrees(TreeDistribution):
    """The distribution over the dependency trees of a sentence: one arc leaves the root.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> scores = jnp.zeros((2, 4, 4))
    >>> jax.jit(lambda s: DependencyTrees(s, lengths=jnp.array([3, 2])).entropy())(scores).shape
    (2,)
    """

    _kind = TreeKind.DEPENDENCY


@as_pytree
class ProjectiveSpanningTrees(TreeDistribution):
    """The distribution over the spanning trees without crossing arcs.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = ProjectiveSpanningTrees(jnp.zeros((2, 4, 4)), lengths=jnp.array([3, 2]))
    >>> jnp.exp(d.log_partition()).round().tolist()
    [12.0, 3.0]
    """

    _kind = TreeKind.PROJECTIVE_SPANNING


@as_pytree
class ProjectiveDependencyTrees(TreeDistribution):
    """The distribution over the dependency trees of a sentence without crossing arcs.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = ProjectiveDependencyTrees(jnp.zeros((2, 4, 4)), lengths=jnp.array([3, 2]))
    >>> jnp.exp(d.log_partition()).round().tolist()
    [7.0, 2.0]
    """

    _kind = TreeKind.PROJECTIVE_DEPENDENCY


def key_words(key: Array) -> Array:
    """Draw 128 bits with the key of a call, whatever generator JAX uses."""
    return jax.random.bits(key, (4,), jnp.uint32)


def _check_scores(log_weights: ArrayLike) -> Array:
    """Check everything except values, which are checked when they are used."""
    scores = jnp.asarray(log_weights)
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        if not jnp.issubdtype(scores.dtype, jnp.integer):
            raise TypeError(f"log_weights must hold real numbers, but its dtype is {scores.dtype}")
        scores = scores.astype(jnp.asarray(0.0).dtype)
    shape = scores.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        raise InvalidWeightsError(
            f"log_weights has shape {shape}: expected (*batch_shape, m, m), one row and one column "
            "for each node, the root and at least one word"
        )
    return scores


def check_integers(values: ArrayLike, name: str) -> Array:
    """Check that an argument holds integers, and return them with 32 bits."""
    array = _read_integers(values)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(f"{name} must be integers, but their dtype is {array.dtype}")
    return _to_int32(array)


def _check_lengths(lengths: ArrayLike, batch_shape: tuple[int, ...]) -> Array:
    array = _read_integers(lengths)
    if array.size == 0 and not hasattr(lengths, "dtype"):
        array = array.astype(np.int32)  # NumPy makes an empty list floats
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(
            f"lengths must be integers, but their dtype is {array.dtype}; for a mask of words, "
            "pass mask.sum(-1)"
        )
    if array.shape != batch_shape:
        raise InvalidWeightsError(
            f"lengths has shape {array.shape}, but the batch has shape {batch_shape}: give one "
            "number of words for each graph"
        )
    return _to_int32(array)


def _read_integers(given: ArrayLike) -> Array | np.ndarray:
    """Read an array with NumPy unless it is one of JAX, which may have fewer bits."""
    return given if isinstance(given, jax.Array) else np.asarray(given)


def _to_int32(integers: Array | np.ndarray) -> Array:
    """Convert integers; one that does not fit becomes the nearest that does, which is no node."""
    own, ours = jnp.iinfo(integers.dtype), jnp.iinfo(jnp.int32)
    xp = jnp if isinstance(integers, jax.Array) else np
    return jnp.asarray(xp.clip(integers, max(own.min, ours.min), min(own.max, ours.max)), jnp.int32)
