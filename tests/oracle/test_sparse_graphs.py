"""Numbers of sparse graphs equal those of enumeration, of the dense class and of high precision."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from arborand import PrecisionError, SpanningTrees, SparseSpanningTrees, TooMuchWorkError


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


def test_edge_marginals_without_digits_are_refused():
    heads, dependents = grid(6, 6)
    log_weights = 30.0 * np.random.default_rng(2).standard_normal(len(heads))
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )
    with pytest.raises(PrecisionError, match="dense class"):
        trees.edge_marginals()


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


def test_a_graph_that_fills_up_is_refused_with_the_figure():
    rng = np.random.default_rng(0)
    first, second = rng.permutation(4000), rng.permutation(4000)
    heads = np.concatenate([first, second])
    dependents = np.concatenate([np.roll(first, 1), np.roll(second, 1)])
    trees = SparseSpanningTrees.from_edges(heads, dependents, directed=False)
    with pytest.raises(TooMuchWorkError, match=r"e\+06 updates or more .* max_work") as caught:
        trees.log_partition(max_work=1e6)
    assert caught.value.work > 1e6
    assert trees.log_partition(max_work=1e10) > 0  # and with more, it is done


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


def test_one_node_has_one_tree():
    trees = SparseSpanningTrees.from_edges([], [], num_nodes=1, directed=False)
    assert trees.log_partition() == 0.0
    assert trees.sample(3, rng=0).tolist() == [[-1], [-1], [-1]]
    assert trees.log_prob([-1]) == 0.0
    assert trees.expected_walk_steps() == 0.0


def test_dense_trees_have_their_probabilities_here():
    dense = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    sparse = SparseSpanningTrees.from_dense(dense)
    trees = [[-1, 0, 0], [-1, 0, 1], [-1, 2, 0]]
    np.testing.assert_allclose(sparse.log_prob(trees), dense.log_prob(trees), rtol=1e-14)


def test_log_weights_beyond_all_exponentials_are_refused_by_elimination_and_not_by_walks():
    trees = SparseSpanningTrees.from_edges(
        [0, 1, 2], [1, 2, 0], log_weights=[1.7e308, 1.7e308, -1e308], directed=False
    )
    with pytest.raises(PrecisionError, match=r"size 1.7e\+308.*to_dense"):
        trees.log_partition()
    assert trees.sample(rng=1).tolist() == [1, -1, 1]
