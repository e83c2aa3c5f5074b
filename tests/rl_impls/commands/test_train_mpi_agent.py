"""`python -m rl_impls train --runtime mpi-ppo` and `mpi-central`, in ranks of a real job."""

import json
import subprocess
import sys

import pytest

from rl_impls.__main__ import main
from rl_impls.agents.dqn import DQN
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.agents.ppo import PPO
from rl_impls.commands.result import MpiDetails, field_names
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line
from tests.rl_impls.commands.test_train_mpi import MPIEXEC

pytest.importorskip("mpi4py")
CARTPOLE = "rl_impls/CartPole-v1"
needs_mpiexec = pytest.mark.skipif(not MPIEXEC.exists(), reason="no mpiexec beside the interpreter")


def result_of(n_ranks, *words):
    ended = subprocess.run(
        [str(MPIEXEC), "-n", str(n_ranks), sys.executable, "-m", "rl_impls", "train", *words,
         "--json", "-"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert " steps, " in ended.stderr
    return json.loads(ended.stdout)


@needs_mpiexec
def test_ranks_average_gradients_and_one_process_can_go_on_from_their_checkpoint(tmp_path):
    file = tmp_path / "so_far.npz"
    words = [CARTPOLE, "--agent", "ppo", "--validate", "9", "--steps"]
    ranks = ["--runtime", "mpi-ppo", "--checkpoint", str(file)]
    result = result_of(2, *words, "4100", *ranks)
    assert set(result) == set(field_names(MpiDetails))
    assert (result["ranks"], result["runtime"], result["processes"]) == (2, "mpi-ppo", 2)
    assert (result["steps"], result["syncs"], result["sync_period"]) == (4104, 160, 1024)
    assert result["bytes_sent"] > 160 * 2 * 4 * 9_000
    assert result["sync_seconds"] > 0
    assert result["compression"] is None
    best = BestCheckpoint(lambda agent: 0.0)
    agent = PPO.load(file, None, best)
    assert (agent.n_steps, agent.shape.n_envs, agent.settings.minibatch) == (4104, 8, 256)
    assert best.n_validations > 35
    assert main(["train", *words, "6000", "--save", str(file), "--resume"]) == 0
    assert main(["train", *words, "8000", *ranks, "--resume"]) == 0
    assert PPO.load(file).n_steps == 8000


@needs_mpiexec
def test_worker_ranks_step_and_rank_0_learns(tmp_path):
    file = tmp_path / "agent.npz"
    words = [CARTPOLE, "--agent", "dqn", "--steps", "90", "--runtime", "mpi-central"]
    result = result_of(3, *words, "--envs", "4", "--save", str(file))
    assert (result["ranks"], result["runtime"], result["sync_period"]) == (3, "mpi-central", 2)
    assert 90 <= result["steps"] <= 90 + 40
    assert result["steps"] / 4 <= result["syncs"] <= result["steps"] / 2
    assert result["bytes_sent"] > result["steps"] * (11 * 4 + 8)
    agent = DQN.load(file)
    assert (agent.n_steps, agent.shape.n_envs) == (result["steps"], 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--agent", "dqn", "--runtime", "mpi-ppo"], "dqn trains with --runtime serial or actor-"),
        (["--agent", "ppo", "--runtime", "mpi-central"], "ppo trains with --runtime serial or mpi"),
        (["--agent", "ppo", "--envs", "2"], "--envs belongs to --runtime mpi-ppo or mpi-central"),
        (["--agent", "ppo", "--runtime", "mpi-ppo", "--resume"], "give --checkpoint FILE too"),
        (["--agent", "ppo", "--runtime", "mpi-ppo", "--steps-per-sync", "9"], "belongs to"),
        (["--agent", "ppo", "--runtime", "mpi-ppo", "--envs", "3"], "cannot be shared by 3 envir"),
        (["--agent", "ppo", "--runtime", "mpi-ppo", "--backend", "torch"], "--backend does not go"),
        (["--agent", "sac", "--runtime", "mpi-ppo"], "sac trains with --runtime serial, and not"),
    ],
)
def test_a_mistake_is_one_clear_line(words, said, capsys):
    assert_is_one_clear_line(["train", CARTPOLE, "--steps", "9", *words], said, capsys)
