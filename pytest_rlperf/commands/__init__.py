"""The commands of `rlperf`, a module each. Only the one that was asked for is imported."""

import importlib
from argparse import ArgumentParser, Namespace
from typing import Protocol, cast

COMMANDS = {
    "accept": "take a save that was refused because of a regression over, with a reason",
    "bisect": "the commit that made a test slower, found by duets",
    "ci": "what the GitHub action does: compare, record, keep",
    "comment": "the report as the one comment of a pull request, from a job on GitHub",
    "compare": "two results side by side, as --rlperf-json wrote them",
    "doctor": "what on this machine helps or hurts measuring",
    "export": "a result of --rlperf-json in the format of another tool",
    "history": "keep results of the main branch, for trends",
    "init": "a first performance test, a workflow and settings for a project",
    "install-hook": "check the performance before every `git push`",
    "notify": "post a regression to a webhook, such as Slack's",
    "pre-push": "what that hook does: measure what is about to be pushed",
    "report": "report.html, report.md and report.json from a result of --rlperf-json",
    "trend": "what the history says of each test: changes, creep, flaky ones",
}
"""Name and help; the module of `a-b` is `a_b`."""


class Command(Protocol):
    """What the module of a command holds."""

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, arguments: Namespace) -> int:
        """Do it, and return the exit code."""
        ...


def load(name: str) -> Command:
    return cast(Command, importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))
