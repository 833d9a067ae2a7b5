"""Small graphs whose trees can all be listed, for what the dense catalogue has not.

Loops beside pairs, undirected graphs, parallel edges, forests, and trees that weigh the sum of
their edges' weights instead of the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import fsum

import numpy as np

from verification.graphs import ABSENT, Graph
from verification.laws import FloatArray, TreeLaw


def _graph(
    name: str, num_nodes: int, weights: dict[tuple[int, int], float], purpose: str, **kind: bool
) -> Graph:
    log_weights = np.full((num_nodes, num_nodes), ABSENT)
    for (head, dependent), weight in weights.items():
        log_weights[head, dependent] = np.log(weight)
    log_weights.setflags(write=False)
    return Graph(name, log_weights, purpose, **kind)


SIDE_DOORS_4 = _graph(
    "side_doors_4",
    5,
    {
        (4, 1): 1.5,
        (3, 1): 1.1,
        (2, 1): 0.08,
        (3, 2): 2.1,
        (4, 2): 0.07,
        (4, 3): 35.0,
        (2, 3): 1.6,
        (1, 3): 0.2,
        (0, 3): 0.24,
        (3, 4): 35.0,
        (0, 4): 1.8,
        (2, 4): 0.2,
    },
    "a pair that walks enter from either side, with a loop at one: whether the pair's own loop is "
    "jumped over or walked depends on the side",
)

QUIET_4 = _graph(
    "quiet_4",
    5,
    {
        (head, word): weight
        for word in range(1, 5)
        for head, weight in (((word + 2) % 5, 16.0), ((word + 3) % 5, 1.0), ((word + 4) % 5, 2.0))
        if head != word
    },
    "most words take their heaviest step, and each of them may deviate",
)

TWO_PAIRS_4 = _graph(
    "two_pairs_4",
    5,
    {
        (2, 1): 40.0,
        (1, 2): 38.0,
        (4, 3): 25.0,
        (3, 4): 30.0,
        (0, 1): 0.4,
        (3, 1): 1.2,
        (4, 2): 0.6,
        (1, 3): 2.0,
        (0, 3): 0.3,
        (2, 4): 0.9,
        (0, 4): 1.1,
        (3, 2): 0.25,
    },
    "two pairs that lead to each other",
)

# Both directions of an edge weigh the same; arcs into node 0 are there, and must not be used.
HEAVY_ROOT_4 = _graph(
    "heavy_root_4",
    5,
    {
        pair: weight
        for (a, b), weight in {
            (0, 1): 30.0,
            (1, 2): 1.0,
            (2, 3): 2.0,
            (3, 4): 0.7,
            (4, 0): 1.6,
            (1, 3): 0.5,
            (0, 3): 0.9,
        }.items()
        for pair in ((a, b), (b, a))
    },
    "undirected: the root and another node are each other's heaviest neighbour",
)

SPARSE_GRAPHS = (SIDE_DOORS_4, TWO_PAIRS_4, HEAVY_ROOT_4)


@dataclass(frozen=True)
class Multigraph:
    """Edges between nodes 0 to num_nodes - 1, parallel ones and loops among them.

    Attributes
    ----------
    num_nodes : int
    edges : tuple of (head, dependent, weight)
    killing : tuple of float
        Weights of being a root; empty where node 0 is the root.
    """

    num_nodes: int
    edges: tuple[tuple[int, int, float], ...]
    killing: tuple[float, ...] = ()


PARALLEL = Multigraph(
    4,
    (
        (0, 1, 1.0),
        (0, 1, 2.5),
        (1, 2, 0.7),
        (1, 2, 0.2),
        (1, 2, 3.0),
        (2, 2, 9.0),
        (2, 3, 1.3),
        (3, 0, 0.8),
        (1, 3, 0.0),
        (0, 2, 1.1),
    ),
)
FOREST = Multigraph(
    4,
    ((0, 1, 1.0), (1, 2, 30.0), (2, 3, 0.6), (3, 0, 1.4), (0, 2, 0.3)),
    killing=(0.5, 0.0, 0.2, 1.5),
)
UNEQUAL = Multigraph(
    5,
    (
        (0, 1, 1.0),
        (1, 2, 8.0),
        (2, 3, 0.1),
        (3, 4, 2.0),
        (4, 0, 0.5),
        (0, 2, 3.0),
        (1, 3, 0.0),
        (2, 4, 5.0),
    ),
)


@cache
def edge_law(graph: Multigraph, *, additive: bool = False) -> TreeLaw:
    """List the spanning trees of an undirected multigraph as edges: for each node that to its head.

    For forests -1 stands at each root, else at node 0. `additive` makes a tree's weight the sum of
    its edges' weights instead of their product; an edge of weight 0 is then an edge.
    """
    options: list[list[tuple[int, int, float]]] = [[] for _ in range(graph.num_nodes)]
    for index, (a, b, weight) in enumerate(graph.edges):
        if a != b and (additive or weight > 0):
            options[a].append((index, b, weight))
            options[b].append((index, a, weight))
    if not graph.killing:
        options[0] = [(-1, -1, 0.0 if additive else 1.0)]
    for node, weight in enumerate(graph.killing):
        if weight > 0:
            options[node].append((-1, -1, weight))
    found: list[tuple[list[int], float]] = []
    for chosen in product(*options):
        heads = [head for _, head, _ in chosen]
        if all(_leads_out(heads, node) for node in range(graph.num_nodes)):
            weights = [weight for _, _, weight in chosen]
            total = fsum(weights) if additive else float(np.prod(weights))
            found.append(([index for index, _, _ in chosen], total))
    masses: FloatArray = np.array([mass for _, mass in found])
    return TreeLaw(
        np.array([edges for edges, _ in found], dtype=np.int32), masses / fsum(masses.tolist())
    )


def _leads_out(heads: list[int], node: int) -> bool:
    for _ in heads:
        if node < 0:
            return True
        node = heads[node]
    return node < 0
