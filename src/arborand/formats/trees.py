"""Trees in: what ``sample`` and ``best`` wrote, and the trees of any CoNLL-U file."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain, islice
from operator import mul
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand.errors import FormatError, InvalidTreeError, SentenceError
from arborand.formats.arrays import open_arrays
from arborand.formats.conllu import read_annotations
from arborand.formats.inputs import CHARACTERS, as_json, open_input, parse_json, reading
from arborand.formats.parquet import ParquetInput
from arborand.formats.records import BEST_TREES, TREES, Rows, read_ids, sentence_id
from arborand.trees import check_trees

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.formats.arrays import ArrayFile
    from arborand.formats.conllu import Annotation
    from arborand.formats.inputs import InputFile
    from arborand.formats.records import Layout

# How many trees are read at a time.
_PORTION = 1024
# How many heads are read at a time, if trees are stored as one long list.
_PORTION_HEADS = 1 << 18
_COLUMNS = {
    "sent_id": "text",
    TREES.numbering: "integer",
    BEST_TREES.numbering: "integer",
    "log_prob": "number",
    "heads": "integers",
    "labels": "texts",
}
# The longest provenance that is read: enough for a file converted a thousand times.
_MAX_PROVENANCE = 1 << 20


class Trees(NamedTuple):
    """The trees of one sentence.

    Attributes
    ----------
    sent_id : str
    heads : ndarray of int32, shape (K, n + 1)
        As :meth:`DependencyTrees.sample` returns them: -1 for the root.
    log_prob : ndarray of float64, shape (K,)
        NaN if the file does not contain it.
    labels : list of K lists of n names, or None
        The relations of words 1 to n; ``_`` if one is missing.  None if the file has none.
    """

    sent_id: str
    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    labels: list[list[str]] | None = None


def read_trees(source: str | os.PathLike[str]) -> Iterator[Trees]:
    r"""Read trees, sentence by sentence, in bounded memory.

    Parameters
    ----------
    source : path, or ``-`` for standard input
        A ``.parquet``, ``.jsonl``, ``.npz`` or CoNLL-U file.

    Yields
    ------
    Trees

    Raises
    ------
    FormatError
        If the file does not contain trees, or is damaged.
    SentenceError
        If something in it is not a tree; the message names the sentence.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> lines = "1\tshe\t" + "_\t" * 4 + "2\tnsubj\t_\t_\n"
    >>> lines += "2\tsaw\t" + "_\t" * 4 + "0\troot\t_\t_\n\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "gold.conllu")
    ...     number = path.write_text(lines)
    ...     [trees.heads.tolist() for trees in read_trees(path)]
    [[[-1, 2, 0]]]
    """
    with open_trees(source) as trees:
        sentence: list[Trees] = []
        for rows in trees.rows():
            for i, span, block, labels in rows.sentences(TREES):
                if sentence and not (i == 0 and rows.first_sample):
                    yield _joined(sentence)
                    sentence = []
                heads = np.pad(block, ((0, 0), (1, 0)), constant_values=-1)
                names = None
                if labels is not None:
                    names = [[rows.label_text(one) for one in tree] for tree in labels.tolist()]
                log_prob = rows.columns["log_prob"][span]
                sentence.append(Trees(rows.sent_ids[i], heads, log_prob, names))
        if sentence:
            yield _joined(sentence)


def _joined(parts: list[Trees]) -> Trees:
    return Trees(
        parts[0].sent_id,
        np.concatenate([part.heads for part in parts]),
        np.concatenate([part.log_prob for part in parts]),
        None if parts[0].labels is None else [tree for part in parts for tree in part.labels or ()],
    )


def layout_of(trees: TreesFile) -> Layout:
    """Distinguish draws from ranked trees by their provenance; without it, they count as draws."""
    record = trees.provenance or {}
    while isinstance(record.get("source"), dict):
        record = record["source"]
    words = str(record.get("command", "")).split()
    return BEST_TREES if words[:2] == ["arborand", "best"] else TREES


def holds_trees(file: InputFile) -> bool:
    """Tell whether a file contains trees, as opposed to scores."""
    if file.kind in ("jsonl", "conllu"):
        return True
    if file.kind == "parquet":
        with file.path.open("rb") as handle:
            return bool(ParquetInput(handle, file.name, {"heads": "integers"}, ()).columns)
    if file.kind == "npz":
        with open_arrays(file) as arrays:
            return "heads" in arrays
    return False


@contextmanager
def open_trees(source: str | os.PathLike[str] | InputFile) -> Iterator[TreesFile]:
    """Open a file of trees, whatever its kind."""
    with open_input(source) as file:
        if file.kind == "npz":
            with open_arrays(file) as arrays:
                yield TreesFile(_array_provenance(arrays), _array_trees(arrays))
        elif file.kind in ("parquet", "jsonl", "conllu"):
            with file.path.open("rb") as handle:
                if file.kind == "parquet":
                    table = ParquetInput(handle, file.name, _COLUMNS, ("sent_id", "heads"))
                    provenance = _provenance(file.name, table.metadata.get(b"provenance"))
                    yield TreesFile(provenance, _parquet_trees(table))
                else:
                    trees = _json_trees if file.kind == "jsonl" else _conllu_trees
                    provenance = _text_provenance(handle, file.name)
                    yield TreesFile(provenance, trees(handle, file.name))
        else:
            raise FormatError(
                f"{file.name} is not a file of trees: expected .parquet, .jsonl, .npz or CoNLL-U"
            )


class _Tree(NamedTuple):
    """One tree, as stored in a file; `number` counts the trees of a sentence."""

    sent_id: str
    number: int
    log_prob: float
    heads: list[int]
    annotation: Annotation | None = None
    labels: list[str] | None = None

    def is_followed_by(self, tree: _Tree) -> bool:
        """Tell whether the next tree belongs to the same sentence."""
        is_same = self.sent_id == tree.sent_id and len(self.heads) == len(tree.heads)
        return is_same and self.number < tree.number


class TreesFile:
    """An open file of trees, with its provenance."""

    def __init__(self, provenance: dict[str, Any] | None, trees: Iterator[_Tree]) -> None:
        self.provenance = provenance
        self._trees = trees

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions; a sentence may continue in the next one."""
        last: _Tree | None = None
        index = count = 0  # sentences so far, and trees of the last one
        while trees := list(islice(self._trees, _PORTION)):
            goes_on = last is not None and last.is_followed_by(trees[0])
            starts = [i for i in range(1, len(trees)) if not trees[i - 1].is_followed_by(trees[i])]
            starts = [0, *starts]
            num_rows = np.diff([*starts, len(trees)])
            firsts = [trees[start] for start in starts]
            notes = [tree.annotation for tree in firsts]
            rows = Rows(
                [tree.sent_id for tree in firsts],
                np.array([len(tree.heads) for tree in firsts], dtype=np.int32),
                num_rows,
                {"log_prob": np.array([tree.log_prob for tree in trees], dtype=np.float64)},
                np.fromiter(chain.from_iterable(tree.heads for tree in trees), dtype=np.int32),
                count if goes_on else 0,
                [None if note is None else note.tokens for note in notes],
                notes,
                *_numbered_labels(trees),
            )
            _check(rows, index - int(goes_on))
            yield rows
            index += len(starts) - int(goes_on)
            count = int(num_rows[-1]) + (count if goes_on and len(starts) == 1 else 0)
            last = trees[-1]


def _numbered_labels(trees: list[_Tree]) -> tuple[NDArray[np.int32] | None, tuple[str, ...]]:
    """Assign numbers to the labels of trees, and list their names; -1 for ``_``."""
    if all(tree.labels is None for tree in trees):
        return None, ()
    numbers = {"_": -1}
    names = chain.from_iterable(tree.labels or ["_"] * len(tree.heads) for tree in trees)
    labels = [numbers.setdefault(name, len(numbers) - 1) for name in names]
    return np.array(labels, np.int32), tuple(numbers)[1:]


def _check(rows: Rows, first: int) -> None:
    """Check that all rows are trees."""
    for i, _, block, _ in rows.sentences(TREES):
        try:
            check_trees(np.pad(block, ((0, 0), (1, 0)), constant_values=-1))
        except InvalidTreeError as error:
            raise SentenceError(rows.sent_ids[i], first + i, str(error)) from error


def _provenance(name: str, record: Any) -> dict[str, Any] | None:
    """Read the provenance of a file, if it has any: a record, or its text."""
    if not record:
        return None
    with reading(f"{name}: the provenance"):
        found = parse_json(record) if isinstance(record, (str, bytes)) else record
        if not isinstance(found, dict):
            raise ValueError(f"the provenance is a {type(found).__name__}, not an object")
        as_json({"source": {"source": found}}).encode()  # raises what writing the output would
        return found


def _text_provenance(handle: IO[bytes], name: str) -> dict[str, Any] | None:
    """Read the provenance in the first line of a text, if there is any."""
    line = handle.readline()
    handle.seek(0)
    if line.startswith(b"# arborand = "):
        return _provenance(name, line.partition(b"=")[2])
    header = _header(line)
    if header.get("arborand", "trees") != "trees":
        raise FormatError(f"{name} contains {header['arborand']}, not trees")
    return _provenance(name, header.get("provenance"))


def _header(line: bytes) -> dict[str, Any]:
    """Read the header in the first line of JSON lines; empty if there is none."""
    try:
        header = parse_json(line)
    except ValueError:  # reported when the line is read as a tree
        return {}
    return header if isinstance(header, dict) and "arborand" in header else {}


def _json_trees(handle: IO[bytes], name: str) -> Iterator[_Tree]:
    for index, line in enumerate(handle):
        if index or not _header(line):
            yield _tree(line, name, "line", index)


def _parquet_trees(table: ParquetInput) -> Iterator[_Tree]:
    row = 0
    for group in range(len(table.groups)):
        for batch in table.batches(group, _PORTION):
            with reading(table.name):
                records = batch.to_pylist()
            for record in records:
                yield _tree(record, table.name, "row", row)
                row += 1


def _tree(record: Any, name: str, unit: str, index: int) -> _Tree:
    """Make a tree from a JSON object, or from its text."""
    try:
        if isinstance(record, bytes):
            record = parse_json(record)
        if not isinstance(record, dict):
            raise ValueError("it is not an object")
        numbering = "rank" if "rank" in record else "sample"
        for key in ("sent_id", numbering, "heads"):
            if key not in record:
                raise ValueError(f"it has no {key!r}")
        heads = _heads(record["heads"])
        return _Tree(
            sentence_id(record["sent_id"], name, index, unit),
            _integer(numbering, record[numbering]),
            _log_prob(record.get("log_prob")),
            heads,
            labels=_labels(record.get("labels"), len(heads)),
        )
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{name}: {unit} {index + 1} is not a tree: {error}") from error


def _labels(values: object, count: int) -> list[str] | None:
    """Read the labels of the words 1 to n, which may be missing."""
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"labels is {values!r:.60}: expected {count} names")
    for word, label in enumerate(values, 1):
        if not isinstance(label, str) or not label or len(label) > CHARACTERS.most:
            raise ValueError(f"the label of word {word} is {label!r:.60}: expected a name")
    return values


def _has_relations(handle: IO[bytes]) -> bool:
    """Tell whether a CoNLL-U file has any relation other than root."""
    start = handle.tell()
    found = False
    for line in handle:
        columns = line.split(b"\t", 8)
        if len(columns) > 7 and columns[7].strip() not in (b"_", b"root"):
            found = columns[0].isdigit()
            if found:
                break
    handle.seek(start)
    return found


def _conllu_trees(handle: IO[bytes], name: str) -> Iterator[_Tree]:
    has_relations = _has_relations(handle)
    for index, annotation in enumerate(read_annotations(handle, name)):
        sent_id = str(index + 1) if annotation.sent_id is None else annotation.sent_id
        try:
            number = int(annotation.comment("rank") or annotation.comment("sample") or 1)
            log_prob = float(annotation.comment("log_prob") or "nan")
            if annotation.sent_id is not None:
                sent_id = annotation.sentence_of(annotation.sent_id, number)
            labels = annotation.column("DEPREL") if has_relations else None
            yield _Tree(sent_id, number, log_prob, annotation.heads, annotation, labels)
        except (FormatError, ValueError) as error:
            raise SentenceError(sent_id, index, str(error)) from error


def _array_provenance(arrays: ArrayFile) -> dict[str, Any] | None:
    if "provenance" not in arrays:
        return None
    stream = arrays.stream("provenance")
    if stream.dtype.kind != "U" or stream.shape or stream.dtype.itemsize > 4 * _MAX_PROVENANCE:
        raise FormatError(
            f"{arrays.name}: provenance must be one string of at most {_MAX_PROVENANCE} "
            f"characters, but is {stream.dtype} of shape {stream.shape}"
        )
    with reading(f"{arrays.name}: provenance", MemoryError):
        text = stream.read(1).tobytes().decode(stream.encoding).rstrip("\0")
    return _provenance(arrays.name, text)


def _array_trees(arrays: ArrayFile) -> Iterator[_Tree]:
    arrays.require("sent_ids", "lengths", "num_trees", "log_prob", "heads")
    ids = arrays.vector("sent_ids", "strings")
    for array in ("lengths", "num_trees"):
        arrays.vector(array, size=ids.shape[0])

    def pieces() -> Iterator[tuple[list[int], list[int]]]:
        lengths, counts = arrays.counts("lengths", "words"), arrays.counts("num_trees", "trees")
        for some, others in zip(lengths, counts, strict=True):
            yield some.tolist(), others.tolist()

    log_prob = arrays.vector("log_prob", "numbers", sum(sum(counts) for _, counts in pieces()))
    num_heads = sum(sum(map(mul, lengths, counts)) for lengths, counts in pieces())
    heads = arrays.vector("heads", size=num_heads)
    labels, names = None, []
    if "labels" in arrays:
        arrays.require("label_names")
        labels = arrays.vector("labels", size=num_heads)
        stored = arrays.vector("label_names", "strings")
        names = read_ids(stored, stored.shape[0], arrays.name, 0)
    index = 0
    for lengths, counts in pieces():
        for sent_id, length, count in zip(
            read_ids(ids, len(lengths), arrays.name, index), lengths, counts, strict=True
        ):
            portion = max(1, _PORTION_HEADS // max(1, length))
            for start in range(0, count, portion):
                size = min(portion, count - start)
                trees = heads.read(size * length).reshape(size, length)
                for row, word in np.argwhere((trees < 0) | (trees > length))[:1].tolist():
                    wrong = _wrong_head(word + 1, trees[row, word], length)
                    raise SentenceError(sent_id, index, wrong)
                rows = zip(log_prob.read(size).tolist(), trees.tolist(), strict=True)
                numbers = None if labels is None else labels.read(size * length)
                if numbers is not None and ((numbers < -1) | (numbers >= len(names))).any():
                    wrong = f"it has a label that is not 0 to {len(names) - 1}, or -1 for none"
                    raise SentenceError(sent_id, index, wrong)
                for number, (probability, tree) in enumerate(rows, start + 1):
                    named = None
                    if numbers is not None:
                        of_tree = numbers[(number - start - 1) * length :][:length].tolist()
                        named = ["_" if one < 0 else names[one] for one in of_tree]
                    yield _Tree(sent_id, number, float(probability), tree, labels=named)
            index += 1
    for stream in (ids, log_prob, heads, *([] if labels is None else [labels])):
        stream.end()


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.60}: expected an integer")
    return value


def _log_prob(value: object) -> float:
    """Read a log-probability that may be missing."""
    if value is None:
        return np.nan
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"log_prob is {value!r:.60}: expected a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("log_prob is beyond the range of float64") from None


def _heads(values: object) -> list[int]:
    """Read the heads of the words 1 to n."""
    if not isinstance(values, list):
        raise ValueError(f"heads is {values!r:.60}: expected a list of integers")
    if {*map(type, values)} == {int} and min(values) >= 0 and max(values) <= len(values):
        return values  # the usual case, checked at once
    for word, head in enumerate(values, 1):
        if not 0 <= _integer(f"the head of word {word}", head) <= len(values):
            raise ValueError(_wrong_head(word, head, len(values)))
    return values


def _wrong_head(word: int, head: int, num_words: int) -> str:
    return (
        f"the head of word {word} is {head}: expected 0 for the root, or a word from 1 to "
        f"{num_words}"
    )
