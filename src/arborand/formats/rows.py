"""What an output holds: rows of numbers, a few or many for each sentence.

One description serves every kind of output and every format: a row has some numbers of its own
(``columns``) and a list whose size follows from the sentence's length (``values``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from arborand.formats.sentences import matrix_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.formats.conllu import Annotation

Counts = Callable[["NDArray[Any]"], "NDArray[np.int64]"]


def _no_values(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.zeros(len(lengths), dtype=np.int64)


def _words(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(lengths, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of an output's rows.

    Attributes
    ----------
    name : str
        What they are.
    columns : tuple of str
        The names of the numbers of a row, all float64; findings have strings instead.
    values : str or None
        The name of its list.
    dtype : str
        The type of the list's numbers.
    num_values : function from lengths to sizes of lists
    numbering : str
        What the rows of a sentence are counted by, where it has many; empty where it has one.
    """

    name: str
    columns: tuple[str, ...] = ()
    values: str | None = None
    dtype: str = "f8"
    num_values: Counts = _no_values
    numbering: str = ""


TREES = Layout("trees", ("log_prob",), "heads", "i4", _words, "sample")
BEST_TREES = replace(TREES, numbering="rank")
MARGINALS = Layout("marginals", (), "marginals", num_values=matrix_sizes)
LOG_PARTITION = Layout("log_partition", ("log_partition",))
ENTROPY = Layout("entropy", ("log_partition", "entropy", "best_log_prob", "single_root_share"))
FINDINGS = Layout("findings", ("reason",))
# Of the words with a gold head, that is, the first number.
EVALUATION = Layout(
    "evaluation",
    (
        "gold_words",
        "best_right",
        "minimum_risk_right",
        "expected_right",
        "claimed_right",
        "gold_log_prob",
    ),
)


def scores_layout(dtype: np.dtype[Any]) -> Layout:
    """Describe scores: as narrow as they came, at least float32."""
    is_narrow = dtype.itemsize <= 4 and dtype.kind == "f"
    return Layout("scores", (), "log_weights", "f4" if is_narrow else "f8", matrix_sizes)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a few sentences.

    Attributes
    ----------
    sent_ids : list of str
    lengths : ndarray of int32
        The number of words of each sentence.
    num_rows : ndarray of int64
        The number of rows of each sentence.
    columns : dict from name to ndarray of float64
        One number a row.
    values : ndarray
        The lists of all rows, one after the other.
    first_sample : int
        How many rows of the first sentence were in earlier `Rows`.
    tokens, annotations : list, one entry per sentence
    """

    sent_ids: list[str]
    lengths: NDArray[np.int32]
    num_rows: NDArray[np.int64]
    columns: dict[str, NDArray[np.float64]]
    values: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    first_sample: int = 0
    tokens: list[list[str] | None] = field(default_factory=list)
    annotations: list[Annotation | None] = field(default_factory=list)

    def samples(self) -> NDArray[np.int32]:
        """Give each row its number within its sentence, from 1."""
        before = np.cumsum(self.num_rows) - self.num_rows - 1
        before[:1] -= self.first_sample
        numbers = np.arange(int(self.num_rows.sum()), dtype=np.int32)
        numbers -= np.repeat(before.astype(np.int32), self.num_rows)
        return numbers

    def part(self, layout: Layout, start: int, stop: int) -> Rows:
        """Take some of the rows, and the sentences that they are of."""
        ends = np.cumsum(self.num_rows)
        starts = ends - self.num_rows
        before = np.minimum(ends, start) - np.minimum(starts, start)
        counts = np.clip(ends, start, stop) - np.clip(starts, start, stop)
        which = np.flatnonzero(counts).tolist()
        sizes = layout.num_values(self.lengths)
        begun = 0
        if which:
            begun = int(before[which[0]]) + (self.first_sample if which[0] == 0 else 0)
        return Rows(
            [self.sent_ids[i] for i in which],
            self.lengths[which],
            counts[which],
            {name: column[start:stop] for name, column in self.columns.items()},
            self.values[int(sizes @ before) : int(sizes @ (before + counts))],
            begun,
            [self.tokens[i] for i in which] if self.tokens else [],
            [self.annotations[i] for i in which] if self.annotations else [],
        )

    def sentences(self, layout: Layout) -> Iterator[tuple[int, slice, NDArray[Any]]]:
        """Walk through the sentences: position, rows, and values of shape (rows, size)."""
        sizes = layout.num_values(self.lengths)
        row = value = 0
        for i, (count, size) in enumerate(zip(self.num_rows.tolist(), sizes.tolist(), strict=True)):
            block = self.values[value : value + count * size].reshape(count, size)
            yield i, slice(row, row + count), block
            row += count
            value += count * size


class Writer(Protocol):
    """Writes rows into an open file, from front to back; a pipe will do."""

    def write(self, rows: Rows) -> None:
        """Write the next rows."""

    def close(self) -> None:
        """Complete what is in the file; the file stays open."""

    def discard(self) -> None:
        """Give up, and let go of what is held."""
