"""The kinds of tree, as parameters of tests."""

import numpy as np
import pytest

from arborand import (
    DependencyTrees,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
)
from arborand.enumeration import dependency_trees, spanning_trees

KINDS = pytest.mark.parametrize("kind", [SpanningTrees, DependencyTrees])
PROJECTIVE_KINDS = pytest.mark.parametrize(
    "kind", [ProjectiveSpanningTrees, ProjectiveDependencyTrees]
)
ALL_KINDS = pytest.mark.parametrize(
    "kind", [SpanningTrees, DependencyTrees, ProjectiveSpanningTrees, ProjectiveDependencyTrees]
)


def is_single_root(kind):
    return issubclass(kind, DependencyTrees | ProjectiveDependencyTrees)


def is_projective(kind):
    return issubclass(kind, ProjectiveSpanningTrees | ProjectiveDependencyTrees)


def trees_of(kind, log_weights):
    """List the heads of every tree of a graph, one row per tree."""
    # Only where arcs are matters here; sums of huge scores would overflow on the way.
    flat = np.where(np.asarray(log_weights, dtype=float) > -np.inf, 0.0, -np.inf)
    listed = (dependency_trees if is_single_root(kind) else spanning_trees)(
        flat, projective=is_projective(kind)
    )
    return [heads.tolist() for heads, _ in listed]
