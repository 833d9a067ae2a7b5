"""Four graphs at once have the bits that each has alone, where these are in the range of double.

What one graph has alone is judged elsewhere, by fractions and enumeration.
"""

import numpy as np
import pytest

from tests.core.parts import QUESTIONS
from tests.random_graphs import three_gates

# Log Z is right as a whole, even if small numbers are lost; these are not.
OF_ENTRIES = QUESTIONS[1:]

KINDS = pytest.mark.parametrize("single_root", [False, True])


def four_graphs(seed, num_words, *, scale=1.0, density=1.0):
    """Scores of four graphs; a chain from the root keeps every word within reach."""
    generator = np.random.default_rng(seed)
    size = num_words + 1
    scores = generator.normal(size=(4, size, size)) * scale
    forbidden = generator.random(scores.shape) >= density
    word = np.arange(num_words)
    forbidden[:, word, word + 1] = False
    scores[forbidden] = -np.inf
    return clean(scores)


def clean(scores):
    scores[:, :, 0] = -np.inf
    scores[:, np.arange(scores.shape[-1]), np.arange(scores.shape[-1])] = -np.inf
    return scores


def directions_of(scores):
    """Numbers of very different sizes for the arcs of each graph, nothing where there is no arc."""
    directions = np.random.default_rng(0).normal(size=scores.shape)
    directions *= np.array([1.0, 1e200, 0.0, 1e-200])[:, None, None]
    directions[scores == -np.inf] = np.nan
    return directions


def at_once(parts, question, scores, *, single_root):
    return parts.four_at_once(question, scores, directions_of(scores), single_root=single_root)


def assert_same_bits(parts, scores, *, single_root, questions=QUESTIONS):
    """They are solved at once, to the same bits as one by one."""
    directions = directions_of(scores)
    for question in questions:
        found = parts.four_at_once(question, scores, directions, single_root=single_root)
        assert found is not None, question
        expected = parts.one_by_one(question, scores, directions, single_root=single_root)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=question)
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other), err_msg=question)


# All sizes up to 40, because the recursion halves them in all ways.
@KINDS
@pytest.mark.parametrize("num_words", [*range(4, 41), 47, 55, 63, 64])
def test_four_graphs_have_the_bits_of_one(parts, num_words, single_root):
    assert_same_bits(parts, four_graphs(num_words, num_words), single_root=single_root)


@KINDS
@pytest.mark.parametrize("scale", [0.0, 5.0])
@pytest.mark.parametrize("num_words", [5, 12, 23, 39])
def test_flat_and_peaked_scores(parts, num_words, scale, single_root):
    scores = four_graphs(1, num_words, scale=scale)
    assert_same_bits(parts, scores, single_root=single_root)


@pytest.mark.parametrize("num_words", [6, 13, 30])
def test_graphs_that_are_the_same_chain(parts, num_words):
    """Word j has one head, j - 1: pivots vanish, the same ones in all graphs."""
    size = num_words + 1
    scores = np.full((4, size, size), -np.inf)
    word = np.arange(num_words)
    scores[:, word, word + 1] = np.random.default_rng(3).normal(size=(4, num_words))
    assert_same_bits(parts, scores, single_root=True)


@KINDS
@pytest.mark.parametrize("mask", [-1e3, -1e9, -1e30, -np.inf])
def test_masks_whose_arcs_do_not_matter(parts, mask, single_root):
    """Such arcs are left out of the walk, and Z says afterwards that nothing was lost."""
    scores = four_graphs(4, 17)
    scores[1, 5, 1:] = mask
    scores[2, 3, 7] = mask
    # Of scores that are far apart, the gradient is not found from covariances.
    questions = QUESTIONS if mask == -np.inf else QUESTIONS[:-1]
    assert_same_bits(parts, clean(scores), single_root=single_root, questions=questions)


@KINDS
def test_log_z_beyond_the_range_of_double(parts, single_root):
    """It is infinite, which is no reason to find the rest in other numbers."""
    scores = four_graphs(10, 13)
    scores[1, :, 1:4] = scores[3, :, 2:6] = 1.7e308
    # Beside such scores, others are too small as directions.
    questions = [one for one in QUESTIONS if one not in ("cumulants", "entropy_gradient")]
    assert_same_bits(parts, clean(scores), single_root=single_root, questions=questions)


@KINDS
def test_arcs_that_were_left_out_and_may_matter(parts, single_root):
    """Double does not hold the weight e^-750: its marginal is wrong without it, but not log Z."""
    scores = four_graphs(5, 6)
    scores[2, 3, 6] = scores[2, 1:, 6].max() - 750.0
    for question in OF_ENTRIES:
        assert at_once(parts, question, scores, single_root=single_root) is None
    assert_same_bits(parts, scores, single_root=single_root, questions=["log_partition"])


@KINDS
@pytest.mark.parametrize("num_words", [25, 50])
def test_numbers_that_are_lost_without_harm_to_log_z(parts, num_words, single_root):
    scores = four_graphs(9, num_words)
    scores[1] *= 100.0
    scores = clean(scores)
    for question in OF_ENTRIES:
        assert at_once(parts, question, scores, single_root=single_root) is None
    assert_same_bits(parts, scores, single_root=single_root, questions=["log_partition"])


def test_without_the_arcs_that_were_left_out_there_is_no_tree(parts):
    scores = four_graphs(5, 6)
    scores[2] = -np.inf
    word = np.arange(6)
    scores[2, word, word + 1] = 0.0
    scores[2, 1, 2] = -2000.0
    scores[2, 3, 2] = 0.0  # words 2 and 3 have each other, and the arc before
    for question in QUESTIONS:
        assert at_once(parts, question, scores, single_root=False) is None


@KINDS
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_graph_beyond_the_range_of_double(parts, question, single_root):
    """The walk leaves one of the four graphs by a way of weight e^-800, or less."""
    scores = four_graphs(6, 12)
    scores[3] = three_gates(0, 12, 400.0)
    scores = clean(scores)
    assert at_once(parts, question, scores, single_root=single_root) is None


@KINDS
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_graph_of_which_double_holds_a_few_digits(parts, question, single_root):
    """Its Z is e^-740, between the smallest double and the smallest that has all digits."""
    scores = four_graphs(6, 12)
    scores[3] = three_gates(0, 12, 740.0 / (2 if single_root else 3))
    scores = clean(scores)
    assert at_once(parts, question, scores, single_root=single_root) is None


@KINDS
@pytest.mark.parametrize("odd", range(4))
def test_pivots_that_vanish_in_one_graph_only(parts, odd, single_root):
    scores = four_graphs(7, 19)
    size = scores.shape[-1]
    scores[odd] = -np.inf
    word = np.arange(size - 1)
    scores[odd, word, word + 1] = 0.0  # the chain of above
    assert_same_bits(parts, scores, single_root=single_root)


@KINDS
@pytest.mark.parametrize("leaf", [1, 5, 17])
def test_words_that_have_no_dependents_in_one_graph(parts, leaf, single_root):
    """Parsers forbid punctuation to be a head: walks cannot enter such words."""
    scores = four_graphs(8, 17)
    scores[2, leaf, 1:] = -np.inf
    assert_same_bits(parts, scores, single_root=single_root)


@KINDS
@pytest.mark.parametrize("seed", range(60))
def test_sparse_graphs(parts, seed, single_root):
    generator = np.random.default_rng(seed)
    num_words = int(generator.integers(4, 30))
    density = generator.choice([0.02, 0.05, 0.2, 0.6])
    scores = four_graphs(seed, num_words, scale=3.0, density=density)
    assert_same_bits(parts, scores, single_root=single_root)


# ---- which graphs are solved at once


def test_graphs_of_one_length_are_taken_in_fours(parts):
    assert parts.groups([7] * 10, 1) == [[0, 1, 2, 3], [4, 5, 6, 7], [8], [9]]


def test_graphs_of_several_lengths_are_sorted_first(parts):
    """The longest come first: with several workers, none should begin with them at the end."""
    lengths = [9, 5, 9, 5, 9, 6, 5, 9, 5, 5]
    assert parts.groups(lengths, 1) == [[0, 2, 4, 7], [5], [1, 3, 6, 8], [9]]


@pytest.mark.parametrize("num_words", [1, 3, 65, 500])
def test_graphs_for_which_it_does_not_pay_stay_alone(parts, num_words):
    assert parts.groups([num_words] * 5, 1) == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("num_words", [4, 64])
def test_the_smallest_and_the_largest_graphs_that_are_taken_in_fours(parts, num_words):
    assert parts.groups([num_words] * 5, 1) == [[0, 1, 2, 3], [4]]


@pytest.mark.parametrize(("count", "largest"), [(11, 1), (12, 4)])
def test_every_worker_has_a_group(parts, count, largest):
    groups = parts.groups([7] * count, 3)
    assert max(map(len, groups)) == largest
    assert sorted(graph for group in groups for graph in group) == list(range(count))


def test_there_may_be_nothing_to_group(parts):
    assert parts.groups([], 1) == []
