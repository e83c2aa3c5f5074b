"""Numbers as people write them, and as people read them."""

from collections.abc import Callable

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import (
    format_percent,
    format_rate,
    format_time,
    parse_bandwidth,
    parse_bytes,
    parse_fraction,
    parse_latency,
    parse_seconds,
    parse_share,
)


@pytest.mark.parametrize(
    ("written", "fraction"),
    [
        ("5%", 0.05),
        (" 5 % ", 0.05),
        ("0.5%", 0.005),
        ("150%", 1.5),
        ("0.05", 0.05),
        (0.05, 0.05),
        ("1e-2", 0.01),
    ],
)
def test_a_fraction_may_be_written_as_such_or_in_percent(written: str | float, fraction: float):
    assert parse_fraction(written, "x") == pytest.approx(fraction)


@pytest.mark.parametrize("written", ["", "%", "five", "0", "0%", "-5%", "nan", "inf", "5%%", True])
def test_what_is_no_allowed_slowdown_is_refused_with_the_way_to_write_one(written: str | float):
    with pytest.raises(UsageError, match=r"^--limit is .* no allowed slowdown; write 5% or 0\.05"):
        parse_fraction(written, "--limit")


@pytest.mark.parametrize("written", ["5", 5, "1"])
def test_a_whole_number_without_a_percent_sign_is_asked_about(written: str | float):
    with pytest.raises(UsageError, match=f"which would be {written}00%; write {written}%"):
        parse_fraction(written, "--limit")


@pytest.mark.parametrize("written", ["300", "300s", " 300 ", 300, "3e2"])
def test_seconds_may_carry_their_unit(written: str | float):
    assert parse_seconds(written, "x") == 300


@pytest.mark.parametrize("written", ["", "s", "5 min", "300ms", "0", "-1", "nan", "inf"])
def test_what_is_no_time_is_refused(written: str):
    with pytest.raises(UsageError, match=r"^--budget is .* no time; write seconds"):
        parse_seconds(written, "--budget")


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0031, "+0.31 %"),
        (0.042, "+4.2 %"),
        (-0.042, "-4.2 %"),
        (0.00996, "+1.0 %"),
        (1.5, "+150 %"),
        (0, "+0.00 %"),
        (-0.000001, "+0.00 %"),
    ],
)
def test_a_change_is_shown_with_the_digits_that_matter(fraction: float, text: str):
    assert format_percent(fraction) == text


def test_a_share_has_no_sign():
    assert format_percent(0.042, signed=False) == "4.2 %"


def test_what_few_blocks_could_have_told_is_not_written_out():
    """A t-quantile of one degree of freedom makes figures of any length."""
    assert format_percent(6.9e9) == "> +100000 %"
    assert format_percent(999.0) == "+99900 %"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0.5, "0.5 ns"),
        (12.34, "12.3 ns"),
        (999.6, "1 µs"),
        (1_000, "1 µs"),
        (999_600, "1 ms"),
        (1_234, "1.23 µs"),
        (56_780_000, "56.8 ms"),
        (1_500_000_000, "1.5 s"),
        (3_600e9, "3600 s"),
    ],
)
def test_a_time_is_shown_in_the_unit_that_suits_it(ns: float, text: str):
    assert format_time(ns) == text


@pytest.mark.parametrize(
    ("rate", "text"), [(0.1234, "0.123"), (99.4, "99.4"), (100, "100"), (1234567.8, "1,234,568")]
)
def test_a_rate_is_shown_in_whole_steps_where_there_are_many(rate: float, text: str):
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("written", "per_second"),
    [("10Gbit", 1.25e9), ("10 Gbit/s", 1.25e9), ("1.25GB", 1.25e9), ("100mbit", 12.5e6)],
)
def test_a_bandwidth_is_in_bits_or_bytes(written: str, per_second: float):
    assert parse_bandwidth(written, "x") == per_second


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("50us", 5e-5), ("50 µs", 5e-5), ("0.05ms", 5e-5), ("5e4ns", 5e-5), ("1s", 1)],
)
def test_a_latency_has_a_unit(written: str, seconds: float):
    assert parse_latency(written, "x") == pytest.approx(seconds)


@pytest.mark.parametrize(("written", "share"), [("95%", 0.95), ("0.95", 0.95), ("0", 0), ("1", 1)])
def test_a_share_is_of_a_whole(written: str, share: float):
    assert parse_share(written, "x") == share


@pytest.mark.parametrize(
    ("parse", "written", "said"),
    [
        (parse_bandwidth, "10", "no bandwidth; write 10Gbit or 1.25GB"),
        (parse_bandwidth, "fast", "no bandwidth; write 10Gbit or 1.25GB"),
        (parse_bandwidth, "-1GB", "no bandwidth; write 10Gbit or 1.25GB"),
        (parse_latency, "50", "no latency; write 50us or 0.05ms"),
        (parse_latency, "0us", "no latency; write 50us or 0.05ms"),
        (parse_share, "95", "no share; write 95% or 0.95"),
        (parse_share, "nan", "no share; write 95% or 0.95"),
        (parse_bytes, "much", "no amount of memory; write 1MiB or 64KiB"),
    ],
)
def test_what_is_none_is_refused_with_the_way_to_write_one(
    parse: Callable[[str, str], float], written: str, said: str
):
    with pytest.raises(UsageError, match=f"^--x is '{written}', which is {said}"):
        parse(written, "--x")
