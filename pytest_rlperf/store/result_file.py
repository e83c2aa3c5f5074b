"""Reads back what `--rlperf-json` wrote, or says in one sentence why a file is none of ours."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

from pytest_rlperf.errors import UsageError

SCHEMA = 1
"""Of the result. 1: first version."""

Shape = Mapping[str, tuple[type, ...]]

TOP: Shape = {"mode": (str,), "created": (str,), "fingerprint": (dict,), "tests": (list,)}
TEST: Shape = {"nodeid": (str,), "category": (str, NoneType), "metrics": (list,)}
METRIC: Shape = {
    **dict.fromkeys(("name", "unit", "direction", "outcome"), (str,)),
    **dict.fromkeys(("value", "base_value", "change", "low", "high"), (int, float, NoneType)),
    **dict.fromkeys(("head_blocks", "base_blocks"), (list,)),
}
"""What readers may rely on: fields of these types, absent only where they may be null."""

ANEW = "write it anew with pytest --rlperf --rlperf-json=FILE"
NOT_OURS = ("is no result of this plugin", "name a file that --rlperf-json wrote")


def read_result(path: Path) -> dict[str, Any]:
    """The result in `path`, checked."""
    content = _parsed(path)
    if not isinstance(content, dict) or "schema" not in content:
        _refuse(path, *NOT_OURS)
    schema = content["schema"]
    if type(schema) is int and schema > SCHEMA:
        newer = f"has schema {schema}, and this version reads up to {SCHEMA}"
        _refuse(path, newer, "update pytest-rlperf")
    if type(schema) is not int or schema != SCHEMA:
        _refuse(path, f"has the unknown schema {schema!r}", ANEW)
    damage = next(_damages(content), None)
    if damage is not None:
        _refuse(path, f"is damaged at {damage}", ANEW)
    return content


def _parsed(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except FileNotFoundError:
        _refuse(path, "does not exist", "write it with pytest --rlperf --rlperf-json=FILE")
    except OSError as error:
        _refuse(path, f"cannot be read ({error.strerror})", "name a file that can")
    except RecursionError:
        _refuse(path, *NOT_OURS)
    except ValueError as error:  # no UTF-8, no JSON or only a part of it, or NaN in it
        _refuse(path, f"is no whole JSON file ({error})", ANEW)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds {text}, which is no finite number")
    return number


def _damages(result: dict[str, Any]) -> Iterator[str]:
    """Where the content has not the shape of the schema; only the first counts."""
    yield from _misfits(result, TOP, "")
    for i, test in enumerate(result["tests"]):
        yield from _misfits(test, TEST, f"tests[{i}]")
        for k, metric in enumerate(test["metrics"]):
            where = f"tests[{i}].metrics[{k}]"
            yield from _misfits(metric, METRIC, where)
            for name in ("head_blocks", "base_blocks"):
                if not all(map(_is_positive, metric[name])):
                    yield f"{where}.{name}"


def _misfits(found: object, shape: Shape, where: str) -> Iterator[str]:
    if not isinstance(found, dict):
        yield where
        return
    for name, kinds in shape.items():
        if type(found.get(name)) not in kinds:
            yield f"{where}.{name}".removeprefix(".")


def _is_positive(value: object) -> bool:
    return type(value) in (int, float) and value > 0  # type: ignore[operator]


def _refuse(path: Path, what: str, advice: str) -> NoReturn:
    raise UsageError(f"{path} {what}; {advice}.")
