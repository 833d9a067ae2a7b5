"""The twin of the draws that pop cycles, and faults in it.

All nodes take a step at once: the heaviest, unless they deviate. One random number tells which
node of a segment deviates first, and one more which is next. Then the steps are followed from the
nodes that deviated, and from cycles of heaviest steps; cycles that turn up are popped. A cycle of
heaviest steps is popped until it is gone, all at once.

Whether a draw pops, walks or does neither depends on the graph alone.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

import numpy as np

from verification.laws import FloatArray
from verification.twin_ancestral import root_child_marginals, shifted_partition, try_walk
from verification.twin_numbers import DOUBLE, Stream
from verification.twin_walks import AliasTable, BudgetSpentError, Method, TreeSampler

Pops = Literal["where it pays", "never", "always"]

HALF = 1 << 63  # of the numbers of a stream; and 1 in the chances below
LEAST_LEAVING = 1e-280
"""The chance to leave a cycle below which double may have lost the weights of its exits."""


def popping_budget(num_words: int) -> int:
    """Give the number of entries that cost less than the ancestral draw in their place."""
    return num_words**2 // 4 + 64


@dataclass(frozen=True)
class OtherSteps:
    """The steps of a node but for the heaviest, by their chances added up.

    Attributes
    ----------
    up_to : list of int
        In units of 2^-63.
    """

    up_to: list[int]

    @classmethod
    def of(cls, weights: FloatArray, total: float) -> OtherSteps:
        """Round the chances down, and add them up."""
        return cls(list(accumulate(int(float(weight) / total * HALF) for weight in weights)))

    def draw(self, number: int) -> int:
        """Let 64 random bits choose."""
        return bisect_right(self.up_to, number * self.up_to[-1] >> 64)


class PoppingSampler(TreeSampler):
    """Draws trees of one graph, as the library does.

    Parameters
    ----------
    log_weights, single_root, method, step_budget
        As for :class:`TreeSampler`; where cycles are popped, the budget counts first steps and
        entries popped.
    pops : str, optional
        Whether all nodes step at once.
    """

    def __init__(
        self,
        log_weights: FloatArray,
        *,
        single_root: bool,
        method: Method,
        step_budget: int | None = None,
        pops: Pops = "where it pays",
    ) -> None:
        super().__init__(
            log_weights, single_root=single_root, method=method, step_budget=step_budget
        )
        self.heaviest: dict[int, int] = {}
        if method not in ("wilson", "wilson_rc"):
            return
        walk, _ = try_walk(log_weights, DOUBLE, single_root=single_root)
        self.steps = np.zeros((self.num_nodes, self.num_nodes))
        self.steps[1:, 1:] = walk[:, :-2]
        if not single_root:
            self.steps[1:, 0] = walk[:, -2]
        self.child_chances = np.zeros(self.num_nodes)
        if single_root:
            self.child_chances = root_child_marginals(log_weights)
        self.log_sums = float(np.log(np.maximum(self.steps[1:].sum(axis=1), 1)).sum())
        self.log_tree_chance = self.find_log_tree_chance()
        self.cycles = self.cycles_of_heaviest_steps()
        if pops == "always" or (pops != "never" and self.popping_pays()):
            self.build_tables()
            if step_budget is None:
                self.step_budget = popping_budget(self.num_nodes - 1)
        if step_budget is None and self.is_hopeless():
            self.step_budget = 0
            if method == "wilson":
                self.tables.pop(0, None)  # the root's child is found as any other head is

    # ---- decisions about the graph ----

    def find_log_tree_chance(self) -> float:
        """Compute the chance that the first steps out of all nodes are a tree; 1 on fast graphs."""
        totals = self.steps[1:].sum(axis=1)
        if not self.single_root:
            to_root = self.steps[1:, 0]
            escapes = to_root + self.steps[1:, 1:] @ (to_root / totals)
            with np.errstate(divide="ignore"):
                if (totals / escapes).sum() < self.step_budget:
                    return 0.0
        partition = shifted_partition(self.log_weights, single_root=self.single_root)
        return partition.log() - self.log_sums

    def popping_pays(self) -> bool:
        """Say whether few nodes deviate and few cycles close, or laps would be long."""
        num_words = self.num_nodes - 1
        is_steady = self.log_sums <= 0.25 * (num_words - 2)
        if is_steady and len(self.cycles) <= 1 + self.num_nodes // 16:
            return True
        is_sharp = self.log_tree_chance < -math.log(4 * num_words)
        return is_sharp and self.expected_lap_steps() > 4 * num_words + 64

    def expected_lap_steps(self) -> float:
        """Count the steps that a walk is expected to take round near-closed cycles."""
        expected = 0.0
        for cycle in self.cycles:
            leaving = float(self.exit_weights(cycle).sum())
            if LEAST_LEAVING <= leaving <= 0.125:
                expected += self.chance_unbroken(cycle) * len(cycle) / leaving
        return expected

    def is_hopeless(self) -> bool:
        """Say whether a draw would be held up for longer than its budget."""
        log_chance = self.log_tree_chance
        if self.heaviest:
            log_chance -= sum(
                self.chance_unbroken(cycle) * math.log(self.exit_weights(cycle).sum())
                for cycle in self.cycles
                if cycle[0] in self.exits
            )
        num_groups = (self.num_nodes - 1) / 3
        return math.log(num_groups) - log_chance / num_groups > math.log(self.step_budget)

    def chance_unbroken(self, cycle: tuple[int, ...]) -> float:
        """Give the chance that the root's child is not on a cycle."""
        return max(0.0, 1.0 - float(self.child_chances[list(cycle)].sum()))

    # ---- tables ----

    def cycles_of_heaviest_steps(self) -> list[tuple[int, ...]]:
        """Follow the heaviest steps from every node; a cycle begins where it is met first."""
        seen = {0}
        cycles = []
        for start in range(1, self.num_nodes):
            path: list[int] = []
            node = start
            while node not in seen:
                seen.add(node)
                path.append(node)
                node = int(np.argmax(self.steps[node]))
            if node in path:
                cycles.append(tuple(path[path.index(node) :]))
        return cycles

    def exit_weights(self, cycle: tuple[int, ...]) -> FloatArray:
        """Weigh the nodes of a cycle, from its first on, by the chance to leave it there."""
        weights, reached = [], 1.0
        for node, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            step = self.steps[node, following]
            others = float(DOUBLE.total(self.other_steps(node, following)))
            weights.append(reached * (others / (step + others)))
            reached *= step / (step + others)
        return np.array(weights)

    def other_steps(self, node: int, following: int) -> FloatArray:
        """Give the steps out of a node but for one."""
        weights: FloatArray = self.steps[node].copy()
        weights[following] = 0.0
        return weights

    def build_tables(self) -> None:
        """Prepare to pop."""
        self.deviation: dict[int, int] = {}
        self.deviating: dict[int, OtherSteps] = {}
        for node in range(1, self.num_nodes):
            head = int(np.argmax(self.steps[node]))
            others = float(DOUBLE.total(self.other_steps(node, head)))
            total = float(self.steps[node, head]) + others
            self.heaviest[node] = head
            self.deviation[node] = int(others / total * HALF) if total > 0 else 0
            if others > 0:
                self.deviating[node] = OtherSteps.of(self.other_steps(node, head), others)
        self.exits: dict[int, AliasTable] = {}
        for cycle in self.cycles:
            weights = self.exit_weights(cycle)
            if weights.sum() >= LEAST_LEAVING:
                self.exits[cycle[0]] = AliasTable.of(weights)
        self.likeliest_child = self.find_likeliest_child() if self.single_root else 0
        self.segments = self.find_segments()

    def find_likeliest_child(self) -> int:
        """Find the root's likeliest child: the first of those that only rounding tells apart."""
        likeliest = 0
        for node in range(1, self.num_nodes):
            if self.child_chances[node] > 1.000001 * self.child_chances[likeliest]:
                likeliest = node
        return likeliest

    def find_segments(self) -> list[list[tuple[int, int]]]:
        """Cut the nodes into segments; each gives the chance of a deviation up to a node."""
        segments: list[list[tuple[int, int]]] = [[]]
        before = 0
        for node in range(1, self.num_nodes):
            chance = 0 if node == self.likeliest_child else self.deviation[node]
            by = before + (HALF - before) * chance // HALF
            if before > 0 and 2 * by > HALF:
                segments.append([])
                by = chance
            segments[-1].append((node, by))
            before = by
        return segments

    # ---- draws ----

    def walk_all(self, tree: dict[int, int], stream: Stream) -> bool:
        """Complete a tree that has the root, and its child if that is drawn first."""
        if not self.heaviest:
            return super().walk_all(tree, stream)
        if self.step_budget == 0:
            raise BudgetSpentError
        child = next((node for node in tree if node > 0), 0)
        self.pay(self.num_nodes - len(tree))
        heads, to_follow = self.lay_out_tops(child, stream)
        if not self.is_tree_below(child):
            to_follow.extend(cycle[0] for cycle in self.cycles)
        in_tree = {0}
        turn = 0
        while turn < min(len(to_follow), self.num_nodes):
            self.follow(to_follow[turn], heads, in_tree, to_follow, stream)
            turn += 1
        # There is room for so many nodes; where there are more, all are followed.
        if len(to_follow) > self.num_nodes:
            for node in range(1, self.num_nodes):
                self.follow(node, heads, in_tree, [], stream)
        tree.update(heads)
        return True

    def is_tree_below(self, child: int) -> bool:
        """Say whether the heaviest steps are a tree once the child hangs from the root."""
        return all(child in cycle for cycle in self.cycles)

    def lay_out_tops(self, child: int, stream: Stream) -> tuple[dict[int, int], list[int]]:
        """Let all nodes step; give the steps, and the nodes that may have deviated."""
        heads = dict(self.heaviest)
        deviated = []
        if child != self.likeliest_child:
            heads[self.likeliest_child] = self.step_again(self.likeliest_child, stream)
            deviated.append(self.likeliest_child)
        for segment in self.segments:
            by_end = segment[-1][1]
            target = stream.next() >> 1
            while target < by_end:
                node, by = next(pair for pair in segment if target < pair[1])
                heads[node] = self.deviating[node].draw(stream.next())
                deviated.append(node)
                if by == by_end:
                    break
                target = self.next_target(by, stream)
        if child:
            heads[child] = 0
        return heads, deviated

    def next_target(self, by: int, stream: Stream) -> int:
        """Draw where the next deviation is, beyond one."""
        return by + ((HALF - by) * stream.next() >> 64)

    def step_again(self, node: int, stream: Stream) -> int:
        """Draw a step of a node."""
        if stream.next() >> 1 < self.deviation[node]:
            return self.deviating[node].draw(stream.next())
        return self.heaviest[node]

    def follow(
        self,
        node: int,
        heads: dict[int, int],
        in_tree: set[int],
        to_follow: list[int],
        stream: Stream,
    ) -> None:
        """Follow the steps from a node into the tree, and pop the cycles on the way."""
        path: list[int] = []
        while node not in in_tree:
            if node not in path:
                path.append(node)
                node = heads[node]
                continue
            cycle = path[path.index(node) :]
            del path[path.index(node) :]
            to_follow.extend(self.pop(cycle, heads, stream))
        in_tree.update(path)

    def pop(self, cycle: list[int], heads: dict[int, int], stream: Stream) -> list[int]:
        """Let the nodes of a cycle step again; give those that did."""
        lap = self.lap_of(cycle, heads)
        if lap is None:
            for node in cycle:
                heads[node] = self.step_again(node, stream)
            self.pay(len(cycle))
            return cycle
        place = self.exits[lap[0]].draw(stream.next())
        heads[lap[place]] = self.deviating[lap[place]].draw(stream.next())
        for node in lap[place + 1 :]:
            heads[node] = self.step_again(node, stream)
        return list(lap[place:])

    def lap_of(self, cycle: list[int], heads: dict[int, int]) -> tuple[int, ...] | None:
        """Give the cycle from its first node on if it is one of heaviest steps."""
        if any(heads[node] != self.heaviest[node] for node in cycle):
            return None
        lap = next(known for known in self.cycles if cycle[0] in known)
        return lap if lap[0] in self.exits else None

    def pay(self, num_steps: int) -> None:
        """Take steps off the budget."""
        self.budget -= num_steps
        if self.budget < 0:
            raise BudgetSpentError


# ---- faults ----


class DeviatesOnce(PoppingSampler):
    """A segment has one deviation at most."""

    def next_target(self, by: int, stream: Stream) -> int:
        """Look no further."""
        del by, stream
        return HALF


class ForgetsTheChild(PoppingSampler):
    """Cycles of heaviest steps that the root's child is not on are cycles still."""

    def is_tree_below(self, child: int) -> bool:
        """Take any child for one that breaks them all."""
        del child
        return True


class KeepsWhatFollows(PoppingSampler):
    """The nodes of a popped cycle after the first that deviates step anew."""

    def pop(self, cycle: list[int], heads: dict[int, int], stream: Stream) -> list[int]:
        """Let them keep their steps."""
        kept = dict(heads)
        again = super().pop(cycle, heads, stream)
        if self.heaviest_were(cycle, kept):
            heads.update({node: kept[node] for node in again[1:]})
        return again

    def heaviest_were(self, cycle: list[int], heads: dict[int, int]) -> bool:
        """Say whether the cycle was one of heaviest steps."""
        return all(heads[node] == self.heaviest[node] for node in cycle)
