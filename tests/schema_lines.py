"""Records of measurements as JSON lines: each carries the version of its schema."""

import json
from typing import Any


def to_line(schema: int, data: dict[str, Any]) -> str:
    return json.dumps({"schema": schema, **data}, allow_nan=False)


def from_line(schema: int, line: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(line)
    if data.pop("schema") != schema:
        raise ValueError(f"this program reads schema {schema}")
    return data
