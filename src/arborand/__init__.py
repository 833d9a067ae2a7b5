"""Exact random spanning trees and dependency trees of weighted directed graphs."""

import typing

# Before NumPy: in a sub-interpreter both imports fail, but the core's error says why.
from arborand import _core as _core
from arborand.best import BestTree, BestTrees
from arborand.distributions import DependencyTrees, SpanningTrees
from arborand.errors import (
    ArborandError,
    BiasedSamplerWarning,
    InvalidTreeError,
    InvalidWeightsError,
    NoTreeError,
    PrecisionError,
    SupportExhaustedError,
    SuspiciousWeightsWarning,
    TooMuchWorkError,
    WalkTooLongError,
)
from arborand.labelled import LabelledTrees
from arborand.projective import ProjectiveDependencyTrees, ProjectiveSpanningTrees
from arborand.sparse_graphs import SparseSpanningTrees
from arborand.validation import pad
from arborand.without_replacement import Draw, Draws

__all__ = [
    "ArborandError",
    "BestTree",
    "BestTrees",
    "BiasedSamplerWarning",
    "DependencyTrees",
    "Draw",
    "Draws",
    "InvalidTreeError",
    "InvalidWeightsError",
    "LabelledTrees",
    "NoTreeError",
    "PrecisionError",
    "ProjectiveDependencyTrees",
    "ProjectiveSpanningTrees",
    "SpanningTrees",
    "SparseSpanningTrees",
    "SupportExhaustedError",
    "SuspiciousWeightsWarning",
    "TooMuchWorkError",
    "WalkTooLongError",
    "__version__",
    "pad",
]

if typing.TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name == "__version__":  # looked up lazily: importlib.metadata is slow to import
            from importlib.metadata import version

            return version("arborand")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
