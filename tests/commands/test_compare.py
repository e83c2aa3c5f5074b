"""`rlperf compare`: two results side by side, and what may not be made of them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf import cli
from pytest_rlperf.commands.compare import side_by_side
from pytest_rlperf.model.metric import Metric, Outcome
from pytest_rlperf.report.result_file import run_as_dict, write_json
from tests.factories import a_test, block, examples, run_result, verdict

MS = 10**6
FACTS = {"cpu": "Some CPU", "python": "3.11.7", "libraries": {"numpy": "2.1"}, "pinned_to": [0]}

OLDER = run_result(
    a_test("t.py::fast", blocks=(block([2 * MS], None),), steps=10, source_hash="a"),
    a_test("t.py::slow", blocks=(block([4 * MS], None),), source_hash="a"),
    a_test("t.py::old", blocks=(block([1 * MS], None),)),
    fingerprint=FACTS,
)
NEWER = run_result(
    a_test("t.py::fast", blocks=(block([1 * MS], None),), steps=10, source_hash="b"),
    a_test(
        "t.py::slow",
        blocks=(block([5 * MS], None),),
        verdict=verdict(Outcome.REGRESSED, "slower"),
        source_hash="a",
    ),
    a_test("t.py::new", blocks=(block([1 * MS], None),), steps=3),
    fingerprint=FACTS,
    against=None,
    commit=None,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "a.json", run_as_dict(OLDER, 0))
    write_json(tmp_path / "b.json", run_as_dict(NEWER, 1))
    return tmp_path


TEXT = """\
A: a.json, 2030-01-02T03:04:05+00:00, commit fffffff, judged against main (1a2b3c4)
B: b.json, 2030-01-02T03:04:05+00:00

metric      A              B               change   verdict in A  in B       test
time        4 ms           5 ms            +25.0 %  unchanged     regressed  t.py::slow
time        2 ms           1 ms            -50.0 %  unchanged     unchanged  t.py::fast
throughput  5,000 steps/s  10,000 steps/s  -50.0 %  unchanged     unchanged  t.py::fast

only in A: t.py::old
only in B: t.py::new
not the same test any more: t.py::fast

These are two runs at two moments: the change holds whatever else was different then, and is no \
verdict. For one, compare with a revision (--rlperf-against) or a stored baseline.
"""


@pytest.mark.usefixtures("folder")
def test_both_values_their_change_and_both_verdicts_stand_side_by_side(
    capsys: pytest.CaptureFixture[str],
):
    assert cli.main(["compare", "a.json", "b.json"]) == 0
    assert capsys.readouterr().out == TEXT


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("limit", "code", "said"),
    [
        ("20%", 1, ["beyond +20.0 %: time +25.0 % t.py::slow"]),
        ("0.2", 1, ["beyond +20.0 %: time +25.0 % t.py::slow"]),
        ("25%", 0, []),
    ],
)
def test_a_change_beyond_the_limit_fails_where_one_was_given(
    limit: str, code: int, said: list[str], capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["compare", "a.json", "b.json", f"--fail-on={limit}"]) == code
    assert capsys.readouterr().out == TEXT + "".join(f"{line}\n" for line in said)


@pytest.mark.usefixtures("folder")
def test_a_limit_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["compare", "a.json", "b.json", "--fail-on=much"]) == 4
    assert "--fail-on is 'much', which is no allowed slowdown" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_missing_is_told(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["compare", "a.json", "nowhere.json"]) == 4
    assert capsys.readouterr().err.startswith("rlperf: nowhere.json does not exist; ")


def test_other_conditions_are_said_loudly_before_the_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    other = {"cpu": "Other CPU", "python": "3.13.1", "libraries": {"numpy": "2.2", "numba": "0.60"}}
    write_json(folder / "b.json", {**run_as_dict(NEWER, 1), "fingerprint": other})
    assert cli.main(["compare", "a.json", "b.json"]) == 0
    assert capsys.readouterr().out.splitlines()[2:8] == [
        "DIFFERENT CONDITIONS: a change below may come from these alone",
        "  cpu: Some CPU in A, Other CPU in B",
        "  python: 3.11.7 in A, 3.13.1 in B",
        "  numpy: 2.1 in A, 2.2 in B",
        "  numba: unknown in A, 0.60 in B",
        "",
    ]


def test_results_without_a_common_test_compare_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    write_json(folder / "b.json", run_as_dict(run_result(a_test("t.py::x"), fingerprint=FACTS), 0))
    assert cli.main(["compare", "a.json", "b.json"]) == 6
    assert "NOTHING WAS COMPARED" in capsys.readouterr().out


def test_what_was_not_measured_has_no_change(folder: Path, capsys: pytest.CaptureFixture[str]):
    failed = a_test("t.py::slow", verdict=verdict(Outcome.NO_BASELINE, "it failed"))
    fast = a_test("t.py::fast", blocks=(block([2 * MS], None),))
    write_json(folder / "b.json", run_as_dict(run_result(failed, fast, fingerprint=FACTS), 0))
    assert cli.main(["compare", "a.json", "b.json", "--fail-on=1%"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "time 4 ms not measured unchanged no baseline t.py::slow" in lines
    assert "only in A: t.py::fast (throughput in steps/s)" in lines


def content(value: float, direction: str) -> dict[str, Any]:
    metric = {"name": "x", "unit": "u", "direction": direction, "value": value, "outcome": "failed"}
    return {"fingerprint": {}, "tests": [{"nodeid": "t", "metrics": [metric]}]}


values = st.floats(1e-3, 1e12)


@examples
@given(values, values)
def test_worse_is_positive_whatever_the_direction(a: float, b: float):
    (lower,) = side_by_side(content(a, "lower"), content(b, "lower")).differences
    (higher,) = side_by_side(content(b, "higher"), content(a, "higher")).differences
    assert lower.change == higher.change
    assert lower.change is not None
    assert (lower.change > 0) == (b / a > 1)


def test_a_number_without_a_unit_is_compared_too(folder: Path, capsys: pytest.CaptureFixture[str]):
    for name, exponent in (("a.json", 1.0), ("b.json", 1.5)):
        metric = Metric("exponent", verdict(), value=exponent)
        test = a_test("t.py::grows", blocks=(block([MS], None),), beside=(metric,))
        write_json(folder / name, run_as_dict(run_result(test), 0))
    assert cli.main(["compare", "a.json", "b.json"]) == 0
    assert "exponent  1     1.5   +50.0 %" in capsys.readouterr().out
