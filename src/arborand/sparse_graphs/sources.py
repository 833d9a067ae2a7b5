"""Read the edges of other libraries' graphs: one function per library."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.errors import InvalidWeightsError
from arborand.sparse_graphs.edges import (
    Edges,
    check_edge_weights,
    check_endpoints,
    check_killing,
    check_symmetry,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def read_scipy(matrix: Any, *, directed: bool, killing: ArrayLike | None) -> Edges:
    """Read a sparse matrix of weights, ``[head, dependent]``."""
    if not hasattr(matrix, "tocoo"):
        raise TypeError(
            f"matrix must be a scipy.sparse array or matrix, not {type(matrix).__name__}; for a "
            "dense one, use SpanningTrees.from_weights"
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidWeightsError(
            f"matrix has shape {matrix.shape}: expected a square matrix, [head, dependent]"
        )
    entries = matrix.tocoo()
    heads, dependents, num_nodes = check_endpoints(
        entries.coords[0], entries.coords[1], matrix.shape[0]
    )
    values = check_edge_weights(
        entries.data,
        None,
        len(heads),
        lambda e: f"the edge {heads[e]} -> {dependents[e]}",
        name="matrix.data",
    )
    if not directed and values[0] is not None:
        check_symmetry(heads, dependents, values[0], num_nodes)
    nodes = range(num_nodes)
    return Edges(
        heads,
        dependents,
        *values,
        nodes,
        is_undirected=not directed,
        goes_both_ways=False,
        log_killing=check_killing(killing, None, nodes),
    )


def read_networkx(
    graph: Any,
    weight: str | None,
    log_weight: str | None,
    killing: str | Mapping[Hashable, float] | float | None,
) -> tuple[Edges, list[tuple[Any, ...]]]:
    """Read a NetworkX graph: its edges, and their keys in ``graph.edges``."""
    if not isinstance(getattr(graph, "edges", None), Mapping):
        raise TypeError(
            f"graph must be a NetworkX graph, not {type(graph).__name__}; use from_edges for "
            "arrays of edges, from_scipy for sparse matrices; for GerryChain's graphs, pass "
            "get_nx_graph()"
        )
    nodes = list(graph)
    if not nodes:
        raise InvalidWeightsError("graph has no nodes: a tree has at least one")
    place = {node: i for i, node in enumerate(nodes)}
    keys = list(graph.edges)
    attribute = log_weight if weight is None else weight
    values = None
    if attribute is not None:
        values = [end[-1] for end in graph.edges(data=attribute)]
        missing = [key for key, value in zip(keys, values, strict=True) if value is None]
        if missing:
            raise InvalidWeightsError(
                f"the edge {missing[0]!r} has no attribute {attribute!r}: give every "
                "edge a weight, or name no attribute if all weights are 1"
            )
    count = len(keys)
    heads = np.fromiter((place[key[0]] for key in keys), np.int32, count)
    dependents = np.fromiter((place[key[1]] for key in keys), np.int32, count)
    if isinstance(killing, str):
        killing = {node: data[killing] for node, data in graph.nodes(data=True) if killing in data}
    edges = Edges(
        heads,
        dependents,
        *check_edge_weights(
            None if weight is None else values,
            None if log_weight is None else values,
            count,
            lambda e: f"the edge {keys[e]!r}",
            name=repr(weight) if log_weight is None else "weights",
        ),
        nodes,
        is_undirected=not graph.is_directed(),
        goes_both_ways=not graph.is_directed(),
        log_killing=check_killing(killing, None, nodes),
    )
    return edges, keys
