"""A sparse graph with a place for its walks to end: what draws and numbers are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand import _core
from arborand.errors import (
    InvalidWeightsError,
    NoTreeError,
    PrecisionError,
    TooMuchWorkError,
    WalkTooLongError,
)
from arborand.sparse_graphs import drawing

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from arborand.sparse_graphs.edges import Edges

MAX_WORK = 1e10
"""Updates that elimination may take by default: some ten seconds."""

_NAMED = 5  # nodes that a message names
# Beyond this, the rounding of a logarithm alone changes its weight by a thousandth.
_LARGEST_LOGARITHM = 1e13


class Plan(NamedTuple):
    """What elimination would take, as far as it was looked for."""

    order: NDArray[np.int32]
    work: float  # at least, if not complete
    fill: float
    is_complete: bool
    limit: float

    def is_within(self, max_work: float) -> bool:
        """Tell whether the order is known and takes no more work than that."""
        return self.is_complete and self.work <= max_work


class RootedGraph:
    """Checked edges in compressed rows, known to have a tree.

    Attributes
    ----------
    edges : Edges
    core : _core.SparseGraph
    root : int or None
        As asked for.
    walk_root : int
        Where walks end: the root of a directed graph, some node of an undirected one, and the node
        outside for forests.
    """

    def __init__(self, edges: Edges, root: int | None) -> None:
        self.edges, self.root = edges, root
        self._known_plan: Plan | None = None
        self._known_elimination: _core.Elimination | None = None
        num_nodes = len(edges.nodes)
        if root is not None and not 0 <= root < num_nodes:
            raise InvalidWeightsError(
                f"root is {root}: nodes are counted from 0 to {num_nodes - 1}"
            )
        if root is not None and edges.log_killing is not None:
            raise TypeError(
                "root and killing are given: a forest has the roots that killing weights allow; "
                "leave root out"
            )
        if root is None and edges.log_killing is None and not edges.is_undirected:
            raise InvalidWeightsError(
                "a directed graph needs a root= that its trees lead away from, or killing= for "
                "forests; pass directed=False if edges may be used in both directions"
            )
        self.num_nodes = num_nodes
        self.core = _core.SparseGraph(
            edges.heads,
            edges.dependents,
            edges.log_weights,
            num_nodes,
            not edges.goes_both_ways,
            edges.log_killing,
        )
        if edges.log_killing is not None:
            self.walk_root = num_nodes
        elif edges.is_undirected:
            self.walk_root = self.core.choose_walk_target()
        else:
            assert root is not None
            self.walk_root = root
        self._check_reach()

    def _check_reach(self) -> None:
        """Raise an error if some node cannot walk to the root."""
        edges = self.edges
        # The trees of an undirected graph need no particular root: name what the one asked for
        # does not reach.
        root = self.walk_root if self.root is None else self.root
        unreachable = np.empty(len(edges.nodes), dtype=np.uint8)
        count = self.core.find_unreachable(root, unreachable)
        if not count:
            return
        labels = tuple(edges.nodes[int(i)] for i in np.flatnonzero(unreachable))
        named = _list(labels)
        if edges.log_killing is not None:
            raise NoTreeError(
                f"the graph has no spanning forest: {named} cannot reach a node with a killing "
                "weight; give one in each part a weight",
                labels,
            )
        verb = "is" if count == 1 else "are"
        what = (
            f"{verb} not connected to"
            if edges.is_undirected
            else "cannot be reached from the root,"
        )
        raise NoTreeError(
            f"the graph has no spanning tree: {named} {what} {edges.name(root)}; add edges, draw "
            "from each part on its own, or draw forests with killing=",
            labels,
        )

    def draw(
        self,
        num_draws: int,
        *,
        key: tuple[int, int],
        workers: int = 1,
        first_draw: int = 0,
        max_steps: int | None = None,
        max_work: float = MAX_WORK,
        budgets: drawing.Budgets | None = None,
        lanes: int = 0,
    ) -> tuple[NDArray[np.int32], drawing.Counts]:
        """Draw trees, with settings that users lack: for tests, and never public."""
        heads = np.empty((num_draws, self.num_nodes), dtype=np.int32)
        draws = np.arange(first_draw, first_draw + num_draws, dtype=np.uint64)
        budgets = budgets or drawing.Budgets.of(self.core.num_arcs, max_steps)

        def eliminate() -> _core.Elimination | None:
            return self.eliminate(max_work) if self.plan(max_work).is_within(max_work) else None

        counts, unfinished = drawing.draw(
            self.core,
            self.walk_root,
            draws,
            heads,
            key=key,
            workers=workers,
            budgets=budgets,
            eliminate=eliminate,
            lanes=lanes,
        )
        if unfinished is not None:
            raise self._too_long(unfinished, counts, max_work)
        if self.walk_root < self.num_nodes:
            heads[:, self.walk_root] = -1
        else:
            heads[heads == self.walk_root] = -1
        if self.root not in (None, self.walk_root):
            _core.reroot(heads, self.root)
        return heads, counts

    def _too_long(
        self, unfinished: drawing.Unfinished, counts: drawing.Counts, max_work: float
    ) -> WalkTooLongError:
        visits = np.zeros(self.core.num_nodes, dtype=np.int64)
        self.core.count_visits(int(unfinished.caught[0]), self.walk_root, 10_000, visits)
        most = np.argsort(-visits, kind="stable")[:_NAMED]
        labels = tuple(self.edges.nodes[int(i)] for i in most if visits[i] * 50 > visits.sum())
        why = "they take longer on this graph"
        if labels:
            why = (
                f"they keep returning to {_list(labels)}, whose edges are much heavier than those "
                "that lead away"
            )
        work = self.plan(max_work).work
        steps = (counts.steps + counts.jumping_steps) // max(1, counts.jumping_draws)
        return WalkTooLongError(
            f"draw {int(unfinished.draws[0])} is not finished after {steps} steps of its walks: "
            f"{why}; an exact draw by elimination would take {work:.2g} updates or more "
            f"(max_work is {max_work:.2g}); allow more with max_steps= or max_work="
            f"{', or make the weights less uneven' if labels else ''}",
            steps,
            labels,
            work,
        )

    def plan(self, max_work: float) -> Plan:
        """Order the nodes for elimination, and predict its work; kept from call to call."""
        known = self._known_plan
        if known is None or (not known.is_complete and known.limit < max_work):
            order = np.empty(self.core.num_nodes - 1, dtype=np.int32)
            work, fill, is_complete = self.core.plan(self.walk_root, max_work, order)
            known = Plan(order, work, fill, is_complete, max_work)
            self._known_plan = known
        return known

    def eliminate(self, max_work: float) -> _core.Elimination:
        """Take all nodes out of the walk; kept from call to call."""
        plan = self.plan(max_work)
        if not plan.is_within(max_work):
            raise TooMuchWorkError(
                f"elimination would take {plan.work:.2g} updates or more where max_work is "
                f"{max_work:.2g}: the graph fills up, as random graphs do; allow more with "
                "max_work= (some 1e9 a second, and 20 bytes for each of "
                f"{plan.fill:.2g} entries or more)",
                plan.work,
            )
        if self._known_elimination is None:
            self._check_spread()
            self._known_elimination = _core.Elimination(self.core, self.walk_root, plan.order)
        return self._known_elimination

    def _check_spread(self) -> None:
        """Refuse to eliminate with numbers that would keep no digit."""
        spread = 0.0
        for logarithms in (self.edges.log_weights, self.edges.log_killing):
            if logarithms is not None:
                size = np.abs(logarithms[logarithms > -np.inf]).max(initial=0.0)
                spread = max(spread, float(size))
        if spread > _LARGEST_LOGARITHM:
            raise PrecisionError(
                f"a log-weight has the size {spread:.1e}: elimination of sparse graphs keeps no "
                f"digits beyond {_LARGEST_LOGARITHM:.0e}; the dense class has no such limit "
                "(to_dense)"
            )

    def diagonal(self, max_work: float) -> NDArray[np.float64]:
        """Compute by node: visits to it from itself, its root arc's marginal, its resistance."""
        answer: NDArray[np.float64] = np.zeros((3, self.core.num_nodes))
        self.eliminate(max_work).diagonal(answer[0], answer[1], answer[2])
        return answer[:, : self.num_nodes]


def _list(labels: tuple[Hashable, ...]) -> str:
    """Name a few of several nodes, and how many there are."""
    named = ", ".join(map(repr, labels[:_NAMED]))
    noun = "node" if len(labels) == 1 else "nodes"
    if len(labels) <= _NAMED:
        return f"{noun} {named}"
    return f"{noun} {named} and {len(labels) - _NAMED} others"
