"""The Kullback-Leibler divergence of two distributions over the trees of the same words.

There are three formulas, each used where it loses no digits. Most pairs are far enough apart for a
formula with the scores. Two close distributions are joined by a path, along which the variance is
integrated. If masked arcs make both inaccurate, a formula with the entropy may have smaller terms.
``docs/mathematics.md`` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from arborand import inference
from arborand.expectations import covariance
from arborand.kinds import TreeKind, do_cross
from arborand.validation import Graphs, checked_batch, has_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Arc = tuple[int, int]

# A formula is trusted if its terms add up to at most this many times the divergence: their errors
# are a few 2^-53, so 14 digits are correct.
LARGEST_CANCELLATION = 16.0
# How far the log-ratio of the two probabilities may range over the trees of close distributions:
# beyond it, the integral would need too many points.
LARGEST_RANGE = 4.0

# Scores are multiplied by this, so that their differences stay in the range of float64.
_SCALE = 2.0**-20


def kl_divergence(graphs: Graphs, other: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the divergence of every graph's trees from those of another of the same lengths."""
    size = min(graphs.size, other.size)  # padding may differ
    log_weights = graphs.log_weights[:, :size, :size]
    other_weights = other.log_weights[:, :size, :size]
    kind = graphs.kind
    is_infinite = np.zeros(len(log_weights), dtype=bool)
    # Narrow the kind to what both have in common: if this loses a tree of ours, the divergence is
    # infinite.
    if other.kind.has_single_root and not kind.has_single_root:
        is_infinite |= _any_tree_has_two(log_weights, graphs, _root_arcs)
        kind = TreeKind.PROJECTIVE_DEPENDENCY if kind.is_projective else TreeKind.DEPENDENCY
    if other.kind.is_projective and not kind.is_projective:
        is_infinite |= _any_tree_has_two(log_weights, graphs, _crossing_arcs)
        kind = kind.projective
    log_weights = np.array(log_weights)
    forbidden = (log_weights > -np.inf) & (other_weights == -np.inf)
    for graph in np.flatnonzero(forbidden.any(axis=(1, 2)) & ~is_infinite):
        # Harmless only if no tree of ours has the arc.
        is_infinite[graph] = any(
            has_tree(log_weights[graph], int(graphs.lengths[graph]), kind, (head, dependent))
            for head, dependent in np.argwhere(forbidden[graph])
        )
    log_weights[forbidden] = -np.inf
    answer = np.full(len(log_weights), np.inf)
    finite = np.flatnonzero(~is_infinite)
    lengths = graphs.lengths[finite]
    ours = checked_batch(log_weights[finite], lengths, kind)
    theirs = checked_batch(other_weights[finite], lengths, other.kind)
    shape = finite.shape
    answer[finite] = _finite(Graphs(ours, shape, kind), Graphs(theirs, shape, other.kind), workers)
    return answer.reshape(graphs.batch_shape)[()]


def _any_tree_has_two(
    log_weights: NDArray[np.float64],
    graphs: Graphs,
    pairs: Callable[[list[Arc]], Iterable[tuple[Arc, Arc]]],
) -> NDArray[np.bool_]:
    """Mark the graphs in which some tree contains both arcs of one of the pairs."""
    answer = np.zeros(len(log_weights), dtype=bool)
    for graph, (weights, length) in enumerate(zip(log_weights, graphs.lengths, strict=True)):
        arcs = [(int(head), int(word)) for head, word in np.argwhere(weights > -np.inf)]
        answer[graph] = any(
            has_tree(weights, int(length), graphs.kind, arc, other) for arc, other in pairs(arcs)
        )
    return answer


def _root_arcs(arcs: list[Arc]) -> Iterable[tuple[Arc, Arc]]:
    return combinations((arc for arc in arcs if arc[0] == 0), 2)


def _crossing_arcs(arcs: list[Arc]) -> Iterable[tuple[Arc, Arc]]:
    # Two arcs into the same word share an end, and do not cross.
    return (pair for pair in combinations(arcs, 2) if do_cross(*pair))


def _finite(graphs: Graphs, other: Graphs, workers: int) -> NDArray[np.float64]:
    """Compute the divergence if the other graphs allow every arc of ours."""
    pairs = _Pairs.of(graphs, other, workers)
    answer, magnitude = pairs.from_scores([-pairs.own, pairs.others], pairs.surprisal)
    for graph in np.flatnonzero(~(magnitude / LARGEST_CANCELLATION <= answer)):
        chosen = np.array([graph])
        pair = _Pairs.of(graphs.take(chosen), other.take(chosen), workers)
        rounded, answer[graph] = pair.along_path(workers)
        if not rounded < magnitude[graph]:
            answer[graph] = pair.with_smallest_terms()
    return answer


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of graphs, and a tree of each pair that is probable under the first distribution, p."""

    graphs: Graphs
    other: Graphs
    chances: NDArray[np.float64]  # of arcs, under p
    heads: NDArray[np.int32]  # of the tree; 0 where there is no word
    surprisal: NDArray[np.float64]  # of the tree under p, to full relative accuracy
    other_surprisal: NDArray[np.float64]  # and under q
    own: NDArray[np.float64]  # scores of p times _SCALE, 0 where there is no arc
    others: NDArray[np.float64]  # and of q

    @classmethod
    def of(cls, graphs: Graphs, other: Graphs, workers: int) -> _Pairs:
        heads = np.zeros((len(graphs), graphs.size), dtype=np.int32)
        surprisal = inference.tree_surprisal(graphs, heads, workers, is_given=False)
        other_surprisal = inference.tree_surprisal(other, heads, workers, is_given=True)
        heads[:, 0] = 0
        chances = inference.arc_marginals(graphs, workers)
        own, others = (
            _SCALE * np.where(one.has_arc, one.log_weights, 0.0) for one in (graphs, other)
        )
        return cls(graphs, other, chances, heads, surprisal, other_surprisal, own, others)

    def from_scores(
        self,
        values: list[NDArray[np.float64]],
        surprisal: NDArray[np.float64],
        root_shift: float = 0.0,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Compute the divergences from the scores, and the magnitudes of their terms.

        With s_p and s_q the scores, and t a tree that is probable under p, the divergence is

        .. math:: \log p(t) - \log q(t) + \sum_e P(e) \, (s_p(e) - s_p(t_e) - s_q(e) + s_q(t_e)),

        where :math:`t_e` is the arc of t into the same word.  If t has nearly all the mass of both,
        all terms are small, and known to full relative accuracy.
        """
        numbers = [part for one in values for part in (-one, self._of_tree(one))]
        if root_shift:
            leaves_root = np.arange(self.graphs.size)[:, None] == 0
            numbers.append(root_shift * ((self.heads == 0)[:, None] - leaves_root.astype(float)))
        count, size = self.heads.shape
        terms = (self.chances * _rounded_once(numbers)).reshape(count, size * size)
        parts = np.column_stack([terms, _SCALE * self.other_surprisal, -_SCALE * surprisal])
        with np.errstate(over="ignore"):  # beyond the largest double
            sums, magnitudes = parts.sum(axis=1) / _SCALE, np.abs(parts).sum(axis=1) / _SCALE
        return np.maximum(sums, 0.0), magnitudes

    def _of_tree(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take the values of the trees' own arcs, for all arcs into the same words."""
        chosen = np.take_along_axis(values, self.heads[:, None], axis=1)
        return np.broadcast_to(chosen, values.shape)

    def with_smallest_terms(self) -> float:
        r"""Compute the divergence of one pair, by the formula that has the smallest terms.

        Every dependency tree has one root arc, so a constant may be added to the values of all root
        arcs. And with :math:`-H(p)` in place of :math:`\log p(t)` no scores of p are needed: this
        is accurate if every tree of p needs masked arcs that q has not masked.
        """
        candidates = []
        entropy = inference.entropy(self.graphs)
        for taken, values in ((self.surprisal, [-self.own, self.others]), (entropy, [self.others])):
            shift = 0.0
            if self.graphs.kind.has_single_root:
                shift = _root_shift(self.chances[0], np.sum(values, axis=0)[0], self.heads[0])
            answer, magnitude = self.from_scores(values, taken, shift)
            candidates.append((float(magnitude[0]), float(answer[0])))
        return min(candidates)[1]

    def along_path(self, workers: int) -> tuple[float, float]:
        r"""Integrate the variance along the path from p to q, if they are close enough.

        Return the magnitude of what is rounded, and the divergence; both infinite if they are not.

        Let f(e) be the score of e under q minus that under p, but for a constant per word, which
        changes nothing, and :math:`p_u` the distribution with the scores :math:`s_p + u f`.  Then

        .. math:: KL = \int_0^1 (1 - u) \, Var_{p_u}(f) \, du.

        If q allows more trees than p, the additional ones are left out, and their share under q is
        added.
        """
        is_arc = self.graphs.has_arc
        within = self.other
        has_more_trees = self.other.kind != self.graphs.kind or bool(
            (is_arc != self.other.has_arc).any()
        )
        if has_more_trees:
            kept = np.where(is_arc, self.other.log_weights, -np.inf)
            within = self.graphs.with_log_weights(kept)
        # No other arc matters anywhere on the path, whatever its scores are.
        matters = (self.chances > 0.0) | (inference.arc_marginals(within, workers) > 0.0)
        scores = np.where(is_arc, self.graphs.log_weights, -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):  # far beyond the accepted range
            ratio = self._log_ratio(matters)
            span = float((ratio.max(axis=1) - ratio.min(axis=1)).sum())
        if not span <= LARGEST_RANGE:
            return math.inf, math.inf
        beyond = 0.0
        if has_more_trees:
            heads = self.heads.copy()
            surprisal = inference.tree_surprisal(within, heads, workers, is_given=True)
            beyond = max(float(self.other_surprisal[0] - surprisal[0]), 0.0)
        if span == 0.0:
            return 0.0, beyond
        # The variance is analytic where |Im u| < pi / span: three quarters of that bound an ellipse
        # with the axes' sum rho, and the error is a multiple of rho^(-2 points).  A single point
        # would not even integrate 1 - u times a variance that changes.
        points = max(2, math.ceil(23.0 / math.asinh(1.5 * math.pi / span)))
        place, weight = np.polynomial.legendre.leggauss(points)
        share = (1.0 + place) / 2.0
        shape = (points, *scores.shape[1:])
        lengths = np.repeat(self.graphs.lengths, points)
        batch = checked_batch(scores + share[:, None, None] * ratio, lengths, self.graphs.kind)
        path = Graphs(batch, (points,), self.graphs.kind)
        ratios = np.broadcast_to(ratio, shape).copy()
        variance = covariance(path, ratios, ratios, workers)
        common = float((weight / 2.0 * (1.0 - share) * variance).sum())
        # Rounding a score changes the common part in proportion to the score.
        largest = float(np.abs(scores[ratio != 0.0]).max())
        return largest * common, common + beyond

    def _log_ratio(self, matters: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Compute what to add to the scores of p to have those of q, but for constants of words.

        The sums are rounded in proportion to the scores.  So the score that is the largest of its
        word stays as it is, and the others change in relation to it: none that changes is larger
        than the largest that differs between p and q.
        """
        sizes = np.where(matters, np.abs(self.own), -1.0)
        largest = sizes.argmax(axis=1)[:, None]
        numbers = [
            part
            for one in (self.others, -self.own)
            for part in (one, np.broadcast_to(-np.take_along_axis(one, largest, 1), one.shape))
        ]
        return np.where(matters, _rounded_once(numbers) / _SCALE, 0.0)


def _rounded_once(numbers: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Add up arrays, rounding each sum only once, to keep small differences of large terms."""
    total, errors, magnitude = np.zeros((3, *numbers[0].shape))
    for one in numbers:  # Knuth's TwoSum
        following = total + one
        back = following - total
        errors = errors + ((total - (following - back)) + (one - back))
        total, magnitude = following, magnitude + np.abs(one)
    answer: NDArray[np.float64] = total + errors
    # The errors of `errors` are below 2^-106 of the magnitude, for each of the few numbers and
    # their sum.
    in_doubt = (errors != 0) & (2.0**-100 * magnitude > 2.0**-53 * np.abs(answer))
    for place in zip(*np.nonzero(in_doubt), strict=True):
        answer[place] = math.fsum(one[place] for one in numbers)
    return answer


def _root_shift(
    chances: NDArray[np.float64], values: NDArray[np.float64], heads: NDArray[np.int32]
) -> float:
    """Find the constant to add to the values of all root arcs that makes the terms smallest.

    The term of an arc that competes with a root arc is its probability times the distance of the
    shift from the level at which the two are equal. The sum is smallest at the weighted median of
    these levels.
    """
    head, dependent = np.nonzero(chances)
    of_tree = heads[dependent]
    competes = (head == 0) != (of_tree == 0)
    head, dependent, of_tree = head[competes], dependent[competes], of_tree[competes]
    if not len(head):
        return 0.0
    levels = (values[of_tree, dependent] - values[head, dependent]) * np.where(head == 0, 1.0, -1.0)
    order = np.argsort(levels, kind="stable")
    below = np.cumsum(chances[head, dependent][order])
    return float(levels[order][np.searchsorted(below, below[-1] / 2)])
