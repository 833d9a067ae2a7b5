"""The pages on speed say what the committed results say."""

import re

import pytest

from benchmarks import documentation
from benchmarks.__main__ import NAMES
from benchmarks.measure import RESULTS

PAGE = documentation.PAGE.read_text(encoding="utf-8")
STORED = {file.stem: file.read_text("utf-8") for file in RESULTS.glob("*.md")}


@pytest.mark.parametrize("page", documentation.PAGES, ids=lambda page: page.stem)
def test_a_page_is_what_the_results_would_make_of_it(page):
    """If not, ``python -m benchmarks --documentation`` inserts the results again."""
    text = page.read_text(encoding="utf-8")
    assert documentation.inserted(text, RESULTS) == text


@pytest.mark.parametrize("page", documentation.PAGES, ids=lambda page: page.stem)
def test_places_of_a_page_name_benchmarks_that_exist(page):
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- begin \w+ (\w+)", text)) <= set(NAMES)


def test_every_result_is_of_a_full_run_of_a_benchmark_that_exists():
    assert STORED
    assert STORED.keys() <= set(NAMES)
    assert all("\nA full run: " in text for text in STORED.values())


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_page_leads_to_the_page_of_every_result(name):
    assert f"(../benchmarks/results/{name}.md)" in PAGE


def test_the_figures_of_results_are_there_and_nothing_else():
    shown = {name for text in STORED.values() for name in re.findall(r"\((\w+\.svg)\)", text)}
    pages = {f"{name}.md" for name in STORED}
    assert {file.name for file in RESULTS.iterdir()} == shown | pages


def test_the_page_names_the_machine_of_every_result():
    assert "<!-- begin machines -->" in PAGE
