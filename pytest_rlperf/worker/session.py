"""A worker process: one side of one block, a pytest session that runs the tests it is told to.

Every module of the measuring code is imported here, from head, before the base tree enters the
import path: both sides are measured by the same code.
"""

import faulthandler
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_rlperf.machine.host import pin
from pytest_rlperf.markers import is_marked_alone, silence
from pytest_rlperf.trees.imports import explain, foreign_imports, install_tree_finder, tree_modules
from pytest_rlperf.wire import (
    Channel,
    ChannelClosed,
    Collected,
    Finished,
    Job,
    Met,
    Order,
    Trouble,
    Uncollected,
)
from pytest_rlperf.worker.benchmark_fixture import MANY_CALLS, adopt_benchmark
from pytest_rlperf.worker.calls import Calls
from pytest_rlperf.worker.clock import Clock, SystemClock
from pytest_rlperf.worker.import_time import import_ns
from pytest_rlperf.worker.player import Player
from pytest_rlperf.worker.turns import Baton

if TYPE_CHECKING:  # loaded where it is asked for: a worker starts for every block
    from pytest_rlperf.model.code import CodeChanges
    from pytest_rlperf.worker.watch import CodeWatch

PLAYER = pytest.StashKey[Player]()
PR_SET_PDEATHSIG = 1
"""An option of prctl(2): the signal that this process gets when its parent ends."""


def work(job: Job) -> int:
    """Run the session; return the process's exit status."""
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
    session = WorkerSession(job, channel, baton)
    try:
        return int(pytest.main(list(job.pytest_args), plugins=[session]))
    except ChannelClosed:
        return 3  # the controller is gone, and with it the reason to go on


def _end_with_the_controller() -> None:
    """Let the kernel end this process when the controller ends, even in the middle of a call that
    never returns, which no message could reach.
    """
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


class ChildSession:
    """The pytest plugin of any child: takes over the run's options, keeps the tests of its job."""

    def __init__(self, job: Job) -> None:
        self._job = job

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        for name, value in self._job.options.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        silence(config, tests_run=True)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wanted = set(self._job.nodeids)
        items[:] = [item for item in items if item.nodeid in wanted]

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self) -> bool:
        """Let pytest-timeout end no test: its limit is for one run of it, and here are many calls,
        some of them under a profiler, for which the controller has limits of its own.
        """
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        """Show no letters: the output is the tests' own."""
        return "", "", ""


class WorkerSession(ChildSession):
    """The pytest plugin of a worker: collects, then runs tests in the order it is told."""

    sees_alone = True
    """Whether it may leave a test out by itself."""

    def __init__(self, job: Job, channel: Channel, baton: Baton) -> None:
        super().__init__(job)
        self._watch = None if job.watched is None else _installed_watch(job, job.watched)
        self._channel = channel
        self._baton = baton
        self._player: Player | None = None
        self._checked_modules = 0
        self._imported: Mapping[str, str] = {}
        self._foreign: str | None = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            text = report.longreprtext
            self._channel.send(Uncollected(report.nodeid, text))

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
        if self._watch is not None:
            self._watch.collected()
        self._channel.send(Collected(tuple(items), time.monotonic()))
        while isinstance(order := self._channel.receive(), Order):
            following = None if order.following is None else items.get(order.following)
            self._run(items[order.nodeid], following, order, player)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Play the whole of a test that is a benchmark by its marker alone."""
        if self._player is None or not is_marked_alone(pyfuncitem):
            return None
        wanted = pyfuncitem._fixtureinfo.argnames
        values = {name: pyfuncitem.funcargs[name] for name in wanted}
        self._player.play(Calls(pyfuncitem.obj, (), values), None, None, MANY_CALLS)
        return True

    def _make_player(self, clock: Clock) -> Player:
        job = self._job

        def importer(names: Sequence[str], seconds: float) -> float:
            return import_ns(names, job, seconds)

        return Player(
            self._channel, clock, job.side, self._baton, job.slowdown, importer, self._watch
        )

    def _pin(self, cores: Sequence[int]) -> None:
        pin(cores)

    def _run(
        self, item: pytest.Item, following: pytest.Item | None, order: Order, player: Player
    ) -> None:
        if self._watch is not None and self.sees_alone and order.probe is None:
            met = self._watch.met_by_imports(item)
            if met is not None:
                self._channel.send(Met(met))
                return
        self._pin(order.cores)
        player.begin(order)
        if self._watch is not None:
            self._watch.begin()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        ran = None if self._watch is None else self._watch.end(item)
        self._look_at_imports()
        self._channel.send(
            Finished(
                player.played, player.abandoned, self._imported, self._foreign, ran, player.cost
            )
        )

    def _look_at_imports(self) -> None:
        """Note what came from the tree, and why this side did not measure its own, if it did not.

        This is done only when something was imported since: it takes as long as a slice.
        """
        if len(sys.modules) != self._checked_modules:
            job, self._checked_modules = self._job, len(sys.modules)
            foreign = foreign_imports(job.tree, job.head_tree, job.import_roots, sys.modules)
            self._imported = tree_modules(job.tree, sys.modules)
            self._foreign = explain(foreign) if foreign else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" and self._player is not None:
            sys.stdout.flush()
            text = _text(report, self._player.advice)
            self._channel.send(Trouble(report.outcome, text, tuple(report.sections)))


def _installed_watch(job: Job, changes: "CodeChanges") -> "CodeWatch":
    from pytest_rlperf.worker.watch import CodeWatch

    watch = CodeWatch(changes, job.tree)
    watch.install()
    return watch


def _text(report: pytest.TestReport, advice: str | None) -> str:
    """Return the traceback with what to do about it, or the bare reason of a skip."""
    if report.skipped and hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}".removesuffix(": ")
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    text = report.longreprtext
    return f"{text}\n\n{advice}" if advice and report.when == "call" else text
