"""Sections 4 and 5 of the paper: determinants, Colbourn's algorithm, without replacement."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from arborand.enumeration import count_trees
from arborand.paper import reference
from tests.reference.test_paper_setting import (
    EPSILON,
    GRAPHS,
    arcs_of,
    assert_same_law,
    draw_by,
    draw_many,
    each_graph,
    each_kind,
    edge_sum,
    every_run,
    exact_inverse,
    exact_law,
    exact_tree_weights,
    floats,
    graph,
    hashable,
    normalised,
    p_value,
    rounding,
)

# --- Theorem 3 and equation 15: determinants and marginals ----------------------------------------


@each_graph
@each_kind
def test_theorem_3_partition_function_is_the_determinant(rows, single_root):
    weights = graph(rows)
    L = reference.laplacian(weights, single_root=single_root)
    Z = sum(exact_tree_weights(weights, single_root=single_root).values())
    determinant, _ = exact_inverse(L)
    assert determinant == Z
    assert reference.partition_function(weights, single_root=single_root) == pytest.approx(
        float(Z), rel=rounding(L)
    )


@pytest.mark.parametrize("seed", range(40))
@each_kind
def test_theorem_3_holds_on_random_sparse_graphs_with_or_without_trees(seed, single_root):
    rng = np.random.default_rng(seed)
    size = rng.integers(2, 7)
    weights = rng.integers(1, 10, (size, size)) * (rng.random((size, size)) < 0.5)
    determinant, _ = exact_inverse(reference.laplacian(weights, single_root=single_root))
    # Counted child by child, not by the determinant of eq. 12.
    assert determinant == count_trees(weights, single_root=single_root)


@each_graph
@each_kind
def test_equation_15_marginals(rows, single_root):
    weights = graph(rows)
    law = exact_law(weights, single_root=single_root)
    size = len(weights)
    exact = [[edge_sum(law, i, j) if j else 0 for j in range(size)] for i in range(size)]
    found = reference.marginals(weights, single_root=single_root)
    L = reference.laplacian(weights, single_root=single_root)
    np.testing.assert_allclose(found, floats(exact), atol=rounding(L), rtol=0)


# --- Lemma 3, Sherman-Morrison, Theorem 4: Colbourn's algorithm -----------------------------------


@each_graph
@each_kind
def test_lemma_3_conditioning_replaces_one_column(rows, single_root):
    weights = graph(rows)
    for i, j in arcs_of(weights):
        only = weights.copy()
        only[:, j] = 0
        only[i, j] = weights[i, j]
        expected = reference.laplacian(only, single_root=single_root)
        replaced = reference.laplacian(weights, single_root=single_root)
        replaced[:, j - 1] = reference.edge_column(weights, (i, j), single_root=single_root)
        np.testing.assert_array_equal(replaced, expected)


def test_lemma_3_was_tested_in_all_its_cases():
    cases = {
        "root" if i == 0 else "i = 1" if i == 1 else "j = 1" if j == 1 else "neither"
        for rows in GRAPHS.values()
        for i, j in arcs_of(graph(rows))
    }
    assert cases == {"root", "i = 1", "j = 1", "neither"}


def prefixes(tree_weights):
    """Yield every arc of every tree in order, with the trees left before and after it is fixed."""
    for heads in tree_weights:
        after = tree_weights
        for j in range(1, len(heads)):
            before = after
            after = {t: weight for t, weight in before.items() if t[j] == heads[j]}
            yield (heads[j], j), before, after


@each_graph
@each_kind
def test_conditioning_matches_a_fresh_inverse_along_every_tree(rows, single_root):
    """Sherman-Morrison (eq. 17) and the matrix determinant lemma (eq. 25), arc after arc."""
    weights = graph(rows)
    tree_weights = exact_tree_weights(weights, single_root=single_root)
    start = reference.laplacian(weights, single_root=single_root)
    start_B = reference.inverse_transpose(start)
    for matrix in (start, start_B):
        matrix.setflags(write=False)
    for edge, before, after in prefixes(tree_weights):
        if before is tree_weights:
            L, B = start, start_B
        _, j = edge
        u = reference.edge_column(weights, edge, single_root=single_root) - L[:, j - 1]
        ratio = reference.determinant_ratio(B, u, j)
        L, B = reference.condition(weights, L, B, edge, single_root=single_root)
        determinant, inverse = exact_inverse(L)
        assert determinant == sum(after.values())
        share = float(determinant / sum(tree_weights.values()))
        tolerance = rounding(start, divisor=share)
        assert ratio == pytest.approx(float(determinant / sum(before.values())), abs=tolerance)
        expected_B = floats(inverse).T
        np.testing.assert_allclose(B, expected_B, rtol=0, atol=tolerance * np.abs(expected_B).max())


def test_row_of_b_as_printed_in_line_37_is_a_misprint_for_its_column():
    weights = graph(GRAPHS["dense"])
    L = reference.laplacian(weights, single_root=True)
    B = reference.inverse_transpose(L)
    u = reference.edge_column(weights, (3, 2), single_root=True) - L[:, 1]
    share = edge_sum(exact_law(weights, single_root=True), 3, 2)
    assert 1 + u @ B[:, 1] == pytest.approx(float(share), abs=rounding(L))
    assert abs(1 + u @ B[1, :] - float(share)) > 0.1


def test_conditioning_on_an_arc_of_no_tree_is_refused():
    # Word 2 has one head, so that nothing can hang word 1 under it but a cycle.
    weights = graph([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    L = reference.laplacian(weights, single_root=False)
    with pytest.raises(reference.NoMassLeftError, match=r"edge \(2, 1\) is in no tree"):
        reference.condition(weights, L, reference.inverse_transpose(L), (2, 1), single_root=False)


@each_graph
@each_kind
def test_theorem_4_law_of_colbourn(rows, single_root):
    """The product of the conditionals that are drawn from, for every tree."""
    weights = graph(rows)
    law = exact_law(weights, single_root=single_root)
    found = defaultdict(Fraction)
    for heads, factors in every_run(reference.colbourn, weights, single_root=single_root):
        assert heads is None or len(factors) == len(weights) - 1
        found[heads if heads is None else hashable(heads)] += math.prod(factors)
    # The error of a factor is divided by the factors before it, and so the product multiplies it
    # by those after it only.
    L = reference.laplacian(weights, single_root=single_root)
    assert_same_law(found, law, tolerance=len(weights) * rounding(L))


@each_kind
@pytest.mark.parametrize("name", ["dense", "sparse, four words", "counter-example"])
def test_theorem_4_law_of_colbourn_in_draws(name, single_root):
    weights = graph(GRAPHS[name])
    law = exact_law(weights, single_root=single_root)
    draws = draw_many(reference.colbourn, weights, num_draws=2000, single_root=single_root)
    assert p_value(draws, law) > 1e-9


# --- Lemma 4, Theorem 5: without replacement ------------------------------------------------------


@each_graph
@each_kind
def test_lemma_4_marginals_of_what_was_not_drawn(rows, single_root):
    weights = graph(rows)
    tree_weights = exact_tree_weights(weights, single_root=single_root)
    L = reference.laplacian(weights, single_root=single_root)
    B = reference.inverse_transpose(L)
    Z = sum(tree_weights.values())
    for drawn in itertools.islice(itertools.combinations(tree_weights, 2), 40):
        rest = {heads: w for heads, w in tree_weights.items() if heads not in drawn}
        if not rest:
            continue
        Z_D = sum(rest.values())
        D = tuple((np.array(heads), float(tree_weights[heads])) for heads in drawn)
        state = reference.SworState(L, B, float(Z), D, float(Z_D))
        for j in range(1, len(weights)):
            found = reference.edge_marginals_swor(weights, state, j, single_root=single_root)
            exact = floats([edge_sum(rest, i, j) / Z_D for i in range(len(weights))])
            # The subtraction keeps the absolute error of Z p(i -> j), and divides it by Z_D.
            tolerance = rounding(L, divisor=float(Z_D / Z))
            np.testing.assert_allclose(found, exact, rtol=0, atol=tolerance)


@each_graph
@each_kind
def test_conditioning_keeps_track_of_what_was_drawn(rows, single_root):
    weights = graph(rows)
    tree_weights = exact_tree_weights(weights, single_root=single_root)
    drawn = dict(itertools.islice(tree_weights.items(), 0, None, 2))
    D = tuple((np.array(heads), float(weight)) for heads, weight in drawn.items())
    L = reference.laplacian(weights, single_root=single_root)
    B = reference.inverse_transpose(L)
    Z = float(sum(tree_weights.values()))
    state = start = reference.SworState(L, B, Z, D, Z - float(sum(drawn.values())))
    for edge, before, after in prefixes(tree_weights):
        previous = start if before is tree_weights else state
        state = reference.condition_swor(weights, previous, edge, single_root=single_root)
        expected = reference.condition(
            weights, previous.L, previous.B, edge, single_root=single_root
        )
        np.testing.assert_array_equal((state.L, state.B), expected)
        assert [tuple(heads) for heads, _ in state.D] == [
            heads for heads in after if heads in drawn
        ]
        left = sum(weight for heads, weight in after.items() if heads not in drawn)
        # Each ratio is off by rounding / share so far, and Z is divided by as much: no divisor.
        tolerance = len(weights) * rounding(L) * Z
        np.testing.assert_allclose(
            (state.Z, state.Z_D), floats([sum(after.values()), left]), rtol=0, atol=tolerance
        )


def successive_law(tree_weights, k):
    """Law of k trees in order, each drawn by weight among those not drawn before (Theorem 5)."""
    law = {}
    for trees in itertools.permutations(tree_weights, k):
        left, probability = sum(tree_weights.values()), Fraction(1)
        for heads in trees:
            probability *= tree_weights[heads] / left
            left -= tree_weights[heads]
        law[trees] = probability
    return law


@pytest.mark.parametrize(
    ("name", "single_root", "k"),
    [
        ("dense", False, 2),
        ("dense", True, 2),
        ("sparse, word 1 not under the root", False, 3),
        ("sparse, word 1 only under the root", False, 3),
        ("sparse, four words", True, 3),
        ("unequal scales", True, 2),
        ("counter-example", True, 3),
        ("counter-example", False, 4),
    ],
)
def test_theorem_5_law_of_swor_over_ordered_trees(name, single_root, k):
    weights = graph(GRAPHS[name])
    tree_weights = exact_tree_weights(weights, single_root=single_root)
    law = successive_law(tree_weights, k)
    found = defaultdict(Fraction)
    for trees, factors in every_run(reference.swor, weights, k, single_root=single_root):
        found[hashable(trees)] += math.prod(factors)
    L = reference.laplacian(weights, single_root=single_root)
    # As for colbourn, for each of k trees; what the k - 1 trees before it leave divides the error.
    left = 1 - sum(sorted(normalised(tree_weights).values(), reverse=True)[: k - 1])
    tolerance = k * len(weights) * rounding(L, divisor=float(left))
    assert_same_law(found, law, tolerance=tolerance)


@each_kind
def test_theorem_5_law_of_swor_in_draws(single_root):
    weights = graph(GRAPHS["sparse, word 1 only under the root"])
    law = successive_law(exact_tree_weights(weights, single_root=single_root), 2)
    draws = draw_many(reference.swor, weights, 2, num_draws=1000, single_root=single_root)
    assert p_value(draws, law) > 1e-9


@each_graph
@each_kind
def test_swor_ends_with_every_tree_once(rows, single_root):
    weights = graph(rows)
    everything = exact_tree_weights(weights, single_root=single_root)
    rng = np.random.default_rng(5)
    trees = reference.swor(weights, len(everything) + 10, rng, single_root=single_root)
    assert sorted(map(hashable, trees)) == sorted(everything)
    assert trees.dtype == np.int32


def dominated(exponent):
    """Five nodes, a chain of arcs of weight 1, every other arc of weight 2^exponent."""
    weights = np.full((5, 5), 2.0**exponent)
    weights[range(4), range(1, 5)] = 1
    return graph(weights)


def test_swor_loses_the_trees_that_its_subtraction_cannot_see():
    """A limitation of Fig. 7, not of this code: Z_D = Z - w(t) is 0 when w(t) rounds to Z."""
    weights = dominated(-66)
    law = exact_law(weights, single_root=False)
    assert len(law) == 125
    assert 0 < 1 - max(law.values()) < Fraction(1, 10**19)
    trees = reference.swor(weights, 125, np.random.default_rng(0), single_root=False)
    assert list(map(hashable, trees)) == [max(law, key=law.get)]


def test_swor_is_wrong_long_before_it_stops():
    """With all but a share s of the mass drawn, marginals are right to about epsilon / s only."""
    weights = dominated(-40)
    tree_weights = exact_tree_weights(weights, single_root=False)
    best = max(tree_weights, key=tree_weights.get)
    rest = {heads: weight for heads, weight in tree_weights.items() if heads != best}
    L = reference.laplacian(weights, single_root=False)
    Z = reference.partition_function(weights, single_root=False)
    drawn = ((np.array(best), float(tree_weights[best])),)
    state = reference.SworState(L, reference.inverse_transpose(L), Z, drawn, Z - drawn[0][1])
    errors = [
        abs(found - float(edge_sum(rest, i, j) / sum(rest.values())))
        for j in range(1, 5)
        for i, found in enumerate(
            reference.edge_marginals_swor(weights, state, j, single_root=False)
        )
    ]
    share = float(sum(rest.values()) / sum(tree_weights.values()))
    assert max(errors) > 1000 * EPSILON  # three digits more than rounding alone would cost
    assert max(errors) < 100 * EPSILON / share


@pytest.mark.parametrize("seed", range(60))
@each_kind
def test_swor_returns_different_trees_whatever_rounding_does(seed, single_root):
    """Weights over some 20 orders of magnitude: the figure as printed would return cycles."""
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(scale=10, size=(4, 4)))
    trees = list(map(hashable, reference.swor(weights, 20, rng, single_root=single_root)))
    assert len(set(trees)) == len(trees) >= 1
    assert set(trees) <= exact_tree_weights(weights, single_root=single_root).keys()


@each_kind
def test_swor_draws_from_probabilities_that_sum_to_one(single_root, monkeypatch):
    """Which is to say that Z_D is the right divisor, after every tree and every arc."""
    weights = graph(GRAPHS["dense"])
    totals = []

    def recording(masses, rng, draw=reference.categorical):
        totals.append(masses.sum())
        return draw(masses, rng)

    draw_by(recording, monkeypatch)
    k = 5
    reference.swor(weights, k, np.random.default_rng(0), single_root=single_root)
    assert len(totals) == k * (len(weights) - 1)
    # The smallest Z_D there can be is that of a single tree, the lightest.
    smallest = min(exact_law(weights, single_root=single_root).values())
    L = reference.laplacian(weights, single_root=single_root)
    np.testing.assert_allclose(totals, 1, rtol=rounding(L, divisor=float(smallest)))
