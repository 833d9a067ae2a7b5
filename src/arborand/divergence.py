"""The Kullback-Leibler divergence of two distributions over the trees of the same words.

The core carries it through an elimination of both graphs, share by share.  That is good for close
arguments.  But its terms are those of all forests.  They are large beside a small divergence where
one tree has nearly all the mass, or where the other distribution has scores that are far apart.
Then a formula with the scores may do better; the one with the smallest terms is used.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arborand import _core, inference
from arborand.validation import Graphs, checked_batch, has_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A carried divergence is in doubt where its largest term is more than this many times as large: its
# error is a few 2^-53 of the term, so below that 14 digits are right, and a formula with scores,
# which takes about as long again, could not give more than one digit beyond.
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
    for graph in np.flatnonzero(~(magnitude <= LARGEST_CANCELLATION * answer)):
        chosen = np.array([graph])
        from_scores, terms = _from_scores(graphs.take(chosen), other.take(chosen))
        if terms <= magnitude[graph]:
            answer[graph] = from_scores
    return answer


def _from_scores(graphs: Graphs, other: Graphs) -> tuple[float, float]:
    r"""Compute the divergence of one graph from the scores, and the magnitude of its terms.

    With s_p and s_q the scores, and t a tree that is probable under p, the divergence is

    .. math:: \log p(t) - \log q(t) + \sum_e P(e) \, (s_p(e) - s_p(t_e) - s_q(e) + s_q(t_e)),

    where :math:`t_e` is the arc of t into the same word.  If t has nearly all the mass of both,
    all terms are small, and known to full relative accuracy.  Another form of it has :math:`-H(p)`
    in place of :math:`\log p(t)`, and no scores of p: it is accurate where every tree of p needs
    masked arcs that q has not masked.  The one with the smaller terms is used.
    """
    heads = np.empty((1, graphs.size), dtype=np.int32)
    surprisal = inference.tree_surprisal(graphs, heads, is_given=False)
    other_surprisal = inference.tree_surprisal(other, heads, is_given=True)
    entropy = float(inference.entropy(graphs)[0])
    word = np.arange(1, int(graphs.lengths[0]) + 1)
    own, others = (
        _SCALE * np.where(one.has_arc[0], one.log_weights[0], 0.0)[:, word]
        for one in (graphs, other)
    )
    chances = inference.arc_marginals(graphs)[0][:, word]
    candidates = []
    for taken, values in ((surprisal, [-own, others]), (entropy, [others])):
        terms = _terms(chances, values, heads[0, word], single_root=graphs.kind.has_single_root)
        parts = [*terms, _SCALE * other_surprisal, -_SCALE * taken]
        candidates.append((math.fsum(map(abs, parts)), math.fsum(parts)))
    magnitude, total = min(candidates)
    return max(total, 0.0) / _SCALE, magnitude / _SCALE


def _terms(
    chances: NDArray[np.float64],
    values: list[NDArray[np.float64]],
    heads: NDArray[np.int32],
    *,
    single_root: bool,
) -> NDArray[np.float64]:
    """Multiply the chances of all arcs by how far they are behind those of one tree."""
    column = np.arange(len(heads))
    is_behind = chances > 0
    is_behind[heads, column] = False  # the tree's own arcs have no part in it
    numbers = [np.broadcast_to(one[heads, column], one.shape) for one in values]
    numbers += [-one for one in values]
    if single_root:
        numbers.append(_root_shift(chances, np.sum(values, axis=0), heads) * _is_root(heads))
    return chances[is_behind] * _rounded_once([one[is_behind] for one in numbers])


def _rounded_once(numbers: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Add up arrays; each sum is rounded once, or what is small beside its terms would be lost."""
    total, errors, magnitude = np.zeros((3, len(numbers[0])))
    for one in numbers:  # Knuth's TwoSum
        following = total + one
        back = following - total
        errors = errors + ((total - (following - back)) + (one - back))
        total, magnitude = following, magnitude + np.abs(one)
    answer = total + errors
    # The errors' own are below 2^-106 of the magnitude, for each of the few numbers and their sum.
    for i in np.flatnonzero(2.0**-100 * magnitude > 2.0**-53 * np.abs(answer)).tolist():
        answer[i] = math.fsum(one[i] for one in numbers)
    return answer


def _is_root(heads: NDArray[np.int32]) -> NDArray[np.float64]:
    """Tell how many more root arcs a tree has than one with another arc instead: -1, 0 or 1."""
    leaves_root = np.zeros((len(heads) + 1, 1))
    leaves_root[0] = 1.0
    return np.where(heads == 0, 1.0, 0.0) - leaves_root


def _root_shift(
    chances: NDArray[np.float64], values: NDArray[np.float64], heads: NDArray[np.int32]
) -> float:
    """Find what to add to all root arcs, of which every dependency tree has one: small terms.

    The terms of arcs that compete with a root arc are their chances times how far the shift is from
    where the two would be level.  The sum is smallest at the median of these levels.
    """
    is_root = _is_root(heads)
    counts = (chances > 0) & (is_root != 0)
    if not counts.any():
        return 0.0
    gaps = values[heads, np.arange(len(heads))] - values
    levels = (-gaps * is_root)[counts]
    order = np.argsort(levels, kind="stable")
    below = np.cumsum(chances[counts][order])
    return float(levels[order][np.searchsorted(below, below[-1] / 2)])
