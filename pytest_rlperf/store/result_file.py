"""Reads back what `--rlperf-json` wrote, or says in one sentence why a file is none of ours."""

from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

from pytest_rlperf.store.json_file import (
    NUMBER,
    Shape,
    check_schema,
    check_shape,
    misfits,
    read_json,
    refuse,
)

SCHEMA = 1
"""Of the result. 1: first version."""

TOP: Shape = {"mode": (str,), "created": (str,), "fingerprint": (dict,), "tests": (list,)}
TEST: Shape = {"nodeid": (str,), "category": (str, NoneType), "metrics": (list,)}
METRIC: Shape = {
    **dict.fromkeys(("name", "direction", "outcome"), (str,)),
    "unit": (str, NoneType),
    **dict.fromkeys(("value", "base_value", "change", "low", "high"), (*NUMBER, NoneType)),
    **dict.fromkeys(("head_blocks", "base_blocks"), (list,)),
}
"""What readers may rely on: fields of these types, absent only where they may be null."""

RATIOED = frozenset({"time", "throughput"})
"""Metrics that take part in ratios, so that they must be above zero; sizes need not."""

ANEW = "write it with pytest --rlperf --rlperf-json=FILE"


def read_result(path: Path) -> dict[str, Any]:
    """The result in `path`, checked."""
    content = read_json(path, ANEW)
    if not isinstance(content, dict) or "schema" not in content:
        refuse(path, "is no result of this plugin", "name a file that --rlperf-json wrote")
    check_schema(path, content, SCHEMA, ANEW)
    check_shape(path, _damages(content), ANEW)
    return content


def _damages(result: dict[str, Any]) -> Iterator[str]:
    """Where the content has not the shape of the schema; only the first counts."""
    yield from misfits(result, TOP, "")
    for i, test in enumerate(result["tests"]):
        yield from misfits(test, TEST, f"tests[{i}]")
        for k, metric in enumerate(test["metrics"]):
            where = f"tests[{i}].metrics[{k}]"
            yield from misfits(metric, METRIC, where)
            fits = _is_positive if metric["name"] in RATIOED else _is_number
            for name in ("head_blocks", "base_blocks"):
                if not all(map(fits, metric[name])):
                    yield f"{where}.{name}"


def _is_number(value: object) -> bool:
    return type(value) in NUMBER


def _is_positive(value: object) -> bool:
    return type(value) in NUMBER and value > 0  # type: ignore[operator]
