"""One set of parts per instruction set of this machine."""

import pytest

from tests.core.parts import Parts, instruction_sets


@pytest.fixture(params=instruction_sets(), scope="session")
def parts(request):
    return Parts(request.param)
