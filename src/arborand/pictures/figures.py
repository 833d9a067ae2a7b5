"""Converts an SVG of this package to PNG and PDF, by Chromium or by matplotlib.

Chromium draws what a browser shows.  Without Chromium, matplotlib draws the few kinds of elements
that these pictures consist of.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from arborand.errors import ArborandError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_TIMEOUT = 120  # seconds, for a browser to draw one picture
_SCALE = 2  # pixels of a PNG for each of the SVG: sharp on paper, too
_SVG = "{http://www.w3.org/2000/svg}"


class FigureError(ArborandError):
    """A picture cannot be written in the requested format."""


def find_chromium() -> str | None:
    """Return the path of Chromium: that of $ARBORAND_CHROMIUM, or one in the usual places."""
    named = os.environ.get("ARBORAND_CHROMIUM")
    if named is not None:
        return named or None
    found = (shutil.which(name) for name in _NAMES)
    return next(filter(None, found), next(filter(os.path.exists, _PLACES), None))


def check_figures() -> None:
    """Raise an error if PNG and PDF cannot be written here: before the work, not after."""
    if find_chromium() is None and find_spec("matplotlib") is None:
        raise FigureError(
            "PNG and PDF need matplotlib or Chromium: pip install 'arborand[plot]', or set "
            "$ARBORAND_CHROMIUM to the path of Chromium"
        )


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
        If there is neither Chromium nor matplotlib, or the browser fails.

    Examples
    --------
    >>> from arborand.pictures import arc_diagram, figure
    >>> figure(arc_diagram(["Trees", "grow"], heads=[-1, 2, 0]), "pdf")[:4]
    b'%PDF'
    """
    check_figures()
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    chromium = find_chromium()
    if chromium is not None:
        return _by_chromium(chromium, svg, kind, round(width), round(height))
    return _by_matplotlib(root, kind, width, height)


def _by_chromium(chromium: str, svg: str, kind: str, width: int, height: int) -> bytes:
    with tempfile.TemporaryDirectory(prefix="arborand-") as name:
        folder = Path(name)
        page, target = folder / "picture.html", folder / f"picture.{kind}"
        page.write_text(
            '<!doctype html><meta charset="utf-8"><style>'
            f"@page{{size:{width}px {height}px;margin:0}}body{{margin:0}}svg{{display:block}}"
            f"</style>{svg}",
            encoding="utf-8",
        )
        options = ["--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        options += [f"--user-data-dir={folder / 'profile'}", "--disable-dev-shm-usage"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium has no sandbox for the superuser
        if kind == "png":
            # The frame of the window takes up some of its size, and the window has a minimum width.
            window = f"{max(width, 600)},{height + 300}"
            options += [f"--screenshot={target}", f"--window-size={window}"]
            options.append(f"--force-device-scale-factor={_SCALE}")
        else:
            options += [f"--print-to-pdf={target}", "--no-pdf-header-footer"]
        try:
            done = subprocess.run(
                [chromium, *options, page.as_uri()],
                capture_output=True,
                check=False,
                timeout=_TIMEOUT,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FigureError(f"{chromium} did not draw the picture: {error}") from error
        if not target.exists():
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise FigureError(f"{chromium} did not draw the picture: {(said or ['no reason'])[-1]}")
        content = target.read_bytes()
        return _cropped(content, _SCALE * width, _SCALE * height) if kind == "png" else content


def _cropped(png: bytes, width: int, height: int) -> bytes:
    """Crop a PNG, as browsers write it (8 bits, not interlaced), to its upper left part.

    Each pixel is coded relative to those above and to the left, so the rest can be cut off.
    """
    chunks: list[tuple[bytes, bytes]] = []
    at = 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + size]))
        at += size + 12
    header = dict(chunks)[b"IHDR"]
    whole, _, depth, color, *_, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 8 or color not in (2, 6) or interlaced:
        raise FigureError("the browser wrote a PNG that is not 8-bit RGB or RGBA")
    pixel = 3 if color == 2 else 4
    rows = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    step = 1 + pixel * whole
    kept = b"".join(rows[y * step : y * step + 1 + pixel * width] for y in range(height))
    new = [
        (b"IHDR", struct.pack(">II", width, height) + header[8:]),
        (b"IDAT", zlib.compress(kept)),
        (b"IEND", b""),
    ]
    return png[:8] + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in new
    )


# ---- matplotlib


@dataclass(frozen=True)
class _Style:
    """The attributes that elements of an SVG inherit."""

    fill: str = "#000"
    stroke: str = "none"
    width: float = 1.0
    opacity: float = 1.0
    dashes: tuple[float, ...] = ()
    size: float = 16.0
    anchor: str = "start"
    x: float = 0.0
    y: float = 0.0

    def of(self, element: ElementTree.Element) -> _Style:
        """Return the style of an element inside this one."""
        dashes = element.get("stroke-dasharray")
        moved = re.fullmatch(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)", element.get("transform", ""))
        return replace(
            self,
            fill=element.get("fill", self.fill).replace("currentColor", "#000"),
            stroke=element.get("stroke", self.stroke).replace("currentColor", "#000"),
            width=float(element.get("stroke-width", self.width)),
            opacity=self.opacity * float(element.get("opacity", 1.0)),
            dashes=tuple(map(float, dashes.split())) if dashes else self.dashes,
            size=float(element.get("font-size", self.size)),
            anchor=element.get("text-anchor", self.anchor),
            x=self.x + (float(moved[1]) if moved else 0.0),
            y=self.y + (float(moved[2]) if moved else 0.0),
        )


def _by_matplotlib(root: ElementTree.Element, kind: str, width: float, height: float) -> bytes:
    import io

    from matplotlib.figure import Figure

    # At 72 dots per inch, a point in matplotlib is a unit of the SVG.
    canvas = Figure(figsize=(width / 72, height / 72), dpi=72)
    axes = canvas.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    _draw(axes, root, _Style(), width, height)
    file = io.BytesIO()
    canvas.savefig(file, format=kind, dpi=72 * _SCALE)
    return file.getvalue()


def _draw(
    axes: Any, element: ElementTree.Element, inherited: _Style, width: float, height: float
) -> None:
    style = inherited.of(element)
    name = element.tag.removeprefix(_SVG)
    if name in ("svg", "g"):
        for child in element:
            _draw(axes, child, style, width, height)
    elif name == "text":
        align = {"middle": "center", "end": "right"}.get(style.anchor, "left")
        place = (_number(element, "x") + style.x, _number(element, "y") + style.y)
        axes.text(
            *place,
            (element.text or "").replace("$", r"\$"),
            ha=align,
            va="baseline",
            size=style.size,
            color=style.fill,
            alpha=style.opacity,
        )
    elif name not in ("title", "desc", "style"):
        _draw_shape(axes, element, style, width, height)


def _draw_shape(
    axes: Any, element: ElementTree.Element, style: _Style, width: float, height: float
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    name = element.tag.removeprefix(_SVG)
    if name == "rect":
        x, y = _number(element, "x"), _number(element, "y")
        right = x + (width if element.get("width") == "100%" else _number(element, "width"))
        bottom = y + (height if element.get("height") == "100%" else _number(element, "height"))
        r = min(_number(element, "rx"), (right - x) / 2, (bottom - y) / 2)
        path = _path(
            f"M{x + r} {y}L{right - r} {y}Q{right} {y} {right} {y + r}"
            f"L{right} {bottom - r}Q{right} {bottom} {right - r} {bottom}"
            f"L{x + r} {bottom}Q{x} {bottom} {x} {bottom - r}L{x} {y + r}Q{x} {y} {x + r} {y}z",
            style,
        )
    elif name == "circle":
        x, y = _number(element, "cx") + style.x, _number(element, "cy") + style.y
        path = Outline.circle((x, y), _number(element, "r"))
    elif name == "polyline":
        path = _path("M" + "L".join(element.get("points", "").split()), style)
    else:
        path = _path(element.get("d", ""), style)
    fill_opacity = style.opacity * float(element.get("fill-opacity", 1.0))
    if style.fill != "none":
        axes.add_patch(PathPatch(path, fc=style.fill, ec="none", alpha=fill_opacity))
    if style.stroke != "none":
        drawn = PathPatch(path, fc="none", ec=style.stroke, lw=style.width, alpha=style.opacity)
        if style.dashes:
            drawn.set_linestyle((0, [dash / style.width for dash in style.dashes]))
        axes.add_patch(drawn)


def _number(element: ElementTree.Element, name: str) -> float:
    text = element.get(name, "0")
    return 0.0 if text.endswith("%") else float(text)


def _path(commands: str, style: _Style) -> Any:
    from matplotlib.path import Path as Outline

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    kinds = {"M": Outline.MOVETO, "L": Outline.LINETO, "C": Outline.CURVE4, "Q": Outline.CURVE3}
    for command, added in _steps(commands):
        code = Outline.CLOSEPOLY if command == "z" else kinds[command]
        points += [(x + style.x, y + style.y) for x, y in added]
        codes += [code] * len(added)
    return Outline(points, codes)


def _steps(commands: str) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Read the path data of an SVG as absolute moves, lines and curves."""
    x = y = 0.0
    begin = (0.0, 0.0)
    for letter, text in re.findall(r"([MLHVCQmlhvz])([^MLHVCQmlhvz]*)", commands):
        numbers = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", text)]
        upper = letter.upper()
        if upper == "Z":
            yield "z", [begin]
            x, y = begin
            continue
        step = {"H": 1, "V": 1, "M": 2, "L": 2, "Q": 4, "C": 6}[upper]
        for start in range(0, len(numbers), step):
            part = numbers[start : start + step]
            if upper in "HV":
                back = letter.islower()
                part = (
                    [part[0], 0.0 if back else y] if upper == "H" else [0.0 if back else x, part[0]]
                )
            pairs = list(zip(part[::2], part[1::2], strict=True))
            if letter.islower():
                pairs = [(x + a, y + b) for a, b in pairs]
            x, y = pairs[-1]
            if upper == "M":
                begin = (x, y)
            yield {"H": "L", "V": "L"}.get(upper, upper), pairs
