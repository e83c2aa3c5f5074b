"""A system that does not say how much memory a process has."""

import os
from pathlib import Path

import psutil
import pytest

from pytest_rlperf.errors import MemoryUnreadable
from pytest_rlperf.measure.memory import kernel
from pytest_rlperf.measure.memory.segments import parse_maps


@pytest.fixture
def no_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel, "PROC", tmp_path)


@pytest.mark.usefixtures("no_proc")
def test_without_proc_the_mark_cannot_be_set_back_and_the_lifes_peak_stands_in():
    assert not kernel.reset_mark(os.getpid())
    assert kernel.peak_bytes(os.getpid()) > 2**20
    assert kernel.resident_bytes(os.getpid()) > 2**20


@pytest.mark.usefixtures("no_proc")
def test_where_nothing_tells_one_line_says_so(monkeypatch: pytest.MonkeyPatch):
    def refuse(self: psutil.Process) -> None:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "memory_info", refuse)
    with pytest.raises(MemoryUnreadable, match=r"does not say how much memory.*; make .* readable"):
        kernel.resident_bytes(os.getpid())


def test_a_process_that_is_gone_has_no_memory():
    assert kernel.resident_bytes(2**22 + 1) == 0


MAPS = """\
7f00-8f00 rw-s 00000000 00:19 7   /dev/shm/psm_1
8f00-9f00 rw-s 00001000 00:19 7   /dev/shm/psm_1
9f00-af00 rw-s 00000000 00:01 8   /memfd:ring (deleted)
af00-bf00 rw-p 00000000 00:19 9   /dev/shm/private
bf00-cf00 r--s 00000000 08:01 10  /usr/lib/locale.cache
cf00-df00 rw-p 00000000 00:00 0
"""


def test_shared_segments_are_found_among_other_mappings():
    assert parse_maps(MAPS.splitlines()) == {
        ("00:19 7", "/dev/shm/psm_1"): 0x2000,
        ("00:01 8", "/memfd:ring"): 0x1000,
    }
