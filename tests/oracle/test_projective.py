"""Projective trees against lists of all of them, on ten families of graphs of up to five words.

Every answer is judged in exact sums of scores and many digits, whatever number type it took: on
ordinary scores, ties, missing arcs, masks, weights from 1e-300 to 1e300, and scores such as
1e30 + 1e15, that no exponential can hold.
"""

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from arborand import (
    NoTreeError,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    _core,
    sampling,
)
from arborand.randomness import stream_key
from arborand.without_replacement import sample_without_replacement
from tests.enumerated_law import EnumeratedLaw
from tests.kinds import ALL_KINDS, PROJECTIVE_KINDS, trees_of

# Relative to the larger of 1 and the number, or to the probability of an arc.
PROMISED = 1e-12
SMALLEST_MARGINAL = 1e-290


def family(name, num_words, seed):
    generator = np.random.default_rng([seed, num_words])
    shape = (num_words + 1, num_words + 1)
    scores = generator.normal(size=shape)
    match name:
        case "ties":
            scores = generator.integers(0, 3, shape) / 10
        case "zeros":
            scores = np.zeros(shape)
        case "sparse":
            scores[generator.random(shape) < 0.35] = -np.inf
        case "peaked":
            scores *= 40
        case "far apart":
            scores *= 2000
        case "masks":
            scores[generator.random(shape) < 0.4] = -1e9
        case "huge":
            scores *= 10.0 ** generator.integers(0, 31, shape)
        case "wide range":
            scores = np.log(10.0) * generator.uniform(-300, 300, shape)
        case "large and close":
            scores = 1e30 + 1e15 * generator.integers(0, 2, shape)
    return scores


FAMILIES = [
    "normal",
    "ties",
    "zeros",
    "sparse",
    "peaked",
    "far apart",
    "masks",
    "huge",
    "wide range",
    "large and close",
]
GRAPHS = [
    pytest.param(
        kind,
        scores,
        id=f"{kind.__name__}-{name}-{num_words}-{seed}",
        marks=[pytest.mark.slow] if num_words == 5 or seed else [],
    )
    for kind in (ProjectiveSpanningTrees, ProjectiveDependencyTrees)
    for name in FAMILIES
    for num_words in range(1, 6)
    for seed in range(2)
    if trees_of(kind, scores := family(name, num_words, seed))
]
ON_GRAPHS = pytest.mark.parametrize(("kind", "scores"), GRAPHS)


def law_of(kind, scores):
    return _law(kind, scores.tobytes(), scores.shape)


@cache
def _law(kind, scores, shape):
    return EnumeratedLaw(kind, np.frombuffer(scores).reshape(shape))


def assert_per_arc(found, exact, marginals, relative=PROMISED):
    """Compare derivatives, whose errors are in proportion to the probabilities of their arcs."""
    for head, dependent in np.ndindex(found.shape):
        chance = marginals[head, dependent]
        if chance == 0:
            assert found[head, dependent] == 0
            continue
        error = abs(mpmath.mpf(float(found[head, dependent])) - exact[head, dependent])
        assert error <= relative * max(chance, SMALLEST_MARGINAL), (head, dependent)


# ---- counts -------------------------------------------------------------------------------------


@PROJECTIVE_KINDS
@pytest.mark.parametrize("num_words", range(1, 13))
def test_complete_graphs_have_as_many_trees_as_is_known(kind, num_words):
    # Of all: C(3n, n) / (2n + 1).  With one root arc: the same, convolved (OEIS A006013).
    several = math.comb(3 * num_words, num_words) // (2 * num_words + 1)
    single = math.comb(3 * num_words - 2, num_words - 1) // num_words
    count = several if kind is ProjectiveSpanningTrees else single
    found = kind(np.zeros((num_words + 1, num_words + 1))).log_partition()
    assert math.exp(found) == pytest.approx(count, rel=1e-13)
    if num_words <= 5:
        assert len(trees_of(kind, np.zeros((num_words + 1, num_words + 1)))) == count


# ---- every answer, on every family --------------------------------------------------------------


@ON_GRAPHS
def test_log_partition_marginals_and_entropy(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    error = abs(mpmath.mpf(float(d.log_partition())) - law.log_partition)
    assert error <= PROMISED * max(1, abs(law.log_partition))
    marginals, exact = d.arc_marginals(), law.arc_marginals()
    np.testing.assert_allclose(marginals[0], d.root_marginals(), rtol=1e-14, atol=0)
    for arc in np.ndindex(marginals.shape):
        if exact[arc] > SMALLEST_MARGINAL:
            assert abs(marginals[arc] / exact[arc] - 1) <= PROMISED
        else:
            assert 0 <= marginals[arc] <= SMALLEST_MARGINAL * (1 + PROMISED)
            assert exact[arc] > 0 or marginals[arc] == 0
    entropy = law.entropy()
    if entropy > 1e-40:  # the judge has 60 digits of its parts
        assert abs(float(d.entropy()) - entropy) <= PROMISED * entropy
    else:
        assert 0 <= d.entropy() <= 1e-40


@ON_GRAPHS
def test_renyi_entropies(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    for order in (0, 0.5, 1, 2, np.inf):
        exact = law.renyi_entropy(order)
        assert abs(float(d.renyi_entropy(order)) - exact) <= PROMISED * max(1, exact)


@ON_GRAPHS
def test_probabilities_of_all_trees_and_of_others(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    found = d.log_prob(law.trees)
    for tree, value in zip(law.trees, found, strict=True):
        exact = law.log_chance[tree]
        assert abs(float(value) - exact) <= PROMISED * max(1, abs(exact))


@ON_GRAPHS
def test_derivatives(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    marginals = law.arc_marginals()
    assert_per_arc(d.entropy_gradient(), law.entropy_gradient(), marginals)
    direction, other = np.random.default_rng(0).normal(size=(2, *scores.shape))
    assert_per_arc(d.arc_covariances(direction), law.arc_covariances(direction), marginals)
    covariance = law.covariance(direction, other)
    assert abs(float(d.covariance(direction, other)) - covariance) <= PROMISED
    third = d._graphs.arcs(np.zeros)
    _core.arc_cumulants(d._graphs.batch, 1, direction, other, third)
    f, g = law.arc_sum(direction), law.arc_sum(other)
    mean_f, mean_g = law.mean(f), law.mean(g)
    exact = law.over_arcs(lambda tree: (f(tree) - mean_f) * (g(tree) - mean_g) - covariance)
    assert_per_arc(third[0], exact, marginals)
    _core.entropy_gradient_tangents(d._graphs.batch, 1, direction, third)
    entropy = law.entropy()
    mean = law.mean(lambda tree: (f(tree) - mean_f) * (-law.log_chance[tree] - entropy))
    exact = law.over_arcs(
        lambda tree: (
            (f(tree) - mean_f) * (-law.log_chance[tree] - entropy) - mean - (f(tree) - mean_f)
        )
    )
    assert_per_arc(third[0], exact, marginals, 1e-11)


@ON_GRAPHS
@pytest.mark.parametrize("caution", [0.0, 1.0, np.inf])
def test_the_best_tree(kind, scores, caution, monkeypatch):
    monkeypatch.setattr("arborand.best.CAUTION", caution)
    order = in_order(kind, scores)
    best = tuple(kind(scores).best_tree())
    if caution:
        assert best == order[0]
    else:  # doubles are trusted: a tree, and right where scores are far apart
        assert best in order


def in_order(kind, scores):
    trees = map(tuple, trees_of(kind, scores))
    return sorted(trees, key=lambda tree: (-exact_score(scores, tree), tree))


def exact_score(scores, tree):
    return sum((Fraction(float(scores[tree[j], j])) for j in range(1, len(tree))), Fraction(0))


@ON_GRAPHS
def test_all_trees_from_the_best_one_on(kind, scores):
    order = in_order(kind, scores)
    found = kind(scores).best_trees(len(order) + 3)
    assert [tuple(heads) for heads in found.heads.tolist()] == order
    assert found.exhausted
    assert [tuple(t.heads.tolist()) for t in kind(scores).iterate_best_trees()] == order


@ON_GRAPHS
def test_distinct_draws_to_the_last_tree(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    for switch_after in (None, 0, 2):
        draws = sample_without_replacement(
            d._graphs, len(law.trees) + 3, key=(1, 2), switch_after=switch_after
        )
        trees = [tuple(heads) for heads in draws.heads.tolist()]
        assert sorted(trees) == sorted(law.trees)
        assert draws.exhausted
        with mpmath.workdps(60):
            for t, tree in enumerate(trees):
                chance = law.log_chance[tree]
                assert abs(float(draws.log_prob[t]) - chance) <= PROMISED * max(1, abs(chance))
                top = max(law.log_chance[rest] for rest in trees[t:])
                left = top + mpmath.log(
                    mpmath.fsum(mpmath.exp(law.log_chance[rest] - top) for rest in trees[t:])
                )
                found = float(draws.log_remaining[t])
                assert abs(found - left) <= PROMISED * max(1, abs(left))


@ON_GRAPHS
def test_draws_are_trees_of_the_kind_in_every_number_type(kind, scores):
    graphs = kind(scores)._graphs
    trees = set(map(tuple, trees_of(kind, scores)))
    for trusts_double in (True, False):
        heads, counts = sampling.sample(graphs, 30, key=stream_key(1), trusts_double=trusts_double)
        assert {tuple(tree) for tree in heads.tolist()} <= trees
        assert counts.ancestral == 30
        assert counts.beyond_double in ((0, 30) if trusts_double else (30,))


@ON_GRAPHS
def test_conditions_and_evidence(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    size = len(scores)
    generator = np.random.default_rng(1)
    for _ in range(4):
        tree = law.trees[generator.integers(len(law.trees))]
        open_words = generator.random(size) < 0.5
        heads = np.where(open_words, -1, tree)
        kept = [t for t in law.trees if all(t[j] == heads[j] for j in range(size) if heads[j] >= 0)]
        with mpmath.workdps(60):
            top = max(law.log_chance[t] for t in kept)
            mass = top + mpmath.log(mpmath.fsum(mpmath.exp(law.log_chance[t] - top) for t in kept))
        found = float(d.log_evidence(heads=heads))
        assert abs(found - mass) <= PROMISED * max(1, abs(mass))
        left = d.condition(heads=heads).best_trees(len(law.trees))
        assert sorted(map(tuple, left.heads.tolist())) == sorted(kept)


@ON_GRAPHS
def test_least_risk_and_expected_scores(kind, scores):
    law, d = law_of(kind, scores), kind(scores)
    marginals = d.arc_marginals()
    values = {t: math.fsum(marginals[t[j], j] for j in range(1, len(t))) for t in law.trees}
    assert values[tuple(d.minimum_risk_tree().tolist())] >= max(values.values()) - 1e-15
    found = d.expected_attachment_score(law.trees)
    np.testing.assert_allclose(found, [values[t] / (len(t[1:])) for t in law.trees], rtol=1e-14)


# ---- divergences between all pairs of kinds -----------------------------------------------------


@ALL_KINDS
@pytest.mark.parametrize("other_kind", ALL_KINDS.args[1])
@pytest.mark.parametrize("density", [0.25, 0.5, 1.0])
def test_divergences_between_all_kinds(kind, other_kind, density):
    generator = np.random.default_rng(int(100 * density))
    finite = 0
    for _ in range(30):
        num_words = int(generator.integers(1, 5))
        scores, others = 3 * generator.normal(size=(2, num_words + 1, num_words + 1))
        absent = generator.random(scores.shape) > density
        scores[absent] = -np.inf
        others[absent & (generator.random(scores.shape) < 0.9)] = -np.inf
        if not trees_of(kind, scores) or not trees_of(other_kind, others):
            continue
        exact = EnumeratedLaw(kind, scores).kl_divergence(EnumeratedLaw(other_kind, others))
        found = float(kind(scores).kl_divergence(other_kind(others)))
        if exact == mpmath.inf:
            assert found == np.inf
        else:
            finite += 1
            assert abs(found - exact) <= PROMISED * max(1, exact)
    assert finite > 0


@PROJECTIVE_KINDS
def test_a_distribution_does_not_diverge_from_itself(kind):
    for name in FAMILIES:
        scores = family(name, 4, 3)
        if trees_of(kind, scores):
            d = kind(scores)
            assert d.kl_divergence(d) == 0
            assert d.cross_entropy(d) == d.entropy()


# ---- trees that must not exist ------------------------------------------------------------------


@PROJECTIVE_KINDS
def test_every_graph_without_a_projective_tree_is_refused(kind):
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        num_words = int(generator.integers(2, 6))
        scores = np.where(generator.random((num_words + 1,) * 2) < 0.3, 0.0, -np.inf)
        if trees_of(kind, scores):
            kind(scores)
        else:
            refused += 1
            with pytest.raises(NoTreeError):
                kind(scores)
    assert refused > 50
