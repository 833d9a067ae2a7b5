"""The one list of kinds of tree: what they are called, and what the core calls them."""

from __future__ import annotations

from enum import IntEnum


class TreeKind(IntEnum):
    """Which trees of a graph are meant; numbered as ``enum class TreeKind`` in the core."""

    SPANNING = 0
    DEPENDENCY = 1
    PROJECTIVE_SPANNING = 2
    PROJECTIVE_DEPENDENCY = 3

    @property
    def noun(self) -> str:
        """What messages call a tree of this kind."""
        return f"{self.name.lower().replace('_', ' ')} tree"

    @property
    def has_single_root(self) -> bool:
        """Whether exactly one arc leaves the root."""
        return self in (TreeKind.DEPENDENCY, TreeKind.PROJECTIVE_DEPENDENCY)

    @property
    def is_projective(self) -> bool:
        """Whether no two arcs cross when the nodes stand in a line, the root first."""
        return self in (TreeKind.PROJECTIVE_SPANNING, TreeKind.PROJECTIVE_DEPENDENCY)

    @property
    def projective(self) -> TreeKind:
        """The kind of its projective trees."""
        single = self.has_single_root
        return TreeKind.PROJECTIVE_DEPENDENCY if single else TreeKind.PROJECTIVE_SPANNING


def do_cross(arc: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two arcs cross: one end of each lies strictly inside the other."""
    (first, last), (other_first, other_last) = sorted((sorted(arc), sorted(other)))
    return first < other_first < last < other_last
