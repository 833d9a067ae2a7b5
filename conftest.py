"""Runs the Python examples of the README and of docs/, and shares tests among processes.

A ``python`` block is either a session with prompts and results, or plain code to paste; what plain
code prints is then in an ``output`` block below it.
"""

from __future__ import annotations

import contextlib
import io
import signal
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

_PRINTED = "printed by the block above"


def run_and_keep_what_is_printed(example: Example) -> None:
    """Run plain code."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        PythonEvaluator()(example)
    example.namespace[_PRINTED] = printed.getvalue()


def compare_with_what_was_printed(example: Example) -> str | None:
    """Compare an ``output`` block with what the code above it printed."""
    printed = example.namespace.pop(_PRINTED, "").strip()
    expected = example.parsed.strip()
    return None if printed == expected else f"printed:\n{printed}\n\nexpected:\n{expected}"


_python = PythonCodeBlockParser()
_python.codeblock_parser = CodeBlockParser("python", run_and_keep_what_is_printed)

pytest_collect_file = Sybil(
    parsers=[_python, CodeBlockParser("output", compare_with_what_was_printed)],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
).pytest()

# Folders of tests that share nothing and take long: each goes to the next process that is free.
_DIVIDED = ("tests/negative/", "tests/statistical/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to one process: examples of a page build on each other."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith(_DIVIDED) else nodeid.partition("::")[0]

    return Scheduling(config, log)


# Shells have what they start in the background ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
