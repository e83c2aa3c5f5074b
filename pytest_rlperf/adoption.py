"""Suites written for the `benchmark` fixture of pytest-benchmark or pytest-codspeed: which tests
those are, their groups, and how those plugins are kept from measuring, saving and comparing
beside this one.

Without `--rlperf` nothing here acts, so they are as they would be without this plugin.
"""

import os
from collections.abc import Mapping
from typing import Any

import pytest

FIXTURES = frozenset({"benchmark", "codspeed_benchmark"})
MARKER = "benchmark"
PROVIDERS = frozenset({"pytest_benchmark.plugin", "pytest_codspeed.plugin"})
"""A fixture of that name which comes from neither is something else."""

SILENT: Mapping[str, Any] = {
    "benchmark_skip": False,
    "benchmark_only": False,
    "benchmark_enable": False,
    "benchmark_save": None,
    "benchmark_autosave": None,
    "benchmark_json": None,
    "benchmark_compare": [],
    "benchmark_compare_fail": None,
    "benchmark_cprofile": None,
    "benchmark_histogram": [],
    "benchmark_quiet": True,
    "benchmark_verbose": False,
    # The storage is opened (a folder made, a server asked) even where nothing is stored.
    "benchmark_storage": f"file://{os.devnull}",
    "codspeed": False,
}
"""Options of both, as in `config.option`, with the values under which nothing comes of them."""


def silence(config: pytest.Config, *, tests_run: bool) -> None:
    """Keep the other plugins silent; call it before they read their options, wherever given.

    Where tests run, the fixture must not say that it is disabled. Where none do it is, or
    pytest-benchmark would warn of whatever keeps it from measuring.
    """
    for name, value in {**SILENT, "benchmark_disable": not tests_run}.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def uses_benchmark(item: pytest.Item) -> bool:
    """Return whether a test uses it, itself or through a fixture such as `benchmark_weave`."""
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) and _is_provided(item.config)


def _is_provided(config: pytest.Config) -> bool:
    plugins = config.pluginmanager.get_plugins()
    return any(getattr(plugin, "__name__", None) in PROVIDERS for plugin in plugins)


def group_of(item: pytest.Item) -> str | None:
    """Return the group that `@pytest.mark.benchmark` gives a test that uses the fixture."""
    marker = item.get_closest_marker(MARKER)
    group = marker.kwargs.get("group") if marker and uses_benchmark(item) else None
    return group if isinstance(group, str) else None
