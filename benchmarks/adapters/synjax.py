"""SynJax: `SpanningTreeCRF` on JAX; used when installed.

The first call compiles; it is made before the clock starts, as everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class Synjax(Adapter):
    """Draws by Colbourn's algorithm; that by Wilson's does not end for single-root trees."""

    name = "SynJax"
    module = "synjax"
    is_heavy = True
    first_call = (
        "import jax; synjax.SpanningTreeCRF(jax.numpy.array(scores), directed=True, "
        "projective=False, single_root_edge=True).sample(jax.random.PRNGKey(0)).block_until_ready()"
    )
    draws = 10

    def load(self) -> None:
        """Import it, with 64-bit numbers."""
        super().load()
        import jax

        jax.config.update("jax_enable_x64", True)
        self._seed = 0

    def spanning_tree(self, scores: Floats) -> Job:
        """Draw several trees a call."""
        return self._draws(scores, single_root=False)

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw with equal weights."""
        return self._draws(np.zeros((num_words + 1, num_words + 1)), single_root=False)

    def dependency_tree(self, scores: Floats) -> Job:
        """Draw several trees a call."""
        return self._draws(scores, single_root=True)

    def _draws(self, scores: Floats, *, single_root: bool) -> Job:
        import jax

        sample = jax.jit(
            lambda potentials, key: _distribution(potentials, None, single_root=single_root).sample(
                key, self.draws
            )
        )
        potentials = _finite(scores)

        def draw() -> Any:
            self._seed += 1
            return sample(potentials, jax.random.PRNGKey(self._seed)).block_until_ready()

        return Job(draw, _heads, self.draws)

    def distinct_trees(self, scores: Floats, k: int) -> Job:
        """Draw by a stochastic beam."""
        import jax

        sample = jax.jit(
            lambda potentials, key: _distribution(
                potentials, None, single_root=True
            ).sample_without_replacement(key, k)[0]
        )
        potentials = _finite(scores)

        def draw() -> Any:
            self._seed += 1
            return sample(potentials, jax.random.PRNGKey(self._seed)).block_until_ready()

        return Job(draw, _heads)

    def log_partition(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take its `log_partition`."""
        return self._numbers("log_partition", batch, lengths, single_root=single_root)

    def arc_marginals(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Take its `marginals`."""
        return self._numbers("marginals", batch, lengths, single_root=single_root)

    def _numbers(
        self, what: str, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool
    ) -> Job:
        import jax

        compute = jax.jit(
            lambda potentials, words: getattr(
                _distribution(potentials, words, single_root=single_root), what
            )()
        )
        # Its lengths count the root.
        potentials, words = _finite(batch), jax.numpy.array(lengths + 1, dtype="int32")
        return Job(lambda: compute(potentials, words).block_until_ready(), units=len(batch))


def _distribution(potentials: Any, lengths: Any, *, single_root: bool) -> Any:
    import synjax

    return synjax.SpanningTreeCRF(
        potentials, directed=True, projective=False, single_root_edge=single_root, lengths=lengths
    )


def _finite(scores: Floats) -> Any:
    import jax

    return jax.numpy.array(np.where(np.isfinite(scores), scores, -100.0))


def _heads(matrices: Any) -> NDArray[np.int32]:
    matrices = np.asarray(matrices).reshape(-1, *np.shape(matrices)[-2:])
    heads: NDArray[np.int32] = matrices.argmax(axis=1).astype(np.int32)
    heads[:, 0] = -1
    return heads


ADAPTER = Synjax()
