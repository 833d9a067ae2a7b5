"""The law of all trees of a small graph, in exact sums of scores and many digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

from tests.kinds import trees_of

DIGITS = 60


class EnumeratedLaw:
    """Every tree of a graph with its probability, and what follows from the list."""

    def __init__(self, kind, scores):
        self.scores = np.asarray(scores, dtype=float)
        self.size = len(self.scores)
        self.trees = [tuple(tree) for tree in trees_of(kind, self.scores)]
        sums = [
            sum((Fraction(float(self.scores[t[j], j])) for j in range(1, self.size)), Fraction(0))
            for t in self.trees
        ]
        with mpmath.workdps(DIGITS):
            top = max(sums)
            weights = [mpmath.exp(_mpf(total - top)) for total in sums]
            scale = mpmath.fsum(weights)
            self.log_partition = _mpf(top) + mpmath.log(scale)
            self.chance = {
                tree: weight / scale for tree, weight in zip(self.trees, weights, strict=True)
            }
            # Logarithms of their own, since a chance may be below every number mpmath can hold.
            self.log_chance = {
                tree: _mpf(total - top) - mpmath.log(scale)
                for tree, total in zip(self.trees, sums, strict=True)
            }

    def mean(self, function):
        with mpmath.workdps(DIGITS):
            return mpmath.fsum(p * function(tree) for tree, p in self.chance.items())

    def arc_sum(self, values):
        """Return the function of a tree that adds up values over its arcs."""
        exact = [[mpmath.mpf(float(x)) for x in row] for row in values]
        return lambda tree: mpmath.fsum(exact[tree[j]][j] for j in range(1, self.size))

    def over_arcs(self, function):
        """Add up P(tree) * function(tree) over the trees of each arc."""
        table = np.full((self.size, self.size), mpmath.mpf(0), dtype=object)
        with mpmath.workdps(DIGITS):
            for tree, p in self.chance.items():
                value = p * function(tree)
                for j in range(1, self.size):
                    table[tree[j], j] += value
        return table

    def arc_marginals(self):
        return self.over_arcs(lambda _: mpmath.mpf(1))

    def covariance(self, values, other):
        f, g = self.arc_sum(values), self.arc_sum(other)
        with mpmath.workdps(DIGITS):
            mean = self.mean(f)
            return self.mean(lambda tree: (f(tree) - mean) * g(tree))

    def arc_covariances(self, direction):
        f = self.arc_sum(direction)
        mean = self.mean(f)
        return self.over_arcs(lambda tree: f(tree) - mean)

    def entropy(self):
        return -self.mean(self.log_chance.__getitem__)

    def entropy_gradient(self):
        entropy = self.entropy()
        return self.over_arcs(lambda tree: -self.log_chance[tree] - entropy)

    def renyi_entropy(self, order):
        with mpmath.workdps(DIGITS):
            if order == 1:
                return self.entropy()
            if order == mpmath.inf:
                return -max(self.log_chance.values())
            exact = mpmath.mpf(order)
            total = mpmath.fsum(mpmath.exp(exact * x) for x in self.log_chance.values())
            return mpmath.log(total) / (1 - exact)

    def kl_divergence(self, other):
        with mpmath.workdps(DIGITS):
            if not set(self.trees) <= set(other.trees):
                return mpmath.inf
            return self.mean(lambda tree: self.log_chance[tree] - other.log_chance[tree])

    def joint_marginals(self):
        joint = {}
        with mpmath.workdps(DIGITS):
            for tree, p in self.chance.items():
                for j in range(1, self.size):
                    for k in range(1, self.size):
                        arcs = (tree[j], j, tree[k], k)
                        joint[arcs] = joint.get(arcs, 0) + p
        return joint


def _mpf(fraction):
    return mpmath.mpf(fraction.numerator) / fraction.denominator
