"""Key performance indicators: absolute limits on what a test measures, and what came of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pytest_rlperf.model.metric import Direction

WITHOUT = ":without"
"""Ends the claim of the test that does the same work without what an overhead KPI prices."""


class KpiMetric(StrEnum):
    TIME = "time"  # of a call
    STEP_TIME = "step_time"  # of a step; a test that declares no steps makes one a call
    FIRST_CALL = "first_call"  # compiling and cold caches included
    THROUGHPUT = "throughput"
    MEMORY = "memory"
    OVERHEAD = "overhead"  # how much longer than another test

    @property
    def direction(self) -> Direction:
        return Direction.HIGHER if self is KpiMetric.THROUGHPUT else Direction.LOWER


TIME_UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
BYTE_UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}

UNITS: Mapping[KpiMetric, Mapping[str, float]] = {
    KpiMetric.TIME: TIME_UNITS,
    KpiMetric.STEP_TIME: TIME_UNITS,
    KpiMetric.FIRST_CALL: TIME_UNITS,
    KpiMetric.THROUGHPUT: {"steps/s": 1.0},
    KpiMetric.MEMORY: BYTE_UNITS,
    KpiMetric.OVERHEAD: {"%": 0.01},
}
"""The size of each unit in what the metric is measured in: ns, steps/s, bytes or a fraction."""


@dataclass(frozen=True, slots=True)
class Kpi:
    """A limit on a metric: missing the target warns, crossing the alert fails the test."""

    name: str
    metric: KpiMetric
    target: float  # in `unit`, as the alert
    alert: float
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in UNITS[self.metric]:
            fitting = " or ".join(repr(unit) for unit in UNITS[self.metric])
            raise ValueError(
                f"{self.unit!r} is no unit of the metric {self.metric.value!r}; write {fitting}"
            )
        if self.is_worse(self.target, than=self.alert):
            less = "below" if self.direction is Direction.LOWER else "above"
            raise ValueError(
                f"the target {self.target:g} lies beyond the alert {self.alert:g}, and of "
                f"{self.metric.value} {self.direction.value} is better; set the target {less} it"
            )

    @property
    def direction(self) -> Direction:
        return self.metric.direction

    @property
    def scale(self) -> float:
        """One `unit` in what the metric is measured in."""
        return UNITS[self.metric][self.unit]

    def is_worse(self, value: float, *, than: float) -> bool:
        return value > than if self.direction is Direction.LOWER else value < than


BUILT_IN = (
    Kpi("environment_step", KpiMetric.STEP_TIME, target=1, alert=5, unit="ms"),
    Kpi("policy_forward", KpiMetric.STEP_TIME, target=0.1, alert=1, unit="ms"),
    Kpi("safety_overhead", KpiMetric.OVERHEAD, target=10, alert=25, unit="%"),
    Kpi("memory_per_episode", KpiMetric.MEMORY, target=100, alert=500, unit="MB"),
    Kpi("compilation", KpiMetric.FIRST_CALL, target=5, alert=30, unit="s"),
    Kpi("training_throughput", KpiMetric.THROUGHPUT, target=1000, alert=100, unit="steps/s"),
)


class Status(StrEnum):
    ALERT = "alert"
    MISSED = "missed"
    NOT_MEASURED = "not_measured"
    MET = "met"


@dataclass(frozen=True, slots=True)
class Reading:
    """A value with its interval, in the unit of its KPI."""

    value: float
    low: float
    high: float
    blocks: int  # that it rests on

    @property
    def margin(self) -> float:
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class KpiResult:
    """The status of one KPI by one test that claims it."""

    kpi: Kpi
    status: Status
    reason: str
    nodeid: str | None = None  # None: no selected test claims it
    reading: Reading | None = None  # None: not measured
