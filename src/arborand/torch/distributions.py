"""Distributions over trees that torch can train with.

The names and their meaning are those of the classes in ``arborand``; what is said there of accuracy
holds here too, up to the rounding of the answer to the dtype of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints, register_kl

import arborand
from arborand.arguments import check_count, check_workers, explain_arguments
from arborand.enumeration import dependency_trees, spanning_trees
from arborand.errors import InvalidTreeError, InvalidWeightsError
from arborand.kinds import TreeKind
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, check_method
from arborand.torch import operations
from arborand.torch.conversion import (
    answer_dtype,
    draw_key,
    key_words,
    not_compiled,
    to_array,
    to_graphs,
    to_tensor,
)
from arborand.trees import is_tree
from arborand.without_replacement import sample_without_replacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The dtypes of scores.
_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
# The largest answer of `enumerate_support`, in trees.
_LARGEST_SUPPORT = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Distinct trees in the order of their draw: the tensors of :class:`arborand.Draws`.

    No gradient flows through them; `log_prob` of the distribution gives one for their heads.

    Attributes
    ----------
    heads : Tensor of int64, shape ``(K, *batch_shape, m)``
    log_prob, log_remaining, perturbed_log_prob : Tensor of float64, shape ``(K, *batch_shape)``
    num_drawn : Tensor of int64, shape batch_shape
    exhausted : Tensor of bool, shape batch_shape
    """

    heads: Tensor
    log_prob: Tensor
    log_remaining: Tensor
    perturbed_log_prob: Tensor
    num_drawn: Tensor
    exhausted: Tensor

    def __len__(self) -> int:
        return len(self.heads)


@dataclass(frozen=True, slots=True, eq=False)
class BestTrees:
    """Trees from the best one on, in order: the tensors of :class:`arborand.BestTrees`.

    Attributes
    ----------
    heads : Tensor of int64, shape ``(K, *batch_shape, m)``
    log_prob : Tensor of float64, shape ``(K, *batch_shape)``
    num_found : Tensor of int64, shape batch_shape
    exhausted : Tensor of bool, shape batch_shape
    """

    heads: Tensor
    log_prob: Tensor
    num_found: Tensor
    exhausted: Tensor

    def __len__(self) -> int:
        return len(self.heads)


class _Trees(constraints.Constraint):
    """Arrays of heads that are trees of their kind, over so many words."""

    is_discrete = True
    event_dim = 1

    def __init__(self, lengths: Tensor, kind: TreeKind) -> None:
        self._lengths = lengths
        self._kind = kind
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(value.shape[:-1], self._lengths.shape)
        answer = is_tree(
            to_array(value.expand(*shape, *value.shape[-1:])),
            lengths=to_array(self._lengths.expand(shape)),
            single_root=self._kind.has_single_root,
        )
        return torch.as_tensor(answer, device=value.device)


@explain_arguments
class TreeDistribution(Distribution):
    """What :class:`SpanningTrees` and :class:`DependencyTrees` have in common."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "log_weights": constraints.independent(constraints.real, 2)
    }
    has_enumerate_support = True
    has_rsample = False

    _kind: ClassVar[TreeKind]
    log_weights: Tensor
    workers: int
    _lengths: Tensor | None

    def __init__(
        self,
        log_weights: Tensor,
        *,
        lengths: Tensor | Sequence[int] | int | None = None,
        workers: int = 1,
        validate_args: bool | None = None,
    ) -> None:
        self.log_weights = _check_scores(log_weights)
        self.workers = check_workers(workers)
        batch_shape = log_weights.shape[:-2]
        self._lengths = None if lengths is None else _check_lengths(lengths, log_weights)
        # What torch would check looks at padding as well; the gate, at each use, does not.
        super().__init__(batch_shape, log_weights.shape[-1:], validate_args=False)
        if validate_args:
            to_graphs(self.log_weights, self._lengths, self._kind)

    # ---- what it is made of

    @property
    def lengths(self) -> Tensor:
        """The number of words of each graph, in the shape of the batch."""
        if self._lengths is not None:
            return self._lengths
        num_words = self.log_weights.shape[-1] - 1
        return torch.full(self.batch_shape, num_words, device=self.log_weights.device)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """Describe the trees of this kind, whatever their probability."""
        return _Trees(self.lengths, self._kind)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Repeat the distribution over more batch axes, without copying scores."""
        new: Self = self._get_checked_instance(  # type: ignore[no-untyped-call]
            TreeDistribution, _instance
        )
        shape = Size(batch_shape)
        new.log_weights = self.log_weights.expand(*shape, *self.log_weights.shape[-2:])
        new._lengths = None if self._lengths is None else self._lengths.expand(shape)
        new.workers = self.workers
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        return new

    def __repr__(self) -> str:
        words = self.log_weights.shape[-1] - 1
        return f"{type(self).__name__}(batch of shape {tuple(self.batch_shape)}, {words} words)"

    # ---- what it knows

    def log_partition(self) -> Tensor:
        """Compute log Z, the logarithm of the summed weights of all trees.

        Returns
        -------
        Tensor, in the shape of the batch
            Its gradient is `arc_marginals`.

        Examples
        --------
        >>> scores = torch.zeros(4, 4, requires_grad=True)
        >>> log_z = DependencyTrees(scores).log_partition()
        >>> round(log_z.exp().item(), 4)  # nine trees of three words
        9.0
        >>> log_z.backward()
        >>> round(scores.grad[0].sum().item(), 4)  # one root arc in each tree
        1.0
        """
        return operations.log_partition(self.log_weights, *self._arguments)

    def arc_marginals(self) -> Tensor:
        """Compute the probability of every arc: that a random tree contains it.

        Returns
        -------
        Tensor, in the shape of `log_weights`
            ``[head, dependent]``; 0 where there is no arc and in the padding.
        """
        return operations.arc_marginals(self.log_weights, *self._arguments)

    def root_marginals(self) -> Tensor:
        """Compute the probability of every root arc: row 0 of `arc_marginals`."""
        return self.arc_marginals()[..., 0, :]

    def entropy(self) -> Tensor:
        """Compute the Shannon entropy of the trees, in nats.

        Examples
        --------
        >>> round(SpanningTrees(torch.zeros(3, 3)).entropy().item(), 4)  # log 3
        1.0986
        """
        return operations.entropy(self.log_weights, *self._arguments)

    def cross_entropy(self, other: TreeDistribution) -> Tensor:
        """Compute the mean of minus the other distribution's log-probability, in nats."""
        return self.entropy() + torch.distributions.kl_divergence(self, other)

    def log_prob(self, value: Tensor) -> Tensor:
        """Compute the log-probability of trees.

        Parameters
        ----------
        value : Tensor of int, shape ``(*draws, *batch_shape, m)``
            Heads, as `sample` returns them; the axes before the last are broadcast with the batch,
            in both directions.

        Returns
        -------
        Tensor, shape ``(*draws, *batch_shape)``
            -inf for a tree outside the support, which then adds nothing to any gradient.

        Raises
        ------
        InvalidTreeError
            If something is not a tree at all, naming the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees(torch.zeros(3, 3))
        >>> d.log_prob(torch.tensor([[-1, 0, 1], [-1, 0, 0]])).exp().tolist()
        [0.5, 0.0]
        """
        _check_heads(value, self.event_shape)
        shape = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        num_draw_axes = len(shape) - len(self.batch_shape)
        draws, batch_shape = shape[:num_draw_axes], shape[num_draw_axes:]
        trees = self if batch_shape == self.batch_shape else self.expand(batch_shape)
        # A copy: the heads that are checked must be those that the gradient reads.
        heads = value.to(torch.int64, copy=True).expand(*shape, value.shape[-1])
        flat = heads.reshape(draws.numel(), *batch_shape, value.shape[-1]).movedim(0, -2)
        answer = operations.log_prob(trees.log_weights, flat, *trees._arguments)
        return answer.movedim(-1, 0).reshape(shape)

    def expectation(self, arc_values: Tensor) -> Tensor:
        """Compute the mean of a sum over the tree's arcs, exactly.

        Parameters
        ----------
        arc_values : Tensor, shape ``(*batch_shape, m, m)`` or ``(*batch_shape, m, m, ...)``
            ``arc_values[head, dependent]``.  Where no tree has the arc, anything goes.

        Returns
        -------
        Tensor, shape ``(*batch_shape, ...)``

        Raises
        ------
        ValueError
            If the value of an arc that trees have is NaN.

        Examples
        --------
        >>> arc_length = (torch.arange(3.0)[:, None] - torch.arange(3.0)).abs()
        >>> round(SpanningTrees(torch.zeros(3, 3)).expectation(arc_length).item(), 4)
        2.6667
        """
        marginals = self.arc_marginals()
        values = self._check_values(arc_values, "arc_values", trailing=True)
        num_axes = values.dim() - marginals.dim()
        marginals = marginals.reshape(*marginals.shape, *[1] * num_axes)
        # Not read where there is no arc: 0 times anything would spread NaN.
        values = torch.where(marginals > 0, values, 0.0)
        values = operations.checked(values, values.isnan(), _not_a_number("arc_values", "nan"))
        return (marginals * values).sum((-2 - num_axes, -1 - num_axes))

    def variance(self, arc_values: Tensor) -> Tensor:  # type: ignore[override]
        """Compute the variance of a sum over the tree's arcs, exactly.

        A method with an argument here, as in ``arborand``, and not torch's property.

        Examples
        --------
        >>> num_root_arcs = torch.zeros(4, 4)
        >>> num_root_arcs[0] = 1
        >>> round(SpanningTrees(torch.zeros(4, 4)).variance(num_root_arcs).item(), 4)
        0.375
        """
        return self.covariance(arc_values, arc_values).clamp(min=0)

    @property
    def stddev(self) -> Tensor:
        """Not defined: a tree is no number; `variance` takes a function of it."""
        raise NotImplementedError("a tree has no standard deviation; see variance(arc_values)")

    def covariance(self, arc_values: Tensor, other: Tensor) -> Tensor:
        """Compute the covariance of two sums over the tree's arcs, exactly.

        Parameters
        ----------
        arc_values, other : Tensor, shape ``(*batch_shape, m, m)``
            ``[head, dependent]``, finite on every arc; other entries are not read.

        Raises
        ------
        ValueError
            If the value of an arc that trees have is not finite.
        """
        # Relative to each word's most probable head, arcs of a nearly certain tree count 0: what is
        # left of the sum is in proportion to the mass of the other trees.
        with torch.no_grad():
            marginals = operations.arc_marginals(self.log_weights, *self._arguments)
        is_read, reference = marginals > 0, marginals.argmax(-2, keepdim=True)

        def relative(given: Tensor, name: str) -> Tensor:
            values = torch.where(is_read, self._check_values(given, name), 0.0)
            values = operations.checked(
                values, ~values.isfinite(), _not_a_number(name, "not finite")
            )
            return torch.where(is_read, values - values.gather(-2, reference), 0.0)

        first, second = relative(arc_values, "arc_values"), relative(other, "other")
        return (first * self.arc_covariances(second)).sum((-1, -2))

    def arc_covariances(self, direction: Tensor) -> Tensor:
        """Compute the covariance of every arc's indicator with a sum over the tree's arcs.

        That is the derivative of all `arc_marginals` in a direction of the scores: the Hessian of
        log Z times the direction.
        """
        values = self._check_values(direction, "direction")
        return operations.arc_covariances(self.log_weights, values, *self._arguments)

    @not_compiled
    def condition(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: Tensor | None = None,
        allowed: Tensor | None = None,
    ) -> Self:
        """Make the distribution of the trees that contain some arcs and avoid others.

        The arguments are those of ``arborand``'s `condition`.  Gradients flow to the scores that
        are left.

        Examples
        --------
        The log-probability that the head of word 1 is 2, whatever the other heads:

        >>> d = DependencyTrees(torch.zeros(4, 4))
        >>> known = d.condition(heads=torch.tensor([-1, 2, -1, -1]))
        >>> round((known.log_partition() - d.log_partition()).exp().item(), 4)
        0.3333
        """
        for given, name in ((heads, "heads"), (allowed, "allowed")):
            if given is not None:
                _check_tensor(given, name)
        left = self._in_numpy().condition(
            include=include,
            exclude=exclude,
            heads=None if heads is None else to_array(heads),
            allowed=None if allowed is None else to_array(allowed),
        )
        is_left = torch.as_tensor(left.log_weights > -np.inf, device=self.log_weights.device)
        return self._like(torch.where(is_left, self.log_weights, -math.inf))

    # ---- what it draws

    def sample(
        self,
        sample_shape: Sequence[int] = Size(),
        *,
        generator: torch.Generator | None = None,
        method: str | None = None,
    ) -> Tensor:
        """Draw trees with replacement, each with its exact probability.

        Parameters
        ----------
        sample_shape : sequence of int
            How many, in the shape in which to return them.
        generator : torch.Generator, optional
            The source of randomness; by default torch's own, which ``torch.manual_seed`` sets.
        method : str, optional
            The sampler, as for ``arborand``'s `sample`.

        Returns
        -------
        Tensor of int64, shape ``(*sample_shape, *batch_shape, m)``

        Examples
        --------
        >>> d = DependencyTrees(torch.zeros(5, 4, 4))
        >>> d.sample((2,), generator=torch.Generator().manual_seed(0)).shape
        torch.Size([2, 5, 4])
        """
        check_method(method, WITH_REPLACEMENT, kind=self._kind)
        if isinstance(sample_shape, int):
            raise TypeError(f"sample_shape is {sample_shape}: pass a shape, ({sample_shape},)")
        shape = Size(sample_shape)
        heads = operations.sample(
            self.log_weights, draw_key(generator), *self._arguments, shape.numel(), method
        )
        return heads.reshape(*shape, *self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Not possible: trees are discrete.  See ``arborand.torch.estimators``."""
        raise NotImplementedError(
            "trees are discrete, so that no gradient flows through draws; "
            "arborand.torch.estimators has estimators with gradients, and relaxed_sample"
        )

    @not_compiled
    def sample_without_replacement(
        self,
        k: int,
        *,
        generator: torch.Generator | None = None,
        method: str | None = None,
    ) -> Draws:
        """Draw k distinct trees, each in proportion to its probability among those that are left.

        If there are fewer trees, all of them are returned.
        """
        check_method(method, WITHOUT_REPLACEMENT, kind=self._kind)
        draws = sample_without_replacement(
            to_graphs(self.log_weights, self._lengths, self._kind),
            check_count(k, "k", 0),
            method=method,
            workers=self.workers,
            key=key_words(draw_key(generator)),
        )
        log_prob, log_remaining, perturbed = (
            to_tensor(numbers, self.log_weights, torch.float64)
            for numbers in (draws.log_prob, draws.log_remaining, draws.perturbed_log_prob)
        )
        return Draws(
            self._integers(draws.heads),
            log_prob,
            log_remaining,
            perturbed,
            self._integers(draws.num_drawn),
            torch.as_tensor(draws.exhausted, device=self.log_weights.device),
        )

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """List every tree of the kind, in lexicographic order of their heads.

        Parameters
        ----------
        expand : bool
            Repeat the list for each graph of the batch.

        Returns
        -------
        Tensor of int64, shape ``(K, *batch_shape, m)``, or (K, 1, ..., 1, m) where not expanded
            Trees that use a forbidden arc are among them, with probability 0.

        Raises
        ------
        NotImplementedError
            If graphs have different lengths, or there are more than a million trees.

        Examples
        --------
        >>> DependencyTrees(torch.zeros(3, 3)).enumerate_support().tolist()
        [[-1, 0, 1], [-1, 2, 0]]
        """
        size = self.event_shape[0]
        lengths = set(to_array(self.lengths).reshape(-1).tolist()) or {size - 1}
        if len(lengths) > 1:
            raise NotImplementedError("graphs of different lengths have different trees")
        (num_words,) = lengths
        count = (
            num_words ** (num_words - 1)
            if self._kind.has_single_root
            else (num_words + 1) ** (num_words - 1)
        )
        if count > _LARGEST_SUPPORT:
            raise NotImplementedError(
                f"there are {count:,} trees of {num_words} words, more than {_LARGEST_SUPPORT:,}; "
                "sample() or sample_without_replacement() them"
            )
        trees = dependency_trees if self._kind.has_single_root else spanning_trees
        listed = np.full((count, size), -1)
        listed[:, : num_words + 1] = [
            heads for heads, _ in trees(np.zeros((num_words + 1, num_words + 1)))
        ]
        heads = self._integers(listed).reshape(count, *[1] * len(self.batch_shape), size)
        return heads.expand(count, *self.batch_shape, size) if expand else heads

    # ---- what is best

    @property
    def mode(self) -> Tensor:
        """The best tree, as `best_tree` finds it."""
        return self.best_tree()

    @not_compiled
    def best_tree(self) -> Tensor:
        """Find the most probable tree; of equal ones the first in the order of heads.

        Returns
        -------
        Tensor of int64, shape ``(*batch_shape, m)``
        """
        return self._integers(self._in_numpy().best_tree(workers=self.workers))

    @not_compiled
    def best_trees(self, k: int) -> BestTrees:
        """Find the k best trees, in order.  If there are fewer, all of them are returned.

        Examples
        --------
        >>> d = DependencyTrees(torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        >>> d.best_trees(2).heads.tolist()
        [[-1, 2, 0], [-1, 0, 1]]
        """
        trees = self._in_numpy().best_trees(k, workers=self.workers)
        return BestTrees(
            self._integers(trees.heads),
            to_tensor(trees.log_prob, self.log_weights, torch.float64),
            self._integers(trees.num_found),
            torch.as_tensor(trees.exhausted, device=self.log_weights.device),
        )

    @not_compiled
    def minimum_risk_tree(self) -> Tensor:
        """Find the tree with the largest expected number of correct arcs."""
        return self._integers(self._in_numpy().minimum_risk_tree(workers=self.workers))

    # ---- how it is done

    @property
    def _arguments(self) -> tuple[Tensor | None, int, int]:
        return self._lengths, int(self._kind), self.workers

    def _like(self, log_weights: Tensor) -> Self:
        """Make a distribution of the same kind over the same words."""
        return type(self)(log_weights, lengths=self._lengths, workers=self.workers)

    def _in_numpy(self) -> arborand.SpanningTrees | arborand.DependencyTrees:
        kind = arborand.DependencyTrees if self._kind.has_single_root else arborand.SpanningTrees
        lengths = None if self._lengths is None else to_array(self._lengths)
        return kind(to_array(self.log_weights), lengths=lengths)

    def _integers(self, array: Any) -> Tensor:
        return to_tensor(array, self.log_weights, torch.int64)

    def _check_values(self, values: Tensor, name: str, *, trailing: bool = False) -> Tensor:
        """Let values of arcs through, in a precision that is not below that of the answer."""
        _check_tensor(values, name)
        expected, num_axes = self.log_weights.shape, values.dim() - self.log_weights.dim()
        if values.shape[: len(expected)] != expected or (num_axes and not trailing):
            raise ValueError(
                f"{name} has shape {tuple(values.shape)}: expected {tuple(expected)}, one row and "
                "one column for each node, root included"
                + (", with any number of axes behind" if trailing else "")
            )
        return values.to(torch.promote_types(values.dtype, answer_dtype(self.log_weights.dtype)))


class SpanningTrees(TreeDistribution):
    """The distribution over the spanning trees of a rooted, weighted, directed graph.

    Parameters
    ----------
    log_weights : Tensor of floats, shape ``(*batch_shape, m, m)``
        ``log_weights[head, dependent]``; node 0 is the root.  Any finite scores; -inf means no arc.
        Column 0, the diagonal and padding are ignored, whatever they hold.
    lengths : Tensor of int, shape batch_shape, optional
        The number of words of each graph (the root is not counted).
    workers : int
        Threads that share the graphs of a batch, forwards and backwards.
    validate_args : bool, optional
        True checks the scores at once.  They are checked at each use in any case.

    Raises
    ------
    InvalidWeightsError, NoTreeError
        When a computation finds that the tensor is no graph, or has no tree.

    Examples
    --------
    >>> d = SpanningTrees(torch.zeros(2, 4, 4), lengths=torch.tensor([3, 2]))
    >>> d.log_partition().exp().round().tolist()
    [16.0, 3.0]
    """

    _kind = TreeKind.SPANNING


class DependencyTrees(TreeDistribution):
    """The distribution over the dependency trees of a sentence: one arc leaves the root.

    Parameters
    ----------
    log_weights : Tensor of floats, shape ``(*batch_shape, m, m)``
        ``log_weights[head, dependent]``; node 0 is the root.  Any finite scores; -inf means no arc.
        Column 0, the diagonal and padding are ignored, whatever they hold.
    lengths : Tensor of int, shape batch_shape, optional
        The number of words of each sentence (the root is not counted).
    workers : int
        Threads that share the graphs of a batch, forwards and backwards.
    validate_args : bool, optional
        True checks the scores at once.  They are checked at each use in any case.

    Raises
    ------
    InvalidWeightsError, NoTreeError
        When a computation finds that the tensor is no graph, or has no tree.

    Examples
    --------
    >>> d = DependencyTrees(torch.zeros(2, 4, 4), lengths=torch.tensor([3, 2]))
    >>> d.log_partition().exp().round().tolist()
    [9.0, 2.0]
    """

    _kind = TreeKind.DEPENDENCY


@register_kl(TreeDistribution, TreeDistribution)  # type: ignore[untyped-decorator]
def _kl_divergence(p: TreeDistribution, q: TreeDistribution) -> Tensor:
    """Compare graph by graph, with batches broadcast; graphs may be padded differently."""
    shape = torch.broadcast_shapes(p.batch_shape, q.batch_shape)
    size = min(p.event_shape[0], q.event_shape[0])
    first, second = (
        d.log_weights.expand(*shape, *d.log_weights.shape[-2:])[..., :size, :size] for d in (p, q)
    )
    lengths, other_lengths = (
        d.lengths.expand(shape)
        if p.event_shape != q.event_shape or d._lengths is not None
        else None
        for d in (p, q)
    )
    return operations.kl_divergence(
        first,
        second,
        lengths,
        other_lengths,
        int(p._kind),
        int(q._kind),
        max(p.workers, q.workers),
    )


def arc_indicators(heads: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
    """Make the matrix of each tree: 1 where [head, dependent] is one of its arcs, else 0.

    Parameters
    ----------
    heads : Tensor of int, shape (..., m)
        -1 for the root, for padding and where a head is open.
    dtype : torch.dtype, optional
        By default torch's default.

    Returns
    -------
    Tensor, shape (..., m, m)

    Examples
    --------
    >>> arc_indicators(torch.tensor([-1, 2, 0])).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    node = torch.arange(heads.shape[-1], device=heads.device)
    return (heads[..., None, :] == node[:, None]).to(dtype or torch.get_default_dtype())


def _check_scores(log_weights: Tensor) -> Tensor:
    """Check what can be told without a look at values: these are looked at when they are used."""
    if not isinstance(log_weights, Tensor):
        raise TypeError(
            f"log_weights must be a torch.Tensor, not {type(log_weights).__name__}; for arrays "
            "there are arborand.SpanningTrees and arborand.DependencyTrees"
        )
    if log_weights.dtype not in _DTYPES:
        raise TypeError(
            "log_weights must hold float64, float32, bfloat16 or float16, but its dtype is "
            f"{log_weights.dtype}"
        )
    shape = tuple(log_weights.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        raise InvalidWeightsError(
            f"log_weights has shape {shape}: expected (*batch_shape, m, m), one row and one column "
            "for each node, the root and at least one word"
        )
    return log_weights


def _check_heads(value: Tensor, event_shape: Size) -> None:
    _check_tensor(value, "value")
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(
            f"value must hold heads, which are integers, but its dtype is {value.dtype}"
        )
    if value.shape[-1:] != event_shape:
        raise InvalidTreeError(
            f"value has shape {tuple(value.shape)}: expected (..., {event_shape[0]}), one head for "
            "each node, -1 for the root"
        )


def _not_a_number(name: str, found: str) -> str:
    return f"{name}{{}} is {found}, on an arc that trees have: give every such arc a number"


def _check_tensor(given: Tensor, name: str) -> None:
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(given).__name__}")


def _check_lengths(lengths: Tensor | Sequence[int] | int, log_weights: Tensor) -> Tensor:
    batch_shape = log_weights.shape[:-2]
    device = log_weights.device
    tensor = torch.as_tensor(lengths, device=device).clone()  # to which nobody else can write
    if not (isinstance(lengths, Tensor) or tensor.numel()):
        tensor = tensor.to(torch.int64)  # torch takes what is empty for floats
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(
            f"lengths must be integers, but their dtype is {tensor.dtype}; of a mask of words "
            "take mask.sum(-1)"
        )
    if tensor.shape != batch_shape:
        raise InvalidWeightsError(
            f"lengths has shape {tuple(tensor.shape)} where the batch has shape "
            f"{tuple(batch_shape)}: give one number of words for each graph"
        )
    return tensor
