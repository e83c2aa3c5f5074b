"""A page, followed step by step: its files are written and its commands run, in its order."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.docs.commands import Command, block_commands
from tests.docs.elsewhere import IN_CI, SHORTENED, TESTED
from tests.docs.markdown import Block, Page
from tests.docs.walks.ready import ready_environment
from tests.integration.projects import Project

AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
}
INI = "pytest.ini"
QUICK = "rlperf_budget = 40\nrlperf_threshold = 40%\n"
"""Added to settings that a page writes: no test waits for minutes, or hangs on how noisy it is."""


@dataclass(frozen=True, slots=True)
class File:
    """A block that begins with its name in a comment."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Walked:
    """A command that was run, and what came of it."""

    command: Command
    code: int
    text: str


def steps_of(page: Page, section: str | None = None) -> Iterator[File | Command]:
    """What its reader does; commands that others run are left out."""
    for block in page.blocks:
        if section is None or block.section == section:
            yield from _steps(block)


def _steps(block: Block) -> Iterator[File | Command]:
    first = block.text.partition("\n")[0]
    if block.language in ("python", "ini") and first.startswith("# ") and "." in first:
        yield File(first.removeprefix("# ").strip(), block.text)
    elif block.language != "yaml":
        yield from (each for each in block_commands(block) if is_walked(each.text))


def is_walked(text: str) -> bool:
    known = text in TESTED or text in SHORTENED or text in IN_CI
    return not known and not is_install(text)


def is_install(text: str) -> bool:
    """Needs a network: what is installed is checked instead."""
    return "pip install" in text or text.startswith("pre-commit ")


def walk(project: Project, page: Page, section: str | None = None) -> list[Walked]:
    walked = []
    for step in steps_of(page, section):
        if isinstance(step, File):
            quick = QUICK if step.name == INI else ""
            project.write({step.name: step.text + quick})
            continue
        walked.append(run(project, step))
        assert walked[-1].code == step.code, f"{step.text}\n{walked[-1].text}"
    return walked


def run(project: Project, command: Command) -> Walked:
    """Run a command as a shell would, with this environment's programs."""
    env = {**programs(), **AUTHOR, "PYTEST_PLUGINS": "pytest_rlperf.plugin"}
    if command.text.startswith("make "):
        env["MAKEFLAGS"] = f"VENV={ready_environment(project.folder.parent)}"
    ended = project.start_command(["bash", "-c", command.text], env=env).wait()
    return Walked(command, ended.code, ended.text)


def programs() -> Mapping[str, str]:
    return {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
