"""The facts about machine and libraries, as a reader wants them."""

from collections.abc import Iterator, Mapping
from typing import Any


def fact_rows(fingerprint: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text; what is not known is left out."""
    for name, value in fingerprint.items():
        if name != "threads" and value not in (None, [], {}):
            yield name.replace("_", " "), _fact(value)


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
