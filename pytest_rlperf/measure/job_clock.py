"""The clock of a test that keeps several processes busy."""

from collections.abc import Sequence

from pytest_rlperf.measure.clock import Elapsed, SystemClock
from pytest_rlperf.measure.pinning import schedstat

Times = tuple[int, int]  # on a core, and waiting for one (ns)


class JobClock:
    """Wall time less what waiting for a core cost the process that finished last.

    Process k computes for c_k and waits for d_k, so the job ends after max(c_k + d_k); alone on
    its cores it would end after max(c_k). Exact where the processes work side by side and meet
    at the end; where they take turns it leaves out too little.
    """

    def __init__(self, children: Sequence[int]) -> None:
        self._clock = SystemClock()
        self._children = children
        self._before: list[Times] = []

    def start(self) -> None:
        self._before = [schedstat(pid) for pid in self._children]
        self._clock.start()

    def stop(self) -> Elapsed:
        own = self._clock.stop()
        after = [schedstat(pid) for pid in self._children]
        spent = [
            (max(0, a[0] - b[0]), max(0, a[1] - b[1]))
            for a, b in zip(after, self._before, strict=True)
        ]
        return job_elapsed(own, spent)


def job_elapsed(own: Elapsed, children: Sequence[Times]) -> Elapsed:
    everyone = [(own.cpu_ns, own.delay_ns), *children]
    undisturbed = max(cpu for cpu, _ in everyone)
    disturbed = max(cpu + delay for cpu, delay in everyone)
    return Elapsed(own.wall_ns, sum(cpu for cpu, _ in everyone), disturbed - undisturbed)
