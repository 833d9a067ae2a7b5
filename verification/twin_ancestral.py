"""The twin of the ancestral sampler: censoring, the recursion over words, and the draw at a leaf.

The walk goes from a word to one of its heads, in proportion to the arc's weight. ``walk[j]`` lists
the weights of the steps that leave word j + 1: first to the words, then in two columns to the root.
The first of the two is the weight at order 0, the second at order 1 of root weights that vanish:
spanning trees have their root weights in the first, dependency trees in the second, because they
are what is left of the spanning trees when all root weights go to 0 together.

Rows and columns are numbered from 0, words and heads from 1, with 0 for the root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from verification.laws import FloatArray
from verification.twin_numbers import (
    DOUBLE,
    UNBOUNDED,
    Arithmetic,
    Numbers,
    Stream,
    UnboundedDouble,
    draw_index,
    exact_difference,
)

UNDECIDED = -2
BASE_SIZE = 4  # rows that are substituted one by one; larger sets are halved
FEW = 6  # words of which each is kept in turn; larger sets are halved
LANES = 4  # rows are padded to whole vectors

Answer = TypeVar("Answer")
Choice = Callable[[int, Numbers], int]
"""From a word and the chances of all its heads, the root's first, to one of the heads."""


class OutOfRangeError(ArithmeticError):
    """A finite weight does not fit a double."""


# ---- from scores to the walk ----


def shifts(log_weights: FloatArray, *, single_root: bool) -> tuple[FloatArray, tuple[float, float]]:
    """Give the best score of each column, and of the root arcs once the columns are shifted.

    The second is a sum of two numbers: a difference of scores may not fit one.
    """
    column = log_weights[1 if single_root else 0 :].max(axis=0)
    column[0] = 0.0
    if not single_root:
        return column, (0.0, 0.0)
    column = np.where(column == -np.inf, log_weights[0], column)  # only the root can be its head
    is_arc = log_weights[0] > -np.inf
    high, low = exact_difference(log_weights[0, is_arc], column[is_arc])
    return column, max(zip(high.tolist(), low.tolist(), strict=True))


def make_walk(log_weights: FloatArray, numbers: Arithmetic, *, single_root: bool) -> Numbers:
    """Turn scores into the rows of the walk; the caller decides what to do if they do not fit."""
    walk, fits = try_walk(log_weights, numbers, single_root=single_root)
    if not fits:
        raise OutOfRangeError
    return walk


def try_walk(
    log_weights: FloatArray, numbers: Arithmetic, *, single_root: bool
) -> tuple[Numbers, bool]:
    """Turn scores into the rows of the walk, and tell whether all of them fit."""
    n = len(log_weights) - 1
    column, root = shifts(log_weights, single_root=single_root)
    is_arc = log_weights > -np.inf
    with np.errstate(invalid="ignore", over="ignore"):
        high, low = exact_difference(log_weights[1:, 1:], column[1:])
        among_words, words_fit = numbers.exp(high, low, is_arc[1:, 1:])
        high, low = exact_difference(log_weights[0, 1:], column[1:])
        high, low = _difference_of_sums((high, low), root)
        # A difference that overflowed may have become NaN on the way.
        high = np.where(np.isnan(high), -np.inf, high)
        to_root, root_fits = numbers.exp(high, low, is_arc[0, 1:])
    walk = np.full((n, n + 2), numbers.zero, dtype=numbers.dtype)
    walk[:, :n] = among_words.T
    walk[:, n + 1 if single_root else n] = to_root
    return walk, words_fit and root_fits


def _difference_of_sums(x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
    high, high_rest = exact_difference(x[0], y[0])
    low, low_rest = exact_difference(x[1], y[1])
    total, rest = exact_difference(high, -low)
    return total, rest + (high_rest + low_rest)


def in_double_or_unbounded(
    log_weights: FloatArray, work: Callable[[Numbers, Arithmetic], Answer], *, single_root: bool
) -> Answer:
    """Do some work on the walk in double; if an operation leaves its range, again unbounded."""
    try:
        walk = make_walk(log_weights, DOUBLE, single_root=single_root)
        with np.errstate(all="raise"):
            return work(walk, DOUBLE)
    except (OutOfRangeError, FloatingPointError):
        return work(make_walk(log_weights, UNBOUNDED, single_root=single_root), UNBOUNDED)


# ---- censoring ----


def censor(rows: Numbers, numbers: Arithmetic) -> UnboundedDouble:
    """Take the words of all rows out of the walk, one after the other, in place.

    Afterwards row k holds, to the right of the diagonal, the normalised step that leaves k once all
    words before it are out; on the diagonal its pivot; and to the left the weights with which k led
    to each of those. Returns the product of the pivots, which is Z if nothing is left.
    """
    product = UnboundedDouble(1.0, 0.0)
    for j, row in enumerate(rows):
        for k in range(j):
            row[k + 1 :] += rows[k, k + 1 :] * row[k]
        # A sum of what is there, never a difference of what was: nothing can cancel.
        pivot = numbers.total(row[j + 1 : -1])
        row[j] = pivot
        if pivot:
            row[j + 1 :] = row[j + 1 :] / pivot
        else:
            # Only the root is left, at order 1: the one factor that a dependency tree has.
            pivot = row[-1]
            row[-2], row[-1] = numbers.one, numbers.zero
        product = product * UnboundedDouble.of(pivot)
    return product


def absorb(rows: Numbers, others: int, numbers: Arithmetic) -> Numbers:
    """Censor all rows; return where the walk from each first lands, in the columns of the others.

    The order in which later rows are added to earlier ones is that of blocks of matrix products.
    """
    censor(rows, numbers)

    def add_rows(j: int, begin: int, end: int) -> None:
        for k in range(begin, end):
            rows[j, others:] += rows[k, others:] * rows[j, k]

    def substitute(begin: int, end: int) -> None:
        size = end - begin
        if size <= BASE_SIZE:
            for j in reversed(range(begin, end)):
                add_rows(j, j + 1, end)
            return
        middle = begin + -(-(size // 2) // BASE_SIZE) * BASE_SIZE
        substitute(middle, end)
        for j in range(begin, middle):
            add_rows(j, middle, end)
        substitute(begin, middle)

    substitute(0, len(rows))
    return rows[:, others:]


# ---- the recursion ----


def decide_heads(walk: Numbers, numbers: Arithmetic, heads: list[int], choose: Choice) -> None:
    """Visit the undecided words in order, and let `choose` pick a head of each given those before.

    Halve the words. Censor the right half and recurse on the left; censor the left half, with the
    heads it has by now, and recurse on the right. ``landing[i, k]`` is the chance that the walk
    from an outside word k first lands on word i of the current ones; its last two rows are the
    chance that it reaches the root before any of them.
    """
    n = len(walk)

    def descend(begin: int, end: int, rows: Numbers, landing: Numbers) -> None:
        if end - begin <= FEW:
            visit_few(begin, end - begin, rows, landing)
            return
        middle = begin + (end - begin) // 2
        left, right = range(begin, middle), range(middle, end)
        keep(begin, left, right, rows, landing)
        keep(begin, right, left, rows, landing)

    def keep(begin: int, kept: range, drop: range, rows: Numbers, landing: Numbers) -> None:
        if all(heads[word + 1] != UNDECIDED for word in kept):
            return
        size = len(kept) + len(drop)
        kept_rows_at = [word - begin for word in kept]
        kept_columns = [*kept_rows_at, size, size + 1]
        drop_columns = [word - begin for word in drop]
        others = -(-len(drop) // LANES) * LANES
        dropped = np.full(
            (len(drop), others + len(kept_columns)), numbers.zero, dtype=numbers.dtype
        )
        for j, word in enumerate(drop):
            step = steps_of(word, begin, size, rows, landing)
            dropped[j, : len(drop)] = step[drop_columns]
            dropped[j, others:] = step[kept_columns]
        absorption = absorb(dropped, others, numbers)

        kept_rows = rows[np.ix_(kept_rows_at, kept_columns)]
        kept_landing = landing[kept_columns]
        outside = [word for word in range(n) if not begin <= word < begin + size]
        for d, column in enumerate(drop_columns):
            kept_rows += np.multiply.outer(rows[kept_rows_at, column], absorption[d])
            kept_landing[:, outside] += np.multiply.outer(absorption[d], landing[column, outside])
        kept_landing[:, list(drop)] = absorption.T
        descend(kept.start, kept.stop, kept_rows, kept_landing)

    def steps_of(word: int, begin: int, size: int, rows: Numbers, landing: Numbers) -> Numbers:
        """Give the steps that leave a word: those of the graph, or where its head leads."""
        head = heads[word + 1]
        step = np.full(size + 2, numbers.zero, dtype=numbers.dtype)
        if head == UNDECIDED:
            step[:] = rows[word - begin]
        elif head == 0:
            step[size] = numbers.one
        elif begin <= head - 1 < begin + size:
            step[head - 1 - begin] = numbers.one
        else:
            step[:] = landing[:, head - 1]
        return step

    def visit_few(begin: int, size: int, rows: Numbers, landing: Numbers) -> None:
        """Keep each of a few words in turn, and censor the others in their order."""
        for kept in range(size):
            if heads[begin + kept + 1] != UNDECIDED:
                continue
            places = [i for i in range(size) if i != kept] + [kept]
            steps = np.array(
                [
                    steps_of(begin + i, begin, size, rows, landing)[[*places, size, size + 1]]
                    for i in places
                ]
            )
            for k in range(size - 1):
                pivot = sum(steps[k, k + 2 : -1], steps[k, k + 1])
                if pivot:
                    steps[k, k + 1 :] = steps[k, k + 1 :] * (numbers.one / pivot)
                else:
                    steps[k, -2], steps[k, -1] = numbers.one, numbers.zero
                for j in range(k + 1, size):
                    steps[j, k + 1 :] += steps[k, k + 1 :] * steps[j, k]
            order = 0 if steps[-1, -2] else 1
            chances = steps[:-1, size + order]
            for k in reversed(range(size - 1)):
                for j in range(k + 1, size - 1):
                    chances[k] += steps[k, j] * chances[j]
            to_root = landing[size + order].copy()
            for k, chance in enumerate(chances):
                to_root += landing[places[k]] * chance
            to_root[[begin + i for i in places[:-1]]] = chances
            visit(begin + kept, order, to_root)

    def visit(word: int, order: int, to_root: Numbers) -> None:
        chances = np.full(n + 1, numbers.zero, dtype=numbers.dtype)
        chances[0] = walk[word, n + order]
        chances[1:] = walk[word, :n] * to_root
        chances[word + 1] = numbers.zero
        heads[word + 1] = choose(word + 1, chances / numbers.total(chances))

    descend(0, n, walk, np.full((n + 2, n), numbers.zero, dtype=numbers.dtype))


def arc_marginals(log_weights: FloatArray, *, single_root: bool) -> FloatArray:
    """Give the probability of every arc: what the leaves see if no head is ever decided."""

    def read(walk: Numbers, numbers: Arithmetic) -> FloatArray:
        marginals = np.zeros(log_weights.shape)

        def record(word: int, chances: Numbers) -> int:
            marginals[:, word] = [float(chance) for chance in chances]
            return UNDECIDED

        decide_heads(walk, numbers, [-1] + [UNDECIDED] * len(walk), record)
        return marginals

    return in_double_or_unbounded(log_weights, read, single_root=single_root)


def draw_heads(
    log_weights: FloatArray, given: list[int], stream: Stream, *, single_root: bool
) -> list[int]:
    """Draw the heads that are not given, each from its conditional distribution."""
    start = stream.position

    def draw(walk: Numbers, numbers: Arithmetic) -> list[int]:
        heads = list(given)
        stream.position = start
        decide_heads(walk, numbers, heads, lambda _, chances: draw_index(chances, stream))
        return heads

    return in_double_or_unbounded(log_weights, draw, single_root=single_root)


# ---- the root's child ----


def root_child_marginals(log_weights: FloatArray) -> FloatArray:
    """Give the probability of each word to be the only child of the root; entry 0 is 0.

    It is proportional to the word's root weight times the flow through it, in the stationary walk
    among the words alone. What flows into a word from those that outlived it flows out again.
    """

    def marginals(walk: Numbers, numbers: Arithmetic) -> FloatArray:
        n = len(walk)
        chance: Any = walk[:, n + 1].copy()
        censor(walk, numbers)
        flow = np.full(n, numbers.zero, dtype=numbers.dtype)
        has_started = False
        for j in reversed(range(n)):
            if not walk[j, j]:  # the walk among the words cannot leave this one
                has_started = True
                flow[j] = numbers.one
            else:
                flow[j] = flow[j] / walk[j, j] if has_started else numbers.zero
            flow[:j] += walk[j, :j] * flow[j]
            chance[j] = chance[j] * flow[j]
        chance = chance / numbers.total(chance)
        return np.array([0.0, *map(float, chance)])

    return in_double_or_unbounded(log_weights, marginals, single_root=True)


def shifted_partition(log_weights: FloatArray, *, single_root: bool) -> UnboundedDouble:
    """Compute Z of the graph after its scores were shifted."""
    return in_double_or_unbounded(log_weights, censor, single_root=single_root)
