"""The register's part for sparse graphs: every stage of a draw, on every graph, forced to happen.

A draw walks, then walks with jumps over pairs, then puts nodes back. The last two come when budgets
are spent, so budgets are set to values that the library would never choose itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arborand import SparseSpanningTrees
from arborand.randomness import stream_key
from arborand.sparse_graphs.drawing import Budgets
from verification.goodness_of_fit import Family, Fit, Verdict, binomial_test, g_test
from verification.graphs import CATALOGUE, Graph
from verification.judges import judge_consecutive, judge_trees
from verification.laws import FloatArray, HeadsArray, TreeLaw, law_of
from verification.ledger import Check
from verification.library import ENDLESS
from verification.sparse_graphs import (
    FOREST,
    PARALLEL,
    SPARSE_GRAPHS,
    UNEQUAL,
    Multigraph,
    edge_law,
)
from verification.trials import Judge, Sampler, Trial

NUM_DRAWS = 100_000
NUM_DRAWS_PER_BUDGET = 30_000

# Steps, and arcs in erased loops: nodes put back always, often after jumps, often after walks and
# jumps, hardly ever; and jumps alone.
BUDGETS = ((0, 0), (0, 1), (0, 2), (0, 4), (0, 7), (3, 1), (5, 3), (9, 6), (0, ENDLESS))


def _distribution(log_weights: FloatArray) -> SparseSpanningTrees:
    heads, dependents = np.nonzero(log_weights > -np.inf)
    return SparseSpanningTrees.from_edges(
        heads,
        dependents,
        log_weights=log_weights[heads, dependents],
        num_nodes=len(log_weights),
        root=0,
    )


def sparse_sampler(*, budgets: tuple[int, int] | None = None) -> Sampler:
    """Make a sampler of the library, with the budgets of its stages if they are to be forced."""

    def sample(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        heads, _ = _distribution(log_weights)._graph.draw(
            num_draws, key=stream_key(seed), budgets=budgets and Budgets(*budgets)
        )
        return heads

    return sample


def graph_trial(
    made: Sampler, target: Graph, *, num_draws: int, judge: Judge = judge_trees
) -> Trial:
    """Prepare to judge a sampler of spanning trees on a graph that need not be in the catalogue."""

    def run(seed: int) -> Verdict:
        draws = np.asarray(made(target.log_weights, num_draws, seed))
        return judge(draws, law_of(target, single_root=False))

    return run


def _budgets_trial(target: Graph, *, num_draws: int) -> Trial:
    def run(seed: int) -> Verdict:
        return Family(
            tuple(
                (
                    f"{steps} steps and {popped} arcs in loops",
                    graph_trial(
                        sparse_sampler(budgets=(steps, popped)), target, num_draws=num_draws
                    )(seed),
                )
                for steps, popped in BUDGETS
                if popped != ENDLESS or target.is_walkable
            )
        )

    return run


GRAPHS = (*CATALOGUE.values(), *SPARSE_GRAPHS)

LAWS = tuple(
    Check(
        f"sparse sample, {target.name}",
        graph_trial(sparse_sampler(), target, num_draws=NUM_DRAWS),
    )
    for target in GRAPHS
)
"""The law of a draw, as users get it."""

STAGES = tuple(
    Check(
        f"sparse sample, {target.name}, all budgets",
        _budgets_trial(target, num_draws=NUM_DRAWS_PER_BUDGET),
    )
    for target in GRAPHS
)
"""The law of a draw, when stages are often given up in the middle."""

INDEPENDENCE = tuple(
    Check(
        f"sparse sample, skewed_3, neighbouring draws, budgets {budgets}",
        graph_trial(
            sparse_sampler(budgets=budgets),
            CATALOGUE["skewed_3"],
            num_draws=NUM_DRAWS,
            judge=judge_consecutive,
        ),
    )
    for budgets in (None, (4, 2))
)
"""Draws that follow each other are independent."""


# ---- undirected graphs ----


def of_multigraph(graph: Multigraph, **settings: Any) -> SparseSpanningTrees:
    """Make the distribution of an undirected multigraph."""
    heads, dependents, weights = zip(*graph.edges, strict=True)
    return SparseSpanningTrees.from_edges(
        heads,
        dependents,
        weights,
        directed=False,
        root=None if graph.killing else 0,
        killing=graph.killing or None,
        **settings,
    )


def judge_rows(draws: HeadsArray, law: TreeLaw) -> Fit:
    """Test drawn edges against their law; unlike heads, these are not nodes."""
    cell_of = {tuple(edges): cell for cell, edges in enumerate(law.trees.tolist())}
    different, times = np.unique(draws, axis=0, return_counts=True)
    counts = np.zeros(law.num_trees, dtype=np.int64)
    outside: dict[str, int] = {}
    for edges, count in zip(different.tolist(), times.tolist(), strict=True):
        if tuple(edges) in cell_of:
            counts[cell_of[tuple(edges)]] = count
        else:
            outside[f"edges {edges}"] = count
    return g_test(
        counts,
        law.probabilities,
        outside=outside,
        name_of=lambda cell: f"edges {law.trees[cell].tolist()}",
    )


def judge_edges(seed: int, *, graph: Multigraph, drop_parallel: bool = False) -> Verdict:
    """Judge draws of edges; `drop_parallel` leaves the last of several parallel edges alone."""
    drawn_from = graph
    if drop_parallel:
        last = {(a, b): index for index, (a, b, _) in enumerate(graph.edges)}
        edges = tuple(
            (a, b, weight if last[a, b] == index else 0.0)
            for index, (a, b, weight) in enumerate(graph.edges)
        )
        drawn_from = Multigraph(graph.num_nodes, edges, graph.killing)
    draws = of_multigraph(drawn_from).sample_edges(NUM_DRAWS, rng=seed)
    return judge_rows(draws, edge_law(graph))


def _judge_edges_with_budgets(seed: int, *, graph: Multigraph) -> Verdict:
    trees = of_multigraph(graph)
    law = edge_law(graph)
    members: list[tuple[str, Verdict]] = []
    for budgets in BUDGETS:
        key = stream_key(seed)
        heads, _ = trees._graph.draw(NUM_DRAWS_PER_BUDGET, key=key, budgets=Budgets(*budgets))
        edges = np.empty_like(heads)
        numbers = np.arange(len(heads), dtype=np.uint64)
        trees._graph.core.edges_of(heads, *key, numbers, edges)
        members.append((f"budgets {budgets}", judge_rows(edges, law)))
    return Family(tuple(members))


UNDIRECTED = tuple(
    Check(f"sparse sample_edges, {name}{what}", partial(judge, graph=graph))
    for name, graph in (("parallel edges", PARALLEL), ("forests", FOREST), ("unequal", UNEQUAL))
    for what, judge in (("", judge_edges), (", all budgets", _judge_edges_with_budgets))
)
"""Undirected graphs, parallel edges and forests, by the edges drawn."""


def _grid(side: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    node = np.arange(side * side).reshape(side, side)
    return (
        np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()]),
        np.concatenate([node[:, 1:].ravel(), node[1:].ravel()]),
    )


def _judge_grid(seed: int, *, side: int, num_draws: int, budgets: tuple[int, int] | None) -> Family:
    """Test how often each edge of a grid is drawn, against its effective resistance."""
    heads, dependents = _grid(side)
    trees = SparseSpanningTrees.from_edges(heads, dependents, directed=False)
    laplacian = np.zeros((side * side, side * side))
    for a, b in ((heads, dependents), (dependents, heads)):
        np.add.at(laplacian, (a, a), 1.0)
        np.add.at(laplacian, (a, b), -1.0)
    inverse = np.linalg.pinv(laplacian)
    resistance = (
        inverse[heads, heads] + inverse[dependents, dependents] - 2 * inverse[heads, dependents]
    )
    drawn, _ = trees._graph.draw(
        num_draws, key=stream_key(seed), budgets=budgets and Budgets(*budgets)
    )
    uses = (drawn[:, dependents] == heads) | (drawn[:, heads] == dependents)
    return Family(
        tuple(
            (
                f"edge {a} - {b}",
                binomial_test(
                    int(uses[:, e].sum()), num_draws, float(resistance[e]), outcome="drawn"
                ),
            )
            for e, (a, b) in enumerate(zip(heads.tolist(), dependents.tolist(), strict=True))
        )
    )


GRIDS = tuple(
    Check(
        f"sparse sample, edges of a grid, {what}",
        partial(_judge_grid, side=8, num_draws=num_draws, budgets=budgets),
    )
    for what, num_draws, budgets in (
        ("walks", 100_000, None),
        ("jumps", 50_000, (0, ENDLESS)),
        ("nodes put back", 20_000, (0, 0)),
    )
)
"""Larger graphs, against resistances from a pseudo-inverse."""

SPARSE_CHECKS = (*LAWS, *STAGES, *INDEPENDENCE, *UNDIRECTED, *GRIDS)
"""Every check of sparse graphs."""
