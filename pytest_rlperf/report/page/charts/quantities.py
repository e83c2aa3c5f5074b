"""How the numbers at an axis are written, and in which unit they are round."""

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_rlperf.model.quantity import BYTE_SIZES, format_bytes, format_time
from pytest_rlperf.report.page.charts.drawing import Words

BINARY = tuple(BYTE_SIZES[unit] for unit in ("GIB", "MIB", "KIB"))


@dataclass(frozen=True, slots=True)
class Quantity:
    shown: Words
    binary: bool = False

    def unit(self, values: Iterable[float]) -> float:
        """Bytes are written in KiB, MiB and GiB, so that is where they are round."""
        most = max(map(abs, values))
        fitting = (size for size in BINARY if self.binary and size <= most)
        return float(next(fitting, 1))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:+.3g} %" if fraction else "0"


def _seconds(seconds: float) -> str:
    return format_time(seconds * 1e9) if seconds else "0"


def _bytes(size: float) -> str:
    return format_bytes(size) if size else "0"


PERCENT = Quantity(_percent)
SECONDS = Quantity(_seconds)
TIME = Quantity(format_time)
BYTES = Quantity(_bytes, binary=True)
PLAIN = Quantity(lambda value: f"{value:g}")
