"""How long modules take to be imported: in a fresh process, since a worker has them already.

The process runs this same file by path and with `-P`, so that nothing but this file decides what is
importable. At its top it therefore imports little: what is loaded here costs the modules nothing.
"""

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pytest_rlperf.errors import FixtureError
    from pytest_rlperf.wire import Job


class ImportOrder(TypedDict):
    """The modules to import one after the other, and where they may come from."""

    names: list[str]
    sys_path: list[str]
    head_tree: str
    tree: str
    import_roots: list[str]


class ImportAnswer(TypedDict):
    """The own time of the imports, and what is wrong with where they came from."""

    own_ns: int
    foreign: str | None


def import_ns(names: Sequence[str], job: "Job", seconds: float) -> float:
    """Return the own time of importing `names`, one after the other, on the side of `job`."""
    import subprocess

    order: ImportOrder = {
        "names": list(names),
        "sys_path": list(sys.path),  # conftests may have added to it
        "head_tree": job.head_tree,
        "tree": job.tree,
        "import_roots": list(job.import_roots),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", __file__],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=max(1.0, seconds),
        )
    except subprocess.TimeoutExpired:
        raise _refusal(names, f"it takes more than {seconds:.0f} s") from None
    if done.returncode:
        raise _refusal(names, (done.stderr.strip() or "no output").splitlines()[-1])
    answer: ImportAnswer = json.loads(done.stdout)
    if answer["foreign"]:
        raise _refusal(names, answer["foreign"])
    return float(answer["own_ns"])


def _refusal(names: Sequence[str], why: str) -> "FixtureError":
    from pytest_rlperf.errors import FixtureError

    return FixtureError(
        f"imports={', '.join(names)} cannot be timed in a fresh process: {why}; "
        "name modules that can be imported without the test."
    )


def measure(order: ImportOrder) -> ImportAnswer:
    """Import the modules and return how long that took, in the fresh process.

    The measuring code is imported before the tree's own modules can be, as in a worker.
    """
    sys.path[:] = order["sys_path"]
    from pytest_rlperf.trees.imports import explain, foreign_imports, install_tree_finder
    from pytest_rlperf.worker.clock import SystemClock

    head_tree, tree, roots = order["head_tree"], order["tree"], order["import_roots"]
    install_tree_finder(head_tree, tree, roots)
    clock = SystemClock()
    clock.start()
    for name in order["names"]:
        import_module(name)
    elapsed = clock.stop()
    foreign = foreign_imports(tree, head_tree, roots, sys.modules)
    return {"own_ns": elapsed.own_ns, "foreign": explain(foreign) if foreign else None}


if __name__ == "__main__":
    answer_fd = os.dup(1)
    os.dup2(2, 1)  # what modules print while they are imported is no answer
    os.write(answer_fd, json.dumps(measure(json.load(sys.stdin))).encode())
