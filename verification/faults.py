"""Small samplers with a switch each that makes them wrong.

Sound by default, and then accepted by the harness; with the switch thrown they are the mutants.
All are plain NumPy, draw the trees of a batch side by side and share no code with the library but
the list of trees.

===================================  =============================================================
sampler                              how it draws
===================================  =============================================================
:func:`listed`                       from the list of all trees, of a graph that may be distorted
:func:`one_word_at_a_time`           each head given the earlier heads
:func:`walk`                         loop-erased walks to the root
:func:`child_then_walk`              the root's child, then walks to that child
:func:`listed_without_replacement`   several different trees, by perturbed log-probabilities
===================================  =============================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from arborand.enumeration import tree_law
from verification.laws import FloatArray, HeadsArray, IndexArray, locate
from verification.trials import generator

FLOOR = 1e-4
CLIP = -10.0
LEAK_RATE = 1e-3

HeadDrawer = Callable[[IndexArray, np.random.Generator], IndexArray]
"""From words to a drawn head each."""


# ---- from the list of all trees ----


def listed(log_weights: FloatArray, num_draws: int, seed: int, *, single_root: bool) -> HeadsArray:
    """Draw from the list of all trees."""
    trees, probabilities = tree_law(log_weights, single_root=single_root)
    return trees[generator(seed).choice(len(trees), size=num_draws, p=probabilities)]


def _log_normalised(log_weights: FloatArray) -> FloatArray:
    """Log of the chance that a walk steps from each dependent to each head."""
    arcs = log_weights.copy()
    arcs[:, 0] = -np.inf
    np.fill_diagonal(arcs, -np.inf)
    best = arcs[:, 1:].max(axis=0)
    log_totals = best + np.log(np.exp(arcs[:, 1:] - best).sum(axis=0))
    arcs[:, 1:] -= log_totals
    return arcs


def _at_least(log_weights: FloatArray, log_floor: float) -> FloatArray:
    """Raise the normalised scores of all arcs to a floor; absent arcs stay absent."""
    scores = _log_normalised(log_weights)
    return np.where(scores > -np.inf, np.maximum(scores, log_floor), -np.inf)


def floored(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
    """Draw spanning trees after raising every chance of an arc to a floor."""
    return listed(_at_least(log_weights, np.log(FLOOR)), num_draws, seed, single_root=False)


def clipped(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
    """Draw dependency trees after clipping every score from below."""
    return listed(_at_least(log_weights, CLIP), num_draws, seed, single_root=True)


def transposed(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
    """Draw dependency trees with heads and dependents confused."""
    return listed(transpose_words(log_weights), num_draws, seed, single_root=True)


def transpose_words(log_weights: FloatArray) -> FloatArray:
    """Reverse every arc between words, as a sampler that takes [dependent, head] would.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph.

    Returns
    -------
    ndarray of float64, shape (words + 1, words + 1)
        The reversed graph; arcs of the root stay.
    """
    reversed_arcs = log_weights.copy()
    reversed_arcs[1:, 1:] = log_weights[1:, 1:].T
    return reversed_arcs


def leaky(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
    """Draw spanning trees, now and then from the complete graph."""
    draws = listed(log_weights, num_draws, seed, single_root=False)
    rng = generator(seed + 1)
    is_leak = rng.random(num_draws) < LEAK_RATE
    trees, _ = tree_law(np.zeros_like(log_weights), single_root=False)
    draws[is_leak] = trees[rng.integers(len(trees), size=np.count_nonzero(is_leak))]
    return draws


def each_twice(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
    """Draw dependency trees, and return each of them twice in a row."""
    half = listed(log_weights, (num_draws + 1) // 2, seed, single_root=True)
    return np.repeat(half, 2, axis=0)[:num_draws]


def always_the_same(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
    """Draw one dependency tree, and return it as often as asked."""
    return np.repeat(listed(log_weights, 1, seed, single_root=True), num_draws, axis=0)


# ---- one word at a time ----


def one_word_at_a_time(
    log_weights: FloatArray,
    num_draws: int,
    seed: int,
    *,
    conditions: bool = True,
    retries: bool = False,
) -> HeadsArray:
    """Draw dependency trees head by head.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph.
    num_draws : int
        Number of trees.
    seed : int
        The seed.
    conditions : bool, optional
        Whether a head is drawn given the heads before it, or from its marginal.
    retries : bool, optional
        Whether draws that are not trees are repeated.

    Returns
    -------
    ndarray of int32, shape (num_draws, words + 1)
        The draws.
    """
    trees, probabilities = tree_law(log_weights, single_root=True)
    num_nodes = trees.shape[1]
    rng = generator(seed)

    def draw(num: int) -> HeadsArray:
        heads = np.full((num, num_nodes), -1, dtype=np.int32)
        for word in range(1, num_nodes):
            known = slice(1, word) if conditions else slice(0)
            prefixes, group = np.unique(heads[:, known], axis=0, return_inverse=True)
            for index, prefix in enumerate(prefixes):
                members = np.flatnonzero(group.ravel() == index)
                fits = np.all(trees[:, known] == prefix, axis=1)
                masses = np.bincount(trees[fits, word], probabilities[fits], minlength=num_nodes)
                law = masses / masses.sum()
                heads[members, word] = rng.choice(num_nodes, size=len(members), p=law)
        return heads

    draws = draw(num_draws)
    while retries and np.any(is_bad := locate(draws, trees) < 0):
        draws[is_bad] = draw(int(np.count_nonzero(is_bad)))
    return draws


# ---- random walks ----


def by_running_sums(log_weights: FloatArray) -> HeadDrawer:
    """Draw heads by comparing a uniform number with the running sums of their chances."""
    thresholds = np.cumsum(np.exp(_log_normalised(log_weights)), axis=0).T
    thresholds[:, -1] = np.inf  # rounding may leave the last sum below a uniform number

    def draw(words: IndexArray, rng: np.random.Generator) -> IndexArray:
        uniform = rng.random(len(words))
        return np.asarray(np.argmax(uniform[:, np.newaxis] < thresholds[words], axis=1))

    return draw


def by_alias_tables(log_weights: FloatArray, *, offset: int = 0) -> HeadDrawer:
    """Draw heads from alias tables: a slot by one uniform number, slot or alias by another.

    With an `offset`, a slot is compared with the threshold of a neighbouring slot.
    """
    law = np.exp(_log_normalised(log_weights)).T
    num_nodes = len(law)
    thresholds = np.ones((num_nodes, num_nodes))
    aliases = np.tile(np.arange(num_nodes), (num_nodes, 1))
    for word in range(1, num_nodes):
        fill = law[word] * num_nodes
        lacking = [head for head in range(num_nodes) if fill[head] < 1.0]
        spilling = [head for head in range(num_nodes) if fill[head] >= 1.0]
        while lacking and spilling:
            low, high = lacking.pop(), spilling[-1]
            thresholds[word, low], aliases[word, low] = fill[low], high
            fill[high] -= 1.0 - fill[low]
            if fill[high] < 1.0:
                lacking.append(spilling.pop())
    thresholds = np.roll(thresholds, offset, axis=1)

    def draw(words: IndexArray, rng: np.random.Generator) -> IndexArray:
        slots = rng.integers(num_nodes, size=len(words))
        stays = rng.random(len(words)) < thresholds[words, slots]
        return np.where(stays, slots, aliases[words, slots])

    return draw


def walk(
    log_weights: FloatArray,
    num_draws: int,
    seed: int,
    *,
    drawer: Callable[[FloatArray], HeadDrawer] = by_running_sums,
    loops: Literal["erase", "keep first exit", "avoid"] = "erase",
) -> HeadsArray:
    """Draw spanning trees by walks to the root; see :func:`_walk_to` for the switch."""
    rng = generator(seed)
    heads, _ = _walk_to(
        np.zeros(num_draws, dtype=np.int64), drawer(log_weights), len(log_weights), rng, loops=loops
    )
    return heads


def _walk_to(
    targets: IndexArray,
    draw_heads: HeadDrawer,
    num_nodes: int,
    rng: np.random.Generator,
    *,
    loops: Literal["erase", "keep first exit", "avoid"] = "erase",
    max_steps: float = np.inf,
) -> tuple[HeadsArray, npt.NDArray[np.bool_]]:
    """Run Wilson's algorithm for many trees side by side, each absorbed in its own target.

    Parameters
    ----------
    targets : ndarray of int64, shape (draws,)
        Where each tree starts.
    draw_heads : callable
        One step of the walk.
    num_nodes : int
        Number of nodes, the root included.
    rng : numpy.random.Generator
        Source of the steps.
    loops : str, optional
        ``"erase"`` keeps the last exit from each node, as it should be. ``"keep first exit"``
        never overwrites. ``"avoid"`` repeats a step that would close a loop.
    max_steps : float, optional
        Steps after which a tree is given up.

    Returns
    -------
    heads : ndarray of int32, shape (draws, num_nodes)
        The trees.
    is_given_up : ndarray of bool, shape (draws,)
        Which of them are unfinished.
    """
    num_draws = len(targets)
    heads = np.full((num_draws, num_nodes), -1, dtype=np.int32)
    in_tree = np.zeros((num_draws, num_nodes), dtype=np.bool_)
    in_tree[:, 0] = True
    in_tree[np.arange(num_draws), targets] = True
    num_steps = np.zeros(num_draws, dtype=np.int64)
    is_given_up = np.zeros(num_draws, dtype=np.bool_)
    for word in range(1, num_nodes):
        heads[~in_tree] = -1
        on_path = np.zeros_like(in_tree)
        starters = np.flatnonzero(~in_tree[:, word] & ~is_given_up)
        walkers, places = starters, np.full(len(starters), word)
        while len(walkers):
            on_path[walkers, places] = True
            steps = draw_heads(places, rng)
            writes = np.ones(len(walkers), dtype=np.bool_)
            if loops == "keep first exit":
                writes = heads[walkers, places] == -1
            heads[walkers[writes], places[writes]] = steps[writes]
            if loops == "avoid":
                steps = np.where(on_path[walkers, steps], places, steps)
            num_steps[walkers] += 1
            is_given_up[walkers] = num_steps[walkers] > max_steps
            goes_on = ~in_tree[walkers, steps] & ~is_given_up[walkers]
            walkers, places = walkers[goes_on], steps[goes_on]
        walkers = starters[~is_given_up[starters]]
        places = np.full(len(walkers), word)
        while len(walkers):
            in_tree[walkers, places] = True
            places = heads[walkers, places].astype(np.int64)
            goes_on = ~in_tree[walkers, places]
            walkers, places = walkers[goes_on], places[goes_on]
    return heads, is_given_up


def child_then_walk(
    log_weights: FloatArray,
    num_draws: int,
    seed: int,
    *,
    child_by: Literal["marginal", "weight"] = "marginal",
    max_steps: float = np.inf,
    keeps_child: bool = True,
) -> HeadsArray:
    """Draw the root's child, then a tree of the words rooted there.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph.
    num_draws : int
        Number of trees.
    seed : int
        The seed.
    child_by : str, optional
        Law of the child: its marginal, or its weight among the root's arcs.
    max_steps : float, optional
        Steps after which a walk is abandoned and the tree is drawn from the list.
    keeps_child : bool, optional
        Whether that tree has the child that was drawn, or any.

    Returns
    -------
    ndarray of int32, shape (num_draws, words + 1)
        The draws.
    """
    trees, probabilities = tree_law(log_weights, single_root=True)
    num_nodes = trees.shape[1]
    child_of_tree = np.argmax(trees == 0, axis=1)
    masses = np.bincount(child_of_tree, probabilities, minlength=num_nodes)
    if child_by == "weight":
        masses = np.exp(log_weights[0])
        masses[0] = 0.0
    rng = generator(seed)
    children = rng.choice(num_nodes, size=num_draws, p=masses / masses.sum())
    among_words = log_weights.copy()
    among_words[0] = -np.inf
    heads, is_given_up = _walk_to(
        children, by_running_sums(among_words), num_nodes, rng, max_steps=max_steps
    )
    heads[np.arange(num_draws), children] = 0
    for child in np.unique(children[is_given_up]):
        again = np.flatnonzero(is_given_up & (children == child))
        law = probabilities * (child_of_tree == child) if keeps_child else probabilities
        heads[again] = trees[rng.choice(len(trees), size=len(again), p=law / law.sum())]
    return heads


# ---- without replacement ----


def listed_without_replacement(
    log_weights: FloatArray,
    num_repeats: int,
    length: int,
    seed: int,
    *,
    order: Literal["drawn", "most probable first"] = "drawn",
) -> HeadsArray:
    """Draw several different dependency trees, in the order drawn or sorted."""
    # The largest log-probabilities after adding Gumbel noise are a draw without replacement.
    trees, probabilities = tree_law(log_weights, single_root=True)
    noise = generator(seed).gumbel(size=(num_repeats, len(trees)))
    drawn = np.argsort(-(np.log(probabilities) + noise), axis=1)[:, :length]
    if order == "most probable first":
        ranks = np.argsort(-probabilities[drawn], axis=1, kind="stable")
        drawn = np.take_along_axis(drawn, ranks, axis=1)
    return trees[drawn]


def with_replacement(
    log_weights: FloatArray, num_repeats: int, length: int, seed: int
) -> HeadsArray:
    """Draw dependency trees that need not be different."""
    draws = listed(log_weights, num_repeats * length, seed, single_root=True)
    return draws.reshape(num_repeats, length, -1)


def next_in_line(log_weights: FloatArray, num_repeats: int, length: int, seed: int) -> HeadsArray:
    """Draw dependency trees; one that came before is replaced by the next in the list."""
    trees, probabilities = tree_law(log_weights, single_root=True)
    drawn = generator(seed).choice(len(trees), size=(num_repeats, length), p=probabilities)
    for later in range(1, length):
        while np.any(is_repeat := np.any(drawn[:, :later] == drawn[:, later : later + 1], axis=1)):
            drawn[is_repeat, later] = (drawn[is_repeat, later] + 1) % len(trees)
    return trees[drawn]
