"""Families of random graphs, for runs whose seeds nobody chose: other graphs in every run.

The catalogue of ``graphs`` holds what we thought of; these are for what we did not. Each family is
a function from a random generator to scores. The small ones have few enough trees to list, all of
them a dependency tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial

import numpy as np

from verification.graphs import ABSENT, CATALOGUE, Graph
from verification.laws import FloatArray
from verification.trials import generator

Family = Callable[[np.random.Generator], FloatArray]

_FURTHEST = 2000.0  # far beyond what float64 can hold the exponential of


def normal(rng: np.random.Generator, *, num_words: int, deviation: float) -> FloatArray:
    """Draw normal scores on all arcs."""
    return deviation * rng.normal(size=(num_words + 1, num_words + 1))


def cauchy(rng: np.random.Generator, *, num_words: int, scale: float) -> FloatArray:
    """Draw scores with a few arcs out of all proportion, up to what a judge's digits can bear."""
    scores = scale * rng.standard_cauchy((num_words + 1, num_words + 1))
    return np.clip(scores, -_FURTHEST, _FURTHEST)


def sparse(
    rng: np.random.Generator, *, num_words: int, density: float, deviation: float = 1.0
) -> FloatArray:
    """Draw normal scores on some arcs; a path through all words keeps one tree possible."""
    scores = normal(rng, num_words=num_words, deviation=deviation)
    is_kept = rng.random(scores.shape) < density
    path = np.concatenate([[0], 1 + rng.permutation(num_words)])
    is_kept[path[:-1], path[1:]] = True
    return np.where(is_kept, scores, ABSENT)


def bound_pairs(rng: np.random.Generator, *, num_words: int, strongest: float) -> FloatArray:
    """Bind words to each other, two by two, so that walks go back and forth."""
    scores = normal(rng, num_words=num_words, deviation=1.0)
    for word in range(1, num_words, 2):
        bond = rng.uniform(2.0, strongest)
        scores[word, word + 1] += bond
        scores[word + 1, word] += bond
    return scores


def one_tree_ahead(
    rng: np.random.Generator, *, num_words: int, least: float, most: float
) -> FloatArray:
    """Raise the arcs of one dependency tree over all others."""
    scores = normal(rng, num_words=num_words, deviation=1.0)
    gap = rng.uniform(least, most)
    order = 1 + rng.permutation(num_words)
    scores[0, order[0]] += gap
    for position in range(1, num_words):
        scores[order[rng.integers(position)], order[position]] += gap
    return scores


def traps(rng: np.random.Generator, *, num_words: int, depth: float) -> FloatArray:
    """Make words 1 to k a trap for every k, e^depth times harder to leave than the last."""
    node = np.arange(num_words + 1)
    scores = normal(rng, num_words=num_words, deviation=1.0)
    scores -= depth * np.maximum(node[:, np.newaxis], node)
    scores[0] -= depth * num_words
    return scores


def shifted_columns(rng: np.random.Generator, *, num_words: int, furthest: float) -> FloatArray:
    """Add a constant to all arcs into a word, which changes no probability."""
    scores = normal(rng, num_words=num_words, deviation=1.0)
    return scores + rng.uniform(-furthest, furthest, size=num_words + 1)


def weak_roots(rng: np.random.Generator, *, num_words: int, score: float) -> FloatArray:
    """Make all arcs from the root negligible."""
    scores = normal(rng, num_words=num_words, deviation=1.0)
    scores[0] += score
    return scores


LISTABLE: Mapping[str, Family] = {
    "normal_4": partial(normal, num_words=4, deviation=1.0),
    "normal_5": partial(normal, num_words=5, deviation=0.7),
    "far_apart_4": partial(normal, num_words=4, deviation=4.0),
    "cauchy_4": partial(cauchy, num_words=4, scale=1.0),
    "sparse_6": partial(sparse, num_words=6, density=0.3),
    "bound_pairs_4": partial(bound_pairs, num_words=4, strongest=60.0),
    "one_tree_ahead_4": partial(one_tree_ahead, num_words=4, least=2.0, most=12.0),
    "traps_4": partial(traps, num_words=4, depth=5.0),
    "shifted_columns_3": partial(shifted_columns, num_words=3, furthest=900.0),
}
"""Families of graphs all of whose trees can be listed."""

LARGE: Mapping[str, Family] = {
    f"{name}_{num_words}": partial(family, num_words=num_words)
    for num_words in (50, 100, 200)
    for name, family in (
        ("large_normal", partial(normal, deviation=2.0)),
        ("large_sparse", partial(sparse, density=0.1, deviation=2.0)),
    )
}
"""Families of graphs with more trees than there are atoms."""

EXTREME: Mapping[str, Family] = {
    **{
        f"deviation_{deviation:g}_{num_words}": partial(
            normal, num_words=num_words, deviation=deviation
        )
        for deviation in (1.0, 10.0, 100.0, 300.0)
        for num_words in (4, 8)
    },
    "deviation_1_30": partial(normal, num_words=30, deviation=1.0),
    "deviation_30_12": partial(normal, num_words=12, deviation=30.0),
    "holes_deviation_30_12": partial(sparse, num_words=12, density=0.25, deviation=30.0),
    "holes_deviation_300_9": partial(sparse, num_words=9, density=0.25, deviation=300.0),
    "cauchy_10_6": partial(cauchy, num_words=6, scale=10.0),
    "bonds_400_9": partial(bound_pairs, num_words=9, strongest=400.0),
    "ahead_by_30_10": partial(one_tree_ahead, num_words=10, least=30.0, most=30.0),
    "ahead_by_250_10": partial(one_tree_ahead, num_words=10, least=250.0, most=250.0),
    "traps_30_8": partial(traps, num_words=8, depth=30.0),
    "roots_of_minus_600_9": partial(weak_roots, num_words=9, score=-600.0),
}
"""Families of scores that leave the range of float64, or the accuracy of a matrix inverse."""

FAMILIES: Mapping[str, Family] = {**LISTABLE, **LARGE, **EXTREME}
"""Every family by its name."""


@lru_cache(maxsize=64)
def graph_of(name: str, seed: int) -> Graph:
    """Give a graph of the catalogue, or make one of a family.

    Parameters
    ----------
    name : str
        Of a graph, or of a family, followed by ``#`` and anything.
    seed : int
        Where the graph comes from; ignored for graphs of the catalogue.

    Returns
    -------
    Graph
        The graph; the same object for the same arguments, as laws are remembered by graph.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    family, _, _ = name.partition("#")
    scores = FAMILIES[family](generator(seed))
    scores[:, 0] = ABSENT
    np.fill_diagonal(scores, ABSENT)
    scores.setflags(write=False)
    return Graph(name, scores, "whatever a fresh seed brings")
