"""Trees as distributions of ``torch.distributions``, with exact gradients.

Needs torch: ``pip install 'arborand[torch]'``.
"""

from arborand.torch.distributions import (
    BestTrees,
    DependencyTrees,
    Draws,
    SpanningTrees,
    TreeDistribution,
    arc_indicators,
)

__all__ = [
    "BestTrees",
    "DependencyTrees",
    "Draws",
    "SpanningTrees",
    "TreeDistribution",
    "arc_indicators",
]
