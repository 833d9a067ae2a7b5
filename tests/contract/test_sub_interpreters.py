"""A sub-interpreter is refused, with a sentence that says so, before NumPy complains at length."""

import sys

import pytest

from tests.processes import run_script

NEW = sys.version_info >= (3, 13)
MODULE = "_interpreters" if NEW else "_xxsubinterpreters"
LOADED = "arborand does not support sub-interpreters: import it in the main interpreter"
ASKED = (
    "module arborand._core does not support loading in subinterpreters"
    if sys.version_info >= (3, 12)
    else LOADED
)
IMPORT = """
import json
try:
    import arborand
except ImportError as error:
    print(json.dumps(str(error)), flush=True)
"""


# From Python 3.12 on, one with a lock of its own asks the module before it is loaded.
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("'isolated'" if NEW else "isolated=True", ASKED),
        ("'legacy'" if NEW else "isolated=False", LOADED),
    ],
)
def test_a_sub_interpreter_is_refused_with_a_sentence(kind, message):
    pytest.importorskip(MODULE)
    script = f"import {MODULE} as m; m.run_string(m.create({kind}), {IMPORT!r})"
    assert run_script(script) == message
