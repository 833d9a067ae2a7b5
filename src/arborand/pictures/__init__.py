"""Pictures: trees, marginals and the algorithms themselves, as SVG and HTML in plain strings."""

from arborand.pictures.arcs import arc_diagram
from arborand.pictures.coverage import coverage_plot
from arborand.pictures.page import Picture, page

__all__ = ["Picture", "arc_diagram", "coverage_plot", "page"]
