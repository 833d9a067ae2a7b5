"""The twin of the draws that pop cycles, and faults in it.

All nodes take a step at once: the heaviest, unless they surprise. One random number tells which
node of a segment surprises first, and one more which is next. Then the steps are followed from the
nodes that surprised, and from cycles of heaviest steps; cycles that turn up are popped. A cycle of
heaviest steps is popped until it is gone, all at once.

Whether a draw pops or walks depends on the graph alone.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from verification.laws import FloatArray
from verification.twin_ancestral import root_child_marginals
from verification.twin_laps import JumpingSampler, Jumps
from verification.twin_numbers import DOUBLE, Stream
from verification.twin_walks import AliasTable, BudgetSpentError, Method

HALF = 1 << 63  # of the numbers of a stream; and 1 in the chances below


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


class PoppingSampler(JumpingSampler):
    """Draws trees of one graph, as the library does.

    Parameters
    ----------
    log_weights, single_root, method, step_budget, jumps
        As of :class:`JumpingSampler`.
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
        jumps: Jumps = "where they pay",
        pops: Jumps = "where they pay",
    ) -> None:
        self.pops = pops
        self.heaviest: dict[int, int] = {}
        self.surprising: dict[int, OtherSteps] = {}
        super().__init__(
            log_weights,
            single_root=single_root,
            method=method,
            step_budget=step_budget,
            jumps=jumps,
        )

    def prepare(self, jumps: Jumps, *, is_sharp: bool) -> None:
        """Decide whether to pop; then walks need not jump."""
        totals = self.steps[1:].sum(axis=1)
        surprises_are_rare = np.log(np.maximum(totals, 1)).sum() <= 0.25 * (self.num_nodes - 3)
        if self.pops == "never" or not (self.pops == "always" or surprises_are_rare):
            super().prepare(jumps, is_sharp=is_sharp)
            return
        self.surprise: dict[int, int] = {}
        for node in range(1, self.num_nodes):
            head = int(np.argmax(self.steps[node]))
            others = float(DOUBLE.total(self.other_steps(node, head)))
            total = float(self.steps[node, head]) + others
            self.heaviest[node] = head
            self.surprise[node] = int(others / total * HALF) if total > 0 else 0
            if others > 0:
                self.surprising[node] = OtherSteps.of(self.other_steps(node, head), others)
        self.cycles = self.cycles_of_heaviest_steps()
        if self.pops != "always" and len(self.cycles) > 1 + self.num_nodes // 16:
            self.heaviest = {}
            super().prepare(jumps, is_sharp=is_sharp)
            return
        self.usual_child = self.find_usual_child() if self.single_root else 0
        self.segments = self.find_segments()
        if jumps != "never":
            for cycle in self.cycles:
                weights = self.exit_weights(cycle)
                if weights.sum() >= 1e-280:
                    self.exits[cycle[0]] = AliasTable.of(weights)

    def find_usual_child(self) -> int:
        """Find the root's likeliest child: the first of those that only rounding tells apart."""
        chances = root_child_marginals(self.log_weights)
        usual = 0
        for node in range(1, self.num_nodes):
            if chances[node] > 1.000001 * chances[usual]:
                usual = node
        return usual

    def find_segments(self) -> list[list[tuple[int, int]]]:
        """Cut the nodes into segments; each gives the chance of a surprise up to a node."""
        segments: list[list[tuple[int, int]]] = [[]]
        before = 0
        for node in range(1, self.num_nodes):
            chance = 0 if node == self.usual_child else self.surprise[node]
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
        heads, to_follow = self.take_first_steps(child, stream)
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

    def take_first_steps(self, child: int, stream: Stream) -> tuple[dict[int, int], list[int]]:
        """Let all nodes step; give the steps, and the nodes that may have surprised."""
        heads = dict(self.heaviest)
        surprised = []
        if child != self.usual_child:
            heads[self.usual_child] = self.step_again(self.usual_child, stream)
            surprised.append(self.usual_child)
        for segment in self.segments:
            by_end = segment[-1][1]
            target = stream.next() >> 1
            while target < by_end:
                node, by = next(pair for pair in segment if target < pair[1])
                heads[node] = self.surprising[node].draw(stream.next())
                surprised.append(node)
                if by == by_end:
                    break
                target = self.next_target(by, stream)
        if child:
            heads[child] = 0
        return heads, surprised

    def next_target(self, by: int, stream: Stream) -> int:
        """Draw where the next surprise is, beyond one."""
        return by + ((HALF - by) * stream.next() >> 64)

    def step_again(self, node: int, stream: Stream) -> int:
        """Draw a step of a node."""
        if stream.next() >> 1 < self.surprise[node]:
            return self.surprising[node].draw(stream.next())
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
        heads[lap[place]] = self.surprising[lap[place]].draw(stream.next())
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


class SurprisesOnce(PoppingSampler):
    """A segment has one surprise at most."""

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
    """The nodes of a popped cycle after the first surprise step anew."""

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
