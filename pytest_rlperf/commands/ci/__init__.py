"""`rlperf ci TASK`: what the GitHub action does, a step each. Works in any job, on any machine."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from pytest_rlperf.commands.ci.keeping import keep
from pytest_rlperf.commands.ci.measuring import Wishes, compare, record
from pytest_rlperf.store.history_branch import NAME

REPORT = "rlperf-report"


def add_arguments(parser: ArgumentParser) -> None:
    """An empty value stands for the default: that is what an action hands on of an input."""
    tasks = parser.add_subparsers(title="tasks", required=True, metavar="TASK")
    for name, text, task in (
        ("compare", "measure a pull request against its merge base", _compare),
        ("record", "measure a commit of the main branch, and renew its baselines", _record),
        ("keep", "send what was recorded to the data branch", _keep),
    ):
        added = tasks.add_parser(name, help=text, description=text)
        added.set_defaults(task=task)
        added.add_argument("--report", metavar="DIR", help=f"of the report (default {REPORT})")
        added.add_argument("--branch", metavar="NAME", help=f"that keeps data (default {NAME})")
        if task is not _keep:
            _add_wishes(added)


def _add_wishes(parser: ArgumentParser) -> None:
    parser.add_argument("--against", metavar="REF", help="to compare with (default: merge base)")
    parser.add_argument("--budget", metavar="SECONDS", help="for the whole run")
    parser.add_argument("--arguments", metavar="TEXT", help="for pytest, split as a shell does")


def run(arguments: Namespace) -> int:
    task: Callable[[Namespace], int] = arguments.task
    return task(arguments)


def _compare(arguments: Namespace) -> int:
    return compare(_wishes(arguments), os.environ)


def _record(arguments: Namespace) -> int:
    return record(_wishes(arguments))


def _keep(arguments: Namespace) -> int:
    print(keep(Path.cwd(), arguments.branch or NAME, _report(arguments), os.environ))
    return 0


def _wishes(arguments: Namespace) -> Wishes:
    return Wishes.of(
        _report(arguments),
        arguments.against,
        arguments.budget,
        arguments.arguments or "",
        arguments.branch,
    )


def _report(arguments: Namespace) -> Path:
    return Path(arguments.report or REPORT)
