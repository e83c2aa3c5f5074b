"""The supervisor of a rank: who has to live for the rank to go on."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_rlperf.mpi import boot

pytestmark = pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs POSIX processes")


@pytest.fixture
def rank(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The process id of one that lives for a moment."""
    monkeypatch.setattr(boot, "POLL_S", 0.01)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.2)"]) as process:
        yield process.pid


@pytest.mark.parametrize(
    ("error", "outlived"), [(PermissionError, False), (ProcessLookupError, True)]
)
def test_where_ends_are_not_announced_a_launcher_of_another_user_is_not_taken_for_gone(
    rank: int, monkeypatch: pytest.MonkeyPatch, error: type[OSError], outlived: bool
):
    def kill(pid: int, number: int) -> None:
        raise error

    monkeypatch.setattr(os, "kill", kill)
    assert boot._poll(rank, os.getppid(), [1]) is outlived
