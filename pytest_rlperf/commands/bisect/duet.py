"""One question of a bisection: is this commit slower than that one? A run of pytest answers."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.commands.bisect.search import Answer
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.verdict import Interval, Outcome

ANSWERS = {
    Outcome.REGRESSED: Answer.SLOW,
    Outcome.ACCEPTED: Answer.SLOW,
    Outcome.UNCHANGED: Answer.FAST,
    Outcome.IMPROVED: Answer.FAST,
}
"""Of all others there is nothing to learn: it cannot be imported, fails, or cannot be told."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a duet gave."""

    answer: Answer
    reason: str
    interval: Interval | None

    @property
    def change(self) -> float:
        return self.interval.change if self.interval else 0.0


@dataclass(frozen=True, slots=True)
class Duets:
    """Of one test, which is taken from the working tree; each duet ends as soon as it is sure."""

    folder: Path
    nodeid: str
    pytest_args: tuple[str, ...]
    budget_s: float

    def compare(self, base: str, head: str, threshold: float) -> Compared:
        with tempfile.TemporaryDirectory(prefix="rlperf-bisect-") as folder:
            result = Path(folder) / "result.json"
            done = subprocess.run(
                self.command(base, head, threshold, result),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if not result.exists():
                raise UsageError(f"{self.nodeid} cannot be measured: {_error(done.stdout)}")
            return self._compared(json.loads(result.read_text(encoding="utf-8"))["tests"])

    def command(self, base: str, head: str, threshold: float, result: Path) -> list[str]:
        return [
            *(sys.executable, "-m", "pytest", "--rlperf", "--rlperf-profile=off"),
            f"--rlperf-against={base}",
            f"--rlperf-head={head}",
            f"--rlperf-threshold={threshold:.6f}",
            f"--rlperf-budget={self.budget_s:g}",
            f"--rlperf-json={result}",
            *self.pytest_args,
            self.nodeid,
        ]

    def _compared(self, tests: list[Mapping[str, Any]]) -> Compared:
        if len(tests) != 1:
            raise UsageError(
                f"{self.nodeid} names {len(tests)} performance tests; a bisection looks at one, "
                f"such as {tests[0]['nodeid']}."
            )
        metric = tests[0]["metrics"][0]
        interval = None
        if metric["change"] is not None:
            interval = Interval(metric["change"], metric["low"], metric["high"])
        answer = ANSWERS.get(Outcome(metric["outcome"]), Answer.SKIP)
        return Compared(answer, metric["reason"], interval)


def _error(output: str) -> str:
    """pytest's own sentence, which is on the last line that begins with ERROR."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    if errors:
        return errors[-1].removeprefix("ERROR:").strip().removeprefix("rlperf:").strip()
    return lines[-1] if lines else "pytest said nothing"
