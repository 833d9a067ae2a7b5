"""The exceptions and warnings of arborand.

All exceptions derive from `ArborandError`.  Those about data (weights, trees, the content of a
file) are also a ``ValueError``.  Those about an output that cannot be written, or a run that had to
stop, are not.  Other wrong arguments raise Python's own ``TypeError`` and ``ValueError``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable
from typing import Any

# Modules whose lines no user wrote; torch's wrapper of what it does not compile is among them.
_INSIDE = ("arborand.", "torch._dynamo.")


class ArborandError(Exception):
    """The base class of all errors that arborand raises on purpose."""


class InvalidWeightsError(ArborandError, ValueError):
    """The weights, or their lengths, do not describe a graph."""


class NoTreeError(ArborandError, ValueError):
    """The graph has no tree of the requested kind.

    Attributes
    ----------
    unreachable : tuple of int, or of the labels of a sparse graph's nodes
        The nodes that cannot be reached from the root; empty if all can, but not through a single
        root arc, or not without crossing arcs.  If a condition leaves no tree: the words named in
        the message.
    batch_index : tuple of int
        The position of the graph in the batch; empty for a single graph.
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


class InvalidTreeError(ArborandError, ValueError):
    """An array of heads is not a tree, or an array of labels does not belong to one."""


class SupportExhaustedError(ArborandError, ValueError):
    """More distinct trees were requested than the graph has.

    Attributes
    ----------
    num_trees : int
        The number of trees of the graph.
    """

    def __init__(self, message: str, num_trees: int) -> None:
        super().__init__(message)
        self.num_trees = num_trees

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return type(self), (self.args[0], self.num_trees)


class BiasedSamplerWarning(UserWarning):
    """The draws do not follow the distribution, because the paper's `wilson_rc` was requested."""


class SuspiciousWeightsWarning(UserWarning):
    """The log-weights are valid, but look like something else, such as an adjacency matrix.

    Attributes
    ----------
    finding : str
        What looks wrong, without the name of the argument.
    batch_index : tuple of int
        The position of the graph in the batch; empty for a single graph.
    """

    def __init__(self, message: str, finding: str, batch_index: tuple[int, ...]) -> None:
        super().__init__(message)
        self.finding = finding
        self.batch_index = batch_index

    def __reduce__(self) -> tuple[type, tuple[str, str, tuple[int, ...]]]:
        return type(self), (self.args[0], self.finding, self.batch_index)


class IgnoredDecisionsWarning(UserWarning):
    """Decisions in a file are ignored: no tree agrees with them, or they concern something else."""


class UntestedVersionWarning(UserWarning):
    """The adapter of a parser was not tested with the installed version."""


class WalkTooLongError(ArborandError, RuntimeError):
    """A tree of a sparse graph could not be drawn within the allowed work.

    Attributes
    ----------
    steps : int
        The number of steps that the walks took.
    nodes : tuple
        The labels of the nodes that trapped the walk, the most visited first; empty if all edges
        have the same weight.
    elimination_work : float
        The least number of operations that an exact draw by elimination would take.
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
        A lower bound on the number of operations.
    """

    def __init__(self, message: str, work: float) -> None:
        super().__init__(message)
        self.work = work

    def __reduce__(self) -> tuple[type, tuple[str, float]]:
        return type(self), (self.args[0], self.work)


class PrecisionError(ArborandError, ArithmeticError):
    """A result would have too few correct digits to be useful."""


class FormatError(ArborandError, ValueError):
    """A file does not contain what it should; the message names the file and what to do."""


class SentenceError(ArborandError, ValueError):
    """A sentence of a corpus cannot be used.

    Attributes
    ----------
    sent_id : str
    index : int
        The position of the sentence in the corpus, from 0.
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
    """An output cannot be written, continued or moved into place."""


def warn_caller(warning: Warning) -> None:
    """Warn about the line that called arborand, past what wraps the functions of arborand."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
