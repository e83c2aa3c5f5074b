"""The README's pictures are what the records say, and can be read as words."""

import re
import tomllib
from xml.etree import ElementTree

import pytest

from pytest_rlperf.prove.rates import rate_of
from tests.docs.markdown import read_page
from tests.evidence.duet import play
from tests.evidence.picture.__main__ import drawn
from tests.evidence.picture.badges import badges
from tests.evidence.picture.shares import (
    DUETS,
    TRACK,
    VERDICTS,
    Row,
    draw,
    recorded,
    sentence,
)
from tests.evidence.picture.svg import FOLDER, ROOT
from tests.evidence.proof import records
from tests.evidence.proof.summary import percent, summarise

RENEW = "renew it with `python -m tests.evidence.picture`"
SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def test_a_picture_is_what_its_program_and_records_say():
    files = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")}
    assert files.keys() == drawn().keys()
    old = [name for name, text in drawn().items() if files[name] != text]
    assert old == [], RENEW


def test_the_readme_says_the_picture_in_words():
    assert sentence(recorded()) in " ".join(read_page("README.md").text.split()), RENEW


def test_the_rest_of_what_the_readme_says_of_the_picture_holds():
    text = " ".join(read_page("README.md").text.split())
    same = [r for r in play.read(DUETS) if r.load and r.tool == "hyperfine" and not r.truth]
    faster = sum(r.says_faster for r in same)
    assert f"Of the {len(same)} unchanged pairs it read {faster} more as *faster*" in text


@pytest.mark.parametrize("case", ["aa", "plus10", "every-4th"])
def test_the_readme_says_rates_and_bounds_as_they_are(case: str):
    figures = summarise([r for r in records.read(VERDICTS) if r.case == case and r.load])
    rate = figures.share("regressed")
    bound = f"at least {percent(rate.low)}" if rate.hits else f"at most {percent(rate.high)}"
    assert f"| {rate.hits} of {rate.n} | {bound} |" in read_page("README.md").text


def test_the_readme_says_what_a_verdict_takes():
    took = {
        case: summarise([r for r in records.read(VERDICTS) if r.case == case]).median_seconds
        for case in ("aa", "plus10")
    }
    text = " ".join(read_page("README.md").text.split())
    assert f"took {took['aa']:.1f} s each where nothing changed, {took['plus10']:.1f} s at" in text


def test_a_bar_is_as_long_as_its_share_and_none_is_drawn_for_nothing():
    row = Row("Tests", "pytest-rlperf", rate_of(0, 10), rate_of(5, 10))
    boxes = list(parsed(draw([row])).iter(f"{SVG}rect"))
    widths = [float(each.attrib["width"]) for each in boxes if each.attrib["class"] == "ours"]
    assert widths == [TRACK / 2]


def test_counts_stand_beside_the_bars_and_names_are_escaped():
    row = Row("Tests", "a <b> & c", rate_of(1, 3), rate_of(2, 3))
    said = [each.text for each in parsed(draw([row])).iter(f"{SVG}text")]
    assert {"1 of 3", "2 of 3", "a <b> & c"} <= set(said)


def test_every_tool_in_the_picture_was_measured():
    for row in recorded():
        assert row.unchanged.n >= 20
        assert row.slower.n >= 20


def test_badges_say_what_pyproject_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = [each.text for text in badges().values() for each in parsed(text).iter(f"{SVG}text")]
    assert said[1::2] == [project["version"], project["requires-python"], project["license"]]


def test_pictures_load_nothing_and_know_dark_mode():
    for path in FOLDER.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(?:href|src|url)\W", text) == []
    assert "prefers-color-scheme:dark" in draw(recorded())
