"""The whole page: what stands in it, that it needs nothing else, and that nothing breaks out."""

import base64
import hashlib
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.history.records import History
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Failure, RunResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.page.document import INSTALL, render_page
from pytest_rlperf.report.page.markup import anchor
from pytest_rlperf.report.page.parts import ROOM_BYTES, Flame, load_flames
from tests.factories import a_test, examples, run_result, verdict
from tests.report.page.parsed import Parsed, parsed
from tests.sample_history import HISTORY
from tests.sample_runs import BROKEN, EVERYTHING, RANKS, SAME, SLOWER, UNSURE, WHY, many_tests

LARGEST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def whole() -> Parsed:
    notices = ["head imported lib from elsewhere"]
    return parsed(render_page(EVERYTHING, notices, history=HISTORY))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_colour(outcome: Outcome):
    (style,) = re.findall(r"<style.*?</style>", render_page(EVERYTHING, []), re.DOTALL)
    assert re.search(rf"\.{outcome}\b[^{{}}]*{{ --accent: var", style)


def test_the_verdict_comes_first(whole: Parsed):
    (said,) = whole.text_in("h1")
    assert (
        said == "3 of 13 tests slower or larger than allowed, 1 test failed, 2 without a verdict."
    )
    assert whole.text_in("title")[0].startswith("Performance: 3 regressed, 1 failed")


def test_tests_come_by_outcome_then_by_severity(whole: Parsed):
    assert whole.values("data-outcome")[:4] == ["regressed", "regressed", "regressed", "failed"]
    badges = re.findall("regressed · (high|medium)", whole.text)
    assert badges == ["high", "high", "medium"]


def test_a_test_that_fails_by_its_kpi_alone_stands_among_those_that_fail():
    alert = replace(EVERYTHING.kpis[0], nodeid=SAME.nodeid)
    found = parsed(render_page(run_result(UNSURE, SAME, SLOWER, kpis=(alert,))))
    assert found.values("data-outcome") == ["regressed", "unchanged", "inconclusive"]
    assert "KPI alert" in found.text_in("span")
    assert any(text.startswith("KPI ALERT: environment_step is 6.1") for text in found.text_in("p"))
    assert len([each for each in found.all("details") if "open" in each]) == 2
    assert "KPIs on Some CPU: 1 alert" in found.text_in("a")


def test_efficiency_that_was_lost_is_an_alarm_of_its_test():
    lost = verdict(Outcome.REGRESSED, "less efficient", (0.12, 0.1, 0.14))
    one, two, _ = EVERYTHING.scaling[0].rows
    table = replace(
        EVERYTHING.scaling[0],
        rows=(one, replace(two, efficiency=replace(two.efficiency, verdict=lost))),
    )
    found = parsed(render_page(run_result(*RANKS, scaling=(table,))))
    assert "efficiency lost" in found.text_in("span")
    assert anchor(RANKS[1].nodeid) == next(i for i in found.values("id") if i.startswith("t-"))


def test_slices_are_drawn_only_where_they_get_slower():
    assert SLOWER.drift is not None
    calm = replace(SLOWER.drift, head=replace(SLOWER.drift.head, matters=False))
    pages = [render_page(run_result(replace(SLOWER, drift=each))) for each in (SLOWER.drift, calm)]
    assert [page.count("From the first to the last") > 0 for page in pages] == [True, False]


def test_every_test_has_an_anchor_and_every_link_within_the_page_leads_somewhere(whole: Parsed):
    ids = whole.values("id")
    assert len(ids) == len(set(ids))
    assert {anchor(test.nodeid) for test in EVERYTHING.tests} <= set(ids)
    inside = [href[1:] for href in whole.values("href") if href.startswith("#")]
    assert set(inside) <= set(ids)


def test_headings_go_down_one_level_at_a_time(whole: Parsed):
    levels = [int(tag[1]) for tag, _ in whole.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_every_field_of_the_form_has_a_label(whole: Parsed):
    labelled = whole.values("for")
    loose = [field for field in whole.all("input") if field.get("type") != "checkbox"]
    assert [field["id"] for field in loose] == labelled


@pytest.mark.parametrize(
    "said",
    [
        "slower than the allowed +5.0 %, beyond doubt",
        "10 blocks of 8 sliced pairs, 2 calls a slice",
        "Changed: the source of rl_impls/tabular/arrays.py:ArrayLearner.learn",
        "72 %",
        "its source changed",
        "phases: learn adds +33.0 % of the whole call",
        "slices get slower as a block goes on",
        "CPU time +3",
        "held after the calls: rl_impls/replay/uniform.py:31 (12 MiB)",
        "peak_rss: more than the allowed 20.0 %",
        "exponent: grows faster with the size than the allowed",
        "AssertionError: learned <too> little",
        "printed by the test",
        "skipped: needs a GPU",
        "accepted until 2031-01-01: safer files",
        "the budget ran out after 8 blocks; raise --rlperf-budget (by the sums)",
        "6.1 ± 0.2 ms a step",
        "strong scaling of tests/perf/test_mpi.py::test_averaging[nprocs=*]",
        "it seems to be tests/perf/test_new.py::test_new now",
        "head imported lib from elsewhere",
        "numpy 2.4.6, numba 0.68.1",
        "pytest --rlperf tests/perf/test_gpu.py::test_gpu",
    ],
)
def test_all_that_is_known_is_told(whole: Parsed, said: str):
    assert said in " ".join(whole.text.split())


def test_a_reason_is_told_once():
    page = render_page(run_result(EVERYTHING.tests[3], against="main"))
    assert page.count("the budget ran out after 8 blocks") == 1


@pytest.mark.parametrize(
    "title",
    ["Change of time", "Time a call, block", "From the first", "Time a call over", "Memory over"],
)
def test_every_kind_of_chart_is_there(whole: Parsed, title: str):
    assert any(text.startswith(title) for text in whole.text_in("figcaption"))


# -- self-contained -----------------------------------------------------------------------------


def test_nothing_is_loaded_from_anywhere(whole: Parsed):
    assert set(whole.values("src")) | set(whole.values("srcset"))
    for address in (*whole.values("src"), *whole.values("srcset")):
        assert address.startswith("data:image/")
    assert [link["href"] for link in whole.all("link")] == ["data:,"]
    assert "url(" not in whole.text_in("style")[0]
    assert "@import" not in whole.text_in("style")[0]


def test_the_policy_lets_only_our_own_style_and_script_run(whole: Parsed):
    (policy,) = [m["content"] for m in whole.all("meta") if "http-equiv" in m]
    for kind in ("style", "script"):
        (text,) = whole.text_in(kind)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in str(policy)
    assert str(policy).startswith("default-src 'none';")
    assert "unsafe" not in str(policy)
    assert not whole.values("style")  # attributes would need leave
    assert not [name for _, names in whole.skeleton for name in names if name.startswith("on")]


def test_the_same_run_gives_the_same_page():
    assert render_page(EVERYTHING) == render_page(EVERYTHING)


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "pytest_rlperf.report.page.plots", raising=False)
    found = parsed(render_page(run_result(SAME, SLOWER)))
    assert INSTALL in found.text_in("li")
    assert "Overview" not in found.text_in("h2")
    assert not found.all("img")
    assert found.text_in("figcaption")


@pytest.mark.parametrize(("number", "kind"), [(4, "few"), (30, None)])
def test_choices_are_left_out_where_all_tests_are_seen_at_a_glance(number: int, kind: str | None):
    tests = [a_test(f"t.py::test_{n}") for n in range(number)]
    (form,) = parsed(render_page(run_result(*tests))).all("form")
    assert form.get("class") == kind


def test_hundreds_of_tests_stay_below_the_largest_size():
    run = many_tests(500)
    longest = max(HISTORY.trends, key=lambda trend: len(trend.points))
    past = tuple(replace(longest, nodeid=test.nodeid) for test in run.tests)
    page = render_page(run, history=History(past)).encode()
    assert len(page) < LARGEST_BYTES
    assert parsed(page.decode()).values("data-outcome").count("regressed") == 20


# -- escaping -----------------------------------------------------------------------------------


def bare_run(text: str) -> RunResult:
    """With that text wherever somebody else's text may stand."""
    broken = a_test(
        f"t.py::{text}",
        spec=Spec(category=text),
        verdict=verdict(Outcome.FAILED, text, threshold=None),
        failure=Failure(text, ((text, text),)),
        repeat_command=text,
    )
    unsure = a_test(
        f"u.py::{text}",
        spec=Spec(category=f"not {text}"),
        verdict=verdict(Outcome.INCONCLUSIVE, text, (0.1, 0.0, 0.2)),
        explanation=replace(WHY, note=text),
    )
    return run_result(broken, unsure, against=text, fingerprint={"cpu": text})


@examples
@given(st.text(min_size=1))
def test_no_name_or_reason_changes_the_structure_of_the_page(text: str):
    note = text.replace("`", "'")  # a part of a note between two of these is code
    found = parsed(render_page(bare_run(text), [note]))
    assert found.skeleton == parsed(render_page(bare_run("x"), ["x"])).skeleton


@pytest.mark.parametrize(
    "nasty",
    [
        "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</svg>",
        "<!--",
        "]]>",
    ],
)
def test_a_nasty_name_is_shown_as_it_is(nasty: str):
    found = parsed(render_page(bare_run(nasty)))
    assert nasty in found.text_in("code")
    assert len(found.all("script")) == 1


def test_a_nasty_name_is_shown_in_the_figures_too():
    nasty = [
        replace(each, nodeid=f"t.py::$x_$</text><\x00\n日 {i}")
        for i, each in enumerate((SAME, SLOWER))
    ]
    page = parsed(render_page(run_result(*nasty)))
    (address,) = page.values("src")
    svg = base64.b64decode(address.partition(",")[2]).decode()
    assert "$x_$&lt;/text&gt;" in svg
    assert "\x00" not in svg


# -- anchors and flame graphs -------------------------------------------------------------------


@examples
@given(st.text(), st.text())
def test_anchors_are_plain_and_tell_tests_apart(one: str, other: str):
    assert re.fullmatch("[a-z0-9-]+", anchor(one))
    assert (anchor(one) == anchor(other)) == (one == other)


def test_a_flame_graph_is_a_picture_and_a_link(tmp_path: Path):
    graph = tmp_path / "graph.svg"
    graph.write_text("<svg/>")
    test = replace(SLOWER, explanation=replace(WHY, graph=graph))
    flames = load_flames(run_result(test), tmp_path)
    assert flames == {
        test.nodeid: Flame("graph.svg", "data:image/svg+xml;base64,PHN2Zy8+"),
    }
    found = parsed(render_page(run_result(test), flames=flames))
    assert "graph.svg" in found.values("href")
    assert "data:image/svg+xml;base64,PHN2Zy8+" in found.values("src")


def test_flame_graphs_beyond_the_room_are_links_only(tmp_path: Path):
    tests = []
    for i in range(3):
        graph = tmp_path / f"{i}.svg"
        graph.write_text(f"<svg>{'x' * (ROOM_BYTES // 2 - 20)}</svg>")
        tests.append(replace(SLOWER, nodeid=f"t.py::{i}", explanation=replace(WHY, graph=graph)))
    flames = load_flames(run_result(*tests), tmp_path)
    assert [flame.picture is None for flame in flames.values()] == [False, False, True]


def test_a_flame_graph_that_is_gone_is_left_out(tmp_path: Path):
    test = replace(SLOWER, explanation=replace(WHY, graph=tmp_path / "gone.svg"))
    assert load_flames(run_result(test), tmp_path) == {}


@pytest.mark.parametrize("run", [run_result(), run_result(BROKEN, against=None, commit=None)])
def test_a_run_without_numbers_has_a_page_too(run: RunResult):
    assert parsed(render_page(run)).text_in("h1") == ["Nothing was compared."]
