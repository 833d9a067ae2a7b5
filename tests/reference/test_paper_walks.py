"""Section 3 of the paper: Wilson's algorithm, its root constraint, and how long it walks."""

import functools
import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

from arborand.paper import reference
from tests.reference.test_paper_setting import (
    EPSILON,
    GRAPHS,
    WALK_GRAPHS,
    FixedUniform,
    assert_same_law,
    chain_rounding,
    draw_many,
    each_graph,
    each_walk_graph,
    edge_sum,
    every_run,
    exact_inverse,
    exact_law,
    exact_tree_weights,
    graph,
    hashable,
    normalised,
    p_value,
    rounding,
)

# --- Lemmas 1 and 2, Theorem 1: Wilson's algorithm ------------------------------------------------


@each_graph
def test_lemma_1_normalised_weights_keep_the_proportions(rows):
    weights = graph(rows)
    locally_normalised = reference.stochastic(weights)
    size = len(weights)
    column_totals = [
        sum(Fraction(weights[i, j]) for i in range(size) if i != j) for j in range(1, size)
    ]
    for heads, weight in exact_tree_weights(weights, single_root=False).items():
        # One division and one product for each word, each off by half an epsilon.
        assert reference.tree_weight(locally_normalised, heads) == pytest.approx(
            float(weight / math.prod(column_totals)), rel=size * EPSILON
        )
    np.testing.assert_allclose(locally_normalised[:, 1:].sum(axis=0), 1, rtol=size * EPSILON)
    assert not locally_normalised[:, 0].any()


@functools.cache
def wilson_runs(name, max_draws):
    """Group the runs of `wilson` by tree; each run is the list of its draws' probabilities."""
    weights = graph(WALK_GRAPHS[name])
    runs = defaultdict(list)
    for heads, factors in every_run(reference.wilson, weights, max_draws=max_draws):
        runs[hashable(heads)].append(factors)
    return weights, dict(runs)


each_walk_name = pytest.mark.parametrize("name", WALK_GRAPHS)


@each_walk_name
def test_lemma_2_erased_loops_are_independent_of_the_tree(name):
    weights, runs = wilson_runs(name, max_draws=9)
    transitions = reference.stochastic(weights)
    erased = [
        Counter(
            (len(factors), math.prod(factors) / Fraction(reference.tree_weight(transitions, heads)))
            for factors in all_factors
        )
        for heads, all_factors in runs.items()
    ]
    # The same lengths and probabilities of loops, as often, whatever tree remains.
    assert all(loops == erased[0] for loops in erased)
    assert len(erased[0]) > 1


@each_walk_name
def test_theorem_1_law_of_wilson_is_exact_at_every_number_of_draws(name):
    weights, runs = wilson_runs(name, max_draws=9)
    law = exact_law(weights, single_root=False)
    lengths = {len(factors) for all_factors in runs.values() for factors in all_factors}
    assert min(lengths) == 3
    assert max(lengths) > 6
    for length in lengths:
        found = {
            heads: sum(math.prod(f) for f in all_factors if len(f) == length)
            for heads, all_factors in runs.items()
        }
        assert normalised(found) == law


@each_walk_name
def test_equation_11_lacks_the_factor_of_the_loops(name):
    weights, _ = wilson_runs(name, max_draws=9)
    transitions = reference.stochastic(weights)
    determinant, _ = exact_inverse(np.eye(3) - transitions[1:, 1:])
    total = sum(exact_tree_weights(transitions, single_root=False).values())
    assert total == determinant < 1


@pytest.mark.parametrize("name", ["dense", "sparse, four words", "unequal scales"])
def test_theorem_1_law_of_wilson_in_draws(name):
    weights = graph(GRAPHS[name])
    law = exact_law(weights, single_root=False)
    assert p_value(draw_many(reference.wilson, weights), law) > 1e-9


# --- Theorem 2: the root constraint, biased and repaired ------------------------------------------


def test_theorem_2_counter_example():
    weights = reference.THEOREM_2_GRAPH
    law = exact_law(weights, single_root=True)
    assert [edge_sum(law, 0, j) for j in (1, 2, 3)] == [Fraction(2, 3), Fraction(1, 3), 0]
    biased = defaultdict(Fraction)
    for heads, factors in every_run(reference.wilson_rc, weights):
        biased[hashable(heads)] += math.prod(factors)
    assert sum(biased.values()) == 1
    assert [edge_sum(biased, 0, j) for j in (1, 2, 3)] == [Fraction(1, 2), Fraction(1, 2), 0]
    draws = draw_many(reference.wilson_rc, weights, num_draws=2000)
    assert p_value(draws, biased) > 1e-9
    assert p_value(draws, law) < 1e-12


@each_walk_graph
@pytest.mark.parametrize("sampler", [reference.wilson_rc, reference.wilson_root_marginal])
def test_below_the_root_s_child_the_law_is_exact(rows, sampler):
    """Both differ in the first draw only; given the child, every number of draws has the law."""
    weights = graph(rows)
    law = exact_law(weights, single_root=True)
    groups = defaultdict(lambda: defaultdict(Fraction))
    for heads, factors in every_run(sampler, weights, max_draws=8):
        groups[hashable(heads).index(0), len(factors)][hashable(heads)] += math.prod(factors[1:])
    children = {child for child, _ in groups}
    assert children == {j for j in (1, 2, 3) if edge_sum(law, 0, j)}
    for (child, _), found in groups.items():
        below = {heads: mass for heads, mass in law.items() if heads[child] == 0}
        assert normalised(found) == normalised(below)


@each_graph
def test_root_s_child_is_drawn_by_weight_or_by_marginal(rows):
    weights = graph(rows)
    law = exact_law(weights, single_root=True)
    root_weights = [Fraction(w) for w in weights[0, 1:]]
    by_weight = {j: w / sum(root_weights) for j, w in enumerate(root_weights, start=1)}
    by_marginal = {j: edge_sum(law, 0, j) for j in by_weight}
    L = reference.laplacian(weights, single_root=True)
    found = first_draws(reference.wilson_root_marginal, weights)
    assert_same_law(found, by_marginal, tolerance=rounding(L))
    if all(by_marginal[j] or not by_weight[j] for j in by_weight):
        assert first_draws(reference.wilson_rc, weights) == {
            j: p for j, p in by_weight.items() if p
        }
    else:
        with pytest.raises(ValueError, match="no tree of the words is rooted there"):
            first_draws(reference.wilson_rc, weights)


def first_draws(sampler, weights):
    return {
        hashable(heads).index(0): factors[0]
        for heads, factors in every_run(sampler, weights, max_draws=6)
    }


@each_walk_graph
def test_law_of_wilson_rejection_is_exact_at_every_number_of_draws(rows):
    weights = graph(rows)
    by_length = defaultdict(lambda: defaultdict(Fraction))
    for heads, factors in every_run(reference.wilson_rejection, weights, max_draws=8):
        by_length[len(factors)][hashable(heads)] += math.prod(factors)
    assert max(by_length) == 8
    for found in by_length.values():
        assert normalised(found) == exact_law(weights, single_root=True)


@pytest.mark.parametrize("sampler", [reference.wilson_root_marginal, reference.wilson_rejection])
@pytest.mark.parametrize("name", ["dense", "sparse, four words", "counter-example"])
def test_repaired_wilson_has_the_right_law_in_draws(sampler, name):
    weights = graph(GRAPHS[name])
    law = exact_law(weights, single_root=True)
    assert p_value(draw_many(sampler, weights, num_draws=2000), law) > 1e-9


def test_root_s_child_that_leads_nowhere():
    # Word 1 can be the head of nothing, but the root's arc to it is the heavier one.
    weights = graph([[0, 3, 1], [0, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match="child 1 was drawn, but no tree"):
        reference.wilson_rc(weights, FixedUniform(0.5))
    assert set(draw_many(reference.wilson_root_marginal, weights, num_draws=50)) == {(-1, 2, 0)}
    assert set(draw_many(reference.wilson_rejection, weights, num_draws=50)) == {(-1, 2, 0)}


# --- Equation 9: hitting times --------------------------------------------------------------------


def chain_of(rows):
    """Build the walk among the words of a graph in which they all reach each other."""
    return reference.walk_transitions(graph(rows))


CHAINS = {
    name: GRAPHS[name] for name in ["two words", "dense", "dense, four words", "unequal scales"]
}
each_chain = pytest.mark.parametrize("rows", CHAINS.values(), ids=CHAINS.keys())


@each_chain
def test_walks_go_from_dependent_to_head(rows):
    weights = graph(rows)
    transition = reference.walk_transitions(weights)
    for j, i in itertools.permutations(range(1, len(weights)), 2):
        others = sum(weights[k, j] for k in range(1, len(weights)) if k != j)
        assert transition[j - 1, i - 1] == weights[i, j] / others
    assert not transition.diagonal().any()


@each_chain
def test_stationary_distribution_follows_the_markov_chain_tree_theorem(rows):
    """pi_u is in proportion to the weight of all trees of the chain that are rooted in u."""
    transition = chain_of(rows)
    size = len(transition)
    tree_weights = np.zeros((size + 1, size + 1))
    tree_weights[0, 1:] = 1
    tree_weights[1:, 1:] = transition.T
    law = exact_law(tree_weights, single_root=True)
    np.testing.assert_allclose(
        reference.stationary_distribution(transition),
        [float(edge_sum(law, 0, u)) for u in range(1, size + 1)],
        rtol=chain_rounding(reference.hitting_times(transition)),
    )


def test_hitting_times_of_known_chains():
    size = 6
    complete = (np.ones((size, size)) - np.eye(size)) / (size - 1)
    cycle = (np.roll(np.eye(size), 1, axis=0) + np.roll(np.eye(size), 1, axis=1)) / 2
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    # A geometric waiting time with chance 1 / (m - 1), and the gambler's ruin.
    for chain, expected in [
        (complete, (size - 1) * (1 - np.eye(size))),
        (cycle, distance * (size - distance)),
    ]:
        found = reference.hitting_times(chain)
        np.testing.assert_allclose(found, expected, rtol=chain_rounding(expected))


@each_chain
def test_mean_hitting_time_is_the_same_from_every_start_and_from_the_eigenvalues(rows):
    transition = chain_of(rows)
    found = reference.mean_hitting_time(transition)
    h = reference.hitting_times(transition)
    tolerance = 3 * chain_rounding(h)  # three factors: pi, pi and h
    from_each = h @ reference.stationary_distribution(transition)
    np.testing.assert_allclose(from_each, found, rtol=tolerance)
    eigenvalues = np.linalg.eigvals(transition)
    others = np.delete(eigenvalues, np.argmax(eigenvalues.real))
    assert np.sum(1 / (1 - others)).real == pytest.approx(found, rel=tolerance)


def test_mean_hitting_time_of_a_single_word_is_zero():
    assert reference.mean_hitting_time(reference.walk_transitions([[0, 1], [0, 0]])) == 0


@each_walk_name
def test_number_of_draws_of_wilson_has_its_known_distribution(name):
    """P(n + m draws) = det(I - Q) times the coefficient of x^m in 1 / det(I - x Q)."""
    weights, runs = wilson_runs(name, max_draws=9)
    transitions = reference.stochastic(weights)
    factor = sum(exact_tree_weights(transitions, single_root=False).values())
    Q = np.array([[Fraction(x) for x in row] for row in transitions[1:, 1:].tolist()])
    probabilities = [factor * coefficient for coefficient in loop_series(Q, 7)]
    all_factors = list(itertools.chain.from_iterable(runs.values()))
    for num_draws, probability in enumerate(probabilities, start=3):
        runs_of_length = [factors for factors in all_factors if len(factors) == num_draws]
        assert sum(math.prod(factors) for factors in runs_of_length) == probability


@each_walk_graph
def test_expected_walk_steps_is_the_mean_of_that_distribution(rows):
    weights = graph(rows)
    Q = reference.stochastic(weights)[1:, 1:]
    num_terms = 1000
    factor = np.linalg.det(np.eye(3) - Q)
    masses = factor * np.array(loop_series(Q, num_terms))
    # All terms are positive, and the m-th is a sum of m products: m epsilon more than those before.
    tolerance = num_terms**2 * EPSILON
    assert masses.sum() == pytest.approx(1, abs=tolerance)
    mean = np.arange(3, 3 + num_terms) @ masses
    assert reference.expected_walk_steps(weights) == pytest.approx(mean, rel=tolerance)


def loop_series(Q, num_terms):
    """Coefficients of 1 / det(I - x Q) = exp(sum over k of trace(Q^k) x^k / k)."""
    power, traces, coefficients = Q, [], [1]
    for m in range(1, num_terms):
        traces.append(np.trace(power))
        power = power @ Q
        coefficients.append(sum(t * c for t, c in zip(traces, coefficients[::-1], strict=True)) / m)
    return coefficients


@each_graph
def test_expected_walk_steps_is_wilson_s_count_wherever_the_root_moves_on_to(rows):
    weights = graph(rows)
    found = reference.expected_walk_steps(weights)
    transitions = reference.stochastic(weights)
    _, fundamental = exact_inverse(np.eye(len(weights) - 1) - transitions[1:, 1:])
    exact = float(sum(fundamental[u][u] for u in range(len(fundamental))))
    L = reference.laplacian(weights, single_root=False)
    assert found == pytest.approx(exact, rel=rounding(L))
    for seed in range(3):
        chain = transitions.T.copy()
        chain[0, 1:] = np.random.default_rng(seed).dirichlet(np.ones(len(weights) - 1))
        pi = reference.stationary_distribution(chain)
        h = reference.hitting_times(chain)
        assert pi @ (h[:, 0] + h[0]) == pytest.approx(found, rel=2 * chain_rounding(h))
