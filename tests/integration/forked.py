"""Runs of pytest without the cost of a start: forked off this process, which has all it needs.

For runs that end before they measure. A third of a second each, they were a tenth of the suite.
"""

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import pytest_rlperf.gate.session  # noqa: F401  loaded once, here, and not by every child

CRASHED = 70


def run_forked(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> int:
    """The exit code of `pytest` with these arguments; what it prints goes to `output`."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = CRASHED
    try:
        code = _run(arguments, cwd, env, output)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # past the exit handlers, which are the parent's


def _run(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], output: Path) -> int:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    # The parent's own belong to its pytest, which captures what is written to them.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    sys.argv = ["pytest", *arguments]
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    return int(pytest.main(list(arguments)))
