"""The log of an output: its rows, in a form that can be cut off and continued."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.formats.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.rows import Layout


class Log:
    """The rows of an output, as far as it goes, in a form that can be continued.

    Parameters
    ----------
    path : Path
    layout : Layout
    size : function that returns how many bytes of the file count
    """

    def __init__(self, path: Path, layout: Layout, size: Callable[[], int]) -> None:
        self._path = path
        self._layout = layout
        self._size = size

    def append(self, file: Any, rows: Rows) -> None:
        """Write rows at the end of the open file: a line of JSON, then the numbers as they are."""
        total = int(rows.num_rows.sum())
        head = {
            "sent_ids": rows.sent_ids,
            "tokens": rows.tokens,
            "first_sample": rows.first_sample,
            "sizes": [len(rows.lengths), total, 0 if rows.values is None else len(rows.values)],
        }
        file.write(json.dumps(head).encode() + b"\n")
        _write(file, rows.lengths, "i4")
        _write(file, rows.num_rows, "i8")
        for name in self._layout.columns:
            _write(file, rows.columns[name], "f8")
        if rows.values is not None:
            _write(file, rows.values, self._layout.dtype)

    def rows(self) -> Iterator[Rows]:
        """Read everything again, in the portions in which it was written."""
        with self._path.open("rb") as file:
            while file.tell() < self._size():
                head = json.loads(file.readline())
                sentences, total, num_values = head["sizes"]
                lengths = np.fromfile(file, "i4", sentences)
                num_rows = np.fromfile(file, "i8", sentences)
                columns = {name: np.fromfile(file, "f8", total) for name in self._layout.columns}
                values = None
                if self._layout.values is not None:
                    values = np.fromfile(file, self._layout.dtype, num_values)
                yield Rows(
                    head["sent_ids"],
                    lengths,
                    num_rows,
                    columns,
                    values,
                    head["first_sample"],
                    head["tokens"],
                )


def _write(file: Any, array: NDArray[Any], dtype: str) -> None:
    file.write(np.ascontiguousarray(array, dtype=dtype).view(np.uint8).data)
