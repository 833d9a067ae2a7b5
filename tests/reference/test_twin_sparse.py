"""The core draws the same trees of sparse graphs as its twin in plain Python, stage by stage."""

import itertools

import numpy as np
import pytest

from arborand.randomness import stream_key
from arborand.sparse_graphs.drawing import Budgets
from verification.sparse_checks import GRAPHS, _distribution
from verification.twin_sparse import SparseTwin

ENDLESS = 2**62
# Walks, jumps, nodes put back, and all of them in turn.
BUDGETS = {"walks": (10**4, 0), "jumps": (0, 10**4), "puts back": (0, 0), "all": (8, 2)}


@pytest.mark.parametrize("budgets", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_same_trees(graph, budgets):
    if not graph.is_walkable and max(budgets) > 100:
        budgets = (budgets[0] and 100, budgets[1] and 100)
    graphs = _distribution(graph.log_weights)._graph
    twin = SparseTwin(
        graph.log_weights,
        steps=budgets[0],
        popped=budgets[1],
        order=graphs.plan(1e9).order.tolist(),
    )
    heads, counts = graphs.draw(40, key=stream_key(3), budgets=Budgets(*budgets))
    assert heads.tolist() == [twin.draw(stream_key(3), draw) for draw in range(40)]
    if graph.name == "skewed_5":
        stages = counts.jumping_draws < 40, counts.elimination_draws > 0
        assert stages == {(10**4, 0): (True, False), (0, 10**4): (False, False)}.get(
            budgets, (budgets[0] > 0, True)
        )


@pytest.mark.parametrize("seed", range(5))
def test_same_trees_of_larger_graphs(seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((25, 25)) < 0.15, 2 * rng.standard_normal((25, 25)), -np.inf)
    np.fill_diagonal(scores, -np.inf)
    for node, head in enumerate(rng.permutation(24) + 1, start=1):  # a way to the root for all
        if node != head:
            scores[head, node] = 0.0
    scores[0, 1:] = np.where(rng.random(24) < 0.5, 0.0, -np.inf)
    scores[0, 1:] = np.where(np.isneginf(scores[1:, 1:]).all(axis=0), 0.0, scores[0, 1:])
    scores[0, 1] = 0.0
    scores[1, 2:] = np.where(np.isneginf(scores[0, 2:]), -3.0, scores[1, 2:])
    scores[:, 0] = -np.inf
    graphs = _distribution(scores)._graph
    order = graphs.plan(1e9).order.tolist()
    for budgets in ((10**6, 0), (0, 10**6), (0, 0), (30, 10)):
        twin = SparseTwin(scores, steps=budgets[0], popped=budgets[1], order=order)
        heads, _ = graphs.draw(10, key=(seed, 1), budgets=Budgets(*budgets))
        assert heads.tolist() == [twin.draw((seed, 1), draw) for draw in range(10)]


# ---- why the budget counts what is popped ----


def law_within(graph, kind, budget):
    """Compute, over all ways a walk with jumps can go, the law of the tree it ends with in budget.

    Exactly, up to rounding: by following the probability of every state (heads so far, path).
    """
    twin = kind(graph.log_weights, steps=0, popped=budget, order=range(1, len(graph.log_weights)))
    weights = np.exp(graph.log_weights)
    finished = {}
    states = {((-1,) * len(weights), (1,), 0): 1.0}
    while states:
        following = {}
        for (heads, path, spent), chance in states.items():
            tree = {0} | {node for node, head in enumerate(heads) if head >= 0}
            for share, nodes in exits(twin, weights, path, tree):
                new_path, new_spent = list(path), spent + twin.cost_of_leaving(len(nodes))
                for node in nodes:
                    if node in new_path:
                        at = new_path.index(node)
                        new_spent += twin.cost_of_loop(new_path[at:])
                        del new_path[at + 1 :]
                    else:
                        new_path.append(node)
                if new_spent > budget:
                    continue
                new_heads = heads
                if new_path[-1] in tree:
                    joined = list(heads)
                    for node, head in itertools.pairwise(new_path):
                        joined[node] = head
                    new_heads = tuple(joined)
                    missing = [node for node in range(1, len(heads)) if new_heads[node] < 0]
                    if not missing:
                        finished[new_heads] = finished.get(new_heads, 0.0) + chance * share
                        continue
                    new_path = missing[:1]
                state = (new_heads, tuple(new_path), new_spent)
                following[state] = following.get(state, 0.0) + chance * share
        # States that cost nothing shrink geometrically; what is left counts for nothing.
        states = {state: chance for state, chance in following.items() if chance > 1e-17}
    return finished


def exits(twin, weights, path, tree):
    """List what the walk can do next, with the chance of each."""
    v = path[-1]
    u = twin.partner[v]
    heads = twin.heads_of[v]
    total = sum(weights[i, v] for i in heads)
    if u is None or not twin.may_jump(u, tree, list(path)):
        return [(weights[i, v] / total, [i]) for i in heads]
    here = total - weights[u, v]
    there = sum(weights[i, u] for i in twin.heads_of[u]) - weights[v, u]
    behind = weights[u, v] * there / (there + weights[v, u])
    return [
        *((weights[i, v] / (here + behind), [i]) for i in heads if i != u),
        *(
            (behind / (here + behind) * weights[i, u] / there, [u, i])
            for i in twin.heads_of[u]
            if i != v
        ),
    ]


@pytest.mark.parametrize("name", ["SIDE_DOORS_4", "TWO_PAIRS_4"])
@pytest.mark.parametrize("budget", [1, 2, 4, 6])
def test_what_is_popped_does_not_depend_on_the_tree(name, budget):
    from verification import sparse_graphs
    from verification.laws import law_of

    graph = getattr(sparse_graphs, name)
    law = law_of(graph, single_root=False)
    finished = law_within(graph, SparseTwin, budget)
    mass = sum(finished.values())
    assert 0.1 < mass < 1
    for tree, probability in zip(law.trees.tolist(), law.probabilities, strict=True):
        assert finished[tuple(tree)] / mass == pytest.approx(probability, rel=1e-12)


@pytest.mark.parametrize(("kind", "least"), [("CountsArcs", 0.02), ("CountsJumps", 0.05)])
def test_what_is_walked_depends_on_the_tree(kind, least):
    from verification import twin_sparse
    from verification.laws import law_of
    from verification.sparse_graphs import SIDE_DOORS_4

    law = law_of(SIDE_DOORS_4, single_root=False)
    finished = law_within(SIDE_DOORS_4, getattr(twin_sparse, kind), 6)
    mass = sum(finished.values())
    bias = [
        finished.get(tuple(tree), 0.0) / mass / probability - 1
        for tree, probability in zip(law.trees.tolist(), law.probabilities, strict=True)
    ]
    assert max(map(abs, bias)) > least
