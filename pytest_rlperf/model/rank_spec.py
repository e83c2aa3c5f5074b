"""What an MPI test says about its jobs: the keywords of `@pytest.mark.rlperf_mpi` beside those of
`@pytest.mark.rlperf`.
"""

from dataclasses import dataclass, fields
from enum import StrEnum


class Scaling(StrEnum):
    STRONG = "strong"  # the same work over more ranks
    WEAK = "weak"  # the same work on each of more ranks


@dataclass(frozen=True, slots=True)
class RankSpec:
    nprocs: tuple[int, ...] = (2,)  # sizes of its jobs, each a test of its own
    timeout: float = 60.0  # seconds for a job, and beyond what the calls of a block should take
    scaling: Scaling = Scaling.STRONG  # strong: the ranks share the work; weak: each has as much
    gate_oversubscribed: bool = False  # judge efficiency with more ranks than cores too

    @property
    def plain(self) -> int:
        """The size of a run that checks results only: the least that communicates."""
        return min((n for n in self.nprocs if n > 1), default=1)


RANK_KEYWORDS = tuple(f.name for f in fields(RankSpec))
