"""The files that `rlperf init` writes."""

SETTINGS = {"rlperf_budget": "300"}
"""The allowed slowdown is left out: its default depends on what is compared with."""
WHY = "# Seconds that `pytest --rlperf` may take."

WORKFLOW = """\
name: performance

on:
  pull_request:

permissions: {}

concurrency:
  group: ${{ github.workflow }}-${{ github.ref }}
  cancel-in-progress: true

jobs:
  duet:
    name: Performance against the merge base
    runs-on: ubuntu-latest
    timeout-minutes: 20
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
          # The merge base has to be in the clone.
          fetch-depth: 0
          persist-credentials: false
      - uses: actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0
        with:
          python-version: "<python>"
      - run: python -m pip install <install>
      - name: Duet
        env:
          # A branch may be named anything, so its name reaches the shell as data only.
          BASE_REF: ${{ github.base_ref }}
        run: >-
          python -m pytest
          --rlperf
          --rlperf-against="origin/${BASE_REF}..."
          --rlperf-report=rlperf-report
          tests/perf
      - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2
        if: ${{ !cancelled() }}
        with:
          name: rlperf-report
          path: rlperf-report
          if-no-files-found: warn
"""

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


def render_workflow(python: str, install: str) -> str:
    return WORKFLOW.replace("<python>", python).replace("<install>", install)


def render_test(package: str | None) -> str:
    return EXAMPLE_TEST if package is None else IMPORT_TEST.replace("<package>", package)


def render_toml() -> str:
    lines = [f'{name} = "{value}"' for name, value in SETTINGS.items()]
    return "\n".join(["[tool.pytest.ini_options]", WHY, *lines]) + "\n"


def render_ini(section: str = "pytest") -> str:
    lines = [f"{name} = {value}" for name, value in SETTINGS.items()]
    return "\n".join([f"[{section}]", WHY, *lines]) + "\n"
