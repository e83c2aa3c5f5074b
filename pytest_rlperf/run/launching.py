"""Which launcher this session starts ranks with, or why there is none."""

import os
import sys
from typing import Any

import pytest

from pytest_rlperf.launch.mpi.facts import mpi_facts
from pytest_rlperf.launch.mpi.launcher import Launcher, pick_launcher
from pytest_rlperf.launch.mpi.library import Library, find_library
from pytest_rlperf.options import read_mpi_wishes


def session_launcher(config: pytest.Config) -> Launcher | str:
    wishes = read_mpi_wishes(config)
    return pick_launcher(find_library(), wishes, executable=sys.executable, env=os.environ)


def session_mpi_facts(config: pytest.Config, cores: int) -> dict[str, Any]:
    """Empty where there is no MPI."""
    library, launcher = find_library(), session_launcher(config)
    if isinstance(library, Library) and isinstance(launcher, Launcher):
        return {"mpi": mpi_facts(library, launcher, cores)}
    return {}
