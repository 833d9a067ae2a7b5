"""Numbers of sparse graphs equal those of enumeration, of the dense class and of high precision."""

import itertools
import math
from fractions import Fraction

import mpmath
import networkx as nx
import numpy as np
import pytest

from arborand import (
    DependencyTrees,
    InvalidWeightsError,
    NoTreeError,
    PrecisionError,
    SpanningTrees,
    SparseSpanningTrees,
    TooMuchWorkError,
)


def grid(rows, columns):
    """Return the edges of a grid, row by row."""
    node = np.arange(rows * columns).reshape(rows, columns)
    heads = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    dependents = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    return heads, dependents


def complete_bipartite(m, n):
    pairs = np.array(list(itertools.product(range(m), range(m, m + n))))
    return pairs[:, 0], pairs[:, 1]


PETERSEN = (
    [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 7, 8, 9, 5, 6],
)


def random_directed(rng, num_nodes, density, scale):
    """Return a random directed graph in which node 0 reaches every other."""
    present = rng.random((num_nodes, num_nodes)) < density
    np.fill_diagonal(present, False)
    order = rng.permutation(np.arange(1, num_nodes))
    for k, node in enumerate(order):
        present[0 if k == 0 else order[rng.integers(k)], node] = True
    heads, dependents = np.nonzero(present)
    return heads, dependents, scale * rng.standard_normal(len(heads))


def forests(num_nodes, arcs):
    """List all choices of one arc (or a root) a node that have no cycle: (heads, log-weight)."""
    options = [[] for _ in range(num_nodes)]
    for head, dependent, log_weight in arcs:
        options[dependent].append((head, log_weight))
    for chosen in itertools.product(*options):
        heads = [head for head, _ in chosen]
        if all(leads_out(heads, node) for node in range(num_nodes)):
            yield heads, math.fsum(log_weight for _, log_weight in chosen)


def leads_out(heads, node):
    for _ in heads:
        if node < 0:
            return True
        node = heads[node]
    return node < 0


def log_sum(values):
    largest = max(values)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values))


@pytest.mark.parametrize(
    ("edges", "count"),
    [
        (PETERSEN, 2000),
        (complete_bipartite(3, 4), 432),
        (([0, 1, 2, 3], [1, 2, 3, 0]), 4),
        (([0, 0, 0], [1, 1, 1]), 3),  # three parallel edges
        (np.array(list(itertools.combinations(range(7), 2))).T, 7**5),
    ],
    ids=["Petersen", "K_3,4", "square", "parallel", "K_7"],
)
def test_trees_of_known_graphs_are_counted(edges, count):
    trees = SparseSpanningTrees.from_edges(*edges, directed=False)
    assert math.exp(trees.log_partition()) == pytest.approx(count, rel=1e-13)


@mpmath.workdps(40)
def test_the_trees_of_a_40_by_40_grid_are_counted():
    # Kirchhoff's eigenvalues of a grid, in high precision: no elimination.
    side = 40
    cosine = [mpmath.cos(mpmath.pi * k / side) for k in range(side)]
    exact = mpmath.fsum(
        mpmath.log(4 - 2 * cosine[i] - 2 * cosine[j])
        for i, j in itertools.product(range(side), repeat=2)
        if i or j
    ) - mpmath.log(side * side)
    trees = SparseSpanningTrees.from_edges(*grid(side, side), directed=False)
    assert trees.log_partition() == pytest.approx(float(exact), rel=1e-15)
    assert round(trees.log_partition(), 4) == 1794.2382


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 300.0])
@pytest.mark.parametrize("seed", range(4))
def test_directed_graphs_equal_enumeration(seed, scale):
    rng = np.random.default_rng([seed, int(scale)])
    heads, dependents, log_weights = random_directed(rng, 6, 0.4, scale)
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, num_nodes=6, root=0
    )
    arcs = [
        *((-1, 0, 0.0),),
        *(
            (head, dependent, log_weight)
            for head, dependent, log_weight in zip(
                heads.tolist(), dependents.tolist(), log_weights.tolist(), strict=True
            )
            if dependent != 0
        ),
    ]
    listed = list(forests(6, arcs))
    log_z = log_sum([log_weight for _, log_weight in listed])
    assert trees.log_partition() == pytest.approx(log_z, rel=1e-13, abs=1e-13)
    found = trees.log_prob([tree for tree, _ in listed])
    np.testing.assert_allclose(
        found, [log_weight - log_z for _, log_weight in listed], rtol=1e-12, atol=1e-12
    )
    for node in range(1, 6):
        behind = [w - log_z for tree, w in listed if tree[node] == 0]
        exact = math.fsum(math.exp(w) for w in behind)
        assert trees.root_marginals()[node] == pytest.approx(exact, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("seed", range(3))
def test_forests_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    heads, dependents = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]).T
    weights = np.exp(rng.standard_normal(5))
    killing = np.array([0.0, 0.5, 0.0, 2.0])
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, weights, directed=False, killing=killing
    )
    arcs = [(-1, node, math.log(k)) for node, k in enumerate(killing) if k > 0]
    for a, b, w in zip(heads.tolist(), dependents.tolist(), weights.tolist(), strict=True):
        arcs += [(a, b, math.log(w)), (b, a, math.log(w))]
    listed = list(forests(4, arcs))
    log_z = log_sum([w for _, w in listed])
    assert trees.log_partition() == pytest.approx(log_z, rel=1e-14)
    np.testing.assert_allclose(
        trees.log_prob([forest for forest, _ in listed]),
        [w - log_z for _, w in listed],
        rtol=1e-13,
        atol=1e-13,
    )
    for node in range(4):
        exact = math.fsum(math.exp(w - log_z) for forest, w in listed if forest[node] == -1)
        assert trees.root_marginals()[node] == pytest.approx(exact, rel=1e-13)
    for edge, (a, b) in enumerate(zip(heads.tolist(), dependents.tolist(), strict=True)):
        exact = math.fsum(
            math.exp(w - log_z) for forest, w in listed if forest[a] == b or forest[b] == a
        )
        assert trees.edge_marginals()[edge] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("scale", [0.0, 3.0, 30.0, 1000.0])
def test_dense_and_sparse_agree(scale):
    rng = np.random.default_rng(int(scale))
    heads, dependents, log_weights = random_directed(rng, 40, 0.15, scale)
    sparse = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, num_nodes=40, root=0
    )
    dense, nodes = sparse.to_dense()
    assert nodes == list(range(40))
    assert sparse.log_partition() == pytest.approx(float(dense.log_partition()), rel=1e-13)
    assert sparse.expected_walk_steps() == pytest.approx(
        float(dense.expected_walk_steps()), rel=1e-11
    )
    np.testing.assert_allclose(sparse.root_marginals(), dense.root_marginals(), rtol=1e-11)
    drawn = dense.sample(20, rng=0)
    np.testing.assert_allclose(sparse.log_prob(drawn), dense.log_prob(drawn), rtol=1e-11, atol=1e-9)
    again = SparseSpanningTrees.from_dense(dense)
    assert again.log_partition() == pytest.approx(sparse.log_partition(), rel=1e-15)


def test_parallel_edges_add_up_in_dense_graphs():
    sparse = SparseSpanningTrees.from_edges([0, 0, 1], [1, 1, 2], [1.0, 3.0, 2.0], root=0)
    dense, _ = sparse.to_dense()
    np.testing.assert_allclose(np.exp(dense.log_weights[0, 1]), 4.0, rtol=1e-15)
    assert math.exp(sparse.log_partition()) == pytest.approx(8.0, rel=1e-15)


def high_precision_log_partition(num_nodes, heads, dependents, log_weights, digits):
    """Eliminate the Laplacian of an undirected graph in `digits` digits; node 0 is the root."""
    with mpmath.workdps(digits):
        laplacian = mpmath.zeros(num_nodes, num_nodes)
        for a, b, w in zip(heads.tolist(), dependents.tolist(), log_weights.tolist(), strict=True):
            weight = mpmath.exp(mpmath.mpf(w))
            laplacian[a, a] += weight
            laplacian[b, b] += weight
            laplacian[a, b] -= weight
            laplacian[b, a] -= weight
        return float(mpmath.log(mpmath.det(laplacian[1:, 1:])))


@pytest.mark.parametrize("scale", [3.0, 30.0])
def test_log_z_of_weights_far_apart_is_right_to_1e_12(scale):
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    heads, dependents = grid(7, 7)
    log_weights = scale * np.random.default_rng(5).standard_normal(len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )
    exact = high_precision_log_partition(49, heads, dependents, log_weights, 400)
    assert trees.log_partition() == pytest.approx(exact, rel=1e-12)
    if scale == 30.0:  # what elimination with subtractions makes of it
        weights = np.exp(log_weights)
        half = coo_array((weights, (heads, dependents)), shape=(49, 49))
        both = (half + half.T).tocsc()
        laplacian = (-both).tolil()
        laplacian.setdiag(np.asarray(both.sum(axis=0)).ravel())
        factors = splu(laplacian.tocsc()[1:, 1:])
        with np.errstate(divide="ignore"):
            by_subtraction = np.log(np.abs(factors.U.diagonal())).sum()
        assert not abs(by_subtraction - exact) < 1.0


def test_weights_beyond_the_range_of_float64_keep_their_digits():
    heads, dependents = grid(4, 4)
    log_weights = 800.0 * np.random.default_rng(1).standard_normal(len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )
    exact = high_precision_log_partition(16, heads, dependents, log_weights, 5_000)
    assert trees.log_partition() == pytest.approx(exact, rel=1e-14)


def test_edge_marginals_of_a_grid_equal_the_dense_ones():
    heads, dependents = grid(6, 7)
    weights = np.exp(np.random.default_rng(0).standard_normal(len(heads)))
    trees = SparseSpanningTrees.from_edges(heads, dependents, weights, directed=False)
    dense, nodes = trees.to_dense()
    place = {node: i for i, node in enumerate(nodes)}
    arcs = dense.arc_marginals()
    exact = [
        arcs[place[a], place[b]] + arcs[place[b], place[a]]
        for a, b in zip(heads.tolist(), dependents.tolist(), strict=True)
    ]
    np.testing.assert_allclose(trees.edge_marginals(), exact, rtol=1e-12)


def test_edge_marginals_of_a_large_grid_add_up_to_the_edges_of_a_tree():
    heads, dependents = grid(60, 60)
    marginals = SparseSpanningTrees.from_edges(heads, dependents, directed=False).edge_marginals()
    assert marginals.sum() == pytest.approx(3599, rel=1e-12)
    # In the middle of a large grid every edge is in half of the trees.
    middle = 60 * 30 + 30
    assert marginals[(heads == middle) | (dependents == middle)] == pytest.approx(0.5, abs=1e-3)


def test_parallel_edges_and_self_loops_have_marginals_of_their_own():
    trees = SparseSpanningTrees.from_edges(
        [0, 0, 1, 2, 1], [1, 1, 1, 0, 2], [1.0, 3.0, 9.0, 2.0, 0.0], directed=False
    )
    assert trees.edge_marginals() == pytest.approx([0.25, 0.75, 0, 1, 0], rel=1e-13)


def test_weights_of_self_loops_are_never_too_large():
    alone = SparseSpanningTrees.from_edges([0], [0], log_weights=[1e30], num_nodes=1, root=0)
    assert alone.log_partition() == 0.0
    # Too many nodes for a dense matrix.
    heads = np.r_[np.zeros(400, dtype=int), 5]
    star = SparseSpanningTrees.from_edges(
        heads, np.r_[1:401, 5], log_weights=np.r_[np.ones(400), 1e30], root=0
    )
    assert star.log_partition() == pytest.approx(400, rel=1e-13)


@pytest.mark.parametrize(
    ("scale", "found"),
    [
        (9.0, r"may be off by \d\.\de-0\d"),
        (30.0, "would have no correct digits"),
        (300.0, "would have no correct digits"),
    ],
)
def test_numbers_without_digits_are_refused_in_large_graphs(scale, found):
    heads, dependents = grid(18, 18)
    log_weights = scale * np.random.default_rng(2).standard_normal(len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )
    for ask, what in ((trees.edge_marginals, "edge marginals"), (trees.entropy, "the entropy")):
        with pytest.raises(PrecisionError, match=rf"{what} {found}, because .* dense class"):
            ask()


def test_edge_marginals_of_small_graphs_are_never_refused():
    # Five nodes with weights 1e9 beside 1e-6, in exact fractions.
    heads, dependents = np.array([0, 0, 1, 2, 3, 1]), np.array([1, 2, 2, 3, 4, 4])
    weights = [1e9, 1e-6, 1e9, 1e-6, 1e9, 1e-6]
    trees = SparseSpanningTrees.from_edges(heads, dependents, weights, directed=False)
    mpmath.mp.dps = 80
    total, found = mpmath.mpf(0), [mpmath.mpf(0)] * 6
    for chosen in itertools.combinations(range(6), 4):
        if is_spanning([(heads[e], dependents[e]) for e in chosen], 5):
            weight = mpmath.fprod(mpmath.mpf(weights[e]) for e in chosen)
            total += weight
            for e in chosen:
                found[e] += weight
    exact = [float(value / total) for value in found]
    np.testing.assert_allclose(trees.edge_marginals(), exact, rtol=1e-12)


def is_spanning(edges, num_nodes):
    part = list(range(num_nodes))
    for a, b in edges:
        if part[a] == part[b]:
            return False
        part = [part[a] if x == part[b] else x for x in part]
    return len(set(part)) == 1


def without_dense(monkeypatch):
    """Let nothing count as small."""
    monkeypatch.setattr("arborand.sparse_graphs.rooted_graph.MOST_SMALL_NODES", 0)


def directed_arcs(num_nodes, heads, dependents, log_weights, root=0):
    """List the arcs of a graph whose root has no head, as `forests` takes them."""
    ends = zip(heads.tolist(), dependents.tolist(), log_weights.tolist(), strict=True)
    return [(-1, root, 0.0), *(arc for arc in ends if arc[1] != root)]


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize("scale", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_edge_marginals_and_entropy_of_directed_graphs_equal_enumeration(
    seed, scale, is_small, monkeypatch
):
    if not is_small:
        without_dense(monkeypatch)
    rng = np.random.default_rng([seed, int(scale), 7])
    heads, dependents, log_weights = random_directed(rng, 6, 0.5, scale)
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, num_nodes=6, root=0
    )
    listed = list(forests(6, directed_arcs(6, heads, dependents, log_weights)))
    log_z = log_sum([w for _, w in listed])
    exact = [
        math.fsum(math.exp(w - log_z) for tree, w in listed if tree[dependent] == head)
        if dependent
        else 0.0
        for head, dependent in zip(heads.tolist(), dependents.tolist(), strict=True)
    ]
    # The size of what is subtracted is below 1e6 here: at most e^5 per arc of a walk.
    np.testing.assert_allclose(
        trees.edge_marginals(), exact, rtol=1e-11 if is_small else 0, atol=0 if is_small else 1e-9
    )
    entropy = -math.fsum(math.exp(w - log_z) * (w - log_z) for _, w in listed)
    assert trees.entropy() == pytest.approx(entropy, rel=1e-11, abs=1e-12 if is_small else 1e-9)


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_edge_marginals_and_entropy_of_forests_equal_enumeration(
    seed, directed, is_small, monkeypatch
):
    if not is_small:
        without_dense(monkeypatch)
    rng = np.random.default_rng([seed, directed])
    heads, dependents = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [0, 2]]).T
    weights = np.exp(rng.standard_normal(6))
    killing = np.array([0.0, 0.5, 0.0, 2.0])
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, weights, directed=directed, killing=killing
    )
    merged = {}
    for a, b, w in zip(heads.tolist(), dependents.tolist(), weights.tolist(), strict=True):
        merged[a, b] = merged.get((a, b), 0.0) + w
        if not directed:
            merged[b, a] = merged.get((b, a), 0.0) + w
    arcs = [(-1, node, math.log(k)) for node, k in enumerate(killing) if k > 0]
    arcs += [(a, b, math.log(w)) for (a, b), w in merged.items()]
    listed = list(forests(4, arcs))
    log_z = log_sum([w for _, w in listed])

    def probability(head, dependent):
        return math.fsum(math.exp(w - log_z) for forest, w in listed if forest[dependent] == head)

    exact = []
    for a, b, w in zip(heads.tolist(), dependents.tolist(), weights.tolist(), strict=True):
        both = probability(a, b) + (0.0 if directed else probability(b, a))
        exact.append(both * w / merged[a, b])
    np.testing.assert_allclose(trees.edge_marginals(), exact, rtol=1e-11)
    entropy = -math.fsum(math.exp(w - log_z) * (w - log_z) for _, w in listed)
    assert trees.entropy() == pytest.approx(entropy, rel=1e-12)
    assert trees.edge_marginals().sum() + trees.root_marginals().sum() == pytest.approx(
        4, rel=1e-12
    )


@pytest.mark.parametrize("scale", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("density", [0.05, 0.3])
def test_marginals_and_entropy_of_directed_graphs_equal_the_dense_ones(scale, density, monkeypatch):
    without_dense(monkeypatch)
    rng = np.random.default_rng([int(scale), int(100 * density)])
    heads, dependents, log_weights = random_directed(rng, 80, density, scale)
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, num_nodes=80, root=0
    )
    dense, _ = trees.to_dense()
    exact = np.where(dependents > 0, dense.arc_marginals()[heads, dependents], 0.0)
    np.testing.assert_allclose(trees.edge_marginals(), exact, rtol=0, atol=1e-12)
    assert trees.entropy() == pytest.approx(float(dense.entropy()), rel=1e-12)


def test_marginals_and_entropy_of_a_large_directed_graph_keep_the_digits_they_promise():
    # 18 x 18 nodes, both directions of every edge with weights of their own, in 60 digits.
    a, b = grid(18, 18)
    heads, dependents = np.concatenate([a, b]), np.concatenate([b, a])
    log_weights = 2.0 * np.random.default_rng(3).standard_normal(len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, num_nodes=324, root=0
    )
    inverse, log_z = high_precision_inverse(324, heads, dependents, log_weights, 60)
    exact, mean = [], mpmath.mpf(0)
    for head, dependent, w in zip(heads, dependents, log_weights, strict=True):
        if dependent == 0:
            exact.append(0.0)
            continue
        entries = inverse[dependent, dependent] - (inverse[head, dependent] if head else 0)
        probability = mpmath.exp(mpmath.mpf(w)) * entries
        exact.append(float(probability))
        mean += probability * mpmath.mpf(w)
    np.testing.assert_allclose(trees.edge_marginals(), exact, rtol=0, atol=1e-11)
    assert trees.entropy() == pytest.approx(float(log_z - mean), rel=1e-12)


def high_precision_inverse(num_nodes, heads, dependents, log_weights, digits):
    """Invert a directed Laplacian with root 0 by plain elimination: {(i, j): entry}, and log Z."""
    import flint

    flint.ctx.dps = digits + 30
    size = num_nodes - 1
    rows = [[flint.arb(0)] * size for _ in range(size)]
    for head, dependent, w in zip(
        heads.tolist(), dependents.tolist(), log_weights.tolist(), strict=True
    ):
        if dependent == 0:
            continue
        weight = flint.arb(w).exp()
        rows[dependent - 1][dependent - 1] += weight
        if head:
            rows[dependent - 1][head - 1] -= weight
    matrix = flint.arb_mat(rows)
    inverse = matrix.inv()
    mpmath.mp.dps = digits
    ends = {(dependent, dependent) for dependent in dependents.tolist()}
    ends |= set(zip(heads.tolist(), dependents.tolist(), strict=True))
    found = {
        (i, j): mpmath.mpf(inverse[i - 1, j - 1].mid().str(digits, radius=False))
        for i, j in ends
        if i and j
    }
    return found, mpmath.mpf(matrix.det().log().mid().str(digits, radius=False))


def exact_weight(heads, weight_of):
    return sum(
        (Fraction(weight_of[head, node]) for node, head in enumerate(heads) if head >= 0),
        Fraction(0),
    )


SCORES = {
    "whole": lambda rng, size: rng.integers(0, 3, size).astype(float),
    "normal": lambda rng, size: rng.standard_normal(size),
    "nearly tied": lambda rng, size: 1.0 + rng.integers(0, 3, size) * 2.0**-50,
    "far apart": lambda rng, size: (
        rng.standard_normal(size) * 10.0 ** rng.integers(-200, 200, size)
    ),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", range(15))
def test_the_best_tree_is_the_best_of_all(seed, kind, monkeypatch):
    rng = np.random.default_rng([seed, 3])
    num_nodes = int(rng.integers(2, 7))
    heads, dependents, _ = random_directed(rng, num_nodes, rng.random(), 0.0)
    scores = SCORES[kind](rng, len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=scores, num_nodes=num_nodes, root=0
    )
    weight_of = dict(
        zip(zip(heads.tolist(), dependents.tolist(), strict=True), scores.tolist(), strict=True)
    )
    listed = [tree for tree, _ in forests(num_nodes, directed_arcs(0, heads, dependents, scores))]
    best = max(exact_weight(tree, weight_of) for tree in listed)
    first = min(tree for tree in listed if exact_weight(tree, weight_of) == best)
    assert trees.best_tree().tolist() == first
    without_dense(monkeypatch)
    found = trees.best_tree().tolist()
    assert found in listed
    assert exact_weight(found, weight_of) == best
    # The same whatever the order of the arcs.
    order = rng.permutation(len(heads))
    again = SparseSpanningTrees.from_edges(
        heads[order], dependents[order], log_weights=scores[order], num_nodes=num_nodes, root=0
    )
    assert again.best_tree().tolist() == found


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", range(10))
def test_a_large_best_arborescence_equals_the_dense_one(seed, kind, monkeypatch):
    rng = np.random.default_rng([seed, 4])
    heads, dependents, _ = random_directed(rng, 60, [0.03, 0.1, 0.5][seed % 3], 0.0)
    scores = SCORES[kind](rng, len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=scores, num_nodes=60, root=0
    )
    weight_of = dict(
        zip(zip(heads.tolist(), dependents.tolist(), strict=True), scores.tolist(), strict=True)
    )
    small = exact_weight(trees.best_tree().tolist(), weight_of)
    without_dense(monkeypatch)
    assert exact_weight(trees.best_tree().tolist(), weight_of) == small
    single = single_root_tree(trees._graph)
    dense, _ = trees.to_dense()
    try:
        expected = DependencyTrees(dense.log_weights).best_tree().tolist()
    except NoTreeError:
        assert single is None
        return
    assert single.count(0) == 1
    assert exact_weight(single, weight_of) == exact_weight(expected, weight_of)


def single_root_tree(graph):
    try:
        return graph.best_heads(single_root=True).tolist()
    except NoTreeError:
        return None


@pytest.mark.parametrize("forest", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_maximum_spanning_trees_and_forests_equal_networkx(seed, forest, monkeypatch):
    rng = np.random.default_rng([seed, forest])
    num_nodes = 40
    heads, dependents, _ = random_directed(rng, num_nodes, 0.1, 0.0)
    scores = rng.integers(-3, 4, len(heads)).astype(float)
    killing = rng.integers(-3, 4, num_nodes).astype(float) if forest else None
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=scores, directed=False, log_killing=killing
    )
    graph = nx.Graph()
    merged = {}
    for a, b, w in zip(heads.tolist(), dependents.tolist(), scores.tolist(), strict=True):
        merged.setdefault((min(a, b), max(a, b)), []).append(w)
    graph.add_weighted_edges_from((a, b, log_sum(w)) for (a, b), w in merged.items())
    if forest:
        graph.add_weighted_edges_from((node, -1, w) for node, w in enumerate(killing.tolist()))
    expected = nx.maximum_spanning_tree(graph).size("weight")
    for large in (False, True):
        if large:
            without_dense(monkeypatch)
        found = trees.best_tree()
        assert np.isfinite(trees.log_prob(found))
        weight = sum(
            graph.edges[node, int(head)]["weight"]
            for node, head in enumerate(found)
            if head >= 0 or forest
        )
        assert weight == pytest.approx(expected, rel=1e-12)
        order = rng.permutation(len(heads))
        again = SparseSpanningTrees.from_edges(
            dependents[order],
            heads[order],
            log_weights=scores[order],
            directed=False,
            log_killing=killing,
        )
        if forest or again._graph.walk_root == trees._graph.walk_root:
            np.testing.assert_array_equal(again.best_tree(), found)


def test_parallel_edges_count_together_in_the_best_tree(monkeypatch):
    # Three edges of weight 1 from node 0 outweigh one of 2.5 from node 1, in any order.
    for order in itertools.permutations(range(5)):
        heads, dependents = np.array([0, 0, 0, 1, 0]), np.array([2, 2, 2, 2, 1])
        weights = np.array([1.0, 1.0, 1.0, 2.5, 1.0])
        trees = SparseSpanningTrees.from_edges(
            heads[list(order)], dependents[list(order)], weights[list(order)], root=0
        )
        assert trees.best_tree().tolist() == [-1, 0, 0]
    without_dense(monkeypatch)
    assert trees.best_tree().tolist() == [-1, 0, 0]


def test_sums_of_parallel_edges_do_not_depend_on_their_order():
    rng = np.random.default_rng(0)
    log_weights = rng.standard_normal(50)
    found = {
        SparseSpanningTrees.from_edges(
            np.zeros(50, int), np.ones(50, int), log_weights=rng.permutation(log_weights), root=0
        ).log_partition()
        for _ in range(20)
    }
    assert len(found) == 1


def test_the_predicted_work_is_that_of_elimination():
    # The root, inside the path, leaves two paths of 5 and 4 nodes; of a clique it leaves a clique.
    path = SparseSpanningTrees.from_edges(range(9), range(1, 10), directed=False)
    assert path._graph.plan(1e9).fill == 4 + 3
    clique = SparseSpanningTrees.from_edges(
        *np.array(list(itertools.combinations(range(8), 2))).T, directed=False
    )
    plan = clique._graph.plan(1e9)
    assert plan.fill == 6 * 7 / 2
    assert plan.work == sum(d * d for d in range(7))


WORK = (
    r"at least 1.0e\+06 updates \(less than 2 seconds\) and at most \d.\de\+0[89] updates \(.*\), "
    r"but max_work is 1e\+06: .* allow more with max_work= \(it also needs \d MiB or more\)"
)


def test_a_graph_that_fills_up_is_refused_with_the_figure():
    rng = np.random.default_rng(0)
    first, second = rng.permutation(4000), rng.permutation(4000)
    heads = np.concatenate([first, second])
    dependents = np.concatenate([np.roll(first, 1), np.roll(second, 1)])
    trees = SparseSpanningTrees.from_edges(heads, dependents, directed=False)
    with pytest.raises(TooMuchWorkError, match=WORK) as caught:
        trees.log_partition(max_work=1e6)
    assert caught.value.work > 1e6
    most = trees._graph.plan(1e6).most_work
    assert trees.log_partition(max_work=most) > 0  # and with that, it is done
    work = trees._graph.plan(1e6).work
    assert work <= most <= 2 * work
    with pytest.raises(
        TooMuchWorkError, match=rf"would take {work:.1e} updates \(less".replace("+", r"\+")
    ):
        trees.log_partition(max_work=1e6)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_elimination_names_every_node_once(seed):
    rng = np.random.default_rng(seed)
    num_nodes = int(rng.integers(2, 60))
    heads, dependents, _ = random_directed(rng, num_nodes, rng.random() * 0.3, 0.0)
    trees = SparseSpanningTrees.from_edges(heads, dependents, num_nodes=num_nodes, root=0)
    plan = trees._graph.plan(1e12)
    assert sorted(plan.order.tolist()) == list(range(1, num_nodes))
    # Fill and work, counted on sets.
    neighbours = {node: set() for node in range(num_nodes)}
    for head, dependent in zip(heads.tolist(), dependents.tolist(), strict=True):
        neighbours[head].add(dependent)
        neighbours[dependent].add(head)
    fill = work = 0
    gone = {0}
    for node in plan.order.tolist():
        rest = neighbours[node] - gone
        fill += len(rest)
        work += len(rest) ** 2
        for other in rest:
            neighbours[other] |= rest - {other}
        gone.add(node)
    assert (plan.fill, plan.work) == (fill, work)


@pytest.mark.parametrize("settings", [{"directed": False}, {"root": 0}])
@pytest.mark.parametrize("loops", [0, 2])
def test_one_node_has_one_tree(settings, loops):
    trees = SparseSpanningTrees.from_edges([0] * loops, [0] * loops, num_nodes=1, **settings)
    assert trees.log_partition() == 0.0
    assert trees.sample(3, rng=0).tolist() == [[-1], [-1], [-1]]
    assert trees.log_prob([-1]) == 0.0
    assert trees.expected_walk_steps() == 0.0
    assert trees.entropy() == 0.0
    assert trees.edge_marginals().tolist() == [0.0] * loops
    assert trees.best_tree().tolist() == [-1]
    if "root" in settings:
        assert trees.root_marginals().tolist() == [0.0]
    with pytest.raises(InvalidWeightsError, match="a single node has no dense graph"):
        trees.to_dense()


def test_one_node_has_one_forest():
    trees = SparseSpanningTrees.from_edges([], [], num_nodes=1, killing=2.0)
    assert trees.log_partition() == pytest.approx(np.log(2))
    assert trees.entropy() == 0.0
    assert trees.root_marginals().tolist() == [1.0]
    assert trees.best_tree().tolist() == [-1]
    assert trees.to_dense()[1] == [None, 0]


def test_dense_trees_have_their_probabilities_here():
    dense = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    sparse = SparseSpanningTrees.from_dense(dense)
    trees = [[-1, 0, 0], [-1, 0, 1], [-1, 2, 0]]
    np.testing.assert_allclose(sparse.log_prob(trees), dense.log_prob(trees), rtol=1e-14)


def test_log_weights_beyond_all_exponentials_are_refused_in_large_graphs_and_not_by_walks():
    heads, dependents = grid(18, 18)
    log_weights = np.zeros(len(heads))
    log_weights[0] = 1.7e308
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )
    with pytest.raises(PrecisionError, match=r"value 1.7e\+308.*to_dense"):
        trees.log_partition()
    assert (trees.sample(rng=1) >= -1).all()


@pytest.mark.parametrize("settings", [{}, {"root": 1}, {"killing": [1.0, 0.0, 0.0]}])
def test_log_weights_beyond_all_exponentials_keep_their_digits_in_small_graphs(settings):
    trees = SparseSpanningTrees.from_edges(
        [0, 1, 2], [1, 2, 0], log_weights=[1.7e300, 1.7e300, -1e300], directed=False, **settings
    )
    assert trees.log_partition() == 3.4e300
    best = trees.best_tree()
    assert trees.log_prob(best) == 0.0
    assert trees.entropy() == 0.0
    assert trees.edge_marginals().tolist() == [1.0, 1.0, 0.0]
    assert trees.expected_walk_steps() >= 2.0
    if settings:
        expected = [1.0, 0.0, 1.0] if "root" in settings else [1.0, 0.0, 0.0]
        assert trees.root_marginals().tolist() == expected
