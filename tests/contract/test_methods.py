"""The one list of methods: what is said of methods elsewhere agrees with it."""

import inspect
import re
from pathlib import Path

import pytest

from arborand import DependencyTrees, SpanningTrees, methods
from arborand.cli import options
from tests.kinds import KINDS
from tests.random_graphs import dense_scores

ROOT = Path(__file__).parents[2]
LISTS = {
    "sample": methods.WITH_REPLACEMENT,
    "sample_without_replacement": methods.WITHOUT_REPLACEMENT,
}
EVERY_LIST = pytest.mark.parametrize(("function", "known"), LISTS.items(), ids=LISTS)


def draw(distribution, function, method):
    return getattr(distribution, function)(3, rng=0, method=method)


@KINDS
@EVERY_LIST
@pytest.mark.filterwarnings("ignore::arborand.BiasedSamplerWarning")
def test_every_method_draws_the_trees_it_says(kind, function, known):
    distribution = kind(dense_scores(0, 4))
    for method in known:
        if method.only in (None, kind._kind):
            assert len(draw(distribution, function, method.name)) == 3
        else:
            with pytest.raises(ValueError, match=f"'{method.name}' only draws dependency trees"):
                draw(distribution, function, method.name)


@EVERY_LIST
def test_methods_warn_if_and_only_if_they_are_biased(function, known, recwarn):
    distribution = DependencyTrees(dense_scores(0, 4))
    for method in known:
        draw(distribution, function, method.name)
        assert len(recwarn) == method.is_biased
        assert not method.is_biased or method.summary in str(recwarn.pop().message)


@EVERY_LIST
def test_errors_list_the_methods(function, known):
    listed = ", ".join(repr(method.name) for method in known)
    with pytest.raises(
        ValueError, match=f"'fast' is unknown: use one of {listed}, or leave it out"
    ):
        draw(DependencyTrees(dense_scores(0, 4)), function, "fast")


@KINDS
@EVERY_LIST
def test_docstrings_say_what_the_list_says(kind, function, known):
    text = " ".join(inspect.getdoc(getattr(kind, function)).split())
    choices = ", ".join(f'"{method.name}"' for method in known)
    items = " - ".join(map(str, known))
    assert f"method : {{None, {choices}}}" in text
    assert f"- {items} rng :" in text


@EVERY_LIST
def test_the_pages_have_the_table_of_the_list(function, known):
    table = "| method | what it does |\n|---|---|\n" + "".join(
        f"| `{method.name}`{method.restrictions} | {method.summary} |\n" for method in known
    )
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    assert any(table in page for page in pages), f"no page has this table:\n{table}"


def test_the_command_line_offers_the_list():
    every = methods.names(methods.WITH_REPLACEMENT + methods.WITHOUT_REPLACEMENT)
    assert options.Method.__args__ == every
    assert all(re.search(rf"\b{name}\b", options.METHOD_HELP) for name in every)
    assert methods.DEFAULT_METHOD in methods.names(methods.WITH_REPLACEMENT)


def test_names_are_told_apart():
    every = methods.names(methods.WITH_REPLACEMENT + methods.WITHOUT_REPLACEMENT)
    assert len(set(every)) == len(every) == 6
    assert SpanningTrees(dense_scores(0, 3)).sample(rng=0, method="wilson").shape == (4,)
