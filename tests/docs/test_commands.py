"""Every command in the READMEs and docs is run by a test: nobody can add one silently."""

import ast
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from pytest_rlperf.commands import COMMANDS
from tests.docs.commands import Command, commands_of, shell_commands
from tests.docs.elsewhere import IN_CI, SHORTENED, TESTED
from tests.docs.markdown import ROOT, Page, pages
from tests.docs.walks.page_walk import File, is_install, programs, steps_of
from tests.docs.walks.test_walks import IN_SENTENCES, PAGES

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WALKED = frozenset({*PAGES, "docs/learning-gate.md", "docs/start.md", "docs/your-library.md"})


@lru_cache
def walked() -> frozenset[str]:
    steps = (step for page in pages() if page.name in WALKED for step in steps_of(page))
    return frozenset({*(s.text for s in steps if not isinstance(s, File)), *IN_SENTENCES})


def is_run(command: Command) -> bool:
    text = command.text
    known = text in TESTED or text in SHORTENED or text in IN_CI or text in walked()
    return known or is_install(text)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_command_is_run_by_a_test(page: Page):
    assert [command.text for command in commands_of(page) if not is_run(command)] == []


def test_the_table_names_no_command_that_is_gone():
    said = {command.text for page in pages() for command in commands_of(page)}
    assert sorted({*TESTED, *SHORTENED, *IN_CI, *IN_SENTENCES} - said) == []


@pytest.mark.parametrize("text", TESTED)
def test_the_test_that_is_named_exists(text: str):
    name, _, function = TESTED[text].partition("::")
    source = (ROOT / name).read_text(encoding="utf-8")
    names = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    assert function in names
    words = shlex.split(text)
    if words[0] == "rlperf":
        assert words[1] in COMMANDS


def test_what_runs_the_tests_is_what_ci_does():
    lines = (ROOT / ".ci/run").read_text().splitlines()
    assert {line.removesuffix(" &") for line in lines} >= IN_CI


# -- installing ---------------------------------------------------------------------------------


def installs() -> list[str]:
    found = (c.text for page in pages() for c in commands_of(page) if is_install(c.text))
    return [text for text in dict.fromkeys(found) if "pip install" in text]


def requirements() -> Iterator[str]:
    extras: dict[str, list[str]] = PYPROJECT["optional-dependencies"]
    yield from (each for extra in extras.values() for each in extra)
    yield from (ROOT / "requirements/torch.in").read_text().splitlines()


@pytest.mark.parametrize("text", installs())
def test_what_is_installed_is_ours_or_among_our_dependencies(text: str):
    words = [word for word in shlex.split(text.partition("install ")[2]) if word[0] not in "-."]
    known = {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in requirements()}
    for word in words:
        name, _, extra = word.rstrip("]").partition("[")
        assert name in {"pytest-rlperf", *known}
        assert not extra or extra in PYPROJECT["optional-dependencies"]


# -- finding them -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pytest --rlperf  # compare", [Command("pytest --rlperf")]),
        ("$ rlperf init\nwrote make\nmake it so", [Command("rlperf init")]),
        ("pytest a \\\n    -k b   # exit code 1", [Command("pytest a -k b", 1)]),
        ("change  95 % interval", []),
    ],
)
def test_commands_are_told_from_what_they_print(text: str, found: list[Command]):
    assert list(shell_commands(text.replace("\\\n", " ").splitlines())) == found


def test_programs_are_those_of_this_environment():
    assert programs()["PATH"].startswith(str(Path(sys.executable).parent))
