"""The two environments of a run in words."""

from collections.abc import Sequence

from pytest_rlperf.model.environment import EnvironmentDifference, Environments
from pytest_rlperf.model.result import RunResult

MOST, MOST_LETTERS = 20, 120
"""Differences that are named, and letters of each: the JSON has all of it."""


def render_differences(differences: Sequence[EnvironmentDifference]) -> list[str]:
    """Return a line for each difference, and how many are not named."""
    lines = [_cut(str(each)) for each in differences[:MOST]]
    more = len(differences) - MOST
    return [*lines, f"and {more} more, which --rlperf-json tells"] if more > 0 else lines


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def render_environments(run: RunResult) -> list[str]:
    """Return what the two environments differ in; nothing where there is one only."""
    return render_both(run.environments)


def render_both(environments: Environments | None) -> list[str]:
    """Return the same lines for the two environments that a run is about to compare."""
    if environments is None:
        return []
    own, base = environments.differences, environments.base
    if not own:
        return [f"both environments are the same, as far as can be seen: this one and {base}"]
    title = f"from {base} to this environment:"
    return [title, *(f"  {line}" for line in render_differences(own))]
