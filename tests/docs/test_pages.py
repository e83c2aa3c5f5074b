"""The pages of the docs: blocks that the reader copies can be read, links lead somewhere, and what
the pages name exists: options, settings, folders, findings and advice.
"""

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from pytest_rlperf.commands.doctor import CHECKS, HostFacts
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.report.evidence import RULES
from tests.docs.markdown import ROOT, Page, pages, read_page
from tests.docs.reference.options import recorded, twin

READERS: dict[str, Callable[[str], object]] = {
    "python": ast.parse,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}
OPTION = re.compile(r"(?<![\w-])--rlperf(?:-[a-z]+)*")
SETTING = re.compile(r"(?<![\w.])rlperf_[a-z_]+\b(?!\()")
FIXTURES = frozenset({"rlperf_learning", "rlperf_memory", "rlperf_mpi", "rlperf_size"})
FOLDER = re.compile(r"`((?:tests|pytest_rlperf|rl_impls)/[\w./]+)`")
MADE_UP = frozenset(
    {"tests/perf/test_buffer.py", "tests/perf/test_first.py", "tests/test_url_benchmarks.py"}
)
"""Files of the reader's own project, and of others."""
QUIET = HostFacts(
    cores=0, sees_delay=False, smt=True, governor="powersave", turbo=True, quota_cores=0.5,
    steal=0.3, load=9.0, drift=0.5, git=False, fixed_addresses=False,
)  # fmt: skip
LONELY = HostFacts(
    cores=1, sees_delay=True, smt=False, governor=None, turbo=None, quota_cores=None,
    steal=0.0, load=0.0, drift=0.0, git=True, fixed_addresses=True,
)  # fmt: skip


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_blocks_can_be_read_by_what_they_are_for(page: Page):
    for block in page.blocks:
        if block.language in READERS:
            READERS[block.language](dedent(block.text).replace("…", "..."))


def test_the_readme_is_read_in_minutes():
    assert len(read_page("README.md").text.splitlines()) <= 150


@pytest.mark.parametrize("path", sorted((ROOT / "docs/pictures").iterdir()), ids=lambda p: p.name)
def test_a_picture_is_small_and_shown_by_some_page(path: Path):
    assert path.stat().st_size < 150_000
    assert any(link.endswith(f"pictures/{path.name}") for page in pages() for link in page.links)


# -- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Page):
    for target in page.links:
        if "://" not in target:
            check(page, *target.partition("#")[::2])


def check(page: Page, name: str, anchor: str) -> None:
    path = (page.path.parent / name).resolve() if name else page.path
    assert path.exists(), f"{page.name} links to {name}, which is not there"
    if anchor:
        there = read_page(str(path.relative_to(ROOT)))
        assert anchor in there.anchors, f"{page.name} links to {name}#{anchor}"


def test_every_page_is_in_the_table_of_contents():
    lines = {line for block in read_page("docs/index.md").blocks for line in block.text.split()}
    names = {page.path.stem for page in pages() if page.name.startswith("docs/")}
    assert names - {"index"} <= lines


# -- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_options_and_settings_exist(page: Page):
    known = recorded()
    assert {*OPTION.findall(page.text)} <= {*known.options}
    settings = {*known.settings, *map(twin, known.options), *FIXTURES}
    assert {*SETTING.findall(page.text)} <= settings


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_files_of_this_repository_exist(page: Page):
    named = {name for name in FOLDER.findall(page.sentences) if name not in MADE_UP}
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_map_names_every_folder_of_the_code():
    page = read_page("docs/contributing.md")
    named = set(FOLDER.findall(page.text))
    for package in ("pytest_rlperf", "rl_impls", "tests"):
        for path in (ROOT / package).iterdir():
            if path.is_dir() and any(path.rglob("*.py")):
                assert f"{package}/{path.name}" in named


def test_the_map_names_every_module_beside_the_folders():
    page = read_page("docs/contributing.md")
    modules = {path.name for path in (ROOT / "pytest_rlperf").glob("[a-z]*.py")}
    assert {f"pytest_rlperf/{name}" for name in modules} <= set(FOLDER.findall(page.text))


def test_the_glossary_has_a_row_for_every_outcome():
    lines = read_page("docs/glossary.md").text.splitlines()
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| `")]
    assert rows == [f"| `{outcome}`" for outcome in Outcome]


def test_the_advice_after_a_run_is_on_the_page():
    text = read_page("docs/advice.md").text.replace("`", "")
    for rule in RULES:
        assert f"| {rule.finding} | {rule.remedy.replace('`', '')} |" in text


def test_whatever_hurts_measuring_has_a_row():
    rows = [line.split(" | ") for line in read_page("docs/advice.md").text.splitlines()]
    said = [row[0].removeprefix("| ") for row in rows if len(row) == 2]
    findings = [check(facts) for facts in (QUIET, LONELY) for check in CHECKS]
    hurting = [finding.text for finding in findings if finding is not None and finding.hurts]
    assert len(hurting) == len(CHECKS)
    for text in hurting:
        assert any(words in text for words in said), text
