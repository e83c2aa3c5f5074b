"""What tables write of outcomes and times."""

from pytest_rlperf.model.verdict import Outcome

WORDS = {outcome: outcome.value.replace("_", " ") for outcome in Outcome}
WORDS[Outcome.REGRESSED] = "REGRESSED"
DETECTS = "the smallest slowdown that this run would have called a regression."


def time_title(against: str | None) -> str:
    """Above a column of times; None: there is one side only."""
    return "time a call" if against is None else "base → head"
