"""What NetworkX asks of a backend when it is imported.

A package of its own, because NetworkX calls this on every ``import networkx``: it must not import
arborand, nor anything else.
"""

from __future__ import annotations

from typing import Any


def get_info() -> dict[str, Any]:
    """Describe the backend to NetworkX."""
    return {
        "backend_name": "arborand",
        "project": "arborand",
        "package": "arborand",
        "short_summary": "Exact random spanning trees, counts and resistances, without subtraction",
        "functions": {
            "random_spanning_tree": {
                "additional_docs": "Loop-erased walks: exact for any weights, a thousand times "
                "faster.  Edges keep their attributes."
            },
            "number_of_spanning_trees": {
                "additional_docs": "By elimination without subtractions.  A number beyond float64 "
                "is an OverflowError that tells its logarithm."
            },
            "resistance_distance": {
                "additional_docs": "By elimination: each to about 1e-13 relative."
            },
            "effective_graph_resistance": {"additional_docs": "By two sparse eliminations."},
        },
    }
