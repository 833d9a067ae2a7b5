"""A small plot: how much of the probability the first distinct trees of a draw cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.pictures.arcs import BLUE, FONT_FAMILY, GREY
from arborand.pictures.markup import escape, percent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_WIDTH, _HEIGHT = 300, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 20, 34


def coverage_plot(log_prob: ArrayLike, *, exhausted: bool = False) -> str:
    r"""Plot the covered mass over the number of distinct trees, in the order of their draw.

    Parameters
    ----------
    log_prob : array_like, shape (K,)
        The log-probabilities of distinct trees, as `Draws` has them.
    exhausted : bool
        Whether these are all the trees there are.

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
    total = float(covered[-1]) if count else 0.0
    if total > 1.0 - 1e-12:  # the sum of rounded probabilities
        total = 1.0
    trees = "1 tree covers" if count == 1 else f"{count} trees cover"
    summary = f"{trees} {percent(total)} of the probability"
    if exhausted:
        summary += "; there are no others"
    # A scale up to 100 % shows nothing of a long sentence, of which a draw covers next to nothing.
    highest = 1.0 if total >= 0.2 or total == 0.0 else total
    right, ground = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def across(number: float) -> float:
        return _LEFT + (right - _LEFT) * number / max(count, 1)

    def up(share: float) -> float:
        return ground - (ground - _TOP) * share / highest

    steps = "".join(
        f"V{up(float(share)):.1f}H{across(number):.1f}" for number, share in enumerate(covered, 1)
    )
    line = f"M{across(0):.1f} {up(0):.1f}{steps}"
    marks = {0.0: "0"}
    marks |= {0.5: "50\u00a0%", 1.0: "100\u00a0%"} if highest == 1.0 else {highest: percent(total)}
    grid = "".join(
        f'<path class="grid" d="M{_LEFT} {up(share):.1f}H{right}" stroke="#d5dade"/>'
        f'<text class="label" x="{_LEFT - 6}" y="{up(share) + 4:.1f}" text-anchor="end">'
        f"{escape(words)}</text>"
        for share, words in marks.items()
    )
    numbers = sorted({1, (count + 1) // 2, count}) if count else []
    ticks = "".join(
        f'<text class="label" x="{across(number - 0.5):.1f}" y="{ground + 15}" '
        f'text-anchor="middle">{number}</text>'
        for number in numbers
    )
    return (
        f'<svg class="coverage" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(summary)}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="{FONT_FAMILY}" font-size="11" '
        f'fill="{GREY}"><rect class="paper" width="100%" height="100%" fill="#fff"/>{grid}{ticks}'
        f'<path class="area" d="{line}V{up(0):.1f}z" fill="{BLUE}" fill-opacity="0.14"/>'
        f'<path class="line" d="{line}" fill="none" stroke="{BLUE}" stroke-width="1.8"/>'
        f'<text class="label" x="{(_LEFT + right) / 2:.1f}" y="{_HEIGHT - 4}" '
        f'text-anchor="middle">distinct trees, in the order drawn</text>'
        f'<text class="label" x="{right}" y="12" text-anchor="end">{escape(percent(total))} '
        f"covered</text></svg>"
    )
