"""A sampler, a graph and a number of draws, waiting for a seed.

A trial is what a check of the ledger runs and what a mutant is put through: the same code for
both, so that what rejects the mutants is what accepts the samplers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from verification.goodness_of_fit import Verdict
from verification.graphs import graph
from verification.judges import judge_ordered, judge_trees
from verification.laws import FloatArray, HeadsArray, TreeLaw, law_of

Sampler = Callable[[FloatArray, int, int], npt.NDArray[Any]]
"""``(log_weights, num_draws, seed) -> heads`` of shape (num_draws, words + 1)."""

OrderedSampler = Callable[[FloatArray, int, int, int], npt.NDArray[Any]]
"""``(log_weights, num_repeats, length, seed) -> heads``, shape (num_repeats, length, words + 1).

Each repeat is an independent draw of `length` trees without replacement, in the order drawn.
"""

Judge = Callable[[npt.NDArray[Any], TreeLaw], Verdict]
Trial = Callable[[int], Verdict]

SingleDraw = Callable[[FloatArray, np.random.Generator], npt.NDArray[Any]]
"""``(weights, rng) -> heads``: one tree, or one row of trees, from weights as they are."""


def trial(
    sampler: Sampler,
    graph_name: str,
    *,
    single_root: bool,
    projective: bool = False,
    num_draws: int,
    judge: Judge = judge_trees,
) -> Trial:
    """Prepare to judge a sampler with replacement.

    Parameters
    ----------
    sampler : callable
        ``(log_weights, num_draws, seed) -> heads``.
    graph_name : str
        A graph of the catalogue.
    single_root : bool
        Whether the sampler draws dependency trees.
    projective : bool, optional
        Whether it draws trees without crossing arcs.
    num_draws : int
        Number of draws.
    judge : callable, optional
        What to look at.

    Returns
    -------
    callable
        From a seed to a verdict.
    """
    target = graph(graph_name)

    def run(seed: int) -> Verdict:
        draws = np.asarray(sampler(target.log_weights, num_draws, seed))
        _require_shape(draws, (num_draws, target.num_words + 1))
        return judge(draws, law_of(target, single_root=single_root, projective=projective))

    return run


def ordered_trial(
    sampler: OrderedSampler,
    graph_name: str,
    *,
    single_root: bool,
    projective: bool = False,
    num_repeats: int,
    length: int,
    judge: Judge = judge_ordered,
) -> Trial:
    """Prepare to judge a sampler without replacement.

    Parameters
    ----------
    sampler : callable
        ``(log_weights, num_repeats, length, seed) -> heads``.
    graph_name : str
        A graph of the catalogue.
    single_root : bool
        Whether the sampler draws dependency trees.
    projective : bool, optional
        Whether it draws trees without crossing arcs.
    num_repeats : int
        Number of independent draws without replacement.
    length : int
        Number of trees in each.
    judge : callable, optional
        What to look at.

    Returns
    -------
    callable
        From a seed to a verdict.
    """
    target = graph(graph_name)

    def run(seed: int) -> Verdict:
        draws = np.asarray(sampler(target.log_weights, num_repeats, length, seed))
        _require_shape(draws, (num_repeats, length, target.num_words + 1))
        return judge(draws, law_of(target, single_root=single_root, projective=projective))

    return run


def generator(seed: int) -> np.random.Generator:
    """Make the random generator that belongs to a seed.

    Parameters
    ----------
    seed : int
        The seed.

    Returns
    -------
    numpy.random.Generator
        A Philox generator: the bit generator is named because NumPy may change its default.
    """
    return np.random.Generator(np.random.Philox(seed))


def repeat_draw(draw: SingleDraw) -> Sampler:
    """Turn a function that draws one tree at a time into a sampler.

    Parameters
    ----------
    draw : callable
        ``(weights, rng) -> heads``.

    Returns
    -------
    callable
        ``(log_weights, num_draws, seed) -> heads``.
    """

    def sample(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        weights = np.exp(log_weights)
        rng = generator(seed)
        return np.stack([np.asarray(draw(weights, rng)) for _ in range(num_draws)])

    return sample


def _require_shape(draws: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    if draws.shape != shape:
        raise ValueError(f"the sampler returned shape {draws.shape}, asked for {shape}")
