"""Graphs and oracles for the tests of the paper, and what the paper takes for granted.

Every lemma and theorem is tested on small graphs against exact arithmetic (walks in
`test_paper_walks`, determinants in `test_paper_ancestral`), and nothing is compared with itself.
The oracles are the list of all trees, with weights as fractions; Gauss-Jordan elimination in
fractions; and `every_run`, which replaces the random draws of a sampler by all possible outcomes in
turn, and so yields its law without sampling. All weights of the graphs are small dyadic numbers:
floats hold them, and their sums, exactly.

The tests of this file are about drawing from a categorical distribution and about bad input.
"""

import functools
import importlib
import math
import pkgutil
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from arborand.enumeration import dependency_trees, spanning_trees
from arborand.paper import reference

EPSILON = np.finfo(np.float64).eps
REFERENCE_MODULES = [
    importlib.import_module(info.name)
    for info in pkgutil.iter_modules(reference.__path__, prefix="arborand.paper.reference.")
]

GRAPHS = {
    "one word": [[0, 3], [0, 0]],
    "two words": [[0, 1, 4], [0, 0, 2], [0, 8, 0]],
    "dense": [[0, 1, 3, 2], [0, 0, 5, 1], [0, 2, 0, 7], [0, 4, 1, 0]],
    "dense, four words": [
        [0, 2, 1, 3, 1],
        [0, 0, 4, 1, 2],
        [0, 1, 0, 2, 5],
        [0, 3, 1, 0, 1],
        [0, 1, 2, 6, 0],
    ],
    "sparse, word 1 not under the root": [[0, 0, 3, 1], [0, 0, 2, 0], [0, 5, 0, 4], [0, 1, 0, 0]],
    "sparse, word 1 only under the root": [[0, 2, 1, 0], [0, 0, 3, 1], [0, 0, 0, 4], [0, 0, 5, 0]],
    "sparse, four words": [
        [0, 1, 0, 0, 2],
        [0, 0, 3, 0, 1],
        [0, 0, 0, 2, 0],
        [0, 4, 1, 0, 0],
        [0, 2, 0, 5, 0],
    ],
    "unequal scales": [[0, 64, 0.5, 1], [0, 0, 16, 0.25], [0, 0.125, 0, 32], [0, 1, 4, 0]],
    "counter-example": reference.THEOREM_2_GRAPH.tolist(),
}

# In these, the arcs into each word sum to a power of two, so that w' is exact as well.
WALK_GRAPHS = {
    "dense": [[0, 1, 2, 1], [0, 0, 1, 5], [0, 4, 0, 2], [0, 3, 1, 0]],
    "sparse": [[0, 0, 1, 0], [0, 0, 3, 3], [0, 1, 0, 1], [0, 3, 4, 0]],
}


def graph(rows):
    """Build the weights, with NaN where nothing may be read."""
    weights = np.array(rows, dtype=np.float64)
    weights[:, 0] = np.nan
    np.fill_diagonal(weights, np.nan)
    return weights


each_graph = pytest.mark.parametrize("rows", GRAPHS.values(), ids=GRAPHS.keys())
each_walk_graph = pytest.mark.parametrize("rows", WALK_GRAPHS.values(), ids=WALK_GRAPHS.keys())
each_kind = pytest.mark.parametrize("single_root", [False, True], ids=["spanning", "dependency"])


# --- Oracles -------------------------------------------------------------------------------------


def exact_tree_weights(weights, *, single_root):
    """List w(t) of every tree, as fractions."""
    size = len(weights)
    arcs = np.array(
        [
            [0.0 if j and i != j and weights[i, j] else -np.inf for j in range(size)]
            for i in range(size)
        ]
    )
    trees = (dependency_trees if single_root else spanning_trees)(arcs)
    return {
        tuple(heads.tolist()): math.prod(Fraction(weights[heads[j], j]) for j in range(1, size))
        for heads, _ in trees
    }


def normalised(masses):
    total = sum(masses.values())
    return {outcome: Fraction(mass) / total for outcome, mass in masses.items()}


def exact_law(weights, *, single_root):
    return normalised(exact_tree_weights(weights, single_root=single_root))


def edge_sum(masses, i, j):
    """Sum the masses of the trees that contain an arc."""
    return sum((mass for heads, mass in masses.items() if heads[j] == i), Fraction(0))


def arcs_of(weights):
    size = len(weights)
    return [(i, j) for i in range(size) for j in range(1, size) if i != j and weights[i, j]]


def exact_inverse(matrix):
    """Return determinant and inverse (or 0 and None) by Gauss-Jordan elimination in fractions."""
    size = len(matrix)
    rows = [
        [Fraction(x) for x in row] + [Fraction(int(i == j)) for j in range(size)]
        for i, row in enumerate(np.asarray(matrix).tolist())
    ]
    determinant = Fraction(1)
    for k in range(size):
        pivot_row = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot_row is None:
            return Fraction(0), None
        if pivot_row != k:
            rows[k], rows[pivot_row] = rows[pivot_row], rows[k]
            determinant = -determinant
        determinant *= rows[k][k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return determinant, [row[size:] for row in rows]


def floats(fractions):
    return np.array(fractions, dtype=np.float64)


def rounding(L, *, divisor=1):
    """Bound the absolute error of a marginal, or of anything made of weights times B.

    A backward stable inverse is off by a small multiple of n cond(L) epsilon relative to its norm,
    and weights times B are at most norm(L) norm(B) = cond(L). Conditioning divides B, and its
    error, by the probability of the arc: by ``divisor`` in all, the product of these.
    """
    return float(4 * len(L) * np.linalg.cond(L) ** 2 * EPSILON / divisor)


def chain_rounding(h):
    """Bound the relative error of hitting times, and of the stationary distribution.

    The inverse of I - P without state j has norm max h(i, j), so that its condition number is at
    most twice that; the same maximum bounds how errors in P show in pi (Cho and Meyer 2000).
    """
    return 8 * len(h) * h.max() * EPSILON


class TooManyDraws(Exception):  # noqa: N818, not an error: the run is left out
    pass


class Script:
    """Stands in for `categorical`: follows given choices, then always takes the first outcome.

    Whatever else could have been drawn after the given choices is left in ``branches``.
    """

    def __init__(self, choices, max_draws):
        self.choices = list(choices)
        self.max_draws = max_draws
        self.branches = []
        self.factors = []

    def __call__(self, masses, rng):
        position = len(self.factors)
        if position == self.max_draws:
            raise TooManyDraws
        exact = [Fraction(float(mass)) for mass in masses]
        if not any(exact):
            raise reference.NoMassLeftError
        if position == len(self.choices):
            first, *others = [i for i, mass in enumerate(exact) if mass]
            self.branches += [(*self.choices, i) for i in others]
            self.choices.append(first)
        self.factors.append(exact[self.choices[position]] / sum(exact))
        return self.choices[position]


def draw_by(categorical, patch):
    """Let all reference algorithms draw by another function."""
    for module in REFERENCE_MODULES:
        if hasattr(module, "categorical"):
            patch.setattr(module, "categorical", categorical)


def every_run(sampler, *arguments, max_draws=math.inf, **options):
    """Run a sampler once for every sequence of draws, up to a length.

    Yields what it returned (None where it found nothing to draw) and the probability of each of
    its draws.
    """
    pending = [()]
    while pending:
        script = Script(pending.pop(), max_draws)
        with pytest.MonkeyPatch.context() as patch:
            draw_by(script, patch)
            try:
                result = sampler(*arguments, rng=None, **options)
            except reference.NoMassLeftError:
                result = None
            except TooManyDraws:
                pending += script.branches
                continue
        pending += script.branches
        yield result, script.factors


def assert_same_law(found, expected, *, tolerance):
    """Compare laws, outcome by outcome; what is not expected may hold rounding errors only."""
    for outcome in found.keys() | expected.keys():
        assert float(found.get(outcome, 0)) == pytest.approx(
            float(expected.get(outcome, 0)), abs=tolerance, rel=0
        )


def p_value(draws, law):
    """Chi-square test of counts; cells that expect less than 5 draws are pooled."""
    counts = Counter(draws)
    assert counts.keys() <= law.keys(), "a tree of probability 0 was drawn"
    cells = [(counts[outcome], float(mass * counts.total())) for outcome, mass in law.items()]
    large = [cell for cell in cells if cell[1] >= 5]
    small = [cell for cell in cells if cell[1] < 5]
    if small:
        large.append((sum(count for count, _ in small), sum(mean for _, mean in small)))
    statistic = sum((count - mean) ** 2 / mean for count, mean in large)
    return stats.chi2.sf(statistic, len(large) - 1)


def draw_many(sampler, *arguments, num_draws=4000, seed=20211107, **options):
    rng = np.random.default_rng(seed)
    results = (sampler(*arguments, rng=rng, **options) for _ in range(num_draws))
    return [hashable(result) for result in results]


def hashable(heads):
    return tuple(heads.tolist()) if heads.ndim == 1 else tuple(map(hashable, heads))


@pytest.mark.parametrize("rows", [*GRAPHS.values(), *WALK_GRAPHS.values()])
@each_kind
def test_every_graph_has_trees_of_both_kinds(rows, single_root):
    assert exact_tree_weights(graph(rows), single_root=single_root)


# --- Drawing from a categorical distribution ------------------------------------------------------


class FixedUniform:
    """A generator whose next numbers are known."""

    def __init__(self, *numbers):
        self.random = iter(numbers).__next__


@pytest.mark.parametrize(
    ("uniform", "index"),
    [(0.0, 1), (np.nextafter(0.25, 0), 1), (0.25, 3), (0.5, 3), (1 - 2**-53, 3)],
)
def test_categorical_gives_each_index_an_interval_as_long_as_its_mass(uniform, index):
    assert reference.categorical([0, 0.25, 0, 0.75, 0], FixedUniform(uniform)) == index
    assert reference.categorical([0, 2, 0, 6, 0], FixedUniform(uniform)) == index


def test_categorical_stays_in_range_when_the_product_rounds_up():
    smallest = np.nextafter(0, 1)
    assert (1 - 2**-53) * smallest == smallest
    assert reference.categorical([0, smallest, 0], FixedUniform(1 - 2**-53)) == 1


@pytest.mark.parametrize("masses", [[0.0, 0.0], [0.0, np.nan], [1.0, np.inf]])
def test_categorical_refuses_to_draw_from_nothing(masses):
    with pytest.raises(reference.NoMassLeftError, match="masses sum to"):
        reference.categorical(masses, FixedUniform())


# --- Input ---------------------------------------------------------------------------------------


SAMPLERS = {
    "wilson": (reference.wilson, False),
    "wilson_root_marginal": (reference.wilson_root_marginal, True),
    "wilson_rejection": (reference.wilson_rejection, True),
    "colbourn, spanning": (functools.partial(reference.colbourn, single_root=False), False),
    "colbourn, dependency": (functools.partial(reference.colbourn, single_root=True), True),
    "swor, spanning": (functools.partial(reference.swor, k=2, single_root=False), False),
    "swor, dependency": (functools.partial(reference.swor, k=2, single_root=True), True),
}
each_sampler = pytest.mark.parametrize(
    ("sampler", "single_root"), SAMPLERS.values(), ids=SAMPLERS.keys()
)


@each_sampler
def test_graph_without_trees_is_refused(sampler, single_root):
    # Words 2 and 3 hang under the root only, or under nothing.
    rows = [[0, 1, 1 * single_root, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    kind = "dependency" if single_root else "spanning"
    with pytest.raises(ValueError, match=f"the graph has no {kind} tree"):
        sampler(graph(rows), rng=np.random.default_rng(0))


@each_sampler
def test_weights_are_not_changed(sampler, single_root):
    weights = graph(GRAPHS["dense"])
    before = weights.copy()
    sampler(weights, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((2, 3)), r"weights has shape \(2, 3\); use \(n \+ 1, n \+ 1\)"),
        (np.ones((1, 1)), r"weights has shape \(1, 1\)"),
        ([[0, -1], [0, 0]], r"weights\[0, 1\] is -1.0; use a finite number >= 0"),
        ([[0, np.nan], [0, 0]], r"weights\[0, 1\] is nan"),
        ([[0, np.inf], [0, 0]], r"weights\[0, 1\] is inf"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        reference.stochastic(weights)


def test_word_without_arcs_is_named():
    with pytest.raises(ValueError, match="no arc enters word 2"):
        reference.stochastic([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match="word 1 has no head among the other words"):
        reference.walk_transitions([[0, 1, 1], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("transition", "message"),
    [
        (np.ones((2, 3)), r"transition has shape \(2, 3\); use \(m, m\)"),
        ([[0.5, 0.4], [0.5, 0.5]], "every row must be non-negative and sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "every row must be non-negative and sum to 1"),
        ([[1.0, 0.0], [0.5, 0.5]], "not irreducible"),
        ([[0.5, 0.5], [0.0, 1.0]], "not irreducible"),
    ],
)
def test_bad_chains_are_refused(transition, message):
    for function in (
        reference.stationary_distribution,
        reference.hitting_times,
        reference.mean_hitting_time,
    ):
        with pytest.raises(ValueError, match=message):
            function(transition)
