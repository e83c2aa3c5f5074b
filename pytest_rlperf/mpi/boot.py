"""First file of a rank: take head's import path, leave a supervisor behind, start the session.

Run by path and with `-P`, so that nothing but this file decides what is importable.

The supervisor is a process beside every rank that notes how the rank ended: launchers do not say it
of each. It costs a fork before anything is imported, and sleeps until the rank is over.
"""

import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_rlperf.mpi.rank_files import RankFiles

PR_SET_PDEATHSIG = 1
"""An option of prctl(2): the signal this process gets when its parent ends."""
POLL_S = 0.5
"""The time between two looks where the system cannot announce the end of a process."""


def boot(order_file: str) -> int:
    """Run the session that the order describes, and return its exit status."""
    with open(order_file, encoding="utf-8") as file:
        order = json.load(file)
    sys.path[:] = order["job"]["sys_path"]
    from pytest_rlperf.mpi.rank_files import RANK_NAMES, RankFiles, rank_of

    rank = rank_of(os.environ)
    if rank is None:
        names = ", ".join(RANK_NAMES)
        print(f"the launcher tells its ranks none of {names}; use another", file=sys.stderr)
        return 2
    files = RankFiles(order["folder"], rank)
    supervise(files, order["host"], order["controller"])
    from random import Random

    from pytest_rlperf.worker.boot import BEFORE_IMPORTS, scatter

    seed = order["job"]["layout_seed"]
    alive = [] if seed is None else scatter(Random(f"{seed}/{rank}"), BEFORE_IMPORTS)
    from pytest_rlperf.mpi.rank_session import play
    from pytest_rlperf.reading import typed
    from pytest_rlperf.wire import RankOrder

    status = play(typed(RankOrder, order), files)
    del alive  # kept until here: freed memory would be filled by the first imports
    return status


# -- the supervisor ------------------------------------------------------------------------------


def supervise(files: "RankFiles", host: str, controller: int) -> None:
    """Fork, and return in the rank, with its output in files; the supervisor never returns."""
    from pytest_rlperf.leaving import shared_by_ranks, unname
    from pytest_rlperf.mpi.rank_files import RankExit, RankPhase

    launcher = os.getppid()
    watched = [launcher, *([controller] if host == socket.gethostname() else [])]
    _redirect(files)
    supervisor = os.getpid()
    rank = os.fork()
    if rank == 0:
        _end_with_parent()
        if os.getppid() != supervisor:
            os._exit(1)
        files.write_pid()
        files.write_phase(RankPhase.START)
        return
    for meant in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(meant, signal.SIG_IGN)  # for the rank, which gets it too
    orphaned = _is_outlived(rank, launcher, watched)
    if orphaned:
        unname(shared_by_ranks([rank]))  # it may be about to come up
        with suppress(OSError):
            os.kill(rank, signal.SIGKILL)
    status = os.waitpid(rank, 0)[1]
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if number is None else None
    with suppress(OSError):  # the folder is gone: nobody asks any more
        files.write_exit(RankExit(number, code, time.time(), orphaned))
    _end_alike(number, code)


def _redirect(files: "RankFiles") -> None:
    """Send the output past the launcher, which would mix the ranks' lines."""
    sys.stdout.flush()
    sys.stderr.flush()
    for fd, ending in ((1, "out"), (2, "err")):
        target = os.open(files.path(ending), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(target, fd)
        os.close(target)


def _is_outlived(rank: int, launcher: int, watched: Sequence[int]) -> bool:
    """Wait until one ends, and tell whether the rank still runs: it does so for nobody."""
    handles: list[int] = []
    try:
        handles += map(os.pidfd_open, (rank, *watched))
        ready, _, _ = select.select(handles, [], [])
        return handles[0] not in ready
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):  # not on this system
        return _poll(rank, launcher, watched)
    finally:
        for handle in handles:
            os.close(handle)


def _poll(rank: int, launcher: int, watched: Sequence[int]) -> bool:
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while os.waitid(os.P_PID, rank, flags) is None:
        try:
            for pid in watched:
                with suppress(PermissionError):  # root's, as a batch system's launcher is
                    os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if os.getppid() != launcher:
            return True
        time.sleep(POLL_S)
    return False


def _end_alike(number: int | None, code: int | None) -> None:
    """End as the rank did: the launcher shall see what it would have seen of it."""
    if number is None:
        os._exit(code or 0)
    with suppress(OSError):  # SIGKILL needs none
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one dump is enough
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(boot(sys.argv[1]))
