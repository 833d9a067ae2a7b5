"""Estimators against exact expectations: over all outcomes where these can be listed.

Why this is not circular. Where draws are `Scripted`, the estimators under test are called once for
every outcome that sampling without replacement can have, and the results are averaged with the
outcomes' exact probabilities. Those come from the definition: tree t arrives after an exponential
time of rate p(t), the order of arrival is the order of draw, and minus the logarithm of the time is
the perturbed log-probability. What is left to chance, that real draws follow this law, is tested
with real draws at a false-alarm rate that is derived, not chosen by trying seeds.
"""

import itertools
import math

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, Draws, SpanningTrees
from arborand.enumeration import tree_law
from arborand.estimators import (
    Estimate,
    expectation,
    expectation_without_replacement,
    sum_and_sample,
)
from verification.graphs import graph

KINDS = pytest.mark.parametrize("kind", [SpanningTrees, DependencyTrees], ids=lambda k: k.__name__)
EPSILON = np.finfo(np.float64).eps
# Averages over outcomes are sums of at most 1e5 terms of a few roundings each; integrals over times
# come from the trapezoidal rule, whose error is no larger: see `log_times`.
ROUNDING = 1e-12
STEP = 0.25
# For each random check; there are nine, so one false alarm in 1e8 choices of all their seeds.
FALSE_ALARM = 1e-9

# Words 1 and 2 are joined in three ways, word 3 hangs under the root or under 1: six trees.
SIX_TREES = np.full((4, 4), -np.inf)
for (_head, _dependent), _weight in {
    (0, 1): 0.7,
    (2, 1): 2.0,
    (0, 2): 1.0,
    (1, 2): 0.4,
    (0, 3): 0.3,
    (1, 3): 1.1,
}.items():
    SIX_TREES[_head, _dependent] = math.log(_weight)


class Table:
    """A function of trees with no structure at all, and what is true of it."""

    def __init__(self, log_weights, *, single_root=False, shape=(), seed=0, shift=0.0):
        self.heads, self.probability = tree_law(log_weights, single_root=single_root)
        generator = np.random.default_rng(seed)
        self.values = shift + generator.normal(size=(len(self.heads), *shape))
        self.row = {tuple(heads): i for i, heads in enumerate(self.heads.tolist())}
        self.mean = np.tensordot(self.probability, self.values, axes=1)
        self.variance = np.tensordot(self.probability, (self.values - self.mean) ** 2, axes=1)

    def __call__(self, heads):
        return self.values[[self.row[tuple(h)] for h in heads.tolist()]]


class Scripted(SpanningTrees):
    """A distribution whose draws without replacement are written down beforehand."""

    script: Draws

    def sample_without_replacement(self, k, *, rng=None):
        assert k == len(self.script)
        return self.script


def scripted(heads, log_prob, log_remaining, perturbed_log_prob):
    distribution = Scripted(np.zeros((heads.shape[1], heads.shape[1])))
    distribution.script = Draws(
        heads,
        np.asarray(log_prob),
        np.asarray(log_remaining),
        np.asarray(perturbed_log_prob),
        np.int64(len(heads)),
        np.bool_(False),
    )
    return distribution


def scripted_order(table, order):
    """Draws of these trees, with the masses that are left before each."""
    p = table.probability[list(order)]
    rest = [math.fsum(table.probability) - math.fsum(p[:j]) for j in range(len(p))]
    unread = np.full(len(p), np.nan)
    return scripted(table.heads[list(order)], np.log(p), np.log(rest), unread)


def scripted_threshold(table, chosen, threshold_tree, log_time):
    """Draws of the chosen trees, and then of the threshold tree at a given time."""
    order = [*chosen, threshold_tree]
    perturbed = np.full(len(order), np.nan)  # only the last is to be read
    perturbed[-1] = -log_time
    unread = np.full(len(order), np.nan)
    return scripted(table.heads[order], np.log(table.probability[order]), unread, perturbed)


def chance_of_order(p, order):
    left = 1.0
    answer = 1.0
    for tree in order:
        answer *= p[tree] / left
        left -= p[tree]
    return answer


def log_times(p):
    """Nodes of the trapezoidal rule for the logarithm of a time of arrival.

    The integrands are products of exp(-rate * time), 1 - exp(-rate * time) and inverses of the
    latter, times a power of the time: analytic for |imaginary part of log time| < pi / 2, with
    poles right beyond. So the rule's error is exp(-2 pi (pi / 2) / STEP) times a constant, and as
    it was 2e-11 of the result at worst for a step of 0.3, it is 3e-14 for 0.25. To the left the
    integrands fall at least like the time itself (e^-42 at the first node), to the right they are
    below exp(-60).
    """
    return np.arange(-42.0, math.log(60.0 / p.min()), STEP)


def thresholds(table, num_draws):
    """All outcomes that the threshold estimator can see: draws, and how likely they are.

    The trees of a set arrive before a time, another tree at that time, all others after it.
    """
    p = table.probability
    everything = range(len(p))
    for log_time in log_times(p):
        time = math.exp(log_time)
        before, after = -np.expm1(-p * time), np.exp(-p * time)
        for chosen in itertools.combinations(everything, num_draws):
            late = [t for t in everything if t not in chosen]
            chance = STEP * time * before[list(chosen)].prod() * after[late].prod()
            for t in late:
                yield scripted_threshold(table, chosen, t, log_time), chance * p[t]


def orders(table, num_draws):
    """All sequences of one tree more than are evaluated, and how likely they are."""
    p = table.probability
    for order in itertools.permutations(range(len(p)), num_draws + 1):
        yield scripted_order(table, order), chance_of_order(p, order)


def moments(outcomes, estimator):
    """Average an estimator over outcomes: total chance, mean, variance, mean squared error bar."""
    results = [(chance, estimator(distribution)) for distribution, chance in outcomes]
    chance = np.array([c for c, _ in results])
    value = np.array([e.value for _, e in results])
    error = np.array([e.standard_error for _, e in results])
    mean = np.tensordot(chance, value, axes=1)
    # About the mean: a difference of second moments would cancel.
    variance = np.tensordot(chance, (value - mean) ** 2, axes=1)
    return chance.sum(), mean, variance, np.tensordot(chance, error**2, axes=1)


def chance_of_at_least(number, rates, times):
    """P(at least `number` of independent exponential times are below each of `times`).

    Counts are convolved one tree after the other and the upper tail is summed: no subtraction.
    """
    counts = np.zeros((len(rates) + 1, len(times)))
    counts[0] = 1.0
    for rate in rates:
        before, after = -np.expm1(-rate * times), np.exp(-rate * times)
        counts[1:] = counts[1:] * after + counts[:-1] * before
        counts[0] *= after
    return counts[number:].sum(axis=0)


def threshold_variance(table, num_draws):
    """Compute the variance of the threshold estimator, by one integral a tree.

    Tree t's part has variance (p f)^2 (E[1 / q] - 1), where the threshold is the num_draws-th
    arrival among the other trees, of distribution F. Integration by parts makes the bracket
    the integral of F(x) times the derivative of -1 / q(x) = -1 / (1 - exp(-p x)).
    """
    p, f = table.probability, table.values
    times = np.exp(log_times(p))
    answer = 0.0
    for t in range(len(p)):
        arrived = chance_of_at_least(num_draws, np.delete(p, t), times)
        slope = p[t] * np.exp(-p[t] * times) / np.expm1(-p[t] * times) ** 2
        answer += (p[t] * f[t]) ** 2 * STEP * (times * arrived * slope).sum()
    return answer


def rest_variance(table, num_drawn):
    """Compute the variance of f(tree) times the mass left, for a tree drawn after so many others.

    It is half the sum of p(s) p(t) (f(s) - f(t))^2 over the pairs that are both left, and a pair
    is left if neither of its trees (the first to come has rate p(s) + p(t)) is among those drawn.
    """
    p, f = table.probability, table.values
    times = np.exp(log_times(p))
    answer = 0.0
    for s, t in itertools.combinations(range(len(p)), 2):
        rate = p[s] + p[t]
        arrived = chance_of_at_least(num_drawn, np.delete(p, [s, t]), times)
        both_left = STEP * (times * arrived * rate * np.exp(-rate * times)).sum()
        answer += p[s] * p[t] * (f[s] - f[t]) ** 2 * both_left
    return answer


def sum_and_sample_variance(table, num_distinct, num_rest):
    """Average the variances of the parts, and divide by their number: they are uncorrelated."""
    parts = [rest_variance(table, num_distinct + j) for j in range(num_rest)]
    return math.fsum(parts) / num_rest**2


# ---- exactly, over all outcomes


@pytest.mark.slow
@pytest.mark.parametrize("num_draws", [1, 2, 3, 4, 5])
def test_threshold_estimator_is_unbiased_and_so_is_its_variance(num_draws):
    # The second column has a mean far from 0, where the estimator does worst.
    table = Table(SIX_TREES, shape=(2,))
    table.values[:, 1] += 5.0
    table.mean[1] += 5.0

    total, mean, variance, squared_error = moments(
        thresholds(table, num_draws),
        lambda d: expectation_without_replacement(d, table, num_draws),
    )

    assert total == pytest.approx(1.0, rel=ROUNDING)
    np.testing.assert_allclose(mean, table.mean, rtol=0, atol=ROUNDING * np.abs(table.mean).max())
    if num_draws == 1:  # where the variance is infinite
        assert np.isnan(squared_error).all()
    else:
        np.testing.assert_allclose(squared_error, variance, rtol=ROUNDING)
        column = Table(SIX_TREES, shape=(2,))
        column.values = table.values[:, 1]
        assert threshold_variance(column, num_draws) == pytest.approx(variance[1], rel=ROUNDING)


SPLITS = pytest.mark.parametrize(
    ("num_distinct", "num_rest"), [(0, 1), (0, 2), (0, 4), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)]
)


@SPLITS
def test_sum_and_sample_is_unbiased_and_so_is_its_variance(num_distinct, num_rest):
    table = Table(SIX_TREES, shape=(3,), seed=1, shift=2.0)

    total, mean, variance, squared_error = moments(
        orders(table, num_distinct + num_rest),
        lambda d: sum_and_sample(d, table, num_distinct, num_rest),
    )

    assert total == pytest.approx(1.0, rel=ROUNDING)
    np.testing.assert_allclose(mean, table.mean, rtol=ROUNDING)
    if num_rest == 1:
        assert np.isnan(squared_error).all()
    else:
        np.testing.assert_allclose(squared_error, variance, rtol=ROUNDING)
    column = Table(SIX_TREES)
    column.values = table.values[:, 2]
    expected = sum_and_sample_variance(column, num_distinct, num_rest)
    assert expected == pytest.approx(variance[2], rel=ROUNDING)


@SPLITS
def test_sum_and_sample_is_never_worse_than_its_rest_with_replacement(num_distinct, num_rest):
    # Many functions at once: indicators, random ones, and one of a single rare tree.
    table = Table(SIX_TREES, shape=(50,), seed=2)
    table.values[:, :20] = table.values[:, :20] > 0.5
    table.values[:, 20] = np.arange(6) == table.probability.argmin()
    table.mean = table.probability @ table.values
    table.variance = table.probability @ (table.values - table.mean) ** 2

    _, _, variance, _ = moments(
        orders(table, num_distinct + num_rest),
        lambda d: sum_and_sample(d, table, num_distinct, num_rest),
    )

    assert (variance <= table.variance / num_rest * (1.0 + ROUNDING)).all()


def test_draws_with_replacement_are_unbiased_and_so_is_their_variance():
    table = Table(SIX_TREES, shape=(2,))

    class ScriptedSample(SpanningTrees):
        def sample(self, size, *, rng=None, method=None):
            assert size == len(self.rows)
            return table.heads[self.rows]

    def outcomes():
        for rows in itertools.product(range(6), repeat=3):
            distribution = ScriptedSample(SIX_TREES)
            distribution.rows = list(rows)
            yield distribution, table.probability[list(rows)].prod()

    total, mean, variance, squared_error = moments(
        outcomes(), lambda d: expectation(d, table, num_draws=3)
    )

    assert total == pytest.approx(1.0, rel=ROUNDING)
    np.testing.assert_allclose(mean, table.mean, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(variance, table.variance / 3, rtol=ROUNDING)
    np.testing.assert_allclose(squared_error, variance, rtol=ROUNDING)


@pytest.mark.slow
def test_the_normalised_estimator_is_biased_but_consistent():
    table = Table(SIX_TREES)
    bias, error = [], []
    for num_draws in (2, 4):
        _, mean, variance, _ = moments(
            thresholds(table, num_draws),
            lambda d, k=num_draws: expectation_without_replacement(d, table, k, normalise=True),
        )
        bias.append(abs(mean - table.mean))
        error.append(variance + bias[-1] ** 2)

    # The bias is real (a thousand times what rounding could do) and smaller than the error it is
    # part of; both fall, to 0 with all six trees.
    assert bias[0] > bias[1] > 1e3 * ROUNDING
    assert error[0] > error[1] > 4 * bias[1] ** 2
    assert error[0] > 4 * bias[0] ** 2
    exact = expectation_without_replacement(
        SpanningTrees(SIX_TREES), table, 6, rng=0, normalise=True
    )
    assert exact.value == pytest.approx(table.mean, rel=ROUNDING)


# ---- smaller errors than with replacement, where the distribution is peaked


def peaked(odds):
    """Skewed weights, with the arcs of one tree raised over all others."""
    log_weights = np.array(graph("skewed_3").log_weights)
    for head, dependent in ((0, 2), (2, 1), (2, 3)):
        log_weights[head, dependent] += math.log(odds)
    return log_weights


@pytest.mark.parametrize("odds", [10.0, 100.0, 1e4])
def test_exact_errors_are_smaller_on_peaked_distributions(odds):
    # By exact variances of all three, at the same number of evaluations; no draw is made.
    table = Table(peaked(odds), seed=3)
    assert table.probability.max() > 0.6  # otherwise the test is not about peaks
    for num_draws in (2, 4, 8):
        with_replacement = table.variance / num_draws
        half = num_draws // 2
        for without in (
            threshold_variance(table, num_draws),
            sum_and_sample_variance(table, half, num_draws - half),
        ):
            assert without < with_replacement
            if num_draws == 8:  # half of the 16 trees, and nearly all of the mass
                assert without < with_replacement / 100


def test_the_threshold_estimator_loses_on_a_flat_distribution_far_from_zero():
    # What the documentation warns of, and what normalising or subtracting a constant is for.
    flat = graph("flat_3").log_weights
    near = Table(flat, seed=3)
    assert threshold_variance(near, 8) < near.variance / 8
    far = Table(flat, seed=3, shift=10.0)
    assert threshold_variance(far, 8) > far.variance / 8


# ---- with real draws


def deviation(num_replicates, variance, largest):
    """How far a mean of bounded values strays from its expectation, but for FALSE_ALARM.

    Bernstein: P(|mean - expectation| >= e) <= 2 exp(-N e^2 / (2 variance + 2 largest e / 3)) for
    values that are never further than `largest` from their expectation; solved for e.
    """
    log_odds = math.log(2.0 / FALSE_ALARM)
    linear = 2.0 * largest * log_odds / 3.0
    quadratic = 8.0 * num_replicates * variance * log_odds
    return (linear + math.sqrt(linear**2 + quadratic)) / (2.0 * num_replicates)


REAL = pytest.mark.parametrize("odds", [0.3, 1.0], ids=["flatter", "skewed"])
NUM_REPLICATES = 4000


@pytest.mark.slow
@KINDS
@REAL
def test_sum_and_sample_on_real_draws(kind, odds):
    distribution = kind(peaked(odds))
    table = Table(peaked(odds), single_root=kind is DependencyTrees, seed=4)
    num_distinct, num_rest = 2, 2
    values = [
        sum_and_sample(distribution, table, num_distinct, num_rest, rng=seed).value
        for seed in range(NUM_REPLICATES)
    ]

    # The estimate is an average of values of the function with weights that add up to 1.
    largest = np.ptp(table.values)
    variance = sum_and_sample_variance(table, num_distinct, num_rest)
    allowed = deviation(NUM_REPLICATES, variance, largest)
    assert allowed < 0.15 * math.sqrt(table.variance)  # or a bias could hide
    assert abs(np.mean(values) - table.mean) < allowed


@pytest.mark.slow
@KINDS
@REAL
def test_threshold_estimator_on_real_draws(kind, odds):
    distribution = kind(peaked(odds))
    table = Table(peaked(odds), single_root=kind is DependencyTrees, seed=5, shift=1.0)
    p, f = table.probability, table.values
    num_draws = 3
    # Weights have no bound, so the estimate is set to 0 where the threshold comes before a time
    # that it seldom does. The expectation of that is known too: tree t then counts only if the
    # num_draws-th of the others comes later.
    cut = 2.0

    def estimate(seed):
        threshold = distribution.sample_without_replacement(
            num_draws + 1, rng=seed
        ).perturbed_log_prob[num_draws]
        value = expectation_without_replacement(distribution, table, num_draws, rng=seed).value
        return value if math.exp(-threshold) >= cut else 0.0

    values = [estimate(seed) for seed in range(NUM_REPLICATES)]

    times = np.append(np.exp(log_times(p)), cut)
    arrived = [chance_of_at_least(num_draws, np.delete(p, t), times) for t in range(len(p))]
    expected = sum(p * f * [1.0 - at[-1] for at in arrived])
    most = np.sort(p * np.abs(f) / -np.expm1(-p * cut))[-num_draws:].sum()
    second_moment = threshold_variance(table, num_draws) + table.mean**2
    allowed = deviation(NUM_REPLICATES, second_moment - expected**2, most + abs(expected))
    # Enough to see that trees are missing, were they not made up for by weights: those that come
    # after num_draws of the others.
    late = [
        STEP * (times * at * p_t * np.exp(-p_t * times))[:-1].sum()
        for p_t, at in zip(p, arrived, strict=True)
    ]
    assert allowed < sum(p * f * late) / 2
    assert abs(np.mean(values) - expected) < allowed


def test_draws_with_replacement_on_real_draws():
    table = Table(peaked(3.0), single_root=True, seed=6)
    estimate = expectation(DependencyTrees(peaked(3.0)), table, 100_000, rng=0)
    allowed = deviation(100_000, table.variance, np.ptp(table.values))
    assert allowed < 0.03 * math.sqrt(table.variance)
    assert abs(estimate.value - table.mean) < allowed


# ---- arc sums


@KINDS
@pytest.mark.parametrize("name", ["skewed_4", "sparse_5", "dominant_4", "shifted_3"])
def test_the_mean_of_an_arc_sum_is_that_over_all_trees(kind, name):
    log_weights = graph(name).log_weights
    heads, probability = tree_law(log_weights, single_root=kind is DependencyTrees)
    values = np.random.default_rng(7).normal(size=(*log_weights.shape, 2))
    sums = values[heads[:, 1:], np.arange(1, heads.shape[1])].sum(axis=1)

    mean = kind(log_weights).expectation(values)

    # Marginals are right to 1e-13 relative; the law to 1e-13 or better, also where shifts of 900
    # cost a factor of a thousand.
    bound = 1e-12 * np.abs(values).max() * (len(log_weights) - 1)
    np.testing.assert_allclose(mean, probability @ sums, rtol=0, atol=bound)


def test_the_mean_of_an_arc_sum_does_not_read_what_no_tree_has():
    # 2 -> 1 would close a cycle with the only arc into 2; 1 -> 3 is absent; then the diagonal,
    # column 0.
    log_weights = np.full((4, 4), -np.inf)
    log_weights[[0, 2, 1, 0], [1, 1, 2, 3]] = [0.0, 5.0, 1.0, 2.0]
    values = np.array(
        [
            [np.nan, 1.0, np.inf, 4.0],
            [-np.inf, np.nan, 2.0, np.inf],
            [np.nan, np.nan, np.inf, -np.inf],
            [np.inf, np.nan, np.nan, np.nan],
        ]
    )
    assert SpanningTrees(log_weights).expectation(values) == 7.0


def test_the_mean_of_an_arc_sum_of_infinite_values():
    d = SpanningTrees(np.zeros((3, 3)))
    assert d.expectation([[0, np.inf, 1], [0, 0, 1], [0, 1, 0]]) == np.inf
    assert d.expectation([[0, 1, 1], [0, 0, -np.inf], [0, 1, 0]]) == -np.inf
    assert np.isnan(d.expectation([[0, np.inf, -np.inf], [0, 0, 1], [0, 1, 0]]))


@KINDS
def test_the_mean_of_an_arc_sum_of_the_scores_gives_the_entropy(kind):
    d = kind(graph("sparse_5").log_weights)
    energy = d.expectation(d.log_weights)
    assert d.log_partition() - energy == pytest.approx(d.entropy(), rel=1e-12)


# ---- numbers that are hard to hold


def identity(heads):
    """Tell the trees apart, so that the estimate is the list of their weights."""
    return np.eye(len(heads))


# A threshold above 700 would be a first arrival before e^-700.
@pytest.mark.parametrize(
    ("log_prob", "margin"),
    [
        (log_prob, margin)
        for log_prob in (-1e-18, -0.5, -40.0, -744.0, -1e4)
        for margin in (-1e4, -800.0, -45.0, -37.0, -36.9, -1e-3, 3.0, 25.0, 900.0)
        if log_prob - margin < 700.0
    ],
)
def test_weights_are_those_of_high_precision(log_prob, margin):
    threshold = log_prob - margin
    heads = np.array([[-1, 0, 0], [-1, 0, 1], [-1, 2, 0]], dtype=np.int32)
    distribution = scripted(
        heads, [log_prob, log_prob, -50.0], [np.nan] * 3, [np.nan, np.nan, threshold]
    )
    estimate = expectation_without_replacement(distribution, identity, 2)

    # 1 - exp(-exp(-1e4)) starts after 4,343 zeros: as many digits, and 50 on top.
    with mpmath.workdps(50 + round(abs(margin) / math.log(10.0))):
        rate = mpmath.exp(mpmath.mpf(log_prob) - mpmath.mpf(threshold))
        weight = mpmath.exp(mpmath.mpf(log_prob)) / -mpmath.expm1(-rate)
        spread = weight * mpmath.exp(-rate / 2)
    for found, exact in ((estimate.value[0], weight), (estimate.standard_error[0], spread)):
        if exact < mpmath.mpf(10) ** -300:
            assert found < 1e-299
        else:
            # The margin is rounded to an epsilon of the larger number, and exponentiated once or
            # (where the rate counts) twice; the logarithm of the weight is rounded to an epsilon
            # of itself; a few operations on top.
            sensitivity = 1.0 + float(min(rate, 60))
            size = abs(log_prob) + abs(threshold) + 4.0
            assert abs(found / exact - 1) <= 2 * EPSILON * size * sensitivity


def test_trees_too_many_to_have_a_probability_in_float64():
    # 61^59 flat trees, each of probability 5e-106: 1 - exp(-p) would be 0.
    d = SpanningTrees(np.zeros((61, 61)))
    draws = d.sample_without_replacement(11, rng=0)
    estimate = expectation_without_replacement(d, identity, 10, rng=0)
    np.testing.assert_allclose(estimate.value, np.exp(draws.perturbed_log_prob[10]), rtol=1e-12)
    normalised = expectation_without_replacement(d, identity, 10, rng=0, normalise=True)
    np.testing.assert_allclose(normalised.value, 0.1, rtol=1e-12)


def left_over(log_odds):
    """All spanning trees of four words; one of them is exp(log_odds) times any other or more."""
    log_weights = np.zeros((5, 5))
    log_weights[[0, 1, 2, 3], [1, 2, 3, 4]] = log_odds
    best = np.array([-1, 0, 1, 2, 3])
    return log_weights, lambda heads: (heads != best).any(axis=1)


def exact_remainder(log_odds):
    """P(not the best tree), by enumeration in 50 digits."""
    log_weights, is_other = left_over(log_odds)
    heads, _ = tree_law(np.zeros((5, 5)), single_root=False)
    with mpmath.workdps(50):
        scores = [sum(log_weights[h[j], j] for j in range(1, 5)) for h in heads.tolist()]
        weights = [mpmath.exp(score - 4 * log_odds) for score in scores]
        others = mpmath.fsum(w for w, o in zip(weights, is_other(heads), strict=True) if o)
        return float(others / mpmath.fsum(weights))


@pytest.mark.parametrize("log_odds", [25.0, 45.0, 170.0])
def test_what_one_tree_leaves_over_is_not_lost(log_odds):
    # The best tree has probability 1 - 1e-10, 1 - 1e-19, 1 - 1e-73: it is drawn first.
    log_weights, is_other = left_over(log_odds)
    d = SpanningTrees(log_weights)
    truth = exact_remainder(log_odds)

    # All trees but the best are alike to the function, so the sampled rest does not vary.
    partial_sum = sum_and_sample(d, is_other, 1, 5, rng=0)
    assert partial_sum.value == pytest.approx(truth, rel=1e-12)
    assert partial_sum.standard_error <= 1e-12 * truth
    for exact in (
        expectation_without_replacement(d, is_other, 125, rng=0),
        sum_and_sample(d, is_other, 25, 100, rng=0),
    ):
        assert exact.value == pytest.approx(truth, rel=1e-12)
        assert exact.standard_error == 0.0

    def distinguish(heads):
        # The six trees next to the best, alike in probability, get 0.5, 0.6, ..., 1.0.
        second, third, fourth = heads[:, 2:].T
        code = (second == 0) + (third < 2) * (3 - third) + (fourth < 3) * (6 - fourth)
        return is_other(heads) * (0.4 + 0.1 * code)

    # Error bars on the scale of what is left over, not of its square, of 1 or of rounding. Of six
    # trees alike, three are evaluated: the first two parts of the estimate differ by 5 / 6 of what
    # is left times 0.1 or more, and all are at most 1 times that.
    bar = sum_and_sample(d, distinguish, 1, 3, rng=0).standard_error
    assert truth / 100 < bar < truth
    # ... whatever the best tree contributes.
    with_best = sum_and_sample(d, lambda h: np.where(is_other(h), distinguish(h), 1), 1, 3, rng=0)
    assert with_best.standard_error == bar
    # A weight is at least a sixth of it, and a hundred times less or ten times more would take a
    # fourth arrival of six of rate 1 after 5.6 or before 0.01, one seed in a million.
    bar = expectation_without_replacement(d, distinguish, 4, rng=0).standard_error
    assert truth / 100 < bar < 10 * truth


@pytest.mark.parametrize("num_draws", [2, 3, 10, 124])
def test_probabilities_below_any_float_leave_finite_estimates(num_draws):
    log_weights, is_other = left_over(1e4)
    d = SpanningTrees(log_weights)
    for estimate in (
        expectation_without_replacement(d, is_other, num_draws, rng=0),
        expectation_without_replacement(d, is_other, num_draws, rng=0, normalise=True),
        sum_and_sample(d, is_other, 0, num_draws, rng=0),
        sum_and_sample(d, is_other, num_draws - 2, 2, rng=0),
    ):
        assert 0.0 <= estimate.value < 1e-300
        assert 0.0 <= estimate.standard_error <= 1.0


# ---- to the last tree


@KINDS
def test_all_trees_give_the_exact_value(kind):
    table = Table(peaked(2.0), single_root=kind is DependencyTrees, shape=(2, 3), seed=8)
    d = kind(peaked(2.0))
    num_trees = len(table.heads)
    for extra in (0, 1, 10_000):
        for estimate in (
            expectation_without_replacement(d, table, num_trees + extra, rng=1),
            expectation_without_replacement(d, table, num_trees + extra, rng=1, normalise=True),
            sum_and_sample(d, table, num_trees - 1 + extra, 1, rng=1),
            sum_and_sample(d, table, 0, num_trees + extra, rng=1),
        ):
            np.testing.assert_allclose(estimate.value, table.mean, rtol=0, atol=ROUNDING)
            assert estimate.standard_error.shape == (2, 3)
            assert (estimate.standard_error == 0.0).all()
            assert estimate.num_evaluations == num_trees
    short = expectation_without_replacement(d, table, num_trees - 1, rng=1)
    assert (short.standard_error > 0.0).all()
    assert short.num_evaluations == num_trees - 1


def test_one_tree_is_enough_where_there_is_one():
    d = DependencyTrees(graph("one_word_1").log_weights)
    for estimate in (
        expectation_without_replacement(d, lambda heads: heads[:, 1] + 3.0, 1),
        sum_and_sample(d, lambda heads: heads[:, 1] + 3.0, 0, 1),
    ):
        assert (estimate.value, estimate.standard_error) == (3.0, 0.0)


def test_padding_is_not_read():
    table = Table(SIX_TREES, seed=9)
    log_weights = np.full((2, 6, 6), np.nan)
    log_weights[0] = 0.0
    log_weights[1, :4, :4] = SIX_TREES
    padded = SpanningTrees(log_weights, lengths=[5, 3])[1]
    values = np.full((6, 6), np.nan)
    values[:4, :4] = 1.0
    assert padded.expectation(values) == pytest.approx(3.0, rel=1e-12)
    exact = sum_and_sample(padded, lambda heads: table(heads[:, :4]), 0, 6, rng=0)
    assert exact.value == pytest.approx(table.mean, rel=ROUNDING)


# ---- what the functions return


def test_expectation_is_the_mean_over_the_draws():
    d = DependencyTrees(graph("skewed_4").log_weights)
    heads = d.sample(500, rng=3, method="colbourn")
    estimate = expectation(d, lambda h: h, 500, rng=3, method="colbourn")
    assert isinstance(estimate, Estimate)
    np.testing.assert_allclose(estimate.value, heads.mean(axis=0), rtol=1e-14)
    standard_error = heads.std(axis=0, ddof=1) / math.sqrt(500)
    np.testing.assert_allclose(estimate.standard_error, standard_error, rtol=1e-12)
    assert estimate.num_evaluations == 500


def test_normalised_weights_and_their_linearised_error():
    d = SpanningTrees(peaked(2.0))
    table = Table(peaked(2.0), shape=(2,), seed=9, shift=3.0)
    draws = d.sample_without_replacement(6, rng=5)
    p = np.exp(draws.log_prob[:5])
    q = 1.0 - np.exp(-np.exp(draws.log_prob[:5] - draws.perturbed_log_prob[5]))
    share = (p / q) / (p / q).sum()
    values = table(draws.heads[:5])
    value = share @ values
    error = np.sqrt((share**2 * (1.0 - q)) @ (values - value) ** 2)

    estimate = expectation_without_replacement(d, table, 5, rng=5, normalise=True)

    np.testing.assert_allclose(estimate.value, value, rtol=1e-12)
    np.testing.assert_allclose(estimate.standard_error, error, rtol=1e-12)


def test_constants_are_seen_through_but_by_the_plain_threshold_estimator():
    d = SpanningTrees(peaked(2.0))
    table = Table(peaked(2.0), seed=9)

    def shifted(heads):
        return table(heads) + 100.0

    for estimator in (
        lambda f: expectation_without_replacement(d, f, 5, rng=5, normalise=True),
        lambda f: sum_and_sample(d, f, 2, 3, rng=5),
    ):
        one, other = estimator(table), estimator(shifted)
        assert other.value == pytest.approx(one.value + 100.0, rel=1e-12)
        assert other.standard_error == pytest.approx(one.standard_error, rel=1e-12)
    plain = expectation_without_replacement(d, table, 5, rng=5)
    far = expectation_without_replacement(d, shifted, 5, rng=5)
    assert far.standard_error > 10.0 * plain.standard_error


ESTIMATORS = pytest.mark.parametrize(
    "estimator",
    [
        lambda d, f, k, **rng: expectation(d, f, k, **rng),
        lambda d, f, k, **rng: expectation_without_replacement(d, f, k, **rng),
        lambda d, f, k, **rng: expectation_without_replacement(d, f, k, normalise=True, **rng),
        lambda d, f, k, **rng: sum_and_sample(d, f, 2, k, **rng),
    ],
    ids=["expectation", "expectation_without_replacement", "normalised", "sum_and_sample"],
)


@ESTIMATORS
def test_values_of_any_shape(estimator):
    d = SpanningTrees(graph("skewed_4").log_weights)

    def cube(heads):
        return np.stack([heads == 0, heads == 1], axis=-1)

    whole = estimator(d, cube, 7, rng=2)
    assert whole.value.shape == whole.standard_error.shape == (5, 2)
    for column in np.ndindex(5, 2):
        part = estimator(d, lambda h, c=column: cube(h)[(slice(None), *c)].tolist(), 7, rng=2)
        assert isinstance(part.value, np.float64)
        assert isinstance(part.standard_error, np.float64)
        assert part.value == pytest.approx(whole.value[column], rel=1e-14)
        assert part.standard_error == pytest.approx(whole.standard_error[column], rel=1e-12)


@ESTIMATORS
def test_seeds(estimator):
    d = SpanningTrees(graph("skewed_4").log_weights)

    def first_head(heads):
        return heads[:, 1]

    assert estimator(d, first_head, 9, rng=2).value == estimator(d, first_head, 9, rng=2).value
    generator = np.random.default_rng(0)
    values = {float(estimator(d, first_head, 9, rng=generator).value) for _ in range(20)}
    assert len(values) > 1


@ESTIMATORS
def test_small_and_large_values_keep_their_error(estimator):
    # Squares of 1e200 and 1e-200 are out of float64's range; the errors are not.
    d = SpanningTrees(graph("skewed_4").log_weights)
    base = estimator(d, lambda heads: heads[:, 1], 9, rng=2)
    for scale in (1e200, 1e-200):
        scaled = estimator(d, lambda heads, s=scale: s * heads[:, 1], 9, rng=2)
        assert base.standard_error > 0.0
        assert scaled.standard_error == pytest.approx(scale * base.standard_error, rel=1e-12)


@ESTIMATORS
def test_a_single_draw_has_no_standard_error(estimator):
    d = SpanningTrees(graph("skewed_4").log_weights)
    estimate = estimator(d, lambda heads: heads, 1, rng=2)
    assert np.isfinite(estimate.value).all()
    assert np.isnan(estimate.standard_error).all()


# ---- what they refuse


@ESTIMATORS
def test_bad_functions(estimator):
    d = SpanningTrees(graph("skewed_4").log_weights)
    with pytest.raises(ValueError, match=r"shape \(\) for heads of shape"):
        estimator(d, lambda heads: 1.0, 5, rng=0)
    with pytest.raises(ValueError, match=r"shape \(5, [79]\).*lambda heads: \[function\(h\)"):
        estimator(d, lambda heads: heads.T, 7, rng=0)
    with pytest.raises(ValueError, match=r"function returned nan for the tree \[-1, "):
        estimator(d, lambda heads: np.where(np.arange(len(heads)) == 1, np.nan, 1.0), 5, rng=0)
    with pytest.raises(ValueError, match=r"function returned -inf for the tree \[-1, "):
        estimator(d, lambda heads: np.full(len(heads), -np.inf), 5, rng=0)
    with pytest.raises(TypeError, match=r"^what function returns must be an array of real numbers"):
        estimator(d, lambda heads: None, 5, rng=0)
    with pytest.raises(TypeError, match=r"^what function returns cannot be read as an array"):
        estimator(d, lambda heads: [[0.0] * j for j in range(len(heads))], 5, rng=0)
    with pytest.raises(TypeError, match=r"^function must be callable, .* not a list"):
        estimator(d, [1.0], 5, rng=0)


@ESTIMATORS
def test_bad_arguments(estimator):
    log_weights = graph("skewed_4").log_weights

    def ones(heads):
        return np.ones(len(heads))

    with pytest.raises(
        TypeError, match=r"single graph, but this is a batch of shape \(2,\); index"
    ):
        estimator(SpanningTrees([log_weights] * 2), ones, 5, rng=0)
    with pytest.raises(TypeError, match=r"takes a distribution, .* not ndarray"):
        estimator(log_weights, ones, 5, rng=0)
    d = SpanningTrees(log_weights)
    with pytest.raises(ValueError, match=r"num_\w+ is 0: it must be at least 1"):
        estimator(d, ones, 0, rng=0)
    with pytest.raises(TypeError, match=r"num_\w+ must be an integer, not float"):
        estimator(d, ones, 5.0, rng=0)
    with pytest.raises(TypeError, match="rng must be an integer seed"):
        estimator(d, ones, 5, rng="seed")


def test_bad_arguments_of_one_function():
    d = SpanningTrees(graph("skewed_4").log_weights)
    with pytest.raises(ValueError, match="num_distinct is -1: it must be at least 0"):
        sum_and_sample(d, lambda heads: heads, -1, 5)
    with pytest.raises(ValueError, match="method 'fast' is unknown"):
        expectation(d, lambda heads: heads, 5, method="fast")
    with pytest.raises(ValueError, match=r"arc_values has shape \(4, 4\): expected \(5, 5\)"):
        d.expectation(np.ones((4, 4)))
    with pytest.raises(TypeError, match="arc_values must be an array of real numbers"):
        d.expectation(np.full((5, 5), "a"))
    values = np.zeros((5, 5, 2))
    values[3, 2, 1] = np.nan
    with pytest.raises(ValueError, match=r"arc_values\[3, 2\] is nan on an arc of probability 0\."):
        d.expectation(values)
