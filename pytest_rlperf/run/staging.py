"""From a pytest session to a stage: both trees, the workers' arguments, their caches."""

import os
import random
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_rlperf.launch.base_tree import BaseTree, lay_out
from pytest_rlperf.launch.bytecode import seed_bytecode
from pytest_rlperf.launch.cache import cache_folder
from pytest_rlperf.launch.imports import import_roots
from pytest_rlperf.launch.overlay import overlay_files
from pytest_rlperf.launch.revision import Revision
from pytest_rlperf.measure.stage import Side, Stage
from pytest_rlperf.model.job import BASE, HEAD
from pytest_rlperf.options import Settings
from pytest_rlperf.run.handing_on import plain_options, relative_inipath, session_arguments
from pytest_rlperf.run.launching import session_launcher
from pytest_rlperf.run.partners import Kernels, Partner
from pytest_rlperf.run.selection import nprocs_of


class Revisions(NamedTuple):
    """What is compared; None: the working tree, or no base at all."""

    head: Revision | None = None
    base: Revision | None = None


@contextmanager
def staged(
    session: pytest.Session,
    settings: Settings,
    revisions: Revisions,
    cores: tuple[int, ...],
    partner: Partner,
) -> Iterator[tuple[Stage, tuple[str, ...]]]:
    """The stage of a run, with remarks on what could not be laid out; cleaned up afterwards."""
    config = session.config
    cache = cache_folder(os.environ)
    with ExitStack() as stack:
        trees = [
            None if revision is None else stack.enter_context(_tree(session, settings, revision))
            for revision in revisions
        ]
        head, base = trees
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rlperf-"))
        home = config.rootpath if base is None else base.head.top
        seed_bytecode(cache, list(sys.modules.values()), besides=home)
        stage = Stage(
            sides=_sides(config, head, base, isinstance(partner, Kernels)),
            home=home,
            import_roots=import_roots(home, sys.path, sys.modules, sys.meta_path),
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
        yield stage, () if base is None else base.notices


def _tree(session: pytest.Session, settings: Settings, revision: Revision) -> BaseTree:
    config = session.config
    modules = {item.path for item in session.items}
    files = overlay_files(config.rootpath, modules, config.inipath)
    return lay_out(config.rootpath, revision, files, settings.build, cache_folder(os.environ))


def _sides(
    config: pytest.Config, head: BaseTree | None, base: BaseTree | None, reference: bool
) -> tuple[Side, ...]:
    cwd = config.invocation_params.dir
    top = config.rootpath if base is None else base.head.top
    here = Side(HEAD, config.rootpath, cwd, top) if head is None else _side(HEAD, head, cwd)
    if base is not None:
        return here, _side(BASE, base, cwd)
    return (here, replace(here, side=BASE, reference=True)) if reference else (here,)


def _side(side: int, tree: BaseTree, cwd: Path) -> Side:
    own_cwd = tree.counterpart(cwd)
    own_cwd.mkdir(parents=True, exist_ok=True)  # a folder that is new in the working tree
    return Side(side, tree.root, own_cwd, tree.path)
