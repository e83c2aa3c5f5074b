"""The JSON of MPI jobs is read, or refused with one sentence."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.block import Block, RankFacts, SideBlock
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.scale.jobs import read_jobs
from tests.factories import a_test, run_result

JOB = {
    "env": "TicTacToe-v0", "agent": "compiled", "runtime": "mpi-sync", "ranks": 2, "steps": 10_000,
    "seconds": 2, "bytes_sent": 4_000, "sync_seconds": 0.5, "syncs": 5, "sync_period": 1_000,
    "steps_per_sync": 1_000,
}  # fmt: skip


def written(folder: Path, content: object) -> Path:
    path = folder / "job.json"
    path.write_text(json.dumps(content))
    return path


def test_a_job_tells_what_it_did(tmp_path: Path):
    path = written(tmp_path, JOB)
    (job,) = read_jobs(path)
    assert (job.name, job.workload) == (str(path), "TicTacToe-v0 compiled")
    assert (job.period, job.sent_per_sync, job.computing_s) == (1_000, 400, 1.5)


@pytest.mark.parametrize(
    "change",
    [
        {"env": None, "agent": None, "compression": None},
        {"steps_per_sync": None, "sync_period": 64_000},  # adapted: the last is not the mean
        {"syncs": 6},
        {"ranks": 1, "syncs": 0, "bytes_sent": 0, "sync_seconds": 0},
        {"some": "more"},
    ],
)
def test_what_a_job_need_not_say_is_no_trouble(tmp_path: Path, change: Mapping[str, Any]):
    assert len(read_jobs(written(tmp_path, {**JOB, **change}))) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "tells of no MPI job; name the JSON of MPI jobs, which tells ranks"),
        ({"steps": 3}, "tells of no MPI job; name the JSON of MPI jobs, which tells ranks"),
        ({**JOB, "seconds": "2"}, "is damaged at seconds; name the JSON"),
        ({**JOB, "ranks": 0}, "is damaged at ranks; name the JSON"),
        ({**JOB, "ranks": True}, "is damaged at ranks; name the JSON"),
        ({**JOB, "seconds": 0}, "is damaged at seconds; name the JSON"),
        ({**JOB, "syncs": None}, "is damaged at syncs; name the JSON"),
        ({**JOB, "sync_seconds": 2}, "contradicts itself: it synchronised for 2 of 2 s;"),
        ({**JOB, "syncs": 0}, "contradicts itself: it has 2 ranks, 0 synchronisations, 4000 by"),
        ({**JOB, "bytes_sent": 0}, "contradicts itself: it has 2 ranks, 5 synchronisations, 0 "),
        ({**JOB, "syncs": 50}, "contradicts itself: it synchronised 50 times in 5000 steps of"),
        ({"schema": 1}, "is damaged at created; write it with pytest --rlperf"),
    ],
)
def test_what_is_no_job_is_refused(tmp_path: Path, content: object, said: str):
    path = written(tmp_path, content)
    with pytest.raises(UsageError) as refused:
        read_jobs(path)
    assert str(refused.value).startswith(f"{path} {said}")


@pytest.mark.parametrize("text", ["", '{"ranks": 2', '{"ranks": NaN}'])
def test_a_torn_file_is_refused(tmp_path: Path, text: str):
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(UsageError, match="is no whole JSON file"):
        read_jobs(tmp_path / "job.json")


# -- results ------------------------------------------------------------------------------------

SIDE = SideBlock(
    own_ns=(4 * 10**9,), wall_ns=(4 * 10**9,), cpu_ns=(4 * 10**9,), calls=2,
    ranks=RankFacts((4e9, 4e9), (0.2, 0.3), (1.0, 1.0)),
)  # fmt: skip
NODEID = "test_m.py::test_train[nprocs=2]"


def result(folder: Path, work: Mapping[str, float]) -> Path:
    measured = a_test(NODEID, blocks=(Block(replace(SIDE, work=work)),), steps=10_000)
    return written(folder, run_as_dict(run_result(measured, a_test("test_m.py::test_other")), 0))


def test_a_test_that_declares_its_exchanges_is_a_job(tmp_path: Path):
    (job,) = read_jobs(result(tmp_path, {"syncs": 10, "bytes_sent": 4_000}))
    assert (job.name, job.workload) == (NODEID, "test_m.py::test_train[nprocs=*]")
    assert (job.ranks, job.steps, job.syncs, job.bytes_sent) == (2, 10_000, 5, 4_000)
    assert job.seconds == pytest.approx(2)
    assert job.sync_seconds == pytest.approx(0.5)


def test_a_result_without_any_is_refused(tmp_path: Path):
    path = result(tmp_path, {"episodes": 3})
    with pytest.raises(UsageError) as refused:
        read_jobs(path)
    assert str(refused.value).startswith(f"{path} holds no MPI test that declares steps, and")
