"""`python -m tests.evidence.figures.memory`: what training, a sparse table and frames take."""

import subprocess
import sys
import tracemalloc
from typing import NamedTuple

import numpy as np

from rl_impls.envs.control.make import make_batch
from rl_impls.envs.control.side_scroller import SIDE
from rl_impls.replay.frames import FrameReplay
from rl_impls.tabular import SparseQLearning
from tests.evidence.figures.machine import circumstances

N_STEPS = 1_000_000
NAMES = ("sparse", "compiled")
ALLOWED_BYTES = 10_000_000
# The sparse table: (states, actions), and how many states are learned.
SIZES = (10_000_000, 4)
N_VISITED = 10_000
ALLOWED_PART = 1 / 10
N_FRAMES = 5_000
ALLOWED_FRAMES = 0.26
# Both processes import and hold a learner; one of them trains.
PROGRAM = """
import sys
from rl_impls.envs.tabular import make_tabular
from rl_impls.runtimes.machine import peak_rss_bytes
from rl_impls.runtimes import SerialRuntime
from rl_impls.tabular import LEARNERS

env = make_tabular("TicTacToe-v0", seed=0)
runtime = SerialRuntime(LEARNERS[sys.argv[1]](env.n_states, env.n_actions, seed=0), env)
assert runtime.train(int(sys.argv[2])).steps == int(sys.argv[2])
print(peak_rss_bytes())
"""


class Peaks(NamedTuple):
    """The most memory in use, in bytes."""

    control: int
    trained: int


def peaks_of_training(name: str) -> Peaks:
    """A million steps of tic-tac-toe, and a process that does all but train."""
    # Compiling takes more memory than training: neither does it once the code is in the cache.
    _started(name, 0).communicate()
    programs = [_started(name, n_steps) for n_steps in (0, N_STEPS)]
    return Peaks(*(int(program.communicate()[0]) for program in programs))


def _started(name: str, n_steps: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM, name, str(n_steps)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def sparse_bytes() -> int:
    """The most that a sparse table took while so many states were learned, each once."""
    states = np.random.default_rng(0).choice(SIZES[0], N_VISITED, replace=False).tolist()
    tracemalloc.start()
    learner = SparseQLearning(*SIZES)
    for s_tm1, s_t in zip(states, [*states[1:], states[0]], strict=True):
        learner.learn(s_tm1, 0, 1.0, s_t, terminated=False)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(learner) == N_VISITED
    return peak_bytes


def dense_bytes() -> int:
    """The same table as an array of float32."""
    return SIZES[0] * SIZES[1] * 4


class Frames(NamedTuple):
    """What is held of the same frames of play, in bytes."""

    as_bytes: int  # by a replay, with all that it keeps beside them
    as_floats: int  # as float32, and nothing else


def bytes_of_frames(n: int) -> Frames:
    frames = np.zeros((n, SIDE, SIDE), np.uint8)
    batch = make_batch("rl_impls/SideScroller-v0", 1, seed=0)
    for frame in frames:
        frame[:] = batch.step([0]).obs_t[0]
    tracemalloc.start()
    replay = FrameReplay(n, (SIDE, SIDE), batch_size=1, seed=0)
    for frame in frames:
        replay.add(frame, 0, 0.0, False)
    kept, _ = tracemalloc.get_traced_memory()
    floats = frames.astype(np.float32)
    both, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(floats) == replay.n_added
    return Frames(kept, both - kept)


def main() -> None:
    print(circumstances())
    for name in NAMES:
        control, trained = peaks_of_training(name)
        print(
            f"{name}, {N_STEPS:,} steps: peak {trained / 1e6:.1f} MB, {control / 1e6:.1f} MB "
            f"without them: {(trained - control) / 1e6:+.1f} MB "
            f"(wanted: at most {ALLOWED_BYTES / 1e6:+.0f} MB)"
        )
    sparse, dense = sparse_bytes(), dense_bytes()
    print(
        f"sparse, {N_VISITED:,} of {SIZES[0]:,} states with {SIZES[1]} actions: "
        f"{sparse / 1e6:.2f} MB, dense {dense / 1e6:.0f} MB: {sparse / dense:.1%} "
        f"(wanted: at most {ALLOWED_PART:.0%})"
    )
    as_bytes, as_floats = bytes_of_frames(N_FRAMES)
    print(
        f"a replay of {N_FRAMES:,} frames of {SIDE} x {SIDE} bytes: {as_bytes / 1e6:.1f} MB, the "
        f"frames alone as float32 {as_floats / 1e6:.1f} MB: {as_bytes / as_floats:.4f} "
        f"(wanted: at most {ALLOWED_FRAMES})"
    )


if __name__ == "__main__":
    main()
