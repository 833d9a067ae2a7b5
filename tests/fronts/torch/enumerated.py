"""Everything as a function of the scores, by listing all trees.

Torch differentiates such functions as often as one likes.
"""

import numpy as np
import pytest
import torch

import arborand
from arborand.torch import (
    DependencyTrees,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
    arc_indicators,
)
from tests.kinds import trees_of

KINDS = pytest.mark.parametrize(
    "kind", [SpanningTrees, DependencyTrees, ProjectiveSpanningTrees, ProjectiveDependencyTrees]
)


class Enumerated:
    """The law of the trees of one graph of finite scores, written down tree by tree."""

    def __init__(self, kind, scores, num_words):
        flat = np.zeros((num_words + 1, num_words + 1))
        self.heads = torch.tensor(trees_of(getattr(arborand, kind.__name__), flat))
        m = num_words + 1
        self.scores = scores[:m, :m]
        self.arcs = arc_indicators(self.heads, dtype=scores.dtype)
        self.log_weight = self.sums(self.scores)
        self.log_prob = self.log_weight - self.log_partition()

    def sums(self, values):
        """Add up values over each tree's arcs."""
        return (self.arcs * values).sum((-1, -2))

    def log_partition(self):
        return torch.logsumexp(self.log_weight, 0)

    def arc_marginals(self):
        return (self.log_prob.exp()[:, None, None] * self.arcs).sum(0)

    def entropy(self):
        return -(self.log_prob.exp() * self.log_prob).sum()

    def expectation(self, values):
        return (self.log_prob.exp() * self.sums(values)).sum()

    def covariance(self, first, second):
        f, g = self.sums(first), self.sums(second)
        p = self.log_prob.exp()
        return (p * (f - (p * f).sum()) * (g - (p * g).sum())).sum()

    def kl_divergence(self, other):
        place = {tuple(heads): i for i, heads in enumerate(other.heads.tolist())}
        chosen = torch.tensor([place[tuple(heads)] for heads in self.heads.tolist()])
        return (self.log_prob.exp() * (self.log_prob - other.log_prob[chosen])).sum()
