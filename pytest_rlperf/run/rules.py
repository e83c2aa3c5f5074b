"""What a project rules for its tests: KPIs they claim, regressions it accepts for a while."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_rlperf.judge.accepted import stale_entries, with_accepted
from pytest_rlperf.judge.kpis import judge_kpis
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.project import Project, check_claims
from pytest_rlperf.run.selection import Scope


@dataclass(frozen=True, slots=True)
class Rules:
    """The tables of a project, applied to a run."""

    project: Project
    today: datetime.date

    def check(self, specs: Mapping[str, Spec]) -> None:
        check_claims({nodeid: spec.kpi for nodeid, spec in specs.items()}, self.project.kpis)

    def applied(self, run: RunResult) -> RunResult:
        return replace(
            run,
            tests=with_accepted(run.tests, self.project.accepted, self.today),
            kpis=judge_kpis(run.tests, self.project.kpis, self.project.expected),
        )

    def notices(self, run: RunResult, scope: Scope) -> tuple[str, ...]:
        """Entries that can go, which is known only of the part of the suite that was collected."""
        if not scope.whole:
            return ()
        entries = [entry for entry in self.project.accepted if scope.holds(entry.pattern)]
        return tuple(stale_entries(entries, [test.nodeid for test in run.tests], self.today))
