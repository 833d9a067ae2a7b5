"""The pages on speed say what the committed results say."""

import json
import re

import pytest

from benchmarks import documentation
from benchmarks.__main__ import NAMES
from benchmarks.measure import RESULTS
from benchmarks.report import results_page

PAGE = documentation.PAGE.read_text(encoding="utf-8")
STORED = {file.stem: json.loads(file.read_text("utf-8")) for file in RESULTS.glob("*.json")}


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
    assert STORED.keys() <= set(NAMES)
    assert not [name for name, found in STORED.items() if found["quick"]]


@pytest.mark.parametrize("name", sorted(STORED))
def test_a_result_has_its_page_and_its_figures(name):
    assert (RESULTS / f"{name}.md").read_text("utf-8") == results_page(STORED[name])
    for figure in STORED[name]["figures"]:
        assert (RESULTS / f"{figure['file']}.svg").is_file()


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_page_leads_to_the_page_of_every_result(name):
    assert f"(../benchmarks/results/{name}.md)" in PAGE


@pytest.mark.parametrize("name", sorted(set(re.findall(r"<!-- begin \w+ (\w+)", PAGE))))
def test_the_page_names_the_machine_of_every_result_it_shows(name):
    assert f"<!-- begin machine {name} -->" in PAGE
