"""The tables of docs/coming_from.md: expressions of other libraries beside ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parents[1] / "docs" / "coming_from.md"
ROW = re.compile(r"^\| `(.+)` \| `(.+)` \|$", re.MULTILINE)


def section(library: str) -> tuple[str, list[tuple[str, str]]]:
    """Read what is set up for a library, and the pairs of expressions that have the same value."""
    text = PAGE.read_text(encoding="utf-8")
    (part,) = re.findall(rf"^## {library}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    (code,) = re.findall(r"^```py\w+\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return code, ROW.findall(part)


def compare(code: str, theirs: str, ours: str, tolerance: float) -> None:
    """Evaluate both expressions, and compare their values."""
    names: dict[str, Any] = {}
    exec(code, names)
    found, expected = (_array(eval(expression, names)) for expression in (ours, theirs))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def _array(value: Any) -> Any:
    return np.asarray(value.detach() if hasattr(value, "detach") else value)
