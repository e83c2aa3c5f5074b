"""docs/reference.md says what the code says."""

from typing import Any

from pytest_rlperf.report import result_file
from pytest_rlperf.report.result_file import run_as_dict
from tests.docs.reference.page import COMMAND, FILE, render_reference
from tests.factories import a_test, run_result
from tests.sample_runs import EVERYTHING


def test_the_page_is_what_the_code_says():
    written = FILE.read_text(encoding="utf-8")
    assert written == render_reference(), f"it is out of date; renew it with {COMMAND}"


def keys(entries: list[dict[str, Any]]) -> set[str]:
    return {key for entry in entries for key in entry}


def test_every_key_of_a_result_is_explained_and_no_other():
    result = run_as_dict(EVERYTHING, 1)
    tests = result["tests"]
    assert keys([result]) | {"proof"} == set(result_file.RUN)
    assert keys(tests) == set(result_file.TEST)
    assert keys([metric for test in tests for metric in test["metrics"]]) == set(result_file.METRIC)


def test_a_result_without_anything_has_no_other_keys():
    result = run_as_dict(run_result(a_test()), 0)
    assert keys([result]) < set(result_file.RUN)
    assert keys(result["tests"]) < set(result_file.TEST)
