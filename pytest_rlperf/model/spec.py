"""What a test says about itself: the keywords of `@pytest.mark.rlperf`, and those that an MPI test
has beside them in `@pytest.mark.rlperf_mpi`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from pytest_rlperf.model.memory import Excess
from pytest_rlperf.model.metric import FIRST_CALL, IMPORT_TIME


class Scaling(StrEnum):
    STRONG = "strong"  # the same work over more ranks
    WEAK = "weak"  # the same work on each of more ranks


@dataclass(frozen=True, slots=True)
class RankSpec:
    """How an MPI test wants its jobs to be run and judged."""

    nprocs: tuple[int, ...] = (2,)  # sizes of its jobs, each a test of its own
    timeout: float = 60.0  # seconds for a job, and beyond what the calls of a block should take
    scaling: Scaling = Scaling.STRONG  # strong: the ranks share the work; weak: each has as much
    gate_oversubscribed: bool = False  # judge efficiency with more ranks than cores too

    @property
    def plain(self) -> int:
        """The size of the job in a run that checks results only: the least that communicates."""
        return min((n for n in self.nprocs if n > 1), default=1)


RANK_KEYWORDS = tuple(f.name for f in fields(RankSpec))


@dataclass(frozen=True, slots=True)
class Spec:
    """How one benchmark wants to be measured and judged; the defaults suit most tests."""

    category: str | None = None  # a name to select and to sum up by
    steps: int | None = None  # environment or training steps in one call
    threshold: float | None = None  # allowed slowdown, a fraction; None: the run's
    kpi: tuple[str, ...] = ()  # names of the KPIs it stands for; `name:without` is the partner
    threads: int = 1  # threads the libraries may use, and cores the test gets
    waits: bool = False  # sleeps or does I/O by design: judged on wall time
    warmup: int | None = None  # untimed calls before the first slice of a block; None: chosen
    iterations: int | None = None  # timed calls a block and side; None: chosen
    memory: Mapping[str, Excess | float] | None = None  # limits of its own; None: not measured
    imports: tuple[str, ...] = ()  # modules whose import is timed too, in fresh processes
    first_call: bool = False  # the first call of a fresh process is timed too
    sizes: tuple[float, ...] = ()  # of its input, each a test of its own
    metadata: Mapping[str, Any] = field(default_factory=dict)  # kept in the result as it is

    @property
    def starts(self) -> tuple[str, ...]:
        """The names of the metrics of a fresh process that the test asks for."""
        return (IMPORT_TIME,) * bool(self.imports) + (FIRST_CALL,) * self.first_call


KEYWORDS = tuple(f.name for f in fields(Spec))
