"""The gates for the small arguments of calls: counts, indices, sizes, threads, choices and arcs.

Weights have a gate of their own (``validation.py``), and so have trees (``trees.py``), names of
methods (``methods.py``) and sources of randomness (``randomness.py``).
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_integer(value: object, name: str) -> int:
    """Let anything through that counts as an integer, but no bool."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, not {type(value).__name__} ({value!r})"
        ) from None


def check_count(value: object, name: str, least: int) -> int:
    """Let a number of things through."""
    count = check_integer(value, name)
    if count < least:
        raise ValueError(f"{name} is {count}: at least {least} is needed")
    return count


def check_index(value: object, name: str) -> int:
    """Let the index of a graph or a draw through."""
    index = check_integer(value, name)
    if not 0 <= index < 2**63:
        raise ValueError(f"{name} is {index}: indices are counted from 0, up to 2**63 - 1")
    return index


def check_size(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Let a size through, in NumPy's conventions."""
    if size is None:
        return ()
    axes = size if isinstance(size, tuple) else (size,)
    shape = tuple(check_integer(axis, "size") for axis in axes)
    if any(axis < 0 for axis in shape):
        raise ValueError(f"size is {size}: a number of draws must not be negative")
    if math.prod(shape) >= 2**48:
        raise ValueError(
            f"size is {size}: no memory holds so many trees; draw them in parts, with first_draw"
        )
    return shape


def check_order(order: object) -> float:
    """Let the order of a Renyi entropy through."""
    if isinstance(order, (bool, np.bool_)) or not isinstance(
        order, int | float | np.integer | np.floating
    ):
        raise TypeError(f"order must be a number, not {type(order).__name__} ({order!r})")
    if not order >= 0:
        raise ValueError(f"order is {order}: Renyi entropies have orders from 0 to infinity")
    return float(order)


def check_workers(workers: object) -> int:
    """Let a number of threads through."""
    number = check_integer(workers, "workers")
    if number < 1:
        raise ValueError(f"workers is {number}: at least one thread has to work; use 1 or more")
    return min(number, 1024)


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Let one of a few words through."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: use {' or '.join(map(repr, choices))}")
    return value


def check_arcs(arcs: Iterable[tuple[int, int]], name: str, num_words: int) -> list[tuple[int, int]]:
    """Let a collection of (head, dependent) pairs through."""
    checked = []
    for arc in arcs:
        try:
            head, dependent = arc
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold (head, dependent) pairs, not {arc!r}") from None
        head = check_integer(head, f"the head of {arc!r} in {name}")
        dependent = check_integer(dependent, f"the dependent of {arc!r} in {name}")
        if not (0 <= head <= num_words and 1 <= dependent <= num_words) or head == dependent:
            raise ValueError(
                f"{name} holds {arc!r}, which is no arc of a graph of {num_words} words: heads are "
                f"0 (the root) to {num_words}, dependents 1 to {num_words}, and they differ"
            )
        checked.append((head, dependent))
    return checked
