"""From a pytest session to a stage: both trees, the workers' arguments, their caches."""

import json
import os
import random
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.launch.base_tree import BaseTree, lay_out
from pytest_rlperf.launch.build import build
from pytest_rlperf.launch.cache import cache_folder
from pytest_rlperf.launch.imports import import_roots
from pytest_rlperf.launch.overlay import overlay_files
from pytest_rlperf.launch.revision import Revision
from pytest_rlperf.measure.blocks import Side, Stage
from pytest_rlperf.model.job import BASE, HEAD
from pytest_rlperf.options import Settings
from pytest_rlperf.run.partners import Kernels, Partner

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


@contextmanager
def staged(
    session: pytest.Session,
    settings: Settings,
    revision: Revision | None,
    cores: tuple[int, ...],
    partner: Partner,
) -> Iterator[tuple[Stage, tuple[str, ...]]]:
    """The stage of a run, with remarks on what could not be laid out; cleaned up afterwards."""
    config = session.config
    cache = cache_folder(os.environ)
    tree = None if revision is None else _base_tree(session, settings, revision, cache)
    try:
        with tempfile.TemporaryDirectory(prefix="rlperf-") as folder:
            sides = _sides(config, tree, isinstance(partner, Kernels))
            stage = Stage(
                sides=sides,
                import_roots=import_roots(sides[HEAD].tree, sys.path, sys.modules, sys.meta_path),
                sys_path=tuple(sys.path),
                pytest_args=tuple(_arguments(config)),
                inipath=_inipath(config),
                options=_options(config),
                caches=cache,
                folder=Path(folder),
                cores=cores,
                seed=random.SystemRandom().randrange(2**32),
                token=secrets.token_hex(8),
                shaken=isinstance(partner, Kernels) and partner.saving,
            )
            yield stage, () if tree is None else tree.notices
    finally:
        if tree is not None:
            tree.close()


def _base_tree(
    session: pytest.Session, settings: Settings, revision: Revision, cache: Path
) -> BaseTree:
    config = session.config
    modules = {item.path for item in session.items}
    files = overlay_files(config.rootpath, modules, config.inipath)
    tree = lay_out(config.rootpath, revision, files, settings.build, cache)
    if settings.build is not None:
        # What is compiled in the working tree may be older than its source.
        try:
            build(settings.build, tree.head.top, config.rootpath, cache / "head-build.log")
        except BaseException:
            tree.close()
            raise
    return tree


def _sides(config: pytest.Config, tree: BaseTree | None, reference: bool) -> tuple[Side, ...]:
    cwd = config.invocation_params.dir
    if tree is None:
        head = Side(HEAD, config.rootpath, cwd, config.rootpath)
        return (head, replace(head, side=BASE, reference=True)) if reference else (head,)
    base_cwd = tree.counterpart(cwd)
    base_cwd.mkdir(parents=True, exist_ok=True)  # a folder that is new at head
    return (
        Side(HEAD, config.rootpath, cwd, tree.head.top),
        Side(BASE, tree.root, base_cwd, tree.path),
    )


def _arguments(config: pytest.Config) -> Iterator[str]:
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


def _inipath(config: pytest.Config) -> str | None:
    if config.inipath is None or not config.inipath.is_relative_to(config.rootpath):
        return None
    return str(config.inipath.relative_to(config.rootpath))


def _options(config: pytest.Config) -> dict[str, Any]:
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
