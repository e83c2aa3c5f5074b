"""From a pytest session to a stage: both trees, the workers' arguments, their caches."""

import os
import random
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

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
from pytest_rlperf.run.handing_on import plain_options, relative_inipath, session_arguments
from pytest_rlperf.run.launching import session_launcher
from pytest_rlperf.run.partners import Kernels, Partner
from pytest_rlperf.run.selection import nprocs_of


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
                pytest_args=tuple(session_arguments(config)),
                inipath=relative_inipath(config),
                options=plain_options(config),
                caches=cache,
                folder=Path(folder),
                cores=cores,
                seed=random.SystemRandom().randrange(2**32),
                token=secrets.token_hex(8),
                launcher=session_launcher(config) if any(map(nprocs_of, session.items)) else None,
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
