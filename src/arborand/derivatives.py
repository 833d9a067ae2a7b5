"""One table for all front ends (torch, JAX): what is computed, and how it is differentiated.

A front end turns each entry of :data:`OPERATIONS` into an operation of its framework. Values come
from :mod:`arborand.values`, which also describes the arguments. Derivatives are other operations of
the table, so nothing here depends on a framework, and no derivative needs a tape. With s the
scores, P the marginals and v a direction of the scores:

    log Z            ->  P
    P                ->  Hess v, the covariances of arcs with a sum over arcs
    Hess v           ->  third-order cumulants; in v, Hess again
    entropy H        ->  its gradient  ->  its derivative in a direction
    Renyi entropies  ->  differences of P at two sets of scores
    log p(t)         ->  indicators of t's arcs minus P
    log evidence     ->  P under the condition minus P
    KL(p || q)       ->  in p, Hess_p (s_p - s_q); in q, P_q - P_p

All these second and third derivatives are symmetric, so one computation serves both forward and
reverse mode. Any higher derivative raises an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from arborand import expectations, inference, values
from arborand.values import NEAR_ONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arborand.values import Values

# An array of whatever framework.
Array = Any


class Front(Protocol):
    """What the rules need from a framework: array arithmetic, these functions, all operations."""

    def where(self, condition: Array, first: Array, second: Array | float) -> Array:
        """Choose entry by entry, as NumPy does."""

    def is_arc(self, log_weights: Array, lengths: Array) -> Array:
        """Mark the arcs: not in column 0, on the diagonal, in padding, or at scores of -inf."""

    def sums_over_trees(self, values: Array, heads: Array) -> Array:
        """Add up values (*batch, m, m) over the arcs of each tree: (*draws, *batch)."""

    def sums_over_arcs(self, weights: Array, heads: Array, like: Array) -> Array:
        """Add up weights (*draws, *batch) over the trees that contain each arc, shaped `like`."""

    def __getattr__(self, name: str) -> Callable[..., Array]:
        """Return an operation of the table, with derivatives."""


class Answer(Enum):
    """What each number of an operation's answer belongs to."""

    GRAPH = "graph"  # the shape of the batch
    ARC = "arc"  # the shape of the scores
    TREE = "tree"  # the shape of the heads without their last axis, broadcast with the batch
    ENTRY = "entry"  # the shape of the first array


# ---- rules: the derivative of an answer with respect to one argument, in both modes


@dataclass(frozen=True)
class Gradient:
    """The answer is a number per graph; its derivative is an array over arcs.

    Attributes
    ----------
    of : str or callable
        The operation that computes the gradient from the same arguments, or a function of the front
        and the call.
    with_value : callable, optional
        Computes value and gradient together, with NumPy, faster than one after the other.
    """

    of: str | Callable[..., Array]
    with_value: Callable[..., tuple[Values, Values]] | None = None

    def gradient(self, front: Front, call: Call) -> Array:
        """Compute the gradient."""
        if isinstance(self.of, str):
            return getattr(front, self.of)(*call.arguments)
        return self.of(front, call)

    def forward(self, front: Front, tangent: Array, call: Call) -> Array:
        """Return the tangent of the answer."""
        return along(front, self.gradient(front, call), tangent, call.scores, call.lengths)

    def reverse(self, front: Front, cotangent: Array, call: Call) -> Array:
        """Return the cotangent of the argument."""
        return cotangent[..., None, None] * self.gradient(front, call)


@dataclass(frozen=True)
class Direction:
    """The derivative in a direction is a symmetric linear map: the same in both modes.

    Attributes
    ----------
    of : callable
        A function of the front, the direction and the arguments.
    is_linear : bool
        Whether the answer is linear in this argument, which `of` then does not read.
    """

    of: Callable[..., Array]
    is_linear: bool = False

    def forward(self, front: Front, tangent: Array, call: Call) -> Array:
        """Return the tangent of the answer."""
        return self.of(front, tangent, *call.arguments)

    reverse = forward


@dataclass(frozen=True)
class ArcsOfTrees:
    """The answer is a number per tree; its derivative is the tree's arc indicators minus P.

    A tree outside the support has the constant answer -inf, which contributes nothing to a
    derivative.
    """

    def forward(self, front: Front, tangent: Array, call: Call) -> Array:
        """Return the tangent of the answer."""
        log_weights, heads, *rest, _ = call.arguments
        marginals = front.arc_marginals(log_weights, *rest)
        mean = along(front, marginals, tangent, log_weights, call.lengths)
        return front.where(
            call.answer == -math.inf, 0.0, front.sums_over_trees(tangent, heads) - mean
        )

    def reverse(self, front: Front, cotangent: Array, call: Call) -> Array:
        """Return the cotangent of the argument."""
        log_weights, heads, *rest, _ = call.arguments
        weights = front.where(call.answer == -math.inf, 0.0, cotangent)
        marginals = front.arc_marginals(log_weights, *rest)
        draws = tuple(range(weights.ndim - marginals.ndim + 2))
        total = weights.sum(draws) if draws else weights
        return front.sums_over_arcs(weights, heads, marginals) - total[..., None, None] * marginals


@dataclass(frozen=True)
class Refused:
    """There is no derivative: the chain ends here."""

    what: str

    def forward(self, front: Front, tangent: Array, call: Call) -> Array:
        """Raise an error that says so."""
        raise NotImplementedError(
            f"{self.what}: log_partition, log_prob and log_evidence have derivatives up to third "
            "order, marginals, entropy and kl_divergence up to second order, variances and "
            "covariances only first order; stop the gradient of the scores in the term that "
            "exceeds this"
        )

    reverse = forward


Rule = Gradient | Direction | ArcsOfTrees | Refused


@dataclass(frozen=True)
class Call:
    """One call of an operation, and the argument by which it is differentiated."""

    operation: Operation
    place: int
    arguments: Sequence[Any]
    answer: Array

    @property
    def scores(self) -> Array:
        """The argument itself."""
        return self.arguments[self.place]

    @property
    def lengths(self) -> Array:
        """The lengths that go with it."""
        return self.arguments[len(self.operation.rules) + self.place]


def along(
    front: Front, gradient: Array, tangent: Array, log_weights: Array, lengths: Array
) -> Array:
    """Sum gradient times tangent over arcs; tangents elsewhere are ignored, whatever they hold.

    The gradient is read everywhere: where it is 0, its own derivative need not be.
    """
    return (gradient * front.where(front.is_arc(log_weights, lengths), tangent, 0.0)).sum((-1, -2))


# ---- operations


@dataclass(frozen=True)
class Operation:
    """A computation, and its derivative with respect to each array that it takes.

    Attributes
    ----------
    name : str
    answer : Answer
        What each number of the answer belongs to.
    compute : callable
        Takes the arrays, the lengths and the rest, and returns an array.
    rules : mapping
        The name of each array, and its rule; None if its entries are not real numbers.
    lengths : tuple of str
        The names of the lengths, one for each array of scores, in the same order.
    rest : mapping
        The names and types of the arguments that are not arrays.
    keeps_answer : bool
        Whether derivatives use the answer.
    infinite : str
        If not empty: why an infinite answer has no derivative, with {} for its index.
    """

    name: str
    answer: Answer
    compute: Callable[..., Values]
    rules: Mapping[str, Rule | None]
    lengths: tuple[str, ...] = ("lengths",)
    rest: Mapping[str, type] = field(default_factory=lambda: {"kind": int, "workers": int})
    keeps_answer: bool = False
    infinite: str = ""

    @property
    def with_gradient(self) -> Callable[..., tuple[Values, Values]] | None:
        """The function that computes value and gradient together, if there is one."""
        first = next(iter(self.rules.values()))
        return first.with_value if isinstance(first, Gradient) else None

    def tangent(
        self, front: Front, tangents: Sequence[Array], arguments: Sequence[Any], answer: Array
    ) -> Array:
        """Return the tangent of the answer, or None; constant arrays have the tangent None.

        The answer is only read if it is needed.
        """
        total = None
        for place, (rule, tangent) in enumerate(zip(self.rules.values(), tangents, strict=False)):
            if rule is not None and tangent is not None:
                part = rule.forward(front, tangent, Call(self, place, arguments, answer))
                total = part if total is None else total + part
        return total if total is None else self._finite(front, total, answer)

    def cotangents(
        self,
        front: Front,
        cotangent: Array,
        is_wanted: Sequence[bool],
        arguments: Sequence[Any],
        answer: Array,
    ) -> list[Array]:
        """Return the cotangent of each array, or None if it is not wanted."""
        cotangent = self._finite(front, cotangent, answer)
        return [
            rule.reverse(front, cotangent, Call(self, place, arguments, answer))
            if rule is not None and wanted
            else None
            for place, (rule, wanted) in enumerate(
                zip(self.rules.values(), is_wanted, strict=False)
            )
        ]

    def _finite(self, front: Front, numbers: Array, answer: Array) -> Array:
        if not self.infinite:
            return numbers
        return front.checked(numbers, answer == math.inf, self.infinite)


# ---- derivatives that need more than one operation


def _divergence_in_first(front: Front, call: Call) -> Array:
    log_weights, other, lengths, _, kind, _, workers = call.arguments
    # If the divergence is finite, no tree has an arc that only one of the two allows.
    is_arc = (log_weights > -math.inf) & (other > -math.inf)
    gap = front.where(is_arc, log_weights, 0.0) - front.where(is_arc, other, 0.0)
    return front.arc_covariances(log_weights, gap, lengths, kind, workers)


def _divergence_in_second(front: Front, call: Call) -> Array:
    log_weights, other, lengths, other_lengths, kind, other_kind, workers = call.arguments
    theirs = front.arc_marginals(other, other_lengths, other_kind, workers)
    return theirs - front.arc_marginals(log_weights, lengths, kind, workers)


def _evidence_gradient(front: Front, call: Call) -> Array:
    log_weights, allowed, *rest = call.arguments
    # A condition that no tree meets has the constant answer -inf: forbid nothing instead, so that
    # the difference below is 0.
    allowed = allowed | (call.answer == -math.inf)[..., None, None]
    left = front.where(allowed, log_weights, -math.inf)
    return front.arc_marginals(left, *rest) - front.arc_marginals(log_weights, *rest)


def _renyi_direction(front: Front, direction: Array, log_weights: Array, *rest: Any) -> Array:
    *graph, order = rest
    if order == 0.0:
        return 0.0 * front.arc_covariances(log_weights, direction, *graph)
    if abs(order - 1.0) < NEAR_ONE:
        middle = 0.5 * (order + 1.0)
        return order * front.entropy_gradient_tangents(middle * log_weights, direction, *graph)
    sharpened = front.arc_covariances(order * log_weights, direction, *graph)
    plain = front.arc_covariances(log_weights, direction, *graph)
    return order / (1.0 - order) * (order * sharpened - plain)


# ---- the table

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation(
            "log_partition",
            Answer.GRAPH,
            values.log_partition,
            {"log_weights": Gradient("arc_marginals", values.log_partition_with_gradient)},
        ),
        Operation(
            "arc_marginals",
            Answer.ARC,
            values.over_arcs(inference.arc_marginals),
            {"log_weights": Direction(lambda to, v, s, *rest: to.arc_covariances(s, v, *rest))},
        ),
        Operation(
            "arc_covariances",
            Answer.ARC,
            values.over_arcs(expectations.arc_covariances),
            {
                "log_weights": Direction(
                    lambda to, w, s, v, *rest: to.arc_cumulants(s, v, w, *rest)
                ),
                "direction": Direction(
                    lambda to, w, s, v, *rest: to.arc_covariances(s, w, *rest), is_linear=True
                ),
            },
        ),
        Operation(
            "arc_cumulants",
            Answer.ARC,
            values.over_arcs(expectations.arc_cumulants),
            {
                "log_weights": Refused("log Z is differentiated for the fourth time"),
                "direction": Direction(
                    lambda to, w, s, v, u, *rest: to.arc_cumulants(s, w, u, *rest), is_linear=True
                ),
                "other": Direction(
                    lambda to, w, s, v, u, *rest: to.arc_cumulants(s, v, w, *rest), is_linear=True
                ),
            },
        ),
        Operation(
            "entropy",
            Answer.GRAPH,
            values.entropy,
            {"log_weights": Gradient("entropy_gradient", values.entropy_with_gradient)},
        ),
        Operation(
            "entropy_gradient",
            Answer.ARC,
            values.over_arcs(inference.entropy_gradient),
            {
                "log_weights": Direction(
                    lambda to, v, s, *rest: to.entropy_gradient_tangents(s, v, *rest)
                )
            },
        ),
        Operation(
            "entropy_gradient_tangents",
            Answer.ARC,
            values.over_arcs(expectations.entropy_gradient_tangents),
            {
                "log_weights": Refused("the entropy is differentiated for the third time"),
                "direction": Direction(
                    lambda to, w, s, v, *rest: to.entropy_gradient_tangents(s, w, *rest),
                    is_linear=True,
                ),
            },
        ),
        Operation(
            "renyi_entropy",
            Answer.GRAPH,
            values.renyi_entropy,
            {"log_weights": Gradient("renyi_entropy_gradient")},
            rest={"kind": int, "workers": int, "order": float},
        ),
        Operation(
            "renyi_entropy_gradient",
            Answer.ARC,
            values.renyi_entropy_gradient,
            {"log_weights": Direction(_renyi_direction)},
            rest={"kind": int, "workers": int, "order": float},
        ),
        Operation(
            "log_prob",
            Answer.TREE,
            values.log_prob,
            {"log_weights": ArcsOfTrees(), "heads": None},
            rest={"kind": int, "workers": int, "name": str},
            keeps_answer=True,
        ),
        Operation(
            "log_evidence",
            Answer.GRAPH,
            values.log_evidence,
            {"log_weights": Gradient(_evidence_gradient), "allowed": None},
            keeps_answer=True,
        ),
        Operation(
            "kl_divergence",
            Answer.GRAPH,
            values.kl_divergence,
            {
                "log_weights": Gradient(_divergence_in_first),
                "other": Gradient(_divergence_in_second),
            },
            lengths=("lengths", "other_lengths"),
            rest={"kind": int, "other_kind": int, "workers": int},
            keeps_answer=True,
            infinite="kl_divergence{} is infinite, and has no derivative: the first distribution "
            "has trees that the second does not allow",
        ),
        # The identity, with an error if something is wrong: raised when the operation runs, or when
        # only a derivative of it does.
        Operation(
            "checked",
            Answer.ENTRY,
            values.checked,
            {
                "numbers": Direction(
                    lambda to, v, numbers, *rest: to.checked(v, *rest), is_linear=True
                ),
                "is_wrong": None,
            },
            lengths=(),
            rest={"message": str},
        ),
    )
}
