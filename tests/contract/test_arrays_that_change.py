"""Arrays of the caller that another thread writes to in the middle of a call.

A tracer stands in for the other thread: it changes the array before the first line of the library
that is executed, then before the second, and so on.  Whenever it happens, the call must give the
answer for the array before or after the change, or the error that one of them gives.
"""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import arborand
from arborand import DependencyTrees, evaluation, pad, trees
from tests.random_graphs import dense_scores

LIBRARY = str(Path(arborand.__file__).parent)


def outcome(call, array):
    """Give the answer as text, or the type of the error."""
    try:
        return repr(np.asarray(call(array)).tolist())
    except (ValueError, TypeError) as error:
        return type(error)


def outcome_if_changed(call, before, after, line):
    """Change the array before the given line is executed; tell whether the call came that far."""
    array = before.copy()
    lines = itertools.count()
    is_changed = False

    def trace(frame, event, _):
        nonlocal is_changed
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        if event == "line" and next(lines) == line:
            array[...] = after
            is_changed = True
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        found = outcome(call, array)
    finally:
        sys.settrace(previous)
    return found, is_changed


def check_every_moment(call, before, after):
    expected = {outcome(call, before), outcome(call, after)}
    assert len(expected) == 2  # or the test could not fail
    found = set()
    for line in itertools.count():
        one, is_changed = outcome_if_changed(call, before, after, line)
        found.add(one)
        assert one in expected, f"changed before line {line} of those executed"
        if not is_changed:
            break
    assert found == expected


SCORES = dense_scores(0, 3)
BATCH = np.stack([SCORES, SCORES])
TREES = DependencyTrees(SCORES)
TREE, OTHER_TREE = [-1, 2, 0, 2], [-1, 2, 3, 0]
BAD_TREE = [-1, 2, 0, 77]
NOT_A_NUMBER = np.where(np.eye(4)[[1, 0, 2, 3]] > 0, np.nan, SCORES)

CASES = {
    "lengths": (
        lambda x: DependencyTrees(BATCH, lengths=x).log_partition(),
        np.array([3, 2]),
        [3, 99],
    ),
    "log-weights": (lambda x: DependencyTrees(x).arc_marginals(), SCORES, NOT_A_NUMBER),
    "turned log-weights": (
        lambda x: DependencyTrees(x, orientation="dependent,head").arc_marginals(),
        SCORES,
        NOT_A_NUMBER,
    ),
    "log-weights in float32": (
        lambda x: DependencyTrees(x).arc_marginals(),
        SCORES.astype(np.float32),
        NOT_A_NUMBER,
    ),
    "weights": (
        lambda x: DependencyTrees.from_weights(x).arc_marginals(),
        np.exp(SCORES),
        -np.exp(SCORES),
    ),
    "heads": (TREES.log_prob, np.array(TREE), BAD_TREE),
    "heads in int32": (TREES.log_prob, np.array(TREE, dtype=np.int32), BAD_TREE),
    "heads beyond int32": (TREES.log_prob, np.array(TREE), [-1, 2, 0, 2 + 2**32]),
    "known heads": (
        lambda x: TREES.condition(heads=x).log_partition(),
        np.array([-1, 2, -1, -1]),
        [-1, 99, -1, -1],
    ),
    "evidence": (
        lambda x: TREES.log_evidence(heads=x),
        np.array([-1, 2, -1, -1]),
        [-1, 99, -1, -1],
    ),
    "allowed": (
        lambda x: TREES.condition(allowed=x).log_partition(),
        np.ones((4, 4), dtype=bool),
        np.zeros((4, 4), dtype=bool),
    ),
    "arc values": (TREES.variance, SCORES, NOT_A_NUMBER),
    "arc values of a mean": (TREES.expectation, SCORES, NOT_A_NUMBER),
    "gold heads": (
        lambda x: evaluation.evaluate(TREES, x).log_prob,
        np.array(TREE),
        BAD_TREE,
    ),
    "matrices": (lambda x: pad([x])[0], SCORES, 2 * SCORES),
    "is_tree": (trees.is_tree, np.array(TREE), BAD_TREE),
    "lengths of is_tree": (
        lambda x: trees.is_tree([[*TREE, -1], [*TREE, -1]], lengths=x),
        np.array([3, 3]),
        [3, 99],
    ),
    "arcs": (trees.arcs, np.array(TREE), BAD_TREE),
    "depth": (trees.depth, np.array([-1, 0, 1, 2]), [-1, 2, 3, 1]),
    "is_projective": (trees.is_projective, np.array([-1, 3, 0, 2]), TREE),
    "attachment_score": (
        lambda x: trees.attachment_score(x, TREE),
        np.array(OTHER_TREE),
        BAD_TREE,
    ),
    "log_weight": (lambda x: trees.log_weight(x, SCORES), np.array(TREE), BAD_TREE),
    "from_conll": (trees.from_conll, np.array(TREE[1:]), [2, 0, 77]),
    "to_conll": (trees.to_conll, np.array(TREE), BAD_TREE),
    "from_parents": (trees.from_parents, np.array([1, -1, 1]), [1, -1, 77]),
    "to_parents": (trees.to_parents, np.array(TREE), BAD_TREE),
}


@pytest.mark.parametrize("name", CASES)
def test_a_call_gives_the_answer_for_one_state_of_an_array_that_changes(name):
    call, before, after = CASES[name]
    check_every_moment(call, before, np.asarray(after, dtype=before.dtype))


@pytest.mark.parametrize("name", CASES)
def test_an_error_is_the_one_of_one_state_of_an_array_that_changes(name):
    call, before, after = CASES[name]
    check_every_moment(call, np.asarray(after, dtype=before.dtype), before)
