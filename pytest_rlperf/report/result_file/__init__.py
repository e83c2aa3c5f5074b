"""The machine-readable result, schema 1 (`--rlperf-json`)."""

from pytest_rlperf.report.result_file.read import read_result, read_run, run_from
from pytest_rlperf.report.result_file.schema import ANEW, METRIC, RUN, TEST, ResultContent
from pytest_rlperf.report.result_file.write import run_as_dict, write_json

__all__ = [
    "ANEW",
    "METRIC",
    "RUN",
    "TEST",
    "ResultContent",
    "read_result",
    "read_run",
    "run_as_dict",
    "run_from",
    "write_json",
]
