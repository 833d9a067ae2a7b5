"""The twin of the best trees: Edmonds, the second best tree, and Lawler's branching, in integers.

A tree's value is one integer, exact and different for every tree: the sum of its scores, in units
that make all of them integers, above the heads as digits of base n + 1. So nothing here knows ties,
and nothing is rounded. Where one root arc is asked for, the root is a node's source only if it has
no other.

Each of :data:`FAULTS` is a mistake that somebody could make, or has made; with it the twin is a
mutant, which the judges of ``best_order`` must reject.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from verification.laws import FloatArray

Arc = tuple[int, int]
Heads = tuple[int, ...]

FAULTS = {
    "big constant": "one root arc is asked for by a large penalty for each of them, in double",
    "no tie rule": "trees of equal scores come as they are found",
    "doubles trusted": "values are added up in double, and close ones are not looked at again",
    "descendants ignored": "the second best tree may hang a word below itself",
    "exclusion lost": "one half of a subspace forgets what was excluded before",
}
PENALTY = 1e6


@dataclass
class Forest:
    """What Edmonds' algorithm leaves: nested cycles, and the arc that each node has chosen."""

    num_words: int
    arcs: dict[int, dict[Arc, Any]] = field(default_factory=dict)
    choice: dict[int, Arc] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)
    children: dict[int, list[int]] = field(default_factory=dict)

    def chosen_value(self, node: int) -> Any:
        """Return the value of the arc that a node has chosen."""
        return self.arcs[node][self.choice[node]]

    def enter(self, node: int, arc: Arc, owner: dict[int, int], heads: list[int]) -> None:
        """Give the words inside a node the heads that an arc into it decides."""
        owner[arc[1]], heads[arc[1]] = node, arc[0]
        child = arc[1]
        while child != node:
            for sibling in self.children[self.parent[child]]:
                if sibling != child:
                    self.enter(sibling, self.choice[sibling], owner, heads)
            child = self.parent[child]


def best_trees(
    log_weights: FloatArray, *, single_root: bool, fault: str | None = None
) -> Iterator[Heads]:
    """Yield all trees, from the best one on; with a fault, perhaps others, perhaps for ever."""
    values = _values(np.asarray(log_weights), single_root=single_root, fault=fault)
    size = len(log_weights)
    if fault == "big constant":
        single_root = False
    order = count()
    queue: list[tuple[Any, int, Heads, frozenset[Arc], frozenset[Arc], Arc | None]] = []

    def push(heads: Heads, kept: frozenset[Arc], out: frozenset[Arc], lacks: Arc | None) -> None:
        total = sum(values.get((heads[j], j), 0) for j in range(1, size))
        heapq.heappush(queue, (-total, next(order), heads, kept, out, lacks))

    def push_best(out: frozenset[Arc]) -> None:
        found = _best(values, size, frozenset(), out, single_root=single_root)
        if found is not None:
            push(found[1], frozenset(), out, None)

    def push_second(kept: frozenset[Arc], out: frozenset[Arc]) -> None:
        found = _second(values, size, kept, out, single_root=single_root, fault=fault)
        if found is not None:
            push(found[0], kept, out, found[1])

    push_best(frozenset())
    while queue:
        _, _, heads, kept, out, lacks = heapq.heappop(queue)
        yield heads
        if lacks is None and not single_root:
            push_second(kept, out)
            continue
        arc = (0, heads.index(0)) if lacks is None else lacks
        push_second(kept | {arc}, out)
        without = frozenset({arc}) if fault == "exclusion lost" else out | {arc}
        if lacks is None:
            push_best(without)
        else:
            push_second(kept, without)


def _values(log_weights: FloatArray, *, single_root: bool, fault: str | None) -> dict[Arc, Any]:
    """Give every arc its value."""
    size = len(log_weights)
    scores = {
        (i, j): float(log_weights[i, j])
        for j in range(1, size)
        for i in range(size)
        if i != j and log_weights[i, j] > -np.inf
    }
    if fault == "big constant" and single_root:
        scores = {arc: x - PENALTY if arc[0] == 0 else x for arc, x in scores.items()}
    if fault == "doubles trusted":
        return scores
    unit = max((Fraction(x).denominator for x in scores.values()), default=1)
    room = 1 if fault == "no tie rule" else size ** (size - 1)
    return {
        (i, j): int(Fraction(x) * unit) * room
        - (0 if fault == "no tie rule" else i * size ** (size - 1 - j))
        for (i, j), x in scores.items()
    }


def _restricted(
    values: dict[Arc, Any],
    size: int,
    kept: frozenset[Arc],
    out: frozenset[Arc],
    *,
    single_root: bool,
) -> dict[int, dict[Arc, Any]]:
    """List the arcs into each word that are left."""
    head_of = {dependent: head for head, dependent in kept}
    root = next((dependent for head, dependent in kept if head == 0), None)
    arcs: dict[int, dict[Arc, Any]] = {word: {} for word in range(1, size)}
    for (head, word), value in values.items():
        if (head, word) in out or head_of.get(word, head) != head:
            continue
        if single_root and head == 0 and root not in (None, word):
            continue
        arcs[word][head, word] = value
    return arcs


def _contract(arcs: dict[int, dict[Arc, Any]], *, root_last: bool) -> Forest | None:
    """Run Edmonds' algorithm; None if there is no tree."""
    n = len(arcs)
    forest = Forest(n, dict(arcs))
    top = list(range(n + 1))
    done = {0}
    for start in range(1, n + 1):
        path = [top[start]] if top[start] not in done else []
        while path:
            node = path[-1]
            entering = forest.arcs[node]
            from_words = {arc: value for arc, value in entering.items() if arc[0] != 0}
            candidates = from_words if root_last and from_words else entering
            if not candidates:
                return None
            forest.choice[node] = max(candidates, key=candidates.__getitem__)
            reached = top[forest.choice[node][0]]
            if reached in done:
                break
            if reached not in path:
                path.append(reached)
                continue
            cycle = path[path.index(reached) :]
            del path[path.index(reached) :]
            merged = max(n, *forest.arcs) + 1
            forest.children[merged] = cycle
            forest.parent |= dict.fromkeys(cycle, merged)
            top = [merged if node in cycle else node for node in top]
            forest.arcs[merged] = {
                arc: value - forest.chosen_value(node)
                for node in cycle
                for arc, value in forest.arcs[node].items()
                if top[arc[0]] != merged
            }
            path.append(merged)
        done.update(path)
    return forest


def _unfold(forest: Forest) -> tuple[dict[int, int], Heads]:
    """Give each word the largest node whose choice is the word's arc, and its head."""
    owner: dict[int, int] = {}
    heads = [-1] * (forest.num_words + 1)
    for node in forest.arcs:
        if node not in forest.parent:
            forest.enter(node, forest.choice[node], owner, heads)
    return owner, tuple(heads)


def _best(
    values: dict[Arc, Any],
    size: int,
    kept: frozenset[Arc],
    out: frozenset[Arc],
    *,
    single_root: bool,
) -> tuple[Forest, Heads] | None:
    arcs = _restricted(values, size, kept, out, single_root=single_root)
    is_open = single_root and not any(head == 0 for head, _ in kept)
    forest = _contract(arcs, root_last=is_open)
    if forest is None:
        return None
    _, heads = _unfold(forest)
    return None if is_open and heads.count(0) != 1 else (forest, heads)


def _second(
    values: dict[Arc, Any],
    size: int,
    kept: frozenset[Arc],
    out: frozenset[Arc],
    *,
    single_root: bool,
    fault: str | None,
) -> tuple[Heads, Arc] | None:
    """Find the second best tree, and an arc of the best one that it lacks."""
    found = _best(values, size, kept, out, single_root=single_root)
    if found is None:  # only if something was lost before
        return None
    forest, heads = found
    owner, _ = _unfold(forest)
    least: tuple[Any, int, Arc] | None = None
    for word in range(1, size):
        node = owner[word]
        for arc, value in forest.arcs[node].items():
            if arc == forest.choice[node]:
                continue
            if fault != "descendants ignored" and _is_below(heads, arc[0], word):
                continue
            loss = forest.chosen_value(node) - value
            if least is None or loss < least[0]:
                least = loss, word, arc
    if least is None:
        return None
    _, word, arc = least
    second = list(heads)
    forest.enter(owner[word], arc, {}, second)
    return tuple(second), (heads[word], word)


def _is_below(heads: Heads, node: int, word: int) -> bool:
    while node not in (0, word):
        node = heads[node]
    return node == word
