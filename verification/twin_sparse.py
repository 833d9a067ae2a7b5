"""The twin of the samplers of sparse graphs: the walk, the walk with jumps, and putting nodes back.

In plain Python, from the same random streams as the core: the same trees. It takes the graph as a
matrix of scores with node 0 for the root, and the order of elimination from the core, because any
order is as good as another. Numbers are doubles: graphs that need more are judged by their laws
alone.

Each decision that somebody could get wrong is a method of its own, so that a fault can be put in
its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from arborand.randomness import stream_key
from verification.laws import FloatArray, HeadsArray
from verification.trials import Sampler
from verification.twin_numbers import (
    DOUBLE,
    Stream,
    UnboundedDouble,
    draw_index,
    exact_difference,
    unbounded_exp,
)
from verification.twin_walks import ONE, AliasTable

WALKING, JUMPING, PUTTING_BACK = 0, 16, 17
"""What a stream is for; as in src/core/python/sparse.cpp."""

ROOT = 0


class GivenUpError(Exception):
    """A walk has spent its budget."""


class SparseTwin:
    """Draws spanning trees of one graph.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (nodes, nodes)
        Scores ``[head, dependent]``; -inf where there is no arc.
    steps : int
        Steps that the walk of a tree may take.
    popped : int
        Arcs in loops that the walk with jumps may erase, those between partners not counted.
    order : sequence of int
        In which nodes are taken out of the walk where both are spent.
    """

    def __init__(
        self, log_weights: FloatArray, *, steps: int, popped: int, order: Sequence[int]
    ) -> None:
        self.log_weights = log_weights
        self.num_nodes = len(log_weights)
        self.steps, self.popped, self.order = steps, popped, list(order)
        self.heads_of = [
            [int(i) for i in np.flatnonzero(log_weights[:, j] > -np.inf) if i != j]
            for j in range(self.num_nodes)
        ]
        scores = [log_weights[heads, j] for j, heads in enumerate(self.heads_of)]
        self.is_uniform = all(len(set(row.tolist())) <= 1 for row in scores)
        self.rows = [self.relative(row) for row in scores]
        self.tables = [AliasTable.of(row) if len(row) else None for row in self.rows]
        self._pair_up(scores)
        self.out, self.into, self.absorbed, self.pivot = self._eliminate()

    @staticmethod
    def relative(scores: FloatArray) -> FloatArray:
        """Exponentiate scores less the largest of them."""
        if not len(scores):
            return scores
        weights, _ = DOUBLE.exp(
            *exact_difference(scores, scores.max()), np.ones(len(scores), dtype=np.bool_)
        )
        return weights

    def draw(self, key: tuple[int, int], draw: int) -> list[int]:
        """Draw one tree: heads, -1 at the root."""
        for purpose, method in ((WALKING, self.walk), (JUMPING, self.jump)):
            try:
                return method(Stream(key, 0, draw, purpose))
            except GivenUpError:
                continue
        return self.put_back(Stream(key, 0, draw, PUTTING_BACK))

    # ---- the walk ----

    def step(self, node: int, stream: Stream) -> int:
        """Draw the next node of the walk."""
        heads, table = self.heads_of[node], self.tables[node]
        assert table is not None
        number = stream.next()
        slot = number * len(heads) // ONE if self.is_uniform else table.draw(number)
        return heads[slot]

    def walk(self, stream: Stream) -> list[int]:
        """Walk from each node that is not in the tree until it is reached; erase loops."""
        heads = [-1] * self.num_nodes
        tree = {ROOT}
        left = self.steps
        for start in range(self.num_nodes):
            node = start
            while node not in tree:
                if left == 0:
                    raise GivenUpError
                left -= 1
                heads[node] = self.step(node, stream)
                node = heads[node]
            node = start
            while node not in tree:
                tree.add(node)
                node = heads[node]
        return heads

    # ---- jumps over pairs ----

    def _pair_up(self, scores: list[FloatArray]) -> None:
        heaviest = [
            heads[int(np.argmax(row))] if len(heads) else -1
            for heads, row in zip(self.heads_of, scores, strict=True)
        ]
        share = [1.0 / float(sum(row.tolist())) if len(row) else 0.0 for row in self.rows]
        self.partner: list[int | None] = [None] * self.num_nodes
        for v, u in enumerate(heaviest):
            if u >= 0 and heaviest[u] == v and self.may_pair(v, u) and share[v] * share[u] > 0.5:
                self.partner[v] = u
        self.others: list[tuple[list[int], AliasTable | None]] = []
        rest: list[UnboundedDouble] = []
        for v, heads in enumerate(self.heads_of):
            kept = [i for i, head in enumerate(heads) if head != self.partner[v]]
            weights = self.relative(scores[v][kept])
            self.others.append(([heads[i] for i in kept], AliasTable.of(weights) if kept else None))
            partner = self.partner[v]
            if partner is None or not kept:
                rest.append(UnboundedDouble())
                continue
            bound = float(scores[v][heads.index(partner)])
            relative = unbounded_exp(*exact_difference(float(scores[v][kept].max()), bound))
            rest.append(UnboundedDouble.of(float(sum(weights.tolist()))) * relative)
        self.at_last, self.at_once = [0] * self.num_nodes, [0] * self.num_nodes
        one = UnboundedDouble.of(1.0)
        for v, partner in enumerate(self.partner):
            if partner is None:
                continue
            here, there = rest[v], rest[partner] / (rest[partner] + one)
            self.at_last[v] = min(ONE - 1, int(float(here / (here + there)) * 2.0**64))
            self.at_once[v] = min(ONE - 1, int(float(here / (here + one)) * 2.0**64))

    def may_pair(self, v: int, u: int) -> bool:
        """Tell whether two nodes that are each other's heaviest head may be partners."""
        return ROOT not in (v, u)

    def may_jump(self, partner: int, tree: set[int], path: list[int]) -> bool:
        """Tell whether all returns from the partner may be popped at once."""
        return partner not in tree and partner not in path

    def cost_of_leaving(self, num_arcs: int) -> int:
        """Count what the walk does towards its budget when it leaves a node: nothing."""
        return 0

    def cost_of_loop(self, loop: list[int]) -> int:
        """Count a loop that is erased towards the budget: its arcs between no partners."""
        following = [*loop[1:], loop[0]]
        return sum(self.partner[v] != head for v, head in zip(loop, following, strict=True))

    def other(self, node: int, stream: Stream) -> int:
        """Draw a head other than the partner."""
        heads, table = self.others[node]
        assert table is not None
        return heads[table.draw(stream.next())]

    def jump(self, stream: Stream) -> list[int]:
        """Walk, and jump over the returns of partners."""
        heads = [-1] * self.num_nodes
        tree = {ROOT}
        spent = 0
        for start in range(self.num_nodes):
            if start in tree:
                continue
            path = [start]
            while path[-1] not in tree:
                follow = self.leave(path[-1], tree, path, stream)
                spent += self.cost_of_leaving(len(follow))
                for node in follow:
                    if node in path:
                        loop = path[path.index(node) :]
                        spent += self.cost_of_loop(loop)
                        del path[path.index(node) + 1 :]
                    else:
                        path.append(node)
                if spent > self.popped:
                    raise GivenUpError
            for node, head in pairwise(path):
                heads[node] = head
            tree.update(path)
        return heads

    def leave(self, v: int, tree: set[int], path: list[int], stream: Stream) -> list[int]:
        """Draw the nodes that the walk goes on to: one, or the partner and one behind it."""
        u = self.partner[v]
        if u is None:
            return [self.other(v, stream)]
        if not self.may_jump(u, tree, path):
            leaves = stream.next() < self.at_once[v]
            return [self.other(v, stream) if leaves else u]
        if stream.next() < self.at_last[v]:
            return [self.other(v, stream)]
        return [u, self.other(u, stream)]

    # ---- nodes put back ----

    def _eliminate(
        self,
    ) -> tuple[list[dict[int, float]], list[dict[int, float]], list[float], list[float]]:
        """Take all nodes out; for each its steps to and from those that come later."""
        n = self.num_nodes
        weight = np.zeros((n, n))  # [node, head]
        for j, (heads, row) in enumerate(zip(self.heads_of, self.rows, strict=True)):
            weight[j, heads] = row
        next_to: list[set[int]] = [set() for _ in range(n)]
        for j, heads in enumerate(self.heads_of):
            for i in heads:
                next_to[j].add(i)
                next_to[i].add(j)
        out: list[dict[int, float]] = [{} for _ in range(n)]
        into: list[dict[int, float]] = [{} for _ in range(n)]
        absorbed, pivot = [0.0] * n, [0.0] * n
        self.place = {node: place for place, node in enumerate(self.order)}
        for p in self.order:
            later = sorted(
                (i for i in next_to[p] if i != ROOT and self.place[i] > self.place[p]),
                key=self.place.__getitem__,
            )
            out[p] = {i: float(weight[p, i]) for i in later}
            into[p] = {j: float(weight[j, p]) for j in later}
            absorbed[p] = float(weight[p, ROOT])
            pivot[p] = absorbed[p]
            for i in later:
                pivot[p] += out[p][i]
            for j in later:
                factor = into[p][j] / pivot[p]
                weight[j, ROOT] += factor * absorbed[p]
                for i in later:
                    if i != j:
                        # The core divides the one factor or the other, as the order has it.
                        if self.place[i] > self.place[j]:
                            weight[j, i] += factor * out[p][i]
                        else:
                            weight[j, i] += into[p][j] * (out[p][i] / pivot[p])
                next_to[j] |= set(later) - {j}
        return out, into, absorbed, pivot

    def put_back(self, stream: Stream) -> list[int]:
        """Put the nodes back, the last one first."""
        heads = [-1] * self.num_nodes
        waiting: list[list[int]] = [[] for _ in range(self.num_nodes)]
        for p in reversed(self.order):
            for j in waiting[p]:
                heads[j] = p
            heads[p] = self.draw_head(p, heads, stream)
            for j in [*waiting[p], p]:
                origin = self.draw_origin(j, heads[j], stream)
                if origin is not None:
                    waiting[origin].append(j)
        return heads

    def draw_head(self, p: int, heads: list[int], stream: Stream) -> int:
        """Draw the head of a node that is put back among those that lead to the root."""
        chances = np.array([*self.out[p].values(), self.absorbed[p]])
        candidates = [*self.out[p], ROOT]
        while True:
            chances = chances / float(DOUBLE.total(chances))
            drawn = draw_index(chances.tolist(), stream)
            if self.leads_to_root(candidates[drawn], p, heads):
                return candidates[drawn]
            chances[drawn] = 0.0

    def leads_to_root(self, node: int, p: int, heads: list[int]) -> bool:
        """Follow heads to the root, or to the node that has none yet."""
        while node not in (ROOT, p):
            node = heads[node]
        return node == ROOT

    def draw_origin(self, j: int, head: int, stream: Stream) -> int | None:
        """Draw whether an arc is the graph's own, or by way of which earlier node."""
        own = self.heads_of[j].index(head) if head in self.heads_of[j] else None
        chances = [0.0 if own is None else float(self.rows[j][own])]
        origins: list[int | None] = [None]
        for k in self.order:
            if j not in self.into[k] or (head != ROOT and head not in self.out[k]):
                continue
            there = self.absorbed[k] if head == ROOT else self.out[k][head]
            if self.into[k][j] > 0 and there > 0:
                chances.append(self.into[k][j] * (there / self.pivot[k]))
                origins.append(k)
        if len(chances) == 1:
            return None
        shares = np.array(chances)
        return origins[draw_index((shares / float(DOUBLE.total(shares))).tolist(), stream)]


# ---- with a fault ----


class JumpsOntoThePath(SparseTwin):
    """Pops the returns from a partner that is on the current path."""

    def may_jump(self, partner: int, tree: set[int], path: list[int]) -> bool:
        """Look at the tree alone."""
        return partner not in tree


class JumpsThroughTheRoot(SparseTwin):
    """Takes the root for a node like any other where pairs are concerned."""

    def may_pair(self, v: int, u: int) -> bool:
        """Let the root have a partner."""
        return True

    def may_jump(self, partner: int, tree: set[int], path: list[int]) -> bool:
        """Forget that the root is in the tree."""
        return partner not in tree - {ROOT} and partner not in path


class CountsJumps(SparseTwin):
    """Counts steps towards the budget, and a jump as one."""

    def cost_of_leaving(self, num_arcs: int) -> int:
        """Count one, whatever it was."""
        return 1

    def cost_of_loop(self, loop: list[int]) -> int:
        """Count nothing."""
        return 0


class CountsArcs(CountsJumps):
    """Counts the arcs that are walked towards the budget: two for a jump."""

    def cost_of_leaving(self, num_arcs: int) -> int:
        """Count the arcs."""
        return num_arcs


class TakesAnyHead(SparseTwin):
    """Puts a node back under any of those next to it."""

    def leads_to_root(self, node: int, p: int, heads: list[int]) -> bool:
        """Refuse only what would close a cycle of its own."""
        return heads[node] != p


class ForgetsDetours(SparseTwin):
    """Takes an arc for the graph's own wherever the graph has one between these nodes."""

    def draw_origin(self, j: int, head: int, stream: Stream) -> int | None:
        """Prefer the graph's own arc."""
        origin = super().draw_origin(j, head, stream)
        return None if head in self.heads_of[j] else origin


class ShiftedAliases(SparseTwin):
    """Reads each slot's alias from its neighbour."""

    def __init__(
        self, log_weights: FloatArray, *, steps: int, popped: int, order: Sequence[int]
    ) -> None:
        super().__init__(log_weights, steps=steps, popped=popped, order=order)
        self.tables = [
            table and AliasTable(table.thresholds, [*table.aliases[1:], table.aliases[0]])
            for table in self.tables
        ]


def sparse_twin_sampler(*, steps: int, popped: int, kind: type[SparseTwin] = SparseTwin) -> Sampler:
    """Make a sampler of the twin, or of the twin with a fault.

    Nodes are taken out in the order of their names.
    """

    def sample(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        made = kind(log_weights, steps=steps, popped=popped, order=range(1, len(log_weights)))
        key = stream_key(seed)
        return np.array([made.draw(key, draw) for draw in range(num_draws)], dtype=np.int32)

    return sample
