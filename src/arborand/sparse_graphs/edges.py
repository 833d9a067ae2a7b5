"""The gate for sparse graphs: edges, weights, killing weights and labels become :class:`Edges`.

Arrays are copied first: another thread may write to the caller's arrays at any time, and what is
checked must be what is used.  What passes is frozen and never checked again.  The core checks
afterwards whether the graph has a tree (``rooted_graph.py``), because that is only fast with
compressed rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand import _core
from arborand.arguments import check_count
from arborand.errors import InvalidWeightsError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST = 2**31 - 1
"""The largest number of nodes, edges and arcs: they are counted in 32 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Checked edges.

    Attributes
    ----------
    heads, dependents : ndarray of int32, shape (num_edges,), read-only
    weights : ndarray of float64, shape (num_edges,), read-only, or None
        As given; None if logarithms, or no weights at all, were given.
    log_weights : ndarray of float64, shape (num_edges,), read-only, or None
        None if all weights are 1; -inf means no edge.
    nodes : sequence
        The label of each node.
    is_undirected : bool
        Whether the graph is symmetric, so that the distribution of its trees does not depend on the
        root.
    goes_both_ways : bool
        Whether each edge is two arcs.  (A symmetric matrix is undirected, but has two entries.)
    log_killing : ndarray of float64, shape (num_nodes,), read-only, or None
    """

    heads: NDArray[np.int32]
    dependents: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    log_weights: NDArray[np.float64] | None
    nodes: Sequence[Hashable]
    is_undirected: bool
    goes_both_ways: bool
    log_killing: NDArray[np.float64] | None

    def __post_init__(self) -> None:
        for array in (
            self.heads,
            self.dependents,
            self.weights,
            self.log_weights,
            self.log_killing,
        ):
            if array is not None:
                array.flags.writeable = False
        arcs = len(self.heads) * (2 if self.goes_both_ways else 1) + len(self.nodes)
        if arcs > MOST:
            raise InvalidWeightsError(
                f"the graph has {len(self.heads)} edges and {len(self.nodes)} nodes: more than "
                f"{MOST} arcs and nodes are not supported"
            )

    def as_directed(self) -> Edges:
        """Turn an undirected graph into a directed one with the same trees."""
        heads, dependents, log_weights = self.heads, self.dependents, self.log_weights
        if self.goes_both_ways:
            heads = np.concatenate([self.heads, self.dependents])
            dependents = np.concatenate([self.dependents, self.heads])
            if log_weights is not None:
                log_weights = np.concatenate([log_weights, log_weights])
        return Edges(heads, dependents, None, log_weights, self.nodes, False, False, None)

    def name(self, node: int) -> str:
        """Name a node in a message."""
        return repr(self.nodes[node])

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.weights, None if self.weights is not None else self.log_weights
        kind = self.is_undirected, self.goes_both_ways
        return check_edges, (
            self.heads,
            self.dependents,
            *given,
            self.nodes,
            *kind,
            self.log_killing,
        )


def check_edges(
    heads: ArrayLike,
    dependents: ArrayLike,
    weights: ArrayLike | None,
    log_weights: ArrayLike | None,
    nodes: Sequence[Hashable],
    is_undirected: bool,
    goes_both_ways: bool,
    log_killing: ArrayLike | None,
) -> Edges:
    """Check a whole graph that was pickled, perhaps by somebody else."""
    ends = check_endpoints(heads, dependents, len(nodes))
    values = check_edge_weights(
        weights, log_weights, len(ends[0]), lambda e: f"the edge {ends[0][e]} -> {ends[1][e]}"
    )
    if is_undirected and not goes_both_ways:
        entries = np.ones(len(ends[0])) if values[0] is None else values[0]
        check_symmetry(*ends[:2], entries, len(nodes))
    killing = check_killing(None, log_killing, nodes)
    return Edges(*ends[:2], *values, nodes, is_undirected, goes_both_ways, killing)


def check_endpoints(
    heads: ArrayLike, dependents: ArrayLike, num_nodes: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Check the ends of edges: nodes counted from 0."""
    ends = {}
    for name, values in (("heads", heads), ("dependents", dependents)):
        array: NDArray[Any] = np.array(values)
        if array.size == 0 and array.dtype.kind == "f":
            array = array.astype(np.int64)
        if array.dtype.kind not in "iu":
            raise TypeError(
                f"{name} must be integers, one per edge, but their dtype is {array.dtype}; for "
                "other labels, use from_networkx"
            )
        if array.ndim != 1:
            raise InvalidWeightsError(
                f"{name} has shape {array.shape}: expected one axis, with one entry per edge"
            )
        ends[name] = array
    if len(ends["heads"]) != len(ends["dependents"]):
        raise InvalidWeightsError(
            f"heads has {len(ends['heads'])} entries, but dependents has "
            f"{len(ends['dependents'])}: each edge needs one of both"
        )
    if num_nodes is None:
        if len(ends["heads"]) == 0:
            raise InvalidWeightsError("there are no edges: pass the number of nodes as num_nodes=")
        num_nodes = max(0, *(int(array.max()) for array in ends.values())) + 1
    num_nodes = check_count(num_nodes, "num_nodes", 1)
    for name, array in ends.items():
        bad = (array < 0) | (array >= num_nodes)
        if bad.any():
            edge = int(np.argmax(bad))
            raise InvalidWeightsError(
                f"{name}[{edge}] is {array[edge]}: nodes are counted from 0 to {num_nodes - 1} "
                "(num_nodes - 1)"
            )
    if num_nodes >= MOST:
        raise InvalidWeightsError(
            f"the graph has {num_nodes} nodes: at most {MOST - 1} are supported"
        )
    small = [array.astype(np.int32, copy=False) for array in ends.values()]
    return small[0], small[1], num_nodes


def check_symmetry(
    heads: NDArray[np.int32],
    dependents: NDArray[np.int32],
    weights: NDArray[np.float64],
    num_nodes: int,
) -> None:
    """Raise an error unless the sum of the entries is the same in both directions."""
    # Sort the entries at the same place by their weights, so that equal ones have equal sums.
    order = np.lexsort((weights, dependents, heads))
    place = heads[order].astype(np.int64) * num_nodes + dependents[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    if not len(first):
        return
    sums = np.add.reduceat(weights[order], first)
    place = place[first]
    mirrored = place % num_nodes * num_nodes + place // num_nodes
    found = np.minimum(np.searchsorted(place, mirrored), len(place) - 1)
    others = np.where(place[found] == mirrored, sums[found], 0.0)
    if (sums != others).any():
        at = int(np.argmax(sums != others))
        head, dependent = divmod(int(place[at]), num_nodes)
        raise InvalidWeightsError(
            f"matrix[{head}, {dependent}] is {sums[at]}, but matrix[{dependent}, {head}] is "
            f"{others[at]}: an undirected graph has a symmetric matrix; pass (matrix + matrix.T) "
            "/ 2, or directed=True"
        )


def check_edge_weights(
    weights: ArrayLike | None,
    log_weights: ArrayLike | None,
    count: int,
    describe: Any,
    *,
    name: str = "weights",
    of: str = "edge",
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Check weights or their logarithms, and return both; None if they were not given.

    `describe` names the edge or node of an index in a message.
    """
    if weights is not None and log_weights is not None:
        raise TypeError(f"{name} and log_{name} are both given: pass only one of them")
    if weights is None and log_weights is None:
        return None, None
    is_log = weights is None
    name = f"log_{name}" if is_log else name
    try:
        given: NDArray[Any] = np.asarray(log_weights if is_log else weights)
        if given.dtype.kind == "O":  # fractions, decimals, integers of more than 64 bits
            given = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must be real numbers that fit into float64: {error}") from error
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be real numbers, but their dtype is {given.dtype}")
    if given.shape not in ((), (count,)):
        raise InvalidWeightsError(
            f"{name} has shape {given.shape}: expected ({count},), one entry per {of}"
        )
    values = np.array(np.broadcast_to(given, (count,)), dtype=np.float64)
    bad = ~(values < np.inf) if is_log else ~((values >= 0) & (values < np.inf))
    if bad.any():
        index = int(np.argmax(bad))
        need = (
            "a finite logarithm, or -inf for weight 0" if is_log else "a finite number, at least 0"
        )
        raise InvalidWeightsError(
            f"{name}[{index}] is {values[index]}, on {describe(index)}: expected {need}"
        )
    if is_log:
        return None, values
    logarithms = values.copy()
    _core.logarithms(logarithms)
    return values, logarithms


def check_killing(
    killing: ArrayLike | Mapping[Hashable, float] | None,
    log_killing: ArrayLike | None,
    nodes: Sequence[Hashable],
) -> NDArray[np.float64] | None:
    """Check killing weights, and return their logarithms."""
    if isinstance(killing, Mapping):
        known = set(nodes)
        unknown = [node for node in killing if node not in known]
        if unknown:
            raise InvalidWeightsError(f"killing names {unknown[0]!r}, which is not a node")
        killing = [killing.get(node, 0.0) for node in nodes]
    _, checked = check_edge_weights(
        killing,
        log_killing,
        len(nodes),
        lambda node: f"node {nodes[node]!r}",
        name="killing",
        of="node",
    )
    if checked is not None and not (checked > -np.inf).any():
        found = "killing is 0" if log_killing is None else "log_killing is -inf"
        raise InvalidWeightsError(f"{found} everywhere: some node must be able to be a root")
    return checked
