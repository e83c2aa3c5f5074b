"""Quantities as people write them (`parse_*`), and as people read them (`format_*`)."""

import math
from collections.abc import Mapping, Sequence

from pytest_rlperf.errors import UsageError


def parse_fraction(value: str | float, name: str) -> float:
    """`"5%"`, `"0.05"` or 0.05 → 0.05."""
    text = str(value).strip()
    number = _fraction(text)
    if not 0 < number < 10:
        raise UsageError(
            f"{name} is {value!r}, which is no allowed slowdown; write 5% or 0.05, above 0."
        )
    if number >= 1 and not text.endswith("%"):
        raise UsageError(f"{name} is {value!r}, which would be {number:.0%}; write {value}%.")
    return number


def parse_share(value: str, name: str) -> float:
    """`"95%"` or `"0.95"` → 0.95; of a whole, so from 0 to 1."""
    number = _fraction(value.strip())
    if not 0 <= number <= 1:
        raise UsageError(f"{name} is {value!r}, which is no share; write 95% or 0.95.")
    return number


def _fraction(text: str) -> float:
    """Return the number that `text` states, or NaN where it states none."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return math.nan


def parse_seconds(value: str | float, name: str) -> float:
    """`"300"`, `"300s"` or 300 → 300.0."""
    number = _with_unit(str(value).strip().removesuffix("s"), {}, default=1)
    return _positive(number, value, name, "time; write seconds, such as 300")


BYTE_SIZES = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
}  # fmt: skip
BIT_RATES = {"BIT": 1 / 8, "KBIT": 125, "MBIT": 125_000, "GBIT": 125_000_000}
SHORT_TIMES = {"S": 1.0, "MS": 1e-3, "US": 1e-6, "\u039cS": 1e-6, "NS": 1e-9}
"""The units are in capitals, in which µ is a Greek letter."""


def parse_bytes(value: str | float, name: str) -> float:
    """`"1MiB"`, `"64 KiB"`, `"2MB"` or 1048576 → bytes."""
    number = math.nan if isinstance(value, bool) else _with_unit(str(value), BYTE_SIZES, default=1)
    return _positive(number, value, name, "amount of memory; write 1MiB or 64KiB")


def parse_bandwidth(value: str, name: str) -> float:
    """`"10Gbit"`, `"10 Gbit/s"` or `"1.25GB"` → bytes a second."""
    number = _with_unit(value.strip().removesuffix("/s"), {**BYTE_SIZES, **BIT_RATES})
    return _positive(number, value, name, "bandwidth; write 10Gbit or 1.25GB")


def parse_latency(value: str, name: str) -> float:
    """`"50us"`, `"0.05 ms"` → seconds."""
    return _positive(_with_unit(value, SHORT_TIMES), value, name, "latency; write 50us or 0.05ms")


def _positive(number: float, value: str | float, name: str, what: str) -> float:
    if not 0 < number < math.inf:
        raise UsageError(f"{name} is {value!r}, which is no {what}.")
    return number


def _with_unit(value: str, units: Mapping[str, float], default: float = math.nan) -> float:
    """Return the amount in the base unit, or NaN where it is no number of one of these units;
    `default` is the size of the unit that a bare number has.
    """
    text = value.strip().upper()
    unit = max((unit for unit in units if text.endswith(unit)), key=len, default="")
    try:
        return float(text.removesuffix(unit)) * units.get(unit, default)
    except ValueError:
        return math.nan


def format_bytes(size: float) -> str:
    """Write a size with three digits: 512 B, 1.5 KiB, 12.3 MiB."""
    for unit, one in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size) >= 0.9995 * one:
            number = size / one
            return f"{number:.3g} {unit}" if abs(number) < 999.5 else f"{number:.0f} {unit}"
    return f"{size:.3g} B"


MOST_PERCENT = 100_000


def format_percent(fraction: float, signed: bool = True) -> str:
    """Write +0.31 %, +4.2 %, +12.0 % or +120 %; a thousand times says as much as any more."""
    percent = round(100 * fraction, 2) + 0.0  # no minus before a zero
    size = abs(percent)
    if size > MOST_PERCENT:
        return f"> {'+' if signed else ''}{MOST_PERCENT} %"
    digits = 2 if size < 0.995 else 1 if size < 99.5 else 0
    return f"{percent:{'+' if signed else ''}.{digits}f} %"


def format_time(ns: float) -> str:
    """Write a time with three digits: 999 ns, 1 µs, 12.3 ms, 1234 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= 0.9995 * size:
            return f"{ns / size:.3g} {unit}" if ns < 999.5 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.3g} ns"


def format_rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"


NEAR = 0.1
"""An exponent is called by the name of a law that lies no further away."""


def growth_law(exponent: float, sizes: Sequence[float]) -> str:
    """O(1), O(n log n), O(n^1.5): the nearest law where one is near."""
    laws = {"O(1)": 0.0, "O(n)": 1.0, "O(n²)": 2.0}
    if min(sizes) > math.e:  # below, log n is no growth to speak of
        laws["O(n log n)"] = 1 + _logarithm(sizes)
    name = min(laws, key=lambda law: abs(laws[law] - exponent))
    return name if abs(laws[name] - exponent) <= NEAR else f"O(n^{exponent:.2g})"


def _logarithm(sizes: Sequence[float]) -> float:
    """Return the least-squares slope of log log n over log n at these sizes."""
    logs = [math.log(size) for size in sizes]
    centre = math.fsum(logs) / len(logs)
    squares = math.fsum((log - centre) ** 2 for log in logs)
    return math.fsum((log - centre) * math.log(log) for log in logs) / squares


def format_return(value: float) -> str:
    """Write a return with four digits: -0.1234, 487.5, 12,345."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
