"""The numbers of the twin: random bits, exponentials, sums and choices, bit for bit as in the core.

Whatever the core computes in double is computed here in NumPy's float64, with the same operations
in the same order; whatever it computes in 64 or 128 bits, here in Python's integers, which are
exact. There are two arithmetics, as in the core: :data:`DOUBLE`, and :data:`UNBOUNDED` for numbers
that leave the range of double. An array is of one of them, by its dtype; the code that works on it
only adds, multiplies and divides, and does not ask which.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from verification.laws import FloatArray

Numbers = npt.NDArray[Any]
"""An array of float64, or of :class:`UnboundedDouble` objects."""

BoolArray = npt.NDArray[np.bool_]
Key = tuple[int, int]

DRAWS, SUBSPACES, PERTURBATIONS = 0, 1, 2
"""What a stream is for: draws with replacement, draws in a subspace, perturbed probabilities."""


class Stream:
    """The random numbers of one draw, exactly those of NumPy's own Philox generator.

    Parameters
    ----------
    key : tuple of two int
        The key of the call.
    graph, draw : int
        Which draw of which graph.
    purpose : int, optional
        What the numbers are for.

    Attributes
    ----------
    position : int
        How many numbers were read. Setting it back reads them again.
    """

    def __init__(self, key: Key, graph: int, draw: int, purpose: int = DRAWS) -> None:
        counter = np.array([0, purpose, graph, draw], dtype=np.uint64)
        self._source = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=counter)
        self._numbers: list[int] = []
        self.position = 0

    def next(self) -> int:
        """Read 64 bits."""
        if self.position == len(self._numbers):
            self._numbers.append(int(self._source.random_raw()))
        self.position += 1
        return self._numbers[self.position - 1]

    def next_128(self) -> int:
        """Read 128 bits, the high ones first."""
        return self.next() << 64 | self.next()


# ---- exponentials ----

LOG2_E = 1.4426950408889634074
LN2_HIGH = 6.93147180369123816490e-01  # 33 bits, so that small multiples of it are exact
LN2_LOW = 1.90821492927058770002e-10
SHIFTER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer
SMALLEST_EXPONENT = -708.0  # e^-708 is the last normal double
SMALLEST_UNBOUNDED_EXPONENT = -1e307


def exact_difference(x: Any, y: Any) -> tuple[Any, Any]:
    """Subtract without rounding error: the result is the sum of the two numbers returned."""
    high = x - y
    back = high - x
    return high, (x - (high - back)) - (y + back)


def reduced_exp(r: Any) -> Any:
    """Sum the Taylor series of exp, for r within log(2) / 2 of 0, in pairs and pairs of pairs."""
    r2 = r * r
    r4 = r2 * r2
    low = (r * (1.0 / 6) + 0.5) + r2 * (r * (1.0 / 120) + 1.0 / 24)
    middle = (r * (1.0 / 5040) + 1.0 / 720) + r2 * (r * (1.0 / 362880) + 1.0 / 40320)
    high = (r * (1.0 / 39916800) + 1.0 / 3628800) + r2 * (
        r * (1.0 / 6227020800.0) + 1.0 / 479001600
    )
    return 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)))


def exp_in_range(high: FloatArray, low: FloatArray) -> FloatArray:
    """Exponentiate high + low, for -708 <= high <= 0."""
    shifted = high * LOG2_E + SHIFTER
    k = shifted - SHIFTER
    r = ((high - k * LN2_HIGH) - k * LN2_LOW) + low
    # The low bits of `shifted` are k in two's complement: move them into the exponent.
    power_of_two = ((shifted.view(np.int64) + 1023) << 52).view(np.float64)
    result: FloatArray = reduced_exp(r) * power_of_two
    return result


def exp(x: float) -> float:
    """Exponentiate x <= 0."""
    if x >= SMALLEST_EXPONENT:
        return float(exp_in_range(np.array([x]), np.array([0.0]))[0])
    return float(unbounded_exp(x, 0.0))


# ---- logarithms ----

SPLITTER = 134217729.0  # 2^27 + 1: with it a product of doubles has four exact parts


def exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """Multiply without rounding error: the result is the sum of the two numbers returned."""
    x_high = x * SPLITTER - (x * SPLITTER - x)
    y_high = y * SPLITTER - (y * SPLITTER - y)
    x_low, y_low = x - x_high, y - y_high
    high = x * y
    return high, ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low


def _logarithm_table() -> tuple[FloatArray, FloatArray]:
    """Read the core's table of numbers near 1 / z, and of the logarithms of their inverses."""
    source = Path(__file__).parents[1] / "src" / "core" / "numbers" / "logarithm_table.hpp"
    rows = re.findall(r"\{(\S+), (\S+)\}", source.read_text())
    inverse, log = np.array([[float.fromhex(number) for number in row] for row in rows]).T
    return inverse, log


INVERSE, LOG_OF_INVERSE = _logarithm_table()
FIRST_BITS = np.int64(0x3FE6080000000000)  # of the smallest z in the table
UPPER_27 = np.int64(~0x3FFFFFF)  # of the 53 bits of a double


def log_parts(x: FloatArray, more: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Take the logarithm of x * 2^more, for normal x > 0, as a sum of two numbers."""
    above = x.view(np.int64) - FIRST_BITS
    k = (above >> 52).astype(np.float64) + more
    row = (above >> 44) & 255
    z = ((above & ((1 << 52) - 1)) + FIRST_BITS).view(np.float64)
    z_high = (z.view(np.int64) & UPPER_27).view(np.float64)
    r_high = z_high * INVERSE[row] - 1.0
    r_low = (z - z_high) * INVERSE[row]
    r = r_high + r_low
    whole = k * LN2_HIGH
    first = (whole + LOG_OF_INVERSE[row]) + r
    first_rest = (((whole - first) + LOG_OF_INVERSE[row]) + r_high) + r_low
    r2 = r * r
    powers = r2 * ((r * (1.0 / 3) - 0.5) + r2 * ((r * 0.2 - 0.25) - r2 * (1.0 / 6)))
    rest = (k * LN2_LOW + first_rest) + powers
    high = first + rest
    return high, (first - high) + rest


def log(x: float) -> float:
    """Take the natural logarithm of x > 0."""
    if x < np.finfo(np.float64).tiny:
        return float(log_parts(np.array([x * 2.0**54]), -54.0)[0][0])
    return float(log_parts(np.array([x]))[0][0])


def log1p(x: float) -> float:
    """Take the natural logarithm of 1 + x, for x > -1."""
    one_plus, rest = exact_difference(1.0, -x)
    high, low = (float(part[0]) for part in log_parts(np.array([one_plus])))
    return high + (low + float(rest) / float(one_plus))


class CompensatedSum:
    """A sum of doubles that keeps the rounding errors of its additions."""

    def __init__(self) -> None:
        self._high = self._low = 0.0

    def add(self, *terms: float) -> None:
        """Add numbers, one after the other."""
        for term in terms:
            total = self._high + term
            if abs(self._high) >= abs(term):
                self._low += (self._high - total) + term
            else:
                self._low += (term - total) + self._high
            self._high = total

    @property
    def value(self) -> float:
        """The sum, rounded once more."""
        return self._high if math.isinf(self._high) else self._high + self._low


# ---- numbers of any magnitude ----


STEP = 512
"""The exponent of an unbounded number counts powers of 2^512."""

LN2_STEP = 354.891356446692  # 512 log(2), and what is missing there
LN2_STEP_REST = 1.1873519686893054e-14


@dataclass(frozen=True)
class UnboundedDouble:
    """mantissa * 2^(512 * exponent), with 2^-256 <= mantissa < 2^256; zero is the default.

    It can be added, multiplied and divided, and like the numbers it stands for is never negative.
    Within the bounds of the mantissa the results are those of double.
    """

    mantissa: float = 0.0
    exponent: float = -math.inf

    @classmethod
    def of(cls, number: Any) -> UnboundedDouble:
        """Convert a float; what is unbounded already stays as it is."""
        if isinstance(number, UnboundedDouble):
            return number
        if not number > 0:
            return cls()
        return cls._of_parts(float(number), 0.0)

    @classmethod
    def _of_parts(cls, mantissa: float, exponent: float) -> UnboundedDouble:
        """Bring a mantissa back into its bounds."""
        while mantissa >= 2.0 ** (STEP // 2):
            mantissa, exponent = math.ldexp(mantissa, -STEP), exponent + 1
        while 0 < mantissa < 2.0 ** (-STEP // 2):
            mantissa, exponent = math.ldexp(mantissa, STEP), exponent - 1
        return cls(mantissa, exponent)

    def __bool__(self) -> bool:
        return self.mantissa > 0

    def __float__(self) -> float:
        if not self.exponent > -4:
            return 0.0
        return math.ldexp(self.mantissa, STEP * int(self.exponent))

    def __add__(self, other: UnboundedDouble) -> UnboundedDouble:
        large, small = (self, other) if self.exponent >= other.exponent else (other, self)
        if small.exponent + 1 < large.exponent or not small:  # below 2^-512 times the larger
            return large
        lowered = math.ldexp(small.mantissa, STEP * int(small.exponent - large.exponent))
        return UnboundedDouble._of_parts(large.mantissa + lowered, large.exponent)

    def __mul__(self, other: UnboundedDouble) -> UnboundedDouble:
        return UnboundedDouble._of_parts(
            self.mantissa * other.mantissa, self.exponent + other.exponent
        )

    def __truediv__(self, other: UnboundedDouble) -> UnboundedDouble:
        return UnboundedDouble._of_parts(
            self.mantissa / other.mantissa, self.exponent - other.exponent
        )

    def log_parts(self) -> tuple[float, float]:
        """Take the natural logarithm, of a positive number, as a sum of two."""
        mantissa = np.array([self.mantissa])
        if abs(self.exponent) <= 1000:
            high, low = log_parts(mantissa, self.exponent * STEP)
            return float(high[0]), float(low[0])
        if abs(self.exponent) > 2**53:  # a rounded number
            return self.exponent * LN2_STEP, 0.0
        whole, whole_rest = exact_product(self.exponent, LN2_STEP)
        high, low = log_parts(mantissa)
        total, rest = exact_difference(whole, -float(high[0]))
        return total, rest + (float(low[0]) + (whole_rest + self.exponent * LN2_STEP_REST))

    def log(self) -> float:
        """Take the natural logarithm, of a positive number."""
        return sum(self.log_parts())


def unbounded_exp(high: float, low: float) -> UnboundedDouble:
    """Exponentiate high + low <= 0, however far below."""
    if not high > SMALLEST_UNBOUNDED_EXPONENT:
        high, low = SMALLEST_UNBOUNDED_EXPONENT, 0.0
    k = float(np.rint(high * LOG2_E))
    product = k * LN2_HIGH
    error = float(Fraction(k) * Fraction(LN2_HIGH) - Fraction(product))  # what the core's fma gives
    r = (((high - product) - error) - k * LN2_LOW) + low
    steps = float(np.rint(k / STEP))
    rest = k - STEP * steps
    if not (abs(rest) <= STEP // 2 and abs(r) < 0.35):  # beyond 1e15 there is no fraction
        return UnboundedDouble(1.0, steps)
    return UnboundedDouble._of_parts(math.ldexp(float(reduced_exp(r)), int(rest)), steps)


# ---- the two arithmetics ----


class Arithmetic(Protocol):
    """What differs between numbers in double and numbers of any magnitude."""

    @property
    def dtype(self) -> npt.DTypeLike:
        """The type of an array's elements."""

    @property
    def zero(self) -> Any:
        """The number 0."""

    @property
    def one(self) -> Any:
        """The number 1."""

    def exp(self, high: FloatArray, low: FloatArray, is_arc: BoolArray) -> tuple[Numbers, bool]:
        """Exponentiate where there is an arc; also tell whether all of the results fit."""

    def total(self, numbers: Numbers) -> Any:
        """Add up, in the order of the core."""


class _Double:
    dtype = np.float64
    zero, one = np.float64(0.0), np.float64(1.0)

    def exp(self, high: FloatArray, low: FloatArray, is_arc: BoolArray) -> tuple[Numbers, bool]:
        fits = high >= SMALLEST_EXPONENT
        weights = exp_in_range(np.where(fits, high, 0.0), np.where(fits, low, 0.0))
        return np.where(fits, weights, 0.0), bool(np.all(fits | ~is_arc))

    def total(self, numbers: Numbers) -> Any:
        """Keep eight running sums: an order that every vector width can follow."""
        lane = np.zeros(8)
        for begin in range(0, len(numbers), 8):
            part = numbers[begin : begin + 8]
            lane[: len(part)] += part
        return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + (
            (lane[1] + lane[5]) + (lane[3] + lane[7])
        )


class _Unbounded:
    dtype = object
    zero, one = UnboundedDouble(), UnboundedDouble(1.0, 0.0)

    def exp(self, high: FloatArray, low: FloatArray, is_arc: BoolArray) -> tuple[Numbers, bool]:
        weights = np.full(high.shape, UnboundedDouble(), dtype=object)
        for arc in zip(*np.nonzero(is_arc), strict=True):
            weights[arc] = unbounded_exp(float(high[arc]), float(low[arc]))
        return weights, True

    def total(self, numbers: Numbers) -> Any:
        """Add one after the other."""
        return sum(numbers, UnboundedDouble())


DOUBLE: Arithmetic = _Double()
UNBOUNDED: Arithmetic = _Unbounded()


# ---- choices ----


def fixed_point(chance: float) -> int:
    """Round a chance down to a multiple of 2^-120, and count the multiples."""
    numerator, denominator = float(chance).as_integer_ratio()
    return (numerator << 120) // denominator


def draw_index(chances: Sequence[Any] | Numbers, stream: Stream) -> int:
    """Draw in proportion to chances that sum to 1 up to rounding, from 128 random bits."""
    shares = [fixed_point(float(chance)) for chance in chances]
    target = stream.next_128() * sum(shares) >> 128
    for index, share in enumerate(shares):
        if target < share:
            return index
        target -= share
    raise AssertionError("the target is below the sum of all shares")
