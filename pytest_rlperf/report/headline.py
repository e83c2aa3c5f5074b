"""What a report says first: which revision, and what came out."""

from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.verdict import UNSURE, Outcome

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
    return test.memory is not None and bool(test.memory.of(Outcome.REGRESSED))


def render_tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"
