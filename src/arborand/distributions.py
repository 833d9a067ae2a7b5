"""The facade: distributions over the trees of weighted graphs.

Users' arguments enter here.  Each is checked here, once; the code behind the facade trusts them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from arborand import (
    best,
    conditioning,
    divergence,
    expectations,
    inference,
    sampling,
    without_replacement,
)
from arborand.arguments import (
    check_arcs,
    check_choice,
    check_count,
    check_index,
    check_order,
    check_size,
    check_workers,
    explain_arguments,
)
from arborand.conditioning import Condition, check_condition
from arborand.distinct import InterruptibleIterator
from arborand.expectations import check_arc_values
from arborand.kinds import TreeKind
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, check_method
from arborand.randomness import stream_key
from arborand.trees import check_tree_heads, check_trees, not_a_tree
from arborand.validation import Graphs, check_log_weights, check_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from arborand.best import BestTree, BestTrees
    from arborand.randomness import Seed
    from arborand.without_replacement import Draw, Draws


@explain_arguments
class TreeDistribution:
    """What all four kinds of tree have in common."""

    _kind: ClassVar[TreeKind]
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
            kind=self._kind,
            orientation=orientation,
            warns=True,
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
        return cls._of(check_weights(weights, lengths, kind=cls._kind, orientation=orientation))

    @classmethod
    def _of(cls, graphs: Graphs) -> Self:
        self = cls.__new__(cls)
        self._graphs = graphs
        return self

    # ---- data

    @property
    def log_weights(self) -> NDArray[np.float64]:
        """The scores [head, dependent]: -inf where nothing is read (column 0, diagonal, padding).

        Permanently read-only: neither the array nor its base can be made writable.
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
        chosen = np.arange(len(graphs)).reshape(graphs.batch_shape)[index]
        return self._of(graphs.take(np.asarray(chosen)))

    def __repr__(self) -> str:
        lengths = self._graphs.lengths
        if not lengths.size:
            return f"{type(self).__name__}(batch of shape {self.batch_shape}, no graphs)"
        arcs = np.count_nonzero(self._graphs.has_arc)
        if not self.batch_shape:
            return f"{type(self).__name__}({lengths[0]} words, {arcs} arcs)"
        shortest, longest = lengths.min(), lengths.max()
        words = f"{longest} words" if shortest == longest else f"{shortest} to {longest} words"
        return f"{type(self).__name__}(batch of shape {self.batch_shape}, {words}, {arcs} arcs)"

    def _repr_html_(self) -> str:
        from arborand.pictures.notebook import distribution_html

        return distribution_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), np.array(self.log_weights), np.array(self.lengths))

    # ---- probabilities and expectations

    def log_partition(self, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute log Z, the logarithm of the total weight of all trees.

        Parameters
        ----------
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of the batch

        Notes
        -----
        Takes :math:`O(n^3)` time, without subtraction.  The error is about 1e-13, relative to the
        larger of 1 and the result, whatever the scores.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(np.exp(d.log_partition()).round(6))
        11.0
        """
        return inference.log_partition(self._graphs, self._normaliser(check_workers(workers)))

    def arc_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the marginal probability of every arc: that a random tree contains it.

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
        Takes :math:`O(n^3)` time.  Each entry above 1e-290 has a *relative* error of about 1e-13,
        however small it is.  Arcs that no tree can use are exactly 0.  Each column except the first
        sums to 1.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.arc_marginals().round(4).tolist()
        [[0.0, 0.2727, 0.7273], [0.0, 0.0, 0.2727], [0.0, 0.7273, 0.0]]
        """
        return inference.arc_marginals(self._graphs, check_workers(workers))

    def root_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the probability of every root arc: row 0 of `arc_marginals`, with less work.

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
        The exponential of the entropy is the effective number of trees: the distribution is as
        uncertain as a choice among that many equally likely trees.  Takes :math:`O(n^3)` time.  The
        result keeps its relative accuracy even if one tree has nearly all the probability.

        Examples
        --------
        >>> float(SpanningTrees([[0, 0, 0], [0, 0, 0], [0, 0, 0]]).entropy().round(6))
        1.098612
        """
        return inference.entropy(self._graphs, check_workers(workers))

    def renyi_entropy(self, order: float, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the Renyi entropy of the trees, in nats.

        :math:`H_a = \log \bigl(\sum_t p(t)^a\bigr) / (1 - a)`: at order 0 the logarithm of the
        number of trees, at order 1 the Shannon entropy, at order infinity minus the log-probability
        of the best tree.

        Parameters
        ----------
        order : float
            Not negative; infinity is allowed.
        workers : int
            Threads that share the graphs of a batch.

        Notes
        -----
        Takes :math:`O(n^3)` time, for most orders about twenty times as long as `log_partition`.
        The error is at most 1e-12, relative to the larger of 1 and the result, even for orders near
        1.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 1], [0, 0, 2], [0, 2, 0]])
        >>> [round(float(d.renyi_entropy(a)), 4) for a in (0, 1, 2, np.inf)]
        [1.0986, 1.0549, 1.0217, 0.9163]
        """
        order, workers = check_order(order), check_workers(workers)
        if order >= inference.AS_GOOD_AS_INFINITE:
            return -self.log_prob(self.best_tree(workers=workers))
        return inference.renyi_entropy(self._graphs, order, workers)

    def entropy_gradient(self, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the derivative of the entropy with respect to every score.

        :math:`\partial H / \partial s_e = P(e) \, (H_e - \log P(e) - H)`, where :math:`H_e` is the
        entropy of the trees that contain the arc.

        Returns
        -------
        ndarray of float64, in the shape of `log_weights`
            ``[head, dependent]``; 0 where there is no arc and in the padding.

        Notes
        -----
        Takes :math:`O(n^3)` time.  The error is at most :math:`10^{-12} P(e) \, n \log(n + 1)`,
        whatever the scores.  It equals minus `arc_covariances` of the scores, but masked arcs cost
        it no digits, only time.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.entropy_gradient().round(4).tolist()
        [[0.0, 0.2705, -0.1249], [0.0, 0.0, 0.1249], [0.0, -0.2705, 0.0]]
        """
        return inference.entropy_gradient(self._graphs, check_workers(workers))

    def kl_divergence(self, other: TreeDistribution, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the Kullback-Leibler divergence of the trees from those of another distribution.

        :math:`\sum_t p(t) \log \bigl(p(t) / q(t)\bigr)`, in nats: p is this distribution, q the
        other.

        Parameters
        ----------
        other : SpanningTrees, DependencyTrees, or one of the projective kinds
            Over graphs of the same batch shape and lengths; it may be of another kind.
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of the batch
            Infinite if some tree of this distribution is not a tree of the other.

        Notes
        -----
        Takes :math:`O(n^3)` time: about forty times as long as `log_partition`, and up to three
        times that for small results.  Never negative; exactly 0 for equal log-weights.  If one tree
        has nearly all the probability under both, 12 digits are correct, however small the result.
        Otherwise the error is at most 1e-13 times the larger of 1 and the result.  If the
        log-weights differ by a small d, digits are lost, since the result is of the order d^2:
        `docs/is_it_exact.md` says how many.

        Examples
        --------
        >>> p = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> q = SpanningTrees(np.zeros((3, 3)))
        >>> float(p.kl_divergence(q).round(4)), float(p.kl_divergence(p))
        (0.1735, 0.0)
        """
        return divergence.kl_divergence(
            self._graphs, self._comparable(other, "kl_divergence"), check_workers(workers)
        )

    def cross_entropy(self, other: TreeDistribution, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the cross-entropy with another distribution, in nats.

        :math:`-\sum_t p(t) \log q(t)`, the entropy plus `kl_divergence`.

        Parameters
        ----------
        other : SpanningTrees, DependencyTrees, or one of the projective kinds
            Over graphs of the same batch shape and lengths; it may be of another kind.
        workers : int
            Threads that share the graphs of a batch.

        Examples
        --------
        >>> p = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(p.cross_entropy(SpanningTrees(np.zeros((3, 3)))).round(4))  # log 3
        1.0986
        """
        workers = check_workers(workers)
        graphs = self._comparable(other, "cross_entropy")
        return inference.entropy(self._graphs, workers) + divergence.kl_divergence(
            self._graphs, graphs, workers
        )

    def expectation(self, arc_values: ArrayLike, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the expectation of a sum over the arcs of a tree, exactly.

        :math:`E \sum_{i \to j \in t} v_{ij} = \sum_{ij} P(i \to j) \, v_{ij}`.

        Parameters
        ----------
        arc_values : array_like, shape ``(*batch_shape, m, m)`` or ``(*batch_shape, m, m, ...)``
            ``arc_values[head, dependent]``, numbers or arrays of numbers.  Values of arcs
            that are in no tree are not read.
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, shape ``(*batch_shape, ...)``
            Infinite if a possible arc has the value inf or -inf, NaN if there is one of each.

        Raises
        ------
        ValueError
            If the shape does not fit, or the value of a possible arc is NaN.

        Examples
        --------
        The expected length of a tree's arcs, and the expected number of root arcs:

        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> arc_length = abs(np.subtract.outer(range(3), range(3)))
        >>> float(d.expectation(arc_length).round(4)), float(d.root_marginals().sum().round(4))
        (2.7692, 1.1538)
        """
        return expectations.expectation(self._graphs, arc_values, check_workers(workers))

    def variance(self, arc_values: ArrayLike, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the variance of a sum over the arcs of a tree, exactly.

        Parameters
        ----------
        arc_values : array_like, shape ``(*batch_shape, m, m)``
            ``arc_values[head, dependent]``, finite on every arc; other entries are not read.
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of the batch

        Notes
        -----
        Takes :math:`O(n^3)` time. Never negative. The error is at most 1e-12 times n squared, times
        the largest squared value, times the probability of all trees but the best; a variance
        beyond the largest float64 is infinite.

        Examples
        --------
        The number of root arcs of a uniform spanning tree of three words:

        >>> num_root_arcs = np.zeros((4, 4))
        >>> num_root_arcs[0] = 1
        >>> float(SpanningTrees(np.zeros((4, 4))).variance(num_root_arcs).round(4))
        0.375
        """
        values = check_arc_values(arc_values, "arc_values", self._graphs)
        answer = expectations.covariance(self._graphs, values, values, check_workers(workers))
        return np.maximum(answer, 0.0)[()]

    def covariance(
        self, arc_values: ArrayLike, other: ArrayLike, *, workers: int = 1
    ) -> NDArray[np.float64]:
        """Compute the covariance of two sums over the arcs of a tree, exactly.

        Parameters
        ----------
        arc_values, other : array_like, shape ``(*batch_shape, m, m)``
            ``[head, dependent]``, finite on every arc; other entries are not read.
        workers : int
            Threads that share the graphs of a batch.

        Examples
        --------
        Two indicators of arcs that exclude each other:

        >>> first, second = np.zeros((2, 3, 3))
        >>> first[0, 1] = second[2, 1] = 1
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(d.covariance(first, second).round(4))  # minus P(0 -> 1) P(2 -> 1)
        -0.2367
        """
        return expectations.covariance(
            self._graphs,
            check_arc_values(arc_values, "arc_values", self._graphs),
            check_arc_values(other, "other", self._graphs),
            check_workers(workers),
        )

    def arc_covariances(self, direction: ArrayLike, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the covariance of every arc with a sum over the arcs of a tree.

        This is the derivative of all `arc_marginals` in a direction of the scores: the Hessian of
        log Z times the direction.

        Parameters
        ----------
        direction : array_like, shape ``(*batch_shape, m, m)``
            ``direction[head, dependent]``, finite on every arc; other entries are not read.
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of `log_weights`
            ``[head, dependent]``; 0 where there is no arc and in the padding.

        Notes
        -----
        Takes :math:`O(n^3)` time, up to a few times as long as `arc_marginals`.  The error at an
        arc is at most 1e-12 times its marginal, times the largest absolute value of `direction`,
        whatever the scores.

        Examples
        --------
        How much each marginal grows with the score of the arc 0 -> 1:

        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.arc_covariances([[0, 1, 0], [0, 0, 0], [0, 0, 0]]).round(4).tolist()
        [[0.0, 0.2367, -0.142], [0.0, 0.0, 0.142], [0.0, -0.2367, 0.0]]
        """
        values = check_arc_values(direction, "direction", self._graphs)
        answer = expectations.arc_covariances(self._graphs, values, check_workers(workers))
        return answer.reshape(self.log_weights.shape)

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
            arcs where only one is allowed.

        Raises
        ------
        InvalidTreeError
            If something is not a tree; the message names the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> np.exp(d.log_prob([[-1, 0, 1], [-1, 2, 0], [-1, 0, 0]])).round(4).tolist()
        [0.2727, 0.7273, 0.0]
        """
        graphs = self._graphs
        trees = check_tree_heads(heads, (*graphs.batch_shape, graphs.size))
        answer, first_bad = inference.log_prob_if_trees(graphs, self._normaliser(), trees)
        if first_bad >= 0:
            index = tuple(int(i) for i in np.unravel_index(first_bad, answer.shape))
            num_words = int(graphs.lengths[first_bad % len(graphs)])
            raise not_a_tree(trees[index], num_words, index)
        return answer[()]

    def condition(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
    ) -> Self:
        """Condition on arcs: keep only the trees that contain some arcs and avoid others.

        Parameters
        ----------
        include, exclude : iterable of (head, dependent)
            Arcs that every tree must contain, and arcs that no tree may contain. For a single graph
            only.
        heads : array_like of int, shape ``(*batch_shape, m)``, optional
            A partial annotation: the known head of each word; -1 if it is unknown, and for the root
            and padding.
        allowed : array_like of bool, shape ``(*batch_shape, m, m)``, optional
            ``allowed[head, dependent]``: whether a tree may contain the arc.

        Returns
        -------
        a distribution of the same kind over fewer trees

        Raises
        ------
        NoTreeError
            If no tree is left.  The message names the graph and the reason: a cycle, a word with
            two heads, two root arcs, or words without a possible head.
        InvalidTreeError, ValueError, TypeError
            If an argument has the wrong type or shape, or names something that is not an arc.

        Examples
        --------
        P(2 -> 1 | 0 -> 2), and the trees that remain if the head of word 1 is known to be 2:

        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(d.condition(include=[(0, 2)]).arc_marginals()[2, 1].round(4))
        0.8
        >>> d.condition(heads=[-1, 2, -1]).best_trees(9).heads.tolist()
        [[-1, 2, 0]]
        """
        asked = check_condition(self._graphs, include, exclude, heads, allowed)
        return self._of(conditioning.condition(self._graphs, asked))

    def log_evidence(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        workers: int = 1,
    ) -> NDArray[np.float64]:
        """Compute the log-probability that a random tree meets a condition.

        Parameters
        ----------
        include, exclude, heads, allowed
            As for `condition`.
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, in the shape of the batch
            -inf if no tree meets the condition.

        Notes
        -----
        Takes :math:`O(n^3)` time, however many arcs are given: it is log Z of the remaining trees
        minus log Z of all trees.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> float(np.exp(d.log_evidence(heads=[-1, 0, 1])).round(4))
        0.2308
        """
        asked = check_condition(self._graphs, include, exclude, heads, allowed)
        workers = check_workers(workers)
        return conditioning.log_evidence(self._graphs, self._normaliser(workers), asked, workers)

    def joint_probability(
        self, arcs: Iterable[tuple[int, int]], *, given: Iterable[tuple[int, int]] = ()
    ) -> float:
        """Compute the probability that a random tree contains all of the arcs.

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
        For a single graph.  Uses the chain rule: one :math:`O(n^3)` computation of marginals per
        arc.

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
        distribution = self._including(check_arcs(given, "given", num_words))
        probability = 1.0
        for arc in remaining:
            probability *= float(distribution.arc_marginals()[arc])
            if probability == 0.0:
                return 0.0
            distribution = distribution._including([arc])
        return probability

    # ---- random trees

    def sample(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        rng: Seed = None,
        workers: int = 1,
        first_graph: int = 0,
        first_draw: int = 0,
    ) -> NDArray[np.int32]:
        """Draw trees with replacement, exactly from the distribution.

        Parameters
        ----------
        size : int, tuple of int or None
            The number of draws, as in NumPy: None draws one tree and adds no axis.
        rng, workers, first_graph, first_draw
            As for :meth:`DependencyTrees.sample`, which also offers a choice of methods.

        Returns
        -------
        ndarray of int32, shape ``(*size, *batch_shape, m)``
            ``heads``: the head of each node, -1 for the root and for padding.

        Examples
        --------
        >>> from arborand import ProjectiveDependencyTrees
        >>> d = ProjectiveDependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> bool((d.sample(1000, rng=0)[:10] == d.sample(10, rng=0)).all())
        True
        """
        return self._sample(size, None, rng, workers, first_graph, first_draw)

    def sample_and_log_prob(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        rng: Seed = None,
        workers: int = 1,
        first_graph: int = 0,
        first_draw: int = 0,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Draw trees with replacement, together with their log-probabilities.

        Equivalent to `sample` followed by `log_prob`, with the arguments of `sample`.

        Examples
        --------
        >>> from arborand import ProjectiveSpanningTrees
        >>> d = ProjectiveSpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> heads, log_prob = d.sample_and_log_prob(3, rng=0)
        >>> bool((log_prob == d.log_prob(heads)).all())
        True
        """
        heads = self._sample(size, None, rng, workers, first_graph, first_draw)
        return heads, self._log_prob_of(heads, workers)

    def sample_without_replacement(
        self,
        k: int,
        *,
        rng: Seed = None,
        workers: int = 1,
        on_exhausted: str = "return",
        first_graph: int = 0,
    ) -> Draws:
        """Draw k distinct trees, each in proportion to its probability among the remaining ones.

        Parameters
        ----------
        k : int
            The number of trees.  If there are fewer, all of them are returned.
        rng, workers, on_exhausted, first_graph
            As for :meth:`DependencyTrees.sample_without_replacement`, which also offers a choice of
            methods.

        Returns
        -------
        Draws
            The trees with their log-probabilities, and what estimators need.

        Examples
        --------
        >>> from arborand import ProjectiveSpanningTrees
        >>> draws = ProjectiveSpanningTrees(np.zeros((4, 4))).sample_without_replacement(20, rng=0)
        >>> len(draws), bool(draws.exhausted)  # of 16 spanning trees, four have crossing arcs
        (12, True)
        """
        return self._sample_distinct(k, None, rng, workers, on_exhausted, first_graph)

    def iterate_without_replacement(
        self, *, rng: Seed = None, first_graph: int = 0
    ) -> Iterator[Draw]:
        """Draw distinct trees lazily, one at a time, until there are no more.

        The sequence is that of `sample_without_replacement` for the same `rng`.  In a batch, each
        step yields one tree of every graph, with heads of -1 for graphs that have no more.

        Examples
        --------
        >>> from arborand import ProjectiveSpanningTrees
        >>> d = ProjectiveSpanningTrees(np.zeros((4, 4)))
        >>> sum(1 for draw in d.iterate_without_replacement(rng=0))
        12
        """
        return self._iterate_distinct(None, rng, first_graph)

    # ---- best trees

    def best_tree(self, *, workers: int = 1) -> NDArray[np.int32]:
        """Find the best tree: the most probable one.

        Parameters
        ----------
        workers : int
            Threads that share the graphs of a batch; the trees do not depend on it.

        Returns
        -------
        ndarray of int32, shape ``(*batch_shape, m)``
            ``heads``: the head of each node, -1 for the root and for padding.

        Notes
        -----
        Trees are compared by the exact sums of their scores.  If sums are equal, the tree with the
        smaller head at the first word where they differ is better.  Takes :math:`O(n^2)` time, and
        at most :math:`O(n^3)` if many sums are equal.  Projective trees may take longer: see
        :class:`ProjectiveDependencyTrees`.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.best_tree().tolist()
        [-1, 2, 0]
        """
        return best.best_tree(self._graphs, workers=check_workers(workers))

    def best_trees(self, k: int, *, workers: int = 1, on_exhausted: str = "return") -> BestTrees:
        """Find the k best trees, in order.

        Parameters
        ----------
        k : int
            The number of trees.  If there are fewer, all of them are returned.
        workers : int
            Threads that share the graphs of a batch; the trees do not depend on it.
        on_exhausted : {"return", "raise"}
            Whether to return all trees if there are fewer than k, or to raise an error.

        Returns
        -------
        BestTrees
            The trees with their log-probabilities.

        Raises
        ------
        SupportExhaustedError
            If there are fewer than k trees and `on_exhausted` is ``"raise"``.
        ValueError
            If the answer would take more than 2 GiB: `iterate_best_trees` yields one tree at a
            time.

        Notes
        -----
        The order is exact and total: see `best_tree`.  The first 10 of 1000 are the same as the 10
        best.  Trees whose scores differ by less than a rounding error are still in order, although
        their log-probabilities are equal.  Takes :math:`O(n^2)` time and :math:`O(n)` memory per
        tree.  Projective trees take longer: see :class:`ProjectiveDependencyTrees`.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> trees = d.best_trees(2)
        >>> trees.heads.tolist(), np.exp(trees.log_prob).round(4).tolist()
        ([[-1, 2, 0], [-1, 0, 1]], [0.6154, 0.2308])
        """
        k = check_count(k, "k", 0)
        workers = check_workers(workers)
        check_choice(on_exhausted, "on_exhausted", ("return", "raise"))
        normaliser = self._normaliser(workers)
        return best.best_trees(
            self._graphs, normaliser, k, workers=workers, on_exhausted=on_exhausted
        )

    def iterate_best_trees(self) -> Iterator[BestTree]:
        """Find trees lazily, beginning with the best one, until there are no more.

        In a batch, each step yields one tree of every graph, with heads of -1 for graphs that have
        no more.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> [tree.heads.tolist() for tree in d.iterate_best_trees()]
        [[-1, 2, 0], [-1, 0, 1], [-1, 0, 0]]
        """
        return InterruptibleIterator(best.iterate_best_trees(self._graphs, self._normaliser()))

    def minimum_risk_tree(self, *, workers: int = 1) -> NDArray[np.int32]:
        """Find the minimum Bayes risk tree: the one with the most expected correct arcs.

        Parameters
        ----------
        workers : int
            Threads that share the graphs of a batch; the trees do not depend on it.

        Returns
        -------
        ndarray of int32, shape ``(*batch_shape, m)``
            ``heads``, in the support: a tree of the same kind, without forbidden arcs.

        Notes
        -----
        It is the best tree of the graph whose scores are the marginals.  If the true tree follows
        this distribution, no tree has a larger `expected_attachment_score`.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.minimum_risk_tree().tolist()
        [-1, 2, 0]
        """
        return best.minimum_risk_tree(self._graphs, workers=check_workers(workers))

    def expected_attachment_score(
        self, heads: ArrayLike, *, workers: int = 1
    ) -> NDArray[np.float64]:
        """Compute the expected share of correct heads (UAS).

        Parameters
        ----------
        heads : array_like of int, shape ``(*draws, *batch_shape, m)``
            Trees.
        workers : int
            Threads that share the graphs of a batch.

        Returns
        -------
        ndarray of float64, shape ``(*draws, *batch_shape)``
            The mean of the marginals of each tree's arcs, between 0 and 1.

        Raises
        ------
        InvalidTreeError
            If something is not a tree; the message names the node or the cycle.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.expected_attachment_score([[-1, 2, 0], [-1, 0, 1]]).round(4).tolist()
        [0.7273, 0.2727]
        """
        given = check_tree_heads(heads, (*self.batch_shape, self._graphs.size))
        trees = check_trees(given, self.lengths)
        return best.expected_attachment_score(self._graphs, trees, check_workers(workers))

    # ---- internals

    def _comparable(self, other: TreeDistribution, name: str) -> Graphs:
        """Check that another distribution is over the same words, and return its graphs."""
        check_distribution(other, name)
        if other.batch_shape != self.batch_shape:
            raise ValueError(
                f"other is a batch of shape {other.batch_shape}, but this one has shape "
                f"{self.batch_shape}: {name} compares graph by graph"
            )
        if not np.array_equal(other.lengths, self.lengths):
            raise ValueError(
                f"the graphs of other differ in length from those of this distribution: {name} "
                "compares graphs with the same number of words"
            )
        return other._graphs

    def _num_words(self, name: str) -> int:
        check_single_graph(self, name)
        return int(self._graphs.lengths[0])

    def _normaliser(self, workers: int = 1) -> inference.Normaliser:
        if "_known_normaliser" not in self.__dict__:
            self.__dict__["_known_normaliser"] = inference.normalise(self._graphs, workers)
        known: inference.Normaliser = self.__dict__["_known_normaliser"]
        return known

    def _including(self, arcs: list[tuple[int, int]]) -> Self:
        """Condition on arcs that were already checked."""
        return self._of(conditioning.condition(self._graphs, Condition(include=arcs)))

    def _sample(
        self,
        size: int | tuple[int, ...] | None,
        method: str | None,
        rng: Seed,
        workers: int,
        first_graph: int,
        first_draw: int,
    ) -> NDArray[np.int32]:
        shape = check_size(size)
        heads, _ = sampling.sample(
            self._graphs,
            math.prod(shape),
            method=method,
            workers=check_workers(workers),
            first_graph=check_index(first_graph, "first_graph"),
            first_draw=check_index(first_draw, "first_draw"),
            key=stream_key(rng),
        )
        return heads.reshape(*shape, *heads.shape[1:])

    def _log_prob_of(self, heads: NDArray[np.int32], workers: int) -> NDArray[np.float64]:
        """Compute the log-probabilities of trees that were drawn."""
        return inference.log_prob(self._graphs, self._normaliser(workers), heads)[()]

    def _sample_distinct(
        self,
        k: int,
        method: str | None,
        rng: Seed,
        workers: int,
        on_exhausted: str,
        first_graph: int,
    ) -> Draws:
        return without_replacement.sample_without_replacement(
            self._graphs,
            check_count(k, "k", 0),
            method=method,
            workers=check_workers(workers),
            on_exhausted=check_choice(on_exhausted, "on_exhausted", ("return", "raise")),
            first_graph=check_index(first_graph, "first_graph"),
            key=stream_key(rng),
        )

    def _iterate_distinct(self, method: str | None, rng: Seed, first_graph: int) -> Iterator[Draw]:
        return InterruptibleIterator(
            without_replacement.iterate_without_replacement(
                self._graphs,
                method=method,
                first_graph=check_index(first_graph, "first_graph"),
                key=stream_key(rng),
            )
        )


@explain_arguments
class NonProjectiveTrees(TreeDistribution):
    """What :class:`SpanningTrees` and :class:`DependencyTrees` have in common.

    Their trees are drawn by random walks, with a choice of methods, and elimination gives the
    probabilities of pairs of arcs.
    """

    def joint_marginals(self) -> NDArray[np.float64]:
        """Compute the probability of every pair of arcs: that a random tree contains both.

        Returns
        -------
        ndarray of float64, shape (m, m, m, m)
            ``[i, j, k, l]`` is the probability of i -> j and k -> l.

        Raises
        ------
        ValueError
            If the answer would take more than 2 GiB, that is, for 127 or more words.

        Notes
        -----
        For a single graph.  Takes :math:`O(n^4)` time, without subtraction.  Each entry above
        1e-290 has a relative error of about 1e-12, however small it is.  For a few chosen arcs,
        use `joint_probability`.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> joint = d.joint_marginals()
        >>> joint.shape, float(joint[0, 1, 1, 2].round(4))
        ((3, 3, 3, 3), 0.2308)
        """
        self._num_words("joint_marginals")
        return expectations.joint_marginals(self._graphs)

    def mean_hitting_time(self, *, workers: int = 1) -> NDArray[np.float64]:
        r"""Compute the paper's H: the mean hitting time of the walk that Wilson's algorithm takes.

        :math:`H = \sum_{ij} \pi_i \pi_j h(i, j)`, where :math:`h(i, j)` is the expected number of
        steps from i to j and :math:`\pi` the stationary distribution.

        Notes
        -----
        For dependency trees, it is the walk on the words alone, as in the paper's `wilson_rc`.  For
        spanning trees, it is the walk on all nodes; the root has no head, so the walk continues
        from there to any word with equal probability.  A dependency tree drawn by Wilson's
        algorithm takes 2 H steps on average if the root arc has the same share of the weight into
        every word.

        Examples
        --------
        >>> float(DependencyTrees([[0, 0, 0, 0]] * 4).mean_hitting_time().round(6))
        1.333333
        """
        return inference.mean_hitting_time(self._graphs, check_workers(workers))

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
        """Draw trees with replacement, exactly from the distribution.

        Parameters
        ----------
        size : int, tuple of int or None
            The number of draws, as in NumPy: None draws one tree and adds no axis.
        method : {None, "wilson", "wilson_reject", "colbourn", "wilson_rc"}
            None is ``"wilson"``, the fastest exact method for many draws.  A biased one gives a
            warning.

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
            Where this call begins in a larger one: the draws are the same as those of a call for
            more graphs or more draws, from these indices on.

        Returns
        -------
        ndarray of int32, shape ``(*size, *batch_shape, m)``
            ``heads``: the head of each node, -1 for the root and for padding.

        Raises
        ------
        ValueError, TypeError
            If an argument has the wrong type or is out of range.

        Notes
        -----
        Drawing always ends: it takes at most :math:`O(n^3)` time per tree, however long the random
        walk would be.  The same rng gives the same trees.  The first 10 of 1000 draws are the same
        as a draw of 10.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> d.sample(3, rng=0).shape
        (3, 3)
        >>> bool((d.sample(1000, rng=0)[:10] == d.sample(10, rng=0)).all())
        True
        """
        check_method(method, WITH_REPLACEMENT, kind=self._kind)
        return self._sample(size, method, rng, workers, first_graph, first_draw)

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

        Equivalent to `sample` followed by `log_prob`.

        Parameters
        ----------
        size, method, rng, workers, first_graph, first_draw
            As for `sample`.

        Returns
        -------
        heads : ndarray of int32, shape ``(*size, *batch_shape, m)``
            What `sample` returns.
        log_prob : ndarray of float64, shape ``(*size, *batch_shape)``
            What `log_prob` returns for them: under this distribution, even if the method is biased.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> heads, log_prob = d.sample_and_log_prob(3, rng=0)
        >>> bool((heads == d.sample(3, rng=0)).all()), bool((log_prob == d.log_prob(heads)).all())
        (True, True)
        """
        check_method(method, WITH_REPLACEMENT, kind=self._kind)
        heads = self._sample(size, method, rng, workers, first_graph, first_draw)
        return heads, self._log_prob_of(heads, workers)

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
        """Draw k distinct trees, each in proportion to its probability among the remaining ones.

        Parameters
        ----------
        k : int
            The number of trees.  If there are fewer, all of them are returned.
        method : {None, "rejection", "partition"}
            None begins with rejection, and switches to partition when that is cheaper.

            - rejection: draw with replacement and drop repeats, until a new tree would take a
              thousand tries on average; then partition
            - partition: draw from the space of the trees not yet drawn, kept as a union of disjoint
              parts
        rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
            The source of randomness.  A Generator is advanced once per call.
        workers : int
            Threads that share the graphs of a batch; the trees do not depend on it.
        on_exhausted : {"return", "raise"}
            Whether to return all trees if there are fewer than k, or to raise an error.
        first_graph : int
            The position of this batch in a larger one.

        Returns
        -------
        Draws
            The trees with their log-probabilities, and what estimators need.

        Raises
        ------
        SupportExhaustedError
            If there are fewer than k trees and `on_exhausted` is ``"raise"``.
        ValueError
            If the answer would take more than 2 GiB: `iterate_without_replacement` yields one tree
            at a time.

        Notes
        -----
        Takes at most :math:`O(n^3)` time and :math:`O(n)` memory per tree.  The law is exact to the
        last tree, because probabilities are sums of products, never differences.

        Examples
        --------
        >>> d = DependencyTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> draws = d.sample_without_replacement(5, rng=0)
        >>> len(draws), bool(draws.exhausted), float(np.exp(draws.log_prob).sum().round(6))
        (2, True, 1.0)
        """
        check_method(method, WITHOUT_REPLACEMENT, kind=self._kind)
        return self._sample_distinct(k, method, rng, workers, on_exhausted, first_graph)

    def iterate_without_replacement(
        self, *, method: str | None = None, rng: Seed = None, first_graph: int = 0
    ) -> Iterator[Draw]:
        """Draw distinct trees lazily, one at a time, until there are no more.

        The sequence is that of `sample_without_replacement` for the same `rng`.  In a batch, each
        step yields one tree of every graph, with heads of -1 for graphs that have no more.

        Examples
        --------
        >>> d = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> sorted(draw.heads.tolist() for draw in d.iterate_without_replacement(rng=0))
        [[-1, 0, 0], [-1, 0, 1], [-1, 2, 0]]
        """
        check_method(method, WITHOUT_REPLACEMENT, kind=self._kind)
        return self._iterate_distinct(method, rng, first_graph)


@explain_arguments
class SpanningTrees(NonProjectiveTrees):
    r"""The distribution over the spanning trees of a rooted, weighted, directed graph.

    :math:`P(t) = \prod_{i \to j \in t} w_{ij} / Z` over all trees: every word has one head, and
    following the heads leads from every word to the root.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1) or (..., m, m)
        ``log_weights[head, dependent]``; node 0 is the root, nodes 1 to n the words.  Any finite
        scores; -inf means no arc.  Column 0 and the diagonal are ignored.
    lengths : array_like of int, optional
        The number of words of each graph of a padded batch (the root is not counted).
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.  The second is for parsers that score ``[dependent,
        head]``; the attribute `log_weights` is always ``[head, dependent]``.

    Raises
    ------
    InvalidWeightsError
        If the array does not describe a graph: wrong shape, NaN, +inf, or lengths that do not fit.
    NoTreeError
        If there is no spanning tree; its `unreachable` lists the nodes that the root cannot reach.

    Warns
    -----
    SuspiciousWeightsWarning
        If the scores are valid, but look like an adjacency matrix, like padding without `lengths`,
        or like a transposed matrix.

    Notes
    -----
    The array is copied and never modified.

    Examples
    --------
    >>> d = SpanningTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> d
    SpanningTrees(2 words, 4 arcs)
    >>> float(d.log_partition().round(4))
    6.1698
    """

    _kind = TreeKind.SPANNING

    def expected_walk_steps(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the expected number of steps that Wilson's walk takes to draw one tree.

        Notes
        -----
        It is the sum over all nodes of the expected number of visits to the node by a walk that
        starts there.  It is n if no walk ever runs into a loop, and can be astronomically large.

        Examples
        --------
        >>> float(SpanningTrees([[0, 0, 0], [0, 0, 0], [0, 0, 0]]).expected_walk_steps().round(6))
        2.666667
        """
        return inference.root_marginals(self._graphs, check_workers(workers))[1]


@explain_arguments
class DependencyTrees(NonProjectiveTrees):
    r"""The distribution over the dependency trees of a rooted, weighted, directed graph.

    :math:`P(t) = \prod_{i \to j \in t} w_{ij} / Z` over the spanning trees in which exactly one arc
    leaves the root.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1) or (..., m, m)
        ``log_weights[head, dependent]``; node 0 is the root, nodes 1 to n the words.  Any finite
        scores; -inf means no arc.  Column 0 and the diagonal are ignored.
    lengths : array_like of int, optional
        The number of words of each graph of a padded batch (the root is not counted).
    orientation : {"head,dependent", "dependent,head"}
        What the last two axes stand for.  The second is for parsers that score ``[dependent,
        head]``; the attribute `log_weights` is always ``[head, dependent]``.

    Raises
    ------
    InvalidWeightsError
        If the array does not describe a graph: wrong shape, NaN, +inf, or lengths that do not fit.
    NoTreeError
        If there is no dependency tree; its `unreachable` lists the nodes that the root cannot
        reach.

    Warns
    -----
    SuspiciousWeightsWarning
        If the scores are valid, but look like an adjacency matrix, like padding without `lengths`,
        or like a transposed matrix.

    Notes
    -----
    The array is copied and never modified.

    Examples
    --------
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> d
    DependencyTrees(2 words, 4 arcs)
    >>> float(d.log_partition().round(4))
    6.1269
    """

    _kind = TreeKind.DEPENDENCY


def check_distribution(distribution: TreeDistribution, name: str) -> None:
    """Check that it is a distribution over trees; `name` is the function that takes it."""
    if isinstance(distribution, TreeDistribution):
        return
    has_labels = isinstance(getattr(distribution, "trees", None), TreeDistribution)
    remedy = (
        "pass its .trees, the distribution of the heads alone"
        if has_labels
        else "make one from the log-weights first"
    )
    raise TypeError(
        f"{name} takes a distribution, such as DependencyTrees, not "
        f"{type(distribution).__name__}; {remedy}"
    )


def check_single_graph(distribution: TreeDistribution, name: str) -> None:
    """Check that a distribution is a single graph; `name` is the function that takes it."""
    check_distribution(distribution, name)
    if distribution.batch_shape:
        raise TypeError(
            f"{name} takes a single graph, but this is a batch of shape "
            f"{distribution.batch_shape}; index it first"
        )


def _restore(
    kind: type[TreeDistribution], log_weights: NDArray[np.float64], lengths: NDArray[np.int32]
) -> TreeDistribution:
    # Skip the constructor's warnings, which were given when the original was made.
    return kind._of(check_log_weights(log_weights, lengths, kind=kind._kind))
