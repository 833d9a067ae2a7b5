"""torch-struct: `NonProjectiveDependencyCRF`, log Z and marginals in batches.  No draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class TorchStruct(Adapter):
    """In double precision, one thread."""

    name = "torch-struct"
    module = "torch_struct"
    # `eps` in its deptree.py: all arcs between words weigh so much more, those of padding too.
    remark = "adds 1e-5 to weights"
    is_heavy = True
    first_call = (
        "import torch; torch_struct.NonProjectiveDependencyCRF("
        "torch.zeros(1, 10, 10, dtype=torch.double)).partition"
    )

    def load(self) -> None:
        """Import it, with one thread."""
        super().load()
        import torch

        torch.set_num_threads(1)

    def log_partition(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take its `partition`."""
        make = _maker(batch, lengths, single_root=single_root)
        return Job(lambda: make().partition, lambda found: found.numpy(), len(batch))

    def arc_marginals(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take its `marginals`."""
        make = _maker(batch, lengths, single_root=single_root)

        def read(found: Any) -> Floats:
            # Root arcs are on the diagonal.
            found = found.numpy()
            result = np.zeros(batch.shape)
            result[:, 1:, 1:] = found
            diagonal = np.arange(1, batch.shape[1])
            result[:, 0, 1:] = found[:, diagonal - 1, diagonal - 1]
            result[:, diagonal, diagonal] = 0.0
            return result

        return Job(lambda: make().marginals, read, len(batch))


def _maker(batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Any:
    import torch
    from torch_struct import NonProjectiveDependencyCRF

    potentials = batch[:, 1:, 1:].copy()
    word = np.arange(potentials.shape[1])
    potentials[:, word, word] = batch[:, 0, 1:]
    # Padding is masked by adding to it, so it has to be finite.
    potentials[~np.isfinite(potentials)] = -100.0
    tensor = torch.tensor(potentials)
    ragged = not (lengths == potentials.shape[1]).all()
    words = torch.tensor(lengths.astype(np.int64)) if ragged else None
    return lambda: NonProjectiveDependencyCRF(tensor, words, multiroot=not single_root)


ADAPTER = TorchStruct()
