"""Every contestant runs, in the smallest size; those of Stable-Baselines3 where it is installed."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.evidence.peers import hyper
from tests.evidence.peers.__main__ import measure
from tests.evidence.peers.measured import rate_of
from tests.evidence.peers.ours import OURS, filled, flop_of_update
from tests.evidence.peers.rows import contestants
from tests.evidence.proof.facts import REPOSITORY

THEIRS = [name for name in contestants() if name.startswith("sb3 ")]


def test_every_contestant_is_one_of_the_two_sides():
    assert set(contestants()) == {*OURS, *THEIRS}


@pytest.mark.parametrize("name", OURS)
def test_our_side_runs(name):
    measured = measure(name, "tiny", 0)
    assert measured.per_s > 0
    learns = name.partition(",")[0] in ("ppo", "dqn")
    assert (measured.mean_return is not None) == learns
    assert (measured.share is not None) == (name == "sac updates")
    assert (measured.beside_per_s is not None) == name.startswith("prioritised")


# In a process of its own: what torch warns of is nothing that a test here should fail on.
@pytest.mark.skipif(
    find_spec("stable_baselines3") is None, reason="needs Stable-Baselines3: make test-extras"
)
@pytest.mark.parametrize("name", THEIRS)
def test_their_side_runs(name):
    words = [sys.executable, "-m", "tests.evidence.peers", "side", name, "--sizes", "tiny"]
    ended = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["per_s"] > 0


def test_the_first_call_is_not_counted():
    calls = []
    rate_of(lambda: calls.append(sum(range(10_000))), 20)
    assert len(calls) == 21


def test_the_work_of_an_update_is_that_of_its_matrix_products():
    agent = filled(hyper.SAC, "rl_impls/Pendulum-v1", 0)
    actor, critic = 3 * 256 + 256 * 256 + 256 * 2, 4 * 256 + 256 * 256 + 256
    assert flop_of_update(agent) == 2 * 256 * (4 * actor + 14 * critic)
