"""The clock of a test that keeps several processes busy."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pytest_rlperf.measure.clock import Elapsed, SystemClock

Times = tuple[int, int]  # on a core, and waiting for one (ns)


class JobClock:
    """Wall time less what waiting for a core cost the process that finished last.

    Process k computes for c_k and waits for d_k, so the job ends after max(c_k + d_k); alone on
    its cores it would end after max(c_k). Exact where the processes work side by side and meet
    at the end; where they take turns it leaves out too little, never too much.
    """

    def __init__(self, children: Sequence[int]) -> None:
        self._clock = SystemClock()
        self._files = [Path(f"/proc/{pid}/schedstat") for pid in children]
        self._before: list[Times] = []

    def start(self) -> None:
        self._before = [_times(file) for file in self._files]
        self._clock.start()

    def stop(self) -> Elapsed:
        own = self._clock.stop()
        after = [_times(file) for file in self._files]
        spent = [(a[0] - b[0], a[1] - b[1]) for a, b in zip(after, self._before, strict=True)]
        return job_elapsed(own, spent)


def job_elapsed(own: Elapsed, children: Sequence[Times]) -> Elapsed:
    everyone = [(own.cpu_ns, own.delay_ns), *children]
    undisturbed = max(cpu for cpu, _ in everyone)
    disturbed = max(cpu + delay for cpu, delay in everyone)
    return Elapsed(own.wall_ns, sum(cpu for cpu, _ in everyone), disturbed - undisturbed)


def _times(file: Path) -> Times:
    with suppress(OSError, ValueError):
        cpu, delay, _ = file.read_bytes().split()
        return int(cpu), int(delay)
    return 0, 0  # it has ended, or this system does not say
