"""Entry point for pytest: registers options and the fixture. Light: no measuring code is imported
unless `--rlperf` asks for it.
"""

import pytest

from pytest_rlperf import hookspecs
from pytest_rlperf.adoption import silence
from pytest_rlperf.errors import RlperfError
from pytest_rlperf.fixtures import rlperf as rlperf
from pytest_rlperf.options import add_options, read_settings, refuse_lone_options

MARKER_HELP = (
    "rlperf(category, steps, threshold, kpi, threads, waits, warmup, iterations, metadata): "
    "how a performance test is measured and judged by `pytest --rlperf`."
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if config.getoption("rlperf") and not config.option.collectonly:
        silence(config, tests_run=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER_HELP)
    if config.option.collectonly:
        return
    if not config.getoption("rlperf"):
        refuse_lone_options(config)
        return
    from pytest_rlperf.run.session import GateSession

    try:
        session = GateSession(config, read_settings(config))
    except RlperfError as error:
        raise pytest.UsageError(f"rlperf: {error}") from None
    config.pluginmanager.register(session, "rlperf-session")
