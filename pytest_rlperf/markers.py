"""`@pytest.mark.rlperf(...)` → `Spec`, or one sentence that says what is wrong with it."""

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_rlperf.adoption import group_of
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import parse_fraction
from pytest_rlperf.model.spec import KEYWORDS, Spec

MARKER = "rlperf"


def spec_of(item: pytest.Item) -> Spec:
    """The closest marker wins, keyword by keyword."""
    merged: dict[str, Any] = {}
    for marker in item.iter_markers(MARKER):
        if marker.args:
            raise UsageError(
                f"{item.nodeid}: @pytest.mark.rlperf takes keywords only, "
                f"and got {marker.args[0]!r}; write category={marker.args[0]!r}, for example."
            )
        merged = {**marker.kwargs, **merged}
    group = group_of(item)
    if group is not None:
        merged.setdefault("category", group)
    return spec_from(merged, item.nodeid)


def spec_from(keywords: Mapping[str, Any], nodeid: str) -> Spec:
    for name, value in keywords.items():
        if name not in KEYWORDS:
            raise UsageError(_unknown(name, nodeid))
        expected, fits = CHECKS[name]
        if not fits(value):
            raise UsageError(f"{nodeid}: rlperf({name}={value!r}) is not {expected}; correct it.")
    values = dict(keywords)
    if values.get("threshold") is not None:
        values["threshold"] = parse_fraction(values["threshold"], f"{nodeid}: threshold")
    if isinstance(values.get("kpi"), str):
        values["kpi"] = (values["kpi"],)
    values["kpi"] = tuple(values.get("kpi", ()))
    return Spec(**values)


def _unknown(name: str, nodeid: str) -> str:
    near = difflib.get_close_matches(name, KEYWORDS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(KEYWORDS)}."
    return f"{nodeid}: @pytest.mark.rlperf has no keyword {name!r}; {hint}"


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_names(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names:
        return False
    return all(isinstance(name, str) and name for name in names)


def _is_json_mapping(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(value, Mapping)


CHECKS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "category": ("a name", lambda value: isinstance(value, str)),
    "steps": ("a whole number above 0", _whole(1)),
    "threshold": ("a fraction or a percentage", lambda value: isinstance(value, str | float | int)),
    "kpi": ("the name of a KPI, or a list of names", _is_names),
    "threads": ("a whole number above 0", _whole(1)),
    "waits": ("True or False", lambda value: isinstance(value, bool)),
    "warmup": ("a whole number, 0 or more", _whole(0)),
    "iterations": ("a whole number above 0", _whole(1)),
    "metadata": ("a mapping that fits into JSON", _is_json_mapping),
}
