"""Numbers as people write them, and as people read them."""

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import (
    format_percent,
    format_rate,
    format_time,
    parse_fraction,
    parse_seconds,
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
