"""The one list of kinds of tree: what they are called, and what the core calls them."""

from __future__ import annotations

from enum import IntEnum


class TreeKind(IntEnum):
    """Which trees of a graph are meant; numbered as ``enum class TreeKind`` in the core."""

    SPANNING = 0
    DEPENDENCY = 1

    @property
    def noun(self) -> str:
        """What messages call a tree of this kind."""
        return f"{self.name.lower()} tree"

    @property
    def has_single_root(self) -> bool:
        """Whether exactly one arc leaves the root."""
        return self is TreeKind.DEPENDENCY
