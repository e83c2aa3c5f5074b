"""What is measured: each trains a fresh table and tells its CPU time and what it did."""

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rl_impls.envs.games import TicTacToeEnv, rules
from rl_impls.envs.model import BatchEnv
from rl_impls.envs.tabular import TabularEnv, make_tabular
from rl_impls.tabular import LEARNERS, CompiledQLearning
from rl_impls.tabular.training import Training, train_batch

FLAGS = ("-O3", "-march=native")
# What each C program is built from, beside the flags that all have.
PROGRAMS = {
    "C, plain": ("q_learning.c",),
    "C, rows": ("q_learning_rows.c",),
    "C, 4 games": ("q_learning_rows.c", "-DGAMES=4"),
    "C, kept": ("q_learning_rows.c", "-DKEPT=1"),
}
TAXI = "Taxi-v4"
SEED = 1
N_ENVS = 128


@dataclass(frozen=True, slots=True)
class Run:
    steps: int
    cpu_seconds: float
    episodes: int

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.cpu_seconds


def build_c(folder: Path) -> dict[str, Path]:
    """The C loops as programs, by name; without gcc none, and without AVX-512 the plain one."""
    if shutil.which("gcc") is None:
        return {}
    programs = {}
    for name, (source, *flags) in PROGRAMS.items():
        program = folder / name.replace(" ", "_")
        path = Path(__file__).with_name(source)
        argv = ["gcc", *FLAGS, *flags, str(path), "-o", str(program), "-lm"]
        built = subprocess.run(argv, capture_output=True, text=True)
        if built.returncode == 0:
            programs[name] = program
        else:
            print(f"{name} is left out, gcc says: {built.stderr.strip().splitlines()[-1]}")
    return programs


def run_c(program: Path, n_steps: int) -> Run:
    argv = [str(program), str(n_steps), str(SEED)]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    return Run(n_steps, float(said[0]), int(said[1]))


def run_compiled(n_steps: int) -> Run:
    learner = CompiledQLearning(rules().n_states, rules().n_actions)
    learner.counter[0] = SEED
    env = TabularEnv(TicTacToeEnv(), seed=SEED)
    learner.train(env, 0)  # compiles, or reads the cache
    learner.counter[0] = SEED
    begin = time.process_time()
    return _run(learner.train(TabularEnv(TicTacToeEnv(), seed=SEED), n_steps), begin)


def run_learner(name: str, n_steps: int) -> Run:
    learner = LEARNERS[name](rules().n_states, rules().n_actions, seed=SEED)
    env = TabularEnv(TicTacToeEnv(), seed=SEED)
    learner.train(env, n_steps // 10)
    begin = time.process_time()
    return _run(learner.train(env, n_steps), begin)


def run_taxi(name: str, n_steps: int) -> Run:
    env = make_tabular(TAXI, seed=SEED)
    learner = LEARNERS[name](env.n_states, env.n_actions, seed=SEED)
    learner.train(env, n_steps // 10)
    begin = time.process_time()
    return _run(learner.train(env, n_steps), begin)


def run_batched(n_steps: int) -> Run:
    learner = CompiledQLearning(rules().n_states, rules().n_actions, seed=SEED)
    env = BatchEnv(rules(), N_ENVS, seed=SEED)
    train_batch(learner, env, n_steps // 10)
    begin = time.process_time()
    return _run(train_batch(learner, env, n_steps), begin)


def _run(training: Training, begin: float) -> Run:
    return Run(training.steps, time.process_time() - begin, training.episodes)
