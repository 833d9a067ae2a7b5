"""What the distributions of all front ends (torch, JAX) share: methods with derivatives.

The methods are those of the classes in ``arborand``, for arrays of a framework. A front end adds
how its arrays are checked, drawn and indexed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from arborand.arguments import check_order
from arborand.inference import AS_GOOD_AS_INFINITE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

# An array of the framework.
Array = TypeVar("Array")


class FrontDistribution(Generic[Array]):
    """A distribution over trees whose numbers can be differentiated.

    An array of shape ``(*batch_shape, m, m)`` has one entry ``[head, dependent]`` per arc; node 0
    is the root.
    """

    _front: ClassVar[Any]  # operations, and functions of arrays
    log_weights: Array
    _lengths: Array | None

    if TYPE_CHECKING:
        # What a front end adds.

        @property
        def batch_shape(self) -> tuple[int, ...]:
            """The shape of the batch."""

        def log_prob(self, heads: Any) -> Array:
            """Compute the log-probability of trees."""

        def best_tree(self) -> Array:
            """Find the most probable tree."""

        def _ask(self, name: str, *arrays: Any, last: tuple[Any, ...] = ()) -> Array: ...

        def _like(self, log_weights: Any, lengths: Any) -> Self: ...

        def _check_values(self, values: Any, name: str, *, trailing: bool = False) -> Any: ...

        def _covariances(self, values: Any) -> Any: ...

        def _allowed(
            self, include: Any, exclude: Any, heads: Any, allowed: Any, *, needs_tree: bool
        ) -> Any: ...

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError(f"a single graph has no length; {type(self).__name__} is not a batch")
        return self.batch_shape[0]

    def log_partition(self) -> Array:
        """Compute log Z, the logarithm of the total weight of all trees.

        Returns
        -------
        array, in the shape of the batch
            Its gradient is `arc_marginals`.
        """
        return self._ask("log_partition")

    def arc_marginals(self) -> Array:
        """Compute the probability of every arc: that a random tree contains it.

        Returns
        -------
        array, in the shape of `log_weights`
            ``[head, dependent]``; 0 where there is no arc and in the padding.
        """
        return self._ask("arc_marginals")

    def root_marginals(self) -> Array:
        """Compute the probability of every root arc: row 0 of `arc_marginals`."""
        marginals: Any = self.arc_marginals()
        answer: Array = marginals[..., 0, :]
        return answer

    def entropy(self) -> Array:
        """Compute the Shannon entropy of the trees, in nats."""
        return self._ask("entropy")

    def renyi_entropy(self, order: float) -> Array:
        """Compute the Renyi entropy of the trees, in nats.

        Parameters
        ----------
        order : float
            A number from 0 to infinity, not an array.  0 gives the logarithm of the number of
            trees, 1 the entropy, infinity minus the log-probability of the best tree.
        """
        order = check_order(order)
        if order == 1.0:
            return self.entropy()
        if order >= AS_GOOD_AS_INFINITE:
            log_prob: Any = self.log_prob(self.best_tree())
            surprisal: Array = -log_prob
            return surprisal
        return self._ask("renyi_entropy", last=(order,))

    def expectation(self, arc_values: Any) -> Array:
        """Compute the expectation of a sum over the arcs of a tree, exactly.

        Parameters
        ----------
        arc_values : array, shape ``(*batch_shape, m, m)`` or ``(*batch_shape, m, m, ...)``
            ``arc_values[head, dependent]``. Values of arcs that are in no tree are not read.

        Returns
        -------
        array, shape ``(*batch_shape, ...)``

        Raises
        ------
        ValueError
            If the value of a possible arc is NaN.
        """
        marginals: Any = self.arc_marginals()
        # Not read where there is no arc: 0 times anything would spread NaN.
        values = self._read_values(arc_values, "arc_values", marginals > 0, "nan")
        return self._trailing_last((marginals * values).sum((-1, -2)))

    def variance(self, arc_values: Any) -> Array:
        """Compute the variance of a sum over the arcs of a tree, exactly: see `covariance`."""
        covariance: Any = self.covariance(arc_values, arc_values)
        answer: Array = self._front.where(covariance < 0, 0.0, covariance)
        return answer

    def covariance(self, arc_values: Any, other: Any) -> Array:
        """Compute the covariance of two sums over the arcs of a tree, exactly.

        Parameters
        ----------
        arc_values, other : array, shape ``(*batch_shape, m, m)`` or ``(*batch_shape, m, m, ...)``
            ``[head, dependent]``, finite on every possible arc; other entries are not read. Axes
            after those of the arcs are broadcast.

        Returns
        -------
        array, shape ``(*batch_shape, ...)``

        Raises
        ------
        ValueError
            If the value of a possible arc is not finite.

        Notes
        -----
        Costs one `arc_covariances` for each index of the axes after those of the arcs.
        """
        # Relative to each word's most probable head, arcs of a nearly certain tree have the value
        # 0: the sum is then proportional to the probability of the other trees.
        fixed = self._like(self._front.stop_gradient(self.log_weights), self._lengths)
        marginals: Any = fixed.arc_marginals()
        is_read = marginals > 0
        is_reference = self._front.has_arc(marginals.argmax(-2))

        def relative(given: Any, name: str) -> Any:
            values = self._read_values(given, name, is_read, "not finite")
            reference = self._front.where(is_reference, values, 0.0).sum(-2)[..., None, :]
            return self._front.where(is_read, values - reference, 0.0)

        first, second = relative(arc_values, "arc_values"), relative(other, "other")
        try:
            shape = self._front.broadcast_shapes(first.shape, second.shape)
        except (RuntimeError, ValueError):
            given, own = (tuple(np.shape(values)) for values in (other, arc_values))
            raise ValueError(
                f"other has shape {given}, whose axes after those of the arcs do not fit "
                f"arc_values of shape {own}"
            ) from None
        second = self._front.broadcast_to(second, shape)
        return self._trailing_last((first * self._covariances(second)).sum((-1, -2)))

    def arc_covariances(self, direction: Any) -> Array:
        """Compute the covariance of every arc with a sum over the arcs of a tree.

        This is the derivative of all `arc_marginals` in a direction of the scores: the Hessian of
        log Z times the direction.
        """
        return self._ask("arc_covariances", self._check_values(direction, "direction"))

    def condition(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: Any = None,
        allowed: Any = None,
    ) -> Self:
        """Condition on arcs: keep only the trees that contain some arcs and avoid others.

        The arguments are those of ``arborand``'s `condition`; `heads` and `allowed` are arrays of
        the framework.  Gradients flow to the remaining scores.

        Raises
        ------
        NoTreeError
            If no tree is left.
        """
        left = self._allowed(include, exclude, heads, allowed, needs_tree=True)
        return self._like(self._front.where(left, self.log_weights, -math.inf), self._lengths)

    def log_evidence(
        self,
        *,
        include: Iterable[tuple[int, int]] = (),
        exclude: Iterable[tuple[int, int]] = (),
        heads: Any = None,
        allowed: Any = None,
    ) -> Array:
        """Compute the log-probability that a random tree meets a condition.

        The arguments are those of `condition`.

        Returns
        -------
        array, in the shape of the batch
            -inf if no tree meets the condition; it then contributes nothing to any gradient.
        """
        left = self._allowed(include, exclude, heads, allowed, needs_tree=False)
        return self._ask("log_evidence", left)

    def _read_values(self, given: Any, name: str, is_read: Any, found: str) -> Any:
        """Check values of arcs: 0 where they are not read, and with trailing axes in front."""
        values = self._check_values(given, name, trailing=True)
        num_axes = values.ndim - is_read.ndim
        behind, in_front = tuple(range(-num_axes, 0)), tuple(range(num_axes))
        values = self._front.moveaxis(values, behind, in_front)
        values = self._front.where(is_read, values, 0.0)
        is_wrong = values != values if found == "nan" else ~(abs(values) < math.inf)
        need = "a number" if found == "nan" else "a finite number"
        return self._front.checked(
            values,
            self._front.moveaxis(is_wrong, in_front, behind),  # for the index in what was given
            f"{name}{{}} is {found}, on an arc of some tree: give every such arc {need}",
        )

    def _trailing_last(self, answer: Any) -> Array:
        """Move the axes in front of those of the batch to the end."""
        num_axes = answer.ndim - len(self.batch_shape)
        places = tuple(range(num_axes)), tuple(range(-num_axes, 0))
        moved: Array = self._front.moveaxis(answer, *places)
        return moved
