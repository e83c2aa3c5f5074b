"""Runs that several files look at are made once."""

import compileall
import fcntl
import pickle
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
def outcomes(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Ended:
    """One run that ends in every outcome there is; also where files of tests run side by side."""
    own = tmp_path_factory.getbasetemp()
    kept = (own if worker_id == "master" else own.parent) / "outcomes.pickle"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            project = workshop.project("outcomes", OUTCOMES_BASE, OUTCOMES_HEAD)
            ended = project.measure("--rlperf-budget=14", "--junitxml=junit.xml", "-rfs")
            kept.write_bytes(pickle.dumps(ended))
        shared: Ended = pickle.loads(kept.read_bytes())
    return shared
