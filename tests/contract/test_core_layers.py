"""The folders of the C++ core are layers: what docs/design.md says of their includes is true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src" / "core"
FILES = sorted(path for path in CORE.rglob("*") if path.suffix in (".hpp", ".cpp"))


def described_layers():
    """Read the table in docs/design.md: for each folder, the files it lists."""
    table = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = table[table.index("| folder of `src/core/` |") :].split("\n\n")[0]
    layers: dict[str, set[str]] = {}
    for row in table.splitlines()[2:]:
        folder, files = (cell.strip() for cell in row.strip("|").split("|")[:2])
        if folder:
            layers[folder.strip("`/")] = set()
        layers[list(layers)[-1]].update(re.findall(r"`(\w+)`", files))
    return layers


def test_the_design_page_lists_every_file_of_the_core():
    found: dict[str, set[str]] = {}
    for path in FILES:
        found.setdefault(path.parent.relative_to(CORE).as_posix(), set()).add(path.stem)
    assert described_layers() == found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_a_file_includes_only_its_own_layer_and_lower_ones(path):
    order = list(described_layers())
    own = order.index(path.parent.name)
    for included in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8")):
        assert (CORE / included).is_file(), f"{included} is not a path from src/core"
        assert order.index(included.split("/")[0]) <= own, included


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_no_file_uses_the_detail_namespace_of_another(path):
    text = path.read_text(encoding="utf-8")
    opened = set(re.findall(r"namespace (\w+_detail) \{", text))
    assert set(re.findall(r"\w+_detail", text)) <= opened
