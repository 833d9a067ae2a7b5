"""The page that maps the paper to the code leaves nothing out and names only what exists."""

import ast
import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
# The table without its head: an item of the paper, line by line, in the fast path, tests.
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
][1:]
NAMES = sorted(set(re.findall(r"`((?:arborand\.|tests/|src/)[^`]*)`", PAGE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_exists(name):
    if name.startswith("arborand."):
        pkgutil.resolve_name(name)
    else:
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file()
        if test:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            defined = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            assert test in defined


def test_every_theorem_lemma_figure_and_algorithm_of_the_paper_has_a_row():
    wanted = [*(f"Theorem {i}" for i in range(1, 6)), *(f"Lemma {i}" for i in range(1, 5))]
    wanted += [f"Figure {i}" for i in range(1, 8)]
    wanted += ["`wilson`", "`wilson_rc`"]
    wanted += ["`colbourn`", "`Laplacian`", "`sample_edge`", "`condition`"]
    wanted += ["`swor`", "`sample_edge'`", "`condition'`"]
    for item in wanted:
        assert any(item in paper for paper, *_ in ROWS), item


def equations_of(item):
    """Read the equations an item names: 'eq. 9', 'eqs. 3, 4' or 'eqs. 17 to 19'."""
    found = []
    for numbers in re.findall(r"\beqs?\. (\d+(?:(?:, | to )\d+)*)", item):
        for part in numbers.split(", "):
            first, _, last = part.partition(" to ")
            found += range(int(first), int(last or first) + 1)
    return found


def test_every_equation_of_the_paper_has_a_row():
    assert equations_of("Z (eq. 9) and B (eqs. 3, 17 to 19; footnote 5)") == [9, 3, 17, 18, 19]
    assert sorted(n for paper, *_ in ROWS for n in equations_of(paper)) == list(range(1, 27))


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_row_names_a_function_and_tests_by_their_names(row):
    _, line_by_line, _, tests = row
    assert "`arborand." in line_by_line
    named = re.findall(r"`([^`]*)`", tests)
    assert named
    assert all(re.fullmatch(r"tests/\w+/test_\w+\.py::test_\w+", name) for name in named)
