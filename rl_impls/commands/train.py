"""`python -m rl_impls train`: train one agent, and tell how fast it was and how well it plays."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from rl_impls.commands import arguments as accepts
from rl_impls.commands import train_table
from rl_impls.commands.result import STDOUT, Result, publish
from rl_impls.errors import SettingError
from rl_impls.jit import require_numba

NAME: Final = "train"
OPTIONS_OF: Final = {
    "processes": ("parallel",),
    "steps_per_sync": ("parallel", *accepts.MPI_TABLES),
    "compression": ("mpi-sync",),
    "checkpoint": accepts.MPI,
    "envs": ("mpi-ppo", "mpi-central"),
    "actors": ("actor-learner",),
    "preset": ("actor-learner",),
}
HELP: Final = "train one agent; tell its speed, its memory and how well it plays"


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("env", metavar="ENV",
        help="TicTacToe-v0, rl_impls/CartPole-v1, or any name gymnasium knows")  # fmt: skip
    add("--agent", type=accepts.agent, required=True, metavar="NAME",
        help=", ".join(accepts.AGENTS))  # fmt: skip
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
        help="optimised or original: settings of the actor-learner runtime, and of the learner's "
        "batches")  # fmt: skip
    add("--compression", type=accepts.compression, metavar="NAME",
        help="of what MPI ranks send: exact, float16 (default) or int8")  # fmt: skip
    add("--checkpoint", type=Path, metavar="FILE",
        help="over MPI: write what is learned so far, now and then")  # fmt: skip
    add("--envs", type=accepts.positive, metavar="N",
        help="environments of all ranks together, in mpi-ppo and mpi-central "
        "(default: the agent's, one for each rank that steps)")  # fmt: skip
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
    if arguments.runtime in accepts.MPI:
        from rl_impls.commands import train_mpi  # mpi4py need not be there for the others

        train_mpi.run(arguments)
    else:
        publish(_train(arguments), arguments.json)
    return 0


def _train(arguments: Namespace) -> Result:
    if arguments.agent not in accepts.DEEP:
        return train_table.train(arguments)
    require_numba(f"the agent {arguments.agent}", otherwise="choose one that learns a table")
    # Imported here: it compiles, and learners of tables do without.
    from rl_impls.commands import train_agent

    return train_agent.train(arguments)


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
    if arguments.runtime in accepts.MPI and arguments.backend not in (None, "numpy"):
        raise SettingError("--backend does not go with ranks of MPI: leave one of them out.")
    if arguments.runtime in accepts.MPI and arguments.pin:
        raise SettingError("--pin is the launcher's task: give it to mpiexec, as -bind-to core.")
    for path in (arguments.save, arguments.json, arguments.checkpoint):
        if path not in (None, STDOUT):
            accepts.check_place(Path(path))


def _check_resume(arguments: Namespace) -> None:
    if arguments.runtime in accepts.MPI:
        if arguments.checkpoint is None:
            raise SettingError("--resume needs to know from where: give --checkpoint FILE too.")
    elif arguments.agent not in accepts.DEEP:
        raise SettingError(
            f"--resume is for {', '.join(accepts.DEEP)}, and for trainings over MPI: leave it out."
        )
    elif arguments.save is None:
        raise SettingError("--resume goes on from the file of --save: give both.")
