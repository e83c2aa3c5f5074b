"""Which launcher this session starts ranks with, or why there is none."""

import os
import sys

import pytest

from pytest_rlperf.launch.mpi.launcher import Launcher, find_launcher
from pytest_rlperf.launch.mpi.library import CURE, NoMpi, find_library
from pytest_rlperf.options import read_mpi_wishes


def session_launcher(config: pytest.Config) -> Launcher | str:
    library = find_library()
    if isinstance(library, NoMpi):
        return f"no MPI: {library.reason}"
    wishes = read_mpi_wishes(config)
    found = find_launcher(wishes, library.vendor, executable=sys.executable, env=os.environ)
    return found or f"no MPI: there is no mpiexec for {library}; {CURE}"
