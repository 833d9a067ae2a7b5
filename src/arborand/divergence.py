"""The Kullback-Leibler divergence of two distributions over the trees of the same words.

The core carries it through an elimination of both graphs, share by share.  That is exact for close
arguments, but where the other distribution has scores that are far apart its terms may be large and
cancel.  Then the formula with the scores may do better; the one with the smaller terms is used.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from arborand import _core, inference
from arborand.best import best_tree
from arborand.validation import has_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.validation import Graphs

# A carried divergence is in doubt where its terms are so much larger than itself, or 1.
LARGEST_CANCELLATION = 16.0

# Scores are multiplied by this, so that their differences stay in the range of float64.
_SCALE = 2.0**-20


def kl_divergence(graphs: Graphs, other: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the divergence of every graph's trees from those of another of the same lengths."""
    size = min(graphs.size, other.size)  # padding may differ
    log_weights = graphs.log_weights[:, :size, :size]
    other_weights = np.ascontiguousarray(other.log_weights[:, :size, :size])
    single_root = graphs.single_root
    is_infinite = np.zeros(len(log_weights), dtype=bool)
    if other.single_root and not single_root:
        # Any two root arcs are in a spanning tree together, which is no dependency tree.
        is_infinite = (log_weights[:, 0] > -np.inf).sum(axis=1) > 1
        single_root = True
    log_weights = np.array(log_weights)
    forbidden = (log_weights > -np.inf) & (other_weights == -np.inf)
    for graph in np.flatnonzero(forbidden.any(axis=(1, 2)) & ~is_infinite):
        # Harmless only if no tree of ours has the arc.
        is_infinite[graph] = any(
            has_tree(log_weights[graph], int(graphs.lengths[graph]), single_root, (head, dependent))
            for head, dependent in np.argwhere(forbidden[graph])
        )
    log_weights[forbidden] = -np.inf
    answer = np.full(len(log_weights), np.inf)
    finite = np.flatnonzero(~is_infinite)
    ours = replace(graphs, log_weights=log_weights, single_root=single_root)
    theirs = replace(other, log_weights=other_weights)
    answer[finite] = _finite(_some(ours, finite), _some(theirs, finite), workers)
    return answer.reshape(graphs.batch_shape)[()]


def _some(graphs: Graphs, chosen: NDArray[np.intp]) -> Graphs:
    """Take some graphs out of a batch."""
    return replace(
        graphs,
        log_weights=graphs.log_weights[chosen],
        lengths=graphs.lengths[chosen],
        batch_shape=chosen.shape,
    )


def _finite(graphs: Graphs, other: Graphs, workers: int) -> NDArray[np.float64]:
    """Compute the divergence where the other graphs allow every arc."""
    carried = np.empty((len(graphs.lengths), 2))
    _core.divergence(
        graphs.log_weights,
        graphs.lengths,
        graphs.single_root,
        other.log_weights,
        other.single_root,
        workers,
        carried,
    )
    answer, magnitude = carried.T.copy()
    for graph in np.flatnonzero(~(magnitude / LARGEST_CANCELLATION <= np.maximum(answer, 1.0))):
        chosen = np.array([graph])
        from_scores, terms = _from_scores(_some(graphs, chosen), _some(other, chosen))
        if terms <= magnitude[graph]:
            answer[graph] = from_scores
    return answer


def _from_scores(graphs: Graphs, other: Graphs) -> tuple[float, float]:
    r"""Compute the divergence of one graph from the scores, and the magnitude of its terms.

    With s the scores of q, u the best tree of q and t that of p,

    .. math:: -H(p) - \log q(u) + (s(u) - s(t)) + \sum_e P(e) \, (s(t_e) - s(e)),

    where :math:`t_e` is the arc of t into the same word.  Arcs that p does not use have no part in
    it, so it is accurate where both have the same masks.
    """
    word = np.arange(1, int(graphs.lengths[0]) + 1)
    scores = _SCALE * np.where(other.has_arc[0], other.log_weights[0], 0.0)[:, word]
    column = np.arange(len(word))
    chances = inference.arc_marginals(graphs)[0][:, word]
    ours, theirs = best_tree(graphs)[0, word], best_tree(other)
    kept = scores[ours, column]
    ahead = math.fsum([*scores[theirs[0, word], column], *-kept])
    terms = _smallest_terms(chances, scores, ours, single_root=graphs.single_root)
    surprise = -float(inference.log_prob(other, inference.normalise(other), theirs[None])[0, 0])
    entropy = float(inference.entropy(graphs)[0])
    total = math.fsum([ahead, *terms.ravel(), _SCALE * surprise, -_SCALE * entropy])
    magnitude = abs(ahead) + float(np.abs(terms).sum()) + _SCALE * (surprise + entropy)
    return max(total, 0.0) / _SCALE, magnitude / _SCALE


def _smallest_terms(
    chances: NDArray[np.float64],
    scores: NDArray[np.float64],
    heads: NDArray[np.int32],
    *,
    single_root: bool,
) -> NDArray[np.float64]:
    """Multiply the chances of all arcs by how far they are behind those of one tree.

    Every dependency tree has one root arc, so that a constant may be added to the scores of all of
    them: one that leaves the smallest terms.
    """
    column = np.arange(len(heads))

    def terms(shift: float) -> NDArray[np.float64]:
        shifted = scores.copy()
        shifted[0] += shift
        return chances * (shifted[heads, column] - shifted)

    shifts = {0.0}
    if single_root:
        # Where a root arc would be level with one that it competes with.
        root = int(np.argmin(heads))
        shifts.update((scores[heads, column] - scores[0])[chances[0] > 0].tolist())
        shifts.update((scores[:, root] - scores[0, root])[chances[:, root] > 0].tolist())
    return min((terms(shift) for shift in sorted(shifts)), key=lambda t: float(np.abs(t).sum()))
