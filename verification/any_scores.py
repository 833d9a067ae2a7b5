"""Are all numbers right for any finite scores?  Families of scores, and the judge.

Scores go from 1e-320 to 1.7e308, masks from 1e4 to 1e308.  Every number that a distribution gives
is compared with balls of unlimited exponents (:mod:`verification.with_balls`), and its error with
what the library promises (``docs/is_it_exact.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from arborand import DependencyTrees, SpanningTrees
from verification.laws import FloatArray
from verification.random_graphs import bound_pairs, normal, one_tree_ahead, traps
from verification.trials import generator
from verification.with_balls import BallLaw

Family = Callable[[np.random.Generator, int], FloatArray]

LARGEST = 1.7e308
ORDERS = (0.0, 1e-300, 0.3, 1 - 1e-9, 1 + 1e-9, 2.0, 1e6)
"""Of Renyi entropies: the ends, both sides of Shannon's, and in between."""

SMALLEST_MARGINAL = flint.arb("1e-290")
"""Below this nothing is promised but a small number."""

MOST_WORDS = 25
_SMALL_SIZES = (1, 2, 3, 4, 5)  # most graphs; every twentieth is larger


def _magnitude(rng: np.random.Generator, least: float, most: float) -> float:
    return float(10.0 ** rng.uniform(least, most))


def _normal(rng: np.random.Generator, num_words: int, deviation: float = 1.0) -> FloatArray:
    scores = normal(rng, num_words=num_words, deviation=deviation)
    return np.clip(scores, -LARGEST, LARGEST)


def _masked(rng: np.random.Generator, num_words: int) -> FloatArray:
    scores = _normal(rng, num_words)
    return np.where(rng.random(scores.shape) < 0.5, -_magnitude(rng, 4, 308), scores)


def _holes(rng: np.random.Generator, scores: FloatArray) -> FloatArray:
    is_kept = rng.random(scores.shape) < 0.4
    path = np.concatenate([[0], 1 + rng.permutation(len(scores) - 1)])
    is_kept[path[:-1], path[1:]] = True
    return np.where(is_kept, scores, -np.inf)


def _masked_roots(rng: np.random.Generator, num_words: int) -> FloatArray:
    scores = _normal(rng, num_words)
    scores[0] -= _magnitude(rng, 4, 308)
    return scores


def _bound(rng: np.random.Generator, num_words: int) -> FloatArray:
    return bound_pairs(rng, num_words=num_words, strongest=_magnitude(rng, 1, 308))


def _traps(rng: np.random.Generator, num_words: int) -> FloatArray:
    return traps(rng, num_words=num_words, depth=_magnitude(rng, 0, 306) / num_words)


def _ahead(rng: np.random.Generator, num_words: int) -> FloatArray:
    gap = _magnitude(rng, 0, 308)
    return one_tree_ahead(rng, num_words=num_words, least=gap, most=gap)


def _columns(rng: np.random.Generator, num_words: int) -> FloatArray:
    shift = rng.uniform(-1, 1, num_words + 1) * _magnitude(rng, 0, 308)
    return _normal(rng, num_words) + shift


def _all_sizes(rng: np.random.Generator, num_words: int) -> FloatArray:
    shape = (num_words + 1, num_words + 1)
    scores: FloatArray = rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-320, 308, shape)
    return scores


def _units(rng: np.random.Generator, num_words: int) -> FloatArray:
    coarse = _magnitude(rng, 3, 307) * np.round(_normal(rng, num_words))
    return coarse + _normal(rng, num_words)


def _among(*values: float) -> Family:
    return lambda rng, num_words: rng.choice(values, (num_words + 1, num_words + 1))


FAMILIES: Mapping[str, Family] = {
    "normal": _normal,
    "up to 1e3": lambda rng, n: _normal(rng, n, _magnitude(rng, 0, 3)),
    "up to 1e308": lambda rng, n: _normal(rng, n, _magnitude(rng, 3, 308)),
    "masks": _masked,
    "masked roots": _masked_roots,
    "bound pairs": _bound,
    "traps": _traps,
    "one tree ahead": _ahead,
    "sparse": lambda rng, n: _holes(rng, _normal(rng, n, _magnitude(rng, 0, 2))),
    "sparse up to 1e308": lambda rng, n: _holes(rng, _normal(rng, n, _magnitude(rng, 2, 308))),
    "sparse masks": lambda rng, n: _holes(rng, _masked(rng, n)),
    "shifted columns": _columns,
    "1e-320 to 1e308": _all_sizes,
    "large and units": _units,
    "1e16 and 1": _among(1e16, 1.0, 0.5, -1e16),
    "the ends": _among(-LARGEST, LARGEST, -1e308, 0.0, 1.0, 5e-324, 1e290),
}
"""By name: from a random generator and a number of words to scores that have a dependency tree."""


@dataclass(frozen=True)
class Promises:
    """How much of each promise was used up, at worst.

    Attributes
    ----------
    worst : dict of str to (float, str)
        The largest error of a number as a share of what is allowed, and where.
    num_graphs : int
        How many were looked at.
    """

    worst: Mapping[str, tuple[float, str]]
    num_graphs: int

    @property
    def p_value(self) -> float:
        """1 or 0: given the graphs, nothing is random."""
        return float(all(share <= 1.0 for share, _ in self.worst.values()))

    def report(self) -> str:
        """Return the evidence in words."""
        used = ", ".join(
            f"{what} {100 * share:.2g} % ({where})" for what, (share, where) in self.worst.items()
        )
        return f"{self.num_graphs} graphs; of the error that is promised, at most: {used}"


def judge_any_scores(family: str, num_graphs: int, seed: int, *, single_root: bool) -> Promises:
    """Compare all numbers of random graphs of a family with balls."""
    rng = generator(seed)
    worst: dict[str, tuple[float, str]] = {}
    for number in range(num_graphs):
        num_words = (
            int(rng.integers(6, MOST_WORDS + 1))
            if number % 20 == 19
            else _SMALL_SIZES[number % len(_SMALL_SIZES)]
        )
        graph_seed = int(rng.integers(2**63))
        for what, share in shares_of(family, num_words, graph_seed, single_root=single_root):
            if not share <= worst.get(what, (0.0, ""))[0]:
                worst[what] = share, f"{num_words} words, seed {graph_seed}"
    return Promises(worst, num_graphs)


def scores_of(family: str, num_words: int, rng: np.random.Generator) -> FloatArray:
    """Make scores of a family, -inf where no arc is."""
    scores = FAMILIES[family](rng, num_words)
    scores[:, 0] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    return scores


def shares_of(
    family: str, num_words: int, seed: int, *, single_root: bool
) -> Iterator[tuple[str, float]]:
    """Yield errors of one random graph, as shares of what is promised."""
    rng = np.random.default_rng(seed)
    scores = scores_of(family, num_words, rng)
    trees = (DependencyTrees if single_root else SpanningTrees)(scores)
    law = BallLaw(scores, single_root=single_root)
    unit = num_words * math.log(num_words + 1)
    marginals = trees.arc_marginals()
    yield "log Z", _share(trees.log_partition(), law.log_partition, _relative(law.log_partition))
    for arc, chance in law.arc_marginals.items():
        if chance > SMALLEST_MARGINAL:
            yield "marginals", _share(marginals[arc], chance, 1e-12 * chance)
        else:
            yield "marginals", 0.0 if 0.0 <= marginals[arc] < 1.01e-290 else math.inf
    uniform = type(trees)(np.where(trees.log_weights > -np.inf, 0.0, -np.inf))
    for heads in (*trees.sample(2, rng=seed), *uniform.sample(2, rng=seed)):
        exact = law.log_prob(heads)
        yield "log_prob", _share(trees.log_prob(heads), exact, _relative(exact))
    yield "entropy", _share(trees.entropy(), law.entropy(), 1e-12 * unit)
    for order in ORDERS:
        exact = law.renyi_entropy(order)
        yield "Renyi", _share(trees.renyi_entropy(order), exact, _relative(exact))
    gradient = trees.entropy_gradient()
    for arc, exact in law.entropy_gradient().items():
        if law.arc_marginals[arc] > SMALLEST_MARGINAL:
            allowed = 1e-12 * law.arc_marginals[arc] * unit
            yield "entropy gradient", _share(gradient[arc], exact, allowed)
    yield from _of_values(trees, law, rng)
    yield from _of_divergences(trees, law, rng)


# Covariances of tiny values with rare arcs end where the digits of float64 end.
SMALLEST_NORMAL = np.finfo(np.float64).tiny


def _of_values(
    trees: SpanningTrees | DependencyTrees, law: BallLaw, rng: np.random.Generator
) -> Iterator[tuple[str, float]]:
    values = rng.normal(size=(law.size, law.size)) * 10.0 ** rng.uniform(-30, 30)
    largest = max(abs(values[arc]) for arc in law.arcs)
    covariances = trees.arc_covariances(values)
    balls = law.values(values)
    exact = law.arc_covariances(balls, largest)
    for arc, chance in law.arc_marginals.items():
        if chance > SMALLEST_MARGINAL:
            allowed = 1e-12 * chance * largest + float(SMALLEST_NORMAL)
            yield "covariances", _share(covariances[arc], exact[arc], allowed)
    others = law.mass_beside_one_tree()
    if others > SMALLEST_MARGINAL:
        allowed = 1e-12 * (law.size - 1) ** 2 * flint.arb(largest) ** 2 * others
        allowed += float(SMALLEST_NORMAL)
        yield "variance", _share(trees.variance(values), law.variance(balls, largest), allowed)


def _of_divergences(
    trees: SpanningTrees | DependencyTrees, law: BallLaw, rng: np.random.Generator
) -> Iterator[tuple[str, float]]:
    """Compare with a close distribution, and with a moderate one of either kind."""
    shape = law.log_weights.shape
    noise = rng.normal(size=shape) * 10.0 ** rng.uniform(-9, 1)
    close = np.where(law.log_weights > -np.inf, law.log_weights + noise, -np.inf)
    close = np.maximum(np.minimum(close, LARGEST), np.where(close > -np.inf, -LARGEST, -np.inf))
    moderate = 30.0 * rng.normal(size=shape)
    for scores, single_root in (
        (close, law.single_root),
        (moderate, law.single_root),
        (moderate, False),
    ):
        other = (DependencyTrees if single_root else SpanningTrees)(scores)
        exact = law.kl_divergence(
            BallLaw(other.log_weights, single_root=single_root, bits=law.bits)
        )
        allowed = 1e-13 * _at_least_1(exact)
        if scores is close:  # between large scores there are few doubles for the way
            is_changed = (close != law.log_weights) & (close > -np.inf)
            allowed += 1e-15 * np.abs(close, where=is_changed, out=np.zeros(shape)).max() * exact
        yield "KL", _share(trees.kl_divergence(other), exact, allowed)


def _at_least_1(exact: Any) -> Any:
    return max(flint.arb(1), abs(exact))


def _relative(exact: Any) -> Any:
    return 1e-12 * _at_least_1(exact)


_END = flint.arb(float(np.finfo(np.float64).max))


def _share(found: Any, exact: Any, allowed: Any) -> float:
    """Divide an error by what is promised; beyond the range of float64 only infinity is right."""
    if abs(exact) > _END:
        return 0.0 if found == (math.inf if exact > 0 else -math.inf) else math.inf
    if not math.isfinite(found):
        return math.inf
    share = abs(flint.arb(float(found)) - exact) / allowed
    if not share.rad() < 1e-3:
        raise ArithmeticError("the balls are too wide to judge")
    return float(share.upper())
