"""What counts as a verdict of the gate, and which of the earlier ones are of the same kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_rlperf.launch.fingerprint import comparable
from pytest_rlperf.model.proof import Trial
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.verdict import COMPARED
from pytest_rlperf.run.partners import Partner
from pytest_rlperf.run.track import Benchmark


@dataclass(frozen=True, slots=True)
class Kind:
    """What two verdicts on a test must share to be counted together. The code under test is not in
    it: a side that is compared with itself is right about any code.
    """

    source_hash: str
    threshold: float
    facts: Mapping[str, Any]

    def holds(self, trial: Trial) -> bool:
        return (trial.source_hash, trial.threshold, trial.facts) == (
            self.source_hash,
            self.threshold,
            self.facts,
        )


def kinds_of(
    benchmarks: Sequence[Benchmark], partner: Partner, fingerprint: Mapping[str, Any]
) -> dict[str, Kind]:
    return {
        b.nodeid: Kind(
            b.source_hash,
            partner.gate(b.nodeid, b.spec, len(benchmarks)).threshold,
            _facts(fingerprint, b.spec.threads),
        )
        for b in benchmarks
    }


def _facts(fingerprint: Mapping[str, Any], threads: int) -> dict[str, Any]:
    return {
        **comparable(fingerprint, threads),
        "pinned": bool(fingerprint["pinned_to"]),
        "pytest-rlperf": fingerprint["libraries"].get("pytest-rlperf"),
    }


def counting(trials: Sequence[Trial], kinds: Mapping[str, Kind]) -> list[Trial]:
    return [t for t in trials if t.nodeid in kinds and kinds[t.nodeid].holds(t)]


def is_verdict(test: TestResult) -> bool:
    """Not of a test that failed, or for which there was no time at all."""
    return test.verdict.outcome in COMPARED and test.verdict.interval is not None
