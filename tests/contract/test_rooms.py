"""The rooms of the package: imports point one way, and the judges import nothing they judge."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import arborand

ROOT = Path(__file__).parents[2]
SOURCES = Path(arborand.__file__).parent
MODULES = {
    ".".join(("arborand", *path.relative_to(SOURCES).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in SOURCES.rglob("*.py")
}


@cache
def imports_of(module):
    """List the modules of arborand, and the packages of others, that a module imports at run time.

    Imports inside functions count.  Those for type checkers do not, nor do those of `_repr_html_`,
    which a test of their own looks at.
    """
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    found = set()

    def visit(node):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.FunctionDef) and node.name == "_repr_html_":
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                is_module = submodule in MODULES or submodule == "arborand._core"
                found.add(submodule if is_module else node.module)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree)
    return found


def order_of_the_design():
    """Read the layers of docs/design.md: each a list of rooms, the lowest first."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^    errors <- .*(?:\n    .*)*", page, flags=re.MULTILINE)
    return [re.findall(r"[\w.]+", layer) for layer in block.split("<-")]


LAYERS = order_of_the_design()


def place_of(module):
    """Return a module's layer and room: the room with the longest name that it lies in."""
    found = [
        (len(room), number, room)
        for number, layer in enumerate(LAYERS)
        for room in layer
        if module == f"arborand.{room}" or module.startswith(f"arborand.{room}.")
    ]
    if not found and module in ("arborand", "arborand.__main__"):
        room = "arborand" if module == "arborand" else "__main__"
        found = [(0, number, room) for number, layer in enumerate(LAYERS) if room in layer]
    assert len(found) > 0, f"docs/design.md gives {module} no place in the order of imports"
    return max(found)[1:]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_one_way(module):
    layer, room = place_of(module)
    for imported in imports_of(module):
        if imported.partition(".")[0] != "arborand" or imported == "arborand._core":
            continue
        its_layer, its_room = place_of(imported)
        assert its_layer < layer or its_room == room, f"{module} imports {imported}"


def test_the_order_names_only_rooms_that_exist():
    rooms = {room for layer in LAYERS for room in layer} - {"arborand"}
    assert all(f"arborand.{room}" in MODULES for room in rooms)
    assert sum(map(len, LAYERS)) == len(rooms) + 1


def judges():
    return [
        module
        for module in MODULES
        if module == "arborand.enumeration" or module.startswith("arborand.paper.reference")
    ]


@pytest.mark.parametrize("module", judges())
def test_judges_import_nothing_that_they_judge(module):
    own = {"arborand.paper.reference"} if "reference" in module else set()
    for imported in imports_of(module):
        top = imported.partition(".")[0]
        is_own = any(imported.startswith(name) for name in own)
        assert is_own or top == "numpy" or top in sys.stdlib_module_names, imported


def test_all_judges_are_known():
    assert len(judges()) > 8


@pytest.mark.parametrize("module", sorted(MODULES))
def test_only_front_ends_import_pictures(module):
    if module.startswith(
        (
            "arborand.pictures",
            "arborand.cli",
            "arborand.paper.commands",
            "arborand.paper.illustrations",
        )
    ):
        return
    assert not any(name.startswith("arborand.pictures") for name in imports_of(module))


def test_notebook_displays_import_what_draws_them_and_nothing_else():
    displays = {
        (module, ast.unparse(statement))
        for module, path in MODULES.items()
        for method in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(method, ast.FunctionDef) and method.name == "_repr_html_"
        for statement in ast.walk(method)
        if isinstance(statement, ast.Import | ast.ImportFrom)
    }
    assert displays == {
        (f"arborand.{room}", f"from arborand.pictures.notebook import {function}")
        for room, function in (
            ("best", "best_trees_html"),
            ("distributions", "distribution_html"),
            ("labelled", "distribution_html"),
            ("without_replacement", "draws_html"),
        )
    }


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("arborand.cli")])
def test_the_command_line_uses_only_what_users_can(module):
    behind_the_facade = {"validation", "inference", "sampling", "without_replacement", "_core"}
    if module == "arborand.cli.app":  # --version names the core's instruction set
        behind_the_facade.remove("_core")
    assert not imports_of(module) & {f"arborand.{name}" for name in behind_the_facade}
