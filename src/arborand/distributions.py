"""The facade: distributions over the trees of weighted graphs, and what can be asked of them.

Arguments of users enter here.  Each passes its gate here, once; what lies behind takes it as it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from arborand import inference, sampling, without_replacement
from arborand.arguments import (
    check_arcs,
    check_choice,
    check_count,
    check_index,
    check_size,
    check_workers,
    explain_arguments,
)
from arborand.displays import display_html
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, check_method
from arborand.randomness import stream_key
from arborand.trees import check_heads, not_a_tree
from arborand.validation import Graphs, check_log_weights, check_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from arborand.randomness import Seed
    from arborand.without_replacement import Draw, Draws


# Whom a warning is for, counted from a public method as 1: its caller, behind explain_arguments.
_CALLER = 3


@explain_arguments
class TreeDistribution:
    """What :class:`SpanningTrees` and :class:`DependencyTrees` have in common."""

    _single_root: ClassVar[bool]
    _graphs: Graphs

    def __init__(
        self,
        log_weights: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        orientation: str = "head,dependent",
    ) -> None:
        self._graphs = check_log_weights(
            log_weights,
            lengths,
            single_root=self._single_root,
            orientation=orientation,
            stacklevel=_CALLER,
        )

    @classmethod
    def from_weights(
        cls,
        weights: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        orientation: str = "head,dependent",
    ) -> Self:
        """Make a distribution from plain weights instead of their logarithms.

        Parameters
        ----------
        weights : array_like, shape (n + 1, n + 1) or (..., m, m)
            ``weights[head, dependent]``, not negative; 0 means no arc.
        lengths : array_like of int, optional
            The number of words of each graph of a padded batch.
        orientation : {"head,dependent", "dependent,head"}
            What the last two axes stand for.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(np.exp(d.log_partition()).round(6))
        13.0
        """
        return cls._of(
            check_weights(weights, lengths, single_root=cls._single_root, orientation=orientation)
        )

    @classmethod
    def _of(cls, graphs: Graphs) -> Self:
        self = cls.__new__(cls)
        self._graphs = graphs
        return self

    # ---- what it is made of

    @property
    def log_weights(self) -> NDArray[np.float64]:
        """The scores [head, dependent]: -inf where nothing is read (column 0, diagonal, padding).

        Read-only for good: neither the array nor its base can be made writable.
        """
        graphs = self._graphs
        return graphs.log_weights.reshape(*graphs.batch_shape, graphs.size, graphs.size)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The number of words of each graph, in the shape of the batch."""
        return self._graphs.lengths.reshape(self._graphs.batch_shape)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch: ``()`` for a single graph."""
        return self._graphs.batch_shape

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError(f"a single graph has no length; {type(self).__name__} is not a batch")
        return self.batch_shape[0]

    def __getitem__(self, index: Any) -> Self:
        """Take graphs out of a batch, with NumPy's indexing of the batch axes."""
        if not self.batch_shape:
            raise TypeError("a single graph cannot be indexed; only batches can")
        graphs = self._graphs
        chosen = np.arange(len(graphs.lengths)).reshape(graphs.batch_shape)[index]
        return self._of(
            Graphs(
                graphs.log_weights[chosen].reshape(-1, graphs.size, graphs.size),
                graphs.lengths[chosen].reshape(-1),
                np.shape(chosen),
                graphs.single_root,
            )
        )

    def __repr__(self) -> str:
        lengths = self._graphs.lengths
        if not lengths.size:
            return f"{type(self).__name__}(batch of shape {self.batch_shape}, no graphs)"
        arcs = np.count_nonzero(self._graphs.log_weights > -np.inf)
        if not self.batch_shape:
            return f"{type(self).__name__}({lengths[0]} words, {arcs} arcs)"
        words = f"{lengths.min()} to {lengths.max()} words"
        return f"{type(self).__name__}(batch of shape {self.batch_shape}, {words}, {arcs} arcs)"

    def _repr_html_(self) -> str | None:
        return display_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), np.array(self.log_weights), np.array(self.lengths))

    # ---- what it knows

    def log_partition(self, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute log Z, the logarithm of the summed weights of all trees.

        Parameters
        ----------
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of the batch

        Notes
        -----
        :math:`O(n^3)` time, without subtractions: right to about 1e-13, relative to the larger of 1
        and the result, whatever the scores.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(np.exp(d.log_partition()).round(6))
        11.0
        """
        return inference.log_partition(self._graphs, self._normaliser(check_workers(workers)))

    def arc_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the probability of every arc: that a random tree contains it.

        Parameters
        ----------
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of `log_weights`
            ``[head, dependent]``; 0 where there is no arc and in the padding.

        Notes
        -----
        :math:`O(n^3)` time.  Each entry above 1e-290 is right to about 1e-13 *relative*, however
        small it is; arcs that no tree can use are exactly 0; each column but the first sums to 1.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.arc_marginals().round(4).tolist()
        [[0.0, 0.2727, 0.7273], [0.0, 0.0, 0.2727], [0.0, 0.7273, 0.0]]
        """
        return inference.arc_marginals(self._graphs, check_workers(workers))

    def root_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the probability of every root arc: row 0 of `arc_marginals`, for less work.

        Returns
        -------
        ndarray of float64, shape ``(*batch_shape, m)``
            For dependency trees they sum to 1 for each graph.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.root_marginals().round(4).tolist()
        [0.0, 0.2727, 0.7273]
        """
        return inference.root_marginals(self._graphs, check_workers(workers))[0]

    def entropy(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the Shannon entropy of the trees, in nats.

        Notes
        -----
        :math:`O(n^3)` time.  Keeps its relative accuracy when one tree has nearly all the mass.

        Examples
        --------
        >>> float(SpanningTrees([[0, 0, 0], [0, 0, 0], [0, 0, 0]]).entropy().round(6))
        1.098612
        """
        return inference.entropy(self._graphs, check_workers(workers))

    def mean_hitting_time(self, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the paper's H: the mean hitting time of the walk that Wilson's algorithm takes.

        :math:`H = \sum_{ij} \pi_i \pi_j h(i, j)`, where :math:`h(i, j)` is the expected number of
        steps from i to j and :math:`\pi` the stationary distribution.

        Notes
        -----
        For dependency trees the walk is the one on the words alone, as in the paper's `wilson_rc`.
        For spanning trees it is the walk on all nodes; as the root has no head, it goes on from
        there to any word with the same chance.  A dependency tree drawn by Wilson's algorithm takes
        2 H steps on average if every word has the same share of root weight among its arcs.

        Examples
        --------
        >>> float(DependencyTrees([[0, 0, 0, 0]] * 4).mean_hitting_time().round(6))
        1.333333
        """
        return inference.mean_hitting_time(self._graphs, check_workers(workers))

    def log_prob(self, heads: ArrayLike) -> NDArray[np.float64]:
        """Compute the log-probability of trees.

        Parameters
        ----------
        heads : array_like of int, shape ``(*draws, *batch_shape, m)``
            Trees, for instance as `sample` returns them.

        Returns
        -------
        ndarray of float64, shape ``(*draws, *batch_shape)``
            -inf for a tree outside the support: one that uses a forbidden arc, or has several root
            arcs where one is asked for.

        Raises
        ------
        InvalidTreeError
            If something is not a tree at all, naming the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> np.exp(d.log_prob([[-1, 0, 1], [-1, 2, 0], [-1, 0, 0]])).round(4).tolist()
        [0.2727, 0.7273, 0.0]
        """
        graphs = self._graphs
        trees = check_heads(heads, (*graphs.batch_shape, graphs.size))
        answer, first_bad = inference.log_prob(graphs, self._normaliser(), trees)
        if first_bad >= 0:
            index = tuple(int(i) for i in np.unravel_index(first_bad, answer.shape))
            num_words = int(graphs.lengths[first_bad % len(graphs.lengths)])
            raise not_a_tree(trees[index], num_words, index)
        return answer

    def condition(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
    ) -> Self:
        """Make the distribution of the trees that contain some arcs and avoid others.

        Parameters
        ----------
        include, exclude : iterable of (head, dependent)
            Arcs that every tree must contain, and arcs that no tree may contain.

        Returns
        -------
        a distribution of the same kind over fewer trees

        Raises
        ------
        NoTreeError
            If no tree is left.

        Examples
        --------
        P(2 -> 1 | 0 -> 2), and the probability of an arc given that another is absent:

        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(d.condition(include=[(0, 2)]).arc_marginals()[2, 1].round(4))
        0.8
        >>> float(d.condition(exclude=[(1, 2)]).arc_marginals()[2, 1].round(4))
        0.8
        """
        num_words = self._num_words("condition")
        return self._conditioned(
            check_arcs(include, "include", num_words), check_arcs(exclude, "exclude", num_words)
        )

    def joint_probability(
        self, arcs: Iterable[tuple[int, int]], *, given: Iterable[tuple[int, int]] = ()
    ) -> float:
        """Compute the probability that a random tree contains all of some arcs.

        Parameters
        ----------
        arcs : iterable of (head, dependent)
        given : iterable of (head, dependent)
            Arcs that the tree is known to contain.

        Returns
        -------
        float
            P(arcs | given), to about 1e-13 relative; 0 if no tree contains them all.

        Raises
        ------
        NoTreeError
            If no tree contains all of `given`.

        Notes
        -----
        The chain rule: one :math:`O(n^3)` computation of marginals for each arc.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> round(d.joint_probability([(0, 1), (1, 2)]), 4)
        0.2308
        >>> round(d.joint_probability([(0, 1)], given=[(0, 2)]), 4)
        0.2
        """
        num_words = self._num_words("joint_probability")
        remaining = check_arcs(arcs, "arcs", num_words)
        distribution = self._conditioned(check_arcs(given, "given", num_words))
        probability = 1.0
        for arc in remaining:
            probability *= float(distribution.arc_marginals()[arc])
            if probability == 0.0:
                return 0.0
            distribution = distribution._conditioned([arc])
        return probability

    # ---- what it draws

    def sample(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        method: str | None = None,
        rng: Seed = None,
        workers: int = 1,
        first_graph: int = 0,
        first_draw: int = 0,
    ) -> NDArray[np.int32]:
        """Draw trees with replacement, each with its exact probability.

        Parameters
        ----------
        size : int, tuple of int or None
            How many, as everywhere in NumPy: None draws one tree and adds no axis.
        method : {None, "wilson", "wilson_reject", "colbourn", "wilson_rc"}
            None is ``"wilson"``, the cheapest exact one.  A biased one warns.

            - wilson: loop-erased random walks; for dependency trees after drawing the root's child
              by its exact marginal
            - wilson_reject (dependency trees only): loop-erased random walks, repeated until a
              single arc leaves the root
            - colbourn: the ancestral sampler: one head after the other from its exact conditional
              distribution
            - wilson_rc (dependency trees only, biased): the paper's sampler, which draws the root's
              child by weight instead of by marginal
        rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
            The source of randomness.  A Generator is advanced once per call.
        workers : int
            Threads that share the work; the trees do not depend on it.
        first_graph, first_draw : int
            Where this call stands in a larger one: the draws are those that a call over more graphs
            or more draws would give from these indices on.

        Returns
        -------
        ndarray of int32, shape ``(*size, *batch_shape, m)``
            ``heads``: the head of each node, -1 for the root and for padding.

        Raises
        ------
        ValueError, TypeError
            If an argument is not of its type, or out of its range.

        Notes
        -----
        Always ends: O(n^3) per tree in the worst case, however long the random walk would be.  The
        same rng gives the same trees; the first 10 of 1000 are the 10.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.sample(3, rng=0).shape
        (3, 3)
        >>> bool((d.sample(1000, rng=0)[:10] == d.sample(10, rng=0)).all())
        True
        """
        shape = check_size(size)
        heads = self._sample(shape, method, rng, check_workers(workers), first_graph, first_draw)
        return heads.reshape(*shape, *heads.shape[1:])

    def sample_and_log_prob(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        method: str | None = None,
        rng: Seed = None,
        workers: int = 1,
        first_graph: int = 0,
        first_draw: int = 0,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Draw trees with replacement, together with their log-probabilities.

        The same as `sample` and then `log_prob`, in one call.

        Parameters
        ----------
        size, method, rng, workers, first_graph, first_draw
            As for `sample`.

        Returns
        -------
        heads : ndarray of int32, shape ``(*size, *batch_shape, m)``
            What `sample` returns.
        log_prob : ndarray of float64, shape ``(*size, *batch_shape)``
            What `log_prob` returns for them: under this distribution, also if the method is biased.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> heads, log_prob = d.sample_and_log_prob(3, rng=0)
        >>> bool((heads == d.sample(3, rng=0)).all()), bool((log_prob == d.log_prob(heads)).all())
        (True, True)
        """
        shape = check_size(size)
        workers = check_workers(workers)
        heads = self._sample(shape, method, rng, workers, first_graph, first_draw)
        log_prob, _ = inference.log_prob(self._graphs, self._normaliser(workers), heads)
        return (
            heads.reshape(*shape, *heads.shape[1:]),
            log_prob.reshape((*shape, *self.batch_shape))[()],
        )

    def sample_without_replacement(
        self,
        k: int,
        *,
        method: str | None = None,
        rng: Seed = None,
        workers: int = 1,
        on_exhausted: str = "return",
        first_graph: int = 0,
    ) -> Draws:
        """Draw k distinct trees, each in proportion to its probability among those that are left.

        Parameters
        ----------
        k : int
            How many.  If there are fewer trees, all of them are returned.
        method : {None, "rejection", "partition"}
            None is the first, and the second from where it is cheaper.

            - rejection: draw with replacement and drop repeats, while a new tree takes fewer than a
              thousand tries on average
            - partition: draw from the space of the trees not yet drawn, kept as a union of disjoint
              parts
        rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
            The source of randomness.  A Generator is advanced once per call.
        workers : int
            Threads that share the graphs of a batch; the trees do not depend on it.
        on_exhausted : {"return", "raise"}
            Whether to return all trees if there are fewer than k, or to raise an error.
        first_graph : int
            Where the batch stands in a larger one.

        Returns
        -------
        Draws
            The trees with their log-probabilities, and what estimators need.

        Raises
        ------
        SupportExhaustedError
            If there are fewer than k trees and `on_exhausted` is ``"raise"``.

        Notes
        -----
        At most :math:`O(n^3)` time and :math:`O(n)` memory per tree.  Exact to the last tree:
        masses are sums of products, never differences.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> draws = d.sample_without_replacement(5, rng=0)
        >>> len(draws), bool(draws.exhausted), float(np.exp(draws.log_prob).sum().round(6))
        (2, True, 1.0)
        """
        check_method(method, WITHOUT_REPLACEMENT, single_root=self._single_root, stacklevel=_CALLER)
        return without_replacement.sample_without_replacement(
            self._graphs,
            check_count(k, "k", 0),
            method=method,
            workers=check_workers(workers),
            on_exhausted=check_choice(on_exhausted, "on_exhausted", ("return", "raise")),
            first_graph=check_index(first_graph, "first_graph"),
            key=stream_key(rng),
        )

    def iterate_without_replacement(
        self, *, method: str | None = None, rng: Seed = None, first_graph: int = 0
    ) -> Iterator[Draw]:
        """Draw distinct trees lazily, one after the other, until there are no more.

        The sequence is that of `sample_without_replacement` for the same `rng`.  In a batch each
        step gives one tree of every graph, heads of -1 where a graph has no more.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> sorted(draw.heads.tolist() for draw in d.iterate_without_replacement(rng=0))
        [[-1, 0, 0], [-1, 0, 1], [-1, 2, 0]]
        """
        check_method(method, WITHOUT_REPLACEMENT, single_root=self._single_root, stacklevel=_CALLER)
        return without_replacement.iterate_without_replacement(
            self._graphs,
            method=method,
            first_graph=check_index(first_graph, "first_graph"),
            key=stream_key(rng),
        )

    # ---- how it is done

    def _num_words(self, name: str) -> int:
        check_single_graph(self, name)
        return int(self._graphs.lengths[0])

    def _normaliser(self, workers: int = 1) -> inference.Normaliser:
        if "_known_normaliser" not in self.__dict__:
            self.__dict__["_known_normaliser"] = inference.normalise(self._graphs, workers)
        known: inference.Normaliser = self.__dict__["_known_normaliser"]
        return known

    def _conditioned(
        self, include: Iterable[tuple[int, int]], exclude: Iterable[tuple[int, int]] = ()
    ) -> Self:
        """Condition on arcs that have passed their gate; the graph that is left passes its own."""
        log_weights = np.array(self._graphs.log_weights[0])
        for head, dependent in include:
            kept = log_weights[head, dependent]
            log_weights[:, dependent] = -np.inf
            log_weights[head, dependent] = kept
        for head, dependent in exclude:
            log_weights[head, dependent] = -np.inf
        return self._of(
            check_log_weights(
                log_weights,
                int(self._graphs.lengths[0]),
                single_root=self._single_root,
                name="what include and exclude leave of log_weights",
            )
        )

    def _sample(
        self,
        shape: tuple[int, ...],
        method: str | None,
        rng: Seed,
        workers: int,
        first_graph: int,
        first_draw: int,
    ) -> NDArray[np.int32]:
        """Draw trees of shape (num_draws, *batch_shape, m)."""
        # A warning is for whoever called the public method that called this one.
        check_method(
            method, WITH_REPLACEMENT, single_root=self._single_root, stacklevel=_CALLER + 1
        )
        heads, _ = sampling.sample(
            self._graphs,
            math.prod(shape),
            method=method,
            workers=workers,
            first_graph=check_index(first_graph, "first_graph"),
            first_draw=check_index(first_draw, "first_draw"),
            key=stream_key(rng),
        )
        return heads


@explain_arguments
class SpanningTrees(TreeDistribution):
    r"""The distribution over the spanning trees of a rooted, weighted, directed graph.

    :math:`P(t) = \prod_{i \to j \in t} w_{ij} / Z` over all trees in which every word has one head
    and leads to the root.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1) or (..., m, m)
        ``log_weights[head, dependent]``; node 0 is the root, nodes 1 to n the words.  Any finite
        scores; -inf means no arc.  Column 0 and the diagonal are ignored, whatever they hold.
    lengths : array_like of int, optional
        The number of words of each graph of a padded batch (the root is not counted).
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.  The second is for parsers that score
        ``[dependent, head]``; `log_weights` is ``[head, dependent]`` in any case.

    Raises
    ------
    InvalidWeightsError
        If the array is no graph: wrong shape, NaN, +inf, lengths that do not fit.
    NoTreeError
        If there is no spanning tree; its `unreachable` lists the nodes out of the root's reach.

    Warns
    -----
    SuspiciousWeightsWarning
        If the scores are sound, but look like an adjacency matrix, like padding without `lengths`,
        or like a matrix of the other orientation.

    Notes
    -----
    The array is copied; the caller's is never modified.

    Examples
    --------
    >>> d = SpanningTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> d
    SpanningTrees(2 words, 4 arcs)
    >>> float(d.log_partition().round(4))
    6.1698
    """

    _single_root = False

    def expected_walk_steps(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute how many steps Wilson's walk takes to draw one tree, on average.

        Notes
        -----
        Exact: the sum over all nodes of the expected number of visits to the node by a walk that
        starts there.  Between n, where no walk ever runs into a loop, and astronomically many.

        Examples
        --------
        >>> float(SpanningTrees([[0, 0, 0], [0, 0, 0], [0, 0, 0]]).expected_walk_steps().round(6))
        2.666667
        """
        return inference.root_marginals(self._graphs, check_workers(workers))[1]


@explain_arguments
class DependencyTrees(TreeDistribution):
    r"""The distribution over the dependency trees of a rooted, weighted, directed graph.

    :math:`P(t) = \prod_{i \to j \in t} w_{ij} / Z` over the spanning trees in which exactly one arc
    leaves the root.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1) or (..., m, m)
        ``log_weights[head, dependent]``; node 0 is the root, nodes 1 to n the words.  Any finite
        scores; -inf means no arc.  Column 0 and the diagonal are ignored, whatever they hold.
    lengths : array_like of int, optional
        The number of words of each graph of a padded batch (the root is not counted).
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.  The second is for parsers that score
        ``[dependent, head]``; `log_weights` is ``[head, dependent]`` in any case.

    Raises
    ------
    InvalidWeightsError
        If the array is no graph: wrong shape, NaN, +inf, lengths that do not fit.
    NoTreeError
        If there is no dependency tree; its `unreachable` lists the nodes out of the root's reach.

    Warns
    -----
    SuspiciousWeightsWarning
        If the scores are sound, but look like an adjacency matrix, like padding without `lengths`,
        or like a matrix of the other orientation.

    Notes
    -----
    The array is copied; the caller's is never modified.

    Examples
    --------
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> d
    DependencyTrees(2 words, 4 arcs)
    >>> float(d.log_partition().round(4))
    6.1269
    """

    _single_root = True


def check_single_graph(distribution: object, name: str) -> None:
    """Let a distribution through that is not a batch; `name` is what takes it."""
    if not isinstance(distribution, TreeDistribution):
        raise TypeError(
            f"{name} takes a SpanningTrees or DependencyTrees, not {type(distribution).__name__}; "
            "make one from the log-weights first"
        )
    if distribution.batch_shape:
        raise TypeError(
            f"{name} takes one graph, and this is a batch of shape {distribution.batch_shape}; "
            "index it first"
        )


def _restore(
    kind: type[TreeDistribution], log_weights: NDArray[np.float64], lengths: NDArray[np.int32]
) -> TreeDistribution:
    # Without the warnings of the constructor, which were given once.
    return kind._of(check_log_weights(log_weights, lengths, single_root=kind._single_root))
