"""Sequences of distinct trees: what draws without replacement and best trees have in common.

A graph may have fewer trees than were asked for.  Then all of them are given; in a batch, rows
beyond a graph's own number hold heads of -1 and numbers of -inf.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

from arborand import inference
from arborand.errors import SupportExhaustedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from arborand.validation import Graphs

Item = TypeVar("Item")

LARGEST_ANSWER_BYTES = 2**31


class InterruptibleIterator(Generic[Item]):
    """An iterator that raises its failure again at every later call.

    A generator that was interrupted would end instead, as if there were no more trees.
    """

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._failure: BaseException | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if self._failure is not None:
            raise type(self._failure)(
                "this iterator was interrupted and cannot continue; make another"
            ) from self._failure
        try:
            return next(self._items)
        except StopIteration:
            raise
        except BaseException as failure:
            self._failure = failure
            raise


def room_for(k: int, graphs: Graphs, num_numbers: int, iterator: str) -> int:
    """Lower a large k to about the number of trees there are, so that no memory is wasted on it.

    An answer that is too large all the same, with its numbers per tree, is refused; an iterator is
    the way out.
    """
    room = k
    num_bytes = len(graphs) * (4 * graphs.size + 8 * num_numbers)  # of one tree of each graph
    if num_bytes and (k > 1000 or k * num_bytes > LARGEST_ANSWER_BYTES):
        # Beyond e^100 trees it does not matter how many.  The count is right to 1e-13 or so.
        log_count = min(100.0, float(inference.log_num_trees(graphs).max()))
        room = min(k, math.ceil(math.exp(log_count + 1e-6)) + 1)
    if room * num_bytes > LARGEST_ANSWER_BYTES:
        raise ValueError(
            f"k is {k}: the answer would take {room * num_bytes / 2**30:.3g} GiB, and the limit is "
            f"{LARGEST_ANSWER_BYTES / 2**30:.0f} GiB; ask for fewer trees, or take them one after "
            f"the other from {iterator}()"
        )
    return room


def find_exhausted(
    k: int, num_found: NDArray[np.int64], batch_shape: tuple[int, ...], on_exhausted: str
) -> NDArray[np.bool_]:
    """Mark the graphs that have fewer than k trees, or raise an error that names the first."""
    exhausted: NDArray[np.bool_] = num_found < k
    if on_exhausted == "raise" and exhausted.any():
        graph = int(np.flatnonzero(exhausted)[0])
        index = ", ".join(str(int(i)) for i in np.unravel_index(graph, batch_shape))
        where = f" of batch item [{index}]" if batch_shape else ""
        count = int(num_found[graph])
        raise SupportExhaustedError(
            f"k is {k}, but the graph{where} has only {count} tree{'s' if count > 1 else ''}; ask "
            "for fewer, or for on_exhausted='return'",
            count,
        )
    return exhausted


def trees_first(
    rows: NDArray[np.int32], num_found: NDArray[np.int64], graphs: Graphs
) -> NDArray[np.int32]:
    """Turn heads[graph, tree, node] into heads[tree, *batch_shape, node], padded."""
    most = int(num_found.max(initial=0))
    rows = rows[:, :most]
    rows[np.arange(most) >= num_found[:, None]] = -1
    shape = (most, *graphs.batch_shape, graphs.size)
    return np.ascontiguousarray(rows.swapaxes(0, 1)).reshape(shape)


def numbers_first(
    numbers: NDArray[np.float64], num_found: NDArray[np.int64], graphs: Graphs
) -> NDArray[np.float64]:
    """Turn numbers[graph, tree] into numbers[tree, *batch_shape], padded."""
    most = int(num_found.max(initial=0))
    padded = np.where(np.arange(most) >= num_found[:, None], -np.inf, numbers[:, :most])
    return np.ascontiguousarray(padded.T).reshape(most, *graphs.batch_shape)


def in_portions(
    fetch: Callable[[NDArray[np.int32], NDArray[np.float64]], int], size: int, num_numbers: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Yield one graph's trees and their numbers, fetched in growing portions.

    `fetch` fills heads (portion, size) and numbers (portion, num_numbers), and returns how many
    trees there were.  The first tree does not wait for others; later ones come by the hundred.
    """
    portion = 1
    while True:
        heads = np.empty((portion, size), dtype=np.int32)
        numbers = np.empty((portion, num_numbers))
        filled = fetch(heads, numbers)
        yield from zip(heads[:filled], numbers[:filled], strict=True)
        if filled < portion:
            return
        portion = min(2 * portion, 128)


def side_by_side(
    sequences: list[Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]],
    size: int | tuple[int, ...],
    num_numbers: int,
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Yield heads (graphs, size) and numbers (graphs, num_numbers) until no graph has a tree."""
    nothing = (np.full(size, -1, np.int32), np.full(num_numbers, -np.inf))
    while True:
        rows = [next(sequence, nothing) for sequence in sequences]
        if all(row is nothing for row in rows):
            return
        yield np.stack([heads for heads, _ in rows]), np.stack([numbers for _, numbers in rows])
