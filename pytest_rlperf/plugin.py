"""Entry point for pytest: registers options, the fixtures and the hook that this plugin offers.

Light: no measuring code is imported unless `--rlperf` asks for it.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pytest_rlperf.errors import RlperfError
from pytest_rlperf.fixtures import (
    MPI_FIXTURE,
    asks_for_sizes,
    here_of,
    parametrize_nprocs,
    parametrize_sizes,
)
from pytest_rlperf.fixtures import rlperf as rlperf
from pytest_rlperf.fixtures import rlperf_learning as rlperf_learning
from pytest_rlperf.fixtures import rlperf_memory as rlperf_memory
from pytest_rlperf.fixtures import rlperf_mpi as rlperf_mpi
from pytest_rlperf.fixtures import rlperf_size as rlperf_size
from pytest_rlperf.markers import silence
from pytest_rlperf.options import (
    Settings,
    add_options,
    is_terse,
    read_settings,
    refuse_lone_options,
)

if TYPE_CHECKING:
    from pytest_rlperf.worker.clock import Clock

MARKER_HELP = (
    "rlperf(category, steps, threshold, kpi, threads, waits, warmup, iterations, memory, "
    "imports, first_call, sizes, metadata): "
    "how a performance test is measured and judged by `pytest --rlperf`."
)

MPI_MARKER_HELP = (
    "rlperf_mpi(nprocs, timeout, scaling, gate_oversubscribed, and all that rlperf takes): "
    "the sizes of the MPI jobs that a test with the rlperf_mpi fixture runs in."
)


LEARNING_MARKER_HELP = (
    "rlperf_learning(threshold, metric, seeds, timeout, goal, worst): "
    "how what a test with the rlperf_learning fixture learns is judged."
)


class HookSpecs:
    """Hooks that this plugin offers to conftests and other plugins."""

    @staticmethod
    @pytest.hookspec(firstresult=True)
    def pytest_rlperf_clock(config: pytest.Config) -> "Clock | None":
        """Return the clock that times slices, to test a gate or to use a better source of time.

        One with `compute(ns)` and `sleep(ns)` lets its own time pass where `--rlperf-prove` makes
        slices slower.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(HookSpecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.getoption("rlperf") and not config.option.collectonly:
        silence(config, tests_run=False)
        with suppress(RlperfError):  # which is told when the settings are read
            if is_terse(config):
                _hush(config)


def _hush(config: pytest.Config) -> None:
    """Let pytest's own reporter say nothing, as far as it has options for it; call it before the
    reporter reads them.
    """
    quiet = {"verbose": -2, "color": "no", "tbstyle": "no", "reportchars": "", "no_header": True}
    for name, value in {**quiet, "disable_warnings": True, "durations": None}.items():
        setattr(config.option, name, value)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER_HELP)
    config.addinivalue_line("markers", MPI_MARKER_HELP)
    config.addinivalue_line("markers", LEARNING_MARKER_HELP)
    if config.option.collectonly:
        return
    if not config.getoption("rlperf"):
        refuse_lone_options(config)
        return
    try:
        session = _session(config, read_settings(config))
    except RlperfError as error:
        raise pytest.UsageError(f"rlperf: {error}") from None
    config.pluginmanager.register(session, "rlperf-session")


def _session(config: pytest.Config, settings: Settings) -> object:
    """Make the plugin object that measures."""
    if settings.prove:
        from pytest_rlperf.prove.session import ProofSession

        return ProofSession(config, settings)
    from pytest_rlperf.gate.session import GateSession

    return GateSession(config, settings)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if MPI_FIXTURE in metafunc.fixturenames:
        parametrize_nprocs(metafunc)
    if asks_for_sizes(metafunc):
        parametrize_sizes(metafunc)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("rlperf") or here_of(config) is not None:
        return
    if any(MPI_FIXTURE in getattr(item, "fixturenames", ()) for item in items):
        from pytest_rlperf.mpi.plain_item import as_jobs

        items[:] = as_jobs(items)
