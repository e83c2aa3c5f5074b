"""The line above a run."""

import pytest

from pytest_rlperf.report.header import render_header


@pytest.mark.parametrize(
    ("cores", "shown"),
    [((3,), "3"), ((0, 1), "0-1"), ((0, 1, 2, 5), "0-2,5"), ((0, 2, 4, 5), "0,2,4-5")],
)
def test_cores_in_a_row_are_shown_as_a_span(cores: tuple[int, ...], shown: str):
    line = render_header("against main", 200.0, cores)
    assert line == f"against main, budget 200 s, pinned to cores {shown}"


def test_a_run_that_cannot_be_pinned_says_what_it_means():
    assert render_header("against main", 0.5, ()).endswith(", NOT PINNED: wider intervals")
