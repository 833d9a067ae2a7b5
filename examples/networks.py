"""Three questions about networks that their spanning trees answer, each with a figure.

1. Which ties hold a network together?  The probability that an edge is in a uniform spanning tree
   is its effective resistance: 1 for a bridge, close to 0 if there are many detours.
2. Which edges can be left out?  Edges drawn in proportion to these probabilities (their leverage
   scores) and reweighted keep the Laplacian, and with it all cuts and resistances, approximately.
3. What do ordinary maps look like?  A ReCom chain of GerryChain, with uniform spanning trees.

Run with: python examples/networks.py FOLDER (needs networkx, gerrychain and matplotlib)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from arborand import SparseSpanningTrees


def florentine_ties() -> tuple[networkx.Graph, NDArray[np.float64]]:
    """Compute how much the marriages of Florentine families hold the network together."""
    families = networkx.florentine_families_graph()
    return families, SparseSpanningTrees.from_networkx(families).edge_marginals()


def sparsify(
    graph: networkx.Graph, num_draws: int, rng: np.random.Generator
) -> tuple[networkx.Graph, NDArray[np.float64]]:
    """Keep edges drawn by leverage score, reweighted so that the mean Laplacian is the graph's."""
    scores = SparseSpanningTrees.from_networkx(graph).edge_marginals()
    chances = scores / scores.sum()
    counts = rng.multinomial(num_draws, chances)
    kept = networkx.Graph()
    kept.add_nodes_from(graph)
    for edge, count, chance in zip(graph.edges, counts, chances, strict=True):
        if count:
            kept.add_edge(*edge, weight=count / (num_draws * chance))
    return kept, scores


def two_towns(seed: int = 0) -> networkx.Graph:
    """Make two dense groups of 40 nodes with three edges between them."""
    graph = networkx.planted_partition_graph(2, 40, 0.5, 0.0, seed=seed)
    graph.add_edges_from([(0, 40), (1, 41), (2, 42)])
    return graph


def spectrum(graph: networkx.Graph) -> NDArray[np.float64]:
    """Compute the eigenvalues of the weighted Laplacian."""
    values: NDArray[np.float64] = np.linalg.eigvalsh(
        networkx.laplacian_matrix(graph).toarray().astype(float)
    )
    return values


def cut_edges(num_steps: int) -> tuple[list[int], dict[Any, Any]]:
    """Run a ReCom chain on a grid: the number of cut edges of each map, and the last map."""
    import recom

    counts = []
    for partition in recom.grid_chain(side=12, num_districts=4, num_steps=num_steps, seed=0):
        counts.append(len(partition["cut_edges"]))
        last = partition
    graph = last.graph
    names = {node: graph.original_nx_node_id_for_internal_node_id(node) for node in graph}
    return counts, {names[node]: last.assignment[node] for node in graph}


def draw_figures(folder: Path) -> None:
    """Write one figure per use."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "arborand", "svg.fonttype": "none"}
    from matplotlib import pyplot

    families, marginals = florentine_ties()
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    places = networkx.kamada_kawai_layout(families)
    networkx.draw_networkx_nodes(families, places, node_size=30, node_color="0.2", ax=axes)
    drawn = networkx.draw_networkx_edges(
        families,
        places,
        edge_color=marginals,
        edge_cmap=mpl.colormaps["viridis_r"],
        width=3,
        ax=axes,
    )
    labels = {node: (x, y + 0.06) for node, (x, y) in places.items()}
    networkx.draw_networkx_labels(families, labels, font_size=8, ax=axes)
    figure.colorbar(drawn, ax=axes, label="probability in a spanning tree")
    axes.axis("off")
    _save(figure, folder / "resistances.svg")

    graph = two_towns()
    kept, scores = sparsify(graph, 600, np.random.default_rng(0))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    left.plot(np.sort(scores)[::-1], color="C0")
    left.set(xlabel="edge, by leverage score", ylabel="leverage score", ylim=(0, 1))
    left.set_title(f"{kept.number_of_edges()} of {graph.number_of_edges()} edges are kept")
    right.plot(spectrum(graph), label="all edges", color="0.3")
    right.plot(spectrum(kept), "--", label="sparsified", color="C1")
    right.set(xlabel="eigenvalue of the Laplacian", ylabel="size")
    right.legend()
    _save(figure, folder / "sparsification.svg")

    counts, assignment = cut_edges(300)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    image = np.zeros((12, 12))
    for (row, column), district in assignment.items():
        image[row, column] = district
    left.imshow(image, cmap="Set2")
    left.set_title("the last map")
    left.axis("off")
    right.hist(counts, bins=range(min(counts), max(counts) + 2), color="C0")
    right.axvline(counts[0], color="C1", label="the first map, stripes")
    right.set(xlabel="edges between districts", ylabel="maps")
    right.legend()
    _save(figure, folder / "redistricting.svg")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    print(f"written: {path}")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    target.mkdir(parents=True, exist_ok=True)
    draw_figures(target)
