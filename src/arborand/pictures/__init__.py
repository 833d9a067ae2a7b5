"""Pictures: trees, marginals and the algorithms themselves, as SVG and HTML in plain strings."""

from arborand.pictures.arcs import arc_diagram
from arborand.pictures.conditioning import ConditioningPicture, conditioning_steps
from arborand.pictures.coverage import coverage_plot
from arborand.pictures.notebook import distribution_html, draws_html
from arborand.pictures.page import Picture, page
from arborand.pictures.terminal import arc_text
from arborand.pictures.walk_pictures import WalkPicture, loop_erased_walk
from arborand.pictures.walks import Walk

__all__ = [
    "ConditioningPicture",
    "Picture",
    "Walk",
    "WalkPicture",
    "arc_diagram",
    "arc_text",
    "conditioning_steps",
    "coverage_plot",
    "distribution_html",
    "draws_html",
    "loop_erased_walk",
    "page",
]
