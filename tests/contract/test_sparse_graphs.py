"""Sparse graphs: what comes in, what comes out, what is refused, and what never changes a tree."""

import math
import pickle
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import arborand
from arborand import (
    InvalidTreeError,
    InvalidWeightsError,
    NoTreeError,
    PrecisionError,
    SpanningTrees,
    SparseSpanningTrees,
    WalkTooLongError,
    _core,
)
from arborand.sparse_graphs.drawing import Budgets
from arborand.sparse_graphs.edges import check_endpoints
from tests.other_threads import write_at_every_line
from tests.processes import interrupt


def grid(rows, columns):
    node = np.arange(rows * columns).reshape(rows, columns)
    return (
        np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()]),
        np.concatenate([node[:, 1:].ravel(), node[1:].ravel()]),
    )


@pytest.fixture
def weighted_grid():
    heads, dependents = grid(9, 11)
    weights = np.exp(np.random.default_rng(0).standard_normal(len(heads)))
    return SparseSpanningTrees.from_edges(heads, dependents, weights, directed=False)


@pytest.fixture
def square():
    return SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)


def assert_spanning_tree(heads, root):
    assert heads[root] == -1
    assert (heads >= 0).sum() == len(heads) - 1
    for node in range(len(heads)):
        for _ in heads:
            if node == root:
                break
            node = heads[node]
        assert node == root


# ---- what comes out


@pytest.mark.parametrize(
    ("size", "shape"), [(None, (4,)), (0, (0, 4)), (5, (5, 4)), ((2, 3), (2, 3, 4)), ((), (4,))]
)
def test_shapes_are_those_of_numpy(square, size, shape):
    heads = square.sample(size, rng=0)
    assert (heads.shape, heads.dtype) == (shape, np.int32)
    edges = square.sample_edges(size, rng=0)
    assert (edges.shape, edges.dtype) == (shape, np.int32)


def test_draws_are_trees(weighted_grid):
    (root,) = {int(np.flatnonzero(heads == -1)[0]) for heads in weighted_grid.sample(20, rng=0)}
    for heads in weighted_grid.sample(20, rng=0):
        assert_spanning_tree(heads, root)


def test_edges_are_those_of_the_heads(weighted_grid):
    heads_of, dependents_of = grid(9, 11)
    heads = weighted_grid.sample(10, rng=3)
    edges = weighted_grid.sample_edges(10, rng=3)
    for tree, used in zip(heads, edges, strict=True):
        for node in range(99):
            if tree[node] < 0:
                assert used[node] == -1
            else:
                ends = {int(heads_of[used[node]]), int(dependents_of[used[node]])}
                assert ends == {node, int(tree[node])}


# ---- what never changes a tree


@pytest.mark.parametrize("budgets", [None, Budgets(500, 100), Budgets(200, 20), Budgets(0, 0)])
def test_trees_depend_on_nothing_but_their_number(weighted_grid, budgets):
    graph = weighted_grid._graph
    expected, _ = graph.draw(70, key=(1, 2), budgets=budgets)
    for settings in ({"workers": 2}, {"workers": 3, "lanes": 16}, {"lanes": 1}, {"lanes": 5}):
        found, _ = graph.draw(70, key=(1, 2), budgets=budgets, **settings)
        np.testing.assert_array_equal(found, expected)
    first, _ = graph.draw(10, key=(1, 2), budgets=budgets)
    np.testing.assert_array_equal(first, expected[:10])
    later, _ = graph.draw(10, key=(1, 2), budgets=budgets, first_draw=60, lanes=16)
    np.testing.assert_array_equal(later, expected[60:])


def test_walks_are_given_up_at_the_same_step_side_by_side_or_not(weighted_grid):
    graph = weighted_grid._graph
    for steps in range(0, 300, 6):  # some walks end with their last step
        budgets = Budgets(steps, 10**6)
        expected, counts = graph.draw(20, key=(3, 4), budgets=budgets, lanes=1)
        found, same_counts = graph.draw(20, key=(3, 4), budgets=budgets, lanes=4)
        assert counts == same_counts
        np.testing.assert_array_equal(found, expected)


def test_calls_agree_whatever_was_asked_before(weighted_grid):
    fresh = pickle.loads(pickle.dumps(weighted_grid))
    weighted_grid.log_partition()
    weighted_grid.edge_marginals()
    np.testing.assert_array_equal(weighted_grid.sample(5, rng=1), fresh.sample(5, rng=1))
    np.testing.assert_array_equal(
        weighted_grid.sample(5, rng=1, max_steps=0), fresh.sample(5, rng=1, max_steps=0)
    )
    np.testing.assert_array_equal(
        weighted_grid.sample_edges(5, rng=1)[2:], fresh.sample_edges(3, rng=1, first_draw=2)
    )


def test_a_generator_is_advanced(square):
    rng = np.random.default_rng(0)
    assert not np.array_equal(square.sample(50, rng=rng), square.sample(50, rng=rng))


def test_threads_that_share_a_graph_agree(weighted_grid):
    expected = weighted_grid.sample(50, rng=4, max_steps=400)
    fresh = pickle.loads(pickle.dumps(weighted_grid))
    found = [None] * 4

    def draw(i):
        found[i] = fresh.sample(50, rng=4, max_steps=400)

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for heads in found:
        np.testing.assert_array_equal(heads, expected)


def test_another_root_turns_the_same_trees_round(weighted_grid):
    heads_of, dependents_of = grid(9, 11)
    weights = np.exp(np.random.default_rng(0).standard_normal(len(heads_of)))
    rooted = SparseSpanningTrees.from_edges(
        heads_of, dependents_of, weights, directed=False, root=7
    )
    for free, tree in zip(weighted_grid.sample(10, rng=5), rooted.sample(10, rng=5), strict=True):
        assert_spanning_tree(tree, 7)

        def edges(heads):
            return {frozenset((node, int(head))) for node, head in enumerate(heads) if head >= 0}

        assert edges(free) == edges(tree)
    assert rooted.log_partition() == weighted_grid.log_partition()
    np.testing.assert_allclose(
        rooted.log_prob(rooted.sample(5, rng=5)),
        weighted_grid.log_prob(weighted_grid.sample(5, rng=5)),
        rtol=1e-13,
    )
    assert rooted.root_marginals().sum() == pytest.approx(
        sum(
            marginal
            for a, b, marginal in zip(heads_of, dependents_of, rooted.edge_marginals(), strict=True)
            if 7 in (a, b)
        ),
        rel=1e-10,
    )


def test_the_callers_arrays_are_left_alone():
    heads, dependents = np.array([0, 1]), np.array([1, 2])
    weights = np.array([1.0, 2.0])
    trees = SparseSpanningTrees.from_edges(heads, dependents, weights, root=0)
    heads[0] = dependents[0] = 2
    weights[:] = 0
    assert trees.sample(rng=0).tolist() == [-1, 0, 1]
    assert trees.log_partition() == pytest.approx(np.log(2))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_another_thread_writes_to_edges_is_checked_or_not_read(dtype):
    heads, dependents = np.array([0, 1], dtype=dtype), np.array([1, 2], dtype=dtype)

    def read():
        return check_endpoints(heads, dependents, 3)

    def write():
        heads[0] = dependents[1] = 1000

    def restore():
        heads[:], dependents[:] = [0, 1], [1, 2]

    outcomes = list(write_at_every_line(read, write, restore))
    assert len(outcomes) > 10
    for outcome in outcomes:
        if isinstance(outcome, InvalidWeightsError):
            assert "is 1000: nodes are counted from 0 to 2" in str(outcome)
        else:
            assert max(outcome[0].max(), outcome[1].max()) < 3


def test_what_another_thread_writes_to_trees_is_checked_or_not_read(square):
    heads = np.zeros(4, dtype=np.int32)

    def restore():
        heads[:] = [-1, 0, 1, 2]

    for call in (square.log_prob, square.to_networkx):

        def read(call=call):
            return call(heads)

        def write():
            heads[2] = 1000

        outcomes = list(write_at_every_line(read, write, restore))
        assert len(outcomes) > 10
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                assert str(outcome).startswith("heads[2] is 1000: a head is a node, 0 to 3")
            elif call == square.log_prob:
                assert outcome == pytest.approx(np.log(0.25))


def test_what_another_thread_writes_to_a_symmetric_matrix_is_checked_or_not_read():
    matrix = scipy.sparse.coo_array(([2.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))

    def read():
        return SparseSpanningTrees.from_scipy(matrix, directed=False)

    def write():
        matrix.data[0] = 5.0

    def restore():
        matrix.data[0] = 2.0

    for outcome in write_at_every_line(read, write, restore):
        if isinstance(outcome, Exception):
            assert "matrix[0, 1] is 5.0, but matrix[1, 0] is 2.0" in str(outcome)
        else:
            assert outcome._graph.edges.weights.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("field", "value", "error", "words"),
    [
        (
            "heads",
            [0, 7, 2],
            InvalidWeightsError,
            r"heads\[1\] is 7: nodes are counted from 0 to 2",
        ),
        ("heads", [0.5, 1, 2], TypeError, "heads must be integers"),
        ("dependents", [1, 2], InvalidWeightsError, "heads has 3 entries, but dependents has 2"),
        ("weights", [1.0, -2.0, 3.0], InvalidWeightsError, r"weights\[1\] is -2.0"),
        ("log_killing", [0.0, 0.0], InvalidWeightsError, r"log_killing has shape \(2,\)"),
        ("log_killing", [np.nan, 0.0, 0.0], InvalidWeightsError, r"log_killing\[0\] is nan"),
        ("nodes", range(2), InvalidWeightsError, r"heads\[2\] is 2: nodes are counted from 0 to 1"),
        ("goes_both_ways", False, InvalidWeightsError, r"matrix\[0, 1\] is 1.0, but"),
    ],
)
def test_what_was_pickled_is_checked_like_any_other_input(field, value, error, words):
    trees = SparseSpanningTrees.from_edges(
        [0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0], directed=False, killing=1.0
    )
    again = pickle.loads(pickle.dumps(trees))
    assert not again._graph.edges.heads.flags.writeable
    assert not again._graph.edges.log_killing.flags.writeable
    damaged = trees._graph.edges
    object.__setattr__(damaged, field, np.array(value) if isinstance(value, list) else value)
    with pytest.raises(error, match=words):
        pickle.loads(pickle.dumps(trees))


def test_pickled_roots_and_keys_are_checked():
    trees = SparseSpanningTrees.from_networkx(nx.path_graph(3), root=1)
    trees._graph.root = 5
    with pytest.raises(InvalidWeightsError, match="root is 5: nodes are counted from 0 to 2"):
        pickle.loads(pickle.dumps(trees))
    trees._graph.root = "x"
    with pytest.raises(TypeError, match="root must be an integer"):
        pickle.loads(pickle.dumps(trees))
    trees._graph.root = None
    trees._keys.pop()
    with pytest.raises(InvalidWeightsError, match="1 keys name 2 edges"):
        pickle.loads(pickle.dumps(trees))


# ---- where it comes from


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8])
def test_nodes_may_be_counted_in_any_integers(dtype):
    heads, dependents = np.array([0, 1], dtype=dtype), np.array([1, 2], dtype=dtype)
    trees = SparseSpanningTrees.from_edges(heads, dependents, root=0)
    assert trees.sample(rng=0).tolist() == [-1, 0, 1]
    assert trees.log_prob(np.array([0, 0, 1], dtype=np.int64) - [1, 0, 0]) == 0.0
    if dtype == np.uint64:
        with pytest.raises(InvalidWeightsError, match=r"heads\[1\] is 18446744073709551615"):
            SparseSpanningTrees.from_edges(
                np.array([0, 2**64 - 1], dtype=dtype), dependents, root=0, num_nodes=3
            )


def test_scipy_matrices_of_any_format():
    dense = np.array([[0, 2, 1.0], [2, 0, 3], [1, 3, 0]])
    counts = {
        SparseSpanningTrees.from_scipy(
            scipy.sparse.csr_array(dense).asformat(kind), directed=False
        ).log_partition()
        for kind in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    }
    (count,) = counts
    assert count == pytest.approx(np.log(2 * 1 + 2 * 3 + 1 * 3))
    assert SparseSpanningTrees.from_scipy(
        scipy.sparse.csr_matrix(dense), root=0
    ).log_partition() == pytest.approx(np.log(11))


def test_scipy_entries_that_are_0_are_not_edges_and_doubled_ones_are_parallel():
    heads, dependents = [0, 0, 1, 1], [1, 1, 2, 0]
    matrix = scipy.sparse.coo_array(([1.0, 2.0, 5.0, 0.0], (heads, dependents)), shape=(3, 3))
    trees = SparseSpanningTrees.from_scipy(matrix, root=0)
    assert trees.log_partition() == pytest.approx(np.log(15))
    drawn = trees.sample_edges(3000, rng=0)
    assert set(drawn[:, 1]) == {0, 1}
    assert (drawn[:, 1] == 1).mean() == pytest.approx(2 / 3, abs=0.05)


def test_edges_of_a_symmetric_matrix_are_its_entries():
    matrix = scipy.sparse.csr_array(np.array([[0, 2, 1.0], [2, 0, 3], [1, 3, 0]]))
    trees = SparseSpanningTrees.from_scipy(matrix, directed=False, root=2)
    entries = matrix.tocoo()
    for heads, edges in zip(trees.sample(9, rng=0), trees.sample_edges(9, rng=0), strict=True):
        for node in (0, 1):
            assert entries.coords[0][edges[node]] == heads[node]
            assert entries.coords[1][edges[node]] == node


def test_both_entries_of_an_edge_have_its_probability():
    heads, dependents = grid(3, 3)
    edges = SparseSpanningTrees.from_edges(heads, dependents, directed=False)
    half = scipy.sparse.coo_array((np.ones(12), (heads, dependents)), shape=(9, 9))
    matrix = (half + half.T).tocoo()
    entries = SparseSpanningTrees.from_scipy(matrix, directed=False)
    expected = scipy.sparse.coo_array((edges.edge_marginals(), (heads, dependents)), shape=(9, 9))
    found = scipy.sparse.coo_array((entries.edge_marginals(), matrix.coords), shape=(9, 9))
    np.testing.assert_allclose(found.toarray(), (expected + expected.T).toarray(), rtol=1e-12)


def test_an_asymmetric_matrix_is_not_undirected():
    matrix = scipy.sparse.csr_array([[0, 2.0], [3.0, 0]])
    with pytest.raises(InvalidWeightsError, match=r"matrix\[0, 1\] is 2.0, .* is 3.0.*symmetric"):
        SparseSpanningTrees.from_scipy(matrix, directed=False)


def test_networkx_graphs_keep_labels_keys_and_attributes():
    graph = nx.MultiGraph()
    graph.add_node("a", size=1)
    first = graph.add_edge("a", "b", w=1.0, kind="road")
    second = graph.add_edge("a", "b", w=1e12, kind="rail")
    graph.add_edge("b", ("c", 1), w=2.0)
    trees = SparseSpanningTrees.from_networkx(graph, weight="w", root="b")
    assert list(trees.nodes) == ["a", "b", ("c", 1)]
    assert trees.root == "b"
    edges = trees.sample_edges(rng=0)
    assert edges.tolist() == [1, -1, 2]
    tree = trees.to_networkx(edges=edges)
    assert isinstance(tree, nx.MultiGraph)
    assert (first, second) == (0, 1)
    assert tree.edges["a", "b", second] == {"w": 1e12, "kind": "rail"}
    assert not tree.has_edge("a", "b", first)
    assert tree.nodes["a"] == {"size": 1}


def test_attributes_of_networkx_graphs_may_have_any_names():
    graph = nx.MultiGraph([(0, 1), (1, 2)])
    names = {"key": "x", "u_for_edge": 1, 7: "seven"}
    graph.edges[0, 1, 0].update(names)
    trees = SparseSpanningTrees.from_networkx(graph)
    tree = trees.to_networkx(trees.sample(rng=0))
    assert tree.edges[0, 1, 0] == names
    tree.edges[0, 1, 0]["key"] = "y"
    assert graph.edges[0, 1, 0]["key"] == "x"


def test_several_trees_become_several_graphs(square):
    graph = nx.cycle_graph(["a", "b", "c", "d"])
    trees = SparseSpanningTrees.from_networkx(graph)
    heads, edges = trees.sample(6, rng=0), trees.sample_edges(6, rng=0)
    made = trees.to_networkx(heads)
    assert [set(tree.edges) for tree in made] == [
        set(trees.to_networkx(tree).edges) for tree in heads
    ]
    assert [set(tree.edges) for tree in made] == [
        set(tree.edges) for tree in trees.to_networkx(edges=edges)
    ]
    assert trees.to_networkx(heads[:0]) == []
    assert [tree.nnz for tree in square.to_scipy(square.sample(3, rng=0))] == [3, 3, 3]


def test_graphs_whose_class_needs_arguments_become_plain_ones():
    class Frozen(nx.Graph):
        def __init__(self, graph):
            super().__init__(graph)
            nx.freeze(self)

    trees = SparseSpanningTrees.from_networkx(Frozen(nx.cycle_graph(5)))
    tree = trees.to_networkx(trees.sample(rng=0))
    assert type(tree) is nx.Graph
    assert nx.is_tree(tree)


def test_directed_networkx_graphs_lead_away_from_the_root():
    graph = nx.DiGraph([("r", "x"), ("x", "y"), ("y", "x")])
    trees = SparseSpanningTrees.from_networkx(graph, root="r")
    tree = trees.to_networkx(trees.sample(rng=0))
    assert set(tree.edges) == {("r", "x"), ("x", "y")}
    assert nx.is_arborescence(tree)


def test_networkx_log_weights_and_killing_by_attribute():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 1000.0, "score")
    trees = SparseSpanningTrees.from_networkx(graph, log_weight="score")
    assert trees.log_partition() == pytest.approx(2000.0, rel=1e-15)
    graph.nodes[0]["kill"] = 2.0
    forests = SparseSpanningTrees.from_networkx(graph, killing="kill")
    assert forests.log_partition() == pytest.approx(np.log(2.0))
    assert forests.sample(rng=0).tolist() == [-1, 0, 1]
    same = SparseSpanningTrees.from_networkx(graph, killing={0: 2.0})
    assert same.log_partition() == forests.log_partition()


def test_killing_weights_by_label_take_work_in_proportion_to_the_nodes():
    num_hashes = 0

    class Label(str):
        __slots__ = ()

        def __hash__(self):
            nonlocal num_hashes
            num_hashes += 1
            return super().__hash__()

    graph = nx.path_graph([Label(i) for i in range(200)])
    killing = dict.fromkeys(graph, 1.0)
    num_hashes = 0
    SparseSpanningTrees.from_networkx(graph, killing=killing)
    assert num_hashes < 20 * len(graph)


def test_to_scipy_holds_the_weights_of_the_tree():
    trees = SparseSpanningTrees.from_edges([0, 1, 0], [1, 2, 2], [3.0, 0.1, 0.0], root=0)
    assert trees.to_scipy(trees.sample(rng=0)).toarray().tolist() == [
        [0, 3.0, 0],
        [0, 0, 0.1],
        [0, 0, 0],
    ]
    free = SparseSpanningTrees.from_edges([0, 1], [1, 2], [3.0, 0.1], directed=False, root=2)
    assert free.to_scipy(free.sample(rng=0)).toarray().tolist() == [
        [0, 0, 0],
        [3.0, 0, 0],
        [0, 0.1, 0],
    ]


def test_logarithms_are_kept_where_weights_do_not_fit_into_float64():
    trees = SparseSpanningTrees.from_edges([0, 1], [1, 2], log_weights=[1000.0, -1000.0], root=0)
    tree = trees.to_networkx(trees.sample(rng=0))
    assert list(tree.edges.data("log_weight")) == [(0, 1, 1000.0), (1, 2, -1000.0)]
    again = SparseSpanningTrees.from_networkx(tree, log_weight="log_weight", root=0)
    assert again.log_partition() == 0.0
    with pytest.raises(PrecisionError, match=r"the edge 0 -> 1, e\^1000.0, .* to_networkx keeps"):
        trees.to_scipy(trees.sample(rng=0))
    light = SparseSpanningTrees.from_edges([0, 1], [1, 2], log_weights=[700.0, -1000.0], root=0)
    with pytest.raises(PrecisionError, match=r"the edge 1 -> 2, e\^-1000.0, does not fit"):
        light.to_scipy(light.sample(rng=0))
    fits = SparseSpanningTrees.from_edges([0, 1], [1, 2], log_weights=[700.0, -740.0], root=0)
    assert (fits.to_scipy(fits.sample(rng=0)).data > 0).all()


def test_edges_without_logarithms_have_a_weight_in_networkx():
    for weights, expected in ((None, 1.0), ([2.0, 2.0], 2.0)):
        trees = SparseSpanningTrees.from_edges([0, 1], [1, 2], weights, root=0)
        tree = trees.to_networkx(trees.sample(rng=0))
        assert list(tree.edges(data=True)) == [
            (0, 1, {"weight": expected}),
            (1, 2, {"weight": expected}),
        ]


def test_scipy_and_networkx_are_imported_only_when_used():
    program = (
        "import sys, arborand; "
        "t = arborand.SparseSpanningTrees.from_edges([0, 1], [1, 2], root=0); t.sample(rng=0); "
        "t.log_partition(); print([m for m in ('scipy', 'networkx') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_pickles(weighted_grid):
    again = pickle.loads(pickle.dumps(weighted_grid))
    np.testing.assert_array_equal(again.sample(3, rng=0), weighted_grid.sample(3, rng=0))
    assert repr(again) == repr(weighted_grid)
    graph = nx.path_graph(["a", "b"])
    labelled = pickle.loads(pickle.dumps(SparseSpanningTrees.from_networkx(graph, root="a")))
    assert labelled.to_networkx(labelled.sample(rng=0)).edges == graph.edges


# ---- what is refused


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "words"),
    [
        (([0, 1], [1, 2]), {}, InvalidWeightsError, "directed graph needs a root="),
        (([0.5], [1]), {"root": 0}, TypeError, "heads must be integers.*float64.*from_networkx"),
        (([[0]], [1]), {"root": 0}, InvalidWeightsError, r"heads has shape \(1, 1\)"),
        (([0, 1], [1]), {"root": 0}, InvalidWeightsError, "heads has 2 entries, but dependents"),
        (([0], [-1]), {"root": 0}, InvalidWeightsError, r"dependents\[0\] is -1: nodes are"),
        (([0], [1]), {"root": 2}, InvalidWeightsError, "root is 2: nodes are counted from 0 to 1"),
        (([0], [1]), {"root": "a"}, TypeError, "root must be an integer"),
        (([0], [5]), {"root": 0, "num_nodes": 3}, InvalidWeightsError, r"dependents\[0\] is 5"),
        (([], []), {"root": 0}, InvalidWeightsError, "no edges: pass the number of nodes"),
        (
            ([0], [1], [-1.0]),
            {"root": 0},
            InvalidWeightsError,
            r"weights\[0\] is -1.0, on the edge",
        ),
        (([0], [1], [np.nan]), {"root": 0}, InvalidWeightsError, r"weights\[0\] is nan, on"),
        (([0], [1], [1, 2]), {"root": 0}, InvalidWeightsError, r"weights has shape \(2,\)"),
        (([0], [1], ["a"]), {"root": 0}, TypeError, "weights must be real numbers"),
        (([0], [1]), {"root": 0, "log_weights": [np.inf]}, InvalidWeightsError, "log_weights.*inf"),
        (([0], [1], [1]), {"root": 0, "log_weights": [0]}, TypeError, "pass only one of them"),
        (([0], [1]), {"root": 0, "killing": 1.0}, TypeError, "leave out root"),
        (([0], [1]), {"killing": [0.0, 0.0]}, InvalidWeightsError, "killing is 0 everywhere"),
        (
            ([0], [1]),
            {"log_killing": [-np.inf, -np.inf]},
            InvalidWeightsError,
            "log_killing is -inf everywhere",
        ),
        (([0], [1]), {"killing": [1.0, -2.0]}, InvalidWeightsError, r"killing\[1\].*node 1"),
    ],
)
def test_bad_edges_are_named(arguments, settings, error, words):
    with pytest.raises(error, match=words):
        SparseSpanningTrees.from_edges(*arguments, **settings)


def test_the_class_is_made_by_its_sources():
    with pytest.raises(TypeError, match="from_edges, from_scipy, from_networkx or from_dense"):
        SparseSpanningTrees()
    with pytest.raises(TypeError, match=r"graph must be a NetworkX graph, not list; .* from_edges"):
        SparseSpanningTrees.from_networkx([1])
    with pytest.raises(TypeError, match=r"from_weights"):
        SparseSpanningTrees.from_scipy(np.eye(2))
    with pytest.raises(InvalidWeightsError, match="expected a square"):
        SparseSpanningTrees.from_scipy(scipy.sparse.csr_array((2, 3)), root=0)
    with pytest.raises(TypeError, match="must be SpanningTrees, not"):
        SparseSpanningTrees.from_dense([[0]])
    with pytest.raises(TypeError, match="batch"):
        SparseSpanningTrees.from_dense(SpanningTrees(np.zeros((2, 3, 3))))


def test_numbers_that_numpy_does_not_know_are_converted():
    for weights in ([Fraction(1, 3), 6], [Decimal("0.5"), 4], [2, 10**30]):
        trees = SparseSpanningTrees.from_edges([0, 1], [1, 2], weights, root=0, num_nodes=3)
        expected = math.log(weights[0]) + math.log(weights[1])
        assert trees.log_partition() == pytest.approx(expected, rel=1e-13)
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, Fraction(1, 3), "w")
    trees = SparseSpanningTrees.from_networkx(graph, weight="w", killing={0: Fraction(1, 2)})
    assert trees.log_partition() == pytest.approx(-math.log(18))
    for weights in ([1, 10**400], [1, 1j, Fraction(1, 2)], [[1.0], 2.0], [Fraction(1), "a"]):
        with pytest.raises(TypeError, match="weights must be real numbers that fit into float64"):
            SparseSpanningTrees.from_edges(range(len(weights)), [1] * len(weights), weights, root=0)


def test_arrays_are_no_weights():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, np.ones(2), "w")
    with pytest.raises(InvalidWeightsError, match=r"'w' has shape \(2, 2\): expected \(2,\)"):
        SparseSpanningTrees.from_networkx(graph, weight="w")
    graph.edges[0, 1]["w"] = 1.0
    with pytest.raises(TypeError, match="'w' must be real numbers"):
        SparseSpanningTrees.from_networkx(graph, weight="w")
    del graph.edges[0, 1]["w"]
    with pytest.raises(InvalidWeightsError, match=r"\(0, 1\) has no attribute 'w'"):
        SparseSpanningTrees.from_networkx(graph, weight="w")


def test_networkx_problems_are_named_by_label():
    graph = nx.Graph([("a", "b")])
    with pytest.raises(InvalidWeightsError, match=r"edge \('a', 'b'\) has no attribute 'w'"):
        SparseSpanningTrees.from_networkx(graph, weight="w")
    with pytest.raises(InvalidWeightsError, match="root is 'z', which is not a node"):
        SparseSpanningTrees.from_networkx(graph, root="z")
    with pytest.raises(InvalidWeightsError, match="no nodes"):
        SparseSpanningTrees.from_networkx(nx.Graph())
    graph.edges["a", "b"]["w"] = np.nan
    with pytest.raises(InvalidWeightsError, match=r"'w'\[0\] is nan, on the edge \('a', 'b'\)"):
        SparseSpanningTrees.from_networkx(graph, weight="w")
    with pytest.raises(InvalidWeightsError, match="killing names 'q', which is not a node"):
        SparseSpanningTrees.from_networkx(graph, killing={"q": 1.0})


def test_nodes_out_of_reach_are_named_a_few_and_counted():
    graph = nx.DiGraph([("r", "x")])
    graph.add_edges_from((f"lost {i}", "x") for i in range(8))
    with pytest.raises(
        NoTreeError, match="'lost 4' and 3 others cannot be reached from the root, 'r'"
    ) as e:
        SparseSpanningTrees.from_networkx(graph, root="r")
    assert e.value.unreachable == tuple(f"lost {i}" for i in range(8))
    with pytest.raises(NoTreeError, match="node 2 is not connected to"):
        SparseSpanningTrees.from_edges([0], [1], num_nodes=3, directed=False)
    with pytest.raises(NoTreeError, match="node 2 cannot reach a node with a killing weight"):
        SparseSpanningTrees.from_edges(
            [0], [1], num_nodes=3, directed=False, killing=[1.0, 0.0, 0.0]
        )


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        ([-1, 0, 1], r"expected \(..., 4\)"),
        ([-1, 0, 1, 4], "a head is a node, 0 to 3"),
        ([-1, 0, 1, 3], "node 3 is its own head"),
        ([-1, 0, 1, -1], "node 3 has no head"),
        ([1, 2, 3, 0], "into a cycle"),
        ([-1, 2, 1, 0], "node [12] does not lead to a root"),
    ],
)
def test_what_is_not_a_tree_is_named(square, heads, words):
    with pytest.raises(InvalidTreeError, match=words):
        square.log_prob(heads)


def test_trees_of_other_graphs_have_probability_0(square):
    assert square.log_prob([-1, 0, 0, 0]) == -np.inf
    with pytest.raises(TypeError, match="must be integers"):
        square.log_prob([-1.0, 0.0, 1.0, 2.0])
    rooted = SparseSpanningTrees.from_edges([0, 1], [1, 2], root=0)
    with pytest.raises(
        InvalidTreeError, match="the root, 0, and no other node must have the entry -1"
    ):
        rooted.log_prob([1, 2, -1])
    with pytest.raises(InvalidTreeError, match="no edge between 3 and node 1"):
        square.to_networkx([-1, 0, 1, 1])
    with pytest.raises(TypeError, match="pass either heads or edges"):
        square.to_scipy()
    for heads in ([-1, 0, 1], [[[-1, 0, 1, 2]]], 0):
        with pytest.raises(InvalidTreeError, match=r"expected one tree, shape \(4,\), or several"):
            square.to_networkx(heads)
    with pytest.raises(InvalidTreeError, match=r"heads\[1, 3\] is 1: the graph has no edge"):
        square.to_networkx([[-1, 0, 1, 2], [-1, 0, 1, 1]])


@pytest.mark.parametrize("edges", [[-1, 0, 1, 4], [-1, 0, 1, -2], [-1, 0, 1, 0]])
def test_edges_that_lead_to_no_head_are_named(square, edges):
    for convert in (square.to_networkx, square.to_scipy):
        with pytest.raises(InvalidTreeError, match=rf"edges\[3\] is {edges[3]}: .* from node 3"):
            convert(edges=edges)
        with pytest.raises(InvalidTreeError, match=rf"edges\[1, 3\] is {edges[3]}"):
            convert(edges=[[-1, 0, 1, 2], edges])
    with pytest.raises(TypeError, match="edges must be integers"):
        square.to_networkx(edges=[-1.0, 0.0, 1.0, 2.0])
    directed = SparseSpanningTrees.from_edges([0, 1], [1, 2], root=0)
    with pytest.raises(InvalidTreeError, match=r"edges\[0\] is 0"):
        directed.to_scipy(edges=[0, -1, 1])


@pytest.mark.parametrize(
    ("given", "name", "words"),
    [
        ([1, 2, 3, 0], "heads", "into a cycle"),
        ([[-1, 0, 1, 2], [-1, 2, 1, 2]], "heads", "tree 1 of heads: node 1 .* into a cycle"),
        ([-1, 0, -1, 2], "heads", "node 2 has no head"),
        ([0, 1, 2, 3], "edges", "tree 0 of edges: node .* into a cycle"),
        ([[3, 0, 1, -1], [-1, 1, 1, 2]], "edges", "tree 1 of edges: node 1 .* into a cycle"),
        ([-1, 0, -1, 2], "edges", "node 2 has no head"),
    ],
)
def test_only_trees_are_converted(square, given, name, words):
    for convert in (square.to_networkx, square.to_scipy):
        with pytest.raises(InvalidTreeError, match=words):
            convert(**{name: given})


def test_trees_lead_to_the_root_when_they_are_converted():
    rooted = SparseSpanningTrees.from_edges([0, 1], [1, 2], root=0, directed=False)
    with pytest.raises(InvalidTreeError, match="tree 0 of edges: the root, 0, and no other"):
        rooted.to_networkx(edges=[0, 1, -1])
    loop = SparseSpanningTrees.from_edges([0, 1], [1, 1], root=0)
    with pytest.raises(InvalidTreeError, match="node 1 is its own head"):
        loop.to_scipy(edges=[-1, 1])
    forest = SparseSpanningTrees.from_edges([0, 1], [1, 2], directed=False, killing=1.0)
    assert forest.to_scipy([-1, 0, -1]).nnz == 1
    assert forest.to_networkx(edges=[-1, -1, -1]).number_of_edges() == 0


def test_what_has_no_meaning_is_refused(square):
    with pytest.raises(ValueError, match="there is no root"):
        square.root_marginals()


@pytest.mark.parametrize(
    "ask",
    [
        lambda trees, **limit: trees.log_partition(**limit),
        lambda trees, **limit: trees.log_prob([-1, 0, 1, 2], **limit),
        lambda trees, **limit: trees.expected_walk_steps(**limit),
        lambda trees, **limit: trees.edge_marginals(**limit),
        lambda trees, **limit: trees.sample(**limit),
        lambda trees, **limit: trees.sample_edges(**limit),
    ],
)
def test_a_limit_on_work_is_a_number(square, ask):
    with pytest.raises(TypeError, match=r"max_work must be a number, not str \('x'\)"):
        ask(square, max_work="x")
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=f"max_work is {wrong}: it limits the updates"):
            ask(square, max_work=wrong)
    ask(square, max_work=np.inf)


@pytest.mark.parametrize(
    "name", ["sample_without_replacement", "best_trees", "condition", "arc_marginals"]
)
def test_what_only_the_dense_class_has_names_it(square, name):
    assert not hasattr(square, name)
    with pytest.raises(
        AttributeError, match=rf"has no {name}: .* to_dense\(\) makes SpanningTrees"
    ):
        getattr(square, name)
    path = np.arange(99_999)
    large = SparseSpanningTrees.from_edges(path, path + 1, root=0)
    words = rf"has no {name}: .* of all pairs of 100000 nodes takes 74.5 GiB"
    with pytest.raises(AttributeError, match=words):
        getattr(large, name)


def test_other_attributes_are_not_there(square):
    for name in ("nonsense", "_nonsense", "__nonsense__"):
        with pytest.raises(AttributeError, match=f"SparseSpanningTrees has no attribute '{name}'"):
            getattr(square, name)


def test_best_trees_have_the_root_that_was_asked_for(weighted_grid):
    (root,) = {int(np.flatnonzero(heads == -1)[0]) for heads in weighted_grid.sample(5, rng=0)}
    assert_spanning_tree(weighted_grid.best_tree(), root)
    heads, dependents = grid(20, 20)
    weights = np.random.default_rng(0).random(len(heads))
    for chosen in (0, 7, 399):
        trees = SparseSpanningTrees.from_edges(
            heads, dependents, weights, directed=False, root=chosen
        )
        assert_spanning_tree(trees.best_tree(), chosen)
        assert trees.best_tree().dtype == np.int32
    directed = SparseSpanningTrees.from_edges(heads, dependents, weights, root=0)
    assert_spanning_tree(directed.best_tree(), 0)


def test_ctrl_c_ends_a_long_search_for_the_best_tree():
    setup = """
        import numpy as np
        from arborand import SparseSpanningTrees
        rng = np.random.default_rng(0)
        n = 300_000
        heads = np.concatenate([np.arange(n - 1), rng.integers(1, n, 20 * n)])
        dependents = np.concatenate([np.arange(1, n), rng.integers(1, n, 20 * n)])
        trees = SparseSpanningTrees.from_edges(
            heads, dependents, log_weights=rng.standard_normal(len(heads)), root=0
        )
    """
    assert interrupt(setup, "trees.best_tree()")


def test_a_count_survives_a_pivot_that_is_0_modulo_a_prime():
    # Node 1 has arcs of weight 2^0 to the root and 2^1, ..., 2^60 to nodes that lead only to it:
    # their sum is the prime 2^61 - 1, and there is one tree.
    below = np.arange(2, 62)
    heads = np.concatenate([[0], below, np.ones(60, int)])
    dependents = np.concatenate([[1], np.ones(60, int), below])
    weights = np.concatenate([2.0 ** np.arange(61), np.ones(60)])
    trees = SparseSpanningTrees.from_edges(heads, dependents, weights, root=0)
    order = np.concatenate([[1], below[::-1]]).astype(np.int32)
    elimination = _core.Elimination(trees._graph.core, 0, order)
    assert elimination.residue(0, weights) is None
    assert elimination.residue(1, weights) == elimination.residue(2, weights) == 1
    trees._graph._known_plan = trees._graph.plan(1e9)._replace(order=order)
    assert trees._graph.count(weights, 1e9) == 1


@pytest.mark.parametrize("prime", [0, 1, 2])
def test_residues_of_large_counts_are_those_of_integers(prime):
    # The complete graph of 40 nodes has 40^38 trees.
    ends = np.array([(i, j) for i in range(40) for j in range(i)]).T
    trees = SparseSpanningTrees.from_edges(*ends, directed=False)
    elimination = trees._graph.eliminate(1e9)
    modulus = 2**61 - [1, 31, 45][prime]
    assert elimination.residue(prime, None) == pow(40, 38, modulus)
    weight = 3.0 * 2.0**300
    expected = pow(40, 38, modulus) * pow(3 * 2**300, 39, modulus) % modulus
    assert elimination.residue(prime, np.full(len(ends[0]), weight)) == expected


# ---- it ends, or says why not


def trapped(num_nodes):
    """Make a random graph with three nodes, 5 to 7, bound to each other by weights of e^40.

    Walks end in 100 or 101, which are bound even more strongly.
    """
    rng = np.random.default_rng(1)
    first, second = rng.permutation(num_nodes), rng.permutation(num_nodes)
    heads = np.concatenate([first, second, [5, 6, 7, 100]])
    dependents = np.concatenate([np.roll(first, 1), np.roll(second, 1), [6, 7, 5, 101]])
    log_weights = np.concatenate([np.zeros(2 * num_nodes), [40.0, 40.0, 40.0, 50.0]])
    return SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )


def test_a_walk_that_is_caught_gives_way_to_elimination():
    trees = trapped(300)
    heads, counts = trees._graph.draw(5, key=(0, 0))
    assert counts.elimination_draws == 5
    assert np.isfinite(trees.log_prob(heads)).all()
    heavy = [{frozenset((n, int(h))) for n, h in enumerate(tree)} for tree in heads]
    bound = [frozenset(pair) for pair in ((5, 6), (6, 7), (5, 7))]
    assert all(sum(pair in tree for pair in bound) == 2 for tree in heavy)


def test_a_walk_too_long_says_where_and_what_to_do():
    trees = trapped(3000)
    with pytest.raises(WalkTooLongError, match=r"max_steps= or max_work=") as caught:
        trees.sample(3, rng=0, max_steps=400_000, max_work=1e5)
    assert set(caught.value.nodes) <= {5, 6, 7}
    assert len(caught.value.nodes) >= 2
    assert caught.value.steps >= 200_000
    assert caught.value.elimination_work > 1e5
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.nodes, again.steps) == (caught.value.nodes, caught.value.steps)


@pytest.mark.parametrize("weights", [None, [2.0] * 4])
def test_nodes_are_not_blamed_where_all_weights_are_equal(weights):
    square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], weights, directed=False)
    words = r"steps of its walks: this graph needs more; .* with max_steps= or max_work=$"
    with pytest.raises(WalkTooLongError, match=words) as caught:
        square.sample(50, rng=0, max_steps=0, max_work=0)
    assert caught.value.nodes == ()


def test_pairs_that_catch_a_walk_are_jumped_over():
    heads, dependents = grid(30, 30)
    log_weights = np.zeros(len(heads))
    log_weights[[3, 200, 555, 1234]] = 60.0
    trees = SparseSpanningTrees.from_edges(
        heads, dependents, log_weights=log_weights, directed=False
    )
    drawn, counts = trees._graph.draw(5, key=(0, 0))
    assert counts.jumping_draws == 5
    assert counts.elimination_draws == 0
    assert counts.jumping_steps < 5 * 900 * 50
    assert np.isfinite(trees.log_prob(drawn)).all()


def test_ctrl_c_ends_a_long_draw():
    setup = """
        import numpy as np
        from arborand import SparseSpanningTrees
        path = np.arange(399_999)
        trees = SparseSpanningTrees.from_edges(path, path + 1, directed=False)
    """
    assert interrupt(setup, "trees.sample(rng=0, max_steps=10**13)")


def test_a_long_path_is_drawn_by_elimination():
    # Its walks would take n^2 / 2 steps; elimination is linear.
    path = np.arange(29_999)
    trees = SparseSpanningTrees.from_edges(path, path + 1, directed=False, root=0)
    assert trees.sample(rng=0).tolist() == list(range(-1, 29_999))


def test_public_names():
    assert arborand.SparseSpanningTrees is SparseSpanningTrees
    assert issubclass(WalkTooLongError, arborand.ArborandError)
    assert not issubclass(WalkTooLongError, ValueError)
