"""JSON that people may have edited: whole, finite and of our shape, or one sentence why not."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from pytest_rlperf.errors import UsageError

Shape = Mapping[str, tuple[type, ...]]
"""Fields by name, with the types that they may have."""
NUMBER = (int, float)


def read_json(path: Path, anew: str) -> Any:
    """What `path` holds; `anew` says how to get a good one."""
    try:
        text = path.read_text(encoding="utf-8")
        return parse_json(text)
    except FileNotFoundError:
        refuse(path, "does not exist", anew)
    except OSError as error:
        refuse(path, f"cannot be read ({error.strerror})", "it must be a file that you may read")
    except RecursionError:
        refuse(path, "is nested too deeply to be one of ours", anew)
    except ValueError as error:  # no UTF-8, no JSON or only a part of it, or NaN in it
        refuse(path, f"is no whole JSON file ({error})", anew)


def parse_json(text: str) -> Any:
    """Raises ValueError for what is no JSON, and for numbers that are not finite."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def check_schema(
    path: Path, content: Mapping[str, Any], schema: int, anew: str, oldest: int | None = None
) -> None:
    """Newer files are for newer versions, those down to `oldest` can be read; others are none of
    ours.
    """
    found = content.get("schema")
    if type(found) is int and found > schema:
        newer = f"has schema {found}, and this version reads up to {schema}"
        refuse(path, newer, "update pytest-rlperf")
    if type(found) is not int or found < (schema if oldest is None else oldest):
        refuse(path, f"has the unknown schema {found!r}", anew)


def check_shape(path: Path, damages: Iterator[str], anew: str) -> None:
    """Refuse a file at the first of its `damages`; what comes after it may rest on it."""
    damage = next(damages, None)
    if damage is not None:
        refuse(path, f"is damaged at {damage}", anew)


def misfits(found: object, shape: Shape, where: str) -> Iterator[str]:
    """Fields that are missing or of another type."""
    if not isinstance(found, dict):
        yield where
        return
    for name, kinds in shape.items():
        if type(found.get(name)) not in kinds:
            yield f"{where}.{name}".removeprefix(".")


def refuse(path: Path, what: str, advice: str) -> NoReturn:
    raise UsageError(f"{path} {what}; {advice}.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds {text}, which is no finite number")
    return number
