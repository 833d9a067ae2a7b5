"""What labelled trees of the fronts have in common: formulas that a framework can differentiate.

They are written in what torch and JAX call alike.  The distribution of the trees is the front's
own, whose gradients are exact; the labels of single arcs are sums and products of its arrays.  What
has no gradient (draws, best trees) is asked of :class:`arborand.LabelledTrees`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import arborand
from arborand.errors import InvalidWeightsError

_INFINITY = float("inf")


class LabelFormulas:
    """Labelled trees over the distributions of a front.

    Attributes
    ----------
    trees : distribution of the front
        Of the trees without labels; its log-weights are relative to each word's best score, unless
        it was given.
    labels : tuple of str or None
        The names of the labels.
    """

    _xp: Any  # the module of the front's functions on arrays
    trees: Any
    labels: tuple[str, ...] | None
    _log_chances: Any  # log P(label | arc), [..., head, dependent, label]
    _shift: Any  # what log Z of the trees lacks
    _joint: Any  # the scores, if arcs and labels were scored together, or None

    # ---- what a front provides

    @staticmethod
    def _constant(array: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def _integers(array: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def _divergence(trees: Any, other: Any) -> Any:
        raise NotImplementedError

    # ---- how it is made

    def _from_scores(self, scores: Any, kind: Any, lengths: Any, **options: Any) -> None:
        """Sum over labels, relative to the best score of each word."""
        xp = self._xp
        self._check_shape(scores, "log_weights", None)
        is_read = self._is_read(scores, lengths)
        scores = xp.where(is_read[..., None], scores, -_INFINITY)
        top, relative = self._relative(scores)
        is_arc = top != -_INFINITY
        best = xp.amax(top, -2)
        best = xp.where(best == -_INFINITY, 0.0, best)
        log_sum = xp.log(xp.exp(relative).sum(-1))
        arcs = xp.where(is_arc, top - best[..., None, :] + log_sum, -_INFINITY)
        chances = xp.where(is_arc[..., None], relative - log_sum[..., None], -_INFINITY)
        self._put(kind(arcs, lengths=lengths, **options), chances, best.sum(-1), scores)

    def _from_trees(self, trees: Any, scores: Any) -> None:
        """Normalise the label scores of each arc."""
        xp = self._xp
        self._check_shape(scores, "label_log_weights", tuple(trees.log_weights.shape))
        is_arc = self._is_read(scores, trees.lengths) & (trees.log_weights != -_INFINITY)
        scores = xp.where(is_arc[..., None], scores, -_INFINITY)
        top, relative = self._relative(scores)
        log_sum = xp.log(xp.exp(relative).sum(-1))
        is_arc = top != -_INFINITY
        chances = xp.where(is_arc[..., None], relative - log_sum[..., None], -_INFINITY)
        self._put(trees, chances, 0.0, None)

    def _put(self, trees: Any, log_chances: Any, shift: Any, joint: Any) -> None:
        self.__dict__.update(trees=trees, _log_chances=log_chances, _shift=shift, _joint=joint)

    def _relative(self, scores: Any) -> tuple[Any, Any]:
        """Return the best score of each arc, a constant, and the others relative to it."""
        xp = self._xp
        top = self._constant(xp.amax(scores, -1))
        is_arc = top != -_INFINITY
        # What is not chosen must not be infinite either, or its gradient is not a number.
        safe = xp.where(is_arc[..., None], scores, 0.0)
        return top, safe - xp.where(is_arc, top, 0.0)[..., None]

    def _is_read(self, scores: Any, lengths: Any) -> Any:
        """Mark the arcs between nodes of each graph."""
        size = scores.shape[-2]
        node = self._xp.arange(size)
        last = size - 1 if lengths is None else self._integers(lengths)[..., None, None]
        return (
            (node[:, None] != node)
            & (node > 0)
            & (node <= last)
            & (node[:, None] <= last)
            & self._xp.ones(tuple(scores.shape[:-1]), dtype=bool)
        )

    @staticmethod
    def _check_shape(scores: Any, name: str, arcs: tuple[int, ...] | None) -> None:
        shape = tuple(scores.shape)
        is_square = len(shape) >= 3 and shape[-2] == shape[-3] >= 2 and shape[-1] >= 1
        if not is_square or (arcs is not None and shape[:-1] != arcs):
            wanted = "(*batch_shape, m, m, L)" if arcs is None else f"{(*arcs, 'L')}"
            raise InvalidWeightsError(f"{name} has shape {shape}: expected {wanted}, L labels")

    @property
    def num_labels(self) -> int:
        """The number of labels."""
        return int(self._log_chances.shape[-1])

    @property
    def lengths(self) -> Any:
        """The number of words of each graph, in the shape of the batch."""
        return self.trees.lengths

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch: ``()`` for a single graph."""
        return tuple(self.trees.batch_shape)

    def __repr__(self) -> str:
        kind, _, rest = repr(self.trees).partition("(")
        return f"{type(self).__name__}({kind}, {rest[:-1]}, {self.num_labels} labels)"

    # ---- what it knows

    def log_partition(self) -> Any:
        """Compute log Z; its gradient is `label_marginals`."""
        return self.trees.log_partition() + self._shift

    def label_marginals(self) -> Any:
        """Compute the probability of every labelled arc, [..., head, dependent, label]."""
        return self.trees.arc_marginals()[..., None] * self._xp.exp(self._log_chances)

    def label_log_prob(self) -> Any:
        """Compute log P(label | arc) of every labelled arc, [..., head, dependent, label]."""
        return self._log_chances

    def arc_marginals(self) -> Any:
        """Compute the probability of every arc, whatever its label."""
        return self.trees.arc_marginals()

    def root_marginals(self) -> Any:
        """Compute the probability of every root arc, whatever its label."""
        return self.trees.root_marginals()

    def entropy(self) -> Any:
        """Compute the entropy, in nats: that of the trees, plus the mean of that of labels."""
        terms = self._xp.exp(self._log_chances) * self._finite(self._log_chances)
        return self.trees.entropy() - self.trees.expectation(terms.sum(-1))

    def log_prob(self, heads: Any, labels: Any) -> Any:
        """Compute the log-probability of labelled trees: -inf outside the support."""
        xp = self._xp
        of_trees = self.trees.log_prob(heads)
        size = self._log_chances.shape[-2]
        table = self._log_chances.reshape(-1, size, size, self.num_labels)
        trees, given = (
            self._integers(one).reshape(-1, len(table), size) for one in (heads, labels)
        )
        is_word = trees >= 0
        graph = xp.arange(len(table))[:, None]
        arcs = (graph, xp.where(is_word, trees, 0), xp.arange(size), xp.where(is_word, given, 0))
        of_labels = xp.where(is_word, table[arcs], 0.0).sum(-1)
        return of_trees + of_labels.reshape(of_trees.shape)

    def expectation(self, arc_values: Any) -> Any:
        """Compute the mean of a sum over labelled arcs."""
        return self.trees.expectation(self._means(arc_values))

    def variance(self, arc_values: Any) -> Any:
        """Compute the variance of a sum over labelled arcs."""
        return self.covariance(arc_values, arc_values)

    def covariance(self, arc_values: Any, other: Any) -> Any:
        """Compute the covariance of two sums over labelled arcs."""
        means = [self._means(one) for one in (arc_values, other)]
        first, second = (
            self._read(one) - mean[..., None]
            for one, mean in zip((arc_values, other), means, strict=True)
        )
        within = (self._xp.exp(self._log_chances) * first * second).sum(-1)
        return self.trees.covariance(*means) + self.trees.expectation(within)

    def kl_divergence(self, other: Self) -> Any:
        """Compute the Kullback-Leibler divergence from another distribution, in nats."""
        p = self._xp.exp(self._log_chances)
        distance = self._finite(self._log_chances) - self._xp.where(p > 0, other._log_chances, 0.0)
        between = self._divergence(self.trees, other.trees)
        return between + self.trees.expectation((p * distance).sum(-1))

    def cross_entropy(self, other: Self) -> Any:
        """Compute the mean of minus the other's log-probability, in nats."""
        return self.entropy() + self.kl_divergence(other)

    def condition(self, *, heads: Any = None, labels: Any = None, allowed: Any = None) -> Self:
        """Make the distribution of the labelled trees that meet a condition.

        The arguments are those of :meth:`arborand.LabelledTrees.condition`.
        """
        xp = self._xp
        left = self._log_chances != -_INFINITY
        if allowed is not None:
            left = left & (allowed if len(allowed.shape) == len(left.shape) else allowed[..., None])
        if labels is not None:
            given = self._integers(labels)[..., None, :, None]
            left = left & ((given < 0) | (given == xp.arange(self.num_labels)))
        chances = xp.where(left, self._log_chances, -_INFINITY)
        top, relative = self._relative(chances)
        is_arc = top != -_INFINITY
        share = xp.where(is_arc, top, 0.0) + xp.log(xp.exp(relative).sum(-1))
        arcs = self.trees.log_weights + xp.where(is_arc, share, 0.0)
        conditions = {"allowed": is_arc} if heads is None else {"allowed": is_arc, "heads": heads}
        lengths = self.trees._lengths
        trees = self.trees._like(arcs, lengths).condition(**conditions)
        left = left & (trees.log_weights != -_INFINITY)[..., None]
        chances = xp.where(left, chances - share[..., None], -_INFINITY)
        made = object.__new__(type(self))
        joint = None if self._joint is None else xp.where(left, self._joint, -_INFINITY)
        made.__dict__["labels"] = self.labels
        made._put(trees, chances, self._shift, joint)
        return made

    def log_evidence(self, *, heads: Any = None, labels: Any = None, allowed: Any = None) -> Any:
        """Compute the log-probability of a `condition` that some labelled tree meets."""
        met = self.condition(heads=heads, labels=labels, allowed=allowed)
        return met.trees.log_partition() - self.trees.log_partition()

    # ---- how it is done

    def _finite(self, log_chances: Any) -> Any:
        return self._xp.where(log_chances == -_INFINITY, 0.0, log_chances)

    def _read(self, values: Any) -> Any:
        return self._xp.where(self._log_chances == -_INFINITY, 0.0, values)

    def _means(self, values: Any) -> Any:
        return (self._xp.exp(self._log_chances) * self._read(values)).sum(-1)

    def _on_host(
        self, arcs: Any, lengths: Any, log_chances: Any, joint: Any
    ) -> arborand.LabelledTrees:
        """Make the same distribution of arrays; `joint` has the order of best trees."""
        kind = getattr(arborand, type(self.trees).__name__)
        if joint is not None:
            return arborand.LabelledTrees(joint, kind=kind, lengths=lengths)
        trees = kind(np.asarray(arcs), lengths=lengths)
        return arborand.LabelledTrees.from_trees(trees, log_chances)
