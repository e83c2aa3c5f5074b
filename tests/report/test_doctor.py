"""The doctor's findings as a reader sees them."""

import pytest

from pytest_rlperf.measure.machine import Finding
from pytest_rlperf.report.doctor import render_findings

SMT, GIT, QUIET = Finding(True, "SMT is on"), Finding(True, "no git"), Finding(False, "quiet")


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ([QUIET], "Some CPU: nothing hurts measuring here\n  helps  quiet"),
        ([SMT, QUIET], "Some CPU: one thing hurts measuring\n  hurts  SMT is on\n  helps  quiet"),
        ([SMT, GIT], "Some CPU: 2 things hurt measuring\n  hurts  SMT is on\n  hurts  no git"),
    ],
)
def test_what_hurts_is_counted_and_listed(findings: list[Finding], text: str):
    assert render_findings("Some CPU", findings) == text
