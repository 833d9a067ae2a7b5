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

__all__ = [
    "ArborandError",
    "BiasedSamplerWarning",
    "DependencyTrees",
    "InvalidTreeError",
    "InvalidWeightsError",
    "NoTreeError",
    "SpanningTrees",
    "SupportExhaustedError",
]
