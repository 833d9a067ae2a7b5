"""The twin of the random walks: alias tables, Wilson's algorithm with a budget, and the fallback.

A tree is drawn by one of four methods. ``wilson`` walks; for dependency trees it first draws the
root's child by its exact marginal and then walks to that child. ``wilson_reject`` walks to the root
again and again until a single arc leaves it. ``wilson_rc`` draws the child by weight, which is
biased. ``colbourn`` does not walk. A walk that has spent its budget of steps gives way to the
ancestral sampler; if the child was drawn first, it stays.

Each decision is a method of :class:`TreeSampler` of its own, so that a fault can be put in its
place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from verification.laws import FloatArray
from verification.twin_ancestral import UNDECIDED, draw_heads, root_child_marginals, try_walk
from verification.twin_numbers import DOUBLE, Stream, exact_difference

Method = Literal["wilson", "wilson_reject", "colbourn", "wilson_rc"]


class BudgetSpentError(Exception):
    """A walk has taken all the steps it may take."""


# ---- alias tables ----

ONE = 1 << 64


@dataclass(frozen=True)
class AliasTable:
    """Slots of equal chance; each keeps its own outcome below its threshold, else gives its alias.

    Attributes
    ----------
    thresholds : list of int
        In units of 2^-64.
    aliases : list of int
        An outcome for each slot.
    """

    thresholds: list[int]
    aliases: list[int]

    @classmethod
    def of(cls, weights: FloatArray) -> AliasTable:
        """Build the table of some outcomes from their weights, at least one of them positive."""
        count = len(weights)
        total = float(DOUBLE.total(weights))
        # Multiples of 2^-64 that sum to exactly 1: the largest makes up for the rounding of the
        # others. From here on nothing is rounded.
        units = [int(float(weight) / total * 2.0**64) for weight in weights]
        largest = int(np.argmax(weights))
        units[largest] = 0
        units[largest] = ONE - sum(units)
        scaled = [count * unit for unit in units]

        small = [slot for slot in range(count) if scaled[slot] < ONE]
        large = [slot for slot in range(count) if scaled[slot] >= ONE]
        thresholds, aliases = [0] * count, list(range(count))
        while small and large:
            under, over = small.pop(), large[-1]
            thresholds[under], aliases[under] = scaled[under], over
            scaled[over] -= ONE - scaled[under]
            if scaled[over] < ONE:
                small.append(large.pop())
        return cls(thresholds, aliases)

    def draw(self, number: int) -> int:
        """Let 64 random bits choose: their product with the count gives the slot and the rest."""
        slot, rest = divmod(number * len(self.thresholds), ONE)
        return slot if rest < self.thresholds[slot] else self.aliases[slot]


# ---- walks ----


def default_budget(num_words: int) -> int:
    """Give the number of steps that cost about as much as the ancestral draw in their place."""
    return 4 * num_words**2 + 256


class TreeSampler:
    """Draws trees of one graph.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        Scores; -inf where there is no arc, in column 0 and on the diagonal.
    single_root : bool
        Whether dependency trees are drawn.
    method : str
        One of the four.
    step_budget : int, optional
        How many steps the walks for one tree may take.
    """

    def __init__(
        self,
        log_weights: FloatArray,
        *,
        single_root: bool,
        method: Method,
        step_budget: int | None = None,
    ) -> None:
        self.log_weights = log_weights
        self.single_root = single_root
        self.method = method
        self.num_nodes = len(log_weights)
        self.step_budget = (
            default_budget(self.num_nodes - 1) if step_budget is None else step_budget
        )
        self.budget = 0  # what is left of it in the current draw
        if method == "colbourn":
            return
        draws_child = single_root and method != "wilson_reject"
        walks_to_root = method == "wilson_reject" or not single_root
        walk, _ = try_walk(log_weights, DOUBLE, single_root=not walks_to_root)
        weights = np.zeros((self.num_nodes, self.num_nodes))
        weights[1:, 1:] = walk[:, :-2]
        if walks_to_root:
            weights[1:, 0] = walk[:, -2]
        if draws_child:
            weights[0] = self.child_weights()
        # A word that only the root can head has no steps, and is always the root's child itself.
        self.tables = {
            node: AliasTable.of(weights[node])
            for node in range(self.num_nodes)
            if weights[node].any()
        }

    def draw(self, stream: Stream) -> list[int]:
        """Draw one tree."""
        if self.method == "colbourn":
            return self.fall_back(0, {}, stream)
        child = self.tables[0].draw(stream.next()) if 0 in self.tables else 0
        self.budget = self.step_budget
        tree: dict[int, int] = {}
        try:
            while True:
                tree = {0: -1, child: 0 if child else -1}
                if self.walk_all(tree, stream):
                    return [tree[node] for node in range(self.num_nodes)]
        except BudgetSpentError:
            return self.fall_back(child, tree, stream)

    def child_weights(self) -> FloatArray:
        """Give the law of the root's child: exact, or that of the paper's biased sampler."""
        marginals = root_child_marginals(self.log_weights)
        if self.method == "wilson":
            return marginals
        is_possible = marginals > 0  # from any other child the walk would never end
        root_scores = np.where(is_possible, self.log_weights[0], -np.inf)
        with np.errstate(invalid="ignore"):
            high, low = exact_difference(root_scores, root_scores.max())
        weights, _ = DOUBLE.exp(high, low, is_possible)
        return np.asarray(weights, dtype=np.float64)

    def walk_all(self, tree: dict[int, int], stream: Stream) -> bool:
        """Complete a tree by walks from all its words; False if it is to be thrown away.

        A walk that reaches the root itself leaves an arc there that will stay, so that the second
        such walk settles that the tree has too many.
        """
        num_root_arcs = 0
        for start in range(1, self.num_nodes):
            if start in tree:
                continue
            path, end = self.walk(start, tree, stream)
            num_root_arcs += end == 0
            if self.method == "wilson_reject" and num_root_arcs > 1:
                return False
            node = start
            while node not in tree:
                tree[node] = path[node]
                node = path[node]
        return True

    def walk(self, start: int, tree: dict[int, int], stream: Stream) -> tuple[dict[int, int], int]:
        """Walk from a word into the tree; keep the last exit from every word, and where it ended.

        Overwriting the exit erases the loop that led back to the word.
        """
        exits: dict[int, int] = {}
        node = start
        while node not in tree:
            if self.budget == 0:
                raise BudgetSpentError
            self.budget -= 1
            exits[node] = self.tables[node].draw(stream.next())
            node = exits[node]
        return exits, node

    def fall_back(self, child: int, tree: dict[int, int], stream: Stream) -> list[int]:
        """Draw the tree by the ancestral sampler instead.

        How often a walk runs out depends on the root's child, so the child stays as drawn. Nothing
        else may stay: the walks that were finished are the lucky ones.
        """
        del tree
        given = [UNDECIDED] * self.num_nodes
        given[0] = -1
        if child:
            given[child] = 0
        return draw_heads(self.log_weights, given, stream, single_root=self.single_root)
