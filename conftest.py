"""Runs the Python examples of the README and of docs/, and compares what they print.

A ``python`` block is either a session with prompts and results, or plain code to paste; what plain
code prints is then in an ``output`` block below it.
"""

from __future__ import annotations

import contextlib
import io
import signal

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

# Shells have what they start in the background ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
