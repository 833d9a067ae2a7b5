"""The exceptions of arborand, under one root, and its warnings.

Errors about data (weights, trees, what a file holds) are also ``ValueError``: each says that a
value was not what it has to be.  Errors about an output that cannot be written, or about a run that
had to stop, are not.  Other arguments raise Python's own ``TypeError`` and ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


class ArborandError(Exception):
    """The root of all errors that arborand raises on purpose."""


class InvalidWeightsError(ArborandError, ValueError):
    """Weights, or the lengths that go with them, that describe no graph."""


class NoTreeError(ArborandError, ValueError):
    """A graph without a single tree of the kind asked for.

    Attributes
    ----------
    unreachable : tuple of int, or of the labels of a sparse graph's nodes
        The nodes that cannot be reached from the root; empty if all can, but no single root arc
        reaches them all.  Where a condition leaves no tree: the words that the message speaks of.
    batch_index : tuple of int
        Which graph of the batch it is; empty for a single graph.
    """

    def __init__(
        self,
        message: str,
        unreachable: tuple[Any, ...] = (),
        batch_index: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        self.batch_index = batch_index

    def __reduce__(self) -> tuple[type, tuple[str, tuple[Any, ...], tuple[int, ...]]]:
        return type(self), (self.args[0], self.unreachable, self.batch_index)


class InvalidTreeError(ArborandError, ValueError):
    """An array of heads that is not a tree."""


class SupportExhaustedError(ArborandError, ValueError):
    """More distinct trees were asked for than the graph has.

    Attributes
    ----------
    num_trees : int
        How many trees the graph has.
    """

    def __init__(self, message: str, num_trees: int) -> None:
        super().__init__(message)
        self.num_trees = num_trees

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (self.args[0], self.num_trees)


class BiasedSamplerWarning(UserWarning):
    """The draws asked for do not follow the distribution: the paper's `wilson_rc`."""


class SuspiciousWeightsWarning(UserWarning):
    """Log-weights that are sound, but look like something else: padding, an adjacency matrix.

    Attributes
    ----------
    finding : str
        What is odd, without the name of the argument.
    batch_index : tuple of int
        The graph's place in the batch; empty for a single graph.
    """

    def __init__(self, message: str, finding: str, batch_index: tuple[int, ...]) -> None:
        super().__init__(message)
        self.finding = finding
        self.batch_index = batch_index

    def __reduce__(self) -> tuple[type, tuple[str, str, tuple[int, ...]]]:
        return type(self), (self.args[0], self.finding, self.batch_index)


class IgnoredDecisionsWarning(UserWarning):
    """Decisions of a file are ignored: no tree has them, or they are about something else."""


class UntestedVersionWarning(UserWarning):
    """A parser's version with which its adapter was not tested."""


class WalkTooLongError(ArborandError, RuntimeError):
    """A tree of a sparse graph could not be drawn with the work allowed.

    Attributes
    ----------
    steps : int
        How many steps the walks of the draw took.
    nodes : tuple
        The labels of the nodes that caught the walk, the most visited first.
    elimination_work : float
        The operations that an exact draw by elimination would take, at least.
    """

    def __init__(
        self, message: str, steps: int, nodes: tuple[Hashable, ...], elimination_work: float
    ) -> None:
        super().__init__(message)
        self.steps = steps
        self.nodes = nodes
        self.elimination_work = elimination_work

    def __reduce__(self) -> tuple[type, tuple[str, int, tuple[Hashable, ...], float]]:
        return type(self), (self.args[0], self.steps, self.nodes, self.elimination_work)


class TooMuchWorkError(ArborandError, RuntimeError):
    """Elimination of a sparse graph would take more work than allowed.

    Attributes
    ----------
    work : float
        The operations that it would take; a lower bound.
    """

    def __init__(self, message: str, work: float) -> None:
        super().__init__(message)
        self.work = work

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return type(self), (self.args[0], self.work)


class PrecisionError(ArborandError, ArithmeticError):
    """A result would have too few correct digits to be of use."""


class FormatError(ArborandError, ValueError):
    """A file that does not hold what it should; the message names the file and what to do."""


class SentenceError(ArborandError, ValueError):
    """One sentence of a corpus that cannot be used.

    Attributes
    ----------
    sent_id : str
    index : int
        The sentence's place in the corpus, from 0.
    reason : str
    """

    def __init__(self, sent_id: str, index: int, reason: str) -> None:
        super().__init__(f"sentence {sent_id!r} (number {index + 1}): {reason}")
        self.sent_id = sent_id
        self.index = index
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[str, int, str]]:
        return type(self), (self.sent_id, self.index, self.reason)


class OutputError(ArborandError):
    """An output that cannot be written, continued or put in its place."""
