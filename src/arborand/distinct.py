"""Sequences of distinct trees: what draws without replacement and best trees have in common.

A graph may have fewer trees than were requested. Then all of them are returned; in a batch, the
graph's remaining rows hold heads of -1 and numbers of -inf.
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
Number = TypeVar("Number", np.int32, np.float64)

LARGEST_ANSWER_BYTES = 2**31


class InterruptibleIterator(Generic[Item]):
    """An iterator that raises its error again at every later call.

    An interrupted generator would end instead, as if there were no more trees.
    """

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self._failure: BaseException | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if self._failure is not None:
            raise type(self._failure)(
                "this iterator was interrupted and cannot continue; make a new one"
            ) from self._failure
        try:
            return next(self._items)
        except StopIteration:
            raise
        except BaseException as failure:
            self._failure = failure
            raise


def room_for(k: int, graphs: Graphs, num_numbers: int, iterator: str) -> int:
    """Find how many trees an answer has room for: see `limit_room`."""
    num_bytes = len(graphs) * (4 * graphs.size + 8 * num_numbers)  # of one tree of each graph
    return limit_room(k, num_bytes, lambda: inference.log_num_trees(graphs), iterator)


def limit_room(
    k: int, num_bytes: int, log_counts: Callable[[], NDArray[np.float64]], iterator: str
) -> int:
    """Reduce a large k to about the number of trees that exist, so that no memory is wasted.

    `num_bytes` is the size of one tree of each graph. An answer that would still be too large is
    refused, with a message that names the iterator to use instead.
    """
    room = k
    if num_bytes and (k > 1000 or k * num_bytes > LARGEST_ANSWER_BYTES):
        # Beyond e^100 trees, the exact number does not matter. The count is accurate to about
        # 1e-13.
        log_count = min(100.0, float(log_counts().max()))
        room = min(k, math.ceil(math.exp(log_count + 1e-6)) + 1)
    if room * num_bytes > LARGEST_ANSWER_BYTES:
        raise ValueError(
            f"k is {k}: the answer would take {room * num_bytes / 2**30:.3g} GiB, but the limit is "
            f"{LARGEST_ANSWER_BYTES / 2**30:.0f} GiB; ask for fewer trees, or iterate over them "
            f"with {iterator}()"
        )
    return room


def find_exhausted(
    k: int, num_found: NDArray[np.int64], batch_shape: tuple[int, ...], on_exhausted: str
) -> NDArray[np.bool_]:
    """Mark the graphs that have fewer than k trees, or raise an error that names the first."""
    exhausted: NDArray[np.bool_] = num_found < k
    if on_exhausted == "raise" and exhausted.any():
        graph = int(np.flatnonzero(exhausted)[0])
        index = list(map(int, np.unravel_index(graph, batch_shape)))
        where = f" of batch item {index}" if batch_shape else ""
        count = int(num_found[graph])
        raise SupportExhaustedError(
            f"k is {k}, but the graph{where} has only {count} tree{'s' if count > 1 else ''}; ask "
            "for fewer, or pass on_exhausted='return'",
            count,
        )
    return exhausted


def trees_first(
    rows: NDArray[Number], num_found: NDArray[np.int64], graphs: Graphs, padding: float
) -> NDArray[Number]:
    """Turn rows[graph, tree, ...] into rows[tree, *batch_shape, ...], and fill them up."""
    most = int(num_found.max(initial=0))
    rows = rows[:, :most]
    rows[np.arange(most) >= num_found[:, None]] = padding
    shape = (most, *graphs.batch_shape, *rows.shape[2:])
    return np.ascontiguousarray(rows.swapaxes(0, 1)).reshape(shape)


def in_portions(
    fetch: Callable[[NDArray[np.int32], NDArray[np.float64]], int], size: int, num_numbers: int
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Yield one graph's trees and their numbers, fetched in growing portions.

    `fetch` fills heads (portion, size) and numbers (portion, num_numbers), and returns how many
    trees it found. The first tree is fetched alone, to be available at once; later ones come in
    portions of up to 128.
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
