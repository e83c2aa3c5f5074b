"""What is judged of a test beside its time and memory."""

from dataclasses import dataclass

from pytest_rlperf.model.verdict import Interval, Verdict

EXPONENT = "exponent"
IMPORT_TIME = "import_time"
FIRST_CALL = "first_call"


@dataclass(frozen=True, slots=True)
class ExtraMetric:
    """One metric with its verdict; of all of them less is better."""

    name: str
    unit: str | None
    head: tuple[float, ...]  # one a block
    verdict: Verdict  # its interval is a share of the base; None where the change is not
    base: tuple[float, ...] = ()
    value: float | None = None  # None: not measured
    base_value: float | None = None
    amount: Interval | None = None  # the change in the metric's own unit, where it is no share
    threshold_abs: float | None = None
    sizes: tuple[float, ...] = ()  # over which an exponent was fitted
    head_ns: tuple[float, ...] = ()  # time of a call at each of them
    base_ns: tuple[float, ...] = ()
