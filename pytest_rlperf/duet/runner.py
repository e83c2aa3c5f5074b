"""A process that starts the runs of one command, and says what each took.

Run by path, and told by lines on a socket what to do. It is as small as can be: it shares the core
with what it starts, and the kernel counts its memory as the least that a child of it had. What a
run leaves running is ended with it, and counted with it: orphans come to this process, which is
what Linux calls a child subreaper. When the other end of the socket is gone, it ends all that it
started, and itself.
"""

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

RUN, PREPARE, FILL, ENOUGH = "run", "prepare", "fill", "enough"
GRACE_S = 0.1
"""The time for what a command started to end after it, as helpers of multiprocessing do."""
END_S = 5.0
NOT_STARTED = 1000
"""Added to the number of the error where a program could not be started at all."""
PADDING, STACK_STEP = "RLPERF_PADDING", 16
"""A variable that moves the stack: every run draws by how many bytes, up to a page."""
PR_SET_CHILD_SUBREAPER = 36
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
IGNORED = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
"""Signals that Python ignores, and commands should not."""

Files = list[tuple[Any, ...]]
"""What a program has open, as `posix_spawn` is told."""


class Program(NamedTuple):
    """A program with its words; the first of them is how it was called."""

    path: str = ""
    argv: Sequence[str] = ()


class Runner(NamedTuple):
    """What a runner is told when it starts."""

    command: Program
    prepare: Program  # run before each run, untimed; empty: nothing
    input: str  # the file that each run reads from
    errors: str  # the file that keeps what the last run wrote to its standard error
    shown: Sequence[int] = ()  # descriptors to write to instead; none: output is dropped


class Turn(NamedTuple):
    """What a runner is to do next: `RUN` so often, `PREPARE` once, `FILL` the core by runs that
    nobody counts until the next message, or `ENOUGH` of that.
    """

    what: str
    runs: int = 1
    cores: Sequence[int] = ()  # none: those that it has
    environment: Mapping[str, str] | None = None  # beside the runner's own


class RunUse(NamedTuple):
    """What one run took, with everything that it started."""

    wall_ns: int  # until the command itself ended
    cpu_ns: int
    system_ns: int  # of these, in the kernel
    peak_bytes: int  # of its largest process; no less than the runner's own
    status: int  # as the system has it: exit code, or less than zero for a signal
    left: int = 0  # processes that it left running


class Gone(Exception):
    """The other end of the socket is."""


class StartedPrograms:
    """Starts processes and waits for them, with one eye on the socket."""

    def __init__(self, channel: socket.socket) -> None:
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._poll.register(channel, 0)  # tells that the other end is gone, and nothing else

    def run(self, program: Program, environment: dict[str, str], files: Files) -> RunUse:
        """Run a program to its end, and all that it started with it."""
        padded = {**environment, PADDING: "x" * (STACK_STEP * os.urandom(1)[0])}
        begun = time.perf_counter_ns()
        try:
            pid = os.posix_spawn(
                program.path,
                list(program.argv),
                padded,
                file_actions=files,
                setpgroup=0,
                setsigdef=IGNORED,
            )
        except OSError as error:
            return RunUse(0, 0, 0, 0, NOT_STARTED + (error.errno or 0))
        used: list[resource.struct_rusage] = []
        while True:
            reaped, code, usage = os.wait4(-1, os.WNOHANG)
            if reaped == 0:
                self._sleep(None, pid)
                continue
            used.append(usage)
            if reaped == pid:
                break
        wall_ns = time.perf_counter_ns() - begun
        left = self._end_leftovers(pid, used)
        system = 1e9 * sum(each.ru_stime for each in used)
        user = 1e9 * sum(each.ru_utime for each in used)
        peak = max(each.ru_maxrss for each in used) * MAXRSS_UNIT
        status = os.waitstatus_to_exitcode(code)
        return RunUse(wall_ns, round(user + system), round(system), peak, status, left)

    def _end_leftovers(self, group: int, used: list[resource.struct_rusage]) -> int:
        """End what outlived the command, and add what it used; return how many were ended."""
        until, ended = time.monotonic() + GRACE_S, 0
        while True:
            try:
                reaped, _, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if reaped:
                used.append(usage)
                continue
            if time.monotonic() >= until:
                ended += kill_all(group)
            self._sleep(GRACE_S, group)

    def _sleep(self, seconds: float | None, group: int) -> None:
        """Sleep until a child ends; where the other end of the socket is gone, leave nobody."""
        for handle, _ in self._poll.poll(None if seconds is None else 1000 * seconds):
            if handle != self._woken:
                leave_nobody(group)
                raise Gone
            with suppress(BlockingIOError):
                os.read(self._woken, 4096)


def leave_nobody(group: int) -> None:
    """Kill until there is no child any more; those of the killed come to this process."""
    until = time.monotonic() + END_S
    while time.monotonic() < until:
        kill_all(group)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def kill_all(group: int) -> int:
    """Kill the group of a command and the children of this process; return how many there were."""
    with suppress(OSError):
        os.killpg(group, signal.SIGKILL)
    pids: list[int] = []
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        pids = [int(pid) for pid in file.read().split()]
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return len(pids)


def play(runner: Runner, channel: socket.socket) -> None:
    """Do what is told, until the other end is gone."""
    children, lines = StartedPrograms(channel), channel.makefile("rb", buffering=0)
    command, prepare = Program(*runner.command), Program(*runner.prepare)
    kept = (os.POSIX_SPAWN_OPEN, 2, runner.errors, ANEW, 0o600)
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), kept]
    shown = [(os.POSIX_SPAWN_DUP2, handle, k) for k, handle in enumerate(runner.shown, 1)]
    files = [(os.POSIX_SPAWN_OPEN, 0, runner.input, os.O_RDONLY, 0), *(shown or quiet)]
    aside = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *quiet]
    while line := lines.readline():
        turn = Turn(*json.loads(line))
        if turn.cores:
            os.sched_setaffinity(0, turn.cores)
        environment = {**os.environ, **(turn.environment or {})}
        if turn.what == PREPARE:
            say(channel, children.run(prepare, environment, aside))
        elif turn.what == RUN:
            for _ in range(turn.runs):
                say(channel, children.run(command, environment, files))
        elif turn.what == FILL:
            while not select.select([channel], [], [], 0)[0]:
                children.run(command, environment, files)
            say(channel, RunUse(0, 0, 0, 0, 0))


def say(channel: socket.socket, use: RunUse) -> None:
    channel.sendall(json.dumps(use).encode() + b"\n")


def main() -> None:
    runner = Runner(*json.loads(sys.argv[1]))
    channel = socket.socket(fileno=int(sys.argv[2]))
    for handle in (channel.fileno(), *runner.shown):
        os.set_inheritable(handle, False)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with suppress(Gone, ConnectionError):
        play(runner, channel)


if __name__ == "__main__":
    main()
