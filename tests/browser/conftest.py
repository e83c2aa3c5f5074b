"""One browser for all tests of this folder, and reports for it to open."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.page.document import render_page
from tests.sample_history import HISTORY
from tests.sample_runs import EVERYTHING, many_tests

from .chromium import Connection, Page, running


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with running(tmp_path_factory.mktemp("chromium") / "profile") as connection:
        yield connection


@pytest.fixture
def page(browser: Connection) -> Iterator[Page]:
    found = Page.new(browser)
    found.look(1280)
    yield found
    found.call("Page.close")


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def _written(folder: Path, name: str, run: RunResult) -> str:
    file = folder / name
    page = render_page(run, ["head imported lib from elsewhere"], history=HISTORY)
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="session")
def report(reports: Path) -> str:
    """The address of a page with every kind of outcome and evidence."""
    return _written(reports, "report.html", EVERYTHING)


@pytest.fixture(scope="session")
def large_report(reports: Path) -> str:
    return _written(reports, "large.html", many_tests(500))
