"""Limits of memory as people write them: `"20%,1MiB"`, or `"1KiB"` for what grows."""

from collections.abc import Mapping
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.memory import Excess
from pytest_rlperf.model.quantity import parse_bytes, parse_fraction

EXCESSES = ("resident", "traced")
AMOUNTS = ("growth", "growth_rss")
KEYS = (*EXCESSES, *AMOUNTS)
"""The fields of `Limits`."""


def parse_limit(key: str, value: str | float, name: str) -> Excess | float:
    """What the field `key` of `Limits` is to be; `name` is what the user calls it."""
    if key in AMOUNTS:
        return parse_bytes(value, name)
    share, comma, amount = str(value).partition(",")
    if not comma:
        raise UsageError(
            f"{name} is {value!r}; write a share and an amount, such as 20%,1MiB: memory must be "
            "more by both to be too much."
        )
    return Excess(parse_fraction(share, name), parse_bytes(amount, name))


def parse_limits(given: Mapping[str, Any], name: str) -> dict[str, Excess | float]:
    """Of a mapping in a marker."""
    for key in given:
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise UsageError(f"{name} has no limit {key!r}; there are {known}.")
    return {key: parse_limit(key, value, f"{name}[{key!r}]") for key, value in given.items()}
