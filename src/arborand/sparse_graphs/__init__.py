"""Spanning trees and forests of large sparse graphs."""

from arborand.sparse_graphs.distribution import SparseSpanningTrees

__all__ = ["SparseSpanningTrees"]
