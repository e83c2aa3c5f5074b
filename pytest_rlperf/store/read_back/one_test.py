"""One test. Of a block a result holds the sums, not the slices: each gets an equal part of them."""

import math
from collections.abc import Sequence
from typing import Any

from pytest_rlperf.model.block import Block, DeviceFacts, RankFacts, SideBlock
from pytest_rlperf.model.drift import Drift, SideDrift
from pytest_rlperf.model.extra import EXPONENT, FIRST_CALL, IMPORT_TIME, ExtraMetric
from pytest_rlperf.model.phase import PhaseResult
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.result import Failure, TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import WORST_FIRST, Interval, Outcome, Verdict
from pytest_rlperf.store.read_back.memory import memory_from
from pytest_rlperf.store.read_back.verdict import interval_from, verdict_from
from pytest_rlperf.store.read_back.why import explanation_from

Row = dict[str, Any]
EXTRAS = (EXPONENT, IMPORT_TIME, FIRST_CALL)


def read_test(row: Row) -> TestResult:
    memory = memory_from(row["memory"], row["metrics"])
    time = _metric(row, "time")
    peak = _metric(row, "peak_rss")
    failure = row["failure"]
    return TestResult(
        nodeid=row["nodeid"],
        spec=Spec(category=row["category"], steps=row["steps"], metadata=row["metadata"]),
        verdict=_untimed(row, memory.verdicts if memory else ())
        if time is None
        else verdict_from(time, time["label"]),
        blocks=tuple(_block(block, row["work"]) for block in row["blocks"]),
        log_ratios=tuple(map(math.log1p, time["block_changes"])) if time else (),
        plan=None if row["plan"] is None else Plan.from_dict(row["plan"]),
        steps=row["steps"],
        first_call_ns=row["first_call_ns"],
        drift=_drift(row["drift"]),
        phases=tuple(map(_phase, row["phases"])),
        extras=tuple(_extra(each) for each in row["metrics"] if each["name"] in EXTRAS),
        memory_bytes=tuple(peak["head_blocks"]) if peak else (),
        failure=None if failure is None else _failure(failure),
        skipped=row["skipped"],
        source_hash=row["source_hash"],
        repeat_command=row["repeat_command"],
        imported=row["imported"],
        explanation=explanation_from(row["profile"]) if "profile" in row else None,
        timed=time is not None,
        memory=memory,
    )


def _metric(row: Row, name: str) -> Row | None:
    return next((metric for metric in row["metrics"] if metric["name"] == name), None)


def _untimed(row: Row, verdicts: Sequence[Verdict]) -> Verdict:
    """A test of memory alone has the worst verdict on that."""
    if row["failure"] is None and row["skipped"] is None:
        return min(verdicts, key=lambda verdict: WORST_FIRST.index(verdict.outcome))
    return Verdict(Outcome(row["outcome"]), "there is nothing to judge")


def _failure(row: Row) -> Failure:
    return Failure(row["text"], tuple((title, text) for title, text in row["sections"]))


# -- blocks -------------------------------------------------------------------------------------


def _block(row: Row, work: Row) -> Block:
    return Block(
        head=_side(row["head"], work),
        base=None if row["base"] is None else _side(row["base"], {}),
        core=row["core"],
        index=row["index"],
        steal=row["steal"],
    )


def _side(row: Row, work: Row) -> SideBlock:
    ranks, device = row.get("ranks"), row.get("device")
    own, wall, cpu = (
        equal_parts(row[name], row["slices"]) for name in ("own_ns", "wall_ns", "cpu_ns")
    )
    return SideBlock(
        own_ns=own,
        wall_ns=wall,
        cpu_ns=cpu,
        calls=row["calls"],
        work=work,
        preempted=row["preempted"],
        ranks=None if ranks is None else RankFacts(**{k: tuple(v) for k, v in ranks.items()}),
        device=None if device is None else DeviceFacts(**device),
    )


def equal_parts(total: int, parts: int) -> tuple[int, ...]:
    """Whole numbers that differ by one at most."""
    each, more = divmod(total, parts)
    return (each + 1,) * more + (each,) * (parts - more)


# -- what is told beside time -------------------------------------------------------------------


def _drift(row: Row | None) -> Drift | None:
    if row is None:
        return None
    base = row["base"]
    return Drift(
        row["slices"], _side_drift(row["head"]), None if base is None else _side_drift(base)
    )


def _side_drift(row: Row) -> SideDrift:
    return SideDrift(Interval(row["change"], row["low"], row["high"]), row["matters"])


def _phase(row: Row) -> PhaseResult:
    names = ("name", "share", "ns", "base_share", "base_ns", "moved")
    return PhaseResult(**{name: row[name] for name in names}, adds=interval_from(row))


def _extra(row: Row) -> ExtraMetric:
    curve = row["curve"] or {"sizes": (), "head_ns": (), "base_ns": ()}
    return ExtraMetric(
        name=row["name"],
        unit=row["unit"],
        head=tuple(row["head_blocks"]),
        verdict=verdict_from(row, None if row["curve"] else row["label"]),
        base=tuple(row["base_blocks"]),
        value=row["value"],
        base_value=row["base_value"],
        amount=interval_from(row, "_abs"),
        threshold_abs=row["threshold_abs"],
        sizes=tuple(curve["sizes"]),
        head_ns=tuple(curve["head_ns"]),
        base_ns=tuple(curve["base_ns"]),
    )
