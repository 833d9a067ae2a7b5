"""One adapter a peer: the same question in each library's own words.

An adapter turns our arrays into the peer's own types before the clock starts, and turns its answers
back after the clock has stopped; only the peer's own work is timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.graphs import Floats

# In the order of the tables.
NAMES = (
    "arborand",
    "reference",
    "numpy_formulas",
    "networkx",
    "dppy",
    "igraph",
    "pyro",
    "torch_struct",
    "supar",
    "treesample",
    "synjax",
)


@dataclass(frozen=True)
class Job:
    """Work to be timed, and how to read its answer.

    Attributes
    ----------
    run : callable
    read : callable
        Turns what `run` returned into an array: numbers, or heads of shape (trees, n + 1).
    units : int
        How many trees, or graphs, a call yields.
    """

    run: Callable[[], Any]
    read: Callable[[Any], NDArray[Any]] = np.asarray
    units: int = 1


class Adapter:
    """What a peer may be able to do.  A method that returns None: it does not do that."""

    name: str
    # What to import to have it, and a remark for the tables.
    module: str
    remark: str = ""
    # Source of a program's first useful act, for the latency table; `scores` is (11, 11).
    first_call: str | None = None
    # Whether it takes seconds to import.
    is_heavy: bool = False

    def load(self) -> None:
        """Import the peer, once; ImportError if it is not there."""
        importlib.import_module(self.module)

    def spanning_tree(self, scores: Floats) -> Job | None:
        """Draw spanning trees of a graph with symmetric weights."""
        del scores
        return None

    def uniform_spanning_tree(self, num_words: int) -> Job | None:
        """Draw spanning trees of a complete graph, all with the same probability."""
        del num_words
        return None

    def dependency_tree(self, scores: Floats) -> Job | None:
        """Draw dependency trees of a directed graph."""
        del scores
        return None

    def distinct_trees(self, scores: Floats, k: int) -> Job | None:
        """Draw k distinct dependency trees."""
        del scores, k
        return None

    def log_partition(
        self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool
    ) -> Job | None:
        """Compute log Z of padded graphs."""
        del batch, lengths, single_root
        return None

    def arc_marginals(
        self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool
    ) -> Job | None:
        """Compute the marginals of padded graphs, 0 in the padding."""
        del batch, lengths, single_root
        return None

    def undirected_log_partition(self, scores: Floats) -> Job | None:
        """Compute log Z of the spanning trees of one graph with symmetric weights."""
        del scores
        return None


def find(name: str) -> Adapter:
    """Give the adapter of a peer, loaded; ImportError if the peer is not installed."""
    adapter: Adapter = importlib.import_module(f"benchmarks.adapters.{name}").ADAPTER
    adapter.load()
    return adapter


def heads_from_edges(edges: Any, num_nodes: int) -> NDArray[np.int32]:
    """Turn the edges of an undirected tree into heads, seen from node 0."""
    neighbours: list[list[int]] = [[] for _ in range(num_nodes)]
    for a, b in edges:
        neighbours[int(a)].append(int(b))
        neighbours[int(b)].append(int(a))
    heads = np.full(num_nodes, -1, dtype=np.int32)
    pending = [0]
    while pending:
        node = pending.pop()
        for other in neighbours[node]:
            if other != 0 and heads[other] < 0 and other != heads[node]:
                heads[other] = node
                pending.append(other)
    return heads
