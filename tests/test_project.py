"""`[tool.rlperf]` of pyproject.toml: what is read, and one sentence for every mistake."""

import datetime
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.kpi import BUILT_IN, Kpi, KpiMetric
from pytest_rlperf.project import Exemption, Project, check_claims, read_project

KPIS = {kpi.name: kpi for kpi in BUILT_IN}


def project(folder: Path, text: str) -> Project:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return read_project(folder)


@pytest.mark.parametrize("text", [None, "", "[tool.other]\nx = 1\n", "[tool.rlperf]\n"])
def test_without_tables_there_are_the_built_in_kpis(tmp_path: Path, text: str | None):
    found = read_project(tmp_path) if text is None else project(tmp_path, text)
    assert found == Project(kpis=KPIS)


def test_a_project_adds_kpis_of_its_own(tmp_path: Path):
    text = """
    [tool.rlperf.kpi.reset]
    metric = "time"
    target = 20
    alert = 100
    unit = "µs"
    direction = "lower"
    """
    found = project(tmp_path, text)
    assert found.kpis == {**KPIS, "reset": Kpi("reset", KpiMetric.TIME, 20.0, 100.0, "µs")}
    assert found.expected == {"reset"}


def test_a_built_in_kpi_keeps_what_its_table_does_not_name(tmp_path: Path):
    found = project(tmp_path, "[tool.rlperf.kpi.environment_step]\ntarget = 0.5\n")
    kpi = found.kpis["environment_step"]
    assert kpi == Kpi("environment_step", KpiMetric.STEP_TIME, 0.5, 5.0, "ms")


def test_a_metric_with_one_unit_needs_none(tmp_path: Path):
    text = '[tool.rlperf.kpi.rate]\nmetric = "throughput"\ntarget = 20\nalert = 10\n'
    assert project(tmp_path, text).kpis["rate"].unit == "steps/s"


RESET = {"metric": '"time"', "target": "20", "alert": "100", "unit": '"ms"'}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"traget": "3"}, "unknown key 'traget'; did you mean 'target'?"),
        ({"metric": None}, "metric is missing; add it."),
        ({"alert": None}, "alert is missing; add it."),
        ({"unit": None}, "unit is missing; add it."),
        ({"metric": '"tim"'}, "'tim' is no metric; did you mean 'time'?"),
        (
            {"metric": "3"},
            "3 is no metric; there are time, step_time, first_call, throughput, memory, overhead.",
        ),
        ({"target": '"20 ms"'}, "target is '20 ms', which is no number above 0; "),
        ({"target": "true"}, "target is True, which is no number above 0; "),
        ({"target": "0"}, "target is 0, which is no number above 0; "),
        ({"alert": "inf"}, "alert is inf, which is no number above 0; "),
        ({"alert": "nan"}, "alert is nan, which is no number above 0; "),
        (
            {"target": "200"},
            "the target 200 lies beyond the alert 100, and of time lower is better; "
            "set the target below it.",
        ),
        ({"unit": '"MB"'}, "'MB' is no unit of the metric 'time'; write 'ns' or 'us' or "),
        ({"unit": "3"}, "'3' is no unit of the metric 'time'; "),
        ({"direction": '"higher"'}, "direction is 'higher', but of time lower is better; "),
        ({"direction": '"up"'}, "direction is 'up', but of time lower is better; "),
    ],
)
def test_a_kpi_that_cannot_be_obeyed_is_refused(
    tmp_path: Path, change: dict[str, str | None], sentence: str
):
    values = {key: value for key, value in {**RESET, **change}.items() if value is not None}
    lines = ["[tool.rlperf.kpi.reset]", *(f"{key} = {value}" for key, value in values.items())]
    with pytest.raises(UsageError) as caught:
        project(tmp_path, "\n".join(lines))
    assert str(caught.value).startswith(f"pyproject.toml, [tool.rlperf.kpi.reset]: {sentence}")


def test_a_throughput_is_better_above_its_alert(tmp_path: Path):
    text = "[tool.rlperf.kpi.training_throughput]\ntarget = 50\n"
    with pytest.raises(UsageError, match="of throughput higher is better; set the target above it"):
        project(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[tool.rlperf.kpis.a]\n", "[tool.rlperf]: unknown key 'kpis'; did you mean 'kpi'?"),
        ("[tool]\nrlperf = 3\n", "tool.rlperf is 3, which is no table; write [tool.rlperf]."),
        ("[tool.rlperf]\nkpi = []\n", "tool.rlperf.kpi is a list, which is no table; "),
        ("[tool.rlperf.kpi]\nreset = 5\n", "tool.rlperf.kpi.reset is 5, which is no table; "),
        ('[tool.rlperf.kpi."a:b"]\n', "[tool.rlperf.kpi.a:b]: a KPI's name holds no colon; "),
    ],
)
def test_a_table_out_of_place_is_refused(tmp_path: Path, text: str, sentence: str):
    with pytest.raises(UsageError) as caught:
        project(tmp_path, text)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("pyproject.toml")


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"pyproject.toml cannot be read \(.*\); correct it\.$"):
        project(tmp_path, "[tool.rlperf\n")


def test_accepted_regressions_are_read_in_their_order(tmp_path: Path):
    text = """
    [tool.rlperf.accepted]
    "test_a.py::test_a" = { until = 2030-01-31, reason = " waiting for numpy 3 " }
    "test_b.py::*" = { until = 2030-02-28, reason = "new checks", allowed = "30%" }
    """
    assert project(tmp_path, text).accepted == (
        Exemption("test_a.py::test_a", datetime.date(2030, 1, 31), "waiting for numpy 3"),
        Exemption("test_b.py::*", datetime.date(2030, 2, 28), "new checks", 0.3),
    )


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ('"later"', "'later' is no entry; write { until = 2030-01-31, "),
        ('{ reason = "r" }', "until is missing; add the last day it holds."),
        ('{ until = "soon", reason = "r" }', "until is 'soon', which is no date; "),
        ('{ until = 2030, reason = "r" }', "until is 2030, which is no date; "),
        (
            '{ until = 2030-01-31T10:00:00, reason = "r" }',
            "until is 2030-01-31T10:00:00, which is no date; ",
        ),
        ("{ until = 2030-01-31 }", "a reason is missing; say why it is accepted."),
        ('{ until = 2030-01-31, reason = " " }', "a reason is missing; "),
        ("{ until = 2030-01-31, reason = 3 }", "a reason is missing; "),
        (
            '{ until = 2030-01-31, reason = "r", allowed = "some" }',
            "allowed is 'some', which is no allowed slowdown; ",
        ),
        (
            '{ until = 2030-01-31, reason = "r", alowed = "5%" }',
            "unknown key 'alowed'; did you mean 'allowed'?",
        ),
    ],
)
def test_an_entry_that_cannot_be_obeyed_is_refused(tmp_path: Path, entry: str, sentence: str):
    with pytest.raises(UsageError) as caught:
        project(tmp_path, f"[tool.rlperf.accepted]\n'test_a.py::test_a' = {entry}\n")
    where = "pyproject.toml, [tool.rlperf.accepted], 'test_a.py::test_a': "
    assert str(caught.value).startswith(where + sentence)


def test_claims_of_known_kpis_pass():
    check_claims(
        {
            "a": ("environment_step", "training_throughput"),
            "b": ("environment_step",),
            "c": ("safety_overhead",),
            "d": ("safety_overhead:without",),
        },
        KPIS,
    )


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("enviroment_step", "there is no KPI 'enviroment_step'; did you mean 'environment_step'?"),
        ("xyzzy", "there is no KPI 'xyzzy'; there are environment_step, policy_forward, "),
        ("xyzzy:without", "there is no KPI 'xyzzy'; "),
        (
            "compilation:without",
            "'compilation:without' makes sense for an overhead only, and 'compilation' is of the "
            "metric 'first_call'; write kpi='compilation'.",
        ),
    ],
)
def test_a_claim_that_cannot_be_obeyed_is_refused(claim: str, sentence: str):
    with pytest.raises(UsageError) as caught:
        check_claims({"test_a.py::test_a": (claim,)}, KPIS)
    assert str(caught.value).startswith(f"test_a.py::test_a: {sentence}")


def test_an_overhead_has_one_test_without():
    claims = {"one": ("safety_overhead:without",), "two": ("safety_overhead:without",)}
    with pytest.raises(UsageError, match=r"^two: one is 'safety_overhead:without' already, "):
        check_claims(claims, KPIS)
