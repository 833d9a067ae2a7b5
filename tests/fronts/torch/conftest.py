"""What needs torch."""

from pathlib import Path

import pytest
import torch

# The machine's cores are for the tests, and compiled functions start threads of their own.
torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Let torch warn of what it does itself, in forward derivatives and compiled functions."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"))
