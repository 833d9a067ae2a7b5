"""From ``rng=`` to the key of a call's random numbers, and the contract that goes with it.

A call turns its ``rng`` into a key of two 64-bit words, once.  Draw i of graph g (both counted over
all their axes, in C order) then reads the numbers of ::

    numpy.random.Philox(key=key, counter=[0, 0, g, i])

and no others, one after the other.  So, for a fixed method, a tree depends only on its graph, the
key, g and i: not on the number of threads, on how a batch is split, or on how many draws are made.
An integer gives the key of ``numpy.random.Philox(rng)``; a Generator gives two numbers, and is
thereby advanced once a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Seed: TypeAlias = int | np.integer | np.random.Generator | np.random.SeedSequence | None


def stream_key(rng: Seed) -> tuple[int, int]:
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
    words: NDArray[np.unsignedinteger[Any]]
    if isinstance(rng, np.random.Generator):
        words = rng.integers(2**64, size=2, dtype=np.uint64)
    elif isinstance(rng, np.random.SeedSequence):
        words = rng.generate_state(2, np.uint64)
    elif rng is None or (isinstance(rng, int | np.integer) and not isinstance(rng, bool)):
        if rng is not None and rng < 0:
            raise ValueError(f"rng is {rng}: a seed must not be negative")
        words = np.random.SeedSequence(rng).generate_state(2, np.uint64)
    else:
        raise TypeError(
            "rng must be an integer seed, a numpy.random.Generator, a SeedSequence or None, not "
            f"{type(rng).__name__}"
        )
    return int(words[0]), int(words[1])
