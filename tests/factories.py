"""Small stand-ins and ready-made data that many tests share."""

import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import settings

from pytest_rlperf.baselines.file import Session, Stored
from pytest_rlperf.history.records import PastMetric, PastTest
from pytest_rlperf.metrics.times import time_metrics
from pytest_rlperf.model.block import Block, LogRatios, SideBlock
from pytest_rlperf.model.metric import PEAK, Interval, Metric, Outcome, Verdict
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.result import RunResult, TestResult, Trial
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import Measurement, Message
from pytest_rlperf.worker.clock import Elapsed

examples = settings(max_examples=50, deadline=None)
"""Of a property: few enough to stay fast, and no deadline, since machines are noisy."""


class FakeClock:
    """Time stands still until the measured function moves it."""

    def __init__(self) -> None:
        self.wall_ns = self.cpu_ns = self.delay_ns = 0
        self._start = Elapsed(0, 0, 0)

    def compute(self, ns: int) -> None:
        self.wall_ns += ns
        self.cpu_ns += ns

    def sleep(self, ns: int) -> None:
        self.wall_ns += ns

    def wait_for_core(self, ns: int) -> None:
        self.wall_ns += ns
        self.delay_ns += ns

    def read_ns(self) -> int:
        return self.wall_ns - self.delay_ns

    def start(self) -> None:
        self._start = Elapsed(self.wall_ns, self.cpu_ns, self.delay_ns)

    def stop(self) -> Elapsed:
        wall, cpu, delay = self._start
        return Elapsed(self.wall_ns - wall, self.cpu_ns - cpu, self.delay_ns - delay)


class FakeChannel:
    """Keeps what was sent, and answers as told."""

    def __init__(self, answers: Iterable[Message] = ()) -> None:
        self.sent: list[Message] = []
        self._answers = deque(answers)

    def send(self, message: Message) -> None:
        self.sent.append(message)

    def receive(self) -> Message:
        return self._answers.popleft()

    @property
    def kinds(self) -> list[type[Message]]:
        return [type(message) for message in self.sent]

    @property
    def measured(self) -> Measurement:
        """What was sent last."""
        last = self.sent[-1]
        assert isinstance(last, Measurement)
        return last


def noisy_ratios(rng: random.Random, number: int, change: float, spread: float) -> list[LogRatios]:
    """Blocks around a log-change, in which the sums agree with the median."""
    medians = [rng.gauss(change, spread) for _ in range(number)]
    return [LogRatios(median, median + rng.gauss(0, spread / 10)) for median in medians]


def side(own_ns: Sequence[int], **fields: Any) -> SideBlock:
    times = tuple(own_ns)
    return replace(SideBlock(own_ns=times, wall_ns=times, cpu_ns=times, calls=1), **fields)


def block(head: Sequence[int], base: Sequence[int] | None, **fields: Any) -> Block:
    return replace(Block(side(head), None if base is None else side(base), core=0), **fields)


def verdict(
    outcome: Outcome = Outcome.UNCHANGED,
    reason: str = "within the allowed +5.0 %",
    change: tuple[float, float, float] | None = None,
    **fields: Any,
) -> Verdict:
    interval = None if change is None else Interval(*change)
    return replace(Verdict(outcome, reason, threshold=0.05, interval=interval), **fields)


def a_test(nodeid: str = "test_a.py::test_a", **fields: Any) -> TestResult:
    """A test with the time of its `blocks`, the `verdict` and `log_ratios` of that, its
    `memory_bytes` and what was measured `beside`; of memory alone where it is not `timed`.
    """
    own = fields.pop("verdict", None) or verdict()
    ratios, timed = fields.pop("log_ratios", ()), fields.pop("timed", True)
    time = time_metrics(own, fields.get("blocks", ()), fields.get("steps"), ratios)
    memory = tuple(
        Metric(PEAK, Verdict(Outcome.SHOWN, "not judged"), head=sizes)
        for sizes in [fields.pop("memory_bytes", ())]
        if sizes
    )
    plain = TestResult(
        nodeid=nodeid,
        spec=Spec(),
        metrics=(*(time if timed else ()), *memory, *fields.pop("beside", ())),
        plan=Plan(Mode.SLICED, calls=1, pairs=2, warmup=1),
        repeat_command=f"pytest --rlperf {nodeid}",
    )
    return replace(plain, **fields)


def run_result(*tests: TestResult, **fields: Any) -> RunResult:
    plain = RunResult(
        mode="against",
        against="main (1a2b3c4)",
        commit="f" * 40,
        dirty=False,
        created="2030-01-02T03:04:05+00:00",
        fingerprint={"cpu": "Some CPU"},
        tests=tests,
        seconds=12.3456,
    )
    return replace(plain, **fields)


FACTS: dict[str, Any] = {
    "cpu": "Some CPU",
    "cores": 2,
    "architecture": "x86_64",
    "implementation": "CPython",
    "python": "3.11",
    "python_build": "3.11.7, GCC 12.2.0",
    "threads": 1,
    "numpy": "2.4.6",
    "blas": "openblas 0.3",
    "addresses": "fixed",
    "kernels": 1,
}
"""Of a machine and its libraries, as a stored session has them."""


def a_session(levels: Mapping[str, Sequence[float]] | None = None, **fields: Any) -> Session:
    """`levels`: log-ratios by kernel, one a block."""
    columns = levels or {"interpreter": (1.0, 1.001, 0.999), "stride": (2.0, 2.1, 1.9)}
    rows = zip(*columns.values(), strict=True)
    plain = Session(
        created="2030-01-02T03:04:05+00:00",
        commit="a" * 40,
        dirty=False,
        facts=FACTS,
        call_ns=1e6,
        blocks=tuple(
            {kernel: LogRatios(value, value) for kernel, value in zip(columns, row, strict=True)}
            for row in rows
        ),
    )
    return replace(plain, **fields)


def a_stored(nodeid: str = "test_a.py::test_a", **fields: Any) -> Stored:
    plain = Stored(nodeid, source_hash="abc", weights={"interpreter": 1.0}, sessions=(a_session(),))
    return replace(plain, **fields)


def a_trial(nodeid: str = "test_a.py::test_a", **fields: Any) -> Trial:
    """Of unchanged code, rightly called so."""
    plain = Trial(
        nodeid,
        source_hash="abc",
        injected=0.0,
        threshold=0.05,
        outcome=Outcome.UNCHANGED,
        interval=Interval(0.001, -0.01, 0.012),
        blocks=5,
        seconds=4.0,
        created="2030-01-02T03:04:05+00:00",
        commit="a" * 40,
        dirty=False,
        facts=FACTS,
    )
    return replace(plain, **fields)


def a_past_metric(name: str = "time", **fields: Any) -> PastMetric:
    plain = PastMetric(name, "ns", "lower", value=1e6, outcome="unchanged", blocks=5)
    return replace(plain, **fields)


def a_past(commit: str = "a" * 40, nodeid: str = "test_a.py::test_a", **fields: Any) -> PastTest:
    """A test of a commit, as the history keeps it."""
    plain = PastTest(
        nodeid,
        commit,
        created="2030-01-02T03:04:05+00:00",
        metrics=(a_past_metric(),),
        machine="some-cpu-2-cores-x86-64",
        python="3.11.2, GCC 12.2.0",
        source_hash="abc",
    )
    return replace(plain, **fields)
