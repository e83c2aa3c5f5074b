"""The environment variables of a job: a pure function of the run's own."""

from collections.abc import Mapping

JOB = "RLPERF_MPI_JOB"
"""Marks the processes of one job, ranks and their children included."""

SCRUBBED_PREFIXES = (
    "PMI_",
    "PMIX_",
    "HYDI_",
    "MPI_LOCAL",
    "OMPI_COMM_WORLD_",
    "OMPI_WORLD_",
    "PRTE_",
)
"""Left by an outer job: ranks would take themselves for part of it. What the user set stays."""

SCRUBBED = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"})

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""In containers tests run as root, which Open MPI refuses otherwise."""

RANK_NAMES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID")


def job_environment(inherited: Mapping[str, str], token: str) -> dict[str, str]:
    env = {name: value for name, value in inherited.items() if not _is_scrubbed(name)}
    return {**ROOT, **env, JOB: token}


def _is_scrubbed(name: str) -> bool:
    return name in SCRUBBED or name.startswith(SCRUBBED_PREFIXES)


def rank_of(env: Mapping[str, str]) -> int | None:
    """This process's rank as its launcher says; None: it says nothing that is known here."""
    return next((int(env[name]) for name in RANK_NAMES if name in env), None)
