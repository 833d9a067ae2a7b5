"""Trees as distributions that JAX compiles, differentiates and maps, with exact gradients.

Needs JAX: ``pip install 'arborand[jax]'``.
"""

from arborand.jax.distributions import (
    BestTrees,
    DependencyTrees,
    Draws,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
    TreeDistribution,
    arc_indicators,
)

__all__ = [
    "BestTrees",
    "DependencyTrees",
    "Draws",
    "ProjectiveDependencyTrees",
    "ProjectiveSpanningTrees",
    "SpanningTrees",
    "TreeDistribution",
    "arc_indicators",
]
