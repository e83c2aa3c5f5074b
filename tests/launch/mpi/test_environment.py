"""What the ranks of a job inherit, and how each of them learns its number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.launch.mpi.environment import (
    JOB,
    RANK_NAMES,
    SCRUBBED_PREFIXES,
    job_environment,
    rank_of,
)
from tests.factories import examples


@pytest.mark.parametrize(
    "name",
    ["PMI_RANK", "PMIX_SERVER_URI", "HYDI_CONTROL_FD", "MPI_LOCALRANKID", "PRTE_LAUNCHED",
     "OMPI_COMM_WORLD_SIZE", "OMPI_WORLD_SIZE", "PYTEST_CURRENT_TEST"],
)  # fmt: skip
def test_an_outer_job_is_not_inherited(name: str):
    assert name not in job_environment({name: "1"}, "t")


@pytest.mark.parametrize(
    "name", ["OMPI_MCA_btl", "MPIR_CVAR_DEBUG", "PATH", "OMPI_ALLOW_RUN_AS_ROOT"]
)
def test_what_the_user_set_stays(name: str):
    assert job_environment({name: "mine"}, "t")[name] == "mine"


def test_every_process_of_the_job_is_marked():
    assert job_environment({JOB: "outer"}, "inner")[JOB] == "inner"


@examples
@given(st.dictionaries(st.text(max_size=12), st.text(max_size=3)))
def test_nothing_else_is_lost(inherited: dict[str, str]):
    env = job_environment(inherited, "t")
    kept = {n: v for n, v in inherited.items() if not n.startswith(SCRUBBED_PREFIXES)}
    assert {n: env[n] for n in kept if n != JOB} == {n: v for n, v in kept.items() if n != JOB}


@pytest.mark.parametrize("name", RANK_NAMES)
def test_every_launcher_tells_a_rank_its_number(name: str):
    assert rank_of({name: "3"}) == 3


def test_without_a_launcher_there_is_no_rank():
    assert rank_of({"PATH": "/bin"}) is None
