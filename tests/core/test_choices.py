"""Choices in integer arithmetic: what every 64-bit or 128-bit number chooses, counted exactly."""

from fractions import Fraction

import numpy as np
import pytest

WORD = 2**64
SCALE = 2**120  # of fixed-point chances
WEIGHTS = {
    "one outcome": [3.0],
    "two equal ones": [1.0, 1.0],
    "small integers": [1.0, 2.0, 3.0, 4.0, 5.0],
    "zeros between": [0.0, 1.0, 0.0, 2.5, 0.0, 0.0, 0.3],
    "thirds": [1 / 3, 1 / 3, 1 / 3],
    "far apart": [1.0, 1e-5, 1e-10, 1e-15, 1e-18, 1e-25, 1e-300],
    "most of it in the last": [1e-12] * 40 + [1.0],
    "random": np.random.default_rng(1).random(37).tolist(),
    "heavy tails": np.abs(np.random.default_rng(2).standard_cauchy(64)).tolist(),
    "nine of three": [1.0, 0.1, 0.01] * 3,
}
each_weights = pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)


def shares(weights):
    total = sum(map(Fraction, weights))
    return [Fraction(weight) / total for weight in weights]


# ---- alias tables


def table_shares(table):
    """Add up what the slots of a table give to each outcome."""
    count = len(table[0])
    given = [Fraction(0)] * count
    for slot, (threshold, alias) in enumerate(zip(*table, strict=True)):
        given[slot] += Fraction(int(threshold), WORD * count)
        given[alias] += Fraction(WORD - int(threshold), WORD * count)
    return given


@each_weights
def test_alias_tables_give_every_outcome_its_share_rounded_down_to_64_bits(parts, weights):
    # The float64 quotient is what the table starts from; nothing after it is rounded.
    total = parts.ordered_sum(weights)
    largest = int(np.argmax(weights))
    expected = [Fraction(int(weight / total * WORD), WORD) for weight in weights]
    expected[largest] = 1 - (sum(expected) - expected[largest])
    assert table_shares(parts.alias_table(weights)) == expected


@each_weights
def test_alias_tables_are_as_good_as_they_promise(parts, weights):
    given = table_shares(parts.alias_table(weights))
    assert sum(given) == 1
    largest = int(np.argmax(weights))
    # The sum of the weights and each quotient are rounded in float64, and then to 64 bits.
    relative = Fraction(len(weights) + 2, 2**53)
    for outcome, (share, exact) in enumerate(zip(given, shares(weights), strict=True)):
        if outcome == largest:  # takes over the errors of all others
            assert abs(share - exact) <= relative + Fraction(len(weights), WORD)
        else:
            assert abs(share - exact) <= relative * exact + Fraction(1, WORD)
        if weights[outcome] == 0:
            assert share == 0


@each_weights
def test_draws_count_out_the_table_number_by_number(parts, weights):
    # All 2^64 numbers at once: each slot's numbers are an interval, split at its threshold.
    table = parts.alias_table(weights)
    count = len(weights)
    numbers, expected, drawn_by = [], [], [0] * count
    for slot, (threshold, alias) in enumerate(zip(*table, strict=True)):
        ends = [slot * WORD, slot * WORD + int(threshold), (slot + 1) * WORD]
        first, middle, end = (-(-product // count) for product in ends)
        for begin, stop, outcome in ((first, middle, slot), (middle, end, int(alias))):
            drawn_by[outcome] += stop - begin
            if begin < stop:
                numbers += [begin, stop - 1]
                expected += [outcome, outcome]
    assert parts.alias_outcomes(table, numbers) == expected
    # Whole numbers cannot split a slot at its threshold exactly: one in 2^64 at each end.
    for outcome, share in enumerate(table_shares(table)):
        slots = 1 + sum(int(alias) == outcome for alias in table[1])
        assert abs(Fraction(drawn_by[outcome], WORD) - share) < Fraction(2 * slots, WORD)
        if weights[outcome] == 0:
            assert drawn_by[outcome] == 0


def test_a_table_without_weights_chooses_something_that_exists(parts):
    table = parts.alias_table([0.0, 0.0, 0.0])
    assert set(parts.alias_outcomes(table, [0, WORD // 2, WORD - 1])) <= {0, 1, 2}


# ---- fixed-point choices

DOUBLES = [0.0, 5e-324, 2.0**-121, 2.0**-120, 3 * 2.0**-120, 1e-30, 0.1, 0.5, 1 - 2.0**-53, 1.0]
DOUBLES += (np.random.default_rng(3).random(200) * 2.0 ** -np.arange(200)).tolist()


def test_fixed_point_numbers_are_rounded_down_to_120_bits(parts):
    for x in DOUBLES:
        assert parts.fixed_point(x) == int(Fraction(x) * SCALE), x


def test_high_products_are_those_of_whole_numbers(parts):
    corners = [0, 1, WORD - 1, WORD, WORD + 1, 2**127, 2**128 - 1, SCALE, SCALE - 1]
    generator = np.random.default_rng(4)
    corners += [int.from_bytes(generator.bytes(16), "little") for _ in range(40)]
    for x in corners:
        for y in corners:
            assert parts.high_product(x, y) == x * y >> 128


@each_weights
def test_exact_choices_count_out_their_chances(parts, weights):
    chances = [weight / sum(weights) for weight in weights]
    fixed = [int(Fraction(chance) * SCALE) for chance in chances]
    total, before = sum(fixed), 0
    for index, share in enumerate(fixed):
        # The numbers u with before <= floor(u * total / 2^128) < before + share.
        begin = -(-before * 2**128 // total)
        end = -(-(before + share) * 2**128 // total)
        before += share
        if share == 0:
            assert begin == end
            continue
        assert parts.exact_choice(chances, begin) == index
        assert parts.exact_choice(chances, end - 1) == index
        # The promise: relative to the chance itself, however small, and 2^-119 beside.
        exact = Fraction(chances[index]) / sum(map(Fraction, chances))
        error = abs(Fraction(end - begin, 2**128) - exact)
        assert error <= exact * Fraction(len(chances), 2**119) + Fraction(1, 2**119)


def test_an_outcome_of_1e_30_has_its_numbers(parts):
    chances = [1e-30, 1.0]
    last = int(Fraction(1e-30) * 2**128)
    assert parts.exact_choice(chances, 0) == 0
    assert parts.exact_choice(chances, last // 2) == 0
    assert parts.exact_choice(chances, 2 * last) == 1


# ---- random numbers


@pytest.mark.parametrize("purpose", [0, 1, 2])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (0, 1), (2**64 - 1, 2**64 - 2), (7, 123456789)])
def test_streams_are_those_of_numpy(parts, place, purpose):
    graph, draw = place
    key = np.array([0x0123456789ABCDEF, 2**64 - 5], np.uint64)
    counter = np.array([0, purpose, graph, draw], np.uint64)
    expected = np.random.Philox(key=key, counter=counter).random_raw(103)
    np.testing.assert_array_equal(parts.stream(key, graph, draw, purpose, 103), expected)
