"""The samplers of the library, in the form that trials take, with the settings that users lack.

Any step budget and any point of the switch must leave the law as it is, so the checks force both
to values that the library would never choose itself. Neither is a public argument: this is where
the harness goes through the back door.
"""

from __future__ import annotations

import numpy as np

from arborand import sampling, without_replacement
from arborand.kinds import TreeKind
from arborand.randomness import stream_key
from arborand.sampling import Counts
from arborand.validation import Graphs, check_log_weights
from arborand.without_replacement import Draws
from verification.laws import FloatArray, HeadsArray
from verification.trials import OrderedSampler, Sampler

ENDLESS = 2**62
"""A step budget that no walk spends which ends at all."""


def kind_of(*, single_root: bool, projective: bool = False) -> TreeKind:
    """Name a kind of tree by what sets it apart."""
    kind = TreeKind.DEPENDENCY if single_root else TreeKind.SPANNING
    return kind.projective if projective else kind


def copies(
    log_weights: FloatArray, num_copies: int, *, single_root: bool, projective: bool = False
) -> Graphs:
    """Make a batch of one graph many times over: independent repeats of one experiment."""
    batch = np.broadcast_to(log_weights, (num_copies, *log_weights.shape))
    kind = kind_of(single_root=single_root, projective=projective)
    return check_log_weights(batch, None, kind=kind)


def draw(
    log_weights: FloatArray,
    num_draws: int,
    seed: int,
    *,
    single_root: bool,
    projective: bool = False,
    method: str | None = None,
    step_budget: int | None = None,
    pops: str = "where it pays",
) -> tuple[HeadsArray, Counts]:
    """Draw trees with replacement, and count what it took."""
    kind = kind_of(single_root=single_root, projective=projective)
    return sampling.sample(
        check_log_weights(log_weights, None, kind=kind),
        num_draws,
        method=method,
        key=stream_key(seed),
        step_budget=step_budget,
        pops=pops,
    )


def draw_distinct(
    log_weights: FloatArray,
    num_repeats: int,
    length: int,
    seed: int,
    *,
    single_root: bool,
    projective: bool = False,
    method: str | None = None,
    switch_after: int | None = None,
    most_repeats: int | None = None,
) -> Draws:
    """Draw trees without replacement, many times over: the repeats are the batch."""
    return without_replacement.sample_without_replacement(
        copies(log_weights, num_repeats, single_root=single_root, projective=projective),
        length,
        method=method,
        key=stream_key(seed),
        switch_after=switch_after,
        most_repeats=most_repeats,
    )


def sampler(
    method: str | None,
    *,
    single_root: bool,
    projective: bool = False,
    step_budget: int | None = None,
    pops: str = "where it pays",
) -> Sampler:
    """Make a sampler with replacement of a method.

    Parameters
    ----------
    method : str or None
        As in :meth:`arborand.SpanningTrees.sample`.
    single_root : bool
        Whether it draws dependency trees.
    projective : bool, optional
        Whether it draws trees without crossing arcs.
    step_budget : int, optional
        The number of steps after which a walk is given up; 0 never walks.
    pops : str, optional
        Whether all nodes step at once.

    Returns
    -------
    callable
        ``(log_weights, num_draws, seed) -> heads``.
    """

    def sample(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        heads, _ = draw(
            log_weights,
            num_draws,
            seed,
            single_root=single_root,
            projective=projective,
            method=method,
            step_budget=step_budget,
            pops=pops,
        )
        return heads

    return sample


def ordered_sampler(
    method: str | None,
    *,
    single_root: bool,
    projective: bool = False,
    switch_after: int | None = None,
    most_repeats: int | None = None,
) -> OrderedSampler:
    """Make a sampler without replacement of a method.

    Parameters
    ----------
    method : str or None
        As in :meth:`arborand.SpanningTrees.sample_without_replacement`.
    single_root : bool
        Whether it draws dependency trees.
    projective : bool, optional
        Whether it draws trees without crossing arcs.
    switch_after : int, optional
        The number of trees after which rejection gives way to the partition.
    most_repeats : int, optional
        The number of repeats in a row after which it does.

    Returns
    -------
    callable
        ``(log_weights, num_repeats, length, seed) -> heads``.
    """

    def sample(log_weights: FloatArray, num_repeats: int, length: int, seed: int) -> HeadsArray:
        draws = draw_distinct(
            log_weights,
            num_repeats,
            length,
            seed,
            single_root=single_root,
            projective=projective,
            method=method,
            switch_after=switch_after,
            most_repeats=most_repeats,
        )
        return np.swapaxes(draws.heads, 0, 1)

    return sample


def neighbouring_graphs(method: str, *, single_root: bool) -> Sampler:
    """Make a sampler whose neighbouring draws come from neighbouring graphs of a batch.

    Parameters
    ----------
    method : str
        As in :meth:`arborand.SpanningTrees.sample`.
    single_root : bool
        Whether it draws dependency trees.

    Returns
    -------
    callable
        ``(log_weights, num_draws, seed) -> heads``, for an even number of draws.
    """

    def sample(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        heads, _ = sampling.sample(
            copies(log_weights, 2, single_root=single_root),
            num_draws // 2,
            method=method,
            key=stream_key(seed),
        )
        return heads.reshape(num_draws, -1)

    return sample
