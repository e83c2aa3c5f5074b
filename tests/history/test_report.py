"""Trends as text and as data."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.history.records import (
    ChangePoint,
    Creep,
    Flaky,
    Recent,
    Signal,
    Trend,
    TrendPoint,
)
from pytest_rlperf.history.report import (
    BLOCKS,
    MOST_POINTS,
    render_trends,
    render_trends_markdown,
    sparkline,
    trends_as_dict,
)
from pytest_rlperf.model.metric import Interval
from tests.factories import examples

POINTS = tuple(
    TrendPoint(f"{number:07x}".ljust(40, "0"), f"2030-01-0{number}", 1e6, level, "unchanged")
    for number, level in enumerate((0.0, 0.0, 0.1, 0.1, 0.1), start=1)
)
STEADY = Trend(
    "test_a.py::test_steady",
    category=None,
    metric="time",
    unit="ns",
    signal=Signal.REFERENCE,
    points=POINTS,
    recent=Recent(3, 2, 0.1, Interval(0.1, 0.08, 0.12)),
)
CHANGED = replace(
    STEADY,
    nodeid="test_a.py::test_changed",
    changes=(
        ChangePoint(POINTS[1].commit, POINTS[2].commit, 2, Interval(0.1, 0.08, 0.12)),
        ChangePoint(POINTS[3].commit, POINTS[4].commit, 4, Interval(-0.2, -0.22, -0.18)),
    ),
)
CREEPING = replace(
    STEADY,
    nodeid="test_a.py::test_creeping",
    metric="peak_rss",
    creep=Creep(POINTS[0].commit, POINTS[4].commit, 4, Interval(0.22, 0.19, 0.25), 0.05),
)
FLAKY = Flaky("test_a.py::test_flaky", "time", 20, 0.04, 0.05, 0.25, 0.03, None, ("steal",))


def test_a_quiet_history_is_a_table_and_a_sentence():
    assert render_trends([STEADY], []) == [
        "trend  last 3 against earlier   points  rests on         metric  test",
        "▁▁███  +10.0 % [+8.0, +12.0 %]  5       reference units  time    test_a.py::test_steady",
        "",
        "no change point and no creep.",
    ]


def test_creep_comes_first_then_the_newest_change():
    lines = render_trends([CHANGED, CREEPING], [])
    start = lines.index("") + 1
    assert lines[start : start + 3] == [
        "CREEP: test_a.py::test_creeping (peak_rss) +22.0 % [+19.0, +25.0 %] over 4 commits since "
        "0000001, and +5.0 % is allowed of one change",
        "better: test_a.py::test_changed -20.0 % [-22.0, -18.0 %] between 0000004 and 0000005",
        "WORSE: test_a.py::test_changed +10.0 % [+8.0, +12.0 %] between 0000002 and 0000003",
    ]
    assert "note: `rlperf bisect GOOD BAD -- NODEID` finds the one of several commits." in lines


def test_too_few_points_are_told_honestly():
    lines = render_trends([replace(STEADY, points=POINTS[:3], recent=None)], [])
    assert "too few to tell (3)" in lines[1]


def test_plain_times_claim_nothing_and_say_so():
    plain = replace(STEADY, signal=Signal.CLOCK, recent=Recent(3, 2, 0.3, None))
    lines = render_trends([plain], [])
    assert "+30.0 % (no claim)" in lines[1]
    assert lines[-1].startswith("note: plain times were taken in different hours")


def test_what_was_not_looked_for_is_told_with_what_to_install():
    lines = render_trends([replace(STEADY, changes=None)], [])
    assert "pip install 'pytest-rlperf[trends]'" in lines[-1]


def test_points_that_were_left_out_are_counted():
    lines = render_trends([replace(STEADY, left_out=2), replace(STEADY, left_out=3)], [])
    assert lines[-1].startswith("note: 5 points were left out, since they cannot be compared")


def test_flaky_tests_stand_with_their_cause():
    lines = render_trends([STEADY], [FLAKY])
    assert lines[-2:] == [
        "undecided  interval  allowed  steal  cause  test",
        "5 of 20    ±4.0 %    +5.0 %   3.0 %  steal  test_a.py::test_flaky",
    ]


def test_markdown_escapes_names():
    odd = replace(CHANGED, nodeid="test_a.py::test[a|b]")
    text = "\n".join(render_trends_markdown([odd], [replace(FLAKY, nodeid="a|b")]))
    assert "a|b" not in text
    assert "| ▁▁███ | +10.0 % [+8.0, +12.0 %] | 5 |" in text
    assert "- WORSE: <code>test" in text


def test_markdown_makes_no_link_of_what_a_metric_is_called():
    odd = replace(CHANGED, metric="[link](https://example.org)")
    for line in render_trends_markdown([odd], []):
        assert "https:" not in re.sub("`.*?`|<code>.*?</code>", "", line)


def test_markdown_makes_no_link_of_what_a_commit_is_called():
    change = ChangePoint("GH-12", "#34", 2, Interval(0.1, 0.08, 0.12))
    creep = Creep("@somebody", POINTS[4].commit, 4, Interval(0.22, 0.19, 0.25), 0.05)
    odd = replace(CHANGED, changes=(change,), creep=creep)
    text = "\n".join(render_trends_markdown([odd], []))
    assert "between `GH-12` and `#34`" in text
    assert "since `@someb" in text


def test_the_data_is_plain_json():
    found = trends_as_dict([CHANGED, CREEPING], [FLAKY], ["a line is damaged."])
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    assert found["schema"] == 1
    assert found["trends"][0]["changes"][0]["before"] == POINTS[1].commit
    assert found["trends"][1]["creep"]["commits"] == 4
    assert found["flaky"][0]["causes"] == ("steal",)
    assert found["troubles"] == ["a line is damaged."]


# A row of blocks.


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], "▁▂▃▄▅▆▇█"),
        ([1.0, 0.0], "█▁"),
        ([0.0, 0.0], "▅▅"),
        ([0.0, 0.001], "▄▅"),
    ],
)
def test_values_are_drawn_from_the_lowest_to_the_highest(values: list[float], drawn: str):
    assert sparkline(values) == drawn


@examples
@given(st.lists(st.floats(-1, 100), max_size=60))
def test_every_point_has_a_block_up_to_the_most_that_are_drawn(values: list[float]):
    drawn = sparkline(values)
    assert len(drawn) == min(len(values), MOST_POINTS)
    assert set(drawn) <= set(BLOCKS)
