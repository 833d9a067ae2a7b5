"""The Kullback-Leibler divergence of two distributions over the trees of the same words.

The core carries it through an elimination of both graphs, share by share.  That is exact for close
arguments, but where the other distribution has scores that are far apart its terms may be large and
cancel.  Then a formula with the scores may do better; the one with the smallest terms is used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arborand import _core, inference
from arborand.best import best_tree
from arborand.validation import Graphs, checked_batch, has_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A carried divergence is in doubt where its terms are so much larger than itself, or 1.
LARGEST_CANCELLATION = 16.0

# Scores are multiplied by this, so that their differences stay in the range of float64.
_SCALE = 2.0**-20


def kl_divergence(graphs: Graphs, other: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the divergence of every graph's trees from those of another of the same lengths."""
    size = min(graphs.size, other.size)  # padding may differ
    log_weights = graphs.log_weights[:, :size, :size]
    other_weights = other.log_weights[:, :size, :size]
    kind = graphs.kind
    is_infinite = np.zeros(len(log_weights), dtype=bool)
    if other.kind.has_single_root and not kind.has_single_root:
        # Any two root arcs are in a spanning tree together, which is no dependency tree.
        is_infinite = (log_weights[:, 0] > -np.inf).sum(axis=1) > 1
        kind = other.kind
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


def _finite(graphs: Graphs, other: Graphs, workers: int) -> NDArray[np.float64]:
    """Compute the divergence where the other graphs allow every arc."""
    carried = np.empty((len(graphs), 2))
    _core.divergence(graphs.batch, other.batch, workers, carried)
    answer, magnitude = carried.T.copy()
    for graph in np.flatnonzero(~(magnitude / LARGEST_CANCELLATION < np.maximum(answer, 1.0))):
        chosen = np.array([graph])
        from_scores, terms = _from_scores(graphs.take(chosen), other.take(chosen))
        if terms <= magnitude[graph]:
            answer[graph] = from_scores
    return answer


def _from_scores(graphs: Graphs, other: Graphs) -> tuple[float, float]:
    r"""Compute the divergence of one graph from the scores, and the magnitude of its terms.

    With s the scores of q, u the best tree of q and t that of p, the divergence is

    .. math:: -\log q(u) + (s(u) - s(t)) - H(p) + \sum_e P(e) \, (s(t_e) - s(e)),

    where :math:`t_e` is the arc of t into the same word.  Arcs that p does not use have no part in
    it, so it is accurate where p respects the masks of q.  Another form of it has
    :math:`\log p(t)` in place of :math:`-H(p)`, and the scores of q minus those of p in the sum: it
    is accurate where both have the same masks.  The one with the smaller terms is used.
    """
    word = np.arange(1, int(graphs.lengths[0]) + 1)
    column = word - 1
    scores, own = (
        _SCALE * np.where(one.has_arc[0], one.log_weights[0], 0.0)[:, word]
        for one in (other, graphs)
    )
    chances = inference.arc_marginals(graphs)[0][:, word]
    trees = [best_tree(one) for one in (graphs, other)]
    ours, theirs = (tree[0, word] for tree in trees)
    surprise, other_surprise = (
        -float(inference.log_prob(one, inference.normalise(one), tree[None])[0, 0])
        for one, tree in zip((graphs, other), trees, strict=True)
    )
    ahead = math.fsum([*scores[theirs, column], *-scores[ours, column]])
    candidates = []
    for taken, values in (
        (float(inference.entropy(graphs)[0]), [scores]),
        (surprise, [scores, -own]),
    ):
        terms = _terms(chances, values, ours, has_single_root=graphs.kind.has_single_root)
        parts = [ahead, *terms, _SCALE * other_surprise, -_SCALE * taken]
        candidates.append((math.fsum(map(abs, parts)), math.fsum(parts)))
    magnitude, total = min(candidates)
    return max(total, 0.0) / _SCALE, magnitude / _SCALE


def _terms(
    chances: NDArray[np.float64],
    values: list[NDArray[np.float64]],
    heads: NDArray[np.int32],
    *,
    has_single_root: bool,
) -> list[float]:
    """Multiply the chances of all arcs by how far they are behind those of one tree.

    An arc's value is the sum of several numbers, whose differences are rounded once: all else would
    lose what is small beside them.
    """
    column = np.arange(len(heads))
    kept = [one[heads, column] for one in values]
    shift = _root_shift(chances, np.sum(values, axis=0), heads) if has_single_root else 0.0
    terms = []
    for i, j in np.argwhere(chances > 0).tolist():
        gap = [one[j] for one in kept] + [-one[i, j] for one in values]
        gap += [shift * (int(heads[j] == 0) - int(i == 0))]
        terms.append(float(chances[i, j]) * math.fsum(gap))
    return terms


def _root_shift(
    chances: NDArray[np.float64], values: NDArray[np.float64], heads: NDArray[np.int32]
) -> float:
    """Find what to add to all root arcs, of which every dependency tree has one: small terms."""
    column = np.arange(len(heads))
    gaps = values[heads, column] - values
    is_root = (heads == 0).astype(np.float64) - (np.arange(len(values)) == 0)[:, np.newaxis]
    # Where a root arc would be level with one that it competes with.
    levels = np.where((chances > 0) & (is_root != 0), -gaps * is_root, 0.0)

    def magnitude(shift: float) -> float:
        return float(np.abs(chances * (gaps + shift * is_root)).sum())

    smallest: float = min(np.unique(levels).tolist(), key=magnitude)
    return smallest
