"""The expressions that replace those of NetworkX have the same values."""

import pytest

from tests.coming_from import compare, section

CODE, ROWS = section("NetworkX")


@pytest.mark.parametrize(("theirs", "ours"), ROWS, ids=[ours for _, ours in ROWS])
def test_both_expressions_have_the_same_value(theirs, ours):
    compare(CODE, theirs, ours, 1e-9)


def test_the_table_is_read():
    assert len(ROWS) >= 7
