"""What runs elsewhere agrees with what runs here: workflows, hooks of pre-commit, dependabot.

`make workflows` checks the syntax of these files.
"""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in WORKFLOWS}
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def pythons_of_classifiers():
    prefix = "Programming Language :: Python :: 3."
    return [
        "3." + name.removeprefix(prefix)
        for name in SETTINGS["project"]["classifiers"]
        if name.startswith(prefix)
    ]


def test_there_are_workflows_for_tests_wheels_and_docs():
    assert TEXTS.keys() == {"tests", "wheels", "docs"}


@pytest.mark.parametrize("name", TEXTS)
def test_actions_are_pinned_by_full_versions(name):
    actions = re.findall(r"uses: (\S+)", TEXTS[name])
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+\.\d+\.\d+", action), action


def test_an_action_has_the_same_version_in_all_workflows():
    actions = re.findall(r"uses: (\S+)@(\S+)", "\n".join(TEXTS.values()))
    assert len({name for name, _ in actions}) == len(set(actions))


def test_workflows_call_targets_of_the_makefile():
    called = set(re.findall(r"run: make ([a-z-]+)", "\n".join(TEXTS.values())))
    called |= set(re.findall(r"target: \[(.+)\]", TEXTS["tests"])[0].split(", "))
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))
    assert {"run", "test", "lint", "workflows", "wheel", "docs", "sanitize"} <= called
    assert called <= targets


def test_the_oldest_and_the_newest_python_are_tested_on_linux_and_macos():
    [versions] = re.findall(r"python: \[(.+)\]", TEXTS["tests"])
    versions = [version.strip(' "') for version in versions.split(",")]
    known = pythons_of_classifiers()
    assert len(versions) == 3
    assert set(versions) <= set(known)
    assert (versions[0], versions[-1]) == (known[0], known[-1])
    assert re.search(r"machine: \[ubuntu-\S+, macos-\S+\]", TEXTS["tests"])


def test_wheels_are_built_or_tested_for_every_python_of_the_classifiers():
    wheels = SETTINGS["tool"]["cibuildwheel"]["build"]
    assert wheels == [f"cp{name.replace('.', '')}-*" for name in pythons_of_classifiers()]


def test_only_a_tag_publishes_and_no_password_is_stored():
    publish = TEXTS["wheels"].split("\n  publish:\n")[1]
    assert "if: github.event_name == 'push' && github.ref_type == 'tag'\n" in publish
    assert "needs: [wheels, source]\n" in publish
    assert "id-token: write" in publish
    assert "secrets." not in "\n".join(TEXTS.values())


@pytest.mark.parametrize(
    ("tool", "repository"),
    [
        ("ruff", "https://github.com/astral-sh/ruff-pre-commit"),
        ("clang-format", "https://github.com/pre-commit/mirrors-clang-format"),
    ],
)
def test_hooks_use_the_versions_of_make_lint(tool, repository):
    pins = dict(pin.split("==") for pin in SETTINGS["dependency-groups"]["lint"] if "==" in pin)
    [version] = re.findall(rf"repo: {re.escape(repository)}\n    rev: v(\S+)", HOOKS)
    assert version == pins[tool]
