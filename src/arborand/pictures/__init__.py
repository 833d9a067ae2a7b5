"""Pictures: trees and marginals, as SVG and HTML in plain strings."""

from importlib import import_module
from typing import Any
from warnings import warn

from arborand.pictures.arcs import arc_diagram
from arborand.pictures.calibration import calibration_plot
from arborand.pictures.comparison import evaluation_page
from arborand.pictures.coverage import coverage_plot
from arborand.pictures.figures import FigureError, figure
from arborand.pictures.mazes import maze
from arborand.pictures.notebook import distribution_html, draws_html
from arborand.pictures.page import Picture, page
from arborand.pictures.terminal import arc_text

__all__ = [
    "FigureError",
    "Picture",
    "arc_diagram",
    "arc_text",
    "calibration_plot",
    "coverage_plot",
    "distribution_html",
    "draws_html",
    "evaluation_page",
    "figure",
    "maze",
    "page",
]

# What was here in 0.1 and exists because of the paper; the old names go away in version 0.3.
_MOVED = ("ConditioningPicture", "Walk", "WalkPicture", "conditioning_steps", "loop_erased_walk")


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn(
        f"arborand.pictures.{name} is now called arborand.paper.illustrations.{name}; the old name "
        "goes away in version 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(import_module("arborand.paper.illustrations"), name)
