"""Draws and log Z of sparse graphs against bare walks, SciPy, NetworkX and GerryChain.

- The floor is a walk of as many steps on the same arrays (``sparse_floor.cpp``): what a draw takes
  beyond it is the tree.
- Grids are numbered row by row, so that a walk stays in the cache for long; the random graph (two
  random rings: every node has four neighbours) leads far away with every step.
- Times of draws are given for one step, because draws of one graph differ widely in length.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arborand import SparseSpanningTrees
from benchmarks.floor import COMPILER
from benchmarks.measure import ROOT, Comparison, Settings, Side, compare
from benchmarks.report import Report

TITLE = "Sparse graphs"
Ends = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


def grid(side: int) -> Ends:
    """Make the edges of a square grid, numbered row by row."""
    node = np.arange(side * side).reshape(side, side)
    return (
        np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()]),
        np.concatenate([node[:, 1:].ravel(), node[1:].ravel()]),
    )


def two_rings(num_nodes: int) -> Ends:
    """Make a random graph in which every node has four neighbours."""
    rng = np.random.default_rng(0)
    first, second = rng.permutation(num_nodes), rng.permutation(num_nodes)
    return (
        np.concatenate([first, second]),
        np.concatenate([np.roll(first, 1), np.roll(second, 1)]),
    )


@cache
def floor() -> Callable[..., int]:
    """Compile the bare walk against the core's headers."""
    folder = Path(tempfile.mkdtemp())
    library = folder / "floor.so"
    subprocess.run(
        [
            *(*COMPILER, "-std=c++17", "-O3", "-Wno-psabi", "-fno-math-errno"),
            *("-ffp-contract=off", "-shared", "-fPIC", "-DARBORAND_ISA=baseline"),
            *(f"-I{ROOT / 'src' / 'core'}", str(ROOT / "benchmarks" / "sparse_floor.cpp")),
            *("-o", str(library)),
        ],
        check=True,
    )
    walk: Any = ctypes.CDLL(str(library)).walk
    walk.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p),
        *(ctypes.c_int64, ctypes.c_uint64, ctypes.c_uint32),
    ]
    bare: Callable[..., int] = walk
    return bare


def _rows(ends: Ends, num_nodes: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    heads, dependents = np.concatenate(ends), np.concatenate(ends[::-1])
    order = np.lexsort((heads, dependents))
    begin = np.zeros(num_nodes + 1, dtype=np.uint32)
    np.cumsum(np.bincount(dependents, minlength=num_nodes), out=begin[1:])
    return begin, heads[order].astype(np.uint32)


def _is_tree(heads: npt.NDArray[np.int32]) -> str | None:
    """Follow all heads at once, twice as far each time."""
    for tree in heads.reshape(-1, heads.shape[-1]):
        root = int(np.argmin(tree))
        ancestor = np.where(tree < 0, root, tree)
        for _ in range(len(tree).bit_length()):
            ancestor = ancestor[ancestor]
        if (tree < 0).sum() != 1 or not (ancestor == root).all():
            return "not a spanning tree"
    return None


def _draws(report: Report, settings: Settings) -> None:
    table = report.table(
        "One draw, per step", ["graph", "nodes", "bare walk, ns", "one draw", "16 side by side"]
    )
    side = 200 if settings.quick else 1000
    for name, ends in (("grid", grid(side)), ("random", two_rings(side * side))):
        n = side * side
        trees = SparseSpanningTrees.from_edges(*ends, directed=False, num_nodes=n)
        rows = _rows(ends, n)
        graph = trees._graph
        one, counts = graph.draw(1, key=(0, 0), lanes=1)
        many, counts_16 = graph.draw(16, key=(0, 0))
        if not np.array_equal(one[0], many[0]):
            raise RuntimeError("draws side by side differ")

        def bare(steps: int = counts.steps, rows: Any = rows) -> int:
            return floor()(rows[0].ctypes.data, rows[1].ctypes.data, steps, 1, 0)

        def draw(number: int, lanes: int, graph: Any = graph) -> npt.NDArray[np.int32]:
            heads: npt.NDArray[np.int32] = graph.draw(number, key=(0, 0), lanes=lanes)[0]
            return heads

        times = compare(
            {
                "floor": Side(bare, per_call=counts.steps),
                "one": Side(partial(draw, 1, 1), _is_tree, per_call=counts.steps),
                "16 in turn": Side(partial(draw, 16, 1), per_call=counts_16.steps),
                "side by side": Side(partial(draw, 16, 0), per_call=counts_16.steps),
            },
            settings,
            min_rounds=3,
        )
        against_floor = times.ratio("one", "floor")
        together = times.ratio("side by side", "16 in turn")
        table.rows.append(
            [
                name,
                f"{n:,}",
                f"{times.median('floor') * 1e9:.1f}",
                str(against_floor),
                str(together),
            ]
        )
        report.claim(
            f"one draw of a {name} graph of {n:,} nodes over a bare walk of as many steps",
            against_floor,
            1.3,
            at_most=True,
        )
        report.claim(
            f"16 draws of that {name} graph side by side over one after the other",
            together,
            1.1 if name == "grid" else 0.5,
            at_most=True,
        )


def _against(
    report: Report, text: str, ours: Side, theirs: Side, bound: float, settings: Settings
) -> Comparison:
    times = compare({"ours": ours, "theirs": theirs}, settings, min_rounds=3)
    report.claim(text, times.ratio("theirs", "ours"), bound, at_most=False)
    return times


def _peers(report: Report, settings: Settings) -> None:
    import networkx as nx

    small = nx.grid_2d_graph(8, 8)
    trees = SparseSpanningTrees.from_networkx(small)
    _against(
        report,
        "a tree of an 8 x 8 grid: NetworkX's random_spanning_tree over ours",
        Side(lambda: trees.sample(100, rng=0), _is_tree, per_call=100),
        Side(lambda: nx.random_spanning_tree(small, seed=1)),
        1000,
        settings,
    )
    text = "a tree of a 100 x 100 grid: GerryChain's uniform_spanning_tree over ours"
    try:
        from gerrychain import Graph
        from gerrychain.tree import uniform_spanning_tree
    except ImportError:
        report.skip(text, 100, "gerrychain is not installed", at_most=False)
        return
    large = nx.grid_2d_graph(100, 100)
    precincts = Graph.from_networkx(large).convert_from_nx_to_rx()
    many = SparseSpanningTrees.from_networkx(large)
    _against(
        report,
        text,
        Side(lambda: many.sample(10, rng=0), _is_tree, per_call=10),
        Side(lambda: uniform_spanning_tree(precincts, rng=1)),
        100,
        settings,
    )


def _best_trees(report: Report, settings: Settings) -> None:
    import networkx as nx

    # Six arcs per node, as in road networks, a cycle among them.
    size = 150 if settings.quick else 1000
    rng = np.random.default_rng(1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(size))
    nx.add_cycle(graph, range(size))
    while graph.number_of_edges() < 6 * size:
        a, b = rng.integers(size, size=2).tolist()
        if a != b:
            graph.add_edge(a, b)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = float(rng.standard_normal())
    best = nx.maximum_spanning_arborescence(graph.copy(), backend="networkx").size("weight")
    _against(
        report,
        f"best arborescence of {size:,} nodes and {6 * size:,} arcs: NetworkX over our backend",
        Side(
            lambda: nx.maximum_spanning_arborescence(graph, backend="arborand"),
            lambda tree: None if abs(tree.size("weight") - best) < 1e-9 else "not the best",
        ),
        Side(lambda: nx.maximum_spanning_arborescence(graph.copy(), backend="networkx")),
        30 if settings.quick else 300,
        settings,
    )


def _numbers(report: Report, settings: Settings) -> None:
    table = report.table(
        "Numbers of large graphs, in seconds",
        ["graph", "nodes", "arcs", "best tree", "log Z", "edge marginals", "entropy"],
        note="Random directed graphs fill up: only the best tree is found.",
    )
    side = 50 if settings.quick else 316
    num_nodes = side * side

    def seconds(ask: Callable[[], Any]) -> str:
        begin = time.process_time()
        ask()
        return f"{time.process_time() - begin:.2f}"

    rng = np.random.default_rng(0)
    grid_ends = grid(side)
    both = np.concatenate(grid_ends), np.concatenate(grid_ends[::-1])
    path = np.arange(num_nodes - 1)
    heads, dependents = rng.integers(num_nodes, size=(2, 10 * num_nodes))
    for name, ends in (
        ("directed grid", both),
        ("random", (np.concatenate([path, heads]), np.concatenate([path + 1, dependents]))),
    ):
        log_weights = rng.standard_normal(len(ends[0]))
        trees = SparseSpanningTrees.from_edges(
            *ends, log_weights=log_weights, num_nodes=num_nodes, root=0
        )
        asked: list[Callable[[], Any]] = [trees.best_tree]
        if name != "random":
            asked += [trees.log_partition, trees.edge_marginals, trees.entropy]
        times = [seconds(ask) for ask in asked]
        times += ["-"] * (4 - len(times))
        table.rows.append([name, f"{num_nodes:,}", f"{len(ends[0]):,}", *times])


def _log_partition(report: Report, settings: Settings) -> None:
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import splu

    side = 60 if settings.quick else 316
    ends = grid(side)
    half = coo_array((np.ones(len(ends[0])), ends), shape=(side * side, side * side))
    both = (half + half.T).tocsc()
    laplacian: Any = (diags_array(np.asarray(both.sum(axis=0)).ravel()) - both).tocsc()[1:, 1:]

    def ours() -> float:
        return SparseSpanningTrees.from_edges(*ends, directed=False).log_partition()

    def theirs() -> float:
        return float(np.log(np.abs(splu(laplacian).U.diagonal())).sum())

    exact = theirs()
    times = compare(
        {
            "ours": Side(ours, lambda z: None if abs(z - exact) < 1e-9 * exact else "wrong"),
            "splu": Side(theirs),
        },
        settings,
        min_rounds=3,
    )
    report.claim(
        f"log Z of a {side} x {side} grid over SciPy's splu",
        times.ratio("ours", "splu"),
        1.5,
        at_most=True,
    )


def _growth(report: Report, settings: Settings) -> None:
    table = report.table(
        "Cost by number of arcs",
        ["arcs", "graph", "reading, ns per arc", "a draw, ns per step"],
        note="Beyond the caches a step waits for memory: more arcs, more of it.",
    )
    for exponent in settings.pick((4, 5, 6, 7), (4, 5)):
        for name in ("grid", "random"):
            side = int((10**exponent / 4) ** 0.5)
            ends = grid(side) if name == "grid" else two_rings(side * side)
            begin = time.process_time()
            trees = SparseSpanningTrees.from_edges(*ends, directed=False, num_nodes=side * side)
            reading = time.process_time() - begin
            trees._graph.draw(1, key=(0, 0))  # makes the tables
            begin = time.process_time()
            _, counts = trees._graph.draw(4, key=(1, 1))
            drawing = time.process_time() - begin
            arcs = 2 * len(ends[0])
            table.rows.append(
                [
                    f"{arcs:,}",
                    name,
                    f"{reading / arcs * 1e9:.0f}",
                    f"{drawing / counts.steps * 1e9:.0f}",
                ]
            )


def run(settings: Settings) -> Report:
    """Measure everything."""
    report = Report("sparse", TITLE, settings)
    _draws(report, settings)
    _log_partition(report, settings)
    _peers(report, settings)
    _best_trees(report, settings)
    _numbers(report, settings)
    _growth(report, settings)
    return report
