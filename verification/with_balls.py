"""What is true of a graph with any finite scores, in ball arithmetic without a limit to exponents.

A ball of flint holds e^(1e308) as easily as 1, so that scores from one end of float64's range to
the other become weights without any trick.  The weights of all trees are summed by elimination
without subtraction, which keeps every ball's relative radius; and dependency trees are spanning
trees whose root scores are lowered so far that no tree with two root arcs is left.  All else
follows from log Z and the marginals by the formulas of a textbook: entropies with the scores in
full, in some 700 digits where it takes them, and derivatives by differences of two marginals at
nearly the same scores.  The radius of each ball says how well its number is known.

None of this is how the library does it.  Some milliseconds for 4 words, a second for 25.
"""

from __future__ import annotations

import math
from typing import Any

import flint
import numpy as np
import numpy.typing as npt

ACCURATE_BITS = 120
"""How well all weights are known, beside the digits that the scores themselves take."""

_STEP_BITS = 90  # a difference of marginals is taken over 2^-90 of a direction

Ball = Any  # flint.arb, which has no arithmetic in its stubs


class BallLaw:
    """One graph: log Z, marginals, and what follows from them.

    Parameters
    ----------
    scores : array_like of float, shape (words + 1, words + 1)
        -inf where no arc is; the diagonal and column 0 are ignored.
    single_root : bool
        Whether exactly one arc leaves the root.
    bits : int, optional
        To work with, where that is more than this graph needs: those of a law to compare with.
    """

    def __init__(self, scores: npt.ArrayLike, *, single_root: bool, bits: int = 0) -> None:
        matrix = np.array(scores, dtype=np.float64)
        self.log_weights = matrix
        self.size = len(matrix)
        self.single_root = single_root
        self.arcs = [
            (i, j)
            for j in range(1, self.size)
            for i in range(self.size)
            if i != j and matrix[i, j] > -np.inf
        ]
        self.bits = max(bits, _bits_of(matrix[matrix > -np.inf], self.size))
        self.scores = {arc: self._ball(matrix[arc]) for arc in self.arcs}
        self._log_partition: Ball = None
        self._marginals: dict[tuple[int, int], Ball] = {}

    @property
    def log_partition(self) -> Ball:
        """The logarithm of the summed weights of all trees."""
        if self._log_partition is None:
            self._log_partition = self._log_sum(self.scores)
        return self._log_partition

    @property
    def arc_marginals(self) -> dict[tuple[int, int], Ball]:
        """The probability of every arc."""
        if not self._marginals:
            self._marginals = self._chances(self.scores)
        return self._marginals

    def log_prob(self, heads: npt.ArrayLike) -> Ball:
        """Compute the log-probability of a tree of the graph."""
        flint.ctx.prec = self.bits
        total = flint.arb(0)
        for j, head in enumerate(np.asarray(heads).tolist()):
            if j > 0:
                total += self.scores[head, j]
        return total - self.log_partition

    def entropy(self) -> Ball:
        """Compute log Z minus the mean score of a tree."""
        return self.log_partition - self.mean(self.scores)

    def entropy_gradient(self) -> dict[tuple[int, int], Ball]:
        """Compute minus the covariance of every arc with the score of the tree."""
        largest = max(float(abs(s).mid()) for s in self.scores.values())
        found = self.arc_covariances(self.scores, max(largest, 1.0))
        return {arc: -x for arc, x in found.items()}

    def mass_beside_one_tree(self) -> Ball:
        """Bound from below: what no tree can have, as the arcs of some word share it."""
        best = [
            max(chance for (_, k), chance in self.arc_marginals.items() if k == j)
            for j in range(1, self.size)
        ]
        return 1 - min(best)

    def renyi_entropy(self, order: float) -> Ball:
        """Compute the Renyi entropy of a finite order that is not 1."""
        flint.ctx.prec = self.bits
        exact = flint.arb(order)
        stretched = self._log_sum({arc: exact * s for arc, s in self.scores.items()})
        return (stretched - exact * self.log_partition) / (1 - exact)

    def kl_divergence(self, other: BallLaw) -> Ball:
        """Compute the divergence from another law, which allows every arc and has as many bits."""
        return self.mean({arc: self.scores[arc] - other.scores[arc] for arc in self.arcs}) - (
            self.log_partition - other.log_partition
        )

    def mean(self, values: dict[tuple[int, int], Ball]) -> Ball:
        """Compute the mean of a sum of values over the arcs of a tree."""
        flint.ctx.prec = self.bits
        total = flint.arb(0)
        for arc, chance in self.arc_marginals.items():
            total += chance * values[arc]
        return total

    def values(self, array: npt.ArrayLike) -> dict[tuple[int, int], Ball]:
        """Turn an array of values of the arcs into balls."""
        matrix = np.asarray(array, dtype=np.float64)
        return {arc: self._ball(matrix[arc]) for arc in self.arcs}

    def arc_covariances(
        self, values: dict[tuple[int, int], Ball], largest: float
    ) -> dict[tuple[int, int], Ball]:
        """Differentiate all marginals in a direction whose values are at most `largest`.

        The central difference over a step t is off by t^2 / 6 times a third derivative, which is at
        most (n largest)^3 times the marginal: by some 2^-160 of it.
        """
        flint.ctx.prec = self.bits
        step = flint.arb(2) ** (-_STEP_BITS - math.frexp(largest)[1] - self.size.bit_length())
        above, below = (
            self._chances({arc: s + sign * step * values[arc] for arc, s in self.scores.items()})
            for sign in (1, -1)
        )
        flint.ctx.prec = self.bits
        return {arc: (above[arc] - below[arc]) / (2 * step) for arc in self.arcs}

    def _ball(self, x: float) -> Ball:
        flint.ctx.prec = self.bits
        return flint.arb(float(x))

    def _weights(self, scores: dict[tuple[int, int], Ball]) -> tuple[list[list[Ball]], Ball]:
        """Exponentiate: rows[dependent][head], and by how much root scores were lowered."""
        flint.ctx.prec = self.bits
        lowered = flint.arb(0)
        if self.single_root:
            # Any tree with two root arcs is then e^-1000 times every tree with one, at most.
            largest = flint.arb(0)
            for score in scores.values():
                largest = max(largest, abs(score).upper())
            lowered = 4 * self.size * largest + 1000
        rows = [[flint.arb(0)] * self.size for _ in range(self.size)]
        for (i, j), score in scores.items():
            rows[j][i] = (score - lowered if i == 0 else score).exp()
        return rows, lowered

    def _log_sum(self, scores: dict[tuple[int, int], Ball]) -> Ball:
        rows, lowered = self._weights(scores)
        total = lowered
        for k in range(1, self.size):
            total += _eliminate(rows, k, range(k + 1, self.size), [0]).log()
        return total

    def _chances(self, scores: dict[tuple[int, int], Ball]) -> dict[tuple[int, int], Ball]:
        """Compute the marginals of all heads of all words.

        That of i is in proportion to its weight times the chance that the walk from i,
        which goes from word to head, reaches the root before j.
        """
        weights, _ = self._weights(scores)
        answer = {}
        for j in range(1, self.size):
            rows = [list(row) for row in weights]
            others = [k for k in range(1, self.size) if k != j]
            pivots = [
                _eliminate(rows, k, others[place + 1 :], [j, 0]) for place, k in enumerate(others)
            ]
            reaches = {0: flint.arb(1), j: flint.arb(0)}
            for place in reversed(range(len(others))):
                k = others[place]
                total = rows[k][0]
                for later in others[place + 1 :]:
                    total += rows[k][later] * reaches[later]
                reaches[k] = total / pivots[place]
            parts = {i: weights[j][i] * reaches[i] for i in range(self.size) if (i, j) in scores}
            whole = sum(parts.values(), flint.arb(0))
            for i, part in parts.items():
                answer[i, j] = part / whole
        return answer


def _eliminate(rows: list[list[Ball]], k: int, later: Any, ends: list[int]) -> Ball:
    """Let walks pass through node k without a stop; the weight of all ways that leave it."""
    columns = [*ends, *later]
    row = rows[k]
    pivot = sum((row[i] for i in columns), flint.arb(0))
    for j in later:
        other = rows[j]
        if other[k] == 0:
            continue
        factor = other[k] / pivot
        for i in columns:
            if i != j:
                other[i] += factor * row[i]
    return pivot


def _bits_of(scores: npt.NDArray[np.float64], size: int) -> int:
    # Scores are exponentiated, and then multiplied by what came of it.
    largest = max(1.0, float(np.abs(scores).max()))
    return ACCURATE_BITS + _STEP_BITS + 2 * math.frexp(largest)[1] + 64 + size.bit_length()
