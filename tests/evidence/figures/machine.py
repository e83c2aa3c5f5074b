"""When, on which machine and with which versions a figure was taken."""

import platform
from datetime import UTC, datetime

import numba
import numpy as np

from pytest_rlperf.machine.fingerprint import cpu_name


def circumstances() -> str:
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {cpu_name()}, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    )
