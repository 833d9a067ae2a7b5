"""Distributions over trees that torch can train with.

Names and meanings are those of the classes in ``arborand``; what is said there about accuracy holds
here too, up to the rounding of answers to the dtype of the scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Size, Tensor
from torch.distributions import Distribution, constraints, register_kl
from torch.nn.functional import pad

from arborand import best, conditioning, inference
from arborand.arguments import (
    check_arcs,
    check_choice,
    check_count,
    check_workers,
    explain_arguments,
)
from arborand.errors import InvalidTreeError, InvalidWeightsError
from arborand.fronts import FrontDistribution
from arborand.kinds import TreeKind
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, check_method
from arborand.torch import operations
from arborand.torch.answers import BestTrees, Draws, to_tensors
from arborand.torch.arguments import check_heads, check_lengths, check_scores, check_tensor
from arborand.torch.conversion import (
    answer_dtype,
    draw_key,
    key_words,
    not_compiled,
    to_array,
    to_tensor,
)
from arborand.torch.operations import front
from arborand.trees import is_projective, is_tree
from arborand.validation import DEPENDENT_HEAD, HEAD_DEPENDENT, ORIENTATIONS, check_log_weights
from arborand.values import graphs_of
from arborand.without_replacement import sample_without_replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arborand.validation import Graphs

# The largest answer of `enumerate_support`, in trees.
_LARGEST_SUPPORT = 10**6


class _Trees(constraints.Constraint):
    """Arrays of heads that are trees of a kind, over given numbers of words."""

    is_discrete = True
    event_dim = 1

    def __init__(self, lengths: Tensor, kind: TreeKind) -> None:
        self._lengths = lengths
        self._kind = kind
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(value.shape[:-1], self._lengths.shape)
        heads = to_array(value.expand(*shape, *value.shape[-1:]))
        lengths = to_array(self._lengths.expand(shape))
        single_root = self._kind.has_single_root
        answer = np.asarray(is_tree(heads, lengths=lengths, single_root=single_root))
        if self._kind.is_projective:
            one_word = np.where(np.arange(heads.shape[-1]) == 1, 0, -1)  # where there is no tree
            answer = answer & is_projective(np.where(answer[..., None], heads, one_word))
        return torch.as_tensor(answer, device=value.device)


@explain_arguments
class TreeDistribution(FrontDistribution[Tensor], Distribution):  # type: ignore[misc]
    """A distribution over trees: what all classes of this module have in common.

    Parameters
    ----------
    log_weights : Tensor of floats, shape ``(*batch_shape, m, m)``
        ``log_weights[head, dependent]``; node 0 is the root.  Any finite scores; -inf means no arc.
        Column 0, the diagonal and padding are ignored, whatever they hold.
    lengths : Tensor or sequence of int, shape batch_shape, optional
        The number of words of each graph (the root is not counted).
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes of `log_weights` stand for.  All answers are [head, dependent].
    workers : int
        Threads that share the graphs of a batch, forwards and backwards.
    validate_args : bool, optional
        True checks the scores at once.  They are always checked when they are used.

    Raises
    ------
    InvalidWeightsError, NoTreeError
        If the tensor is not a graph, or the graph has no tree.  Shapes are checked at once, values
        when they are used, or at once with `validate_args`.

    Examples
    --------
    >>> scores = torch.zeros(4, 4, requires_grad=True)
    >>> d = DependencyTrees(scores)
    >>> round(d.log_partition().exp().item(), 4)  # nine trees of three words
    9.0
    >>> d.log_partition().backward()
    >>> round(scores.grad[0].sum().item(), 4)  # one root arc in each tree
    1.0
    >>> arc_length = (torch.arange(4.0)[:, None] - torch.arange(4.0)).abs()
    >>> round(d.expectation(arc_length).item(), 4), round(d.variance(arc_length).item(), 4)
    (4.6667, 0.8889)
    >>> known = torch.tensor([-1, 2, -1, -1])  # the head of word 1 is 2
    >>> round(d.log_evidence(heads=known).exp().item(), 4)
    0.3333
    >>> round(d.condition(heads=known).renyi_entropy(0).exp().item(), 4)  # the remaining trees
    3.0
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "log_weights": constraints.independent(constraints.real, 2)
    }
    has_enumerate_support = True
    has_rsample = False

    _front = front
    _kind: ClassVar[TreeKind]
    workers: int
    _orientation: str

    def __init__(
        self,
        log_weights: Tensor,
        *,
        lengths: Tensor | Sequence[int] | int | None = None,
        orientation: str = HEAD_DEPENDENT,
        workers: int = 1,
        validate_args: bool | None = None,
    ) -> None:
        scores = check_scores(log_weights)
        if orientation is not HEAD_DEPENDENT:
            check_choice(orientation, "orientation", ORIENTATIONS)
        self._orientation = orientation
        self.log_weights = scores if orientation == HEAD_DEPENDENT else scores.mT
        self.workers = check_workers(workers)
        self._lengths = None if lengths is None else check_lengths(lengths, scores)
        # Torch's own check would include padding; the gate, at each use, does not.
        super().__init__(scores.shape[:-2], scores.shape[-1:], validate_args=False)
        if validate_args:
            self._graphs()

    # ---- data

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
        try:
            new.log_weights = self.log_weights.expand(*shape, *self.log_weights.shape[-2:])
        except RuntimeError:
            raise ValueError(
                f"batch_shape is {tuple(shape)}: a batch of shape {tuple(self.batch_shape)} cannot "
                "be expanded to it"
            ) from None
        new._lengths = None if self._lengths is None else self._lengths.expand(shape)
        new._orientation = self._orientation
        new.workers = self.workers
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        return new

    def __getitem__(self, index: Any) -> Self:
        """Take graphs out of a batch, with torch's indexing of the batch axes.

        Examples
        --------
        >>> d = DependencyTrees(torch.zeros(3, 5, 5), lengths=[4, 2, 3])
        >>> d[1], d[[0, 2]].lengths.tolist()
        (DependencyTrees(2 words), [4, 3])
        """
        if not self.batch_shape:
            raise TypeError("a single graph cannot be indexed; only batches can")
        places = index if isinstance(index, tuple) else (index,)
        if not any(place is Ellipsis for place in places):
            places = (*places, Ellipsis)
        lengths = None if self._lengths is None else self._lengths[places]
        return self._like(self.log_weights[(*places, slice(None), slice(None))], lengths)

    def __repr__(self) -> str:
        last = self.log_weights.shape[-1] - 1
        first, last = (last, last) if self._lengths is None else _extremes(self._lengths, last)
        plural = "" if last == 1 else "s"
        words = f"{last} word{plural}" if first == last else f"{first} to {last} words"
        batch = f"batch of shape {tuple(self.batch_shape)}, " if self.batch_shape else ""
        return f"{type(self).__name__}({batch}{words})"

    # ---- probabilities

    def cross_entropy(self, other: TreeDistribution) -> Tensor:
        """Compute the cross-entropy with another distribution, in nats."""
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
            -inf for a tree outside the support, and for a row of -1, which stands for a missing
            tree in `Draws` and `BestTrees`.  These contribute nothing to any gradient.

        Raises
        ------
        InvalidTreeError
            If something is not a tree; the message names the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees(torch.zeros(3, 3))
        >>> d.log_prob(torch.tensor([[-1, 0, 1], [-1, 0, 0]])).exp().tolist()
        [0.5, 0.0]
        """
        return self._log_prob(value, "value")

    def _log_prob(self, value: Tensor, name: str) -> Tensor:
        check_heads(value, name, self.event_shape)
        try:
            shape = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        except RuntimeError:
            raise InvalidTreeError(
                f"{name} has shape {tuple(value.shape)}: its axes before the last do not fit the "
                f"batch, whose shape is {tuple(self.batch_shape)}"
            ) from None
        batch_shape = shape[len(shape) - len(self.batch_shape) :]
        trees = self if batch_shape == self.batch_shape else self.expand(batch_shape)
        # A copy: the heads that are checked must be those that the gradient reads.
        heads = value.to(torch.int64, copy=True)
        return trees._ask("log_prob", heads, last=(name,))

    @property
    def mean(self) -> Tensor:
        """Not defined: a tree is not a number; `expectation` takes a function of it."""
        raise NotImplementedError(
            "a tree has no mean: arc_marginals() is the mean of arc_indicators(heads), and "
            "expectation(arc_values) that of a sum over arcs"
        )

    @property
    def stddev(self) -> Tensor:
        """Not defined: a tree is not a number; `variance` takes a function of it."""
        raise NotImplementedError("a tree has no standard deviation; see variance(arc_values)")

    def joint_probability(
        self, arcs: Iterable[tuple[int, int]], *, given: Iterable[tuple[int, int]] = ()
    ) -> Tensor:
        """Compute the probability that a random tree of a single graph contains all of the arcs.

        Parameters
        ----------
        arcs, given : iterable of (head, dependent)
            The arcs in question, and arcs that the tree is known to contain.

        Returns
        -------
        Tensor of shape ()
            P(arcs | given); 0 if no tree contains them all.

        Raises
        ------
        NoTreeError
            If no tree contains all of `given`.

        Examples
        --------
        >>> d = DependencyTrees(torch.zeros(4, 4))
        >>> round(d.joint_probability([(0, 1), (1, 2)], given=[(0, 1)]).item(), 4)
        0.6667
        """
        if self.batch_shape:
            raise TypeError(
                "joint_probability takes arcs of a single graph, but this is a batch of shape "
                f"{tuple(self.batch_shape)}; use log_evidence(heads=...), or index it first"
            )
        num_words = int(self.lengths)
        known = check_arcs(given, "given", num_words)
        asked = check_arcs(arcs, "arcs", num_words)
        return self.condition(include=known).log_evidence(include=asked).exp()

    # ---- random trees

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
            The shape of the draws.
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
        if any(size < 0 for size in shape):
            raise ValueError(f"sample_shape is {tuple(shape)}: use sizes of at least 0")
        arguments = (draw_key(generator), *self._arguments, shape.numel(), method)
        heads = self._call(operations.sample, *arguments)
        return heads.reshape(*shape, *self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Not possible: trees are discrete.  See ``arborand.torch.estimators``."""
        raise NotImplementedError(
            "trees are discrete, so no gradient flows through draws; arborand.torch.estimators has "
            "estimators with gradients, and relaxed_sample"
        )

    @not_compiled
    def sample_without_replacement(
        self,
        k: int,
        *,
        generator: torch.Generator | None = None,
        method: str | None = None,
    ) -> Draws:
        """Draw k distinct trees, each in proportion to its probability among the remaining ones.

        If there are fewer trees, all of them are returned.
        """
        check_method(method, WITHOUT_REPLACEMENT, kind=self._kind)
        draws = sample_without_replacement(
            self._graphs(),
            check_count(k, "k", 0),
            method=method,
            workers=self.workers,
            key=key_words(draw_key(generator)),
        )
        return to_tensors(draws, Draws, self.log_weights)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """List every tree of the kind, in lexicographic order of their heads.

        Parameters
        ----------
        expand : bool
            Repeat the list for each graph of the batch.

        Returns
        -------
        Tensor of int64, shape ``(K, *batch_shape, m)``, or (K, 1, ..., 1, m) if not expanded
            Includes trees that use a forbidden arc, whose probability is 0.

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
        # If all scores are equal, the best trees come in the order of their heads.
        flat = graphs_of(np.zeros((num_words + 1, num_words + 1)), None, self._kind)
        log_count = float(inference.log_num_trees(flat))
        if log_count > math.log(_LARGEST_SUPPORT):
            raise NotImplementedError(
                f"there are e^{log_count:.1f} trees of {num_words} words, more than "
                f"{_LARGEST_SUPPORT:,}; use sample() or sample_without_replacement()"
            )
        count = round(math.exp(log_count))
        listed = np.full((count, size), -1)
        listed[:, : num_words + 1] = best.best_trees(flat, inference.normalise(flat), count).heads
        heads = self._integers(listed).reshape(count, *[1] * len(self.batch_shape), size)
        return heads.expand(count, *self.batch_shape, size) if expand else heads

    # ---- best trees

    @property
    def mode(self) -> Tensor:
        """The best tree, as `best_tree` finds it."""
        return self.best_tree()

    @not_compiled
    def best_tree(self) -> Tensor:
        """Find the most probable tree; ties are broken by the order of their heads.

        Returns
        -------
        Tensor of int64, shape ``(*batch_shape, m)``
        """
        return self._integers(best.best_tree(self._graphs(), workers=self.workers))

    @not_compiled
    def best_trees(self, k: int) -> BestTrees:
        """Find the k best trees, in order.  If there are fewer, all of them are returned.

        Examples
        --------
        >>> d = DependencyTrees(torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        >>> d.best_trees(2).heads.tolist()
        [[-1, 2, 0], [-1, 0, 1]]
        """
        graphs, k = self._graphs(), check_count(k, "k", 0)
        normaliser = inference.normalise(graphs, self.workers)
        trees = best.best_trees(graphs, normaliser, k, workers=self.workers)
        return to_tensors(trees, BestTrees, self.log_weights)

    @not_compiled
    def minimum_risk_tree(self) -> Tensor:
        """Find the tree with the largest expected number of correct arcs."""
        return self._integers(best.minimum_risk_tree(self._graphs(), workers=self.workers))

    # ---- internals

    @property
    def _arguments(self) -> tuple[Tensor | None, int, int]:
        return self._lengths, int(self._kind), self.workers

    def _ask(self, name: str, *arrays: Tensor, last: tuple[Any, ...] = ()) -> Tensor:
        """Call an operation of the table on the scores."""
        return self._call(getattr(front, name), *arrays, *self._arguments, *last)

    def _call(self, operation: Callable[..., Tensor], *arguments: Any) -> Tensor:
        if self._orientation == HEAD_DEPENDENT or torch.compiler.is_compiling():
            return operation(self.log_weights, *arguments)
        try:
            return operation(self.log_weights, *arguments)
        except InvalidWeightsError:
            self._graphs()  # raises it in the caller's terms
            raise

    def _like(self, log_weights: Tensor, lengths: Tensor | None) -> Self:
        """Make a distribution of the same kind over other scores."""
        return type(self)(log_weights, lengths=lengths, workers=self.workers)

    def _graphs(self) -> Graphs:
        """Check the scores, as they were given."""
        is_turned = self._orientation == DEPENDENT_HEAD
        return check_log_weights(
            to_array(self.log_weights.mT if is_turned else self.log_weights),
            None if self._lengths is None else to_array(self._lengths),
            kind=self._kind,
            orientation=self._orientation,
        )

    @not_compiled
    def _allowed(
        self,
        include: Iterable[tuple[int, int]],
        exclude: Iterable[tuple[int, int]],
        heads: Tensor | None,
        allowed: Tensor | None,
        *,
        needs_tree: bool,
    ) -> Tensor:
        """Check the arguments of a condition, and mark the arcs that it allows."""
        for given, name in ((heads, "heads"), (allowed, "allowed")):
            if given is not None:
                check_tensor(given, name)
        known = None if heads is None else to_array(heads)
        mask = None if allowed is None else to_array(allowed)
        graphs = self._graphs()
        asked = conditioning.check_condition(graphs, include, exclude, known, mask)
        if needs_tree:
            conditioning.condition(graphs, asked)  # raises an error that says why there is none
        left = conditioning.allowed_arcs(graphs, asked)
        return to_tensor(left.reshape(self.log_weights.shape), self.log_weights)

    def _covariances(self, values: Tensor) -> Tensor:
        """Compute covariances of values with more axes in front: a graph for each index there."""
        return self.expand(values.shape[:-2]).arc_covariances(values)

    def _integers(self, array: Any) -> Tensor:
        return to_tensor(np.asarray(array), self.log_weights, torch.int64)

    def _check_values(self, values: Tensor, name: str, *, trailing: bool = False) -> Tensor:
        """Check values of arcs; their precision becomes at least that of the answer."""
        check_tensor(values, name)
        expected, num_axes = self.log_weights.shape, values.dim() - self.log_weights.dim()
        if values.shape[: len(expected)] != expected or (num_axes and not trailing):
            raise ValueError(
                f"{name} has shape {tuple(values.shape)}: expected {tuple(expected)}, one row and "
                "one column for each node, root included"
                + (", followed by any number of axes" if trailing else "")
            )
        return values.to(torch.promote_types(values.dtype, answer_dtype(self.log_weights.dtype)))


class SpanningTrees(TreeDistribution):
    """The distribution over the spanning trees of a rooted, weighted, directed graph.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = SpanningTrees(torch.zeros(2, 4, 4), lengths=torch.tensor([3, 2]))
    >>> d.log_partition().exp().round().tolist()
    [16.0, 3.0]
    """

    _kind = TreeKind.SPANNING


class DependencyTrees(TreeDistribution):
    """The distribution over the dependency trees of a sentence: one arc leaves the root.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = DependencyTrees(torch.zeros(2, 4, 4), lengths=torch.tensor([3, 2]))
    >>> d.log_partition().exp().round().tolist()
    [9.0, 2.0]
    """

    _kind = TreeKind.DEPENDENCY


class ProjectiveSpanningTrees(TreeDistribution):
    """The distribution over the spanning trees without crossing arcs.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = ProjectiveSpanningTrees(torch.zeros(2, 4, 4), lengths=torch.tensor([3, 2]))
    >>> d.log_partition().exp().round().tolist()
    [12.0, 3.0]
    """

    _kind = TreeKind.PROJECTIVE_SPANNING


class ProjectiveDependencyTrees(TreeDistribution):
    """The distribution over the dependency trees of a sentence without crossing arcs.

    Its parameters are those of :class:`TreeDistribution`.

    Examples
    --------
    >>> d = ProjectiveDependencyTrees(torch.zeros(2, 4, 4), lengths=torch.tensor([3, 2]))
    >>> d.log_partition().exp().round().tolist()
    [7.0, 2.0]
    """

    _kind = TreeKind.PROJECTIVE_DEPENDENCY


@register_kl(TreeDistribution, TreeDistribution)  # type: ignore[untyped-decorator]
def _kl_divergence(p: TreeDistribution, q: TreeDistribution) -> Tensor:
    """Compare graph by graph, with batches broadcast; graphs may be padded differently."""
    try:
        shape = torch.broadcast_shapes(p.batch_shape, q.batch_shape)
    except RuntimeError:
        raise ValueError(
            f"the two distributions are batches of shapes {tuple(p.batch_shape)} and "
            f"{tuple(q.batch_shape)}, which cannot be broadcast"
        ) from None
    size = max(p.event_shape[0], q.event_shape[0])
    first, second = (
        pad(d.log_weights, (0, size - d.event_shape[0]) * 2).expand(*shape, size, size)
        for d in (p, q)
    )
    lengths, other_lengths = (
        d.lengths.expand(shape)
        if p.event_shape != q.event_shape or d._lengths is not None
        else None
        for d in (p, q)
    )
    return front.kl_divergence(
        first,
        second,
        lengths,
        other_lengths,
        int(p._kind),
        int(q._kind),
        max(p.workers, q.workers),
    )


def _extremes(lengths: Tensor, last: int) -> tuple[int, int]:
    """Find the smallest and the largest length, if there are values at all."""
    try:
        return int(lengths.min()), int(lengths.max())
    except RuntimeError:  # none, on the device meta, or hidden by a transform
        return last, last
