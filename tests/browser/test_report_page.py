"""report.html in a real browser: it opens from disk, asks for nothing, and obeys its reader."""

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageStat

from pytest_rlperf.report.page.document import render_page
from pytest_rlperf.report.page.markup import anchor
from tests.factories import run_result
from tests.sample_runs import BROKEN, EVERYTHING, SAME, SLOWER

from .__main__ import main
from .chromium import PAINTED, Page

OPENS_WITHIN_MS = 2000
PHONE, DESKTOP = 360, 1280
SHOWN = "#list > li"
REGRESSED = "[name=outcome][value=regressed]"


def wait_for(page: Page, condition: str) -> None:
    """Until it holds; a page that never gets there shows in `Connection`'s patience."""
    page.value(
        "new Promise((done) => { const look = () => "
        f"({condition}) ? done() : setTimeout(look, 10); look(); }})"
    )


def wait_for_text(page: Page, selector: str, text: str) -> None:
    wait_for(page, f"document.querySelector({selector!r}).textContent === {text!r}")


def wait_for_fragment(page: Page, fragment: str) -> None:
    wait_for(page, f"location.hash === {fragment!r}")


def test_it_opens_without_a_complaint_and_asks_nobody_for_anything(page: Page, report: str):
    page.open(report)
    page.value("document.querySelectorAll('img').forEach((image) => image.loading = 'eager')")
    page.value("Promise.all([...document.images].map((image) => image.decode()))")
    assert page.complaints == []
    assert [each for each in page.requested if not each.startswith("data:")] == [report]
    assert page.count(SHOWN) == len(EVERYTHING.tests)
    assert page.text("#count") == "13 tests"


def test_a_click_on_an_outcome_filters_and_is_kept_in_the_address(page: Page, report: str):
    page.open(report)
    page.click(REGRESSED)
    assert page.count(SHOWN) == page.count(f"{SHOWN}.regressed") == 3
    assert page.text("#count") == "3 of 13 tests"
    wait_for_fragment(page, "#outcome=regressed")
    page.click("[name=category][value=envs]")
    assert page.count(SHOWN) == 1
    page.click("#filter [type=reset]")
    assert page.count(SHOWN) == 13
    wait_for_fragment(page, "")


def test_the_keyboard_is_enough(page: Page, report: str):
    page.open(report)
    page.press("/")
    page.write("tictactoe NUMPY")
    assert page.count(SHOWN) == 1
    wait_for_fragment(page, "#q=tictactoe+NUMPY")
    for _ in "tictactoe NUMPY":
        page.press("Backspace")
    page.press("Tab")
    page.press(" ")
    assert page.value("document.activeElement.value") == "regressed"
    assert page.count(SHOWN) == 3
    assert page.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_filtered_view_can_be_linked(page: Page, report: str):
    page.open(f"{report}#q=test_a&outcome=unchanged&outcome=improved&category=mpi")
    assert page.count(SHOWN) == 3
    assert page.value("document.getElementById('q').value") == "test_a"
    page.value("location.hash = '#outcome=skipped'")
    wait_for_text(page, "#count", "1 of 13 tests")


def test_a_filter_that_nothing_fits_says_so(page: Page, report: str):
    page.open(f"{report}#q=no+such+test")
    assert page.count(SHOWN) == 0
    assert page.count("#none") == 1


@pytest.mark.parametrize("test", EVERYTHING.tests, ids=lambda test: test.nodeid)
def test_a_link_to_a_test_unfolds_it_and_shows_it(page: Page, report: str, test):
    page.open(f"{report}#{anchor(test.nodeid)}")
    found = f"document.getElementById({anchor(test.nodeid)!r})"
    assert page.value(f"{found}.querySelector('details').open")
    page.value(f"{PAINTED}.then(() => {PAINTED})")
    top = page.value(f"{found}.getBoundingClientRect().top")
    assert -5 <= top < page.value("innerHeight")
    assert page.count(SHOWN) == 13


def test_a_link_to_a_test_that_is_filtered_away_brings_it_back(page: Page, report: str):
    page.open(f"{report}#outcome=failed")
    assert page.count(f"#{anchor(SAME.nodeid)}") == 0
    page.value(f"location.hash = {anchor(SAME.nodeid)!r}")
    wait_for(page, f"document.querySelector('#{anchor(SAME.nodeid)} .body').checkVisibility()")


def test_the_name_of_a_test_in_a_table_leads_to_it(page: Page, report: str):
    page.open(report)
    page.click("#kpis td a")
    wait_for_fragment(page, f"#{anchor(SLOWER.nodeid)}")


def test_the_command_is_copied(page: Page, report: str):
    page.open(report)
    allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    page.connection.call("Browser.grantPermissions", permissions=allowed)
    page.click(f"#{anchor(SLOWER.nodeid)} .copy")
    wait_for_text(page, f"#{anchor(SLOWER.nodeid)} .copy", "Copied")
    assert page.value("navigator.clipboard.readText()") == SLOWER.repeat_command


def test_without_script_all_is_there_to_be_read(page: Page, report: str):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open(report)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert page.count(SHOWN) == 13
    assert page.count("#filter") == page.count(".copy") == 0
    page.click(f"#{anchor(SAME.nodeid)} summary")
    assert page.count(f"#{anchor(SAME.nodeid)} .body") == 1


READ_BY_NAME = frozenset({"button", "checkbox", "heading", "image", "link", "searchbox", "table"})


def test_a_screen_reader_has_a_name_for_all_that_it_stops_at(page: Page, report: str):
    """The names are read from the tree that the browser hands to one."""
    page.open(report)
    page.value("document.querySelectorAll('details').forEach((d) => d.open = true)")
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    read = [
        (node["role"]["value"], node["name"]["value"].strip())
        for node in nodes
        if not node["ignored"] and "name" in node
    ]
    assert {role for role, _ in read} >= {*READ_BY_NAME, "banner", "main", "navigation", "status"}
    assert [role for role, name in read if role in READ_BY_NAME and not name] == []
    assert [name for _, name in read if "▁" in name] == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, 700, DESKTOP])
def test_nothing_is_wider_than_the_screen(page: Page, report: str, width: int, dark: bool):
    page.look(width, dark=dark)
    page.open(report)
    page.click("#unfold")
    page.value("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert page.value("document.documentElement.scrollWidth") <= width


CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (rgb(colour)[3] === 255) return colour;
    }
    return "#ffffff";
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.matches("script, option")) continue;
    const style = getComputedStyle(e);
    const ink = light(e instanceof SVGElement ? style.fill : style.color);
    const paper = light(ground(e));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5) poor.push([e.className.baseVal ?? e.className, e.textContent, ratio]);
  }
  return poor;
})()
"""


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out_from_what_is_behind_them(page: Page, report: str, dark: bool):
    page.look(DESKTOP, dark=dark)
    page.open(report)
    page.value("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert page.value(CONTRAST) == []


def test_light_and_dark_differ(page: Page, report: str):
    grounds = []
    for dark in (False, True):
        page.look(DESKTOP, dark=dark)
        page.open(report)
        grounds.append(page.value("getComputedStyle(document.body).backgroundColor"))
    assert grounds[0] != grounds[1]


def test_a_nasty_name_is_a_name(page: Page, reports: Path):
    nasty = "t.py::</script><img src=x onerror=document.title='broken'>`${1}`\"'"
    run = run_result(replace(SLOWER, nodeid=nasty), replace(BROKEN, nodeid=f"{nasty}2"))
    file = reports / "nasty.html"
    file.write_text(render_page(run), encoding="utf-8")
    page.open(file.as_uri())
    assert page.text(".nodeid") == nasty
    assert page.value("document.title") == "Performance: 1 regressed, 1 failed"
    assert page.complaints == []


def test_hundreds_of_tests_open_within_two_seconds(page: Page, large_report: str):
    """Of what the browser itself spends, whatever else the machine does meanwhile."""
    page.call("Performance.enable", timeDomain="threadTicks")
    page.open(large_report)
    assert page.count(SHOWN) == 500
    spent = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
    assert spent["TaskDuration"] * 1000 < OPENS_WITHIN_MS


def test_pictures_for_people_are_taken_in_light_and_dark(reports: Path, report: str):
    folder = reports / "pictures"
    main(Path(report.removeprefix("file://")), folder)
    assert {path.stem for path in folder.iterdir()} >= {"desktop", "desktop-dark", "phone"}
    brightness = {}
    for name in ("desktop", "desktop-dark"):
        with Image.open(folder / f"{name}.png") as taken:
            assert taken.size == (DESKTOP, 1000)
            brightness[name] = ImageStat.Stat(taken.convert("L")).mean[0]
    assert brightness["desktop"] > 128 > brightness["desktop-dark"]
