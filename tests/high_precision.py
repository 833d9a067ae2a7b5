"""A judge in arithmetic of any precision that needs no determinant, unlike ``with_mpmath``.

`by_enumeration` adds up all trees. Nothing is subtracted, so 50 digits are enough for any scores,
even those that are so far apart (masks of -1e30) that no determinant could hold both.
"""

from __future__ import annotations

import mpmath

from arborand.enumeration import dependency_trees, spanning_trees
from verification.with_mpmath import Answer, exact_scores

ENUMERATION_DIGITS = 50


def by_enumeration(log_weights, *, single_root) -> Answer:
    """Add up every tree; exact scores, sums of positive terms only."""
    trees = (dependency_trees if single_root else spanning_trees)(log_weights)
    listed = [heads.tolist() for heads, _ in trees]
    scores = exact_scores(log_weights)
    size = len(scores)
    # Sums of scores must not be rounded: doubles reach from 1e308 down to 5e-324.
    exact_digits = ENUMERATION_DIGITS + 640
    with mpmath.workdps(exact_digits):
        totals = [mpmath.fsum(scores[h[j]][j] for j in range(1, size)) for h in listed]
        best = max(totals)
        relative = [total - best for total in totals]
    with mpmath.workdps(ENUMERATION_DIGITS):
        weights = [mpmath.exp(x) for x in relative]
        partition = mpmath.fsum(weights)
        marginals = [[mpmath.mpf(0)] * size for _ in range(size)]
        for heads, weight in zip(listed, weights, strict=True):
            for j in range(1, size):
                marginals[heads[j]][j] += weight / partition
        # The best tree has weight 1; log1p keeps the digits of what little the others may add.
        others = weights[: totals.index(best)] + weights[totals.index(best) + 1 :]
        reduced = mpmath.log1p(mpmath.fsum(others))
        # -log p = reduced - relative: all terms of the sum are positive.
        entropy = mpmath.fsum(
            w / partition * (reduced - x) for w, x in zip(weights, relative, strict=True)
        )
    with mpmath.workdps(exact_digits):
        return Answer(best + reduced, marginals, entropy)
