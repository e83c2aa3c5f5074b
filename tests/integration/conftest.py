"""Runs that several files look at are made once."""

import compileall
from pathlib import Path

import pytest

import pytest_rlperf

from .outcomes import OUTCOMES_BASE, OUTCOMES_HEAD
from .projects import Ended, Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    # The runs leave no bytecode behind, so each of them would compile the plugin anew.
    compileall.compile_dir(Path(pytest_rlperf.__file__).parent, quiet=2)
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def outcomes(workshop: Workshop) -> Ended:
    """One run that ends in every outcome there is."""
    project = workshop.project("outcomes", OUTCOMES_BASE, OUTCOMES_HEAD)
    return project.measure("--rlperf-budget=14", "--junitxml=junit.xml", "-rfs")
