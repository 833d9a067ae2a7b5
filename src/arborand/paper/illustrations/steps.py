"""A page that shows pictures one step at a time, with buttons and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arborand.pictures.markup import asset, document_head, escape

if TYPE_CHECKING:
    from collections.abc import Sequence


class Step(NamedTuple):
    """A picture with its caption, in plain text."""

    svg: str
    caption: str


def steps_page(title: str, introduction: str, steps: Sequence[Step]) -> str:
    """Write a self-contained page that shows one step at a time.

    Without scripts, and in print, it shows all steps one below another.
    """
    script = asset("steps.js", __package__)
    style = asset("theme.css") + asset("steps.css", __package__)
    figures = "".join(
        f'<li class="step" id="step{number}"><figure><figcaption><b>{number} of {len(steps)}.</b> '
        f"{escape(step.caption)}</figcaption>{step.svg}</figure></li>"
        for number, step in enumerate(steps, start=1)
    )
    return (
        f"{document_head(title, style, script)}"
        f"<header><h1>{escape(title)}</h1><p>{escape(introduction)}</p></header>"
        f'<main><ol class="steps">{figures}</ol></main>'
        f"<footer><p>Drawn by arborand from an actual run.</p></footer>"
        f"<script>{script}</script></body></html>\n"
    )
