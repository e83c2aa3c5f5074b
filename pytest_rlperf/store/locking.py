"""Locks on open files, which the kernel drops with the process that holds them."""

import time

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None
"""Whether this system has them."""
LOCK_WAIT_S = 30.0
"""For other writers: each takes milliseconds, or a second where the machine has no time for it, and
what it took minutes to measure would be lost."""
LOCK_POLL_S = 0.05


def try_lock(handle: int) -> bool:
    """Whether the file is ours now; False where another process holds it."""
    if fcntl is None:  # pragma: no cover - Windows
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(handle: int) -> bool:
    """False: another process holds it still. Without locks nobody is waited for."""
    until = time.monotonic() + LOCK_WAIT_S
    while LOCKS and not try_lock(handle):
        if time.monotonic() > until:
            return False
        time.sleep(LOCK_POLL_S)
    return True
