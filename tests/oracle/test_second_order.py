"""Covariances, entropies and divergences against the list of all trees, in many digits.

The families below are those on which float64 formulas lose everything: peaked, bound, masked, and
scores up to the end of float64's range.  Every bound is the one that the docstrings promise.
"""

import math

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from tests.enumerated_law import EnumeratedLaw
from tests.kinds import ALL_KINDS, KINDS
from tests.random_graphs import (
    dense_scores,
    mutual_pairs,
    negligible_roots,
    one_tree,
    sparse_scores,
)

SMALLEST = mpmath.mpf("1e-290")  # what lies below is promised to no accuracy


def _choice(seed, num_words, values):
    return np.random.default_rng(seed).choice(values, size=(num_words + 1, num_words + 1))


def _masked(seed, num_words, mask):
    scores = dense_scores(seed, num_words)
    return np.where(np.random.default_rng(seed + 1).random(scores.shape) < 0.5, -mask, scores)


FAMILIES = {
    "normal": dense_scores,
    "times 10": lambda seed, n: dense_scores(seed, n, 10.0),
    "times 100": lambda seed, n: dense_scores(seed, n, 100.0),
    "times 1e4": lambda seed, n: dense_scores(seed, n, 1e4),
    "sparse": lambda seed, n: sparse_scores(seed, n, 0.4, 3.0),
    "peaked": lambda seed, n: one_tree(seed, n, 44.0),  # best tree 1 - 1e-19
    "bound pairs": lambda seed, n: mutual_pairs(seed, n, 40.0),
    "weak roots": lambda seed, n: negligible_roots(seed, n, -300.0),
    "masks of 1e4": lambda seed, n: _masked(seed, n, 1e4),
    "masks of 1e9": lambda seed, n: _masked(seed, n, 1e9),
    "masks of 1e20": lambda seed, n: _masked(seed, n, 1e20),
    "masks of 1e308": lambda seed, n: _masked(seed, n, 1e308),
    "around 1e15": lambda seed, n: dense_scores(seed, n, 1e15),
    "1e30 and units": lambda seed, n: (
        1e30 * np.round(dense_scores(seed, n)) + dense_scores(seed + 1, n)
    ),
    "1e16 and 1": lambda seed, n: _choice(seed, n, [1e16, 1.0, 0.5, -1e16]),
    "the ends of the range": lambda seed, n: _choice(
        seed, n, [-1.7e308, 1.7e308, -1e308, 0.0, 1.0, 5e-324]
    ),
}
CASES = [
    pytest.param(make, seed, num_words, id=f"{name}, {num_words} words, {seed}")
    for name, make in FAMILIES.items()
    for seed, num_words in ((0, 1), (1, 2), (2, 3), (3, 3), (4, 4))
]
GRAPHS = pytest.mark.parametrize(("make", "seed", "num_words"), CASES)


def setting(kind, make, seed, num_words):
    scores = make(seed, num_words)
    return kind(scores), EnumeratedLaw(kind, scores), dense_scores(seed + 7, num_words)


def difference(found, exact):
    return abs(mpmath.mpf(float(found)) - exact)


def arcs(size):
    return ((i, j) for j in range(1, size) for i in range(size) if i != j)


def unit(num_words):
    return num_words * math.log(num_words + 1)


@KINDS
@GRAPHS
def test_covariances_of_arcs_are_exact_in_proportion_to_their_marginals(
    kind, make, seed, num_words
):
    trees, law, direction = setting(kind, make, seed, num_words)
    found, exact, chance = (
        trees.arc_covariances(direction),
        law.arc_covariances(direction),
        law.arc_marginals(),
    )
    largest = np.abs(direction).max()
    for arc in arcs(law.size):
        if chance[arc] > SMALLEST:
            assert difference(found[arc], exact[arc]) <= 1e-12 * chance[arc] * largest
        else:
            assert abs(found[arc]) <= 1e-280 * largest


@KINDS
@GRAPHS
def test_the_entropy_gradient_is_exact_whatever_the_masks(kind, make, seed, num_words):
    trees, law, _ = setting(kind, make, seed, num_words)
    found, exact, chance = trees.entropy_gradient(), law.entropy_gradient(), law.arc_marginals()
    for arc in arcs(law.size):
        if chance[arc] > SMALLEST:
            assert difference(found[arc], exact[arc]) <= 1e-12 * chance[arc] * unit(num_words)


@KINDS
@GRAPHS
def test_entropies_are_exact_without_scores(kind, make, seed, num_words):
    trees, law, _ = setting(kind, make, seed, num_words)
    exact = law.entropy()
    best = max(law.chance.values())
    # Relative where one tree has nearly all the mass and no mask is needed; else as n log(n + 1).
    promised = 1e-12 * (exact if best > 0.999 and make is FAMILIES["peaked"] else unit(num_words))
    assert difference(trees.entropy(), exact) <= promised
    for order in (0.0, 0.3, 1 - 1e-7, 1 + 1e-7, 2.0, 17.0):
        exact = law.renyi_entropy(order)
        assert difference(trees.renyi_entropy(order), exact) <= 1e-12 * max(1, exact), order


@KINDS
@GRAPHS
def test_variances_are_exact_in_proportion_to_the_mass_beside_the_best_tree(
    kind, make, seed, num_words
):
    trees, law, values = setting(kind, make, seed, num_words)
    other = dense_scores(seed + 11, num_words)
    others = 1 - max(law.chance.values())
    promised = 1e-12 * num_words**2 * np.abs(values).max() * np.abs(other).max()
    floor = mpmath.mpf("1e-290")
    variance, square = trees.variance(values), np.abs(values).max() ** 2
    assert variance >= 0
    assert difference(variance, law.covariance(values, values)) <= (
        1e-12 * num_words**2 * square * others + floor
    )
    assert difference(trees.covariance(values, other), law.covariance(values, other)) <= (
        promised * others + floor
    )
    assert difference(trees.expectation(values), law.mean(law.arc_sum(values))) <= (
        1e-14 * num_words * np.abs(values).max()
    )


@ALL_KINDS
def test_values_of_any_size_have_the_same_variance_up_to_a_power_of_two(kind):
    trees = kind(np.where(np.eye(5, k=2) == 1, -1e4, dense_scores(4, 4)))  # some marginals are 0
    values = dense_scores(5, 4)
    values[0, 2] = 0.0
    other = np.where(values > 0, 1.7, -1.7)
    for up in (480, 500, 511):
        large = np.ldexp(values, up)
        with np.errstate(all="raise"):
            assert trees.variance(large) == np.ldexp(trees.variance(values), 2 * up)
            assert trees.covariance(large, other) == np.ldexp(trees.covariance(values, other), up)
    for up in (600, 900):
        large = np.ldexp(values, up)
        with np.errstate(all="raise"):
            assert trees.variance(large) == np.inf
            assert trees.covariance(large, -large) == -np.inf
            assert trees.covariance(large, np.ldexp(other, -up)) == trees.covariance(values, other)
    with np.errstate(all="raise"):
        assert trees.variance(1e308 * other) == np.inf
        assert trees.expectation(np.full((5, 5), 1e308)) == np.inf
    # Of what no tree contains, the size does not matter.
    masked = values.copy()
    masked[0, 2] = -np.finfo(float).max
    assert trees.arc_marginals()[0, 2] == 0
    assert trees.variance(masked) == trees.variance(values)


@KINDS
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_covariances_do_not_see_what_is_added_to_a_whole_column(kind, scale):
    """Every tree has one arc into each word.  Sums here are exact, so errors are of the values."""
    trees = kind(dense_scores(4, 9, scale))
    values = np.random.default_rng(5).integers(-8, 9, (10, 10)).astype(float)
    shifted = values + 2.0**40 * np.arange(10)
    largest, chance = np.abs(values).max(), trees.arc_marginals()
    change = trees.arc_covariances(shifted) - trees.arc_covariances(values)
    assert (np.abs(change) <= 2e-12 * chance * largest).all()
    change = trees.variance(shifted) - trees.variance(values)
    assert abs(change) <= 2e-12 * 9**2 * largest**2


@KINDS
@GRAPHS
def test_pairs_of_arcs_are_exact_to_the_smallest(kind, make, seed, num_words):
    trees, law, _ = setting(kind, make, seed, num_words)
    found, exact = trees.joint_marginals(), law.joint_marginals()
    assert set(map(tuple, np.argwhere(found).tolist())) <= set(exact)
    for pair, chance in exact.items():
        if chance > SMALLEST:
            assert difference(found[pair], chance) <= 1e-12 * chance


@KINDS
@GRAPHS
def test_divergences_are_exact_for_far_and_for_close_arguments(kind, make, seed, num_words):
    trees, law, noise = setting(kind, make, seed, num_words)
    for distance in (1.0, 1e-3, 1e-6, 1e-9):
        scores = law.scores + distance * noise
        other, found = EnumeratedLaw(kind, scores), trees.kl_divergence(kind(scores))
        exact = law.kl_divergence(other)
        assert found >= 0
        assert difference(found, exact) <= 1e-13 * max(1, exact)
        if distance < 1e-2 and make is dense_scores:
            assert difference(found, exact) <= 1e-15 * unit(num_words)
    assert trees.kl_divergence(kind(law.scores)) == 0
    assert difference(trees.cross_entropy(trees), law.entropy()) <= 1e-12 * max(1, law.entropy())


@KINDS
@pytest.mark.parametrize("large", [1e3, 1e9, 1e20, 1.7e308])
def test_divergences_are_exact_if_only_small_scores_differ(kind, large):
    # The scores along the path from p to q must be small where they differ, whatever else is in the
    # column, and in the tree.
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.choice([-large, 0.0, 1.0, large], size=(4, 4))
        differs = np.abs(scores) < large
        other = scores + np.where(differs, 0.01 * rng.normal(size=scores.shape), 0.0)
        exact = EnumeratedLaw(kind, scores).kl_divergence(EnumeratedLaw(kind, other))
        found = kind(scores).kl_divergence(kind(other))
        assert difference(found, exact) <= 1e-13, seed


@KINDS
def test_divergences_near_the_largest_float_are_found_without_a_warning(kind):
    p = np.zeros((3, 3))
    q = p.copy()
    q[0, 1] = 1.7e308
    exact = EnumeratedLaw(kind, p).kl_divergence(EnumeratedLaw(kind, q))
    assert difference(kind(p).kl_divergence(kind(q)), exact) <= 1e-13 * exact


@KINDS
def test_divergences_are_finite_where_the_terms_of_a_formula_add_up_to_infinity(kind):
    # All log-probabilities are floats: no two trees differ by more than 1.6e308.
    ends = [-4e307, 4e307, 0.0, 1.0, 1e290]
    for seed in range(400):
        p, q = np.random.default_rng(seed).choice(ends, size=(2, 3, 3))
        exact = EnumeratedLaw(kind, p).kl_divergence(EnumeratedLaw(kind, q))
        found = kind(p).kl_divergence(kind(q))
        assert difference(found, exact) <= 1e-13 * 1.6e308, seed


def test_divergences_of_mixed_kinds_and_supports():
    forbidden = dense_scores(3, 2)
    forbidden[2, 1] = -np.inf
    scores, wide = dense_scores(4, 2), dense_scores(5, 4)
    for p_kind, p, q_kind, q in (
        (DependencyTrees, forbidden, DependencyTrees, scores),  # orders in epsilon differ
        (DependencyTrees, scores, SpanningTrees, scores),
        (DependencyTrees, wide, SpanningTrees, dense_scores(6, 4)),
        (SpanningTrees, sparse_scores(7, 4, 0.3), SpanningTrees, dense_scores(8, 4)),
        (DependencyTrees, sparse_scores(9, 4, 0.3), DependencyTrees, dense_scores(10, 4)),
    ):
        exact = EnumeratedLaw(p_kind, p).kl_divergence(EnumeratedLaw(q_kind, q))
        assert difference(p_kind(p).kl_divergence(q_kind(q)), exact) <= 1e-13 * max(1, exact)


# Under p the root is reached at once where under q it is not.  In so few words that is rare: of 400
# such pairs these are the ones whose shares of a higher order do not cancel.
@pytest.mark.parametrize(
    ("seed", "num_words", "density"), [(3, 4, 0.2), (165, 3, 0.4), (192, 4, 0.4)]
)
def test_divergences_of_supports_with_shares_of_a_higher_order(seed, num_words, density):
    p = sparse_scores(seed, num_words, density)
    q = dense_scores(seed + 1000, num_words)
    exact = EnumeratedLaw(DependencyTrees, p).kl_divergence(EnumeratedLaw(DependencyTrees, q))
    found = DependencyTrees(p).kl_divergence(DependencyTrees(q))
    assert difference(found, exact) <= 1e-13 * max(1, exact)


def test_divergences_are_infinite_exactly_where_a_tree_is_missing():
    q = dense_scores(0, 3)
    q[2, 3] = -np.inf
    assert SpanningTrees(dense_scores(1, 3)).kl_divergence(SpanningTrees(q)) == np.inf
    # An arc that no tree of ours can use may be forbidden: word 1 is the only child of the root,
    # so that no word can be the head of word 1.
    p = dense_scores(2, 3)
    p[0, 2:] = -np.inf
    q = np.where(np.isneginf(p), -np.inf, dense_scores(3, 3))
    q[2, 1] = q[3, 1] = -np.inf
    for kind in (SpanningTrees, DependencyTrees):
        exact = EnumeratedLaw(kind, p).kl_divergence(EnumeratedLaw(kind, q))
        assert mpmath.isfinite(exact)
        assert difference(kind(p).kl_divergence(kind(q)), exact) <= 1e-13 * max(1, exact)
    # Spanning trees with two root arcs are no dependency trees; with a single one all are.
    scores = dense_scores(4, 3)
    assert SpanningTrees(scores).kl_divergence(DependencyTrees(scores)) == np.inf
    assert SpanningTrees(p).kl_divergence(DependencyTrees(p)) == 0


M = 1e30
# The scores of p, of q, and whether q has dependency trees: what p does not use is masked in q.
MASKED_PAIRS = {
    "q's root arcs": (
        [[0, 1.0, -M], [0, 0, 0.5], [0, 0.5, 0]],
        [[0, -M, -M], [0, 0, 0.5], [0, 1.0, 0]],
        False,
    ),
    "the same arcs": (
        [[0, 0.6, -1.5, -M], [0, 0, -M, -0.8], [0, -M, 0, 0.4], [0, -0.3, -M, 0]],
        [[0, 0.7, -1.2, -M], [0, 0, -M, -0.8], [0, -M, 0, 0.1], [0, -0.3, -M, 0]],
        False,
    ),
    "a pair that is bound in both": (
        [[0, 0.7, -M, -M], [0, 0, -M, -M], [0, -M, 0, -0.2], [0, -M, 1.3, 0]],
        [[0, 0.9, -M, -M], [0, 0, -M, -M], [0, -M, 0, -0.4], [0, -M, 1.3, 0]],
        False,
    ),
    "all root arcs": (
        [[0, 0.2, 0.3, 0.4], [0, 0, 1.0, 2.0], [0, 0.5, 0, 0.7], [0, 0.1, 0.6, 0]],
        [[0, -M, -M, -M], [0, 0, 1.5, 2.0], [0, 0.5, 0, 0.3], [0, 0.2, 0.6, 0]],
        True,
    ),
    "beyond the range": (
        [[0, 0.0, 0.0], [0, 0, 0.0], [0, 0.0, 0]],
        [[0, 1.7e308, -1.7e308], [0, 0, 1.7e308], [0, -1.7e308, 0]],
        True,
    ),
}


@pytest.mark.parametrize("name", MASKED_PAIRS)
def test_divergences_are_exact_beside_masks_that_p_respects(name):
    p, q, single_root = MASKED_PAIRS[name]
    kind = DependencyTrees if single_root else SpanningTrees
    exact = EnumeratedLaw(DependencyTrees, p).kl_divergence(EnumeratedLaw(kind, q))
    found = DependencyTrees(p).kl_divergence(kind(q))
    if exact > np.finfo(float).max:
        assert found == np.inf
    else:
        assert difference(found, exact) <= 1e-13 * max(1, exact)


def test_entropies_are_relative_where_scores_are_far_apart_and_one_tree_has_the_mass():
    # The best arc into word 1 is in no tree of any weight; those that are left lie far below it.
    for far in (1e9, 1e12, 1e15, 1e100):
        scores = [[0, 20.0, 0, 0], [0, 0, 3 * far, 25.0], [0, far, 0, 0], [0, 1.0, 0, 0]]
        law = EnumeratedLaw(SpanningTrees, scores)
        assert difference(SpanningTrees(scores).entropy(), law.entropy()) <= 1e-12 * law.entropy()


@KINDS
def test_renyi_entropies_of_any_order_go_over_into_each_other(kind):
    trees = kind(dense_scores(12, 5, 3.0))
    orders = [0, 5e-324, 1e-9, 0.5, 1 - 1e-12, 1, 1 + 1e-12, 3, 1e9, 1e15, 1e16, 1e300, np.inf]
    entropies = [float(trees.renyi_entropy(order)) for order in orders]
    assert (np.diff(entropies) <= 1e-12).all()
    for close in ((0, 1), (4, 5), (5, 6), (9, 10), (10, 11), (11, 12)):
        first, second = (entropies[i] for i in close)
        assert first == pytest.approx(second, rel=1e-11)


@KINDS
@pytest.mark.parametrize("num_words", [5, 9, 20, 45])
def test_the_hessian_is_symmetric_and_its_columns_sum_to_zero(kind, num_words):
    trees = kind(dense_scores(num_words, num_words, 8.0))
    u, v = dense_scores(1, num_words), dense_scores(2, num_words)
    hu, hv = trees.arc_covariances(u), trees.arc_covariances(v)
    scale = num_words * np.abs(u).max() * np.abs(v).max()
    assert abs((u * hv).sum() - (v * hu).sum()) <= 1e-12 * scale
    np.testing.assert_allclose(hv.sum(axis=0), 0, rtol=0, atol=1e-12 * np.abs(v).max())


@KINDS
def test_minus_the_covariance_with_the_scores_is_the_entropy_gradient(kind):
    # The gap of 300 at which the gradient turns from the one to the other lies between these.
    for scale in (1.0, 50.0, 200.0):
        trees = kind(dense_scores(3, 12, scale))
        by_scores = -trees.arc_covariances(trees.log_weights)
        bound = 1e-12 * trees.arc_marginals() * (12 * np.log(13) + 8 * scale) + 1e-300
        assert (abs(by_scores - trees.entropy_gradient()) <= bound).all()


def test_values_where_there_is_no_arc_are_not_read_and_give_zero():
    scores = sparse_scores(5, 6)
    trees = SpanningTrees(scores)
    values = np.where(trees.log_weights > -np.inf, 1.0, np.nan)
    for found in (trees.arc_covariances(values), trees.entropy_gradient()):
        assert (found[trees.log_weights == -np.inf] == 0).all()
    assert trees.variance(values) == 0
    assert trees.expectation(values) == pytest.approx(6, rel=1e-15)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_direction_that_is_not_finite_on_an_arc_is_named(value):
    direction = np.zeros((2, 4, 4))
    direction[1, 2, 3] = value
    trees = SpanningTrees(np.zeros((2, 4, 4)))
    for call in (
        trees.arc_covariances,
        trees.variance,
        lambda x: trees.covariance(np.zeros((2, 4, 4)), x),
    ):
        with pytest.raises(ValueError, match=r"\[1, 2, 3\] is -?(nan|inf), on the arc 2 -> 3"):
            call(direction)


def test_huge_and_tiny_directions_keep_their_digits():
    trees = DependencyTrees(dense_scores(6, 7))
    direction = dense_scores(7, 7)
    found = trees.arc_covariances(direction)
    for scale in (2.0**-1000, 2.0**-300, 2.0**300, 2.0**1000):
        np.testing.assert_array_equal(trees.arc_covariances(direction * scale), found * scale)


@KINDS
def test_batches_give_what_single_graphs_give_with_any_number_of_workers(kind):
    scores = np.array([dense_scores(seed, 6, 5.0) for seed in range(6)]).reshape(2, 3, 7, 7)
    lengths = np.array([[6, 3, 1], [5, 2, 4]])
    direction = np.random.default_rng(0).normal(size=scores.shape)
    batch, other = kind(scores, lengths=lengths), kind(scores[::-1], lengths=lengths)
    calls = {
        "arc_covariances": lambda d, i: d.arc_covariances(direction[i], workers=3),
        "entropy_gradient": lambda d, _: d.entropy_gradient(workers=2),
        "variance": lambda d, i: d.variance(direction[i], workers=2),
        "covariance": lambda d, i: d.covariance(direction[i], scores[i]),
        "expectation": lambda d, i: d.expectation(direction[i]),
        "renyi_entropy": lambda d, _: d.renyi_entropy(2.5, workers=2),
        "kl_divergence": lambda d, i: d.kl_divergence(other[i] if i != () else other, workers=2),
        "cross_entropy": lambda d, i: d.cross_entropy(other[i] if i != () else other),
    }
    for name, call in calls.items():
        together = call(batch, ())
        for index in np.ndindex(2, 3):
            np.testing.assert_array_equal(together[index], call(batch[index], index), name)


def test_expectation_takes_trailing_axes():
    trees = DependencyTrees(dense_scores(8, 5))
    values = np.random.default_rng(1).normal(size=(6, 6, 3, 2))
    found = trees.expectation(values)
    assert found.shape == (3, 2)
    for index in np.ndindex(3, 2):
        assert found[index] == pytest.approx(trees.expectation(values[(..., *index)]), rel=1e-14)


def test_joint_marginals_of_a_large_graph_are_refused_with_their_size():
    with pytest.raises(ValueError, match=r"201\*\*4 entries, 12.2 GiB; the limit is 2 GiB"):
        SpanningTrees(np.zeros((201, 201))).joint_marginals()


def test_arguments_that_cannot_be_compared_are_refused():
    one, two = SpanningTrees(np.zeros((3, 3))), SpanningTrees(np.zeros((2, 3, 3)))
    with pytest.raises(TypeError, match="kl_divergence takes a distribution, such as"):
        one.kl_divergence(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"batch of shape \(2,\), but this one has shape \(\)"):
        one.kl_divergence(two)
    with pytest.raises(ValueError, match="graphs of other differ in length"):
        one.cross_entropy(SpanningTrees(np.zeros((4, 4))))
    with pytest.raises(ValueError, match="order is -1"):
        one.renyi_entropy(-1)
    with pytest.raises(TypeError, match="order must be a number"):
        one.renyi_entropy("2")


def test_padding_of_another_width_is_compared_all_the_same():
    scores = dense_scores(9, 3)
    padded = np.zeros((6, 6))
    padded[:4, :4] = scores
    other = SpanningTrees(dense_scores(10, 3))
    assert SpanningTrees(padded, lengths=3).kl_divergence(other) == SpanningTrees(
        scores
    ).kl_divergence(other)
