"""From a result to what the history keeps of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.history import PastMetric, PastTest, ReferenceTime
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.store.history_line import damage_of
from pytest_rlperf.store.machine_key import machine_key
from pytest_rlperf.store.result_file import ANEW

Result = Mapping[str, Any]
"""As `store.result_file.read_result` returns it, or a part of it."""

SAME_AS_TIME = "throughput"
"""The verdict on time shown a second time."""


def entries_of(result: Result, name: str, committed: str | None) -> list[PastTest]:
    """One for every test that was measured. `name` is the result's for people, `committed` the
    date of its commit, if it is known.
    """
    _refuse_unfit(result, name)
    try:
        found = _entries(result, committed)
    except (AttributeError, KeyError, TypeError) as error:  # somebody edited it
        raise UsageError(
            f"{name} holds what no run writes ({type(error).__name__}); {ANEW}."
        ) from None
    if not found:
        raise UsageError(f"{name} holds no test that was measured; there is nothing to append.")
    for test in found:  # a line that nobody can read would stay in the history for good
        if (damage := damage_of(test)) is not None:
            raise UsageError(f"{name} is damaged at {damage} of {test.nodeid}; {ANEW}.")
    return found


def _entries(result: Result, committed: str | None) -> list[PastTest]:
    common = {
        "commit": result["commit"],
        "created": result["created"],
        "mode": result["mode"],
        "base": result.get("base_commit"),
        "committed": committed,
        "machine": _machine(result["fingerprint"]),
        "python": str(result["fingerprint"].get("python_build", "unknown")),
    }
    return [_entry(test, common) for test in result["tests"] if any(_metrics(test))]


def _refuse_unfit(result: Result, name: str) -> None:
    if result["mode"] == "prove":
        raise UsageError(
            f"{name} is a proof of the gate, not a measurement; append what a run with "
            "--rlperf-against, --rlperf-save or a stored baseline wrote."
        )
    if result.get("dirty") or not result.get("commit"):
        what = "with uncommitted changes" if result.get("dirty") else "outside of a repository"
        raise UsageError(
            f"{name} was measured {what}, so it belongs to no commit; measure a clean commit."
        )


def _entry(test: Result, common: Mapping[str, Any]) -> PastTest:
    reference = test.get("reference")
    return PastTest(
        nodeid=test["nodeid"],
        metrics=tuple(_metrics(test)),
        category=test["category"],
        source_hash=str(test.get("source_hash", "")),
        steal=test.get("witnesses", {}).get("steal"),
        drift=_drift(test.get("drift")),
        reference=None if reference is None else ReferenceTime(**reference),
        **common,
    )


def _metrics(test: Result) -> Iterator[PastMetric]:
    for metric in test["metrics"]:
        unjudged = metric["name"] == SAME_AS_TIME or metric["outcome"] == Outcome.SHOWN
        if metric["value"] is not None and not unjudged:
            yield PastMetric(
                name=metric["name"],
                unit=metric["unit"] or "",
                direction=metric["direction"],
                value=metric["value"],
                outcome=metric["outcome"],
                change=metric["change"],
                low=metric["low"],
                high=metric["high"],
                threshold=metric.get("threshold"),
                blocks=len(metric["head_blocks"]),
            )


def _drift(found: Result | None) -> float | None:
    return found["head"]["change"] if found and found["head"]["matters"] else None


def _machine(fingerprint: Result) -> str:
    known = {name: fingerprint.get(name, "unknown") for name in ("cpu", "cores", "architecture")}
    return machine_key(known)
