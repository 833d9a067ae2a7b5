"""How long walks take, by theory: the laws against which the library's counts are judged."""

from fractions import Fraction

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from tests.random_graphs import dense_scores, sparse_scores
from verification.graphs import CATALOGUE, Graph, graph
from verification.walk_lengths import judge_total, step_law


def exact_step_law(weights, targets, num_steps):
    """Find the chances of 0, 1, .. steps of Wilson's algorithm by following every run of it.

    The state is what decides the future: the tree so far, the exits on the way, where the walk is.
    """
    size = len(weights)
    words = range(1, size)

    def after(tree, exits, start, node):
        """Bring a state to where the next number is drawn, or to None at the end."""
        while node in tree:
            path = start
            while path not in tree:
                tree = tree | {path}
                path = dict(exits)[path]
            left = [word for word in words if word not in tree]
            if not left:
                return None
            exits, start, node = frozenset(), left[0], left[0]
        return tree, exits, start, node

    tree = frozenset(targets)
    left = [word for word in words if word not in tree]
    state = after(tree, frozenset(), left[0], left[0]) if left else None
    states, law = {state: Fraction(1)}, []
    for _ in range(num_steps + 1):
        law.append(states.pop(None, Fraction(0)))
        following = {}
        for (tree, exits, start, node), chance in states.items():
            heads = [head for head in range(size) if weights[head][node]]
            total = sum(weights[head][node] for head in heads)
            for head in heads:
                taken = frozenset({**dict(exits), node: head}.items())
                reached = after(tree, taken, start, head)
                share = chance * Fraction(weights[head][node]) / total
                following[reached] = following.get(reached, Fraction(0)) + share
        states = following
    return law


INTEGERS = [[0, 1, 3, 2], [0, 0, 2, 1], [0, 4, 0, 5], [0, 2, 1, 0]]


def small_graph():
    with np.errstate(divide="ignore"):
        return Graph("integers_3", np.log(np.array(INTEGERS, dtype=float)), "small integers")


def test_the_law_of_steps_is_that_of_wilsons_algorithm():
    exact = exact_step_law(INTEGERS, {0}, 9)
    assert exact[2] == 0 < exact[3]
    found = step_law(small_graph(), single_root=False).chances(10)
    np.testing.assert_allclose(found, [float(chance) for chance in exact], atol=1e-14)


def test_the_law_of_steps_of_dependency_trees_is_a_mixture():
    among_words = [[0] * 4, *INTEGERS[1:]]
    weight_of = {
        child: INTEGERS[0][child] * rooted_weight(among_words, child) for child in (1, 2, 3)
    }
    exact = np.zeros(8)
    for child, weight in weight_of.items():
        share = Fraction(weight, sum(weight_of.values()))
        exact += [float(share * chance) for chance in exact_step_law(among_words, {0, child}, 7)]
    found = step_law(small_graph(), single_root=True).chances(8)
    np.testing.assert_allclose(found, exact, atol=1e-14)


def rooted_weight(weights, child):
    """Sum the weights of the trees of three words that hang on one of them."""
    first, second = (word for word in (1, 2, 3) if word != child)
    return (
        weights[child][first] * weights[child][second]
        + weights[child][first] * weights[first][second]
        + weights[child][second] * weights[second][first]
    )


WALKABLE = [target for target in CATALOGUE.values() if target.is_walkable]


@pytest.mark.parametrize(
    ("target", "single_root"),
    [
        (target, single_root)
        for target in WALKABLE
        for single_root in (False, True)
        if target.has_dependency_trees or not single_root
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_mean_and_variance_are_those_of_the_law(target, single_root):
    law = step_law(target, single_root=single_root)
    mean, variance, _ = moments(law)
    assert law.mean == pytest.approx(mean, rel=1e-10)
    # A difference of squares, and as right as they are.
    assert law.variance == pytest.approx(variance, abs=1e-9 * (1 + mean**2))


def moments(law):
    """Sum the mean, the variance and the third central moment over the law itself."""
    steps = np.arange(3000)
    chances = law.chances(len(steps))
    assert chances.sum() == pytest.approx(1.0, rel=1e-11)
    mean = chances @ steps
    return mean, chances @ (steps - mean) ** 2, chances @ (steps - mean) ** 3


def test_totals_that_are_judged_are_nearly_normal():
    # What the docstring of judge_total says about its p-value.
    for name, single_root in (
        ("skewed_5", False),
        ("sparse_5", False),
        ("even_roots_4", False),
        ("shifted_3", False),
        ("even_roots_4", True),
    ):
        _, variance, third = moments(step_law(graph(name), single_root=single_root))
        assert third / variance**1.5 < 4


@pytest.mark.parametrize("target", WALKABLE, ids=lambda target: target.name)
def test_the_library_knows_the_mean(target):
    mean = step_law(target, single_root=False).mean
    found = SpanningTrees(target.log_weights).expected_walk_steps()
    assert found == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("num_words", [2, 3, 5])
@pytest.mark.parametrize("make", [dense_scores, sparse_scores])
def test_even_roots_take_twice_the_mean_hitting_time(num_words, make):
    scores = make(num_words, num_words)
    scores[:, 0] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    # A ring keeps all words within reach of each other.
    ring = np.roll(np.arange(1, num_words + 1), 1)
    scores[ring, np.arange(1, num_words + 1)] = 0.0
    with np.errstate(divide="ignore"):
        scores[0] = np.log(0.3 * np.exp(scores[1:]).sum(axis=0))
    mean = step_law(Graph("even", scores, "even roots"), single_root=True).mean
    assert 2 * DependencyTrees(scores).mean_hitting_time() == pytest.approx(mean, rel=1e-12)


def test_uneven_roots_do_not():
    # Or the test above would show nothing about the roots.
    target = graph("lopsided_root_4")
    mean = step_law(target, single_root=True).mean
    assert 2 * DependencyTrees(target.log_weights).mean_hitting_time() < 0.9 * mean


def test_a_mean_that_is_off_by_one_percent_is_seen():
    law = step_law(graph("even_roots_4"), single_root=True)
    for factor, is_right in ((1.0, True), (1.01, False), (0.99, False)):
        total = round(10**6 * factor * law.mean)
        p_value = judge_total(total, 10**6, law.mean, law.variance).p_value
        assert (p_value > 0.9) if is_right else (p_value < 1e-9)
