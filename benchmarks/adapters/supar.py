"""supar: `MatrixTree`, log Z and marginals in batches.  No draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class Supar(Adapter):
    """In double precision (log Z comes back in single), one thread."""

    name = "supar"
    module = "supar.structs"
    is_heavy = True
    first_call = (
        "import torch; "
        "supar.structs.MatrixTree(torch.zeros(1, 11, 11, dtype=torch.double)).log_partition"
    )

    def load(self) -> None:
        """Import it, with one thread."""
        super().load()
        import torch

        torch.set_num_threads(1)

    def log_partition(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take its `log_partition`."""
        make = _maker(batch, lengths, single_root=single_root)
        return Job(lambda: make().log_partition, _read, len(batch))

    def arc_marginals(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take its `marginals`: a gradient."""
        make = _maker(batch, lengths, single_root=single_root)
        return Job(lambda: make().marginals, lambda found: _read(found).swapaxes(1, 2), len(batch))


def _maker(batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Any:
    import torch
    from supar.structs import MatrixTree

    scores = batch.swapaxes(1, 2).copy()  # [dependent, head]
    # What is never read has to be finite all the same: a gradient goes through it.
    scores[~np.isfinite(scores)] = -100.0
    tensor, words = torch.tensor(scores), torch.tensor(lengths.astype(np.int64))
    return lambda: MatrixTree(tensor, words, multiroot=not single_root)


def _read(found: Any) -> Floats:
    answer: Floats = found.detach().numpy().astype(np.float64)
    return answer


ADAPTER = Supar()
