"""Waiting that leaves the core to others: MPI's own keeps it busy, also from who is waited for.

Ranks may be more than cores: rank 0 of a central agent does little while others step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mpi4py.MPI import Request

# A message that is on its way takes less; who has to be waited for longer is not there yet.
AT_ONCE_S: Final = 200e-6
NAP_S: Final = 50e-6


def until(is_there: Callable[[], bool]) -> None:
    begin = time.perf_counter()
    while not is_there():
        if time.perf_counter() - begin > AT_ONCE_S:
            time.sleep(NAP_S)


def until_done(request: Request) -> None:
    until(request.Test)
