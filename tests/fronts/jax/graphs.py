"""A padded batch with everything in it, and both kinds of tree."""

import jax
import numpy as np

import arborand
import arborand.jax

KINDS = [
    (arborand.jax.DependencyTrees, arborand.DependencyTrees),
    (arborand.jax.SpanningTrees, arborand.SpanningTrees),
    (arborand.jax.ProjectiveDependencyTrees, arborand.ProjectiveDependencyTrees),
    (arborand.jax.ProjectiveSpanningTrees, arborand.ProjectiveSpanningTrees),
]
FRONTS = [front for front, _ in KINDS[:2]]
PROJECTIVE = [front for front, _ in KINDS[2:]]

LENGTHS = np.array([5, 3, 1], np.int32)
_numbers = np.random.default_rng(0).normal(size=(3, 3, 6, 6))
SCORES, VALUES, OTHER = _numbers
SCORES[0, 2, 3] = SCORES[1, 0, 1] = -np.inf  # no arcs
# Nothing of this is read.
SCORES[:, :, 0] = np.nan
SCORES[1, 4:] = np.inf
SCORES[1, :, 4:] = np.nan

# A graph without gaps, for derivatives by differences.
PLAIN = np.random.default_rng(1).normal(size=(6, 6))


def eager(function):
    """Call a function as it is, where others compile it."""
    return function


WAYS = [eager, jax.jit]
