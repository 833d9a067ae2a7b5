"""What is read and what is written: runs of sentences, and rows of numbers.

A corpus is read, processed and written in runs of consecutive sentences.  One description of rows
serves every output and every format: a row has some numbers of its own (``columns``) and a list
whose size is determined by the sentence's length (``values``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from arborand.errors import FormatError, SentenceError
from arborand.formats.inputs import CHARACTERS

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
        ``[head, dependent]``, as stored: plain weights, if the file contains these.
    tokens : list of str or None
        The words, if the file has them.
    label_scores : ndarray, shape (n + 1, n + 1, L), or None
        ``[head, dependent, label]``, if the file has them.
    labels : ndarray of int, shape (n + 1, n + 1), or None
        The single label of each arc, if the file has that instead; -1 for none.
    label_names : tuple of str
        The names of the L labels.
    """

    sent_id: str
    log_weights: NDArray[Any]
    tokens: list[str] | None
    label_scores: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    label_names: tuple[str, ...] = ()


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
        All matrices, row by row, one after another: (n + 1) ** 2 numbers each.
    tokens : list, one entry per sentence
        The words, or None.
    annotations : list, one entry per sentence
        Its annotation in a CoNLL-U file, or None.
    faults : dict from position in the run to reason
    labels : ndarray or None
        For each of the `scores`, the scores of its labels, or its single label as an integer.
    label_names : tuple of str
    """

    first: int
    sent_ids: list[str]
    lengths: NDArray[np.int32]
    scores: NDArray[Any]
    tokens: list[list[str] | None]
    annotations: list[Annotation | None] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    labels: NDArray[Any] | None = None
    label_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sent_ids)

    def padded(self, fill: float) -> NDArray[np.float64]:
        """Put all matrices into one array of shape (len(self), m, m)."""
        size = max(2, int(self.lengths.max()) + 1)
        with np.errstate(invalid="ignore"):  # copying a signalling NaN warns
            if len(self) == 1 and len(self.scores) == size * size:
                return self.scores.reshape(1, size, size).astype(np.float64)
            padded = np.full((len(self), size, size), fill)
            padded[real_arcs(self.lengths, size)] = self.scores
        return padded

    def padded_labels(self) -> NDArray[Any] | None:
        """Put all label scores into one array of shape (len(self), m, m, L), 0 in the padding.

        A single label gets the score 0, and all other labels get -inf.
        """
        if self.labels is None:
            return None
        size = max(2, int(self.lengths.max()) + 1)
        labels = self.labels
        if labels.ndim == 1:
            is_label = labels[:, None] == np.arange(len(self.label_names))
            labels = np.where(is_label, np.float32(0), np.float32(-np.inf))
        padded = np.zeros((len(self), size, size, len(self.label_names)), labels.dtype)
        padded[real_arcs(self.lengths, size)] = labels
        return padded

    def part(self, start: int, stop: int) -> Sentences:
        """Take some consecutive sentences."""
        bounds = np.concatenate([[0], np.cumsum(matrix_sizes(self.lengths))])
        return Sentences(
            self.first + start,
            self.sent_ids[start:stop],
            self.lengths[start:stop],
            self.scores[bounds[start] : bounds[stop]],
            self.tokens[start:stop],
            self.annotations[start:stop],
            {i - start: reason for i, reason in self.faults.items() if start <= i < stop},
            None if self.labels is None else self.labels[bounds[start] : bounds[stop]],
            self.label_names,
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
        A description of how the matrices are stored.
    dtype : dtype
    num_sentences : int
    has_sent_ids : bool
    label_names : tuple of str
        Empty if the file has no labels.
    """

    file: InputFile
    layout: str
    dtype: np.dtype[Any]
    num_sentences: int
    has_sent_ids: bool
    label_names: tuple[str, ...] = ()

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on, in runs of at most `scale` times the usual size."""
        at_once = max(1, scale * RUN_VALUES // (1 + len(self.label_names)))
        for run in self._runs(first, num_trees, at_once):
            if run.first >= first:
                yield run
            elif run.first + len(run) > first:
                yield run.part(first - run.first, len(run))

    def _runs(self, first: int, num_trees: int, max_values: int) -> Iterator[Sentences]:
        """Read runs; those before `first` may be omitted."""
        raise NotImplementedError


def check_label_names(values: Any, name: str) -> tuple[str, ...]:
    """Check the names of labels: strings, none too long, all different."""
    names = tuple(values) if isinstance(values, list) else ()
    if not names or not all(isinstance(one, str) and one for one in names):
        raise FormatError(f"{name}: label_names must be a list of names, not {values!r:.60}")
    longest = max(names, key=len)
    if len(longest) > CHARACTERS.most:
        raise FormatError(f"{name}: a name of a label is {CHARACTERS.exceeded_by(len(longest))}")
    first: dict[str, int] = {}
    twice = next((one for i, one in enumerate(names) if first.setdefault(one, i) != i), None)
    if twice is not None:
        raise FormatError(f"{name}: label_names has {twice!r} twice: names must be different")
    return names


def numbered(index: int, count: int) -> list[str]:
    """Make ids from numbers, for sentences without ids."""
    return [str(i + 1) for i in range(index, index + count)]


def matrix_sizes(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Count the entries of the matrices of sentences of these lengths."""
    return (np.asarray(lengths, dtype=np.int64) + 1) ** 2


def real_arcs(lengths: NDArray[Any], size: int) -> NDArray[np.bool_]:
    """Tell which entries of matrices padded to `size` nodes are not padding."""
    real = np.arange(size) <= lengths[:, None]
    return real[:, :, None] & real[:, None, :]


def split_runs(lengths: NDArray[Any], num_trees: int, max_values: int) -> Iterator[tuple[int, int]]:
    """Split sentences into runs that need at most `max_values` numbers, padded and with trees."""
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
    """Check a sentence id: a string, its bytes, or an integer, and not too long."""
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
    """Decode all strings at once; if one is damaged, let the caller decode them one by one."""
    width = array.dtype.itemsize // 4
    try:
        text = array.tobytes().decode(encoding)
    except UnicodeDecodeError:
        encoded: list[bytes] = array.view(f"V{array.dtype.itemsize}").tolist()
        return encoded
    return [text[i : i + width] for i in range(0, len(text), width)]


def read_ids(stream: ArrayStream, count: int, name: str, first: int) -> list[str]:
    """Read the next ids of an array of strings, bytes or integers."""
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


# ---- rows out


Counts = Callable[["NDArray[Any]"], "NDArray[np.int64]"]


def _no_values(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.zeros(len(lengths), dtype=np.int64)


def _words(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(lengths, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of the rows of an output.

    Attributes
    ----------
    name : str
        The kind of rows.
    columns : tuple of str
        The names of a row's numbers, all float64; findings have strings instead.
    values : str or None
        The name of a row's list.
    dtype : str
        The type of the list's numbers.
    num_values : function from lengths to sizes of lists
    numbering : str
        The name of the number that counts a sentence's rows; empty if there is only one row.
    keeps_relations : bool
        Whether trees without labels keep the relations that a CoNLL-U file has for the same heads.
    has_ids : bool
        Whether sentences have ids, or only places.
    """

    name: str
    columns: tuple[str, ...] = ()
    values: str | None = None
    dtype: str = "f8"
    num_values: Counts = _no_values
    numbering: str = ""
    keeps_relations: bool = False
    has_ids: bool = True


TREES = Layout("trees", ("log_prob",), "heads", "i4", _words, "sample")
BEST_TREES = replace(TREES, numbering="rank")
MARGINALS = Layout("marginals", (), "marginals", num_values=matrix_sizes)
LOG_PARTITION = Layout("log_partition", ("log_partition",))
ENTROPY = Layout("entropy", ("log_partition", "entropy", "best_log_prob", "single_root_share"))
# Words with the entropy of their heads and their two likeliest heads; names are strings.
WORDS = Layout(
    "words",
    (
        "word",
        "form",
        "entropy",
        "head",
        "head_form",
        "probability",
        "second_head",
        "second_head_form",
        "second_probability",
    ),
)
FINDINGS = Layout("findings", ("reason",))
# All but the last are counts of words with a gold head; `gold_words` is their total number.
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
    """Describe scores: as narrow as in the input, but at least float32."""
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
        One number per row.
    values : ndarray
        The lists of all rows, one after another.
    first_sample : int
        How many rows of the first sentence were in earlier `Rows`.
    tokens, annotations : list, one entry per sentence
    labels : ndarray or None
        For each of the `values`, its label as an integer, or a number for every label.
    label_names : tuple of str
    """

    sent_ids: list[str]
    lengths: NDArray[np.int32]
    num_rows: NDArray[np.int64]
    columns: dict[str, NDArray[np.float64]]
    values: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    first_sample: int = 0
    tokens: list[list[str] | None] = field(default_factory=list)
    annotations: list[Annotation | None] = field(default_factory=list)
    labels: NDArray[Any] | None = None
    label_names: tuple[str, ...] = ()

    def label_text(self, label: int) -> str:
        """Return the name of a label; ``_`` if it is missing."""
        return self.label_names[label] if label >= 0 else "_"

    def samples(self) -> NDArray[np.int32]:
        """Return the number of each row within its sentence, from 1."""
        before = np.cumsum(self.num_rows) - self.num_rows - 1
        before[:1] -= self.first_sample
        numbers = np.arange(int(self.num_rows.sum()), dtype=np.int32)
        numbers -= np.repeat(before.astype(np.int32), self.num_rows)
        return numbers

    def part(self, layout: Layout, start: int, stop: int) -> Rows:
        """Take some of the rows, and the sentences that they belong to."""
        ends = np.cumsum(self.num_rows)
        starts = ends - self.num_rows
        before = np.minimum(ends, start) - np.minimum(starts, start)
        counts = np.clip(ends, start, stop) - np.clip(starts, start, stop)
        which = np.flatnonzero(counts).tolist()
        sizes = layout.num_values(self.lengths)
        begun = 0
        if which:
            begun = int(before[which[0]]) + (self.first_sample if which[0] == 0 else 0)
        span = slice(int(sizes @ before), int(sizes @ (before + counts)))
        return Rows(
            [self.sent_ids[i] for i in which],
            self.lengths[which],
            counts[which],
            {name: column[start:stop] for name, column in self.columns.items()},
            self.values[span],
            begun,
            [self.tokens[i] for i in which] if self.tokens else [],
            [self.annotations[i] for i in which] if self.annotations else [],
            None if self.labels is None else self.labels[span],
            self.label_names,
        )

    def sentences(
        self, layout: Layout
    ) -> Iterator[tuple[int, slice, NDArray[Any], NDArray[Any] | None]]:
        """Iterate over the sentences: position, rows, values of shape (rows, size), and labels."""
        sizes = layout.num_values(self.lengths)
        row = value = 0
        for i, (count, size) in enumerate(zip(self.num_rows.tolist(), sizes.tolist(), strict=True)):
            span = slice(value, value + count * size)
            labels = self.labels
            if labels is not None:
                labels = labels[span].reshape(count, size, *labels.shape[1:])
            yield i, slice(row, row + count), self.values[span].reshape(count, size), labels
            row += count
            value += count * size


def label_column(rows: Rows, layout: Layout) -> str:
    """Return the name of the label column: a label per value, or a number for every label."""
    if rows.labels is None or rows.labels.ndim == 1:
        return "labels"
    return "label_scores" if layout.name == "scores" else f"label_{layout.values}"


class Writer(Protocol):
    """Writes rows to an open file, sequentially, so that it may be a pipe."""

    def write(self, rows: Rows) -> None:
        """Write the next rows."""

    def close(self) -> None:
        """Complete what is in the file; the file stays open."""

    def discard(self) -> None:
        """Stop, and release all resources."""
