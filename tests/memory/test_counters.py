"""Counters of memory, also on a system that does not say how much a process has; and growth over
the repeats of a call.
"""

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import MemoryUnreadable
from pytest_rlperf.memory import counters
from pytest_rlperf.memory.counters import growth, parse_maps
from tests.factories import examples


@pytest.fixture
def no_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(counters, "PROC", tmp_path)


@pytest.mark.usefixtures("no_proc")
def test_without_proc_the_mark_cannot_be_set_back_and_the_lifes_peak_stands_in():
    assert not counters.reset_mark(os.getpid())
    assert counters.peak_bytes(os.getpid()) > 2**20
    assert counters.resident_bytes(os.getpid()) > 2**20


@pytest.mark.usefixtures("no_proc")
def test_where_nothing_tells_one_line_says_so(monkeypatch: pytest.MonkeyPatch):
    def refuse(self: psutil.Process) -> None:
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "memory_info", refuse)
    with pytest.raises(MemoryUnreadable, match=r"does not say how much memory.*; make .* readable"):
        counters.resident_bytes(os.getpid())


def test_a_process_that_is_gone_has_no_memory():
    assert counters.resident_bytes(2**22 + 1) == 0


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


# -- growth from one repeat to the next ---------------------------------------------------------


@examples
@given(start=st.integers(0, 10**9), step=st.integers(-(10**6), 10**6), n=st.integers(6, 40))
def test_a_steady_growth_is_found(start: int, step: int, n: int):
    assert growth([start + step * k for k in range(n)]) == pytest.approx(step)


@examples
@given(at=st.integers(0, 29), size=st.integers(1, 10**9))
def test_a_cache_that_grows_once_is_no_leak(at: int, size: int):
    series = [0.0] * at + [float(size)] * (30 - at)
    found = growth(series)
    assert found is not None
    assert found == 0


def test_what_is_kept_after_every_fourth_call_is_a_leak():
    assert growth([float(k // 4 * 4000) for k in range(30)]) == pytest.approx(1000, rel=0.4)


@pytest.mark.parametrize("points", [0, 1, 3])
def test_too_few_points_tell_nothing(points: int):
    assert growth([1.0] * points) is None
