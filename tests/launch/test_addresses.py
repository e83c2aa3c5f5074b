"""Where programs are loaded in the processes that measure."""

import os
import sys
from pathlib import Path

import pytest

from pytest_rlperf.launch import addresses
from pytest_rlperf.launch.addresses import ASK, can_fix_addresses, fixed_addresses
from pytest_rlperf.launch.process import Process

linux = pytest.mark.skipif(sys.platform != "linux", reason="a system call of Linux")

WHERE = "print(next(line.split('-')[0] for line in open('/proc/self/maps') if 'libc' in line))"


def where(tmp_path: Path) -> str:
    """Where a fresh process finds the C library."""
    process = Process(
        [sys.executable, "-I", "-S", "-c", WHERE],
        env=os.environ,
        cwd=str(tmp_path),
        cores=(),
        fds=(),
        log=tmp_path / "log",
    )
    assert process.wait(30)
    return process.output_tail()


@linux
@pytest.mark.skipif(not can_fix_addresses(), reason="this container forbids it")
def test_every_worker_has_its_libraries_at_the_same_place(tmp_path: Path):
    assert len({where(tmp_path) for _ in range(3)}) == 1


@linux
def test_this_process_stays_as_it_is():
    personality = addresses._personality()
    before = personality(ASK)
    with pytest.raises(KeyError), fixed_addresses():
        raise KeyError
    assert personality(ASK) == before


@pytest.mark.parametrize("answers", [{}, {ASK: 0}], ids=["no such call", "forbidden"])
def test_where_the_system_refuses_processes_start_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[int, int]
):
    monkeypatch.setattr(addresses, "_personality", lambda: lambda asked: answers.get(asked, -1))
    can_fix_addresses.cache_clear()
    assert not can_fix_addresses()
    can_fix_addresses.cache_clear()
    assert where(tmp_path)
