"""The oracle against closed formulas, exact arithmetic and a second, naive enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from arborand.enumeration import count_trees, dependency_trees, spanning_trees, tree_law

KINDS = pytest.mark.parametrize("single_root", [False, True], ids=["spanning", "dependency"])
EPSILON = np.finfo(np.float64).eps


def listed(log_weights, *, single_root):
    return (dependency_trees if single_root else spanning_trees)(log_weights)


def log_of(weights):
    """Logarithms of integer weights, -inf for 0, without NumPy's warning about log(0)."""
    return np.array([[math.log(w) if w else -math.inf for w in row] for row in weights.tolist()])


def naive_trees(adjacency, *, single_root):
    """Every choice of heads that is a tree, straight from the definition: the oracle's oracle."""
    size = len(adjacency)
    candidates = [[i for i in range(size) if i != j and adjacency[i, j]] for j in range(1, size)]
    for heads in itertools.product([-1], *candidates):
        if single_root and heads.count(0) != 1:
            continue
        if all(leads_to_root(heads, word) for word in range(1, size)):
            yield heads


def tree_weight(weights, heads):
    """Multiply the arc weights of a tree, in Python's integers."""
    return math.prod(weights[heads[j], j].item() for j in range(1, len(heads)))


def law_rounding(magnitude):
    """Bound the relative error of a probability when a tree's log-weights add up to magnitude.

    Each log, their sum, and the shift by the maximum are off by at most half an epsilon of the
    magnitude, or one epsilon where two roundings meet: 2 in all. The exponential and the division
    add one each. Numerator and denominator are both off by that much.
    """
    return 2 * (2 * magnitude + 2) * EPSILON


def leads_to_root(heads, word):
    for _ in heads:
        word = heads[word] if word else word
    return word == 0


def rooted_at(edges, num_vertices, root):
    """Read an undirected graph as a digraph with both arcs of each edge and ``root`` as node 0."""
    order = [root, *(v for v in range(num_vertices) if v != root)]
    adjacency = np.zeros((num_vertices, num_vertices), dtype=bool)
    for a, b in edges:
        adjacency[order.index(a), order.index(b)] = adjacency[order.index(b), order.index(a)] = True
    return adjacency


def petersen():
    outer = [(i, (i + 1) % 5) for i in range(5)]
    spokes = [(i, i + 5) for i in range(5)]
    inner = [(i + 5, (i + 2) % 5 + 5) for i in range(5)]
    return [*outer, *spokes, *inner]


def sparse_integer_weights(seed, num_words, density):
    """Random weights 1..9 on a random set of arcs; column 0 and the diagonal hold junk."""
    generator = np.random.default_rng(seed)
    shape = (num_words + 1, num_words + 1)
    weights = generator.integers(1, 10, shape) * (generator.random(shape) < density)
    weights[:, 0] = 7
    np.fill_diagonal(weights, 5)
    return weights


SPARSE = [
    pytest.param(sparse_integer_weights(seed, num_words, density), id=f"{num_words}-{seed}")
    for num_words, density in [(1, 0.7), (2, 0.7), (3, 0.6), (4, 0.5), (5, 0.4)]
    for seed in range(8)
]


@pytest.mark.parametrize("num_words", range(1, 7))
def test_complete_graphs_have_the_numbers_of_cayley(num_words):
    complete = np.ones((num_words + 1, num_words + 1), dtype=bool)
    spanning, dependency = (num_words + 1) ** (num_words - 1), num_words ** (num_words - 1)
    assert count_trees(complete, single_root=False) == spanning
    assert count_trees(complete, single_root=True) == dependency
    assert sum(1 for _ in spanning_trees(np.zeros(complete.shape))) == spanning
    assert sum(1 for _ in dependency_trees(np.zeros(complete.shape))) == dependency


@pytest.mark.parametrize(
    ("edges", "num_vertices", "num_trees"),
    [
        pytest.param(petersen(), 10, 2000, id="Petersen"),
        pytest.param(list(itertools.product(range(3), range(3, 7))), 7, 3**3 * 4**2, id="K_{3,4}"),
    ],
)
def test_undirected_graphs_have_as_many_trees_from_any_root(edges, num_vertices, num_trees):
    for root in range(num_vertices):
        adjacency = rooted_at(edges, num_vertices, root)
        assert count_trees(adjacency, single_root=False) == num_trees
        assert sum(1 for _ in spanning_trees(log_of(adjacency))) == num_trees


@KINDS
@pytest.mark.parametrize("weights", SPARSE)
def test_listing_agrees_with_the_definition_and_with_the_determinant(weights, single_root):
    trees = [tuple(heads.tolist()) for heads, _ in listed(log_of(weights), single_root=single_root)]
    # Equal lists: the same trees, none twice, in lexicographic order.
    assert trees == list(naive_trees(weights, single_root=single_root))
    assert count_trees(weights != 0, single_root=single_root) == len(trees)
    total = sum(tree_weight(weights, tree) for tree in trees)
    assert count_trees(weights, single_root=single_root) == total


def test_sparse_cases_include_graphs_with_and_without_trees():
    counts = [count_trees(case.values[0], single_root=True) for case in SPARSE]
    assert 0 in counts
    assert any(counts)


@KINDS
@pytest.mark.parametrize("weights", SPARSE)
def test_law_is_the_exact_one(weights, single_root):
    total = count_trees(weights, single_root=single_root)
    if total == 0:
        with pytest.raises(ValueError, match="has no"):
            tree_law(log_of(weights), single_root=single_root)
        return
    trees, probabilities = tree_law(log_of(weights), single_root=single_root)
    exact = [float(Fraction(tree_weight(weights, tree), total)) for tree in trees.tolist()]
    np.testing.assert_allclose(probabilities, exact, rtol=law_rounding(5 * math.log(9)))
    assert math.fsum(probabilities) == pytest.approx(1, abs=2 * EPSILON)  # Z, / and this sum
    assert trees.dtype == np.int32


@KINDS
def test_law_survives_weights_beyond_the_range_of_floats(single_root):
    exponents = np.array([[0, 3, -2, 0], [0, 0, 4, 1], [0, -1, 0, 2], [0, 5, -3, 0]])
    # A word has one head, so a shift of its column by 2^±4000 changes no probability.
    shifted = (exponents + np.array([0, 4000, -4000, 3000])) * math.log(2)
    trees, probabilities = tree_law(shifted, single_root=single_root)
    weights = [
        Fraction(2) ** int(sum(exponents[tree[j], j] for j in (1, 2, 3))) for tree in trees.tolist()
    ]
    exact = [float(weight / sum(weights)) for weight in weights]
    np.testing.assert_allclose(probabilities, exact, rtol=law_rounding(3 * 4005 * math.log(2)))


def test_log_weight_is_rounded_once():
    # 2^53 + 1 - 2^53 is 1, but 0 when the running sum is rounded.
    chain = np.full((4, 4), -np.inf)
    chain[0, 1], chain[1, 2], chain[2, 3] = 2.0**53, 1.0, -(2.0**53)
    assert [log_weight for _, log_weight in spanning_trees(chain)] == [1.0]


@KINDS
def test_column_zero_and_diagonal_are_never_read(single_root):
    clean = np.arange(16.0).reshape(4, 4)
    soiled = clean.copy()
    soiled[:, 0] = [np.nan, np.inf, -np.inf, 1e300]
    np.fill_diagonal(soiled, np.nan)
    for expected, found in zip(
        tree_law(clean, single_root=single_root),
        tree_law(soiled, single_root=single_root),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


@KINDS
def test_first_trees_of_a_large_graph_do_not_wait_for_the_last(single_root):
    # 13^11 spanning and 12^11 dependency trees: whoever lists before yielding never returns.
    first = [
        heads.tolist()
        for heads, _ in itertools.islice(listed(np.zeros((13, 13)), single_root=single_root), 1000)
    ]
    assert first[0] == [-1, 0] + [1 if single_root else 0] * 11
    assert first == sorted(first)
    assert all(leads_to_root(heads, word) for heads in first for word in range(1, 13))


@KINDS
def test_no_time_is_lost_on_choices_that_no_tree_completes(single_root):
    # Word 1 may hang under 2, 2 only under the last word, and the last only under 1. Pruning
    # cycles alone would notice at the last word, after 20^20 choices for those in between.
    last = 24
    arcs = np.full((last + 1, last + 1), -np.inf)
    arcs[0, last - 1] = arcs[2, 1] = arcs[last - 1, 1] = arcs[last, 2] = arcs[1, last] = 0
    arcs[3:last, 3 : last - 1] = 0
    heads, _ = next(listed(arcs, single_root=single_root))
    assert heads[[1, 2, last - 1, last]].tolist() == [last - 1, last, 0, 1]


def test_each_tree_is_an_array_of_its_own():
    trees = [heads for heads, _ in spanning_trees(np.zeros((3, 3)))]
    trees[0][:] = 9
    assert trees[1].tolist() == [-1, 0, 1]


def test_graph_without_words():
    assert [heads.tolist() for heads, _ in spanning_trees([[0.0]])] == [[-1]]
    assert list(dependency_trees([[0.0]])) == []
    assert count_trees([[0]], single_root=False) == 1
    assert count_trees([[0]], single_root=True) == 0


def test_counts_are_exact_beyond_every_machine_integer():
    huge = 10**30 + 57
    weights = np.full((4, 4), huge, dtype=object)
    assert count_trees(weights, single_root=False) == 16 * huge**3
    assert count_trees(weights, single_root=True) == 9 * huge**3


@pytest.mark.parametrize("function", [spanning_trees, dependency_trees])
@pytest.mark.parametrize(
    ("log_weights", "message"),
    [
        (np.zeros((2, 3)), r"log_weights has shape \(2, 3\); use \(n \+ 1, n \+ 1\)"),
        (np.zeros(4), r"log_weights has shape \(4,\)"),
        (np.zeros((0, 0)), r"log_weights has shape \(0, 0\)"),
        ([[0, np.nan], [0, 0]], r"log_weights\[0, 1\] is nan; use a finite number, or -inf"),
        ([[0, np.inf], [0, 0]], r"log_weights\[0, 1\] is inf"),
    ],
)
def test_bad_log_weights_are_refused_at_the_call(function, log_weights, message):
    with pytest.raises(ValueError, match=message):
        function(log_weights)


@pytest.mark.parametrize(
    ("adjacency", "error", "message"),
    [
        ([[0, 1, 1]], ValueError, r"adjacency has shape \(1, 3\)"),
        ([[0, -1], [0, 0]], ValueError, r"adjacency\[0, 1\] is -1; use a non-negative weight"),
        ([[0, 0.5], [0, 0]], TypeError, r"adjacency\[0, 1\] is 0.5; use booleans or integers"),
    ],
)
def test_bad_adjacencies_are_refused(adjacency, error, message):
    with pytest.raises(error, match=message):
        count_trees(adjacency, single_root=False)
