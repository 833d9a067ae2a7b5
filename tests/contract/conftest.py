"""What several files of this folder need: a browser, and Node for scripts that need none."""

import json
import os
import shutil
import subprocess

import pytest

from arborand.pictures.layout import constants_script
from arborand.pictures.markup import asset
from tests.chromium import Browser, find_chromium


def missing(reason, variable):
    """Skip a test for lack of a program, or fail where the environment requires the program."""
    if os.environ.get(variable):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    path = find_chromium()
    if path is None:
        missing(
            "no Chromium found: install chromium, or name one in $ARBORAND_CHROMIUM",
            "ARBORAND_REQUIRE_CHROMIUM",
        )
    with Browser(path, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="session")
def node():
    """Call a JavaScript function with scripts of the page loaded, in Node: no document there.

    A promise is awaited.
    """
    path = shutil.which("node")
    if path is None:
        missing("no Node found: install nodejs", "ARBORAND_REQUIRE_NODE")

    def call(scripts, function, argument):
        program = "\n".join(
            (
                '"use strict";',
                constants_script(),
                *map(asset, scripts),
                f"Promise.resolve(({function})({json.dumps(argument)}))",
                "    .then((answer) => console.log(JSON.stringify(answer)));",
            )
        )
        done = subprocess.run([path, "-"], input=program, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call
