"""What NetworkX asks of a backend when it is imported.

A package of its own, because NetworkX calls this on every ``import networkx``: it must not import
arborand, nor anything else.
"""

from __future__ import annotations

from typing import Any

_BY_EXACT_SUMS = "By exact sums of weights, in O(m log n).  The graph's own weights are left alone."


def get_info() -> dict[str, Any]:
    """Describe the backend to NetworkX."""
    return {
        "backend_name": "arborand",
        "project": "arborand",
        "package": "arborand",
        "short_summary": "Exact random and best spanning trees, counts and resistances",
        "functions": {
            "random_spanning_tree": {
                "additional_docs": "Loop-erased walks: exact for any weights, a thousand times "
                "faster.  Edges keep their attributes."
            },
            "number_of_spanning_trees": {
                "additional_docs": "By elimination without subtractions; exact up to 2^53 for "
                "whole numbers.  A number beyond float64 is an OverflowError that tells its "
                "logarithm."
            },
            "resistance_distance": {
                "additional_docs": "By elimination: each to about 1e-13 relative."
            },
            "effective_graph_resistance": {"additional_docs": "By two sparse eliminations."},
            "maximum_spanning_arborescence": {"additional_docs": _BY_EXACT_SUMS},
            "minimum_spanning_arborescence": {"additional_docs": _BY_EXACT_SUMS},
            "maximum_branching": {"additional_docs": _BY_EXACT_SUMS},
            "minimum_branching": {"additional_docs": _BY_EXACT_SUMS},
        },
    }
