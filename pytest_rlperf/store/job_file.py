"""Reads what MPI jobs say of themselves, or tells in one sentence why a file holds no such job.

A job is the JSON of one training, or an MPI test in a result of `--rlperf-json` that counts its
synchronisations and bytes (`work=`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from types import NoneType
from typing import Any

from pytest_rlperf.model.projection import MeasuredJob
from pytest_rlperf.store.json_file import NUMBER, Shape, check_shape, misfits, read_json, refuse
from pytest_rlperf.store.result_file import read_result

WORKLOAD = ("env", "agent", "compression")
"""Jobs that agree in these compute and pack alike."""
SHAPE: Shape = {
    **dict.fromkeys(("ranks", "steps", "bytes_sent", "syncs"), (int,)),
    **dict.fromkeys(("seconds", "sync_seconds"), NUMBER),
    "sync_period": NUMBER,
    "steps_per_sync": (int, NoneType),  # None: the period was adapted
    **dict.fromkeys(WORKLOAD, (str, NoneType)),
}
LEAST = {
    "ranks": 1, "steps": 1, "bytes_sent": 0, "syncs": 0, "seconds": 1e-9, "sync_seconds": 0,
    "sync_period": 1,
}  # fmt: skip
ANEW = (
    "name the JSON of MPI jobs, which tells ranks, steps, seconds, sync_seconds, syncs, "
    "sync_period and bytes_sent"
)
ONE_MORE = 0.25, 2
"""A period may leave this share of synchronisations, and so many, unexplained: a job that begins
and ends with one has more than its steps say."""


def read_jobs(path: Path) -> list[MeasuredJob]:
    content = read_json(path, ANEW)
    if isinstance(content, dict) and "schema" in content:
        return _of_result(path)
    if not isinstance(content, dict) or "ranks" not in content:
        refuse(path, "tells of no MPI job", ANEW)
    check_shape(path, _damages(content), ANEW)
    chosen = content.get("steps_per_sync") is not None
    return [_checked(path, _job(str(path), content), content["sync_period"] if chosen else None)]


def _damages(content: Mapping[str, Any]) -> Iterator[str]:
    yield from misfits(content, SHAPE, "")
    yield from (name for name, least in LEAST.items() if content[name] < least)


def _job(name: str, content: Mapping[str, Any]) -> MeasuredJob:
    words = [content.get(key) for key in WORKLOAD]
    return MeasuredJob(
        name=name,
        workload=" ".join(word for word in words if word) or "the jobs",
        ranks=content["ranks"],
        steps=content["steps"],
        seconds=float(content["seconds"]),
        sync_seconds=float(content["sync_seconds"]),
        bytes_sent=content["bytes_sent"],
        syncs=content["syncs"],
    )


def _checked(path: Path, job: MeasuredJob, period: float | None) -> MeasuredJob:
    wrong = job.contradiction
    if wrong is None and period is not None and job.exchanged:
        wrong = _period_contradiction(job, period)
    if wrong is not None:
        refuse(path, f"contradicts itself: it {wrong}", ANEW)
    return job


def _period_contradiction(job: MeasuredJob, period: float) -> str | None:
    share, count = ONE_MORE
    said = job.steps_of_rank / period
    if abs(job.syncs - said) <= share * said + count:
        return None
    return (
        f"synchronised {job.syncs} times in {job.steps_of_rank:.0f} steps of a rank, "
        f"and every {period:g} of them"
    )


# -- results of --rlperf-json -------------------------------------------------------------------

RANKS: Shape = {"nprocs": (int,), "communication": (list,)}
WORK: Shape = dict.fromkeys(("syncs", "bytes_sent"), NUMBER)
"""Of a test; its work is summed over the ranks."""


def _of_result(path: Path) -> list[MeasuredJob]:
    found = [(test, _time_ns(test)) for test in read_result(path)["tests"] if _counted(test)]
    jobs = [_from_test(test, time_ns / 1e9) for test, time_ns in found if time_ns is not None]
    if not jobs:
        what = "holds no MPI test that declares steps, and syncs and bytes_sent as work"
        refuse(path, what, "name the JSON of trainings over MPI, or declare them in the test")
    return [_checked(path, job, None) for job in jobs]


def _counted(test: Mapping[str, Any]) -> bool:
    """Others may be in the same result, and have nothing to say."""
    told = [*misfits(test.get("ranks"), RANKS, ""), *misfits(test.get("work"), WORK, "")]
    return not told and bool(test["ranks"]["communication"]) and bool(test.get("steps"))


def _time_ns(test: Mapping[str, Any]) -> float | None:
    return next((m["value"] for m in test["metrics"] if m["name"] == "time"), None)


def _from_test(test: Mapping[str, Any], seconds: float) -> MeasuredJob:
    ranks = test["ranks"]["nprocs"]
    return MeasuredJob(
        name=test["nodeid"],
        workload=test["nodeid"].replace(f"nprocs={ranks}", "nprocs=*"),
        ranks=ranks,
        steps=test["steps"],
        seconds=seconds,
        sync_seconds=seconds * fmean(test["ranks"]["communication"]),
        bytes_sent=round(test["work"]["bytes_sent"]),
        syncs=round(test["work"]["syncs"] / ranks),
    )
