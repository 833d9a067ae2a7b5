"""The paper's illustrations, drawn from actual runs: a loop-erased walk, and conditioning."""

from arborand.paper.illustrations.conditioning import ConditioningPicture, conditioning_steps
from arborand.paper.illustrations.walks import Walk
from arborand.paper.illustrations.walks_on_graphs import WalkPicture, loop_erased_walk
from arborand.paper.illustrations.walks_on_grids import GridWalk, grid_walk

__all__ = [
    "ConditioningPicture",
    "GridWalk",
    "Walk",
    "WalkPicture",
    "conditioning_steps",
    "grid_walk",
    "loop_erased_walk",
]
