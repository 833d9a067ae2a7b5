"""How ``make docs`` turns the Markdown pages and the docstrings into a site.

The source folder is the repository itself, so that every link between README, pages and results is
the same file path on the site and in a repository browser.  The README is the front page.
"""

from __future__ import annotations

import shutil
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "arborand"
author = "The arborand developers"
copyright = author
version = release = installed_version("arborand")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/**/*.md",
    "benchmarks/results/*.md",
]
exclude_patterns = [".venv", "build", "dist"]

# ---- Markdown

myst_enable_extensions = ["colon_fence", "html_image"]
myst_heading_anchors = 3  # the anchors that repository browsers make
# Console blocks show commands with what they print, of which only the commands are shell.
suppress_warnings = ["misc.highlighting_failure"]

# ---- docstrings

default_role = "py:obj"  # `name` in a docstring
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the sections of the docstrings have the types in words
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # autodoc lists them
numpydoc_class_members_toctree = False
python_use_unqualified_type_names = True

# ---- the look

html_theme = "furo"
html_title = "arborand"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1b6e53", "color-brand-content": "#1b6e53"},
    "dark_css_variables": {"color-brand-primary": "#6cc6a4", "color-brand-content": "#6cc6a4"},
}

# The button copies code: prompts and results stay behind, and results alone have no button.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"

# ---- the order of the pages

CONTENTS = """

:::{toctree}
:hidden:
:caption: Start here

docs/tutorial
docs/guide
:::

:::{toctree}
:hidden:
:caption: How to

docs/command_line
docs/estimators
docs/pictures
:::

:::{toctree}
:hidden:
:caption: Reference

docs/api/index
docs/files
CHANGELOG
:::

:::{toctree}
:hidden:
:caption: Background

docs/mathematics
docs/estimator_proofs
docs/is_it_exact
docs/how_fast
docs/paper
docs/design
CONTRIBUTING
:::
"""


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Give the front page the table of contents, which a repository browser could not show."""
    if page == root_doc:
        source[0] += CONTENTS


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Let the site begin at index.html, too."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Register both."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_index)
