"""The parts of the core as Python functions: what parts.cpp offers, called through ctypes.

Numbers of 128 bits are Python integers here, and doubles with an unbounded exponent are fractions.
"""

from __future__ import annotations

import ctypes
import os
from fractions import Fraction
from pathlib import Path

import numpy as np

from arborand import _core

FOLDER = Path(os.environ.get("ARBORAND_CORE_PARTS", "build/core_parts"))
STEP = 512  # bits in one step of the exponent of an unbounded double

_INDEX = ctypes.c_ssize_t
_SIGNATURES = {
    "stream_numbers": (None, "p", "u", "u", "u", "i", "p"),
    "alias_table": (None, "p", "i", "p", "p"),
    "alias_outcomes": (None, "p", "p", "i", "p", "i", "p"),
    "fixed_point_of": (None, "d", "p"),
    "high_product_of": (None, "p", "p", "p"),
    "exact_choice": (_INDEX, "p", "i", "p"),
    "new_sum_tree": (ctypes.c_void_p,),
    "free_sum_tree": (None, "h"),
    "sum_tree_reserve": (ctypes.c_bool, "h", "i"),
    "sum_tree_set": (None, "h", "i", "p"),
    "sum_tree_total": (None, "h", "p"),
    "sum_tree_draws": (None, "h", "p", "i", "p"),
    "unbounded_from_double": (None, "d", "p"),
    "unbounded_to_double": (ctypes.c_double, "p"),
    "unbounded_add": (None, "p", "p", "p"),
    "unbounded_multiply": (None, "p", "p", "p"),
    "unbounded_divide": (None, "p", "p", "p"),
    "unbounded_log": (None, "p", "p"),
    "exact_differences": (None, "p", "p", "i", "p", "p"),
    "exponentials": (None, "p", "p", "i", "p"),
    "exponentials_by_four": (None, "p", "p", "i", "p"),
    "unbounded_exponential": (None, "d", "d", "p"),
    "exponential": (ctypes.c_double, "d"),
    "logarithm": (ctypes.c_double, "d"),
    "logarithm_of_1_plus": (ctypes.c_double, "d"),
    "logarithms": (None, "p", "i"),
    "logarithms_of_weights": (ctypes.c_bool, "p", "p", "i"),
    "logarithm_row": (None, "i", "p"),
    "exact_products": (None, "p", "p", "i", "p", "p"),
    "copied_row": (None, "p", "i", "p"),
    "transposed": (None, "p", "i", "i", "p"),
    "ordered_sum": (ctypes.c_double, "p", "i"),
    "compensated_sum": (ctypes.c_double, "p", "i"),
    "exact_sum": (None, "p", "p", "i", "p"),
    "exactly_scaled_log_ratio": (ctypes.c_double, "p", "i", "i"),
    "exponential_minus_1": (ctypes.c_double, "d"),
    "matrix_product": (None, "p", "p", "p", "p", "i", "i", "i", "b"),
    "shift_of": (None, "p", "i", "b", "p", "p"),
    "negligible": (ctypes.c_bool, "d", "p", "i"),
    "lost_share": (ctypes.c_double, "d", "p", "i"),
    "survivors": (ctypes.c_bool, "p", "i", "b", "p", "p", "p"),
    "absorb_rows": (None, "p", "i", "i", "i", "i", "p", "p", "p"),
    "answer": (ctypes.c_bool, "i", "p", "p", "i", "i", "b", "p", "p"),
    "groups_of": (_INDEX, "p", "i", "i", "p", "p"),
}
# What can be asked of four graphs at once: the list of parts.cpp.
QUESTIONS = (
    "log_partition",
    "marginals",
    "covariances",
    "cumulants",
    "root_marginals",
    "entropy",
    "entropy_gradient",
)
_TYPES = {
    "p": ctypes.c_void_p,
    "h": ctypes.c_void_p,
    "u": ctypes.c_uint64,
    "i": _INDEX,
    "d": ctypes.c_double,
    "b": ctypes.c_bool,
}


def instruction_sets():
    """Name those that were built and that this machine can run."""
    names = dict.fromkeys(["baseline", _core.instruction_set()])
    return [name for name in names if name == "baseline" or _library(name).exists()]


def _library(instruction_set):
    return FOLDER / f"core_parts_{instruction_set}.so"


def unbounded(value):
    """Take a fraction apart: the mantissa and the exponent of an unbounded double near it."""
    value = Fraction(value)
    if value == 0:
        return np.array([0.0, -np.inf])
    exponent = round((value.numerator.bit_length() - value.denominator.bit_length()) / STEP)
    mantissa = value / Fraction(2) ** (STEP * exponent)
    if mantissa >= 2 ** (STEP // 2):
        mantissa, exponent = mantissa / 2**STEP, exponent + 1
    elif mantissa * 2 ** (STEP // 2) < 1:
        mantissa, exponent = mantissa * 2**STEP, exponent - 1
    return np.array([float(mantissa), float(exponent)])


def value_of(parts):
    """Tell the value of an unbounded double, exactly."""
    mantissa, exponent = parts
    return Fraction(mantissa) * Fraction(2) ** (STEP * int(exponent)) if mantissa else Fraction(0)


def _halves(number):
    return np.array([number >> 64, number & (2**64 - 1)], np.uint64)


def _joined(halves):
    return int(halves[0]) << 64 | int(halves[1])


class Parts:
    """The functions of one library, on arrays and Python's own numbers."""

    def __init__(self, instruction_set):
        path = _library(instruction_set)
        if not path.exists():
            raise FileNotFoundError(f"{path} is not there: run make test, which builds it")
        self.library = ctypes.CDLL(str(path.resolve()))
        for name, (result, *arguments) in _SIGNATURES.items():
            function = getattr(self.library, name)
            function.restype = result
            function.argtypes = [_TYPES[letter] for letter in arguments]

    def __call__(self, name, *arguments):
        """Call a function; arrays are passed as addresses, and checked to be what C++ expects."""
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                assert argument.flags.c_contiguous
        return getattr(self.library, name)(
            *(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments)
        )

    # ---- randomness

    def stream(self, key, graph, draw, purpose, count):
        numbers = np.empty(count, np.uint64)
        self("stream_numbers", np.array(key, np.uint64), graph, draw, purpose, count, numbers)
        return numbers

    def alias_table(self, weights):
        weights = np.array(weights, float)
        thresholds, aliases = np.empty(len(weights), np.uint64), np.empty(len(weights), np.uint32)
        self("alias_table", weights, len(weights), thresholds, aliases)
        return thresholds, aliases

    def alias_outcomes(self, table, numbers):
        numbers = np.array(numbers, np.uint64)
        outcomes = np.empty(len(numbers), np.uint32)
        self("alias_outcomes", *table, len(table[0]), numbers, len(numbers), outcomes)
        return outcomes.tolist()

    def fixed_point(self, x):
        halves = np.empty(2, np.uint64)
        self("fixed_point_of", x, halves)
        return _joined(halves)

    def high_product(self, x, y):
        halves = np.empty(2, np.uint64)
        self("high_product_of", _halves(x), _halves(y), halves)
        return _joined(halves)

    def exact_choice(self, chances, number):
        return self("exact_choice", np.array(chances, float), len(chances), _halves(number))

    # ---- numbers

    def unbounded_operation(self, name, *operands):
        result = np.empty(2)
        self(f"unbounded_{name}", *operands, result)
        return result

    def exact_pairs(self, name, x, y):
        """Return exact differences or products, as sums of two doubles."""
        x, y = np.array(x, float), np.array(y, float)
        high, low = np.empty(len(x)), np.empty(len(x))
        self(f"exact_{name}", x, y, len(x), high, low)
        return high, low

    def exponentials(self, high, low, *, by_four=False):
        high, low = np.array(high, float), np.array(low, float)
        results = np.empty(len(high))
        name = "exponentials_by_four" if by_four else "exponentials"
        self(name, high, low, len(high), results)
        return results

    def logarithms(self, numbers):
        results = np.array(numbers, float)
        self("logarithms", results, len(results))
        return results

    def logarithms_of_weights(self, weights):
        """Tell whether all are weights, with their logarithms if they are."""
        results = np.empty(len(weights))
        weights = np.array(weights, float)
        return self("logarithms_of_weights", weights, results, len(weights)), results

    def logarithm_table(self):
        """List the rows of the table: a number, and the logarithm of its inverse."""
        rows = np.empty((256, 2))
        for index, row in enumerate(rows):
            self("logarithm_row", index, row)
        return rows

    def copied_row(self, numbers):
        """Return a copy, and what is left of a marked entry behind it."""
        copy = np.append(np.zeros(len(numbers)), np.nan)
        self("copied_row", numbers, len(numbers), copy)
        return copy[:-1], copy[-1]

    def transposed(self, matrix):
        """Return a copy, and what is left of a marked entry behind it."""
        copy = np.append(np.zeros(matrix.size), np.nan)
        self("transposed", matrix, *matrix.shape, copy)
        return copy[:-1].reshape(matrix.shape[::-1]), copy[-1]

    def ordered_sum(self, numbers):
        return self("ordered_sum", np.array(numbers, float), len(numbers))

    def compensated_sum(self, numbers):
        return self("compensated_sum", np.array(numbers, float), len(numbers))

    def matrix_product(self, c, a, b, *, transposed=False, in_place=True):
        """Return c + a b; a is handed over transposed if asked."""
        addend = np.array(c, float)
        result = addend if in_place else np.full(c.shape, np.nan)
        left = np.ascontiguousarray(a.T if transposed else a, float)
        right = np.ascontiguousarray(b, float)
        self("matrix_product", result, addend, left, right, *a.shape, b.shape[1], transposed)
        return result

    # ---- the walk

    def shift(self, log_weights, single_root=True):
        """Return what is taken off each column, and off the root's arcs as an exact sum of two."""
        log_weights = np.ascontiguousarray(log_weights, float)
        columns, root = np.empty(len(log_weights)), np.empty(2)
        self("shift_of", log_weights, len(log_weights) - 1, single_root, columns, root)
        return columns, root

    def negligible(self, highest_lost, partition, num_words):
        return self("negligible", highest_lost, unbounded(partition), num_words)

    def lost_share(self, log_sums, partition, num_words):
        return self("lost_share", log_sums, unbounded(partition), num_words)

    def survivors(self, rows, *, by_four):
        rows = np.ascontiguousarray(rows, float)
        size = len(rows)
        chances, escapes = np.empty((size, size)), np.empty(size)
        orders = np.empty(size, np.intp)
        alive = self("survivors", rows, size, by_four, chances, escapes, orders)
        return chances, escapes, orders, alive

    def absorb(self, rows, count):
        """Censor the first `count` nodes of rows over (nodes, a, b).

        Returns where the walk from each of them lands, Z of them as a fraction, the number of
        pivots of first order, and whether the walk could not go on.
        """
        num_left = rows.shape[1] - count
        others = -(-count // 4) * 4
        stride = others + -(-num_left // 4) * 4
        laid_out = np.zeros((count, stride))
        laid_out[:, :count] = rows[:count, :count]
        laid_out[:, others : others + num_left] = rows[:count, count:]
        product, first_order, dead_end = np.empty(2), np.empty(1, np.intp), np.empty(1, bool)
        self("absorb_rows", laid_out, count, others, others + num_left, stride, product,
             first_order, dead_end)  # fmt: skip
        landing = laid_out[:, others : others + num_left]
        return landing, value_of(product), int(first_order[0]), bool(dead_end[0])

    # ---- four graphs at once

    def four_at_once(self, question, scores, directions, *, single_root):
        """Return numbers and a matrix of each graph, or None if they are for one by one."""
        scores, directions = (np.ascontiguousarray(x, float) for x in (scores, directions))
        count, size, _ = scores.shape
        numbers, matrices = np.zeros((count, 4 + size)), np.zeros(scores.shape)
        solved = self(
            "answer",
            QUESTIONS.index(question),
            scores,
            directions,
            count,
            size - 1,
            single_root,
            numbers,
            matrices,
        )
        return (numbers, matrices) if solved else None

    def one_by_one(self, question, scores, directions, *, single_root):
        alone = [
            self.four_at_once(question, one[None], direction[None], single_root=single_root)
            for one, direction in zip(scores, directions, strict=True)
        ]
        return tuple(np.concatenate(parts) for parts in zip(*alone, strict=True))

    def groups(self, lengths, workers):
        """List the groups of graphs that are solved at once."""
        lengths = np.array(lengths, np.intp)
        graphs, ends = np.empty(len(lengths), np.intp), np.empty(len(lengths), np.intp)
        count = self("groups_of", lengths, len(lengths), workers, graphs, ends)
        return [group.tolist() for group in np.split(graphs, ends[: count - 1])] if count else []


class SumTree:
    """Masses in a sum tree of the core."""

    def __init__(self, parts):
        self.parts = parts
        self.handle = parts("new_sum_tree")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.parts("free_sum_tree", self.handle)

    def reserve(self, count):
        assert self.parts("sum_tree_reserve", self.handle, count)

    def set(self, index, mass):
        self.parts("sum_tree_set", self.handle, index, unbounded(mass))

    def total(self):
        total = np.empty(2)
        self.parts("sum_tree_total", self.handle, total)
        return value_of(total)

    def draws(self, key, count):
        drawn = np.empty(count, np.intp)
        self.parts("sum_tree_draws", self.handle, np.array(key, np.uint64), count, drawn)
        return drawn
