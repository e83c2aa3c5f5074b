"""How far a run has come."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    decided: int
    tests: int
    blocks: int  # 0: scouting
    widest: float | None  # half width of the widest open interval, a fraction
    elapsed_s: float
    budget_s: float
    label: str = ""  # of the round, where there are several
