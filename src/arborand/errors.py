"""The exceptions of arborand, under one root, and its warning.

Errors about data (weights, trees, what a file holds) are also ``ValueError``: each says that a
value was not what it has to be.  Errors about an output that cannot be written, or about a run that
had to stop, are not.  Other arguments raise Python's own ``TypeError`` and ``ValueError``.
"""

from __future__ import annotations


class ArborandError(Exception):
    """The root of all errors that arborand raises on purpose."""


class InvalidWeightsError(ArborandError, ValueError):
    """Weights, or the lengths that go with them, that describe no graph."""


class NoTreeError(ArborandError, ValueError):
    """A graph without a single tree of the kind asked for.

    Attributes
    ----------
    unreachable : tuple of int
        The nodes that cannot be reached from the root; empty if all can, but no single root arc
        reaches them all.  Where a condition leaves no tree: the words that the message speaks of.
    batch_index : tuple of int
        Which graph of the batch it is; empty for a single graph.
    """

    def __init__(
        self, message: str, unreachable: tuple[int, ...] = (), batch_index: tuple[int, ...] = ()
    ) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        self.batch_index = batch_index

    def __reduce__(self) -> tuple[type, tuple[str, tuple[int, ...], tuple[int, ...]]]:
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
