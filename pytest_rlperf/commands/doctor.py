"""`rlperf doctor`: what on this machine helps or hurts measuring."""

import os
import sys
from argparse import ArgumentParser, Namespace

from pytest_rlperf.launch.fingerprint import cpu_model
from pytest_rlperf.launch.mpi.facts import has_autogroups
from pytest_rlperf.launch.mpi.launcher import pick_launcher
from pytest_rlperf.launch.mpi.library import NoMpi, find_library
from pytest_rlperf.measure.machine import findings, read_facts
from pytest_rlperf.measure.mpi.findings import mpi_findings
from pytest_rlperf.options import MpiWishes
from pytest_rlperf.report.doctor import render_findings, render_mpi, render_no_mpi


def add_arguments(parser: ArgumentParser) -> None:
    """It takes none."""


def run(arguments: Namespace) -> int:
    facts = read_facts()
    print(render_findings(cpu_model(), findings(facts)))
    print(mpi_text(facts.cores))
    return 0


def mpi_text(cores: int) -> str:
    """What a project writes into its pytest configuration is not read here."""
    library = find_library()
    picked = pick_launcher(library, MpiWishes(), executable=sys.executable, env=os.environ)
    if isinstance(library, NoMpi) or isinstance(picked, str):
        return render_no_mpi(str(picked))
    return render_mpi(library, picked, mpi_findings(library, picked, cores, has_autogroups()))
