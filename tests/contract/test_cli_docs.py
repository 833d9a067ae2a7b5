"""Every command on the pages is run, in the order of the page, and prints what the page says.

In a ``console`` block, lines that begin with ``$`` are commands; what follows is what they print,
``...`` standing for anything, and ``[1]`` for the exit status where it is not 0.  ``py`` blocks are
run, too.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import CORPUS, call

pytestmark = pytest.mark.slow

ROOT = CORPUS.parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page.relative_to(ROOT)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if "\n$ arborand " in page.read_text(encoding="utf-8")
]


def commands(block: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what they print."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def matches(expected: str, found: str) -> bool:
    lines = [line.rstrip() for line in expected.strip("\n").splitlines()]
    pattern = r"\n".join(
        r".*".join(re.escape(piece) for piece in line.split("...")) for line in lines
    )
    cleaned = "\n".join(line.rstrip() for line in found.strip("\n").splitlines())
    return re.fullmatch(pattern, cleaned) is not None


def test_the_guide_is_among_the_pages():
    assert Path("docs/command_line.md") in PAGES


def run_in_shell(command: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    # A reader such as head may leave early; only a message tells that from a failure.
    left_early = done.returncode == 1 and not done.stderr
    return 0 if left_early else done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_on_the_page_does_what_it_says(page, tmp_path, monkeypatch, capsysbinary):
    for name in ("sentences.npz", "sentences.conllu"):
        shutil.copy(CORPUS / name, tmp_path)
    shim = tmp_path / "bin" / "arborand"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m arborand "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    num_commands = 0
    for language, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if language == "py":
            exec(block, names)
        if language != "console":
            continue
        for command, expected in commands(block):
            first, *arguments = shlex.split(command)
            if "arborand" not in command:
                continue
            num_commands += 1
            if first == "arborand" and "|" not in command:
                result = call(monkeypatch, capsysbinary, *arguments)
                status, found = result.status, result.out.decode() + result.err
            else:
                status, found = run_in_shell(command)
            found += f"[{status}]\n" if status else ""
            if expected.strip():
                assert matches(expected, found), f"{command}\nprinted:\n{found}"
            else:
                assert (command, status) == (command, 0), found
    assert num_commands
