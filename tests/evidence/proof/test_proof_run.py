"""The run against a stand-in for the gate: resuming, crashing, hanging, and leaving nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from . import children, facts, gate
from .cases import by_name
from .facts import REPOSITORY, model_name
from .projects import Project
from .pytest_benchmark import agrees, verdicts
from .records import Facts, read
from .run import Plan, run

FAKE_GATE = """
import json, re, sys
from pathlib import Path

options = dict(word.split("=", 1) for word in sys.argv if word.startswith("--rlperf-"))
names = re.findall(r"def (test_\\w+)", Path(sys.argv[1]).read_text())
time = dict(name="time", outcome="unchanged", change=0.0, low=-0.01, high=0.01, blocks=6,
            detectable=0.02)
tests = [dict(nodeid=f"{sys.argv[1]}::{name}", metrics=[time]) for name in names]
tests[0]["metrics"] = []
Path(options["--rlperf-json"]).write_text(json.dumps(dict(schema=1, tests=tests[:-1])))
sys.exit(1)
"""

FACTS = Facts("2026-01-02T03:04:05+00:00", "abc", "A CPU", 2, "3.11.7", "2.4.0", "5.2.3")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    # A source archive has no revision to report.
    monkeypatch.setattr(facts, "collect", lambda: FACTS)
    script = tmp_path / "fake_gate.py"
    script.write_text(FAKE_GATE, encoding="utf-8")
    return sys.executable, str(script)


def plan(out: Path, wanted: int = 20) -> Plan:
    return Plan(out, (replace(by_name("aa"), wanted=wanted),), minutes=None, load=False)


def test_a_run_records_every_test_and_resumes_where_it_stopped(
    tmp_path: Path, fake: tuple[str, str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert run(plan(out, wanted=10), fake) == 0
    assert run(plan(out), fake) == 0
    records = read(out)
    assert len(records) == 20
    assert [record.variant for record in records[::10]] == ["plain", "unused"]
    outcomes = [record.verdict.outcome for record in records[:10]]
    assert outcomes == ["failed", *["unchanged"] * 8, "missing"]


def test_no_suite_starts_after_the_time_is_up(tmp_path: Path, fake: tuple[str, str]) -> None:
    out = tmp_path / "out.jsonl"
    assert run(replace(plan(out), minutes=0.0), fake) == 0
    assert read(out) == []


def test_a_crashing_suite_is_counted_shown_and_given_up(
    tmp_path: Path, fake: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    crashing = (sys.executable, "-c", "raise SystemExit('it broke')  # ")
    (tmp_path / "fake_gate.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert run(plan(out), fake) == 1
    assert [record.reason for record in read(out)] == ["exit code 3"] * 3
    assert run(plan(out), crashing) == 1
    assert "it broke" in capsys.readouterr().err


def test_the_command_is_the_documented_one() -> None:
    case = by_name("plus4")
    project = Project(Path(), "abc", "def", case.workload)
    argv = gate.command(case, project, Path("r.json"), pytest=("pytest",))
    assert argv[2:] == [
        "--rlperf",
        "--rlperf-against=abc",
        "--rlperf-same-code=measure",
        "--rlperf-threshold=2%",
        "--rlperf-json=r.json",
        "--rlperf-budget=95",
        "--rlperf-profile=off",
    ]


@pytest.mark.parametrize(
    ("code", "has_result", "said"),
    [
        (0, True, ""),
        (1, True, ""),
        (6, True, ""),
        (0, False, "exit code 0 without a result"),
        (4, True, "exit code 4"),
        (-9, True, "exit code -9"),
        (None, True, "deadline passed"),
    ],
)
def test_a_run_without_its_verdicts_is_a_problem(
    code: int | None, has_result: bool, said: str
) -> None:
    assert gate.problem_of(code, has_result) == said


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": 2, "tests": []}'])
def test_a_result_that_cannot_be_read_is_a_crash(
    tmp_path: Path, fake: tuple[str, str], text: str
) -> None:
    script = tmp_path / "fake_gate.py"
    script.write_text(FAKE_GATE.replace("json.dumps(dict(schema=1, tests=tests[:-1]))", repr(text)))
    assert run(plan(tmp_path / "out.jsonl"), fake) == 1
    assert "unreadable result" in read(tmp_path / "out.jsonl")[0].reason


def test_a_mean_above_the_threshold_is_what_pytest_benchmark_fails() -> None:
    names = ["test_a", "test_b", "test_c"]
    nodes = [f"tests/bench/test_bench.py::{name}" for name in names]
    base = dict.fromkeys(nodes, 1.0)
    head = {nodes[0]: 1.06, nodes[1]: 1.04}
    found = verdicts(base, head, 0.05, names)
    assert [verdict.outcome for verdict in found] == ["regressed", "unchanged", "missing"]
    assert agrees(1, found)
    assert not agrees(0, found)
    assert agrees(0, found[1:])


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 10
    while not all(map(is_gone, pids)):
        assert time.monotonic() < end, "processes were left behind"
        time.sleep(0.02)


def test_a_hanging_suite_ends_at_its_deadline_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "GRACE_S", 0.2)
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True); print(c.pid, flush=True); time.sleep(60)"
    )
    ended = children.run([sys.executable, "-c", code], tmp_path, dict(os.environ), 1.5)
    assert ended.code is None
    wait_until_gone([int(ended.tail)])


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel to end the children")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_the_load_leaves_nothing_behind(ending: signal.Signals) -> None:
    argv = [sys.executable, "-m", "tests.evidence.proof.load", "--processes", "2"]
    with subprocess.Popen(argv, cwd=REPOSITORY) as load:
        pids: list[int] = []
        end = time.monotonic() + 10
        while len(pids) < 2 and time.monotonic() < end:
            pids = [child.pid for child in psutil.Process(load.pid).children()]
            time.sleep(0.02)
        assert len(pids) == 2
        load.send_signal(ending)
    wait_until_gone(pids)


def test_the_load_ends_by_itself_after_its_time() -> None:
    argv = [
        sys.executable,
        "-m",
        "tests.evidence.proof.load",
        "--processes",
        "1",
        "--seconds",
        "0.2",
    ]
    assert subprocess.run(argv, cwd=REPOSITORY, timeout=30, check=False).returncode == 0


def test_a_load_that_ended_is_noticed() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(children.LoadEndedError):
        children.Load(process).check()


def test_the_cpu_model_is_read_from_cpuinfo() -> None:
    assert model_name("processor\t: 0\nmodel name\t: A CPU\n") == "A CPU"
    assert model_name("") == ""
