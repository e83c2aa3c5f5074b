"""What a test says about itself: the keywords of `@pytest.mark.rlperf`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pytest_rlperf.model.memory import Excess


@dataclass(frozen=True, slots=True)
class Spec:
    """How one benchmark wants to be measured and judged; the defaults suit most tests."""

    category: str | None = None
    steps: int | None = None  # environment or training steps in one call
    threshold: float | None = None  # allowed slowdown, a fraction; None: the run's
    kpi: tuple[str, ...] = ()  # names of the KPIs it stands for; `name:without` is the partner
    threads: int = 1  # threads the libraries may use, and cores the test gets
    waits: bool = False  # sleeps or does I/O by design: judged on wall time
    warmup: int | None = None  # untimed calls before the first slice of a block; None: chosen
    iterations: int | None = None  # timed calls a block and side; None: chosen
    memory: Mapping[str, Excess | float] | None = None  # limits of its own; None: not measured
    metadata: Mapping[str, Any] = field(default_factory=dict)


KEYWORDS = tuple(f.name for f in fields(Spec))
