"""A test's stored baseline: ratios to the reference kernels, not seconds, and sizes in bytes.

The baselines of one test module are one readable JSON file, schema 2: written whole, and read back,
or refused with the first thing that is wrong with it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from pytest_rlperf.files import write_atomically
from pytest_rlperf.model.block import LEAST_BLOCKS, LogRatio, LogRatios, Weight
from pytest_rlperf.model.learning import LEAST_SEEDS, Training
from pytest_rlperf.model.result import Facts
from pytest_rlperf.reading import (
    Damage,
    Fits,
    Name,
    NotNegative,
    check_schema,
    read_json,
    refuse,
    refusing,
    typed,
)

Sizes = Annotated[tuple[float, ...], Fits(lambda sizes: len(sizes) >= LEAST_BLOCKS)]
Trainings = Annotated[
    tuple[Training, ...], Fits(lambda every: len({each.seed for each in every}) >= LEAST_SEEDS)
]


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
    created: Name
    commit: Name | None
    change: float


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """Sizes of one saved run as they were, in bytes: no other work on a machine changes them."""

    created: Name
    commit: Name | None
    dirty: bool
    facts: Facts
    repeats: int  # calls a process
    values: Mapping[str, Sizes]  # by metric, one a process


@dataclass(frozen=True, slots=True)
class StoredLearning:
    """Trainings of one saved run, seed by seed: the load of a machine does not change them."""

    created: Name
    commit: Name | None
    dirty: bool
    facts: Facts
    versions: Mapping[str, str]  # of the libraries that they came from
    trainings: Trainings


@dataclass(frozen=True, slots=True)
class Stored:
    """A test's baseline. All its sessions are of one commit; a test of memory or learning alone has
    none.
    """

    nodeid: str
    source_hash: str
    weights: Mapping[str, float]  # of the kernels that its save chose; a run may speak for others
    sessions: tuple[Session, ...]
    steps: int | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    accepted: tuple[Accepted, ...] = ()
    memory: StoredMemory | None = None
    starts: Mapping[str, "Stored"] = field(default_factory=dict)  # of a fresh process, by metric
    learning: StoredLearning | None = None

    def __post_init__(self) -> None:
        if bool(self.sessions) != bool(self.weights) or not self.parts:
            raise ValueError(
                f"{self.nodeid}: a baseline needs a session and a kernel, memory, or trainings"
            )

    @property
    def latest(self) -> Session | None:
        """The session that was saved last, or None where no time is stored."""
        return max(self.sessions, key=lambda session: session.created, default=None)

    @property
    def parts(self) -> tuple[Session | StoredMemory | StoredLearning, ...]:
        """All that was saved of it at one time or another."""
        others = (part for part in (self.memory, self.learning) if part is not None)
        return (*self.sessions, *others)

    def measured_at(self, facts: Facts) -> str | None:
        """Return the commit at which all of it was measured, exactly as it is there, under these
        facts; None: there is no such commit.
        """
        if any(part.dirty or not facts.items() <= part.facts.items() for part in self.parts):
            return None
        commits = {part.commit for part in self.parts}
        return commits.pop() if len(commits) == 1 else None

    @property
    def newest(self) -> Session | StoredMemory | StoredLearning:
        """The session, or else what else there is, under whose facts it was recorded."""
        return self.latest or self.parts[0]


# -- the file ------------------------------------------------------------------------------------

SCHEMA = 3
"""1: first version. 2: memory, tests that have nothing else, and starts of fresh processes.
3: trainings. Older files load as they are."""
OLDEST = 1
KIND = "pytest-rlperf baseline"
DIGITS = 6
"""Decimals of a log-ratio: a thousandth of a thousandth is far below any noise."""
ANEW = "restore it from version control, or remove it and save again with --rlperf-save"


class ColumnsRow(TypedDict):
    typical: list[LogRatio]
    total: list[LogRatio]


class SessionRow(TypedDict):
    created: Name
    commit: Name | None
    dirty: bool
    facts: Facts
    call_ns: NotNegative
    blocks: dict[Name, ColumnsRow]


class StartRow(TypedDict):
    source_hash: str
    steps: int | None
    work: dict[str, float]
    weights: dict[Name, Weight]
    accepted: tuple[Accepted, ...]
    sessions: list[SessionRow]
    memory: NotRequired[StoredMemory | None]
    learning: NotRequired[StoredLearning | None]


class StoredTest(StartRow):
    starts: NotRequired[dict[Name, StartRow] | None]


class ModuleRow(TypedDict):
    """A field that is not among these is somebody's note, and is not read."""

    module: str
    tests: dict[Name, StoredTest]


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
    return module_from(path, read_json(path, ANEW))


def module_from(path: Path, content: object) -> dict[str, Stored]:
    """Return the tests that the content of `path` tells of."""
    if not isinstance(content, dict) or content.get("kind") != KIND:
        refuse(path, "is no stored baseline", ANEW)
    check_schema(path, content, SCHEMA, ANEW, oldest=OLDEST)
    with refusing(path, ANEW):
        tests = typed(ModuleRow, content)["tests"]
        return {
            nodeid: _test_from(nodeid, row, row.get("starts") or {}, f"tests.{nodeid}")
            for nodeid, row in tests.items()
        }


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
        **({} if test.learning is None else {"learning": asdict(test.learning)}),
    }


def _memory_as_dict(memory: StoredMemory) -> dict[str, Any]:
    values = {name: [round(size, 1) for size in sizes] for name, sizes in memory.values.items()}
    return {**asdict(memory), "values": values}


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


def _test_from(
    nodeid: str, row: StoredTest | StartRow, starts: Mapping[str, StartRow], where: str
) -> Stored:
    """Return a test whose parts fit to each other; raises Damage where they do not."""
    weights, memory, learning = row["weights"], row.get("memory"), row.get("learning")
    others = memory is not None or learning is not None
    alone = others and not row["sessions"] and not weights
    # Rounding may have taken a little of one.
    if not alone and abs(sum(weights.values()) - 1) >= 1e-3:
        raise Damage(f"{where}.weights")
    if not alone and not row["sessions"]:
        raise Damage(f"{where}.sessions")
    sessions = enumerate(row["sessions"])
    return Stored(
        nodeid=nodeid,
        source_hash=row["source_hash"],
        weights=weights,
        sessions=tuple(_session_from(s, weights, f"{where}.sessions[{i}]") for i, s in sessions),
        steps=row["steps"],
        work=row["work"],
        accepted=row["accepted"],
        memory=memory,
        learning=learning,
        starts={n: _test_from(nodeid, s, {}, f"{where}.starts.{n}") for n, s in starts.items()},
    )


def _session_from(row: SessionRow, weights: Mapping[str, float], where: str) -> Session:
    columns = row["blocks"]
    lengths = {len(numbers) for c in columns.values() for numbers in (c["typical"], c["total"])}
    number = max(lengths, default=0)
    if len(lengths) != 1 or number < LEAST_BLOCKS or weights.keys() - columns.keys():
        raise Damage(f"{where}.blocks")
    return Session(
        created=row["created"],
        commit=row["commit"],
        dirty=row["dirty"],
        facts=row["facts"],
        call_ns=row["call_ns"],
        blocks=tuple(
            {name: LogRatios(c["typical"][i], c["total"][i]) for name, c in columns.items()}
            for i in range(number)
        ),
    )
