"""The doctor's findings on the facts of a machine."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.machine import findings as findings_module
from pytest_rlperf.machine.findings import HostFacts, findings, loop_drift, read_facts

GOOD = HostFacts(
    cores=4,
    sees_delay=True,
    fixed_addresses=True,
    smt=False,
    governor="performance",
    turbo=False,
    quota_cores=None,
    steal=0.0,
    load=0.1,
    drift=0.01,
    git=True,
)


def hurting(**facts: Any) -> list[str]:
    return [finding.text for finding in findings(replace(GOOD, **facts)) if finding.hurts]


def test_a_good_machine_has_helps_only():
    assert hurting() == []
    assert [finding.text for finding in findings(GOOD)] == [
        "processes can be pinned: both sides share one of 4 cores",
        "the kernel tells how long a process waited for a core: it is left out",
        "both sides have the interpreter at the same addresses",
        "a fixed loop varies by 1.0% within a second: quiet",
    ]


@pytest.mark.parametrize(
    ("facts", "start"),
    [
        ({"cores": 1}, "only one core"),
        ({"sees_delay": False}, "no run-queue delay"),
        ({"fixed_addresses": False}, "address randomisation cannot be switched off"),
        ({"smt": True}, "SMT is on"),
        ({"governor": "powersave"}, "the frequency governor is 'powersave'"),
        ({"turbo": True}, "turbo is on"),
        ({"quota_cores": 1.5}, "the container may use 1.5 cores' time"),
        ({"steal": 0.25}, "the hypervisor took 25% of the time away"),
        ({"load": 3.0}, "3.0 processes want to run"),
        ({"drift": 0.3}, "a fixed loop varies by 30.0% within a second: absolute times"),
        ({"git": False}, "git is missing"),
    ],
)
def test_what_hurts_is_said(facts: dict[str, Any], start: str):
    (text,) = hurting(**facts)
    assert text.startswith(start)


def test_a_platform_that_cannot_pin_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    (text,) = hurting(cores=0)
    assert text.startswith("darwin cannot pin processes")
    assert "gate on Linux, or raise --rlperf-budget" in text


@pytest.mark.parametrize(
    "facts",
    [
        {"smt": None, "governor": None, "turbo": None, "load": None},
        {"quota_cores": 4.0},
        {"steal": 0.01},
        {"load": 1.9},
    ],
)
def test_what_is_unknown_or_small_does_not_hurt(facts: dict[str, Any]):
    assert hurting(**facts) == []


def test_what_hurts_comes_first():
    found = findings(replace(GOOD, git=False, smt=True))
    assert [finding.hurts for finding in found] == [True, True, False, False, False, False]


def test_a_steady_loop_drifts_little_and_a_drift_is_never_negative():
    assert loop_drift(0.0) >= 0


def test_facts_are_read_from_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, text in {
        "smt/active": "1\n",
        "cpu0/cpufreq/scaling_governor": "powersave\n",
        "cpufreq/boost": "0\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(findings_module, "SYS", tmp_path)
    monkeypatch.setattr(findings_module, "CGROUP_MAX", tmp_path / "cpu.max")
    monkeypatch.setattr(findings_module, "STEAL_WATCH_S", 0.0)
    facts = read_facts()
    assert (facts.smt, facts.governor, facts.turbo) == (True, "powersave", False)
    assert facts.quota_cores == 1.5


@pytest.mark.parametrize("text", [None, "max 100000\n", ""])
def test_what_the_system_does_not_say_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None
):
    if text is not None:
        (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(findings_module, "SYS", tmp_path / "missing")
    monkeypatch.setattr(findings_module, "CGROUP_MAX", tmp_path / "cpu.max")
    monkeypatch.setattr(findings_module, "STEAL_WATCH_S", 0.0)
    facts = read_facts()
    assert {facts.smt, facts.governor, facts.turbo, facts.quota_cores} == {None}
