"""The differential flame graph: one file that needs nothing else."""

import re
import xml.etree.ElementTree as ET

from pytest_rlperf.model.profile import SideProfile
from pytest_rlperf.profile.attribution import ProfiledPair
from pytest_rlperf.profile.flamegraph import mean_stacks, render_flamegraph, write_flamegraph

SVG = "{http://www.w3.org/2000/svg}"
BASE = {
    ("a.py:train",): 100.0,
    ("a.py:train", "a.py:learn"): 100.0,
    ("a.py:train", "b.py:act"): 50.0,
}
HEAD = {**BASE, ("a.py:train", "a.py:learn"): 200.0, ("a.py:train", "b.py:act"): 30.0}


def boxes(svg: str) -> dict[str, ET.Element]:
    """Return the boxes by the name at the beginning of their tip."""
    found = {}
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        tip, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert tip is not None
        assert tip.text is not None
        assert rect is not None
        found[tip.text.partition(": ")[0]] = rect
    return found


def width(box: ET.Element) -> float:
    return float(box.attrib["width"])


def test_a_box_is_as_wide_as_its_share_of_heads_time():
    found = boxes(render_flamegraph("test", HEAD, BASE))
    assert width(found["all"]) == width(found["a.py:train"])
    assert abs(width(found["a.py:learn"]) / width(found["all"]) - 200 / 330) < 0.001


def test_a_function_stands_on_the_one_that_called_it():
    found = boxes(render_flamegraph("test", HEAD, BASE))
    assert float(found["a.py:learn"].attrib["y"]) < float(found["a.py:train"].attrib["y"])


def test_more_time_is_red_and_less_is_blue():
    found = boxes(render_flamegraph("test", HEAD, BASE))
    assert re.fullmatch("#ff(..)\\1", found["a.py:learn"].attrib["fill"])
    assert re.fullmatch("#(..)\\1ff", found["b.py:act"].attrib["fill"])


def test_names_are_shown_as_they_are_and_do_nothing():
    name = 'a.py:<lambda> "</svg><script>alert(1)</script>'
    svg = render_flamegraph("<b>&", {(name,): 10.0}, {})
    assert any(tip.startswith(name.partition(": ")[0]) for tip in boxes(svg))
    assert "<script" not in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def side(stacks: dict[tuple[str, ...], float]) -> SideProfile:
    return SideProfile({}, calls=1, computing=1.0, stacks=stacks)


def test_processes_are_averaged():
    assert mean_stacks([side({("f",): 10.0}), side({("f",): 30.0, ("g",): 4.0})]) == {
        ("f",): 20.0,
        ("g",): 2.0,
    }


def test_without_a_sample_there_is_no_file(tmp_path):
    assert write_flamegraph(tmp_path, "test", [ProfiledPair(side({}), side({}))]) is None
    assert list(tmp_path.iterdir()) == []


def test_the_files_name_says_which_test(tmp_path):
    pair = ProfiledPair(side(HEAD), side(BASE))
    path = write_flamegraph(tmp_path / "new", "tests/test_a.py::test_b[c/d]", [pair])
    assert path is not None
    assert path == tmp_path / "new" / "tests-test-a-py-test-b-c-d.svg"
    assert path.read_text(encoding="utf-8").startswith("<svg ")
