"""A performance gate for pytest that holds on noisy machines.

`phase` names a part of a measured function; `Rlperf` and its relatives are the types of the
fixtures, for annotations. Each is imported when it is asked for: a library that carries phases
does not import pytest by them.
"""

from typing import TYPE_CHECKING, Any

from pytest_rlperf.phases import phase

if TYPE_CHECKING:
    from pytest_rlperf.fixtures import Rlperf, RlperfLearning, RlperfMemory, RlperfMpi

__all__ = ["Rlperf", "RlperfLearning", "RlperfMemory", "RlperfMpi", "phase"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_rlperf import fixtures

    globals()[name] = value = getattr(fixtures, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
