"""The controller's side of a runner: started, told, heard, ended, and why a run failed."""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_rlperf.duet import runner as child
from pytest_rlperf.duet.command_line import DuetCommand
from pytest_rlperf.duet.model import DuetSettings
from pytest_rlperf.duet.runner import NOT_STARTED, Program, RunUse, Turn
from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.memory.counters import peak_bytes
from pytest_rlperf.reading import typed
from pytest_rlperf.workers.process import Process

END_S = 5.0
SHOWN_LINES = 5
"""The last lines of what a failing command said that are told."""


class CommandFailed(UsageError):
    """A command did not end as one that is to be measured should."""


class CommandRunner:
    """One command on the cores of a lane: the process that starts its runs."""

    def __init__(
        self,
        command: DuetCommand,
        settings: DuetSettings,
        folder: Path,
        name: str,
        environment: Mapping[str, str],
    ) -> None:
        self.command = command
        self._settings = settings
        self._errors = folder / f"{name}.stderr"
        self._buffer = b""
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        shown = [os.dup(1), os.dup(2)] if settings.show_output else []
        told = child.Runner(
            command.program,
            settings.prepare.program if settings.prepare else Program(),
            os.devnull if settings.input is None else str(settings.input.absolute()),
            str(self._errors),
            shown,
        )
        try:
            self._process = Process(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    child.__file__,
                    json.dumps(told),
                    str(theirs.fileno()),
                ],
                env=environment,
                cwd=os.getcwd(),
                cores=(),
                fds=(theirs.fileno(), *shown),
                log=folder / f"{name}.log",
            )
        finally:
            theirs.close()
            for handle in shown:
                os.close(handle)

    def fileno(self) -> int:
        return self._channel.fileno()

    @property
    def own_bytes(self) -> int:
        """Return the peak of the process that starts the runs."""
        return peak_bytes(self._process.pid)

    def tell(self, turn: Turn) -> None:
        try:
            self._channel.sendall(json.dumps(turn).encode() + b"\n")
        except OSError:
            raise self._gone() from None

    def heard(self) -> Iterator[RunUse]:
        """Yield the runs that have ended since it was asked last."""
        try:
            data = self._channel.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise self._gone()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            yield typed(RunUse, json.loads(line))

    def check(self, use: RunUse, text: str, ignore: bool) -> None:
        """Refuse a run that failed, unless that is ignored."""
        if use.status >= NOT_STARTED:
            why = os.strerror(use.status - NOT_STARTED)
            raise CommandFailed(f"{text!r} could not be started: {why}.")
        if use.status == 0 or ignore:
            return
        cure = "" if text != self.command.text else ", or add --ignore-failure"
        how = f"{text!r} {render_status(use.status)}; mend it{cure}."
        raise CommandFailed(f"{how}{self._said()}")

    def leave(self) -> None:
        """Let it end by itself, with whatever it started."""
        self._channel.close()

    def end(self) -> None:
        """Return when it has ended, with whatever it started."""
        self.leave()
        self._process.end(END_S)

    def _said(self) -> str:
        """Return the last lines of what the last run wrote to its standard error."""
        try:
            text = self._errors.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""
        lines = text.splitlines()[-SHOWN_LINES:]
        return "".join(f"\n  {line}" for line in lines)

    def _gone(self) -> RlperfError:
        how = self._process.how_it_ended()
        tail = self._process.output_tail()
        return RlperfError(f"what starts {self.command.text!r} is gone: {how}. {tail}".strip())


def render_status(status: int) -> str:
    """Return "ended with exit code 3" or "was ended by SIGSEGV"."""
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
