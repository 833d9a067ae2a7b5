"""Every digit on scores of any size, judged in arithmetic of any precision.

log Z within 1e-12 of the larger of 1 and itself, every marginal above 1e-290 within 1e-12 of
itself, entropies likewise: on ordinary, sparse, skewed and hostile graphs, on both sides of the
switch from doubles to unbounded doubles, and for masks and scores that no exponential can hold.
"""

import math

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, _core
from arborand.enumeration import count_trees
from tests.high_precision import by_enumeration
from tests.kinds import KINDS, is_single_root, trees_of
from tests.random_graphs import (
    dense_scores,
    heavy_tails,
    mutual_pairs,
    negligible_roots,
    nested_traps,
    one_tree,
    skewed_columns,
    sparse_scores,
    three_gates,
)
from verification.with_mpmath import by_determinant

# The promise: so much of each number, and of no number below so little.
PROMISED = 1e-12
SMALLEST_MARGINAL = 1e-290
EPSILON = np.finfo(np.float64).eps
LARGEST = np.finfo(np.float64).max
LOWEST = np.finfo(np.float64).min


def relative_error(found, exact):
    return float(abs(mpmath.mpf(float(found)) - exact) / abs(exact))


def with_gradient(compute, distribution):
    """Compute a number and its gradient in one pass, as losses in torch do."""
    graphs = distribution._graphs
    values, gradients = np.empty(len(graphs)), np.empty(graphs.log_weights.shape)
    compute(_core.Batch(graphs.log_weights, graphs.lengths, graphs.kind), 1, values, gradients)
    return values[0], gradients[0]


def assert_log_partition(distribution, exact):
    """Check log Z alone, and log Z as it comes with the marginals."""
    together, marginals = with_gradient(_core.log_partition, distribution)
    for found in (distribution.log_partition(), together):
        error = abs(mpmath.mpf(float(found)) - exact)
        assert error <= PROMISED * max(1, abs(exact))
    np.testing.assert_array_equal(marginals, distribution.arc_marginals())


def assert_marginals(distribution, exact):
    """Check every arc, and the signs, sums and zeros that hold whatever the scores."""
    found = distribution.arc_marginals()
    root_found = distribution.root_marginals()
    size = len(found)
    for head in range(size):
        for dependent in range(1, size):
            chance = exact[head][dependent]
            names = [found[head, dependent]] + [root_found[dependent]] * (head == 0)
            for name in names:
                if chance > SMALLEST_MARGINAL:
                    assert relative_error(name, chance) <= PROMISED, (head, dependent)
                else:
                    assert 0 <= name <= SMALLEST_MARGINAL * (1 + PROMISED), (head, dependent)
    rounding = size * EPSILON  # of a sum of so many terms
    np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1, rtol=0, atol=rounding)


def assert_entropy(distribution, exact, relative=PROMISED):
    """Check the entropy alone, and as it comes with its gradient."""
    together, gradient = with_gradient(_core.entropy, distribution)
    for found in (distribution.entropy(), together):
        assert found >= 0
        if exact > SMALLEST_MARGINAL:
            assert relative_error(found, exact) <= relative
    np.testing.assert_array_equal(gradient, distribution.entropy_gradient())


def assert_right(kind, scores, judge=by_determinant):
    distribution = kind(scores)
    exact = judge(scores, single_root=is_single_root(kind))
    assert_log_partition(distribution, exact.log_partition)
    assert_marginals(distribution, exact.arc_marginals)
    assert_entropy(distribution, exact.entropy)


def test_the_judges_agree():
    # They share the scores and nothing else. 1e-28: both give 30 digits.
    for seed, scale in enumerate([1, 10, 50, 300]):
        for kind in (SpanningTrees, DependencyTrees):
            scores = sparse_scores(seed, 4, 0.7, scale)
            one = by_determinant(scores, single_root=is_single_root(kind))
            other = by_enumeration(scores, single_root=is_single_root(kind))
            pairs = [(one.log_partition, other.log_partition), (one.entropy, other.entropy)]
            for row, other_row in zip(one.arc_marginals, other.arc_marginals, strict=True):
                pairs.extend(zip(row, other_row, strict=True))
            with mpmath.workdps(100):
                for x, y in pairs:
                    assert abs(x - y) <= mpmath.mpf("1e-28") * max(abs(x), mpmath.mpf("1e-300"))


# ---- families of graphs -------------------------------------------------------------------------

GRAPHS = {
    **{f"one word, {scale}": dense_scores(scale, 1, scale) for scale in (1, 300)},
    **{f"two words, {scale}": dense_scores(scale, 2, scale) for scale in (1, 10, 50, 100, 300)},
    **{
        f"deviation {scale}, {num_words} words": dense_scores(num_words, num_words, scale)
        for scale in (1, 10, 50, 100, 300)
        for num_words in (3, 6, 7, 10, 13)
    },
    **{
        f"sparse, deviation {scale}, {num_words} words": sparse_scores(
            num_words, num_words, 0.25, scale
        )
        for scale in (1, 30, 300)
        for num_words in (5, 8, 12)
    },
    **{f"pairs bound by e^{bond}": mutual_pairs(bond, 9, bond) for bond in (40, 400)},
    **{
        f"pairs bound by e^{bond}, roots e^-600": mutual_pairs(bond, 8, bond) + roots
        for bond in (40, 400)
        for roots in [np.where(np.arange(9) == 0, -600.0, 0.0)[:, None]]
    },
    **{f"roots e^-600, {n} words": negligible_roots(n, n, -600.0) for n in (1, 2, 9)},
    **{f"one tree, ahead by e^{gap}": one_tree(gap, 10, gap) for gap in (30, 100, 250, 700)},
    **{f"traps e^{depth} deep": nested_traps(depth, 8, depth) for depth in (3, 30, 90)},
    **{f"three gates of e^-{gate}": three_gates(gate, 7, gate) for gate in (30, 250, 400)},
    "skewed columns": skewed_columns(0, 9, 5000.0),
    "heavy tails": heavy_tails(1, 11, 20.0),
    "heavier tails": heavy_tails(2, 9, 100.0),
}


@KINDS
@pytest.mark.parametrize("scores", GRAPHS.values(), ids=GRAPHS.keys())
def test_all_digits_are_right(kind, scores):
    assert_right(kind, scores)


@KINDS
@pytest.mark.parametrize("seed", range(40))
def test_all_digits_are_right_on_small_graphs_of_all_scales(kind, seed):
    # Where enumeration can judge: nothing about these graphs has to be settled by a precision.
    generator = np.random.default_rng(seed)
    num_words = int(generator.integers(1, 5))
    scale = 10 ** generator.uniform(-1, 3.5)
    assert_right(kind, sparse_scores(seed, num_words, 0.6, scale), by_enumeration)


def test_the_graphs_include_what_the_usual_formula_cannot_do():
    # In doubles the inverse Laplacian gives something else altogether: the tests above can fail.
    failures = 0
    for scores in GRAPHS.values():
        size = len(scores)
        shifted = np.array(scores)
        shifted[:, 0] = shifted[range(size), range(size)] = -np.inf
        weights = np.exp(shifted[:, 1:] - shifted[:, 1:].max(axis=0))
        laplacian = np.diag(weights.sum(axis=0)) - weights[1:]
        with np.errstate(all="ignore"):
            sign, _ = np.linalg.slogdet(laplacian)
            condition = np.linalg.cond(laplacian)
        failures += bool(sign <= 0 or condition > 1e15)
    assert failures >= 10


@KINDS
@pytest.mark.parametrize("constant", [5000.0, -5000.0])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_constant_added_to_all_scores_adds_to_log_z_alone(kind, constant, scale):
    num_words = 7
    # Multiples of 2^-20, so that adding the constant rounds nothing.
    scores = np.round(dense_scores(0, num_words, scale) * 2**20) / 2**20
    before, after = kind(scores), kind(scores + constant)
    expected = before.log_partition() + num_words * constant
    assert after.log_partition() == pytest.approx(expected, rel=2 * EPSILON)
    np.testing.assert_array_equal(after.arc_marginals(), before.arc_marginals())
    np.testing.assert_array_equal(after.root_marginals(), before.root_marginals())
    assert after.entropy() == before.entropy()


@KINDS
@pytest.mark.parametrize("constant", [5000.0, -5000.0])
def test_all_digits_are_right_with_a_constant_added(kind, constant):
    assert_right(kind, dense_scores(3, 9, 10.0) + constant)
    assert_right(kind, mutual_pairs(3, 8, 400.0) + constant)


@pytest.mark.parametrize("mask", [-1e15, -1e16, -1e18, -1e20, -1e300, 1e17, 1e300])
@pytest.mark.parametrize("num_words", [2, 5, 9])
def test_masked_root_arcs_that_all_dependency_trees_need(num_words, mask):
    # A constant added to all root scores changes no probability. Beside it the scores of other arcs
    # are less than its last digit: they survive only as the rest of a difference.
    scores = dense_scores(num_words, num_words, 30.0)
    scores[0, 1:] = 0.0
    exact = by_determinant(scores, single_root=True)
    scores[0, 1:] = mask
    distribution = DependencyTrees(scores)
    assert_marginals(distribution, exact.arc_marginals)
    assert_entropy(distribution, exact.entropy)
    np.testing.assert_allclose(
        distribution.root_marginals(), distribution.arc_marginals()[0], rtol=PROMISED, atol=0
    )
    heads = distribution.sample(20, method="colbourn", rng=1)
    np.testing.assert_allclose(
        distribution.log_prob(heads),
        DependencyTrees(np.where(scores == mask, 0.0, scores)).log_prob(heads),
        rtol=PROMISED,
        atol=PROMISED,
    )


# Beside -1e30 the height of a column is lost but for the low part of the difference, in which the
# largest has to be found.
@pytest.mark.parametrize("mask", [-1e18, -1e30])
@pytest.mark.parametrize(
    "heights", [(0, 5000), (5000, 0), (0, 5000, 2500), (5000, 2500, 0), (3.5, 0.25, 40.0)]
)
def test_masked_root_arcs_into_columns_of_different_heights(heights, mask):
    scores = np.full((len(heights) + 1, len(heights) + 1), mask)
    scores[1:, 1:] = heights
    assert_right(DependencyTrees, scores, by_enumeration)
    heads = np.array(trees_of(DependencyTrees, scores))
    # Trees differ by the height of the column whose word hangs on the root.
    totals = [-float(heights[int(np.flatnonzero(tree[1:] == 0)[0])]) for tree in heads]
    exact = [mpmath.exp(total - max(totals)) for total in totals]
    expected = [float(mpmath.log(chance / mpmath.fsum(exact))) for chance in exact]
    found = DependencyTrees(scores).log_prob(heads)
    np.testing.assert_allclose(found, expected, rtol=PROMISED, atol=EPSILON)


@KINDS
@pytest.mark.parametrize("mask", [-1e18, -1e300])
def test_entropy_of_a_word_all_of_whose_arcs_are_masked(kind, mask):
    scores = dense_scores(4, 6, 3.0)
    scores[:, 3] = np.where(np.isneginf(scores[:, 3]), -np.inf, 0.0)
    exact = by_determinant(scores, single_root=is_single_root(kind)).entropy
    scores[:, 3] += mask
    assert_entropy(kind(scores), exact)


# ---- entropies near zero ------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("gap", [20, 28, 40, 80, 300, 500, 660])
def test_entropy_of_nearly_certain_trees(kind, gap):
    # e^-28 is about 1e-12: the best tree has all but so much.
    scores = one_tree(gap, 8, float(gap))
    exact = by_determinant(scores, single_root=is_single_root(kind)).entropy
    assert exact < 1e3 * math.exp(-gap) * gap
    assert_entropy(kind(scores), exact, relative=1e-9)


@KINDS
def test_entropy_of_a_single_tree_is_zero(kind):
    chain = np.full((6, 6), -np.inf)
    chain[range(5), range(1, 6)] = [700.0, -3.0, 0.1, 1e300, -1e300]
    assert kind(chain).entropy() == 0


# ---- both sides of the switch -------------------------------------------------------------------

# Doubles suffice for certain while scores within a column differ by less than 230; e^-708 is the
# last normal double, so that from there on unbounded doubles are needed for certain.
RANGES = [100, 200, 229, 231, 260, 350, 353, 354, 355, 400, 470, 500, 600, 700, 707, 708, 709, 710]


@KINDS
@pytest.mark.parametrize("score_range", [*RANGES, 744, 746, 1000, 1500])
@pytest.mark.parametrize("num_words", [2, 5, 8])
def test_all_digits_are_right_on_both_sides_of_the_switch(kind, score_range, num_words):
    scores = np.random.default_rng(num_words).uniform(0, 1, (num_words + 1, num_words + 1))
    # The extremes of every column are score_range apart.
    scores = np.round(scores * 8) / 8 * score_range
    assert_right(kind, scores)


@KINDS
def test_nothing_jumps_at_the_switch(kind):
    # The root's arc to word 1 fades away: around e^-708 it falls out of the range of doubles.
    for fading in np.arange(-760.0, -640.0, 0.25):
        scores = np.array([[0, fading, -2.0], [0, 0, 3.0], [0, 1.0, 0]])
        # Trees with the arc: 0 -> 1 -> 2 and, unless single-rooted, 0 -> 1, 0 -> 2.
        # The other, 0 -> 2 -> 1, has all the mass that a double can see: e^-1.
        with_arc = mpmath.exp(3) + (0 if is_single_root(kind) else mpmath.exp(-2))
        expected = mpmath.exp(mpmath.mpf(fading) + 1) * with_arc
        found = kind(scores).arc_marginals()[0, 1]
        # Below 1e-308 doubles are 5e-324 apart, and that is all that is lost.
        tolerance = PROMISED * expected + mpmath.mpf("1e-323")
        assert abs(mpmath.mpf(float(found)) - expected) <= tolerance


# ---- masks and scores that no exponential can hold ----------------------------------------------

# LOWEST / 4, so that the score of a tree of four masked arcs is still a number.
MASKS = [-1e4, -1e9, -1e15, -1e16, -1e20, -1e30, -1e100, -1e290, -1e300, LOWEST / 4]
ON_MASKS = pytest.mark.parametrize("mask", MASKS)


@KINDS
@pytest.mark.parametrize("mask", [*MASKS, LOWEST])
@pytest.mark.parametrize("seed", range(8))
def test_masked_arcs_that_are_not_needed_change_nothing(kind, mask, seed):
    forbidden = sparse_scores(seed, 8, 0.3)
    masked = kind(np.where(forbidden == -np.inf, mask, forbidden))
    exact = kind(forbidden)
    np.testing.assert_allclose(masked.arc_marginals(), exact.arc_marginals(), rtol=PROMISED, atol=0)
    assert masked.log_partition() == pytest.approx(exact.log_partition(), rel=PROMISED)
    assert masked.entropy() == pytest.approx(exact.entropy(), rel=PROMISED)


def assert_right_beside_masks(kind, scores, mask):
    """Check a graph of four words whose trees all need arcs of the mask's score."""
    distribution = kind(scores)
    exact = by_enumeration(scores, single_root=is_single_root(kind))
    assert_log_partition(distribution, exact.log_partition)
    assert_marginals(distribution, exact.arc_marginals)
    # The entropy is a sum over sixteen arcs of chance times score, in which the masks cancel but
    # for the rounding of the chances: beyond 1e9 nothing is said of it.
    if mask >= -1e9:
        error = abs(mpmath.mpf(float(distribution.entropy())) - exact.entropy)
        assert error <= 16 * EPSILON * abs(mask)


@KINDS
@ON_MASKS
def test_masked_arcs_that_every_tree_needs(kind, mask):
    # Two pairs of words cling to each other, and nothing else is allowed; yet there must be trees.
    scores = np.full((5, 5), mask)
    scores[1, 2] = scores[2, 1] = scores[3, 4] = scores[4, 3] = 1.0
    assert_right_beside_masks(kind, scores, mask)


def few_arcs(seed):
    """Say which arcs of a graph of four words are allowed: a quarter."""
    return np.random.default_rng(seed).random((5, 5)) < 0.25


TOO_FEW_ARCS = [seed for seed in range(6) if not count_trees(few_arcs(seed), single_root=False)]


@KINDS
@ON_MASKS
@pytest.mark.parametrize("seed", TOO_FEW_ARCS)
def test_ordinary_scores_still_count_beside_masks_that_are_needed(kind, mask, seed):
    # So few arcs are allowed that every tree needs a mask: on which arc, the other scores decide.
    scores = np.where(few_arcs(seed), dense_scores(seed, 4), mask)
    assert_right_beside_masks(kind, scores, mask)


@KINDS
@ON_MASKS
def test_of_two_masks_the_lower_one_loses(kind, mask):
    # The trees need a root arc; one is masked twice as low.
    scores = np.array([[0, mask, 2 * mask], [0, 0, 0.5], [0, 0.25, 0]])
    assert_right(kind, scores, by_enumeration)


@KINDS
@pytest.mark.parametrize("unit", [2.0**40, 2.0**66, 2.0**200, 2.0**900])
def test_huge_scores_that_cancel_leave_the_decision_to_ordinary_ones(kind, unit):
    # Two pairs of words cling to each other.  One gets its head from the root and the other from
    # the first, for 3 + 1 or for 2 + 2 huge units: ordinary scores decide.  Both from the root
    # would take 5 units.
    scores = np.full((5, 5), -np.inf)
    scores[1, 2], scores[2, 1], scores[3, 4], scores[4, 3] = 0.3, 0.7, 1.1, 0.2
    scores[0, 1], scores[1, 3] = -3 * unit, -unit
    scores[0, 4], scores[3, 1] = -2 * unit, -2 * unit
    assert_right_beside_masks(kind, scores, -3 * unit)


@KINDS
@pytest.mark.parametrize("largest", [1e4, 1e9, 1e16, 1e100, 1e300])
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_any_finite_size(kind, largest, seed):
    generator = np.random.default_rng(seed)
    magnitude = generator.choice([1.0, math.sqrt(largest), largest], (4, 4))
    assert_right(kind, magnitude * generator.normal(size=(4, 4)), by_enumeration)


@KINDS
@pytest.mark.parametrize("score", [LARGEST, LOWEST, 1e300, -1e300, 5e-324, -0.0])
def test_one_word_has_one_tree_whatever_its_score(kind, score):
    distribution = kind([[np.nan, score], [np.nan, np.nan]])
    assert distribution.log_partition() == score
    assert distribution.arc_marginals().tolist() == [[0, 1], [0, 0]]
    assert distribution.entropy() == 0
    assert distribution.log_prob([-1, 0]) == 0


@KINDS
@pytest.mark.parametrize("scale", [1, 100, 1e4, 1e9])
def test_log_prob_is_that_of_the_judge(kind, scale):
    scores = dense_scores(5, 3, scale)
    exact = by_enumeration(scores, single_root=is_single_root(kind))
    for heads in trees_of(kind, scores):
        with mpmath.workdps(50):
            total = mpmath.fsum(mpmath.mpf(float(scores[heads[j], j])) for j in (1, 2, 3))
            expected = total - exact.log_partition
        error = abs(mpmath.mpf(float(kind(scores).log_prob(heads))) - expected)
        # Right to the promised digits of itself; where it is near 0, of the probability.
        assert error <= PROMISED * max(1, abs(expected))


@KINDS
@pytest.mark.parametrize("mask", [-1e4, -1e6, -1e9])
def test_log_prob_of_trees_that_all_need_masks(kind, mask):
    # Whatever all trees have in common cancels, and must not take the digits with it.
    scores = np.array([[0, mask, mask], [0, 0, 0.5], [0, 0.25, 0]])
    share = 1 / (1 + math.exp(-0.25))  # of the tree 0 -> 1 -> 2, against 0 -> 2 -> 1
    found = np.exp(kind(scores).log_prob([[-1, 0, 1], [-1, 2, 0]]))
    np.testing.assert_allclose(found, [share, 1 - share], rtol=PROMISED)


@KINDS
def test_log_prob_beyond_the_range_of_doubles_is_minus_infinity_without_a_warning(kind):
    scores = np.array([[0, LOWEST, LOWEST, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 1e300, LOWEST, 0]])
    certain, hopeless = [-1, 3, 1, 0], [-1, 0, 1, 1] if is_single_root(kind) else [-1, 0, 0, 0]
    assert kind(scores).log_prob([certain, hopeless]).tolist() == [0, -np.inf]


# ---- walks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bond", [1.0, 40.0, 400.0, 700.0])
def test_expected_steps_of_a_walk_caught_between_two_words(bond):
    # From either word the walk leaves with chance p = 1 / (1 + e^bond), else goes to the other.
    # Visits to the start, by a walk from there: 1 / (1 - (1 - p)^2); two words.
    scores = np.array([[0, 0, 0], [0, 0, bond], [0, bond, 0]])
    with mpmath.workdps(700):
        leave = 1 / (1 + mpmath.exp(bond))
        exact = 2 / (1 - (1 - leave) ** 2)
    assert relative_error(SpanningTrees(scores).expected_walk_steps(), exact) <= PROMISED


def test_walks_that_never_end_take_infinitely_many_steps():
    scores = np.array([[0, 0, 0], [0, 0, 1e4], [0, 1e4, 0]])
    assert SpanningTrees(scores).expected_walk_steps() == np.inf


@pytest.mark.parametrize("barrier", [1.0, 40.0, 300.0, 600.0])
def test_mean_hitting_time_across_a_barrier(barrier):
    # Pairs (1, 2) and (3, 4): a walk changes sides from 2 to 3 or back with chance p.
    scores = np.full((5, 5), -np.inf)
    scores[0] = 0.0
    scores[2, 1] = scores[1, 2] = scores[3, 4] = scores[4, 3] = 0.0
    scores[3, 2] = scores[2, 3] = -barrier
    with mpmath.workdps(600):
        p = mpmath.exp(-barrier) / (1 + mpmath.exp(-barrier))
        # A birth-and-death chain 1 - 2 - 3 - 4: pi is (1, r, r, 1) / (2 + 2 r), r = 1 / (1 - p).
        r = 1 / (1 - p)
        stationary = [x / (2 + 2 * r) for x in (1, r, r, 1)]
        # Steps over an edge are the mass behind it over the flow across it.
        behind = [sum(stationary[: k + 1]) for k in range(3)]
        flow = [stationary[0], stationary[1] * p, stationary[3]]
        forward = [mass / rate for mass, rate in zip(behind, flow, strict=True)]
        backward = [(1 - mass) / rate for mass, rate in zip(behind, flow, strict=True)]
        exact = mpmath.fsum(
            stationary[i] * stationary[j] * mpmath.fsum(forward[i:j] if i < j else backward[j:i])
            for i in range(4)
            for j in range(4)
        )
    assert relative_error(DependencyTrees(scores).mean_hitting_time(), exact) <= PROMISED


@pytest.mark.parametrize("method", [None, "partition", "rejection"])
def test_perturbed_log_probabilities_fall_to_minus_infinity_and_stay_there(method):
    # Log-probabilities of -1e15, -2e30, -1.7e308 and, several times, beyond float64.
    scores = np.array(
        [
            [0.0, -np.inf, 1e30, 3.5],
            [0.0, 0.0, -1e30, 3.5],
            [0.0, -1.7e308, 0.0, 1e15],
            [0.0, 1.7e308, -1.7e308, 0.0],
        ]
    )
    draws = SpanningTrees(scores).sample_without_replacement(100, rng=0, method=method)
    assert draws.exhausted
    perturbed = draws.perturbed_log_prob
    assert perturbed[-1] == -np.inf
    assert (perturbed[1:] <= perturbed[:-1]).all()
    np.testing.assert_array_equal(draws.log_prob, SpanningTrees(scores).log_prob(draws.heads))
