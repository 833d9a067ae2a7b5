"""Converts the SVG of a picture to PNG and PDF."""

from __future__ import annotations

from importlib.util import find_spec

from arborand.arguments import check_choice
from arborand.errors import ArborandError

_SCALE = 2  # pixels of a PNG for each of the SVG: sharp on paper, too


class FigureError(ArborandError):
    """A picture cannot be written in the requested format."""


def check_figures() -> None:
    """Raise an error if PNG and PDF cannot be written here: before the work, not after."""
    if find_spec("vl_convert") is None:
        raise FigureError("PNG and PDF need vl-convert-python: pip install 'arborand[plot]'")


def figure(svg: str, kind: str) -> bytes:
    """Draw a picture as PNG or PDF.

    Parameters
    ----------
    svg : str
        One SVG element, as the functions of this package return it.
    kind : {"png", "pdf"}

    Returns
    -------
    bytes
        The contents of a file.

    Raises
    ------
    FigureError
        If vl-convert-python is not installed, or `svg` is not an SVG element.

    Examples
    --------
    >>> from arborand.pictures import arc_diagram, figure
    >>> figure(arc_diagram(["Trees", "grow"], heads=[-1, 2, 0]), "pdf")[:4]
    b'%PDF'
    """
    check_choice(kind, "kind", ("png", "pdf"))
    check_figures()
    import vl_convert

    try:
        if kind == "pdf":
            return vl_convert.svg_to_pdf(svg)
        # Some pictures have no background: on a transparent one, black lines might not be seen.
        on_white = svg.replace(">", '><rect width="100%" height="100%" fill="#fff"/>', 1)
        return vl_convert.svg_to_png(on_white, scale=_SCALE)
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]  # a stack trace follows
        raise FigureError(f"svg cannot be drawn: {reason}") from None
