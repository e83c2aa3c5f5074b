"""The runs of pytest in CI: of a pull request, and of the main branch."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_rlperf.commands.comment.event import NUMBER_FILE, pull_request_number
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import parse_seconds
from pytest_rlperf.store.baseline_branch import FOLDER, BaselineBranch
from pytest_rlperf.store.history_branch import NAME


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the inputs of the action say."""

    report: Path
    against: str | None
    budget_s: float | None
    arguments: tuple[str, ...]
    branch: str = NAME  # that keeps data

    @classmethod
    def of(
        cls,
        report: Path,
        against: str | None,
        budget: str | None,
        arguments: str,
        branch: str | None,
    ) -> Self:
        try:
            words = tuple(shlex.split(arguments))
        except ValueError as error:
            raise UsageError(
                f"--arguments is {arguments!r}, which no shell could split ({error}); close its "
                "quotes."
            ) from None
        seconds = parse_seconds(budget, "--budget") if budget else None
        return cls(report, against or None, seconds, words, branch or NAME)


def compare(wishes: Wishes, environ: Mapping[str, str]) -> int:
    """pytest's exit code. Beside the report lies the number of the pull request, for the job that
    comments.
    """
    against = wishes.against or _merge_base(environ)
    wishes.report.mkdir(parents=True, exist_ok=True)
    number = pull_request_number(environ)
    if number is not None:
        (wishes.report / NUMBER_FILE).write_text(f"{number}\n")
    return run_pytest(pytest_words(wishes, f"--rlperf-against={against}"))


def record(wishes: Wishes) -> int:
    """pytest's exit code. The baselines of the data branch are laid beside the report, and renewed
    there unless something regressed.
    """
    baselines = wishes.report / FOLDER
    BaselineBranch(Path.cwd(), wishes.branch).lay_out(baselines)
    return run_pytest(pytest_words(wishes, "--rlperf-save=main", f"--rlperf-baselines={baselines}"))


def _merge_base(environ: Mapping[str, str]) -> str:
    branch = environ.get("GITHUB_BASE_REF")
    if not branch:
        raise UsageError(
            "this job is of no pull request, so there is no merge base; name a revision with "
            "against, or start the job by pull_request."
        )
    return f"origin/{branch}..."


def pytest_words(wishes: Wishes, *partner: str) -> list[str]:
    return [
        *("--rlperf", *partner, f"--rlperf-report={wishes.report}"),
        *([] if wishes.budget_s is None else [f"--rlperf-budget={wishes.budget_s:g}"]),
        *([] if wishes.branch == NAME else ["-o", f"rlperf_history={wishes.branch}"]),
        *wishes.arguments,
    ]


def run_pytest(words: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *words]).returncode
