"""`python -m rl_impls train --runtime actor-learner`: the same result, and it can go on."""

import json
import subprocess
import sys
import time
from argparse import Namespace

import psutil
import pytest

from rl_impls.__main__ import main
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.agents.evaluation import BestCheckpoint
from rl_impls.commands.result import ActorDetails, field_names
from rl_impls.commands.train_agent import settings_of
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line
from tests.rl_impls.leftovers import DEADLINE_S, ROOT, assert_all_end, segments

CARTPOLE = "rl_impls/CartPole-v1"
BY_ACTORS = ("--runtime", "actor-learner")
# Of files: more than the shared memory takes, and less than a saved agent.
MOST_BYTES = 1_000_000
LIMITED = f"""
import resource, sys
from rl_impls.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({MOST_BYTES}, {MOST_BYTES}))
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def no_shared_memory_is_left():
    before = segments()
    yield
    assert segments() <= before


def train(*words):
    return main(["train", CARTPOLE, *words])


@pytest.mark.parametrize(("preset", "times"), [(None, 1), ("optimised", 2)])
def test_a_preset_also_says_how_many_rows_an_update_learns_from(preset, times):
    asked = Namespace(agent="dqn", env="Acrobot-v1", preset=preset, prioritised=False, set=[])
    assert settings_of(asked) == DQNSettings().in_larger_batches(times)


def test_actors_train_an_agent_and_the_result_tells_of_them(capsys):
    words = ["--agent", "qr-dqn", *BY_ACTORS, "--actors", "2", "--preset", "optimised"]
    assert train(*words, "--steps", "1300", "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == set(field_names(ActorDetails))
    assert (result["steps"], result["runtime"]) == (1300, "actor-learner")
    assert (result["processes"], result["preset"], result["games"]) == (3, "optimised", 100)
    assert result["steps_per_s"] == pytest.approx(1300 / result["seconds"])
    assert 5 < result["episodes"] < 150
    assert result["peak_rss_bytes"] > 3 * 50_000_000
    assert result["drops"] == 0
    assert result["most_lag"] >= result["mean_lag"] >= 0
    assert result["blocked_s"] >= 0 <= result["waiting_s"]


def test_a_killed_training_leaves_what_another_goes_on_from(tmp_path, capsys):
    file = tmp_path / "agent.npz"
    words = ["--agent", "dqn", *BY_ACTORS, "--save", str(file), "--validate", "20", "--steps"]
    command = [sys.executable, "-m", "rl_impls", "train", CARTPOLE, *words, "15_000"]
    program = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + DEADLINE_S
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    processes = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    program.wait(DEADLINE_S)
    assert_all_end(processes)
    saved = DQN.load(file)
    assert 1_500 <= saved.n_steps < 15_000
    assert train(*words, str(saved.n_steps + 50), "--resume", "--json", "-") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["steps"], result["preset"]) == (50, None)
    checkpoint = BestCheckpoint(lambda agent: 0.0)
    resumed = DQN.load(file, None, checkpoint)
    assert resumed.n_steps == resumed.replay.n_added == saved.n_steps + 50
    assert resumed.updates_made >= saved.updates_made > 0
    assert checkpoint.n_validations >= 3


def test_a_full_disk_ends_the_training_with_one_line_and_keeps_what_was_saved(tmp_path):
    file = tmp_path / "agent.npz"
    words = ["--agent", "dqn", "--save", str(file)]
    assert train(*words, "--steps", "50") == 0
    before = file.read_bytes()
    assert len(before) > MOST_BYTES
    more = ["--steps", "1200", "--resume", *BY_ACTORS]
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, "train", CARTPOLE, *words, *more],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 1
    *_, bar, last = ended.stderr.splitlines()
    assert " steps, " in bar
    assert last.startswith(f"rl_impls: the agent cannot be written to {file} (File too large)")
    assert "what was there before is as it was" in last
    assert "Traceback" not in ended.stderr
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--agent", "ppo", *BY_ACTORS],
            "ppo trains with --runtime serial or mpi-ppo, and not",
        ),
        (["--agent", "list", *BY_ACTORS], "list trains with --runtime serial or parallel, and not"),
        (["--agent", "dqn", "--actors", "2"], "--actors belongs to --runtime actor-learner"),
        (
            ["--agent", "dqn", "--preset", "optimised"],
            "--preset belongs to --runtime actor-learner",
        ),
        (["--agent", "dqn", *BY_ACTORS, "--processes", "2"], "belongs to --runtime parallel"),
        (
            ["--agent", "dqn", *BY_ACTORS, "--preset", "fast"],
            "there is no preset 'fast': choose optimised",
        ),
        (["--agent", "dqn", *BY_ACTORS, "--resume"], "--resume goes on from the file of --save"),
        (["--agent", "list", "--resume"], "--resume is for dqn, "),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(words, said, capsys):
    assert_is_one_clear_line(["train", CARTPOLE, *words, "--steps", "9"], said, capsys)


def test_what_cannot_be_gone_on_with_is_said_before_training(tmp_path, capsys):
    file = tmp_path / "agent.npz"
    words = ["--agent", "dqn", "--steps", "50", "--save", str(file), "--resume"]
    assert train(*words) == 1
    assert f"there is no saved agent at {file}: save one first" in capsys.readouterr().err
    assert train(*words[:-1]) == 0
    capsys.readouterr()
    assert_is_one_clear_line(["train", CARTPOLE, *words], "has made 50 steps already", capsys)
    ended = main(["train", CARTPOLE, "--agent", "qr-dqn", *words[2:]])
    assert ended == 1
    assert "holds the agent 'dqn', not 'qr-dqn'" in capsys.readouterr().err
