"""A million steps of tic-tac-toe take next to no memory beyond what importing takes."""

import subprocess
import sys

import pytest

N_STEPS = 1_000_000
ALLOWED_BYTES = 10_000_000
# Both import, compile and hold a learner; one of them trains.
PROGRAM = """
import sys
from rl_impls.envs.tabular import make_tabular
from rl_impls.monitor.usage import peak_rss_bytes
from rl_impls.runtimes import SerialRuntime
from rl_impls.tabular import LEARNERS

env = make_tabular("TicTacToe-v0", seed=0)
runtime = SerialRuntime(LEARNERS[sys.argv[1]](env.n_states, env.n_actions, seed=0), env)
assert runtime.train(int(sys.argv[2])).steps == int(sys.argv[2])
print(peak_rss_bytes())
"""


@pytest.mark.parametrize("name", ["sparse", "compiled"])
def test_training_takes_at_most_ten_megabytes_more_than_its_control(name):
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name, str(n_steps)], stdout=subprocess.PIPE, text=True
        )
        for n_steps in (0, N_STEPS)
    ]
    control_bytes, trained_bytes = (int(program.communicate()[0]) for program in programs)
    assert control_bytes > ALLOWED_BYTES
    assert trained_bytes - control_bytes <= ALLOWED_BYTES
