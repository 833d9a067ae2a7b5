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
from arborand.torch.labelled import LabelledTrees

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
