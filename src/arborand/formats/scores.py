"""Scores in: corpora of arc scores, read as runs of consecutive sentences.

Three layouts, in four kinds of file:

- *ragged* (``.npz``, ``.safetensors``): ``lengths``, and ``scores`` with all matrices concatenated;
- *padded* (``.npz``, ``.safetensors``, ``.npy``): ``lengths``, and ``log_weights`` of shape
  (S, m, m); a ``.npy`` file has one matrix, or a stack of matrices without padding;
- *rows* (``.parquet``): one row per sentence, ``log_weights`` as a flat list.

Each may have labels: ``label_names`` and, for every score, its ``label_scores`` on an additional
axis, or its single label as an integer in ``labels``.  (In *rows*, these are flat lists, too.)

A bad sentence does not make the file unreadable: it becomes a fault of its run, which the caller
raises or skips.
"""

from __future__ import annotations

import hashlib
import math
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand.errors import FormatError
from arborand.formats.arrays import PIECE, open_arrays, open_npy
from arborand.formats.inputs import (
    CHARACTERS,
    CHUNK,
    WORDS,
    describe,
    kind_of,
    open_input,
    parse_json,
    reading,
    sha256_of,
)
from arborand.formats.parquet import ParquetInput, read_extent
from arborand.formats.parquet import read_footer as read_parquet_footer
from arborand.formats.records import (
    ScoresFile,
    Sentence,
    Sentences,
    check_label_names,
    matrix_sizes,
    numbered,
    read_ids,
    real_arcs,
    scores_layout,
    sentence_id,
    split_runs,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from arborand.formats.arrays import ArrayFile, ArrayStream
    from arborand.formats.inputs import InputFile


def read_scores(source: str | os.PathLike[str]) -> Iterator[Sentence]:
    """Read the scores of a corpus, sentence by sentence, in bounded memory.

    Parameters
    ----------
    source : path, or ``-`` for standard input
        A ``.npy``, ``.npz``, ``.safetensors`` or ``.parquet`` file.

    Yields
    ------
    Sentence

    Raises
    ------
    FormatError
        If the file is of another kind, lacks an array, or is damaged.
    SentenceError
        If a sentence cannot be used; the message names it.

    Examples
    --------
    >>> import tempfile, numpy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.save(f"{folder}/scores.npy", numpy.zeros((2, 5, 5)))
    ...     [sentence.log_weights.shape for sentence in read_scores(f"{folder}/scores.npy")]
    [(5, 5), (5, 5)]
    """
    with open_scores(source) as scores:
        for run in scores.runs():
            for one in run.one_by_one():
                one.check_usable()
                size = int(one.lengths[0]) + 1
                labels = one.labels
                if labels is not None:
                    labels = labels.reshape(size, size, *labels.shape[1:])
                yield Sentence(
                    one.sent_ids[0],
                    one.scores.reshape(size, size),
                    one.tokens[0],
                    labels if labels is not None and labels.ndim == 3 else None,
                    labels if labels is not None and labels.ndim == 2 else None,
                    one.label_names,
                )


@contextmanager
def open_scores(source: str | os.PathLike[str] | InputFile) -> Iterator[ScoresFile]:
    """Open a file of scores, whatever its kind."""
    with open_input(source) as file:
        if file.kind == "parquet":
            with file.path.open("rb") as handle:
                yield ParquetScores(file, handle)
        elif file.kind in ("npy", "npz", "safetensors"):
            with open_arrays(file) as arrays:
                yield ArrayScores(file, arrays)
        else:
            raise FormatError(
                f"{file.name} is not a file of scores: expected .npy, .npz, .safetensors or "
                f".parquet, but found {file.kind.replace('unknown', 'something else')}"
            )


class ArrayScores(ScoresFile):
    """Scores in named arrays: the ragged and the padded layout."""

    def __init__(self, file: InputFile, arrays: ArrayFile) -> None:
        self.file = file
        self._arrays = arrays
        named = [name for name in ("scores", "log_weights", "") if name in arrays]
        if not named:
            raise FormatError(
                f"{file.name} has neither 'scores' (all matrices concatenated, with 'lengths') nor "
                f"'log_weights' (padded); it holds {describe(arrays.names)}"
            )
        self._values = named[0]
        values = arrays.stream(self._values)
        self.dtype = values.dtype
        if self.dtype.kind not in "fiu" or self.dtype.itemsize > 8:
            raise FormatError(
                f"{file.name}: scores must be numbers, at most float64, but are {self.dtype}"
            )
        self._is_single = len(values.shape) == 2
        self._size = 0  # the size of the matrices, if all are padded to the same size
        if self._values == "scores":
            self.layout = "ragged"
            self.num_sentences = self._check_ragged(values.shape)
        else:
            of_one_size = "one matrix" if self._is_single else "matrices of one size"
            self.layout = "padded" if self._values else of_one_size
            self.num_sentences, self._size = self._check_padded(values.shape)
        if "lengths" in arrays:
            arrays.vector("lengths", size=self.num_sentences)
        self.has_sent_ids = "sent_ids" in arrays or "sent_ids" in arrays.metadata
        # A safetensors file has no strings: its ids are a list in its metadata.
        self._listed_ids: list[str] | None = None
        if "sent_ids" in arrays:
            arrays.vector("sent_ids", "strings", self.num_sentences)
        elif self.has_sent_ids:
            self._listed_ids = self._strings_of_metadata("sent_ids", self.num_sentences)
        self._labels = self._check_labels(values.shape)
        # The words of all sentences are an array, or a list in the metadata.
        self._words: list[str] | None = None
        if self.layout == "ragged" and "tokens" in arrays.metadata:
            self._words = self._strings_of_metadata("tokens", self._num_words)
        elif self.layout == "ragged" and "tokens" in arrays:
            arrays.vector("tokens", "strings", self._num_words)

    def _check_labels(self, shape: tuple[int, ...]) -> str:
        """Find the array of labels, and their names; empty if there are none."""
        arrays, name = self._arrays, self.file.name
        named = next((one for one in ("label_scores", "labels") if one in arrays), "")
        if not named:
            return ""
        stream = arrays.stream(named)
        if "label_names" in arrays.metadata:
            listed = _listed(arrays.metadata["label_names"], name, "label_names")
            self.label_names = check_label_names(listed, name)
        else:
            arrays.require("label_names")
            names = arrays.vector("label_names", "strings")
            if names.shape[0] > _MOST_LABELS:
                raise FormatError(f"{name}: {names.shape[0]} labels are more than {_MOST_LABELS}")
            found = read_ids(names, names.shape[0], name, 0)
            self.label_names = check_label_names(found, name)
        is_one = named == "labels"
        expected = shape if is_one else (*shape, len(self.label_names))
        if stream.shape != expected or stream.dtype.kind not in ("iu" if is_one else "iuf"):
            what = "integers" if is_one else "numbers"
            raise FormatError(
                f"{name}: {named} must be {what} of shape {expected}, for {len(self.label_names)} "
                f"labels, but is {stream.dtype} of shape {stream.shape}"
            )
        return named

    def _check_padded(self, found: tuple[int, ...]) -> tuple[int, int]:
        shape = (1, *found) if self._is_single else found
        if len(shape) != 3 or shape[1] != shape[2] or shape[1] < 2:
            ragged = "; if all matrices are concatenated, name the array 'scores'"
            raise FormatError(
                f"{self.file.name} holds an array of shape {found}: expected (n + 1, n + 1), or "
                "(S, m, m) for S matrices padded to the same size"
                f"{ragged if self._values and len(shape) == 1 else ''}"
            )
        if shape[1] - 1 > WORDS.most:
            raise FormatError(f"{self.file.name}, matrix 1: {WORDS.exceeded_by(shape[1] - 1)}")
        return shape[0], shape[1]

    def _check_ragged(self, shape: tuple[int, ...]) -> int:
        if len(shape) != 1:  # checked before lengths, which a single matrix does not need
            raise FormatError(
                f"{self.file.name}: scores has shape {shape}: expected one axis, with all matrices "
                "concatenated; name a single matrix, or matrices padded to one size, 'log_weights'"
            )
        self._arrays.require("lengths")
        num_sentences = expected = self._num_words = 0
        for lengths in self._arrays.counts("lengths", "words"):
            num_sentences += len(lengths)
            self._num_words += int(lengths.sum())
            expected += int(matrix_sizes(lengths).sum())
        if expected != shape[0]:
            raise FormatError(
                f"{self.file.name}: the lengths require {expected} scores, (n + 1) ** 2 for each "
                f"sentence of n words, but there are {shape[0]}"
            )
        return num_sentences

    def _strings_of_metadata(self, key: str, count: int) -> list[str]:
        unit = f"{count} ids" if key == "sent_ids" else f"{count} words"
        listed = _listed(self._arrays.metadata[key], self.file.name, key, count, unit)
        return [sentence_id(value, self.file.name, i) for i, value in enumerate(listed)]

    def _ids(self, stream: ArrayStream | None, index: int, count: int) -> list[str]:
        if stream is not None:
            return read_ids(stream, count, self.file.name, index)
        if self._listed_ids is not None:
            return self._listed_ids[index : index + count]
        return numbered(index, count)

    def _runs(self, first: int, num_trees: int, max_values: int) -> Iterator[Sentences]:
        arrays = self._arrays
        there = [name for name in (self._values, "lengths", "sent_ids") if name in arrays]
        if self._labels:
            there.append(self._labels)
        if self.layout == "ragged" and "tokens" in arrays:
            there.append("tokens")
        streams = {name: arrays.stream(name) for name in there}
        values, words = streams[self._values], 0
        for index in range(0, self.num_sentences, PIECE):
            count = min(PIECE, self.num_sentences - index)
            is_skipped = index + count <= first
            if not is_skipped:
                sent_ids = self._ids(streams.get("sent_ids"), index, count)
            elif "sent_ids" in streams:
                streams["sent_ids"].skip(count)
            lengths = stored = np.full(count, self._size - 1)
            if "lengths" in streams:
                lengths = streams["lengths"].read(count)
            if self.layout == "ragged":
                stored = lengths
            bounds = split_runs(stored, num_trees, max_values)
            for start, stop in [(0, count)] if is_skipped else bounds:
                num_rows = stop - start
                if self.layout == "ragged":
                    num_rows = int(matrix_sizes(lengths[start:stop]).sum())
                elif self._is_single:
                    num_rows = self._size
                num_words = int(lengths[start:stop].sum())
                if index + stop <= first:
                    values.skip(num_rows)
                    if self._labels:
                        streams[self._labels].skip(num_rows)
                    if "tokens" in streams:
                        streams["tokens"].skip(num_words)
                    words += num_words
                    continue
                run = slice(start, stop)
                scores, labels = _matrix(values, num_rows), None
                if self._labels:
                    labels = _matrix(streams[self._labels], num_rows)
                tokens = None if self._words is None else self._words[words : words + num_words]
                if "tokens" in streams:
                    tokens = read_ids(streams["tokens"], num_words, self.file.name, words)
                words += num_words
                yield self._run(index + start, sent_ids[run], lengths[run], scores, labels, tokens)
        for stream in streams.values():
            stream.end()

    def _run(
        self,
        first: int,
        sent_ids: list[str],
        lengths: NDArray[Any],
        scores: NDArray[Any],
        labels: NDArray[Any] | None,
        words: list[str] | None,
    ) -> Sentences:
        """Make a run from what was read, without the padding."""
        wrong = lengths < 1
        reason = "it has no words (its length is {})"
        if self.layout != "ragged":
            wrong |= lengths >= self._size
            reason = (
                f"its length is {{}}, but a matrix padded to {self._size} nodes has 1 to "
                f"{self._size - 1} words"
            )
        faults = {i: reason.format(lengths[i]) for i in np.flatnonzero(wrong).tolist()}
        lengths = np.where(wrong, 0, lengths)
        if self.layout != "ragged":
            is_real = real_arcs(lengths, self._size)
            scores = scores.reshape(is_real.shape)[is_real]
            if labels is not None:
                width = () if self._labels == "labels" else (len(self.label_names),)
                labels = labels.reshape(*is_real.shape, *width)[is_real]
        tokens: list[list[str] | None] = [None] * len(sent_ids)
        if words is not None:
            ends = np.cumsum(lengths).tolist()
            tokens = [words[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        run = Sentences(first, sent_ids, lengths.astype(np.int32), scores, tokens, faults=faults)
        return _labelled(run, labels, self.label_names)


# More labels than any treebank has.
_MOST_LABELS = 10_000


def _listed(
    text: str | bytes, name: str, key: str, count: int | None = None, of: str = "names"
) -> list[Any]:
    """Read a list from the metadata."""
    try:
        listed = parse_json(text)
        if not isinstance(listed, list) or count not in (None, len(listed)):
            raise ValueError(f"it is not a list of {of}")
    except ValueError as error:
        raise FormatError(f"{name}: the metadata's {key} must be a JSON list: {error}") from error
    return listed


def _matrix(stream: ArrayStream, num_rows: int) -> NDArray[Any]:
    """Read rows of scores, or of labels."""
    rows = stream.read(num_rows)
    return rows.T if stream.is_transposed else rows


def _labelled(
    run: Sentences, labels: NDArray[Any] | None, label_names: tuple[str, ...]
) -> Sentences:
    """Add labels to a run; a sentence with a label that has no name gets a fault."""
    if labels is None:
        return run
    run = replace(run, labels=labels, label_names=label_names)
    if labels.ndim == 1 and ((labels < -1) | (labels >= len(label_names))).any():
        for i, one in enumerate(run.one_by_one()):
            of_one = one.labels
            if of_one is not None and not one.faults:
                wrong = of_one[(of_one < -1) | (of_one >= len(label_names))]
                if wrong.size:
                    run.faults[i] = (
                        f"it has the label {wrong[0]}, but labels are 0 to {len(label_names) - 1}, "
                        "or -1 for none"
                    )
    return run


_COLUMNS = {
    "sent_id": "text",
    "length": "integer",
    "log_weights": "numbers",
    "tokens": "texts",
    "label_scores": "numbers",
    "labels": "integers",
}


class ParquetScores(ScoresFile):
    """Scores in the rows of a Parquet file."""

    layout = "rows"

    def __init__(self, file: InputFile, handle: Any) -> None:
        self.file = file
        self._input = ParquetInput(handle, file.name, _COLUMNS, ("log_weights",))
        self.dtype = np.dtype(self._input.type_of("log_weights").to_pandas_dtype())
        self.num_sentences = self._input.num_rows
        self.has_sent_ids = "sent_id" in self._input.columns
        columns = self._input.columns
        self._labels = next((one for one in ("label_scores", "labels") if one in columns), "")
        if self._labels:
            if b"label_names" not in self._input.metadata:
                raise FormatError(
                    f"{file.name} has {self._labels}, but no label_names in its metadata: add them "
                    "as a JSON list"
                )
            names = _listed(self._input.metadata[b"label_names"], file.name, "label_names")
            self.label_names = check_label_names(names, file.name)

    def _ids(self, batch: Any, index: int) -> list[str]:
        if not self.has_sent_ids:
            return numbered(index, batch.num_rows)
        column = batch.column("sent_id")
        if hasattr(column, "dictionary"):  # much faster than column.to_pylist()
            strings = [*column.dictionary.to_pylist(), None]
            values = [strings[code] for code in _filled(column.indices, -1).to_pylist()]
        else:
            values = column.to_pylist()
        longest = CHARACTERS.most
        return [
            value
            if type(value) is str and len(value) <= longest and value.isascii()
            else sentence_id(value, self.file.name, index + i)
            for i, value in enumerate(values)
        ]

    def _runs(self, first: int, num_trees: int, max_values: int) -> Iterator[Sentences]:
        index = 0
        for group, (num_rows, _) in enumerate(self._input.groups):
            if index + num_rows > first:
                # Not by bytes: many equal numbers are small in the file, but not in memory.
                stored = max(1, self._input.num_values(group, "log_weights"))
                if self._labels == "label_scores":
                    stored += self._input.num_values(group, "label_scores")
                batch_rows = min(PIECE, max(1, max_values * num_rows // stored))
                place = index
                for batch in self._input.batches(group, batch_rows):
                    run = self._run(batch, place)
                    place += len(run)
                    for start, stop in split_runs(run.lengths, num_trees, max_values):
                        yield run.part(start, stop)
            index += num_rows

    def _run(self, batch: Any, index: int) -> Sentences:
        """Make a run from a batch; each unusable matrix becomes a single number."""
        matrices = batch.column("log_weights")
        sent_ids = self._ids(batch, index)
        tokens: list[list[str] | None] = [None] * len(sent_ids)
        with reading(self.file.name):
            counts = _numbers(_filled(matrices.value_lengths(), 0)).astype(np.int64)
            values = _numbers(matrices.flatten())
            if "length" in self._input.columns:
                stored = batch.column("length")
                lengths = _numbers(_filled(stored, 0)).astype(np.int64)
            else:
                stored = None
                lengths = np.array([math.isqrt(count) - 1 for count in counts.tolist()])
            if "tokens" in self._input.columns and batch.column("tokens").null_count < len(tokens):
                tokens = batch.column("tokens").to_pylist()
            labels, width = None, 1
            if self._labels:
                lists = batch.column(self._labels)
                width = len(self.label_names) if self._labels == "label_scores" else 1
                num_labels = _numbers(_filled(lists.value_lengths(), 0)).astype(np.int64)
                labels = _numbers(lists.flatten())
        most_words = WORDS.most
        wrong = (lengths < 1) | (lengths > most_words) | (matrix_sizes(lengths) != counts)
        if labels is not None:
            wrong |= num_labels != width * counts
        wrong |= np.array([words is not None for words in tokens], dtype=bool)
        faults = {}
        for i in np.flatnonzero(wrong).tolist():  # `wrong` includes all sentences with words
            length = int(lengths[i]) if stored is None else stored[i].as_py()
            reason = _fault(length, int(counts[i]), tokens[i], most_words)
            if reason is None and labels is not None and num_labels[i] != width * counts[i]:
                reason = (
                    f"it has {num_labels[i]} {self._labels}, but {width * counts[i]} are expected: "
                    f"{width} for each of its log_weights"
                )
            if reason is None:
                wrong[i] = False
            else:
                faults[i] = reason
                lengths[i], tokens[i] = 0, None
        if faults:
            ends = np.cumsum(np.where(wrong, 0, counts))
            values = np.insert(values[np.repeat(~wrong, counts)], ends[wrong], 0)
            if labels is not None:
                labels = labels[np.repeat(~wrong, num_labels)]
        if labels is not None and self._labels == "label_scores":
            labels = labels.reshape(-1, width)
        if labels is not None and faults:
            labels = np.insert(labels, ends[wrong], 0, axis=0)
        run = Sentences(index, sent_ids, lengths.astype(np.int32), values, tokens, faults=faults)
        return _labelled(run, labels, self.label_names)


# Arrays without nulls do not need pandas, which takes longer to import than a short run.


def _filled(integers: Any, value: int) -> Any:
    return integers.fill_null(value) if integers.null_count else integers


def _numbers(array: Any) -> NDArray[Any]:
    """Convert to a NumPy array; missing numbers become NaN."""
    return np.asarray(array) if array.null_count else np.from_dlpack(array)


def _fault(
    length: int | None, count: int, words: Sequence[str | None] | None, most_words: int
) -> str | None:
    """Say why a sentence's length does not fit its numbers and its words, if it does not."""
    if length is None:
        return "its length is missing"
    if length < 1 or count != (length + 1) ** 2:
        return (
            f"its length is {length}, but its log_weights hold {count} numbers: a sentence of "
            "n words has (n + 1) ** 2, and at least one word"
        )
    if length > most_words:
        return WORDS.exceeded_by(length)
    if words is not None and len(words) != length:
        return f"it has {length} words, but {len(words)} tokens"
    if words is not None and None in words:
        return f"its token {words.index(None) + 1} is missing"
    return None


# ---- headers and footers
#
# Only a few kilobytes are read, however large the file is.  The digest of a Parquet footer (sizes
# and bounds) or of an archive's directory (sizes and checksums) identifies the file when a job is
# planned.  It is no proof: other scores may have the same sizes and bounds.  So a job also keeps
# the digest of the whole file, and compares it if the file was written again.  Other kinds of file
# have no footer: they are read once, for the digest of the whole file.


# The names of scores in a file of arrays; if it has both, the last one is used.
_SCORES = ("log_weights", "scores")


class Footer(NamedTuple):
    """What the header or footer of a file says about it.

    Attributes
    ----------
    kind : str
        See :class:`arborand.formats.inputs.InputFile`.
    num_sentences : int or None
        None if it is known only after reading the file.
    digest : str
        The digest of the footer.
    dtype : str
        The type of its scores in outputs: "f4" if they fit, "f8" otherwise and for trees.
    sha256 : str
        The digest of the whole file; empty if the footer was enough.
    """

    kind: str
    num_sentences: int | None
    digest: str
    dtype: str = "f8"
    sha256: str = ""


def read_footer(file: IO[bytes], name: str) -> Footer:
    """Read the number of sentences in a file and their type, from header or footer if possible.

    Raises
    ------
    FormatError
        If it is empty or a pickle.
    """
    kind = kind_of(file.read(CHUNK), name)
    # Errors are raised when the file is opened; until then, its number of sentences is unknown.
    if kind == "parquet":
        with suppress(ValueError, IndexError, RecursionError):
            footer = read_parquet_footer(file)
            num_rows, is_narrow = read_extent(footer, "log_weights")
            digest = hashlib.sha256(footer).hexdigest()
            return Footer(kind, num_rows, digest, "f4" if is_narrow else "f8")
    if kind == "npz":
        with suppress(Exception):  # a damaged archive may raise anything
            return _archive(file, name)
    count, dtype = None, "f8"
    with suppress(FormatError, ValueError, TypeError, LookupError, OverflowError):
        if kind == "npy":
            size = file.seek(0, 2)
            file.seek(0)
            array = open_npy(file, name, size)
            dtype = scores_layout(array.dtype).dtype
            count = _count({"log_weights": array.shape})
        elif kind == "safetensors":
            file.seek(0)
            tensors = parse_json(file.read(int.from_bytes(file.read(8), "little")))
            named = {array: tensors[array] for array in tensors if array[0] != "_"}
            kinds = [named[array]["dtype"] for array in _SCORES if array in named]
            dtype = "f4" if kinds[-1:] in (["F16"], ["F32"]) else "f8"
            count = _count({array: tensor["shape"] for array, tensor in named.items()})
    file.seek(0)
    whole = sha256_of(file)
    return Footer(kind, count, whole, dtype, whole)


def _archive(file: IO[bytes], name: str) -> Footer:
    file.seek(0)
    archive = zipfile.ZipFile(file)
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    listing = [
        f"{i.filename} {i.CRC:08x} {i.file_size} {i.compress_size}" for i in archive.infolist()
    ]
    shapes, dtype = {}, "f8"
    for array in ("lengths", *_SCORES):
        if array not in members:
            continue
        # A damaged array is reported when the file is opened.
        with suppress(Exception), archive.open(members[array]) as member:
            stream = open_npy(member, name, members[array].file_size)
            shapes[array] = stream.shape
            dtype = scores_layout(stream.dtype).dtype
    digest = hashlib.sha256("\n".join(listing).encode("utf-8", "surrogateescape")).hexdigest()
    return Footer("npz", _count(shapes), digest, dtype)


def _count(shapes: dict[str, Any]) -> int | None:
    """Count sentences: matrices in a stack, one matrix, or lengths."""
    if "log_weights" in shapes:
        shape = shapes["log_weights"]
        return 1 if len(shape) == 2 else int(shape[0])
    return int(shapes["lengths"][0]) if "lengths" in shapes else None
