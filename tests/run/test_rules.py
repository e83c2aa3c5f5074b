"""A project's tables, applied to a run."""

import datetime
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.exemption import Exemption
from pytest_rlperf.model.kpi import Kpi, Metric, Status
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.project import Project
from pytest_rlperf.run.rules import Rules
from pytest_rlperf.run.selection import Scope
from tests.factories import a_test, block, run_result, verdict

DAY = datetime.date(2030, 1, 31)
NODE = "tests/perf/test_a.py::test_a"
RESET = Kpi("reset", Metric.TIME, target=1, alert=5, unit="ms")
RULES = Rules(
    Project(
        kpis={"reset": RESET},
        accepted=(
            Exemption(NODE, DAY, "new checks"),
            Exemption("tests/perf/test_gone.py::*", DAY, "new checks"),
            Exemption("elsewhere/test_b.py::*", DAY, "new checks"),
        ),
    ),
    DAY,
)
SLOWER = a_test(
    NODE,
    spec=Spec(kpi=("reset",)),
    verdict=verdict(Outcome.REGRESSED, "slower", (0.2, 0.1, 0.3)),
    blocks=(block([9 * 10**6], None),) * 3,
)


def test_a_run_gets_its_kpis_and_its_accepted_regressions():
    run = RULES.applied(run_result(SLOWER))
    assert [test.verdict.outcome for test in run.tests] == [Outcome.ACCEPTED]
    assert [result.status for result in run.kpis] == [Status.ALERT]


def test_claims_are_checked_against_the_projects_kpis():
    RULES.check({NODE: Spec(kpi=("reset",))})
    with pytest.raises(UsageError, match="there is no KPI 'rest'; did you mean 'reset'"):
        RULES.check({NODE: Spec(kpi=("rest",))})


def test_entries_without_a_test_are_named_only_where_all_tests_were_collected():
    run = run_result(SLOWER)
    (notice,) = RULES.notices(run, Scope(whole=True, places=(Path("tests/perf"),)))
    assert "'tests/perf/test_gone.py::*': no collected test matches it" in notice
    assert len(RULES.notices(run, Scope(whole=True, places=(Path(),)))) == 2
    assert RULES.notices(run, Scope(whole=False, places=(Path(),))) == ()
