"""`rlperf upgrade 'numpy==2.5.0' -- tests/perf`: which tests another version makes slower."""

import argparse
import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pytest_rlperf.environments.environment import describe
from pytest_rlperf.environments.report import render_differences
from pytest_rlperf.environments.upgraded import Upgrade, make_upgraded
from pytest_rlperf.errors import UsageError
from pytest_rlperf.leaving import run_to_its_end, temporary_folder
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.metrics import render_change
from pytest_rlperf.report.result_file import read_run
from pytest_rlperf.trees.cache import cache_folder

OWN = "VIRTUAL_ENV", "PYTHONHOME"
"""Variables that speak of this environment."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--python",
        metavar="3.13",
        help="another version of Python: what uv finds or fetches, else what is installed",
    )
    parser.add_argument(
        "words",
        metavar="REQUIREMENT ... -- PYTEST-ARGUMENT",
        nargs=argparse.REMAINDER,
        help="what to install, as pip takes it; after -- the tests, and options of pytest",
    )


def run(arguments: Namespace) -> int:
    upgrade, pytest_args = _wishes(arguments.python, arguments.words)
    python = make_upgraded(upgrade, cache_folder(os.environ), lambda text: _say(f"{text} …"))
    describe(python)  # which refuses what workers cannot be run by
    with temporary_folder("upgrade") as folder:
        env = _variables(python)
        result = _own_result(pytest_args)
        if result is None:  # by a variable, so that no command names it that is to be repeated
            result = folder / "result.json"
            added = shlex.join([f"--rlperf-json={result}"])
            env["PYTEST_ADDOPTS"] = f"{env.get('PYTEST_ADDOPTS', '')} {added}".strip()
        before = _written(result)
        done = run_to_its_end(command(python, pytest_args), env=env)
        if _written(result) != before:
            for line in render_upgrade(read_run(result)[0]):
                _say(line)
    return done.returncode


def _own_result(pytest_args: Sequence[str]) -> Path | None:
    """Return the file that the user wants the result in."""
    option = "--rlperf-json"
    files: list[str] = []
    for word, after in pairwise([*pytest_args, ""]):
        if word == option:
            files.append(after)
        elif word.startswith(f"{option}="):
            files.append(word.removeprefix(f"{option}="))
    return Path(files[-1]) if files else None


def _written(file: Path) -> int | None:
    """Return when the file was written; None: it is not there."""
    return file.stat().st_mtime_ns if file.exists() else None


def _wishes(python: str | None, words: Sequence[str]) -> tuple[Upgrade, list[str]]:
    """Tell what to install from what pytest gets; refuse what changes nothing."""
    split = words.index("--") if "--" in words else len(words)
    requirements, pytest_args = words[:split], list(words[split + 1 :])
    if option := next((word for word in requirements if word.startswith("-")), None):
        raise UsageError(
            f"{option} stands after a requirement; write --python before them, and options of "
            "pytest after --."
        )
    if "--" not in words and (path := next((w for w in requirements if Path(w).exists()), None)):
        raise UsageError(f"{path} is a file or a folder; write -- before what is for pytest.")
    if not requirements and python is None:
        raise UsageError(
            "there is nothing to upgrade; name a requirement, such as 'numpy==2.5.0', or --python."
        )
    return Upgrade(tuple(requirements), python), pytest_args


def command(python: Path, pytest_args: Sequence[str]) -> list[str]:
    """Return what measures: head is the new environment, so that slower means by the upgrade."""
    return [
        *(str(python), "-m", "pytest", "--rlperf"),
        f"--rlperf-against-python={sys.executable}",
        *pytest_args,
    ]


def _variables(python: Path) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name not in OWN}
    path = os.pathsep.join([str(python.parent), env.get("PATH", os.defpath)])
    return env | {"PATH": path, "VIRTUAL_ENV": str(python.parents[1])}


def render_upgrade(run: RunResult) -> Iterator[str]:
    """Yield which distributions differ, and which tests got slower by it."""
    both = run.environments
    differing = () if both is None else both.distributions
    yield f"{len(differing)} distributions differ{':' if differing else ''}"
    yield from (f"  {line}" for line in render_differences(differing))
    slower = [test for test in run.tests if test.outcome is Outcome.REGRESSED]
    for test in slower:
        worst = next(metric for metric in test.judged if metric.outcome is Outcome.REGRESSED)
        yield f"slower by it: {test.nodeid} {render_change(worst)} of {worst.name}"
    if not slower:
        yield "no test was called slower by it" if run.compared else "nothing was compared"


def _say(text: str) -> None:
    print(f"rlperf upgrade: {text}", flush=True)
