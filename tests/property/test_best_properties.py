"""What holds for the best trees of every graph: symmetries, conditions, prefixes.

Scores are multiples of 1/64 and shifts are whole numbers, so that every sum of them is exact: where
the mathematics says that nothing changes, no tree may change.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborand.trees import is_tree
from tests.kinds import is_single_root
from tests.property.test_properties import KIND, ROUGH, graphs, shifts


@ROUGH
@given(KIND, graphs(most_words=8), st.data())
def test_shifting_a_column_changes_no_best_tree(kind, scores, data):
    columns = data.draw(shifts(len(scores)))
    before, after = kind(scores).best_trees(20), kind(scores + columns).best_trees(20)
    np.testing.assert_array_equal(after.heads, before.heads)


@ROUGH
@given(KIND, graphs(most_words=7), st.data())
def test_relabelling_the_words_relabels_the_scores_of_the_best_trees(kind, scores, data):
    """Ties are broken by labels, so trees may change; their scores may not."""
    order = np.array([0, *data.draw(st.permutations(range(1, len(scores))))])
    before, after = kind(scores), kind(scores[np.ix_(order, order)])
    found, relabelled = before.best_trees(30), after.best_trees(30)
    node = np.arange(1, len(scores))
    totals = before.log_weights[found.heads[:, 1:], node].sum(axis=-1)
    again = after.log_weights[relabelled.heads[:, 1:], node].sum(axis=-1)
    np.testing.assert_array_equal(again, totals)
    # Where no score is shared, the trees are the relabelled ones.
    if len(np.unique(totals)) == len(totals) < 30:
        back = np.empty_like(found.heads)
        back[:, 0] = -1
        back[:, order[1:]] = order[relabelled.heads[:, 1:]]
        np.testing.assert_array_equal(back, found.heads)


@ROUGH
@given(KIND, graphs(most_words=7), st.data())
def test_conditioning_on_arcs_of_the_best_tree_leaves_it_best(kind, scores, data):
    distribution = kind(scores)
    best = distribution.best_tree()
    words = data.draw(st.sets(st.integers(1, len(scores) - 1)))
    heads = np.where(np.isin(np.arange(len(scores)), list(words)), best, -1)
    np.testing.assert_array_equal(distribution.condition(heads=heads).best_tree(), best)


@pytest.mark.slow
@ROUGH
@given(KIND, graphs(most_words=6), st.integers(1, 12))
def test_best_trees_under_a_condition_are_those_that_meet_it_in_the_same_order(kind, scores, k):
    distribution = kind(scores)
    trees = distribution.best_trees(k).heads
    last = trees[-1]
    head, dependent = int(last[1]), 1
    among_all = [t.heads for t in distribution.iterate_best_trees() if t.heads[1] == head][:k]
    given_arc = distribution.condition(include=[(head, dependent)]).best_trees(k)
    np.testing.assert_array_equal(given_arc.heads, among_all)


@ROUGH
@given(KIND, graphs(most_words=9), st.integers(0, 25), st.integers(0, 25))
def test_fewer_best_trees_are_a_prefix_of_more(kind, scores, k, more):
    distribution = kind(scores)
    few, many = distribution.best_trees(k), distribution.best_trees(k + more)
    np.testing.assert_array_equal(many.heads[: len(few)], few.heads)
    assert len(few) == min(k, len(many))
    assert is_tree(many.heads, single_root=is_single_root(kind)).all()
    assert len({heads.tobytes() for heads in many.heads}) == len(many)


@ROUGH
@given(KIND, graphs(most_words=6), st.data())
def test_evidence_of_a_condition_and_its_complement_sum_to_one(kind, scores, data):
    distribution = kind(scores)
    dependent = data.draw(st.integers(1, len(scores) - 1))
    head = int(distribution.best_tree()[dependent])
    arc = [(head, dependent)]
    with_arc = np.exp(distribution.log_evidence(include=arc))
    without = np.exp(distribution.log_evidence(exclude=arc))
    np.testing.assert_allclose(with_arc + without, 1.0, rtol=1e-13)
    np.testing.assert_allclose(with_arc, distribution.arc_marginals()[head, dependent], rtol=1e-12)
