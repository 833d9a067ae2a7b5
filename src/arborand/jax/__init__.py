"""Trees as distributions that JAX compiles, differentiates and maps, with exact gradients.

Needs JAX: ``pip install 'arborand[jax]'``.
"""

from arborand.jax.distributions import (
    BestTrees,
    DependencyTrees,
    Draws,
    SpanningTrees,
    TreeDistribution,
    arc_indicators,
)
from arborand.jax.labelled import LabelledTrees

__all__ = [
    "BestTrees",
    "DependencyTrees",
    "Draws",
    "LabelledTrees",
    "SpanningTrees",
    "TreeDistribution",
    "arc_indicators",
]
