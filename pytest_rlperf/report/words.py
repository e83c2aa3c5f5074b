"""Outcomes as tables write them."""

from pytest_rlperf.model.verdict import Outcome

WORDS = {outcome: outcome.value.replace("_", " ") for outcome in Outcome}
WORDS[Outcome.REGRESSED] = "REGRESSED"
