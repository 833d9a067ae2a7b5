"""Exact random spanning trees and dependency trees of weighted directed graphs."""

from arborand.distributions import DependencyTrees, SpanningTrees
from arborand.errors import (
    ArborandError,
    BiasedSamplerWarning,
    InvalidTreeError,
    InvalidWeightsError,
    NoTreeError,
    SupportExhaustedError,
)
from arborand.without_replacement import Draw, Draws

__all__ = [
    "ArborandError",
    "BiasedSamplerWarning",
    "DependencyTrees",
    "Draw",
    "Draws",
    "InvalidTreeError",
    "InvalidWeightsError",
    "NoTreeError",
    "SpanningTrees",
    "SupportExhaustedError",
]
