"""Distributions over trees that JAX can compile, differentiate and map.

The names and their meaning are those of the classes in ``arborand``; what is said there of accuracy
holds here too, up to the rounding of the answer to the dtype of the scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from arborand.arguments import (
    check_arcs,
    check_count,
    check_order,
    check_workers,
    explain_arguments,
    list_arcs,
)
from arborand.errors import InvalidTreeError, InvalidWeightsError
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

    from jax import Array
    from jax.typing import ArrayLike

# Whom a warning is for, counted from a public method as 1: its caller, behind explain_arguments.
_CALLER = 3


@explain_arguments
class TreeDistribution:
    """What :class:`SpanningTrees` and :class:`DependencyTrees` have in common.

    A pytree, whose leaves are `log_weights` and, if given, `lengths`.
    """

    _kind: ClassVar[TreeKind]
    _arrays: ClassVar = ("log_weights", "_lengths")
    _static: ClassVar = ("workers",)

    log_weights: Array
    workers: int
    _lengths: Array | None

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
        raise AttributeError(f"{type(self).__name__} is frozen: make another one")

    # ---- what it is made of

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

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError(f"a single graph has no length; {type(self).__name__} is not a batch")
        return self.batch_shape[0]

    def __getitem__(self, index: Any) -> Self:
        """Take graphs out of a batch, with JAX's indexing of the batch axes."""
        if not self.batch_shape:
            raise TypeError("a single graph cannot be indexed; only batches can")
        chosen = jnp.arange(math.prod(self.batch_shape)).reshape(self.batch_shape)[index]
        scores = self.log_weights.reshape(-1, *self.log_weights.shape[-2:])[chosen]
        return self._like(scores, None if self._lengths is None else self._lengths[index])

    def __repr__(self) -> str:
        words = self.log_weights.shape[-1] - 1
        batch = f"batch of shape {self.batch_shape}, " if self.batch_shape else ""
        up_to = "" if self._lengths is None else "up to "
        return f"{type(self).__name__}({batch}{up_to}{words} word{'s' if words > 1 else ''})"

    # ---- what it knows

    def log_partition(self) -> Array:
        """Compute log Z, the logarithm of the summed weights of all trees.

        Returns
        -------
        Array, in the shape of the batch
            Its gradient is `arc_marginals`.

        Examples
        --------
        >>> f"{jnp.exp(DependencyTrees(jnp.zeros((4, 4))).log_partition()):.4f}"  # nine trees
        '9.0000'
        """
        return self._call("log_partition")

    def arc_marginals(self) -> Array:
        """Compute the probability of every arc: that a random tree contains it.

        Returns
        -------
        Array, in the shape of `log_weights`
            ``[head, dependent]``; 0 where there is no arc and in the padding.
        """
        return self._call("arc_marginals")

    def root_marginals(self) -> Array:
        """Compute the probability of every root arc: row 0 of `arc_marginals`."""
        return self.arc_marginals()[..., 0, :]

    def entropy(self) -> Array:
        """Compute the Shannon entropy of the trees, in nats.

        Examples
        --------
        >>> f"{SpanningTrees(jnp.zeros((3, 3))).entropy():.4f}"  # log 3
        '1.0986'
        """
        return self._call("entropy")

    def renyi_entropy(self, order: float) -> Array:
        """Compute the Rényi entropy of the trees, in nats.

        Parameters
        ----------
        order : float
            Not negative, and no array.  0 gives the logarithm of the number of trees, 1 the
            entropy, infinity minus the log-probability of the best tree.
        """
        order = check_order(order)
        if order == 1:
            return self.entropy()
        if math.isinf(order):
            return -self.log_prob(self.best_tree())
        return front.renyi_entropy(*self._arguments, order)

    def log_prob(self, heads: ArrayLike) -> Array:
        """Compute the log-probability of trees.

        Parameters
        ----------
        heads : Array of int, shape ``(*draws, *batch_shape, m)``
            As `sample` returns them.  A row of -1 stands for a tree that does not exist.

        Returns
        -------
        Array, shape ``(*draws, *batch_shape)``
            -inf for a tree outside the support, or one that does not exist: it adds nothing to any
            gradient.

        Raises
        ------
        InvalidTreeError
            If something is not a tree at all, naming the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees(jnp.zeros((3, 3)))
        >>> jnp.exp(d.log_prob(jnp.array([[-1, 0, 1], [-1, 0, 0]]))).tolist()
        [0.5, 0.0]
        """
        scores, lengths, *rest = self._arguments
        trees = jnp.asarray(heads)
        if not jnp.issubdtype(trees.dtype, jnp.integer):
            raise TypeError(f"heads must be integers, but their dtype is {trees.dtype}")
        shape = (*self.batch_shape, scores.shape[-1])
        if trees.shape[trees.ndim - len(shape) :] != shape:
            raise InvalidTreeError(
                f"heads has shape {trees.shape}: expected (..., {', '.join(map(str, shape))}), one "
                "head for each node, -1 for the root"
            )
        return front.log_prob(scores, trees.astype(jnp.int32), lengths, *rest)

    def kl_divergence(self, other: TreeDistribution) -> Array:
        """Compute the Kullback-Leibler divergence of this distribution from another, in nats."""
        if not isinstance(other, TreeDistribution):
            raise TypeError(
                f"other must be a distribution of arborand.jax, not {type(other).__name__}"
            )
        if self.log_weights.shape != other.log_weights.shape:
            raise ValueError(
                f"the scores of the other distribution have shape {other.log_weights.shape}: "
                f"expected {self.log_weights.shape}, graphs of the same words"
            )
        (scores, lengths, kind, workers), others = self._arguments, other._arguments
        dtype = jnp.promote_types(scores.dtype, others[0].dtype)
        pair = scores.astype(dtype), others[0].astype(dtype)
        return front.kl_divergence(
            *pair, lengths, others[1], kind, others[2], max(workers, other.workers)
        )

    def cross_entropy(self, other: TreeDistribution) -> Array:
        """Compute the mean of minus the other distribution's log-probability, in nats."""
        return self.entropy() + self.kl_divergence(other)

    def expectation(self, arc_values: ArrayLike) -> Array:
        """Compute the mean of a sum over the tree's arcs, exactly.

        Parameters
        ----------
        arc_values : Array, shape ``(*batch_shape, m, m)`` or ``(*batch_shape, m, m, ...)``
            ``arc_values[head, dependent]``.  Where no tree has the arc, anything goes.

        Returns
        -------
        Array, shape ``(*batch_shape, ...)``

        Raises
        ------
        ValueError
            If the value of an arc that trees have is NaN.

        Examples
        --------
        >>> arc_length = jnp.abs(jnp.arange(3)[:, None] - jnp.arange(3.0))
        >>> f"{SpanningTrees(jnp.zeros((3, 3))).expectation(arc_length):.4f}"
        '2.6667'
        """
        values = self._check_values(arc_values, "arc_values")
        marginals = self.arc_marginals()
        num_axes = values.ndim - marginals.ndim
        marginals = marginals.reshape(*marginals.shape, *[1] * num_axes)
        # Not read where there is no arc: 0 times anything would spread NaN.
        values = jnp.where(marginals > 0, values, 0.0)
        values = front.checked(values, jnp.isnan(values), _not_a_number("arc_values", "nan"))
        return (marginals * values).sum((-2 - num_axes, -1 - num_axes))

    def variance(self, arc_values: ArrayLike) -> Array:
        """Compute the variance of a sum over the tree's arcs, exactly.

        Examples
        --------
        >>> num_root_arcs = jnp.zeros((4, 4)).at[0].set(1)
        >>> float(SpanningTrees(jnp.zeros((4, 4))).variance(num_root_arcs).round(4))
        0.375
        """
        return jnp.maximum(self.covariance(arc_values, arc_values), 0.0)

    def covariance(self, arc_values: ArrayLike, other: ArrayLike) -> Array:
        """Compute the covariance of two sums over the tree's arcs, exactly.

        Parameters
        ----------
        arc_values, other : Array, shape ``(*batch_shape, m, m)`` or ``(*batch_shape, m, m, ...)``
            ``[head, dependent]``, finite on every arc; other entries are not read.

        Returns
        -------
        Array, shape ``(*batch_shape, ...)``

        Raises
        ------
        ValueError
            If the value of an arc that trees have is not finite.
        """
        # Relative to each word's most probable head, arcs of a nearly certain tree count 0: what is
        # left of the sum is in proportion to the mass of the other trees.
        marginals = jax.lax.stop_gradient(self.arc_marginals())
        is_read, reference = marginals > 0, marginals.argmax(-2, keepdims=True)

        def relative(given: ArrayLike, name: str) -> Array:
            values = self._check_values(given, name)
            trailing = tuple(range(marginals.ndim, values.ndim))
            read, best = (jnp.expand_dims(a, trailing) for a in (is_read, reference))
            values = jnp.where(read, values, 0.0)
            message = _not_a_number(name, "not finite")
            values = front.checked(values, ~jnp.isfinite(values), message)
            values = values - jnp.take_along_axis(values, best, marginals.ndim - 2)
            # Directions have their further axes in front of those of the arcs.
            places = [axis - len(trailing) - 2 for axis in range(len(trailing))]
            return jnp.moveaxis(jnp.where(read, values, 0.0), trailing, places)

        first, second = relative(arc_values, "arc_values"), relative(other, "other")
        if first.shape != second.shape:
            raise ValueError("arc_values and other differ in shape: give them the same axes")
        scores, *rest = self._arguments
        return (first * front.arc_covariances(scores, second, *rest)).sum((-1, -2))

    def arc_covariances(self, direction: ArrayLike) -> Array:
        """Compute the covariance of every arc's indicator with a sum over the tree's arcs.

        That is the derivative of all `arc_marginals` in a direction of the scores: the Hessian of
        log Z times the direction.
        """
        scores, *rest = self._arguments
        values = self._check_values(direction, "direction")
        if values.ndim != scores.ndim:
            raise ValueError(f"direction has shape {values.shape}: expected {scores.shape}")
        return front.arc_covariances(scores, values, *rest)

    def condition(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
    ) -> Self:
        """Make the distribution of the trees that contain some arcs and avoid others.

        The arguments are those of ``arborand``'s `condition`; arcs in `include` and `exclude` are
        plain integers.  Gradients flow to the scores that are left.

        Raises
        ------
        NoTreeError
            If no tree is left.

        Examples
        --------
        >>> d = DependencyTrees(jnp.zeros((4, 4)))
        >>> known = d.condition(heads=jnp.array([-1, 2, -1, -1]))
        >>> f"{jnp.exp(known.log_partition() - d.log_partition()):.4f}"
        '0.3333'
        """
        left = self._allowed(include, exclude, heads, allowed, needs_tree=True)
        return self._like(jnp.where(left, self.log_weights, -jnp.inf), self._lengths)

    def log_evidence(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
    ) -> Array:
        """Compute the log-probability of a condition: that a random tree meets it.

        Returns
        -------
        Array, in the shape of the batch
            -inf where no tree meets the condition, which adds nothing to any gradient.
        """
        left = self._allowed(include, exclude, heads, allowed, needs_tree=False)
        scores, *rest = self._arguments
        return front.log_evidence(scores, left, *rest)

    # ---- what it draws and finds

    def sample(self, key: Array, shape: Sequence[int] = (), *, method: str | None = None) -> Array:
        """Draw trees independently, with replacement.

        Parameters
        ----------
        key : Array
            A key of ``jax.random``.  Under ``jax.vmap`` every key gives the trees that it gives by
            itself.
        shape : sequence of int
            How many, in the shape in which to return them.
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
        check_method(method, WITH_REPLACEMENT, kind=self._kind, stacklevel=_CALLER)
        scores, lengths, kind, workers = self._arguments
        (heads,) = operations.sample.bind(
            jax.lax.stop_gradient(scores),
            _key_words(key),
            lengths,
            kind=kind,
            workers=workers,
            num_draws=math.prod(sizes),
            method=operations.METHODS.index(method or DEFAULT_METHOD),
        )
        return heads.reshape(*sizes, *scores.shape[:-1])

    def sample_without_replacement(self, key: Array, k: int, *, method: str | None = None) -> Draws:
        """Draw distinct trees, each with its probability among those that are left.

        Parameters
        ----------
        key : Array
            A key of ``jax.random``.
        k : int
            How many.  The answer has k rows, whatever the number of trees.
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
        k = check_count(k, "k", 1)
        check_method(method, WITHOUT_REPLACEMENT, kind=self._kind, stacklevel=_CALLER)
        scores, lengths, kind, workers = self._arguments
        heads, log_remaining, perturbed, num_drawn = operations.sample_without_replacement.bind(
            jax.lax.stop_gradient(scores),
            _key_words(key),
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
        heads, num_found = self._best_trees(check_count(k, "k", 1))
        return BestTrees(heads, self.log_prob(heads), num_found)

    def minimum_risk_tree(self) -> Array:
        """Find the tree with the most expected correct arcs: heads, ``(*batch_shape, m)``."""
        scores, lengths, kind, workers = self._arguments
        scores = jax.lax.stop_gradient(scores)
        (heads,) = operations.minimum_risk_tree.bind(scores, lengths, kind=kind, workers=workers)
        return heads

    # ---- behind the scenes

    @property
    def _arguments(self) -> tuple[Array, Array, int, int]:
        """What operations take: scores in the precision of answers, lengths, and the rest."""
        scores = self.log_weights
        if scores.dtype not in (jnp.float32, jnp.float64):
            scores = scores.astype(jnp.float32)
        return scores, self.lengths, int(self._kind), self.workers

    def _call(self, name: str) -> Array:
        return getattr(front, name)(*self._arguments)

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

    def _check_values(self, given: ArrayLike, name: str) -> Array:
        values = jnp.asarray(given)
        shape = self.log_weights.shape
        if values.shape[: len(shape)] != shape:
            raise ValueError(
                f"{name} has shape {values.shape}: expected {shape}, one row and one column for "
                "each node, root included, with any number of axes behind"
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
        """Mark the arcs that a condition allows, once its arguments have passed their gates."""
        scores, lengths, kind, _ = self._arguments
        size = scores.shape[-1]
        mask = np.ones((size, size), np.bool_)
        for arcs, name in (
            (list_arcs(include, "include"), "include"),
            (list_arcs(exclude, "exclude"), "exclude"),
        ):
            if arcs and self.batch_shape:
                raise TypeError(
                    f"{name} takes arcs of one graph, and this is a batch of shape "
                    f"{self.batch_shape}; use heads or allowed, or index it first"
                )
            for head, dependent in check_arcs(arcs, name, size - 1):
                if name == "include":
                    mask[:, dependent] &= np.arange(size) == head
                else:
                    mask[head, dependent] = False
        if allowed is None:
            given = jnp.broadcast_to(mask, scores.shape)
        else:
            given = jnp.asarray(allowed)
            if given.dtype != jnp.bool_ or given.shape != scores.shape:
                raise ValueError(
                    f"allowed is {given.dtype} of shape {given.shape}: expected bool of shape "
                    f"{scores.shape}, True where [head, dependent] may be an arc"
                )
            given = given & mask
        known = jnp.full(scores.shape[:-1], -1, jnp.int32) if heads is None else jnp.asarray(heads)
        if not jnp.issubdtype(known.dtype, jnp.integer) or known.shape != scores.shape[:-1]:
            raise InvalidTreeError(
                f"heads is {known.dtype} of shape {known.shape}: expected integers of shape "
                f"{scores.shape[:-1]}, one entry for each node, with -1 where the head is open"
            )
        (left,) = operations.allowed_arcs.bind(
            jax.lax.stop_gradient(scores),
            known.astype(jnp.int32),
            given,
            lengths,
            kind=kind,
            needs_tree=int(needs_tree),
        )
        return left


@as_pytree
class SpanningTrees(TreeDistribution):
    """The distribution of all spanning trees that hang from the root.

    Parameters
    ----------
    log_weights : Array, shape ``(*batch_shape, m, m)``
        ``log_weights[head, dependent]`` in float32, float64, bfloat16 or float16; -inf means no
        arc.  Values are looked at when they are used: under ``jax.jit``, errors on them appear when
        the compiled function runs.
    lengths : Array of int, shape batch_shape, optional
        The number of words of each graph of a padded batch.
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.
    workers : int
        Threads that share the graphs of a batch.

    Examples
    --------
    >>> d = SpanningTrees(jnp.zeros((4, 4)))
    >>> d.batch_shape, float(jnp.exp(d.log_partition()).round(4))
    ((), 16.0)
    """

    _kind = TreeKind.SPANNING


@as_pytree
class DependencyTrees(TreeDistribution):
    """The distribution of dependency trees: spanning trees with exactly one arc from the root.

    Parameters
    ----------
    log_weights : Array, shape ``(*batch_shape, m, m)``
        ``log_weights[head, dependent]`` in float32, float64, bfloat16 or float16; -inf means no
        arc.  Values are looked at when they are used: under ``jax.jit``, errors on them appear when
        the compiled function runs.
    lengths : Array of int, shape batch_shape, optional
        The number of words of each graph of a padded batch.
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.
    workers : int
        Threads that share the graphs of a batch.

    Examples
    --------
    >>> scores = jnp.zeros((2, 4, 4))
    >>> jax.jit(lambda s: DependencyTrees(s, lengths=jnp.array([3, 2])).entropy())(scores).shape
    (2,)
    """

    _kind = TreeKind.DEPENDENCY


@as_pytree
class ProjectiveSpanningTrees(TreeDistribution):
    """The distribution over the spanning trees without crossing arcs, the nodes in a line.

    Its parameters are those of :class:`SpanningTrees`.

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

    Its parameters are those of :class:`DependencyTrees`.

    Examples
    --------
    >>> d = ProjectiveDependencyTrees(jnp.zeros((2, 4, 4)), lengths=jnp.array([3, 2]))
    >>> jnp.exp(d.log_partition()).round().tolist()
    [7.0, 2.0]
    """

    _kind = TreeKind.PROJECTIVE_DEPENDENCY


def _key_words(key: Array) -> Array:
    """Draw 128 bits with the key of a call, whatever JAX's own generator."""
    return jax.random.bits(key, (4,), jnp.uint32)


def _check_scores(log_weights: ArrayLike) -> Array:
    """Check what can be told without a look at values: these are looked at when they are used."""
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


def _check_lengths(lengths: ArrayLike, batch_shape: tuple[int, ...]) -> Array:
    array = jnp.asarray(lengths)
    if array.size == 0 and not hasattr(lengths, "dtype"):
        array = array.astype(jnp.int32)  # JAX takes what is empty for floats
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(
            f"lengths must be integers, but their dtype is {array.dtype}; of a mask of words take "
            "mask.sum(-1)"
        )
    if array.shape != batch_shape:
        raise InvalidWeightsError(
            f"lengths has shape {array.shape} where the batch has shape {batch_shape}: give one "
            "number of words for each graph"
        )
    return array.astype(jnp.int32)


def _not_a_number(name: str, found: str) -> str:
    return f"{name}{{}} is {found}, on an arc that trees have: give every such arc a number"
