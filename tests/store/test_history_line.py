"""A line of the history survives the file; what is none is told with its place."""

import json

import pytest

from pytest_rlperf.model.history import ReferenceTime
from pytest_rlperf.store.history_line import line_of, read_history
from tests.factories import a_past, a_past_metric

WHOLE = a_past(
    base="b" * 40,
    committed="2030-01-01T00:00:00+00:00",
    category="agents",
    steal=0.02,
    drift=0.05,
    reference=ReferenceTime(1, {"interpreter": 0.5, "clock": 13.8}, {"interpreter": 1.0}),
    metrics=(a_past_metric(change=0.01, low=0.0, high=0.02, threshold=0.05),),
)


METRIC = json.loads(line_of(WHOLE))["metrics"][0]


def damaged(**fields: object) -> str:
    return json.dumps({**json.loads(line_of(WHOLE)), **fields})


def test_a_test_survives_its_line():
    tests = (a_past(), WHOLE)
    assert read_history("history", map(line_of, tests)).tests == tests


def test_a_line_has_no_blocks_and_no_line_end():
    line = line_of(WHOLE)
    assert "\n" not in line
    assert "head_blocks" not in line


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{half", "is no JSON (Expecting property name"),
        ("[" * 100_000, "is no JSON (maximum recursion depth"),
        ('{"schema": NaN}', "is no JSON (it holds NaN, which is no finite number); mend it"),
        (damaged(steal=1e999).replace("Infinity", "1e999"), "is no JSON (it holds 1e999"),
        (damaged(schema=99), "has schema 99, and this version reads up to 1; update pytest-rlperf"),
        (damaged(schema="1"), "is no line of a history; mend it or take it out"),
        ("[]", "is no line of a history"),
        (damaged(created="yesterday"), "is damaged at created"),
        (damaged(created="2030-01-02T03:04:05"), "is damaged at created"),
        (damaged(metrics=[{"name": "time"}]), "is damaged at metrics[0].unit"),
        (damaged(metrics=[{**METRIC, "low": -1.0}]), "is damaged at metrics[0].low"),
        (damaged(reference={"edition": 1}), "is damaged at reference.log_ratios"),
        (
            damaged(reference={"edition": 1, "log_ratios": {"clock": "1"}, "weights": {}}),
            "is damaged at reference.log_ratios.clock",
        ),
    ],
)
def test_a_line_that_is_none_is_told_with_its_place_and_the_others_are_read(line: str, said: str):
    past = read_history("history.jsonl", [line_of(a_past()), line, line_of(WHOLE)])
    assert past.tests == (a_past(), WHOLE)
    (trouble,) = past.troubles
    assert trouble.startswith(f"history.jsonl line 2 {said}")
    assert trouble.endswith(".")


def test_a_torn_end_is_told():
    past = read_history("history.jsonl", [line_of(WHOLE)], torn=b'{"sch')
    assert past.tests == (WHOLE,)
    assert past.troubles == (
        "history.jsonl ends in a line that was cut off; the next `rlperf history append` puts it "
        "aside.",
    )
