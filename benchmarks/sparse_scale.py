"""One large sparse graph, for the record: ten million nodes and a hundred million arcs.

Run with ``python -m benchmarks.sparse_scale > benchmarks/sparse_scale.md``: a few minutes
and 7 GiB.  It is no comparison and no part of `make bench`.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from arborand import SparseSpanningTrees

NUM_NODES, NUM_ARCS = 10_000_000, 100_000_000


def _row(what: str, work: Callable[[], Any]) -> Any:
    begin = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"| {what} | {seconds:.0f} | {peak / 2**30:.1f} | {peak / NUM_ARCS:.0f} |", flush=True)
    return answer


def main() -> None:
    """Make the graph, draw from it, and print a table."""
    print("# A random graph of ten million nodes and a hundred million arcs\n")
    print("A path through all nodes, and arcs between random nodes; all weights are 1.\n")
    print("| | seconds | most memory so far, GiB | bytes per arc |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(0)

    def make_arrays() -> Any:
        heads, dependents = rng.integers(NUM_NODES, size=(2, NUM_ARCS), dtype=np.int32)
        heads[: NUM_NODES - 1] = np.arange(NUM_NODES - 1)
        dependents[: NUM_NODES - 1] = np.arange(1, NUM_NODES)
        return heads, dependents

    arrays = _row("two arrays of nodes", make_arrays)
    trees = _row(
        "reading them",
        lambda: SparseSpanningTrees.from_edges(*arrays, num_nodes=NUM_NODES, root=0),
    )
    _row("the first tree, with tables for all that follow", lambda: trees.sample(rng=0))
    for count, workers in ((1, 1), (2, 1), (2, 2)):
        _row(
            f"{count} more, workers={workers}",
            partial(trees.sample, count, rng=1, workers=workers),
        )
    _row("the best tree", trees.best_tree)


if __name__ == "__main__":
    main()
