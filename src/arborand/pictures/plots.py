"""Two small plots: the probability that draws cover, and the calibration of probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand.pictures.markup import (
    BLUE,
    FONT_FAMILY,
    GREY,
    VERMILION,
    escape,
    percent,
    svg_picture,
    without_rounding,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from arborand.evaluation import Calibration

_SMALLEST_POINT, _LARGEST_POINT = 3.0, 9.0  # radii
_QUANTILE = 1.959963984540054  # of the normal distribution: 97.5 %
_SHARES = {0.0: "0", 0.5: "50\u00a0%", 1.0: "100\u00a0%"}


class _Axes(NamedTuple):
    """The size of a plot, and the edges of its axes, which run from 0 to 1."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def x(self, share: float) -> float:
        return self.left + (self.right - self.left) * share

    def y(self, share: float) -> float:
        return self.bottom - (self.bottom - self.top) * share

    def grid_line(self, share: float, name: str, gap: int) -> str:
        """Draw a horizontal line with its name at the left, `gap` pixels away."""
        return (
            f'<path class="grid" d="M{self.left} {self.y(share):.1f}H{self.right}" '
            f'stroke="#d5dade"/><text class="label" x="{self.left - gap}" '
            f'y="{self.y(share) + 4:.1f}" text-anchor="end">{escape(name)}</text>'
        )


_COVERAGE = _Axes(300, 150, left=64, right=284, top=20, bottom=116)
_CALIBRATION = _Axes(300, 300, left=64, right=272, top=16, bottom=244)


def coverage_plot(log_prob: ArrayLike, *, exhausted: bool = False) -> str:
    r"""Plot the probability covered by the first distinct trees of a draw, one tree after another.

    Parameters
    ----------
    log_prob : array_like, shape (K,)
        The log-probabilities of distinct trees, as `Draws` has them.
    exhausted : bool
        Whether these are all the trees.

    Returns
    -------
    str
        One SVG element, complete in itself.

    Examples
    --------
    >>> "cover 100 %" in coverage_plot(np.log([0.5, 0.3, 0.2])).replace("\xa0", " ")
    True
    """
    covered = np.minimum(np.cumsum(np.exp(np.asarray(log_prob, dtype=np.float64))), 1.0)
    count = len(covered)
    total = without_rounding(float(covered[-1])) if count else 0.0
    trees = "1 tree covers" if count == 1 else f"{count} trees cover"
    summary = f"{trees} {percent(total)} of the probability"
    if exhausted:
        summary += "; there are no others"
    # Draws cover next to nothing of a long sentence, which a scale up to 100 % would not show.
    highest = 1.0 if total >= 0.2 or total == 0.0 else total
    names = _SHARES if highest == 1.0 else {0.0: "0", 1.0: percent(total)}
    axes = _COVERAGE
    steps = "".join(
        f"V{axes.y(float(share) / highest):.1f}H{axes.x(number / count):.1f}"
        for number, share in enumerate(covered, 1)
    )
    line = f"M{axes.x(0):.1f} {axes.y(0):.1f}{steps}"
    grid = "".join(axes.grid_line(share, name, 6) for share, name in names.items())
    numbers = sorted({1, (count + 1) // 2, count}) if count else []
    ticks = "".join(
        f'<text class="label" x="{axes.x((number - 0.5) / count):.1f}" y="{axes.bottom + 15}" '
        f'text-anchor="middle">{number}</text>'
        for number in numbers
    )
    body = (
        f'{grid}{ticks}<path class="area" d="{line}V{axes.y(0):.1f}z" fill="{BLUE}" '
        f'fill-opacity="0.14"/>'
        f'<path class="line" d="{line}" fill="none" stroke="{BLUE}" stroke-width="1.8"/>'
        f'<text class="label" x="{axes.x(0.5):.1f}" y="{axes.height - 4}" '
        f'text-anchor="middle">distinct trees, in the order drawn</text>'
        f'<text class="label" x="{axes.right}" y="12" text-anchor="end">{escape(percent(total))} '
        f"covered</text>"
    )
    font = f' font-size="11" fill="{GREY}"'
    return svg_picture("coverage", summary, axes.width, axes.height, body, font)


def wilson_interval(num_right: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % score interval for a share.

    Examples
    --------
    >>> [round(float(x), 4) for x in wilson_interval(8, 10)], wilson_interval(0, 4)[0]
    ([0.4902, 0.9433], 0.0)
    """
    share, square = num_right / count, _QUANTILE**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    spread = share * (1 - share) / count + square / (4 * count * count)
    half = _QUANTILE * math.sqrt(spread) / (1 + square / count)
    return max(0.0, middle - half) if num_right else 0.0, min(1.0, middle + half)


def calibration_plot(calibration: Calibration) -> str:
    """Plot the share of arcs that are right against their probability: a reliability diagram.

    A point stands for the arcs of a bin; the more arcs, the larger the point.  On the diagonal,
    probabilities are calibrated.  A point below it stands for arcs that are right less often than
    predicted.  The line through a point is Wilson's 95 % interval for the share, as if the arcs of
    the bin were independent; those of a sentence are not, so the interval is a little too short.

    Parameters
    ----------
    calibration : arborand.evaluation.Calibration
        The calibration of one graph, or of several added up.

    Returns
    -------
    str
        One SVG element, complete in itself.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> from arborand.evaluation import evaluate
    >>> trees = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> calibration_plot(evaluate(trees, [-1, 2, 0]).calibration).count("<circle")
    2
    """
    axes = _CALIBRATION
    grid = "".join(
        f'{axes.grid_line(share, name, 12)}<text class="label" x="{axes.x(share):.1f}" '
        f'y="{axes.bottom + 22}" text-anchor="middle">{name}</text>'
        for share, name in _SHARES.items()
    )
    points = []
    most = np.log1p(max(1, int(calibration.num_arcs.max(initial=0))))
    for _, _, count, num_right, mean, share in calibration.bins():
        if not count:
            continue
        size = float(np.log1p(count) / most)
        radius = _SMALLEST_POINT + (_LARGEST_POINT - _SMALLEST_POINT) * size
        low, high = wilson_interval(num_right, count)
        told = (
            f"{count:,} arc{'s' if count > 1 else ''} with a probability of {percent(mean)} on "
            f"average: {num_right:,} right ({percent(share)}; 95\u00a0% interval {percent(low)} to "
            f"{percent(high)})"
        )
        points.append(
            f'<path class="interval" d="M{axes.x(mean):.1f} {axes.y(low):.1f}V{axes.y(high):.1f}" '
            f'stroke="{BLUE}" stroke-width="1.6"/>'
            f'<circle cx="{axes.x(mean):.1f}" cy="{axes.y(share):.1f}" r="{radius:.1f}" '
            f'fill="{BLUE}" fill-opacity="0.6"><title>{escape(told)}</title></circle>'
        )
    middle = (axes.top + axes.bottom) / 2
    title = "How many arcs of each probability are right"
    description = (
        "From left to right the probability of arcs, from bottom to top the share of them that is "
        "right, with its interval of 95 %. Points on the dashed diagonal stand for calibrated "
        "probabilities."
    )
    return (
        f'<svg class="calibration" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{axes.width}" height="{axes.height}" viewBox="0 0 {axes.width} {axes.height}" '
        f'font-family="{FONT_FAMILY}" font-size="11" fill="{GREY}">'
        f"<title>{title}</title><desc>{description}</desc>"
        f'<rect class="paper" width="100%" height="100%" fill="#fff"/>{grid}'
        f'<path class="diagonal" d="M{axes.left} {axes.bottom}L{axes.right} {axes.top}" '
        f'stroke="{VERMILION}" stroke-dasharray="4 3"/>{"".join(points)}'
        f'<text class="label" x="{axes.x(0.5):.1f}" y="{axes.height - 16}" '
        f'text-anchor="middle">probability of an arc</text>'
        f'<text class="label" x="14" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle:.1f})">share of right arcs</text></svg>'
    )
