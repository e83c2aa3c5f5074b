"""Limits of memory as people write them."""

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.memory import KIB, MIB, Excess, parse_limit, parse_limits
from pytest_rlperf.model.quantity import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [("1MiB", MIB), ("64 KiB", 64 * KIB), ("2mb", 2e6), (512, 512), ("1.5GiB", 1.5 * 2**30)],
)
def test_an_amount_may_have_a_unit(text: str | float, size: float):
    assert parse_bytes(text, "growth") == size


@pytest.mark.parametrize("text", ["much", "0", "-1MiB", "MiB", "infMiB", True])
def test_what_is_no_amount_is_refused(text: str | float):
    with pytest.raises(UsageError, match=r"^growth is .* no amount of memory; write 1MiB"):
        parse_bytes(text, "growth")


def test_memory_is_limited_by_a_share_and_an_amount():
    assert parse_limit("resident", "20%,1MiB", "x") == Excess(0.2, MIB)
    with pytest.raises(UsageError, match="write a share and an amount, such as 20%,1MiB"):
        parse_limit("resident", "20%", "x")


def test_an_unknown_limit_is_named_with_those_there_are():
    with pytest.raises(UsageError, match=r"memory has no limit 'peak'; there are resident, traced"):
        parse_limits({"peak": "1MiB"}, "memory")


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1536, "1.5 KiB"), (5 * MIB, "5 MiB"), (-2 * MIB, "-2 MiB")]
)
def test_sizes_are_shown_in_three_digits(size: float, text: str):
    assert format_bytes(size) == text
