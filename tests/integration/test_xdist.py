"""Measuring and running tests in parallel exclude each other."""

import pytest

from .projects import Workshop

TESTS = "def test_a(rlperf):\n    assert rlperf(int) == 0\n"


def test_workers_of_xdist_are_refused(workshop: Workshop):
    pytest.importorskip("xdist")
    project = workshop.project("xdist", {"test_a.py": TESTS})
    ended = project.run("--rlperf", "-n", "2", autoload=True)
    assert ended.code == 4
    assert (
        "ERROR: rlperf: measuring and pytest-xdist's -n exclude each other, since parallel tests "
        "disturb each other's time; run with -n 0, or without -n." in ended.text.splitlines()
    )


def test_a_plain_run_may_use_them(workshop: Workshop):
    pytest.importorskip("xdist")
    project = workshop.project("xdist-plain", {"test_a.py": TESTS})
    ended = project.run("-n", "1", autoload=True, json_result=False)
    assert ended.code == 0
    assert "1 passed" in ended.text
