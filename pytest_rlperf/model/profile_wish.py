"""What the user wants profiled: the value of `--rlperf-profile`."""

from dataclasses import dataclass
from typing import Self

from pytest_rlperf.errors import UsageError


@dataclass(frozen=True, slots=True)
class ProfileWish:
    """When both sides are profiled, and how closely."""

    on_regression: bool = True
    always: bool = False
    lines: bool = False
    function: str = ""  # whose lines are timed; empty: the one that is blamed most

    @classmethod
    def parse(cls, given: str | None) -> Self:
        match (given or "").partition(":"):
            case ("", "", ""):
                return cls()
            case ("off", "", ""):
                return cls(on_regression=False)
            case ("functions", "", ""):
                return cls(always=True)
            case ("line", "", ""):
                return cls(always=True, lines=True)
            case ("line", ":", function) if function:
                return cls(always=True, lines=True, function=function)
        raise UsageError(
            f"--rlperf-profile={given} is no way to profile; write --rlperf-profile=functions, "
            "line, line:FUNCTION or off."
        )
