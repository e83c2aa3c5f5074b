"""Which MPI there is. Asked in a child: importing mpi4py.MPI here would load the library, and
with it settings that the ranks would inherit.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

PATIENCE_S = 60.0
CURE = "pip install mpi4py mpich"

QUESTION = """
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
name, version = MPI.get_vendor()
print(json.dumps({
    "vendor": name,
    "version": ".".join(map(str, version)),
    "mpi4py": mpi4py.__version__,
    "ulfm": MPI.ERR_PROC_FAILED != MPI.ERR_UNKNOWN,
}))
"""


@dataclass(frozen=True, slots=True)
class Library:
    """What mpi4py was built for, or finds."""

    vendor: str
    version: str
    mpi4py: str
    ulfm: bool  # survives the loss of a rank, where the job asks for it

    def __str__(self) -> str:
        return f"{self.vendor} {self.version}"


@dataclass(frozen=True, slots=True)
class NoMpi:
    """Why there is none, and what cures that."""

    reason: str


@cache
def find_library(executable: str = sys.executable) -> Library | NoMpi:
    """Once a process: it takes as long as starting a rank."""
    if find_spec("mpi4py") is None:
        return NoMpi(f"mpi4py is not installed; {CURE}")
    try:
        asked = subprocess.run(
            [executable, "-c", QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return NoMpi("importing mpi4py.MPI does not return; look into your MPI's installation")
    return read_answer(asked.stdout, asked.stderr)


def read_answer(stdout: str, stderr: str) -> Library | NoMpi:
    try:
        return Library(**json.loads(stdout.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        last = (stderr.strip().splitlines() or ["it said nothing"])[-1]
        return NoMpi(f"mpi4py cannot be imported ({last}); {CURE}")
