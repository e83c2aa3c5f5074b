"""Real child processes: where they start, what they say, and that nothing outlives them."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from pytest_rlperf.workers import process as process_module
from pytest_rlperf.workers.process import (
    RUN,
    TAIL_BYTES,
    Process,
    end_marked,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses signals and sessions")

PATIENCE_S = 30.0
Start = Callable[..., Process]

FAMILY = """
import os, subprocess, sys, time
depth, new_session, stay = int(sys.argv[1]), sys.argv[2] == "True", sys.argv[3] == "True"
if depth:
    command = [sys.executable, "-I", "-S", "-c", sys.argv[4], str(depth - 1), *sys.argv[2:]]
    subprocess.Popen(command, start_new_session=new_session)
print(os.getpid(), flush=True)
if stay or not depth:
    time.sleep(300)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a script in a fresh interpreter; what is left at the end is ended."""
    started: list[Process] = []

    def start_script(
        script: str, *argv: str, cores: Sequence[int] = (), env: Mapping[str, str] = os.environ
    ) -> Process:
        started.append(
            Process(
                [sys.executable, "-I", "-S", "-c", script, *argv],
                env=env,
                cwd=str(tmp_path),
                cores=cores,
                fds=(),
                log=tmp_path / f"{len(started)}.log",
            )
        )
        return started[-1]

    yield start_script
    for process in started:
        process.end()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def family_of(process: Process, members: int) -> list[int]:
    """The process ids that a process and its descendants printed."""
    until(lambda: len(process.output_tail().split()) == members)
    return [int(pid) for pid in process.output_tail().split()]


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def alive(pids: Sequence[int]) -> list[int]:
    return [pid for pid in pids if is_alive(pid)]


@pytest.mark.parametrize("new_session", [False, True])
def test_children_and_grandchildren_are_ended_too(start: Start, new_session: bool):
    process = start(FAMILY, "2", str(new_session), "True", FAMILY)
    pids = family_of(process, members=3)
    assert alive(pids) == pids
    process.end()
    until(lambda: not alive(pids))


def test_descendants_of_a_process_that_ended_by_itself_are_ended(start: Start):
    process = start(FAMILY, "1", "False", "False", FAMILY)
    pids = family_of(process, members=2)
    until(lambda: process.ended)
    assert alive(pids)
    process.end()
    until(lambda: not alive(pids))


def test_what_left_into_a_session_of_its_own_is_ended_by_the_runs_mark(start: Start):
    token, other = uuid.uuid4().hex, uuid.uuid4().hex
    run = [start(FAMILY, "1", "True", "False", FAMILY, env={RUN: t}) for t in (token, other)]
    ours, theirs = (family_of(process, members=2) for process in run)
    until(lambda: all(process.ended for process in run))
    for process in run:
        process.end()
    assert len(alive(ours)) == len(alive(theirs)) == 1  # out of the reach of their session
    end_marked(token)
    assert not alive(ours)
    assert len(alive(theirs)) == 1
    end_marked(other)
    assert not alive(theirs)


def test_a_mark_that_nobody_carries_ends_nobody():
    end_marked(uuid.uuid4().hex)


def test_a_zombie_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_module, "END_S", 2 * PATIENCE_S)
    token = uuid.uuid4().hex
    script = "import time; print('up', flush=True); time.sleep(300)"
    argv = [sys.executable, "-I", "-S", "-c", script]
    # Nobody reaps it until the end.
    with subprocess.Popen(argv, env={RUN: token}, stdout=subprocess.PIPE) as left:
        assert left.stdout is not None
        left.stdout.readline()  # on its way into a program a process has no environment
        begun = time.monotonic()
        end_marked(token)
        assert time.monotonic() - begun < PATIENCE_S
        assert psutil.Process(left.pid).status() == psutil.STATUS_ZOMBIE


def test_ending_twice_is_harmless(start: Start):
    process = start("pass")
    process.end()
    process.end()
    assert process.ended


def test_a_process_that_stops_within_its_grace_ends_in_good_order(start: Start):
    process = start("print('bye')")
    process.end(grace_s=PATIENCE_S)
    assert process.output_tail() == "bye"
    assert process.how_it_ended() == "exit status 0"


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("raise SystemExit(3)", "exit status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "signal SIGTERM"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal SIGKILL"),
    ],
)
def test_how_it_ended_names_the_status_or_the_signal(start: Start, script: str, how: str):
    assert start(script).how_it_ended() == how


def test_a_process_that_goes_on_is_said_to(start: Start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_module, "END_S", 0.001)
    process = start("import time; time.sleep(300)")
    assert process.how_it_ended() == "closed its connection but still runs"
    assert not process.ended


def test_the_output_is_what_it_printed_last_on_either_stream(start: Start):
    script = (
        f"import sys; print('x' * {2 * TAIL_BYTES}, flush=True); print('last', file=sys.stderr)"
    )
    process = start(script)
    process.how_it_ended()
    assert process.output_tail().endswith("x\nlast")
    assert len(process.output_tail()) <= TAIL_BYTES


def test_garbage_in_the_output_does_not_hurt(start: Start):
    process = start(r"import sys; sys.stdout.buffer.write(b'\xff\xfe ok')")
    process.how_it_ended()
    assert process.output_tail().endswith(" ok")


def test_an_output_that_is_gone_is_empty(start: Start, tmp_path: Path):
    process = start("pass")
    (tmp_path / "0.log").unlink()
    assert process.output_tail() == ""


def test_stacks_of_a_process_that_hangs_appear_in_its_output(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process_module, "STACKS_S", 0.001)
    process = start(
        "import faulthandler, signal, time\n"
        "faulthandler.register(signal.SIGUSR1)\n"
        "def hanging():\n"
        "    print('up', flush=True)\n"
        "    time.sleep(300)\n"
        "hanging()\n"
    )
    until(lambda: process.output_tail() == "up")
    process.dump_stacks()
    until(lambda: "in hanging" in process.output_tail())
    assert not process.ended


def test_asking_for_the_stacks_of_a_process_that_ended_does_nothing(start: Start):
    process = start("pass")
    process.how_it_ended()
    process.dump_stacks()
    assert process.how_it_ended() == "exit status 0"


def test_it_has_a_session_of_its_own_so_that_an_interrupt_passes_it_by(start: Start):
    process = start("import time; time.sleep(300)")
    until(lambda: os.getpgid(process.pid) == process.pid)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    os.kill(process.pid, signal.SIGKILL)


pinning = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot pin here")


@pinning
def test_it_starts_on_its_core_and_leaves_the_starter_where_it_was(start: Start):
    before = os.sched_getaffinity(0)
    process = start("import os; print(*os.sched_getaffinity(0))", cores=[max(before)])
    process.how_it_ended()
    assert process.output_tail() == str(max(before))
    assert os.sched_getaffinity(0) == before


@pinning
def test_the_starter_gets_its_cores_back_when_the_start_fails(tmp_path: Path):
    before, missing = os.sched_getaffinity(0), str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        Process([missing], env={}, cwd=".", cores=[max(before)], fds=(), log=tmp_path / "log")
    assert os.sched_getaffinity(0) == before
