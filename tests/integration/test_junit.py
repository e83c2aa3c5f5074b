"""The file of `--junitxml`, which CI systems and IDEs read."""

from xml.etree import ElementTree

import pytest

from .projects import Ended


@pytest.fixture(scope="module")
def cases(outcomes: Ended) -> dict[str, ElementTree.Element]:
    root = ElementTree.parse(outcomes.folder / "junit.xml").getroot()
    return {case.attrib["name"]: case for case in root.iter("testcase")}


def test_every_test_is_there_once(outcomes: Ended, cases: dict[str, ElementTree.Element]):
    assert set(cases) == set(outcomes.outcomes)


def test_a_regression_is_a_failure_with_its_evidence(cases: dict[str, ElementTree.Element]):
    failure = cases["test_slower"].find("failure")
    assert failure is not None
    assert "REGRESSED (medium): time +15.0 %" in (failure.text or "")
    assert "--rlperf-against=base" in (failure.text or "")


def test_a_failing_assertion_is_a_failure(cases: dict[str, ElementTree.Element]):
    failure = cases["test_wrong_result"].find("failure")
    assert failure is not None
    assert "learned too little" in (failure.text or "")


def test_a_skip_is_a_skip(cases: dict[str, ElementTree.Element]):
    skipped = cases["test_skipped"].find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "needs a GPU"


@pytest.mark.parametrize("name", ["test_same", "test_faster", "test_unsteady", "test_learn"])
def test_the_others_pass_and_carry_their_outcome(
    outcomes: Ended, cases: dict[str, ElementTree.Element], name: str
):
    case = cases[name]
    assert case.find("failure") is None
    properties = {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
    assert properties["rlperf_outcome"] == outcomes.outcomes[name]
