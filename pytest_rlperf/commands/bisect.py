"""`rlperf bisect GOOD BAD -- NODEID`: find the commit that made a test slower, by duets.

`search` chooses which commit to measure next and knows neither git nor time. `CommitRange` knows
the history, and `Duets` lets pytest measure.
"""

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, Self

from pytest_rlperf.errors import RevisionError, UsageError
from pytest_rlperf.leaving import run_to_its_end, temporary_folder
from pytest_rlperf.model.metric import WITHIN, Interval, Outcome
from pytest_rlperf.model.quantity import format_percent, parse_fraction, parse_seconds
from pytest_rlperf.report.result_file import read_result
from pytest_rlperf.report.text import render_interval
from pytest_rlperf.trees.git import SHORT, git, git_or_none, resolve

# -- the search ---------------------------------------------------------------------------------


class Answer(StrEnum):
    """The answer of a duet on a commit."""

    FAST = "fast"
    SLOW = "slow"
    SKIP = "skipped"  # it cannot be measured, or the duet could not tell


class Commits(Protocol):
    """A history between a commit that is fast and one that is slow."""

    @property
    def bad(self) -> str: ...

    def halving(self, fast: Sequence[str], slow: str) -> list[str]:
        """List what is neither known fast nor after `slow`, without it, the best to ask first."""
        ...


@dataclass(frozen=True, slots=True)
class Culprit:
    """The first commit known slow, and those before it that could not be measured."""

    first_slow: str
    suspects: tuple[str, ...] = ()


def search(commits: Commits, judge: Callable[[str], Answer]) -> Culprit:
    fast: list[str] = []
    skipped: list[str] = []
    slow = commits.bad
    while True:
        left = commits.halving(fast, slow)
        ask = next((commit for commit in left if commit not in skipped), None)
        if ask is None:
            return Culprit(slow, tuple(left))
        match judge(ask):
            case Answer.FAST:
                fast.append(ask)
            case Answer.SLOW:
                slow = ask
            case Answer.SKIP:
                skipped.append(ask)


# -- the commits --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits between a good and a bad one, as git knows them."""

    folder: Path
    good: str
    bad: str

    @classmethod
    def between(cls, folder: Path, good: str, bad: str) -> Self:
        first, last = resolve(folder, good).sha, resolve(folder, bad).sha
        if first == last:
            raise RevisionError(f"{good} and {bad} are the same commit; give an older good one.")
        if git_or_none(folder, "merge-base", "--is-ancestor", first, last) is None:
            raise RevisionError(
                f"{good} is not an ancestor of {bad}, so no commit lies between them; "
                f"{_advice(folder, first, last)}."
            )
        return cls(folder, first, last)

    def halving(self, fast: Sequence[str], slow: str) -> list[str]:
        """Choose as `git bisect` would: what leaves least to ask about, whatever the answer."""
        known = [self.good, *fast]
        lines = git(self.folder, "rev-list", "--bisect-all", slow, "--not", *known).splitlines()
        return [commit for line in lines if (commit := line.split()[0]) != slow]

    def parent(self, commit: str) -> str:
        return git(self.folder, "rev-parse", f"{commit}^").strip()

    def title(self, commit: str) -> str:
        subject = git(self.folder, "log", "-1", "--format=%s", commit).strip()
        return f"{commit[:SHORT]} {subject}"


def _advice(folder: Path, first: str, last: str) -> str:
    base = git_or_none(folder, "merge-base", first, last)
    if base is None:
        return "they have no history in common"
    if base == last:
        return "they stand in reverse order: the older one comes first"
    return f"begin with where they parted: {base[:SHORT]}"


# -- the duets ----------------------------------------------------------------------------------

ANSWERS = {
    Outcome.REGRESSED: Answer.SLOW,
    Outcome.ACCEPTED: Answer.SLOW,
    **dict.fromkeys(WITHIN, Answer.FAST),
    Outcome.SAME_CODE: Answer.FAST,
}
"""Other outcomes tell nothing: the commit cannot be imported, fails, or cannot be judged."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The answer of a duet, and what it rests on."""

    answer: Answer
    reason: str
    interval: Interval | None

    @property
    def change(self) -> float:
        return self.interval.change if self.interval else 0.0


@dataclass(frozen=True, slots=True)
class Duets:
    """Lets pytest say whether one commit is slower than another, by one test of the working tree;
    each duet ends as soon as it is sure.
    """

    folder: Path
    nodeid: str
    pytest_args: tuple[str, ...]
    budget_s: float

    def compare(self, base: str, head: str, threshold: float) -> Compared:
        with temporary_folder("bisect") as folder:
            result = folder / "result.json"
            done = run_to_its_end(
                self.command(base, head, threshold, result),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            if not result.exists():
                raise UsageError(f"{self.nodeid} cannot be measured: {error_said(done.stdout)}")
            return self._compared(read_result(result)["tests"])

    def command(self, base: str, head: str, threshold: float, result: Path) -> list[str]:
        return [
            *(sys.executable, "-m", "pytest", "--rlperf", "--rlperf-profile=off"),
            f"--rlperf-against={base}",
            f"--rlperf-head={head}",
            f"--rlperf-threshold={100 * threshold:.4f}%",
            f"--rlperf-budget={self.budget_s:g}",
            f"--rlperf-json={result}",
            *self.pytest_args,
            self.nodeid,
        ]

    def _compared(self, tests: list[Mapping[str, Any]]) -> Compared:
        if len(tests) != 1:
            such = f", such as {tests[0]['nodeid']}" if tests else ""
            raise UsageError(
                f"{self.nodeid} names {len(tests)} performance tests; a bisection looks at one"
                f"{such}."
            )
        if not tests[0]["metrics"]:
            return Compared(Answer.SKIP, "nothing was measured", None)
        metric = tests[0]["metrics"][0]
        interval = None
        if metric["change"] is not None:
            interval = Interval(metric["change"], metric["low"], metric["high"])
        answer = ANSWERS.get(Outcome(metric["outcome"]), Answer.SKIP)
        return Compared(answer, metric["reason"], interval)


def error_said(output: str) -> str:
    """Return pytest's own sentence, which is on the last line that begins with ERROR."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    if errors:
        return errors[-1].removeprefix("ERROR:").strip().removeprefix("rlperf:").strip()
    return lines[-1] if lines else "pytest said nothing"


# -- the command --------------------------------------------------------------------------------

THRESHOLD = 0.05
BUDGET_S = 120.0
MOST_HALFWAY = 5.0
"""What is far enough from both ends of any larger change; no run is asked for more than 1,000 %."""
NOT_FOUND = 1


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("good", metavar="GOOD", help="a commit at which the test was fast")
    parser.add_argument("bad", metavar="BAD", help="a later commit at which it is slow")
    parser.add_argument("nodeid", metavar="NODEID", help="the test, as pytest names it")
    parser.add_argument("pytest_args", metavar="ARG", nargs="*", help="more arguments for pytest")
    parser.add_argument(
        "--threshold",
        metavar=f"{THRESHOLD:.0%}",
        default=f"{THRESHOLD:.0%}",
        help="what counts as slower",
    )
    parser.add_argument(
        "--budget",
        metavar="SECONDS",
        default=f"{BUDGET_S:.0f}",
        help=f"for one duet at most (default {BUDGET_S:.0f})",
    )


def run(arguments: Namespace) -> int:
    threshold = parse_fraction(arguments.threshold, "--threshold")
    budget_s = parse_seconds(arguments.budget, "--budget")
    history = CommitRange.between(Path.cwd(), arguments.good, arguments.bad)
    duets = Duets(Path.cwd(), arguments.nodeid, tuple(arguments.pytest_args), budget_s)
    whole = duets.compare(history.good, history.bad, threshold)
    _print_answer(history, history.bad, whole)
    if whole.answer is not Answer.SLOW:
        raise UsageError(
            f"{arguments.bad} is not slower than {arguments.good} by more than "
            f"{format_percent(threshold)} ({whole.reason}); there is no commit to find."
        )
    asked = halfway(threshold, whole.change)

    def judge(commit: str) -> Answer:
        compared = duets.compare(history.good, commit, asked)
        _print_answer(history, commit, compared)
        return compared.answer

    return _print_culprit(search(history, judge), history, duets, threshold)


def halfway(threshold: float, change: float) -> float:
    """Return the change that a commit is asked for: halfway between both ends it is as far from
    being called wrongly as can be.
    """
    return min(MOST_HALFWAY, max(threshold / 2, change / 2))


def _print_answer(history: CommitRange, commit: str, compared: Compared) -> None:
    print(f"{compared.answer.value:7} {render_change(compared):28} {history.title(commit)}")


def render_change(compared: Compared) -> str:
    if compared.interval is None:
        return compared.reason
    interval = compared.interval
    return f"{format_percent(interval.change)} {render_interval(interval)}"


def _print_culprit(culprit: Culprit, history: CommitRange, duets: Duets, threshold: float) -> int:
    """Print what was found, after a last duet with the commit before; returns the exit code."""
    if culprit.suspects:
        print("\nOne of these made it slower; those before the last could not be measured:")
        for commit in (*culprit.suspects, culprit.first_slow):
            print(f"  {history.title(commit)}")
        return NOT_FOUND
    last = duets.compare(history.parent(culprit.first_slow), culprit.first_slow, threshold)
    print(f"\n{history.title(culprit.first_slow)}")
    sure = last.answer is Answer.SLOW
    word = "is the commit that made it slower" if sure else "is the first slow commit"
    print(f"{word}: {render_change(last)} against the commit before it")
    return 0
