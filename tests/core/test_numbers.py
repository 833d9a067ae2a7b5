"""The core's arithmetic, judged by fractions and by mpmath, at the level of its own promises."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tests.core.parts import STEP, unbounded, value_of

UNIT = Fraction(1, 2**53)  # the rounding of one operation, relative


# ---- exact differences and sums


def test_differences_are_exact(parts):
    generator = np.random.default_rng(1)
    scale = 2.0 ** generator.integers(-60, 60, (2, 2000))
    x, y = generator.normal(size=(2, 2000)) * scale
    x = np.append(x, [1e3, -1e30, 1e15, 0.0, -708.0, 1e300, 5e-324])
    y = np.append(y, [1e-14, 5000.0, -1e-15, 0.1, 2.0**-50, -1e284, 1.0])
    high, low = parts.exact_pairs("differences", x, y)
    np.testing.assert_array_equal(high, x - y)
    for i in range(len(x)):
        assert Fraction(high[i]) + Fraction(low[i]) == Fraction(x[i]) - Fraction(y[i])


def test_products_of_two_numbers_are_exact(parts):
    generator = np.random.default_rng(9)
    scale = 2.0 ** generator.integers(-200, 200, (2, 2000))
    x, y = generator.normal(size=(2, 2000)) * scale
    high, low = parts.exact_pairs("products", x, y)
    np.testing.assert_array_equal(high, x * y)
    for i in range(len(x)):
        assert Fraction(high[i]) + Fraction(low[i]) == Fraction(x[i]) * Fraction(y[i])


@pytest.mark.parametrize("count", range(14))
def test_copies_hold_every_entry_and_nothing_behind_them(parts, count):
    numbers = np.random.default_rng(count).normal(size=count)
    copy, behind = parts.copied_row(numbers)
    np.testing.assert_array_equal(copy, numbers)
    assert np.isnan(behind)
    for columns in range(14):
        matrix = np.random.default_rng(columns).normal(size=(count, columns))
        copy, behind = parts.transposed(matrix)
        np.testing.assert_array_equal(copy, matrix.T)
        assert np.isnan(behind)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 23, 100])
def test_sums_follow_one_order_whatever_the_vectors(parts, count):
    numbers = np.random.default_rng(count).standard_cauchy(count)
    # Eight running sums, over the vectors of four that alternate between two accumulators.
    running = np.zeros((2, 4))
    padded = np.append(numbers, np.zeros(-count % 4))
    for place, four in enumerate(padded.reshape(-1, 4)):
        running[place % 2] += four
    both = running[0] + running[1]
    assert parts.ordered_sum(numbers) == (both[0] + both[2]) + (both[1] + both[3])


def test_sums_of_weights_keep_their_digits(parts):
    for count in (1, 10, 100, 1000):
        weights = np.abs(np.random.default_rng(count).standard_cauchy(count))
        exact = sum(map(Fraction, weights))
        # A term passes count / 8 additions of its running sum and three to join them.
        bound = exact * UNIT * (count // 8 + 4)
        assert abs(Fraction(parts.ordered_sum(weights)) - exact) <= bound


ENDS_OF_THE_RANGE = [5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, -1.7e308, 1e-310, 0.0]


@pytest.mark.parametrize("seed", range(20))
def test_exact_sums_lose_nothing_from_one_end_of_the_range_to_the_other(parts, seed):
    generator = np.random.default_rng(seed)
    terms = generator.normal(size=40) * 2.0 ** generator.integers(-1000, 1000, 40)
    terms[:20] = generator.choice(ENDS_OF_THE_RANGE, 20)
    terms = np.concatenate([terms, generator.permutation(terms[5:]) * generator.choice([1, -1])])
    is_subtracted = generator.random(len(terms)) < 0.5
    exact = sum(
        (-1 if minus else 1) * Fraction(x) for x, minus in zip(terms, is_subtracted, strict=True)
    )
    found = np.empty(2)
    parts("exact_sum", terms, is_subtracted, len(terms), found)
    if abs(exact) >= 2**1024:
        assert found[0] == (np.inf if exact > 0 else -np.inf)
    else:
        # The second part is rounded, or ends where doubles end.
        error = abs(sum(map(Fraction, found)) - exact)
        assert error <= max(abs(exact) * Fraction(1, 2**104), Fraction(5e-324))


def test_exact_sums_that_cancel_are_zero_or_what_is_left(parts):
    for terms, exact in (
        ([1e308, 1e308, 1e308, -1e308, -1e308, -1e308], 0.0),
        ([1e30, 1.0, -1e30], 1.0),
        ([-1.7e308, 5e-324, 1.7e308], 5e-324),
        ([1e16, 1.0, -1e16, -3.0], -2.0),
    ):
        found = np.empty(2)
        parts("exact_sum", np.array(terms), np.zeros(len(terms), bool), len(terms), found)
        assert found.sum() == exact


def test_exactly_scaled_numbers_tell_apart_what_differs_by_one_beside_1e300(parts):
    for base in (0.0, 1e15, -1e30, 1e300, -1.7e308):
        scores = np.array([[base, 0.0, base], [base, 1.0, base], [base, -2.5, base]])
        found = parts("exactly_scaled_log_ratio", scores, 3, 3)
        exact = mpmath.log(1 + mpmath.e + mpmath.exp(mpmath.mpf(-2.5)))
        assert abs(found - exact) <= 4 * UNIT * exact


def test_the_exponential_minus_one_keeps_its_relative_accuracy(parts):
    generator = np.random.default_rng(3)
    numbers = generator.choice([-1, 1], 2000) * 10.0 ** generator.uniform(-18, np.log10(0.34), 2000)
    for x in numbers:
        exact = mpmath.expm1(mpmath.mpf(x))
        assert abs(parts("exponential_minus_1", float(x)) - exact) <= 2 * UNIT * abs(exact)


def test_compensated_sums_lose_what_one_rounding_takes_and_no_more(parts):
    generator = np.random.default_rng(2)
    cases = [[1.0, 1e100, 1.0, -1e100], [1e16, 1.0, -1e16], [0.1] * 1000, [-1e30, 5000.0, 1e30]]
    for _ in range(200):
        numbers = generator.normal(size=20) * 10.0 ** generator.integers(-20, 20, 20)
        cases.append([*numbers, *-numbers[::2], 1e-3])
    for numbers in cases:
        exact = sum(map(Fraction, numbers))
        size = sum(abs(Fraction(number)) for number in numbers)
        # One rounding at the end, and the roundings of the sum of all rounding errors.
        bound = abs(exact) * UNIT + 2 * (len(numbers) * UNIT) ** 2 * size
        assert abs(Fraction(parts.compensated_sum(numbers)) - exact) <= bound


def test_compensated_sums_that_overflow_are_infinite(parts):
    assert parts.compensated_sum([1e308, 1e308, 1.0]) == np.inf
    assert parts.compensated_sum([-1e308, -1e308, 1.0]) == -np.inf


# ---- doubles with an unbounded exponent


def unbounded_operands():
    generator = np.random.default_rng(3)
    exponents = [0, 1, -1, 2, 255, 256, 257, -255, -256, 511, 512, 513, -512, 1023, -1000]
    exponents += generator.integers(-9000, 9000, 25).tolist()
    return [
        Fraction(float(1 + generator.random())) * Fraction(2) ** int(exponent)
        for exponent in exponents
    ]


def assert_is_normal(number):
    mantissa, exponent = number
    assert 2.0 ** (-STEP // 2) <= mantissa < 2.0 ** (STEP // 2)
    assert exponent == int(exponent)


@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_unbounded_operations_round_once(parts, name):
    exact_operation = {
        "add": lambda x, y: x + y,
        "multiply": lambda x, y: x * y,
        "divide": lambda x, y: x / y,
    }[name]
    operands = unbounded_operands()
    for x in operands:
        for y in operands:
            found = parts.unbounded_operation(name, unbounded(x), unbounded(y))
            assert_is_normal(found)
            exact = exact_operation(x, y)
            assert abs(value_of(found) - exact) <= exact * UNIT


def test_sums_of_neighbouring_exponents_keep_the_smaller_one(parts):
    # 2^-255 beside 0.75 * 2^256 one step lower: nearly equal, with exponents that differ.
    large, small = np.array([2.0**-255, 0.0]), np.array([0.75 * 2.0**256, -1.0])
    for pair in ((large, small), (small, large)):
        found = parts.unbounded_operation("add", *pair)
        assert value_of(found) == Fraction(11, 4) / 2**256


def test_zero_is_neutral_and_absorbs(parts):
    for x in unbounded_operands():
        assert value_of(parts.unbounded_operation("add", unbounded(x), unbounded(0))) == x
        assert value_of(parts.unbounded_operation("add", unbounded(0), unbounded(x))) == x
        assert value_of(parts.unbounded_operation("multiply", unbounded(0), unbounded(x))) == 0


def test_every_double_becomes_an_unbounded_one_and_back(parts):
    corners = [0.0, 5e-324, 3e-320, 2.2250738585072014e-308, 1e-200, 2.0**-768, 2.0**-769]
    corners += [2.0**-256, 1.0, 2.0**256, 2.0**255, 1.5 * 2.0**767, 2.0**768, 1.7e308]
    for x in corners:
        found = parts.unbounded_operation("from_double", x)
        assert value_of(found) == Fraction(x)
        if 0 < x < 2.0**768:  # larger ones keep a mantissa out of bounds, which does no harm
            assert_is_normal(found)
        assert parts("unbounded_to_double", found) == x


def test_what_is_out_of_the_range_of_doubles_becomes_zero_or_infinite(parts):
    for bits, expected in (
        (-1080, 0.0),
        (-3000, 0.0),
        (-9000, 0.0),
        (1025, np.inf),
        (9000, np.inf),
    ):
        assert parts("unbounded_to_double", unbounded(Fraction(2) ** bits)) == expected


def test_small_results_are_rounded_as_doubles_are(parts):
    for bits in (1022, 1030, 1060, 1074):
        value = Fraction(7, 5) / 2**bits
        parts_of_value = unbounded(value)
        assert parts("unbounded_to_double", parts_of_value) == float(value_of(parts_of_value))


def test_logarithms_are_exact_sums_of_two(parts):
    with mpmath.workprec(300):
        for x in unbounded_operands():
            operand = unbounded(x)
            exact = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
            high, low = parts.unbounded_operation("log", operand)
            error = abs(mpmath.mpf(high) + mpmath.mpf(low) - exact)
            # An ulp of the logarithm of the mantissa, which is below 256 log 2 = 178, and the
            # rounding of the low part: nothing that grows with the exponent.
            mantissa = abs(mpmath.log(mpmath.mpf(float(operand[0]))))
            assert error <= mantissa * mpmath.mpf(2) ** -52 + abs(exact) * mpmath.mpf(2) ** -100


@pytest.mark.parametrize("exponent", [1000, -1001, 12345, -1e6, 1e9, -1e12, 2.0**52 - 1])
def test_logarithms_of_enormous_exponents_keep_the_mantissa(parts, exponent):
    with mpmath.workprec(300):
        for mantissa in (1.0, 1.5, 2.0**-256, 3.3e70):
            high, low = parts.unbounded_operation("log", np.array([mantissa, float(exponent)]))
            exact = mpmath.log(mpmath.mpf(mantissa)) + int(exponent) * STEP * mpmath.log(2)
            error = abs(mpmath.mpf(high) + mpmath.mpf(low) - exact)
            # An ulp of the logarithm of the mantissa, and the low part, whose own roundings are
            # relative to its size: that of an ulp of the whole.
            assert error <= 178 * 2.0**-52 + 4 * 2.0**-52 * float(np.spacing(abs(high)))


# Where the rows of the table of logarithms begin and end.
ROW_EDGES = (0x3FE6080000000000 + (np.arange(257) << 44)).view(np.float64)


def test_the_table_of_logarithms_is_what_its_error_bound_relies_on(parts):
    rows = parts.logarithm_table()
    assert len(rows) == 256
    with mpmath.workprec(200):
        for (inverse, log), first, end in zip(rows, ROW_EDGES, ROW_EDGES[1:], strict=False):
            exact = -mpmath.log(mpmath.mpf(inverse))
            farthest = max(abs(mpmath.mpf(z) * mpmath.mpf(inverse) - 1) for z in (first, end))
            assert inverse * 2**25 == int(inverse * 2**25) < 2**26
            assert farthest <= 2.0**-9
            assert log == 0 == exact or abs(log) >= 1.99 * farthest
            assert abs(log) < 0.38
            assert abs(mpmath.mpf(log) - exact) <= 0.008 * float(np.spacing(abs(log)))


def numbers_for_logarithms():
    generator = np.random.default_rng(10)
    return np.concatenate(
        [
            2.0 ** generator.uniform(-1022, 1023, 2000),
            1 + generator.normal(size=1000) * 10.0 ** generator.uniform(-16, -1, 1000),
            [1.0, 2.0, 0.5, np.sqrt(0.5), np.sqrt(2), 1 + 2.0**-52, 1 - 2.0**-53, 5e-324, 1e-310],
            [2.2250738585072014e-308, 2.3e-308, 1.7e308, 1.7976931348623157e308],
            *([edge, np.nextafter(edge, 0), edge * 2.0**40] for edge in ROW_EDGES.tolist()),
        ]
    )


def assert_within(found, exact, units):
    assert abs(mpmath.mpf(found) - exact) <= units * float(np.spacing(abs(found)))


def test_logarithms_are_within_0_62_units_in_the_last_place(parts):
    with mpmath.workprec(200):
        for x in numbers_for_logarithms().tolist():
            assert_within(parts("logarithm", x), mpmath.log(mpmath.mpf(x)), 0.62)


def test_vectors_give_the_same_logarithms_as_single_numbers(parts):
    numbers = numbers_for_logarithms()
    one_by_one = [parts("logarithm", x) for x in numbers.tolist()]
    for first in range(4):  # what does not fit a vector may be any of them
        np.testing.assert_array_equal(parts.logarithms(numbers[first:]), one_by_one[first:])


@pytest.mark.parametrize("bad", [-1.0, -5e-324, -np.inf, np.inf, np.nan, -np.nan])
@pytest.mark.parametrize("place", range(9))
def test_logarithms_of_weights_notice_what_is_not_a_weight(parts, place, bad):
    weights = np.arange(9.0)
    assert parts.logarithms_of_weights(weights)[0]
    weights[place] = bad
    assert not parts.logarithms_of_weights(weights)[0]


def test_logarithms_of_weights_are_those_of_numbers(parts):
    numbers = numbers_for_logarithms()
    weights = np.append(numbers[numbers >= 2.2250738585072014e-308], [0.0, 1.0, 0.0])
    for first in range(4):
        all_are_weights, logarithms = parts.logarithms_of_weights(weights[first:])
        assert all_are_weights
        np.testing.assert_array_equal(logarithms, parts.logarithms(weights[first:]))


@pytest.mark.parametrize("weight", [5e-324, 1e-310, -0.0])
def test_logarithms_of_weights_that_are_nearly_0_are_right_or_left_to_others(parts, weight):
    for weights in ([weight] * 4, [1.0] * 4 + [weight]):
        all_are_weights, logarithms = parts.logarithms_of_weights(np.array(weights))
        if all_are_weights:
            np.testing.assert_array_equal(logarithms, parts.logarithms(weights))


def test_logarithms_of_what_has_none(parts):
    assert parts("logarithm", 0.0) == -np.inf
    assert parts("logarithm", np.inf) == np.inf
    assert np.isnan(parts("logarithm", -1.0))
    assert np.isnan(parts("logarithm", np.nan))


def test_logarithms_near_one_keep_the_digits_of_the_difference(parts):
    generator = np.random.default_rng(11)
    numbers = -(10.0 ** generator.uniform(-30, -0.01, 500))
    with mpmath.workprec(300):
        for x in [*numbers.tolist(), *(-numbers).tolist(), 1e-300, -1e-300, 1e10]:
            # The logarithm of the rounded sum and its correction: two roundings more.
            assert_within(parts("logarithm_of_1_plus", x), mpmath.log1p(mpmath.mpf(x)), 1.7)


# ---- exponentials


def exponents_and_rests(count=4000):
    generator = np.random.default_rng(4)
    high = np.concatenate(
        [
            [0.0, -708.0, -5e-324, -1e-300, -1e-17, -np.log(2) / 2, -np.log(2), -0.5, -1.0],
            -708 * generator.random(count),
            -generator.random(count),
            -(10.0 ** generator.uniform(-20, 2.8, count)),
        ]
    )
    low = np.spacing(high) / 2 * generator.uniform(-1, 1, len(high))
    low[::7] = 0.0
    low[:9] = 0.0
    whole = len(high) // 4 * 4
    return high[:whole], low[:whole]


def test_exponentials_are_within_1_4_units_in_the_last_place(parts):
    high, low = exponents_and_rests()
    found = parts.exponentials(high, low)
    with mpmath.workprec(200):
        for i in range(len(high)):
            exact = mpmath.exp(mpmath.mpf(high[i]) + mpmath.mpf(low[i]))
            assert abs(mpmath.mpf(found[i]) - exact) < 1.4 * np.spacing(found[i]), high[i]


def test_exponentials_of_zero_are_one(parts):
    assert parts.exponentials([0.0], [0.0]) == 1.0
    assert parts("exponential", 0.0) == 1.0


def test_exponentials_become_subnormal_and_then_zero(parts):
    with mpmath.workprec(200):
        for x in (-708.5, -720.0, -744.0, -745.1):
            assert_within(parts("exponential", x), mpmath.exp(mpmath.mpf(x)), 1.0)
    for x in (-746.0, -1e10, -1e300, -np.inf):
        assert parts("exponential", x) == 0.0


def test_vectors_give_the_same_exponentials_as_single_numbers(parts):
    high, low = exponents_and_rests()
    one_by_one = parts.exponentials(high, low)
    np.testing.assert_array_equal(parts.exponentials(high, low, by_four=True), one_by_one)


def unbounded_exponential(parts, high, low):
    """Return it in the precision of mpmath, which knows any exponent."""
    mantissa, exponent = parts.unbounded_operation("exponential", high, low)
    return mpmath.ldexp(mpmath.mpf(float(mantissa)), STEP * int(exponent))


def unbounded_exponential_error(parts, high, low):
    """Return the relative error."""
    with mpmath.workprec(400):
        exact = mpmath.exp(mpmath.mpf(high) + mpmath.mpf(low))
        return float(abs(unbounded_exponential(parts, high, low) / exact - 1))


def test_unbounded_exponentials_keep_53_bits_down_to_a_hundred_million(parts):
    generator = np.random.default_rng(5)
    high = np.concatenate([-(10.0 ** generator.uniform(-3, 8, 300)), [-709.0, -745.0, -1e8]])
    low = np.spacing(high) / 2 * generator.uniform(-1, 1, len(high))
    worst = max(unbounded_exponential_error(parts, *pair) for pair in zip(high, low, strict=True))
    assert worst < 2 * 2.0**-52


def test_huge_exponents_lose_what_a_double_of_their_size_cannot_say(parts):
    generator = np.random.default_rng(6)
    for high in (-(10.0 ** generator.uniform(8, 12.5, 60))).tolist():
        low = float(np.spacing(high) / 2 * generator.uniform(-1, 1))
        # Three units, and the product of x with the 106-bit logarithm of 2.
        bound = 3 * 2.0**-52 + abs(high) * 2.0**-104
        assert unbounded_exponential_error(parts, high, low) < bound


def test_beside_a_mask_the_low_part_counts(parts):
    # -1e30 - 5000 and -1e30 - 5001 are one double, but their weights differ by a factor e.
    with mpmath.workprec(200):
        one, other = (unbounded_exponential(parts, -1e30, low) for low in (-5000.0, -5001.0))
        assert abs(one / other / mpmath.e - 1) < 4 * 2.0**-52


def test_an_exponent_that_overflowed_still_gives_a_weight(parts):
    mantissa, exponent = parts.unbounded_operation("exponential", -np.inf, np.nan)
    assert mantissa > 0
    assert exponent < -1e300


# ---- matrix products


# Every width of a tile in rows that it does not divide, and what is too deep for wide ones.
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1, 4),
        (4, 4, 8),
        *((rows, 5, columns) for rows in (3, 7) for columns in range(4, 41, 4)),
        (7, 60, 12),
        (33, 40, 72),
        (64, 31, 68),
        (65, 70, 76),
        (130, 257, 8),
    ],
)
def test_products_of_whole_numbers_are_exact(parts, shape, transposed, in_place):
    rows, depth, columns = shape
    generator = np.random.default_rng(7)
    a = generator.integers(0, 1000, (rows, depth))
    b = generator.integers(0, 1000, (depth, columns))
    c = generator.integers(0, 1000, (rows, columns))
    found = parts.matrix_product(c, a, b, transposed=transposed, in_place=in_place)
    np.testing.assert_array_equal(found, c + a @ b)


def test_products_are_added_one_by_one(parts):
    # Whatever the blocks: the order of the additions is that of a plain loop.
    generator = np.random.default_rng(8)
    c, a, b = generator.random((9, 16)), generator.random((9, 300)), generator.random((300, 16))
    expected = c.copy()
    for k in range(300):
        expected += a[:, k, None] * b[k]
    np.testing.assert_array_equal(parts.matrix_product(c, a, b), expected)
