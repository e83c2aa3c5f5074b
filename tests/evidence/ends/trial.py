"""What came of one trial, and what it left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trial:
    kind: str
    outcome: str
    trouble: str = ""  # what was lost or left; empty: nothing


def left_in(temporary: Path) -> list[str]:
    """Names of what is left of runs in the folder for temporary things."""
    return sorted(path.name for path in temporary.glob("rlperf-*"))
