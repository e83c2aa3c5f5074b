"""memray's count of all allocations."""

import pytest

from pytest_rlperf.measure.memory import exact

pytest.importorskip("memray")


def test_the_peak_is_exact_and_its_line_is_named():
    facts, result = exact.look(lambda: bytearray(10**6), 3)
    assert len(result) == 10**6
    assert facts["values"]["memray_peak"] == pytest.approx(10**6, rel=0.05)
    where, size, _ = facts["peak_sites"][0]
    assert where.startswith(__file__)
    assert size >= 10**6
