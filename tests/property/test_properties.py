"""What holds for every graph: symmetries, sums, Bayes' rule, and the law of the listed trees.

Scores are multiples of 1/64 and shifts are whole numbers, so that every sum of them is exact: where
the mathematics says that nothing changes, not a bit may change.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arborand import DependencyTrees, SpanningTrees
from tests.kinds import trees_of

ROUGH = settings(derandomize=True, deadline=None, max_examples=80, database=None)
# What the library promises of every number, relative to itself.
PROMISED = 1e-13
EPSILON = np.finfo(np.float64).eps

KIND = st.sampled_from([SpanningTrees, DependencyTrees])


@st.composite
def graphs(draw, most_words=5, largest=20):
    """Scores up to some size on some arcs; a path through all words keeps a tree possible."""
    num_words = draw(st.integers(1, most_words))
    size = num_words + 1
    score = st.integers(-64 * largest, 64 * largest).map(lambda k: k / 64)
    arc = st.one_of(score, st.just(-math.inf)) if draw(st.booleans()) else score
    scores = np.array(draw(st.lists(arc, min_size=size**2, max_size=size**2)))
    scores = scores.reshape(size, size)
    path = [0, *draw(st.permutations(range(1, size)))]
    for head, dependent in itertools.pairwise(path):
        scores[head, dependent] = draw(score)
    scores[:, 0] = -math.inf
    np.fill_diagonal(scores, -math.inf)
    return scores


def shifts(size):
    return st.lists(st.integers(-1000, 1000), min_size=size, max_size=size).map(np.array)


def arcs_of(scores):
    return [(int(i), int(j)) for i, j in np.argwhere(scores > -math.inf)]


@ROUGH
@given(KIND, graphs(), st.data())
def test_shifting_a_column_moves_log_z_and_nothing_else(kind, scores, data):
    columns = data.draw(shifts(len(scores)))
    before, after = kind(scores), kind(scores + columns)
    np.testing.assert_array_equal(after.arc_marginals(), before.arc_marginals())
    np.testing.assert_array_equal(after.root_marginals(), before.root_marginals())
    assert after.entropy() == before.entropy()
    moved = before.log_partition() + columns[1:].sum()
    # One rounding of each of the logarithms.
    largest = max(1, abs(before.log_partition()), abs(moved))
    assert after.log_partition() == pytest.approx(moved, abs=2 * EPSILON * largest)


@ROUGH
@given(graphs(), st.integers(-1000, 1000))
def test_shifting_the_root_row_moves_log_z_of_dependency_trees_once(scores, shift):
    before = DependencyTrees(scores)
    scores = scores.copy()
    scores[0] += shift
    after = DependencyTrees(scores)
    np.testing.assert_array_equal(after.arc_marginals(), before.arc_marginals())
    moved = before.log_partition() + shift
    largest = max(1, abs(before.log_partition()), abs(moved))
    assert after.log_partition() == pytest.approx(moved, abs=4 * EPSILON * largest)


@ROUGH
@given(KIND, graphs(most_words=7), st.data())
def test_relabelling_the_words_permutes_the_marginals(kind, scores, data):
    order = [0, *data.draw(st.permutations(range(1, len(scores))))]
    there = np.ix_(order, order)
    before, after = kind(scores), kind(scores[there])
    np.testing.assert_allclose(
        after.arc_marginals(), before.arc_marginals()[there], rtol=PROMISED, atol=0
    )
    np.testing.assert_allclose(
        after.root_marginals(), before.root_marginals()[order], rtol=PROMISED, atol=0
    )
    for question in ("log_partition", "entropy", "mean_hitting_time"):
        expected = getattr(before, question)()
        found = getattr(after, question)()
        assert found == pytest.approx(expected, rel=PROMISED, abs=PROMISED), question


@ROUGH
@given(KIND, graphs(most_words=9, largest=400))
def test_marginals_are_probabilities_that_sum_to_one(kind, scores):
    distribution = kind(scores)
    marginals = distribution.arc_marginals()
    assert (marginals >= 0).all()
    assert (marginals[scores == -math.inf] == 0).all()
    np.testing.assert_allclose(marginals.sum(axis=0)[1:], 1, rtol=0, atol=len(scores) * EPSILON)
    # Small marginals of the root have been computed in another way.
    roots = distribution.root_marginals()
    np.testing.assert_allclose(roots, marginals[0], rtol=PROMISED, atol=1e-300)
    if kind is DependencyTrees:
        assert roots.sum() == pytest.approx(1, abs=PROMISED)


@ROUGH
@given(KIND, graphs())
def test_entropy_is_the_textbook_formula(kind, scores):
    distribution = kind(scores)
    arcs = scores > -math.inf
    expected = distribution.log_partition() - math.fsum(
        distribution.arc_marginals()[arcs] * scores[arcs]
    )
    entropy = distribution.entropy()
    assert entropy >= 0
    # The formula cancels: what is left has the error of sums up to 5 words times 20.
    assert entropy == pytest.approx(expected, abs=100 * 10 * EPSILON)
    assert entropy <= math.log(len(trees_of(kind, scores))) + PROMISED


@ROUGH
@given(KIND, graphs(most_words=4))
def test_probabilities_of_all_trees_sum_to_one_and_make_up_the_marginals(kind, scores):
    distribution = kind(scores)
    trees = np.array(trees_of(kind, scores))
    log_prob = distribution.log_prob(trees)
    assert (log_prob <= 0).all()
    chances = np.exp(log_prob)
    assert math.fsum(chances) == pytest.approx(1, abs=PROMISED)
    marginals = np.zeros_like(scores)
    for tree, chance in zip(trees, chances, strict=True):
        marginals[tree[1:], range(1, len(tree))] += chance
    np.testing.assert_allclose(distribution.arc_marginals(), marginals, rtol=PROMISED, atol=0)


@ROUGH
@given(KIND, graphs(), st.data())
def test_conditioning_follows_bayes(kind, scores, data):
    distribution = kind(scores)
    marginals = distribution.arc_marginals()
    possible = [arc for arc in arcs_of(scores) if marginals[arc] > 0]
    one, other = data.draw(st.tuples(*[st.sampled_from(possible)] * 2))
    joint = distribution.joint_probability([one, other])
    assert joint == pytest.approx(distribution.joint_probability([other, one]), rel=PROMISED)
    conditional = distribution.condition(include=[one]).arc_marginals()[other]
    assert joint == pytest.approx(marginals[one] * conditional, rel=PROMISED)
    given_one = distribution.joint_probability([other], given=[one])
    assert given_one == pytest.approx(conditional, rel=PROMISED)


@ROUGH
@given(KIND, graphs(), st.data())
def test_including_and_excluding_an_arc_splits_the_mass(kind, scores, data):
    distribution = kind(scores)
    marginals = distribution.arc_marginals()
    head, dependent = arc = data.draw(st.sampled_from(arcs_of(scores)))
    without = math.fsum(np.delete(marginals[:, dependent], head))
    parts = np.zeros_like(scores)
    if marginals[arc] > 0:
        parts += marginals[arc] * distribution.condition(include=[arc]).arc_marginals()
    if without > 0:
        parts += without * distribution.condition(exclude=[arc]).arc_marginals()
    np.testing.assert_allclose(parts, marginals, rtol=PROMISED, atol=0)


@ROUGH
@given(KIND, graphs(), st.integers(1, 3), st.integers(1, 4))
def test_padding_and_batching_change_no_bit(kind, scores, extra, count):
    size = len(scores)
    batch = np.full((count, size + extra, size + extra), math.nan)
    batch[:, :size, :size] = scores
    padded = kind(batch, lengths=[size - 1] * count)
    single = kind(scores)
    assert (padded.log_partition(workers=2) == single.log_partition()).all()
    assert (padded.entropy(workers=2) == single.entropy()).all()
    for graph in padded.arc_marginals(workers=3):
        np.testing.assert_array_equal(graph[:size, :size], single.arc_marginals())
        assert np.count_nonzero(graph) == np.count_nonzero(single.arc_marginals())


@ROUGH
@given(graphs(most_words=6))
def test_dependency_trees_are_the_spanning_trees_with_one_root_arc(scores):
    # Given its root arc, a dependency tree is a spanning tree of the graph without the others.
    dependency, spanning = DependencyTrees(scores), SpanningTrees(scores)
    log_share = dependency.log_partition() - spanning.log_partition()
    assert log_share <= 256 * EPSILON  # two logarithms of at most 6 * 20 + log 7^5, rounded
    roots = dependency.root_marginals()
    likely = int(roots.argmax())
    others = [(0, j) for j in range(1, len(scores)) if j != likely and scores[0, j] > -math.inf]
    hanging = spanning.condition(include=[(0, likely)], exclude=others)
    expected = dependency.condition(include=[(0, likely)])
    np.testing.assert_allclose(
        expected.arc_marginals(), hanging.arc_marginals(), rtol=PROMISED, atol=0
    )
    log_root_mass = hanging.log_partition() - dependency.log_partition()
    assert math.exp(log_root_mass) == pytest.approx(roots[likely], rel=256 * EPSILON)
