"""What is published: metadata, citation, changelog and the contents of the source distribution."""

import re
import tarfile
import tomllib
from email import message_from_bytes
from importlib import metadata
from pathlib import Path

import pytest
from scikit_build_core.build import build_sdist

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
REPOSITORY = "https://github.com/arborand/arborand"
# 1.58 MB today; the results of benchmarks, compressed, are another 0.89 MB.
LARGEST_SOURCE = 1_700_000


def headings(page):
    return re.findall(r"^## (.+)$", page, flags=re.MULTILINE)


def citation_field(name):
    [value] = re.findall(rf"^{name}: (.+)$", CITATION, flags=re.MULTILINE)
    return value.strip('"')


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return the source distribution, as an open archive."""
    folder = tmp_path_factory.mktemp("source")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = build_sdist(str(folder))
    with tarfile.open(folder / name) as archive:
        yield archive


@pytest.fixture(scope="module")
def files(source):
    """Return the paths in the source distribution, relative to its only folder."""
    folders = {name.split("/", 1)[0] for name in source.getnames()}
    assert folders == {f"arborand-{PROJECT['version']}"}
    return {name.split("/", 1)[1] for name in source.getnames() if "/" in name}


def test_the_installed_package_has_the_version_and_the_addresses_of_the_project():
    installed = metadata.metadata("arborand")
    assert installed["Version"] == PROJECT["version"]
    urls = dict(entry.split(", ", 1) for entry in installed.get_all("Project-URL"))
    assert urls == PROJECT["urls"]
    assert urls.keys() >= {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert urls["Source"] == REPOSITORY


def test_classifiers_name_every_python_from_the_oldest_allowed_one():
    minors = [
        int(found[1])
        for classifier in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", classifier))
    ]
    oldest = int(PROJECT["requires-python"].removeprefix(">=3."))
    assert minors == list(range(oldest, minors[-1] + 1))
    assert minors[-1] >= 14


def test_the_citation_has_the_version_the_date_and_the_licence_of_the_newest_release():
    release = next(heading for heading in headings(CHANGELOG) if heading != "Unreleased")
    assert release == f"{citation_field('version')} - {citation_field('date-released')}"
    assert citation_field("version") == PROJECT["version"]
    assert citation_field("license") == PROJECT["license"]
    assert citation_field("repository-code") == PROJECT["urls"]["Source"]
    assert citation_field("url") == PROJECT["urls"]["Documentation"]


def test_the_citation_asks_for_the_paper_by_its_doi():
    preferred = CITATION.split("preferred-citation:")[1].split("references:")[0]
    assert "doi: 10.18653/v1/2021.emnlp-main.824\n" in preferred
    assert "month: 11\n  year: 2021\n" in preferred


def test_the_changelog_begins_with_what_is_unreleased_and_dates_every_release():
    first, *releases = headings(CHANGELOG)
    assert first == "Unreleased"
    assert releases
    for release in releases:
        assert re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", release)


@pytest.mark.slow
def test_the_source_distribution_has_all_that_a_build_needs(files):
    sources = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and path.suffix != ".so" and path.parent.name != "__pycache__"
    }
    assert {Path(name).suffix for name in sources} >= {".py", ".pyi", ".hpp", ".cpp", ".css", ".js"}
    assert sources <= files
    assert files >= {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"}


def test_the_source_distribution_has_the_tests_and_what_they_import(files):
    # Whoever packages arborand can run the suite.
    assert {"Makefile", "conftest.py", "CHANGELOG.md", "CITATION.cff", "docs/guide.md"} <= files
    assert "tests/oracle/test_enumeration.py" in files
    assert "verification/ledger.py" in files
    assert "benchmarks/measure.py" in files


def test_the_source_distribution_leaves_out_results_of_benchmarks_and_what_was_built(files):
    unwanted = re.compile(
        r"benchmarks/results/|build/|dist/|\.venv/|\.github/|\.ci/|.*\.so$|.*__pycache__|.*\.pyc$"
    )
    assert not [name for name in files if unwanted.match(name)]
    # This one reads the results; the other one reads the workflows.
    assert "tests/contract/test_how_fast.py" not in files
    assert "tests/contract/test_workflows.py" not in files


def test_the_source_distribution_is_small(source):
    assert Path(source.name).stat().st_size < LARGEST_SOURCE


def test_the_metadata_of_the_source_distribution_is_that_of_the_project(source):
    information = source.extractfile(f"arborand-{PROJECT['version']}/PKG-INFO").read()
    fields = message_from_bytes(information)
    assert fields["Name"] == "arborand"
    assert fields["Version"] == PROJECT["version"]
    assert fields["License-Expression"] == PROJECT["license"]
    assert fields.get_all("Classifier") == PROJECT["classifiers"]
