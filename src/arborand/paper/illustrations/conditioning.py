"""The ancestral sampler step by step, as in the paper's figure of graphs (a) to (e).

The head of each word is drawn in turn, given the heads drawn before.  A panel shows the graph
before one of these draws.  Candidates are dashed, with their conditional probabilities; arcs that
are already drawn are solid; arcs of later words are faint.  Unlike in the paper, arcs that are no
longer possible, because they would close a cycle or be a second root arc, are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand.distributions import DependencyTrees, SpanningTrees
from arborand.paper.illustrations.graph_drawing import GraphDrawing, Line, check_labels, quoted
from arborand.paper.illustrations.steps import Step, steps_page
from arborand.pictures.markup import GREY, brief_percent, escape, percent, svg_picture, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from arborand.randomness import Seed

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_ROW_WIDTH = 1500
_CAPTION_ROOM = 34
_CROWDED = 7  # with more nodes, candidates below 1 % get no label
_KEY = (
    "Dashed: the candidates, with their probabilities given what was drawn before. Solid: drawn. "
    "Faint: still possible."
)


@dataclass(frozen=True, eq=False)
class ConditioningPicture:
    """A draw of the ancestral sampler and its pictures.

    Attributes
    ----------
    labels : tuple of str
        The names of all nodes, the root first.
    heads : ndarray of int32, shape (n + 1,)
        The drawn tree.
    marginals : ndarray of float64, shape (n + 1, n + 1, n + 1)
        ``marginals[k]`` are the arc probabilities given the heads of words 1 to k.
    log_prob : float
        The log-probability of the tree: the sum of those of its heads, each given the earlier ones.
    """

    labels: tuple[str, ...]
    heads: NDArray[np.int32]
    marginals: NDArray[np.float64]
    log_prob: float

    @property
    def conditionals(self) -> NDArray[np.float64]:
        """The probability with which each word's head was drawn, shape (n,)."""
        words = np.arange(1, len(self.heads))
        answer: NDArray[np.float64] = self.marginals[words - 1, self.heads[1:], words]
        return answer

    @property
    def svg(self) -> str:
        """All panels in one SVG: (a) the graph, and one more for each head that is drawn."""
        drawing = GraphDrawing(self.labels)
        count = len(self.heads)
        across = max(1, min(count, int(_ROW_WIDTH // drawing.width)))
        across = math.ceil(count / math.ceil(count / across))  # rows of about the same length
        width = max(across * drawing.width, text_width(_KEY, 13) + 24)
        panel_height = drawing.height + _CAPTION_ROOM
        height = math.ceil(count / across) * panel_height + 28
        panels = []
        for k in range(count):
            x, y = (k % across) * drawing.width, (k // across) * panel_height
            body = drawing.body(self._lines(k), filled=range(1, k + 1), current=k + 1)
            panels.append(
                f'<g transform="translate({x:.1f} {y:.1f})">{body}'
                f'<text class="heading" x="{drawing.width / 2:.1f}" y="{drawing.height + 16:.1f}" '
                f'text-anchor="middle" font-size="14" fill="{GREY}">'
                f"{escape(self._brief_caption(k))}</text></g>"
            )
        panels.append(
            f'<text class="heading" x="12" y="{height - 10:.1f}" font-size="13" fill="{GREY}">'
            f"{escape(_KEY)}</text>"
        )
        label = " ".join(self._caption(k) for k in range(count))
        return svg_picture("conditioning", label, width, height, "".join(panels))

    @property
    def html(self) -> str:
        """A page that shows the panels one at a time."""
        drawing = GraphDrawing(self.labels)
        steps = []
        for k in range(len(self.heads)):
            caption = self._caption(k)
            svg = drawing.svg(self._lines(k), label=caption, filled=range(1, k + 1), current=k + 1)
            steps.append(Step(svg, caption))
        return steps_page(
            "A tree drawn head by head",
            "The ancestral sampler draws the head of each word in turn, each from its exact "
            "distribution given the heads drawn before.",
            steps,
        )

    def _repr_html_(self) -> str:
        return self.svg

    def _lines(self, k: int) -> list[Line]:
        """List the arrows of panel k, before the head of word k + 1 is drawn."""
        lines = []
        for head, dependent in np.argwhere(self.marginals[k] > 0).tolist():
            drawn = int(self.heads[dependent])
            probability = float(self.marginals[k][head, dependent])
            chance = brief_percent(probability)
            if dependent <= k:
                name = f"e{dependent}".translate(_SUBSCRIPTS)
                lines.append(Line(head, dependent, "drawn", name))
            elif dependent > k + 1:
                lines.append(Line(head, dependent, "faint"))
            elif head == drawn:
                name = f"e{dependent}".translate(_SUBSCRIPTS)
                lines.append(Line(head, dependent, "chosen", f"{name}: {chance}"))
            else:
                hidden = probability < 0.01 and len(self.heads) > _CROWDED
                lines.append(Line(head, dependent, "candidate", "" if hidden else chance))
        return lines

    def _brief_caption(self, k: int) -> str:
        letter = f"({chr(ord('a') + k)})"
        if k + 1 == len(self.heads):
            return f"{letter} the tree: {percent(math.exp(self.log_prob))}"
        head = quoted(self.labels[self.heads[k + 1]])
        return f"{letter} the head of {quoted(self.labels[k + 1])}: {head}"

    def _caption(self, k: int) -> str:
        if k + 1 == len(self.heads):
            factors = " \u00d7 ".join(percent(chance) for chance in self.conditionals.tolist())
            return (
                f"Every word has its head. The tree was drawn with probability {factors} = "
                f"{percent(math.exp(self.log_prob))}, its share of the weight of all trees."
            )
        word = quoted(self.labels[k + 1])
        column = self.marginals[k][:, k + 1]
        chances = ", ".join(
            f"{quoted(self.labels[head])} ({percent(float(column[head]))})"
            for head in np.argsort(-column, kind="stable").tolist()
            if column[head] > 0
        )
        given = " given the heads drawn so far" if k else ""
        return (
            f"The head of {word}{given}: {chances}. "
            f"Drawn: {quoted(self.labels[self.heads[k + 1]])}."
        )


def conditioning_steps(
    log_weights: ArrayLike,
    *,
    rng: Seed,
    single_root: bool,
    labels: Sequence[str] | None = None,
) -> ConditioningPicture:
    """Draw a tree with the ancestral sampler, and keep the conditional distribution of each step.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1)
        The scores of a small graph, of at most 12 words.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness.  ``sample(method="colbourn", rng=rng)`` draws the same tree.
    single_root : bool
        True for dependency trees, False for spanning trees.
    labels : sequence of str, optional
        Names for the words, without the root.

    Returns
    -------
    ConditioningPicture
        Has an ``svg`` of all steps side by side, and ``html`` that shows one at a time.

    Examples
    --------
    >>> picture = conditioning_steps(np.zeros((4, 4)), rng=0, single_root=False)
    >>> picture.marginals[0][:, 1].round(6).tolist(), float(np.exp(picture.log_prob).round(6))
    ([0.5, 0.0, 0.25, 0.25], 0.0625)
    """
    kind = DependencyTrees if single_root else SpanningTrees
    distribution = kind(log_weights)
    names = check_labels(labels, distribution)
    num_words = len(names) - 1
    heads = distribution.sample(method="colbourn", rng=rng)
    log_prob = float(distribution.log_prob(heads))
    marginals = [distribution.arc_marginals()]
    for dependent in range(1, num_words + 1):
        distribution = distribution.condition(include=[(int(heads[dependent]), dependent)])
        marginals.append(distribution.arc_marginals())
    return ConditioningPicture(names, heads, np.stack(marginals), log_prob)
