"""Every option has a twin in the ini file, and the command line comes first."""

import json

import pytest

from .fake_time import BLOCK_BUDGET, CONFTEST
from .projects import Ended, Workshop

INI = """
[pytest]
rlperf_against = base
rlperf_threshold = 30%
rlperf_budget = 6
rlperf_json = from-ini.json
rlperf_category = env
rlperf_same_code = measure
"""
TESTS = """
import pytest

from fakeclock import tick

@pytest.mark.rlperf(category="env")
def test_env(rlperf):
    rlperf(tick, 1_000_000)

def test_other(rlperf):
    rlperf(tick, 1_000_000)
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    files = {
        "tests/test_perf.py": TESTS,
        "pytest.ini": INI,
        "conftest.py": CONFTEST + BLOCK_BUDGET,
    }
    return workshop.project("ini", files).run(
        "--rlperf", "--rlperf-threshold=40%", json_result=False
    )


@pytest.fixture(scope="module")
def metric(ended: Ended) -> dict[str, object]:
    result = json.loads((ended.folder / "from-ini.json").read_text())
    (test,) = result["tests"]
    assert test["nodeid"] == "tests/test_perf.py::test_env"
    (metric,) = test["metrics"]
    return dict(metric)


def test_the_ini_file_is_read(ended: Ended, metric: dict[str, object]):
    assert ended.code == 0
    assert "rlperf: against base (" in ended.text
    assert "budget 6 s" in ended.text
    assert metric["base_value"] is not None


def test_the_command_line_comes_first(metric: dict[str, object]):
    assert metric["threshold"] == 0.4


def test_the_ini_file_alone_measures_nothing(workshop: Workshop):
    files = {"tests/test_perf.py": TESTS, "pytest.ini": INI}
    ended = workshop.project("ini-alone", files).run(json_result=False)
    assert ended.code == 0
    assert "2 passed" in ended.text
    assert not (ended.folder / "from-ini.json").exists()
