"""The compiled core draws the same trees as its twin in plain Python, which reads NumPy's Philox.

Trees alone would hide a difference in the last bits of the arithmetic, because it changes a draw
once in 1e15. So the marginals, which come from the same recursion, are compared bit for bit.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, _core, sampling, without_replacement
from arborand.randomness import stream_key
from tests.kinds import KINDS, is_single_root
from tests.random_graphs import (
    dense_scores,
    heavy_tails,
    mutual_pairs,
    negligible_roots,
    nested_traps,
    one_tree,
    sparse_scores,
)
from verification import twin, twin_ancestral, twin_numbers
from verification.sparse_graphs import QUIET_4, SIDE_DOORS_4, TWO_PAIRS_4
from verification.twin_numbers import UnboundedDouble
from verification.twin_walks import AliasTable, TreeSampler, default_budget

EPSILON = np.finfo(np.float64).eps

KINDS_AND_METHODS = [
    (SpanningTrees, "wilson"),
    (SpanningTrees, "colbourn"),
    (DependencyTrees, "wilson"),
    (DependencyTrees, "wilson_reject"),
    (DependencyTrees, "colbourn"),
    (DependencyTrees, "wilson_rc"),
]
each_kind_and_method = pytest.mark.parametrize(("kind", "method"), KINDS_AND_METHODS)

# What leaves the range of double, on the way or in the weights already.
UNBOUNDED_GRAPHS = {
    "pairs bound by e^400": mutual_pairs(3, 6, 400.0),
    "pairs bound by e^800": mutual_pairs(3, 5, 800.0),
    "heavy tails": heavy_tails(4, 4, 300.0),
    "scores of 1e11": heavy_tails(5, 3, 1e11),
}
HOSTILE_GRAPHS = {
    "roots of e^-14": negligible_roots(1, 7, -14.0),
    "roots of e^-300": negligible_roots(1, 6, -300.0),
    "pairs bound by e^60": mutual_pairs(2, 6, 60.0),
    "nested traps": nested_traps(2, 5, 150.0),
    **UNBOUNDED_GRAPHS,
}


def assert_same_trees(distribution, num_draws, method, seed, step_budget, **first):
    graphs = distribution._graphs
    heads, _ = sampling.sample(
        graphs,
        num_draws,
        method=method,
        key=stream_key(seed),
        step_budget=step_budget,
        **first,
    )
    expected = twin.sample(
        graphs.log_weights,
        graphs.lengths,
        num_draws,
        single_root=graphs.kind.has_single_root,
        method=method,
        key=stream_key(seed),
        step_budget=step_budget,
        **first,
    )
    np.testing.assert_array_equal(heads, expected.reshape(heads.shape))


# ---- with replacement ----


@each_kind_and_method
@pytest.mark.parametrize("num_words", range(1, 13))
def test_same_trees(kind, method, num_words):
    for seed, scores in enumerate(
        (dense_scores(num_words, num_words, 2.0), sparse_scores(num_words, num_words))
    ):
        budgets = (None,) if method == "colbourn" else (0, 2, num_words + 2, None)
        for step_budget in budgets:
            assert_same_trees(kind(scores), 3, method, seed, step_budget)


@each_kind_and_method
@pytest.mark.parametrize("scores", HOSTILE_GRAPHS.values(), ids=HOSTILE_GRAPHS)
def test_same_trees_of_hostile_graphs(kind, method, scores):
    assert_same_trees(kind(scores), 2, method, 9, None)


POPPING_METHODS = [pair for pair in KINDS_AND_METHODS if pair[1] in ("wilson", "wilson_rc")]
POPPING_GRAPHS = {
    "side_doors": np.array(SIDE_DOORS_4.log_weights),
    "two_pairs": np.array(TWO_PAIRS_4.log_weights),
    "dense": dense_scores(1, 8, 2.0),
    "cycles": mutual_pairs(2, 9, 3.0),
    "traps": nested_traps(4, 8, 6.0),
    "quiet": np.array(QUIET_4.log_weights),
    "two words": dense_scores(3, 2),
    "sparse": sparse_scores(11, 9, 0.5, 3.0),
    "sharp": dense_scores(9, 14, 60.0),
    "bound pairs": mutual_pairs(2, 9, 60.0),
    "pairs that double loses the exits of": mutual_pairs(2, 4, 700.0),
    "one tree": one_tree(1, 8, 5.0),
    "70 words": dense_scores(3, 70, 30.0),
}


@pytest.mark.parametrize(("kind", "method"), POPPING_METHODS)
@pytest.mark.parametrize("name", POPPING_GRAPHS)
def test_same_trees_by_popping(kind, method, name):
    scores = POPPING_GRAPHS[name]
    num_words = len(scores) - 1
    # The twin's ancestral draws are slow where there are many words.
    budgets = (1, num_words, num_words + 3, 3 * num_words, None) if num_words < 20 else (None,)
    for step_budget in budgets:
        assert_same_trees(kind(scores), 20, method, 6, step_budget, pops="always")


SHARP_GRAPHS = {
    "pairs": mutual_pairs(3, 12, 20.0),
    "loose pairs": mutual_pairs(3, 12, 3.0),
    "pairs beside flat words": np.where(np.arange(13) < 7, mutual_pairs(4, 12, 30.0), 0.0),
    "traps": nested_traps(5, 12, 30.0),
    "shallow traps": nested_traps(5, 12, 8.0),
    "a group of words": dense_scores(6, 12) + 20.0 * (np.add.outer(range(13), range(13)) > 17),
}


@pytest.mark.parametrize(("kind", "method"), POPPING_METHODS)
@pytest.mark.parametrize("name", SHARP_GRAPHS)
def test_same_decisions_about_sharp_graphs(kind, method, name):
    assert_same_trees(kind(SHARP_GRAPHS[name]), 10, method, 7, None)


@pytest.mark.parametrize(
    ("kind", "method"), [pair for pair in KINDS_AND_METHODS if pair[1] != "colbourn"]
)
@pytest.mark.parametrize("num_words", [62, 63, 64, 65, 127, 128, 129])
def test_same_trees_where_words_of_bits_fill(kind, method, num_words):
    # The walk notes in words of 64 bits which nodes are missing, up to 64 nodes in a register.
    assert_same_trees(kind(dense_scores(num_words, num_words)), 3, method, 5, None)


@each_kind_and_method
def test_same_trees_one_by_one(kind, method):
    # Long enough for every table to be read and every budget to be met.
    assert_same_trees(kind(dense_scores(5, 4)), 200, method, 3, 6)


@each_kind_and_method
def test_same_trees_of_padded_batches(kind, method):
    lengths = np.array([[3, 1], [5, 4]])
    scores = np.stack([dense_scores(seed, 6) for seed in range(4)]).reshape(2, 2, 7, 7)
    batch = kind(scores, lengths=lengths)
    for first_graph, first_draw in ((0, 0), (7, 0), (0, 123_456), (2**62, 2**63 - 3)):
        assert_same_trees(batch, 3, method, 8, 5, first_graph=first_graph, first_draw=first_draw)


def test_fallbacks_happen_and_do_not():
    # Or the budgets above would test nothing: on these graphs a walk takes 4 steps and more.
    log_weights = SpanningTrees(dense_scores(5, 4)).log_weights
    sampler = TreeSampler(log_weights, single_root=False, method="wilson", step_budget=6)
    spent = []
    for draw in range(200):
        sampler.draw(twin_numbers.Stream((1, 2), 0, draw))
        spent.append(sampler.budget == 0)
    assert 0.2 < np.mean(spent) < 0.8
    assert default_budget(4) == 320


# ---- the arithmetic, to the last bit ----


@KINDS
@pytest.mark.parametrize("num_words", [*range(1, 13), 17, 26, 40])
def test_same_marginals_bit_for_bit(kind, num_words):
    for scores in (
        dense_scores(num_words, num_words, 20.0),
        sparse_scores(num_words, num_words),
    ):
        assert_same_marginals(kind(scores))


@KINDS
@pytest.mark.parametrize("scores", HOSTILE_GRAPHS.values(), ids=HOSTILE_GRAPHS)
def test_same_marginals_of_hostile_graphs_bit_for_bit(kind, scores):
    assert_same_marginals(kind(scores))


def assert_same_marginals(distribution):
    single_root = isinstance(distribution, DependencyTrees)
    np.testing.assert_array_equal(
        distribution.arc_marginals(),
        twin_ancestral.arc_marginals(distribution.log_weights, single_root=single_root),
    )
    if single_root:
        np.testing.assert_array_equal(
            distribution.root_marginals(),
            twin_ancestral.root_child_marginals(distribution.log_weights),
        )


@KINDS
@pytest.mark.parametrize("scores", UNBOUNDED_GRAPHS.values(), ids=UNBOUNDED_GRAPHS)
def test_unbounded_graphs_leave_the_range_of_double(kind, scores):
    # Where double is enough for all of it, nothing above compares the unbounded arithmetic.
    def read(walk, numbers):
        undecided = [twin_ancestral.UNDECIDED] * len(walk)
        twin_ancestral.decide_heads(walk, numbers, [-1, *undecided], lambda *_: undecided[0])
        return numbers

    used = twin_ancestral.in_double_or_unbounded(
        kind(scores).log_weights, read, single_root=is_single_root(kind)
    )
    assert used is twin_numbers.UNBOUNDED


# ---- without replacement ----


def assert_same_sequence(distribution, num_trees, *, method, seed=0, first=0, **switch):
    graphs = distribution._graphs
    draws = without_replacement.sample_without_replacement(
        graphs,
        num_trees,
        method=method,
        key=stream_key(seed),
        first_graph=first,
        **switch,
    )
    below = without_replacement.switch_below(method, graphs)
    for graph, item in enumerate(np.ndindex(*distribution.batch_shape)):
        single = distribution[item] if item else distribution
        nodes = slice(int(single.lengths) + 1)
        expected = twin.sample_without_replacement(
            single.log_weights[nodes, nodes],
            num_trees,
            single_root=graphs.kind.has_single_root,
            key=stream_key(seed),
            graph=first + graph,
            switch_below=float(below[graph]),
            **switch,
        )
        here = (slice(len(expected)), *item)
        assert draws.num_drawn[item] == len(expected)
        np.testing.assert_array_equal(
            draws.heads[here][..., nodes], [draw.heads for draw in expected]
        )
        for name in ("log_prob", "log_remaining", "perturbed_log_prob"):
            np.testing.assert_array_equal(
                getattr(draws, name)[here], [getattr(draw, name) for draw in expected], name
            )


EACH_METHOD = pytest.mark.parametrize("method", [None, "rejection", "partition"])


@KINDS
@EACH_METHOD
def test_same_sequence_to_the_last_tree(kind, method):
    assert_same_sequence(kind(dense_scores(1, 3)), 20, method=method)
    assert_same_sequence(kind(sparse_scores(2, 5, 0.3)), 100, method=method)


@KINDS
@EACH_METHOD
def test_same_sequence_of_larger_graphs(kind, method):
    assert_same_sequence(kind(dense_scores(3, 9, 3.0)), 12, method=method, seed=4)


@KINDS
@pytest.mark.parametrize("switch_after", range(10))
def test_same_sequence_wherever_it_switches(kind, switch_after):
    assert_same_sequence(kind(dense_scores(6, 3)), 9, method="rejection", switch_after=switch_after)


@KINDS
@pytest.mark.parametrize("most_repeats", range(4))
def test_same_sequence_however_soon_rejection_gives_up(kind, most_repeats):
    distribution = kind(dense_scores(6, 3, 3.0))
    for seed in range(10):
        assert_same_sequence(
            distribution, 9, method="rejection", seed=seed, most_repeats=most_repeats
        )


@KINDS
@EACH_METHOD
@pytest.mark.parametrize("scores", UNBOUNDED_GRAPHS.values(), ids=UNBOUNDED_GRAPHS)
def test_same_sequence_of_unbounded_graphs(kind, method, scores):
    assert_same_sequence(kind(scores), 4, method=method)


@KINDS
@EACH_METHOD
def test_same_trees_where_scores_are_kept_exactly(kind, method):
    # The twin has no third number type: it knows such scores to 16 digits, which are enough here.
    scores = heavy_tails(5, 3, 1e300)
    draws = kind(scores).sample_without_replacement(4, method=method, rng=0)
    expected = twin.sample_without_replacement(
        kind(scores).log_weights,
        4,
        single_root=is_single_root(kind),
        key=stream_key(0),
        graph=0,
        switch_below=float(without_replacement.switch_below(method, kind(scores)._graphs)[0]),
        switch_after=None,
    )
    np.testing.assert_array_equal(draws.heads, [draw.heads for draw in expected])
    np.testing.assert_allclose(draws.log_prob, [draw.log_prob for draw in expected], rtol=1e-14)


@KINDS
def test_same_sequence_of_padded_batches(kind):
    scores = np.stack([dense_scores(seed, 4) for seed in range(4)]).reshape(2, 2, 5, 5)
    batch = kind(scores, lengths=[[3, 1], [2, 4]])
    assert_same_sequence(batch, 6, method=None, first=11)


# ---- exponentials ----


def ulps_off(value, exact):
    """How far a float is from an mpmath number, in units of the float's last place."""
    return abs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(np.spacing(value)))


# Half a unit for the last rounding; for a result below 1, half as much for each of the up to three
# roundings of the reduced argument, which is below 1/2; and a little for the terms of the series.
MOST_ULPS = 1.35


def test_exponential_is_right_in_the_last_place():
    generator = np.random.default_rng(0)
    high = np.concatenate(
        [-708 * generator.random(4000), -generator.random(2000), [0.0, -708.0, -1e-300]]
    )
    # What a difference of two scores leaves over: less than half a unit of the larger part.
    low = 0.5 * np.spacing(high) * generator.uniform(-1, 1, len(high))
    with mpmath.workdps(40):
        for x, rest, value in zip(high, low, twin_numbers.exp_in_range(high, low), strict=True):
            assert ulps_off(value, mpmath.exp(mpmath.mpf(x) + mpmath.mpf(rest))) < MOST_ULPS
        # A difference without a remainder saves one of the roundings.
        for x, value in zip(high, twin_numbers.exp_in_range(high, 0 * low), strict=True):
            assert ulps_off(value, mpmath.exp(mpmath.mpf(x))) < 1


def test_unbounded_exponential_is_right_in_the_last_place():
    generator = np.random.default_rng(1)
    with mpmath.workdps(40):
        # Up to 1e8: from there on the product with the lower part of log(2) is what is rounded.
        for x in [0.0, -1e-300, *(-(10 ** generator.uniform(-3, 8, 2000)))]:
            rest = 0.5 * float(np.spacing(x)) * generator.uniform(-1, 1)
            value = twin_numbers.unbounded_exp(float(x), rest)
            exact = mpmath.exp(mpmath.mpf(x) + mpmath.mpf(rest))
            mantissa = exact / mpmath.mpf(2) ** (512 * int(value.exponent))
            assert 2.0**-256 <= value.mantissa < 2.0**256
            assert ulps_off(value.mantissa, mantissa) < MOST_ULPS


# ---- logarithms ----

# 0.5 for the last rounding, 0.12 for all before it: src/core/numbers/logarithm.hpp says why.
MOST_LOGARITHM_ULPS = 0.62


def numbers_for_logarithms():
    """Give numbers of all magnitudes, many near 1 and where another row of the table begins."""
    generator = np.random.default_rng(5)
    steps = np.arange(-300, 301)
    first = twin_numbers.FIRST_BITS + np.arange(0, 1 << 52, 1 << 44)
    rows = [(first + step).view(np.float64) * 2.0**k for step in (-1, 0, 1) for k in (-900, 0, 7)]
    powers = [2.0**k * (1 + steps * EPSILON) for k in (-1021, -3, 1, 1023)]
    near_one = 1 + generator.normal(size=2000) * 10 ** generator.uniform(-16, -0.5, 2000)
    magnitudes = np.exp(generator.uniform(-708, 709, 4000))
    subnormal = 2.0**-1022 * generator.random(200)
    special = [1.0, 0.5, 2.0, 5e-324, 2.0**-1022, np.finfo(np.float64).max]
    return np.concatenate(
        [*rows, *powers, 1 + steps * EPSILON, near_one, magnitudes, subnormal, special]
    )


@pytest.fixture(params=["baseline", _core.instruction_set()])
def instruction_set(request):
    chosen = _core.instruction_set()
    _core.use_instruction_set(request.param)
    yield request.param
    _core.use_instruction_set(chosen)


def logarithms(numbers):
    """Let the core take logarithms."""
    result = np.array(numbers, dtype=np.float64)
    _core.logarithms(result)
    return result


def test_logarithm_is_right_in_the_last_place(instruction_set):
    numbers = numbers_for_logarithms()
    with mpmath.workdps(40):
        for x, value in zip(numbers, logarithms(numbers), strict=True):
            exact = mpmath.log(mpmath.mpf(float(x)))
            assert value == 0 == exact or ulps_off(value, exact) < MOST_LOGARITHM_ULPS, x


def test_logarithm_is_that_of_the_twin(instruction_set):
    numbers = numbers_for_logarithms()
    expected = [twin_numbers.log(float(x)) for x in numbers]
    np.testing.assert_array_equal(logarithms(numbers), expected)


@pytest.mark.parametrize("length", range(1, 12))
def test_logarithms_do_not_depend_on_what_stands_beside_them(instruction_set, length):
    numbers = numbers_for_logarithms()[-length:]
    numbers[length // 2] = 0.0
    expected = [logarithms([x])[0] for x in numbers]
    np.testing.assert_array_equal(logarithms(numbers), expected)


def test_logarithms_of_what_has_none(instruction_set):
    special = [0.0, -0.0, np.inf, np.nan, -1.0, -np.inf]
    expected = [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(logarithms(special), expected)


def test_weights_become_scores_by_the_logarithm_of_the_core():
    weights = np.exp(dense_scores(3, 5, 9.0))
    weights[2, 3] = 0.0
    expected = np.full(weights.shape, -np.inf)
    for head, word in np.argwhere(weights > 0):
        if word > 0 and head != word:
            expected[head, word] = twin_numbers.log(float(weights[head, word]))
    np.testing.assert_array_equal(SpanningTrees.from_weights(weights).log_weights, expected)


def test_logarithm_of_one_plus_a_number_is_right_in_the_last_place():
    generator = np.random.default_rng(6)
    numbers = np.concatenate(
        [
            10 ** generator.uniform(-300, 3, 2000),
            -(10 ** generator.uniform(-300, -0.001, 2000)),
            -generator.random(2000),
            [np.nextafter(-1, 0), -0.5, 1.0],
        ]
    )
    with mpmath.workdps(400):
        for x in numbers:
            exact = mpmath.log1p(mpmath.mpf(float(x)))
            # That of the rounded sum, and a quotient of half as many digits.
            assert ulps_off(twin_numbers.log1p(float(x)), exact) < MOST_LOGARITHM_ULPS, x


def test_unbounded_logarithm_keeps_the_digits_of_the_mantissa():
    generator = np.random.default_rng(7)
    with mpmath.workdps(60):
        for exponent in [0, 1, -3, 1000, -1000, 1001, 10**6, -(10**9), 2**52]:
            mantissa = float(2 ** generator.uniform(-256, 256))
            high, low = UnboundedDouble(mantissa, float(exponent)).log_parts()
            exact = mpmath.log(mpmath.mpf(mantissa)) + 512 * exponent * mpmath.log(2)
            error = abs(mpmath.mpf(high) + mpmath.mpf(low) - exact)
            # What the mantissa's own logarithm is known to, and the second part of 512 log(2).
            assert error < 2.0**-53 * 0.16 + abs(exponent) * 2.0**-98, exponent


def test_product_is_exact():
    generator = np.random.default_rng(8)
    numbers = generator.normal(size=400) * 10 ** generator.uniform(-60, 60, 400)
    for x, y in zip(numbers[::2], numbers[1::2], strict=True):
        high, low = twin_numbers.exact_product(x, y)
        assert Fraction(high) + Fraction(low) == Fraction(x) * Fraction(y)


def test_difference_is_exact():
    generator = np.random.default_rng(2)
    scores = generator.normal(size=200) * 10 ** generator.uniform(-20, 20, 200)
    for x, y in zip(scores[::2], scores[1::2], strict=True):
        high, low = twin_numbers.exact_difference(x, y)
        assert Fraction(high) + Fraction(low) == Fraction(x) - Fraction(y)


# ---- numbers of any magnitude ----


def test_unbounded_numbers_agree_with_fractions():
    generator = np.random.default_rng(3)
    values = np.exp(generator.normal(size=300) * 10)

    def exactly(unbounded):
        return Fraction(unbounded.mantissa) * Fraction(2) ** (512 * int(unbounded.exponent))

    for x, y in zip(values[::2], values[1::2], strict=True):
        for operation in ("__add__", "__mul__", "__truediv__"):
            unbounded = getattr(UnboundedDouble.of(x), operation)(UnboundedDouble.of(y))
            exact = getattr(Fraction(x), operation)(Fraction(y))
            assert abs(exactly(unbounded) / exact - 1) <= EPSILON / 2
            # In the range of double they are double's own results.
            assert exactly(unbounded) == Fraction(getattr(float(x), operation)(float(y)))
    assert not UnboundedDouble()
    assert not UnboundedDouble() * UnboundedDouble.of(3.0)
    assert UnboundedDouble() + UnboundedDouble() == UnboundedDouble()
    assert float(UnboundedDouble(1.5, -4.0)) == 0.0


# ---- alias tables ----


def exact_law(table):
    """How many of the 2^64 random numbers give each outcome, by counting those of every slot."""
    count = len(table.thresholds)
    numbers = [0] * count
    for slot in range(count):
        # The slot's numbers u have u * count in [slot, slot + 1) * 2^64.
        begin, end = (-(-(at << 64) // count) for at in (slot, slot + 1))
        split = -(-((slot << 64) + table.thresholds[slot]) // count)
        numbers[slot] += split - begin
        numbers[table.aliases[slot]] += end - split
    return numbers


def weights_of_all_sizes(count):
    generator = np.random.default_rng(count)
    weights = np.exp(-40 * generator.random(count))
    weights[generator.random(count) < 0.2] = 0.0
    weights[generator.integers(count)] = 1.0
    return weights


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 33, 100])
def test_alias_table_has_the_right_law(count):
    weights = weights_of_all_sizes(count)
    table = AliasTable.of(weights)
    numbers = exact_law(table)
    assert sum(numbers) == 2**64
    total = sum(map(Fraction, weights))
    largest = int(np.argmax(weights))
    for outcome, weight in enumerate(weights):
        error = abs(numbers[outcome] - 2**64 * Fraction(weight) / total)
        # A slot holds a whole number of random numbers, and each outcome a whole number of units;
        # the largest outcome makes up for all the others.  Weights are doubles, sums of them too.
        slots = 1 + sum(alias == outcome for alias in table.aliases)
        units = count if outcome == largest else 1
        rounding = count * EPSILON * 2**64 * weight / total
        assert error < slots + units + rounding
        if weight == 0:
            assert numbers[outcome] == 0


def test_rare_arcs_are_neither_lost_nor_inflated():
    # By counting, not by waiting: P = 1e-12, 3e-12 and 1e-17 against the rest.
    weights = np.array([1.0, 1e-12, 0.5, 3e-12, 1e-17])
    numbers = exact_law(AliasTable.of(weights))
    for outcome in (1, 3, 4):
        expected = 2**64 * weights[outcome] / weights.sum()
        assert abs(numbers[outcome] - expected) < 2
        assert expected > 100  # so that 2 is little


def test_alias_table_keeps_below_its_threshold_and_no_further():
    table = AliasTable.of(np.array([3.0, 1.0]))
    assert (table.thresholds[1], table.aliases[1]) == (2**63, 0)
    # Of two slots, the second begins at 2^63; it keeps its own for half of its numbers.
    assert [table.draw(u) for u in (0, 2**63 - 1, 2**63, 3 * 2**62 - 1, 3 * 2**62, 2**64 - 1)] == [
        0,
        0,
        1,
        1,
        0,
        0,
    ]


# ---- choices in fixed point ----


class GivenNumbers:
    """A stream that holds one number of 128 bits."""

    def __init__(self, number):
        self.number = number

    def next_128(self):
        return self.number


def test_choices_in_fixed_point():
    chances = [0.5, 1e-30, 0.0, 0.5]
    shares = [twin_numbers.fixed_point(chance) for chance in chances]
    assert shares[0] == 2**119
    assert abs(shares[1] / 2**120 / 1e-30 - 1) < 1e-5
    total = sum(shares)
    # The number that is scaled to the first target beyond an outcome's share.
    first_beyond = [-(-(sum(shares[:i]) << 128) // total) for i in (1, 2)]
    drawn = [
        twin_numbers.draw_index(chances, GivenNumbers(number))
        for edge in first_beyond
        for number in (edge - 1, edge)
    ]
    assert drawn == [0, 1, 1, 3]
    assert twin_numbers.draw_index(chances, GivenNumbers(2**128 - 1)) == 3
    assert twin_numbers.draw_index([1.0], GivenNumbers(2**128 - 1)) == 0
