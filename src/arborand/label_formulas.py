"""Labelled trees of all front ends (torch, JAX): formulas that a framework can differentiate.

They use only functions that torch and JAX both have under the same name.  The distribution over
trees is the front end's own, with exact gradients; the labels of single arcs are handled by sums
and products of arrays.  What has no gradient (draws, best trees) comes from
:class:`arborand.LabelledTrees`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import arborand
from arborand.arguments import check_choice
from arborand.errors import InvalidTreeError
from arborand.labelled import LabelledShape, check_comparable, check_names, check_shape
from arborand.projective import CLASSES
from arborand.validation import DEPENDENT_HEAD, ORIENTATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

_INFINITY = float("inf")


class LabelFormulas(LabelledShape):
    """Labelled trees over the distributions of a front end.

    Attributes
    ----------
    trees : distribution of the front end
        The distribution over trees without labels. Its log-weights are relative to each word's best
        score, unless it was given.
    labels : tuple of str or None
        The names of the labels.
    """

    _xp: Any  # the module of array functions: torch or jax.numpy
    _front: Any  # operations of the front end
    trees: Any
    labels: tuple[str, ...] | None
    _log_chances: Any  # log P(label | arc), [..., head, dependent, label]
    _shift: Any  # added to log Z of the trees
    _joint: Any  # the scores, if arcs and labels were scored together, or None

    # What a front end adds.
    _range: Any  # the framework's arange
    _check_array: Any  # checks that an argument is an array of the framework
    _check_integers: Any  # and that it holds integers
    _log_prob_of_trees: Any  # without labels; it calls its argument heads
    _divergence: Any  # from another distribution over trees without labels
    _find: Any  # calls a method of `arborand.LabelledTrees` that returns heads and labels

    # ---- construction

    def _from_scores(
        self,
        scores: Any,
        kind: Any,
        labels: Sequence[str] | None,
        lengths: Any,
        orientation: str,
        workers: int,
    ) -> None:
        """Sum over labels, relative to the best score of each word."""
        front, xp = self._front, self._xp
        check_choice(orientation, "orientation", ORIENTATIONS)
        check_shape(tuple(scores.shape), "log_weights")
        if orientation == DEPENDENT_HEAD:
            scores = scores.swapaxes(-2, -3)
        flat = kind(xp.zeros_like(scores[..., 0]), lengths=lengths, workers=workers)
        is_read = front.is_arc(flat.log_weights, flat.lengths)
        scores = xp.where(is_read[..., None], scores, -_INFINITY)
        best = xp.amax(front.stop_gradient(scores), (-1, -3))
        best = xp.where(abs(best) < _INFINITY, best, 0.0)
        arcs, chances = self._normalised(self._below(scores, best[..., None, :, None]))
        trees = flat._like(arcs, flat._lengths)
        self._put(trees, check_names(labels, scores.shape[-1]), chances, best.sum(-1), scores)

    def _from_trees(self, trees: Any, scores: Any, labels: Sequence[str] | None) -> Self:
        """Normalise the label scores of each arc."""
        arcs = tuple(trees.log_weights.shape)
        check_shape(tuple(scores.shape), "label_log_weights", arcs)
        is_arc = self._front.is_arc(trees.log_weights, trees.lengths)
        scores = self._xp.where(is_arc[..., None], scores, -_INFINITY)
        log_sums, chances = self._normalised(scores)
        nothing = self._front.checked(
            self._xp.zeros_like(log_sums),
            is_arc & ~(abs(log_sums) < _INFINITY),
            "the highest score in label_log_weights{} is not finite, but the trees have this arc: "
            "give at least one of its labels a finite score, and -inf to labels it cannot have",
        )
        chances = chances + nothing[..., None]  # so that the check is made
        shift = self._xp.zeros_like(trees.log_weights[..., 0, 0])
        return self._put(trees, check_names(labels, scores.shape[-1]), chances, shift, None)

    def _put(self, trees: Any, labels: Any, log_chances: Any, shift: Any, joint: Any) -> Self:
        own = {"trees": trees, "labels": labels, "_shift": shift, "_joint": joint}
        self.__dict__.update(own, _log_chances=log_chances)
        return self

    def _normalised(self, scores: Any) -> tuple[Any, Any]:
        """Return the logarithms of each arc's sum over labels, and of the labels' shares of it."""
        xp = self._xp
        top = self._front.stop_gradient(xp.amax(scores, -1))
        # Where the best is not finite, it is returned as the sum: a check elsewhere names it. The
        # branch that `where` does not choose must be finite too, or its gradient is NaN.
        is_arc = abs(top) < _INFINITY
        finite = xp.where(is_arc, top, 0.0)
        relative = xp.where(is_arc[..., None], scores, 0.0) - finite[..., None]
        log_sum = xp.log(xp.exp(relative).sum(-1))
        chances = xp.where(is_arc[..., None], relative - log_sum[..., None], -_INFINITY)
        return xp.where(is_arc, finite + log_sum, top), chances

    def __getitem__(self, index: Any) -> Self:
        """Take graphs out of a batch, with the framework's indexing of the batch axes."""
        trees, num_axes = self.trees[index], len(self.batch_shape)
        chosen = self._range(math.prod(self.batch_shape)).reshape(self.batch_shape)[index]

        def taken(array: Any) -> Any:
            return array.reshape(-1, *array.shape[num_axes:])[chosen]

        joint = None if self._joint is None else taken(self._joint)
        chances, shift = taken(self._log_chances), taken(self._shift)
        return object.__new__(type(self))._put(trees, self.labels, chances, shift, joint)

    # ---- probabilities and expectations

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
        """Compute the entropy in nats: that of the trees plus the mean entropy of their labels."""
        return self.trees.entropy() - self.expectation(self._log_chances)

    def log_prob(self, heads: Any, labels: Any) -> Any:
        """Compute the log-probability of labelled trees.

        It is -inf outside the support, and for a row of -1, which stands for a missing tree; both
        contribute nothing to any gradient.
        """
        xp = self._xp
        tree = self._check_integers(heads, "heads")
        of_trees = self._log_prob_of_trees(tree)
        given = self._check_label_array(labels, tuple(tree.shape))
        num_graphs, size = math.prod(self.batch_shape), tree.shape[-1]
        graph = self._range(num_graphs).reshape(*self.batch_shape, 1)
        table = self._log_chances.reshape(num_graphs, size, size, self.num_labels)
        label = xp.where((given >= 0) & (given < self.num_labels), given, 0)
        # The head of the root, -1, indexes from the end: what it reads is dropped below.
        of_words = table[graph, tree, self._range(size), label]
        of_words = self._check_labels(of_words, given, tree >= 0, 0)
        log_prob = of_trees + xp.where(tree >= 0, of_words, 0.0).sum(-1)
        return xp.where(log_prob == -_INFINITY, -_INFINITY, log_prob)

    def expectation(self, arc_values: Any) -> Any:
        """Compute the mean of a sum over labelled arcs."""
        return self.trees.expectation(self._mean(self._check_values(arc_values, "arc_values")))

    def variance(self, arc_values: Any) -> Any:
        """Compute the variance of a sum over labelled arcs."""
        covariance = self.covariance(arc_values, arc_values)
        return self._xp.where(covariance < 0, 0.0, covariance)

    def covariance(self, arc_values: Any, other: Any) -> Any:
        """Compute the covariance of two sums over labelled arcs."""
        values = [self._check_values(arc_values, "arc_values"), self._check_values(other, "other")]
        means = [self._mean(one) for one in values]
        first, second = (v - mean[..., None] for v, mean in zip(values, means, strict=True))
        within = self._mean(first * second)
        return self.trees.covariance(*means) + self.trees.expectation(within)

    def kl_divergence(self, other: Self) -> Any:
        """Compute the Kullback-Leibler divergence from another distribution, in nats.

        It is infinite if a labelled arc that the other does not allow is in some tree of this
        distribution. Arcs whose marginal, in the precision of answers, is 0 do not count.
        """
        check_comparable(self, other)
        marginals = self.trees.arc_marginals()
        of_labels = self._label_divergences(other, marginals > 0)
        return self._divergence(other) + (marginals * of_labels).sum((-1, -2))

    def cross_entropy(self, other: Self) -> Any:
        """Compute the mean of minus the other's log-probability, in nats."""
        return self.entropy() + self.kl_divergence(other)

    def condition(self, *, heads: Any = None, labels: Any = None, allowed: Any = None) -> Self:
        """Make the distribution over the labelled trees that meet a condition.

        The arguments are those of :meth:`arborand.LabelledTrees.condition`.
        """
        scores, shift = self._relative()
        weighted, chances, arcs = self._weighted(scores, heads, labels, allowed)
        trees = weighted.condition(**arcs)
        is_left = (trees.log_weights != -_INFINITY)[..., None]
        chances = self._xp.where(is_left, chances, -_INFINITY)
        joint = self._joint
        if joint is not None:
            joint = self._xp.where(chances != -_INFINITY, joint, -_INFINITY)
        made = object.__new__(type(self))
        return made._put(trees, self.labels, chances, self._shift + shift, joint)

    def log_evidence(self, *, heads: Any = None, labels: Any = None, allowed: Any = None) -> Any:
        """Compute the log-probability of a `condition`.

        It is -inf if no labelled tree meets the condition, which then contributes nothing to any
        gradient.
        """
        scores, _ = self._relative()
        weighted, _, arcs = self._weighted(scores, heads, labels, allowed)
        of_arcs = weighted.log_evidence(**arcs)
        trees = self.trees._like(scores, self.trees._lengths)
        of_labels = weighted.log_partition() - trees.log_partition()
        of_labels = self._xp.where(of_labels > 0, 0.0, of_labels)
        return self._xp.where(of_arcs == -_INFINITY, of_arcs, of_labels + of_arcs)

    # ---- best trees: heads and labels, without derivatives

    def best_tree(self) -> Any:
        """Find the best labelled tree: heads and labels."""
        return self._find("best_tree")

    def minimum_risk_tree(self) -> Any:
        """Find the labelled tree with the largest expected number of correct labelled arcs."""
        return self._find("minimum_risk_tree")

    # ---- implementation

    def _mean(self, values: Any) -> Any:
        """Compute the mean over the labels of each arc."""
        return (self._xp.exp(self._log_chances) * values).sum(-1)

    def _label_divergences(self, other: Self, is_read: Any) -> Any:
        """Compute the divergence of the labels of each arc, 0 where it is not read.

        Since p and q sum to 1, its terms can be written as q - p - p log(q / p), all of them at
        least 0.
        """
        xp = self._xp
        log_p, log_q = self._log_chances, other._log_chances
        is_label = is_read[..., None] & (log_p != -_INFINITY)
        is_both = is_label & (log_q != -_INFINITY)
        distance = xp.where(is_both, log_q, 0.0) - xp.where(is_both, log_p, 0.0)
        is_near = abs(distance) < 1
        close = xp.where(is_near, distance, 0.0)  # no overflow where `where` does not choose it
        p, q = xp.exp(log_p), xp.exp(log_q)
        terms = xp.where(is_near, p * (xp.expm1(close) - close), q - p - p * distance)
        terms = xp.where(is_both, terms, xp.where(is_label, _INFINITY, q))
        return xp.where(is_read[..., None] & (terms > 0), terms, 0.0).sum(-1)

    def _check_values(self, values: Any, name: str) -> Any:
        """Check values of labelled arcs; where the arc cannot have the label, return 0.

        There 0 times NaN would be NaN.
        """
        given, xp = self._check_array(values, name), self._xp
        if tuple(given.shape) != self._shape:
            raise ValueError(
                f"{name} has shape {tuple(given.shape)}: expected {self._shape}, a value for each "
                "labelled arc"
            )
        is_read = xp.exp(self._log_chances) > 0
        return xp.where(is_read, given, xp.zeros_like(self._log_chances))

    def _check_allowed(self, allowed: Any) -> Any:
        """Check a mask of arcs or labelled arcs, and give it an axis of labels."""
        mask, shape = self._check_array(allowed, "allowed"), self._shape
        if mask.dtype != self._xp.bool:
            raise TypeError(
                f"allowed must be an array of bool, but its dtype is {mask.dtype}: if 0 forbids an "
                "arc, pass allowed != 0"
            )
        if tuple(mask.shape) not in (shape, shape[:-1]):
            raise ValueError(
                f"allowed has shape {tuple(mask.shape)}: expected {shape}, True where [head, "
                f"dependent, label] is allowed, or {shape[:-1]} for arcs with any label"
            )
        return mask if tuple(mask.shape) == shape else mask[..., None]

    def _check_label_array(self, labels: Any, shape: tuple[int, ...]) -> Any:
        """Check the type and shape of labels; see `_check_labels` for their values."""
        given = self._check_integers(labels, "labels")
        if tuple(given.shape) != shape:
            raise InvalidTreeError(
                f"labels has shape {tuple(given.shape)}: expected the shape of heads, {shape}, "
                "with -1 for the root"
            )
        return given

    def _check_labels(self, numbers: Any, labels: Any, is_word: Any, least: int) -> Any:
        """Return the numbers if words have valid labels and other nodes have -1."""
        last = self.num_labels - 1
        is_wrong = self._xp.where(is_word, (labels < least) | (labels > last), labels != -1)
        return self._front.checked(
            numbers,
            is_wrong,
            f"labels{{}} is not a label: those of words are {least} to {last}, and those of the "
            "root and padding -1",
        )

    def _below(self, scores: Any, best: Any) -> Any:
        """Subtract the best scores of words; what was finite stays finite."""
        xp = self._xp
        lowest = xp.finfo(scores.dtype).min
        return xp.where(scores == -_INFINITY, -_INFINITY, xp.clip(scores - best, lowest))

    def _relative(self) -> tuple[Any, Any]:
        """Return the scores of arcs relative to each word's best, and the sum of what is best.

        Labels change scores by little, which large scores would round away.
        """
        front, xp = self._front, self._xp
        scores = self.trees.log_weights + xp.zeros_like(self._log_chances[..., 0])
        is_arc = front.is_arc(scores, self.lengths)
        best = xp.amax(xp.where(is_arc, front.stop_gradient(scores), -_INFINITY), -2)
        best = xp.where(abs(best) < _INFINITY, best, 0.0)
        return self._below(scores, best[..., None, :]), best.sum(-1)

    def _weighted(
        self, scores: Any, heads: Any, labels: Any, allowed: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Weight the trees by the probability that their labels meet a condition.

        Returns their distribution, in which an arc with no label left keeps its weight; the
        log-probabilities of the labels that are left; and the remaining condition, on arcs.
        """
        xp = self._xp
        left = self._log_chances != -_INFINITY
        if allowed is not None:
            left = left & self._check_allowed(allowed)
        if labels is not None:
            given = self._check_label_array(labels, self._shape[:-2])
            is_kept = (given[..., None] < 0) | (given[..., None] == self._range(self.num_labels))
            left = left & is_kept[..., None, :, :]
        share, chances = self._normalised(xp.where(left, self._log_chances, -_INFINITY))
        if labels is not None:
            node = self._range(given.shape[-1])
            is_word = (node > 0) & (node <= self.lengths[..., None])
            share = self._check_labels(share, given, is_word, -1)
        is_left = share != -_INFINITY
        arcs = scores + xp.where(is_left, share, 0.0)
        weighted = self.trees._like(arcs, self.trees._lengths)
        known = {} if heads is None else {"heads": heads}
        return weighted, chances, {"allowed": is_left, **known}

    @property
    def _base(self) -> Any:
        return self.trees

    @property
    def _shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self._log_chances.shape)

    @property
    def _given(self) -> tuple[Any, ...]:
        """The arguments of `_on_host`."""
        if self._joint is not None:
            return self._joint, self.lengths
        return self._log_chances, self.lengths, self.trees.log_weights

    def _on_host(self, scores: Any, lengths: Any, *arcs: Any) -> arborand.LabelledTrees:
        """Make the same distribution from NumPy arrays; joint scores keep the order of trees."""
        kind = CLASSES[self.trees._kind]
        if not arcs:
            return arborand.LabelledTrees(scores, kind=kind, lengths=lengths)
        return arborand.LabelledTrees.from_trees(kind(*arcs, lengths=lengths), scores)
