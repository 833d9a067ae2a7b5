"""The catalogue: small named graphs whose trees can all be listed.

Most weights are asymmetric on purpose: the arc from a to b weighs something else than the arc
from b to a, no two words are alike and no column is a multiple of another. On a symmetric graph
a sampler that reads the matrix transposed, shifts a table by one place or confuses two words has
exactly the right law, and no number of draws can tell. ``flat`` graphs are there for the opposite
reason: their counts of trees are known in closed form.

The hostile graphs are what trained parsers and adversaries produce: walks that never end, trees
that hold nearly all the mass, weights that leave the range of float64. A plain random walk does
not return from some of them within a lifetime (``is_walkable`` is False), so every check says
which graphs it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ABSENT = -np.inf


@dataclass(frozen=True, eq=False)
class Graph:
    """A named graph. Compared and hashed by identity.

    Attributes
    ----------
    name : str
        Unique in the catalogue; ends in the number of words.
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        ``log_weights[head, dependent]``, -inf where there is no arc; read-only.
    purpose : str
        What a sampler must get right here.
    has_dependency_trees : bool
        Whether some tree has exactly one arc leaving the root.
    is_walkable : bool
        Whether Wilson's walk, absorbed by the root, ends within a few hundred steps.
    is_plain : bool
        Whether float64 holds the weights themselves, not only their logarithms, and inverting
        their Laplacian as it stands keeps eight digits: far more than draws can tell.
    """

    name: str
    log_weights: npt.NDArray[np.float64]
    purpose: str
    has_dependency_trees: bool = True
    is_walkable: bool = True
    is_plain: bool = True

    @property
    def num_words(self) -> int:
        """Number of nodes without the root."""
        return len(self.log_weights) - 1


def graph(name: str) -> Graph:
    """Look up a graph by name.

    Parameters
    ----------
    name : str
        A name of the catalogue.

    Returns
    -------
    Graph
        The graph.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    return CATALOGUE[name]


def _log(weights: list[list[float]]) -> npt.NDArray[np.float64]:
    """Take logarithms of a matrix of weights; 0 and the entries that mean nothing become -inf."""
    matrix = np.array(weights, dtype=np.float64)
    matrix[:, 0] = 0.0
    np.fill_diagonal(matrix, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(matrix)


def _arcs(num_words: int, weights: Mapping[tuple[int, int], float]) -> npt.NDArray[np.float64]:
    """Build a sparse graph from weights by (head, dependent)."""
    log_weights = np.full((num_words + 1, num_words + 1), ABSENT)
    for (head, dependent), weight in weights.items():
        log_weights[head, dependent] = np.log(weight)
    return log_weights


_SKEWED_3 = [
    # root, then the dependents 1, 2, 3
    [0, 1.0, 3.0, 0.5],
    [0, 0, 2.0, 0.25],
    [0, 0.4, 0, 5.0],
    [0, 1.5, 0.7, 0],
]

_SKEWED_4 = [
    [0, 2.0, 0.3, 1.0, 0.6],
    [0, 0, 1.7, 0.4, 2.5],
    [0, 0.5, 0, 3.0, 0.2],
    [0, 1.1, 0.8, 0, 1.9],
    [0, 0.35, 2.2, 0.9, 0],
]

_SKEWED_5 = [
    [0, 0.9, 1.6, 0.7, 1.2, 0.5],
    [0, 0, 0.8, 2.1, 0.6, 1.3],
    [0, 1.4, 0, 0.5, 1.8, 0.9],
    [0, 0.6, 1.1, 0, 2.4, 0.7],
    [0, 2.2, 0.45, 1.0, 0, 1.7],
    [0, 0.75, 1.9, 0.65, 0.85, 0],
]

_SPARSE_5 = {
    # a ring 1 -> 2 -> 3 -> 4 -> 5 -> 1, two chords, one arc back, three ways in
    (1, 2): 2.0,
    (2, 3): 0.7,
    (3, 4): 1.3,
    (4, 5): 0.4,
    (5, 1): 3.0,
    (1, 4): 0.9,
    (3, 1): 0.5,
    (5, 4): 1.8,
    (0, 1): 0.6,
    (0, 3): 1.1,
    (0, 5): 0.25,
}

_TWO_ISLANDS_4 = {
    (0, 1): 1.0,
    (0, 2): 0.3,
    (1, 2): 2.0,
    (2, 1): 0.7,
    (0, 3): 0.2,
    (0, 4): 1.5,
    (3, 4): 0.6,
    (4, 3): 4.0,
}

# Two arcs leave the root, of equal weight; two trees lie behind the one, one behind the other.
_COUNTER_EXAMPLE_3 = {
    (0, 1): 0.5,
    (0, 2): 0.5,
    (1, 2): 1.0,
    (1, 3): 1.0,
    (2, 1): 1.0,
    (3, 2): 1.0,
}

_LOPSIDED_ROOT_4 = [
    # Word 1 is a bad root (it seldom heads anything), but its root weight is the largest.
    [0, 8.0, 1.0, 0.5, 0.25],
    [0, 0, 0.05, 0.1, 0.02],
    [0, 3.0, 0, 2.0, 1.0],
    [0, 1.0, 4.0, 0, 0.6],
    [0, 2.0, 0.8, 1.2, 0],
]

_TINY_ROOTS_3 = [
    [0, 1e-6, 4e-6, 5e-7],
    [0, 0, 2.0, 0.25],
    [0, 0.4, 0, 5.0],
    [0, 1.5, 0.7, 0],
]


def _bound_pair() -> npt.NDArray[np.float64]:
    log_weights = _log(_SKEWED_4)
    log_weights[1, 2] = 40.0
    log_weights[2, 1] = 40.5
    return log_weights


def _nested_traps() -> npt.NDArray[np.float64]:
    # {1, 2} holds a walk for e^30 steps, {1, 2, 3} around it for another e^15, and the root
    # takes one in a hundred of those that got out.
    log_weights = _log(_SKEWED_4)
    log_weights[1, 2] += 30.0
    log_weights[2, 1] += 30.0
    log_weights[1:3, 3] += 15.0
    log_weights[3, 1:3] += 15.0
    log_weights[0, 1:] -= np.log(100.0)
    return log_weights


def _even_roots() -> npt.NDArray[np.float64]:
    # Each word's root weight is half of what the words offer it.
    weights = np.array(_SKEWED_4, dtype=np.float64)
    weights[0] = 0.5 * weights[1:].sum(axis=0)
    return _log(weights.tolist())


def _towards_one_tree(odds: float) -> npt.NDArray[np.float64]:
    # Raise the arcs of the tree 0 -> 2 -> 1, 2 -> 3 -> 4 over all others.
    log_weights = _log(_SKEWED_4)
    for head, dependent in ((0, 2), (2, 1), (2, 3), (3, 4)):
        log_weights[head, dependent] += np.log(odds)
    return log_weights


def _shifted() -> npt.NDArray[np.float64]:
    # A constant added to all arcs into a word leaves the law as it was.
    log_weights = _log(_SKEWED_3)
    log_weights += np.array([0.0, 900.0, -900.0, 300.0])
    return log_weights


_GRAPHS = (
    Graph("one_word_1", _log([[0, 0.3], [0, 0]]), "a law of one tree: nothing else may come"),
    Graph(
        "two_words_2",
        _log([[0, 1.0, 0.2], [0, 0, 3.0], [0, 0.5, 0]]),
        "the smallest graph with a choice; few enough cells to read a failure by eye",
    ),
    Graph("flat_3", _log([[1.0] * 4] * 4), "16 and 9 equally likely trees"),
    Graph("flat_4", _log([[1.0] * 5] * 5), "125 and 64 equally likely trees"),
    Graph("skewed_3", _log(_SKEWED_3), "asymmetric: every arc has a weight of its own"),
    Graph("skewed_4", _log(_SKEWED_4), "asymmetric, 125 and 64 trees"),
    Graph("skewed_5", _log(_SKEWED_5), "asymmetric, 1296 and 625 trees: pools its rare ones"),
    Graph("sparse_5", _arcs(5, _SPARSE_5), "most arcs are absent and must stay so"),
    Graph(
        "two_islands_4",
        _arcs(4, _TWO_ISLANDS_4),
        "no path between two halves, so each needs its own arc from the root",
        has_dependency_trees=False,
    ),
    Graph(
        "counter_example_3",
        _arcs(3, _COUNTER_EXAMPLE_3),
        "the paper's: root marginals 2/3 and 1/3 under equal root weights",
    ),
    Graph(
        "lopsided_root_4",
        _log(_LOPSIDED_ROOT_4),
        "root weights and root marginals point to different words",
    ),
    Graph(
        "tiny_roots_3",
        _log(_TINY_ROOTS_3),
        "a walk meets the root once in a million steps, and trees with several arcs from the "
        "root all but vanish",
        is_walkable=False,
    ),
    Graph(
        "bound_pair_4",
        _bound_pair(),
        "two words that send a walk back and forth e^40 times",
        is_walkable=False,
        is_plain=False,
    ),
    Graph(
        "nested_traps_4",
        _nested_traps(),
        "a trap of two words within a trap of three",
        is_walkable=False,
        is_plain=False,
    ),
    Graph(
        "dominant_4",
        _towards_one_tree(1e3),
        "one tree has nearly all the mass, the others enough of it to be counted",
    ),
    Graph(
        "near_deterministic_4",
        _towards_one_tree(1e9),
        "all trees but one are rarer than one in 1e8 together",
    ),
    Graph(
        "rare_arcs_4",
        _towards_one_tree(1e12),
        "all arcs but four are rarer than one in 1e11: neither lost nor inflated, given that one "
        "of the four is absent",
    ),
    Graph(
        "even_roots_4",
        _even_roots(),
        "every word has the same share of root weight, so that the paper's H predicts the walk",
    ),
    Graph(
        "shifted_3",
        _shifted(),
        "skewed_3 with column shifts whose exponentials overflow or vanish",
        is_plain=False,
    ),
)

for _graph in _GRAPHS:
    _graph.log_weights.setflags(write=False)

CATALOGUE: Mapping[str, Graph] = {graph.name: graph for graph in _GRAPHS}
"""Every graph by its name."""
