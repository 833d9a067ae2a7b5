r"""Trees with labelled arcs, over any kind of tree.

A labelled tree is a tree of a multigraph, in which each label of an arc is an arc of its own, so

.. math:: P(t, l) = P(t) \prod_j P(l_j \mid h_j \to j),

where P(t) is the distribution over trees whose arc weights are sums over labels.  Everything here
is computed from that distribution, by its public methods, and from the labels of single arcs.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arborand import conditioning
from arborand.arguments import check_choice, check_count, check_index, check_size, explain_arguments
from arborand.best import BestTree, BestTrees
from arborand.conditioning import check_condition, exact_sum
from arborand.distinct import InterruptibleIterator, find_exhausted, limit_room, side_by_side
from arborand.distributions import DependencyTrees, TreeDistribution
from arborand.errors import InvalidTreeError, InvalidWeightsError
from arborand.labellings import best_labellings, draw_distinct, draw_labels
from arborand.randomness import stream_key
from arborand.trees import check_integers
from arborand.validation import (
    DEPENDENT_HEAD,
    HEAD_DEPENDENT,
    check_log_weights,
    has_tree,
    real_array,
)
from arborand.without_replacement import Draw, Draws

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from arborand.labellings import Rows, RowsOfTrees
    from arborand.randomness import Key, Seed

    HeadsAndLabels = tuple[NDArray[np.int32], NDArray[np.int32]]

_LOWEST = -np.finfo(np.float64).max
# The number of scores processed at a time: few enough to stay in the cache.
_AT_ONCE = 2**15


class LabelledShape:
    """The words and the number of labels of labelled trees, here and in the front ends."""

    _base: Any  # a distribution over trees of the same words
    _shape: tuple[int, ...]  # of the scores

    @property
    def num_labels(self) -> int:
        """The number of labels."""
        return self._shape[-1]

    @property
    def lengths(self) -> Any:
        """The number of words of each graph, in the shape of the batch."""
        return self._base.lengths

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch: ``()`` for a single graph."""
        return self._shape[:-3]

    def __len__(self) -> int:
        return len(self._base)

    def __repr__(self) -> str:
        kind, _, rest = repr(self._base).partition("(")
        plural = "s" if self.num_labels > 1 else ""
        return f"{type(self).__name__}({kind}, {rest[:-1]}, {self.num_labels} label{plural})"


@explain_arguments
class LabelledTrees(LabelledShape):
    """The distribution over the trees of a graph whose arcs have labels.

    The probability of a labelled tree is proportional to the product of the weights of its labelled
    arcs.  A labelled tree is a pair of integer arrays, `heads` and `labels`, which hold -1 for the
    root and for padding.  Arguments that are not explained here are those of the same methods of
    `DependencyTrees`.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1, L) or (..., m, m, L)
        ``log_weights[head, dependent, label]``; -inf where the arc cannot have the label.  An arc
        without any label is absent.  Column 0 and the diagonal are ignored.  Float32 stays float32
        in memory.
    kind : class
        Which trees: `DependencyTrees`, `SpanningTrees` or another distribution over trees.
    labels : sequence of str, optional
        The names of the L labels.
    lengths : array_like of int, optional
        The number of words of each graph of a padded batch.
    orientation : {"head,dependent", "dependent,head"}
        The meaning of the two axes before the label axis.

    Raises
    ------
    InvalidWeightsError, NoTreeError
        If the array is not a labelled graph, or the graph has no tree.

    Notes
    -----
    The relative error of answers is at most 1e-13 + 1.2e-16 D, where D is the sum, over the arcs of
    a tree, of how far each is below the best score of its word.

    Examples
    --------
    >>> scores = np.log([[[1, 1], [1, 3], [2, 2]], [[1, 1], [1, 1], [3, 1]], [[1, 1]] * 3])
    >>> d = LabelledTrees(scores, labels=["subject", "object"])
    >>> d
    LabelledTrees(DependencyTrees, 2 words, 4 arcs, 2 labels)
    >>> heads, labels = d.best_tree()
    >>> heads.tolist(), [d.labels[label] for label in labels[1:]]
    ([-1, 0, 1], ['object', 'subject'])
    """

    def __init__(
        self,
        log_weights: ArrayLike,
        *,
        kind: type[TreeDistribution] = DependencyTrees,
        labels: Sequence[str] | None = None,
        lengths: ArrayLike | None = None,
        orientation: str = HEAD_DEPENDENT,
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, TreeDistribution)):
            raise TypeError(f"kind must be a class such as DependencyTrees, not {kind!r}")
        scores, best, top = _check_scores(log_weights, "log_weights")
        tops = kind(top, lengths=lengths, orientation=orientation)
        if orientation == DEPENDENT_HEAD:
            scores, best = scores.swapaxes(-2, -3).copy(), best.swapaxes(-1, -2).copy()
        self._set(scores, tops, check_names(labels, scores.shape[-1]), None, best)

    @classmethod
    def from_trees(
        cls,
        trees: TreeDistribution,
        label_log_weights: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Add labels to the arcs of a distribution: P(label | arc) is the softmax of their scores.

        The distribution over trees stays the same.  This is for parsers that score arcs and labels
        separately.

        Parameters
        ----------
        trees : SpanningTrees, DependencyTrees or another distribution over trees
        label_log_weights : array_like, shape ``(*batch_shape, m, m, L)``
            ``[head, dependent, label]``; -inf where the arc cannot have the label.
        labels : sequence of str, optional
            The names of the L labels.

        Examples
        --------
        >>> from arborand import SpanningTrees
        >>> d = LabelledTrees.from_trees(SpanningTrees(np.zeros((3, 3))), np.zeros((3, 3, 2)))
        >>> float(np.exp(d.entropy()).round(6))  # 3 trees with 4 labellings each
        12.0
        """
        if not isinstance(trees, TreeDistribution):
            raise TypeError(
                f"trees must be a distribution such as DependencyTrees, not {type(trees).__name__}"
            )
        arcs = trees.log_weights.shape
        scores, best, top = _check_scores(label_log_weights, "label_log_weights", arcs)
        bad = (trees.log_weights > -np.inf) & ~np.isfinite(top)
        if bad.any():
            index = np.argwhere(bad)[0].tolist()
            raise InvalidWeightsError(
                f"the highest score in label_log_weights{index} is {top[tuple(index)]}, but the "
                "trees have this arc: give at least one of its labels a finite score, and -inf to "
                "labels it cannot have"
            )
        names = check_names(labels, scores.shape[-1])
        return cls.__new__(cls)._set(scores, trees, names, np.zeros(arcs[:-1]), best)

    def _set(
        self,
        scores: NDArray[np.floating],
        base: TreeDistribution,
        names: tuple[str, ...] | None,
        shift: NDArray[np.float64] | None,
        best: NDArray[np.intp] | None = None,
    ) -> Self:
        """Store checked scores, flat over the batch, and the distribution they belong to.

        This is the distribution over trees with their best labels. After `from_trees`, it is the
        one that was given, or its condition, from which the `shift` of each word was subtracted.
        """
        self._base: TreeDistribution = base
        self._names = names
        self._shape = (*base.batch_shape, *scores.shape[-3:])
        self._scores = scores.reshape(math.prod(base.batch_shape), *scores.shape[-3:])
        best = scores.argmax(axis=-1) if best is None else best
        self._best: NDArray[Any] = best.reshape(self._scores.shape[:-1])
        self._shift = None if shift is None else shift.reshape(self._best.shape[:2])
        self._scores[self._flat(base.log_weights) == -np.inf] = -np.inf
        self._scores.flags.writeable = False
        return self

    # ---- its parts

    @property
    def trees(self) -> TreeDistribution:
        """The distribution over the trees without their labels.

        The weight of an arc is the sum over its labels, relative to the best score of its word.  So
        its log Z is less than `log_partition` by the sum of these best scores.  After `from_trees`,
        it is the distribution that was given.
        """
        return self._summed if self._shift is None else self._base

    @property
    def log_weights(self) -> NDArray[np.floating]:
        """The scores [head, dependent, label]; -inf in entries that are ignored."""
        if self._shift is None:
            return self._shaped(self._scores)
        arcs = self._flat(self._base.log_weights) + self._shift[:, None]
        return self._shaped(self._joint(arcs))

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The names of the labels, or None if they have no names."""
        return self._names

    def __getitem__(self, index: Any) -> Self:
        """Take graphs out of a batch, with NumPy's indexing of the batch axes."""
        base = self._base[index]
        chosen = np.arange(len(self._scores)).reshape(self.batch_shape)[index]
        shift = None if self._shift is None else self._shift[chosen]
        return self._with(np.array(self._scores[chosen]), base, shift)

    def _repr_html_(self) -> str:
        from arborand.pictures.notebook import distribution_html

        return distribution_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        made = LabelledTrees.__new__, (type(self),)
        return *made, (np.array(self._scores), self._base, self._names, self._shift)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(*state)

    def _with(
        self,
        scores: NDArray[np.floating],
        base: TreeDistribution,
        shift: NDArray[np.float64] | None,
    ) -> Self:
        return type(self).__new__(type(self))._set(scores, base, self._names, shift)

    # ---- probabilities and expectations

    def log_partition(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute log Z, the logarithm of the summed weights of all labelled trees.

        Examples
        --------
        >>> float(np.exp(LabelledTrees(np.zeros((3, 3, 5))).log_partition()).round(6))
        50.0
        """
        of_trees = self.trees.log_partition(workers=workers)
        shift = self._word_best if self._shift is None else self._shift
        terms = np.column_stack([shift, np.reshape(of_trees, (-1, 1))])
        return np.array([exact_sum(row) for row in terms]).reshape(self.batch_shape)[()]

    def label_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the probability of every labelled arc, in the shape of `log_weights`.

        Examples
        --------
        >>> d = LabelledTrees(np.log([[[1, 1]] * 3, [[1, 1], [1, 1], [1, 3]], [[1, 1]] * 3]))
        >>> d.label_marginals()[1, 2].round(4).tolist()
        [0.1667, 0.5]
        """
        answer = np.empty(self._scores.shape)
        self._rest = self._add_up_rest(answer)
        answer *= self._best_marginals(workers)[..., None]
        return self._shaped(answer)

    def arc_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the probability of every arc, whatever its label.

        Examples
        --------
        >>> LabelledTrees(np.zeros((2, 2, 3))).arc_marginals().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        return self.trees.arc_marginals(workers=workers)

    def root_marginals(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the probability of every root arc, whatever its label.

        Examples
        --------
        >>> LabelledTrees(np.zeros((3, 3, 2))).root_marginals().round(6).tolist()
        [0.0, 0.5, 0.5]
        """
        return self.trees.root_marginals(workers=workers)

    def entropy(self, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the entropy in nats: that of the trees plus the mean entropy of their labels.

        Examples
        --------
        >>> float(np.exp(LabelledTrees(np.zeros((3, 3, 5))).entropy()).round(6))
        50.0
        """
        of_labels = self._over_labels(
            lambda p, log_p: -(p * np.maximum(log_p, _LOWEST)).sum(axis=-1)
        )
        return self.trees.entropy(workers=workers) + self._mean(of_labels, workers)

    def log_prob(self, heads: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
        """Compute the log-probability of labelled trees, -inf outside the support.

        Parameters
        ----------
        heads, labels : array_like of int, shape ``(*draws, *batch_shape, m)``
            Labelled trees, for instance as `sample` returns them.

        Raises
        ------
        InvalidTreeError
            If something is not a tree, or an entry of `labels` is not a label.

        Examples
        --------
        >>> d = LabelledTrees(np.zeros((3, 3, 2)))
        >>> float(np.exp(d.log_prob([-1, 0, 1], [-1, 1, 0])).round(6))
        0.125
        """
        of_trees = np.asarray(self.trees.log_prob(heads))
        tree: NDArray[Any] = np.asarray(heads).astype(np.intp)
        given = self._check_labels(labels, tree.shape)
        graph = np.arange(len(self._scores)).reshape(*self.batch_shape, 1)
        arc = (graph, tree, np.arange(tree.shape[-1]))
        with np.errstate(over="ignore"):
            relative = np.subtract(self._scores[(*arc, given)], self._top[arc], dtype=np.float64)
            of_words = relative - np.log1p(self._rest[arc])
            answer: NDArray[np.float64] = of_trees + np.where(tree < 0, 0.0, of_words).sum(axis=-1)
        return answer[()]

    def expectation(self, arc_values: ArrayLike, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the mean of a sum over labelled arcs, exactly.

        Parameters
        ----------
        arc_values : array_like, shape ``(*batch_shape, m, m, L)``
            ``arc_values[head, dependent, label]``, finite where the arc can have the label.
        workers : int
            Threads that share the graphs of a batch.

        Examples
        --------
        The expected number of arcs with label 0:

        >>> d = LabelledTrees(np.zeros((4, 4, 3)))
        >>> float(d.expectation(np.broadcast_to([1, 0, 0], (4, 4, 3))).round(6))
        1.0
        """
        values = self._check_values(arc_values, "arc_values")
        return self._mean(self._over_labels(lambda p, _, v: (p * v).sum(axis=-1), values), workers)

    def variance(self, arc_values: ArrayLike, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the variance of a sum over labelled arcs, exactly.

        Examples
        --------
        Here the number of arcs with label 0 is binomial:

        >>> d = LabelledTrees(np.zeros((4, 4, 3)))
        >>> float(d.variance(np.broadcast_to([1, 0, 0], (4, 4, 3))).round(6))  # 3 * 1/3 * 2/3
        0.666667
        """
        return np.maximum(self.covariance(arc_values, arc_values, workers=workers), 0.0)[()]

    def covariance(
        self, arc_values: ArrayLike, other: ArrayLike, *, workers: int = 1
    ) -> NDArray[np.float64]:
        """Compute the covariance of two sums over labelled arcs, exactly.

        It is the covariance of their means given the tree plus the mean of their covariances given
        the tree.

        Examples
        --------
        >>> first, second = np.zeros((2, 2, 2, 2))
        >>> first[..., 0] = second[..., 1] = 1  # one label or the other
        >>> float(LabelledTrees(np.zeros((2, 2, 2))).covariance(first, second).round(6))
        -0.25
        """
        values = [self._check_values(arc_values, "arc_values"), self._check_values(other, "other")]
        means = [self._over_labels(lambda p, _, v: (p * v).sum(axis=-1), one) for one in values]
        first, second = (v - mean[..., None] for v, mean in zip(values, means, strict=True))
        within = self._over_labels(lambda p, _, v, w: (p * v * w).sum(axis=-1), first, second)
        between = self.trees.covariance(*map(self._shaped, means), workers=workers)
        return between + self._mean(within, workers)

    def kl_divergence(self, other: LabelledTrees, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the Kullback-Leibler divergence from another distribution, in nats.

        It is the divergence of the trees plus the mean divergence of their labels: infinite if some
        labelled tree of this distribution is not one of the other.

        Examples
        --------
        >>> d = LabelledTrees(np.zeros((3, 3, 2)))
        >>> float(d.kl_divergence(d))
        0.0
        """
        check_same_labels(self, other)
        of_trees = self.trees.kl_divergence(other.trees, workers=workers)

        size = min(self._shape[-2], other._shape[-2])  # padding may differ
        part = (slice(None), slice(size), slice(size))

        def divergences(p: Any, log_p: Any, block: Any) -> Any:
            log_q = np.full_like(log_p, -np.inf)
            log_q[part] = other._log_chances(block)[part]
            with np.errstate(invalid="ignore", over="ignore"):
                distance = log_q - log_p
                # Since p and q sum to 1, the terms of the divergence can be written as
                # q - p - p log(q / p), all of them at least 0.
                near = p * (np.expm1(distance) - distance)
                far = np.exp(log_q) - p - p * distance
            terms = np.where(p > 0, np.where(abs(distance) < 1, near, far), np.exp(log_q))
            return np.maximum(terms, 0.0).sum(axis=-1)

        answer = of_trees + self._mean(self._over_labels(divergences, None), workers)
        # A probability may be 0 because it underflows. Only a label of some tree matters.
        lost = ((self._scores[part] > -np.inf) & (other._scores[part] == -np.inf)).any(axis=-1)
        is_infinite = np.zeros(len(lost), dtype=bool)
        weights, kind = self._flat(self._base.log_weights), self._base._kind
        for graph, *arc in np.argwhere(lost):
            if not is_infinite[graph]:
                num_words = int(self.lengths.flat[graph])
                is_infinite[graph] = has_tree(weights[graph], num_words, kind, tuple(arc))
        return np.where(self._shaped(is_infinite), np.inf, answer)[()]

    def cross_entropy(self, other: LabelledTrees, *, workers: int = 1) -> NDArray[np.float64]:
        """Compute the cross-entropy with another distribution: entropy plus divergence, in nats.

        Examples
        --------
        >>> d = LabelledTrees(np.zeros((3, 3, 2)))
        >>> float(np.exp(d.cross_entropy(d)).round(6))
        8.0
        """
        return self.entropy(workers=workers) + self.kl_divergence(other, workers=workers)

    def condition(
        self,
        *,
        heads: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
    ) -> Self:
        """Make the distribution over the labelled trees that meet a condition.

        Parameters
        ----------
        heads, labels : array_like of int, shape ``(*batch_shape, m)``, optional
            Partial annotations: the head of a word, its label, or both; -1 if it is unknown.
        allowed : array_like of bool, optional
            ``allowed[head, dependent]`` or ``allowed[head, dependent, label]``: which arcs a tree
            may contain.

        Raises
        ------
        NoTreeError
            If no labelled tree is left, with the reason.

        Examples
        --------
        Only label 0 under the root, and nowhere else:

        >>> allowed = np.ones((3, 3, 4), bool)
        >>> allowed[0, :, 1:] = allowed[1:, :, 0] = False
        >>> d = LabelledTrees(np.zeros((3, 3, 4))).condition(allowed=allowed)
        >>> float(np.exp(d.entropy()).round(6)), d.best_tree()[1].tolist()
        (6.0, [-1, 0, 1])
        """
        left = self._what_is_left(labels, allowed)
        given = {"labels": labels, "allowed": allowed}
        asked = check_condition(
            self._base._graphs,
            heads=heads,
            allowed=self._shaped(left.any(axis=-1)),
            allowed_name=" or ".join(name for name, one in given.items() if one is not None),
        )
        is_arc = conditioning.condition(self._base._graphs, asked).has_arc
        left &= is_arc[..., None]
        scores = np.where(left, self._scores, self._scores.dtype.type(-np.inf))
        if self._shift is None:
            tops, shift = scores.max(axis=-1), None
        else:
            tops, shift = self._weighted_by(left), self._shift + self._word_best
        return self._with(scores, self._kind(np.where(is_arc, tops, -np.inf)), shift)

    def log_evidence(
        self,
        *,
        heads: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        workers: int = 1,
    ) -> NDArray[np.float64]:
        """Compute the log-probability of a `condition`: -inf if no labelled tree meets it.

        Examples
        --------
        >>> d = LabelledTrees(np.zeros((3, 3, 2)))
        >>> float(np.exp(d.log_evidence(labels=[-1, 0, -1])).round(6))
        0.5
        """
        left = self._what_is_left(labels, allowed)
        weighted = self._kind(self._weighted_by(left))
        of_labels = weighted.log_partition(workers=workers) - self._summed.log_partition()
        is_left = self._shaped(left.any(axis=-1))
        of_arcs = weighted.log_evidence(heads=heads, allowed=is_left, workers=workers)
        return np.minimum(of_labels, 0.0) + of_arcs

    # ---- draws

    def sample(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        method: str | None = None,
        rng: Seed = None,
        workers: int = 1,
        first_graph: int = 0,
        first_draw: int = 0,
    ) -> HeadsAndLabels:
        """Draw labelled trees with replacement: heads and labels.

        The heads are those that ``trees.sample`` gives for the same arguments.

        Examples
        --------
        >>> d = LabelledTrees(np.zeros((3, 3, 2)))
        >>> heads, labels = d.sample(5, rng=0)
        >>> bool((heads == d.trees.sample(5, rng=0)).all()), labels.shape
        (True, (5, 3))
        """
        key = stream_key(rng)
        first_graph = check_index(first_graph, "first_graph")
        first_draw = check_index(first_draw, "first_draw")
        # Not every kind of tree takes a method.
        options: dict[str, Any] = {} if method is None else {"method": method}
        options |= {"rng": key, "first_graph": first_graph, "first_draw": first_draw}
        heads = self.trees.sample(check_size(size), workers=workers, **options)
        return heads, self._labels_of(heads, key, first_graph, first_draw)

    def sample_and_log_prob(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        method: str | None = None,
        rng: Seed = None,
        workers: int = 1,
        first_graph: int = 0,
        first_draw: int = 0,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Draw labelled trees with replacement: heads, labels and log-probabilities.

        Equivalent to `sample` followed by `log_prob`, with the arguments of `sample`.

        Examples
        --------
        >>> heads, labels, log_prob = LabelledTrees(np.zeros((3, 3, 2))).sample_and_log_prob(rng=0)
        >>> float(np.exp(log_prob).round(6))
        0.125
        """
        heads, labels = self.sample(
            size,
            method=method,
            rng=rng,
            workers=workers,
            first_graph=first_graph,
            first_draw=first_draw,
        )
        return heads, labels, self.log_prob(heads, labels)

    def _labels_of(
        self, heads: NDArray[Any], key: Key, first_graph: int = 0, first_draw: int = 0
    ) -> NDArray[np.int32]:
        """Draw labels for trees of shape ``(*draws, *batch_shape, m)``."""
        num_graphs, size = self._best.shape[:2]
        rows = heads.reshape(heads.size // max(1, num_graphs * size), num_graphs, size)
        labels = np.full(rows.shape, -1, np.int32)
        for graph, num_words in enumerate(self.lengths.flat):
            part = (slice(None), graph, slice(1, num_words + 1))
            labels[part] = draw_labels(
                self._rows_of(graph), rows[part], key, first_graph + graph, first_draw
            )
        return labels.reshape(heads.shape)

    def sample_without_replacement(
        self,
        k: int,
        *,
        method: str | None = None,
        rng: Seed = None,
        on_exhausted: str = "return",
        first_graph: int = 0,
    ) -> Draws:
        """Draw k distinct labelled trees, in proportion to their probabilities among those left.

        New trees appear in the order in which ``trees.sample_without_replacement`` draws them.

        Examples
        --------
        >>> draws = LabelledTrees(np.zeros((3, 3, 2))).sample_without_replacement(99, rng=0)
        >>> len(draws), bool(draws.exhausted), draws.labels.shape
        (8, True, (8, 3))
        """
        heads, labels, numbers, count, exhausted = self._first(
            k,
            lambda _: self._distinct(method, rng, first_graph),
            3,
            "iterate_without_replacement",
            on_exhausted,
        )
        log_prob, log_remaining, perturbed = np.moveaxis(numbers, -1, 0)
        return Draws(heads, log_prob, log_remaining, perturbed, count, exhausted, labels)

    def iterate_without_replacement(
        self, *, method: str | None = None, rng: Seed = None, first_graph: int = 0
    ) -> Iterator[Draw]:
        """Draw distinct labelled trees lazily: the sequence of `sample_without_replacement`.

        Examples
        --------
        >>> d = LabelledTrees(np.zeros((2, 2, 3)))
        >>> sorted(int(draw.labels[1]) for draw in d.iterate_without_replacement(rng=0))
        [0, 1, 2]
        """
        sequences = self._distinct(method, rng, first_graph)
        return InterruptibleIterator(
            Draw(heads, numbers[..., 0], numbers[..., 1], numbers[..., 2], labels)
            for heads, labels, numbers in self._side_by_side(sequences, 3)
        )

    # ---- best trees

    def best_tree(self, *, workers: int = 1) -> HeadsAndLabels:
        """Find the best labelled tree: heads and labels.

        Examples
        --------
        >>> heads, labels = LabelledTrees(np.zeros((3, 3, 2))).best_tree()
        >>> heads.tolist(), labels.tolist()
        ([-1, 0, 1], [-1, 0, 0])
        """
        return self._with_best_labels(self._tops.best_tree(workers=workers))

    def best_trees(self, k: int, *, on_exhausted: str = "return") -> BestTrees:
        """Find the k best labelled trees, in order: by exact score, then heads, then labels.

        Examples
        --------
        >>> trees = LabelledTrees(np.zeros((3, 3, 2))).best_trees(3)
        >>> trees.heads.tolist(), trees.labels.tolist()
        ([[-1, 0, 1], [-1, 0, 1], [-1, 0, 1]], [[-1, 0, 0], [-1, 0, 1], [-1, 1, 0]])
        """
        heads, labels, _, count, exhausted = self._first(
            k, self._in_order, 0, "iterate_best_trees", on_exhausted
        )
        log_prob = self._log_prob_of_best(heads, labels)
        return BestTrees(heads, log_prob, count, exhausted, labels)

    def iterate_best_trees(self) -> Iterator[BestTree]:
        """Find labelled trees lazily, starting with the best one, until there are no more.

        Examples
        --------
        >>> d = LabelledTrees(np.log([[[1, 1, 1], [1, 3, 2]], [[1, 1, 1]] * 2]))
        >>> [int(tree.labels[1]) for tree in d.iterate_best_trees()]
        [1, 2, 0]
        """
        return InterruptibleIterator(
            BestTree(heads, self._log_prob_of_best(heads, labels), labels=labels)
            for heads, labels, _ in self._side_by_side(self._in_order(None), 0)
        )

    def minimum_risk_tree(self, *, workers: int = 1) -> HeadsAndLabels:
        """Find the labelled tree with the largest expected number of correct labelled arcs.

        Examples
        --------
        >>> heads, labels = LabelledTrees(np.zeros((3, 3, 2))).minimum_risk_tree()
        >>> heads.tolist(), labels.tolist()
        ([-1, 0, 1], [-1, 0, 0])
        """
        is_arc = self._flat(self._base.log_weights) > -np.inf
        marginals = self._kind(np.where(is_arc, self._best_marginals(workers), -np.inf))
        return self._with_best_labels(marginals.best_tree(workers=workers))

    # ---- the labels of arcs, with one axis for the batch

    def _flat(self, array: NDArray[Any]) -> NDArray[Any]:
        shape = self.batch_shape
        return array.reshape(math.prod(shape), *array.shape[len(shape) :])

    def _shaped(self, array: Any) -> NDArray[Any]:
        shaped: NDArray[Any] = array.reshape((*self.batch_shape, *array.shape[1:]))
        return shaped

    def _kind(self, scores: NDArray[np.floating]) -> TreeDistribution:
        """Make a distribution of the same words and the same kind of tree."""
        kind = type(self._base)
        # Without the constructor's warnings: they were given for the scores of the caller.
        return kind._of(check_log_weights(self._shaped(scores), self.lengths, kind=kind._kind))

    @cached_property
    def _rest(self) -> NDArray[np.float64]:
        """The total weight of all labels of an arc except the best, relative to the best."""
        return self._add_up_rest()

    def _add_up_rest(self, kept: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Compute `_rest`, and store the weights that it adds up in `kept`, if given."""
        rest = np.empty(self._best.shape)
        for block in _blocks(self._scores.shape):
            weights = self._relative(block)
            np.exp(weights, out=weights)
            if kept is not None:
                kept[block] = weights
            weights.put(_places(self._best[block], self.num_labels), 0.0)
            np.einsum("...l->...", weights, out=rest[block])
        return rest

    def _best_marginals(self, workers: int) -> NDArray[np.float64]:
        """Compute the probability of every arc with its best label."""
        return self._flat(self.trees.arc_marginals(workers=workers)) / (1.0 + self._rest)

    @cached_property
    def _word_best(self) -> NDArray[np.float64]:
        """The best score of each word; 0 for the root and padding."""
        best: NDArray[np.float64] = self._flat(self._base.log_weights).max(axis=1)
        return np.where(best > -np.inf, best, 0.0)

    @cached_property
    def _summed(self) -> TreeDistribution:
        """The distribution over trees without labels, scored relative to the best of each word.

        Labels change scores by little, which large scores would round away.
        """
        tops = self._flat(self._base.log_weights)
        with np.errstate(over="ignore"):
            relative = np.maximum(tops - self._word_best[:, None], _LOWEST)
        if self._shift is None:
            relative += np.log1p(self._rest)
        return self._kind(np.where(tops > -np.inf, relative, -np.inf))

    @cached_property
    def _tops(self) -> TreeDistribution:
        """The distribution over trees with their best labels."""
        if self._shift is None:
            return self._base
        return self._kind(self._flat(self._summed.log_weights) - np.log1p(self._rest))

    def _with_best_labels(self, heads: NDArray[np.int32]) -> HeadsAndLabels:
        best = np.take_along_axis(self._shaped(self._best), np.maximum(heads, 0)[..., None, :], -2)
        return heads, np.where(heads < 0, -1, best[..., 0, :]).astype(np.int32)

    @cached_property
    def _top(self) -> NDArray[np.float64]:
        """The best score of each arc's labels; 0 where there is no arc."""
        top = self._scores.take(_places(self._best, self.num_labels)).astype(np.float64)
        return np.where(top > -np.inf, top, 0.0)

    def _relative(self, arcs: Any) -> NDArray[np.float64]:
        """Return the scores of some arcs' labels relative to the best of each arc."""
        with np.errstate(over="ignore"):
            relative: NDArray[np.float64] = np.subtract(
                self._scores[arcs], self._top[arcs][..., None], dtype=np.float64
            )
        return relative

    def _log_chances(self, arcs: Any) -> NDArray[np.float64]:
        """Return log P(label | arc) of some arcs' labels: -inf only for impossible labels."""
        scores = self._relative(arcs)
        scores -= np.log1p(self._rest[arcs])[..., None]
        return np.maximum(scores, _LOWEST, out=scores, where=self._scores[arcs] > -np.inf)

    def _joint(self, arcs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add the scores of arcs to log P(label | arc)."""
        with np.errstate(over="ignore"):
            scores = self._log_chances(...) + arcs[..., None]
        return np.maximum(scores, _LOWEST, out=scores, where=self._scores > -np.inf)

    def _over_labels(self, function: Callable[..., Any], *values: Any) -> NDArray[np.float64]:
        """Compute a number for each arc from P(label | arc), its logarithm, and values.

        A value of None stands for the block of arcs itself.
        """
        answer = np.zeros(self._best.shape)
        for block in _blocks(self._scores.shape):
            log_chances = self._log_chances(block)
            chosen = (block if value is None else value[block] for value in values)
            answer[block] = function(np.exp(log_chances), log_chances, *chosen)
        return answer

    def _mean(self, values: NDArray[np.float64], workers: int) -> NDArray[np.float64]:
        return self.trees.expectation(self._shaped(values), workers=workers)

    def _weighted_by(self, left: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Multiply each arc's weight by the probability that its label is among those left.

        An arc with no label left keeps its weight.
        """

        def log_share(p: Any, log_p: Any, kept: Any) -> Any:
            lost = np.where(kept, 0.0, p).sum(axis=-1)
            log_kept = np.where(kept, log_p, -np.inf)
            top = np.maximum(log_kept.max(axis=-1), _LOWEST)
            with np.errstate(divide="ignore"):  # no label is left
                log_sum = top + np.log(np.exp(log_kept - top[..., None]).sum(axis=-1))
            share = np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), log_sum)
            return np.where(kept.any(axis=-1), share, 0.0)

        weights = self._flat(self._summed.log_weights)
        with np.errstate(over="ignore"):
            weighted = np.maximum(weights + self._over_labels(log_share, left), _LOWEST)
        return np.where(weights > -np.inf, weighted, -np.inf)

    # ---- checks of arguments

    def _what_is_left(
        self, labels: ArrayLike | None, allowed: ArrayLike | None
    ) -> NDArray[np.bool_]:
        """Mark the labelled arcs that meet both conditions."""
        left: NDArray[np.bool_] = self._scores > -np.inf
        if allowed is not None:
            try:
                mask, shape = np.asarray(allowed), self._shape
            except ValueError:
                raise TypeError(
                    "allowed cannot be read as an array: all rows must have the same length"
                ) from None
            if mask.dtype != np.bool_:
                raise TypeError(
                    f"allowed must be an array of bool, but its dtype is {mask.dtype}: if 0 "
                    "forbids an arc, pass allowed != 0"
                )
            if mask.shape not in (shape, shape[:-1]):
                raise ValueError(
                    f"allowed has shape {mask.shape}: expected {shape}, True where [head, "
                    f"dependent, label] is allowed, or {shape[:-1]} for arcs with any label"
                )
            left &= self._flat(mask if mask.shape == shape else mask[..., None])
        if labels is not None:
            given = self._check_labels(labels, self._base.log_weights.shape[:-1], least=-1)
            given = self._flat(given)[:, None, :, None]
            left &= (given < 0) | (given == np.arange(self.num_labels))
        return left

    def _check_labels(
        self, labels: ArrayLike, shape: tuple[int, ...], least: int = 0
    ) -> NDArray[np.intp]:
        """Check the labels of words."""
        array = check_integers(labels, "labels").astype(np.intp)
        if array.shape != shape:
            raise InvalidTreeError(
                f"labels has shape {array.shape}: expected the shape of heads, {shape}, with -1 "
                "for the root"
            )
        node = np.arange(shape[-1])
        is_word = (node > 0) & (node <= self.lengths[..., None])
        bad = np.where(is_word, (array < least) | (array >= self.num_labels), array != -1)
        if bad.any():
            index = np.argwhere(bad)[0].tolist()
            raise InvalidTreeError(
                f"labels{index} is {array[tuple(index)]}: labels of words are {least} to "
                f"{self.num_labels - 1}, and those of the root and padding -1"
            )
        return array

    def _check_values(self, values: ArrayLike, name: str) -> NDArray[np.float64]:
        """Check the values of labelled arcs; where there is no arc, return 0."""
        array, shape = real_array(values, name), self._shape
        if array.shape != shape:
            raise ValueError(
                f"{name} has shape {array.shape}: expected {shape}, a value for each labelled arc"
            )
        flat = np.where(self._scores > -np.inf, self._flat(array), 0.0)
        if not np.isfinite(flat).all():
            index = np.argwhere(~np.isfinite(self._shaped(flat)))[0].tolist()
            raise ValueError(
                f"{name}{index} is {array[tuple(index)]}: give every labelled arc a finite number"
            )
        return flat

    # ---- sequences of distinct labelled trees

    def _rows_of(self, graph: int) -> Rows:
        """Return a function that computes log P(label | arc) of a tree's arcs, a row per word."""

        def rows(heads: NDArray[np.int32]) -> NDArray[np.float64]:
            return self._log_chances((graph, heads, np.arange(1, heads.shape[-1] + 1)))

        return rows

    def _distinct(self, method: str | None, rng: Seed, first_graph: int) -> list[RowsOfTrees]:
        key, first_graph = stream_key(rng), check_index(first_graph, "first_graph")
        options: dict[str, Any] = {} if method is None else {"method": method}
        sequences = []
        for graph, one in enumerate(self._graph_by_graph(self.trees)):
            trees = one.iterate_without_replacement(
                rng=key, first_graph=first_graph + graph, **options
            )
            num_words = int(self.lengths.flat[graph])
            rows = self._rows_of(graph)
            sequences.append(draw_distinct(rows, trees, num_words, key, first_graph + graph))
        return sequences

    def _in_order(self, k: int | None) -> list[RowsOfTrees]:
        scores = self._scores
        if self._shift is not None:
            scores = self._joint(self._flat(self._summed.log_weights))
        sequences = []
        for graph, one in enumerate(self._graph_by_graph(self._tops)):
            trees = (tree.heads for tree in one.iterate_best_trees())
            found = trees if k is None else one.best_trees(k).heads
            sequences.append(best_labellings(scores[graph], found, int(self.lengths.flat[graph])))
        return sequences

    def _graph_by_graph(self, trees: TreeDistribution) -> Iterator[TreeDistribution]:
        if not self.batch_shape:
            yield trees
        else:
            yield from (trees[index] for index in np.ndindex(self.batch_shape))

    def _side_by_side(self, sequences: list[RowsOfTrees], num_numbers: int) -> Iterator[Any]:
        """Yield heads, labels and numbers in the shape of the batch; -1 and -inf after the end."""
        for rows, numbers in side_by_side(sequences, (2, self._scores.shape[1]), num_numbers):
            yield *np.moveaxis(self._shaped(rows), -2, 0), self._shaped(numbers)

    def _log_num_trees(self) -> NDArray[np.float64]:
        """Compute the logarithm of the number of labelled trees."""
        with np.errstate(divide="ignore"):
            log_counts = np.log(np.count_nonzero(self._scores > -np.inf, axis=-1))
        return self._kind(log_counts).log_partition()

    def _first(
        self,
        k: int,
        make: Callable[[int], list[RowsOfTrees]],
        num_numbers: int,
        iterator: str,
        on_exhausted: str,
    ) -> tuple[Any, ...]:
        """Take the first k of each: heads, labels, numbers, how many there are, if that is all.

        `make` makes the sequences, given how many trees will be taken.
        """
        k = check_count(k, "k", 0)
        check_choice(on_exhausted, "on_exhausted", ("return", "raise"))
        size = self._scores.shape[1]
        num_bytes = len(self._scores) * (2 * 4 * size + 8 * num_numbers)
        room = limit_room(k, num_bytes, self._log_num_trees, iterator)
        found = [list(itertools.islice(sequence, room)) for sequence in make(room)]
        most = max(map(len, found), default=0)
        rows = np.full((most, len(found), 2, size), -1, np.int32)
        numbers = np.full((most, len(found), num_numbers), -np.inf)
        for graph, trees in enumerate(found):
            for place, one in enumerate(trees):
                rows[place, graph], numbers[place, graph] = one
        heads, labels = np.moveaxis(rows.reshape(most, *self.batch_shape, 2, size), -2, 0)
        numbers = numbers.reshape(most, *self.batch_shape, num_numbers)
        num_found = np.count_nonzero(heads[..., 1] >= 0, axis=0).astype(np.int64)
        exhausted = find_exhausted(k, num_found.ravel(), self.batch_shape, on_exhausted)
        return heads, labels, numbers, num_found[()], exhausted.reshape(self.batch_shape)[()]

    def _log_prob_of_best(
        self, heads: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Compute log-probabilities, -inf where a graph has no more trees."""
        missing = heads[..., 1] < 0
        best = self.best_tree()  # in place of missing trees, for which any tree will do
        pairs = zip(best, (heads, labels), strict=True)
        trees = (np.where(missing[..., None], *pair) for pair in pairs)
        return np.where(missing, -np.inf, self.log_prob(*trees))[()]


def _check_scores(
    values: ArrayLike, name: str, arcs: tuple[int, ...] | None = None
) -> tuple[Any, NDArray[np.intp], Any]:
    """Copy the scores of labelled arcs, and find each arc's best label with its score.

    NaN counts as the best.  The best scores are checked later, by the distribution over trees.
    """
    array = real_array(values, name)
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.float64
    check_shape(array.shape, name, arcs)
    scores = np.array(array, dtype=dtype, order="C")
    best = scores.argmax(axis=-1)
    return scores, best, scores.take(_places(best, scores.shape[-1]))


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Divide arrays of a batch into parts that stay in the cache."""
    step = max(1, _AT_ONCE // math.prod(shape[1:]))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def check_shape(shape: tuple[int, ...], name: str, arcs: tuple[int, ...] | None = None) -> None:
    """Check the shape of the scores of labelled arcs, and that it fits the given arcs."""
    *_, heads, dependents, labels = (0, 0, 0, *shape)
    if len(shape) < 3 or heads != dependents or heads < 2 or labels < 1:
        raise InvalidWeightsError(
            f"{name} has shape {shape}: expected (n + 1, n + 1, L) for a graph of n words "
            "and L labels, at least one of each, or (..., m, m, L) for a padded batch"
        )
    if arcs is not None and shape[:-1] != arcs:
        raise InvalidWeightsError(
            f"{name} has shape {shape}: expected the shape of the trees' log-weights, {arcs}, plus "
            "an axis for the labels"
        )


def check_names(labels: Sequence[str] | None, num_labels: int) -> tuple[str, ...] | None:
    """Check the names of the labels, if there are any."""
    if labels is None:
        return None
    try:
        names: tuple[Any, ...] = (labels,) if isinstance(labels, str) else tuple(labels)
    except TypeError:
        names = (labels,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"labels must be strings, the names of the labels, not {labels!r:.60}")
    if len(names) != num_labels:
        raise ValueError(f"labels has {len(names)} names, but the scores have {num_labels} labels")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"labels has the name {twice!r} twice: names must be different")
    return tuple(map(str, names))


def check_same_labels(own: Any, other: Any) -> None:
    """Check that another distribution is over trees with the same labels."""
    if not isinstance(other, type(own)):
        raise TypeError(f"other must be LabelledTrees, not {type(other).__name__}")
    differs = "other differs from this distribution in its"
    if other.labels != own.labels:
        raise ValueError(f"{differs} labels, {other.labels} instead of {own.labels}")
    if other.num_labels != own.num_labels:
        found = f"{other.num_labels} instead of {own.num_labels}"
        raise ValueError(f"{differs} number of labels, {found}")


def check_comparable(own: Any, other: Any) -> None:
    """Check that another distribution is over labelled trees of the same words and labels."""
    check_same_labels(own, other)
    if other._shape != own._shape:
        raise ValueError(
            "other differs from this distribution in its shape, "
            f"{other._shape} instead of {own._shape}"
        )


def _places(chosen: NDArray[np.intp], num_labels: int) -> NDArray[np.intp]:
    """Return the flat index of one label of each arc: faster than NumPy along an axis."""
    return np.arange(0, chosen.size * num_labels, num_labels).reshape(chosen.shape) + chosen
