"""Scores out: the output of a parser as a file that every command reads."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.errors import OutputError
from arborand.formats.inputs import WORDS, shown_path
from arborand.formats.outputs import completed, open_writer
from arborand.formats.records import Rows, check_label_names, scores_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

_FORMATS = ("npz", "parquet", "safetensors", "npy")
# How many sentences are converted to rows at a time.
_AT_ONCE = 64


def write_scores(
    path: str | os.PathLike[str],
    matrices: Iterable[ArrayLike],
    *,
    sent_ids: Iterable[str] | None = None,
    words: Iterable[Sequence[str]] | None = None,
    labels: Iterable[ArrayLike] | None = None,
    label_scores: Iterable[ArrayLike] | None = None,
    label_names: Sequence[str] | None = None,
) -> None:
    """Write the scores of a corpus to a file that :func:`read_scores` and the commands read.

    Parameters
    ----------
    path : path
        Ends with ``.npz``, ``.parquet``, ``.safetensors`` or ``.npy`` (only matrices of one size).
    matrices : iterable of array_like, shape (n + 1, n + 1) each
        ``[head, dependent]``, one for each sentence.  They are written a few at a time, so a
        generator does not need memory for the whole corpus.  All float32, or all wider.
    sent_ids : iterable of str, optional
        Without ids, sentences are matched with those of a CoNLL-U file by their order.
    words : iterable of list of str, optional
        The n words of each sentence.
    labels : iterable of array_like of int, shape (n + 1, n + 1) each, optional
        The single label of each arc, counted from 0; -1 where there is no arc.
    label_scores : iterable of array_like, shape (n + 1, n + 1, L) each, optional
        ``[head, dependent, label]``, instead of `labels`.  Their softmax is P(label | arc).
    label_names : sequence of str
        The names of the L labels; required with `labels` or `label_scores`.

    Raises
    ------
    OutputError
        If the format cannot store the data, or the file cannot be written.
    ValueError, TypeError
        If shapes or types do not fit.

    Examples
    --------
    >>> import tempfile
    >>> from arborand.formats import read_scores
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_scores(f"{folder}/scores.npz", [np.zeros((3, 3)), np.zeros((6, 6))])
    ...     [sentence.log_weights.shape for sentence in read_scores(f"{folder}/scores.npz")]
    [(3, 3), (6, 6)]
    """
    target = Path(path)
    name = target.suffix.lower().removeprefix(".")
    if name not in _FORMATS:
        known = ", ".join(f".{one}" for one in _FORMATS)
        raise OutputError(
            f"the format cannot be determined from the name {target.name!r}: end it with one of "
            f"{known}"
        )
    if labels is not None and label_scores is not None:
        raise ValueError("labels and label_scores are both given: give only one of them")
    given = labels if labels is not None else label_scores
    if (given is None) != (label_names is None):
        raise ValueError(
            "label_names needs labels or label_scores"
            if given is None
            else "label_names is missing: give the names of the labels"
        )
    names = () if label_names is None else check_label_names(list(label_names), "write_scores")
    rows = _portions(matrices, sent_ids, words, given, names, are_scores=label_scores is not None)
    partial = target.with_name(f".{target.name}.partial")
    try:
        with partial.open("wb") as file:
            if name == "npy":
                if sent_ids is not None or words is not None or names:
                    raise OutputError(
                        "a .npy file can only hold scores: write ids, words and labels to .npz"
                    )
                _write_stack(file, rows)
            else:
                _write_rows(file, name, rows, partial.parent, has_ids=sent_ids is not None)
        partial.replace(target)
    except OSError as error:
        raise OutputError(
            f"{shown_path(target)} cannot be written: {error.strerror or error}"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _write_rows(
    file: Any, name: str, portions: Iterator[Rows], spool: Path, *, has_ids: bool
) -> None:
    first = next(portions, None)
    dtype = np.dtype(np.float64) if first is None else first.values.dtype
    layout = replace(scores_layout(dtype), has_ids=has_ids)
    record = {"command": "arborand.formats.write_scores"}
    with completed(open_writer(file, name, layout, record, spool=spool)) as writer:
        for rows in () if first is None else chain([first], portions):
            if scores_layout(rows.values.dtype).dtype != layout.dtype:
                raise ValueError(
                    f"matrices: those from sentence {rows.sent_ids[0]!r} on are "
                    f"{rows.values.dtype}, but earlier ones are {dtype}: give all the same type"
                )
            writer.write(rows)


def _write_stack(file: Any, portions: Iterator[Rows]) -> None:
    found = list(portions)
    lengths = {int(length) for rows in found for length in rows.lengths}
    if len(lengths) != 1:
        raise OutputError(
            f"a .npy file holds matrices of one size, not of {len(lengths)}: write an .npz file"
        )
    size = lengths.pop() + 1
    stack = np.concatenate([rows.values for rows in found]).reshape(-1, size, size)
    np.save(file, stack[0] if len(stack) == 1 else stack)


def _portions(
    matrices: Iterable[ArrayLike],
    sent_ids: Iterable[str] | None,
    words: Iterable[Sequence[str]] | None,
    labels: Iterable[ArrayLike] | None,
    names: tuple[str, ...],
    *,
    are_scores: bool,
) -> Iterator[Rows]:
    """Check sentences, and convert a few at a time to rows."""
    nothing = repeat(None)
    given = {"sent_ids": sent_ids, "words": words, "labels": labels}
    others = {key: nothing if value is None else iter(value) for key, value in given.items()}
    waiting: list[tuple[str, NDArray[Any], list[str] | None, NDArray[Any] | None]] = []
    for index, matrix in enumerate(matrices):
        found = {key: next(values, _END) for key, values in others.items()}
        short = next((key for key, value in found.items() if value is _END), None)
        if short is not None:
            raise ValueError(f"{short} ends after {index} sentences, but there are more matrices")
        sentence = _sentence(index, matrix, found, names, are_scores=are_scores)
        is_other = bool(waiting) and waiting[0][1].dtype != sentence[1].dtype
        if len(waiting) == _AT_ONCE or is_other:
            yield _rows(waiting, names)
            waiting = []
        waiting.append(sentence)
    for key, values in others.items():
        if given[key] is not None and next(values, _END) is not _END:
            raise ValueError(f"{key} has more entries than there are matrices")
    if waiting:
        yield _rows(waiting, names)


_END = object()


def _sentence(
    index: int,
    values: ArrayLike,
    found: dict[str, Any],
    names: tuple[str, ...],
    *,
    are_scores: bool,
) -> tuple[str, NDArray[Any], list[str] | None, NDArray[Any] | None]:
    """Check one sentence."""
    matrix = np.asarray(values)
    shape = matrix.shape
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"matrices[{index}] must be real numbers, but their dtype is {matrix.dtype}"
        )
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        raise ValueError(
            f"matrices[{index}] has shape {shape}: expected (n + 1, n + 1) for n >= 1 words"
        )
    if shape[0] - 1 > WORDS.most:
        raise ValueError(f"matrices[{index}]: {WORDS.exceeded_by(shape[0] - 1)}")
    dtype = scores_layout(matrix.dtype).dtype
    sent_id = str(index + 1) if found["sent_ids"] is None else found["sent_ids"]
    if not isinstance(sent_id, str):
        raise TypeError(f"sent_ids[{index}] must be a string, not {sent_id!r:.60}")
    words = None if found["words"] is None else list(found["words"])
    if words is not None and (
        len(words) != shape[0] - 1 or not all(isinstance(word, str) for word in words)
    ):
        raise ValueError(f"words[{index}] must be {shape[0] - 1} strings, one for each word")
    labels = None
    if found["labels"] is not None:
        labels = np.asarray(found["labels"])
        key = "label_scores" if are_scores else "labels"
        expected = (*shape, len(names)) if are_scores else shape
        if labels.shape != expected or labels.dtype.kind not in ("iuf" if are_scores else "iu"):
            kind = "numbers" if are_scores else "integers"
            raise ValueError(
                f"{key}[{index}] must be {kind} of shape {expected}, but is "
                f"{labels.dtype} of shape {labels.shape}"
            )
        if are_scores:
            labels = labels.astype(scores_layout(labels.dtype).dtype).reshape(-1, len(names))
        else:
            labels = labels.astype(np.int32).ravel()
            if ((labels < -1) | (labels >= len(names))).any():
                wrong = labels[(labels < -1) | (labels >= len(names))][0]
                raise ValueError(
                    f"labels[{index}] has {wrong}: labels are 0 to {len(names) - 1}, or -1 for none"
                )
    return sent_id, matrix.astype(dtype).ravel(), words, labels


def _rows(sentences: list[Any], names: tuple[str, ...]) -> Rows:
    sent_ids, matrices, words, labels = zip(*sentences, strict=True)
    lengths = np.array([round(matrix.size**0.5) - 1 for matrix in matrices], np.int32)
    return Rows(
        list(sent_ids),
        lengths,
        np.ones(len(lengths), np.int64),
        {},
        np.concatenate(matrices),
        tokens=list(words),
        labels=np.concatenate(labels) if names else None,
        label_names=names,
    )
