"""`kpi=` and `[tool.rlperf.kpi.*]`: limits that hold without anything to compare with."""

import re

import pytest

from .projects import Ended, Workshop

TESTS = """
import pytest
from fakeclock import tick

MS = 1_000_000

@pytest.mark.rlperf(category="env", kpi="environment_step", steps=10)
def test_quick(rlperf):
    rlperf(tick, 2 * MS)

@pytest.mark.rlperf(category="env", kpi="environment_step")
def test_so_so(rlperf):
    rlperf(tick, 2 * MS)

@pytest.mark.rlperf(category="env", kpi=["environment_step", "memory_per_episode"])
def test_slow(rlperf):
    rlperf(tick, 8 * MS)

@pytest.mark.rlperf(category="rl", kpi="training_throughput")
def test_train(rlperf):
    rlperf.measure(lambda: tick(20 * MS), steps=1000)

@pytest.mark.rlperf(category="rl", kpi="training_throughput")
def test_train_without_steps(rlperf):
    rlperf(tick, MS)

@pytest.mark.parametrize(
    "checks",
    [
        pytest.param(True, marks=pytest.mark.rlperf(kpi="safety_overhead")),
        pytest.param(False, marks=pytest.mark.rlperf(kpi="safety_overhead:without")),
    ],
)
def test_episode(rlperf, checks):
    rlperf(tick, (1.5 if checks else 1) * MS)

@pytest.mark.rlperf(kpi="reset")
def test_reset(rlperf):
    rlperf(tick, 300_000)
"""
PYPROJECT = """
[tool.rlperf.kpi.reset]
metric = "time"
target = 500
alert = 900
unit = "us"

[tool.rlperf.kpi.compilation]
target = 3
"""


@pytest.fixture(scope="module")
def ended(workshop: Workshop) -> Ended:
    files = {"tests/test_perf.py": TESTS, "pyproject.toml": PYPROJECT}
    return workshop.project("kpi", files).run("--rlperf")


def statuses(ended: Ended) -> dict[tuple[str, str | None], str]:
    found = ended.result["kpis"]
    names = {k["nodeid"]: (k["nodeid"] or "::-").partition("::")[2] for k in found}
    return {(k["name"], names[k["nodeid"]]): k["status"] for k in found}


def test_every_claim_has_a_status(ended: Ended):
    assert statuses(ended) == {
        ("environment_step", "test_quick"): "met",
        ("environment_step", "test_so_so"): "missed",
        ("environment_step", "test_slow"): "alert",
        ("memory_per_episode", "test_slow"): "not_measured",
        ("training_throughput", "test_train"): "met",
        ("training_throughput", "test_train_without_steps"): "not_measured",
        ("safety_overhead", "test_episode[True]"): "alert",
        ("reset", "test_reset"): "met",
        ("compilation", "-"): "not_measured",
    }


def test_only_an_alert_fails_a_test(ended: Ended):
    assert ended.code == ended.result["exit_code"] == 1
    failed = re.findall(r"^FAILED tests/test_perf\.py::(\S+)", ended.text, re.MULTILINE)
    assert failed == ["test_slow", "test_episode[True]"]
    assert set(ended.outcomes.values()) == {"no_baseline"}  # limits are no verdict on a change


def test_a_failing_test_shows_value_limits_and_machine(ended: Ended):
    first, why, where = ended.section("test_slow").splitlines()
    assert re.fullmatch(
        r"KPI ALERT: environment_step is 8(\.0\d)? ± [\d.e-]+ ms a step, alert > 5 ms", first
    )
    assert why.endswith("the target is ≤ 1 ms")
    assert where == f"  measured on {machine(ended)}"


def machine(ended: Ended) -> str:
    facts = ended.result["fingerprint"]
    return f"{facts['cpu']}, {facts['cores']} core{'s' if facts['cores'] > 1 else ''}"


def test_the_table_names_the_machine_and_has_the_worst_first(ended: Ended):
    lines = ended.text.splitlines()
    title = f"KPIs on {machine(ended)}: 2 alert, 1 missed, 3 not measured, 3 met"
    rows = lines[lines.index(title) + 2 :][:9]
    words = [row.split("  ")[0] for row in rows]
    assert words == ["ALERT"] * 2 + ["missed"] + ["not measured"] * 3 + ["met"] * 3


def test_what_was_not_measured_says_why(ended: Ended):
    assert (
        "training_throughput: not measured: tests/test_perf.py::test_train_without_steps does not "
        "say how many steps a call makes" in ended.text
    )
    assert "compilation: not measured: no selected test claims it; mark one" in ended.text


def test_values_are_in_the_unit_of_the_kpi(ended: Ended):
    values = {k["nodeid"]: k["value"] for k in ended.result["kpis"] if k["value"] is not None}
    node = "tests/test_perf.py::{}".format
    assert values[node("test_quick")] == pytest.approx(0.2, rel=0.01)
    assert values[node("test_train")] == pytest.approx(50_000, rel=0.01)
    assert values[node("test_episode[True]")] == pytest.approx(50, rel=0.02)
    assert values[node("test_reset")] == pytest.approx(300, rel=0.01)


def test_categories_are_summed_up(ended: Ended):
    lines = ended.text.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("category  tests"))
    assert [line.split()[:2] for line in lines[first + 1 : first + 4]] == [
        ["env", "3"],
        ["rl", "2"],
        ["(none)", "3"],
    ]


TEST = "import pytest\n@pytest.mark.rlperf(kpi={!r})\ndef test_a(rlperf): rlperf(int)\n"


@pytest.mark.parametrize(
    ("claim", "pyproject", "sentence"),
    [
        (
            "enviroment_step",
            "",
            "test_a.py::test_a: there is no KPI 'enviroment_step'; "
            "did you mean 'environment_step'?",
        ),
        (
            "reset",
            "[tool.rlperf.kpi.reset]\nmetric = 'time'\ntarget = 9\nalert = 5\nunit = 's'\n",
            "pyproject.toml, [tool.rlperf.kpi.reset]: the target 9 lies beyond the alert 5, and of "
            "time lower is better; set the target below it.",
        ),
    ],
)
def test_a_kpi_that_cannot_be_obeyed_is_refused_before_measuring(
    workshop: Workshop, request: pytest.FixtureRequest, claim: str, pyproject: str, sentence: str
):
    files = {"test_a.py": TEST.format(claim), "pyproject.toml": pyproject}
    name = f"kpi-refused-{request.node.callspec.indices['claim']}"
    ended = workshop.project(name, files).refuse("--rlperf")
    assert ended.code == 4
    assert f"ERROR: rlperf: {sentence}" in ended.text.splitlines()


COMPILING = """
from fakeclock import tick

def work(calls=[0]):
    tick(({first_s} if not calls[0] else 0.001) * 1e9)
    calls[0] += 1
"""


def test_a_first_call_is_heads_and_not_the_bases(workshop: Workshop):
    test = "from lib import work\n" + TEST.format("compilation").replace("int", "work")
    base = {"test_a.py": test, "lib.py": COMPILING.format(first_s=19)}
    head = {"lib.py": COMPILING.format(first_s=2)}
    ended = workshop.project("kpi-first-call", base, head).measure()
    (kpi,) = ended.result["kpis"]
    assert kpi["status"] == "met"
    assert kpi["value"] == pytest.approx(2, rel=0.01)
    assert ended.code == 0


def test_without_measuring_a_kpi_changes_nothing(workshop: Workshop):
    files = {"test_a.py": TEST.format("no_such_kpi")}
    ended = workshop.project("kpi-plain", files).run(json_result=False)
    assert ended.code == 0
    assert "1 passed" in ended.text
