"""The law of draws that pop cycles: every way that the twin's program can take is followed.

The twin runs as it is, but its random numbers are not decided beforehand. A comparison splits such
a number in two, and the program is run once for each answer. So every run has an exact chance, and
no statistics are needed. For every budget, and given the root's child, the trees of draws that are
not given up must have chances in proportion to their weights.
"""

from fractions import Fraction

import numpy as np
import pytest

from arborand import SpanningTrees
from tests.exact_fractions import ExactLaw
from tests.kinds import KINDS, is_single_root
from verification.twin_popping import (
    DeviatesOnce,
    ForgetsTheChild,
    KeepsWhatFollows,
    PoppingSampler,
)

# Column j has the weights of the heads of word j.
GRAPHS = {
    "one word": [[0, 3], [0, 0]],
    "two words": [[0, 1, 2], [0, 0, 3], [0, 5, 0]],
    "heaviest steps are a path": [[0, 5, 2, 1], [0, 0, 6, 2], [0, 1, 0, 7], [0, 3, 1, 0]],
    "a pair": [[0, 1, 2, 1], [0, 0, 7, 3], [0, 5, 0, 6], [0, 2, 1, 0]],
    "a pair that comes last": [[0, 2, 1, 1], [0, 0, 1, 2], [0, 6, 0, 5], [0, 1, 4, 0]],
    "a cycle of three": [[0, 1, 2, 1], [0, 0, 4, 1], [0, 1, 0, 3], [0, 5, 1, 0]],
    "equal weights": [[0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]],
    "arcs missing": [[0, 1, 0, 2], [0, 0, 3, 1], [0, 4, 0, 0], [0, 0, 1, 0]],
    "word 1 hangs from the root": [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 4], [0, 0, 5, 0]],
}
# The twin takes logarithms of weights, in double, and rounds chances to multiples of 2^-63.
ROUNDING = 1e-14


class Undecided:
    """A random number of which only the bounds are known; it is uniform between them."""

    def __init__(self, decide, low, high):
        self.decide, self.low, self.high = decide, low, high

    def __lt__(self, bound):
        # Rounded down, it is below an integer exactly if it is so itself.
        middle = min(max(Fraction(bound), self.low), self.high)
        is_below = self.decide((middle - self.low) / (self.high - self.low))
        self.low, self.high = (self.low, middle) if is_below else (middle, self.high)
        return is_below

    def __add__(self, other):
        return Undecided(self.decide, self.low + other, self.high + other)

    def __mul__(self, factor):
        return Undecided(self.decide, self.low * factor, self.high * factor)

    def __rshift__(self, bits):
        return self * Fraction(1, 2**bits)

    def __divmod__(self, divisor):
        quotient = int(self.low // divisor)
        while not self < (quotient + 1) * divisor:
            quotient += 1
        return quotient, self + -quotient * divisor

    __radd__, __rmul__ = __add__, __mul__


class UndecidedStream:
    def __init__(self, answers):
        self.answers, self.taken, self.chance = answers, [], Fraction(1)

    def next(self):
        return Undecided(self.decide, Fraction(0), Fraction(2**64))

    def decide(self, chance):
        if chance in (0, 1):
            return chance == 1
        known = len(self.taken) < len(self.answers)
        self.taken.append(self.answers[len(self.taken)] if known else True)
        self.chance *= chance if self.taken[-1] else 1 - chance
        return self.taken[-1]


def law_of_draws(sampler):
    """Give the chance of every outcome: a tree, or (the child,) of draws that are given up."""
    sampler.fall_back = lambda child, tree, stream: [child]
    law, pending = {}, [[]]
    while pending:
        answers = pending.pop()
        stream = UndecidedStream(answers)
        outcome = tuple(sampler.draw(stream))
        law[outcome] = law.get(outcome, 0) + stream.chance
        pending += [[*stream.taken[:k], False] for k in range(len(answers), len(stream.taken))]
    return law


def largest_error(make, kind, name, budget):
    """Compare the chances of the children, and of the trees given each child, with exact ones."""
    single_root, exact = is_single_root(kind), ExactLaw(kind, GRAPHS[name])
    with np.errstate(divide="ignore"):
        scores = np.log(GRAPHS[name])
    options = {"method": "wilson", "step_budget": budget, "pops": "always"}
    law = law_of_draws(make(scores, single_root=single_root, **options))
    assert sum(law.values()) == 1
    trees_below = {}
    for tree, weight in zip(exact.trees, exact.tree_weights, strict=True):
        trees_below.setdefault(tree.index(0) if single_root else 0, {})[tuple(tree)] = weight
    errors = []
    for child, trees in trees_below.items():
        given_up, total = law.pop((child,), 0), sum(trees.values())
        arrived = {tree: law.pop(tree, 0) for tree in trees}
        of_child = given_up + sum(arrived.values())
        errors.append(abs(of_child - Fraction(total, exact.partition)))
        for tree, weight in trees.items():
            errors.append(abs(arrived[tree] - sum(arrived.values()) * Fraction(weight, total)))
    # What is left are no trees.
    return max(*errors, sum(law.values()))


def budgets(kind, name):
    """Give those that let two words pop a pair up to three times, or three words once."""
    return range(9) if len(GRAPHS[name]) - is_single_root(kind) <= 3 else (0, 2, 3, 5)


class PopsLapsOneByOne(PoppingSampler):
    """As where a cycle is bound so tightly that double loses the chances to leave it."""

    def build_tables(self):
        super().build_tables()
        self.exits = {}


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("make", [PoppingSampler, PopsLapsOneByOne])
def test_given_the_child_the_tree_does_not_depend_on_the_budget(kind, name, make):
    for budget in budgets(kind, name):
        assert largest_error(make, kind, name, budget) < ROUNDING


@pytest.mark.parametrize("fault", [DeviatesOnce, ForgetsTheChild, KeepsWhatFollows])
@pytest.mark.parametrize("budget", [3, 5])
def test_faults_change_the_law(fault, budget):
    name = "arcs missing"
    assert largest_error(fault, SpanningTrees, name, budget) > 1 / 100


class CountsStepsAnew(PoppingSampler):
    """Where a cycle that is popped in one go begins to change is up to the tree."""

    def pop(self, cycle, heads, stream):
        left = self.budget
        again = super().pop(cycle, heads, stream)
        self.budget = left
        self.pay(len(again))
        return again


def test_what_counts_must_follow_from_the_popped_cycles():
    assert largest_error(CountsStepsAnew, SpanningTrees, "a pair", 4) > 1 / 100
