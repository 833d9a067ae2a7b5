"""The twin: the library's samplers once more, in plain Python, drawing the same trees bit for bit.

It reads the same random numbers (:mod:`arborand.randomness` writes the contract out) and does the
same arithmetic, so that for every seed the compiled core and the twin must give the same trees.
Two programs in two languages that agree on every draw have no memory error, no race, no vector
lane out of place; what is left to be shown is that the law is right, and for that the statistical
checks are there. The twin is also the place to read how the samplers work, and to put faults
into them (:mod:`verification.twin_faults`).

``twin_numbers``
    Random streams, exponentials, numbers of any magnitude, exact choices.
``twin_ancestral``
    Censoring, the recursion over the words, ancestral draws, the root's child.
``twin_walks``
    Alias tables, Wilson's algorithm with a budget, the four methods.
``twin_popping``
    Draws in which all nodes step at once, and cycles are popped.
``twin_without_replacement``
    Rejection, and the partition of what is left.

A draw takes 0.1 to 10 ms. Graphs are taken as the library's gate lets them through: -inf in
column 0, on the diagonal and in the padding.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from verification.laws import FloatArray, HeadsArray
from verification.twin_numbers import Key, Stream
from verification.twin_popping import PoppingSampler, Pops
from verification.twin_walks import Method
from verification.twin_without_replacement import DistinctTrees, Draw


def sample(
    log_weights: FloatArray,
    lengths: npt.NDArray[np.int32],
    num_draws: int,
    *,
    single_root: bool,
    method: Method,
    key: Key,
    first_graph: int = 0,
    first_draw: int = 0,
    step_budget: int | None = None,
    pops: Pops = "where it pays",
) -> HeadsArray:
    """Draw with replacement from a padded batch.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (graphs, m, m)
        The graphs.
    lengths : ndarray of int32, shape (graphs,)
        The number of words of each.
    num_draws : int
        The number of trees of each.
    single_root : bool
        Whether dependency trees are drawn.
    method : str
        The method.
    key : tuple of two int
        The key of the call: :func:`arborand.randomness.stream_key`.
    first_graph, first_draw : int, optional
        Where the call stands in a larger one.
    step_budget : int, optional
        How many steps the walks for one tree may take.
    pops : str, optional
        Whether all nodes step at once.

    Returns
    -------
    ndarray of int32, shape (num_draws, graphs, m)
        The trees.
    """
    heads = np.full((num_draws, len(lengths), log_weights.shape[-1]), -1, dtype=np.int32)
    for graph, length in enumerate(lengths):
        nodes = slice(int(length) + 1)
        sampler = PoppingSampler(
            log_weights[graph, nodes, nodes],
            single_root=single_root,
            method=method,
            step_budget=step_budget,
            pops=pops,
        )
        for draw in range(num_draws):
            stream = Stream(key, first_graph + graph, first_draw + draw)
            heads[draw, graph, nodes] = sampler.draw(stream)
    return heads


def sample_without_replacement(
    log_weights: FloatArray,
    num_trees: int,
    *,
    single_root: bool,
    key: Key,
    graph: int = 0,
    switch_below: float,
    switch_after: int | None = None,
    most_repeats: int | None = None,
) -> list[Draw]:
    """Draw different trees of one graph, as many as asked for or as there are.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph.
    num_trees : int
        How many.
    single_root : bool
        Whether dependency trees are drawn.
    key : tuple of two int
        The key of the call.
    graph : int, optional
        The index of the graph.
    switch_below : float
        The mass below which repeats are no longer rejected.
    switch_after : int, optional
        The number of trees after which they are not, whatever the mass.
    most_repeats : int, optional
        The number of repeats in a row after which they are not.

    Returns
    -------
    list of Draw
        In the order drawn.
    """
    sequence = DistinctTrees(
        log_weights,
        single_root=single_root,
        key=key,
        graph=graph,
        switch_below=switch_below,
        switch_after=switch_after,
        most_repeats=most_repeats,
    )
    return list(islice(iter(sequence.next, None), num_trees))
