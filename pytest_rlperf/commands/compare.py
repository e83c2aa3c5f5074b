"""`rlperf compare A B`: two results side by side."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.judge.side_by_side import SideBySide, side_by_side
from pytest_rlperf.model.exit_code import ExitCode
from pytest_rlperf.model.quantity import format_percent, parse_fraction
from pytest_rlperf.report.side_by_side import render_run, render_side_by_side
from pytest_rlperf.store.result_file import read_result


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", type=Path, help="the older result")
    parser.add_argument("b", metavar="B", type=Path, help="the newer result")
    parser.add_argument(
        "--fail-on",
        metavar="20%",
        help="end with exit code 1 where B is worse by more than this",
    )


def run(arguments: Namespace) -> int:
    given = arguments.fail_on
    allowed = None if given is None else parse_fraction(given, "--fail-on")
    a, b = read_result(arguments.a), read_result(arguments.b)
    found = side_by_side(a, b)
    print(render_run("A", str(arguments.a), a))
    print(render_run("B", str(arguments.b), b))
    print("\n".join(render_side_by_side(found)))
    return _exit_code(found, allowed)


def _exit_code(found: SideBySide, allowed: float | None) -> int:
    if not found.compared:
        return ExitCode.NOTHING_COMPARED
    if allowed is None:
        return 0
    beyond = found.beyond(allowed)
    for difference in beyond:
        change = format_percent(difference.change or 0.0)
        print(f"beyond {format_percent(allowed)}: {difference.metric} {change} {difference.nodeid}")
    return ExitCode.FAILED if beyond else ExitCode.FINE
