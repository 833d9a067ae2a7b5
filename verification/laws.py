"""What should be drawn: exact laws, computed by listing every tree.

Nothing here is sampled, and nothing comes from the fast path: the laws rest on
:mod:`arborand.enumeration` alone, so they can judge everything else. Masses that remain after
some trees are gone are summed afresh, never obtained as one minus something, because a single
tree may hold all but 1e-12 of the mass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from math import fsum

import numpy as np
import numpy.typing as npt

from arborand.enumeration import tree_law
from verification.graphs import Graph

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
HeadsArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class TreeLaw:
    """Every tree of a graph with its probability.

    Attributes
    ----------
    trees : ndarray of int32, shape (trees, words + 1)
        One row of heads per tree, all different.
    probabilities : ndarray of float64, shape (trees,)
        Their probabilities, summing to 1.
    """

    trees: HeadsArray
    probabilities: FloatArray

    @property
    def num_trees(self) -> int:
        """Size of the support."""
        return len(self.probabilities)


@cache
def law_of(graph: Graph, *, single_root: bool, projective: bool = False) -> TreeLaw:
    """List the trees of a graph with their probabilities.

    Parameters
    ----------
    graph : Graph
        A graph of the catalogue.
    single_root : bool
        Whether exactly one arc must leave the root.
    projective : bool, optional
        Whether no two arcs may cross.

    Returns
    -------
    TreeLaw
        The exact law; the arrays are shared between calls and read-only.
    """
    trees, probabilities = tree_law(
        graph.log_weights, single_root=single_root, projective=projective
    )
    law = TreeLaw(np.array(trees, dtype=np.int32), np.array(probabilities, dtype=np.float64))
    law.trees.setflags(write=False)
    law.probabilities.setflags(write=False)
    return law


def without_arcs(law: TreeLaw, arcs: Collection[tuple[int, int]]) -> TreeLaw:
    """Condition a law on the absence of some arcs.

    Parameters
    ----------
    law : TreeLaw
        The law over trees.
    arcs : collection of (head, dependent)
        What no tree may contain.

    Returns
    -------
    TreeLaw
        The trees that are left, their probabilities normalised. As those are summed afresh, they
        are as accurate as before, however little of the mass is left.
    """
    avoids = np.ones(law.num_trees, dtype=np.bool_)
    for head, dependent in arcs:
        avoids &= law.trees[:, dependent] != head
    left = law.probabilities[avoids]
    return TreeLaw(law.trees[avoids], left / fsum(left))


def ordered_law(probabilities: FloatArray, length: int) -> FloatArray:
    """Probability of every ordered draw without replacement.

    The first outcome follows the law; each later one follows it among the outcomes that are
    left, renormalised. This is the Plackett-Luce order.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (outcomes,)
        The law of a single draw.
    length : int
        Number of draws, at least 1.

    Returns
    -------
    ndarray of float64, shape (outcomes,) * length
        ``result[a, b, ...]`` is the probability of drawing a first, then b, and so on. It is
        exactly zero wherever an index occurs twice.

    Raises
    ------
    ValueError
        If the support has fewer outcomes than there are draws.
    """
    _check_length(probabilities, length)
    if length == 1:
        return probabilities.copy()
    joint = np.zeros((len(probabilities),) * length)
    for first in np.flatnonzero(probabilities):
        rest = probabilities.copy()
        rest[first] = 0.0
        joint[first] = probabilities[first] * ordered_law(rest / rest.sum(), length - 1)
    return joint


def inclusion_probabilities(probabilities: FloatArray, length: int) -> FloatArray:
    """Probability that each outcome is among the first draws without replacement.

    Sums over the sets that can have been drawn so far rather than over their orders, so that
    longer draws than :func:`ordered_law` could tabulate are within reach.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (outcomes,)
        The law of a single draw.
    length : int
        Number of draws, at least 1.

    Returns
    -------
    ndarray of float64, shape (outcomes,)
        Inclusion probabilities, summing to `length`.

    Raises
    ------
    ValueError
        If the support has fewer outcomes than there are draws.
    """
    _check_length(probabilities, length)
    support = [int(outcome) for outcome in np.flatnonzero(probabilities)]
    mass = probabilities.tolist()
    chance_of_set: dict[frozenset[int], float] = {frozenset(): 1.0}
    for _ in range(length):
        extended: defaultdict[frozenset[int], float] = defaultdict(float)
        for drawn, chance in chance_of_set.items():
            left = [outcome for outcome in support if outcome not in drawn]
            mass_left = fsum(mass[outcome] for outcome in left)
            for outcome in left:
                extended[drawn | {outcome}] += chance * mass[outcome] / mass_left
        chance_of_set = dict(extended)
    inclusion = np.zeros(len(mass))
    for outcome in support:
        inclusion[outcome] = fsum(
            chance for drawn, chance in chance_of_set.items() if outcome in drawn
        )
    return inclusion


def arc_marginals(law: TreeLaw) -> FloatArray:
    """Probability of every arc.

    Parameters
    ----------
    law : TreeLaw
        The law over trees.

    Returns
    -------
    ndarray of float64, shape (words + 1, words + 1)
        ``result[head, dependent]``; each column but the root's sums to 1.
    """
    num_nodes = law.trees.shape[1]
    marginals = np.zeros((num_nodes, num_nodes))
    for dependent in range(1, num_nodes):
        np.add.at(marginals[:, dependent], law.trees[:, dependent], law.probabilities)
    return marginals


def locate(draws: npt.NDArray[np.integer], trees: HeadsArray) -> IndexArray:
    """Find drawn trees in a list of trees.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (..., words + 1)
        Drawn heads, possibly nonsense.
    trees : ndarray of int32, shape (trees, words + 1)
        The list.

    Returns
    -------
    ndarray of int64, shape (...)
        Position in the list, -1 for what is not in it.

    Raises
    ------
    ValueError
        If there are more than 15 words.

    Notes
    -----
    Reads a tree as a number in base words + 1, one digit per word: a million draws take a
    fraction of a second.
    """
    num_words = trees.shape[1] - 1
    if (num_words + 1) ** num_words > np.iinfo(np.int64).max:
        raise ValueError(f"a tree of {num_words} words does not fit a 64-bit number; use fewer")
    place_value = (num_words + 1) ** np.arange(num_words, dtype=np.int64)
    # Digits beyond the base would make two different rows the same number.
    is_well_formed = (draws[..., 0] == -1) & np.all(
        (draws[..., 1:] >= 0) & (draws[..., 1:] <= num_words), axis=-1
    )
    drawn_numbers = draws[..., 1:].astype(np.int64) @ place_value
    tree_numbers = trees[:, 1:].astype(np.int64) @ place_value
    order = np.argsort(tree_numbers)
    position = np.searchsorted(tree_numbers, drawn_numbers, sorter=order)
    candidate = order[np.minimum(position, len(order) - 1)]
    is_found = is_well_formed & (tree_numbers[candidate] == drawn_numbers)
    return np.where(is_found, candidate, -1)


def _check_length(probabilities: FloatArray, length: int) -> None:
    num_possible = np.count_nonzero(probabilities)
    if not 1 <= length <= num_possible:
        raise ValueError(
            f"length must be within 1 and the {num_possible} possible outcomes, found {length}"
        )
