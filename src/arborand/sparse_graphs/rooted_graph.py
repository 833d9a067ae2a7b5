"""A sparse graph with a node at which its walks end: the basis of all draws and numbers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand import _core
from arborand.distributions import DependencyTrees, SpanningTrees
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

MAX_WORK = 3e10
"""Updates that elimination may take by default: about 30 seconds; a million-node grid fits."""
MOST_SMALL_NODES = 300
"""Graphs of up to this many nodes are small: a dense matrix is used if digits would be lost."""

_UPDATES_PER_SECOND = 1e9
_NAMED = 5  # the most nodes that a message names
# The largest rounding error of a difference before it is refused: absolute, or relative to the
# number if it is larger than 1.
_LARGEST_ERROR = 1e-6
# Errors of the entries of the inverse add up along the levels of the elimination.
_LEVELS = 64
# Beyond this, the rounding of a logarithm alone changes its weight by a thousandth.
_LARGEST_LOGARITHM = 1e13


class Plan(NamedTuple):
    """The work that elimination would take, as far as it is known."""

    order: NDArray[np.int32]
    work: float  # at least, if not complete
    most_work: float
    fill: float
    is_complete: bool
    limit: float

    def is_within(self, max_work: float) -> bool:
        """Return whether the order is known and takes no more work than that."""
        return self.is_complete and self.work <= max_work


class RootedGraph:
    """Checked edges in compressed rows, known to have a tree.

    Attributes
    ----------
    edges : Edges
    core : _core.SparseGraph
    root : int or None
        As requested.
    walk_root : int
        Where walks end: at the root of a directed graph, at some node of an undirected one, and for
        forests at a node outside the graph.
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
                "root and killing are both given: killing weights choose the roots of a forest; "
                "leave out root"
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
        # The trees of an undirected graph need no particular root: name the nodes that the
        # requested one does not reach.
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
                "weight; give a node of each part one",
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
        """Draw trees, with additional settings for tests, which are not public."""
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
        labels: tuple[Hashable, ...] = ()
        if self._has_different_weights:
            visits = np.zeros(self.core.num_nodes, dtype=np.int64)
            self.core.count_visits(int(unfinished.caught[0]), self.walk_root, 10_000, visits)
            most = np.argsort(-visits, kind="stable")[:_NAMED]
            labels = tuple(self.edges.nodes[int(i)] for i in most if visits[i] * 50 > visits.sum())
        why = "this graph needs more"
        if labels:
            why = (
                f"they keep returning to {_list(labels)}, whose edges are much heavier than those "
                "that lead away"
            )
        plan = self.plan(max_work)
        steps = (counts.steps + counts.jumping_steps) // max(1, counts.jumping_draws)
        return WalkTooLongError(
            f"draw {int(unfinished.draws[0])} is not finished after {steps} steps of its walks: "
            f"{why}; an exact draw by elimination would take {_describe_work(plan)} "
            f"(max_work is {max_work:.2g}); allow more with max_steps= or max_work="
            f"{', or make the weights less uneven' if labels else ''}",
            steps,
            labels,
            plan.work,
        )

    def plan(self, max_work: float) -> Plan:
        """Order the nodes for elimination, and predict its work; the result is cached."""
        known = self._known_plan
        if known is None or (not known.is_complete and known.limit < max_work):
            order = np.empty(self.core.num_nodes - 1, dtype=np.int32)
            known = Plan(order, *self.core.plan(self.walk_root, max_work, order), max_work)
            self._known_plan = known
        return known

    def eliminate(self, max_work: float) -> _core.Elimination:
        """Eliminate all nodes from the walk; the result is cached."""
        plan = self.plan(max_work)
        if not plan.is_within(max_work):
            raise TooMuchWorkError(
                f"elimination would take {_describe_work(plan)}, but max_work is {max_work:.2g}: "
                "the graph fills in, as random graphs do; allow more with max_work= (it also needs "
                f"{20 * plan.fill / 2**20:.0f} MiB{'' if plan.is_complete else ' or more'})",
                plan.work,
            )
        if self._known_elimination is None:
            self._check_spread()
            self._known_elimination = _core.Elimination(self.core, self.walk_root, plan.order)
        return self._known_elimination

    @cached_property
    def _largest_logarithm(self) -> float:
        edges, used = self.edges, []
        if edges.log_weights is not None:
            used.append(edges.log_weights[edges.heads != edges.dependents])
        if edges.log_killing is not None:
            used.append(edges.log_killing)
        sizes = [np.abs(one[one > -np.inf]).max(initial=0.0) for one in used]
        return float(max(sizes, default=0.0))

    @property
    def _has_different_weights(self) -> bool:
        logarithms = self.edges.log_weights
        if logarithms is None:
            return False
        finite = logarithms[logarithms > -np.inf]
        return bool((finite != finite[:1]).any())

    def _check_spread(self) -> None:
        """Refuse to eliminate if no digits would be left."""
        if self._largest_logarithm > _LARGEST_LOGARITHM:
            raise PrecisionError(
                f"a log-weight has the absolute value {self._largest_logarithm:.1e}: elimination "
                f"of sparse graphs keeps no digits beyond {_LARGEST_LOGARITHM:.0e}; the dense "
                "class has no such limit (to_dense)"
            )

    # ---- numbers: by elimination, or by a dense matrix for small graphs that would lose digits

    @property
    def is_small(self) -> bool:
        """Whether the graph has arcs, and few enough nodes for a matrix of all their pairs."""
        return self.core.num_nodes > 1 and self.num_nodes <= MOST_SMALL_NODES

    @property
    def needs_matrix(self) -> bool:
        """Whether digits would be lost without a matrix."""
        return self.is_small and self._largest_logarithm > _LARGEST_LOGARITHM

    def matrix(self, root: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Make a matrix of scores whose node 0 is `root`, and list the node of each of its rows."""
        nodes = np.arange(self.core.num_nodes, dtype=np.int32)
        order = np.concatenate([nodes[root : root + 1], nodes[:root], nodes[root + 1 :]])
        place = np.argsort(order)
        heads, dependents = np.empty((2, self.core.num_arcs), dtype=np.int32)
        log_weights = np.empty(self.core.num_arcs)
        self.core.arcs(heads, dependents, log_weights)
        scores = np.full((len(order), len(order)), -np.inf)
        scores[place[heads], place[dependents]] = log_weights
        return scores, order

    def log_partition(self, max_work: float) -> float:
        """Compute log Z."""
        if self.needs_matrix:
            return float(SpanningTrees(self.matrix(self.walk_root)[0]).log_partition())
        return self.eliminate(max_work).log_partition

    def log_probabilities(
        self, trees: NDArray[np.int32], sums: NDArray[np.float64], max_work: float
    ) -> NDArray[np.float64]:
        """Compute the log-probabilities of trees from the log-weights of their arcs, in two parts.

        If a matrix is needed, the trees themselves are used, and may be modified.
        """
        if not self.needs_matrix:
            known = self.eliminate(max_work)
            answer: NDArray[np.float64] = (sums[:, 0] - known.log_partition) + (
                sums[:, 1] - known.log_partition_rest
            )
            return answer
        if self.walk_root < self.num_nodes:
            _core.reroot(trees, self.walk_root)
        scores, order = self.matrix(self.walk_root)
        place = np.argsort(order)
        # -1 is a root outside the graph, whose place is 0.
        heads = np.where(trees < 0, 0, place[trees])[:, order[1:]]
        heads = np.concatenate([np.full((len(trees), 1), -1), heads], axis=1)
        return SpanningTrees(scores).log_prob(heads)

    def expected_walk_steps(self, max_work: float) -> float:
        """Compute how many steps a draw takes on average."""
        if self.needs_matrix:
            return float(SpanningTrees(self.matrix(self.walk_root)[0]).expected_walk_steps())
        return float(self.diagonal(max_work)[0].sum())

    def root_marginals(self, max_work: float) -> NDArray[np.float64]:
        """Compute the probability that each node is a child of the root, or is a root."""
        if self.root not in (None, self.walk_root):
            directed = RootedGraph(self.edges.as_directed(), self.root)
            return directed.root_marginals(max_work)
        if self.needs_matrix:
            scores, order = self.matrix(self.walk_root)
            marginals = np.zeros(self.core.num_nodes)
            marginals[order] = SpanningTrees(scores).root_marginals()
            return marginals[: self.num_nodes]
        root_arcs: NDArray[np.float64] = self.diagonal(max_work)[1]
        return root_arcs

    def edge_marginals(self, max_work: float) -> NDArray[np.float64]:
        """Compute the probability of each edge, in either direction if it is undirected."""
        edges = self.edges
        log_weights = np.zeros(len(edges.heads)) if edges.log_weights is None else edges.log_weights
        kept = np.flatnonzero((edges.heads != edges.dependents) & (log_weights > -np.inf))
        ends = edges.heads[kept], edges.dependents[kept]
        marginals = np.zeros(len(kept))
        if self.is_small:
            scores, order = self.matrix(self.walk_root)
            place = np.argsort(order)
            arcs = SpanningTrees(scores).arc_marginals()
            for head, dependent in [ends, *([ends[::-1]] if edges.is_undirected else [])]:
                arc = place[head], place[dependent]
                shares = log_weights[kept]
                _core.shares(shares, scores[arc])  # of this edge among parallel ones
                marginals += np.where(arc[1] == 0, 0.0, shares * arcs[arc])
        else:
            rounding = np.empty(len(kept))
            self.eliminate(max_work).edge_marginals(
                *ends, log_weights[kept], not edges.is_undirected, marginals, rounding
            )
            self._check_digits("edge marginals", rounding.max(initial=0.0), 1.0)
        answer: NDArray[np.float64] = np.zeros(len(edges.heads))
        answer[kept] = np.minimum(marginals, 1.0)
        return answer

    def entropy(self, max_work: float) -> float:
        """Compute the entropy of the trees, in nats."""
        if self.is_small:
            return float(SpanningTrees(self.matrix(self.walk_root)[0]).entropy())
        value, rounding = self.eliminate(max_work).entropy()
        self._check_digits("the entropy", rounding, value)
        return value

    def _check_digits(self, what: str, rounding: float, size: float) -> None:
        """Refuse a difference of numbers so large that their rounding errors matter."""
        error = _LEVELS * 2.0**-53 * rounding
        largest = max(1.0, size)
        if not error <= _LARGEST_ERROR * largest:
            found = "would have no correct digits"
            if error < largest:
                found = f"may be off by {error:.1e}"
            raise PrecisionError(
                f"{what} {found}, because weights are far apart; the dense class has no such limit "
                "(to_dense), and draws are exact all the same"
            )

    def best_heads(self, *, single_root: bool = False) -> NDArray[np.int32]:
        """Find the tree with the largest weight, optionally with a single child of the root."""
        root = self.walk_root if self.root is None else self.root
        heads = np.full(self.core.num_nodes, -1, dtype=np.int32)
        found = True
        if self.is_small:
            scores, order = self.matrix(root)
            best = (DependencyTrees if single_root else SpanningTrees)(scores).best_tree()
            heads[order[1:]] = order[best[1:]]
        elif self.edges.is_undirected and not single_root:
            self.core.maximum_spanning_tree(root, heads)
        else:
            found = self.core.best_arborescence(root, single_root, heads)
        if not found:
            raise NoTreeError("the graph has no tree with a single child of the root", ())
        heads[heads == self.num_nodes] = -1
        return heads[: self.num_nodes]

    def count(self, weights: NDArray[np.float64] | None, max_work: float) -> int:
        """Count trees exactly if there are fewer than 2^60, by elimination modulo primes."""
        elimination = self.eliminate(max_work)
        for prime in range(3):
            count = elimination.residue(prime, weights)
            if count is not None:
                return count
        raise ArithmeticError("a pivot is 0 modulo each of three primes")

    def diagonal(self, max_work: float) -> NDArray[np.float64]:
        """Compute for each node: visits to itself, its root arc's marginal, its resistance."""
        answer: NDArray[np.float64] = np.zeros((3, self.core.num_nodes))
        self.eliminate(max_work).diagonal(answer[0], answer[1], answer[2])
        return answer[:, : self.num_nodes]


def _describe_work(plan: Plan) -> str:
    """Describe the work of elimination, in updates and in time."""

    def amount(updates: float) -> str:
        return f"{updates:.1e} updates ({_duration(updates / _UPDATES_PER_SECOND)})"

    if plan.is_complete:
        return amount(plan.work)
    return f"at least {amount(plan.work)} and at most {amount(plan.most_work)}"


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} seconds" if seconds >= 2 else "less than 2 seconds"


def _list(labels: tuple[Hashable, ...]) -> str:
    """Name a few nodes, and say how many others there are."""
    named = ", ".join(map(repr, labels[:_NAMED]))
    noun = "node" if len(labels) == 1 else "nodes"
    if len(labels) <= _NAMED:
        return f"{noun} {named}"
    return f"{noun} {named} and {len(labels) - _NAMED} others"
