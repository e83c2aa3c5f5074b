"""The small charts: all that is drawn lies within the picture, where the numbers say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.history.records import ChangePoint, Creep, Signal, Trend, TrendPoint
from pytest_rlperf.model.metric import Interval
from pytest_rlperf.report.page.axes import (
    BYTES,
    PERCENT,
    PLAIN,
    SECONDS,
    TIME,
    WIDTH,
    Scale,
    spanning,
)
from pytest_rlperf.report.page.charts import (
    POINTS,
    Curve,
    IntervalRow,
    commits_chart,
    curves_chart,
    interval_chart,
    sides_chart,
    strip,
    thinned,
)
from tests.factories import examples
from tests.report.page.parsed import Parsed, parsed

MIB = 2**20
changes = st.floats(-0.99, 50)
sizes = st.floats(1, 1e12)
intervals = (
    st.tuples(changes, changes, changes).map(sorted).map(lambda v: Interval(v[1], v[0], v[2]))
)


def xs(found: Parsed) -> list[float]:
    drawn = [float(value) for value in found.values("x")]
    drawn += [float(x) for path in found.values("d") for x in re.findall(r"[ML]([-\d.]+) ", path)]
    return [
        *drawn,
        *(float(p.split(",")[0]) for all_ in found.values("points") for p in all_.split()),
    ]


def a_trend(levels: list[float], index: int | None, creeps: bool = False) -> Trend:
    """With a change at `index`; the last run failed where it rose."""
    points = tuple(
        TrendPoint(f"{i:040x}", "2030-01-01", 1e6, level, "regressed" if level > 0.25 else "")
        for i, level in enumerate(levels)
    )
    change = Interval(0.1, 0.05, 0.15)
    first, last = points[0].commit, points[-1].commit
    return Trend(
        "t.py::t",
        None,
        "time",
        "ns",
        Signal.REFERENCE,
        points,
        changes=() if index is None else (ChangePoint(first, last, index, change),),
        creep=Creep(first, last, len(points) - 1, change, 0.05) if creeps else None,
    )


def assert_within(chart: str) -> None:
    found = parsed(chart)
    assert xs(found)
    assert all(0 <= x <= WIDTH for x in xs(found))


@examples
@given(intervals, st.floats(0.001, 1), st.lists(changes, max_size=20))
def test_an_interval_is_drawn_within_the_picture(
    interval: Interval, threshold: float, blocks: list[float]
):
    assert_within(interval_chart("a", [IntervalRow(interval)], threshold=threshold, blocks=blocks))


@examples
@given(st.lists(sizes, min_size=1, max_size=12), st.lists(sizes, max_size=12))
def test_both_sides_are_drawn_within_the_picture(head: list[float], base: list[float]):
    assert_within(sides_chart("a", head, base, TIME, met=True))
    assert_within(sides_chart("a", head, base, BYTES))


@examples
@given(st.lists(st.tuples(sizes, sizes), min_size=2, max_size=200), st.booleans())
def test_curves_are_drawn_within_the_picture(points: list[tuple[float, float]], log: bool):
    assert_within(curves_chart("a", [Curve("head", "head", points)], PLAIN, BYTES, log=log))


@examples
@given(st.lists(changes, min_size=2, max_size=150), st.integers(1, 149), st.booleans())
def test_the_course_of_a_test_is_drawn_within_the_picture(
    levels: list[float], index: int, creeps: bool
):
    assert_within(commits_chart("a", a_trend(levels, index % len(levels), creeps)))


def test_a_change_is_marked_between_the_two_levels():
    found = parsed(commits_chart("a", a_trend([0.0, 0.0, 0.2, 0.2], 2)))
    points = [float(p.split(",")[0]) for p in found.values("points")[0].split()]
    (mark,) = [each["d"] for each in found.all("path") if each["class"] == "threshold"]
    assert points[1] < float(re.findall(r"M([\d.]+) ", str(mark))[0]) < points[2]


def test_runs_that_failed_and_creep_stand_out():
    chart = commits_chart("a", a_trend([0.0, 0.1, 0.2, 0.3], None, creeps=True))
    kinds = parsed(chart).values("class")
    assert kinds.count("dots run accent regressed") == 1
    assert kinds.count("whisker accent regressed") == 1
    assert "dots run accent regressed" not in commits_chart("a", a_trend([0.0, 0.0], None))


def test_only_the_newest_commits_are_drawn():
    (path,) = parsed(commits_chart("a", a_trend([0.0] * 140, 10))).values("points")
    assert len(path.split()) == 100


def test_zero_what_is_allowed_and_the_change_stand_in_their_order():
    found = parsed(interval_chart("a", [IntervalRow(Interval(0.1, 0.08, 0.12))], threshold=0.05))
    at = {given["class"]: str(given["d"]) for given in found.all("path")}
    names = ("zero", "threshold", "dots estimate accent")
    zero, allowed, change = (float(at[name][1:].split(" ")[0]) for name in names)
    assert zero < allowed < change


def test_a_change_beyond_the_reach_of_a_strip_ends_at_its_edge():
    found = parsed(strip(Interval(3.0, 2.9, 3.1), 0.05, reach=0.15))
    assert max(xs(found)) <= 120


def test_a_chart_says_what_it_shows():
    found = parsed(sides_chart("Time <a> call", [1.0], [], TIME))
    assert found.text_in("figcaption") == ["Time <a> call"]
    assert [each["aria-label"] for each in found.all("svg")] == ["Time <a> call"]


@pytest.mark.parametrize(("base", "met", "joined"), [(2, True, 2), (1, True, 0), (2, False, 0)])
def test_pairs_are_joined_only_where_they_met(base: int, met: bool, joined: int):
    found = parsed(sides_chart("a", [1.0, 2.0], [1.0, 2.0][:base], TIME, met=met))
    paths = [str(given["d"]) for given in found.all("path") if given["class"] == "pair"]
    assert "".join(paths).count("M") == joined


def test_bytes_are_round_in_their_own_unit():
    chart = curves_chart("a", [Curve("head", "head", [(0, 0), (9, 52 * MIB)])], SECONDS, BYTES)
    assert re.findall(r">(\d+ MiB)<", chart) == ["20 MiB", "40 MiB"]


def test_sizes_that_were_measured_stand_at_the_axis():
    curve = Curve("head", "head", [(256, 1e4), (1024, 1e5), (4096, 1e6)])
    chart = curves_chart("a", [curve], PLAIN, TIME, log=True, measured=True)
    assert {"256", "1024", "4096"} <= set(parsed(chart).text_in("text"))


@examples
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), min_size=1, max_size=500))
def test_a_thinned_curve_keeps_its_ends_and_its_peak(points: list[tuple[float, float]]):
    kept = thinned(points)
    assert len(kept) <= POINTS
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert max(y for _, y in kept) == max(y for _, y in points)


@examples
@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(1, 8))
def test_ticks_are_few_and_within_the_range(low: float, wide: float, most: int):
    wide = max(wide, abs(low) / 1e6)
    scale = Scale(low, low + wide, 0, 100)
    ticks = scale.ticks(most)
    assert len(ticks) <= most + 1
    assert all(low - wide / 100 <= tick <= low + wide * 1.01 for tick in ticks)


@pytest.mark.parametrize("values", [[0.0], [5.0], [-3.0, -3.0]])
def test_equal_values_have_a_scale_too(values: list[float]):
    scale = spanning(values, 10, 90)
    assert scale.at(values[0]) == pytest.approx(50)


def test_a_logarithmic_scale_spans_equal_factors_by_equal_lengths():
    scale = Scale(1, 10_000, 0, 100, log=True)
    assert [scale.at(value) for value in (1, 100, 10_000)] == pytest.approx([0, 50, 100])


def test_percents_have_a_sign_and_zero_has_none():
    assert [PERCENT.shown(value) for value in (-0.05, 0.0, 0.025)] == ["-5 %", "0", "+2.5 %"]
