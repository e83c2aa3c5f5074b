"""JSON that people may have edited: whole and finite, or one sentence that says what is wrong."""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from pytest_rlperf.errors import UsageError


def read_json(path: Path, anew: str) -> Any:
    """What `path` holds; `anew` says how to get a good one."""
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except FileNotFoundError:
        refuse(path, "does not exist", anew)
    except OSError as error:
        refuse(path, f"cannot be read ({error.strerror})", "name a file that can")
    except RecursionError:
        refuse(path, "is nested too deeply to be one of ours", anew)
    except ValueError as error:  # no UTF-8, no JSON or only a part of it, or NaN in it
        refuse(path, f"is no whole JSON file ({error})", anew)


def check_schema(path: Path, content: object, schema: int, anew: str) -> None:
    """Newer files are for newer versions; others are none of ours."""
    found = content.get("schema") if isinstance(content, dict) else None
    if type(found) is int and found > schema:
        newer = f"has schema {found}, and this version reads up to {schema}"
        refuse(path, newer, "update pytest-rlperf")
    if type(found) is not int or found != schema:
        refuse(path, f"has the unknown schema {found!r}", anew)


def refuse(path: Path, what: str, advice: str) -> NoReturn:
    raise UsageError(f"{path} {what}; {advice}.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds {text}, which is no finite number")
    return number
