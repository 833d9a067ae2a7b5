"""Labelled trees that JAX can compile, differentiate and vmap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from arborand.arguments import check_count, explain_arguments
from arborand.jax.answers import BestTrees, Draws, as_pytree
from arborand.jax.distributions import (
    DependencyTrees,
    TreeDistribution,
    check_integers,
    key_words,
)
from arborand.jax.operations import fill, front
from arborand.label_formulas import LabelFormulas
from arborand.randomness import Key
from arborand.validation import HEAD_DEPENDENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jax import Array
    from jax.typing import ArrayLike

    import arborand


@as_pytree
@explain_arguments
class LabelledTrees(LabelFormulas):
    """The distribution over trees whose arcs have labels, with gradients to all scores.

    Parameters
    ----------
    log_weights : Array of floats, shape ``(*batch_shape, m, m, L)``
        ``log_weights[head, dependent, label]``, as for :class:`arborand.LabelledTrees`.
    kind : class
        The kind of tree: a distribution of ``arborand.jax``.
    labels : sequence of str, optional
        The names of the labels.
    lengths, orientation, workers
        As for the distributions without labels.

    Examples
    --------
    >>> def loss(scores):
    ...     return -LabelledTrees(scores).log_prob(jnp.array([-1, 0, 1]), jnp.array([-1, 1, 0]))
    >>> f"{jnp.exp(loss(jnp.zeros((3, 3, 2)))):.4f}"  # one of two trees and four labellings
    '8.0000'
    >>> jax.grad(loss)(jnp.zeros((3, 3, 2)))[0, 1].tolist()
    [0.25, -0.75]
    """

    _xp = jnp
    _front = front
    _check_array = staticmethod(lambda given, _: jnp.asarray(given))
    _check_integers = staticmethod(check_integers)
    _arrays: ClassVar = ("trees", "_log_chances", "_shift", "_joint")
    _static: ClassVar = ("labels",)

    def __init__(
        self,
        log_weights: ArrayLike,
        *,
        kind: type[TreeDistribution] = DependencyTrees,
        labels: Sequence[str] | None = None,
        lengths: ArrayLike | None = None,
        orientation: str = HEAD_DEPENDENT,
        workers: int = 1,
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, TreeDistribution)):
            raise TypeError(f"kind must be a class of arborand.jax, not {kind!r}")
        self._from_scores(_floats(log_weights), kind, labels, lengths, orientation, workers)

    @classmethod
    def from_trees(
        cls,
        trees: TreeDistribution,
        label_log_weights: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Add labels to the arcs of a distribution: P(label | arc) is the softmax of their scores.

        Examples
        --------
        >>> d = LabelledTrees.from_trees(DependencyTrees(jnp.zeros((3, 3))), jnp.zeros((3, 3, 2)))
        >>> f"{jnp.exp(d.entropy()):.4f}"
        '8.0000'
        """
        if not isinstance(trees, TreeDistribution):
            raise TypeError(
                f"trees must be a distribution of arborand.jax, not {type(trees).__name__}"
            )
        return cls.__new__(cls)._from_trees(trees, _floats(label_log_weights), labels)

    # ---- draws and best trees

    def sample(
        self, key: Array, shape: Sequence[int] = (), *, method: str | None = None
    ) -> tuple[Array, Array]:
        """Draw labelled trees: heads, drawn by ``trees.sample``, and labels.

        Examples
        --------
        >>> heads, labels = LabelledTrees(jnp.zeros((3, 3, 2))).sample(jax.random.key(0), (5,))
        >>> heads.shape == labels.shape
        True
        """
        heads = self.trees.sample(key, shape, method=method)

        def draw(d: arborand.LabelledTrees, words: Any, trees: Any) -> Any:
            return [d._labels_of(np.asarray(trees), _key(words))]

        (labels,) = self._ask(draw, [heads], key_words(jax.random.fold_in(key, 1)), heads)
        return heads, labels

    def sample_without_replacement(self, key: Array, k: int, *, method: str | None = None) -> Draws:
        """Draw k distinct labelled trees; the answer has k rows even if there are fewer trees.

        Examples
        --------
        >>> d = LabelledTrees(jnp.zeros((3, 3, 2)))
        >>> draws = d.sample_without_replacement(jax.random.key(0), 9)
        >>> draws.labels.shape, int(draws.num_drawn)
        ((9, 3), 8)
        """

        def draw(d: arborand.LabelledTrees, words: Any) -> Any:
            found = d.sample_without_replacement(k, rng=_key(words), method=method)
            numbers = (
                fill(one, k, -np.inf) for one in (found.log_remaining, found.perturbed_log_prob)
            )
            return fill(found.heads, k, -1), fill(found.labels, k, -1), *numbers, found.num_drawn

        trees, numbers, count = self._shapes(check_count(k, "k", 0))
        answers = [trees, trees, numbers, numbers, count]
        heads, labels, log_remaining, perturbed, num_drawn = self._ask(
            draw, answers, key_words(key)
        )
        log_prob = self.log_prob(heads, labels)
        return Draws(heads, log_prob, log_remaining, perturbed, num_drawn, labels)

    def best_trees(self, k: int) -> BestTrees:
        """Find the k best labelled trees, in order; the answer has k rows even if there are fewer.

        Examples
        --------
        >>> LabelledTrees(jnp.zeros((3, 3, 2))).best_trees(2).labels.tolist()
        [[-1, 0, 0], [-1, 0, 1]]
        """

        def find(d: arborand.LabelledTrees) -> Any:
            found = d.best_trees(k)
            return fill(found.heads, k, -1), fill(found.labels, k, -1), found.num_found

        trees, _, count = self._shapes(check_count(k, "k", 0))
        heads, labels, num_found = self._ask(find, [trees, trees, count])
        return BestTrees(heads, self.log_prob(heads, labels), num_found, labels)

    # ---- implementation

    def _find(self, name: str) -> tuple[Array, Array]:
        trees, _, _ = self._shapes()
        workers = self.trees.workers
        heads, labels = self._ask(lambda d: getattr(d, name)(workers=workers), [trees, trees])
        return heads, labels

    def _shapes(self, *draws: int) -> list[jax.ShapeDtypeStruct]:
        """Describe the arrays of trees, of a number per tree, and of a count per graph."""
        return [
            jax.ShapeDtypeStruct((*draws, *self._shape[:-2]), jnp.int32),
            jax.ShapeDtypeStruct((*draws, *self.batch_shape), self._log_chances.dtype),
            jax.ShapeDtypeStruct(self.batch_shape, jnp.int32),
        ]

    def _ask(self, function: Callable[..., Any], answers: list[Any], *more: Any) -> Any:
        """Call a function of the NumPy distribution: at once, or compiled, by a callback.

        A callback would hide the class of an error.
        """
        given = [jax.lax.stop_gradient(array) for array in self._given]
        answers = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in answers]

        def called(*arrays: Any) -> Any:
            d = self._on_host(*map(np.asarray, arrays[: len(given)]))
            found = function(d, *arrays[len(given) :])
            return [np.asarray(x, like.dtype) for x, like in zip(found, answers, strict=True)]

        if not any(isinstance(array, jax.core.Tracer) for array in (*given, *more)):
            return [jnp.asarray(one) for one in called(*given, *map(np.asarray, more))]
        return jax.pure_callback(called, answers, *given, *more, vmap_method="sequential")

    def _range(self, stop: int) -> Array:
        return jnp.arange(stop)

    def _log_prob_of_trees(self, heads: Array) -> Array:
        return self.trees.log_prob(heads)

    def _divergence(self, other: Self) -> Array:
        return self.trees.kl_divergence(other.trees)


def _floats(scores: ArrayLike) -> Array:
    """Convert the scores of labels to the precision of answers."""
    array = jnp.asarray(scores) * 1.0
    return array.astype(jnp.promote_types(array.dtype, jnp.float32))


def _key(words: Any) -> Key:
    first, second = np.ascontiguousarray(words).view(np.uint64)
    return Key((int(first), int(second)))
