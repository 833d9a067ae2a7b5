"""The twin of the walks that jump over laps round near-closed cycles, and faults in it.

Follow the heaviest step out of every node. The cycles that this closes are disjoint. Where a walk
stands on such a cycle, and no other node of it is on the path or in the tree, laps round it are
left out: how far the walk goes along the cycle before it leaves is drawn at once. The budget
counts the entries of erased loops other than such laps.

Whether walks jump, and whether they walk at all, depends on the graph alone.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from verification.laws import FloatArray
from verification.twin_ancestral import root_child_marginals, shifted_partition, try_walk
from verification.twin_numbers import DOUBLE, Stream
from verification.twin_walks import AliasTable, BudgetSpentError, Method, TreeSampler

Jumps = Literal["where they pay", "never", "always"]

PILOTS = 3  # the purpose of their streams
NUM_PILOTS = 2


class JumpingSampler(TreeSampler):
    """Draws trees of one graph, as the library does: parameters as of :class:`TreeSampler`.

    Parameters
    ----------
    log_weights, single_root, method, step_budget
        As there; with jumps the budget counts entries of loops.
    jumps : str, optional
        Whether walks jump.
    """

    def __init__(
        self,
        log_weights: FloatArray,
        *,
        single_root: bool,
        method: Method,
        step_budget: int | None = None,
        jumps: Jumps = "where they pay",
    ) -> None:
        super().__init__(
            log_weights, single_root=single_root, method=method, step_budget=step_budget
        )
        self.cycle_of: dict[int, tuple[int, ...]] = {}
        self.exits: dict[int, AliasTable] = {}
        self.others: dict[int, AliasTable] = {}
        if method not in ("wilson", "wilson_rc"):
            return
        walk, _ = try_walk(log_weights, DOUBLE, single_root=single_root)
        self.steps = np.zeros((self.num_nodes, self.num_nodes))
        self.steps[1:, 1:] = walk[:, :-2]
        if not single_root:
            self.steps[1:, 0] = walk[:, -2]
        is_sharp = jumps == "always" or self.is_sharp()
        self.prepare(jumps, is_sharp=is_sharp)
        if is_sharp and step_budget is None and not self.pilots_arrive():
            self.step_budget = 0
            if method == "wilson":
                self.tables.pop(0, None)  # the root's child is found as any other head is

    # ---- decisions about the graph ----

    def prepare(self, jumps: Jumps, *, is_sharp: bool) -> None:
        """Find what to jump over."""
        if is_sharp and jumps != "never":
            self.find_cycles(always=jumps == "always")

    def is_sharp(self) -> bool:
        """Say whether the first steps out of all nodes are seldom a tree."""
        totals = self.steps[1:].sum(axis=1)
        if not self.single_root:
            to_root = self.steps[1:, 0]
            escapes = to_root + self.steps[1:, 1:] @ (to_root / totals)
            with np.errstate(divide="ignore"):
                if (totals / escapes).sum() < self.step_budget:
                    return False
        partition = shifted_partition(self.log_weights, single_root=self.single_root)
        sharpness = np.log(np.maximum(totals, 1)).sum() - partition.log()
        return bool(sharpness > math.log(4 * (self.num_nodes - 1)))

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

    def find_cycles(self, *, always: bool) -> None:
        """Find the cycles of heaviest steps that walks seldom leave, and build their tables."""
        chances = np.zeros(self.num_nodes)
        if self.single_root:
            chances = root_child_marginals(self.log_weights)
        wasted = 0.0
        for cycle in self.cycles_of_heaviest_steps():
            leaving = sum(self.exit_weights(cycle))
            if not 1e-280 <= leaving <= (1.0 if always else 0.125):
                continue
            wasted += max(0.0, 1 - chances[list(cycle)].sum()) * len(cycle) / leaving
            for place, member in enumerate(cycle):
                self.cycle_of[member] = cycle[place:] + cycle[:place]
        if not always and wasted <= 4 * (self.num_nodes - 1) + 64:
            self.cycle_of = {}
        self.exits = {
            node: AliasTable.of(self.exit_weights(c)) for node, c in self.cycle_of.items()
        }
        # A node that has no other steps is never where the cycle is left.
        self.others = {
            node: AliasTable.of(self.other_steps(node, cycle[1]))
            for node, cycle in self.cycle_of.items()
            if self.other_steps(node, cycle[1]).any()
        }

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

    def pilots_arrive(self) -> bool:
        """Walk on a trial basis: if both walks spend their budget, most will."""
        for pilot in range(NUM_PILOTS):
            stream = Stream((0, 0), 0, pilot, PILOTS)
            child = self.tables[0].draw(stream.next()) if 0 in self.tables else 0
            self.budget = self.step_budget
            try:
                self.walk_all({0: -1, child: 0 if child else -1}, stream)
            except BudgetSpentError:
                continue
            return True
        return False

    # ---- walks ----

    def walk_all(self, tree: dict[int, int], stream: Stream) -> bool:
        """Complete a tree by walks from all its words, with jumps if there are cycles."""
        if not self.cycle_of:
            return super().walk_all(tree, stream)
        if self.step_budget == 0:
            raise BudgetSpentError
        for start in range(1, self.num_nodes):
            if start not in tree:
                tree.update(self.walk_with_jumps(start, tree, stream))
        return True

    def walk_with_jumps(self, start: int, tree: dict[int, int], stream: Stream) -> dict[int, int]:
        """Walk from a word into the tree; give the heads of the words on the path."""
        heads: dict[int, int] = {}
        path = [start]
        while path[-1] not in tree:
            node = path[-1]
            table = self.tables[node]
            if node in self.cycle_of and self.may_jump(node, path, tree):
                cycle = self.cycle_of[node]
                along = self.exits[node].draw(stream.next())
                for at in range(along):
                    heads[cycle[at]] = cycle[at + 1]
                    path.append(cycle[at + 1])
                node = path[-1]
                table = self.others[node]
            head = table.draw(stream.next())
            heads[node] = head
            if head in path:
                loop = path[path.index(head) :]
                del path[path.index(head) + 1 :]
                self.budget -= self.cost(loop)
                if self.budget < 0:
                    raise BudgetSpentError
            else:
                path.append(head)
        return {node: heads[node] for node in path[:-1]}

    def may_jump(self, node: int, path: list[int], tree: dict[int, int]) -> bool:
        """Say whether the other nodes of the cycle are fresh."""
        return not any(other in path or other in tree for other in self.cycle_of[node][1:])

    def cost(self, loop: list[int]) -> int:
        """Count the entries of an erased loop: none if it is a lap."""
        return 0 if self.cycle_of.get(loop[0]) == tuple(loop) else len(loop)


# ---- faults ----


class CountsLaps(JumpingSampler):
    """Some laps are walked and not jumped over; which ones depends on the tree."""

    def cost(self, loop: list[int]) -> int:
        """Count every entry."""
        return len(loop)


class IgnoresThePath(JumpingSampler):
    """A lap that would meet the path or the tree is no lap."""

    def may_jump(self, node: int, path: list[int], tree: dict[int, int]) -> bool:
        """Look at the tree alone, and let jumps run over the path."""
        del path
        return not any(other in tree for other in self.cycle_of[node][1:])


class LeavesOneStepLate(JumpingSampler):
    """The chance to leave at a node comes before the step that follows it."""

    def exit_weights(self, cycle: tuple[int, ...]) -> FloatArray:
        """Give every node the weight of the one before it."""
        return np.asarray(np.roll(super().exit_weights(cycle), 1), dtype=np.float64)
