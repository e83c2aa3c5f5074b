"""`rlperf ci TASK`: what the GitHub action does, a step each. Works in any job, on any machine.

`compare` and `record` run pytest, of a pull request and of the main branch. `merge` makes one
report of those that the shards of a matrix left. `keep` sends what the main branch measured to the
data branch; git pushes as the job, without a trace in the clone's configuration.
"""

import base64
import os
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_rlperf.baselines.folder import FOLDER, BaselineBranch
from pytest_rlperf.commands.comment import NUMBER_FILE, pull_request_number
from pytest_rlperf.commands.merge import lines_of, write_report
from pytest_rlperf.commands.merge import merge as merged
from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import read_plain
from pytest_rlperf.history.branch import NAME
from pytest_rlperf.leaving import run_to_its_end
from pytest_rlperf.model.quantity import parse_seconds
from pytest_rlperf.report.github import write_job_summary

REPORT = "rlperf-report"


@dataclass(frozen=True, slots=True)
class ActionInputs:
    """The inputs of the action, checked."""

    report: Path
    branch: str  # that keeps data
    against: str | None
    budget_s: float | None
    arguments: tuple[str, ...]
    shard: str | None  # "2/4"; None: the whole suite
    shards: Path | None  # where the reports of all shards lie, a folder each

    @classmethod
    def of(cls, options: Namespace) -> Self:
        """Take an empty value for the default: that is what an action hands on of an input."""
        try:
            arguments = tuple(shlex.split(options.arguments or ""))
        except ValueError as error:
            raise UsageError(
                f"--arguments is {options.arguments!r}, which no shell could split ({error}); "
                "close its quotes."
            ) from None
        return cls(
            report=Path(options.report or REPORT),
            branch=options.branch or NAME,
            against=options.against or None,
            budget_s=parse_seconds(options.budget, "--budget") if options.budget else None,
            arguments=arguments,
            shard=options.shard or None,
            shards=None if options.shards is None else Path(options.shards),
        )


def add_arguments(parser: ArgumentParser) -> None:
    tasks = parser.add_subparsers(title="tasks", required=True, metavar="TASK")
    for name, text, task in (
        ("compare", "measure a pull request against its merge base", compare),
        ("record", "measure a commit of the main branch, and renew its baselines", record),
        ("merge", "make one report of those of all shards", merge),
        ("keep", "send what was recorded to the data branch", keep),
    ):
        added = tasks.add_parser(name, help=text, description=text)
        added.set_defaults(
            task=task, against=None, budget=None, arguments=None, shard=None, shards=None
        )
        added.add_argument("--report", metavar="DIR", help=f"of the report (default {REPORT})")
        added.add_argument("--branch", metavar="NAME", help=f"that keeps data (default {NAME})")
        if task is compare:
            added.add_argument("--shard", metavar="K/N", help="only this part of the suite")
        if task is merge:
            added.add_argument(
                "--shards",
                metavar="DIR",
                required=True,
                help="that holds the reports of the shards, a folder each",
            )
        if task in (compare, record):
            added.add_argument(
                "--against", metavar="REF", help="to compare with (default: merge base)"
            )
            added.add_argument("--budget", metavar="SECONDS", help="for the whole run")
            added.add_argument(
                "--arguments", metavar="TEXT", help="for pytest, split as a shell does"
            )


def run(arguments: Namespace) -> int:
    task: Callable[[ActionInputs, MutableMapping[str, str]], int] = arguments.task
    return task(ActionInputs.of(arguments), os.environ)


# -- running pytest -----------------------------------------------------------------------------


def compare(inputs: ActionInputs, environ: Mapping[str, str]) -> int:
    """Return pytest's exit code; the number of the pull request is left beside the report."""
    against = inputs.against or _merge_base(environ)
    inputs.report.mkdir(parents=True, exist_ok=True)
    number = pull_request_number(environ)
    if number is not None:
        (inputs.report / NUMBER_FILE).write_text(f"{number}\n")
    return run_pytest(pytest_words(inputs, f"--rlperf-against={against}"))


def record(inputs: ActionInputs, _: Mapping[str, str]) -> int:
    """Return pytest's exit code. The baselines of the data branch are laid beside the report, and
    renewed there unless something regressed.
    """
    baselines = inputs.report / FOLDER
    BaselineBranch(Path.cwd(), inputs.branch).lay_out(baselines)
    return run_pytest(pytest_words(inputs, "--rlperf-save=main", f"--rlperf-baselines={baselines}"))


def _merge_base(environ: Mapping[str, str]) -> str:
    branch = environ.get("GITHUB_BASE_REF")
    if not branch:
        raise UsageError(
            "this job is of no pull request, so there is no merge base; name a revision with "
            "against, or start the job by pull_request."
        )
    return f"origin/{branch}..."


def pytest_words(inputs: ActionInputs, *partner: str) -> list[str]:
    return [
        *("--rlperf", *partner, f"--rlperf-report={inputs.report}"),
        *([] if inputs.budget_s is None else [f"--rlperf-budget={inputs.budget_s:g}"]),
        *([] if inputs.shard is None else [f"--rlperf-shard={inputs.shard}"]),
        *([] if inputs.branch == NAME else ["-o", f"rlperf_history={inputs.branch}"]),
        *inputs.arguments,
    ]


def run_pytest(words: list[str]) -> int:
    return run_to_its_end([sys.executable, "-m", "pytest", *words]).returncode


# -- one report of all shards -------------------------------------------------------------------

RESULT = "report.json"


def merge(inputs: ActionInputs, environ: Mapping[str, str]) -> int:
    """Return the exit code of the suite. The number of the pull request is handed on."""
    assert inputs.shards is not None
    results = sorted(inputs.shards.glob(f"*/{RESULT}"))
    if not results:
        raise UsageError(
            f"there is no report of a shard in {inputs.shards}: no shard was measured to its end; "
            "look at the jobs that measure."
        )
    suite = write_report(merged(results), inputs.report)
    for number in sorted({_number_beside(result) for result in results} - {b""}):
        (inputs.report / NUMBER_FILE).write_bytes(number)
    print("\n".join(lines_of(suite.run)))
    if trouble := write_job_summary(suite.run, (), environ):
        print(trouble)
    return suite.exit_code


def _number_beside(result: Path) -> bytes:
    return read_plain(result.with_name(NUMBER_FILE), 16) or b""


# -- keeping what was measured ------------------------------------------------------------------

USER = "x-access-token"
REMOTE = "origin"


def credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """Make variables for git, with which GITHUB_TOKEN is sent to GITHUB_SERVER_URL and nobody else;
    none where either is missing.
    """
    token, server = environ.get("GITHUB_TOKEN"), environ.get("GITHUB_SERVER_URL")
    if not token or not server:
        return {}
    number = int(environ.get("GIT_CONFIG_COUNT") or 0)  # others may have set some
    secret = base64.b64encode(f"{USER}:{token}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": f"http.{server}/.extraheader",
        f"GIT_CONFIG_VALUE_{number}": f"AUTHORIZATION: basic {secret}",
    }


def keep(inputs: ActionInputs, environ: MutableMapping[str, str]) -> int:
    """Send the history first: it brings in what others sent, and the baselines go on top of it."""
    result, branch = inputs.report / RESULT, inputs.branch
    if not result.is_file():
        print(f"{result} is not there: the run ended before it, so there is nothing to keep.")
        return 0
    environ.update(credentials(environ))
    appended = _rlperf("history", "append", str(result), f"--branch={branch}", f"--push={REMOTE}")
    kept = BaselineBranch(Path.cwd(), branch).keep(inputs.report / FOLDER, REMOTE)
    _add_to_summary(_rlperf("trend", f"--branch={branch}", "--markdown"), environ)
    files = "1 file" if kept == 1 else f"{kept} files"
    print(f"{appended}\nkept {files} of baselines on the branch {branch}.")
    return 0


def _rlperf(*words: str) -> str:
    """Return the output of a command, which prints itself what went wrong."""
    command = [sys.executable, "-m", "pytest_rlperf.cli", *words]
    done = run_to_its_end(command, stdout=subprocess.PIPE)
    if done.returncode:
        raise UsageError(f"`rlperf {words[0]}` did not work; what it says stands above.")
    return done.stdout.rstrip("\n")


def _add_to_summary(text: str, environ: MutableMapping[str, str]) -> None:
    """Add it as well as can be: the trend can be asked for at any time."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if name and os.access(name, os.W_OK):
        with open(name, "a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")
