"""What a rank of an MPI job is told when it starts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from pytest_rlperf.model.job import Job


@dataclass(frozen=True, slots=True)
class RankOrder:
    """Equal for all ranks of a job. Everything is plain data: it travels as JSON."""

    job: Job
    folder: str  # for the files of the ranks
    nprocs: int
    timeout_s: float
    begun: float  # when it was written, in seconds since the epoch
    host: str  # of the controller
    controller: int  # its process id
    launcher: str
    socket: str | None = None  # where the controller listens; None: a plain run, nothing to say

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "job": Job.from_dict(data["job"])})
