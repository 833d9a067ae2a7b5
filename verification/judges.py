"""Draws against laws: from the output of any sampler to a verdict.

Each judge looks at the same draws from another side:

================================  ================================================================
:func:`judge_trees`               each draw follows the law over trees
:func:`judge_consecutive`         a draw does not depend on the draw before it
:func:`judge_arcs_of`             arcs are as frequent as their marginals; needs fewer draws on
                                  graphs of many trees
:func:`judge_arcs`                the same for marginals from elsewhere, of graphs of any size
:func:`judge_ordered`             draws without replacement come in the right order law
:func:`judge_inclusion`           the right trees are among the first; for draws too long to
                                  tabulate
:func:`judge_perturbed`           perturbed log-probabilities of draws without replacement
================================  ================================================================
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from verification.goodness_of_fit import (
    Family,
    Fit,
    Verdict,
    binomial_test,
    distance_test,
    g_test,
)
from verification.laws import (
    FloatArray,
    IndexArray,
    TreeLaw,
    arc_marginals,
    inclusion_probabilities,
    locate,
    ordered_law,
)

_MAX_NAMED = 100  # different nonsense draws that a report keeps apart


def judge_trees(draws: npt.NDArray[Any], law: TreeLaw) -> Fit:
    """Test draws against the law over trees.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (draws, words + 1)
        Independent drawn heads.
    law : TreeLaw
        What they should follow.

    Returns
    -------
    Fit
        One cell per tree; anything that is not a tree of the graph is impossible.
    """
    _check_shape(draws, law, num_axes=2)
    return _fit_rows(draws[:, np.newaxis, :], law, law.probabilities)


def judge_consecutive(draws: npt.NDArray[Any], law: TreeLaw) -> Fit:
    """Test pairs of neighbouring draws against the product law.

    A sampler can have the right law draw by draw and still repeat its stream of random numbers.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (draws, words + 1)
        Drawn heads in the order drawn; pairs are the draws 0 and 1, 2 and 3, and so on, so
        that they are independent of each other.
    law : TreeLaw
        What each should follow.

    Returns
    -------
    Fit
        One cell per pair of trees.
    """
    _check_shape(draws, law, num_axes=2)
    num_pairs = len(draws) // 2
    pairs = draws[: 2 * num_pairs].reshape(num_pairs, 2, -1)
    return _fit_rows(pairs, law, np.multiply.outer(law.probabilities, law.probabilities))


def judge_ordered(draws: npt.NDArray[Any], law: TreeLaw) -> Fit:
    """Test draws without replacement, order included.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (repeats, length, words + 1)
        Each repeat holds `length` trees in the order drawn.
    law : TreeLaw
        The law of a single draw.

    Returns
    -------
    Fit
        One cell per ordered tuple of trees; a tuple with a repeated tree is impossible.
    """
    _check_shape(draws, law, num_axes=3)
    return _fit_rows(draws, law, ordered_law(law.probabilities, draws.shape[1]))


def judge_inclusion(draws: npt.NDArray[Any], law: TreeLaw) -> Family:
    """Test which trees are among the draws without replacement, whatever their order.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (repeats, length, words + 1)
        Each repeat holds `length` trees.
    law : TreeLaw
        The law of a single draw.

    Returns
    -------
    Family
        One exact test per tree, one that no draw is outside the support, and one that no
        repeat holds a tree twice.
    """
    _check_shape(draws, law, num_axes=3)
    num_repeats, length, _ = draws.shape
    found = locate(draws, law.trees)
    in_order = np.sort(found, axis=1)
    is_repeated = np.any((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0), axis=1)
    is_outside = np.any(found < 0, axis=1)
    members: list[tuple[str, Verdict]] = [
        (name, binomial_test(int(fails.sum()), num_repeats, 0.0, outcome=name))
        for name, fails in (
            ("a repeat with the same tree twice", is_repeated),
            ("a repeat with something that is not a tree of the graph", is_outside),
        )
    ]
    inclusion = inclusion_probabilities(law.probabilities, length)
    for tree, probability in enumerate(np.minimum(inclusion, 1.0)):  # a sum may round above 1
        count = int(np.any(found == tree, axis=1).sum())
        name = _name_tree(law, tree)
        members.append((name, binomial_test(count, num_repeats, float(probability), outcome=name)))
    return Family(tuple(members))


def judge_perturbed(draws: npt.NDArray[Any], perturbed: FloatArray, law: TreeLaw) -> Family:
    """Test the perturbed log-probabilities of all trees, drawn without replacement to the last.

    They stand for independent Gumbel variables, one for each tree, shifted by its log-probability;
    the order of the draws is their order. So the first of them has the law of the largest of all,
    which is a Gumbel variable without a shift, as the probabilities sum to 1.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (repeats, trees, words + 1)
        Each repeat holds all trees in the order drawn.
    perturbed : ndarray of float64, shape (repeats, trees)
        What goes with them.
    law : TreeLaw
        The law of a single draw.

    Returns
    -------
    Family
        One test for each tree, and one for the first.
    """
    _check_shape(draws, law, num_axes=3)
    found = locate(draws, law.trees)
    if not np.array_equal(
        np.sort(found, axis=1), np.tile(np.arange(law.num_trees), (len(found), 1))
    ):
        raise ValueError("every repeat must hold every tree of the graph once")
    of_tree = np.take_along_axis(perturbed, np.argsort(found, axis=1), axis=1)
    noise = of_tree - np.log(law.probabilities)
    members: list[tuple[str, Verdict]] = [("the first", distance_test(perturbed[:, 0], "gumbel_r"))]
    members += [
        (_name_tree(law, tree), distance_test(noise[:, tree], "gumbel_r"))
        for tree in range(law.num_trees)
    ]
    return Family(tuple(members))


def judge_arcs(draws: npt.NDArray[Any], marginals: FloatArray) -> Family:
    """Test how often each arc was drawn.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (draws, words + 1)
        Independent drawn heads.
    marginals : ndarray of float64, shape (words + 1, words + 1)
        Probability of each arc, wherever it was computed; an absent arc is exactly 0.

    Returns
    -------
    Family
        One G test per word, over its heads.
    """
    num_nodes = len(marginals)
    if draws.ndim != 2 or draws.shape[1] != num_nodes:
        raise ValueError(f"draws must have shape (draws, {num_nodes}), found {draws.shape}")
    members: list[tuple[str, Verdict]] = []
    for dependent in range(1, num_nodes):
        heads = draws[:, dependent]
        is_node = (heads >= 0) & (heads < num_nodes)
        fit = g_test(
            np.bincount(heads[is_node], minlength=num_nodes),
            marginals[:, dependent],
            outside={"not a node": int((~is_node).sum())},
            name_of=partial(_name_arc, dependent),
        )
        members.append((f"the head of word {dependent}", fit))
    return Family(tuple(members))


def judge_arcs_of(draws: npt.NDArray[Any], law: TreeLaw) -> Family:
    """Test how often each arc was drawn, given the law over trees.

    Parameters
    ----------
    draws : ndarray of an integer type, shape (draws, words + 1)
        Independent drawn heads.
    law : TreeLaw
        Where the marginals come from.

    Returns
    -------
    Family
        One G test per word, over its heads.
    """
    _check_shape(draws, law, num_axes=2)
    return judge_arcs(draws, arc_marginals(law))


def _fit_rows(draws: npt.NDArray[Any], law: TreeLaw, joint: FloatArray) -> Fit:
    """Test rows of `length` trees against a joint law of shape (trees,) * length."""
    found = locate(draws, law.trees)
    is_listed = np.all(found >= 0, axis=1)
    cells = np.ravel_multi_index(tuple(found[is_listed].T), joint.shape)

    def name_of(cell: int) -> str:
        return ", then ".join(
            _name_tree(law, int(tree)) for tree in np.unravel_index(cell, joint.shape)
        )

    return g_test(
        np.bincount(cells, minlength=joint.size),
        joint.ravel(),
        outside=_count_outside(draws[~is_listed]),
        name_of=name_of,
    )


def _count_outside(rows: npt.NDArray[Any]) -> dict[str, int]:
    if not len(rows):
        return {}
    different, counts = np.unique(rows, axis=0, return_counts=True)
    most_frequent: IndexArray = np.argsort(-counts, kind="stable")
    named = {
        ", then ".join(_name_heads(heads) for heads in different[i]): int(counts[i])
        for i in most_frequent[:_MAX_NAMED]
    }
    if len(counts) > _MAX_NAMED:
        named["others that are not trees of the graph"] = int(
            counts[most_frequent[_MAX_NAMED:]].sum()
        )
    return named


def _name_arc(dependent: int, head: int) -> str:
    return f"arc {head} -> {dependent}"


def _name_tree(law: TreeLaw, tree: int) -> str:
    return _name_heads(law.trees[tree])


def _name_heads(heads: npt.NDArray[Any]) -> str:
    return f"heads {heads.tolist()}"


def _check_shape(draws: npt.NDArray[Any], law: TreeLaw, *, num_axes: int) -> None:
    num_nodes = law.trees.shape[1]
    if draws.ndim != num_axes or draws.shape[-1] != num_nodes:
        raise ValueError(
            f"draws must have {num_axes} axes, the last of length {num_nodes}, found shape "
            f"{draws.shape}"
        )
    if not np.issubdtype(draws.dtype, np.integer):
        raise TypeError(f"draws must be heads of an integer type, found {draws.dtype}")
