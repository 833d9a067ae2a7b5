"""Labelled trees that JAX can compile, differentiate and map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from arborand.arguments import check_choice, check_count, explain_arguments
from arborand.jax.answers import as_pytree
from arborand.jax.distributions import DependencyTrees, TreeDistribution
from arborand.label_formulas import LabelFormulas
from arborand.labelled import check_names
from arborand.randomness import Key
from arborand.validation import DEPENDENT_HEAD, HEAD_DEPENDENT, ORIENTATIONS

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
        Which trees: a distribution of ``arborand.jax``.
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
        check_choice(orientation, "orientation", ORIENTATIONS)
        if not (isinstance(kind, type) and issubclass(kind, TreeDistribution)):
            raise TypeError(f"kind must be a class of arborand.jax, not {kind!r}")
        scores = jnp.asarray(log_weights) * 1.0
        self._check_shape(scores, "log_weights", None)
        if orientation == DEPENDENT_HEAD:
            scores = jnp.swapaxes(scores, -2, -3)
        self.labels = check_names(labels, scores.shape[-1])
        self._from_scores(scores, kind, lengths, workers=workers)

    @classmethod
    def from_trees(
        cls,
        trees: TreeDistribution,
        label_log_weights: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Give the arcs of a distribution labels: P(label | arc) is the softmax of their scores.

        Examples
        --------
        >>> d = LabelledTrees.from_trees(DependencyTrees(jnp.zeros((3, 3))), jnp.zeros((3, 3, 2)))
        >>> f"{jnp.exp(d.entropy()):.4f}"
        '8.0000'
        """
        if not isinstance(trees, TreeDistribution):
            raise TypeError(f"trees must be of arborand.jax, not a {type(trees).__name__}")
        self = cls.__new__(cls)
        self._from_trees(trees, jnp.asarray(label_log_weights) * 1.0)
        self.labels = check_names(labels, self.num_labels)
        return self

    # ---- what it draws and finds: heads and labels, arrays of int32

    def sample(
        self, key: Array, shape: Sequence[int] = (), *, method: str | None = None
    ) -> tuple[Array, Array]:
        """Draw labelled trees; the heads are those that ``trees.sample`` draws.

        Examples
        --------
        >>> heads, labels = LabelledTrees(jnp.zeros((3, 3, 2))).sample(jax.random.key(0), (5,))
        >>> heads.shape == labels.shape
        True
        """
        options: dict[str, Any] = {} if method is None else {"method": method}
        heads = self.trees.sample(key, shape, **options)

        def draw(d: arborand.LabelledTrees, words: Any, trees: Any) -> Any:
            return d._labels_of(np.asarray(trees), _key(words))

        bits = jax.random.bits(jax.random.fold_in(key, 1), (4,), jnp.uint32)
        (labels,) = self._ask(lambda d, *more: (draw(d, *more),), [heads.shape], bits, heads)
        return heads, labels

    def sample_without_replacement(self, key: Array, k: int) -> tuple[Array, Array]:
        """Draw k distinct labelled trees; rows of -1 where a graph has fewer."""
        k = check_count(k, "k", 1)
        bits = jax.random.bits(key, (4,), jnp.uint32)

        def draw(d: arborand.LabelledTrees, words: Any) -> Any:
            drawn = d.sample_without_replacement(k, rng=_key(words))
            return _rows(drawn.heads, k), _rows(drawn.labels, k)

        return self._pair(draw, (k, *self._shape), bits)

    def best_tree(self) -> tuple[Array, Array]:
        """Find the best labelled tree."""
        return self._pair(lambda d: d.best_tree(), self._shape, joint=True)

    def best_trees(self, k: int) -> tuple[Array, Array]:
        """Find the k best labelled trees, in order; rows of -1 where a graph has fewer."""
        k = check_count(k, "k", 1)

        def find(d: arborand.LabelledTrees) -> Any:
            found = d.best_trees(k)
            return _rows(found.heads, k), _rows(found.labels, k)

        return self._pair(find, (k, *self._shape), joint=True)

    def minimum_risk_tree(self) -> tuple[Array, Array]:
        """Find the labelled tree with the largest expected number of correct labelled arcs."""
        return self._pair(lambda d: d.minimum_risk_tree(), self._shape, joint=True)

    # ---- how it is done

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self.trees.log_weights.shape[:-1])

    def _pair(
        self, function: Callable[..., Any], shape: tuple[int, ...], *more: Any, joint: bool = False
    ) -> tuple[Array, Array]:
        heads, labels = self._ask(function, [shape, shape], *more, joint=joint)
        return heads, labels

    def _ask(
        self,
        function: Callable[..., Any],
        shapes: list[tuple[int, ...]],
        *more: Any,
        joint: bool = False,
    ) -> Any:
        """Ask arborand, which reads NumPy's arrays: by a callback, which can be compiled."""
        has_joint = joint and self._joint is not None
        arrays = [self.trees.log_weights, self.lengths, self._log_chances]
        arrays += [self._joint] if has_joint else []

        def called(arcs: Any, lengths: Any, chances: Any, *rest: Any) -> Any:
            scores = np.asarray(rest[0]) if has_joint else None
            d = self._on_host(arcs, np.asarray(lengths), np.asarray(chances), scores)
            return tuple(np.asarray(one, np.int32) for one in function(d, *rest[int(has_joint) :]))

        answers = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in shapes]
        constants = map(jax.lax.stop_gradient, arrays)
        return jax.pure_callback(called, answers, *constants, *more, vmap_method="sequential")

    @staticmethod
    def _constant(array: Array) -> Array:
        return jax.lax.stop_gradient(array)

    @staticmethod
    def _integers(array: ArrayLike) -> Array:
        return jnp.asarray(array).astype(jnp.int32)

    @staticmethod
    def _divergence(trees: TreeDistribution, other: TreeDistribution) -> Array:
        return trees.kl_divergence(other)


def _key(words: Any) -> Key:
    first, second, third, fourth = (int(word) for word in np.asarray(words))
    return Key((first + (second << 32), third + (fourth << 32)))


def _rows(found: Any, k: int) -> Any:
    """Fill up the rows of a graph that has fewer trees."""
    missing = k - len(found)
    return np.pad(found, ((0, missing), *[(0, 0)] * (found.ndim - 1)), constant_values=-1)
