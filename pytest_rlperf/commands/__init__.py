"""The commands of `rlperf`, a module each. Only the one that was asked for is imported."""

import importlib
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Protocol, cast

COMMANDS = {
    "accept": "take a save that was refused because of a regression over, with a reason",
    "bisect": "the commit that made a test slower, found by duets",
    "cache": "what is kept between runs, how large it is, and how to be rid of it",
    "ci": "what the GitHub action does: compare, record, keep",
    "comment": "the report as the one comment of a pull request, from a job on GitHub",
    "compare": "two results side by side, as --rlperf-json wrote them",
    "demo": "a small project with a slower commit in it, and what the gate says of that",
    "doctor": "what on this machine helps or hurts measuring",
    "duet": "any two commands, or more, against each other: both at once on one core",
    "explain": "one test of a result, as text to act on: why, since what, and what next",
    "export": "a result of --rlperf-json in the format of another tool",
    "history": "keep results of the main branch, for trends",
    "init": "a first performance test, a workflow and settings for a project",
    "install-hook": "check the performance before every `git push`",
    "mcp": "tools for assistants: list, measure, compare, explain, bisect; by stdin and stdout",
    "merge": "the results of all shards as one, or a run of some tests laid over a full result",
    "notify": "post a regression to a webhook, such as Slack's",
    "pre-push": "what that hook does: measure what is about to be pushed",
    "report": "report.html, report.md and report.json from a result of --rlperf-json",
    "scale": "what MPI jobs would do on more nodes, modelled from measured ones",
    "trend": "what the history says of each test: changes, creep, flaky ones",
    "upgrade": "which tests other versions of libraries or of Python make slower",
}
"""Name and help; the module of `a-b` is `a_b`."""

USUAL: Mapping[int, str] = {0: "done", 4: "it cannot be done, and one sentence says why"}
EXITS: Mapping[str, Mapping[int, str]] = {
    "bisect": {
        0: "the commit was found",
        1: "one of several, since those between could not be measured",
        4: "there is nothing to find",
    },
    "ci": {
        1: "of compare and record: as pytest --rlperf ends; of merge: as rlperf merge",
        6: "the same",
    },
    "compare": {1: "worse by more than --fail-on", 6: "the results have nothing in common"},
    "demo": {0: "the gate ran, whatever it said", 1: "it did not come to a result"},
    "duet": {
        0: "no command is slower than the first by more than is allowed",
        1: "one is",
        2: "interrupted; the verdicts rest on what was measured until then",
        6: "the budget was too short to compare anything",
    },
    "merge": {
        0: "nothing regressed and nothing failed",
        1: "a test regressed or failed, in whichever run it was measured",
        2: "a run was interrupted",
        4: "the results do not belong together, or one is missing",
        6: "a comparison was asked for, and nothing could be compared in any of them",
    },
    "notify": {0: "in any case: it never fails a build"},
    "pre-push": {1: "a test regressed or could not be measured: the push is stopped"},
    "upgrade": {1: "as pytest --rlperf ends: a test got slower or failed", 6: "the same"},
}
"""Exit codes of a command where it has others than the usual ones, or where those mean more."""


class Command(Protocol):
    """The two functions that the module of a command holds."""

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, arguments: Namespace) -> int:
        """Do what was asked for, and return the exit code."""
        ...


def load(name: str) -> Command:
    return cast(Command, importlib.import_module(f"{__name__}.{name.replace('-', '_')}"))


def exits_of(name: str) -> Mapping[int, str]:
    return dict(sorted({**USUAL, **EXITS.get(name, {})}.items()))


def exits_text(name: str) -> str:
    """Write the exit codes of a command for the end of its help."""
    codes = "; ".join(f"{code} {meaning}" for code, meaning in exits_of(name).items())
    return f"Exit codes: {codes}."
