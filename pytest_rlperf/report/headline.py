"""What every report says first: which revision, how many tests ended how, which is worst."""

from collections import Counter

from pytest_rlperf.model.metric import UNSURE, WORST_FIRST, MetricFamily, Outcome, badness
from pytest_rlperf.model.result import RunResult, TestResult

SHORT = 10
"""Digits of a commit: GitHub links them."""


INTERRUPTED = "Interrupted: the verdicts rest on what was measured until then."


def render_head(run: RunResult) -> str:
    commit = run.commit[:SHORT] if run.commit else "The working tree"
    return f"{commit} with uncommitted changes" if run.commit and run.dirty else commit


def render_verdict(run: RunResult) -> str:
    outcomes = [test.outcome for test in run.tests]
    slower, broken = outcomes.count(Outcome.REGRESSED), outcomes.count(Outcome.FAILED)
    unsure = sum(outcome in UNSURE for outcome in outcomes)
    if not any(verdict.interval for test in run.tests for verdict in test.verdicts):
        return "nothing was compared."
    word = "slower or larger" if any(map(_is_larger, run.tests)) else "slower"
    said = f"{slower} of {render_tests(len(outcomes))} {word} than allowed"
    if not slower:
        said = "nothing regressed"
    if broken:
        said += f", {render_tests(broken)} failed"
    if unsure:
        said += f", {unsure} without a verdict"
    return f"{said}."


def _is_larger(test: TestResult) -> bool:
    return any(
        m.family is MetricFamily.MEMORY and m.outcome is Outcome.REGRESSED for m in test.metrics
    )


def render_tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"


def render_summary(run: RunResult) -> str:
    """ "1 regressed, 8 unchanged": worst first."""
    counts = Counter(test.outcome for test in run.tests)
    return ", ".join(f"{counts[o]} {o.value.replace('_', ' ')}" for o in WORST_FIRST if counts[o])


def worst_first(test: TestResult) -> tuple[int, int, float]:
    """The key that sorts tests by outcome, then by severity, then by the change of time."""
    interval = test.headline.interval
    return *badness(test.worst), -(interval.change if interval else 0.0)
