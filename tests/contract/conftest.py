"""What several files of this folder need: a browser."""

import os

import pytest

from arborand.pictures.figures import find_chromium
from tests.chromium import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    path = find_chromium()
    if path is None:
        reason = "no Chromium found: install chromium, or name one in $ARBORAND_CHROMIUM"
        if os.environ.get("ARBORAND_REQUIRE_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    with Browser(path, tmp_path_factory.mktemp("profile")) as running:
        yield running
