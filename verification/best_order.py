"""Are best trees in order?  Scores that are hard to tell apart, and the judges.

The order is exact and total, so there is nothing statistical about it: one difference is a bug.
Judges are the list of all trees with the sums of their scores as fractions; the core's own exact
numbers, which decide where doubles cannot, against the doubles with their certificate; and draws
without replacement, which must not find a tree that is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from arborand import DependencyTrees, SpanningTrees, _core
from arborand.enumeration import dependency_trees, spanning_trees
from arborand.kinds import TreeKind
from arborand.validation import check_log_weights
from verification.laws import FloatArray, HeadsArray
from verification.twin_best import Heads

Family = Callable[[np.random.Generator, tuple[int, int]], FloatArray]

_TREES = {False: spanning_trees, True: dependency_trees}

CAREFUL = 1.0
EXACT_ONLY = float("inf")
"""No choice between cycles is left to doubles."""
TRUSTING = 0.0
"""Doubles decide, however close: a mutant."""


def _clusters(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    label = rng.integers(0, 3, shape[0])
    far = -(10.0 ** rng.uniform(3.3, 6.0, shape))
    return np.where(label[:, np.newaxis] == label, 0.0, far) + rng.normal(size=shape)


def _holes(scores: FloatArray, rng: np.random.Generator, share: float) -> FloatArray:
    return np.where(rng.random(scores.shape) < share, -np.inf, scores)


FAMILIES: Mapping[str, Family] = {
    "normal": lambda rng, shape: 3.0 * rng.normal(size=shape),
    "single precision": lambda rng, shape: (
        rng.normal(size=shape).astype(np.float32).astype(np.float64)
    ),
    "ties": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "zeros": lambda _, shape: np.zeros(shape),
    "decimals": lambda rng, shape: rng.integers(-3, 4, shape) / 10,
    "last bits": lambda rng, shape: (
        rng.integers(-3, 4, shape) / 10 + rng.integers(-2, 3, shape) * 2.0**-50
    ),
    "sparse": lambda rng, shape: _holes(rng.normal(size=shape), rng, 0.3),
    "sparse ties": lambda rng, shape: _holes(rng.integers(-2, 3, shape) / 10.0, rng, 0.3),
    "1e-300 to 1e300": lambda rng, shape: (
        rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape)
    ),
    "subnormal": lambda rng, shape: rng.integers(-3, 4, shape).astype(np.float64) * 5e-324,
    "largest": lambda rng, shape: rng.choice(
        [1.7e308, 1e308, -1e308, -1.7e308, 1.0, 0.0, 1e-320], shape
    ),
    "1e16 and 1": lambda rng, shape: (
        np.where(rng.random(shape) < 0.5, 1e16, 1.0) + rng.integers(0, 2, shape)
    ),
    "masks of -1e20": lambda rng, shape: np.where(
        rng.random(shape) < 0.4, -1e20, rng.normal(size=shape)
    ),
    "clusters": _clusters,
}
"""By name: from a random generator and a shape to scores."""


def graph_of(family: str, rng: np.random.Generator, num_words: int) -> FloatArray:
    """Make scores of a family; there may be no tree."""
    scores = FAMILIES[family](rng, (num_words + 1, num_words + 1))
    scores[:, 0] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    return scores


def in_order(log_weights: FloatArray, *, single_root: bool) -> list[Heads]:
    """List all trees by the exact sum of their scores, then by their heads."""
    arcs = np.where(log_weights > -np.inf, 0.0, -np.inf)
    trees = [heads.tolist() for heads, _ in _TREES[single_root](arcs)]
    exact = {
        (int(i), int(j)): Fraction(float(log_weights[i, j]))
        for i, j in np.argwhere(log_weights > -np.inf)
    }
    ranked = []
    for heads in trees:
        total = sum((exact[heads[j], j] for j in range(1, len(heads))), Fraction(0))
        ranked.append((-total, tuple(heads)))
    return [heads for _, heads in sorted(ranked)]


@dataclass(frozen=True)
class Searches:
    """How searches for best trees ended: by greedy heads, in double, in exact numbers."""

    greedy: int
    certified: int
    exact: int


def from_core(
    log_weights: FloatArray, k: int, *, single_root: bool, caution: float = CAREFUL
) -> tuple[HeadsArray, Searches]:
    """Find the k best trees of a graph with trees, with more or less caution."""
    size = len(log_weights)
    heads = np.empty((1, k, size), dtype=np.int32)
    num_found = np.zeros(1, dtype=np.int64)
    counts = _core.best_trees(
        check_log_weights(log_weights, None, kind=TreeKind(single_root)).batch,
        1,
        caution,
        heads,
        num_found,
    )
    return heads[0, : int(num_found[0])], Searches(*counts)


def best_of(
    graphs: FloatArray, *, single_root: bool, caution: float = CAREFUL
) -> tuple[HeadsArray, Searches]:
    """Find the best trees of a batch of graphs with trees, shape (graphs, words + 1)."""
    heads = np.empty(graphs.shape[:2], dtype=np.int32)
    batch = check_log_weights(graphs, None, kind=TreeKind(single_root)).batch
    counts = _core.best_tree(batch, 1, caution, heads)
    return heads, Searches(*counts)


def has_tree(log_weights: FloatArray, *, single_root: bool) -> bool:
    """Tell whether a graph has a tree of a kind."""
    return _core.Batch.check(log_weights, None, TreeKind(single_root))[0] is not None


@dataclass(frozen=True)
class Order:
    """The verdict of a judge.

    Attributes
    ----------
    num_trees : int
        How many were compared.
    num_wrong : int
        How many graphs are out of order, or trees missing.
    searches : Searches
        How the trees were found.
    """

    num_trees: int
    num_wrong: int
    searches: Searches

    @property
    def p_value(self) -> float:
        """1 or 0: nothing is random but the graphs."""
        return float(self.num_wrong == 0)

    def report(self) -> str:
        """Return the evidence in words."""
        return (
            f"{self.num_trees} trees compared, {self.num_wrong} graphs out of order; searches: "
            f"{self.searches.greedy} greedy, {self.searches.certified} in double, "
            f"{self.searches.exact} in exact numbers"
        )


def judge_whole_order(family: str, num_graphs: int, seed: int, *, single_root: bool) -> Order:
    """Compare every tree of small graphs with the list of all trees."""
    rng = np.random.default_rng(seed)
    counts, num_trees, num_wrong = np.zeros(3, dtype=np.int64), 0, 0
    for _ in range(num_graphs):
        graph = graph_of(family, rng, int(rng.integers(1, 6)))
        if not has_tree(graph, single_root=single_root):
            continue
        expected = in_order(graph, single_root=single_root)
        found, searches = from_core(graph, len(expected) + 1, single_root=single_root)
        num_trees += len(expected)
        num_wrong += [tuple(heads) for heads in found.tolist()] != expected
        counts += (searches.greedy, searches.certified, searches.exact)
    return Order(num_trees, num_wrong, Searches(*map(int, counts)))


def judge_certificate(
    family: str, num_graphs: int, seed: int, *, single_root: bool, caution: float = CAREFUL
) -> Order:
    """Compare best trees found with doubles where they suffice with those in exact numbers."""
    rng = np.random.default_rng(seed)
    counts, num_trees, num_wrong = np.zeros(3, dtype=np.int64), 0, 0
    while num_trees < num_graphs:
        num_words = int(rng.integers(2, 13))
        made = (graph_of(family, rng, num_words) for _ in range(256))
        graphs = np.array([g for g in made if has_tree(g, single_root=single_root)])
        if not len(graphs):
            continue
        found, searches = best_of(graphs, single_root=single_root, caution=caution)
        expected, _ = best_of(graphs, single_root=single_root, caution=EXACT_ONLY)
        num_trees += len(graphs)
        num_wrong += int((found != expected).any(axis=-1).sum())
        counts += (searches.greedy, searches.certified, searches.exact)
    return Order(num_trees, num_wrong, Searches(*map(int, counts)))


def judge_no_tree_is_missing(
    log_weights: FloatArray, k: int, seed: int, *, single_root: bool
) -> Order:
    """Draw k trees without replacement: the k best hold all that are better than their last."""
    distribution = (DependencyTrees if single_root else SpanningTrees)(log_weights)
    best = distribution.best_trees(k)
    drawn = distribution.sample_without_replacement(k, rng=seed)
    # Log-probabilities are right to some 1e-13; closer trees may be on either side.
    better = drawn.log_prob > best.log_prob[-1] + 1e-10
    known = {heads.tobytes() for heads in best.heads}
    missing = sum(heads.tobytes() not in known for heads in drawn.heads[better])
    unordered = int((np.diff(best.log_prob) > 1e-10).sum()) + (len(known) < len(best))
    return Order(len(best) + int(better.sum()), missing + unordered, Searches(0, 0, 0))
