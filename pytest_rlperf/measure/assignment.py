"""What the controller wants of a player."""

from dataclasses import dataclass

from pytest_rlperf.model.memory import Probe
from pytest_rlperf.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the controller wants of one test in one block."""

    nodeid: str
    plan: Plan | None  # None: scout
    seed: int
    deadline_s: float
    cores: tuple[int, ...]
    probe: Probe | None = None  # look at its memory instead
