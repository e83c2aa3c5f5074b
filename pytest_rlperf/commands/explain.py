"""`rlperf explain RESULT [NODEID]`: one test of a result, as text to act on."""

import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.report.explain import (
    render_explained,
    render_others,
    render_run,
    worst_test,
)
from pytest_rlperf.report.result_file import read_run
from pytest_rlperf.report.text import name_some


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    parser.add_argument(
        "nodeid",
        metavar="NODEID",
        nargs="?",
        help="the test, or a part of its name that no other has (default: the worst regression, "
        "with a list of the others)",
    )


def run(arguments: Namespace) -> int:
    measured, _ = read_run(arguments.result)
    print("\n".join(explanation(measured, arguments.nodeid)))
    return 0


def explanation(run: RunResult, nodeid: str | None) -> list[str]:
    """Return the lines on the test that is named, or on the worst one and then the others."""
    if nodeid is not None:
        return [*render_run(run), "", *render_explained(run, named_test(run.tests, nodeid))]
    worst = worst_test(run)
    if worst is None:
        return [*render_run(run), *render_others(run, None)]
    return [*render_run(run), "", *render_explained(run, worst), *render_others(run, worst)]


def named_test(tests: Sequence[TestResult], name: str) -> TestResult:
    """Return the test of this node id, or the only one whose id holds it."""
    by_nodeid = {test.nodeid: test for test in tests}
    if name in by_nodeid:
        return by_nodeid[name]
    holding = [nodeid for nodeid in by_nodeid if name in nodeid]
    if len(holding) == 1:
        return by_nodeid[holding[0]]
    if holding:
        raise UsageError(f"{name!r} names {len(holding)} tests: {name_some(holding)}; give one.")
    near = difflib.get_close_matches(name, by_nodeid, n=1, cutoff=0.3) or [*by_nodeid][:1]
    hint = f"; there is {near[0]}, for one" if near else ", and it has none"
    raise UsageError(f"the result has no test {name!r}{hint}.")
