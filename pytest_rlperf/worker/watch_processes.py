"""Follows the processes that a test starts by `multiprocessing`, spawned or forked.

Each has a watch of its own, and hands over at its end what it saw: a file in a private folder. One
that is killed, leaves by `os._exit` or outlives the test hands over nothing, and then the test
counts as one whose processes cannot be followed. So does a test that starts processes by anything
else: the kernel adds up the page faults of ended children, and those of others are too many.
"""

import atexit
import gc
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import popen_fork, spawn
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import pytest_rlperf
from pytest_rlperf.leaving import hold_folder, let_go
from pytest_rlperf.model.code import CodeChanges, Ran
from pytest_rlperf.reading import typed
from pytest_rlperf.wire import plain

TOKEN = "_rlperf_token"
"""An attribute of a process whose start was noticed: what its report is called."""
NOT_FOLLOWED = ""  # the token of a process that is started while calls are timed
TIDYING = "multiprocessing.resource_tracker"
WATCH, PAUSED = "watch", "paused"
"""Files: what there is to watch for, and one that exists while calls are timed."""
TURN = signal.SIGURG
"""Tells a process to look whether it has to pause: nobody else sends it, or dies of it."""
ENDING_S = 1.0
"""For a process to be gone that has shut its sentinel: one that did so itself may live on."""
GO_ON_S = 1.0
"""For a process to go on after a pause: it may be inside of compiled code."""


class ProcessWatch(Protocol):
    """What a process needs of its watch."""

    def forked(self) -> None:
        """Go on in a child, as a copy of its parent's."""
        ...

    def pause(self) -> None: ...

    def go_on(self, frame: FrameType | None = None) -> None:
        """Go on after a pause; the functions of the frame may have begun meanwhile."""
        ...

    def end(self) -> Ran:
        """Return what was met since the beginning."""
        ...

    def met_more(self) -> bool:
        """Return whether anything was met since the end."""
        ...


@dataclass(slots=True)
class Started:
    """A process that this one started."""

    token: str
    popen: Any = None  # multiprocessing's, once it runs
    faults: int | None = None  # page faults, known when it was waited for
    pausing: bool = False

    @property
    def lives(self) -> bool:
        """Whether it runs, as far as is known; if it has ended, it is waited for. It shuts its end
        of the sentinel a moment before it can be waited for.
        """
        if self.popen is None or self.popen.poll() is not None:
            return False
        until = time.monotonic() + ENDING_S
        while wait([self.popen.sentinel], 0.0) and time.monotonic() < until:
            if self.popen.poll() is not None:
                return False
            time.sleep(0.001)
        return True


class Processes:
    """Knows the processes that were started since the last `begin`, and what they saw."""

    def __init__(
        self,
        watch: ProcessWatch,
        differences: tuple[CodeChanges, str],
        is_measuring: Callable[[FrameType | None], bool],
        folder: str | None = None,
    ) -> None:
        """`differences` are all that a watch is made of; a spawned process is told the `folder`."""
        self._watch = watch
        self._differences = differences
        self._is_measuring = is_measuring
        self._folder = folder
        self._lock: int | None = None  # on a folder of its own
        self._pid = os.getpid()
        self._token = NOT_FOLLOWED  # of this process
        self.begin()

    def begin(self) -> None:
        """Forget what was started so far."""
        self._started: list[Started] = []
        self._paused = self._lost = False
        self._faults = faults_of_children()

    def install(self) -> None:
        self._notice_starts()
        self._notice_ends()
        self._watch_spawned()
        self._watch_children()

    # -- as the parent ------------------------------------------------------------------------

    def _notice_starts(self) -> None:
        """Notice every start: that of a spawned process raises no audit event."""
        unwatched = BaseProcess.start

        def start(process: BaseProcess) -> None:
            if self._is_measuring(sys._getframe(1)):
                unwatched(process)
                return
            started = Started(NOT_FOLLOWED if self._paused else os.urandom(8).hex())
            self._started.append(started)
            self._shared()  # before a fork
            setattr(process, TOKEN, started.token)
            unwatched(process)
            started.popen = process._popen  # type: ignore[attr-defined]
            setattr(started.popen, TOKEN, started)

        BaseProcess.start = start  # type: ignore[assignment, method-assign]

    def _notice_ends(self) -> None:
        """Take the page faults of a process as it is waited for: later they are lost in a sum."""

        def poll(popen: Any, flag: int = os.WNOHANG) -> int | None:
            if popen.returncode is None:
                try:
                    pid, status, used = os.wait4(popen.pid, flag)
                except OSError:  # somebody else has waited for it
                    return None
                if pid == popen.pid:
                    popen.returncode = os.waitstatus_to_exitcode(status)
                    if isinstance(started := getattr(popen, TOKEN, None), Started):
                        started.faults = used.ru_minflt + used.ru_majflt
            code: int | None = popen.returncode
            return code

        popen_fork.Popen.poll = poll  # type: ignore[assignment, method-assign]

    def _watch_spawned(self) -> None:
        """Let the command of a spawned process begin with its watch."""
        unwatched = spawn.get_command_line
        home = str(Path(pytest_rlperf.__file__).parents[1])

        def get_command_line(**kwargs: Any) -> list[str]:
            command = unwatched(**kwargs)
            if "-c" in command and _token(sys._getframe(1)):
                at = command.index("-c") + 1
                command[at] = (
                    f"import sys; sys.path[:] = {[home, *sys.path]!r}; "
                    "from pytest_rlperf.worker.watch import watch_spawned; del sys.path[0]; "
                    f"watch_spawned({self._shared()!r}); {command[at]}"
                )
            return command

        spawn.get_command_line = get_command_line

    def _shared(self) -> str:
        """Return the folder that all processes of a watched one share."""
        if self._folder is None:
            folder, self._lock = hold_folder("watch")
            self._folder = str(folder)
            changes, tree = self._differences
            Path(self._folder, WATCH).write_text(json.dumps([plain(changes), tree]))
            atexit.register(_remove, self._folder, os.getpid())
        return self._folder

    def is_followed(self, frame: FrameType | None) -> bool:
        """Return whether a fork is that of a process whose start was noticed."""
        launch = popen_fork.Popen._launch.__code__  # type: ignore[attr-defined]
        return frame is not None and frame.f_code is launch and _token(frame) is not None

    def pause(self) -> None:
        """Let processes run, and begin, as they do without a watch."""
        self._paused = True
        if living := [each for each in self._started if each.lives]:
            if not self._token:
                self._file(PAUSED).touch()
            for each in living:
                if each.token and self._file(f"{each.token}.listens").exists():
                    self._file(f"{each.token}.listens").unlink()
                    each.pausing = True
                    os.kill(each.popen.pid, TURN)

    def go_on(self) -> None:
        """Follow again those that pause. One that began in the pause must have ended."""
        self._paused = False
        if not self._token and self._folder is not None:
            self._file(PAUSED).unlink(missing_ok=True)
        living = [each for each in self._started if each.lives]
        self._lost = self._lost or not all(each.token for each in living)
        pausing = [each for each in living if each.pausing]
        for each in pausing:
            os.kill(each.popen.pid, TURN)
        until = time.monotonic() + GO_ON_S
        for each in pausing:
            while each.lives and not self._file(f"{each.token}.listens").exists():
                if time.monotonic() > until:
                    self._lost = True
                    break
                time.sleep(0.001)
            each.pausing = False

    def reports(self) -> list[Ran | None]:
        """Return what each of the processes saw; None for one that did not tell."""
        reports = [self._report(each) for each in self._started if each.token or each.lives]
        return [*reports, None] if self._lost else reports

    def close(self) -> None:
        """Remove the folder, unless somebody may still use it."""
        if self._folder is not None and not self._token and not any(e.lives for e in self._started):
            _remove(self._folder, self._pid)
            let_go(self._lock)
            self._folder = self._lock = None

    def others_ended(self) -> bool:
        """Return whether a process ended that was started otherwise, or before the test."""
        known = sum(each.faults or 0 for each in self._started)
        return faults_of_children() != self._faults + known

    def _report(self, started: Started) -> Ran | None:
        if started.lives or started.faults is None:
            return None
        try:
            return typed(Ran, json.loads(self._file(started.token).read_text()))
        except (OSError, ValueError):
            return None

    def _file(self, name: str) -> Path:
        return Path(self._shared(), name)

    # -- as a child ---------------------------------------------------------------------------

    def _watch_children(self) -> None:
        """Begin and end with what multiprocessing does in a child."""
        unwatched = BaseProcess._bootstrap  # type: ignore[attr-defined]

        def bootstrap(process: BaseProcess, *args: Any, **kwargs: Any) -> int:
            token = getattr(process, TOKEN, NOT_FOLLOWED)
            forked = os.getpid() != self._pid
            if token:
                self._token, self._pid = token, os.getpid()
                if forked:
                    self.begin()
                    self._watch.forked()
                self._listen()
            code: int = unwatched(process, *args, **kwargs)
            if token and forked and self._writes():
                os.replace(self._file(f"{token}.part"), self._file(token))
            return code

        BaseProcess._bootstrap = bootstrap  # type: ignore[attr-defined]

    def _listen(self) -> None:
        """Listen to the parent, unless the tests do so for themselves."""
        if signal.getsignal(TURN) in (signal.SIG_DFL, self._turn):
            signal.signal(TURN, self._turn)
            with suppress(OSError):  # the test is over, and the folder gone
                self._file(f"{self._token}.listens").touch()

    def _turn(self, _signal: int, frame: FrameType | None) -> None:
        if self._file(PAUSED).exists():
            self._watch.pause()
        else:
            self._watch.go_on(frame)
            self._file(f"{self._token}.listens").touch()

    def _writes(self) -> bool:
        """Write what this process saw, and return whether that is all it did."""
        if self._paused or os.getpid() != self._pid or not self._token:
            return False
        with suppress(OSError):
            self._file(f"{self._token}.part").write_text(json.dumps(plain(self._watch.end())))
            return True
        return False

    def end_spawned(self) -> None:
        """Hand over when all modules are gone: objects may do something when they go."""
        if self._writes():
            part, whole = (str(self._file(self._token + end)) for end in (".part", ""))
            sys._rlperf_last = _Last(self._watch, part, whole)  # type: ignore[attr-defined]


class _Last:
    """Is the last to go: what `sys` holds goes after all modules, so that names are bound here."""

    def __init__(self, watch: ProcessWatch, part: str, whole: str) -> None:
        self._met_more, self._part, self._whole = watch.met_more, part, whole
        self._collect, self._replace = gc.collect, os.replace

    def __del__(self) -> None:
        self._collect()  # what modules have left behind goes only now
        if not self._met_more():
            self._replace(self._part, self._whole)


def _token(launching: FrameType) -> str | None:
    """Return the token of the process that multiprocessing is about to start, if it has one."""
    return getattr(launching.f_locals.get("process_obj"), TOKEN, None)


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def faults_of_children() -> int:
    """Count the page faults of children that have ended, which change with each."""
    import resource  # here: Windows has none, and measures nothing

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_minflt + used.ru_majflt


def has_children() -> bool:
    """Return whether there are children besides the one that tidies up after shared memory."""
    import psutil  # here: a spawned process begins sooner without

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            is_over = child.status() == psutil.STATUS_ZOMBIE
            if is_over or TIDYING not in " ".join(child.cmdline()):
                return True
    return False
