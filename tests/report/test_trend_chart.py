"""A trend as inline SVG: well-formed, escaped, and readable without colours."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from pytest_rlperf.model.trend import Trend
from pytest_rlperf.report.trend_chart import HEIGHT, WIDTH, render_trend_chart
from tests.report.test_trend import CHANGED, CREEPING, POINTS, STEADY


def drawn(trend: Trend) -> ElementTree.Element:
    return ElementTree.fromstring(render_trend_chart(trend))


def titles(trend: Trend, kind: str) -> list[str]:
    return [found.findtext("title", "") for found in drawn(trend).iter(kind)]


def test_every_point_tells_its_commit_its_date_and_its_change():
    told = titles(STEADY, "circle")
    assert len(told) == len(POINTS)
    assert told[2] == "0000003, 2030-01-03: +10.0 %"


def test_worse_is_higher():
    circles = list(drawn(STEADY).iter("circle"))
    assert float(circles[-1].attrib["cy"]) < float(circles[0].attrib["cy"])


@pytest.mark.parametrize("points", [1, 2, 5])
def test_all_points_lie_within_the_drawing(points: int):
    for circle in drawn(replace(STEADY, points=POINTS[:points])).iter("circle"):
        assert 0 <= float(circle.attrib["cx"]) <= WIDTH
        assert 0 <= float(circle.attrib["cy"]) <= HEIGHT


def test_a_change_is_a_band_between_its_commits():
    (worse, better) = drawn(CHANGED).iter("rect")
    circles = [float(circle.attrib["cx"]) for circle in drawn(CHANGED).iter("circle")]
    assert float(worse.attrib["x"]) == pytest.approx(circles[1])
    assert float(worse.attrib["width"]) == pytest.approx(circles[2] - circles[1], abs=0.2)
    assert worse.attrib["fill"] != better.attrib["fill"]
    assert titles(CHANGED, "rect")[0] == "+10.0 % [+8.0, +12.0 %] between 0000002 and 0000003"


def test_a_change_at_the_first_link_of_a_chain_is_drawn_too():
    first = replace(CHANGED.changes[0], before="f" * 40, after=POINTS[0].commit, index=0)  # type: ignore[index]
    (band,) = drawn(replace(CHANGED, changes=(first,))).iter("rect")
    assert float(band.attrib["width"]) > 0


def test_a_creep_is_a_line_from_where_it_began():
    assert any("over 4 commits since 0000001" in told for told in titles(CREEPING, "line"))


def test_what_is_drawn_is_told_to_those_who_do_not_see():
    label = drawn(CHANGED).attrib["aria-label"]
    assert drawn(CHANGED).attrib["role"] == "img"
    assert label.startswith("time of test_a.py::test_changed over 5 commits; rests on reference")
    assert "+10.0 % [+8.0, +12.0 %] between 0000002 and 0000003" in label


def test_names_are_escaped():
    name = 'test[<script>"&]'
    assert name in drawn(replace(STEADY, nodeid=name)).attrib["aria-label"]
    assert "<script>" not in render_trend_chart(replace(STEADY, nodeid=name))
