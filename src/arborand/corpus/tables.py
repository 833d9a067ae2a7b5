"""Trees for the rows of a table, for ``datasets.map``, Ray Data and pandas."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.arguments import check_count, check_index
from arborand.corpus.computations import make_work
from arborand.corpus.stream import usable_rows
from arborand.errors import FormatError, SentenceError
from arborand.formats.inputs import required
from arborand.formats.parquet import check_type
from arborand.formats.records import RUN_VALUES, Sentences, matrix_sizes, sentence_id, split_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arborand.formats.records import Rows


_OPTIONS = {"trees", "weights", "orientation", "method", "without_replacement"}


class SampleTrees:
    """Draws trees for a batch of rows: for ``datasets.map`` and Ray Data's ``map_batches``.

    The trees of a sentence are those of ``arborand sample`` with the same seed, whatever rows share
    its batch and however they were shuffled: they depend on the place of the row in the corpus.

    Parameters
    ----------
    num_trees : int
        The number of trees per sentence.
    seed : int
    index : str
        The column with the place of each sentence in the corpus, from 0.  Not needed if the places
        are passed as a second argument.
    **options
        `trees`, `weights`, `orientation`, `method` and `without_replacement`, as for ``arborand
        sample``.

    Raises
    ------
    FormatError
        When called, if a column is missing or of the wrong type.
    SentenceError
        When called, if a sentence cannot be used; the error has its id and number in the corpus.

    Examples
    --------
    >>> from arborand.corpus import SampleTrees
    >>> sample = SampleTrees(2, seed=1)
    >>> rows = sample({"log_weights": [[0.0] * 9, [0.0] * 16]}, [7, 3])
    >>> rows["index"], rows["sample"]
    ([7, 7, 3, 3], [1, 2, 1, 2])
    >>> [len(heads) for heads in rows["heads"]]
    [2, 2, 3, 3]
    """

    def __init__(
        self, num_trees: int = 1, *, seed: int, index: str = "index", **options: Any
    ) -> None:
        unknown = options.keys() - _OPTIONS
        if unknown:
            raise TypeError(f"SampleTrees has no option {', '.join(map(repr, sorted(unknown)))}")
        seed = check_count(seed, "seed", 0)  # None would mean another seed for each batch
        self._work = make_work("sample", num_trees=num_trees, seed=seed, **options)
        self._index = index

    def __call__(self, batch: Any, indices: Sequence[int] | None = None) -> Any:
        """Draw the trees of a batch.

        Parameters
        ----------
        batch : pyarrow.Table, pandas.DataFrame, or dict from name to column
            One row per sentence: ``log_weights`` (a flat list) and, if there are any, ``sent_id``.
        indices : sequence of int, optional
            The place of each row in the corpus; ``with_indices=True`` of ``datasets.map``.

        Returns
        -------
        the same kind of object
            One row per tree: ``sent_id``, ``index``, ``sample``, ``log_prob`` and ``heads``.
        """
        arrow = required("pyarrow", "drawing trees for tables")
        table = self._table(arrow, batch, indices)
        drawn = [self._rows(arrow, first, rows) for first, rows in self._drawn(table)]
        answer = arrow.concat_tables(drawn) if drawn else self._rows(arrow, 0, None)
        if "sent_id" not in table.column_names:
            answer = answer.drop_columns(["sent_id"])
        if isinstance(batch, arrow.Table):
            return answer
        return answer.to_pydict() if isinstance(batch, dict) else answer.to_pandas()

    def _table(self, arrow: Any, batch: Any, indices: Sequence[int] | None) -> Any:
        """Make a table of the columns that are needed."""
        names = list(getattr(batch, "column_names", batch))
        if "log_weights" not in names:
            raise FormatError(f"the batch has no column 'log_weights'; its columns are {names}")
        kinds = {"log_weights": "numbers", "sent_id": "text", self._index: "integer"}
        given = {name: batch[name] for name in kinds if name in names}
        if indices is not None:
            given[self._index] = indices
        if self._index not in given:
            raise FormatError(
                f"the batch has no column {self._index!r} with the place of each sentence in the "
                "corpus: add it, or pass the places as a second argument (with_indices=True)"
            )
        columns: dict[str, Any] = {}
        for name, column in given.items():
            try:
                is_arrow = isinstance(column, arrow.ChunkedArray)
                columns[name] = column if is_arrow else arrow.array(list(column))
            except (arrow.ArrowException, OverflowError) as error:
                raise FormatError(f"the batch: the column {name}: {error}") from error
            if len(columns[name]):  # an empty column has no type
                check_type("the batch", name, columns[name].type, kinds[name])
        places = columns[self._index]
        if places.null_count:
            raise FormatError(
                f"the batch: the column {self._index} lacks {places.null_count} places"
            )
        for place in places.to_pylist():
            check_index(place, f"the batch: the column {self._index}")
        try:
            return arrow.table(columns).combine_chunks()
        except arrow.ArrowException as error:  # columns of different lengths
            raise FormatError(f"the batch: {error}") from error

    def _drawn(self, table: Any) -> Iterator[tuple[int, Rows]]:
        if not table.num_rows:
            return
        column = table["log_weights"].combine_chunks()
        counts = np.asarray(column.value_lengths().fill_null(0), dtype=np.int64)
        values = np.asarray(column.flatten())
        lengths = np.array([math.isqrt(count) - 1 for count in counts.tolist()], dtype=np.int64)
        index = np.asarray(table[self._index], dtype=np.int64)
        ids = [str(place + 1) for place in index.tolist()]
        if "sent_id" in table.column_names:
            given = zip(table["sent_id"].to_pylist(), index.tolist(), strict=True)
            ids = [sentence_id(value, "the batch", place) for value, place in given]
        wrong = np.flatnonzero((lengths < 1) | (matrix_sizes(lengths) != counts))
        if wrong.size:
            i = int(wrong[0])
            reason = f"its log_weights have {counts[i]} numbers, but n words need (n + 1) ** 2"
            raise SentenceError(ids[i], int(index[i]), reason)
        ends = np.concatenate([[0], np.cumsum(counts)])
        # A call to the core numbers graphs consecutively: cut where places are not consecutive.
        cuts = [0, *(np.flatnonzero(np.diff(index) != 1) + 1).tolist(), len(index)]
        for first, last in itertools.pairwise(cuts):
            for start, stop in split_runs(lengths[first:last], self._work.num_trees, RUN_VALUES):
                part = slice(first + start, first + stop)
                run = Sentences(
                    int(index[part.start]),
                    ids[part],
                    lengths[part].astype(np.int32),
                    values[ends[part.start] : ends[part.stop]],
                    [None] * (stop - start),
                )
                yield from self._computed(run)

    def _computed(self, run: Sentences) -> Iterator[tuple[int, Rows]]:
        """Draw the trees of a run; yield portions, each with the place of its first sentence."""
        assert self._work.compute is not None
        first = stop = run.first
        for rows in usable_rows(run, self._work.compute, [], self._work.num_trees, skip=False):
            if not rows.first_sample:
                first, stop = stop, stop + len(rows.sent_ids)
            yield first, rows

    @staticmethod
    def _rows(arrow: Any, first: int, rows: Rows | None) -> Any:
        """Make a table of drawn trees."""
        schema = arrow.schema(
            [
                ("sent_id", arrow.string()),
                ("index", arrow.int64()),
                ("sample", arrow.int32()),
                ("log_prob", arrow.float64()),
                ("heads", arrow.list_(arrow.int32())),
            ]
        )
        if rows is None:
            return schema.empty_table()
        which = np.repeat(np.arange(len(rows.sent_ids)), rows.num_rows)
        ends = np.concatenate([[0], np.cumsum(rows.lengths[which])]).astype(np.int32)
        heads = arrow.ListArray.from_arrays(
            arrow.array(ends), arrow.array(rows.values, arrow.int32())
        )
        columns = [
            arrow.array(rows.sent_ids, arrow.string()).take(arrow.array(which)),
            arrow.array(first + which),
            arrow.array(rows.samples()),
            arrow.array(rows.columns["log_prob"]),
            heads,
        ]
        return arrow.Table.from_arrays(columns, schema=schema)
