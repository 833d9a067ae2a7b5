"""Turn ``rng=`` into the key of a call's random numbers; which draw reads which numbers.

Each call turns its ``rng`` into a key of two 64-bit words, once.  Draw i of graph g (both counted
over all their axes, in C order) then reads the numbers of ::

    numpy.random.Philox(key=key, counter=[0, 0, g, i])

in order, and no others.  So, for a fixed method, a tree depends only on its graph, the key, g and
i: not on the number of threads, on how a batch is split, or on how many draws are made.  An integer
gives the key of ``numpy.random.Philox(rng)``.  A Generator gives two numbers, which advances it
once per call.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from arborand.recognition import foreign_generator


class Key(tuple[int, int]):
    """The key of a call, which may pass it on as ``rng`` to other calls."""

    __slots__ = ()


Seed: TypeAlias = int | np.integer | np.random.Generator | np.random.SeedSequence | Key | None


def stream_key(rng: Seed) -> Key:
    """Turn what the caller passed as ``rng`` into a key.

    Raises
    ------
    TypeError, ValueError
        If it is neither an integer >= 0, a Generator, a SeedSequence nor None.

    Examples
    --------
    >>> stream_key(0) == stream_key(np.random.SeedSequence(0))
    True
    """
    if isinstance(rng, np.random.Generator):
        return _next_key(rng.bit_generator)
    if isinstance(rng, np.random.SeedSequence):
        return _key_of(rng)
    if rng is None:
        return _key_of(np.random.SeedSequence())
    if isinstance(rng, Key):
        return rng
    if not isinstance(rng, int | np.integer) or isinstance(rng, bool):
        found = foreign_generator(rng)
        if found is not None:
            raise TypeError(f"rng {found}")
        raise TypeError(
            "rng must be an integer seed, a numpy.random.Generator, a SeedSequence or None, not "
            f"{type(rng).__name__}"
        )
    if rng < 0:
        raise ValueError(f"rng is {rng}: a seed must not be negative")
    return _key_of_integer(int(rng))


def _next_key(bits: np.random.BitGenerator) -> Key:
    """Take two numbers out of a Generator: those of ``integers(2**64, size=2, dtype=uint64)``.

    That call itself would take as long as drawing a small tree.
    """
    interface = bits.ctypes
    with bits.lock:
        return Key(
            (
                interface.next_uint64(interface.state_address),
                interface.next_uint64(interface.state_address),
            )
        )


@lru_cache(maxsize=256)  # mixing a seed takes longer than drawing a small tree
def _key_of_integer(seed: int) -> Key:
    return _key_of(np.random.SeedSequence(seed))


def _key_of(sequence: np.random.SeedSequence) -> Key:
    first, second = sequence.generate_state(2, np.uint64)
    return Key((int(first), int(second)))
