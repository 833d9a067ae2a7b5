"""The paper's illustrations, drawn from actual runs: a loop-erased walk, and conditioning."""

from arborand.paper.illustrations.conditioning import ConditioningPicture, conditioning_steps
from arborand.paper.illustrations.grid_walks import GridWalk, grid_walk
from arborand.paper.illustrations.walk_pictures import WalkPicture, loop_erased_walk
from arborand.paper.illustrations.walks import Walk

__all__ = [
    "ConditioningPicture",
    "GridWalk",
    "Walk",
    "WalkPicture",
    "conditioning_steps",
    "grid_walk",
    "loop_erased_walk",
]
