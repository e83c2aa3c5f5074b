"""Which run each test is from, where a result was put together of several: a line for each run."""

from collections import Counter

from pytest_rlperf.model.result import Part, RunResult
from pytest_rlperf.report.text import SHORT, render_tests


def render_parts(run: RunResult) -> list[str]:
    """Return what is to be known of each run; nothing of a run that stands alone."""
    numbers = Counter(test.part for test in run.tests)
    differ = len({(p.commit, p.against, p.dirty) for p in run.parts}) > 1
    return [_line(part, numbers[part.name], differ) for part in run.parts]


def _line(part: Part, tests: int, differ: bool) -> str:
    """Return how many tests it has, and where they ran; where runs `differ` of what, too."""
    words = [f"from {part.name}: {render_tests(tests)} in {part.seconds:.0f} s"]
    if differ and part.commit:
        changes = " with uncommitted changes" if part.dirty else ""
        words.append(f"of {part.commit[:SHORT]}{changes}")
    if differ and part.against:
        words.append(f"against {part.against}")
    if cpu := part.fingerprint.get("cpu"):
        words.append(f"on {cpu}")
    return ", ".join(words)
