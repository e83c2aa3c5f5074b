"""`python -m rl_impls train`: train one agent, and tell how fast it was and how well it plays."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rl_impls import registry
from rl_impls.commands import arguments as accepts
from rl_impls.commands.result import STDOUT, Outcome, Result, Speed, publish
from rl_impls.errors import SettingError
from rl_impls.jit import require_numba
from rl_impls.monitor import ProgressBar, performance_log
from rl_impls.registry import learner_type
from rl_impls.runtimes import MakeEnv, Runtime, SerialRuntime
from rl_impls.runtimes import run as train_in_legs
from rl_impls.tabular import QLearner
from rl_impls.tabular.learner import Settings

NAME: Final = "train"
OPTIONS_OF: Final = {
    "processes": ("parallel",),
    "steps_per_sync": ("parallel", *registry.MPI_TABLES),
    "compression": ("mpi-sync",),
    "checkpoint": registry.MPI,
    "envs": ("mpi-ppo", "mpi-central"),
    "actors": ("actor-learner",),
    "preset": ("actor-learner",),
    "patience": ("serial", "actor-learner"),
    "prioritised": ("serial", "mpi-central"),
    "log": ("serial", "parallel", "actor-learner"),
}
HELP: Final = "train one agent; tell its speed, its memory and how well it plays"


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("env", metavar="ENV",
        help="TicTacToe-v0, rl_impls/CartPole-v1, or any name gymnasium knows")  # fmt: skip
    add("--agent", type=accepts.agent, required=True, metavar="NAME",
        help=", ".join((*registry.LEARNERS, *registry.AGENTS)))  # fmt: skip
    add(
        "--runtime",
        type=accepts.runtime,
        default="serial",
        metavar="NAME",
        help="serial (default), parallel, actor-learner, or over MPI "
        "mpi-sync, mpi-async, mpi-ppo and mpi-central",
    )
    add("--backend", type=accepts.backend, metavar="NAME",
        help="what dqn and ppo learn with: numpy (default), torch or jax; pixel-dqn has torch "
        "alone")  # fmt: skip
    add("--steps", type=accepts.positive, required=True, metavar="N")
    add("--seed", type=accepts.not_negative, default=0, metavar="S")
    add("--processes", type=accepts.positive, metavar="P",
        help="of the parallel runtime (default: physical cores, 4 at most)")  # fmt: skip
    add("--steps-per-sync", type=accepts.positive, metavar="N",
        help="of a process, until it merges what it learned")  # fmt: skip
    add("--actors", type=accepts.positive, metavar="N",
        help="processes of the actor-learner runtime that act, beside the one that learns "
        "(default 1)")  # fmt: skip
    add("--preset", type=accepts.preset, metavar="NAME",
        help="optimised: an update of the actor-learner runtime learns from "
        "two batches")  # fmt: skip
    add("--compression", type=accepts.compression, metavar="NAME",
        help="of what MPI ranks send: exact, float16 (default) or int8")  # fmt: skip
    add("--checkpoint", type=Path, metavar="FILE",
        help="over MPI: write what is learned so far, now and then")  # fmt: skip
    add("--envs", type=accepts.positive, metavar="N",
        help="environments of all ranks together, in mpi-ppo and mpi-central "
        "(default: the agent's, one for each rank that steps)")  # fmt: skip
    add("--set", action="append", default=[], metavar="NAME=VALUE",
        help="a setting of the agent, as discount=0.99; may repeat. python -m rl_impls list AGENT "
        "names them")  # fmt: skip
    add("--validate", type=accepts.share, metavar="SHARE",
        help="of a deep agent's steps, that validations may take at most as many of (default "
        "0.25; 0: none, and what stands at the end is played)")  # fmt: skip
    add("--patience", type=accepts.positive, metavar="N",
        help="end the training of a deep agent after N validations that were "
        "no better")  # fmt: skip
    add("--prioritised", action="store_true",
        help="dqn alone: draw what it learns from by TD error, and not uniformly")  # fmt: skip
    add("--log", type=Path, metavar="FILE",
        help="steps/s, CPU and memory as CSV, about a hundred times in a training")  # fmt: skip
    add("--pin", action="store_true", help="a core of its own for each process")
    add("--threads", type=accepts.positive, default=1, metavar="N",
        help="of BLAS and OpenMP, in each process (default 1)")  # fmt: skip
    add("--save", type=Path, metavar="FILE",
        help="write the table or the agent, also when the training was cut short")  # fmt: skip
    add("--resume", action="store_true",
        help="go on from the agent that --save wrote, or over MPI from the checkpoint, up to "
        "--steps in all")  # fmt: skip
    add("--json", metavar="FILE", help="the result as data; - is stdout")


def run(arguments: Namespace) -> int:
    _check(arguments)
    if arguments.runtime in registry.MPI:
        from rl_impls.commands import train_mpi  # mpi4py need not be there for the others

        train_mpi.run(arguments)
    else:
        publish(_train(arguments), arguments.json)
    return 0


def _train(arguments: Namespace) -> Result:
    if arguments.agent not in registry.AGENTS:
        return _train_table(arguments)
    require_numba(f"the agent {arguments.agent}", otherwise="choose one that learns a table")
    # Imported here: it compiles, and learners of tables do without.
    from rl_impls.commands import train_agent

    return train_agent.train(arguments)


def _train_table(arguments: Namespace) -> Result:
    make_env = accepts.environment(arguments.env)
    # Imported here: settings come with NumPy, and a help text waits for nothing.
    from rl_impls.commands.settings import changed

    env = make_env(seed=arguments.seed)
    kind = learner_type(arguments.agent)
    learner = kind(
        env.n_states,
        env.n_actions,
        settings=changed(Settings.for_training(arguments.steps), arguments.set, arguments.agent),
        seed=arguments.seed,
    )
    bar = ProgressBar(f"{arguments.env} {arguments.agent}", arguments.steps, sys.stderr)
    try:
        with (
            _runtime(arguments, learner, make_env) as runtime,
            performance_log(arguments.log, arguments.steps) as hooks,
        ):
            progress = train_in_legs(runtime, arguments.steps, hooks=hooks, tick=bar)
            peak_rss_bytes = runtime.peak_rss_bytes()
            facts = runtime.facts
    finally:
        bar.close()
        # A training that never began must not replace what an earlier one saved.
        if arguments.save is not None and learner.n_steps > 0:
            learner.save(arguments.save)
    return Result(
        env=arguments.env,
        agent=arguments.agent,
        backend=None,
        seed=arguments.seed,
        speed=Speed.of(progress),
        outcome=Outcome.of_table(arguments.env, learner, make_env),
        peak_rss_bytes=peak_rss_bytes,
        facts=facts,
    )


@contextmanager
def _runtime(arguments: Namespace, learner: QLearner, make_env: MakeEnv) -> Iterator[Runtime]:
    if arguments.runtime == "serial":
        env = make_env(seed=arguments.seed)
        yield SerialRuntime(learner, env, pin=arguments.pin, threads=arguments.threads)
        return
    from rl_impls.runtimes.parallel import ParallelRuntime

    with ParallelRuntime(
        learner,
        make_env,
        processes=arguments.processes,
        steps_per_sync=arguments.steps_per_sync,
        pin=arguments.pin,
        threads=arguments.threads,
        seed=arguments.seed,
    ) as runtime:
        yield runtime


def _check(arguments: Namespace) -> None:
    accepts.check_runtime(arguments.agent, arguments.runtime)
    for option, runtimes in OPTIONS_OF.items():
        if arguments.runtime not in runtimes and getattr(arguments, option):
            name, their = option.replace("_", "-"), " or ".join(runtimes)
            raise SettingError(f"--{name} belongs to --runtime {their}: give both or neither.")
    if arguments.backend is not None:
        accepts.check_backend(arguments.agent, arguments.backend)
    if arguments.resume:
        _check_resume(arguments)
    if arguments.runtime in registry.MPI and arguments.backend not in (None, "numpy"):
        raise SettingError("--backend does not go with ranks of MPI: leave one of them out.")
    if arguments.runtime in registry.MPI and arguments.pin:
        raise SettingError("--pin is the launcher's task: give it to mpiexec, as -bind-to core.")
    if arguments.patience is not None and arguments.agent not in registry.AGENTS:
        raise SettingError("--patience is for deep agents, which are validated: leave it out.")
    if arguments.validate is not None and arguments.agent not in registry.AGENTS:
        raise SettingError("--validate is for deep agents: leave it out.")
    if arguments.resume and arguments.set:
        raise SettingError("a saved agent keeps its settings: leave --set or --resume out.")
    if arguments.prioritised and (arguments.agent, arguments.backend or "numpy") != (
        "dqn",
        "numpy",
    ):
        raise SettingError("--prioritised is for --agent dqn on numpy: leave it out.")
    for path in (arguments.save, arguments.json, arguments.checkpoint, arguments.log):
        if path not in (None, STDOUT):
            accepts.check_place(Path(path))


def _check_resume(arguments: Namespace) -> None:
    if arguments.runtime in registry.MPI:
        if arguments.checkpoint is None:
            raise SettingError("--resume needs to know from where: give --checkpoint FILE too.")
    elif arguments.agent not in registry.AGENTS:
        raise SettingError(
            f"--resume is for {', '.join(registry.AGENTS)}, and for trainings over MPI: "
            "leave it out."
        )
    elif arguments.save is None:
        raise SettingError("--resume goes on from the file of --save: give both.")
