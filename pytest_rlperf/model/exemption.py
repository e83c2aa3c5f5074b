"""Regressions that a project accepts: of which tests, until when, and why."""

import datetime
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of `[tool.rlperf.accepted]`."""

    pattern: str  # a node id, in which * stands for anything
    until: datetime.date  # the last day it holds
    reason: str
    allowed: float | None = None  # largest slowdown that is accepted, a fraction; None: any

    def matches(self, nodeid: str) -> bool:
        """Not by fnmatch: the brackets of a parametrized id are no set of characters."""
        parts = (re.escape(part) for part in self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), nodeid, re.DOTALL) is not None
