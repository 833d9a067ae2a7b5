"""Are they right?  What is asked of every side before it is timed.

Numbers (log Z, marginals) are compared with ours, which the tests compare with enumeration and with
high-precision arithmetic.  Samplers are judged by their law on a small graph, tree by tree, or by
ordered pairs of trees if they draw without replacement, and by the validity of what they draw on
the graph that is timed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from arborand import enumeration
from arborand.trees import is_tree, num_root_arcs
from benchmarks.graphs import Floats

Heads = NDArray[np.int32]
_Outcome = TypeVar("_Outcome", bound=Hashable)
# A sampler is called wrong where chance would say so once in a million times.
_LEVEL = 1e-6


def number_objection(found: Floats, expected: Floats, tolerance: float) -> str | None:
    """Say by how much numbers differ, relative to the larger of 1 and the expected number."""
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected)
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if not np.isfinite(found).all():
        return f"{np.count_nonzero(~np.isfinite(found))} of {found.size} numbers are not finite"
    error = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    if error[worst] <= tolerance:
        return None
    return f"{found[worst]:.9g} where {expected[worst]:.9g} is right"


def tree_objection(heads: Heads, log_weights: Floats, *, single_root: bool) -> str | None:
    """Say whether a draw is not a tree, has several roots or uses a forbidden arc."""
    heads = np.asarray(heads).reshape(-1, log_weights.shape[-1])
    valid = is_tree(heads)
    if not np.all(valid):
        return f"{np.count_nonzero(~valid)} of {len(heads)} draws are not trees"
    if single_root and not np.all(num_root_arcs(heads) == 1):
        return "draws with several arcs out of the root"
    words = np.arange(1, heads.shape[1])
    if np.isneginf(log_weights[heads[:, 1:], words]).any():
        return "draws with arcs that do not exist"
    return None


def batch_objection(
    heads: Heads, batch: Floats, num_draws: int, *, single_root: bool
) -> str | None:
    """Say what `tree_objection` says about the trees drawn from each graph of a batch.

    `heads` have the shape that ``sample(num_draws)`` gives them: draws first, then graphs.
    """
    if heads.shape != (num_draws, *batch.shape[:2]):
        return f"shape {heads.shape} instead of {(num_draws, *batch.shape[:2])}"
    for graph, log_weights in enumerate(batch):
        objection = tree_objection(heads[:, graph], log_weights, single_root=single_root)
        if objection is not None:
            return f"graph {graph}: {objection}"
    return None


def same_objection(found: NDArray[Any], expected: NDArray[Any]) -> str | None:
    """Say whether an answer differs in any bit, as it must not by the number of workers."""
    return None if np.array_equal(found, expected) else "not the answer of a single worker"


def distinct_objection(heads: Heads, log_weights: Floats, *, single_root: bool) -> str | None:
    """Say whether a tree was drawn twice, besides what `tree_objection` says."""
    repeats = len(heads) - len({row.tobytes() for row in np.ascontiguousarray(heads)})
    if repeats:
        return f"{repeats} of {len(heads)} trees are repeats"
    return tree_objection(heads, log_weights, single_root=single_root)


def law_objection(
    draw: Callable[[int], Heads], log_weights: Floats, num_draws: int, *, single_root: bool
) -> str | None:
    """Say whether draws from a small graph do not follow its law, by a chi-square test of counts.

    `draw` takes the number of trees and returns their heads.
    """
    heads = np.asarray(draw(num_draws))
    objection = tree_objection(heads, log_weights, single_root=single_root)
    if objection is not None:
        return objection
    law = _tree_law(log_weights, single_root=single_root)
    counts = Counter(tuple(row) for row in heads.tolist())
    return _counts_objection(counts, law, num_draws, "tree")


def distinct_law_objection(
    draw_two: Callable[[], Heads], log_weights: Floats, num_draws: int, *, single_root: bool
) -> str | None:
    """Say whether pairs of distinct trees do not follow their law, by a chi-square test of counts.

    A pair comes with the probability of its first tree, times that of its second among all others.
    `draw_two` returns the heads of two trees, in the order in which they were drawn.
    """
    counts: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for _ in range(num_draws):
        heads = np.asarray(draw_two())
        if len(heads) != 2:
            return f"{len(heads)} trees instead of 2"
        objection = distinct_objection(heads, log_weights, single_root=single_root)
        if objection is not None:
            return objection
        first, second = heads.tolist()
        counts[tuple(first), tuple(second)] += 1
    trees = _tree_law(log_weights, single_root=single_root)
    law = {
        (first, second): p * q / (1.0 - p)
        for first, p in trees.items()
        for second, q in trees.items()
        if first != second
    }
    return _counts_objection(counts, law, num_draws, "pair of trees")


def _tree_law(log_weights: Floats, *, single_root: bool) -> dict[tuple[int, ...], float]:
    trees, probabilities = enumeration.tree_law(log_weights, single_root=single_root)
    keys = [tuple(row) for row in np.asarray(trees).tolist()]
    return dict(zip(keys, np.asarray(probabilities).tolist(), strict=True))


def _counts_objection(
    counts: Mapping[_Outcome, int], law: Mapping[_Outcome, float], num_draws: int, what: str
) -> str | None:
    observed = np.array([counts.get(key, 0) for key in law])
    expected = num_draws * np.array(list(law.values()))
    # What is rare is counted together, so that every cell expects at least 10 or so.
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if len(expected) < 2:
        raise ValueError(f"{num_draws} draws are too few to judge a law by")
    chance = float(stats.chisquare(observed, expected).pvalue)
    if chance >= _LEVEL:
        return None
    worst = int(np.argmax(np.abs(observed - expected) / np.sqrt(expected)))
    return (
        f"the law is wrong: {observed[worst]} draws of a {what} that should have "
        f"{expected[worst]:.0f} of {num_draws} (p = {chance:.0e})"
    )
