"""Runs of sentences: the unit in which a corpus is read, worked on and written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand.errors import FormatError, SentenceError
from arborand.formats.limits import CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.formats.arrays import ArrayStream
    from arborand.formats.conllu import Annotation
    from arborand.formats.inputs import InputFile

# How many numbers a run of sentences may need, padded matrices and drawn trees together: 2 MB,
# about what fits into the cache of one core.  A single sentence may need more.
RUN_VALUES = 1 << 18
# How many bytes of sentence ids are read at a time.
_ID_BYTES = 1 << 22


class Sentence(NamedTuple):
    """One sentence's scores.

    Attributes
    ----------
    sent_id : str
    log_weights : ndarray, shape (n + 1, n + 1)
        ``[head, dependent]``, as stored: plain weights if that is what the file holds.
    tokens : list of str or None
        The words, if the file has them.
    """

    sent_id: str
    log_weights: NDArray[Any]
    tokens: list[str] | None


@dataclass(frozen=True, slots=True)
class Sentences:
    """A run of consecutive sentences of a corpus.

    Attributes
    ----------
    first : int
        The place of the first one in the corpus, from 0.
    sent_ids : list of str
    lengths : ndarray of int32
        The number of words; 0 for a sentence with a fault.
    scores : ndarray
        All matrices, row by row, one after the other: (n + 1) ** 2 numbers each.
    tokens : list, one entry per sentence
        The words, or None.
    annotations : list, one entry per sentence
        What a CoNLL-U file says about it, or None.
    faults : dict from position in the run to reason
    """

    first: int
    sent_ids: list[str]
    lengths: NDArray[np.int32]
    scores: NDArray[Any]
    tokens: list[list[str] | None]
    annotations: list[Annotation | None] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sent_ids)

    def padded(self, fill: float) -> NDArray[np.float64]:
        """Make one array of shape (len(self), m, m) of all matrices."""
        size = max(2, int(self.lengths.max()) + 1)
        with np.errstate(invalid="ignore"):  # some NaNs complain already when they are copied
            if len(self) == 1 and len(self.scores) == size * size:
                return self.scores.reshape(1, size, size).astype(np.float64)
            padded = np.full((len(self), size, size), fill)
            real = np.arange(size) <= self.lengths[:, None]
            padded[real[:, :, None] & real[:, None, :]] = self.scores
        return padded

    def part(self, start: int, stop: int) -> Sentences:
        """Take some of the sentences."""
        bounds = np.concatenate([[0], np.cumsum(matrix_sizes(self.lengths))])
        return Sentences(
            self.first + start,
            self.sent_ids[start:stop],
            self.lengths[start:stop],
            self.scores[bounds[start] : bounds[stop]],
            self.tokens[start:stop],
            self.annotations[start:stop],
            {i - start: reason for i, reason in self.faults.items() if start <= i < stop},
        )

    def one_by_one(self) -> Iterator[Sentences]:
        """Split the run into runs of one sentence."""
        for i in range(len(self)):
            yield self.part(i, i + 1)

    def check_usable(self) -> None:
        """Raise a ``SentenceError`` if a sentence has a fault."""
        for i, reason in self.faults.items():
            raise SentenceError(self.sent_ids[i], self.first + i, reason)


class ScoresFile:
    """An open file of scores.

    Attributes
    ----------
    file : InputFile
    layout : str
        How the matrices are stored, in words.
    dtype : dtype
    num_sentences : int
    has_sent_ids : bool
    """

    file: InputFile
    layout: str
    dtype: np.dtype[Any]
    num_sentences: int
    has_sent_ids: bool

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on, in runs whose size is bounded."""
        for run in self._runs(first, num_trees, run_values(scale)):
            if run.first >= first:
                yield run
            elif run.first + len(run) > first:
                yield run.part(first - run.first, len(run))

    def _runs(self, first: int, num_trees: int, max_values: int) -> Iterator[Sentences]:
        """Read runs; those before `first` may be left out."""
        raise NotImplementedError


def numbered(index: int, count: int) -> list[str]:
    """Name sentences that have no id by their number."""
    return [str(i + 1) for i in range(index, index + count)]


def run_values(scale: int = 1) -> int:
    """Give the bound of a run on which so many threads work."""
    return RUN_VALUES * scale


def matrix_sizes(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Count the numbers that the matrices of sentences of so many words hold."""
    answer: NDArray[np.int64] = (np.asarray(lengths, dtype=np.int64) + 1) ** 2
    return answer


def split_runs(lengths: NDArray[Any], num_trees: int, max_values: int) -> Iterator[tuple[int, int]]:
    """Split sentences into runs that, padded, need at most so many numbers for everything."""
    start, most = 0, 0
    for i, length in enumerate(lengths.tolist()):
        longest = max(most, length + 1)
        if i > start and (i - start + 1) * longest * (longest + num_trees) > max_values:
            yield start, i
            start, longest = i, length + 1
        most = longest
    if start < len(lengths):
        yield start, len(lengths)


def sentence_id(
    value: object,
    name: str,
    index: int,
    unit: str = "sentence number",
    encoding: str = "utf-8",
) -> str:
    """Read a sentence id: a string, its bytes, or an integer; none that is too long."""
    try:
        text = value.decode(encoding) if isinstance(value, bytes) else value
        if isinstance(text, int) and not isinstance(text, bool):
            text = str(text)
        if not isinstance(text, str):
            reason = f"is {value!r:.60}: expected a string"
        elif len(text) > CHARACTERS.most:
            reason = f"is {CHARACTERS.exceeded_by(len(text))}"
        else:
            text.encode()  # fails for half of a surrogate pair
            return text
    except UnicodeError as error:
        reason = f"is not valid Unicode: {error}"
    raise FormatError(f"{name}: the sent_id of {unit} {index + 1} {reason}")


def _strings(array: NDArray[Any], encoding: str) -> list[str] | list[bytes]:
    """Decode all strings at once; if one is damaged, leave them all to be decoded one by one."""
    width = array.dtype.itemsize // 4
    try:
        text = array.tobytes().decode(encoding)
    except UnicodeDecodeError:
        encoded: list[bytes] = array.view(f"V{array.dtype.itemsize}").tolist()
        return encoded
    return [text[i : i + width] for i in range(0, len(text), width)]


def read_ids(stream: ArrayStream, count: int, name: str, first: int) -> list[str]:
    """Read the next ids of an array of strings, bytes or integers, a few at a time."""
    kind, itemsize = stream.dtype.kind, stream.dtype.itemsize
    characters = itemsize // 4 if kind == "U" else itemsize
    if characters > CHARACTERS.most:
        raise FormatError(f"{name}: sent_ids are strings {CHARACTERS.exceeded_by(characters)}")
    step = max(1, _ID_BYTES // max(1, itemsize))
    answer: list[str] = []
    while len(answer) < count:
        part = stream.read(min(step, count - len(answer)))
        for value in _strings(part, stream.encoding) if kind == "U" and itemsize else part.tolist():
            found = sentence_id(value, name, first + len(answer), encoding=stream.encoding)
            answer.append(found.rstrip("\0"))
    return answer
