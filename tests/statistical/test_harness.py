"""The harness itself: that it can fail, fails when it should, and only then.

What needs random draws is registered as calibration in ``verification/checks.py``. Here are the
parts that can be settled exactly. None of it is circular: sizes are summed over all possible
counts with SciPy's probability functions, laws are compared with fractions worked out by hand.
"""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from verification.calibration import exact_p_values, judge_not_too_small, judge_uniform
from verification.goodness_of_fit import (
    MIN_EXPECTED,
    Cell,
    Family,
    binomial_test,
    g_test,
    group_cells,
)
from verification.graphs import CATALOGUE, graph
from verification.judges import (
    judge_arcs,
    judge_arcs_of,
    judge_consecutive,
    judge_inclusion,
    judge_ordered,
    judge_trees,
)
from verification.laws import (
    arc_marginals,
    inclusion_probabilities,
    law_of,
    locate,
    ordered_law,
)
from verification.ledger import ALPHA_RUN, NUM_CHECKS, Check, alpha_per_check, require_unique
from verification.trials import ordered_trial, repeat_draw, trial

LEVELS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-9)

# The worst exact size of the G test, as a multiple of its nominal level, that ledger.py admits.
MAX_INFLATION = 2.0


# ---- the G test: value and size ----


def test_statistic_agrees_with_scipy():
    counts = np.array([90, 140, 170, 200])
    probabilities = np.array([0.15, 0.2, 0.3, 0.35])
    fit = g_test(counts, probabilities)
    uncorrected = stats.power_divergence(counts, 600 * probabilities, lambda_="log-likelihood")
    williams = 1 + (np.sum(1 / probabilities) - 1) / (6 * 600 * 3)
    assert fit.statistic == pytest.approx(uncorrected.statistic / williams, rel=1e-12)
    assert fit.p_value == pytest.approx(stats.chi2.sf(fit.statistic, 3), rel=1e-10)
    assert (fit.degrees_of_freedom, fit.num_cells, fit.num_pooled) == (3, 4, 0)
    assert fit.num_draws == 600


def _two_cell_sizes(expected, test):
    """Exact chance of a p-value up to each level, for one cell against the rest."""
    num_draws = 20_000
    probability = expected / num_draws
    counts = np.arange(int(stats.binom.isf(1e-14, num_draws, probability)) + 1)
    p_values = np.array([test(count, num_draws, probability) for count in counts])
    chances = stats.binom.pmf(counts, num_draws, probability)
    return np.array([chances[p_values <= level].sum() for level in LEVELS])


def _g_p_value(count, num_draws, probability):
    counts = np.array([count, num_draws - count])
    return g_test(counts, np.array([probability, 1 - probability])).p_value


def _pearson_p_value(count, num_draws, probability):
    expected = num_draws * np.array([probability, 1 - probability])
    return stats.chisquare([count, num_draws - count], expected).pvalue


def test_size_of_two_cells_from_the_least_expectation_up():
    grid = np.arange(MIN_EXPECTED, 3 * MIN_EXPECTED, 0.9)
    worst = np.max([_two_cell_sizes(expected, _g_p_value) for expected in grid], axis=0)
    assert np.all(worst <= MAX_INFLATION * np.array(LEVELS))


def test_size_of_a_rare_cell_is_exact():
    # Below the least expectation the binomial test takes over, which never exceeds its level.
    for expected in (0.01, 0.3, 2.0, 5.0, 10.5, 17.0, 24.9):
        sizes = _two_cell_sizes(expected, _g_p_value)
        assert np.all(sizes <= np.array(LEVELS) * (1 + 1e-9)), expected


def test_pearson_would_not_do():
    # The same cells, the textbook statistic: at 1e-9 dozens of times too many false alarms.
    grid = np.arange(MIN_EXPECTED, MIN_EXPECTED + 10, 0.9)
    worst = np.max([_two_cell_sizes(expected, _pearson_p_value) for expected in grid], axis=0)
    assert worst[-1] > 20 * LEVELS[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_draws", "law", "num_cells"),
    [
        (150, (0.2, 0.3, 0.5), 3),
        (120, (0.1, 0.4, 0.5), 2),  # the first is expected 12 times: tested exactly
        (150, (0.1, 0.1, 0.8), 2),  # the first two are expected 15 times: pooled
    ],
)
def test_size_of_three_outcomes(num_draws, law, num_cells):
    law = np.array(law)
    total = np.zeros(len(LEVELS))
    for first in range(num_draws + 1):
        for second in range(num_draws + 1 - first):
            counts = np.array([first, second, num_draws - first - second])
            fit = g_test(counts, law)
            assert fit.num_cells == num_cells
            if fit.p_value <= LEVELS[0]:
                chance = stats.multinomial.pmf(counts, num_draws, law)
                total += chance * (fit.p_value <= np.array(LEVELS))
    assert np.all(total <= MAX_INFLATION * np.array(LEVELS))
    # ... nor so cautious that it would let biases pass.
    assert np.all(total[:3] >= 0.2 * np.array(LEVELS[:3]))


def test_calibration_notices_p_values_that_are_too_small_or_too_large():
    # The judges of the calibration can fail: exact draws, p-values spoilt afterwards.
    p_values = exact_p_values(np.full(16, 1 / 16), 1_600, 2_000, seed=1)
    assert judge_uniform(p_values**1.5).p_value < 1e-12
    assert judge_uniform(p_values**0.7).p_value < 1e-12
    assert judge_not_too_small(p_values**1.5).p_value < 1e-12
    assert judge_not_too_small(p_values**0.7).p_value == 1.0


def test_calibration_notices_a_missing_correction():
    # 400 cells expected 5 times each, as if pooled at the textbook threshold and not corrected.
    law = np.full(400, 1 / 400)
    counts = np.random.Generator(np.random.Philox(2)).multinomial(2_000, law, size=2_000)
    statistics = stats.power_divergence(counts, 5.0, axis=1, lambda_="log-likelihood").statistic
    assert judge_uniform(stats.chi2.sf(statistics, 399)).p_value < 1e-12


# ---- impossible, small and degenerate ----


def test_a_single_impossible_draw_is_enough():
    counts = np.array([50_000, 50_000, 1])
    fit = g_test(counts, np.array([0.5, 0.5, 0.0]), name_of=lambda i: f"tree {i}")
    assert fit.p_value == 0.0
    assert fit.impossible == (Cell("tree 2", 1, 0.0),)
    assert "tree 2: observed 1, expected 0" in fit.report()


def test_a_single_unlisted_draw_is_enough():
    fit = g_test(np.array([50_000, 50_000]), np.array([0.5, 0.5]), outside={"a cycle": 1})
    assert fit.p_value == 0.0
    assert fit.impossible == (Cell("a cycle", 1, 0.0),)
    assert fit.num_draws == 100_001


def test_empty_impossible_cells_change_nothing():
    counts, law = np.array([480, 520]), np.array([0.5, 0.5])
    with_zero = g_test(np.array([480, 0, 520]), np.array([0.5, 0.0, 0.5]), outside={"a cycle": 0})
    assert with_zero.p_value == g_test(counts, law).p_value
    assert with_zero.impossible == ()


def test_improbable_is_not_impossible():
    fit = g_test(np.array([100, 0]), np.array([1.0, 1e-300]))
    assert fit.p_value == 1.0
    fit = g_test(np.array([100, 1]), np.array([1.0, 1e-300]))
    assert fit.impossible == ()
    assert 0.0 < fit.p_value < 1e-290


def test_cells_are_grouped_by_expectation():
    # Expected 500, 440, 30, 20, 9.5, 0.5 and never: the last but one three make a pool of 30.
    cells = group_cells(np.array([0.5, 0.44, 0.03, 0.02, 0.0095, 0.0005, 0.0]), 1_000)
    assert cells.alone.tolist() == [0, 1, 2]
    assert cells.pooled.tolist() == [3, 4, 5]
    assert cells.impossible.tolist() == [6]
    assert not cells.is_pool_exact
    # Half as many draws: everything below 30 makes a pool of 30, still a cell.
    cells = group_cells(np.array([0.5, 0.44, 0.03, 0.02, 0.0095, 0.0005, 0.0]), 500)
    assert cells.pooled.tolist() == [2, 3, 4, 5]
    assert not cells.is_pool_exact
    # Fewer still: the pool is itself rare.
    cells = group_cells(np.array([0.5, 0.44, 0.03, 0.02, 0.0095, 0.0005, 0.0]), 400)
    assert cells.alone.tolist() == [0, 1]
    assert cells.is_pool_exact


def test_grouping_does_not_look_at_the_counts():
    law = np.array([0.5, 0.44, 0.03, 0.02, 0.0095, 0.0005])
    for num_draws in (400, 500, 1_000):
        shapes = set()
        for counts in permutations((num_draws - 40, 25, 15, 0, 0, 0), 6):
            fit = g_test(np.array(counts), law)
            shapes.add((fit.num_cells, fit.num_pooled, fit.degrees_of_freedom, fit.rare is None))
        assert len(shapes) == 1


def test_rare_outcomes_are_not_drowned_by_frequent_ones():
    # Expected 1e-4 times, observed 8 times: within the noise of the large cells.
    law = np.array([0.5, 0.5 - 1e-8, 1e-8])
    fit = g_test(np.array([5_000, 4_992, 8]), law)
    assert fit.rare == Cell("any of 1 rare outcomes", 8, pytest.approx(1e-4))
    assert fit.p_value < 1e-30
    assert g_test(np.array([5_000, 5_000, 0]), law).p_value > 0.9


@pytest.mark.parametrize("counts", [(30, 400, 570), (18, 440, 542)])
def test_rare_and_frequent_outcomes_are_tested_apart(counts):
    # The first is expected 20 times: tested exactly. The others, given its count, are binomial
    # with shares 0.38 and 0.6 of 0.98. Two tests, so the smaller p-value counts double.
    fit = g_test(np.array(counts), np.array([0.02, 0.38, 0.6]))
    frequent = g_test(np.array(counts[1:]), np.array([0.38, 0.6]) / 0.98)
    rare = binomial_test(counts[0], 1_000, 0.02)
    assert (fit.num_cells, fit.num_pooled, fit.rare.observed) == (2, 1, counts[0])
    assert fit.statistic == pytest.approx(frequent.statistic, rel=1e-10)
    assert fit.p_value == pytest.approx(2 * min(rare.p_value, frequent.p_value), rel=1e-10)
    assert fit.p_value < 1.0


def test_every_draw_rare():
    fit = g_test(np.array([0, 0, 1_000]), np.array([0.5, 0.5 - 1e-8, 1e-8]))
    assert fit.p_value == 0.0


def test_law_of_one_outcome():
    fit = g_test(np.array([100]), np.array([1.0]))
    assert (fit.p_value, fit.degrees_of_freedom, fit.num_cells) == (1.0, 0, 1)
    assert g_test(np.array([100]), np.array([1.0]), outside={"a cycle": 1}).p_value == 0.0


def test_a_test_that_could_not_fail_is_refused():
    with pytest.raises(ValueError, match="100 draws cannot refute a law of 125 outcomes"):
        g_test(np.eye(125, dtype=np.int64)[0] * 100, np.full(125, 1 / 125))


# ---- what goes in ----


def test_frequencies_are_refused():
    counts = np.array([700, 300])
    with pytest.raises(TypeError, match="integer type, found float64; frequencies would hide"):
        g_test(counts / counts.sum(), np.array([0.5, 0.5]))
    with pytest.raises(TypeError, match="found float64"):
        g_test(counts.astype(np.float64), np.array([0.5, 0.5]))
    with pytest.raises(TypeError, match="found bool"):
        g_test(counts > 500, np.array([0.5, 0.5]))


def test_frequencies_would_have_hidden_the_bias():
    # Why: a coin of 0.7 passed off as fair, judged the wrong way and the right way.
    assert stats.chisquare([0.7, 0.3], [0.5, 0.5]).pvalue > 0.6
    assert g_test(np.array([700, 300]), np.array([0.5, 0.5])).p_value < 1e-30


@pytest.mark.parametrize(
    ("counts", "law", "message"),
    [
        ([1, 2, 3], [0.5, 0.5], r"vectors of one length, found shapes \(3,\) and \(2,\)"),
        ([[1, 2]], [[0.5, 0.5]], "vectors of one length"),
        ([-1, 2], [0.5, 0.5], "must not be negative, found -1"),
        ([1, 2], [0.5, 0.6], "sum to 1, found a sum of"),
        ([1, 2], [1.5, -0.5], "non-negative and sum to 1"),
        ([1, 2], [np.nan, 1.0], "non-negative and sum to 1"),
    ],
)
def test_bad_input_is_refused(counts, law, message):
    with pytest.raises(ValueError, match=message):
        g_test(np.array(counts), np.array(law))


# ---- the binomial test and families ----


def test_binomial_test_doubles_the_smaller_tail():
    # 10 tosses: P(at most 1) = 11/1024; P(exactly 5 or less) = 638/1024.
    assert binomial_test(1, 10, 0.5).p_value == pytest.approx(22 / 1024, rel=1e-12)
    assert binomial_test(9, 10, 0.5).p_value == pytest.approx(22 / 1024, rel=1e-12)
    assert binomial_test(5, 10, 0.5).p_value == 1.0
    assert binomial_test(3, 100_000, 1e-9).p_value == pytest.approx(2 * 1e-12 / 6, rel=1e-3)


def test_binomial_test_of_the_impossible_and_the_certain():
    assert binomial_test(0, 10, 0.0).p_value == 1.0
    assert binomial_test(1, 10, 0.0).p_value == 0.0
    assert binomial_test(10, 10, 1.0).p_value == 1.0
    assert binomial_test(9, 10, 1.0).p_value == 0.0
    assert "event: observed 9, expected 10" in binomial_test(9, 10, 1.0).report()


def test_binomial_test_refuses_nonsense():
    with pytest.raises(ValueError, match="count must be within 0 and 10, found 11"):
        binomial_test(11, 10, 0.5)
    with pytest.raises(ValueError, match=r"probability must be within 0 and 1, found 1\.5"):
        binomial_test(1, 10, 1.5)


def test_family_pays_for_its_size():
    members = [(name, binomial_test(count, 10, 0.5)) for name, count in (("a", 1), ("b", 5))]
    family = Family(tuple(members))
    assert family.p_value == pytest.approx(2 * 22 / 1024, rel=1e-12)
    assert "family of 2; worst is a" in family.report()
    assert Family((members[1], members[1])).p_value == 1.0


# ---- laws ----


def test_ordered_law_by_hand():
    law = ordered_law(np.array([1 / 2, 1 / 3, 1 / 6]), 2)
    by_hand = [
        [0, Fraction(1, 2) * Fraction(2, 3), Fraction(1, 2) * Fraction(1, 3)],
        [Fraction(1, 3) * Fraction(3, 4), 0, Fraction(1, 3) * Fraction(1, 4)],
        [Fraction(1, 6) * Fraction(3, 5), Fraction(1, 6) * Fraction(2, 5), 0],
    ]
    np.testing.assert_allclose(law, np.array(by_hand, dtype=np.float64), rtol=1e-14)
    assert np.all(np.diag(law) == 0.0)


def test_ordered_law_keeps_small_masses():
    # 1 - p would leave nothing of the second tree's share to the first.
    law = ordered_law(np.array([1.0, 3e-20, 1e-20]), 2)
    np.testing.assert_allclose(law[0], [0.0, 0.75, 0.25], rtol=1e-14)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_inclusion_agrees_with_the_ordered_law(length):
    # Sums over sets against sums over orders.
    probabilities = np.array([0.5, 0.0, 0.25, 0.2, 0.04, 0.01])
    joint = ordered_law(probabilities, length)
    by_orders = sum(
        joint.sum(axis=tuple(axis for axis in range(length) if axis != position))
        for position in range(length)
    )
    inclusion = inclusion_probabilities(probabilities, length)
    np.testing.assert_allclose(inclusion, by_orders, rtol=1e-12)
    assert inclusion.sum() == pytest.approx(length, rel=1e-12)


@pytest.mark.parametrize("function", [ordered_law, inclusion_probabilities])
@pytest.mark.parametrize("length", [0, 3])
def test_more_draws_than_outcomes_are_refused(function, length):
    with pytest.raises(ValueError, match=f"within 1 and the 2 possible outcomes, found {length}"):
        function(np.array([0.5, 0.5, 0.0]), length)


def test_arc_marginals_of_the_counter_example():
    marginals = arc_marginals(law_of(graph("counter_example_3"), single_root=True))
    by_hand = np.zeros((4, 4))
    by_hand[0, 1], by_hand[0, 2] = 2 / 3, 1 / 3
    by_hand[2, 1] = by_hand[1, 2] = by_hand[3, 2] = 1 / 3
    by_hand[1, 3] = 1.0
    np.testing.assert_allclose(marginals, by_hand, rtol=1e-14)


def test_locate_finds_every_tree_and_nothing_else():
    trees = law_of(graph("sparse_5"), single_root=False).trees
    order = np.random.Generator(np.random.Philox(3)).permutation(len(trees))
    assert locate(trees[order], trees).tolist() == order.tolist()
    assert locate(trees[order].reshape(2, -1, 6), trees).tolist() == order.reshape(2, -1).tolist()
    everything = np.stack(np.meshgrid(*[range(6)] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    everything = np.column_stack([np.full(len(everything), -1), everything])
    listed = {tuple(tree) for tree in trees.tolist()}
    is_listed = [tuple(heads) in listed for heads in everything.tolist()]
    assert (locate(everything, trees) >= 0).tolist() == is_listed
    assert sum(is_listed) == len(trees)


@pytest.mark.parametrize("word", range(4))
@pytest.mark.parametrize("value", [-7, -1, 0, 4, 5, 2**31 - 1])
def test_locate_is_not_fooled_by_digits_beyond_the_base(word, value):
    trees = law_of(graph("flat_3"), single_root=False).trees
    spoilt = trees.copy()
    spoilt[:, word] = value
    expected = [
        int(row[0]) if len(row := np.flatnonzero((trees == heads).all(axis=1))) else -1
        for heads in spoilt
    ]
    assert locate(spoilt, trees).tolist() == expected


def test_locate_refuses_trees_that_do_not_fit():
    trees = np.zeros((1, 18), dtype=np.int32)
    with pytest.raises(ValueError, match="17 words does not fit"):
        locate(trees, trees)


# ---- judges and trials ----


def _proportional(law, num_draws):
    """As near to the law as whole numbers of draws come."""
    return np.repeat(law.trees, np.round(num_draws * law.probabilities).astype(int), axis=0)


def test_judges_count_what_they_say():
    law = law_of(graph("two_words_2"), single_root=False)
    draws = _proportional(law, 3_300)
    fit = judge_trees(draws, law)
    assert (fit.num_cells, fit.degrees_of_freedom, fit.num_draws) == (3, 2, 3_300)
    assert fit.p_value == pytest.approx(1.0)
    family = judge_arcs_of(draws, law)
    assert [about for about, _ in family.members] == ["the head of word 1", "the head of word 2"]
    assert family.p_value == pytest.approx(1.0)
    assert judge_consecutive(draws, law).num_draws == 1_650
    assert judge_consecutive(draws, law).p_value < 1e-100


def test_judges_name_what_is_not_a_tree():
    law = law_of(graph("two_words_2"), single_root=False)
    draws = _proportional(law, 3_300)
    draws[7] = [-1, 2, 1]
    for judge in (judge_trees, judge_consecutive):
        fit = judge(draws, law)
        assert fit.p_value == 0.0
        assert "heads [-1, 2, 1]" in fit.report()
    # Many different ones are all counted, though not all named.
    draws = np.concatenate([draws, np.full((500, 3), 9) + np.arange(500)[:, np.newaxis]])
    fit = judge_trees(draws, law)
    assert sum(cell.observed for cell in fit.impossible) == 501
    assert len(fit.impossible) < 200


def test_judge_arcs_refuses_absent_arcs_and_nonsense():
    sparse = law_of(graph("sparse_5"), single_root=True)
    draws = _proportional(sparse, 5_000)
    assert judge_arcs_of(draws, sparse).p_value > 0.99
    for value in (2, -1, 6):  # 2 -> 1 is no arc of this graph, and the others are no nodes
        spoilt = draws.copy()
        spoilt[0, 1] = value
        assert judge_arcs(spoilt, arc_marginals(sparse)).p_value == 0.0


def test_ordered_judges_refuse_repeats_and_what_is_not_a_tree():
    law = law_of(graph("counter_example_3"), single_root=True)
    pairs = np.array(list(permutations(range(3), 2)) * 100)
    draws = law.trees[pairs]
    assert judge_ordered(draws, law).p_value == pytest.approx(1.0)
    assert judge_inclusion(draws, law).p_value == 1.0
    repeated = draws.copy()
    repeated[5, 1] = repeated[5, 0]
    cyclic = draws.copy()
    cyclic[5, 1] = [-1, 2, 1, 1]
    for spoilt in (repeated, cyclic):
        assert judge_ordered(spoilt, law).p_value == 0.0
        assert judge_inclusion(spoilt, law).p_value == 0.0


def test_order_matters_to_the_ordered_judge_only():
    law = law_of(graph("two_words_2"), single_root=True)
    draws = np.tile(law.trees, (1_000, 1, 1))
    assert judge_inclusion(draws, law).p_value == 1.0
    assert judge_ordered(draws, law).p_value < 1e-12
    assert judge_ordered(draws[:, ::-1], law).p_value < 1e-12


def test_judges_refuse_other_shapes_and_types():
    law = law_of(graph("two_words_2"), single_root=False)
    with pytest.raises(ValueError, match=r"2 axes, the last of length 3, found shape \(4, 4\)"):
        judge_trees(np.zeros((4, 4), dtype=np.int32), law)
    with pytest.raises(ValueError, match="3 axes"):
        judge_ordered(law.trees, law)
    with pytest.raises(TypeError, match="integer type, found float64"):
        judge_trees(law.trees.astype(np.float64), law)
    with pytest.raises(ValueError, match=r"shape \(draws, 3\), found \(4, 4\)"):
        judge_arcs(np.zeros((4, 4), dtype=np.int32), np.eye(3))


def test_trials_refuse_a_sampler_that_returns_too_few():
    def lazy(log_weights, num_draws, seed):
        return np.tile(np.array([-1, 0], dtype=np.int32), (num_draws - 1, 1))

    def lazy_ordered(log_weights, num_repeats, length, seed):
        return np.zeros((num_repeats, length - 1, len(log_weights)), dtype=np.int32)

    with pytest.raises(ValueError, match=r"returned shape \(9, 2\), asked for \(10, 2\)"):
        trial(lazy, "one_word_1", single_root=False, num_draws=10)(0)
    with pytest.raises(ValueError, match=r"shape \(10, 1, 3\), asked for \(10, 2, 3\)"):
        ordered_trial(lazy_ordered, "two_words_2", single_root=True, num_repeats=10, length=2)(0)


def test_repeated_draws_use_the_seed_and_one_stream():
    seen = []

    def draw(weights, rng):
        seen.append((weights[0, 1], rng.random()))
        return np.array([-1, 0])

    sampler = repeat_draw(draw)
    log_weights = graph("one_word_1").log_weights
    assert sampler(log_weights, 3, 5).tolist() == [[-1, 0]] * 3
    sampler(log_weights, 3, 5)
    sampler(log_weights, 3, 6)
    assert all(weight == pytest.approx(0.3, rel=1e-15) for weight, _ in seen)
    numbers = [number for _, number in seen]
    assert numbers[:3] == numbers[3:6]
    assert len(set(numbers)) == 6


# ---- the ledger ----


def test_shares_add_up_to_the_budget():
    assert ALPHA_RUN == 1e-6
    assert alpha_per_check() == ALPHA_RUN / NUM_CHECKS
    assert alpha_per_check(4) == pytest.approx(2.5e-7)
    # The least expectation was chosen for levels down to this one; beyond it, raise MIN_EXPECTED.
    assert alpha_per_check() >= 1e-9


def test_seed_is_a_fixed_function_of_the_name():
    check = Check("name", lambda seed: binomial_test(seed % 10, 10, 0.5))
    assert check.seed == 0x82A3537F  # the first eight digits of `printf name | sha256sum`
    assert check.run() == check.judge(check.seed) == check.run()
    assert Check("other", check.judge).seed != check.seed


def test_two_checks_of_one_name_are_refused():
    check = Check("name", lambda seed: binomial_test(0, 10, 0.0))
    require_unique([check, Check("other", check.judge)])
    with pytest.raises(ValueError, match="a name of its own, shared: name"):
        require_unique([check, Check("other", check.judge), Check("name", check.judge)])


# ---- the catalogue ----


@pytest.mark.parametrize("target", CATALOGUE.values(), ids=lambda target: target.name)
def test_graph_is_what_it_says(target):
    assert target.name.endswith(f"_{target.num_words}")
    assert not target.log_weights.flags.writeable
    spanning = law_of(target, single_root=False)
    assert spanning.probabilities.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.all(spanning.probabilities > 0.0)  # underflow would make a tree impossible
    num_root_arcs = np.count_nonzero(spanning.trees == 0, axis=1)
    assert target.has_dependency_trees == bool(np.any(num_root_arcs == 1))
    if target.has_dependency_trees:
        dependency = law_of(target, single_root=True)
        kept = spanning.probabilities * (num_root_arcs == 1)
        np.testing.assert_array_equal(dependency.trees, spanning.trees[num_root_arcs == 1])
        np.testing.assert_allclose(
            dependency.probabilities, kept[kept > 0] / kept.sum(), rtol=1e-11
        )


@pytest.mark.parametrize("target", CATALOGUE.values(), ids=lambda target: target.name)
def test_walkable_graphs_are_walkable(target):
    # The chance that the chain, absorbed in the root, is not there after 500 steps, by start.
    arcs = np.where(np.eye(target.num_words + 1, dtype=bool), -np.inf, target.log_weights)[:, 1:]
    steps = np.exp(arcs - arcs.max(axis=0))
    steps /= steps.sum(axis=0)
    # Stepwise rather than by a solve, which is singular to float64 on the worst graphs.
    still_walking = np.ones(target.num_words)
    for _ in range(500):
        still_walking = still_walking @ steps[1:]
    assert target.is_walkable == bool(np.all(still_walking < 0.01))


@pytest.mark.parametrize("target", CATALOGUE.values(), ids=lambda target: target.name)
def test_plain_graphs_are_plain(target):
    with np.errstate(over="ignore"):
        weights = np.exp(target.log_weights)
    np.fill_diagonal(weights, 0.0)
    is_held = np.all(np.isfinite(weights)) and np.all(
        (weights > 0) == (target.log_weights > -np.inf)
    )
    laplacian = np.diag(weights.sum(axis=0)) - weights
    is_plain = is_held and np.linalg.cond(laplacian[1:, 1:]) < 1e8
    assert target.is_plain == is_plain


def test_counts_of_flat_graphs_are_known():
    # Cayley: (n + 1)^(n - 1) spanning trees, n^(n - 1) with a single arc from the root.
    for name, spanning, dependency in (("flat_3", 16, 9), ("flat_4", 125, 64)):
        assert law_of(graph(name), single_root=False).num_trees == spanning
        assert law_of(graph(name), single_root=True).num_trees == dependency


def test_shifted_columns_leave_the_law_alone():
    for single_root in (False, True):
        plain = law_of(graph("skewed_3"), single_root=single_root)
        shifted = law_of(graph("shifted_3"), single_root=single_root)
        np.testing.assert_array_equal(plain.trees, shifted.trees)
        np.testing.assert_allclose(plain.probabilities, shifted.probabilities, rtol=1e-11)


def test_hostile_graphs_are_hostile():
    near_deterministic = law_of(graph("near_deterministic_4"), single_root=False).probabilities
    rest = np.sort(near_deterministic)[:-1].sum()
    assert 1e-9 < rest < 1e-8
    largest = np.log(np.finfo(np.float64).max)
    shifted = graph("shifted_3").log_weights[0, 1:]
    assert shifted.max() > largest
    assert shifted.min() < -largest
