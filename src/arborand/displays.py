"""What a notebook shows of an object: looked up by name, so that nothing here knows pictures.

Whoever can display a class of arborand says so in the metadata of its package, by an entry point
of the group ``arborand.displays`` that has the name of the class.  arborand's own are declared in
``pyproject.toml``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

GROUP = "arborand.displays"


def display_html(value: object) -> str | None:
    """Describe an object as HTML, or return None if nobody has declared how."""
    for kind in type(value).__mro__:
        display = _display_of(kind.__name__)
        if display is not None:
            return display(value)
    return None


@cache
def _display_of(name: str) -> Callable[[object], str] | None:
    from importlib.metadata import entry_points  # takes longer to import than all of arborand

    for entry in entry_points(group=GROUP, name=name):
        display: Callable[[object], str] = entry.load()
        return display
    return None
