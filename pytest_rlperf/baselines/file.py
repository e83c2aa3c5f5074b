"""A test's stored baseline: ratios to the reference kernels, not seconds, and sizes in bytes.

The baselines of one test module are one readable JSON file, schema 2: written whole, and read back,
or refused with the first thing that is wrong with it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any

from pytest_rlperf.files import (
    NUMBER,
    Shape,
    check_schema,
    check_shape,
    misfits,
    read_json,
    refuse,
    write_atomically,
)
from pytest_rlperf.model.block import LEAST_BLOCKS, LogRatios
from pytest_rlperf.model.result import Facts
from pytest_rlperf.wire import typed


@dataclass(frozen=True, slots=True)
class Session:
    """One run that was saved."""

    created: str
    commit: str | None
    dirty: bool
    facts: Facts  # see `machine.fingerprint.comparable`
    call_ns: float  # seconds of that machine in that hour: shown, not compared
    blocks: tuple[Mapping[str, LogRatios], ...]  # by kernel


@dataclass(frozen=True, slots=True)
class Accepted:
    """A regression that was taken over into the baseline, and why."""

    reason: str
    created: str
    commit: str | None
    change: float


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """Sizes of one saved run as they were, in bytes: no other work on a machine changes them."""

    created: str
    commit: str | None
    dirty: bool
    facts: Facts
    repeats: int  # calls a process
    values: Mapping[str, tuple[float, ...]]  # by metric, one a process


@dataclass(frozen=True, slots=True)
class Stored:
    """A test's baseline. All its sessions are of one commit; a test of memory alone has none."""

    nodeid: str
    source_hash: str
    weights: Mapping[str, float]  # of the kernels that its save chose; a run may speak for others
    sessions: tuple[Session, ...]
    steps: int | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    accepted: tuple[Accepted, ...] = ()
    memory: StoredMemory | None = None
    starts: Mapping[str, "Stored"] = field(default_factory=dict)  # of a fresh process, by metric

    def __post_init__(self) -> None:
        if bool(self.sessions) != bool(self.weights) or not (self.sessions or self.memory):
            raise ValueError(f"{self.nodeid}: a baseline needs a session and a kernel, or memory")

    @property
    def latest(self) -> Session | None:
        """The session that was saved last, or None where no time is stored."""
        return max(self.sessions, key=lambda session: session.created, default=None)

    def measured_at(self, installed: str) -> str | None:
        """Return the commit at which all of it was measured, exactly as it is there, with these
        distributions installed; None: there is no such commit.
        """
        parts: list[Session | StoredMemory] = [*self.sessions]
        parts += [] if self.memory is None else [self.memory]
        if any(part.dirty or part.facts.get("distributions") != installed for part in parts):
            return None
        commits = {part.commit for part in parts}
        return commits.pop() if len(commits) == 1 else None

    @property
    def newest(self) -> Session | StoredMemory:
        """The session, or else the memory, under whose facts it was recorded."""
        newest = self.latest or self.memory
        assert newest is not None
        return newest


# -- the file ------------------------------------------------------------------------------------

SCHEMA = 2
"""1: first version. 2: memory, tests that have nothing else, and starts of fresh processes; older
files load as they are."""
OLDEST = 1
KIND = "pytest-rlperf baseline"
DIGITS = 6
"""Decimals of a log-ratio: a thousandth of a thousandth is far below any noise."""
MOST_LOG_RATIO = 50.0
"""A call of thirty thousand years, in nanoseconds: nothing was measured beyond it."""
ANEW = "restore it from version control, or remove it and save again with --rlperf-save"

TEST: Shape = {
    "source_hash": (str,), "steps": (int, NoneType), "work": (dict,), "weights": (dict,),
    "accepted": (list,), "sessions": (list,),
}  # fmt: skip
SESSION: Shape = {
    "created": (str,), "commit": (str, NoneType), "dirty": (bool,), "facts": (dict,),
    "call_ns": NUMBER, "blocks": (dict,),
}  # fmt: skip
ACCEPTED: Shape = {
    "reason": (str,), "created": (str,), "commit": (str, NoneType), "change": NUMBER,
}  # fmt: skip
MEMORY: Shape = {
    "created": (str,), "commit": (str, NoneType), "dirty": (bool,), "facts": (dict,),
    "repeats": (int,), "values": (dict,),
}  # fmt: skip
COLUMNS: Shape = {"typical": (list,), "total": (list,)}
"""A field that is not among these is somebody's note, and is not read."""


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
    """Return the tests of one file by node id, or refuse with the first thing that is wrong."""
    content = read_json(path, ANEW)
    if not isinstance(content, dict) or content.get("kind") != KIND:
        refuse(path, "is no stored baseline", ANEW)
    check_schema(path, content, SCHEMA, ANEW, oldest=OLDEST)
    check_shape(path, _damages(content), ANEW)
    return {nodeid: _test_from(nodeid, data) for nodeid, data in content["tests"].items()}


# -- writing ------------------------------------------------------------------------------------


def _test_as_dict(test: Stored) -> dict[str, Any]:
    return {
        "source_hash": test.source_hash,
        "steps": test.steps,
        "work": dict(test.work),
        "weights": {name: round(weight, DIGITS) for name, weight in test.weights.items()},
        "accepted": [asdict(accepted) for accepted in test.accepted],
        "sessions": [_session_as_dict(session) for session in test.sessions],
        "memory": None if test.memory is None else _memory_as_dict(test.memory),
        "starts": {name: _test_as_dict(start) for name, start in test.starts.items()},
    }


def _memory_as_dict(memory: StoredMemory) -> dict[str, Any]:
    values = {name: [round(size, 1) for size in sizes] for name, sizes in memory.values.items()}
    return {**{name: getattr(memory, name) for name in MEMORY}, "values": values}


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
        "typical": [round(block[kernel].typical, DIGITS) for block in blocks],
        "total": [round(block[kernel].total, DIGITS) for block in blocks],
    }


# -- reading ------------------------------------------------------------------------------------


def _test_from(nodeid: str, data: Mapping[str, Any]) -> Stored:
    return Stored(
        nodeid=nodeid,
        source_hash=data["source_hash"],
        weights=data["weights"],
        sessions=tuple(_session_from(session) for session in data["sessions"]),
        steps=data["steps"],
        work=data["work"],
        accepted=tuple(typed(Accepted, accepted) for accepted in data["accepted"]),
        memory=None if data.get("memory") is None else typed(StoredMemory, data["memory"]),
        starts={name: _test_from(nodeid, s) for name, s in data.get("starts", {}).items()},
    )


def _session_from(data: Mapping[str, Any]) -> Session:
    columns = data["blocks"]
    number = len(next(iter(columns.values()))["typical"])
    blocks = tuple(
        {name: LogRatios(c["typical"][i], c["total"][i]) for name, c in columns.items()}
        for i in range(number)
    )
    return Session(**{**{name: data[name] for name in SESSION}, "blocks": blocks})


# -- checking the shape -------------------------------------------------------------------------


def _damages(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the places that have not the shape of the schema; only the first counts."""
    yield from misfits(content, {"module": (str,), "tests": (dict,)}, "")
    for nodeid, test in content["tests"].items():
        yield from _test_damages(test, nodeid)


def _test_damages(test: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from misfits(test, TEST, where)
    yield from misfits(test["work"], dict.fromkeys(test["work"], NUMBER), f"{where}.work")
    memory = test.get("memory")
    if memory is not None:
        yield from _memory_damages(memory, f"{where}.memory")
    if memory is not None and not test["sessions"] and not test["weights"]:
        return  # a test of memory alone
    if not _are_weights(test["weights"]):
        yield f"{where}.weights"
    if not test["sessions"]:
        yield f"{where}.sessions"
    for i, accepted in enumerate(test["accepted"]):
        yield from misfits(accepted, ACCEPTED, f"{where}.accepted[{i}]")
    for i, session in enumerate(test["sessions"]):
        yield from _session_damages(session, test["weights"], f"{where}.sessions[{i}]")
    starts = test.get("starts", {})
    if not isinstance(starts, dict):
        yield f"{where}.starts"
    for name, start in starts.items():
        yield from _test_damages(start, f"{where}.starts.{name}")


def _memory_damages(memory: object, where: str) -> Iterator[str]:
    yield from misfits(memory, MEMORY, where)
    assert isinstance(memory, dict)
    for name, sizes in memory["values"].items():
        enough = isinstance(sizes, list) and len(sizes) >= LEAST_BLOCKS
        if not enough or any(type(size) not in NUMBER for size in sizes):
            yield f"{where}.values.{name}"


def _session_damages(
    session: Mapping[str, Any], weights: Mapping[str, float], where: str
) -> Iterator[str]:
    yield from misfits(session, SESSION, where)
    lengths = set()
    for kernel, columns in session["blocks"].items():
        here = f"{where}.blocks.{kernel}"
        yield from misfits(columns, COLUMNS, here)
        for name in COLUMNS:
            lengths.add(len(columns[name]))
            if any(type(r) not in NUMBER or abs(r) > MOST_LOG_RATIO for r in columns[name]):
                yield f"{here}.{name}"
    enough = len(lengths) == 1 and min(lengths) >= LEAST_BLOCKS
    if not enough or weights.keys() - session["blocks"].keys():
        yield f"{where}.blocks"


def _are_weights(weights: Mapping[str, Any]) -> bool:
    """Return whether these are shares that sum to one, but for what rounding did."""
    shares = list(weights.values())
    return all(type(w) in NUMBER and 0 < w <= 1 for w in shares) and abs(sum(shares) - 1) < 1e-3
