"""A small plot: how many arcs of each probability are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.pictures.arcs import BLUE, FONT_FAMILY, GREY, VERMILION
from arborand.pictures.markup import escape, percent

if TYPE_CHECKING:
    from arborand.evaluation import Calibration

_SIZE = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 28, 16, 56
_SMALLEST, _LARGEST = 3.0, 9.0
_MARKS = {0.0: "0", 0.5: "50\u00a0%", 1.0: "100\u00a0%"}


def calibration_plot(calibration: Calibration) -> str:
    """Plot the share of right arcs over their probability.

    A point stands for the arcs of a bin; the more arcs, the larger.  On the diagonal, probabilities
    mean what they say.  A point below it stands for arcs that are right less often than promised.

    Parameters
    ----------
    calibration : arborand.evaluation.Calibration
        Of one graph, or added up.

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
    right, ground = _SIZE - _RIGHT, _SIZE - _BOTTOM

    def across(share: float) -> float:
        return _LEFT + (right - _LEFT) * share

    def up(share: float) -> float:
        return ground - (ground - _TOP) * share

    grid = "".join(
        f'<path class="grid" d="M{_LEFT} {up(share):.1f}H{right}" stroke="#d5dade"/>'
        f'<text class="label" x="{_LEFT - 12}" y="{up(share) + 4:.1f}" text-anchor="end">'
        f"{words}</text>"
        f'<text class="label" x="{across(share):.1f}" y="{ground + 22}" text-anchor="middle">'
        f"{words}</text>"
        for share, words in _MARKS.items()
    )
    points = []
    most = np.log1p(max(1, int(calibration.num_arcs.max(initial=0))))
    for _, _, count, number_right, mean, share in calibration.bins():
        if not count:
            continue
        radius = _SMALLEST + (_LARGEST - _SMALLEST) * float(np.log1p(count) / most)
        told = (
            f"{count:,} arcs with a probability of {percent(mean)} on average: "
            f"{number_right:,} are right ({percent(share)})"
        )
        points.append(
            f'<circle cx="{across(mean):.1f}" cy="{up(share):.1f}" r="{radius:.1f}" '
            f'fill="{BLUE}" fill-opacity="0.6"><title>{escape(told)}</title></circle>'
        )
    middle = (_TOP + ground) / 2
    title = "How many arcs of each probability are right"
    description = (
        "From left to right the probability of arcs, from bottom to top the share of them that is "
        "right. Points on the dashed diagonal stand for probabilities that mean what they say."
    )
    return (
        f'<svg class="calibration" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{_SIZE}" height="{_SIZE}" viewBox="0 0 {_SIZE} {_SIZE}" '
        f'font-family="{FONT_FAMILY}" font-size="11" fill="{GREY}">'
        f"<title>{title}</title><desc>{description}</desc>"
        f'<rect class="paper" width="100%" height="100%" fill="#fff"/>{grid}'
        f'<path class="diagonal" d="M{_LEFT} {ground}L{right} {_TOP}" '
        f'stroke="{VERMILION}" stroke-dasharray="4 3"/>{"".join(points)}'
        f'<text class="label" x="{(_LEFT + right) / 2:.1f}" y="{_SIZE - 16}" '
        f'text-anchor="middle">probability of an arc</text>'
        f'<text class="label" x="14" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle:.1f})">share of right arcs</text></svg>'
    )
