"""Pictures: trees and marginals, as SVG and HTML in plain strings."""

from arborand.pictures.arcs import arc_diagram
from arborand.pictures.evaluation import evaluation_page
from arborand.pictures.figures import FigureError, figure
from arborand.pictures.mazes import maze
from arborand.pictures.notebook import Display, distribution_html, draws_html
from arborand.pictures.page import page
from arborand.pictures.picture import Picture
from arborand.pictures.plots import calibration_plot, coverage_plot
from arborand.pictures.terminal import arc_text

__all__ = [
    "Display",
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
