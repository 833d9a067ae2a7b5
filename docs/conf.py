"""How ``make docs`` turns the Markdown pages and the docstrings into a site.

The source folder is the repository itself, so that every link between README, pages and results is
the same file path on the site and in a repository browser.  The README is the front page.
"""

from __future__ import annotations

import shutil
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

from arborand import DependencyTrees
from arborand.formats import read_scores
from arborand.formats.conllu import read_annotations
from arborand.pictures import Picture
from arborand.pictures import page as picture_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.util.docutils import SphinxTranslator

logger = logging.getLogger(__name__)

project = "arborand"
author = "The arborand developers"
project_copyright = author
version = release = installed_version("arborand")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
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
    "benchmarks/sparse_scale.md",
]
exclude_patterns = [".venv", "build", "dist"]

# ---- Markdown

myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 3  # the anchors that repository browsers make
# Console blocks show commands with what they print, of which only the commands are shell.
suppress_warnings = ["misc.highlighting_failure"]

# ---- docstrings

default_role = "py:obj"  # `name` in a docstring
autodoc_member_order = "bysource"
autodoc_default_options = {"no-value": True}
autodoc_typehints = "none"  # the sections of the docstrings have the types in words
autodoc_preserve_defaults = True
numpydoc_show_class_members = True  # a table of all methods before their descriptions
numpydoc_class_members_toctree = False
python_use_unqualified_type_names = True

# ---- formulas

html_math_renderer = "mathml"  # browsers show MathML themselves: nothing is loaded from anywhere


def visit_math(translator: SphinxTranslator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML."""
    is_block = isinstance(node, nodes.math_block)
    try:
        translator.body.append(tex2mathml(node.astext(), as_block=is_block))
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
    raise nodes.SkipNode


# ---- the look

html_theme = "furo"
html_title = "arborand"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = (
    False  # excerpts cannot be fetched from disk; without them search works there
)
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1b6e53", "color-brand-content": "#1b6e53"},
    "dark_css_variables": {"color-brand-primary": "#6cc6a4", "color-brand-content": "#6cc6a4"},
}


# The ink of the gallery's pictures, which can be read on any ground.
GREY_INK = "#757c84"


def mark_pictures_for_a_light_ground(app: Sphinx, page: nodes.document) -> None:
    """Find the diagrams that need help on a dark ground: all that do not provide for it."""
    for image in page.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".svg":
            text = path.read_text(encoding="utf-8")
            if "prefers-color-scheme" not in text and GREY_INK not in text:
                image["classes"].append("for-light-ground")


# The button copies code: prompts and results stay behind, and results alone have no button.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"

# ---- the order of the pages

# Below each page, captions and the pages under them.
CONTENTS = {
    "README": {
        "Start here": [
            "Install </docs/installing>",
            "/docs/tutorial",
            "/docs/guide",
            "/docs/gallery",
            "/docs/coming_from",
        ],
        "How to": [
            "Check your input </docs/is_my_input_right>",
            "Get scores from a parser </docs/from_a_parser>",
            "Work with score files </docs/command_line>",
            "Work with large corpora </docs/corpora>",
            "/docs/graphs",
            "Estimate expectations </docs/estimators>",
            "Make pictures </docs/pictures>",
            "Use arborand in torch </docs/torch>",
            "Use arborand in JAX </docs/jax>",
            "Train a parser </docs/training>",
        ],
        "Reference": [
            "/docs/api/index",
            "Options and files </docs/files>",
            "/CHANGELOG",
        ],
        "Background": [
            "/docs/mathematics",
            "/docs/estimator_proofs",
            "/docs/is_it_exact",
            "/docs/how_fast",
            "/docs/paper",
            "/docs/design",
            "/CONTRIBUTING",
        ],
    },
    "docs/api/index": {
        "": [
            "/docs/api/dependency_trees",
            "/docs/api/projective_trees",
            "/docs/api/spanning_trees",
            "/docs/api/labelled_trees",
            "/docs/api/sparse_spanning_trees",
            "/docs/api/draws",
            "/docs/api/best_trees",
            "/docs/api/errors",
            "/docs/api/trees",
            "/docs/api/evaluation",
            "/docs/api/estimators",
            "/docs/api/torch",
            "/docs/api/jax",
            "/docs/api/pictures",
            "/docs/api/formats",
            "/docs/api/corpus",
            "/docs/api/parsers",
            "/docs/api/enumeration",
            "/docs/api/paper",
        ],
    },
    "docs/is_it_exact": {"": ["/docs/verification_report", "/docs/verification/tables"]},
    "docs/how_fast": {
        "": [
            "/benchmarks/results/inference",
            "/benchmarks/results/sampling",
            "/benchmarks/results/sharp",
            "/benchmarks/results/without_replacement",
            "/benchmarks/results/peers",
            "/benchmarks/results/command_line",
            "/benchmarks/results/estimators",
            "/benchmarks/results/best",
            "/benchmarks/results/gate",
            "/benchmarks/results/corpus",
            "/benchmarks/results/second_order",
            "/benchmarks/results/torch_front",
            "/benchmarks/results/jax_front",
            "/benchmarks/results/page",
            "/benchmarks/results/sparse",
            "/benchmarks/results/projective",
            "/benchmarks/results/labelled",
            "/benchmarks/sparse_scale",
        ]
    },
}


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the tables of contents, which a repository browser would show as code."""
    for caption, pages in CONTENTS.get(page, {}).items():
        entries = "".join(f"\n{entry}" for entry in pages)
        option = f":caption: {caption}\n" if caption else ""
        source[0] += f"\n\n:::{{toctree}}\n:hidden:\n{option}{entries}\n:::\n"


# ---- the live page of pictures

# Where the explorer stands: at the first text that begins so, a picture for repository browsers.
EXPLORER = {"README": "<img src=", "docs/pictures": "![The sentence"}
EXPLORER_FILE, EXPLORER_BYTES = "docs/explorer.html", 200_000


def add_explorer(app: Sphinx, page: str, source: list[str]) -> None:
    """Let readers try the page of ``arborand show`` where it is described."""
    mark = EXPLORER.get(page)
    if mark is None or app.builder.format != "html":
        return
    before, found, after = source[0].partition(mark)
    if not found:
        logger.warning("%s has no line that begins with %r, for the explorer", page, mark)
    picture, end, after = after.partition("\n")
    where = "../" * page.count("/") + EXPLORER_FILE
    frame = (
        f'<iframe class="explorer" src="{where}" title="Sentences to explore" loading="lazy">'
        "</iframe>"
    )
    caption = (
        "*Try it: choose a word, and fix or forbid a head; or press Decide. The page computes all "
        "probabilities itself.*"
    )
    shown = f"```{{raw}} html\n{frame}\n```\n\n{caption}"
    source[0] = (
        f"{before}{shown}{end}{after}"
        if page == root_doc
        else (f"{before}{found}{picture}\n\n{shown}{end}{after}")
    )


def write_explorer(app: Sphinx, error: Exception | None) -> None:
    """Write a page about a few ambiguous sentences, by the project's own code."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.srcdir, "examples", "corpus")
    target = Path(app.outdir, EXPLORER_FILE)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8") as file:
        file.writelines(picture_page(_sentences(folder), title="Ambiguous sentences", num_trees=4))
    if target.stat().st_size > EXPLORER_BYTES:
        logger.warning("%s has more than %d bytes", EXPLORER_FILE, EXPLORER_BYTES)


def _sentences(folder: Path) -> Iterator[Picture]:
    with (folder / "choices.conllu").open("rb") as file:
        annotations = {one.sent_id: one for one in read_annotations(file, "choices.conllu")}
    for sentence in read_scores(folder / "choices.npz"):
        trees = DependencyTrees(sentence.log_weights)
        draws = trees.sample_without_replacement(20, rng=0)
        annotation = annotations[sentence.sent_id]
        yield Picture(
            trees,
            annotation.tokens,
            sentence.sent_id,
            draws,
            trees.arc_marginals(),
            text=annotation.comment("text"),
            parts_of_speech=annotation.column("UPOS"),
        )


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Let the site begin at index.html, too."""
    if error is None and app.builder.format == "html":
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Register what is defined here."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("source-read", add_explorer)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", mark_pictures_for_a_light_ground)
    app.connect("build-finished", write_explorer)
    app.connect("build-finished", add_index)
