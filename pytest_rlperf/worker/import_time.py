"""How long modules take to be imported: in a fresh process, since a worker has them already."""

import json
import subprocess
import sys
from collections.abc import Sequence

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.wire import Job
from pytest_rlperf.worker import import_child


def import_ns(names: Sequence[str], job: Job, seconds: float) -> float:
    """Own time of importing `names`, one after the other, on the side of `job`."""
    order = {
        "names": list(names),
        "sys_path": list(sys.path),  # conftests may have added to it
        "head_tree": job.head_tree,
        "tree": job.tree,
        "import_roots": list(job.import_roots),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", import_child.__file__],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=max(1.0, seconds),
        )
    except subprocess.TimeoutExpired:
        raise _refusal(names, f"it takes more than {seconds:.0f} s") from None
    if done.returncode:
        raise _refusal(names, (done.stderr.strip() or "no output").splitlines()[-1])
    told = json.loads(done.stdout)
    if told["foreign"]:
        raise _refusal(names, told["foreign"])
    return float(told["own_ns"])


def _refusal(names: Sequence[str], why: str) -> FixtureError:
    return FixtureError(
        f"imports={', '.join(names)} cannot be timed in a fresh process: {why}; "
        "name modules that can be imported without the test."
    )
