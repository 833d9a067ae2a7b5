"""Wrong best trees must be noticed by the judges that accept the right ones."""

from itertools import islice

import numpy as np
import pytest

from verification.best_order import (
    FAMILIES,
    TRUSTING,
    graph_of,
    has_tree,
    in_order,
    judge_certificate,
)
from verification.twin_best import FAULTS, best_trees


def families_out_of_order(fault):
    """Run the twin with a fault over all families, as the judges do without one."""
    caught = set()
    rng = np.random.default_rng(1)
    for family in FAMILIES:
        for num_words in (2, 3, 3, 4, 4, 4):
            for single_root in (False, True):
                graph = graph_of(family, rng, num_words)
                if not has_tree(graph, single_root=single_root):
                    continue
                expected = in_order(graph, single_root=single_root)
                found = best_trees(graph, single_root=single_root, fault=fault)
                if list(islice(found, len(expected) + 1)) != expected:
                    caught.add(family)
    return caught


def test_the_twin_without_a_fault_is_accepted():
    assert families_out_of_order(None) == set()


# By which families each fault must be noticed; others may notice it too.
NOTICED_BY = {
    "big constant": {"masks of -1e20", "largest"},
    "no tie rule": {"ties", "zeros"},
    "doubles trusted": {"decimals", "1e16 and 1"},
    "descendants ignored": {"normal"},
    "exclusion lost": {"normal"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_is_noticed_where_it_is_expected(fault):
    assert families_out_of_order(fault) >= NOTICED_BY[fault], FAULTS[fault]


@pytest.mark.parametrize("single_root", [False, True])
def test_a_certificate_with_a_bound_of_0_is_noticed(single_root):
    trusting = judge_certificate("last bits", 4000, 0, single_root=single_root, caution=TRUSTING)
    careful = judge_certificate("last bits", 4000, 0, single_root=single_root)
    assert trusting.num_wrong > 0
    assert careful.num_wrong == 0
    assert careful.searches.exact > trusting.searches.exact
    assert careful.searches.certified > 0
