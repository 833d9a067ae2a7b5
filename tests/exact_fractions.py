"""Exact answers for graphs with integer weights: every tree listed, every number a fraction."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

from tests.kinds import is_single_root, trees_of


class ExactLaw:
    """All trees of a small graph with integer weights; 0 means no arc."""

    def __init__(self, kind, weights):
        self.weights = np.asarray(weights).tolist()
        self.size = len(self.weights)
        self.single_root = is_single_root(kind)
        scores = np.where(np.asarray(weights) > 0, 0.0, -np.inf)
        self.trees = trees_of(kind, scores)
        self.tree_weights = [
            math.prod(self.weights[tree[j]][j] for j in range(1, self.size)) for tree in self.trees
        ]

    @property
    def partition(self) -> int:
        return sum(self.tree_weights)

    def probability(self, include=(), exclude=()) -> Fraction:
        """Return the share of the trees that contain some arcs and avoid others."""
        matching = sum(
            weight
            for tree, weight in zip(self.trees, self.tree_weights, strict=True)
            if all(tree[j] == i for i, j in include) and not any(tree[j] == i for i, j in exclude)
        )
        return Fraction(matching, self.partition)

    def arc_marginals(self) -> np.ndarray:
        """Return P(head -> dependent), each rounded once."""
        exact = [[0] * self.size for _ in range(self.size)]
        for tree, weight in zip(self.trees, self.tree_weights, strict=True):
            for j in range(1, self.size):
                exact[tree[j]][j] += weight
        return np.array([[float(Fraction(mass, self.partition)) for mass in row] for row in exact])

    def entropy(self) -> float:
        """Add up -p log p in 50 digits."""
        with mpmath.workdps(50):
            shares = [mpmath.mpf(weight) / self.partition for weight in self.tree_weights]
            return float(mpmath.fsum(-share * mpmath.log(share) for share in shares))

    def arcs(self) -> list[tuple[int, int]]:
        return [
            (i, j)
            for i in range(self.size)
            for j in range(1, self.size)
            if i != j and self.weights[i][j]
        ]

    def expected_walk_steps(self) -> Fraction:
        """Add up, over all words, the visits of a walk to the word that it starts from.

        The visits are those of the walk that stops at the root: the inverse of I - Q.
        """
        words = range(1, self.size)
        rows = [[(i == j) - self._step(j, i) for i in words] for j in words]
        return sum(solve(rows, [i == start for i in words])[start - 1] for start in words)

    def mean_hitting_time(self) -> Fraction:
        """Solve for the stationary distribution and all hitting times, state by state.

        Dependency trees: the walk on the words, where a word without a head among them stays.
        Spanning trees: the walk on all nodes, where the root goes on to any word.
        """
        nodes = range(1 if self.single_root else 0, self.size)
        chain = {
            j: {i: self._step(j, i, words_only=self.single_root) for i in nodes} for j in nodes
        }
        for j in nodes:
            if j == 0:
                chain[0] = {i: Fraction(i > 0, self.size - 1) for i in nodes}
            elif not any(chain[j].values()):
                chain[j][j] = Fraction(1)
        # Where the walk can always return to, it stays for ever: the only class that counts.
        reach = {j: _reached(chain, j) for j in nodes}
        recurrent = [j for j in nodes if all(j in reach[i] for i in reach[j])]
        balance = [
            [chain[i][j] - (i == j) if k else Fraction(1) for i in recurrent]
            for k, j in enumerate(recurrent)
        ]
        stationary = solve(balance, [Fraction(k == 0) for k in range(len(recurrent))])
        mean = Fraction(0)
        for target, share in zip(recurrent, stationary, strict=True):
            others = [j for j in recurrent if j != target]
            rows = [[(i == j) - chain[i][j] for j in others] for i in others]
            times = dict(zip(others, solve(rows, [Fraction(1)] * len(others)), strict=True))
            for start, start_share in zip(recurrent, stationary, strict=True):
                mean += start_share * share * times.get(start, 0)
        return mean

    def _step(self, j, i, *, words_only=False) -> Fraction:
        """Return the chance that the walk steps from word j to its possible head i."""
        if j == 0 or i == j or (words_only and i == 0):
            return Fraction(0)
        heads = [h for h in range(1 if words_only else 0, self.size) if h != j]
        total = sum(self.weights[h][j] for h in heads)
        return Fraction(self.weights[i][j], total) if total else Fraction(0)


def solve(matrix, right_side) -> list[Fraction]:
    """Solve a linear system by Gauss and Jordan's elimination."""
    rows = [[*map(Fraction, row), Fraction(b)] for row, b in zip(matrix, right_side, strict=True)]
    for k in range(len(rows)):
        pivot = next(r for r in range(k, len(rows)) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(len(rows)):
            if r != k and rows[r][k]:
                factor = rows[r][k]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def _reached(chain, start):
    reached, frontier = set(), [start]
    while frontier:
        node = frontier.pop()
        if node not in reached:
            reached.add(node)
            frontier.extend(i for i, chance in chain[node].items() if chance)
    return reached
