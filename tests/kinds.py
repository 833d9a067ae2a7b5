"""The two kinds of tree, as parameters of tests."""

import pytest

from arborand import DependencyTrees, SpanningTrees
from arborand.enumeration import dependency_trees, spanning_trees

KINDS = pytest.mark.parametrize("kind", [SpanningTrees, DependencyTrees])


def is_single_root(kind):
    return kind is DependencyTrees


def trees_of(kind, log_weights):
    """List the heads of every tree of a graph, one row a tree."""
    listed = (dependency_trees if is_single_root(kind) else spanning_trees)(log_weights)
    return [heads.tolist() for heads, _ in listed]
