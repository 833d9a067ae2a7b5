"""Trees as distributions that JAX compiles, differentiates and maps, with exact gradients.

Needs JAX: ``pip install 'arborand[jax]'``.
"""

from arborand.jax.answers import BestTrees, Draws, arc_indicators
from arborand.jax.distributions import (
    DependencyTrees,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
    TreeDistribution,
)
from arborand.jax.labelled import LabelledTrees

__all__ = [
    "BestTrees",
    "DependencyTrees",
    "Draws",
    "LabelledTrees",
    "ProjectiveDependencyTrees",
    "ProjectiveSpanningTrees",
    "SpanningTrees",
    "TreeDistribution",
    "arc_indicators",
]
