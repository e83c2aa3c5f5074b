"""`tests.evidence.learning.same`: ours and Stable-Baselines3 learn by the same algorithms."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.evidence.proof.facts import REPOSITORY

# Rounding grows with the updates: where a gradient is nearly 0, Adam makes a whole step this way or
# that. A hundredth more of the learning rate is far beyond it.
BOUND = 0.01


@pytest.mark.skipif(
    find_spec("sb3_contrib") is None, reason="needs Stable-Baselines3: make test-extras"
)
@pytest.mark.parametrize(
    "task", ["ppo Acrobot-v1", "dqn Acrobot-v1", "qr-dqn Acrobot-v1", "sac Pendulum-v1"]
)
def test_equal_weights_batches_and_noise_become_equal_networks(task):
    """In a process of its own: what torch warns of is nothing that a test here should fail on."""
    ended = subprocess.run(
        [sys.executable, "-c", BOTH, task], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    equal, changed = map(float, ended.stdout.split())
    assert equal < BOUND < changed


BOTH = """
import sys
from dataclasses import replace
from tests.evidence.learning.same import sides_of
from tests.evidence.learning.tasks import task_named

task = task_named(sys.argv[1])
changed = replace(task.settings, learning_rate=1.01 * task.settings.learning_rate)
print(sides_of(task).difference, sides_of(task, changed).difference)
"""
