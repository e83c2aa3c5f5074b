"""The files that `rlperf init` writes."""

from importlib import resources

SETTINGS = {"rlperf_budget": "300"}
"""The allowed slowdown is left out: its default depends on what is compared with."""
WHY = "# Seconds that `pytest --rlperf` may take."

CHECKOUT = """\
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
"""
PYTHON = """\
          persist-credentials: false
      - uses: actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0
        with:
          python-version: "<python>"
"""

WORKFLOW = f"""\
name: performance

on:
  pull_request:
  push:
    branches: ["<branch>"]
  schedule:
    - cron: "17 3 * * 1" # a full run every week, also where nothing was pushed

permissions: {{}}

concurrency:
  group: ${{{{ github.workflow }}}}-${{{{ github.ref }}}}
  # What the main branch measures is kept, so it is measured to its end.
  cancel-in-progress: ${{{{ github.event_name == 'pull_request' }}}}

jobs:
  compare:
    name: Performance against the merge base
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 20
    permissions:
      contents: read
    steps:
{CHECKOUT}\
          # The merge base has to be in the clone.
          fetch-depth: 0
{PYTHON}\
      - run: python -m pip install <install>
      - uses: ./.github/actions/rlperf
        with:
          arguments: tests/perf

  record:
    name: History and baselines of the main branch
    if: github.event_name != 'pull_request'
    runs-on: ubuntu-latest
    timeout-minutes: 40
    permissions:
      contents: write # the branch rlperf-data
    steps:
{CHECKOUT}\
          # The branch rlperf-data has to be in the clone.
          fetch-depth: 0
{PYTHON}\
      - run: python -m pip install <install>
      - uses: ./.github/actions/rlperf
        with:
          task: record
          arguments: tests/perf
          # Without one it is that of your settings.
          budget: ${{{{ github.event_name == 'schedule' && '1800' || '' }}}}
"""

COMMENT_WORKFLOW = f"""\
# The second half of rlperf.yml: a job of a fork gets no token that may write, so it leaves its report
# as an artifact, and this workflow, which is always that of the main branch, comments.
name: performance-comment

on:
  # Nothing that a pull request wrote is run here: its report is read as data, and checked.
  workflow_run: # zizmor: ignore[dangerous-triggers]
    workflows: [performance]
    types: [completed]

permissions: {{}}

concurrency:
  group: ${{{{ github.workflow }}}}-${{{{ github.event.workflow_run.head_repository.full_name }}}}-${{{{ github.event.workflow_run.head_branch }}}}
  cancel-in-progress: true

jobs:
  comment:
    name: Comment on the pull request
    if: github.event.workflow_run.event == 'pull_request' && github.event.workflow_run.conclusion != 'cancelled'
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
      actions: read # the artifact of the other run
      contents: read
      pull-requests: write # the comment
    steps:
{CHECKOUT}{PYTHON}\
      # To comment it needs no other package, so none gets near the token.
      - run: python -m pip install --no-deps pytest-rlperf<version>
      - uses: ./.github/actions/rlperf
        with:
          task: comment
"""  # noqa: E501

IMPORT_TEST = '''\
"""Performance tests: `pytest --rlperf` measures them, plain `pytest` runs each of them once.

The first one watches how long the package takes to import. Others look the same: hand `rlperf` a
function of <package> with its arguments, and check what it returns.
"""

import importlib
import sys
from types import ModuleType
from unittest.mock import patch


def import_afresh(name: str) -> ModuleType:
    """Run the modules of the package again; what they depend on stays loaded."""
    for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
        del sys.modules[loaded]
    return importlib.import_module(name)


def test_import(rlperf):
    with patch.dict(sys.modules):  # other tests keep the modules they know
        module = rlperf(import_afresh, "<package>")
    assert module.__name__ == "<package>"
'''

EXAMPLE_TEST = '''\
"""Performance tests: `pytest --rlperf` measures them, plain `pytest` runs each of them once.

This one sorts numbers, which shows the gate at work and watches nothing of yours. Others look the
same: hand `rlperf` a function of your own with its arguments, and check what it returns.
"""

import random

import pytest


@pytest.fixture
def numbers():
    rng = random.Random(7)  # the same on both sides
    return [rng.random() for _ in range(10_000)]


@pytest.mark.rlperf(category="example", steps=10_000)
def test_sorting(rlperf, numbers):
    found = rlperf(sorted, numbers)
    assert found[0] == min(numbers)
'''


def render_workflow(python: str, install: str, branch: str) -> str:
    text = WORKFLOW.replace("<python>", python).replace("<install>", install)
    return text.replace("<branch>", branch)


def render_comment_workflow(python: str, version: str) -> str:
    return COMMENT_WORKFLOW.replace("<python>", python).replace("<version>", f"=={version}")


def render_action() -> str:
    """Read the action of this version: a copy needs no address, and changes when you say."""
    return resources.files(__package__).joinpath("action.yml").read_text(encoding="utf-8")


def render_test(package: str | None) -> str:
    return EXAMPLE_TEST if package is None else IMPORT_TEST.replace("<package>", package)


def render_toml() -> str:
    lines = [f'{name} = "{value}"' for name, value in SETTINGS.items()]
    return "\n".join(["[tool.pytest.ini_options]", WHY, *lines]) + "\n"


def render_ini(section: str = "pytest") -> str:
    lines = [f"{name} = {value}" for name, value in SETTINGS.items()]
    return "\n".join([f"[{section}]", WHY, *lines]) + "\n"
