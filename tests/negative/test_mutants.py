"""Wrong samplers must be rejected, beyond any doubt, by the harness that accepts the right ones.

That each mutant's twin without the fault is accepted is a registered check (``TWINS`` in
``verification/checks.py``), run with all others by the statistical tests.
"""

import numpy as np
import pytest

from arborand.enumeration import tree_law
from verification.checks import CHECKS
from verification.faults import transpose_words
from verification.graphs import graph
from verification.ledger import Check
from verification.mutants import ALPHA_MUTANT, MUTANTS

pytestmark = pytest.mark.slow


# What each fault is caught by: a mutant that only ever yields impossible draws says nothing about
# the power to see a wrong law, and vice versa.
CAUGHT_BY_IMPOSSIBLE_DRAWS = {
    "first exit kept",
    "heads drawn independently",
    "absent arcs drawn",
    "any child breaks all cycles",
    "repeats without replacement",
    "drawn trees forgotten at the switch",
    "put back under any neighbour",
}
# Judged by other statistics, which know nothing of impossible draws.
OTHER_STATISTICS = ("by arcs", "by inclusion", "by distance")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_rejected_for_the_intended_reason(mutant):
    verdict = Check(mutant.name, mutant.trial).run()
    assert verdict.p_value < ALPHA_MUTANT, f"{mutant.shows}\n{verdict.report()}"
    if not mutant.name.endswith(OTHER_STATISTICS):
        assert bool(verdict.impossible) == (mutant.name in CAUGHT_BY_IMPOSSIBLE_DRAWS)
        assert (verdict.rare is not None) == (mutant.name == "probabilities floored")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_twin_is_registered(mutant):
    assert [check for check in CHECKS if check.judge is mutant.twin]
    assert mutant.trial is not mutant.twin


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_symmetric_graph_hides_reversed_arcs():
    # Why the catalogue is asymmetric: here the fault has the right law, tree by tree.
    flat, skewed = graph("flat_3").log_weights, graph("skewed_3").log_weights
    for log_weights, is_hidden in ((flat, True), (skewed, False)):
        right = tree_law(log_weights, single_root=True)[1]
        wrong = tree_law(transpose_words(log_weights), single_root=True)[1]
        assert np.allclose(right, wrong, rtol=1e-12) == is_hidden
