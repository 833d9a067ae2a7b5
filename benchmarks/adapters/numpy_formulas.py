"""NumPy's determinant and inverse: the floor for O(n^3) work.  No draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks import inference
from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class NumpyFormulas(Adapter):
    """Batched where all graphs are of one size, else graph by graph."""

    name = "NumPy formulas"
    module = "numpy"
    first_call = (
        "w = numpy.exp(scores[1:, 1:]); L = numpy.diag(w.sum(0)) - w; "
        "L[0] = numpy.exp(scores[0, 1:]); numpy.linalg.slogdet(L)"
    )

    def log_partition(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take the logarithm of a determinant."""
        if (lengths == batch.shape[1] - 1).all():
            return Job(
                lambda: inference.log_partition(batch, single_root=single_root), units=len(batch)
            )
        pieces = _pieces(batch, lengths)
        return Job(
            lambda: np.concatenate(
                [inference.log_partition(piece, single_root=single_root) for piece in pieces]
            ),
            units=len(batch),
        )

    def arc_marginals(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Read the marginals off an inverse."""
        if (lengths == batch.shape[1] - 1).all():
            return Job(
                lambda: inference.arc_marginals(batch, single_root=single_root), units=len(batch)
            )
        pieces = _pieces(batch, lengths)

        def marginals() -> Floats:
            result = np.zeros(batch.shape)
            for padded, piece in zip(result, pieces, strict=True):
                found = inference.arc_marginals(piece, single_root=single_root)[0]
                padded[: len(found), : len(found)] = found
            return result

        return Job(marginals, units=len(batch))

    def undirected_log_partition(self, scores: Floats) -> Job:
        """Take the logarithm of a determinant."""
        return Job(lambda: inference.log_partition(scores[None], single_root=False))


def _pieces(batch: Floats, lengths: NDArray[np.int32]) -> list[Floats]:
    return [graph[None, : n + 1, : n + 1] for graph, n in zip(batch, lengths.tolist(), strict=True)]


ADAPTER = NumpyFormulas()
