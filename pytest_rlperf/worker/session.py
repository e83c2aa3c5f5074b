"""What the controller wants of a player."""

import faulthandler
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_rlperf.adoption import silence
from pytest_rlperf.machine.host import pin
from pytest_rlperf.model.memory import Probe
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.trees.imports import explain, foreign_imports, install_tree_finder, tree_modules
from pytest_rlperf.wire import Assignment, Channel, ChannelClosed, Job
from pytest_rlperf.worker.benchmark_fixture import adopt_benchmark
from pytest_rlperf.worker.clock import Clock, SystemClock
from pytest_rlperf.worker.import_time import import_ns
from pytest_rlperf.worker.player import Player
from pytest_rlperf.worker.turns import Baton

# A worker process: one side of one block, a pytest session that runs the tests it is told to.
#
# Every module of the measuring code is imported here, from head, before the base tree enters the
# import path: both sides are measured by the same code.


PLAYER = pytest.StashKey[Player]()
PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal this process gets when its parent ends."""


def work(data: Mapping[str, Any]) -> int:
    """Run the session; returns the process's exit status."""
    job = Job.from_dict(data)
    _end_with_the_controller()
    if hasattr(signal, "SIGUSR1"):  # the controller asks for stacks before it kills
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    channel = Channel(_socket(job.channel_fd))
    baton = Baton(None if job.baton_fd is None else _socket(job.baton_fd))
    if job.reference:
        from pytest_rlperf.worker.reference import ReferenceWorker

        return ReferenceWorker(job, channel, baton).work()
    # On head too, where it changes nothing: an import in a slice must cost the same.
    install_tree_finder(job.head_tree, job.tree, job.import_roots)
    try:
        return int(pytest.main(list(job.pytest_args), plugins=[WorkerSession(job, channel, baton)]))
    except ChannelClosed:
        return 3  # the controller is gone, and with it the reason to go on


def _end_with_the_controller() -> None:
    """Even in the middle of a call that never returns, which no message could reach."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _socket(fd: int) -> socket.socket:
    os.set_inheritable(fd, False)
    sock = socket.socket(fileno=fd)
    if hasattr(os, "register_at_fork"):
        # A child that held it open would hide this process's end from the controller.
        os.register_at_fork(after_in_child=sock.close)
    return sock


class WorkerSession:
    """The pytest plugin of a worker: collects, then runs tests in the order it is told."""

    def __init__(self, job: Job, channel: Channel, baton: Baton) -> None:
        self._job = job
        self._channel = channel
        self._baton = baton
        self._player: Player | None = None
        self._checked_modules = 0
        self._imports: dict[str, Any] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        for name, value in self._job.options.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        silence(config, tests_run=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wanted = set(self._job.nodeids)
        items[:] = [item for item in items if item.nodeid in wanted]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            text = report.longreprtext
            self._channel.send({"event": "uncollected", "nodeid": report.nodeid, "text": text})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        clock: Clock | None = session.config.hook.pytest_rlperf_clock(config=session.config)
        player = self._make_player(clock or SystemClock())
        session.config.stash[PLAYER] = self._player = player
        adopt_benchmark(player)
        items = {item.nodeid: item for item in session.items}
        # What was imported stays: collecting it again before every test took longer than the test.
        gc.collect()
        gc.freeze()
        self._channel.send({"event": "collected", "nodeids": list(items), "at": time.monotonic()})
        while (order := self._channel.receive())["do"] == "run":
            self._run(items[order["nodeid"]], items.get(order["next"]), order, player)
        return True

    def _make_player(self, clock: Clock) -> Player:
        job = self._job

        def importer(names: Sequence[str], seconds: float) -> float:
            return import_ns(names, job, seconds)

        return Player(self._channel, clock, job.side, self._baton, job.slowdown, importer)

    def _pin(self, cores: Sequence[int]) -> None:
        pin(cores)

    def _run(
        self,
        item: pytest.Item,
        following: pytest.Item | None,
        order: dict[str, Any],
        player: Player,
    ) -> None:
        cores = tuple(order["cores"])
        self._pin(cores)
        plan = None if order["plan"] is None else Plan.from_dict(order["plan"])
        probe = None if order["probe"] is None else Probe.from_dict(order["probe"])
        assignment = Assignment(item.nodeid, plan, order["seed"], order["deadline_s"], cores, probe)
        player.begin(assignment)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self._channel.send(
            {
                "event": "ended",
                "nodeid": item.nodeid,
                "played": player.played,
                "abandoned": player.abandoned,
                **self._import_facts(),
            }
        )

    def _import_facts(self) -> dict[str, Any]:
        """What came from the tree, and why this side did not measure its own, if it did not.

        Looked at again only when something was imported since: it takes as long as a slice.
        """
        if len(sys.modules) != self._checked_modules:
            job, self._checked_modules = self._job, len(sys.modules)
            found = foreign_imports(job.tree, job.head_tree, job.import_roots, sys.modules)
            self._imports = {
                "imported": tree_modules(job.tree, sys.modules),
                "foreign": explain(found) if found else None,
            }
        return self._imports

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        """No letters: the output is the tests' own."""
        return "", "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" and self._player is not None:
            sys.stdout.flush()
            self._channel.send(
                {
                    "event": report.outcome,
                    "nodeid": report.nodeid,
                    "when": report.when,
                    "text": _text(report, self._player.advice),
                    "sections": [list(section) for section in report.sections],
                }
            )


def _text(report: pytest.TestReport, advice: str | None) -> str:
    """The traceback with what to do about it, or the bare reason of a skip."""
    if report.skipped and hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}".removesuffix(": ")
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    text = report.longreprtext
    return f"{text}\n\n{advice}" if advice and report.when == "call" else text
