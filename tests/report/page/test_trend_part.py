"""What the page says of the history: findings, charts and a table, of the tests of this run."""

from dataclasses import replace

import pytest

from pytest_rlperf.history.records import History
from pytest_rlperf.history.trend import STOLEN
from pytest_rlperf.report.page.document import render_page
from pytest_rlperf.report.page.markup import anchor
from pytest_rlperf.report.page.parts import DRAWN
from tests.factories import run_result
from tests.report.page.parsed import Parsed, parsed
from tests.sample_history import HISTORY
from tests.sample_runs import ACCEPTED, EVERYTHING, FASTER, SAME, SLOWER, UNSURE


def shown(history: History | None) -> Parsed:
    return parsed(render_page(EVERYTHING, history=history))


@pytest.fixture(scope="module")
def page() -> Parsed:
    return shown(HISTORY)


def findings(page: Parsed) -> list[str]:
    return [text for text in page.text_in("li") if text.startswith(("CREEP", "WORSE", "better"))]


def charts(page: Parsed) -> list[str]:
    return [text for text in page.text_in("figcaption") if "last 3 against earlier" in text]


def test_creep_and_changes_are_told_with_their_commits(page: Parsed):
    creep, *changes = findings(page)
    assert creep.startswith(f"CREEP: {SLOWER.nodeid} +")
    assert "over 20 commits since 0000000, and +5.0 % is allowed of one change" in creep
    assert [text.split(" +")[0] for text in changes] == [
        f"WORSE: {SAME.nodeid}",
        f"WORSE: {UNSURE.nodeid}",
    ]
    assert " between 0000013 and 0000014" in changes[0]


def test_tests_with_a_finding_are_drawn_first(page: Parsed):
    names = [text.split(",")[0] for text in charts(page)]
    assert names[0] == SLOWER.nodeid
    assert {*names[1:3]} == {SAME.nodeid, UNSURE.nodeid}
    assert {*names[3:]} == {FASTER.nodeid, ACCEPTED.nodeid}


def test_few_points_are_told_honestly(page: Parsed):
    (title,) = [text for text in charts(page) if text.startswith(ACCEPTED.nodeid)]
    assert title.endswith("last 3 against earlier too few to tell (2)")


def test_of_many_charts_the_rest_is_counted():
    many = [replace(SAME, nodeid=f"t.py::test[{number}]") for number in range(DRAWN + 6)]
    (steady,) = (trend for trend in HISTORY.trends if trend.nodeid == FASTER.nodeid)
    history = History(tuple(replace(steady, nodeid=test.nodeid) for test in many))
    page = parsed(render_page(run_result(*many), history=history))
    assert len(charts(page)) == DRAWN
    assert any(text.endswith("6 more are in the table only.") for text in page.text_in("p"))


def test_a_table_has_all_of_them_without_pictures_made_of_letters(page: Parsed):
    cells = page.text_in("td")
    assert cells.count("reference units") == 3
    assert cells.count("duets in a chain") == 2
    assert "▁" not in page.text


def test_flaky_tests_stand_with_their_cause(page: Parsed):
    assert "Flakiest, over the last runs" in page.text_in("caption")
    assert STOLEN in page.text_in("td")


def test_lines_that_could_not_be_read_are_told(page: Parsed):
    assert HISTORY.troubles[0] in page.text_in("li")


def test_tests_that_are_not_in_this_run_are_left_out():
    page = parsed(render_page(run_result(SAME), history=HISTORY))
    assert [text.split(",")[0] for text in charts(page)] == [SAME.nodeid]
    assert {link for link in page.values("href") if link.startswith("#test")} <= {
        "#tests",
        f"#{anchor(SAME.nodeid)}",
    }


@pytest.mark.parametrize("history", [None, History()])
def test_without_a_history_there_is_no_such_part(history: History | None):
    assert "trends" not in shown(history).values("id")
    assert "Trends" not in shown(history).text_in("a")
