"""`[tool.rlperf.accepted]`: a regression passes until its day, and is shown as what it is."""

import pytest

from .projects import Ended, Workshop

LIBRARY = """
from fakeclock import tick

def work():
    tick({ms} * 1_000_000)
"""
TESTS = """
import pytest
from lib import work

@pytest.mark.parametrize("size", ["small", "big"])
def test_allowed(rlperf, size):
    rlperf(work)

def test_too_much(rlperf):
    rlperf(work)

def test_expired(rlperf):
    rlperf(work)
"""
PYPROJECT = """
[tool.rlperf.accepted]
"tests/test_perf.py::test_allowed[*" = { until = 2999-01-31, reason = "new checks" }
"tests/test_perf.py::test_too_much" = { until = 2999-01-31, reason = "new checks", allowed = "5%" }
"tests/test_perf.py::test_expired" = { until = 2020-01-31, reason = "new checks" }
"tests/test_gone.py::test_gone" = { until = 2999-01-31, reason = "new checks" }
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    base = {"tests/test_perf.py": TESTS, "lib.py": LIBRARY.format(ms=1)}
    head = {"lib.py": LIBRARY.format(ms=1.5), "pyproject.toml": PYPROJECT}
    return workshop.project("accepted", base, head).measure("-k", "not nothing", "-rf")


def test_only_what_is_allowed_now_passes(ended: Ended):
    assert ended.outcomes == {
        "test_allowed[small]": "accepted",
        "test_allowed[big]": "accepted",
        "test_too_much": "regressed",
        "test_expired": "regressed",
    }
    assert ended.code == 1
    assert "tests/test_perf.py aaFF" in ended.text


def test_an_accepted_regression_is_shown_with_its_numbers_and_its_reason(ended: Ended):
    metric = ended.metric("test_allowed[big]")
    assert metric["change"] == pytest.approx(0.5, abs=0.01)
    assert metric["severity"] == "high"
    assert metric["reason"] == (
        "slower than the allowed +5.0 %, beyond doubt, but accepted until 2999-01-31: new checks"
    )
    assert f"2 tests: accepted: {metric['reason']}" in ended.text
    assert "rlperf: 2 regressed, 2 accepted in " in ended.text


def test_an_expired_entry_fails_with_a_sentence(ended: Ended):
    assert (
        "it was accepted until 2020-01-31 only (new checks): mend it, or renew the entry in "
        "[tool.rlperf.accepted]" in ended.section("test_expired")
    )


def test_a_part_of_the_suite_says_nothing_of_entries_without_a_test(ended: Ended):
    assert "test_gone" not in ended.text


def test_the_whole_suite_tells_which_entries_can_go(workshop: Workshop):
    files = {"tests/test_perf.py": TESTS, "lib.py": LIBRARY.format(ms=1)}
    ended = workshop.project("accepted-stale", {**files, "pyproject.toml": PYPROJECT}).run(
        "--rlperf"
    )
    assert ended.code == 0
    where = "rlperf: [tool.rlperf.accepted], 'tests/test_"
    assert [line for line in ended.text.splitlines() if line.startswith(where)] == [
        f"{where}perf.py::test_expired': it ended on 2020-01-31; remove it.",
        f"{where}gone.py::test_gone': no collected test matches it; correct or remove it.",
    ]


def test_an_entry_that_cannot_be_obeyed_is_refused(workshop: Workshop):
    entry = "[tool.rlperf.accepted]\n'a' = { until = 2030-01-31 }\n"
    files = {"test_a.py": "def test_a(rlperf): rlperf(int)\n", "pyproject.toml": entry}
    ended = workshop.project("accepted-refused", files).refuse("--rlperf")
    assert ended.code == 4
    assert (
        "ERROR: rlperf: pyproject.toml, [tool.rlperf.accepted], 'a': a reason is missing; "
        "say why it is accepted." in ended.text
    )
