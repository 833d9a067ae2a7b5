"""Compare distributions with gold trees: accuracy, log-probability and calibration.

`evaluate` compares a distribution, or a batch, with gold heads.  It counts how many heads are
correct in the best tree, in the minimum Bayes risk tree and in a random tree, computes how probable
the gold tree is, and measures calibration: of the arcs in each probability range, how many are
correct?  Its answers are per graph.  A `Summary` adds them up over any number of batches, with the
same result however the graphs are divided into batches.

Gold trees may be incomplete: words without a gold head are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand.arguments import check_workers
from arborand.conditioning import Condition, allowed_arcs, check_heads
from arborand.distributions import check_distribution
from arborand.validation import has_tree, real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from arborand.distributions import TreeDistribution

# Narrow where parsers put most arcs: near 0 and near 1.
EDGES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


class Bin(NamedTuple):
    """The arcs in one range of probability: a row of a :class:`Calibration`.

    Attributes
    ----------
    low, high : float
        The range of probability.
    num_arcs, num_right : int
        The number of arcs in it, and how many of them are correct.
    mean_probability, share_right : float
        NaN if there are no arcs.
    """

    low: float
    high: float
    num_arcs: int
    num_right: int
    mean_probability: float
    share_right: float


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """How many arcs in each range of probability are correct.

    Every arc into a word with a gold head counts, even if its probability is 0.

    Attributes
    ----------
    edges : ndarray of float64, shape (num_bins + 1,)
        Bin b holds the arcs of probability ``edges[b] <= p < edges[b + 1]``; the last bin also
        holds those of probability 1.
    num_arcs, num_right : ndarray of int64, shape ``(*batch_shape, num_bins)``
    probability_sums : ndarray of float64, shape ``(*batch_shape, num_bins)``
        The sum of the probabilities of the arcs: how many of them should be correct.
    """

    edges: NDArray[np.float64]
    num_arcs: NDArray[np.int64]
    num_right: NDArray[np.int64]
    probability_sums: NDArray[np.float64]

    @property
    def mean_probability(self) -> NDArray[np.float64]:
        """The mean probability of the arcs in each bin; NaN if it has none."""
        return _ratio(self.probability_sums, self.num_arcs)

    @property
    def share_right(self) -> NDArray[np.float64]:
        """The share of correct arcs in each bin; NaN if it has none."""
        return _ratio(self.num_right, self.num_arcs)

    @property
    def error(self) -> NDArray[np.float64]:
        """The expected calibration error, per word; NaN if no word has a gold head.

        The absolute difference between how many arcs of each bin are correct and how many should
        be, summed over the bins and divided by the number of words with a gold head.
        """
        difference = np.abs(self.num_right - self.probability_sums).sum(axis=-1)
        return _ratio(difference, np.asarray(self.num_right.sum(axis=-1)))

    def bins(self) -> list[Bin]:
        """List the bins of one graph, or of a sum over graphs, by increasing probability.

        Raises
        ------
        TypeError
            If this is the calibration of a batch, not of the sum over its graphs.

        Examples
        --------
        >>> from arborand import DependencyTrees
        >>> trees = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> bins = evaluate(trees, [-1, 2, 0], edges=[0, 0.5, 1]).calibration.bins()
        >>> [(one.num_arcs, one.num_right) for one in bins]  # two improbable, two probable arcs
        [(2, 0), (2, 2)]
        """
        if self.num_arcs.ndim > 1:
            raise TypeError(
                f"bins() lists the bins of one graph, but this is a batch of shape "
                f"{self.num_arcs.shape[:-1]}; add up its graphs first: evaluation.summary()"
                ".calibration.bins()"
            )
        columns = (
            self.edges[:-1],
            self.edges[1:],
            self.num_arcs,
            self.num_right,
            self.mean_probability,
            self.share_right,
        )
        return [Bin(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The comparison of each graph with its gold heads.

    Attributes
    ----------
    num_words, num_open : ndarray of int64, in the shape of the batch
        How many words have a gold head, and how many have none.  The following attributes only
        count words with a gold head.
    best_right, minimum_risk_right : ndarray of int64
        How many heads are correct in the best tree, and in the minimum Bayes risk tree.
    expected_right : ndarray of float64
        How many heads are correct in a random tree, on average.
    claimed_right : ndarray of float64
        How many correct heads the distribution itself expects in its minimum Bayes risk tree: more
        than `minimum_risk_right` if it is overconfident.
    log_prob : ndarray of float64
        The log-probability that a random tree has all the gold heads; for a complete gold tree,
        this is the log-probability of the tree.  -inf if no tree of the distribution has them, NaN
        if the gold heads are not a tree of this kind or part of one, or if there are none.
    is_tree : ndarray of bool
        Whether the gold heads are a tree of this kind, or part of one.
    calibration : Calibration
    """

    num_words: NDArray[np.int64]
    num_open: NDArray[np.int64]
    best_right: NDArray[np.int64]
    minimum_risk_right: NDArray[np.int64]
    expected_right: NDArray[np.float64]
    claimed_right: NDArray[np.float64]
    log_prob: NDArray[np.float64]
    is_tree: NDArray[np.bool_]
    calibration: Calibration

    def summary(self) -> Summary:
        """Add up the graphs.

        Examples
        --------
        >>> from arborand import DependencyTrees
        >>> trees = DependencyTrees([[[0, 1, 2], [0, 0, 3], [0, 4, 0]]] * 2)
        >>> evaluate(trees, [[-1, 2, 0], [-1, 0, 1]]).summary().best_attachment_score
        0.5
        """
        return Summary().plus(self)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Evaluations added up.

    Attributes
    ----------
    num_sentences : int
    num_words, num_open, best_right, minimum_risk_right, expected_right, claimed_right
        The sums of those in :class:`Evaluation`.
    num_trees : int
        The number of sentences whose gold heads have a positive probability.
    log_prob : float
        The sum of the log-probabilities of their gold heads.
    num_impossible : int
        The number of sentences whose gold heads have probability 0.
    num_no_trees : int
        The number of sentences whose gold heads are not a tree of this kind, or part of one: for
        example, they have a cycle, or several root arcs where only one is allowed.
    calibration : Calibration or None
        None if nothing was added.

    Examples
    --------
    Over a corpus, batch by batch:

    >>> from arborand import DependencyTrees
    >>> trees = DependencyTrees([[[0, 1, 2], [0, 0, 3], [0, 4, 0]]])
    >>> summary = Summary()
    >>> for batch, gold in [(trees, [[-1, 2, 0]]), (trees, [[-1, 0, 1]])]:
    ...     summary = summary.plus(evaluate(batch, gold))
    >>> summary.best_attachment_score
    0.5
    """

    num_sentences: int = 0
    num_words: int = 0
    num_open: int = 0
    best_right: int = 0
    minimum_risk_right: int = 0
    expected_right: float = 0.0
    claimed_right: float = 0.0
    num_trees: int = 0
    log_prob: float = 0.0
    num_impossible: int = 0
    num_no_trees: int = 0
    calibration: Calibration | None = None

    @property
    def best_attachment_score(self) -> float:
        """The share of correct heads (UAS) in the best trees; NaN if there are no words."""
        return _share(self.best_right, self.num_words)

    @property
    def minimum_risk_attachment_score(self) -> float:
        """The share of correct heads (UAS) in the minimum Bayes risk trees."""
        return _share(self.minimum_risk_right, self.num_words)

    @property
    def expected_attachment_score(self) -> float:
        """The expected share of correct heads (UAS) in random trees."""
        return _share(self.expected_right, self.num_words)

    @property
    def claimed_attachment_score(self) -> float:
        """The share of correct heads that the distribution itself expects (minimum Bayes risk)."""
        return _share(self.claimed_right, self.num_words)

    @property
    def mean_log_prob(self) -> float:
        """The mean log-probability of the gold tree, over sentences where it is not -inf.

        `num_impossible` counts the others: compare parsers only if it is the same for both.
        """
        return _share(self.log_prob, self.num_trees)

    def plus(self, evaluation: Evaluation) -> Summary:
        """Add the graphs of an evaluation.

        Raises
        ------
        ValueError
            If its calibration has different edges.
        """
        log_prob = evaluation.log_prob.reshape(-1)
        is_finite = np.isfinite(log_prob)
        return replace(
            self,
            num_sentences=self.num_sentences + evaluation.num_words.size,
            num_trees=self.num_trees + int(is_finite.sum()),
            log_prob=float(_added(self.log_prob, log_prob[is_finite])),
            num_impossible=self.num_impossible + int((log_prob == -np.inf).sum()),
            num_no_trees=self.num_no_trees + int((~evaluation.is_tree).sum()),
            calibration=_added_calibration(self.calibration, evaluation.calibration),
            **{
                name: kind(_added(getattr(self, name), getattr(evaluation, name).reshape(-1)))
                for name, kind in _SUMS.items()
            },
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and lists, for JSON; None for what is not finite."""
        scores = {
            name: _number(getattr(self, name))
            for name in (
                "best_attachment_score",
                "minimum_risk_attachment_score",
                "expected_attachment_score",
                "claimed_attachment_score",
                "mean_log_prob",
            )
        }
        counts = {
            name: _number(getattr(self, name))
            for name in self.__dataclass_fields__
            if name != "calibration"
        }
        bins = []
        if self.calibration is not None:
            names = ("from", "to", *Bin._fields[2:])
            bins = [
                dict(zip(names, map(_number, row), strict=True)) for row in self.calibration.bins()
            ]
        return {**scores, **counts, "calibration": bins}


# Fields that are simply summed.
_SUMS: dict[str, Any] = {
    "num_words": int,
    "num_open": int,
    "best_right": int,
    "minimum_risk_right": int,
    "expected_right": float,
    "claimed_right": float,
}


def evaluate(
    distribution: TreeDistribution,
    gold: ArrayLike,
    *,
    edges: ArrayLike = EDGES,
    workers: int = 1,
) -> Evaluation:
    """Compare a distribution with gold heads.

    Parameters
    ----------
    distribution : DependencyTrees or another kind, without labels
        One graph, or a batch.
    gold : array_like of int, shape ``(*batch_shape, m)``
        The gold head of each word; -1 if it is not known, and for the root and padding.  They
        need not form a tree.
    edges : array_like of float
        The edges of the calibration bins, ascending from 0 to 1.
    workers : int
        Threads that share the graphs of a batch.

    Returns
    -------
    Evaluation

    Raises
    ------
    InvalidTreeError, TypeError
        If gold or the edges have the wrong type, or gold has the wrong shape or contains a head
        that is not another node.
    ValueError
        If the edges are not a list of numbers that ascend from 0 to 1.

    Notes
    -----
    Takes :math:`O(n^3)` time: the marginals twice, and log Z once.  The result for a graph does not
    depend on the other graphs of the batch, to the last bit.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> trees = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> evaluation = evaluate(trees, [-1, 2, 0])
    >>> int(evaluation.best_right), float(np.exp(evaluation.log_prob).round(4))
    (2, 0.8808)
    """
    check_distribution(distribution, "evaluate")
    workers = check_workers(workers)
    shape, size = distribution.batch_shape, distribution.log_weights.shape[-1]
    heads = check_heads(gold, distribution._graphs, "gold")
    bins = _check_edges(edges)
    lengths = distribution.lengths.reshape(-1)
    given = heads >= 0
    graph, word = np.nonzero(given)
    marginals = distribution.arc_marginals(workers=workers).reshape(-1, size, size)
    best = distribution.best_tree(workers=workers).reshape(heads.shape)
    least_risk = distribution.minimum_risk_tree(workers=workers).reshape(heads.shape)

    def per_graph(weights: NDArray[Any] | None = None) -> NDArray[Any]:
        """Sum over each graph's words with a gold head, from left to right."""
        return np.bincount(graph, weights, minlength=len(heads)).reshape(shape)

    def num_right(trees: NDArray[np.int32]) -> NDArray[np.int64]:
        same = trees[graph, word] == heads[graph, word]
        return per_graph(same).astype(np.int64)

    log_prob, is_part_of_tree = _log_prob(distribution, heads, given, best, workers)
    return Evaluation(
        num_words=per_graph(),
        num_open=(lengths - given.sum(axis=1)).astype(np.int64).reshape(shape),
        best_right=num_right(best),
        minimum_risk_right=num_right(least_risk),
        expected_right=per_graph(marginals[graph, heads[graph, word], word]),
        claimed_right=per_graph(marginals[graph, least_risk[graph, word], word]),
        log_prob=log_prob.reshape(shape),
        is_tree=is_part_of_tree.reshape(shape),
        calibration=_calibration(marginals, heads, given, lengths, bins, shape),
    )


def _log_prob(
    distribution: TreeDistribution,
    heads: NDArray[np.intp],
    given: NDArray[np.bool_],
    best: NDArray[np.int32],
    workers: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Compute the log-probability of gold heads, and whether they are a tree or a part of one."""
    graphs = distribution._graphs
    left = np.where(allowed_arcs(graphs, Condition(heads=heads)), 0.0, -np.inf)
    is_part = np.array(
        [
            has_tree(arcs, num_words, graphs.kind)
            for arcs, num_words in zip(left, graphs.lengths, strict=True)
        ],
        dtype=bool,
    )
    is_complete = is_part & (given.sum(axis=1) == graphs.lengths)
    shape = (*distribution.batch_shape, heads.shape[1])
    # The best tree stands in for gold that is not a complete tree; its log-probability is unused.
    trees = np.where(is_complete[:, None], heads, best)
    answer = np.array(distribution.log_prob(trees.reshape(shape)), dtype=np.float64).reshape(-1)
    is_incomplete = is_part & ~is_complete & given.any(axis=1)
    if is_incomplete.any():
        asked = np.where(is_incomplete[:, None], heads, -1).reshape(shape)
        evidence = distribution.log_evidence(heads=asked, workers=workers)
        answer = np.where(is_incomplete, np.reshape(evidence, -1), answer)
    return np.where(is_complete | is_incomplete, answer, np.nan), is_part


def _calibration(
    marginals: NDArray[np.float64],
    heads: NDArray[np.intp],
    given: NDArray[np.bool_],
    lengths: NDArray[np.int32],
    edges: NDArray[np.float64],
    shape: tuple[int, ...],
) -> Calibration:
    """Sort all arcs into words with a gold head by their probability."""
    num_bins, node = len(edges) - 1, np.arange(heads.shape[1])
    is_arc = given[:, None, :] & (node <= lengths[:, None])[:, :, None]
    is_arc &= node[:, None] != node
    graph, head, word = np.nonzero(is_arc)
    probability = marginals[graph, head, word]
    cell = graph * num_bins + np.searchsorted(edges[1:-1], probability, side="right")
    is_right = heads[graph, word] == head

    def counted(weights: NDArray[Any] | None = None) -> NDArray[Any]:
        return np.bincount(cell, weights, minlength=len(heads) * num_bins).reshape(*shape, num_bins)

    return Calibration(edges, counted(), counted(is_right).astype(np.int64), counted(probability))


def _check_edges(edges: ArrayLike) -> NDArray[np.float64]:
    array = real_array(edges, "edges").astype(np.float64)
    is_ascending = array.ndim == 1 and array.size >= 2 and bool((array[1:] > array[:-1]).all())
    if not is_ascending or array[0] != 0.0 or array[-1] != 1.0:
        raise ValueError(f"edges must ascend from 0 to 1, but are {array}")
    return array


def _added(total: Any, values: NDArray[Any]) -> Any:
    """Add values to a total one by one, so that the sum does not depend on the batches."""
    with np.errstate(over="ignore"):  # beyond float64, it is infinite
        return np.cumsum(np.concatenate([np.asarray(total)[None], values]), axis=0)[-1]


def _added_calibration(total: Calibration | None, new: Calibration) -> Calibration:
    num_bins = len(new.edges) - 1
    if total is None:
        nothing = np.zeros(num_bins, dtype=np.int64)
        total = Calibration(new.edges, nothing, nothing, np.zeros(num_bins))
    if not np.array_equal(total.edges, new.edges):
        raise ValueError("the calibrations have different edges: use the same for all batches")
    names = ("num_arcs", "num_right", "probability_sums")
    sums = (_added(getattr(total, n), getattr(new, n).reshape(-1, num_bins)) for n in names)
    return Calibration(total.edges, *sums)


def _ratio(sums: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    answer = np.full(counts.shape, np.nan)
    np.divide(sums, counts, out=answer, where=counts > 0)
    return answer


def _share(part: float, count: int) -> float:
    return part / count if count else float("nan")


def _number(value: Any) -> Any:
    return value if np.isfinite(value) else None
