"""The committed report of the long suite and the page about it agree.

Whether the report is of the current sources is not tested: these change more often than it does,
and ``python -m verification`` tells.
"""

import re

from verification.publishing import DOCS, PAGE, with_table

REPORT = (DOCS / "verification_report.md").read_text(encoding="utf-8")
TABLES = (DOCS / "verification" / "tables.md").read_text(encoding="utf-8")


def test_the_page_has_the_numbers_of_the_report():
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert with_table(page, TABLES) == page, "run `make verify VERIFY=--publish`"


def test_the_report_is_of_a_whole_run():
    run, suite = re.search(r"^\| checks run \| (\d+) of the (\d+) ", REPORT, re.MULTILINE).groups()
    assert run == suite
    assert "--quick" not in REPORT


def test_the_pictures_of_the_report_are_there():
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", TABLES)
    assert pictures
    for picture in pictures:
        assert (DOCS / "verification" / picture).stat().st_size > 0
