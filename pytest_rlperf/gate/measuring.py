"""The plugin object that every session that measures derives from: it selects the tests, refuses
what cannot be measured, and publishes the result.
"""

import datetime
import os
import sys
from collections.abc import Sequence, Set
from pathlib import Path

import pytest

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.gate.publishing import Published, publish
from pytest_rlperf.gate.rules import Rules
from pytest_rlperf.gate.selection import (
    family_of,
    input_size_of,
    is_performance_test,
    is_timed,
    learning_spec,
    measures_memory,
    nprocs_of,
    repeat_command,
    size_of,
    source_hash,
)
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.gate.worker_args import session_mpi_facts
from pytest_rlperf.leaving import Interrupts
from pytest_rlperf.machine.fingerprint import read_fingerprint
from pytest_rlperf.machine.host import available_cores
from pytest_rlperf.markers import spec_of
from pytest_rlperf.model.result import Fingerprint, RunResult, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.options import Settings, check_categories
from pytest_rlperf.project import read_project
from pytest_rlperf.trees.base_tree import build_working_tree
from pytest_rlperf.trees.cache import cache_folder
from pytest_rlperf.trees.git import WorkingState, top_level, working_state


class MeasuringSession:
    """A plugin object; those that derive from it say what is measured and what is reported."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        _refuse_windows()
        _refuse_xdist(config)
        self._config = config
        self._settings = settings
        today = datetime.datetime.now(datetime.UTC).date()
        self._rules = Rules(read_project(config.rootpath), today)
        self._specs: dict[str, Spec] = {}
        self._run: RunResult | None = None
        self._notices: tuple[str, ...] = ()
        self._published = Published()
        self._ended_with = 0  # the exit code
        self._interrupts = Interrupts()
        self._began = WorkingState(None, False)  # what the working tree was like

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._interrupts.__enter__()

    def pytest_unconfigure(self) -> None:
        self._interrupts.__exit__()

    # -- selecting ----------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Build the working tree before test modules are collected, which import what is built."""
        if self._settings.build is None or not self._measures_working_tree:
            return
        try:
            cache = cache_folder(os.environ)
            build_working_tree(self._settings.build, self._config.rootpath, cache)
        except RlperfError as error:
            raise pytest.UsageError(f"rlperf: {error}") from None

    @property
    def _measures_working_tree(self) -> bool:
        """Return whether head is the working tree, and no other revision."""
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        try:
            specs = {item.nodeid: spec_of(item) for item in items if is_performance_test(item)}
            known = frozenset(s.category for s in specs.values() if s.category is not None)
            check_categories(self._settings.categories, known)
            self._rules.check(specs)
            for item in items:
                learning_spec(item)
        except UsageError as error:
            raise pytest.UsageError(f"rlperf: {error}") from None
        wanted = self._settings.categories
        fitting = {n: s for n, s in specs.items() if not wanted or s.category in wanted}
        kept = self._narrowed([item for item in items if item.nodeid in fitting])
        self._specs = {nodeid: fitting[nodeid] for nodeid in fitting if nodeid in kept}
        try:
            own = self._shared_out([item for item in items if item.nodeid in self._specs])
        except RlperfError as error:
            raise pytest.UsageError(f"rlperf: {error}") from None
        deselected = [item for item in items if item.nodeid not in own]
        items[:] = [item for item in items if item.nodeid in own]
        if deselected:
            config.hook.pytest_deselected(items=deselected)

    def _narrowed(self, items: Sequence[pytest.Item]) -> Set[str]:
        """Return the node ids of those fitting tests that are worth measuring."""
        return {item.nodeid for item in items}

    def _shared_out(self, items: Sequence[pytest.Item]) -> Set[str]:
        """Return the node ids of those tests of the suite that this run measures."""
        return {item.nodeid for item in items}

    # -- running ------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            raise session.Interrupted(f"{session.testsfailed} errors during collection")
        if session.items:
            self._began = self._working_state()
            try:
                self._measure(session)
            except RlperfError as error:
                raise pytest.UsageError(f"rlperf: {error}") from None
        else:
            self._run = self._empty()
        return True

    def _empty(self) -> RunResult | None:
        """Return the result of a run that has no test; None: there is nothing to tell."""
        return None

    def _measure(self, session: pytest.Session) -> None:
        """Measure the selected tests, report them to pytest, and leave the result in `_run`."""
        raise NotImplementedError

    def _facts(self, items: Sequence[pytest.Item], cores: Sequence[int]) -> Fingerprint:
        """Return the fingerprint of the machine and the libraries."""
        threads = {item.nodeid: self._specs[item.nodeid].threads for item in items}
        facts = read_fingerprint(cores, threads, self._project)
        ranked = any(map(nprocs_of, items))
        return facts | (session_mpi_facts(self._config, len(cores)) if ranked else {})

    @property
    def _project(self) -> Path:
        """Return the folder of the repository under test; pytest's where it is in none."""
        try:
            return Path(top_level(self._config.rootpath)[0])
        except RlperfError:
            return self._config.rootpath

    @property
    def _own_python(self) -> str | None:
        """Return head's interpreter where the base has another: `pytest` may be either's."""
        return sys.executable if self._settings.against_python else None

    def _benchmark(self, item: pytest.Item) -> Benchmark:
        return Benchmark(
            nodeid=item.nodeid,
            spec=self._specs[item.nodeid],
            source_hash=source_hash(item),
            repeat_command=repeat_command(item, self._config, self._own_python),
            size=size_of(item, len(available_cores()) or os.cpu_count() or 1),
            input_size=input_size_of(item),
            family=family_of(item),
            timed=is_timed(item),
            memory=measures_memory(item, self._specs[item.nodeid]),
            learning=learning_spec(item),
        )

    def _result(
        self,
        mode: str,
        tests: Sequence[TestResult],
        facts: Fingerprint,
        seconds: float,
        interrupted: bool,
    ) -> RunResult:
        state = self._working_state()
        return RunResult(
            mode=mode,
            against=None,
            commit=state.sha,
            dirty=state.dirty or state != self._began,  # or it is not known what was measured
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            fingerprint=facts,
            tests=tuple(tests),
            seconds=seconds,
            interrupted=interrupted,
        )

    def _working_state(self) -> WorkingState:
        return working_state(self._config.rootpath, besides=self._settings.baselines)

    # -- ending -------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        code = self._exit_code(int(exitstatus))
        session.exitstatus = code
        if self._run is not None:
            items, root = session.items, self._config.rootpath
            self._published = publish(self._run, code, self._notices, self._settings, items, root)
            if code == pytest.ExitCode.OK and not self._published.complete:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._ended_with = int(session.exitstatus)

    def _exit_code(self, status: int) -> int:
        """Return the exit code of the session, where `status` is pytest's own."""
        return status


def _refuse_windows() -> None:
    if sys.platform == "win32":
        raise UsageError("measuring needs Linux or macOS; on Windows run it in WSL.")


def _refuse_xdist(config: pytest.Config) -> None:
    if getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None):
        raise UsageError(
            "measuring and pytest-xdist's -n exclude each other, since parallel tests disturb each "
            "other's time; run with -n 0, or without -n."
        )
