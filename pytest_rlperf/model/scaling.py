"""How a test's time goes with the size of its MPI job."""

import math
from dataclasses import dataclass

from pytest_rlperf.model.rank_spec import Scaling
from pytest_rlperf.model.verdict import Verdict

OVERSUBSCRIBED = "oversubscribed"


@dataclass(frozen=True, slots=True)
class JobSize:
    """The job that one MPI test runs in."""

    nprocs: int
    scaling: Scaling = Scaling.STRONG
    oversubscribed: bool = False  # more ranks than cores
    gate_oversubscribed: bool = False
    timeout_s: float = math.inf  # for a job

    @property
    def gated(self) -> bool:
        """Ranks that share a core wait for each other in turns of the scheduler, whose length is
        no property of the code: such a job fails no build unless the test asks for it.
        """
        return self.gate_oversubscribed or not self.oversubscribed


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """One size of a test; the smallest measured one is what the others are held against."""

    nodeid: str
    size: JobSize
    time_ns: float  # of a call, head's
    speedup: float  # over the smallest size; weak scaling: of work done in the same time
    efficiency: float  # speed-up over what the ranks added would allow; 1 is perfect
    throughput: float  # a second, of the whole job
    unit: str  # of what: "steps/s", or "calls/s" where the test declares no steps
    verdict: Verdict | None = None  # on the change of efficiency; None: nothing to judge


@dataclass(frozen=True, slots=True)
class ScalingTable:
    test: str  # node id, with a star for the size
    scaling: Scaling
    rows: tuple[ScalingRow, ...]  # smallest first
