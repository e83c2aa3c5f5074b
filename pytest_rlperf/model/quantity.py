"""Numbers as people write them, and as people read them."""

import math

from pytest_rlperf.errors import UsageError


def parse_fraction(value: str | float, name: str) -> float:
    """`"5%"`, `"0.05"` or 0.05 → 0.05."""
    text = str(value).strip()
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 10:
        raise UsageError(
            f"{name} is {value!r}, which is no allowed slowdown; write 5% or 0.05, above 0."
        )
    if number >= 1 and not text.endswith("%"):
        raise UsageError(f"{name} is {value!r}, which would be {number:.0%}; write {value}%.")
    return number


def parse_seconds(value: str | float, name: str) -> float:
    """`"300"`, `"300s"` or 300 → 300.0."""
    try:
        number = float(str(value).strip().removesuffix("s"))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{name} is {value!r}, which is no time; write seconds, such as 300.")
    return number


BYTE_SIZES = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
}  # fmt: skip


def parse_bytes(value: str | float, name: str) -> float:
    """`"1MiB"`, `"64 KiB"`, `"2MB"` or 1048576 → bytes."""
    text = str(value).strip().upper()
    unit = max((unit for unit in BYTE_SIZES if text.endswith(unit)), key=len, default="")
    try:
        number = float(text.removesuffix(unit)) * BYTE_SIZES.get(unit, 1)
    except ValueError:
        number = math.nan
    if isinstance(value, bool) or not 0 < number < math.inf:
        raise UsageError(f"{name} is {value!r}, which is no amount of memory; write 1MiB or 64KiB.")
    return number


def format_bytes(size: float) -> str:
    """Three digits: 512 B, 1.5 KiB, 12.3 MiB."""
    for unit, one in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size) >= 0.9995 * one:
            return (
                f"{size / one:.3g} {unit}"
                if abs(size) < 999.5 * one
                else f"{size / one:.0f} {unit}"
            )
    return f"{size:.3g} B"


def format_percent(fraction: float, signed: bool = True) -> str:
    """+0.31 %, +4.2 %, +12.0 %, +120 %."""
    percent = round(100 * fraction, 2) + 0.0  # no minus before a zero
    size = abs(percent)
    digits = 2 if size < 0.995 else 1 if size < 99.5 else 0
    return f"{percent:{'+' if signed else ''}.{digits}f} %"


def format_time(ns: float) -> str:
    """Three digits: 999 ns, 1 µs, 12.3 ms, 1234 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= 0.9995 * size:
            return f"{ns / size:.3g} {unit}" if ns < 999.5 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.3g} ns"


def format_rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"
