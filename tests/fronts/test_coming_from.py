"""The expressions that replace those of torch-struct and supar have the same values."""

import pytest
import torch

from tests.coming_from import compare, section

# torch-struct adds 1e-5 to every weight; supar computes in float32.
TOLERANCES = {"torch-struct": 1e-3, "supar": 1e-4}
CASES = [(library, *row) for library in TOLERANCES for row in section(library)[1]]


@pytest.mark.parametrize(("library", "theirs", "ours"), CASES)
@pytest.mark.filterwarnings("ignore")  # of other libraries
def test_both_expressions_have_the_same_value(library, theirs, ours):
    torch.manual_seed(0)
    compare(section(library)[0], theirs, ours, TOLERANCES[library])


def test_the_tables_are_read():
    assert len(CASES) >= 19
