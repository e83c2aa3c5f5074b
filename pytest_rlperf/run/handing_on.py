"""What a session hands on to the sessions that it starts: arguments and values of options."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

OWN_WARNING = (
    "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"
)
"""Workers import the measuring code before pytest could; a suite may turn warnings into errors."""

OWN_TO_THE_SESSION = frozenset(
    {
        "capture", "collectonly", "durations", "durations_min", "file_or_dir", "failedfirst",
        "help", "importmode", "inifilename", "junitprefix", "keyword", "lf", "log_file",
        "markexpr", "maxfail", "newfirst", "numprocesses", "override_ini", "plugins", "pyargs",
        "quiet", "rootdir", "setuponly", "setupplan", "setupshow", "stepwise", "stepwise_skip",
        "tbstyle", "trace", "tx", "usepdb", "usepdb_cls", "verbose", "version", "xmlpath",
        "basetemp", "dist", "cov_source", "cov_report", "no_cov",
    }
)  # fmt: skip
"""Options that steer the outer session; every other plain value is handed to the workers."""


def session_arguments(config: pytest.Config) -> Iterator[str]:
    """The workers' command line. What the ini file adds is cleared: its effect on options is
    handed over, while `-n` or `--cov` in it would break or slow the workers. What a test prints
    goes to the worker's output file: captured by pytest it would be lost with a crash.
    """
    yield from ("-p", _own_name(config))
    yield from (
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:rerunfailures",
        "-p",
        "no:hypothesispytest",  # imports hypothesis when the session ends: 0.2 s
        "-o",
        "addopts=",
        "-q",
        "-s",
    )
    yield from ("-o", "console_output_style=classic")
    yield f"--import-mode={config.getoption('importmode')}"
    for name in config.getoption("plugins", default=None) or ():
        if not name.startswith("no:cacheprovider"):
            yield from ("-p", name)
    for setting in config.getoption("override_ini", default=None) or ():
        if not setting.startswith("addopts"):
            yield from ("-o", setting)
    for warning in (*(config.getoption("pythonwarnings", default=None) or ()), OWN_WARNING):
        yield from ("-W", warning)


def _own_name(config: pytest.Config) -> str:
    """How this plugin was loaded: by its entry point, or by `-p` with the name of its module."""
    module = "pytest_rlperf.plugin"
    named = config.pluginmanager.list_name_plugin()
    return next((name for name, p in named if getattr(p, "__name__", "") == module), module)


def relative_inipath(config: pytest.Config) -> str | None:
    """From the root; None: there is none in it."""
    if config.inipath is None or not config.inipath.is_relative_to(config.rootpath):
        return None
    return str(config.inipath.relative_to(config.rootpath))


def plain_options(config: pytest.Config) -> dict[str, Any]:
    """Values that conftests and other plugins may ask for, such as a `--device` of one's own."""
    return {
        name: value
        for name, value in vars(config.option).items()
        if name not in OWN_TO_THE_SESSION and not name.startswith("rlperf") and _is_plain(value)
    }


def _is_plain(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
