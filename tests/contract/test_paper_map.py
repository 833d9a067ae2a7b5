"""The page that maps the paper to the code names only what exists."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text()
NAMES = sorted(set(re.findall(r"`((?:arborand\.|tests/|src/)[^`]*)`", PAGE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_exists(name):
    if name.startswith("arborand."):
        parts = name.split(".")
        found = importlib.import_module(".".join(parts[:2]) if parts[1].islower() else parts[0])
        for part in parts[2:] if parts[1].islower() else parts[1:]:
            found = getattr(found, part)
    else:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file()
        if test:
            tree = ast.parse((ROOT / path).read_text())
            defined = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            assert test in defined


def test_every_theorem_lemma_and_figure_of_the_paper_has_a_row():
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    wanted = [*(f"Theorem {i}" for i in range(1, 6)), *(f"Lemma {i}" for i in range(1, 5))]
    wanted += [f"Figure {i}" for i in range(1, 8)]
    for item in wanted:
        assert any(item in row for row in rows), item
