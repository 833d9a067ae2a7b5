"""Sum trees: totals that keep their digits whatever the masses, and draws that follow them."""

from fractions import Fraction

import numpy as np

from tests.core.parts import SumTree

KEY = [11, 13]


def test_an_empty_tree_has_no_mass(parts):
    with SumTree(parts) as tree:
        assert tree.total() == 0
        tree.reserve(5)
        assert tree.total() == 0


def test_totals_keep_a_relative_error_of_one_rounding_per_level(parts):
    generator = np.random.default_rng(1)
    with SumTree(parts) as tree:
        masses = {}  # in units of 2^-7060: whole numbers add up faster than fractions
        count = 0
        for step in range(600):
            # It grows while it is in use, across the sizes at which it doubles.
            count = max(count, 1 + step // 2)
            tree.reserve(count)
            index = int(generator.integers(count))
            # From e^-5000 to 1: far out of the range of doubles.
            mass = int(generator.integers(2**53)) << 7007 - int(generator.integers(7000))
            masses[index] = mass if generator.random() < 0.8 else 0
            tree.set(index, Fraction(masses[index], 2**7060))
            exact = sum(masses.values())
            found = tree.total() * 2**7060
            assert abs(found - exact) * 2**53 <= exact * 10


def test_all_masses_survive_growth(parts):
    with SumTree(parts) as tree:
        exact = 0
        for count in (1, 64, 65, 128, 129, 700, 1024):
            tree.reserve(count)
            tree.set(count - 1, Fraction(count))  # the last place there is
            exact += count
            tree.reserve(2 * count + 1)
            assert tree.total() == exact


def test_removing_the_largest_mass_leaves_the_digits_of_the_others(parts):
    with SumTree(parts) as tree:
        tree.reserve(100)
        tree.set(3, Fraction(1))
        tree.set(97, Fraction(1, 2**200))
        tree.set(3, Fraction(0))
        assert tree.total() == Fraction(1, 2**200)


def test_draws_are_exact_choices_between_halves(parts):
    # The twin walks down the same tree with Python's integers and NumPy's stream.
    masses = [1.0, 0.0, 3.0, 1e-20, 2.5, 0.0, 7.0, 1e-3, 4.0]
    capacity = 64
    sums = [0.0] * capacity + masses + [0.0] * (capacity - len(masses))
    for node in range(capacity - 1, 0, -1):
        sums[node] = sums[2 * node] + sums[2 * node + 1]

    def twin(draw):
        raw = iter(np.random.Philox(key=KEY, counter=[0, 0, 0, draw]).random_raw(64).tolist())
        node = 1
        while node < capacity:
            left, right = sums[2 * node], sums[2 * node + 1]
            if left > 0 and right > 0:
                fixed = [int(Fraction(mass / sums[node]) * 2**120) for mass in (left, right)]
                number = next(raw) << 64 | next(raw)
                goes_right = number * sum(fixed) >> 128 >= fixed[0]
            else:
                goes_right = right > 0
            node = 2 * node + goes_right
        return node - capacity

    with SumTree(parts) as tree:
        tree.reserve(len(masses))
        for index, mass in enumerate(masses):
            tree.set(index, Fraction(mass))
        assert tree.draws(KEY, 500).tolist() == [twin(draw) for draw in range(500)]


def test_masses_out_of_the_range_of_doubles_are_drawn_in_proportion(parts):
    # 3 : 1 at e^-7000: a conversion to double would leave nothing to draw from.
    with SumTree(parts) as tree:
        tree.reserve(2)
        tree.set(0, Fraction(3, 2**10000))
        tree.set(1, Fraction(1, 2**10000))
        drawn = tree.draws(KEY, 4000)
    # The law is binomial: six standard deviations are 164.
    assert abs(np.count_nonzero(drawn == 0) - 3000) < 164
