"""The NetworkX backend: reached in every way NetworkX has, right where NetworkX is wrong."""

import copy
import functools
import itertools
import math
import random
import subprocess
import sys
import warnings
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from arborand import SuspiciousWeightsWarning, networkx_backend


def weighted_square():
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        [("a", "b", 1.0), ("b", "c", 2.0), ("c", "d", 3.0), ("d", "a", 4.0)]
    )
    return graph


def test_nothing_of_arborand_is_imported_before_it_is_used():
    program = (
        "import sys, networkx as nx; before = 'arborand' in sys.modules; "
        "nx.number_of_spanning_trees(nx.path_graph(3), backend='arborand'); "
        "print(before, 'arborand' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["False", "True"]


def test_it_is_chosen_by_both_priorities():
    graph = nx.path_graph(5)
    nx.set_edge_attributes(graph, 1e-200, "weight")  # NetworkX divides by zero here
    with nx.config.backend_priority(generators=["arborand"]):
        assert nx.is_tree(nx.random_spanning_tree(graph, weight="weight", seed=1))
    with nx.config.backend_priority(algos=["arborand"]):
        assert nx.number_of_spanning_trees(nx.complete_graph(5)) == 125.0  # exactly


@pytest.mark.parametrize("multiplicative", [True, False])
@pytest.mark.parametrize("seed", [0, random.Random(1), np.random.RandomState(1), None])
def test_seeds_of_every_kind_are_taken(seed, multiplicative):
    tree = nx.random_spanning_tree(
        weighted_square(), "weight", multiplicative=multiplicative, seed=seed, backend="arborand"
    )
    assert nx.is_tree(tree)
    assert set(tree) == set("abcd")


def test_the_same_seed_gives_the_same_tree_and_another_another():
    grid = nx.grid_2d_graph(10, 10)

    def edges(seed):
        return set(nx.random_spanning_tree(grid, seed=seed, backend="arborand").edges)

    assert edges(1) == edges(1)
    assert edges(1) != edges(2)


def test_edges_and_nodes_keep_their_attributes():
    graph = weighted_square()
    graph.edges["a", "b"]["name"] = "first"
    graph.nodes["a"]["height"] = 3
    tree = nx.random_spanning_tree(graph, "weight", seed=0, backend="arborand")
    assert tree.nodes["a"]["height"] == 3
    for a, b, data in tree.edges(data=True):
        assert data == graph.edges[a, b]
    assert (
        "first"
        in nx.get_edge_attributes(
            nx.random_spanning_tree(graph.edge_subgraph([("a", "b")]), seed=0, backend="arborand"),
            "name",
        ).values()
    )


@pytest.mark.parametrize(
    "graph",
    [nx.petersen_graph(), nx.complete_bipartite_graph(3, 4), nx.grid_2d_graph(4, 5)],
    ids=["Petersen", "K_3,4", "grid"],
)
def test_numbers_agree_with_networkx(graph):
    rng = np.random.default_rng(0)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = float(rng.uniform(0.5, 2.0))
    for weight in (None, "weight"):
        assert nx.number_of_spanning_trees(
            graph, weight=weight, backend="arborand"
        ) == pytest.approx(nx.number_of_spanning_trees(graph, weight=weight), rel=1e-10)
        for invert in (True, False):
            assert nx.effective_graph_resistance(
                graph, weight, invert, backend="arborand"
            ) == pytest.approx(nx.effective_graph_resistance(graph, weight, invert), rel=1e-10)
            ours = nx.resistance_distance(
                graph, weight=weight, invert_weight=invert, backend="arborand"
            )
            theirs = nx.resistance_distance(graph, weight=weight, invert_weight=invert)
            for a in graph:
                assert ours[a] == pytest.approx(theirs[a], rel=1e-9, abs=1e-9)
    first, *_, last = graph
    assert nx.resistance_distance(graph, first, last, backend="arborand") == pytest.approx(
        nx.resistance_distance(graph, last, backend="arborand")[first], rel=1e-12
    )
    assert nx.resistance_distance(graph, nodeB=last, backend="arborand")[first] == pytest.approx(
        nx.resistance_distance(graph, first, last), rel=1e-10
    )


def exact_count(graph, weight=None, root=None):
    """Count trees by elimination in fractions."""
    nodes = [node for node in graph if node != root]
    if root is None:
        nodes.pop()
    place = {node: i for i, node in enumerate(nodes)}
    rows = [[Fraction(0)] * len(nodes) for _ in nodes]
    for u, v, w in graph.edges(data=weight, default=1):
        for head, node in ((u, v),) if graph.is_directed() else ((u, v), (v, u)):
            if node in place:
                rows[place[node]][place[node]] += Fraction(w)
                if head in place:
                    rows[place[node]][place[head]] -= Fraction(w)
    count = Fraction(1)
    for p, pivot in enumerate(rows):
        swap = next(i for i in range(p, len(rows)) if rows[i][p])
        if swap != p:
            rows[p], rows[swap] = rows[swap], rows[p]
            pivot, count = rows[p], -count
        count *= pivot[p]
        for row in rows[p + 1 :]:
            factor = row[p] / pivot[p]
            row[p:] = [a - factor * b for a, b in zip(row[p:], pivot[p:], strict=True)]
    return count


def test_counts_are_exact_up_to_2_to_the_53():
    karate = nx.karate_club_graph()
    tree = nx.random_labeled_tree(3000, seed=1)
    tree.add_edges_from((node, node + 1500) for node in range(8))
    petersen = nx.petersen_graph()
    for i, edge in enumerate(petersen.edges):
        petersen.edges[edge]["weight"] = 1 + i % 4
    for graph in (nx.complete_graph(14), nx.grid_2d_graph(6, 6), petersen):
        exact = exact_count(graph, "weight")
        assert 2**20 < exact < 2**53
        assert nx.number_of_spanning_trees(graph, weight="weight", backend="arborand") == exact
    found = nx.number_of_spanning_trees(tree, backend="arborand")
    assert found == round(found) > 1
    exact = exact_count(karate)
    assert 2**52 < exact < 2**53
    assert nx.number_of_spanning_trees(karate, backend="arborand") == exact


def test_counts_of_directed_and_doubled_graphs_are_exact():
    graph = nx.MultiDiGraph()
    rng = random.Random(3)
    for _ in range(60):
        graph.add_edge(rng.randrange(12), rng.randrange(12), weight=float(rng.randrange(1, 6)))
    graph.add_edges_from((node, node + 1, {"weight": 1}) for node in range(11))
    for weight in (None, "weight"):
        exact = exact_count(graph, weight, root=0)
        found = nx.number_of_spanning_trees(graph, root=0, weight=weight, backend="arborand")
        assert found == (exact if exact <= 2**53 else pytest.approx(float(exact), rel=1e-12))
    fractions = nx.path_graph(4)
    nx.set_edge_attributes(fractions, 0.5, "weight")
    assert nx.number_of_spanning_trees(fractions, weight="weight", backend="arborand") == (
        pytest.approx(0.125, rel=1e-14)
    )


def test_networkx_does_not_warn_of_a_copy_that_is_none():
    graph = nx.cycle_graph(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nx.number_of_spanning_trees(graph, backend="arborand") == 5.0
        graph.edges[0, 1]["weight"] = 7  # behind NetworkX's back
        assert nx.number_of_spanning_trees(graph, weight="weight", backend="arborand") == 29.0
        assert nx.number_of_spanning_trees(graph, backend="arborand") == 5.0


def test_counts_of_directed_graphs_agree_with_networkx():
    graph = nx.MultiDiGraph([(0, 1), (0, 1), (1, 2), (2, 1), (0, 2), (2, 2), (2, 0)])
    for root in graph:
        assert nx.number_of_spanning_trees(graph, root=root, backend="arborand") == pytest.approx(
            nx.number_of_spanning_trees(graph, root=root), abs=1e-9
        )


# ---- where NetworkX goes wrong


def test_small_weights_do_not_divide_by_zero():
    graph = nx.complete_graph(6)
    nx.set_edge_attributes(graph, 1e-200, "weight")
    with pytest.raises(ZeroDivisionError):
        nx.random_spanning_tree(graph, weight="weight", seed=0)
    tree = nx.random_spanning_tree(graph, weight="weight", seed=0, backend="arborand")
    assert nx.is_tree(tree)


def test_a_directed_graph_is_refused():
    graph = nx.DiGraph([(0, 1), (1, 2)])
    words = r"without a root: .*SparseSpanningTrees.from_networkx\(G, root=...\).sample\(\)"
    with pytest.raises(nx.NetworkXNotImplemented, match=words):
        nx.random_spanning_tree(graph, seed=0, backend="arborand")
    # Unless the backend is named, it is left to NetworkX.
    should_run = networkx_backend.should_run
    assert "without a root" in should_run("random_spanning_tree", (graph,), {})
    with nx.config.backend_priority(generators=["arborand"]):
        assert nx.is_tree(nx.random_spanning_tree(graph, seed=0))


def test_a_self_loop_is_not_an_edge_of_a_tree():
    graph = nx.Graph([(0, 0), (0, 1), (1, 1), (1, 2)])
    for multiplicative in (True, False):
        for seed in range(20):
            tree = nx.random_spanning_tree(
                graph, multiplicative=multiplicative, seed=seed, backend="arborand"
            )
            assert set(tree.edges) == {(0, 1), (1, 2)}


@pytest.mark.parametrize(
    ("graph", "log_count"),
    [(nx.complete_graph(150), 148 * math.log(150)), (nx.grid_2d_graph(40, 40), 1794.23820141204)],
    ids=["K_150", "grid 40 x 40"],
)
def test_a_count_beyond_float64_is_told_by_its_logarithm(graph, log_count):
    with pytest.raises(OverflowError, match="logarithm is") as caught:
        nx.number_of_spanning_trees(graph, backend="arborand")
    told = float(str(caught.value).split("logarithm is ")[1].split()[0])
    assert told == pytest.approx(log_count, rel=1e-13)


def test_resistances_of_weights_far_apart_keep_their_digits():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 1e12), (1, 2, 1e-12), (2, 0, 1e-12)])
    # Two conductors of 1e-12 in series, beside one of 1e12.
    exact = 1 / (1e12 + 0.5e-12)
    ours = nx.resistance_distance(graph, 0, 1, "weight", False, backend="arborand")
    assert ours == pytest.approx(exact, rel=1e-14)
    everything = nx.effective_graph_resistance(graph, "weight", False, backend="arborand")
    assert everything == pytest.approx(1e12, rel=1e-9)


# ---- refusals


def test_negative_weights_are_left_to_networkx():
    graph = weighted_square()
    graph.edges["a", "b"]["weight"] = -1.0
    assert (
        networkx_backend.can_run("number_of_spanning_trees", (graph,), {"weight": "weight"})
        == "weights must not be negative"
    )
    with nx.config.backend_priority(algos=["arborand"]):
        # Each tree leaves one edge out: 24 without the negative one, -12, -8 and -6 without others.
        assert nx.number_of_spanning_trees(graph, weight="weight") == pytest.approx(-2.0)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "words"),
    [
        ("random_spanning_tree", {}, nx.NetworkXError, "not connected"),
        ("resistance_distance", {}, nx.NetworkXError, "strongly connected"),
    ],
)
def test_a_graph_in_two_parts_is_refused(function, arguments, error, words):
    graph = nx.Graph([(0, 1), (2, 3)])
    with pytest.raises(error, match=words):
        getattr(nx, function)(graph, backend="arborand", **arguments)
    assert nx.number_of_spanning_trees(graph, backend="arborand") == 0
    assert nx.effective_graph_resistance(graph, backend="arborand") == math.inf


def test_bad_weights_name_the_edge():
    graph = weighted_square()
    graph.edges["b", "c"]["weight"] = math.nan
    with pytest.raises(nx.NetworkXError, match=r"'weight'\[\d\] is nan, on the edge \('b', 'c'\)"):
        nx.random_spanning_tree(graph, "weight", backend="arborand")
    graph.edges["b", "c"]["weight"] = "heavy"
    with pytest.raises(nx.NetworkXError, match="must be a number"):
        nx.random_spanning_tree(graph, "weight", backend="arborand")
    graph.edges["b", "c"]["weight"] = 0.0
    with pytest.raises(ZeroDivisionError, match=r"\('b', 'c'\)"):
        nx.resistance_distance(graph, "a", "c", "weight", backend="arborand")


def test_small_graphs():
    assert len(nx.random_spanning_tree(nx.Graph(), backend="arborand")) == 0
    assert set(nx.random_spanning_tree(nx.trivial_graph(), backend="arborand")) == {0}
    with pytest.raises(nx.NetworkXPointlessConcept):
        nx.number_of_spanning_trees(nx.Graph(), backend="arborand")
    assert nx.number_of_spanning_trees(nx.trivial_graph(), backend="arborand") == 1


def test_all_pairs_of_a_large_graph_are_better_done_by_networkx():
    should_run = networkx_backend.should_run
    large = nx.path_graph(networkx_backend.MOST_NODES_FOR_ALL_PAIRS + 1)
    assert should_run("resistance_distance", (large,), {}) == "all pairs of a large graph"
    assert should_run("resistance_distance", (large,), {"nodeA": 0}) is True
    assert should_run("random_spanning_tree", (large,), {}) is True


# ---- best arborescences

ARBORESCENCES = pytest.mark.parametrize(
    ("best", "optimum"),
    [(nx.maximum_spanning_arborescence, max), (nx.minimum_spanning_arborescence, min)],
)


def total(tree, attr="weight"):
    return sum(Fraction(w) for *_, w in tree.edges(data=attr))


def every_weight(graph, attr="weight", default=1):
    """Add up the weights of every spanning arborescence, whatever its root."""
    nodes = list(graph)
    into = {
        node: [
            (u, Fraction(d.get(attr, default))) for u, v, d in graph.edges(data=True) if v == node
        ]
        for node in nodes
    }
    sums = []
    for root in nodes:
        others = [node for node in nodes if node != root]
        for choice in itertools.product(*(into[node] for node in others)):
            heads = {node: head for node, (head, _) in zip(others, choice, strict=True)}
            for start in others:
                node, steps = start, 0
                while node != root and steps < len(nodes):
                    node, steps = heads[node], steps + 1
                if node != root:
                    break
            else:
                sums.append(sum(weight for _, weight in choice))
    return sums


@ARBORESCENCES
@pytest.mark.parametrize("seed", range(12))
def test_the_best_arborescence_is_the_best_of_all(best, optimum, seed):
    rng = random.Random(seed)
    graph = nx.MultiDiGraph() if seed % 2 else nx.DiGraph()
    graph.add_nodes_from("dbac"[: 2 + seed % 3])
    for u, v in itertools.product(graph, repeat=2):  # loops, too
        for _ in range(1 + seed % 2):
            if rng.random() < 0.8:
                value = rng.choice([rng.randint(-3, 3), rng.uniform(-1e6, 1e6), 2.0**80, 0.1])
                graph.add_edge(u, v, **({"cost": value} if rng.random() < 0.9 else {}))
    expected = every_weight(graph, "cost", 2)
    before = copy.deepcopy(list(graph.edges(data=True)))
    if not expected:
        with pytest.raises(nx.NetworkXException, match=r"No m\w+ spanning arborescence in G\."):
            best(graph, "cost", 2, backend="arborand")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspiciousWeightsWarning)
        tree = best(graph, "cost", default=2, backend="arborand")
    assert nx.is_arborescence(tree)
    assert type(tree) is type(graph)
    assert list(tree) == list(graph)
    assert total(tree, "cost") == optimum(expected)
    assert list(graph.edges(data=True)) == before


@ARBORESCENCES
def test_one_node_is_an_arborescence_and_none_is_not(best, optimum):
    del optimum
    one = nx.DiGraph([("a", "a")])
    assert list(best(one, backend="arborand").edges) == []
    with pytest.raises(nx.NetworkXPointlessConcept):
        best(nx.DiGraph(), backend="arborand")


@ARBORESCENCES
def test_edges_keep_their_attributes_if_asked(best, optimum):
    del optimum
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", weight=3, name="one")
    graph.add_edge("a", "b", weight=3, name="other")
    graph.add_edge("b", "c", name="unweighted")
    plain = best(graph, backend="arborand")
    assert list(plain.edges(data=True)) == [("a", "b", {"weight": 3}), ("b", "c", {"weight": 1})]
    kept = best(graph, preserve_attrs=True, backend="arborand")
    assert [data for *_, data in kept.edges(data=True)] == [
        {"weight": 3, "name": "one"},
        {"weight": 1, "name": "unweighted"},
    ]


def test_attributes_of_branchings_may_have_any_names():
    graph = nx.MultiDiGraph([(0, 1, {"weight": 2.0, "key": "x", 7: "seven"})])
    tree = nx.maximum_branching(graph, preserve_attrs=True, backend="arborand")
    assert tree.edges[0, 1, 0] == {"weight": 2.0, "key": "x", 7: "seven"}


def test_sums_are_exact_and_weights_stay_as_they_are():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 1e17), ("b", "c", 1.0), ("a", "c", 2.0)])
    tree = nx.maximum_spanning_arborescence(graph, backend="arborand")
    assert set(tree.edges) == {("a", "b"), ("a", "c")}
    assert graph.edges["b", "c"]["weight"] == 1.0  # NetworkX's own changes it


@ARBORESCENCES
@pytest.mark.parametrize("seed", range(3))
def test_best_weights_are_those_of_networkx(best, optimum, seed):
    del optimum
    graph = nx.gnp_random_graph(40, 0.3, seed=seed, directed=True)
    rng = random.Random(seed)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = rng.randint(-9, 9)  # many are equal
    ours = best(graph, backend="arborand")
    assert total(ours) == total(best(graph.copy(), backend="networkx"))


@ARBORESCENCES
def test_what_the_backend_does_not_do_it_refuses(best, optimum):
    del optimum
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    name = best.__name__
    can_run = networkx_backend.can_run
    assert can_run(name, (graph,), {}) is True
    assert "directed" in can_run(name, (nx.Graph(graph),), {})
    assert "attr" in can_run(name, (graph, None), {})
    for weight in (math.inf, math.nan, 2**53 + 1, 10**400, "3", None, 1j):
        graph.edges["a", "b"]["weight"] = weight
        assert "weight" in can_run(name, (graph,), {}), weight
    with pytest.raises(NotImplementedError, match="not implemented by 'arborand' backend"):
        best(graph, backend="arborand")


def branchings(graph, partition=None, spanning=False):
    """List all branchings as sets of edges; with parts, those that have what must be included."""
    nodes, keys = list(graph), list(graph.edges(keys=True))
    into = {node: [None] for node in nodes}
    for key in keys:
        state = graph.edges[key].get(partition)
        if key[0] != key[1] and state != nx.EdgePartition.EXCLUDED:
            into[key[1]].append(key)
    must = {k for k in keys if graph.edges[k].get(partition) == nx.EdgePartition.INCLUDED}
    for choice in itertools.product(*(into[node] for node in nodes)):
        heads = {node: key[0] for node, key in zip(nodes, choice, strict=True) if key}
        if spanning and len(heads) != len(nodes) - 1:
            continue
        for start in nodes:
            node = start
            for _ in nodes:
                node = heads.get(node, node)
            if node in heads:
                break
        else:
            chosen = {key for key in choice if key}
            if must <= chosen:
                yield chosen


BEST = pytest.mark.parametrize(
    ("best", "optimum", "spanning"),
    [
        (nx.maximum_branching, max, False),
        (nx.minimum_branching, min, False),
        (nx.maximum_spanning_arborescence, max, True),
        (nx.minimum_spanning_arborescence, min, True),
    ],
)


@BEST
@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_branchings_and_parts_equal_enumeration(
    best, optimum, spanning, is_small, seed, monkeypatch
):
    if not is_small:
        monkeypatch.setattr("arborand.sparse_graphs.rooted_graph.MOST_SMALL_NODES", 0)
    rng = random.Random(seed)
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(4))
    states = [nx.EdgePartition.OPEN] * 6 + [nx.EdgePartition.INCLUDED, nx.EdgePartition.EXCLUDED]
    for _ in range(10):
        weight = rng.choice([rng.randint(-3, 3), rng.uniform(-1, 1)])
        graph.add_edge(rng.randrange(4), rng.randrange(4), weight=weight, part=rng.choice(states))
    for partition in (None, "part"):
        sums = [
            sum((Fraction(graph.edges[key]["weight"]) for key in chosen), Fraction(0))
            for chosen in branchings(graph, partition, spanning)
        ]
        if not sums:
            with pytest.raises(nx.NetworkXException, match=r"No m\w+ (spanning|branching)"):
                best(graph, partition=partition, backend="arborand")
            continue
        tree = best(graph, partition=partition, preserve_attrs=True, backend="arborand")
        assert nx.is_branching(tree)
        assert nx.is_arborescence(tree) or not spanning
        assert total(tree) == optimum(sums)
        if partition:
            found = [data["part"] for *_, data in tree.edges(data=True)]
            assert nx.EdgePartition.EXCLUDED not in found
            wanted = nx.get_edge_attributes(graph, "part").values()
            assert found.count(nx.EdgePartition.INCLUDED) == [*wanted].count(
                nx.EdgePartition.INCLUDED
            )


@BEST
def test_branchings_of_no_nodes_and_of_weights_0(best, optimum, spanning):
    del optimum
    if spanning:
        return
    assert len(best(nx.DiGraph(), backend="arborand")) == 0
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((node, node + 1, 0.0) for node in range(400))
    assert best(graph, backend="arborand").number_of_edges() == 0  # as in NetworkX
    assert best(graph.subgraph(range(9)), backend="arborand").number_of_edges() == 0


@BEST
def test_best_weights_of_large_graphs_are_those_of_networkx(best, optimum, spanning):
    del optimum, spanning
    graph = nx.gnp_random_graph(305, 0.005, seed=1, directed=True)
    nx.add_cycle(graph, graph)
    rng = random.Random(1)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = rng.randint(-9, 9)
    expected = total(best(graph.copy(), backend="networkx"))
    assert total(best(graph, backend="arborand")) == expected


@pytest.mark.parametrize("minimum", [True, False])
def test_all_arborescences_in_order(minimum):
    # The iterator of NetworkX includes and excludes edges, again and again.
    best = nx.minimum_spanning_arborescence if minimum else nx.maximum_spanning_arborescence
    graph = nx.gnp_random_graph(5, 0.8, seed=1, directed=True)
    rng = random.Random(0)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = rng.randint(1, 5)
    iterator = nx.ArborescenceIterator(graph, minimum=minimum)
    iterator.method = functools.partial(best, backend="arborand")
    weights = [int(tree.size("weight")) for tree in iterator]
    assert weights == sorted(map(int, every_weight(graph)), reverse=not minimum)
