"""Trees as distributions of ``torch.distributions``, with exact gradients.

Needs torch: ``pip install 'arborand[torch]'``.
"""

from arborand.torch.answers import BestTrees, Draws, arc_indicators
from arborand.torch.distributions import (
    DependencyTrees,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
    TreeDistribution,
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
