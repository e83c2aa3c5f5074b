"""`rlperf bisect GOOD BAD -- NODEID`: find the commit that made a test slower, by duets."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.commands.bisect.duet import Compared, Duets
from pytest_rlperf.commands.bisect.history import History
from pytest_rlperf.commands.bisect.search import Answer, Found, search
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import format_percent, parse_fraction, parse_seconds
from pytest_rlperf.report.intervals import render_interval

THRESHOLD = 0.05
BUDGET_S = 120.0
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
    history = History.between(Path.cwd(), arguments.good, arguments.bad)
    duets = Duets(Path.cwd(), arguments.nodeid, tuple(arguments.pytest_args), budget_s)
    whole = duets.compare(history.good, history.bad, threshold)
    _say(history, history.bad, whole)
    if whole.answer is not Answer.SLOW:
        raise UsageError(
            f"{arguments.bad} is not slower than {arguments.good} by more than "
            f"{format_percent(threshold)} ({whole.reason}); there is no commit to find."
        )
    # Halfway between both ends, a commit is as far from being called wrongly as can be.
    halfway = max(threshold / 2, whole.change / 2)

    def judged(commit: str) -> Answer:
        compared = duets.compare(history.good, commit, halfway)
        _say(history, commit, compared)
        return compared.answer

    found = search(history, judged)
    return _tell(found, history, duets, threshold)


def _say(history: History, commit: str, compared: Compared) -> None:
    print(f"{compared.answer.value:7} {render_change(compared):28} {history.title(commit)}")


def render_change(compared: Compared) -> str:
    if compared.interval is None:
        return compared.reason
    interval = compared.interval
    return f"{format_percent(interval.change)} {render_interval(interval)}"


def _tell(found: Found, history: History, duets: Duets, threshold: float) -> int:
    if found.suspects:
        print("\nOne of these made it slower; those before the last could not be measured:")
        for commit in (*found.suspects, found.first_slow):
            print(f"  {history.title(commit)}")
        return NOT_FOUND
    last = duets.compare(history.parent(found.first_slow), found.first_slow, threshold)
    print(f"\n{history.title(found.first_slow)}")
    sure = last.answer is Answer.SLOW
    word = "is the commit that made it slower" if sure else "is the first slow commit"
    print(f"{word}: {render_change(last)} against the commit before it")
    return 0
