"""One test module's baseline as a readable JSON file, schema 1."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from pytest_rlperf.model.baseline import Accepted, Session, Stored
from pytest_rlperf.model.block import LogRatios
from pytest_rlperf.store.atomic import write_atomically
from pytest_rlperf.store.json_file import check_schema, read_json, refuse

SCHEMA = 1
"""1: first version."""
KIND = "pytest-rlperf baseline"
DIGITS = 6
"""Of a log-ratio: a thousandth of a thousandth is far below any noise."""
ANEW = "restore it from version control, or remove it and save again with --rlperf-save"

Kinds = tuple[type, ...]
NUMBER: Kinds = (int, float)
TEST: Mapping[str, Kinds] = {
    "source_hash": (str,),
    "steps": (int, NoneType),
    "work": (dict,),
    "weights": (dict,),
    "accepted": (list,),
    "sessions": (list,),
}
SESSION: Mapping[str, Kinds] = {
    "created": (str,),
    "commit": (str, NoneType),
    "dirty": (bool,),
    "facts": (dict,),
    "call_ns": NUMBER,
    "blocks": (dict,),
}
ACCEPTED: Mapping[str, Kinds] = {
    "reason": (str,),
    "created": (str,),
    "commit": (str, NoneType),
    "change": NUMBER,
}


def write_module(path: Path, module: str, tests: Sequence[Stored]) -> None:
    content = {
        "schema": SCHEMA,
        "kind": KIND,
        "module": module,
        "tests": {test.nodeid: _test_as_dict(test) for test in tests},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_module(path: Path) -> dict[str, Stored]:
    """The tests of one file by node id, or the first thing that is wrong with it."""
    content = read_json(path, ANEW)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        refuse(path, "is no stored baseline", ANEW)
    check_schema(path, content, SCHEMA, ANEW)
    damage = next(_damages(content), None)
    if damage is not None:
        refuse(path, f"is damaged at {damage}", ANEW)
    return {nodeid: _test_from(nodeid, found) for nodeid, found in content["tests"].items()}


# -- writing ------------------------------------------------------------------------------------


def _test_as_dict(test: Stored) -> dict[str, Any]:
    return {
        "source_hash": test.source_hash,
        "steps": test.steps,
        "work": dict(test.work),
        "weights": {name: round(weight, DIGITS) for name, weight in test.weights.items()},
        "accepted": [
            {"reason": a.reason, "created": a.created, "commit": a.commit, "change": a.change}
            for a in test.accepted
        ],
        "sessions": [_session_as_dict(session) for session in test.sessions],
    }


def _session_as_dict(session: Session) -> dict[str, Any]:
    return {
        "created": session.created,
        "commit": session.commit,
        "dirty": session.dirty,
        "facts": dict(session.facts),
        "call_ns": round(session.call_ns, 1),
        "blocks": {name: _columns(name, session.blocks) for name in session.blocks[0]},
    }


def _columns(kernel: str, blocks: Sequence[Mapping[str, LogRatios]]) -> dict[str, list[float]]:
    return {
        "median": [round(block[kernel].median, DIGITS) for block in blocks],
        "total": [round(block[kernel].total, DIGITS) for block in blocks],
    }


# -- reading ------------------------------------------------------------------------------------


def _test_from(nodeid: str, found: Mapping[str, Any]) -> Stored:
    return Stored(
        nodeid=nodeid,
        source_hash=found["source_hash"],
        weights=found["weights"],
        sessions=tuple(_session_from(session) for session in found["sessions"]),
        steps=found["steps"],
        work=found["work"],
        accepted=tuple(Accepted(**accepted) for accepted in found["accepted"]),
    )


def _session_from(found: Mapping[str, Any]) -> Session:
    columns = found["blocks"]
    number = len(next(iter(columns.values()))["median"])
    blocks = tuple(
        {name: LogRatios(c["median"][i], c["total"][i]) for name, c in columns.items()}
        for i in range(number)
    )
    return Session(**{**found, "blocks": blocks})


def _damages(content: Mapping[str, Any]) -> Iterator[str]:
    """Where it has not the shape of the schema; only the first counts."""
    yield from _misfits(content, {"module": (str,), "tests": (dict,)}, "")
    for nodeid, test in content["tests"].items():
        yield from _misfits(test, TEST, nodeid)
        yield from _bad_weights(test["weights"], nodeid)
        yield from _empty(test["sessions"], f"{nodeid}.sessions")
        for i, accepted in enumerate(test["accepted"]):
            yield from _misfits(accepted, ACCEPTED, f"{nodeid}.accepted[{i}]", exact=True)
        for i, session in enumerate(test["sessions"]):
            where = f"{nodeid}.sessions[{i}]"
            yield from _misfits(session, SESSION, where, exact=True)
            yield from _bad_blocks(session["blocks"], test["weights"], f"{where}.blocks")


def _misfits(
    found: object, shape: Mapping[str, Kinds], where: str, exact: bool = False
) -> Iterator[str]:
    if not isinstance(found, dict):
        yield where
        return
    for name, kinds in shape.items():
        if type(found.get(name)) not in kinds:
            yield f"{where}.{name}".removeprefix(".")
    for name in found.keys() - shape.keys() if exact else ():
        yield f"{where}.{name}"


def _empty(found: Sequence[object], where: str) -> Iterator[str]:
    if not found:
        yield where


def _bad_weights(weights: Mapping[str, object], nodeid: str) -> Iterator[str]:
    numbers = [w for w in weights.values() if type(w) in NUMBER and 0 < w <= 1]  # type: ignore[operator]
    if not weights or len(numbers) != len(weights) or abs(sum(numbers) - 1) > 1e-3:  # type: ignore[arg-type]
        yield f"{nodeid}.weights"


def _bad_blocks(
    blocks: Mapping[str, object], weights: Mapping[str, float], where: str
) -> Iterator[str]:
    lengths = set()
    for kernel, columns in blocks.items():
        yield from _misfits(columns, {"median": (list,), "total": (list,)}, f"{where}.{kernel}")
        assert isinstance(columns, dict)
        for name, values in columns.items():
            lengths.add(len(values))
            if not all(type(value) in NUMBER for value in values):
                yield f"{where}.{kernel}.{name}"
    if len(lengths) != 1 or min(lengths) < LEAST_BLOCKS or weights.keys() - blocks.keys():
        yield where


LEAST_BLOCKS = 3
"""Fewer have no usable spread."""
